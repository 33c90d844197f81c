/* Replays: the launch. */
#include <string.h>

#include "tools/shared/replay/replay.h"

static bool submit(replay_t *replay, const rawhal_dispatch_t *dispatch)
{
  const rawhal_queue_options_t options = {.packets = 64, .submissions = 1};
  /* softgpu stops the kernel itself and says where it was; the margin lets it be first. */
  const uint64_t seconds = replay->request->timeout_seconds;
  const uint64_t deadline =
      seconds ? rawhal_deadline_after((seconds + 5) * 1000000000u) : RAWHAL_FOREVER;
  rawhal_queue_destroy(replay->queue); /* one that has failed takes nothing more */
  return !rawhal_queue_create(replay->device, &options, &replay->queue, &replay->error) &&
         !rawhal_queue_submit(replay->queue, dispatch, 1, deadline, &replay->ticket,
                              &replay->error) &&
         !rawhal_queue_wait(replay->queue, replay->ticket, deadline, &replay->error);
}

bool replay_launch_other(replay_t *replay, const rawhal_device_kernel_t *kernel, const void *image,
                         size_t image_size)
{
  const record_dispatch_t *recorded = &replay->source->dispatch;
  rawhal_dispatch_t dispatch = {.kernel = kernel,
                                .dynamic_lds = recorded->dynamic_group_bytes,
                                .blob = image,
                                .blob_size = image_size,
                                .flags = RAWHAL_DISPATCH_KEEP_HIDDEN};
  memcpy(dispatch.work_items, recorded->work_items, sizeof(dispatch.work_items));
  memcpy(dispatch.workgroup, recorded->workgroup, sizeof(dispatch.workgroup));
  return submit(replay, &dispatch);
}

bool replay_launch(replay_t *replay)
{
  return replay_launch_other(replay, replay->kernel, replay->image, replay->image_size);
}

bool replay_instructions(replay_t *replay, uint64_t *instructions)
{
  rawhal_error_t error;
  return rawhal_queue_instructions(replay->queue, replay->ticket, instructions, &error) ==
         RAWHAL_OK;
}
