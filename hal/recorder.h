/* rawhal/recorder.h: recordings of dispatches, which `rawhal replay` launches again.
 *
 * A recorder writes what a program launches to a file: the code objects, the kernels with their
 * grids and kernargs, and the memory that they reach, as it was before each and after. It is told
 * when:
 *
 *     rawhal_recorder_create(device, "launches.rec", NULL, &recorder, &error);
 *     rawhal_recorder_begin(recorder, queue, &dispatch, &capture, &error);
 *     rawhal_queue_submit(queue, &dispatch, 1, deadline, &ticket, &error);
 *     rawhal_queue_wait(queue, ticket, deadline, &error);
 *     rawhal_recorder_end(capture, true, &error);
 *     rawhal_recorder_close(recorder, &error);
 *
 * Between begin and end nothing else should change what the dispatch reaches: what was submitted
 * before must have finished. What other work does there is recorded as the dispatch's; that of
 * another capture is noted in the file, as is whatever else a replay may lack ("rawhal replay
 * --list"). The format, how memory is found, and what cannot be seen: docs/recording.md. (`rawhal
 * record` does the same for a program that knows nothing of this, from its start to its end.)
 *
 * What is written stays readable however the process ends. When the file reaches its bound, or the
 * disk is full, it is ended with a word that says so; nothing is recorded any more, calls answer
 * CAP_EXCEEDED or RUNTIME, and the program goes on.
 *
 * Thread-safety: all functions are thread-safe; close comes last but for _end(), which then only
 * frees. In a child of fork() calls answer DEVICE_LOST, and close leaves the file alone. The
 * writer's own memory is malloc()'s, whatever the instance's allocator is. */
#ifndef RAWHAL_RECORDER_H
#define RAWHAL_RECORDER_H

#include <rawhal/hal.h>

RAWHAL_BEGIN

/* A file that is being written, and a dispatch between its beginning and its end. */
typedef struct rawhal_recorder rawhal_recorder_t;
typedef struct rawhal_capture rawhal_capture_t;

/* Zero-initialise; 0 = default. */
typedef struct rawhal_recorder_options {
  size_t size;          /* sizeof(rawhal_recorder_options_t), or 0: see types.h */
  uint64_t max_bytes;   /* of the file; default 1 GiB */
  bool without_buffers; /* kernels, grids and kernargs alone: it can be listed, not replayed */
} rawhal_recorder_options_t;

/* Makes the file, which must not be there yet. `options` may be NULL. INVALID_ARGUMENT: it is
 * there, or max_bytes has no room for anything; NOT_FOUND: no such folder; RUNTIME; OUT_OF_MEMORY;
 * DEVICE_LOST. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_recorder_create(
    rawhal_device_t *device, const char *path, const rawhal_recorder_options_t *options,
    rawhal_recorder_t **recorder, rawhal_error_t *error);

/* Before a dispatch is submitted to `queue`, as a batch of its own: writes it, and what it reaches.
 * `capture` must be given to rawhal_recorder_end(), whatever becomes of the dispatch. Fails as
 * rawhal_queue_submit() would for a dispatch that is wrong, or a queue that is dead, and then
 * nothing is recorded of it; INVALID_ARGUMENT: a queue of another device; CAP_EXCEEDED, RUNTIME:
 * the file has ended; OUT_OF_MEMORY; DEVICE_LOST. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_recorder_begin_sized(
    rawhal_recorder_t *recorder, rawhal_queue_t *queue, const rawhal_dispatch_t *dispatch,
    size_t dispatch_size, rawhal_capture_t **capture, rawhal_error_t *error);

RAWHAL_CHECKED RAWHAL_INLINE rawhal_status_t rawhal_recorder_begin(
    rawhal_recorder_t *recorder, rawhal_queue_t *queue, const rawhal_dispatch_t *dispatch,
    rawhal_capture_t **capture, rawhal_error_t *error)
{
  return rawhal_recorder_begin_sized(recorder, queue, dispatch, sizeof(*dispatch), capture, error);
}

/* When it has finished, or will not: frees the capture, whatever this returns. `ran`: it has
 * finished, and what it left is written. NULL is allowed. Fails as above, when the file has ended.
 */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_recorder_end(rawhal_capture_t *capture, bool ran,
                                                              rawhal_error_t *error);

/* What a recording has so far. */
typedef struct rawhal_recorder_info {
  size_t size; /* set it to sizeof(rawhal_recorder_info_t), or 0: see types.h */
  uint64_t bytes, dispatches, objects;
  uint64_t noted; /* dispatches whose replay may lack something, or do otherwise, by their notes */
  rawhal_status_t status; /* OK, or why nothing is recorded any more */
} rawhal_recorder_info_t;

/* Fills in `*info` with the state of this moment. Neither may be NULL. */
RAWHAL_API void rawhal_recorder_info(rawhal_recorder_t *recorder, rawhal_recorder_info_t *info);

/* Ends the file and frees the recorder, whatever this returns. NULL is allowed. Fails when the
 * recording had ended before, as above, or what was written may not be there. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_recorder_close(rawhal_recorder_t *recorder,
                                                                rawhal_error_t *error);

RAWHAL_END

#endif
