/* What a dispatch had: where its code was, its memory before and after, and what may be missing. */
#include <inttypes.h>

#include "base/allocate.h"
#include "base/cancel.h"
#include "base/checked.h"
#include "base/error.h"
#include "record/append.h"

/* Takes the lock, for a dispatch that there is. */
static rawhal_status_t enter(record_writer_t *writer, uint64_t dispatch, rawhal_error_t *error)
{
  rawhal_status_t status = append_enter(writer, error);
  if (status != RAWHAL_OK || (dispatch && dispatch <= writer->dispatches))
    return status;
  pthread_mutex_unlock(&writer->lock);
  return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "there is no dispatch %" PRIu64, dispatch);
}

/* One frame about a dispatch. */
static rawhal_status_t append_about(record_writer_t *writer, uint64_t dispatch, format_type_t type,
                                    const void *bytes, size_t size, rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  rawhal_status_t status = enter(writer, dispatch, error);
  if (status != RAWHAL_OK)
    return status;
  status = append_frame(writer, type, payload_of(bytes, size), error);
  pthread_mutex_unlock(&writer->lock);
  return status;
}

rawhal_status_t record_writer_place(record_writer_t *writer, uint64_t dispatch,
                                    const record_place_t *place, rawhal_error_t *error)
{
  const format_place_t frame = {dispatch, place->base, place->size, place->delta};
  uint64_t end;
  if (!place->size || !checked_add_u64(place->base, place->size, &end))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "no code object has %" PRIu64 " bytes at 0x%" PRIx64, place->size,
                       place->base);
  return append_about(writer, dispatch, FORMAT_PLACE, &frame, sizeof(frame), error);
}

rawhal_status_t record_writer_note(record_writer_t *writer, uint64_t dispatch,
                                   const record_note_t *note, rawhal_error_t *error)
{
  const format_note_t frame = {dispatch, note->kind, 0, note->count, note->at, note->value};
  return append_about(writer, dispatch, FORMAT_NOTE, &frame, sizeof(frame), error);
}

/* ---- Buffers ---- */

typedef struct capture {
  record_writer_t *writer;
  uint64_t dispatch;
  record_when_t when;
  record_read_fn *read;
  void *context;
  void *piece; /* RECORD_PIECE bytes */
} capture_t;

/* Larger than is wanted, or than what is left of the file, which would end. (Of what is there
 * already little may be written.) */
static bool is_too_large(const record_writer_t *writer, const record_range_t *range)
{
  const uint64_t most = writer->bound - writer->bytes;
  return (writer->buffer_bound && range->size > writer->buffer_bound) ||
         (range->size > most && !kept_has(&writer->kept, range->address, range->size));
}

/* `*content` 0: it is not to have contents. */
static rawhal_status_t append_buffer(const capture_t *capture, record_range_t *range,
                                     uint64_t *content, rawhal_error_t *error)
{
  record_writer_t *writer = capture->writer;
  *content = 0;
  rawhal_status_t status = enter(writer, capture->dispatch, error);
  if (status != RAWHAL_OK)
    return status;
  const bool left_out = range->left_out |= is_too_large(writer, range);
  const format_buffer_t buffer = {writer->contents + 1,
                                  capture->dispatch,
                                  range->address,
                                  range->size,
                                  capture->when,
                                  (left_out ? (uint32_t)FORMAT_LEFT_OUT : 0) |
                                      (range->segment ? (uint32_t)FORMAT_SEGMENT : 0)};
  status = append_frame(writer, FORMAT_BUFFER, payload_of(&buffer, sizeof(buffer)), error);
  if (status == RAWHAL_OK)
    ++writer->contents;
  pthread_mutex_unlock(&writer->lock);
  *content = status || left_out ? 0 : buffer.content;
  return status;
}

/* The caller holds the lock. Another thread may have written the same buffer meanwhile: what is
 * said of a piece is said when it is in the file. */
static rawhal_status_t append_changed(const capture_t *capture, uint64_t content,
                                      record_range_t range, uint64_t at, size_t size,
                                      rawhal_content_hash_t hash, rawhal_error_t *error)
{
  record_writer_t *writer = capture->writer;
  kept_piece_t *kept = kept_of(&writer->kept, range.address, range.size);
  kept_piece_t *piece = kept ? &kept[at / RECORD_PIECE] : NULL;
  if (piece && piece->piece && piece->hash.high == hash.high && piece->hash.low == hash.low) {
    const format_again_t again = {content, at, piece->piece};
    rawhal_status_t status =
        append_frame(writer, FORMAT_AGAIN, payload_of(&again, sizeof(again)), error);
    writer->pieces += status == RAWHAL_OK;
    return status;
  }
  rawhal_status_t status = append_piece(writer, content, at, capture->piece, size, error);
  if (status == RAWHAL_OK && piece)
    *piece = (kept_piece_t){hash, writer->pieces};
  return status;
}

static rawhal_status_t capture_buffer(const capture_t *capture, const record_ranges_t *ranges,
                                      size_t index, rawhal_error_t *error)
{
  uint64_t end, content;
  const record_range_t range = ranges->ranges[index];
  if (!range.size || !checked_add_u64(range.address, range.size, &end))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "no buffer has %" PRIu64 " bytes at 0x%" PRIx64, range.size, range.address);
  rawhal_status_t status = append_buffer(capture, &ranges->ranges[index], &content, error);
  for (uint64_t at = 0; status == RAWHAL_OK && content && at < range.size; at += RECORD_PIECE) {
    const size_t size = range.size - at < RECORD_PIECE ? (size_t)(range.size - at) : RECORD_PIECE;
    status =
        capture->read(capture->context, &ranges->ranges[index], at, capture->piece, size, error);
    if (status != RAWHAL_OK)
      return status;
    const rawhal_content_hash_t hash = rawhal_content_hash(capture->piece, size);
    if ((status = append_enter(capture->writer, error)))
      return status;
    status = append_changed(capture, content, range, at, size, hash, error);
    pthread_mutex_unlock(&capture->writer->lock);
  }
  return status;
}

rawhal_status_t record_writer_buffers(record_writer_t *writer, uint64_t dispatch,
                                      record_when_t when, const record_ranges_t *ranges,
                                      record_read_fn *read, void *context, rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  if ((unsigned)when >= RECORD_WHENS)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "buffers of an unknown time");
  capture_t capture = {writer, dispatch, when, read, context, allocate(NULL, RECORD_PIECE)};
  if (!capture.piece)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a piece of a buffer");
  rawhal_status_t status = RAWHAL_OK;
  for (size_t i = 0; i < ranges->count && status == RAWHAL_OK; ++i)
    status = capture_buffer(&capture, ranges, i, error);
  allocate_free(NULL, capture.piece);
  if (status == RAWHAL_OK && ranges->count > UINT32_MAX)
    status = rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%zu buffers are too many", ranges->count);
  const format_captured_t captured = {dispatch, when, (uint32_t)ranges->count};
  return status == RAWHAL_OK
             ? append_about(writer, dispatch, FORMAT_CAPTURED, &captured, sizeof(captured), error)
             : status;
}
