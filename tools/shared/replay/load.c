/* Replays: the device, and the kernel on it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/shared/device.h"
#include "tools/shared/replay/replay.h"
#include "tools/shared/tool.h"

/* What makes softgpu the device on which it ran. What the environment says of it stands. */
static void add_chip(const char *chip, char *options, size_t size)
{
  /* Every runtime knows these, and librawhal relabels code. */
  const char *const listed = strncmp(chip, "gfx9", 4) ? "gfx1030" : "gfx90a";
  size_t used = strlen(options);
  if (getenv("SOFTGPU_CHIP"))
    return;
  used += (size_t)snprintf(options + used, size - used, ",chip=%s", chip);
  if (!getenv("SOFTGPU_LISTED"))
    (void)snprintf(options + used, size - used, ",listed=%s", strcmp(chip, listed) ? listed : "0");
}

/* The one that the code is for, if softgpu can be it; NULL: it stays what it is. */
static const char *chip_of(const rawhal_hsaco_t *hsaco)
{
  static const char *const chips[] = {"gfx90a",  "gfx942",  "gfx950",  "gfx1030",
                                      "gfx1100", "gfx1101", "gfx1102", "gfx1103",
                                      "gfx1150", "gfx1151", "gfx1152", "gfx1153"};
  for (size_t i = 0; i < sizeof(chips) / sizeof(*chips); ++i)
    if (!strcmp(rawhal_hsaco_info(hsaco)->target.processor, chips[i]))
      return chips[i];
  return NULL;
}

static void add_memory(const replay_expected_t *expected, char *options, size_t size)
{
  enum {
    MIB = 20,
    USUAL = 8192 - 512,
    SPARE = 512
  }; /* MiB: softgpu's default, and the runtime's */
  const size_t used = strlen(options);
  const uint64_t wanted = expected->memory_bytes >> MIB;
  if (wanted > USUAL)
    (void)snprintf(options + used, size - used, ",vram_mib=%" PRIu64, wanted + SPARE);
}

/* What finds faults that a device has not by itself. Of memory that is written before the launch,
 * as all of a recording is, check_memory finds nothing. */
static const char *check_of(rawhal_fault_kind_t kind)
{
  switch (kind) {
  case RAWHAL_FAULT_LDS:
  case RAWHAL_FAULT_LDS_UNWRITTEN:
    return ",check_lds=refuse";
  case RAWHAL_FAULT_LDS_RACE:
    return ",check_races=refuse";
  default:
    return "";
  }
}

static void add_checks(const replay_expected_t *expected, char *options, size_t size)
{
  const size_t used = strlen(options);
  (void)snprintf(options + used, size - used, "%s%s", check_of(expected->fault.kind),
                 expected->has_foreign ? ",gpus=2" : "");
}

static void add_order(uint64_t order, char *options, size_t size)
{
  const size_t used = strlen(options);
  if (order)
    (void)snprintf(options + used, size - used, ",order=%" PRIu64, order);
}

static bool open_device(replay_t *replay)
{
  const rawhal_backend_t backend = replay->request->backend;
  const replay_expected_t *expected = replay->source->expected;
  char softgpu[200];
  snprintf(softgpu, sizeof(softgpu), "timeout_ms=%" PRIu64,
           (uint64_t)replay->request->timeout_seconds * 1000);
  const char *chip = chip_of(replay->hsaco);
  if (!chip && expected)
    chip = expected->chip;
  if (chip)
    add_chip(chip, softgpu, sizeof(softgpu));
  if (expected) {
    add_memory(expected, softgpu, sizeof(softgpu));
    add_checks(expected, softgpu, sizeof(softgpu));
  }
  add_order(replay->request->back.order, softgpu, sizeof(softgpu));
  const rawhal_instance_options_t options = {.size = sizeof(options),
                                             .log = replay->log,
                                             .backend = backend,
                                             .softgpu_options =
                                                 device_softgpu_options(backend, softgpu)};
  if (rawhal_instance_create(&options, &replay->instance, &replay->error))
    return false;
  replay->device = rawhal_instance_device(replay->instance, 0);
  return replay->device ||
         tool_refuse(&replay->error, RAWHAL_NOT_FOUND, "the runtime lists no GPU");
}

static bool open_object(replay_t *replay)
{
  const replay_source_t *source = replay->source;
  const rawhal_hsaco_options_t options = {.size = sizeof(options),
                                          .flags = RAWHAL_HSACO_DESCRIPTOR_KERNELS};
  return !rawhal_hsaco_open(source->object, source->object_size, &options, &replay->hsaco,
                            &replay->error);
}

static bool load_object(replay_t *replay)
{
  return !rawhal_executable_load(replay->device, replay->hsaco, &replay->executable,
                                 &replay->error);
}

/* Of a kernel whose file does not tell, the size of its arguments is that of the segment. */
static bool find_kernel(replay_t *replay)
{
  const rawhal_string_t name = replay->source->dispatch.kernel;
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
  if (replay->source->dispatch.private_bytes <= own)
    return true;
  return tool_refuse(&replay->error, RAWHAL_UNSUPPORTED,
                     "the dispatch had %" PRIu32
                     " bytes of private memory per work-item, but the kernel needs %" PRIu32
                     ": the program chose a stack size, which replay cannot",
                     replay->source->dispatch.private_bytes, own);
}

static void note_device(replay_t *replay)
{
  char here[96];
  const rawhal_target_t *target = &rawhal_device_info(replay->device)->target;
  const rawhal_string_t there = replay->source->dispatch.device;
  rawhal_target_t recorded;
  rawhal_target_format(target, here, sizeof(here));
  if (rawhal_target_parse(there, &recorded, NULL) ||
      strcmp(recorded.processor, target->processor) != 0)
    replay_note(replay, "recorded on %.*s, replayed on %s",
                there.size < 100 ? (int)there.size : 100, there.data, here);
}

/* What was found when it was recorded, or that nobody looked. */
static void note_recorded(replay_t *replay)
{
  char text[REPLAY_NOTE];
  const replay_source_t *source = replay->source;
  for (size_t i = 0; i < source->notes.count; ++i) {
    record_note_text(&source->notes.notes[i], text, sizeof(text));
    replay_note(replay, "%s", text);
  }
  if (source->is_first_version)
    replay_note(replay, "%s", replay_first_version);
  for (size_t i = 0; i < source->said_count; ++i)
    replay_note(replay, "%s", source->said[i]);
}

bool replay_load(replay_t *replay)
{
  if ((!replay->hsaco && !open_object(replay)) || (!replay->instance && !open_device(replay)))
    return false;
  note_device(replay);
  note_recorded(replay);
  if ((!replay->executable && !load_object(replay)) || !find_kernel(replay) ||
      !check_private(replay))
    return false;
  const rawhal_device_kernel_info_t *info = rawhal_device_kernel_info(replay->kernel);
  if (replay->source->place.size)
    replay->delta = info->kernel_object - info->kernel->descriptor->address;
  return true;
}
