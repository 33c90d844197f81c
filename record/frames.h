/* Reading one frame of a recording. Internal to this folder. */
#ifndef RAWHAL_RECORD_FRAMES_H
#define RAWHAL_RECORD_FRAMES_H

#include "record/format.h"

/* A file as long as it was when it was opened. */
typedef struct frames {
  int file;
  uint64_t size;
  format_header_t header; /* zeros: the file ends within it */
  unsigned char *payload; /* of the frame that was read last */
  size_t room;
} frames_t;

typedef enum frame_found {
  FRAME_WHOLE = 0,
  FRAME_NONE = 1, /* the file ends here */
  FRAME_TORN = 2, /* it ends within this frame */
} frame_found_t;

typedef struct frame {
  frame_found_t found;
  format_type_t type;
  uint64_t offset, next;        /* in the file */
  const unsigned char *payload; /* until the next call */
  size_t size;
} frame_t;

/* MALFORMED: not a recording, or its header is damaged; UNSUPPORTED: another version, or written on
 * a machine of the other byte order; NOT_FOUND, INVALID_ARGUMENT: it cannot be opened, or is not a
 * regular file. frames_close() must be called in any case. */
RAWHAL_CHECKED rawhal_status_t frames_open(frames_t *frames, const char *path,
                                           rawhal_error_t *error);
void frames_close(frames_t *frames);

/* The frame at `offset`. MALFORMED: it is damaged, in its header or its payload, at whose first
 * byte the error's offset is; UNSUPPORTED: of a type that is not known. */
RAWHAL_CHECKED rawhal_status_t frames_read(frames_t *frames, uint64_t offset, frame_t *frame,
                                           rawhal_error_t *error);

#endif
