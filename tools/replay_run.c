/* rawhal replay: the launch, and what it has left. */
#include <inttypes.h>
#include <string.h>

#include "tools/replay.h"
#include "tools/tool.h"

bool replay_launch(replay_t *replay)
{
  const record_dispatch_t *recorded = &replay->recorded;
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

/* ---- Comparing ---- */

typedef struct comparison {
  replay_t *replay;
  const replay_buffer_t *buffer;
} comparison_t;

static rawhal_status_t compare_piece(void *context, uint64_t offset, const void *bytes, size_t size,
                                     rawhal_error_t *error)
{
  static unsigned char got[RECORD_PIECE];
  const comparison_t *comparison = context;
  replay_t *replay = comparison->replay;
  const unsigned char *expected = bytes;
  rawhal_status_t status = rawhal_buffer_read(comparison->buffer->memory,
                                              comparison->buffer->skip + offset, got, size, error);
  if (status != RAWHAL_OK)
    return status;
  replay->compared += size;
  if (!memcmp(expected, got, size))
    return RAWHAL_OK;
  for (size_t i = 0; i < size; ++i) {
    if (expected[i] == got[i])
      continue;
    if (!replay->different++) {
      replay->first = comparison->buffer;
      replay->offset = offset + i;
      replay->expected = expected[i];
      replay->got = got[i];
    }
  }
  return RAWHAL_OK;
}

static bool compare_buffer(replay_t *replay, const record_buffer_t *after)
{
  const replay_buffer_t *buffer = replay_find(replay, after->address);
  if (!buffer || buffer->before->address != after->address ||
      buffer->before->content.size != after->content.size)
    return tool_refuse(&replay->error, RAWHAL_UNSUPPORTED,
                       "the buffer at 0x%" PRIx64 " (%" PRIu64
                       " bytes) was recorded after the dispatch alone",
                       after->address, after->content.size);
  if (after->left_out)
    return tool_refuse(&replay->error, RAWHAL_UNSUPPORTED,
                       "the contents of the buffer at 0x%" PRIx64 " after the dispatch were left "
                       "out of the recording",
                       after->address);
  comparison_t comparison = {replay, buffer};
  return !record_reader_content(replay->reader, &after->content, compare_piece, &comparison,
                                &replay->error);
}

bool replay_compare(replay_t *replay)
{
  const uint64_t number = replay->request->number;
  const record_buffers_t after = record_reader_buffers(replay->reader, number, RECORD_AFTER);
  if (!after.all)
    return tool_refuse(&replay->error, RAWHAL_NOT_FOUND,
                       "dispatch %" PRIu64 " has run, and there is nothing to compare with: the "
                       "recording does not have all buffers as they were after it",
                       number);
  for (size_t i = 0; i < after.count; ++i)
    if (!compare_buffer(replay, &after.buffers[i]))
      return false;
  return true;
}
