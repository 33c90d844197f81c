#include "record/index.h"

#include <inttypes.h>
#include <string.h>

#include "base/allocate.h"
#include "base/checked.h"
#include "base/error.h"

rawhal_status_t index_no_memory(rawhal_error_t *error)
{
  return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for what the recording has");
}

rawhal_status_t index_take_head(const frame_t *frame, void *head, size_t size, bool follows,
                                rawhal_error_t *error)
{
  if (frame->size < size || (!follows && frame->size != size))
    return index_malformed(frame, error, "a frame of type %d has %zu bytes", (int)frame->type,
                           frame->size);
  memcpy(head, frame->payload, size);
  return RAWHAL_OK;
}

/* ---- One function for each type of frame ---- */

rawhal_status_t index_add_content(record_reader_t *reader, const frame_t *frame, uint64_t number,
                                  uint64_t size, rawhal_error_t *error)
{
  if (number != reader->contents.count + 1 || !size)
    return index_malformed(frame, error, "content %" PRIu64 " of %" PRIu64 " bytes comes after %zu",
                           number, size, reader->contents.count);
  if (!list_add(&reader->contents, NULL, sizeof(index_content_t)))
    return index_no_memory(error);
  index_content_t *content = INDEX_AT(reader->contents, index_content_t, reader->contents.count);
  content->frame = frame->offset;
  content->size = size;
  return RAWHAL_OK;
}

static rawhal_status_t take_object(record_reader_t *reader, const frame_t *frame,
                                   rawhal_error_t *error)
{
  format_object_t head;
  rawhal_status_t status = index_take_head(frame, &head, sizeof(head), false, error);
  if (status != RAWHAL_OK)
    return status;
  if (head.object != reader->objects.count + 1)
    return index_malformed(frame, error, "code object %" PRIu64 " comes after %zu", head.object,
                           reader->objects.count);
  if ((status = index_add_content(reader, frame, head.content, head.size, error)))
    return status;
  if (!list_add(&reader->objects, NULL, sizeof(record_object_t)))
    return index_no_memory(error);
  INDEX_AT(reader->contents, index_content_t, head.content)->object = reader->objects.count;
  *INDEX_AT(reader->objects, record_object_t, reader->objects.count) =
      (record_object_t){{head.hash_high, head.hash_low}, {head.content, head.size, false}};
  return RAWHAL_OK;
}

rawhal_status_t index_parse_dispatch(const frame_t *frame, format_dispatch_t *head,
                                     record_dispatch_t *dispatch, rawhal_error_t *error)
{
  rawhal_status_t status = index_take_head(frame, head, sizeof(*head), true, error);
  if (status != RAWHAL_OK)
    return status;
  const uint64_t follow = (uint64_t)head->device_size + head->kernel_size + head->kernargs_size;
  if (follow != frame->size - sizeof(*head) || head->device_size > RECORD_MOST_NAME ||
      head->kernel_size > RECORD_MOST_NAME || head->kernargs_size > RECORD_MOST_KERNARGS ||
      head->zero)
    return index_malformed(
        frame, error, "a dispatch of %u bytes of device, %u of kernel and %u of kernargs has %zu",
        head->device_size, head->kernel_size, head->kernargs_size, frame->size - sizeof(*head));
  const char *text = (const char *)frame->payload + sizeof(*head);
  *dispatch = (record_dispatch_t){
      .device = {text, head->device_size},
      .kernel = {text + head->device_size, head->kernel_size},
      .object = head->object,
      .queue = head->queue,
      .work_items = {head->work_items[0], head->work_items[1], head->work_items[2]},
      .workgroup = {head->workgroup[0], head->workgroup[1], head->workgroup[2]},
      .dynamic_group_bytes = head->dynamic_group_bytes,
      .private_bytes = head->private_bytes,
      .kernargs = {text + head->device_size + head->kernel_size, head->kernargs_size}};
  return RAWHAL_OK;
}

