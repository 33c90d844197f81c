/* Looking for the fat binaries of everything that is loaded. */
#include "library/process/process.h"

#include <string.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/sized.h"
#include "library/process/parts.h"

/* ---- Opening ---- */

static rawhal_status_t make(const rawhal_process_options_t *options, rawhal_process_t **process,
                            rawhal_error_t *error)
{
  rawhal_process_options_t taken;
  allocator_t allocator = {0};
  rawhal_status_t status = SIZED_TAKE(&taken, options, allocator, error);
  if (status == RAWHAL_OK)
    status = allocator_take(taken.allocator, &allocator, error);
  if (status != RAWHAL_OK)
    return status;
  rawhal_process_t *made = allocate_zeroed(&allocator, 1, sizeof(*made));
  if (!made)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory to look at the process");
  taken.max_fatbins = taken.max_fatbins ? taken.max_fatbins : 65536;
  taken.max_kernels = taken.max_kernels ? taken.max_kernels : 1048576;
  made->options = taken;
  made->error = error;
  arena_init(&made->arena, UINT64_MAX, &allocator);
  arena_init(&made->scratch, UINT64_MAX, &allocator);
  *process = made;
  return RAWHAL_OK;
}

void rawhal_process_close(rawhal_process_t *process)
{
  if (!process)
    return;
  allocator_t allocator = process->arena.allocator;
  arena_free(&process->scratch);
  arena_free(&process->arena);
  allocate_free(&allocator, process);
}

static rawhal_status_t finish(rawhal_process_t *made, rawhal_status_t status,
                              rawhal_process_t **process, rawhal_error_t *error)
{
  if (status == RAWHAL_OK)
    status = process_sort_kernels(made, error);
  arena_free(&made->scratch);
  arena_init(&made->scratch, 0, &made->arena.allocator);
  made->error = NULL;
  if (status == RAWHAL_OK)
    *process = made;
  else
    rawhal_process_close(made);
  return status;
}

static rawhal_status_t add_module(rawhal_process_t *process, const char *path, uint64_t base,
                                  rawhal_error_t *error)
{
  size_t size = strlen(path) + 1;
  char *copy = arena_alloc(&process->arena, size);
  if (!copy || !arena_reserve(&process->arena, &process->modules, &process->module_capacity,
                              process->module_count, sizeof(*process->modules), 8))
    return arena_fail(&process->arena, error);
  memcpy(copy, path, size);
  process->modules[process->module_count++] =
      (rawhal_process_module_t){.path = {copy, size - 1}, .base = base};
  return RAWHAL_OK;
}

rawhal_status_t rawhal_process_open_file(const char *path, const rawhal_process_options_t *options,
                                         rawhal_process_t **process, rawhal_error_t *error)
{
  if (!process)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "process is NULL");
  WITHOUT_CANCELLATION();
  *process = NULL;
  if (!path)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "path is NULL");
  rawhal_process_t *made = NULL;
  rawhal_status_t status = make(options, &made, error);
  if (status != RAWHAL_OK)
    return status;
  elf_file_t file;
  if (!elf_file_open(&file, path, &made->scratch))
    status = made->scratch.status
                 ? arena_fail(&made->scratch, error)
                 : rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                               "'%s' cannot be read or is not a 64-bit ELF file", path);
  if (status == RAWHAL_OK)
    status = add_module(made, path, 0, error);
  if (status == RAWHAL_OK)
    status = process_add_kernels(made, &file, 0, error);
  elf_file_close(&file);
  return finish(made, status, process, error);
}

/* ---- Modules ---- */

static bool is_writable_load(const Elf64_Phdr *segment)
{
  return segment->p_type == PT_LOAD && (segment->p_flags & (PF_R | PF_W)) == (PF_R | PF_W);
}

