/* What is where in a recording. Internal to this folder. */
#ifndef RAWHAL_RECORD_INDEX_H
#define RAWHAL_RECORD_INDEX_H

#include "base/list.h"
#include "record/frames.h"
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
  record_buffer_t *sorted; /* the buffers, those of a dispatch one after the other */
  record_note_t *sorted_notes;
};

/* The element at a place that is there. */
#define INDEX_AT(array, type, place) (&((type *)(array).items)[(place)-1])

/* Reads the whole file. */
RAWHAL_CHECKED rawhal_status_t index_build(record_reader_t *reader, rawhal_error_t *error);

/* The parts of a dispatch's frame. */
RAWHAL_CHECKED rawhal_status_t index_parse_dispatch(const frame_t *frame, format_dispatch_t *head,
                                                    record_dispatch_t *dispatch,
                                                    rawhal_error_t *error);

#endif
