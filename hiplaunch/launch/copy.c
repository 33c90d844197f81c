#include <string.h>

#include "hiplaunch/device/stream.h"
#include "hiplaunch/module/registry.h"

/* Copies and fills. Where bytes are is known by their addresses; what the program says of that is
 * only checked. Memory that is not of our allocations is the program's own. */

typedef struct end {
  void *pointer;
  bool ours;
  allocation_t allocation;
  uint64_t offset;
} end_t;

typedef struct job {
  end_t to, from;
  size_t size;
} job_t;

static hipError_t find_end(end_t *end, const char *what, const void *pointer, size_t size,
                           bool wanted)
{
  *end = (end_t){.pointer = (void *)(uintptr_t)pointer};
  if (!pointer)
    return fail(hipErrorInvalidValue, "%s is NULL", what);
  end->ours = memory_find((uintptr_t)pointer, &end->allocation);
  if (end->ours && end->allocation.kind == ALLOCATION_REGISTERED && !wanted)
    end->ours = size <= end->allocation.size - ((uintptr_t)pointer - end->allocation.address);
  if (!end->ours && !wanted)
    return hipSuccess;
  hipError_t status = memory_check(what, pointer, size, &end->allocation);
  end->offset = status != hipSuccess ? 0 : (uintptr_t)pointer - end->allocation.address;
  return status;
}

static hipError_t find_job(job_t *job, void *to, const void *from, size_t size, hipMemcpyKind kind)
{
  if ((unsigned)kind > hipMemcpyDefault)
    return fail(hipErrorInvalidMemcpyDirection, "a copy of kind %d", (int)kind);
  job->size = size;
  hipError_t status = find_end(&job->to, "a copy's destination", to, size,
                               kind == hipMemcpyHostToDevice || kind == hipMemcpyDeviceToDevice);
  return status != hipSuccess
             ? status
             : find_end(&job->from, "a copy's source", from, size,
                        kind == hipMemcpyDeviceToHost || kind == hipMemcpyDeviceToDevice);
}

/* ---- Now, after all that the stream was given ---- */

static rawhal_status_t run(const job_t *job, rawhal_error_t *error)
{
  const end_t *to = &job->to, *from = &job->from;
  if (to->ours && from->ours)
    return rawhal_buffer_copy(to->allocation.buffer, to->offset, from->allocation.buffer,
                              from->offset, job->size, error);
  if (to->ours)
    return rawhal_buffer_write(to->allocation.buffer, to->offset, from->pointer, job->size, error);
  if (from->ours)
    return rawhal_buffer_read(from->allocation.buffer, from->offset, to->pointer, job->size, error);
  memmove(to->pointer, from->pointer, job->size);
  return RAWHAL_OK;
}

static hipError_t copy_now(const job_t *job, hipStream_t stream)
{
  rawhal_error_t error;
  hipError_t status = stream_wait(stream);
  if (status == hipSuccess && run(job, &error))
    return fail_rawhal(&error, "a copy of %zu bytes", job->size);
  return status;
}

static hipError_t copy_and_wait(void *to, const void *from, size_t size, hipMemcpyKind kind,
                                hipStream_t stream)
{
  job_t job;
  if (!size)
    return hipSuccess;
  hipError_t status = find_job(&job, to, from, size, kind);
  return status != hipSuccess ? status : copy_now(&job, stream);
}

hipError_t hipMemcpy(void *to, const void *from, size_t size, hipMemcpyKind kind)
{
  return copy_and_wait(to, from, size, kind, NULL);
}

hipError_t hipMemcpyWithStream(void *to, const void *from, size_t size, hipMemcpyKind kind,
                               hipStream_t stream)
{
  return copy_and_wait(to, from, size, kind, stream);
}

hipError_t hipMemcpyHtoD(hipDeviceptr_t to, void *from, size_t size)
{
  return copy_and_wait(to, from, size, hipMemcpyHostToDevice, NULL);
}

hipError_t hipMemcpyDtoH(void *to, hipDeviceptr_t from, size_t size)
{
  return copy_and_wait(to, from, size, hipMemcpyDeviceToHost, NULL);
}

hipError_t hipMemcpyDtoD(hipDeviceptr_t to, hipDeviceptr_t from, size_t size)
{
  return copy_and_wait(to, from, size, hipMemcpyDeviceToDevice, NULL);
}

/* Whose the memory is says its address. */
hipError_t hipMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t size)
{
  device_t *device;
  hipError_t status = device_at(to_device, &device);
  if (status == hipSuccess)
    status = device_at(from_device, &device);
  return status != hipSuccess ? status
                              : copy_and_wait(to, from, size, hipMemcpyDeviceToDevice, NULL);
}

