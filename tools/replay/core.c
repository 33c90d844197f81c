/* rawhal replay: the dispatch for which a core file was written. */
#include "tools/replay/core.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/shared/tool.h"

void replay_core_say(replay_core_t *core, const char *format, ...)
{
  va_list args;
  if (core->source.said_count == REPLAY_CORE_NOTES)
    return;
  va_start(args, format);
  vsnprintf(core->said[core->source.said_count++], sizeof(core->said[0]), format, args);
  va_end(args);
}

/* ---- What the debugger's lists have ---- */

static bool keep(replay_core_t *core, list_t *list, const void *item, size_t size)
{
  core->starved |= !list_add(list, item, size);
  return !core->starved;
}

static bool see_agent(void *context, const walk_agent_t *agent)
{
  replay_core_t *core = context;
  return keep(core, &core->agents, agent, sizeof(*agent));
}

static bool see_object(void *context, const walk_object_t *object)
{
  replay_core_t *core = context;
  return keep(core, &core->objects, object, sizeof(*object));
}

static bool see_queue(void *context, const walk_queue_t *queue)
{
  replay_core_t *core = context;
  return keep(core, &core->queues, queue, sizeof(*queue));
}

static bool walk(replay_core_t *core, rawhal_error_t *error)
{
  const walk_visitor_t visitor = {see_agent, see_object, see_queue, NULL, NULL, core};
  walk_finding_t finding;
  const bool whole = core_walk(&core->file->view, &visitor, &finding);
  if (core->starved)
    return tool_refuse(error, RAWHAL_OUT_OF_MEMORY, "no memory for what the file lists");
  if (!whole)
    replay_core_say(core, "the file is damaged: %s", core_mistake_text(finding.mistake));
  return true;
}

/* ---- Which dispatch ---- */

/* The number-th; false: there are no more. Goes on from the one before, if that was asked for. */
static bool dispatch_at(replay_core_t *core, uint64_t number, core_note_dispatch_t *dispatch)
{
  core_record_t record;
  const rawhal_bytes_t note = core_own_note(core->file, CORE_NOTE_DISPATCHES);
  if (number <= core->passed)
    core->passed = core->cursor = 0;
  while (core_notes_next(note, &core->cursor, &record))
    if (record.type == CORE_RECORD_DISPATCH && ++core->passed == number) {
      *dispatch = record.as.dispatch;
      return true;
    }
  return false;
}

/* How many there are; those that failed, and that had not ended, and the last of each. */
typedef struct tally {
  uint64_t all, failed, running, last_failed, last_running;
} tally_t;

static tally_t count(const replay_core_t *core)
{
  core_record_t record;
  tally_t tally = {0};
  const rawhal_bytes_t note = core_own_note(core->file, CORE_NOTE_DISPATCHES);
  for (uint64_t cursor = 0; core_notes_next(note, &cursor, &record);) {
    if (record.type != CORE_RECORD_DISPATCH)
      continue;
    ++tally.all;
    if (record.as.dispatch.outcome == CORE_OUTCOME_FAILED) {
      ++tally.failed;
      tally.last_failed = tally.all;
    } else if (record.as.dispatch.outcome != CORE_OUTCOME_DONE) {
      ++tally.running;
      tally.last_running = tally.all;
    }
  }
  return tally;
}

static bool name_of(void *file, uint64_t number, rawhal_string_t *name, rawhal_error_t *error)
{
  core_note_dispatch_t dispatch;
  if (!dispatch_at(file, number, &dispatch))
    return tool_refuse(error, RAWHAL_MALFORMED, "the file was changed meanwhile");
  *name = dispatch.kernel;
  return true;
}

static bool choose(replay_core_t *core, const char *wanted, rawhal_error_t *error)
{
  const tally_t tally = count(core);
  uint64_t *number = &core->source.number;
  if (!tally.all)
    return tool_refuse(error, RAWHAL_NOT_FOUND,
                       "it has no dispatches: 'rawhal replay' needs a core file that rawhal wrote");
  if (wanted) {
    if (!replay_choose(core, name_of, tally.all, wanted, number, error))
      return false;
  } else if (tally.failed == 1 || (!tally.failed && tally.running == 1)) {
    *number = tally.failed ? tally.last_failed : tally.last_running;
  } else {
    return tool_refuse(error, RAWHAL_NOT_FOUND,
                       "it does not say which of %" PRIu64
                       " dispatches failed: choose one with --kernel ('rawhal core show' lists "
                       "them)",
                       tally.all);
  }
  if (tally.failed == 1 && *number != tally.last_failed)
    replay_core_say(core, "it is not the dispatch that failed, which is number %" PRIu64,
                    tally.last_failed);
  return dispatch_at(core, *number, &core->dispatch);
}

/* ---- Its packet ---- */

