/* Names of kernels by the addresses of their descriptors, as a process tells them. */
#ifndef TOOLS_SHARED_KERNELS_H
#define TOOLS_SHARED_KERNELS_H

#include <rawhal/events.h>

#include "base/list.h"

/* Zero-initialise. Bounded: of a process that loads more, the first ones have names. */
typedef struct kernels {
  list_t names;    /* of those that came, in order */
  uint32_t *slots; /* their numbers + 1, by the hash of the address; 0: free */
} kernels_t;

/* What a KERNEL event, or MODULE_UNLOAD, says; of others nothing. */
void kernels_learn(kernels_t *kernels, const rawhal_event_t *event);
/* Empty: it has none. Valid until the next kernels_learn(). Of what runs in the place of others,
 * the names of those. */
rawhal_string_t kernels_find(const kernels_t *kernels, uint64_t kernel_object);
/* "probed" or "substitute": how it runs in the place of another; NULL: it does not. */
const char *kernels_instead(const kernels_t *kernels, uint64_t kernel_object);
/* The same of a KERNEL event. */
const char *kernels_instead_of(const rawhal_event_t *event);
void kernels_free(kernels_t *kernels);

#endif
