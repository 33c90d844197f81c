#include "hsaco/hsaco.h"

#include <string.h>

#include "base/error.h"
#include "base/sized.h"
#include "hsaco/loadable.h"
#include "hsaco/memory.h"
#include "hsaco/metadata.h"
#include "hsaco/relocations.h"
#include "hsaco/symbols.h"
#include "hsaco/unpack.h"

/* What a caller asks for, checked. */
typedef struct settings {
  rawhal_hsaco_options_t options;  /* with the defaults filled in */
  rawhal_status_t nesting_failure; /* what metadata that nests too deeply is */
  allocator_t allocator;
} settings_t;

static rawhal_status_t take_options(settings_t *settings, const rawhal_hsaco_options_t *options,
                                    rawhal_error_t *error)
{
  enum { KNOWN_FLAGS = RAWHAL_HSACO_COPY | RAWHAL_HSACO_DESCRIPTOR_KERNELS, FORMAT_NESTING = 32 };
  rawhal_hsaco_options_t *taken = &settings->options;
  rawhal_status_t status = SIZED_TAKE(taken, options, allocator, error);
  if (status == RAWHAL_OK)
    status = allocator_take(taken->allocator, &settings->allocator, error);
  if (status != RAWHAL_OK)
    return status;
  if (taken->flags & ~(uint32_t)KNOWN_FLAGS)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "unknown flags 0x%x", taken->flags);
  if (taken->max_nesting > UNPACK_MOST_NESTING)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "max_nesting %u is above %d",
                       taken->max_nesting, UNPACK_MOST_NESTING);
  settings->nesting_failure = taken->max_nesting ? RAWHAL_CAP_EXCEEDED : RAWHAL_MALFORMED;
  taken->max_kernels = taken->max_kernels ? taken->max_kernels : 1000000;
  taken->max_arguments = taken->max_arguments ? taken->max_arguments : 65536;
  taken->max_nesting = taken->max_nesting ? taken->max_nesting : FORMAT_NESTING;
  taken->max_diagnostics = taken->max_diagnostics ? taken->max_diagnostics : 1000;
  taken->max_metadata_bytes =
      taken->max_metadata_bytes ? taken->max_metadata_bytes : (uint64_t)1 << 30;
  return RAWHAL_OK;
}

static void describe(rawhal_hsaco_t *hsaco)
{
  const elf_view_t *elf = &hsaco->elf;
  rawhal_hsaco_info_t *info = &hsaco->info;
  info->bytes = (rawhal_bytes_t){elf->bytes, elf->size};
  info->elf_type = elf->header.e_type;
  info->elf_machine = elf->header.e_machine;
  info->elf_flags = elf->header.e_flags;
  info->elf_osabi = elf->header.e_ident[EI_OSABI];
  info->elf_abi_version = elf->header.e_ident[EI_ABIVERSION];
  info->code_object_version = info->elf_abi_version + 2u; /* ABI version 1 is V3 */
  rawhal_target_from_flags(info->elf_flags, info->elf_abi_version, &info->target);
  hsaco->processor = processor_by_machine(info->target.machine);
}

static rawhal_status_t list_segments(rawhal_hsaco_t *hsaco, rawhal_error_t *error)
{
  const elf_view_t *elf = &hsaco->elf;
  hsaco->segments = arena_alloc(&hsaco->arena, elf->segment_count * sizeof(*hsaco->segments));
  if (!hsaco->segments)
    return arena_fail(&hsaco->arena, error);
  for (size_t i = 0; i < elf->segment_count; ++i) {
    const Elf64_Phdr *header = &elf->segments[i];
    hsaco->segments[i] =
        (rawhal_segment_t){header->p_type,   header->p_flags, header->p_offset, header->p_vaddr,
                           header->p_filesz, header->p_memsz, header->p_align};
  }
  hsaco->info.segment_count = elf->segment_count;
  return RAWHAL_OK;
}

/* Units that were linked together each count their printf formats from 1 on. */
static void check_printf(rawhal_hsaco_t *hsaco)
{
  name_table_t numbers;
  size_t clashes = 0;
  name_table_init(&numbers, &hsaco->arena, 8);
  for (size_t i = 0; i < hsaco->info.printf_count; ++i) {
    const rawhal_string_t format = hsaco->formats[i];
    const char *colon = format.size ? memchr(format.data, ':', format.size) : NULL;
    const rawhal_string_t number = {format.data, colon ? (size_t)(colon - format.data) : 0};
    if (!number.size || (number.size == 1 && number.data[0] == '0')) /* HIP's have hashes */
      continue;
    name_slots_t *slots = name_table_at(&numbers, number);
    if (!slots)
      return; /* the arena remembers */
    const rawhal_string_t *first =
        slots->by_name == NAME_NONE ? &format : &hsaco->formats[slots->by_name];
    clashes += first->size != format.size || memcmp(first->data, format.data, format.size) != 0;
    slots->by_name = slots->by_name == NAME_NONE ? (uint32_t)i : slots->by_name;
  }
  if (clashes)
    diagnose_print(&hsaco->diagnostics, RAWHAL_SEVERITY_WARNING, (rawhal_string_t){0},
                   RAWHAL_NO_OFFSET,
                   "%zu printf format%s a number that another has: each linked translation unit "
                   "counts from the start, and their output cannot be told apart",
                   clashes, clashes == 1 ? " has" : "s have");
}