/* ---- In the stream's order ---- */

static rawhal_status_t enqueue(lane_t *lane, const job_t *job, rawhal_ticket_t *ticket,
                               rawhal_error_t *error)
{
  const end_t *to = &job->to, *from = &job->from;
  if (!to->ours)
    return rawhal_queue_read(lane->queue, from->allocation.buffer, from->offset, to->pointer,
                             job->size, RAWHAL_FOREVER, ticket, error);
  if (!from->ours)
    return rawhal_queue_write(lane->queue, to->allocation.buffer, to->offset, from->pointer,
                              job->size, RAWHAL_FOREVER, ticket, error);
  const rawhal_copy_t copy = {.size = sizeof(copy),
                              .to = to->allocation.buffer,
                              .to_offset = to->offset,
                              .from = from->allocation.buffer,
                              .from_offset = from->offset,
                              .bytes = job->size};
  return rawhal_queue_copy(lane->queue, &copy, RAWHAL_FOREVER, ticket, error);
}

/* Of a device's memory, another's queue may have no access: then it is copied by neither's. */
static bool crosses_devices(const job_t *job, const device_t *device)
{
  return (job->to.ours && job->to.allocation.device != device) ||
         (job->from.ours && job->from.allocation.device != device);
}

hipError_t hipMemcpyAsync(void *to, const void *from, size_t size, hipMemcpyKind kind,
                          hipStream_t handle)
{
  job_t job;
  struct ihipStream_t *stream;
  rawhal_error_t error;
  if (!size)
    return hipSuccess;
  hipError_t status = find_job(&job, to, from, size, kind);
  if (status == hipSuccess && !job.to.ours && !job.from.ours)
    return copy_now(&job, handle);
  if (status == hipSuccess)
    status = stream_enter(handle, &stream);
  if (status != hipSuccess)
    return status;
  if (crosses_devices(&job, stream->device)) {
    stream_leave(stream);
    return copy_now(&job, handle);
  }
  lane_t *lane = stream->lane;
  rawhal_ticket_t ticket;
  rawhal_status_t failed = enqueue(lane, &job, &ticket, &error);
  if (failed == RAWHAL_OK)
    lane->last = ticket;
  stream_leave(stream);
  if (failed != RAWHAL_OK)
    return fail_rawhal(&error, "a copy");
  /* The program's own memory has what was read when this has returned, as with HIP. */
  return job.to.ours ? hipSuccess : lane_wait(lane, ticket, RAWHAL_FOREVER);
}

hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t to, void *from, size_t size, hipStream_t stream)
{
  return hipMemcpyAsync(to, from, size, hipMemcpyHostToDevice, stream);
}

hipError_t hipMemcpyDtoHAsync(void *to, hipDeviceptr_t from, size_t size, hipStream_t stream)
{
  return hipMemcpyAsync(to, from, size, hipMemcpyDeviceToHost, stream);
}

hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t to, hipDeviceptr_t from, size_t size,
                              hipStream_t stream)
{
  return hipMemcpyAsync(to, from, size, hipMemcpyDeviceToDevice, stream);
}

hipError_t hipMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                              size_t size, hipStream_t stream)
{
  device_t *device;
  hipError_t status = device_at(to_device, &device);
  if (status == hipSuccess)
    status = device_at(from_device, &device);
  return status != hipSuccess ? status
                              : hipMemcpyAsync(to, from, size, hipMemcpyDeviceToDevice, stream);
}

/* ---- Fills ---- */

/* In the order of a lane, or now where there is none. */
static rawhal_status_t put_bytes(lane_t *lane, rawhal_buffer_t *buffer, uint64_t at,
                                 const void *bytes, uint64_t size, rawhal_error_t *error)
{
  if (!lane)
    return rawhal_buffer_write(buffer, at, bytes, size, error);
  rawhal_ticket_t ticket;
  rawhal_status_t status =
      rawhal_queue_write(lane->queue, buffer, at, bytes, size, RAWHAL_FOREVER, &ticket, error);
  lane->last = status != RAWHAL_OK ? lane->last : ticket;
  return status;
}

static rawhal_status_t put_dwords(lane_t *lane, rawhal_buffer_t *buffer, uint64_t at,
                                  uint32_t dword, uint64_t size, rawhal_error_t *error)
{
  if (!lane)
    return rawhal_buffer_fill(buffer, at, dword, size, error);
  rawhal_ticket_t ticket;
  rawhal_status_t status =
      rawhal_queue_fill(lane->queue, buffer, at, dword, size, RAWHAL_FOREVER, &ticket, error);
  lane->last = status != RAWHAL_OK ? lane->last : ticket;
  return status;
}

