/* What is where in a recording. Internal to this folder. */
#ifndef RAWHAL_RECORD_INDEX_H
#define RAWHAL_RECORD_INDEX_H

#include "base/list.h"
#include "record/frames.h"
#include "record/probe_layout.h"
#include "record/reader.h"

/* Places in arrays count from 1; 0 means none. */

typedef struct index_piece {
  uint64_t frame, offset; /* in the file; in its content */
  size_t size, next;
  size_t content; /* whose bytes they are, where they stand in the file; of others 0 */
} index_piece_t;

typedef struct index_content {
  uint64_t frame, size, have; /* where it was announced; bytes in all, and found */
  size_t first, last;         /* pieces */
  size_t object, dispatch;    /* whose it is; the other is 0 */
  uint64_t address;           /* of a buffer */
  record_when_t when;
  bool left_out, segment;
} index_content_t;

typedef struct index_dispatch {
  uint64_t frame;
  struct {
    size_t count, lacking, first; /* buffers; without all of their content; in reader.buffers */
    bool captured;
  } buffers[RECORD_WHENS];
  record_place_t place; /* of size 0: not known */
  size_t note_count, first_note;
} index_dispatch_t;

typedef struct index_probe {
  uint64_t frame;
  record_probe_t probe;     /* without its name */
  record_content_t content; /* its points; of size 0: there are none */
} index_probe_t;

typedef struct index_probed {
  uint64_t frame;
  format_probed_t head;
  probe_layout_t layout;
} index_probed_t;

typedef struct index_note {
  size_t dispatch;
  record_note_t note;
} index_note_t;

struct record_reader {
  frames_t frames;
  record_reader_info_t info;
  list_t objects;          /* record_object_t */
  list_t dispatches;       /* index_dispatch_t */
  list_t contents;         /* index_content_t */
  list_t buffers;          /* size_t, their contents, as they stand in the file */
  list_t pieces;           /* index_piece_t */
  list_t notes;            /* index_note_t, as they stand in the file */
  list_t probes;           /* index_probe_t */
  list_t probed;           /* index_probed_t */
  record_buffer_t *sorted; /* the buffers, those of a dispatch one after the other */
  record_note_t *sorted_notes;
};

/* The element at a place that is there. */
#define INDEX_AT(array, type, place) (&((type *)(array).items)[(place)-1])

/* Reads the whole file. */
RAWHAL_CHECKED rawhal_status_t index_build(record_reader_t *reader, rawhal_error_t *error);

/* Of a frame that contradicts others, or itself. */
#define index_malformed(frame, error, ...)                                                         \
  rawhal_fail_at((error), RAWHAL_MALFORMED, (frame)->offset, __VA_ARGS__)
RAWHAL_CHECKED rawhal_status_t index_no_memory(rawhal_error_t *error);

/* The fixed part of a frame, which is the whole of it unless something `follows`. */
RAWHAL_CHECKED rawhal_status_t index_take_head(const frame_t *frame, void *head, size_t size,
                                               bool follows, rawhal_error_t *error);
/* A content that is announced; it is nobody's. */
RAWHAL_CHECKED rawhal_status_t index_add_content(record_reader_t *reader, const frame_t *frame,
                                                 uint64_t number, uint64_t size,
                                                 rawhal_error_t *error);
RAWHAL_CHECKED rawhal_status_t index_take_probe(record_reader_t *reader, const frame_t *frame,
                                                rawhal_error_t *error);
RAWHAL_CHECKED rawhal_status_t index_take_probed(record_reader_t *reader, const frame_t *frame,
                                                 rawhal_error_t *error);

/* A frame that was whole when the file was opened. */
RAWHAL_CHECKED rawhal_status_t index_read_again(record_reader_t *reader, uint64_t offset,
                                                format_type_t type, frame_t *frame,
                                                rawhal_error_t *error);

/* The parts of the frame of a probed kernel. */
RAWHAL_CHECKED rawhal_status_t index_parse_probe(const frame_t *frame, format_probe_t *head,
                                                 record_probe_t *probe, rawhal_error_t *error);
/* The parts of a dispatch's frame. */
RAWHAL_CHECKED rawhal_status_t index_parse_dispatch(const frame_t *frame, format_dispatch_t *head,
                                                    record_dispatch_t *dispatch,
                                                    rawhal_error_t *error);

#endif