/* What is true of the object as a whole and odd. */
static void check_object(rawhal_hsaco_t *hsaco)
{
  static const uint32_t minor_of[] = {[3] = 0, [4] = 1, [5] = 2, [6] = 2};
  diagnostics_t *diagnostics = &hsaco->diagnostics;
  const rawhal_hsaco_info_t *info = &hsaco->info;
  const rawhal_string_t nobody = {0};
  if (!hsaco->processor)
    diagnose_print(diagnostics, RAWHAL_SEVERITY_WARNING, nobody, offsetof(Elf64_Ehdr, e_flags),
                   "unknown processor: mach 0x%x in the ELF flags", info->target.machine);
  if (!info->has_metadata) {
    diagnose_print(diagnostics, RAWHAL_SEVERITY_WARNING, nobody, RAWHAL_NO_OFFSET,
                   "no metadata note: kernels are known by their descriptors only");
    return;
  }
  check_printf(hsaco);
  uint32_t minor = minor_of[info->code_object_version];
  if (info->metadata_version[0] != 1 || info->metadata_version[1] != minor)
    diagnose_print(diagnostics, RAWHAL_SEVERITY_NOTE, nobody, RAWHAL_NO_OFFSET,
                   "metadata version %u.%u in a V%u code object, which has 1.%u",
                   info->metadata_version[0], info->metadata_version[1], info->code_object_version,
                   minor);
  if (!info->metadata_target.size && info->code_object_version >= 4)
    diagnose_print(diagnostics, RAWHAL_SEVERITY_NOTE, nobody, RAWHAL_NO_OFFSET,
                   "no `amdhsa.target`; the ELF flags decide");
}

static rawhal_status_t read_object(rawhal_hsaco_t *hsaco, const void *bytes, size_t size,
                                   rawhal_error_t *error)
{
  rawhal_status_t status = elf_view_open(&hsaco->elf, bytes, size, &hsaco->arena, error);
  if (status != RAWHAL_OK)
    return status;
  describe(hsaco);
  hsaco->long_names = arena_alloc(&hsaco->arena, sizeof(*hsaco->long_names));
  if (!hsaco->long_names)
    return arena_fail(&hsaco->arena, error);
  long_names_init(hsaco->long_names, &hsaco->arena, size);
  status = list_segments(hsaco, error);
  if (status == RAWHAL_OK)
    status = metadata_read(hsaco, error);
  if (status == RAWHAL_OK)
    status = symbols_read(hsaco, error);
  if (status == RAWHAL_OK)
    status = relocations_read(hsaco, error);
  if (status != RAWHAL_OK)
    return status;
  check_object(hsaco);
  loadable_judge(hsaco);
  diagnostics_finish(&hsaco->diagnostics);
  hsaco->info.diagnostic_count = hsaco->diagnostics.count;
  if (hsaco->long_names->exhausted)
    return rawhal_fail(
        error, RAWHAL_CAP_EXCEEDED,
        "symbols whose long names share bytes: reading them all would take more than "
        "%d steps for each of the file's %zu bytes",
        WORK_A_BYTE, size);
  /* Texts do not report where they run out of memory: none may be missing. */
  return hsaco->arena.status ? arena_fail(&hsaco->arena, error) : RAWHAL_OK;
}

/* The object is the first thing in its own arena: a small one takes one allocation. */
static rawhal_hsaco_t *new_object(size_t size, const settings_t *settings)
{
  /* Records of real objects take about as much room as their metadata; hostile ones that would
   * take many times the file end at the budget. */
  const uint64_t least_budget = (uint64_t)32 << 20;
  arena_t arena;
  arena_init(&arena, least_budget + 6 * (uint64_t)size, &settings->allocator);
  rawhal_hsaco_t *object = arena_calloc(&arena, 1, sizeof(*object));
  if (!object)
    return NULL;
  object->arena = arena;
  object->options = settings->options;
  object->options.allocator = NULL; /* the caller's, who may have changed it since */
  object->nesting_failure = settings->nesting_failure;
  return object;
}

