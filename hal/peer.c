/* Several devices: which reaches whose memory, and copies from one to another. */
#include "hal/peer.h"

#include "hal/buffer.h"
#include "hal/copy.h"
#include "hal/runtime.h"

#include "base/cancel.h"
#include "base/error.h"

#include <stdlib.h>

enum { PIECE_BYTES = 4 << 20 }; /* of a copy through the host */

static pthread_mutex_t lists_lock = PTHREAD_MUTEX_INITIALIZER; /* of all buffers' lists */

/* ---- Which devices can be given access, and which have it ---- */

static bool reaches_pool(const rawhal_device_t *device, hsa_amd_memory_pool_t pool)
{
  hsa_amd_memory_pool_access_t access = HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED;
  hsa_status_t result = device->runtime->hsa.hsa_amd_agent_memory_pool_get_info(
      device->queue.agent, pool, HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS, &access);
  return result == HSA_STATUS_SUCCESS && access != HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED;
}

bool rawhal_device_can_access(const rawhal_device_t *device, const rawhal_device_t *peer)
{
  WITHOUT_CANCELLATION();
  if (!device || !peer || runtime_check(NULL) != RAWHAL_OK)
    return false;
  return device == peer || reaches_pool(device, peer->pool);
}

/* The caller holds the lists' lock, or is the last to have the buffer. */
static bool is_allowed(const rawhal_buffer_t *buffer, const rawhal_device_t *device)
{
  for (size_t i = 0; i < buffer->allowed_count; ++i)
    if (buffer->allowed[i] == device)
      return true;
  return device == buffer->device;
}

bool peer_reaches(const rawhal_device_t *device, const rawhal_buffer_t *buffer)
{
  pthread_mutex_lock(&lists_lock);
  bool allowed = is_allowed(buffer, device);
  pthread_mutex_unlock(&lists_lock);
  return allowed;
}

bool peer_settle(const rawhal_buffer_t *buffer)
{
  bool settled = copy_engine_settle(buffer->device);
  for (size_t i = 0; i < buffer->allowed_count; ++i)
    settled &= copy_engine_settle(buffer->allowed[i]);
  return settled;
}

/* ---- Giving access ---- */

/* The runtime forgets which devices had access before: it is told all of them, each time. */
static rawhal_status_t tell_runtime(const rawhal_buffer_t *buffer, rawhal_device_t *const *allowed,
                                    size_t count, rawhal_error_t *error)
{
  const hsa_table_t *hsa = &buffer->device->runtime->hsa;
  const allocator_t *allocator = &buffer->device->runtime->allocator;
  const bool is_mapped = buffer->kind == RAWHAL_MEMORY_DEVICE && buffer->host;
  hsa_agent_t *agents = allocate_zeroed(allocator, count + 2, sizeof(*agents));
  if (!agents)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a list of %zu devices", count);
  agents[0] = buffer->device->queue.agent;
  for (size_t i = 0; i < count; ++i)
    agents[i + 1] = allowed[i]->queue.agent;
  agents[count + 1] = buffer->device->runtime->host_agent;
  hsa_status_t result = hsa->hsa_amd_agents_allow_access((uint32_t)count + 1 + is_mapped, agents,
                                                         NULL, buffer->memory);
  allocate_free(allocator, agents);
  return result == HSA_STATUS_SUCCESS
             ? RAWHAL_OK
             : hsa_fail(hsa, result, error, "giving devices access to a buffer");
}

