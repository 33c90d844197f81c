#include "queue/staging.h"

#include "base/checked.h"
#include "base/error.h"

#include <string.h>

enum { SPARE_BYTES = 64 << 10, STAGED_ALIGNMENT = 64 };

/* ---- Memory ---- */

static void *take_spare(rawhal_queue_t *queue)
{
  queue_transfers_t *transfers = &queue->transfers;
  pthread_mutex_lock(&transfers->spare_lock);
  void *spare = transfers->spare_count ? transfers->spares[--transfers->spare_count] : NULL;
  pthread_mutex_unlock(&transfers->spare_lock);
  return spare;
}

static bool keep_spare(rawhal_queue_t *queue, void *memory)
{
  queue_transfers_t *transfers = &queue->transfers;
  pthread_mutex_lock(&transfers->spare_lock);
  bool kept = transfers->spare_count < TRANSFER_SPARES;
  if (kept)
    transfers->spares[transfers->spare_count++] = memory;
  pthread_mutex_unlock(&transfers->spare_lock);
  return kept;
}

static rawhal_status_t allocate_staging(const queue_device_t *device, uint64_t size,
                                        void **allocated, rawhal_error_t *error)
{
  const hsa_table_t *hsa = device->hsa;
  void *memory = NULL;
  hsa_status_t result = hsa->hsa_amd_memory_pool_allocate(device->kernarg_pool, size, 0, &memory);
  if (result != HSA_STATUS_SUCCESS)
    return hsa_fail(hsa, result, error, "allocating staging memory for a copy");
  result = hsa->hsa_amd_agents_allow_access(1, &device->agent, NULL, memory);
  if (result != HSA_STATUS_SUCCESS) {
    (void)hsa->hsa_amd_memory_pool_free(memory);
    return hsa_fail(hsa, result, error, "giving the device access to staging memory");
  }
  *allocated = memory;
  return RAWHAL_OK;
}

static rawhal_status_t take_memory(rawhal_queue_t *queue, uint64_t size,
                                   transfer_staging_t *staging, rawhal_error_t *error)
{
  bool small = size <= SPARE_BYTES;
  staging->size = small ? SPARE_BYTES : size;
  if (small && (staging->memory = take_spare(queue)))
    return RAWHAL_OK;
  return allocate_staging(queue->device, staging->size, &staging->memory, error);
}

void staging_give_back(rawhal_queue_t *queue, transfer_staging_t *staging)
{
  staging_undeliver(queue, staging);
  if (staging->memory && !(staging->size == SPARE_BYTES && keep_spare(queue, staging->memory)))
    (void)queue->device->hsa->hsa_amd_memory_pool_free(staging->memory);
  allocate_free(queue->device->allocator, staging->several);
  if (staging->owner) {
    atomic_fetch_sub(&queue->transfers.undelivered, 1);
    transfer_owner_let(staging->owner);
  }
  *staging = (transfer_staging_t){0};
}

void staging_free_spares(rawhal_queue_t *queue)
{
  for (void *spare; (spare = take_spare(queue));)
    (void)queue->device->hsa->hsa_amd_memory_pool_free(spare);
}

/* ---- What is in it ---- */

void rows_copy(const transfer_rows_t *to, const transfer_rows_t *from)
{
  for (uint64_t row = 0; row < to->rows; ++row)
    memcpy(to->at + row * to->pitch, from->at + row * from->pitch, to->bytes);
}

void pattern_repeat(unsigned char *to, uint64_t bytes, const void *pattern, uint32_t pattern_bytes)
{
  if (!bytes)
    return;
  memcpy(to, pattern, pattern_bytes);
  for (uint64_t done = pattern_bytes; done < bytes; done *= 2)
    memcpy(to + done, to, done < bytes - done ? done : bytes - done);
}

/* The device's side of it may be one row of what are several of the program's. */
static transfer_rows_t rows_staged(const queue_transfer_t *transfer, unsigned char *at)
{
  const transfer_rows_t *host = &transfer->host;
  const bool reads = transfer->staged == TRANSFER_READS;
  const uint64_t pitch = reads ? transfer->to.pitch : transfer->from.pitch;
  return (transfer_rows_t){at, transfer->rows == 1 ? host->bytes : pitch, host->bytes, host->rows};
}

static bool staged_bytes(const queue_transfer_t *transfer, uint64_t *bytes)
{
  const bool reads = transfer->staged == TRANSFER_READS;
  const bool fills = transfer->staged == TRANSFER_FILLS;
  const uint64_t pitch = reads ? transfer->to.pitch : transfer->from.pitch;
  const uint64_t rows = fills ? transfer->piece_rows : transfer->rows;
  const uint64_t row = fills ? transfer->piece_bytes : transfer->bytes;
  return checked_mul_u64(rows - 1, pitch, bytes) && checked_add_u64(*bytes, row, bytes);
}