/* hsa_kernel_dispatch_packet_t. */
typedef struct packet {
  uint16_t header, setup, workgroup[3], reserved;
  uint32_t grid[3], private_bytes, group_bytes;
  uint64_t kernel_object, kernarg, reserved2, signal;
} packet_t;
_Static_assert(sizeof(packet_t) == FORMAT_PACKET, "a packet");

static const walk_queue_t *queue_of(const replay_core_t *core)
{
  const walk_queue_t *queues = core->queues.items;
  for (size_t i = 0; i < core->queues.count; ++i)
    if (queues[i].entry.id == core->dispatch.queue)
      return &queues[i];
  return NULL;
}

/* In the note, or in the ring, whose place may be another's by now. */
static bool read_packet(const replay_core_t *core, packet_t *packet)
{
  const core_note_dispatch_t *dispatch = &core->dispatch;
  const walk_queue_t *queue = queue_of(core);
  if (dispatch->packet_bytes.size == sizeof(*packet)) {
    memcpy(packet, dispatch->packet_bytes.data, sizeof(*packet));
    return true;
  }
  const uint64_t packets = queue ? queue->entry.ring_bytes / FORMAT_PACKET : 0;
  return packets &&
         core_view_read(&core->file->view,
                        queue->entry.ring + dispatch->packet % packets * FORMAT_PACKET, packet,
                        sizeof(*packet)) &&
         (!dispatch->kernel_object || packet->kernel_object == dispatch->kernel_object) &&
         (!dispatch->kernarg || packet->kernarg == dispatch->kernarg);
}

static bool take_packet(replay_core_t *core, packet_t *packet, rawhal_error_t *error)
{
  enum { DIMENSIONS = 3 };
  record_dispatch_t *to = &core->source.dispatch;
  if (!read_packet(core, packet))
    return tool_refuse(error, RAWHAL_NOT_FOUND,
                       "packet %" PRIu64 " of queue %" PRIu64
                       " is not in the file: neither its grid is known, nor its kernel",
                       core->dispatch.packet, core->dispatch.queue);
  for (unsigned i = 0; i < 3; ++i) {
    const bool used = i < (packet->setup & DIMENSIONS);
    to->work_items[i] = used || packet->grid[i] ? packet->grid[i] : 1;
    to->workgroup[i] = used || packet->workgroup[i] ? packet->workgroup[i] : 1;
  }
  to->private_bytes = packet->private_bytes;
  to->queue = core->dispatch.queue;
  return true;
}

/* ---- Its kernel ---- */

static const rawhal_kernel_t *kernel_at(const rawhal_hsaco_t *hsaco, uint64_t descriptor)
{
  const size_t count = rawhal_hsaco_info(hsaco)->kernel_count;
  for (size_t i = 0; i < count; ++i) {
    const rawhal_kernel_t *kernel = rawhal_hsaco_kernel(hsaco, i);
    if (kernel->descriptor && kernel->descriptor->address == descriptor && kernel->name.size)
      return kernel;
  }
  return NULL;
}

/* Copies what the file has in pieces, too. False: no memory, for an object or for what it lists. */
static bool open_object(replay_core_t *core, const walk_object_t *object, rawhal_error_t *error)
{
  const rawhal_hsaco_options_t options = {.size = sizeof(options),
                                          .flags = RAWHAL_HSACO_DESCRIPTOR_KERNELS};
  core->object = malloc((size_t)object->size);
  if (!core->object)
    return tool_refuse(error, RAWHAL_OUT_OF_MEMORY, "no memory for a code object");
  return !core_view_read(&core->file->view, object->address, core->object, (size_t)object->size) ||
         rawhal_hsaco_open(core->object, (size_t)object->size, &options, &core->hsaco, error) !=
             RAWHAL_OUT_OF_MEMORY;
}

static void close_object(replay_core_t *core)
{
  rawhal_hsaco_close(core->hsaco);
  free(core->object);
  core->hsaco = NULL;
  core->object = NULL;
}

/* Where its segments were. */
static record_place_t place_of(const rawhal_hsaco_t *hsaco, uint64_t delta)
{
  const rawhal_segment_t *segment;
  uint64_t least = UINT64_MAX, end = 0;
  for (size_t i = 0; (segment = rawhal_hsaco_segment(hsaco, i)); ++i) {
    if (segment->type != PT_LOAD || !segment->memory_size)
      continue;
    least = segment->address < least ? segment->address : least;
    end = segment->address + segment->memory_size > end ? segment->address + segment->memory_size
                                                        : end;
  }
  return least < end ? (record_place_t){least + delta, end - least, delta} : (record_place_t){0};
}

