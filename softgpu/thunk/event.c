/* Events as the runtime asks for them, and the words that kernels see of them. */
#include "softgpu/thunk/event.h"

#include "softgpu/cp/inject.h"
#include "softgpu/cp/processor.h"
#include "softgpu/device/event.h"
#include "softgpu/device/memory.h"
#include "softgpu/thunk/newer.h"
#include "softgpu/thunk/pages.h"
#include "softgpu/thunk/thunk.h"

static softgpu_pages_t mailboxes;

bool softgpu_events_open(void)
{
  if (!softgpu_pages_map(&mailboxes, SOFTGPU_EVENT_COUNT * sizeof(uint64_t)))
    return false;
  softgpu_allocation_t live = {.base = mailboxes.base,
                               .size = mailboxes.size,
                               .flags = SOFTGPU_MEMORY_WRITE,
                               .access = softgpu_nodes_of_all()};
  if (!softgpu_memory_add(&live)) {
    softgpu_pages_unmap(&mailboxes);
    return false;
  }
  softgpu_events_begin(mailboxes.base);
  return true;
}

void softgpu_events_close(void)
{
  softgpu_events_end();
  softgpu_memory_remove(mailboxes.base);
  softgpu_pages_unmap(&mailboxes);
}

static HSAKMT_STATUS handle_status(bool is_known)
{
  return is_known ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_HANDLE;
}

HSAKMT_STATUS hsaKmtCreateEvent(HsaEventDescriptor *descriptor, bool manual_reset, bool signaled,
                                HsaEvent **event)
{
  SOFTGPU_NEED_OPEN();
  SOFTGPU_NEED(descriptor && event, INVALID_PARAMETER);
  if (softgpu_inject_failure(SOFTGPU_INJECT_EVENT_FAILURE))
    return HSAKMT_STATUS_OUT_OF_RESOURCES;
  return softgpu_event_make(descriptor, manual_reset, signaled, event);
}

HSAKMT_STATUS hsaKmtDestroyEvent(HsaEvent *event)
{
  SOFTGPU_NEED_OPEN();
  return handle_status(softgpu_event_free(event));
}

HSAKMT_STATUS hsaKmtSetEvent(HsaEvent *event)
{
  SOFTGPU_NEED_OPEN();
  if (!softgpu_event_set(event))
    return HSAKMT_STATUS_INVALID_HANDLE;
  /* The runtime raises a signal's event when it has changed the value a barrier may wait for. */
  softgpu_queues_kick(NULL);
  return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtResetEvent(HsaEvent *event)
{
  SOFTGPU_NEED_OPEN();
  return handle_status(softgpu_event_reset(event));
}

/* As the original: events have no state to ask for. */
HSAKMT_STATUS hsaKmtQueryEventState(HsaEvent *event)
{
  SOFTGPU_NEED_OPEN();
  return handle_status(event != NULL);
}

HSAKMT_STATUS hsaKmtWaitOnMultipleEvents_Ext(HsaEvent *events[], HSAuint32 count, bool all,
                                             HSAuint32 milliseconds, uint64_t *ages)
{
  SOFTGPU_NEED_OPEN();
  if (!events || count == 0 || count > SOFTGPU_EVENT_COUNT)
    return HSAKMT_STATUS_INVALID_PARAMETER;
  return softgpu_events_wait(events, count, all, milliseconds, ages);
}

HSAKMT_STATUS hsaKmtWaitOnMultipleEvents(HsaEvent *events[], HSAuint32 count, bool all,
                                         HSAuint32 milliseconds)
{
  return hsaKmtWaitOnMultipleEvents_Ext(events, count, all, milliseconds, NULL);
}

HSAKMT_STATUS hsaKmtWaitOnEvent(HsaEvent *event, HSAuint32 milliseconds)
{
  return hsaKmtWaitOnMultipleEvents(&event, 1, true, milliseconds);
}

HSAKMT_STATUS hsaKmtWaitOnEvent_Ext(HsaEvent *event, HSAuint32 milliseconds, uint64_t *age)
{
  return hsaKmtWaitOnMultipleEvents_Ext(&event, 1, true, milliseconds, age);
}