static void put(queue_transfer_t *transfer, unsigned char *at, transfer_staging_t *staging)
{
  const transfer_rows_t staged = rows_staged(transfer, at);
  switch (transfer->staged) {
  case TRANSFER_DIRECT:
    break;
  case TRANSFER_WRITES:
    rows_copy(&staged, &transfer->host);
    transfer->from.at = at;
    break;
  case TRANSFER_READS:
    (staging->several ? staging->several : &staging->one)[staging->deliveries++] =
        (transfer_delivery_t){transfer->host, staged};
    transfer->to.at = at;
    break;
  case TRANSFER_FILLS:
    for (uint64_t row = 0; row < transfer->piece_rows; ++row)
      pattern_repeat(at + row * transfer->from.pitch, transfer->piece_bytes, transfer->pattern,
                     transfer->pattern_bytes);
    transfer->from.at = at;
  }
}

/* Where each begins follows from those before it. */
static bool place_next(const queue_transfer_t *transfer, uint64_t *at, uint64_t *end)
{
  uint64_t bytes = 0;
  return checked_align_u64(*end, STAGED_ALIGNMENT, at) && staged_bytes(transfer, &bytes) &&
         checked_add_u64(*at, bytes, end);
}

/* How much all of them take, and how many are read; false: more than there is. */
static bool measure(const queue_transfer_t *transfers, size_t count, uint64_t *bytes, size_t *reads)
{
  uint64_t at;
  *bytes = 0;
  *reads = 0;
  for (size_t i = 0; i < count; ++i) {
    if (transfers[i].staged == TRANSFER_DIRECT)
      continue;
    if (!place_next(&transfers[i], &at, bytes))
      return false;
    *reads += transfers[i].staged == TRANSFER_READS;
  }
  return true;
}

static rawhal_status_t too_much(size_t count, rawhal_error_t *error)
{
  return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "staging memory for %zu transfers", count);
}

static void put_all(queue_transfer_t *transfers, size_t count, transfer_staging_t *staging)
{
  uint64_t at, end = 0;
  for (size_t i = 0; i < count; ++i)
    if (transfers[i].staged != TRANSFER_DIRECT && place_next(&transfers[i], &at, &end))
      put(&transfers[i], (unsigned char *)staging->memory + at, staging);
}

rawhal_status_t staging_take(rawhal_queue_t *queue, queue_transfer_t *transfers, size_t count,
                             transfer_staging_t *staging, rawhal_error_t *error)
{
  uint64_t bytes;
  size_t reads;
  *staging = (transfer_staging_t){0};
  if (!measure(transfers, count, &bytes, &reads))
    return too_much(count, error);
  if (bytes == 0)
    return RAWHAL_OK;
  if (reads > 1) {
    staging->several = allocate_zeroed(queue->device->allocator, reads, sizeof(*staging->several));
    if (!staging->several)
      return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a list of %zu reads", reads);
  }
  rawhal_status_t status = take_memory(queue, bytes, staging, error);
  if (status != RAWHAL_OK) {
    allocate_free(queue->device->allocator, staging->several);
    *staging = (transfer_staging_t){0};
    return status;
  }
  put_all(transfers, count, staging);
  return RAWHAL_OK;
}

rawhal_status_t staging_keep(const queue_device_t *device, queue_transfer_t *transfers,
                             size_t count, void **memory, rawhal_error_t *error)
{
  uint64_t bytes;
  size_t reads;
  *memory = NULL;
  if (!measure(transfers, count, &bytes, &reads))
    return too_much(count, error);
  rawhal_status_t status = bytes ? allocate_staging(device, bytes, memory, error) : RAWHAL_OK;
  if (status == RAWHAL_OK)
    put_all(transfers, count, &(transfer_staging_t){.memory = *memory});
  return status;
}

/* ---- Delivery ---- */

void staging_announce(rawhal_queue_t *queue, const transfer_staging_t *staging)
{
  if (staging->deliveries)
    atomic_fetch_add(&queue->transfers.undelivered, 1);
}

void staging_undeliver(rawhal_queue_t *queue, transfer_staging_t *staging)
{
  if (staging->deliveries)
    atomic_fetch_sub(&queue->transfers.undelivered, 1);
  staging->deliveries = 0;
}

void staging_deliver(const transfer_staging_t *staging)
{
  const transfer_delivery_t *all = staging->several ? staging->several : &staging->one;
  for (size_t i = 0; i < staging->deliveries; ++i)
    rows_copy(&all[i].to, &all[i].from);
}
