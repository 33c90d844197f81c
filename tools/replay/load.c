/* rawhal replay: the device, and the kernel on it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/replay/replay.h"
#include "tools/shared/tool.h"

static bool open_device(replay_t *replay)
{
  char limit[64];
  snprintf(limit, sizeof(limit), "timeout_ms=%" PRIu64,
           (uint64_t)replay->request->timeout_seconds * 1000);
  const rawhal_instance_options_t options = {
      .size = sizeof(options), .backend = replay->request->backend, .softgpu_options = limit};
  if (rawhal_instance_create(&options, &replay->instance, &replay->error))
    return false;
  replay->device = rawhal_instance_device(replay->instance, 0);
  return replay->device ||
         tool_refuse(&replay->error, RAWHAL_NOT_FOUND, "the runtime lists no GPU");
}

static bool load_object(replay_t *replay)
{
  const record_object_t *object = record_reader_object(replay->reader, replay->recorded.object);
  const rawhal_hsaco_options_t options = {.size = sizeof(options),
                                          .flags = RAWHAL_HSACO_DESCRIPTOR_KERNELS};
  const size_t size = (size_t)object->content.size; /* all of it is in the file */
  replay->object = malloc(size);
  if (!replay->object)
    return tool_refuse(&replay->error, RAWHAL_OUT_OF_MEMORY, "no memory for a code object");
  return !record_reader_object_bytes(replay->reader, replay->recorded.object, replay->object,
                                     &replay->error) &&
         !rawhal_hsaco_open(replay->object, size, &options, &replay->hsaco, &replay->error) &&
         !rawhal_executable_load(replay->device, replay->hsaco, &replay->executable,
                                 &replay->error);
}

/* Of a kernel whose file does not tell, the size of its arguments is that of the segment. */
static bool find_kernel(replay_t *replay)
{
  const rawhal_string_t name = replay->recorded.kernel;
  const uint32_t size = (uint32_t)replay->image_size;
  const rawhal_status_t status =
      rawhal_executable_kernel(replay->executable, name, 0, &replay->kernel, &replay->error);
  if (status == RAWHAL_INVALID_ARGUMENT && size)
    return !rawhal_executable_kernel(replay->executable, name, size, &replay->kernel,
                                     &replay->error);
  return status == RAWHAL_OK;
}

/* What the packet had and a submission cannot ask for. */
static bool check_private(replay_t *replay)
{
  const uint32_t own = rawhal_device_kernel_info(replay->kernel)->private_segment_size;
  if (replay->recorded.private_bytes <= own)
    return true;
  return tool_refuse(&replay->error, RAWHAL_UNSUPPORTED,
                     "the dispatch had %" PRIu32
                     " bytes of private memory per work-item, but the kernel needs %" PRIu32
                     ": the program chose a stack size, which replay cannot",
                     replay->recorded.private_bytes, own);
}

static void note_device(replay_t *replay)
{
  char here[96];
  const rawhal_target_t *target = &rawhal_device_info(replay->device)->target;
  const rawhal_string_t there = replay->recorded.device;
  rawhal_target_t recorded;
  rawhal_target_format(target, here, sizeof(here));
  if (rawhal_target_parse(there, &recorded, NULL) ||
      strcmp(recorded.processor, target->processor) != 0)
    replay_note(replay, "recorded on %.*s, replayed on %s",
                there.size < 100 ? (int)there.size : 100, there.data, here);
}

/* What its recorder found, or that none looked. */
static void note_recorded(replay_t *replay)
{
  char text[REPLAY_NOTE];
  const record_notes_t notes = record_reader_notes(replay->reader, replay->request->number);
  for (size_t i = 0; i < notes.count; ++i) {
    record_note_text(&notes.notes[i], text, sizeof(text));
    replay_note(replay, "%s", text);
  }
  if (record_reader_info(replay->reader)->version == 1)
    replay_note(replay, "%s", replay_first_version);
}

/* Where its code object was, and is. */
static void find_place(replay_t *replay)
{
  const rawhal_device_kernel_info_t *info = rawhal_device_kernel_info(replay->kernel);
  if (record_reader_place(replay->reader, replay->request->number, &replay->place))
    replay->delta = info->kernel_object - info->kernel->descriptor->address;
}

bool replay_load(replay_t *replay)
{
  /* the name of the device is the reader's: first of all */
  if (!open_device(replay))
    return false;
  note_device(replay);
  replay->recorded.device = (rawhal_string_t){0};
  note_recorded(replay);
  if (!load_object(replay) || !find_kernel(replay) || !check_private(replay))
    return false;
  find_place(replay);
  return true;
}
