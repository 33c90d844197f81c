/* Transfers that have ended when the call does. */
#include "hal/copy.h"
#include "hal/peer.h"
#include "hal/transfer_check.h"

#include "base/cancel.h"
#include "base/error.h"
#include "base/sized.h"

#include <string.h>

/* Device memory that the host reaches, too, is copied by the device. */
static bool of_host(const rawhal_buffer_t *buffer)
{
  return !buffer || buffer->kind == RAWHAL_MEMORY_HOST;
}

/* Rows of a buffer where the device has them, or where the host has. */
static transfer_rows_t rows_of(const rawhal_transfer_t *t, const rawhal_buffer_t *buffer,
                               uint64_t offset, const void *host, uint64_t pitch)
{
  unsigned char *first = (unsigned char *)(uintptr_t)host;
  if (buffer)
    first = (of_host(buffer) ? buffer->host : buffer->memory) + offset;
  return (transfer_rows_t){first, pitch, t->bytes, t->rows};
}

static rawhal_status_t fill_rows(rawhal_buffer_t *to, const transfer_rows_t *there,
                                 const rawhal_transfer_t *t, rawhal_error_t *error)
{
  if (!of_host(to))
    return copy_fill(to->device, there, t->pattern, t->pattern_bytes, error);
  for (uint64_t row = 0; row < there->rows; ++row)
    pattern_repeat(there->at + row * there->pitch, there->bytes, t->pattern, t->pattern_bytes);
  return RAWHAL_OK;
}

static rawhal_status_t carry_out(const rawhal_transfer_t *t, rawhal_error_t *error)
{
  rawhal_buffer_t *to = t->to;
  const rawhal_buffer_t *from = t->from;
  const transfer_rows_t target = rows_of(t, to, t->to_offset, t->to_host, t->to_pitch);
  if (t->pattern_bytes)
    return fill_rows(to, &target, t, error);
  const transfer_rows_t source = rows_of(t, from, t->from_offset, t->from_host, t->from_pitch);
  const bool to_host = of_host(to), from_host = of_host(from);
  if (to_host && from_host) {
    rows_copy(&target, &source);
    return RAWHAL_OK;
  }
  if (from_host)
    return copy_host(to->device, COPY_TO_DEVICE, &target, &source, error);
  if (to_host)
    return copy_host(from->device, COPY_FROM_DEVICE, &source, &target, error);
  if (to->device != from->device)
    return peer_copy(to, &target, from, &source, error);
  return copy_between(to->device, &target, &source, error);
}

static rawhal_status_t transfer_now(const rawhal_transfer_t *given, rawhal_error_t *error)
{
  rawhal_transfer_t t;
  rawhal_status_t status = transfer_take(given, &t, error);
  return status == RAWHAL_OK && t.bytes ? carry_out(&t, error) : status;
}

rawhal_status_t rawhal_buffer_transfer_sized(const rawhal_transfer_t *transfer,
                                             size_t transfer_size, rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  if (!transfer)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "transfer is NULL");
  rawhal_status_t status =
      sized_array(transfer, transfer_size, 1, sizeof(*transfer), "transfer", error);
  return status == RAWHAL_OK ? transfer_now(transfer, error) : status;
}

rawhal_status_t rawhal_buffer_write(rawhal_buffer_t *buffer, uint64_t offset, const void *data,
                                    size_t size, rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  const rawhal_transfer_t write = {
      .to = buffer, .to_offset = offset, .from_host = data, .bytes = size};
  return transfer_now(&write, error);
}

rawhal_status_t rawhal_buffer_read(const rawhal_buffer_t *buffer, uint64_t offset, void *data,
                                   size_t size, rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  const rawhal_transfer_t read = {
      .from = buffer, .from_offset = offset, .to_host = data, .bytes = size};
  return transfer_now(&read, error);
}

rawhal_status_t rawhal_buffer_copy(rawhal_buffer_t *to, uint64_t to_offset,
                                   const rawhal_buffer_t *from, uint64_t from_offset, size_t size,
                                   rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  const rawhal_transfer_t copy = {
      .to = to, .to_offset = to_offset, .from = from, .from_offset = from_offset, .bytes = size};
  return transfer_now(&copy, error);
}

rawhal_status_t rawhal_buffer_fill(rawhal_buffer_t *buffer, uint64_t offset, uint32_t value,
                                   size_t size, rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  rawhal_transfer_t fill = {
      .to = buffer, .to_offset = offset, .bytes = size, .pattern_bytes = sizeof(value)};
  memcpy(fill.pattern, &value, sizeof(value));
  return transfer_now(&fill, error);
}
