/* The steps of a submission, shared by batches (submit.c) and graphs (graph/). Internal.
 *
 *   submit_check -> submit_reserve -> submit_begin -> packets and images -> submit_ring
 *
 * Nothing may fail after submit_reserve(), and every packet must get a valid header. */
#ifndef RAWHAL_QUEUE_SUBMIT_H
#define RAWHAL_QUEUE_SUBMIT_H

#include "kernarg/layout.h"
#include "queue/charge.h"
#include "queue/fault.h"
#include "queue/packet.h"

/* The caller's dispatches, each of the size that its header gives them: at least ours. */
typedef struct batch {
  const rawhal_dispatch_t *first;
  size_t stride, count;
} batch_t;

static inline const rawhal_dispatch_t *batch_at(const batch_t *batch, size_t i)
{
  return (const void *)((const char *)batch->first + i * batch->stride);
}

/* What a dispatch takes of limits. */
limit_shape_t dispatch_shape(const rawhal_dispatch_t *dispatch);

/* Where dispatches are to run. */
typedef struct dispatch_place {
  const queue_device_t *device;
  const rawhal_launch_t *launch; /* what all launches there have in common */
  uint32_t compute_units;        /* for what must run at once */
} dispatch_place_t;

/* check.c: one dispatch. */
RAWHAL_CHECKED rawhal_status_t dispatch_check(const dispatch_place_t *place,
                                              const rawhal_dispatch_t *dispatch,
                                              rawhal_error_t *error);

/* The caller's array, which has at least one. */
RAWHAL_CHECKED rawhal_status_t batch_check(const batch_t *batch, rawhal_error_t *error);

/* Checks a batch, all of it, and counts its kernarg blocks. */
RAWHAL_CHECKED rawhal_status_t submit_check(const rawhal_queue_t *queue, const batch_t *batch,
                                            uint32_t *blocks, rawhal_error_t *error);

/* room.c: room for what has passed the checks. Threads that wait for it get it in order of arrival,
 * so that many small ones cannot keep out a large one. */
RAWHAL_CHECKED rawhal_status_t submit_reserve(rawhal_queue_t *queue, uint32_t packets,
                                              uint32_t blocks, uint64_t deadline,
                                              ring_reservation_t *reserved, rawhal_error_t *error);

/* submit_reserve() for what has been admitted, whose grant, if there are limits, is kept with the
 * ticket. On failure it is the caller's. */
RAWHAL_CHECKED rawhal_status_t submit_reserve_admitted(rawhal_queue_t *queue,
                                                       const limit_grant_t *grant, uint32_t packets,
                                                       uint32_t blocks, uint64_t deadline,
                                                       ring_reservation_t *reserved,
                                                       rawhal_error_t *error);

/* Without waiting, and without a look at whether the queue lives: for who holds a lock for which
 * the thread that makes it die may wait. Of several tickets, see parts.h, `*reserved` has the
 * first. False: there is no room that is known of. */
bool submit_try(rawhal_queue_t *queue, uint32_t tickets, uint32_t packets, uint32_t blocks,
                ring_reservation_t *reserved);

/* OK: there is time to wait for so much; else WOULD_BLOCK or TIMED_OUT, with the words for it. */
RAWHAL_CHECKED rawhal_status_t submit_no_room(uint32_t packets, uint32_t blocks, uint64_t deadline,
                                              rawhal_error_t *error);
/* Sleeps until there may be room: something has finished, or a moment has passed; or until the
 * deadline. */
void submit_wait_for_room(rawhal_queue_t *queue, uint64_t deadline);

typedef struct submission {
  uint32_t packets, blocks;
  uint32_t signals;                     /* the packets that are going to signal the completion */
  const rawhal_device_kernel_t *kernel; /* of the packet, if there is one and it runs any */
  uint32_t traits;                      /* TRAIT_*, but of a part */
} submission_t;

