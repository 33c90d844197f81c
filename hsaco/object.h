/* What a rawhal_hsaco_t is made of. Internal. */
#ifndef RAWHAL_HSACO_OBJECT_H
#define RAWHAL_HSACO_OBJECT_H

#include "hsaco/arena.h"
#include "hsaco/diagnostics.h"
#include "hsaco/elf_view.h"
#include "hsaco/file_bytes.h"
#include "hsaco/hsaco.h"
#include "hsaco/key_table.h"
#include "hsaco/long_names.h"
#include "hsaco/name_table.h"
#include "hsaco/processor_table.h"

/* One entry of the metadata's root map other than kernels and printf, as it stands in the file. */
struct root_entry {
  rawhal_string_t key;
  rawhal_bytes_t value;
};

struct rawhal_hsaco {
  rawhal_hsaco_info_t info;
  rawhal_hsaco_options_t options;    /* with the defaults filled in */
  rawhal_status_t nesting_failure;   /* what metadata that nests too deeply is */
  const struct processor *processor; /* NULL when unknown */
  struct arena arena;                /* of everything, this object included */
  void *copy;                        /* of the bytes, when asked for */
  struct file_bytes file;            /* when it was opened by path */
  struct elf_view elf;
  struct diagnostics diagnostics;

  rawhal_kernel_t *kernels;
  size_t kernel_capacity;
  rawhal_string_t *formats; /* of printf */
  size_t format_capacity;
  struct root_entry *roots;
  size_t root_count, root_capacity;

  rawhal_segment_t *segments;
  rawhal_symbol_t *symbols;
  rawhal_relocation_t *relocations;
  struct name_table names;       /* of kernels */
  struct long_names *long_names; /* of symbols */
  rawhal_string_t loaded_twice;  /* an exported object symbol that is defined twice, or empty */
  rawhal_string_t bad_entry;     /* a kernel whose entry is not in code, or empty */
  bool loadable_when_supplied;   /* all of its external symbols, that is */
};

static inline uint64_t offset_in(const struct rawhal_hsaco *hsaco, const void *place)
{
  return (uint64_t)((const unsigned char *)place - hsaco->elf.bytes);
}

/* A kernel that must not be dispatched; the first reason stays. Also a diagnostic. */
void kernel_mark_unusable(struct rawhal_hsaco *hsaco, rawhal_kernel_t *kernel, uint64_t offset,
                          rawhal_string_t reason);

#endif
