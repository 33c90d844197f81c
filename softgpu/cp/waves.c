/* The waves of a queue's dispatch, for who asks. */
#include "softgpu/cp/processor.h"
#include "softgpu/device/opened.h"
#include "softgpu/exports.h"
#include "softgpu/isa/run/notes.h"

/* They outlive the queue for as long as somebody holds them. */
static softgpu_notes_t *notes_hold(const void *hsa_queue)
{
  softgpu_queue_t *queue = softgpu_forked() ? NULL : softgpu_queue_lock(hsa_queue);
  if (!queue)
    return NULL;
  softgpu_notes_t *notes = isa_notes_hold(queue->notes);
  softgpu_queue_unlock(queue);
  return notes;
}

SOFTGPU_EXPORT size_t softgpu_waves(const void *hsa_queue, softgpu_wave_fn *function, void *context)
{
  softgpu_notes_t *notes = notes_hold(hsa_queue);
  if (!notes)
    return 0;
  const size_t count = isa_notes_walk(notes, function, context);
  isa_notes_release(notes);
  return count;
}

SOFTGPU_EXPORT bool softgpu_waves_take(const void *hsa_queue, uint32_t milliseconds)
{
  softgpu_notes_t *notes = notes_hold(hsa_queue);
  if (!notes)
    return false;
  const bool is_done = isa_notes_take(notes, milliseconds);
  isa_notes_release(notes);
  return is_done;
}