static rawhal_status_t read_places(rawhal_process_t *process, const module_t *module,
                                   const elf_file_t *file, rawhal_error_t *error)
{
  rawhal_status_t status = RAWHAL_OK;
  if (file) {
    const Elf64_Shdr *section = elf_file_section(file, ".hipFatBinSegment", SHT_PROGBITS);
    return section ? process_add_fatbins(process, module->base + section->sh_addr, section->sh_size,
                                         true, error)
                   : RAWHAL_OK;
  }
  for (size_t i = 0; status == RAWHAL_OK && i < module->segment_count; ++i) {
    const Elf64_Phdr *segment = &module->segments[i];
    if (is_writable_load(segment))
      status = process_add_fatbins(process, module->base + segment->p_vaddr, segment->p_filesz,
                                   false, error);
  }
  return status;
}

/* The program has no name for the loader. */
static const char *path_of(const struct dl_phdr_info *info, char *program, size_t size)
{
  if (info->dlpi_name && *info->dlpi_name)
    return info->dlpi_name;
  ssize_t length = readlink("/proc/self/exe", program, size - 1);
  program[length > 0 ? length : 0] = 0;
  return program;
}

static rawhal_status_t read_module(rawhal_process_t *process, const struct dl_phdr_info *info,
                                   rawhal_error_t *error)
{
  module_t module = {info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum};
  bool writable = false;
  for (size_t i = 0; i < module.segment_count; ++i)
    writable |= is_writable_load(&module.segments[i]);
  if (!writable)
    return RAWHAL_OK; /* such as the kernel's own */
  bool program = !info->dlpi_name || !*info->dlpi_name;
  char name[4096];
  const char *path = path_of(info, name, sizeof(name));
  size_t index = process->module_count, before = process->fatbin_count;
  elf_file_t file;
  bool same = elf_file_open(&file, program ? "/proc/self/exe" : path, &process->scratch) &&
              elf_file_is_loaded(&file, &module, &process->space, &process->scratch);
  rawhal_status_t status =
      process->scratch.status ? arena_fail(&process->scratch, error) : RAWHAL_OK;
  if (status == RAWHAL_OK)
    status = read_places(process, &module, same && file.sections ? &file : NULL, error);
  if (status == RAWHAL_OK && process->fatbin_count != before) {
    status = add_module(process, path, module.base, error);
    if (status == RAWHAL_OK) {
      process->modules[index].sections = same && file.sections;
      if (same && file.sections)
        status = process_add_kernels(process, &file, index, error);
    }
  }
  elf_file_close(&file);
  return status;
}

/* Called by the loader for each module; anything but 0 ends it. */
static int visit(struct dl_phdr_info *info, size_t size, void *context)
{
  (void)size;
  rawhal_process_t *process = context;
  if (!process->space.count) /* with the lock held, so that both are of the same time */
    process->status = space_read(&process->space, &process->arena, process->error);
  arena_mark_t mark = arena_mark(&process->scratch);
  if (process->status == RAWHAL_OK)
    process->status = read_module(process, info, process->error);
  if (process->status == RAWHAL_OK)
    arena_rewind(&process->scratch, mark);
  return process->status != RAWHAL_OK;
}

rawhal_status_t rawhal_process_open(const rawhal_process_options_t *options,
                                    rawhal_process_t **process, rawhal_error_t *error)
{
  if (!process)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "process is NULL");
  WITHOUT_CANCELLATION();
  *process = NULL;
  rawhal_process_t *made = NULL;
  rawhal_status_t status = make(options, &made, error);
  if (status != RAWHAL_OK)
    return status;
  (void)dl_iterate_phdr(visit, made);
  return finish(made, made->status, process, error);
}

/* ---- Looking at it ---- */

const rawhal_process_module_t *rawhal_process_module(const rawhal_process_t *process, size_t index)
{
  return index < process->module_count ? &process->modules[index] : NULL;
}

size_t rawhal_process_fatbin_count(const rawhal_process_t *process)
{
  return process->fatbin_count;
}

const rawhal_process_fatbin_t *rawhal_process_fatbin(const rawhal_process_t *process, size_t index)
{
  return index < process->fatbin_count ? &process->fatbins[index] : NULL;
}

size_t rawhal_process_kernel_count(const rawhal_process_t *process)
{
  return process->kernel_count;
}

const rawhal_process_kernel_t *rawhal_process_kernel(const rawhal_process_t *process, size_t index)
{
  return index < process->kernel_count ? &process->kernels[index] : NULL;
}
