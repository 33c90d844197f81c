/* Recordings: packets and images made once, by the same checks and the same writer as a batch's,
 * and copied into the rings for each replay. */
#include "queue/label.h"

#include "base/error.h"
#include "kernarg/layout.h"

#include <stdio.h>
#include <string.h>

/* `packet` lacks two things a replay knows: its kernarg address counts from the first image, and
 * its completion signal is 0. */
typedef struct recorded {
  hsa_kernel_dispatch_packet_t packet;
  const rawhal_device_kernel_t *kernel;
  char label[RAWHAL_LABEL_BYTES];
} recorded_t;

struct rawhal_recording {
  rawhal_queue_t *queue;
  recorded_t *dispatches;
  unsigned char *images;
  size_t image_bytes;
  uint32_t count, signaller; /* the first packet that signals */
  uint32_t blocks;           /* to reserve: the images', and what aligning the first may take */
  uint32_t alignment;        /* in blocks: the strictest of the kernels' */
  limit_shape_t shape;       /* what a replay takes */
  uint32_t lane_bytes;       /* of scratch, at most */
  bool labelled;             /* any of them */
  bool takes_blob;           /* of one dispatch, which had one: */
  size_t blob_size;          /* of that size */
  size_t blob_bytes;         /* of which so many are arguments that the caller gives */
  void (*unpinned)(void);    /* see queue_device_t */
  allocator_t allocator;     /* a copy: the queue may be gone before */
};

static uint32_t align_block(uint32_t block, uint32_t alignment)
{
  return (block + alignment - 1) & ~(alignment - 1);
}

/* Gives every image its place. They have passed the checks, so 32 bits hold their blocks. */
static rawhal_status_t place_images(rawhal_recording_t *recording, const batch_t *batch,
                                    rawhal_error_t *error)
{
  uint32_t block = 0;
  recording->alignment = 1;
  for (uint32_t i = 0; i < recording->count; ++i) {
    const rawhal_device_kernel_t *kernel = batch_at(batch, i)->kernel;
    block = align_block(block, kernel->alignment);
    uint64_t offset = (uint64_t)block * KERNARG_BLOCK_BYTES;
    recording->dispatches[i].kernel = kernel;
    ++kernel->owner->pins;
    recording->dispatches[i].packet.kernarg_address = (void *)(uintptr_t)offset;
    block += kernel->block_count;
    if (kernel->alignment > recording->alignment)
      recording->alignment = kernel->alignment;
  }
  recording->image_bytes = (size_t)block * KERNARG_BLOCK_BYTES;
  uint64_t reserved = (uint64_t)block + recording->alignment - 1;
  return rawhal_kernarg_block_count(reserved * KERNARG_BLOCK_BYTES, recording->queue->ring.blocks,
                                    &recording->blocks, error);
}

static unsigned char *recorded_image(const rawhal_recording_t *recording, size_t i)
{
  return recording->images + (uintptr_t)recording->dispatches[i].packet.kernarg_address;
}

static rawhal_status_t record(rawhal_recording_t *recording, const batch_t *batch,
                              rawhal_error_t *error)
{
  memset(recording->images, 0, recording->image_bytes);
  for (uint32_t i = 0; i < recording->count; ++i) {
    const rawhal_dispatch_t *dispatch = batch_at(batch, i);
    recorded_t *recorded = &recording->dispatches[i];
    rawhal_status_t status =
        image_write(recording->queue, dispatch, recorded_image(recording, i), error);
    if (status != RAWHAL_OK)
      return status;
    if (label_is_given(batch, dispatch)) {
      label_copy(recorded->label, rawhal_string(dispatch->label));
      recording->labelled = true;
    }
    packet_write_dispatch(&recorded->packet, dispatch, recorded->packet.kernarg_address,
                          (hsa_signal_t){0});
    uint32_t header = packet_header(HSA_PACKET_TYPE_KERNEL_DISPATCH, dispatch->flags);
    memcpy(&recorded->packet, &header, sizeof(header));
  }
  return RAWHAL_OK;
}

/* What of a blob a replay takes instead of the recorded one's: what comes before hidden arguments,
 * which are the recording's. */
static void note_blob(rawhal_recording_t *recording, const rawhal_dispatch_t *dispatch)
{
  recording->takes_blob = image_blob_bytes(dispatch->kernel->info.layout, dispatch->blob_size,
                                           kernarg_flags(dispatch), &recording->blob_bytes) &&
                          recording->count == 1 && !dispatch->arguments;
  recording->blob_size = dispatch->blob_size;
}

