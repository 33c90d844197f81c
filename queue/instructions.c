/* What submissions executed, where the device counts it: softgpu leaves in each completion signal
 * how many instructions its queue had executed before the packet, and after. */
#include "queue/submit.h"
#include "queue/wait.h"

#include "base/error.h"

/* Instructions of the queue, since it was made. */
typedef struct count {
  uint64_t start, end;
} count_t;

/* Of a launch. */
typedef struct whole {
  uint64_t instructions;
  rawhal_ticket_t earliest; /* of which something was read */
  bool looks_back;          /* at where the submission before a part of it ended */
} whole_t;

static bool count_of(const rawhal_queue_t *queue, hsa_signal_t signal, count_t *count)
{
  return queue->device->instructions(signal.handle, &count->start, &count->end);
}

static bool of_dispatch(const rawhal_queue_t *queue, const queue_slot_t *slot, size_t dispatch,
                        uint64_t *instructions)
{
  count_t count;
  if (!count_of(queue, dispatch_signal(queue, slot->packet + dispatch), &count))
    return false;
  *instructions += count.end - count.start;
  return true;
}

/* Not a barrier, or copies. */
static bool runs_kernels(const rawhal_queue_t *queue, const queue_slot_t *slot)
{
  const uint32_t packets = slot->packets;
  for (uint32_t i = 0; i < packets; ++i)
    if (queue_kernel(queue, slot, slot->packet + i))
      return true;
  return false;
}

/* Whether all packets of a batch of several have the same signal, which tells only of the last: the
 * batch begins where the submission before it has ended. */
static bool begins_untold(const rawhal_queue_t *queue, const queue_slot_t *slot)
{
  return slot->packets > 1 && !(queue_traits(slot) & TRAIT_BEGINS) &&
         !(queue_traits(slot) & TRAIT_TIMED) && runs_kernels(queue, slot);
}

/* Of a submission whose last packet begins at `*start`. */
static bool find_start(const rawhal_queue_t *queue, const queue_slot_t *slot,
                       rawhal_ticket_t ticket, uint64_t *start)
{
  count_t count = {*start, 0};
  bool known = true;
  if ((queue_traits(slot) & TRAIT_BEGINS))
    known = count_of(queue, queue->begins[slot - queue->slots], &count);
  else if (begins_untold(queue, slot) && ticket > 1)
    known = count_of(queue, queue_slot(queue, ticket - 1)->signal, &count);
  *start = begins_untold(queue, slot) ? count.end : count.start;
  return known;
}

static bool of_submission(const rawhal_queue_t *queue, const queue_slot_t *slot,
                          rawhal_ticket_t ticket, uint64_t *instructions)
{
  const uint32_t packets = slot->packets;
  count_t count;
  if ((queue_traits(slot) & TRAIT_TIMED)) {
    for (uint32_t i = 0; i + 1 < packets; ++i)
      if (!of_dispatch(queue, slot, i, instructions))
        return false;
    return true;
  }
  if (!runs_kernels(queue, slot))
    return true;
  if (!count_of(queue, slot->signal, &count) || !find_start(queue, slot, ticket, &count.start))
    return false;
  *instructions += count.end - count.start;
  return true;
}

/* Of all its parts. */
static bool of_launch(const rawhal_queue_t *queue, rawhal_ticket_t first, rawhal_ticket_t last,
                      whole_t *whole)
{
  bool known = true;
  for (rawhal_ticket_t ticket = first; ticket <= last && known; ++ticket) {
    const queue_slot_t *slot = queue_slot(queue, ticket);
    const bool back = begins_untold(queue, slot);
    whole->looks_back |= back;
    whole->earliest -= back && ticket == first && ticket > 1;
    known = of_submission(queue, slot, ticket, &whole->instructions);
  }
  return known;
}

static rawhal_status_t fail_overwritten(rawhal_ticket_t ticket, rawhal_error_t *error)
{
  return rawhal_fail(error, RAWHAL_NOT_FOUND,
                     "the counts of ticket %llu were overwritten by later submissions",
                     (unsigned long long)ticket);
}

#define WHOLE SIZE_MAX

/* One dispatch's, or with WHOLE the submission's. */
static rawhal_status_t instructions_of(rawhal_queue_t *queue, rawhal_ticket_t ticket,
                                       size_t dispatch, uint64_t *instructions,
                                       rawhal_error_t *error)
{
  if (!instructions)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "instructions is NULL");
  *instructions = 0;
  rawhal_status_t status = rawhal_queue_wait(queue, ticket, 0, error);
  if (status != RAWHAL_OK)
    return status;
  if (!queue->device->instructions)
    return rawhal_fail(error, RAWHAL_UNSUPPORTED,
                       "the device does not count instructions; softgpu does");
  const queue_slot_t *slot = queue_slot(queue, ticket);
  const size_t dispatches = (queue_traits(slot) & TRAIT_TIMED) ? slot->packets - 1 : 0;
  whole_t whole = {.earliest = ticket - (dispatch == WHOLE ? parts_before(queue_traits(slot)) : 0)};
  bool known = true;
  if (dispatch < dispatches)
    known = of_dispatch(queue, slot, dispatch, &whole.instructions);
  else if (dispatch == WHOLE)
    known = of_launch(queue, whole.earliest, ticket, &whole);
  if (!queue_slot_kept(queue, whole.earliest))
    return fail_overwritten(ticket, error);
  if (dispatch != WHOLE && dispatch >= dispatches)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE, "there is no dispatch %zu: %zu are counted",
                       dispatch, dispatches);
  if (whole.looks_back && queue->shared) /* others put packets of their own between */
    return rawhal_fail(error, RAWHAL_UNSUPPORTED,
                       "where a batch begins whose dispatches all overlap is not known on a queue "
                       "of the program's own");
  if (!known)
    return rawhal_fail(error, RAWHAL_RUNTIME, "softgpu knows nothing of the signal of ticket %llu",
                       (unsigned long long)ticket);
  *instructions = whole.instructions;
  return RAWHAL_OK;
}

rawhal_status_t rawhal_queue_instructions(rawhal_queue_t *queue, rawhal_ticket_t ticket,
                                          uint64_t *instructions, rawhal_error_t *error)
{
  return instructions_of(queue, ticket, WHOLE, instructions, error);
}

rawhal_status_t rawhal_queue_dispatch_instructions(rawhal_queue_t *queue, rawhal_ticket_t ticket,
                                                   size_t dispatch, uint64_t *instructions,
                                                   rawhal_error_t *error)
{
  if (dispatch == WHOLE)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE, "there is no dispatch %zu", dispatch);
  return instructions_of(queue, ticket, dispatch, instructions, error);
}
