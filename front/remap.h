/* From the kernargs of one kernel to those of another that is to run in its place. Internal.
 *
 * The other takes the same visible arguments in the same order, wherever they lie, and may take
 * more after them, which are given here. Its hidden arguments are the first kernel's, or those that
 * the dispatch decides; a kernel with others is refused.
 *
 * Thread-safety: a remap is immutable. */
#ifndef RAWHAL_FRONT_REMAP_H
#define RAWHAL_FRONT_REMAP_H

#include "kernarg/kernarg.h"

enum {
  REMAP_ARGUMENTS = 512,
  REMAP_EXTRAS = 16,
  REMAP_BYTES = 65536, /* of kernargs, at most */
};

typedef enum remap_extra_kind {
  REMAP_BUFFER = 0, /* the address of memory: a pointer */
  REMAP_NUMBER = 1, /* which dispatch it is: 4 or 8 bytes by value */
  REMAP_VALUE = 2,  /* an integer of 1, 2, 4 or 8 bytes by value */
} remap_extra_kind_t;

typedef struct remap_extra {
  remap_extra_kind_t kind;
  uint64_t value; /* REMAP_VALUE's; must fit */
} remap_extra_t;

typedef struct remap_kernel {
  const rawhal_kernel_t *facts;
  const rawhal_kernarg_layout_t *layout; /* NULL: what it takes is not known */
} remap_kernel_t;

typedef struct remap remap_t;

/* Both kernels must outlive it. INVALID_ARGUMENT: the other takes something else, and the message
 * says what; UNSUPPORTED: what one of them takes is not known, or too much; OUT_OF_MEMORY. */
RAWHAL_CHECKED rawhal_status_t remap_create(const remap_kernel_t *one, const remap_kernel_t *other,
                                            const remap_extra_t *extras, size_t count,
                                            remap_t **remap, rawhal_error_t *error);
void remap_destroy(remap_t *remap); /* NULL is allowed */

/* The other can have the one's kernargs as they are. */
bool remap_is_identity(const remap_t *remap);
/* Bytes of the one's kernargs, and room that the other's take. */
uint32_t remap_bytes(const remap_t *remap);
uint32_t remap_room(const remap_t *remap);

/* Writes the other's kernargs to `image`, of remap_room() bytes and aligned to 64. `extras`: a
 * value for each; `launch`: the dispatch, as the other's. Fails as rawhal_kernarg_write_pointers(),
 * and writes nothing then. */
RAWHAL_CHECKED rawhal_status_t remap_write(const remap_t *remap, const void *kernargs,
                                           const rawhal_launch_t *launch, const uint64_t *extras,
                                           void *image, rawhal_error_t *error);

#endif