/* `unit` bytes again and again, which divide a dword. Devices fill dwords; what is left of one at
 * both ends is written. */
typedef struct pattern {
  unsigned char bytes[4];
  size_t unit;
} pattern_t;

static pattern_t pattern_of(uint32_t value, size_t unit)
{
  pattern_t pattern = {.unit = unit};
  for (size_t i = 0; i < sizeof(pattern.bytes); i += unit)
    memcpy(pattern.bytes + i, &value, unit);
  return pattern;
}

/* The pattern begins where the fill does: what stands at an address depends on its distance. */
static void turned(const pattern_t *pattern, uint64_t distance, unsigned char bytes[4])
{
  for (uint64_t i = 0; i < 4; ++i)
    bytes[i] = pattern->bytes[(distance + i) % 4];
}

static rawhal_status_t put_fill(lane_t *lane, const end_t *to, const pattern_t *pattern,
                                size_t size, rawhal_error_t *error)
{
  unsigned char bytes[4];
  const uint64_t start = to->offset, end = start + size;
  uint64_t first = (start + 3) / 4 * 4, last = end / 4 * 4;
  if (first >= last) /* not one whole dword: all of it is a head */
    first = last = end;
  const struct {
    uint64_t from, to;
  } edges[] = {{start, first}, {last, end}};
  rawhal_buffer_t *buffer = to->allocation.buffer;
  rawhal_status_t status = RAWHAL_OK;
  for (int i = 0; status == RAWHAL_OK && i < 2; ++i)
    for (uint64_t at = edges[i].from, most; status == RAWHAL_OK && at < edges[i].to; at += most) {
      most = edges[i].to - at < sizeof(bytes) ? edges[i].to - at : sizeof(bytes);
      turned(pattern, at - start, bytes);
      status = put_bytes(lane, buffer, at, bytes, most, error);
    }
  uint32_t dword;
  turned(pattern, first - start, bytes);
  memcpy(&dword, bytes, sizeof(dword));
  return status != RAWHAL_OK || first >= last
             ? status
             : put_dwords(lane, buffer, first, dword, last - first, error);
}

/* Another device's memory, as with copies, is filled by neither stream. */
static hipError_t fill_now(const end_t *to, const pattern_t *pattern, size_t size,
                           hipStream_t handle)
{
  rawhal_error_t error;
  hipError_t status = stream_wait(handle);
  if (status == hipSuccess && put_fill(NULL, to, pattern, size, &error))
    return fail_rawhal(&error, "a fill of %zu bytes", size);
  return status;
}

static hipError_t fill(void *to, pattern_t pattern, size_t count, hipStream_t handle, bool wait)
{
  end_t end;
  struct ihipStream_t *stream;
  rawhal_error_t error;
  if (count > SIZE_MAX / pattern.unit)
    return fail(hipErrorInvalidValue, "a fill of %zu times %zu bytes", count, pattern.unit);
  const size_t size = count * pattern.unit;
  if (!size)
    return hipSuccess;
  if ((uintptr_t)to % pattern.unit)
    return fail(hipErrorInvalidValue, "%p is not aligned to the %zu bytes of a unit", to,
                pattern.unit);
  hipError_t status = find_end(&end, "what is to be filled", to, size, true);
  if (status == hipSuccess)
    status = stream_enter(handle, &stream);
  if (status != hipSuccess)
    return status;
  if (end.allocation.device != stream->device) {
    stream_leave(stream);
    return fill_now(&end, &pattern, size, handle);
  }
  lane_t *lane = stream->lane;
  rawhal_status_t failed = put_fill(lane, &end, &pattern, size, &error);
  const rawhal_ticket_t last = lane->last;
  stream_leave(stream);
  if (failed != RAWHAL_OK)
    return fail_rawhal(&error, "a fill");
  return wait ? lane_wait(lane, last, RAWHAL_FOREVER) : hipSuccess;
}

hipError_t hipMemset(void *to, int value, size_t size)
{
  return fill(to, pattern_of((uint32_t)value, 1), size, NULL, true);
}

hipError_t hipMemsetAsync(void *to, int value, size_t size, hipStream_t stream)
{
  return fill(to, pattern_of((uint32_t)value, 1), size, stream, false);
}

hipError_t hipMemsetD8(hipDeviceptr_t to, unsigned char value, size_t count)
{
  return fill(to, pattern_of(value, 1), count, NULL, true);
}

