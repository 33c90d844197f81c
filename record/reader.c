#include "record/reader.h"

#include <inttypes.h>
#include <string.h>

#include "base/allocate.h"
#include "base/error.h"
#include "record/index.h"
#include "record/sum.h"

rawhal_status_t record_reader_open(const char *path, record_reader_t **reader,
                                   rawhal_error_t *error)
{
  *reader = NULL;
  if (!path)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "path is NULL");
  record_reader_t *made = allocate_zeroed(NULL, 1, sizeof(*made));
  if (!made)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a recording");
  rawhal_status_t status = frames_open(&made->frames, path, error);
  if (status == RAWHAL_OK)
    status = index_build(made, error);
  if (status != RAWHAL_OK)
    record_reader_close(made);
  else
    *reader = made;
  return status;
}

void record_reader_close(record_reader_t *reader)
{
  if (!reader)
    return;
  frames_close(&reader->frames);
  list_free(&reader->objects);
  list_free(&reader->dispatches);
  list_free(&reader->contents);
  list_free(&reader->buffers);
  list_free(&reader->pieces);
  list_free(&reader->notes);
  list_free(&reader->probes);
  list_free(&reader->probed);
  allocate_free(NULL, reader->sorted);
  allocate_free(NULL, reader->sorted_notes);
  allocate_free(NULL, reader);
}

const record_reader_info_t *record_reader_info(const record_reader_t *reader)
{
  return &reader->info;
}

const record_object_t *record_reader_object(const record_reader_t *reader, uint64_t number)
{
  if (!number || number > reader->objects.count)
    return NULL;
  return INDEX_AT(reader->objects, record_object_t, number);
}

rawhal_status_t index_read_again(record_reader_t *reader, uint64_t offset, format_type_t type,
                                 frame_t *frame, rawhal_error_t *error)
{
  rawhal_status_t status = frames_read(&reader->frames, offset, frame, error);
  if (status == RAWHAL_OK && (frame->found != FRAME_WHOLE || frame->type != type))
    status = rawhal_fail_at(error, RAWHAL_MALFORMED, offset, "the recording was changed meanwhile");
  return status;
}

rawhal_status_t record_reader_dispatch(record_reader_t *reader, uint64_t number,
                                       record_dispatch_t *dispatch, rawhal_error_t *error)
{
  frame_t frame;
  format_dispatch_t head;
  *dispatch = (record_dispatch_t){0};
  if (!number || number > reader->dispatches.count)
    return rawhal_fail(error, RAWHAL_NOT_FOUND, "there is no dispatch %" PRIu64 " of %zu", number,
                       reader->dispatches.count);
  const uint64_t offset = INDEX_AT(reader->dispatches, index_dispatch_t, number)->frame;
  rawhal_status_t status = index_read_again(reader, offset, FORMAT_DISPATCH, &frame, error);
  return status != RAWHAL_OK ? status : index_parse_dispatch(&frame, &head, dispatch, error);
}

record_buffers_t record_reader_buffers(const record_reader_t *reader, uint64_t number,
                                       record_when_t when)
{
  if (!number || number > reader->dispatches.count || (unsigned)when >= RECORD_WHENS)
    return (record_buffers_t){0};
  const index_dispatch_t *owner = INDEX_AT(reader->dispatches, index_dispatch_t, number);
  const size_t count = owner->buffers[when].count;
  return (record_buffers_t){count ? reader->sorted + owner->buffers[when].first : NULL, count,
                            owner->buffers[when].captured};
}

record_notes_t record_reader_notes(const record_reader_t *reader, uint64_t number)
{
  if (!number || number > reader->dispatches.count)
    return (record_notes_t){0};
  const index_dispatch_t *owner = INDEX_AT(reader->dispatches, index_dispatch_t, number);
  const size_t count = owner->note_count;
  return (record_notes_t){count ? reader->sorted_notes + owner->first_note : NULL, count};
}

bool record_reader_place(const record_reader_t *reader, uint64_t number, record_place_t *place)
{
  *place = (record_place_t){0};
  if (number && number <= reader->dispatches.count)
    *place = INDEX_AT(reader->dispatches, index_dispatch_t, number)->place;
  return place->size != 0;
}

rawhal_status_t record_reader_content(record_reader_t *reader, const record_content_t *content,
                                      record_take_fn *take, void *context, rawhal_error_t *error)
{
  if (!content->whole || !content->number || content->number > reader->contents.count)
    return rawhal_fail(error, RAWHAL_NOT_FOUND, "the recording does not have all of these bytes");
  frame_t frame;
  rawhal_status_t status = RAWHAL_OK;
  size_t place = INDEX_AT(reader->contents, index_content_t, content->number)->first;
  for (; place && status == RAWHAL_OK;
       place = INDEX_AT(reader->pieces, index_piece_t, place)->next) {
    const index_piece_t *piece = INDEX_AT(reader->pieces, index_piece_t, place);
    status = index_read_again(reader, piece->frame, FORMAT_PIECE, &frame, error);
    if (status == RAWHAL_OK && frame.size != sizeof(format_piece_t) + piece->size)
      status = rawhal_fail_at(error, RAWHAL_MALFORMED, piece->frame,
                              "the recording was changed meanwhile");
    if (status == RAWHAL_OK)
      status =
          take(context, piece->offset, frame.payload + sizeof(format_piece_t), piece->size, error);
  }
  return status;
}

static rawhal_status_t copy_piece(void *to, uint64_t offset, const void *bytes, size_t size,
                                  rawhal_error_t *error)
{
  (void)error;
  memcpy((char *)to + offset, bytes, size);
  return RAWHAL_OK;
}

rawhal_status_t record_reader_object_bytes(record_reader_t *reader, uint64_t number, void *to,
                                           rawhal_error_t *error)
{
  const record_object_t *object = record_reader_object(reader, number);
  if (!object)
    return rawhal_fail(error, RAWHAL_NOT_FOUND, "there is no code object %" PRIu64, number);
  rawhal_status_t status = record_reader_content(reader, &object->content, copy_piece, to, error);
  if (status != RAWHAL_OK)
    return status;
  const rawhal_content_hash_t hash = rawhal_content_hash(to, (size_t)object->content.size);
  if (hash.high != object->hash.high || hash.low != object->hash.low)
    return rawhal_fail_at(
        error, RAWHAL_MALFORMED,
        INDEX_AT(reader->contents, index_content_t, object->content.number)->frame,
        "code object %" PRIu64 " has bytes that its hash does not match", number);
  return RAWHAL_OK;
}