/* Claims the ticket's slot. From here on others see the submission, so packets of several have been
 * named before, and the first has its label: the submission is told with it. */
hsa_signal_t submit_begin(rawhal_queue_t *queue, const ring_reservation_t *reserved,
                          const submission_t *submission);

/* Tells the device of `packets` packets, all of which are published. */
void submit_ring(rawhal_queue_t *queue, const ring_reservation_t *reserved, uint32_t packets);

/* The first packet that must signal: everything before the last barrier bit has finished when that
 * packet has. */
size_t submit_first_signaller(const batch_t *batch);

/* Packets after a batch's dispatches: where each of these has a signal of its own, a barrier that
 * tells when all have finished. */
static inline uint32_t closing_packets(const rawhal_queue_t *queue)
{
  return queue->times != NULL;
}

static inline hsa_signal_t dispatch_signal(const rawhal_queue_t *queue, uint64_t packet)
{
  return queue->times[packet & (queue->ring.packets - 1)];
}

/* What a batch's packet signals. The first tells when the batch began, unless it is among those
 * that tell when it has finished. */
static inline hsa_signal_t submit_signal(const rawhal_queue_t *queue,
                                         const ring_reservation_t *reserved,
                                         hsa_signal_t completion, uint32_t i, uint32_t signaller)
{
  if (__builtin_expect(queue->times != NULL, 0))
    return dispatch_signal(queue, reserved->packet + i);
  if (i >= signaller)
    return completion;
  return i == 0 ? queue->begins[reserved->ticket & (queue->ring.tickets - 1)] : (hsa_signal_t){0};
}

/* submit_begin() for a batch of so many dispatches, and its closing packet. */
hsa_signal_t batch_begin(rawhal_queue_t *queue, const ring_reservation_t *reserved, uint32_t count,
                         uint32_t blocks, uint32_t signaller, const rawhal_device_kernel_t *first);

/* Writes the checked image of a dispatch, block_count * 64 bytes. `common`: of all launches there.
 */
RAWHAL_CHECKED rawhal_status_t image_write(const rawhal_launch_t *common,
                                           const rawhal_dispatch_t *dispatch, void *image,
                                           rawhal_error_t *error);

static inline uint32_t kernarg_flags(const rawhal_dispatch_t *dispatch)
{
  return (dispatch->flags & RAWHAL_DISPATCH_CLAMP ? RAWHAL_KERNARG_CLAMP : 0u) |
         (dispatch->flags & RAWHAL_DISPATCH_KEEP_HIDDEN ? RAWHAL_KERNARG_KEEP_HIDDEN : 0u);
}

/* What the hidden arguments of a dispatch are made of. */
static inline rawhal_launch_t launch_of(const rawhal_launch_t *common,
                                        const rawhal_dispatch_t *dispatch)
{
  rawhal_launch_t launch = *common;
  for (int d = 0; d < 3; ++d) {
    launch.work_items[d] = dispatch->work_items[d];
    launch.workgroup[d] = dispatch->workgroup[d];
    launch.global_offset[d] = dispatch->global_offset[d];
  }
  launch.dynamic_lds = dispatch->dynamic_lds;
  return launch;
}

static inline void *packet_slot(const rawhal_queue_t *queue, uint64_t packet)
{
  return (char *)queue->packets + (packet & (queue->ring.packets - 1)) * PACKET_BYTES;
}

/* Where an image at `block` of the kernarg ring lies. */
static inline unsigned char *kernarg_slot(const rawhal_queue_t *queue, uint32_t block)
{
  return queue->kernargs + (size_t)(block & (queue->ring.blocks - 1)) * KERNARG_BLOCK_BYTES;
}

/* Names the kernel of a packet of several. */
static inline void packet_name(rawhal_queue_t *queue, uint64_t packet,
                               const rawhal_device_kernel_t *kernel)
{
  atomic_store_explicit(&queue->kernels[packet & (queue->ring.packets - 1)], kernel,
                        memory_order_relaxed);
}

#endif
