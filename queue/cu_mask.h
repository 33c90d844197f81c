/* Compute-unit masks: which compute units a device's queues may use. Internal. */
#ifndef RAWHAL_QUEUE_CU_MASK_H
#define RAWHAL_QUEUE_CU_MASK_H

#include "base/status.h"

enum { CU_MASK_WORDS = 32 };

typedef struct cu_mask {
  uint32_t words[CU_MASK_WORDS]; /* bit i of the whole is compute unit i */
  uint32_t bits;                 /* a multiple of 32; 0: no mask */
} cu_mask_t;

typedef struct cu_mask_device {
  uint32_t compute_units;
  uint32_t dies; /* compute unit i is on die i modulo this */
  bool pairs;    /* gfx10 and later give out compute units two by two */
} cu_mask_device_t;

/* `text` is hexadecimal, with or without 0x. INVALID_ARGUMENT: it is not, or selects nothing, half
 * a pair, or nothing of a die. OUT_OF_RANGE: a compute unit the device does not have. */
RAWHAL_CHECKED rawhal_status_t cu_mask_parse(const char *text, const cu_mask_device_t *device,
                                             cu_mask_t *mask, rawhal_error_t *error);

/* The same for the first `bits` of words. */
RAWHAL_CHECKED rawhal_status_t cu_mask_read(const uint32_t *words, uint32_t bits,
                                            const cu_mask_device_t *device, cu_mask_t *mask,
                                            rawhal_error_t *error);

/* Leaves of a mask what `limit` has, too. INVALID_ARGUMENT: not enough. */
RAWHAL_CHECKED rawhal_status_t cu_mask_narrow(cu_mask_t *mask, const cu_mask_t *limit,
                                              const cu_mask_device_t *device,
                                              rawhal_error_t *error);

#endif