/* Of the recording as a whole. */
static void note_shape(rawhal_recording_t *recording, const batch_t *batch)
{
  for (size_t i = 0; i < batch->count; ++i) {
    const rawhal_dispatch_t *dispatch = batch_at(batch, i);
    const uint32_t bytes = dispatch->kernel->info.private_segment_size;
    const limit_shape_t one = dispatch_shape(dispatch);
    gate_whole_add(&recording->shape, &one);
    recording->lane_bytes = bytes > recording->lane_bytes ? bytes : recording->lane_bytes;
  }
}

rawhal_status_t rawhal_recording_create_sized(rawhal_queue_t *queue,
                                              const rawhal_dispatch_t *dispatches,
                                              size_t dispatch_size, size_t count,
                                              rawhal_recording_t **result, rawhal_error_t *error)
{
  if (!result)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "recording is NULL");
  *result = NULL;
  if (!queue)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "queue is NULL");
  batch_t batch = {dispatches, dispatch_size, count};
  uint32_t blocks;
  rawhal_status_t status = queue_check(queue, error);
  if (status == RAWHAL_OK)
    status = submit_check(queue, &batch, &blocks, error);
  if (status != RAWHAL_OK)
    return status;
  const allocator_t *allocator = queue->device->allocator;
  rawhal_recording_t *recording = allocate_zeroed(allocator, 1, sizeof(*recording));
  if (!recording)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a recording");
  recording->queue = queue;
  if (allocator)
    recording->allocator = *allocator;
  recording->unpinned = queue->device->unpinned;
  recording->count = (uint32_t)count;
  note_shape(recording, &batch);
  recording->signaller = (uint32_t)submit_first_signaller(&batch);
  note_blob(recording, batch.first);
  recording->dispatches = allocate_zeroed(allocator, count, sizeof(*recording->dispatches));
  if (recording->dispatches)
    status = place_images(recording, &batch, error);
  if (recording->dispatches && status == RAWHAL_OK)
    recording->images = allocate_aligned(allocator, recording->image_bytes, KERNARG_BLOCK_BYTES);
  if (status == RAWHAL_OK && !recording->images)
    status = rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a recording of %zu dispatches",
                         count);
  if (status == RAWHAL_OK)
    status = record(recording, &batch, error);
  if (status != RAWHAL_OK) {
    rawhal_recording_destroy(recording);
    return status;
  }
  *result = recording;
  return RAWHAL_OK;
}

void rawhal_recording_destroy(rawhal_recording_t *recording)
{
  if (!recording)
    return;
  for (uint32_t i = 0; recording->dispatches && i < recording->count; ++i)
    if (recording->dispatches[i].kernel)
      --recording->dispatches[i].kernel->owner->pins;
  void (*unpinned)(void) = recording->unpinned;
  allocate_free(&recording->allocator, recording->images);
  allocate_free(&recording->allocator, recording->dispatches);
  allocate_free(&recording->allocator, recording);
  unpinned(); /* last: it may end the runtime */
}

rawhal_status_t rawhal_recording_set(rawhal_recording_t *recording, size_t dispatch,
                                     size_t argument, const void *value, size_t size,
                                     rawhal_error_t *error)
{
  if (!recording)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "recording is NULL");
  if (dispatch >= recording->count)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE, "dispatch %zu of a recording of %u", dispatch,
                       recording->count);
  const rawhal_device_kernel_t *kernel = recording->dispatches[dispatch].kernel;
  return rawhal_kernarg_set(kernel->info.layout, argument, value, size,
                            recorded_image(recording, dispatch),
                            (size_t)kernel->block_count * KERNARG_BLOCK_BYTES, error);
}

static inline void replay_packet(void *slot, const hsa_kernel_dispatch_packet_t *recorded,
                                 const unsigned char *images, hsa_signal_t completion)
{
  hsa_kernel_dispatch_packet_t *packet = slot;
  memcpy((char *)slot + 4, (const char *)recorded + 4,
         offsetof(hsa_kernel_dispatch_packet_t, kernarg_address) - 4);
  packet->kernarg_address = (void *)(uintptr_t)(images + (uintptr_t)recorded->kernarg_address);
  packet->reserved2 = 0;
  packet->completion_signal = completion;
  uint32_t header;
  memcpy(&header, recorded, sizeof(header));
  packet_publish(slot, header);
}