static rawhal_status_t take_dispatch(record_reader_t *reader, const frame_t *frame,
                                     rawhal_error_t *error)
{
  format_dispatch_t head;
  record_dispatch_t dispatch;
  rawhal_status_t status = index_parse_dispatch(frame, &head, &dispatch, error);
  if (status != RAWHAL_OK)
    return status;
  if (head.dispatch != reader->dispatches.count + 1)
    return index_malformed(frame, error, "dispatch %" PRIu64 " comes after %zu", head.dispatch,
                           reader->dispatches.count);
  if (!head.object || head.object > reader->objects.count ||
      !INDEX_AT(reader->objects, record_object_t, head.object)->content.whole)
    return index_malformed(frame, error,
                           "dispatch %" PRIu64 " is of code object %" PRIu64
                           ", which does not stand "
                           "before it",
                           head.dispatch, head.object);
  if (!list_add(&reader->dispatches, NULL, sizeof(index_dispatch_t)))
    return index_no_memory(error);
  INDEX_AT(reader->dispatches, index_dispatch_t, head.dispatch)->frame = frame->offset;
  return RAWHAL_OK;
}

static rawhal_status_t check_owner(const record_reader_t *reader, const frame_t *frame,
                                   uint64_t dispatch, uint32_t when, rawhal_error_t *error)
{
  if (!dispatch || dispatch > reader->dispatches.count || when >= RECORD_WHENS)
    return index_malformed(frame, error,
                           "buffers (%u) of dispatch %" PRIu64 ", which does not stand "
                           "before them",
                           when, dispatch);
  if (INDEX_AT(reader->dispatches, index_dispatch_t, dispatch)->buffers[when].captured)
    return index_malformed(frame, error, "dispatch %" PRIu64 " has more buffers than all",
                           dispatch);
  return RAWHAL_OK;
}

static uint32_t known_flags(const record_reader_t *reader)
{
  return reader->info.version == 1 ? FORMAT_LEFT_OUT : FORMAT_LEFT_OUT | FORMAT_SEGMENT;
}

static rawhal_status_t take_buffer(record_reader_t *reader, const frame_t *frame,
                                   rawhal_error_t *error)
{
  uint64_t end;
  format_buffer_t head;
  rawhal_status_t status = index_take_head(frame, &head, sizeof(head), false, error);
  if (status != RAWHAL_OK || (status = check_owner(reader, frame, head.dispatch, head.when, error)))
    return status;
  if (!checked_add_u64(head.address, head.size, &end) || head.flags & ~known_flags(reader))
    return index_malformed(frame, error,
                           "a buffer of %" PRIu64 " bytes at 0x%" PRIx64 ", flags 0x%x", head.size,
                           head.address, head.flags);
  if ((status = index_add_content(reader, frame, head.content, head.size, error)))
    return status;
  if (!list_add(&reader->buffers, NULL, sizeof(size_t)))
    return index_no_memory(error);
  index_content_t *content = INDEX_AT(reader->contents, index_content_t, head.content);
  content->dispatch = (size_t)head.dispatch;
  content->when = (record_when_t)head.when;
  content->address = head.address;
  content->left_out = head.flags & FORMAT_LEFT_OUT;
  content->segment = head.flags & FORMAT_SEGMENT;
  *INDEX_AT(reader->buffers, size_t, reader->buffers.count) = (size_t)head.content;
  index_dispatch_t *owner = INDEX_AT(reader->dispatches, index_dispatch_t, head.dispatch);
  ++owner->buffers[head.when].count;
  owner->buffers[head.when].lacking += !content->left_out;
  return RAWHAL_OK;
}

/* The last piece of a content is there. */
static void complete(record_reader_t *reader, const index_content_t *content)
{
  if (content->object)
    INDEX_AT(reader->objects, record_object_t, content->object)->content.whole = true;
  else if (content->dispatch)
    --INDEX_AT(reader->dispatches, index_dispatch_t, content->dispatch)
          ->buffers[content->when]
          .lacking;
}

