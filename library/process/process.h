/* rawhal/process.h: the fat binaries in the memory of this process, found without HIP.
 *
 * Programs and libraries compiled by HIP carry their code objects in bundles, and for each
 * translation unit (or one for all, with -fgpu-rdc) a wrapper of 24 bytes that points to its bundle
 * and is what their constructors hand to __hipRegisterFatBinary(). Opening a process lists the
 * wrappers of everything the loader has loaded, with the exact bytes each points to, ready for
 * rawhal_container_open(). Nothing needs to be linked, preloaded or registered.
 *
 * Where wrappers are: in the section .hipFatBinSegment, if the file that a module was loaded from
 * can be read and is still the same (program headers, and build id or device and inode, are
 * compared). Where it is not, or has no section table, the module's writable segments are searched
 * for wrappers of version 1 that point to something known; nothing else identifies them.
 *
 * Kernels: the name of each kernel with the host's address of it, as programs pass them to
 * __hipRegisterFunction(), as far as symbol tables have them: see rawhal_process_kernel_t.
 *
 * What is read: the memory that the loader says is the modules', what wrappers point to, and
 * nothing that /proc/self/maps does not say is readable; files by read(), never mapped.
 *
 * Threads: modules may come and go. All reading is done with the loader's lock held, which
 * dlclose() waits for: all that is listed was loaded at the same time, and the allocator is called
 * with that lock held. A library that another thread is still loading may be seen before its
 * pointers are relocated: then why_not says that they point to nothing, or a search does not find
 * it; so open the process once dlopen() has returned. The program must not unmap or protect memory
 * while it is read, including images that lie outside every module. Afterwards `image` and
 * `wrapper` are valid as long as their module stays loaded, which is the caller's to know.
 * Everything listed is immutable. */
#ifndef RAWHAL_PROCESS_H
#define RAWHAL_PROCESS_H

#include <rawhal/allocator.h>
#include <rawhal/status.h>

RAWHAL_BEGIN

/* The fat binaries and kernels of a process, or the kernels of a file. */
typedef struct rawhal_process rawhal_process_t;

/* Zero-initialise, then set what should differ; 0 means the default. */
typedef struct rawhal_process_options {
  size_t size;                 /* sizeof(rawhal_process_options_t), or 0: see types.h */
  uint32_t max_fatbins;        /* default 65,536 */
  uint32_t max_kernels;        /* default 1,048,576 */
  uint64_t max_unpacked_bytes; /* to measure bundles whose end only unpacking shows; default 1
                                  GiB */
  const rawhal_allocator_t *allocator; /* NULL: malloc() */
} rawhal_process_options_t;

/* Lists what this process has loaded. `options` may be NULL. INVALID_ARGUMENT; CAP_EXCEEDED: an
 * option; OUT_OF_MEMORY; NOT_FOUND: no /proc/self/maps. A wrapper with something wrong does not
 * make the call fail: its why_not says what. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_process_open(
    const rawhal_process_options_t *options, rawhal_process_t **process, rawhal_error_t *error);

/* Lists only the kernels, of a file that is not loaded: rawhal_container_open_file() finds its fat
 * binaries. Addresses are those it was linked at. `options` may be NULL. INVALID_ARGUMENT: no such
 * file, or not an ELF file of 64 bits and this byte order. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t
rawhal_process_open_file(const char *path, const rawhal_process_options_t *options,
                         rawhal_process_t **process, rawhal_error_t *error);

/* Frees all that was listed. NULL is allowed. */
RAWHAL_API void rawhal_process_close(rawhal_process_t *process);

/* Which names a module still has. */
typedef enum rawhal_process_names {
  RAWHAL_NAMES_NONE = 0,    /* no symbol table that could be read */
  RAWHAL_NAMES_DYNAMIC = 1, /* stripped: those that the module exports */
  RAWHAL_NAMES_ALL = 2,
} rawhal_process_names_t;

/* A program or library with fat binaries. */
typedef struct rawhal_process_module {
  rawhal_string_t path; /* as the loader has it; for the program, what /proc/self/exe says */
  uint64_t base;        /* what was added to its addresses */
  bool sections;        /* wrappers were found by the file's section table, not by a search */
  rawhal_process_names_t names;
} rawhal_process_module_t;

/* In the loader's order. NULL when index >= their number, as for the other lists. `process` must
 * not be NULL, here and below. */
RAWHAL_API const rawhal_process_module_t *rawhal_process_module(const rawhal_process_t *process,
                                                                size_t index);

/* A wrapper and what it points to. */
typedef struct rawhal_process_fatbin {
  size_t module;        /* its index */
  const void *wrapper;  /* its 24 bytes */
  rawhal_bytes_t image; /* exactly; if why_not is set, what the wrapper points to, and no bytes */
  bool kpack;           /* the image is not a carrier but a reference to kpack archives (msgpack) */
  rawhal_string_t why_not;
} rawhal_process_fatbin_t;

/* What one wrapper says, as programs hand them to __hipRegisterFatBinary(): 24 bytes that can be
 * read. `fatbin` gets what the wrapper points to, of no known size, and whether that is kpack.
 * INVALID_ARGUMENT: NULL; MALFORMED: no wrapper, another version than 1, or it points nowhere. Any
 * thread may call it. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_process_wrapper(const void *wrapper,
                                                                 rawhal_process_fatbin_t *fatbin,
                                                                 rawhal_error_t *error);

/* By module, then address. */
RAWHAL_API size_t rawhal_process_fatbin_count(const rawhal_process_t *process);
RAWHAL_API const rawhal_process_fatbin_t *rawhal_process_fatbin(const rawhal_process_t *process,
                                                                size_t index);

/* One kernel. `handle` is the object whose address stands for the kernel on the host: what
 * hipLaunchKernel() is called with. It is found by its name, which is the kernel's, next to a
 * function of the same name with "__device_stub__" in it.
 *
 * What cannot be known without running code: kernels whose names a module was stripped of (in
 * programs all, in libraries those that are not exported); and the name on the device of kernels
 * with internal linkage, to which compilers add a suffix: `name` is the host's. */
typedef struct rawhal_process_kernel {
  size_t module; /* its index */
  rawhal_string_t name;
  uint64_t handle, stub; /* addresses */
} rawhal_process_kernel_t;

/* By module, then name. */
RAWHAL_API size_t rawhal_process_kernel_count(const rawhal_process_t *process);
RAWHAL_API const rawhal_process_kernel_t *rawhal_process_kernel(const rawhal_process_t *process,
                                                                size_t index);

/* The kernel that a handle stands for; NULL when it is not listed. O(log n). */
RAWHAL_API const rawhal_process_kernel_t *
rawhal_process_find_handle(const rawhal_process_t *process, uint64_t handle);

RAWHAL_END

#endif
