/* Dispatches of one kernel that become dispatches of another: its kernel object, its kernargs, its
 * group memory and its scratch. Internal.
 *
 * Thread-safety: what is made is immutable. */
#ifndef RAWHAL_FRONT_INSTEAD_H
#define RAWHAL_FRONT_INSTEAD_H

#include "front/objects.h"
#include "front/remap.h"
#include "front/replacement.h"

typedef struct instead {
  const front_kernel_t *original;
  const replacement_t *replacement; /* both outlive it */
  remap_t *remap;
} instead_t;

/* Fails as remap_create(), and INVALID_ARGUMENT: the other's scratch is not known. */
RAWHAL_CHECKED rawhal_status_t instead_create(instead_t *instead, const front_kernel_t *original,
                                              const replacement_t *replacement,
                                              const remap_extra_t *extras, size_t count,
                                              rawhal_error_t *error);
void instead_destroy(instead_t *instead); /* zeros are allowed */

/* Gets the value of each argument that is appended, once nothing else can fail for want of it. */
typedef void instead_values_fn(void *context, uint64_t values[REMAP_EXTRAS]);

/* Changes the packet. `*block`: its kernargs, to be given back when it has ended; NULL: they are
 * the original's. OUT_OF_RANGE, UNSUPPORTED, OUT_OF_MEMORY and errors of rawhal_launch_check():
 * nothing was changed, and the original is to run. */
RAWHAL_CHECKED rawhal_status_t instead_dispatch(const instead_t *instead,
                                                const front_device_t *device,
                                                instead_values_fn *values, void *context,
                                                hsa_kernel_dispatch_packet_t *packet, void **block,
                                                rawhal_error_t *error);
/* NULL is allowed. */
void instead_give_back(const instead_t *instead, void *block);

#endif