/* `size` bytes at `offset` of a content, which go on where its piece before this one ended; NULL:
 * it has no such place. */
static index_content_t *next_place(record_reader_t *reader, uint64_t number, uint64_t offset,
                                   size_t size)
{
  index_content_t *content = NULL;
  if (number && number <= reader->contents.count)
    content = INDEX_AT(reader->contents, index_content_t, number);
  if (!content || content->left_out || offset != content->have || !size || size > RECORD_PIECE ||
      !range_within(offset, size, content->size))
    return NULL;
  return content;
}

static rawhal_status_t add_piece(record_reader_t *reader, index_content_t *content,
                                 index_piece_t piece, rawhal_error_t *error)
{
  if (!list_add(&reader->pieces, NULL, sizeof(index_piece_t)))
    return index_no_memory(error);
  const size_t place = reader->pieces.count;
  *INDEX_AT(reader->pieces, index_piece_t, place) = piece;
  if (content->last)
    INDEX_AT(reader->pieces, index_piece_t, content->last)->next = place;
  else
    content->first = place;
  content->last = place;
  content->have += piece.size;
  if (content->have == content->size)
    complete(reader, content);
  return RAWHAL_OK;
}

static rawhal_status_t take_piece(record_reader_t *reader, const frame_t *frame,
                                  rawhal_error_t *error)
{
  format_piece_t head;
  rawhal_status_t status = index_take_head(frame, &head, sizeof(head), true, error);
  if (status != RAWHAL_OK)
    return status;
  const size_t size = frame->size - sizeof(head);
  index_content_t *content = next_place(reader, head.content, head.offset, size);
  if (!content)
    return index_malformed(
        frame, error, "%zu bytes at %" PRIu64 " of content %" PRIu64 ", which has no such range",
        size, head.offset, head.content);
  const index_piece_t piece = {frame->offset, head.offset, size, 0, (size_t)head.content};
  return add_piece(reader, content, piece, error);
}

/* The same place of the same buffer: however often a file says so, the buffers of a dispatch, which
 * do not overlap, have no more bytes than the file. */
static rawhal_status_t take_again(record_reader_t *reader, const frame_t *frame,
                                  rawhal_error_t *error)
{
  format_again_t head;
  rawhal_status_t status = index_take_head(frame, &head, sizeof(head), false, error);
  if (status != RAWHAL_OK)
    return status;
  const index_piece_t none = {0};
  const index_piece_t piece = head.piece && head.piece <= reader->pieces.count
                                  ? *INDEX_AT(reader->pieces, index_piece_t, head.piece)
                                  : none;
  index_content_t *content = next_place(reader, head.content, head.offset, piece.size);
  const index_content_t *from =
      piece.content ? INDEX_AT(reader->contents, index_content_t, piece.content) : NULL;
  if (!content || !from || !content->dispatch || !from->dispatch ||
      content->address != from->address || content->size != from->size ||
      piece.offset != head.offset)
    return index_malformed(frame, error,
                           "piece %" PRIu64 " is not of what is at %" PRIu64 " of content %" PRIu64,
                           head.piece, head.offset, head.content);
  const index_piece_t again = {piece.frame, head.offset, piece.size, 0, 0};
  return add_piece(reader, content, again, error);
}

static index_dispatch_t *find_owner(const record_reader_t *reader, uint64_t dispatch)
{
  return dispatch && dispatch <= reader->dispatches.count
             ? INDEX_AT(reader->dispatches, index_dispatch_t, dispatch)
             : NULL;
}

static rawhal_status_t take_place(record_reader_t *reader, const frame_t *frame,
                                  rawhal_error_t *error)
{
  uint64_t end;
  format_place_t head;
  rawhal_status_t status = index_take_head(frame, &head, sizeof(head), false, error);
  if (status != RAWHAL_OK)
    return status;
  index_dispatch_t *owner = find_owner(reader, head.dispatch);
  if (!owner || owner->place.size || !head.size || !checked_add_u64(head.base, head.size, &end))
    return index_malformed(
        frame, error, "dispatch %" PRIu64 " has its code object of %" PRIu64 " bytes at 0x%" PRIx64,
        head.dispatch, head.size, head.base);
  owner->place = (record_place_t){head.base, head.size, head.delta};
  return RAWHAL_OK;
}

