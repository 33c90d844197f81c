#include "front/recorder.h"

#include "front/host_view.h"
#include "front/kernargs.h"
#include "front/numbered.h"
#include "record/writer.h"

#include "base/error.h"
#include "queue/limit/parse.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CAPTURED = 64 }; /* buffers of a dispatch, at most */

/* What only arguments of the constant address space point to, no kernel may write, but the program
 * may, while it runs: it is not a result. */
struct recorder_capture {
  uint64_t dispatch;
  size_t count;
  record_range_t ranges[CAPTURED];
  bool constant[CAPTURED];
};

/* Threads that write hold the lock for reading: the process may end while others dispatch. */
static pthread_rwlock_t writer_lock = PTHREAD_RWLOCK_INITIALIZER;
static record_writer_t *writer;
static bool with_buffers;
static atomic_bool ended;           /* it has been told why */
static atomic_size_t seen, written; /* dispatches */

/* ---- The file ---- */

/* 0: what it is without a word of it. */
static rawhal_status_t read_bound(uint64_t *bound, rawhal_error_t *error)
{
  const char *text = secure_getenv("RAWHAL_RECORD_BYTES");
  rawhal_error_t why;
  *bound = 0;
  if (!text || !*text)
    return RAWHAL_OK;
  if (limit_parse(text, RAWHAL_UNIT_BYTES, 0, bound, &why) != RAWHAL_OK)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "RAWHAL_RECORD_BYTES: %s", why.message);
  *bound = *bound == 0 ? 1 : *bound < INT64_MAX ? *bound : INT64_MAX; /* of 0 nothing fits in */
  return RAWHAL_OK;
}

rawhal_status_t recorder_open(const char *path, bool buffers, rawhal_error_t *error)
{
  char numbered[NUMBERED_BYTES];
  record_options_t options = {0};
  rawhal_status_t status = read_bound(&options.bound, error);
  if (status != RAWHAL_OK)
    return status;
  pthread_rwlock_wrlock(&writer_lock);
  status = record_writer_create(path, &options, &writer, error);
  const char *taken = path;
  for (unsigned i = 0; i < NUMBERED_ATTEMPTS && status == RAWHAL_INVALID_ARGUMENT &&
                       access(taken, F_OK) == 0 && numbered_name(numbered, path, i);
       ++i, taken = numbered)
    status = record_writer_create(numbered, &options, &writer, error);
  if (status != RAWHAL_OK)
    writer = NULL;
  with_buffers = status == RAWHAL_OK && buffers;
  atomic_store(&ended, false);
  atomic_store(&seen, 0);
  atomic_store(&written, 0);
  pthread_rwlock_unlock(&writer_lock);
  return status;
}

/* Once: a bound that was reached, a disk that is full. What was written stays. */
static void tell(const rawhal_error_t *error)
{
  if (!atomic_exchange(&ended, true))
    front_report("the recording ends here: %s", error->message);
}

void recorder_close(void)
{
  rawhal_error_t error;
  pthread_rwlock_wrlock(&writer_lock);
  if (writer && record_writer_close(writer, &error) != RAWHAL_OK)
    tell(&error);
  if (writer)
    front_report("record: recorded %zu of %zu", atomic_load(&written), atomic_load(&seen));
  writer = NULL;
  pthread_rwlock_unlock(&writer_lock);
}

/* ---- Dispatches ---- */

/* Its bytes are looked at once: they may be many. */
static rawhal_status_t number_of(const front_object_t *object, uint64_t *number,
                                 rawhal_error_t *error)
{
  *number = record_writer_known(writer, object_hash(object));
  return *number ? RAWHAL_OK : record_writer_object(writer, object_bytes(object), number, error);
}

static void add_range(recorder_capture_t *capture, uint64_t address, bool constant)
{
  range_t range;
  size_t at = 0;
  if (ranges_find(address, &range) != RANGE_LIVE)
    return;
  while (at < capture->count && capture->ranges[at].address != range.base)
    ++at;
  if (at == CAPTURED)
    return;
  capture->constant[at] = constant && (at == capture->count || capture->constant[at]);
  capture->ranges[at] = (record_range_t){range.base, range.size};
  capture->count += at == capture->count;
}

static void find_ranges(recorder_capture_t *capture, const front_kernel_t *kernel,
                        rawhal_bytes_t kernargs)
{
  const rawhal_kernarg_argument_t *argument;
  if (!kernel->layout)
    return;
  for (size_t i = 0; (argument = rawhal_kernarg_layout_argument(kernel->layout, i)); ++i) {
    uint64_t address = 0;
    if (argument->hidden || argument->value_kind != RAWHAL_VALUE_GLOBAL_BUFFER ||
        argument->size != sizeof(address) || argument->offset + sizeof(address) > kernargs.size)
      continue;
    memcpy(&address, (const char *)kernargs.data + argument->offset, sizeof(address));
    add_range(capture, address, argument->address_space == RAWHAL_ADDRESS_SPACE_CONSTANT);
  }
}

