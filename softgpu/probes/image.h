/* Code objects as loaders have left them in a device's memory. Internal. */
#ifndef SOFTGPU_PROBES_IMAGE_H
#define SOFTGPU_PROBES_IMAGE_H

#include "hsaco/hsaco.h"
#include "softgpu/prober.h"

typedef struct image {
  uint64_t base, size; /* where it is loaded: from its first byte to the end of its last segment */
  unsigned char *bytes;
  size_t count;
} image_t;

/* The code object around an address, as a file: its segments as they are there, at the places that
 * the file had them, between them zeros, and no sections. All of it is a program's memory that may
 * hold anything. False, with the reason: there is none. The bytes are freed by free(). */
bool image_take(const softgpu_prober_device_t *device, uint32_t node, uint64_t address,
                image_t *image, const char **why);

#endif