rawhal_status_t rawhal_hsaco_open(const void *bytes, size_t size,
                                  const rawhal_hsaco_options_t *options, rawhal_hsaco_t **hsaco,
                                  rawhal_error_t *error)
{
  if (!hsaco)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "object is NULL");
  *hsaco = NULL;
  if (!bytes && size)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "bytes is NULL, and size is %zu", size);
  Elf64_Ehdr header;
  rawhal_status_t status = elf_header_check(bytes, size, &header, error);
  if (status != RAWHAL_OK)
    return status;
  settings_t settings;
  status = take_options(&settings, options, error);
  if (status != RAWHAL_OK)
    return status;
  rawhal_hsaco_t *opened = new_object(size, &settings);
  if (!opened)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "out of host memory");
  if (opened->options.flags & RAWHAL_HSACO_COPY) {
    opened->copy = allocate(&opened->arena.allocator, size);
    if (opened->copy)
      bytes = memcpy(opened->copy, bytes, size);
    else
      status = rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "out of host memory");
  }
  if (status == RAWHAL_OK) {
    diagnostics_init(&opened->diagnostics, &opened->arena, opened->options.max_diagnostics);
    status = read_object(opened, bytes, size, error);
  }
  if (status != RAWHAL_OK) {
    rawhal_hsaco_close(opened);
    return status;
  }
  *hsaco = opened;
  return RAWHAL_OK;
}

rawhal_status_t rawhal_hsaco_open_file(const char *path, const rawhal_hsaco_options_t *options,
                                       rawhal_hsaco_t **hsaco, rawhal_error_t *error)
{
  if (!hsaco)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "object is NULL");
  *hsaco = NULL;
  rawhal_hsaco_options_t taken;
  allocator_t allocator;
  rawhal_status_t status = SIZED_TAKE(&taken, options, allocator, error);
  if (status == RAWHAL_OK)
    status = allocator_take(taken.allocator, &allocator, error);
  if (status != RAWHAL_OK)
    return status;
  bool copy = taken.flags & RAWHAL_HSACO_COPY;
  taken.flags &= ~(uint32_t)RAWHAL_HSACO_COPY; /* what is read is a copy already */
  file_bytes_t file;
  status = file_bytes_open(path, UINT64_MAX, copy, &allocator, &file, error);
  if (status == RAWHAL_OK)
    status = rawhal_hsaco_open(file.data, file.size, &taken, hsaco, error);
  if (status != RAWHAL_OK)
    file_bytes_close(&file, &allocator);
  else
    (*hsaco)->file = file;
  return status;
}

void rawhal_hsaco_close(rawhal_hsaco_t *hsaco)
{
  if (!hsaco)
    return;
  arena_t arena = hsaco->arena; /* holds the object, too */
  allocate_free(&arena.allocator, hsaco->copy);
  file_bytes_close(&hsaco->file, &arena.allocator);
  arena_free(&arena);
}

const allocator_t *hsaco_allocator(const rawhal_hsaco_t *hsaco)
{
  return hsaco ? &hsaco->arena.allocator : NULL;
}

/* ---- Reading ---- */

bool rawhal_argument_is_hidden(const rawhal_argument_t *argument)
{
  return argument->value_kind >= RAWHAL_VALUE_HIDDEN_FIRST;
}

const rawhal_hsaco_info_t *rawhal_hsaco_info(const rawhal_hsaco_t *hsaco)
{
  return hsaco ? &hsaco->info : NULL;
}

rawhal_string_t rawhal_hsaco_printf(const rawhal_hsaco_t *hsaco, size_t index)
{
  return hsaco && index < hsaco->info.printf_count ? hsaco->formats[index] : (rawhal_string_t){0};
}

const rawhal_kernel_t *rawhal_hsaco_kernel(const rawhal_hsaco_t *hsaco, size_t index)
{
  return hsaco && index < hsaco->info.kernel_count ? &hsaco->kernels[index] : NULL;
}

const rawhal_segment_t *rawhal_hsaco_segment(const rawhal_hsaco_t *hsaco, size_t index)
{
  return hsaco && index < hsaco->info.segment_count ? &hsaco->segments[index] : NULL;
}

const rawhal_symbol_t *rawhal_hsaco_symbol(const rawhal_hsaco_t *hsaco, size_t index)
{
  return hsaco && index < hsaco->info.symbol_count ? &hsaco->symbols[index] : NULL;
}

const rawhal_relocation_t *rawhal_hsaco_relocation(const rawhal_hsaco_t *hsaco, size_t index)
{
  return hsaco && index < hsaco->info.relocation_count ? &hsaco->relocations[index] : NULL;
}

const rawhal_diagnostic_t *rawhal_hsaco_diagnostic(const rawhal_hsaco_t *hsaco, size_t index)
{
  return hsaco && index < hsaco->info.diagnostic_count ? &hsaco->diagnostics.items[index] : NULL;
}
