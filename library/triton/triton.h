/* rawhal/triton.h: kernels from Triton's cache, without Triton.
 *
 * Triton leaves each kernel that it compiled for AMD in a folder of its own as NAME.hsaco, a code
 * object, and NAME.json, which says what a launch needs and the object does not: how many waves a
 * work-group has and how much group memory it gets. Opening takes one entry, by either file, or
 * everything below a folder such as ~/.triton/cache, and checks what the JSON says against the
 * object.
 *
 *     rawhal_triton_open_file -> rawhal_triton_kernel -> rawhal_executable_open_file(hsaco_path)
 *       -> rawhal_executable_kernel(name) -> rawhal_triton_dispatch -> rawhal_queue_submit()
 *
 * A cache may also be added to a rawhal_library_t, which finds the same objects by their kernels'
 * names: give the query `name` from here and, as many entries usually share a name, `hsaco_path` as
 * its `file`.
 *
 * Tried with what Triton 3.0 to 3.5 and 3.9 write; members that one of them lacks are optional, and
 * a "target" may be the list that it once was. JSON is read by jansson, whose memory comes from
 * malloc(). Links to files are followed, links to folders are not; FIFOs and devices are never
 * opened.
 *
 * Ownership: everything reachable from a rawhal_triton_t lives until rawhal_triton_close(). Nothing
 * of the files stays open or mapped. Thread-safety: immutable after open. */
#ifndef RAWHAL_TRITON_H
#define RAWHAL_TRITON_H

#include <rawhal/hal.h>

RAWHAL_BEGIN

/* The kernels of a cache, or of one of its entries. */
typedef struct rawhal_triton rawhal_triton_t;

/* Zero-initialise, then set what should differ; 0 means the default. */
typedef struct rawhal_triton_options {
  size_t size;                         /* sizeof(rawhal_triton_options_t), or 0: see types.h */
  uint32_t max_kernels;                /* default 65,536 */
  uint32_t max_json_bytes;             /* of one file; default 1 MiB */
  const rawhal_hsaco_options_t *hsaco; /* how objects are read; NULL: the defaults */
  const rawhal_allocator_t *allocator; /* NULL: malloc() */
} rawhal_triton_options_t;

/* A kernel as the cache describes it. Strings have no control characters, and are followed by a
 * NUL. What a file does not say is 0, or empty. */
typedef struct rawhal_triton_kernel {
  rawhal_string_t name; /* of the kernel; of the file, where the JSON could not be read */
  rawhal_string_t json_path, hsaco_path; /* empty: there is no such file beside the other */
  rawhal_string_t hash;                  /* of the cache's entry */
  rawhal_string_t triton_version;
  rawhal_string_t backend; /* "hip" */
  rawhal_string_t arch;    /* what it was compiled for: "gfx90a" */
  uint32_t shared;         /* bytes of dynamic LDS per work-group */
  uint32_t num_warps;      /* waves of a work-group */
  uint32_t warp_size;      /* work-items of a wave; the object's where the JSON has none */
  uint32_t workgroup;      /* work-items: num_warps * warp_size */
  uint32_t num_stages;     /* of software pipelines; a launch does not need it */
  uint32_t num_ctas;       /* work-groups of a cluster; 1 where the JSON has none */
  bool launch_cooperative_grid;
  /* Memory that Triton's launcher gives each program of the grid, and its alignment, in bytes. */
  uint64_t global_scratch_size, global_scratch_align;
  uint64_t profile_scratch_size, profile_scratch_align;
  /* How many pointers to these Triton has put after the arguments of the source: none (up to 3.2),
   * the first (3.3 and 3.4), both (from 3.5 on). They are the last visible ones of the kernel's
   * layout, have no names, and may be null where their size is 0. Else they point to that many
   * bytes for each program of the grid, one after the other. */
  uint32_t scratch_pointers;
  rawhal_status_t status; /* OK: it can be launched */
  rawhal_string_t why_not;
} rawhal_triton_kernel_t;

/* Reads `path`: NAME.json, NAME.hsaco, or a folder. For one file, anything wrong with the entry
 * makes the call fail; in a folder such an entry is listed, with its status and why_not. JSON that
 * is not an entry's, such as the lists __grp__NAME.json, is passed over in a folder.
 *
 * NOT_FOUND: no such path, one file of the entry without the other, no kernel of that name in the
 * object; INVALID_ARGUMENT: the path is something else; MALFORMED: not JSON, or a member that is
 * impossible or contradicts the object: the message names it, and both values; TARGET_MISMATCH: the
 * object is for another processor than the JSON; UNSUPPORTED: another backend; CAP_EXCEEDED: an
 * option; OUT_OF_MEMORY; and as rawhal_hsaco_open_file(). `options` may be NULL. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t
rawhal_triton_open_file(const char *path, const rawhal_triton_options_t *options,
                        rawhal_triton_t **triton, rawhal_error_t *error);
/* Frees it with its kernels. NULL is allowed. */
RAWHAL_API void rawhal_triton_close(rawhal_triton_t *triton);

/* How many there are, those that cannot be launched included. 0 for NULL. */
RAWHAL_API size_t rawhal_triton_kernel_count(const rawhal_triton_t *triton);
/* In the order of their paths' names, folder by folder. NULL when index >= their number. */
RAWHAL_API const rawhal_triton_kernel_t *rawhal_triton_kernel(const rawhal_triton_t *triton,
                                                              size_t index);

/* Sets the members of `*dispatch` that the entry decides: kernel, work_items, workgroup,
 * dynamic_lds, and RAWHAL_DISPATCH_COOPERATIVE where it is needed. The rest, including the
 * arguments, is the caller's and stays. `programs`: of the grid in each dimension, as in Triton's
 * kernel[grid]. `kernel` is the entry's on `device`. Like HIP's launch, it adds `shared` to the LDS
 * that the object itself has, which is none in Triton's objects.
 *
 * INVALID_ARGUMENT: NULL, another kernel, no programs in a dimension; OUT_OF_RANGE: too many, or
 * more LDS or work-items than the device's work-groups can have; UNSUPPORTED: clusters (num_ctas);
 * the entry's own status where it cannot be launched. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t
rawhal_triton_dispatch(const rawhal_triton_kernel_t *entry, const rawhal_device_t *device,
                       const rawhal_device_kernel_t *kernel, const uint32_t programs[3],
                       rawhal_dispatch_t *dispatch, rawhal_error_t *error);

RAWHAL_END

#endif
