#include "queue/cu_mask.h"

#include "base/error.h"
#include "base/hex_set.h"

#include <string.h>

static bool is_set(const cu_mask_t *mask, uint32_t unit)
{
  return mask->words[unit / 32] >> unit % 32 & 1;
}

static rawhal_status_t read_digits(const char *text, uint32_t compute_units, cu_mask_t *mask,
                                   rawhal_error_t *error)
{
  const char *digits = hex_set_digits(text);
  size_t count = digits ? strlen(digits) : 0;
  if (!digits)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "'%.100s' is not a mask of compute units; expected hexadecimal digits",
                       text);
  for (size_t i = 0; i < count; ++i) {
    uint64_t unit = 4 * (uint64_t)(count - 1 - i);
    for (unsigned value = hex_set_digit(digits[i]); value; value >>= 1, ++unit) {
      if ((value & 1) && unit >= compute_units)
        return rawhal_fail(error, RAWHAL_OUT_OF_RANGE,
                           "the mask selects compute unit %llu, the device has %u",
                           (unsigned long long)unit, compute_units);
      if (value & 1)
        mask->words[unit / 32] |= 1u << unit % 32;
    }
  }
  return RAWHAL_OK;
}

/* What the device can do with it. Sets the mask's size, or clears it. */
static rawhal_status_t finish(const cu_mask_device_t *device, cu_mask_t *mask,
                              rawhal_status_t status, rawhal_error_t *error)
{
  uint32_t dies = device->dies ? device->dies : 1, on_die[64] = {0}, selected = 0;
  for (uint32_t unit = 0; status == RAWHAL_OK && unit < device->compute_units; ++unit) {
    if (device->pairs && unit % 2 == 0 && is_set(mask, unit) != is_set(mask, unit + 1))
      status = rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                           "the mask splits compute units %u and %u, which belong together", unit,
                           unit + 1);
    selected += is_set(mask, unit);
    on_die[unit % dies % 64] += is_set(mask, unit);
  }
  if (status == RAWHAL_OK && !selected)
    status = rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "the mask selects no compute unit");
  for (uint32_t die = 0; status == RAWHAL_OK && die < dies && die < 64; ++die)
    if (!on_die[die])
      status = rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                           "the mask selects no compute unit of die %u (every %uth is on it)", die,
                           dies);
  if (status == RAWHAL_OK)
    mask->bits = (device->compute_units + 31) / 32 * 32;
  else
    *mask = (cu_mask_t){0};
  return status;
}

static rawhal_status_t check_device(const cu_mask_device_t *device, rawhal_error_t *error)
{
  if (device->compute_units <= 32 * CU_MASK_WORDS)
    return RAWHAL_OK;
  return rawhal_fail(error, RAWHAL_UNSUPPORTED, "a device of %u compute units cannot be masked",
                     device->compute_units);
}

rawhal_status_t cu_mask_parse(const char *text, const cu_mask_device_t *device, cu_mask_t *mask,
                              rawhal_error_t *error)
{
  *mask = (cu_mask_t){0};
  rawhal_status_t status = check_device(device, error);
  if (status == RAWHAL_OK)
    status = read_digits(text, device->compute_units, mask, error);
  return finish(device, mask, status, error);
}

rawhal_status_t cu_mask_read(const uint32_t *words, uint32_t bits, const cu_mask_device_t *device,
                             cu_mask_t *mask, rawhal_error_t *error)
{
  *mask = (cu_mask_t){0};
  rawhal_status_t status = check_device(device, error);
  for (uint32_t unit = 0; status == RAWHAL_OK && unit < bits; ++unit) {
    if (!(words[unit / 32] >> unit % 32 & 1))
      continue;
    if (unit >= device->compute_units)
      status = rawhal_fail(error, RAWHAL_OUT_OF_RANGE,
                           "the mask selects compute unit %u, the device has %u", unit,
                           device->compute_units);
    else
      mask->words[unit / 32] |= 1u << unit % 32;
  }
  return finish(device, mask, status, error);
}

rawhal_status_t cu_mask_narrow(cu_mask_t *mask, const cu_mask_t *limit,
                               const cu_mask_device_t *device, rawhal_error_t *error)
{
  rawhal_error_t mine;
  for (uint32_t i = 0; i < CU_MASK_WORDS; ++i)
    mask->words[i] &= limit->words[i];
  rawhal_status_t status = finish(device, mask, RAWHAL_OK, &mine);
  return status == RAWHAL_OK
             ? RAWHAL_OK
             : rawhal_fail(error, status, "combined with the mask of the device's limits, %s",
                           mine.message);
}
