/* Structures that callers pass and that may grow. Internal.
 *
 * The first member of such a structure is `size_t size`: what its caller's header takes it to have,
 * 0 for the first version of the structure. A later library has more members, which are zero for
 * older callers; an earlier one refuses members that it does not know, unless they are zero. */
#ifndef RAWHAL_BASE_SIZED_H
#define RAWHAL_BASE_SIZED_H

#include "base/status.h"

/* Copies `given`, which may be NULL for zeros, to the `ours` bytes of `*taken`, whose size it sets.
 * `first`: bytes of the first version. INVALID_ARGUMENT: fewer than that. UNSUPPORTED: something is
 * set that is not known here. `what` names the structure. */
RAWHAL_CHECKED rawhal_status_t sized_take(void *taken, size_t ours, size_t first, const void *given,
                                          const char *what, rawhal_error_t *error);

/* The other way: writes as much of `ours`, a structure of this library, as the caller's has, whose
 * `size` says so, 0 for the first version; `size` is then what was written. A size that no version
 * has counts as the first. */
void sized_give(void *to, size_t first, const void *ours, size_t size);

/* One element of an array of the caller's, whose elements have `size` bytes: what is there of ours,
 * then zeros. */
void sized_element(void *to, size_t size, const void *ours, size_t our_size);

/* The caller's array of `count` elements, which is used in place: of `size` bytes each, of which
 * this library knows the first `ours`, the structure's first version. INVALID_ARGUMENT: fewer.
 * UNSUPPORTED: something is set beyond. */
RAWHAL_CHECKED rawhal_status_t sized_array(const void *elements, size_t size, size_t count,
                                           size_t ours, const char *what, rawhal_error_t *error);

/* `last`: the last member of the first version. */
#define SIZED_TAKE(taken, given, last, error)                                                      \
  sized_take((taken), sizeof(*(taken)),                                                            \
             (size_t)((const char *)(&(taken)->last + 1) - (const char *)(taken)),                 \
             (const void *)(1 ? (given) : (taken)), #given, (error))

#endif