/* ---- Buffers ---- */

/* A device's memory by the runtime: the host's way to it is slow, if there is one. */
static rawhal_status_t read_memory(void *context, const record_range_t *range, uint64_t offset,
                                   void *to, size_t size, rawhal_error_t *error)
{
  (void)context;
  uint64_t host;
  const uint64_t address = range->address + offset;
  if (host_view(address, size, &host) == HOST_VIEW_DEVICE
          ? front.hsa.memory_copy(to, (const void *)(uintptr_t)address, size) == HSA_STATUS_SUCCESS
          : host_read(address, to, size))
    return RAWHAL_OK;
  return rawhal_fail(error, RAWHAL_RUNTIME, "a buffer at 0x%llx cannot be read",
                     (unsigned long long)range->address);
}

static bool write_buffers(const recorder_capture_t *capture, record_when_t when)
{
  record_range_t ranges[CAPTURED];
  size_t count = 0;
  rawhal_error_t error;
  for (size_t i = 0; i < capture->count; ++i)
    if (when == RECORD_BEFORE || !capture->constant[i])
      ranges[count++] = capture->ranges[i];
  if (record_writer_buffers(writer, capture->dispatch, when, ranges, count, read_memory, NULL,
                            &error) == RAWHAL_OK)
    return true;
  tell(&error);
  return false;
}

static rawhal_status_t write_dispatch(const record_dispatch_t *without,
                                      const front_kernel_t *kernel, uint64_t *number,
                                      rawhal_error_t *error)
{
  record_dispatch_t dispatch = *without;
  rawhal_status_t status = number_of(kernel->object, &dispatch.object, error);
  return status == RAWHAL_OK ? record_writer_dispatch(writer, &dispatch, number, error) : status;
}

/* The caller holds the lock for reading. */
static recorder_capture_t *record(const front_device_t *device, uint64_t queue_id,
                                  const front_kernel_t *kernel,
                                  const hsa_kernel_dispatch_packet_t *packet)
{
  if (!writer || atomic_load(&ended))
    return NULL;
  const rawhal_descriptor_t *descriptor = kernel->facts->descriptor;
  kernargs_t kernargs;
  kernargs_take(&kernargs, kernel, packet);
  const record_dispatch_t dispatch = {
      .device = rawhal_string(device->isa),
      .kernel = kernel->facts->name,
      .queue = queue_id,
      .work_items = {packet->grid_size_x, packet->grid_size_y, packet->grid_size_z},
      .workgroup = {packet->workgroup_size_x, packet->workgroup_size_y, packet->workgroup_size_z},
      .dynamic_group_bytes = packet->group_segment_size > descriptor->group_segment_size
                                 ? packet->group_segment_size - descriptor->group_segment_size
                                 : 0,
      .private_bytes = packet->private_segment_size,
      .kernargs = kernargs.bytes};
  rawhal_error_t error;
  uint64_t number = 0;
  const bool whole = write_dispatch(&dispatch, kernel, &number, &error) == RAWHAL_OK;
  if (whole)
    atomic_fetch_add(&written, 1);
  else
    tell(&error);
  recorder_capture_t *capture = whole && with_buffers ? calloc(1, sizeof(*capture)) : NULL;
  if (capture) {
    capture->dispatch = number;
    find_ranges(capture, kernel, kernargs.bytes);
  }
  kernargs_give_back(&kernargs);
  if (!capture)
    return NULL;
  if (write_buffers(capture, RECORD_BEFORE))
    return capture;
  free(capture);
  return NULL;
}

recorder_capture_t *recorder_dispatch(const front_device_t *device, uint64_t queue_id,
                                      const front_kernel_t *kernel,
                                      const hsa_kernel_dispatch_packet_t *packet)
{
  atomic_fetch_add(&seen, 1);
  if (!kernel)
    return NULL;
  pthread_rwlock_rdlock(&writer_lock);
  recorder_capture_t *capture = record(device, queue_id, kernel, packet);
  pthread_rwlock_unlock(&writer_lock);
  return capture;
}

void recorder_ended(recorder_capture_t *capture, bool ran)
{
  if (!capture)
    return;
  pthread_rwlock_rdlock(&writer_lock);
  if (ran && writer && !atomic_load(&ended))
    (void)write_buffers(capture, RECORD_AFTER);
  pthread_rwlock_unlock(&writer_lock);
  free(capture);
}

void recorder_abandon(void)
{
  (void)pthread_rwlock_init(&writer_lock, NULL);
  writer = NULL;
}
