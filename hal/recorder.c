#include "hal/recorder.h"

#include "hal/executable.h"
#include "hal/recorder_world.h"
#include "hal/runtime.h"

#include "base/cancel.h"
#include "base/error.h"
#include "base/sized.h"
#include "kernarg/layout.h"
#include "queue/fault.h"
#include "queue/submit.h"
#include "record/code.h"

#include <stdio.h>
#include <string.h>

struct rawhal_recorder {
  rawhal_device_t *device;
  char isa[128];
  bool with_buffers;
  atomic_size_t users;     /* captures, and whoever may close it */
  pthread_rwlock_t lock;   /* who writes has it for reading; closing, for writing */
  record_writer_t *writer; /* NULL: closed */
  pthread_mutex_t object_lock;
  uint64_t executable, object; /* the latest, by its number, and what the file calls it */
  atomic_uint_fast64_t begun, running, noted;
};

struct rawhal_capture {
  rawhal_recorder_t *recorder;
  world_t world;
  record_capture_t capture;
  uint64_t others; /* dispatches that had begun when this one did */
  bool beside;     /* some of them had not ended */
};

/* ---- The file ---- */

static rawhal_status_t check(rawhal_device_t *device, const char *path, rawhal_recorder_t **result,
                             rawhal_error_t *error)
{
  if (!device || !path || !result)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s is NULL",
                       !device ? "device"
                       : !path ? "path"
                               : "recorder");
  return runtime_check(error);
}

rawhal_status_t rawhal_recorder_create(rawhal_device_t *device, const char *path,
                                       const rawhal_recorder_options_t *options,
                                       rawhal_recorder_t **result, rawhal_error_t *error)
{
  static const char triple[] = "amdgcn-amd-amdhsa--"; /* as the runtime has it */
  WITHOUT_CANCELLATION();
  rawhal_recorder_options_t taken;
  if (result)
    *result = NULL;
  rawhal_status_t status = check(device, path, result, error);
  if (status == RAWHAL_OK)
    status = SIZED_TAKE(&taken, options, without_buffers, error);
  if (status != RAWHAL_OK)
    return status;
  const allocator_t *allocator = &device->runtime->allocator;
  rawhal_recorder_t *made = allocate_zeroed(allocator, 1, sizeof(*made));
  if (!made)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a recorder");
  const record_options_t wanted = {.bound = taken.max_bytes};
  status = record_writer_create(path, &wanted, &made->writer, error);
  if (status != RAWHAL_OK) {
    allocate_free(allocator, made);
    return status;
  }
  made->device = device;
  made->with_buffers = !taken.without_buffers;
  atomic_store(&made->users, 1);
  (void)pthread_rwlock_init(&made->lock, NULL);
  (void)pthread_mutex_init(&made->object_lock, NULL);
  snprintf(made->isa, sizeof(made->isa), "%s", triple);
  rawhal_target_format(&device->info.target, made->isa + sizeof(triple) - 1,
                       sizeof(made->isa) - sizeof(triple) + 1);
  runtime_hold();
  *result = made;
  return RAWHAL_OK;
}

static void let(rawhal_recorder_t *recorder)
{
  if (atomic_fetch_sub(&recorder->users, 1) != 1)
    return;
  const allocator_t *allocator = &recorder->device->runtime->allocator;
  (void)pthread_rwlock_destroy(&recorder->lock);
  (void)pthread_mutex_destroy(&recorder->object_lock);
  allocate_free(allocator, recorder);
  runtime_release(); /* last: it may end the runtime */
}

/* In a child locks may be held by threads that are not here: nothing is waited for. */
rawhal_status_t rawhal_recorder_close(rawhal_recorder_t *recorder, rawhal_error_t *error)
{
  if (!recorder)
    return RAWHAL_OK;
  WITHOUT_CANCELLATION();
  const bool here = runtime_check(error) == RAWHAL_OK;
  if (!here)
    return record_writer_close(recorder->writer, error);
  (void)pthread_rwlock_wrlock(&recorder->lock);
  rawhal_status_t status = record_writer_close(recorder->writer, error);
  recorder->writer = NULL;
  (void)pthread_rwlock_unlock(&recorder->lock);
  let(recorder);
  return status;
}

