/* Reading a recording. Internal.
 *
 * A file is read through once when it is opened, every frame's checksums and everything that frames
 * say of each other; what has been found is remembered by its place, and read again when it is
 * asked for. Memory and time are proportional to the file; what a file claims is not believed
 * before the bytes are there. The incomplete end that a killed writer has left is not damage.
 *
 * Thread-safety: one thread at a time. */
#ifndef RAWHAL_RECORD_READER_H
#define RAWHAL_RECORD_READER_H

#include "record/notes.h"
#include "record/probes.h"
#include "record/record.h"

typedef struct record_reader record_reader_t;

/* Damage anywhere refuses the whole file: MALFORMED, the offset at the first byte of the header, or
 * of the content, of the frame in which it is, or of the frame that contradicts earlier ones.
 * UNSUPPORTED: another version, byte order or an unknown frame; NOT_FOUND, INVALID_ARGUMENT: it
 * cannot be opened, or is not a regular file; OUT_OF_MEMORY; RUNTIME: it cannot be read. */
RAWHAL_CHECKED rawhal_status_t record_reader_open(const char *path, record_reader_t **reader,
                                                  rawhal_error_t *error);
void record_reader_close(record_reader_t *reader); /* NULL is allowed */

typedef struct record_reader_info {
  uint64_t bytes; /* of the file, without what is torn */
  uint64_t bound, process;
  size_t objects, dispatches;
  record_end_t end;
  int code;         /* errno of RECORD_FAILED */
  uint64_t torn;    /* bytes of a frame that is not whole */
  uint32_t version; /* of the format; before 2 there are no places, segments and notes, before 3 no
                       probes */
  size_t probes, probed; /* probed kernels; what dispatches of them left */
} record_reader_info_t;

const record_reader_info_t *record_reader_info(const record_reader_t *reader);

/* Bytes that the file has somewhere. */
typedef struct record_content {
  uint64_t number, size;
  bool whole; /* all of them are there */
} record_content_t;

typedef struct record_object {
  rawhal_content_hash_t hash;
  record_content_t content;
} record_object_t;

/* By its number, from 1. NULL: there is none. */
const record_object_t *record_reader_object(const record_reader_t *reader, uint64_t number);

/* By its number, from 1. Names and segment are the reader's until its next call. */
RAWHAL_CHECKED rawhal_status_t record_reader_dispatch(record_reader_t *reader, uint64_t number,
                                                      record_dispatch_t *dispatch,
                                                      rawhal_error_t *error);

typedef struct record_buffer {
  uint64_t address; /* of content.size bytes */
  record_content_t content;
  bool left_out; /* larger than its recorder wanted buffers: there is no content */
  bool segment;  /* of the dispatch's code object, as it was loaded */
} record_buffer_t;

typedef struct record_buffers {
  const record_buffer_t *buffers; /* in the order in which they were recorded */
  size_t count;
  bool all; /* none is missing, and each has its content but for those left out */
} record_buffers_t;

/* Of a dispatch, by its number. */
record_buffers_t record_reader_buffers(const record_reader_t *reader, uint64_t number,
                                       record_when_t when);

/* What a replay of it may lack, in the order in which it was recorded. */
typedef struct record_notes {
  const record_note_t *notes;
  size_t count;
} record_notes_t;
record_notes_t record_reader_notes(const record_reader_t *reader, uint64_t number);

/* Where its code object was loaded. False: the recording does not say. */
bool record_reader_place(const record_reader_t *reader, uint64_t number, record_place_t *place);

/* Gets the bytes of a content from the first on, at most RECORD_PIECE at a time and none twice.
 * Another status than OK ends it, and is returned. */
typedef rawhal_status_t record_take_fn(void *context, uint64_t offset, const void *bytes,
                                       size_t size, rawhal_error_t *error);
RAWHAL_CHECKED rawhal_status_t record_reader_content(record_reader_t *reader,
                                                     const record_content_t *content,
                                                     record_take_fn *take, void *context,
                                                     rawhal_error_t *error);

/* ---- Probes ---- */

/* A probed kernel, by its number, from 1. Its name is the reader's until its next call. */
RAWHAL_CHECKED rawhal_status_t record_reader_probe(record_reader_t *reader, uint64_t number,
                                                   record_probe_t *probe, rawhal_error_t *error);

/* All of its points, to as many as it has. NOT_FOUND: there is no such kernel, or they are not
 * whole; MALFORMED: they are not sorted, lie beyond the code, or count what there is no counter
 * for. */
RAWHAL_CHECKED rawhal_status_t record_reader_points(record_reader_t *reader, uint64_t number,
                                                    rawhal_probe_point_t *to,
                                                    rawhal_error_t *error);

/* What a dispatch left: one of record_reader_info_t.probed, from 1. A dispatch may have several. */
typedef struct record_records {
  uint64_t dispatch, probe;                      /* their numbers */
  uint32_t flags;                                /* record_probed_flags_t */
  uint64_t frequency;                            /* of its times, in Hz; 0: not known */
  uint32_t allocations, counters, waves, events; /* how many there are in the file */
  record_content_t content; /* of all of them; not whole: the writer did not come to its end */
} record_records_t;
/* False: there is none of that number. */
bool record_reader_records(const record_reader_t *reader, uint64_t number,
                           record_records_t *records);

/* Takes them one after the other, in this order; what is NULL is skipped. Numbers count from 0.
 * Another status than OK ends it, and is returned. What is passed is the reader's, until it
 * returns. */
typedef struct record_take_records {
  rawhal_status_t (*allocation)(void *context, uint32_t number, const record_allocation_t *,
                                rawhal_error_t *error);
  rawhal_status_t (*header)(void *context, const rawhal_probe_header_t *, rawhal_error_t *error);
  rawhal_status_t (*counter)(void *context, uint32_t number, uint64_t value, rawhal_error_t *error);
  rawhal_status_t (*wave)(void *context, uint32_t number, const rawhal_probe_wave_t *,
                          rawhal_error_t *error);
  /* `lanes`: RAWHAL_PROBE_LANES of them, or NULL */
  rawhal_status_t (*event)(void *context, uint32_t number, const rawhal_probe_event_t *,
                           const uint64_t *lanes, rawhal_error_t *error);
  void *context;
} record_take_records_t;

/* NOT_FOUND: there is none of that number, or they are not whole; MALFORMED: the header says that
 * there were fewer. Memory does not depend on how many there are, but for the allocations. */
RAWHAL_CHECKED rawhal_status_t record_reader_take(record_reader_t *reader, uint64_t number,
                                                  const record_take_records_t *take,
                                                  rawhal_error_t *error);

/* ---- Code ---- */

/* All of an object's bytes, to as many as its content has. NOT_FOUND: there is no such object, or
 * it is not whole; MALFORMED: the bytes are not those that its hash names. */
RAWHAL_CHECKED rawhal_status_t record_reader_object_bytes(record_reader_t *reader, uint64_t number,
                                                          void *to, rawhal_error_t *error);

#endif
