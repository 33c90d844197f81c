/* rawhal replay: the memory of a core file's process. */
#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/replay/core.h"
#include "tools/shared/tool.h"

/* A piece of the process's addresses. */
typedef struct span {
  uint64_t base, end;
  replay_state_t state;
  bool segment;
} span_t;

typedef struct spans {
  list_t lives, freed; /* span_t */
  size_t dropped;      /* that overlap others */
} spans_t;

static int compare_spans(const void *left, const void *right)
{
  const span_t *a = left, *b = right;
  if (a->base != b->base)
    return a->base < b->base ? -1 : 1;
  return a->end < b->end ? -1 : a->end > b->end;
}

static void sort(list_t *list)
{
  if (list->count)
    qsort(list->items, list->count, sizeof(span_t), compare_spans);
}

/* ---- What is listed ---- */

static bool add_allocations(const core_file_t *file, spans_t *spans)
{
  core_record_t record;
  const rawhal_bytes_t note = core_own_note(file, CORE_NOTE_ALLOCATIONS);
  for (uint64_t cursor = 0; core_notes_next(note, &cursor, &record);) {
    const core_note_allocation_t *from = &record.as.allocation;
    uint64_t end;
    if (record.type != CORE_RECORD_ALLOCATION || !from->size ||
        __builtin_add_overflow(from->base, from->size, &end))
      continue;
    const bool freed = from->state == CORE_ALLOCATION_FREED;
    const span_t span = {from->base, end,
                         freed                                    ? REPLAY_NOTHING
                         : from->state == CORE_ALLOCATION_FOREIGN ? REPLAY_FOREIGN
                                                                  : REPLAY_MEMORY,
                         false};
    if (!list_add(freed ? &spans->freed : &spans->lives, &span, sizeof(span)))
      return false;
  }
  return true;
}

/* Its variables. */
static bool add_segments(const replay_core_t *core, spans_t *spans)
{
  const rawhal_segment_t *segment;
  const uint64_t delta = core->source.place.delta;
  for (size_t i = 0; (segment = rawhal_hsaco_segment(core->hsaco, i)); ++i) {
    const span_t span = {segment->address + delta, segment->address + delta + segment->memory_size,
                         REPLAY_MEMORY, true};
    if (segment->type != PT_LOAD || !(segment->flags & PF_W) || span.base >= span.end ||
        core_view_has(&core->file->view, span.base, segment->memory_size, NULL) <
            segment->memory_size)
      continue;
    if (!list_add(&spans->lives, &span, sizeof(span)))
      return false;
  }
  return true;
}

/* ---- What is where ---- */

/* Of those that live and overlap, which are of different moments, the first ones are kept; but
 * always the code's own. */
static void keep_apart(spans_t *spans)
{
  span_t *lives = spans->lives.items;
  size_t kept = 0;
  sort(&spans->lives);
  for (size_t i = 0; i < spans->lives.count; ++i) {
    const span_t span = lives[i];
    while (kept && span.segment && lives[kept - 1].end > span.base && !lives[kept - 1].segment)
      --kept;
    if (!kept || lives[kept - 1].end <= span.base)
      lives[kept++] = span;
  }
  spans->dropped = spans->lives.count - kept;
  spans->lives.count = kept;
}

static bool add_buffer(replay_core_t *core, const span_t *span)
{
  const unsigned char state = (unsigned char)span->state;
  const record_buffer_t buffer = {
      .address = span->base,
      .content = {.number = core->buffers.count, .size = span->end - span->base},
      .segment = span->segment};
  return list_add(&core->buffers, &buffer, sizeof(buffer)) &&
         list_add(&core->states, &state, sizeof(state));
}

/* What of `[base, end)` is none that lives. `*next`: the first of these that may be behind it. */
static bool add_freed(replay_core_t *core, const spans_t *spans, span_t freed, size_t *next)
{
  const span_t *lives = spans->lives.items;
  while (*next < spans->lives.count && lives[*next].end <= freed.base)
    ++*next;
  for (size_t i = *next; freed.base < freed.end; ++i) {
    const bool any = i < spans->lives.count && lives[i].base < freed.end;
    const span_t piece = {freed.base, any ? lives[i].base : freed.end, REPLAY_NOTHING, false};
    if (piece.base < piece.end && !add_buffer(core, &piece))
      return false;
    if (!any)
      break;
    freed.base = lives[i].end;
  }
  return true;
}