void rawhal_recorder_info(rawhal_recorder_t *recorder, rawhal_recorder_info_t *info)
{
  static const rawhal_status_t statuses[] = {[RECORD_UNFINISHED] = RAWHAL_OK,
                                             [RECORD_CLOSED] = RAWHAL_OK,
                                             [RECORD_FULL] = RAWHAL_CAP_EXCEEDED,
                                             [RECORD_FAILED] = RAWHAL_RUNTIME,
                                             [RECORD_TORN] = RAWHAL_RUNTIME};
  record_writer_info_t written = {0};
  const size_t size = info->size;
  if (runtime_check(NULL) == RAWHAL_OK)
    record_writer_info(recorder->writer, &written);
  const rawhal_recorder_info_t ours = {.size = sizeof(ours),
                                       .bytes = written.bytes,
                                       .dispatches = written.dispatches,
                                       .objects = written.objects,
                                       .noted = atomic_load(&recorder->noted),
                                       .status = statuses[written.end]};
  sized_give(info, offsetof(rawhal_recorder_info_t, status) + sizeof(ours.status), &ours, size);
}

/* ---- A dispatch ---- */

/* Its bytes are looked at once in a row: they may be many. */
static rawhal_status_t number_of(rawhal_recorder_t *recorder, const rawhal_executable_t *executable,
                                 uint64_t *number, rawhal_error_t *error)
{
  pthread_mutex_lock(&recorder->object_lock);
  rawhal_status_t status = RAWHAL_OK;
  if (!executable->number || executable->number != recorder->executable) {
    recorder->executable = 0;
    status =
        record_writer_object(recorder->writer, rawhal_hsaco_info(executable->source->hsaco)->bytes,
                             &recorder->object, error);
  }
  if (status == RAWHAL_OK) {
    recorder->executable = executable->number;
    *number = recorder->object;
  }
  pthread_mutex_unlock(&recorder->object_lock);
  return status;
}

/* `kernargs`: the segment as the device receives it. */
static rawhal_status_t write_dispatch(rawhal_recorder_t *recorder, const rawhal_queue_t *queue,
                                      const rawhal_dispatch_t *given, rawhal_bytes_t kernargs,
                                      uint64_t *number, rawhal_error_t *error)
{
  const rawhal_device_kernel_info_t *info = &given->kernel->info;
  record_dispatch_t dispatch = {.device = rawhal_string(recorder->isa),
                                .kernel = info->kernel->name,
                                .queue = queue->id,
                                .dynamic_group_bytes = given->dynamic_lds,
                                .private_bytes = info->private_segment_size,
                                .kernargs = kernargs};
  for (int d = 0; d < 3; ++d) {
    dispatch.work_items[d] = given->work_items[d];
    dispatch.workgroup[d] = given->workgroup[d];
  }
  rawhal_status_t status =
      number_of(recorder, executable_of(given->kernel), &dispatch.object, error);
  return status == RAWHAL_OK ? record_writer_dispatch(recorder->writer, &dispatch, number, error)
                             : status;
}

static rawhal_status_t write_before(rawhal_capture_t *made, const rawhal_dispatch_t *dispatch,
                                    rawhal_bytes_t kernargs, rawhal_error_t *error)
{
  record_capture_t *capture = &made->capture;
  const rawhal_device_kernel_info_t *info = &dispatch->kernel->info;
  const rawhal_executable_t *executable = executable_of(dispatch->kernel);
  if (!world_take(&made->world, made->recorder->device))
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a list of all memory");
  capture->kernel = info->kernel;
  capture->layout = info->layout;
  capture->world = &world_functions;
  capture->context = &made->world;
  world_bounds(&made->world, &capture->least, &capture->end);
  const world_object_t own = world_object_of(executable, info);
  record_capture_variables(capture, &own.place, &own.variables, true);
  record_capture_kernargs(capture, kernargs);
  record_capture_note_packet(
      capture, info->group_segment_size + dispatch->dynamic_lds, info->private_segment_size,
      record_code_of(info->kernel, rawhal_hsaco_info(executable->source->hsaco)->bytes));
  return record_capture_before(capture, made->recorder->writer, NULL, NULL, error);
}

static void dispose(rawhal_capture_t *capture)
{
  rawhal_recorder_t *recorder = capture->recorder;
  if (capture->capture.note_count)
    atomic_fetch_add(&recorder->noted, 1);
  atomic_fetch_sub(&recorder->running, 1);
  record_capture_free(&capture->capture);
  world_free(&capture->world);
  allocate_free(&recorder->device->runtime->allocator, capture);
  let(recorder);
}

