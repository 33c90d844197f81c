/* What a look at a process is made of. Internal. */
#ifndef RAWHAL_LIBRARY_PROCESS_PARTS_H
#define RAWHAL_LIBRARY_PROCESS_PARTS_H

#include <elf.h>
#include <link.h>

#include "hsaco/arena.h"
#include "library/process/process.h"

/* ---- Memory (space.c) ---- */

typedef struct space_range {
  uint64_t start, end;
  uint64_t reach; /* what can be read from `start` on ends there; `start` when nothing can */
  uint64_t device, inode;
} space_range_t;

/* What is mapped, by address. */
typedef struct space {
  space_range_t *ranges;
  size_t count, capacity;
} space_t;

RAWHAL_CHECKED rawhal_status_t space_read(space_t *space, arena_t *arena, rawhal_error_t *error);

/* How many bytes can be read at `address`. */
uint64_t space_readable(const space_t *space, uint64_t address);

/* NULL: nothing is mapped there. */
const space_range_t *space_at(const space_t *space, uint64_t address);

/* ---- Files (file.c) ---- */

/* An ELF file's tables, read by read(): it may be cut or written to meanwhile. */
typedef struct elf_file {
  int descriptor;
  uint64_t size, device, inode;
  Elf64_Ehdr header;
  Elf64_Shdr *sections; /* NULL: none */
  size_t section_count;
  const char *names; /* of sections, ends with a zero byte */
  size_t names_size;
} elf_file_t;

/* False: it cannot be read, or is not an ELF file of this machine's class and byte order. Tables
 * are in `arena`, whose status says when there was no memory. Closed by elf_file_close() either
 * way. */
bool elf_file_open(elf_file_t *file, const char *path, arena_t *arena);
void elf_file_close(elf_file_t *file);

/* All of a range. */
bool elf_file_read(const elf_file_t *file, uint64_t offset, void *bytes, size_t size);

/* In `arena`, with a zero byte after it; NULL: it cannot be read, or there is no memory. */
void *elf_file_load(const elf_file_t *file, const Elf64_Shdr *section, arena_t *arena);

/* By name, or NULL and by type; NULL: there is none. */
const Elf64_Shdr *elf_file_section(const elf_file_t *file, const char *name, uint32_t type);

/* What the loader says is loaded; addresses without `base`. */
typedef struct module {
  uint64_t base;
  const Elf64_Phdr *segments;
  size_t segment_count;
} module_t;

/* Is the module that file? Its program headers and either its build id or where it is mapped from
 * are compared. */
bool elf_file_is_loaded(const elf_file_t *file, const module_t *module, const space_t *space,
                        arena_t *arena);

/* ---- The lists (fatbins.c, kernels.c) ---- */

struct rawhal_process {
  arena_t arena;
  arena_t scratch; /* of one module */
  rawhal_process_options_t options;
  space_t space;
  rawhal_process_module_t *modules;
  size_t module_count, module_capacity;
  rawhal_process_fatbin_t *fatbins;
  size_t fatbin_count, fatbin_capacity;
  rawhal_process_kernel_t *kernels;
  size_t kernel_count, kernel_capacity;
  size_t *by_handle; /* indices of kernels */
  rawhal_status_t status;
  rawhal_error_t *error;
};

/* Lists the wrappers in a range of addresses, as those of the next module. `certain`: everything
 * there that looks like one is one, whatever is wrong with it. */
RAWHAL_CHECKED rawhal_status_t process_add_fatbins(rawhal_process_t *process, uint64_t start,
                                                   uint64_t size, bool certain,
                                                   rawhal_error_t *error);

/* Lists the kernels of the file that module `index` is. */
RAWHAL_CHECKED rawhal_status_t process_add_kernels(rawhal_process_t *process,
                                                   const elf_file_t *file, size_t index,
                                                   rawhal_error_t *error);

/* When all are listed. */
RAWHAL_CHECKED rawhal_status_t process_sort_kernels(rawhal_process_t *process,
                                                    rawhal_error_t *error);

#endif
