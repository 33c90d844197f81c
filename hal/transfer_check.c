#include "hal/transfer_check.h"

#include "hal/buffer.h"

#include "base/checked.h"
#include "base/error.h"

/* ---- What it is ---- */

static rawhal_status_t check_kind(const rawhal_transfer_t *t, rawhal_error_t *error)
{
  const int ends = (t->to != NULL) + (t->to_host != NULL);
  const int sources = (t->from != NULL) + (t->from_host != NULL) + (t->pattern_bytes != 0);
  if (ends > 1 || sources > 1)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "%d destinations and %d sources are set, of which there is one each", ends,
                       sources);
  if (t->to_host && sources && !t->from)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "to_host is set, but no buffer that it is read from");
  if (!t->to && !t->from)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "buffer is NULL");
  if (t->bytes && (!ends || !sources))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "data is NULL, but %llu bytes are requested",
                       (unsigned long long)t->bytes);
  return RAWHAL_OK;
}

static rawhal_status_t check_pattern(const rawhal_transfer_t *t, rawhal_error_t *error)
{
  const uint32_t unit = t->pattern_bytes;
  if (unit == 0)
    return RAWHAL_OK;
  if (unit > sizeof(t->pattern) || !is_power_of_two(unit))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "a pattern of %u bytes, which must be 1, 2, 4, 8 or 16", unit);
  if (t->bytes % unit || t->to_offset % unit)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "%llu bytes at offset %llu are not whole patterns of %u bytes",
                       (unsigned long long)t->bytes, (unsigned long long)t->to_offset, unit);
  if (t->rows > 1 && t->to_pitch % unit)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "rows %llu bytes apart are not whole patterns of %u bytes",
                       (unsigned long long)t->to_pitch, unit);
  return RAWHAL_OK;
}

/* ---- Where its rows are ---- */

/* From the first byte of the first row to the last one of the last. */
static bool extent(const rawhal_transfer_t *t, uint64_t pitch, uint64_t *bytes)
{
  return checked_mul_u64(t->rows - 1, pitch, bytes) && checked_add_u64(*bytes, t->bytes, bytes);
}

static rawhal_status_t check_range(const rawhal_transfer_t *t, const rawhal_buffer_t *buffer,
                                   uint64_t offset, uint64_t pitch, rawhal_error_t *error)
{
  rawhal_status_t status = buffer_check(buffer, error);
  uint64_t bytes;
  if (status != RAWHAL_OK ||
      (extent(t, pitch, &bytes) && range_within(offset, bytes, buffer->size)))
    return status;
  if (t->rows == 1)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE,
                       "%llu bytes at offset %llu of a buffer of %zu bytes",
                       (unsigned long long)t->bytes, (unsigned long long)offset, buffer->size);
  return rawhal_fail(
      error, RAWHAL_OUT_OF_RANGE,
      "%llu rows of %llu bytes, %llu bytes apart, at offset %llu of a buffer of %zu bytes",
      (unsigned long long)t->rows, (unsigned long long)t->bytes, (unsigned long long)pitch,
      (unsigned long long)offset, buffer->size);
}

static rawhal_status_t check_host(const rawhal_transfer_t *t, const void *memory, uint64_t pitch,
                                  rawhal_error_t *error)
{
  uint64_t bytes;
  if (extent(t, pitch, &bytes) && checked_add_u64(bytes, (uintptr_t)memory, &bytes))
    return RAWHAL_OK;
  return rawhal_fail(
      error, RAWHAL_OUT_OF_RANGE, "%llu rows of %llu bytes, %llu bytes apart, at %p do not end",
      (unsigned long long)t->rows, (unsigned long long)t->bytes, (unsigned long long)pitch, memory);
}

static rawhal_status_t check_side(const rawhal_transfer_t *t, const rawhal_buffer_t *buffer,
                                  uint64_t offset, const void *memory, uint64_t pitch,
                                  rawhal_error_t *error)
{
  if (pitch < t->bytes && t->rows > 1)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "rows of %llu bytes are %llu bytes apart",
                       (unsigned long long)t->bytes, (unsigned long long)pitch);
  if (buffer)
    return check_range(t, buffer, offset, pitch, error);
  return memory ? check_host(t, memory, pitch, error) : RAWHAL_OK;
}

/* ---- Whether they are apart ---- */

/* Rows of one pitch may lie between each other. The ranges are within buffers. */
static bool rows_overlap(const rawhal_transfer_t *t, const unsigned char *to,
                         const unsigned char *from)
{
  const uint64_t a = (uintptr_t)to, b = (uintptr_t)from, apart = a < b ? b - a : a - b;
  const uint64_t before = (t->rows - 1) * (a < b ? t->to_pitch : t->from_pitch) + t->bytes;
  if (!to || !from || apart >= before)
    return false;
  if (t->rows == 1 || t->to_pitch != t->from_pitch)
    return true;
  const uint64_t rows = apart / t->to_pitch, rest = apart % t->to_pitch;
  return rest < t->bytes || (rows + 1 < t->rows && t->to_pitch - rest < t->bytes);
}

static rawhal_status_t check_apart(const rawhal_transfer_t *t, rawhal_error_t *error)
{
  const rawhal_buffer_t *to = t->to, *from = t->from;
  if (!to || !from ||
      (!rows_overlap(t, to->memory + t->to_offset, from->memory + t->from_offset) &&
       !(to->host && from->host &&
         rows_overlap(t, to->host + t->to_offset, from->host + t->from_offset))))
    return RAWHAL_OK;
  if (t->rows == 1)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "%llu bytes at offset %llu and at %llu of the same memory overlap",
                       (unsigned long long)t->bytes, (unsigned long long)t->from_offset,
                       (unsigned long long)t->to_offset);
  return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                     "%llu rows of %llu bytes at offset %llu and at %llu of the same memory, %llu "
                     "and %llu bytes apart, overlap",
                     (unsigned long long)t->rows, (unsigned long long)t->bytes,
                     (unsigned long long)t->from_offset, (unsigned long long)t->to_offset,
                     (unsigned long long)t->from_pitch, (unsigned long long)t->to_pitch);
}

rawhal_status_t transfer_take(const rawhal_transfer_t *given, rawhal_transfer_t *t,
                              rawhal_error_t *error)
{
  *t = *given;
  t->rows = t->rows && t->bytes ? t->rows : 1;
  t->to_pitch = t->to_pitch ? t->to_pitch : t->bytes;
  t->from_pitch = t->from_pitch ? t->from_pitch : t->bytes;
  rawhal_status_t status = check_kind(t, error);
  if (status == RAWHAL_OK)
    status = check_pattern(t, error);
  if (status == RAWHAL_OK)
    status = check_side(t, t->to, t->to_offset, t->to_host, t->to_pitch, error);
  if (status == RAWHAL_OK)
    status = check_side(t, t->from, t->from_offset, t->from_host, t->from_pitch, error);
  return status == RAWHAL_OK && t->bytes ? check_apart(t, error) : status;
}