static rawhal_status_t take_note(record_reader_t *reader, const frame_t *frame,
                                 rawhal_error_t *error)
{
  format_note_t head;
  rawhal_status_t status = index_take_head(frame, &head, sizeof(head), false, error);
  if (status != RAWHAL_OK)
    return status;
  index_dispatch_t *owner = find_owner(reader, head.dispatch);
  if (!owner || !head.kind || head.zero)
    return index_malformed(frame, error, "a note of kind %u of dispatch %" PRIu64, head.kind,
                           head.dispatch);
  if (!list_add(&reader->notes, NULL, sizeof(index_note_t)))
    return index_no_memory(error);
  *INDEX_AT(reader->notes, index_note_t, reader->notes.count) =
      (index_note_t){(size_t)head.dispatch, {head.kind, head.count, head.at, head.value}};
  ++owner->note_count;
  return RAWHAL_OK;
}

static rawhal_status_t take_captured(record_reader_t *reader, const frame_t *frame,
                                     rawhal_error_t *error)
{
  format_captured_t head;
  rawhal_status_t status = index_take_head(frame, &head, sizeof(head), false, error);
  if (status != RAWHAL_OK || (status = check_owner(reader, frame, head.dispatch, head.when, error)))
    return status;
  index_dispatch_t *owner = INDEX_AT(reader->dispatches, index_dispatch_t, head.dispatch);
  if (owner->buffers[head.when].count != head.buffers || owner->buffers[head.when].lacking)
    return index_malformed(frame, error,
                           "dispatch %" PRIu64 " has %u whole buffers; of %zu, %zu are incomplete",
                           head.dispatch, head.buffers, owner->buffers[head.when].count,
                           owner->buffers[head.when].lacking);
  owner->buffers[head.when].captured = true;
  return RAWHAL_OK;
}

static rawhal_status_t take_end(record_reader_t *reader, const frame_t *frame,
                                rawhal_error_t *error)
{
  format_end_t head;
  rawhal_status_t status = index_take_head(frame, &head, sizeof(head), false, error);
  if (status != RAWHAL_OK)
    return status;
  if (head.reason < RECORD_CLOSED || head.reason > RECORD_FAILED ||
      head.objects != reader->objects.count || head.dispatches != reader->dispatches.count)
    return index_malformed(frame, error,
                           "the end (%u) counts %" PRIu64 " code objects of %zu and %" PRIu64
                           " dispatches of %zu",
                           head.reason, head.objects, reader->objects.count, head.dispatches,
                           reader->dispatches.count);
  if (frame->next != reader->frames.size)
    return rawhal_fail_at(error, RAWHAL_MALFORMED, frame->next,
                          "the recording goes on after its end");
  reader->info.end = (record_end_t)head.reason;
  reader->info.code = (int)head.code;
  return RAWHAL_OK;
}

/* ---- All of them ---- */

