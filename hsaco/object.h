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
typedef struct root_entry {
  rawhal_string_t key;
  rawhal_bytes_t value;
} root_entry_t;

struct rawhal_hsaco {
  rawhal_hsaco_info_t info;
  rawhal_hsaco_options_t options;  /* with the defaults filled in */
  rawhal_status_t nesting_failure; /* what metadata that nests too deeply is */
  const processor_t *processor;    /* NULL when unknown */
  arena_t arena;                   /* of everything, this object included */
  void *copy;                      /* of the bytes, when asked for */
  file_bytes_t file;               /* when it was opened by path */
  elf_view_t elf;
  diagnostics_t diagnostics;

  rawhal_kernel_t *kernels;
  size_t kernel_capacity;
  rawhal_string_t *formats; /* of printf */
  size_t format_capacity;
  root_entry_t *roots;
  size_t root_count, root_capacity;

  rawhal_segment_t *segments;
  rawhal_symbol_t *symbols;
  rawhal_relocation_t *relocations;
  name_table_t names;           /* of kernels */
  long_names_t *long_names;     /* of symbols */
  rawhal_string_t loaded_twice; /* an exported object symbol that is defined twice, or empty */
  bool loadable_when_supplied;  /* all of its external symbols, that is */
};

static inline uint64_t offset_in(const rawhal_hsaco_t *hsaco, const void *place)
{
  return (uint64_t)((const unsigned char *)place - hsaco->elf.bytes);
}

/* A kernel that must not be dispatched; the first reason stays. Also a diagnostic. */
void kernel_mark_unusable(rawhal_hsaco_t *hsaco, rawhal_kernel_t *kernel, uint64_t offset,
                          rawhal_string_t reason);

#endif