hipError_t hipMemsetD8Async(hipDeviceptr_t to, unsigned char value, size_t count,
                            hipStream_t stream)
{
  return fill(to, pattern_of(value, 1), count, stream, false);
}

hipError_t hipMemsetD16(hipDeviceptr_t to, unsigned short value, size_t count)
{
  return fill(to, pattern_of(value, 2), count, NULL, true);
}

hipError_t hipMemsetD16Async(hipDeviceptr_t to, unsigned short value, size_t count,
                             hipStream_t stream)
{
  return fill(to, pattern_of(value, 2), count, stream, false);
}

hipError_t hipMemsetD32(hipDeviceptr_t to, int value, size_t count)
{
  return fill(to, pattern_of((uint32_t)value, 4), count, NULL, true);
}

hipError_t hipMemsetD32Async(hipDeviceptr_t to, int value, size_t count, hipStream_t stream)
{
  return fill(to, pattern_of((uint32_t)value, 4), count, stream, false);
}

/* ---- Advice: managed memory stays where it is ---- */

static hipError_t check_advice(const void *pointer, size_t size, int device)
{
  enum { THE_HOST = -1 }; /* hipCpuDeviceId */
  device_t *found;
  allocation_t allocation;
  if (!pointer || !size)
    return fail(hipErrorInvalidValue, "advice of %zu bytes at %p", size, pointer);
  hipError_t status = device == THE_HOST ? hipSuccess : device_at(device, &found);
  return status != hipSuccess ? status
                              : memory_check("what advice is for", pointer, size, &allocation);
}

hipError_t hipMemPrefetchAsync(const void *pointer, size_t size, int device, hipStream_t handle)
{
  struct ihipStream_t *stream;
  hipError_t status = check_advice(pointer, size, device);
  return status != hipSuccess ? status : stream_find(handle, &stream);
}

hipError_t hipMemAdvise(const void *pointer, size_t size, hipMemoryAdvise advice, int device)
{
  (void)advice;
  return check_advice(pointer, size, device);
}

/* ---- Variables ---- */

static hipError_t find_variable(const void *symbol, size_t size, size_t offset, void **address)
{
  device_t *device;
  allocation_t variable;
  *address = NULL;
  hipError_t status = device_current(&device);
  if (status == hipSuccess)
    status = registry_variable(symbol, device, &variable);
  if (status != hipSuccess)
    return status;
  if (offset > variable.size || size > variable.size - offset)
    return fail(hipErrorInvalidValue, "%zu bytes at %zu of a variable of %zu", size, offset,
                variable.size);
  *address = (char *)(uintptr_t)variable.address + offset;
  return hipSuccess;
}

hipError_t hipGetSymbolAddress(void **address, const void *symbol)
{
  return address ? find_variable(symbol, 0, 0, address)
                 : fail(hipErrorInvalidValue, "address is NULL");
}

hipError_t hipGetSymbolSize(size_t *size, const void *symbol)
{
  device_t *device;
  allocation_t variable;
  if (!size)
    return fail(hipErrorInvalidValue, "size is NULL");
  hipError_t status = device_current(&device);
  if (status == hipSuccess)
    status = registry_variable(symbol, device, &variable);
  *size = status ? 0 : variable.size;
  return status;
}

hipError_t hipMemcpyToSymbol(const void *symbol, const void *from, size_t size, size_t offset,
                             hipMemcpyKind kind)
{
  void *to;
  hipError_t status = find_variable(symbol, size, offset, &to);
  return status != hipSuccess ? status : hipMemcpy(to, from, size, kind);
}

hipError_t hipMemcpyToSymbolAsync(const void *symbol, const void *from, size_t size, size_t offset,
                                  hipMemcpyKind kind, hipStream_t stream)
{
  void *to;
  hipError_t status = find_variable(symbol, size, offset, &to);
  return status != hipSuccess ? status : hipMemcpyAsync(to, from, size, kind, stream);
}

hipError_t hipMemcpyFromSymbol(void *to, const void *symbol, size_t size, size_t offset,
                               hipMemcpyKind kind)
{
  void *from;
  hipError_t status = find_variable(symbol, size, offset, &from);
  return status != hipSuccess ? status : hipMemcpy(to, from, size, kind);
}

hipError_t hipMemcpyFromSymbolAsync(void *to, const void *symbol, size_t size, size_t offset,
                                    hipMemcpyKind kind, hipStream_t stream)
{
  void *from;
  hipError_t status = find_variable(symbol, size, offset, &from);
  return status != hipSuccess ? status : hipMemcpyAsync(to, from, size, kind, stream);
}
