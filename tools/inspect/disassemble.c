/* rawhal inspect --disassemble: instructions, as LLVM's llvm-objdump has them, of objects that
 * rawhal has read: what it refuses does not get there. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/whole.h"
#include "tools/inspect/filter.h"
#include "tools/inspect/inspect.h"
#include "tools/shared/demangle.h"
#include "tools/shared/program.h"
#include "tools/shared/tool.h"

/* ---- The object ---- */

/* The bytes as a file that has no name: the programs run here inherit it. */
static int make_file(rawhal_bytes_t bytes, rawhal_error_t *error)
{
  const int file = memfd_create("rawhal-object", 0);
  if (file >= 0 && write_whole(file, bytes.data, bytes.size))
    return file;
  tool_refuse(error, RAWHAL_OUT_OF_MEMORY, "cannot write a copy of the object: %s",
              strerror(errno));
  if (file >= 0)
    close(file);
  return -1;
}

/* ---- Kernels ---- */

/* Where the code at `entry` ends; 0 when no symbol says so. */
static uint64_t end_of_code(const rawhal_hsaco_t *hsaco, uint64_t entry)
{
  const rawhal_symbol_t *symbol;
  for (size_t i = 0; (symbol = rawhal_hsaco_symbol(hsaco, i)); ++i)
    if (symbol->kind == RAWHAL_SYMBOL_FUNCTION && symbol->defined && symbol->address == entry &&
        symbol->size && symbol->size <= UINT64_MAX - entry)
      return entry + symbol->size;
  return 0;
}

/* By addresses: names may be anything. `begin` NULL: all of the object. */
static bool disassemble(const char *program, int file, const uint64_t *begin, uint64_t end,
                        rawhal_error_t *error)
{
  char path[32], start[48], stop[48];
  const char *words[] = {program, "-d", path, NULL, NULL, NULL};
  snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
  if (begin) {
    snprintf(start, sizeof(start), "--start-address=0x%" PRIx64, *begin);
    words[3] = start;
  }
  if (begin && end) {
    snprintf(stop, sizeof(stop), "--stop-address=0x%" PRIx64, end);
    words[4] = stop;
  }
  return filter_program(words, error);
}

static bool disassemble_kernels(const inspect_options_t *options, const rawhal_hsaco_t *hsaco,
                                const char *program, int file, rawhal_error_t *error)
{
  const rawhal_kernel_t *kernel;
  bool done = true;
  for (size_t i = 0; done && !ferror(stdout) && (kernel = rawhal_hsaco_kernel(hsaco, i)); ++i) {
    if (!inspect_wants(options, kernel->name))
      continue;
    fputs("\nkernel ", stdout);
    (void)tool_print_text(demangle_if(options->demangle, kernel->name));
    if (!kernel->descriptor) {
      puts(": no descriptor says where its code is");
      continue;
    }
    putchar('\n');
    const uint64_t entry = kernel->descriptor->entry;
    done = disassemble(program, file, &entry, end_of_code(hsaco, entry), error);
  }
  return done;
}

static void begin(const inspect_options_t *options)
{
  (void)options;
}

static bool object(const inspect_options_t *options, const select_t *object, rawhal_error_t *error)
{
  const rawhal_hsaco_info_t *info = rawhal_hsaco_info(object->hsaco);
  char program[PATH_MAX], target[64];
  if (!program_find_objdump(program, error))
    return false;
  const int file = make_file(info->bytes, error);
  if (file < 0)
    return false;
  rawhal_target_format(&info->target, target, sizeof(target));
  printf("%sobject %zu: %s\n", object->index ? "\n" : "", object->index, target);
  const bool done = options->kernel
                        ? disassemble_kernels(options, object->hsaco, program, file, error)
                        : disassemble(program, file, NULL, 0, error);
  close(file);
  return done;
}

static void end(const rawhal_error_t *error)
{
  (void)error;
}

const inspect_form_t inspect_disassembly_form = {begin, object, end};