/* By dispatch, in the order of the file: each dispatch's first place is known from the counts. */
static rawhal_status_t sort_buffers(record_reader_t *reader, rawhal_error_t *error)
{
  size_t next = 0;
  if (!reader->buffers.count)
    return RAWHAL_OK;
  reader->sorted = allocate_zeroed(NULL, reader->buffers.count, sizeof(*reader->sorted));
  if (!reader->sorted)
    return index_no_memory(error);
  for (size_t i = 1; i <= reader->dispatches.count; ++i)
    for (int when = 0; when < RECORD_WHENS; ++when) {
      index_dispatch_t *owner = INDEX_AT(reader->dispatches, index_dispatch_t, i);
      owner->buffers[when].first = next;
      next += owner->buffers[when].count;
      owner->buffers[when].count = 0;
    }
  for (size_t i = 1; i <= reader->buffers.count; ++i) {
    const size_t number = *INDEX_AT(reader->buffers, size_t, i);
    const index_content_t *content = INDEX_AT(reader->contents, index_content_t, number);
    index_dispatch_t *owner = INDEX_AT(reader->dispatches, index_dispatch_t, content->dispatch);
    const size_t place =
        owner->buffers[content->when].first + owner->buffers[content->when].count++;
    reader->sorted[place] =
        (record_buffer_t){content->address,
                          {number, content->size, content->have == content->size},
                          content->left_out,
                          content->segment};
  }
  return RAWHAL_OK;
}

static rawhal_status_t sort_notes(record_reader_t *reader, rawhal_error_t *error)
{
  size_t next = 0;
  if (!reader->notes.count)
    return RAWHAL_OK;
  reader->sorted_notes = allocate_zeroed(NULL, reader->notes.count, sizeof(*reader->sorted_notes));
  if (!reader->sorted_notes)
    return index_no_memory(error);
  for (size_t i = 1; i <= reader->dispatches.count; ++i) {
    index_dispatch_t *owner = INDEX_AT(reader->dispatches, index_dispatch_t, i);
    owner->first_note = next;
    next += owner->note_count;
    owner->note_count = 0;
  }
  for (size_t i = 1; i <= reader->notes.count; ++i) {
    const index_note_t *note = INDEX_AT(reader->notes, index_note_t, i);
    index_dispatch_t *owner = INDEX_AT(reader->dispatches, index_dispatch_t, note->dispatch);
    reader->sorted_notes[owner->first_note + owner->note_count++] = note->note;
  }
  return RAWHAL_OK;
}

static rawhal_status_t (*const takers[])(record_reader_t *, const frame_t *, rawhal_error_t *) = {
    [FORMAT_OBJECT] = take_object,      [FORMAT_DISPATCH] = take_dispatch,
    [FORMAT_BUFFER] = take_buffer,      [FORMAT_PIECE] = take_piece,
    [FORMAT_CAPTURED] = take_captured,  [FORMAT_END] = take_end,
    [FORMAT_AGAIN] = take_again,        [FORMAT_PLACE] = take_place,
    [FORMAT_NOTE] = take_note,          [FORMAT_PROBE] = index_take_probe,
    [FORMAT_PROBED] = index_take_probed};
static_assert(sizeof(takers) / sizeof(*takers) == FORMAT_TYPES, "one for each type");

rawhal_status_t index_build(record_reader_t *reader, rawhal_error_t *error)
{
  frame_t frame;
  record_reader_info_t *info = &reader->info;
  uint64_t offset = sizeof(format_header_t);
  *info = (record_reader_info_t){.bound = reader->frames.header.bound,
                                 .process = reader->frames.header.process,
                                 .version = reader->frames.header.version};
  if (reader->frames.size < offset) {
    info->end = RECORD_TORN;
    info->torn = reader->frames.size;
    return RAWHAL_OK;
  }
  for (;; offset = frame.next) {
    rawhal_status_t status = frames_read(&reader->frames, offset, &frame, error);
    if (status == RAWHAL_OK && frame.found == FRAME_WHOLE)
      status = takers[frame.type](reader, &frame, error);
    if (status != RAWHAL_OK)
      return status;
    if (frame.found != FRAME_WHOLE)
      break;
  }
  if (frame.found == FRAME_TORN)
    info->end = RECORD_TORN;
  info->bytes = offset;
  info->torn = reader->frames.size - offset;
  info->objects = reader->objects.count;
  info->dispatches = reader->dispatches.count;
  info->probes = reader->probes.count;
  info->probed = reader->probed.count;
  rawhal_status_t status = sort_buffers(reader, error);
  return status == RAWHAL_OK ? sort_notes(reader, error) : status;
}
