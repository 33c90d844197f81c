#include "front/recorder.h"

#include "front/report.h"

#include "front/kernargs.h"
#include "front/ranges.h"
#include "front/record_file.h"
#include "front/recording.h"
#include "front/reported.h"

#include <pthread.h>
#include <stdlib.h>

/* Threads that write hold the lock for reading: the process may end while others dispatch. */
static pthread_rwlock_t writer_lock = PTHREAD_RWLOCK_INITIALIZER;
static record_writer_t *writer;
static bool with_buffers;
static atomic_bool ended;           /* it has been told why */
static atomic_size_t seen, written; /* dispatches */
static atomic_size_t lacking;       /* those that have notes */

/* ---- The file ---- */

rawhal_status_t recorder_bound(uint64_t *bound, rawhal_error_t *error)
{
  return record_file_bound("RAWHAL_RECORD_BYTES", bound, error);
}

rawhal_status_t recorder_open(const char *path, bool buffers, rawhal_error_t *error)
{
  record_options_t options = {0};
  rawhal_status_t status = recorder_bound(&options.bound, error);
  if (status != RAWHAL_OK)
    return status;
  pthread_rwlock_wrlock(&writer_lock);
  status = record_writer_create_new(path, &options, &writer, error);
  with_buffers = status == RAWHAL_OK && buffers;
  atomic_store(&ended, false);
  atomic_store(&seen, 0);
  atomic_store(&written, 0);
  atomic_store(&lacking, 0);
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
  writer = NULL;
  pthread_rwlock_unlock(&writer_lock);
}

void recorder_summary(void)
{
  pthread_rwlock_rdlock(&writer_lock);
  const bool open = writer != NULL;
  pthread_rwlock_unlock(&writer_lock);
  if (open && atomic_load(&lacking))
    front_report("record: recorded %zu of %zu; the replay of %zu may be incomplete or inexact, as "
                 "'rawhal replay --list' explains",
                 atomic_load(&written), atomic_load(&seen), atomic_load(&lacking));
  else if (open)
    front_report("record: recorded %zu of %zu", atomic_load(&written), atomic_load(&seen));
}

/* ---- Buffers ---- */

/* How many have begun, and not ended. */
static atomic_uint_fast64_t begun, running;

static void dispose(recorder_capture_t *recording)
{
  if (!recording)
    return;
  atomic_fetch_sub(&running, 1);
  if (recording->capture.note_count)
    atomic_fetch_add(&lacking, 1);
  record_capture_free(&recording->capture);
  free(recording);
}

/* Tells of each kind of each kernel once. */
static void tell_note(void *context, const record_note_t *note)
{
  char text[240];
  const recorder_capture_t *recording = context;
  const front_kernel_t *kernel = recording->kernel;
  const rawhal_string_t name = kernel->facts->name;
  if (reported_before((reported_key_t){object_hash(kernel->object), kernel->address,
                                       REPORTED_RECORD | note->kind}))
    return;
  record_note_text(note, text, sizeof(text));
  front_report("record: %.*s: %s (%s, first in dispatch %llu)",
               (int)(name.size < 200 ? name.size : 200), name.data, text,
               record_note_name(note->kind), (unsigned long long)recording->capture.dispatch);
}

/* NULL: there is no memory for it, or the recording has ended. */
static recorder_capture_t *begin(uint64_t dispatch, const front_kernel_t *kernel,
                                 const hsa_kernel_dispatch_packet_t *packet,
                                 const kernargs_t *kernargs)
{
  rawhal_error_t error;
  recorder_capture_t *recording = calloc(1, sizeof(*recording));
  if (!recording)
    return NULL;
  recording->capture.dispatch = dispatch;
  recording->kernel = kernel;
  recording->beside = atomic_fetch_add(&running, 1) != 0;
  recording->others = atomic_fetch_add(&begun, 1) + 1;
  ranges_hold(); /* what is found is not freed before it has been read */
  recording_find(recording, packet, kernargs);
  rawhal_status_t status =
      record_capture_before(&recording->capture, writer, tell_note, recording, &error);
  ranges_let();
  if (status == RAWHAL_OK)
    return recording;
  tell(&error);
  dispose(recording);
  return NULL;
}

/* ---- Dispatches ---- */

/* The caller holds the lock for reading. */
static recorder_capture_t *record(const front_device_t *device, uint64_t queue_id,
                                  const front_kernel_t *kernel,
                                  const hsa_kernel_dispatch_packet_t *packet)
{
  if (!writer || atomic_load(&ended))
    return NULL;
  kernargs_t kernargs;
  recording_take_kernargs(&kernargs, kernel, packet);
  record_dispatch_t dispatch =
      record_file_describe(device, queue_id, kernel, packet, kernargs.bytes);
  rawhal_error_t error;
  uint64_t number = 0;
  const bool whole = record_file_write(writer, &dispatch, kernel, &number, &error) == RAWHAL_OK;
  if (whole)
    atomic_fetch_add(&written, 1);
  else
    tell(&error);
  recorder_capture_t *recording =
      whole && with_buffers ? begin(number, kernel, packet, &kernargs) : NULL;
  kernargs_give_back(&kernargs);
  return recording;
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
  rawhal_error_t error;
  if (!capture)
    return;
  pthread_rwlock_rdlock(&writer_lock);
  if (ran && writer && !atomic_load(&ended)) {
    ranges_hold();
    const bool concurrent = capture->beside || atomic_load(&begun) != capture->others;
    rawhal_status_t status =
        record_capture_after(&capture->capture, writer, concurrent, tell_note, capture, &error);
    ranges_let();
    if (status != RAWHAL_OK)
      tell(&error);
  }
  pthread_rwlock_unlock(&writer_lock);
  dispose(capture);
}

void recorder_abandon(void)
{
  (void)pthread_rwlock_init(&writer_lock, NULL);
  writer = NULL;
}