/* Not more bytes of objects than the file has: a list may name the same ones again and again. */
static bool find_kernel(replay_core_t *core, uint64_t kernel_object, rawhal_error_t *error)
{
  const walk_object_t *objects = core->objects.items;
  uint64_t left = 2 * core->file->view.bytes;
  for (size_t i = 0; i < core->objects.count && objects[i].size <= left; ++i) {
    left -= objects[i].size;
    if (!open_object(core, &objects[i], error))
      return false;
    core->kernel = core->hsaco ? kernel_at(core->hsaco, kernel_object - objects[i].delta) : NULL;
    if (core->kernel) {
      core->source.object = core->object;
      core->source.object_size = (size_t)objects[i].size;
      core->source.place = place_of(core->hsaco, objects[i].delta);
      core->source.dispatch.kernel = core->kernel->name;
      return true;
    }
    close_object(core);
  }
  return tool_refuse(error, RAWHAL_NOT_FOUND,
                     "none of the file's %zu code objects has the kernel at 0x%" PRIx64,
                     core->objects.count, kernel_object);
}

/* ---- Its arguments ---- */

/* In the note, or where the device read them. */
static bool read_kernargs(replay_core_t *core, uint32_t wanted, rawhal_error_t *error)
{
  rawhal_bytes_t *bytes = &core->source.dispatch.kernargs;
  *bytes = core->dispatch.kernarg_bytes;
  if (bytes->size >= wanted)
    return true;
  core->kernargs = malloc(wanted);
  if (!core->kernargs)
    return tool_refuse(error, RAWHAL_OUT_OF_MEMORY, "no memory for %" PRIu32 " bytes of arguments",
                       wanted);
  if (core_view_read(&core->file->view, core->dispatch.kernarg, core->kernargs, wanted))
    *bytes = (rawhal_bytes_t){core->kernargs, wanted};
  return true;
}

static bool take_kernargs(replay_core_t *core, rawhal_error_t *error)
{
  const uint32_t wanted = core->kernel->kernarg_segment_size;
  rawhal_bytes_t *bytes = &core->source.dispatch.kernargs;
  if (wanted > RECORD_MOST_KERNARGS)
    return tool_refuse(error, RAWHAL_UNSUPPORTED, "the kernel takes %" PRIu32 " bytes of arguments",
                       wanted);
  if (!read_kernargs(core, wanted, error))
    return false;
  if (!bytes->size && wanted)
    return tool_refuse(error, RAWHAL_NOT_FOUND,
                       "it has no arguments of kernels, as files that are written with "
                       "RAWHAL_CORE_CONTENTS=none, the default: with =kernargs, or =all for "
                       "buffers as well, a dispatch can be launched again");
  if (bytes->size < wanted)
    return tool_refuse(error, RAWHAL_NOT_FOUND, "of %" PRIu32 " bytes of arguments it has %zu",
                       wanted, bytes->size);
  if (wanted || bytes->size > RECORD_MOST_KERNARGS)
    bytes->size = wanted; /* what is behind it is the ring's */
  return true;
}

/* Of the agent that has the queue; if the file does not list it, one whose queues no debugger
 * shows. */
static void take_device(replay_core_t *core)
{
  const walk_queue_t *queue = queue_of(core);
  const walk_agent_t *agents = core->agents.items;
  size_t index = queue ? queue->agent : 0;
  while (!queue && index < core->agents.count && agents[index].chip)
    ++index;
  if (index >= core->agents.count)
    index = 0;
  const uint32_t version = core->agents.count ? agents[index].entry.gfx_target_version : 0;
  core_chip_text(version, core->expected.chip);
  snprintf(core->device, sizeof(core->device), "amdgcn-amd-amdhsa--%s", core->expected.chip);
  core->source.dispatch.device = rawhal_string(core->device);
}

/* ---- All of it ---- */

bool replay_core_read(const core_file_t *file, const char *wanted, replay_core_t *core,
                      rawhal_error_t *error)
{
  packet_t packet;
  *core = (replay_core_t){.file = file};
  if (!core_notes_fault(core_own_note(file, CORE_NOTE_CAUSE), &core->expected.fault))
    return tool_refuse(error, RAWHAL_NOT_FOUND,
                       "it does not say what failed: 'rawhal replay' needs a core file that rawhal "
                       "wrote");
  if (!walk(core, error) || !choose(core, wanted, error) || !take_packet(core, &packet, error) ||
      !find_kernel(core, packet.kernel_object, error) || !take_kernargs(core, error))
    return false;
  const uint32_t own = core->kernel->descriptor->group_segment_size;
  core->source.dispatch.dynamic_group_bytes =
      packet.group_bytes > own ? packet.group_bytes - own : 0;
  take_device(core);
  if (!replay_core_buffers(core, error))
    return false;
  core->source.expected = &core->expected;
  core->source.said = core->said;
  return true;
}

void replay_core_free(replay_core_t *core)
{
  close_object(core);
  free(core->kernargs);
  list_free(&core->agents);
  list_free(&core->objects);
  list_free(&core->queues);
  list_free(&core->buffers);
  list_free(&core->states);
}
