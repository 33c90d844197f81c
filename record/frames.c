#include "record/frames.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/allocate.h"
#include "base/error.h"
#include "base/whole.h"
#include "record/sum.h"

static rawhal_status_t read_at(const frames_t *frames, uint64_t offset, void *to, size_t size,
                               rawhal_error_t *error)
{
  char text[128];
  const ssize_t got = pread_whole(frames->file, to, size, offset);
  if (got == (ssize_t)size)
    return RAWHAL_OK;
  return rawhal_fail_at(error, RAWHAL_RUNTIME, offset, "reading the recording: %s",
                        got < 0 ? strerror_r(errno, text, sizeof(text)) : "it was truncated");
}

/* ---- The header ---- */

static rawhal_status_t check_header(const format_header_t *header, uint64_t size,
                                    rawhal_error_t *error)
{
  const size_t there = size < sizeof(header->magic) ? (size_t)size : sizeof(header->magic);
  for (size_t i = 0; i < there; ++i)
    if (header->magic[i] != FORMAT_MAGIC[i])
      return rawhal_fail_at(error, RAWHAL_MALFORMED, i, "this is not a recording of dispatches");
  if (size < sizeof(*header))
    return RAWHAL_OK; /* its writer was killed before it wrote anything else */
  if (header->byte_order == FORMAT_OTHER_ORDER)
    return rawhal_fail_at(error, RAWHAL_UNSUPPORTED, offsetof(format_header_t, byte_order),
                          "the recording is from a machine of the other byte order");
  if (header->byte_order != FORMAT_BYTE_ORDER)
    return rawhal_fail_at(error, RAWHAL_MALFORMED, offsetof(format_header_t, byte_order),
                          "the recording's byte order is 0x%x", header->byte_order);
  if (!header->version || header->version > FORMAT_VERSION)
    return rawhal_fail_at(error, RAWHAL_UNSUPPORTED, offsetof(format_header_t, version),
                          "the recording is of version %u, known are 1 to %d", header->version,
                          FORMAT_VERSION);
  if (header->check != sum_bytes(header, offsetof(format_header_t, check), 0))
    return rawhal_fail_at(error, RAWHAL_MALFORMED, offsetof(format_header_t, bound),
                          "the recording's header is damaged");
  return RAWHAL_OK;
}

rawhal_status_t frames_open(frames_t *frames, const char *path, rawhal_error_t *error)
{
  struct stat facts;
  char text[128];
  *frames = (frames_t){.file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
  if (frames->file < 0 || fstat(frames->file, &facts))
    return rawhal_fail(error, errno == ENOENT ? RAWHAL_NOT_FOUND : RAWHAL_INVALID_ARGUMENT,
                       "cannot open %.200s: %s", path, strerror_r(errno, text, sizeof(text)));
  if (!S_ISREG(facts.st_mode))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%.200s is not a regular file", path);
  frames->size = (uint64_t)facts.st_size;
  const bool whole = frames->size >= sizeof(frames->header);
  format_header_t header = {0};
  rawhal_status_t status =
      read_at(frames, 0, &header, whole ? sizeof(header) : (size_t)frames->size, error);
  if (status == RAWHAL_OK)
    status = check_header(&header, frames->size, error);
  if (status == RAWHAL_OK && whole)
    frames->header = header;
  return status;
}

void frames_close(frames_t *frames)
{
  if (frames->file >= 0)
    (void)close(frames->file);
  allocate_free(NULL, frames->payload);
  frames->payload = NULL;
  frames->file = -1;
}

/* ---- Frames ---- */

/* Room for a payload: at most as large as what the file has after the frame. */
static rawhal_status_t make_room(frames_t *frames, size_t size, rawhal_error_t *error)
{
  if (size <= frames->room)
    return RAWHAL_OK;
  unsigned char *more = allocate(NULL, size);
  if (!more)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for %zu bytes of a recording", size);
  allocate_free(NULL, frames->payload);
  frames->payload = more;
  frames->room = size;
  return RAWHAL_OK;
}

/* One more than the last type that a version has. */
static uint32_t types_of(uint32_t version)
{
  static const uint32_t types[FORMAT_VERSION] = {FORMAT_END + 1, FORMAT_NOTE + 1, FORMAT_TYPES};
  return types[version - 1];
}

static rawhal_status_t check_frame(const frames_t *frames, uint64_t offset,
                                   const format_frame_t *head, rawhal_error_t *error)
{
  if (head->check != sum_bytes(head, offsetof(format_frame_t, check), frames->header.salt + offset))
    return rawhal_fail_at(error, RAWHAL_MALFORMED, offset, "the frame's header is damaged");
  if (head->size > FORMAT_MOST_PAYLOAD)
    return rawhal_fail_at(error, RAWHAL_MALFORMED, offset, "a frame of %u bytes, more than %d",
                          head->size, FORMAT_MOST_PAYLOAD);
  if (!head->type || head->type >= types_of(frames->header.version))
    return rawhal_fail_at(error, RAWHAL_UNSUPPORTED, offset, "a frame of the unknown type %u",
                          head->type);
  return RAWHAL_OK;
}

rawhal_status_t frames_read(frames_t *frames, uint64_t offset, frame_t *frame,
                            rawhal_error_t *error)
{
  format_frame_t head;
  *frame = (frame_t){.offset = offset, .found = FRAME_NONE};
  if (offset >= frames->size)
    return RAWHAL_OK;
  frame->found = FRAME_TORN;
  if (frames->size - offset < sizeof(head))
    return RAWHAL_OK;
  rawhal_status_t status = read_at(frames, offset, &head, sizeof(head), error);
  if (status != RAWHAL_OK || (status = check_frame(frames, offset, &head, error)))
    return status;
  offset += sizeof(head);
  if (frames->size - offset < head.size)
    return RAWHAL_OK;
  if ((status = make_room(frames, head.size, error)) ||
      (status = read_at(frames, offset, frames->payload, head.size, error)))
    return status;
  if (head.payload_check != sum_bytes(frames->payload, head.size, frames->header.salt))
    return rawhal_fail_at(error, RAWHAL_MALFORMED, offset, "the frame's content is damaged");
  frame->found = FRAME_WHOLE;
  frame->type = (format_type_t)head.type;
  frame->next = offset + head.size;
  frame->payload = frames->payload;
  frame->size = head.size;
  return RAWHAL_OK;
}