/* The caller holds the lists' lock. */
static rawhal_status_t allow(rawhal_buffer_t *buffer, rawhal_device_t *const *devices, size_t count,
                             rawhal_error_t *error)
{
  const hal_runtime_t *runtime = buffer->device->runtime;
  if (!buffer->allowed) /* room for all there are */
    buffer->allowed =
        allocate_zeroed(&runtime->allocator, runtime->device_count, sizeof(*buffer->allowed));
  if (!buffer->allowed)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a list of %zu devices",
                       runtime->device_count);
  size_t before = buffer->allowed_count;
  for (size_t i = 0; i < count; ++i)
    if (!is_allowed(buffer, devices[i]))
      buffer->allowed[buffer->allowed_count++] = devices[i];
  if (buffer->allowed_count == before)
    return RAWHAL_OK;
  rawhal_status_t status = tell_runtime(buffer, buffer->allowed, buffer->allowed_count, error);
  if (status != RAWHAL_OK)
    buffer->allowed_count = before;
  return status;
}

rawhal_status_t rawhal_buffer_allow(rawhal_buffer_t *buffer, rawhal_device_t *const *devices,
                                    size_t count, rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  rawhal_status_t status = buffer_check(buffer, error);
  if (status != RAWHAL_OK)
    return status;
  if (!devices && count)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "devices is NULL, but device_count is %zu",
                       count);
  if (buffer->foreign)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "only the owner of imported memory can give access to it; import it on the "
                       "other device as well");
  bool local = buffer->kind == RAWHAL_MEMORY_DEVICE;
  for (size_t i = 0; i < count; ++i) {
    if (!devices[i])
      return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "device %zu of %zu is NULL", i, count);
    if (devices[i] != buffer->device && !reaches_pool(devices[i], buffer->pool))
      return rawhal_fail(error, RAWHAL_UNSUPPORTED,
                         "device %zu of %zu (%s) cannot reach the memory of %s", i, count,
                         devices[i]->info.description,
                         local ? buffer->device->info.description : "the host");
  }
  pthread_mutex_lock(&lists_lock);
  status = allow(buffer, devices, count, error);
  pthread_mutex_unlock(&lists_lock);
  return status;
}

/* ---- Copies ---- */

/* So many rows of `target` and `source` at once, or so much of one, as `host` has room for. */
static rawhal_status_t copy_through_host(rawhal_device_t *to, const transfer_rows_t *target,
                                         rawhal_device_t *from, const transfer_rows_t *source,
                                         rawhal_error_t *error)
{
  const uint64_t width = target->bytes < PIECE_BYTES ? target->bytes : PIECE_BYTES;
  const uint64_t fit = width == target->bytes ? PIECE_BYTES / width : 1;
  const uint64_t height = fit < target->rows ? fit : target->rows;
  const allocator_t *allocator = &to->runtime->allocator;
  unsigned char *host = allocate(allocator, width * height);
  if (!host)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for %llu bytes between two devices",
                       (unsigned long long)(width * height));
  rawhal_status_t status = RAWHAL_OK;
  for (uint64_t row = 0; row < target->rows; row += height) {
    for (uint64_t at = 0; at < target->bytes && status == RAWHAL_OK; at += width) {
      transfer_rows_t there = *target, here = *source;
      there.at += row * there.pitch + at;
      here.at += row * here.pitch + at;
      there.bytes = here.bytes = target->bytes - at < width ? target->bytes - at : width;
      there.rows = here.rows = target->rows - row < height ? target->rows - row : height;
      const transfer_rows_t between = {host, there.bytes, there.bytes, there.rows};
      status = copy_host(from, COPY_FROM_DEVICE, &here, &between, error);
      if (status == RAWHAL_OK)
        status = copy_host(to, COPY_TO_DEVICE, &there, &between, error);
    }
  }
  allocate_free(allocator, host);
  return status;
}

rawhal_status_t peer_copy(rawhal_buffer_t *to, const transfer_rows_t *target,
                          const rawhal_buffer_t *from, const transfer_rows_t *source,
                          rawhal_error_t *error)
{
  if (peer_reaches(from->device, to))
    return copy_between(from->device, target, source, error);
  if (peer_reaches(to->device, from))
    return copy_between(to->device, target, source, error);
  return copy_through_host(to->device, target, from->device, source, error);
}