/* Whole blocks: a call would take longer than most are. */
static inline void copy_images(unsigned char *to, const unsigned char *from, size_t bytes)
{
  for (size_t i = 0; i < bytes; i += KERNARG_BLOCK_BYTES)
    memcpy(to + i, from + i, KERNARG_BLOCK_BYTES);
}

/* The first packet comes last, as with a batch. `blob`: of the only dispatch, instead of what was
 * recorded; NULL: that. */
static inline void replay(rawhal_queue_t *queue, const rawhal_recording_t *recording,
                          const void *blob, const ring_reservation_t *reserved)
{
  uint32_t count = recording->count;
  for (uint32_t i = 0; count + closing_packets(queue) > 1 && i < count; ++i)
    packet_name(queue, reserved->packet + i, recording->dispatches[i].kernel);
  for (uint32_t i = 0; __builtin_expect(recording->labelled, 0) && i < count; ++i)
    label_keep(queue, reserved->packet + i, recording->dispatches[i].label);
  hsa_signal_t signal = batch_begin(queue, reserved, count, recording->blocks, recording->signaller,
                                    recording->dispatches->kernel);
  unsigned char *images = kernarg_slot(queue, align_block(reserved->block, recording->alignment));
  copy_images(images, recording->images, recording->image_bytes);
  if (blob)
    memcpy(images, blob, recording->blob_bytes);
  for (uint32_t i = count; i-- > 0;) {
    hsa_signal_t completion = submit_signal(queue, reserved, signal, i, recording->signaller);
    replay_packet(packet_slot(queue, reserved->packet + i), &recording->dispatches[i].packet,
                  images, completion);
  }
  submit_ring(queue, reserved, count + closing_packets(queue));
}

static rawhal_status_t submit_recording(rawhal_queue_t *queue, const rawhal_recording_t *recording,
                                        const void *blob, uint64_t deadline,
                                        rawhal_ticket_t *ticket, rawhal_error_t *error)
{
  if (recording->queue != queue)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "the recording was made for another queue");
  ring_reservation_t reserved;
  limit_grant_t grant;
  uint32_t packets = recording->count + closing_packets(queue);
  rawhal_status_t status = queue_check(queue, error);
  const bool limited = __builtin_expect(queue->gate.lease != NULL, 0);
  if (status == RAWHAL_OK && limited)
    status = gate_admit_one(&queue->gate, &recording->shape, recording->lane_bytes, deadline,
                            &grant, error);
  if (status != RAWHAL_OK)
    return status;
  status = limited ? submit_reserve_admitted(queue, &grant, packets, recording->blocks, deadline,
                                             &reserved, error)
                   : submit_reserve(queue, packets, recording->blocks, deadline, &reserved, error);
  if (status != RAWHAL_OK && limited)
    limit_cancel(queue->gate.lease, &grant);
  if (status != RAWHAL_OK)
    return status;
  replay(queue, recording, blob, &reserved);
  if (ticket)
    *ticket = reserved.ticket;
  return RAWHAL_OK;
}

rawhal_status_t rawhal_queue_replay(rawhal_queue_t *queue, const rawhal_recording_t *recording,
                                    uint64_t deadline, rawhal_ticket_t *ticket,
                                    rawhal_error_t *error)
{
  if (ticket)
    *ticket = 0;
  if (!queue || !recording)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s is NULL", queue ? "recording" : "queue");
  return submit_recording(queue, recording, NULL, deadline, ticket, error);
}

static rawhal_status_t refuse_blob(const rawhal_recording_t *recording, size_t blob_size,
                                   rawhal_error_t *error)
{
  if (recording->count != 1)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "a blob is only for a recording of one dispatch, not of %u",
                       recording->count);
  if (!recording->takes_blob)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "the dispatch was recorded with an array of arguments, or some lie after "
                       "hidden ones");
  return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                     "a blob of %zu bytes, the dispatch was recorded with %zu", blob_size,
                     recording->blob_size);
}

rawhal_status_t rawhal_queue_replay_blob(rawhal_queue_t *queue, const rawhal_recording_t *recording,
                                         const void *blob, size_t blob_size, uint64_t deadline,
                                         rawhal_ticket_t *ticket, rawhal_error_t *error)
{
  if (ticket)
    *ticket = 0;
  if (!queue || !recording || (!blob && blob_size))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s is NULL",
                       !queue       ? "queue"
                       : !recording ? "recording"
                                    : "blob");
  if (!recording->takes_blob || blob_size != recording->blob_size)
    return refuse_blob(recording, blob_size, error);
  return submit_recording(queue, recording, blob, deadline, ticket, error);
}
