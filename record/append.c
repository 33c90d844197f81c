#include "record/append.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/file_signals.h"
#include "record/sum.h"

/* ---- The file ---- */

/* What remains of parts when `done` bytes of them are written. */
static void advance(struct iovec **parts, size_t *count, size_t done)
{
  for (; *count && done >= (*parts)->iov_len; ++*parts, --*count)
    done -= (*parts)->iov_len;
  if (*count) {
    (*parts)->iov_base = (char *)(*parts)->iov_base + done;
    (*parts)->iov_len -= done;
  }
}

bool append_raw(const own_file_t *file, uint64_t offset, struct iovec *parts, size_t count)
{
  if (!own_file_is_open(file))
    return false;
  while (count) {
    file_signals_t signals;
    file_signals_block(&signals);
    ssize_t wrote = TEMP_FAILURE_RETRY(pwritev(file->descriptor, parts, (int)count, (off_t)offset));
    file_signals_restore(&signals);
    if (wrote <= 0) {
      errno = wrote ? errno : ENOSPC;
      return false;
    }
    offset += (uint64_t)wrote;
    advance(&parts, &count, (size_t)wrote);
  }
  return true;
}

payload_t payload_of(const void *bytes, size_t size)
{
  return (payload_t){.parts = {{0}, {(void *)(uintptr_t)bytes, size}}, .count = 2, .size = size};
}

void payload_add(payload_t *payload, const void *bytes, size_t size)
{
  if (!size)
    return;
  payload->parts[payload->count++] = (struct iovec){(void *)(uintptr_t)bytes, size};
  payload->size += size;
}

static bool write_frame(record_writer_t *writer, format_type_t type, payload_t *payload)
{
  format_frame_t frame = {.type = type, .size = (uint32_t)payload->size};
  frame.payload_check = sum_parts(payload->parts + 1, payload->count - 1, writer->salt);
  frame.check = sum_bytes(&frame, offsetof(format_frame_t, check), writer->salt + writer->bytes);
  payload->parts[0] = (struct iovec){&frame, sizeof(frame)};
  const size_t size = sizeof(frame) + payload->size;
  if (!append_raw(&writer->file, writer->bytes, payload->parts, payload->count)) {
    int code = errno;
    if (own_file_is_open(&writer->file) &&
        ftruncate(writer->file.descriptor, (off_t)writer->bytes)) {
      /* what is torn stays, and readers see that it is */
    }
    errno = code;
    return false;
  }
  writer->bytes += size;
  return true;
}

void append_end(record_writer_t *writer, record_end_t reason, int code)
{
  const format_end_t end = {reason, (uint32_t)code, writer->objects, writer->dispatches};
  payload_t payload = payload_of(&end, sizeof(end));
  writer->end = reason;
  writer->code = code;
  if (!write_frame(writer, FORMAT_END, &payload) && reason == RECORD_CLOSED) {
    writer->end = RECORD_FAILED;
    writer->code = errno;
  }
}

/* ---- Appending ---- */

rawhal_status_t append_ended(const record_writer_t *writer, rawhal_error_t *error)
{
  char text[128];
  if (writer->end == RECORD_FULL)
    return rawhal_fail(error, RAWHAL_CAP_EXCEEDED,
                       "the recording %s is full: it may have %" PRIu64 " bytes", writer->path,
                       writer->bound);
  return rawhal_fail(error, RAWHAL_RUNTIME, "writing %s: %s", writer->path,
                     strerror_r(writer->code, text, sizeof(text)));
}

rawhal_status_t append_frame(record_writer_t *writer, format_type_t type, payload_t payload,
                             rawhal_error_t *error)
{
  const uint64_t size = sizeof(format_frame_t) + payload.size;
  if (writer->end == RECORD_UNFINISHED &&
      !range_within(writer->bytes, size + FORMAT_END_BYTES, writer->bound))
    append_end(writer, RECORD_FULL, 0);
  else if (writer->end == RECORD_UNFINISHED && !write_frame(writer, type, &payload))
    append_end(writer, RECORD_FAILED, errno);
  return writer->end == RECORD_UNFINISHED ? RAWHAL_OK : append_ended(writer, error);
}

rawhal_status_t append_piece(record_writer_t *writer, uint64_t content, uint64_t offset,
                             const void *bytes, size_t size, rawhal_error_t *error)
{
  const format_piece_t piece = {content, offset};
  payload_t payload = payload_of(&piece, sizeof(piece));
  payload_add(&payload, bytes, size);
  rawhal_status_t status = append_frame(writer, FORMAT_PIECE, payload, error);
  writer->pieces += status == RAWHAL_OK;
  return status;
}

rawhal_status_t append_enter(record_writer_t *writer, rawhal_error_t *error)
{
  if (getpid() != writer->process)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "the recording %s is that of process %d, of which this is a child",
                       writer->path, (int)writer->process);
  pthread_mutex_lock(&writer->lock);
  if (writer->end == RECORD_UNFINISHED)
    return RAWHAL_OK;
  pthread_mutex_unlock(&writer->lock);
  return append_ended(writer, error); /* what it says does not change any more */
}
