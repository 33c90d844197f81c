/* What a look at a process is made of. Internal. */
#ifndef RAWHAL_LIBRARY_PROCESS_PARTS_H
#define RAWHAL_LIBRARY_PROCESS_PARTS_H

#include <elf.h>
#include <link.h>

#include "hsaco/arena.h"
#include "library/process.h"

/* ---- Memory (process_space.c) ---- */

struct space_range {
  uint64_t start, end;
  uint64_t reach; /* what can be read from `start` on ends there; `start` when nothing can */
  uint64_t device, inode;
};

/* What is mapped, by address. */
struct space {
  struct space_range *ranges;
  size_t count, capacity;
};

RAWHAL_CHECKED rawhal_status_t space_read(struct space *space, struct arena *arena,
                                          rawhal_error_t *error);

/* How many bytes can be read at `address`. */
uint64_t space_readable(const struct space *space, uint64_t address);

/* NULL: nothing is mapped there. */
const struct space_range *space_at(const struct space *space, uint64_t address);

/* ---- Files (process_file.c) ---- */

/* An ELF file's tables, read by read(): it may be cut or written to meanwhile. */
struct elf_file {
  int descriptor;
  uint64_t size, device, inode;
  Elf64_Ehdr header;
  Elf64_Shdr *sections; /* NULL: none */
  size_t section_count;
  const char *names; /* of sections, ends with a zero byte */
  size_t names_size;
};

/* False: it cannot be read, or is not an ELF file of this machine's class and byte order. Tables
 * are in `arena`, whose status says when there was no memory. Closed by elf_file_close() either
 * way. */
bool elf_file_open(struct elf_file *file, const char *path, struct arena *arena);
void elf_file_close(struct elf_file *file);

/* All of a range. */
bool elf_file_read(const struct elf_file *file, uint64_t offset, void *bytes, size_t size);

/* In `arena`, with a zero byte after it; NULL: it cannot be read, or there is no memory. */
void *elf_file_load(const struct elf_file *file, const Elf64_Shdr *section, struct arena *arena);

/* By name, or NULL and by type; NULL: there is none. */
const Elf64_Shdr *elf_file_section(const struct elf_file *file, const char *name, uint32_t type);

/* What the loader says is loaded; addresses without `base`. */
struct module {
  uint64_t base;
  const Elf64_Phdr *segments;
  size_t segment_count;
};

/* Is the module that file? Its program headers and either its build id or where it is mapped from
 * are compared. */
bool elf_file_is_loaded(const struct elf_file *file, const struct module *module,
                        const struct space *space, struct arena *arena);

/* ---- The lists (process_fatbins.c, process_kernels.c) ---- */

struct rawhal_process {
  struct arena arena;
  struct arena scratch; /* of one module */
  rawhal_process_options_t options;
  struct space space;
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
RAWHAL_CHECKED rawhal_status_t process_add_fatbins(struct rawhal_process *process, uint64_t start,
                                                   uint64_t size, bool certain,
                                                   rawhal_error_t *error);

/* Lists the kernels of the file that module `index` is. */
RAWHAL_CHECKED rawhal_status_t process_add_kernels(struct rawhal_process *process,
                                                   const struct elf_file *file, size_t index,
                                                   rawhal_error_t *error);

/* When all are listed. */
RAWHAL_CHECKED rawhal_status_t process_sort_kernels(struct rawhal_process *process,
                                                    rawhal_error_t *error);

#endif
