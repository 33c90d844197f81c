/* What a device itself does for a queue: compute units and priority, as its options say and as
 * the device's limits allow. */
#include "queue/hardware.h"

#include "base/error.h"

#include <string.h>

/* The lower of what the limits say and what is asked for; a hint, so a runtime may refuse it. */
static void set_priority(const rawhal_queue_t *queue, rawhal_queue_priority_t asked)
{
  static const hsa_amd_queue_priority_t priorities[] = {
      [RAWHAL_QUEUE_PRIORITY_LOW] = HSA_AMD_QUEUE_PRIORITY_LOW,
      [RAWHAL_QUEUE_PRIORITY_NORMAL] = HSA_AMD_QUEUE_PRIORITY_NORMAL,
      [RAWHAL_QUEUE_PRIORITY_HIGH] = HSA_AMD_QUEUE_PRIORITY_HIGH,
  };
  const queue_device_t *device = queue->device;
  rawhal_queue_priority_t allowed = RAWHAL_QUEUE_PRIORITY_HIGH;
  if (device->limiter) {
    uint64_t limit = rawhal_limiter_get(device->limiter, RAWHAL_LIMIT_PRIORITY);
    allowed = limit == RAWHAL_PRIORITY_LOW    ? RAWHAL_QUEUE_PRIORITY_LOW
              : limit == RAWHAL_PRIORITY_HIGH ? RAWHAL_QUEUE_PRIORITY_HIGH
                                              : RAWHAL_QUEUE_PRIORITY_NORMAL;
    if (asked == RAWHAL_QUEUE_PRIORITY_DEFAULT)
      asked = allowed;
  }
  if (asked > allowed)
    asked = allowed;
  if (asked != RAWHAL_QUEUE_PRIORITY_DEFAULT && asked != RAWHAL_QUEUE_PRIORITY_NORMAL)
    (void)device->hsa->hsa_amd_queue_set_priority(queue->hsa_queue, priorities[asked]);
}

static rawhal_status_t choose_mask(const queue_device_t *device,
                                   const rawhal_queue_options_t *options, cu_mask_t *mask,
                                   rawhal_error_t *error)
{
  *mask = device->cu_mask;
  if (!options->cu_mask && !options->cu_mask_bits)
    return RAWHAL_OK;
  if (!options->cu_mask || !options->cu_mask_bits)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "a mask of compute units %s",
                       options->cu_mask ? "of 0 bits" : "that is NULL");
  cu_mask_t asked;
  rawhal_status_t status =
      cu_mask_read(options->cu_mask, options->cu_mask_bits, &device->units, &asked, error);
  if (status == RAWHAL_OK && device->cu_mask.bits)
    status = cu_mask_narrow(&asked, &device->cu_mask, &device->units, error);
  if (status == RAWHAL_OK)
    *mask = asked;
  return status;
}

/* What is left of the device's: HSA_CU_MASK may allow less than was asked for. */
static uint32_t count_units(const rawhal_queue_t *queue, const cu_mask_t *mask)
{
  const queue_device_t *device = queue->device;
  cu_mask_t got = *mask;
  uint32_t bits = (device->units.compute_units + 31) / 32 * 32, count = 0;
  if (bits && bits <= 32 * CU_MASK_WORDS && device->hsa->hsa_amd_queue_cu_get_mask &&
      device->hsa->hsa_amd_queue_cu_get_mask(queue->hsa_queue, bits, got.words) ==
          HSA_STATUS_SUCCESS)
    got.bits = bits;
  for (uint32_t i = 0; i < got.bits / 32; ++i)
    count += (uint32_t)__builtin_popcount(got.words[i]);
  return count && count < device->units.compute_units ? count : device->units.compute_units;
}

rawhal_status_t hardware_configure(rawhal_queue_t *queue, const rawhal_queue_options_t *options,
                                   rawhal_error_t *error)
{
  const queue_device_t *device = queue->device;
  cu_mask_t mask;
  if ((unsigned)options->priority > RAWHAL_QUEUE_PRIORITY_HIGH)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "unknown priority %d, at most %d",
                       (int)options->priority, (int)RAWHAL_QUEUE_PRIORITY_HIGH);
  rawhal_status_t status = choose_mask(device, options, &mask, error);
  if (status != RAWHAL_OK)
    return status;
  set_priority(queue, options->priority);
  hsa_status_t result = HSA_STATUS_SUCCESS;
  if (mask.bits)
    result = device->hsa->hsa_amd_queue_cu_set_mask(queue->hsa_queue, mask.bits, mask.words);
  /* REDUCED: HSA_CU_MASK allows even less. */
  if (result != HSA_STATUS_SUCCESS && (int)result != (int)HSA_STATUS_CU_MASK_REDUCED)
    return hsa_fail(device->hsa, result, error, "setting the mask of compute units");
  queue->compute_units = count_units(queue, &mask);
  return RAWHAL_OK;
}
