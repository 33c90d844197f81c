/* rawhal replay: the launch. */
#include <string.h>

#include "tools/replay/replay.h"

bool replay_launch(replay_t *replay)
{
  const record_dispatch_t *recorded = &replay->source->dispatch;
  const rawhal_queue_options_t options = {.packets = 64, .submissions = 1};
  rawhal_dispatch_t dispatch = {.kernel = replay->kernel,
                                .dynamic_lds = recorded->dynamic_group_bytes,
                                .blob = replay->image,
                                .blob_size = replay->image_size,
                                .flags = RAWHAL_DISPATCH_KEEP_HIDDEN};
  memcpy(dispatch.work_items, recorded->work_items, sizeof(dispatch.work_items));
  memcpy(dispatch.workgroup, recorded->workgroup, sizeof(dispatch.workgroup));
  rawhal_ticket_t ticket;
  /* softgpu stops the kernel itself and says where it was; the margin lets it be first. */
  const uint64_t seconds = replay->request->timeout_seconds;
  const uint64_t deadline =
      seconds ? rawhal_deadline_after((seconds + 5) * 1000000000u) : RAWHAL_FOREVER;
  return !rawhal_queue_create(replay->device, &options, &replay->queue, &replay->error) &&
         !rawhal_queue_submit(replay->queue, &dispatch, 1, deadline, &ticket, &replay->error) &&
         !rawhal_queue_wait(replay->queue, ticket, deadline, &replay->error);
}
