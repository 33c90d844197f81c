/* A replay, from what is launched to its end. */
#include "tools/shared/replay/replay.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tools/shared/tool.h"

void replay_note(replay_t *replay, const char *format, ...)
{
  va_list args;
  if (replay->note_count++ >= REPLAY_NOTES)
    return;
  va_start(args, format);
  vsnprintf(replay->notes[replay->note_count - 1], REPLAY_NOTE, format, args);
  va_end(args);
}

static bool take_image(replay_t *replay)
{
  const rawhal_bytes_t kernargs = replay->source->dispatch.kernargs;
  replay->image_size = kernargs.size;
  replay->image = malloc(replay->image_size + 1);
  if (!replay->image)
    return tool_refuse(&replay->error, RAWHAL_OUT_OF_MEMORY, "out of memory");
  if (kernargs.size)
    memcpy(replay->image, kernargs.data, kernargs.size);
  return true;
}

bool replay_prepare(replay_t *replay)
{
  return take_image(replay) && replay_load(replay) && replay_fill(replay) &&
         replay_relocate(replay);
}

static void release_buffer(const replay_buffer_t *buffer)
{
  if (buffer->owned)
    rawhal_buffer_free(buffer->memory);
  if (buffer->reserved)
    (void)munmap(buffer->reserved, buffer->reserved_size);
}

void replay_release(replay_t *replay)
{
  rawhal_queue_destroy(replay->queue);
  for (size_t i = 0; i < replay->buffer_count; ++i)
    release_buffer(&replay->buffers[i]);
  free(replay->buffers);
  rawhal_executable_destroy(replay->executable);
  rawhal_hsaco_close(replay->hsaco);
  free(replay->image);
  rawhal_instance_destroy(replay->instance);
}

void replay_hand_over(replay_t *from, replay_t *to)
{
  to->instance = from->instance;
  to->device = from->device;
  to->hsaco = from->hsaco;
  to->executable = from->executable;
  from->instance = NULL;
  from->device = NULL;
  from->hsaco = NULL;
  from->executable = NULL;
}
