/* The code object of a probed kernel: its descriptor, its code, its metadata, two symbols. Internal
 * to this folder. */
#ifndef RAWHAL_PROBE_OBJECT_H
#define RAWHAL_PROBE_OBJECT_H

#include "hsaco/object.h"

typedef struct object_parts {
  const rawhal_kernel_t *kernel; /* the original: names, target and metadata are its */
  unsigned char *descriptor;     /* 64 bytes; its entry is filled in here */
  const uint32_t *code;          /* with what stands before the first instruction */
  size_t code_dwords;
} object_parts_t;

/* `*bytes`: with the original object's allocator. OUT_OF_MEMORY; CAP_EXCEEDED: more than 1 GiB. */
RAWHAL_CHECKED rawhal_status_t object_write(const object_parts_t *parts, rawhal_bytes_t *bytes,
                                            rawhal_error_t *error);

/* Has object_write() made it? */
bool object_is_probed(const rawhal_hsaco_t *hsaco);

#endif