static rawhal_capture_t *make(rawhal_recorder_t *recorder)
{
  rawhal_capture_t *made = allocate_zeroed(&recorder->device->runtime->allocator, 1, sizeof(*made));
  if (!made)
    return NULL;
  made->recorder = recorder;
  atomic_fetch_add(&recorder->users, 1);
  made->beside = atomic_fetch_add(&recorder->running, 1) != 0;
  made->others = atomic_fetch_add(&recorder->begun, 1) + 1;
  return made;
}

/* The dispatch has passed the checks. */
static rawhal_status_t begin(rawhal_capture_t *made, const rawhal_queue_t *queue,
                             const rawhal_dispatch_t *dispatch, rawhal_error_t *error)
{
  const allocator_t *allocator = &made->recorder->device->runtime->allocator;
  const rawhal_device_kernel_t *kernel = dispatch->kernel;
  const size_t room = (size_t)kernel->block_count * KERNARG_BLOCK_BYTES;
  unsigned char *image = allocate_aligned(allocator, room ? room : 1, KERNARG_BLOCK_BYTES);
  if (!image)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for kernargs");
  memset(image, 0, room);
  rawhal_status_t status = image_write(&queue->launch, dispatch, image, error);
  const rawhal_bytes_t kernargs = {image,
                                   rawhal_kernarg_layout_info(kernel->info.layout)->segment_size};
  if (status == RAWHAL_OK)
    status =
        write_dispatch(made->recorder, queue, dispatch, kernargs, &made->capture.dispatch, error);
  if (status == RAWHAL_OK && made->recorder->with_buffers)
    status = write_before(made, dispatch, kernargs, error);
  allocate_free(allocator, image);
  return status;
}

rawhal_status_t rawhal_recorder_begin_sized(rawhal_recorder_t *recorder, rawhal_queue_t *queue,
                                            const rawhal_dispatch_t *dispatch, size_t dispatch_size,
                                            rawhal_capture_t **capture, rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  const batch_t batch = {dispatch, dispatch_size, 1};
  uint32_t blocks;
  if (capture)
    *capture = NULL;
  if (!recorder || !queue || !dispatch || !capture)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s is NULL",
                       !recorder   ? "recorder"
                       : !queue    ? "queue"
                       : !dispatch ? "dispatch"
                                   : "capture");
  rawhal_status_t status = runtime_check(error);
  if (status == RAWHAL_OK && queue->device != &recorder->device->queue)
    status = rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                         "the queue and the recorder belong to different devices");
  if (status == RAWHAL_OK)
    status = queue_check(queue, error);
  if (status == RAWHAL_OK)
    status = submit_check(queue, &batch, &blocks, error);
  if (status != RAWHAL_OK)
    return status;
  rawhal_capture_t *made = make(recorder);
  if (!made)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a capture");
  (void)pthread_rwlock_rdlock(&recorder->lock);
  status = recorder->writer ? begin(made, queue, batch_at(&batch, 0), error)
                            : rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "the recorder is closed");
  (void)pthread_rwlock_unlock(&recorder->lock);
  if (status == RAWHAL_OK)
    *capture = made;
  else
    dispose(made);
  return status;
}

static rawhal_status_t write_after(rawhal_capture_t *made, rawhal_error_t *error)
{
  rawhal_recorder_t *recorder = made->recorder;
  world_free(&made->world); /* what was there may be gone */
  if (!world_take(&made->world, recorder->device))
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a list of all memory");
  const bool concurrent = made->beside || atomic_load(&recorder->begun) != made->others;
  return record_capture_after(&made->capture, recorder->writer, concurrent, NULL, NULL, error);
}

rawhal_status_t rawhal_recorder_end(rawhal_capture_t *capture, bool ran, rawhal_error_t *error)
{
  if (!capture)
    return RAWHAL_OK;
  WITHOUT_CANCELLATION();
  rawhal_recorder_t *recorder = capture->recorder;
  rawhal_status_t status = runtime_check(error);
  if (status != RAWHAL_OK) /* the parent's, with locks that may be held */
    return status;
  (void)pthread_rwlock_rdlock(&recorder->lock);
  if (ran && recorder->writer && capture->world.device)
    status = write_after(capture, error);
  (void)pthread_rwlock_unlock(&recorder->lock);
  dispose(capture);
  return status;
}