static bool add_all(replay_core_t *core, spans_t *spans)
{
  const span_t *lives = spans->lives.items, *freed = spans->freed.items;
  size_t next = 0;
  uint64_t done = 0; /* up to here freed ones are added */
  sort(&spans->freed);
  for (size_t i = 0; i < spans->lives.count; ++i)
    if (!add_buffer(core, &lives[i]))
      return false;
  for (size_t i = 0; i < spans->freed.count; ++i) {
    span_t span = freed[i];
    span.base = span.base > done ? span.base : done;
    if (span.base >= span.end)
      continue;
    done = span.end;
    if (!add_freed(core, spans, span, &next))
      return false;
  }
  return true;
}

/* ---- What of it is there ---- */

static rawhal_status_t content_of(void *file, const record_content_t *content, record_take_fn *take,
                                  void *context, rawhal_error_t *error)
{
  const replay_core_t *core = file;
  const core_view_t *view = &core->file->view;
  const record_buffer_t *buffer = (const record_buffer_t *)core->buffers.items + content->number;
  const uint64_t base = buffer->address, end = base + content->size;
  rawhal_status_t status = RAWHAL_OK;
  uint64_t at = base;
  for (size_t i = core_range_behind(view->ranges, view->count, base);
       i < view->count && status == RAWHAL_OK && view->ranges[i].address < end; ++i) {
    const core_range_t *range = &view->ranges[i];
    at = range->address > at ? range->address : at;
    const uint64_t stop = range->size < end - range->address ? range->address + range->size : end;
    while (at < stop && status == RAWHAL_OK) {
      const size_t part = stop - at < RECORD_PIECE ? (size_t)(stop - at) : RECORD_PIECE;
      status = take(context, at - base, range->bytes + (at - range->address), part, error);
      at += part;
    }
  }
  return status;
}

static rawhal_status_t count_piece(void *context, uint64_t offset, const void *bytes, size_t size,
                                   rawhal_error_t *error)
{
  (void)offset, (void)bytes, (void)error;
  *(uint64_t *)context += size;
  return RAWHAL_OK;
}

/* False: parts of the file stand for more than one part of memory, so that there is no telling how
 * much that is. */
static bool measure(replay_core_t *core)
{
  const record_buffer_t *buffers = core->buffers.items;
  const unsigned char *states = core->states.items;
  uint64_t all = 0, there = 0, variables = 0;
  size_t count = 0, nothing = 0;
  for (size_t i = 0; i < core->buffers.count; ++i) {
    if (states[i] == REPLAY_NOTHING)
      ++nothing;
    if (buffers[i].segment)
      variables += buffers[i].content.size;
    if (states[i] == REPLAY_NOTHING || buffers[i].segment)
      continue;
    ++count;
    all = all + buffers[i].content.size < all ? UINT64_MAX : all + buffers[i].content.size;
    (void)content_of(core, &buffers[i].content, count_piece, &there, NULL);
    core->expected.has_foreign |= states[i] == REPLAY_FOREIGN;
    if (there > core->file->view.bytes || variables > core->file->view.bytes - there)
      return false;
  }
  core->expected.memory_bytes = all;
  if (there < all)
    replay_core_say(core,
                    "of %" PRIu64 " bytes of %zu buffers the file has %" PRIu64
                    ": the others are zeros here, and pointers that stood in them are missing "
                    "(RAWHAL_CORE_CONTENTS=all, RAWHAL_CORE_BYTES)",
                    all, count, there);
  if (there)
    replay_core_say(core, "buffers have what they had when it failed, not what they had before it "
                          "was launched");
  if (nothing)
    replay_core_say(core, "at %zu ranges of memory that was freed there is nothing", nothing);
  return true;
}

static rawhal_bytes_t allocations_of(const replay_core_t *core)
{
  return core_own_note(core->file, CORE_NOTE_ALLOCATIONS);
}

bool replay_core_buffers(replay_core_t *core, rawhal_error_t *error)
{
  spans_t spans = {0};
  bool done = add_allocations(core->file, &spans) && add_segments(core, &spans);
  if (done) {
    keep_apart(&spans);
    done = add_all(core, &spans);
  }
  if (spans.dropped)
    replay_core_say(core, "%zu allocations that overlap others are left out", spans.dropped);
  if (core_notes_dropped(allocations_of(core)))
    replay_core_say(core, "%" PRIu32 " allocations had no room in the file, and are missing",
                    core_notes_dropped(allocations_of(core)));
  list_free(&spans.lives);
  list_free(&spans.freed);
  if (!done)
    return tool_refuse(error, RAWHAL_OUT_OF_MEMORY, "no memory for what the file lists");
  if (!measure(core))
    return tool_refuse(error, RAWHAL_MALFORMED, "its segments share the file's bytes");
  core->source.before = (record_buffers_t){core->buffers.items, core->buffers.count, true};
  core->source.states = core->states.items;
  core->source.file = core;
  core->source.content = content_of;
  return true;
}
