/* Writing a recording. Internal.
 *
 * Every call appends whole frames and keeps nothing: what a call has written stays readable however
 * the process ends. (Not however the machine ends: nothing is synced.) The file never grows beyond
 * its bound or the process's RLIMIT_FSIZE. When it would, or the disk is full, the file is ended
 * with a word that says so, nothing is recorded any more, and all later calls answer the same:
 * CAP_EXCEEDED for the bound, RUNTIME for the rest.
 *
 * Thread-safety: any number of threads may call everything but _close(), which must come last. A
 * call may wait for the disk. None is a cancellation point. A child of fork() is refused with
 * INVALID_ARGUMENT, and may close: that leaves its parent's file alone. */
#ifndef RAWHAL_RECORD_WRITER_H
#define RAWHAL_RECORD_WRITER_H

#include "record/notes.h"
#include "record/probes.h"
#include "record/record.h"

typedef struct record_writer record_writer_t;

#define RECORD_DEFAULT_BOUND ((uint64_t)1 << 30)

/* Zeros: the defaults. */
typedef struct record_options {
  uint64_t bound; /* bytes of the file; 0: RECORD_DEFAULT_BOUND */
  /* Larger buffers are listed without contents, and what is larger than what is left of the file;
   * 0: those alone. */
  uint64_t buffer_bound;
} record_options_t;

/* Makes the file, which must not be there yet: two writers of one file would tear each other's
 * frames. INVALID_ARGUMENT: it is, or the bound has no room for anything; NOT_FOUND: no such
 * folder; RUNTIME; OUT_OF_MEMORY. */
RAWHAL_CHECKED rawhal_status_t record_writer_create(const char *path,
                                                    const record_options_t *options,
                                                    record_writer_t **writer,
                                                    rawhal_error_t *error);

/* The same of that name or, where there is one already, of a numbered one: see base/numbered.h. */
RAWHAL_CHECKED rawhal_status_t record_writer_create_new(const char *path,
                                                        const record_options_t *options,
                                                        record_writer_t **writer,
                                                        rawhal_error_t *error);

/* The number of the object of that hash; 0: it is not written. */
uint64_t record_writer_known(record_writer_t *writer, rawhal_content_hash_t hash);

/* A code object's bytes, which are written when nothing equal was. `*object`: its number. */
RAWHAL_CHECKED rawhal_status_t record_writer_object(record_writer_t *writer, rawhal_bytes_t bytes,
                                                    uint64_t *object, rawhal_error_t *error);

/* `*dispatch`: its number, from 1. OUT_OF_RANGE: a name or a segment is larger than RECORD_MOST_*;
 * INVALID_ARGUMENT: no such object. */
RAWHAL_CHECKED rawhal_status_t record_writer_dispatch(record_writer_t *writer,
                                                      const record_dispatch_t *dispatch,
                                                      uint64_t *number, rawhal_error_t *error);

/* Where the dispatch's code object was loaded; once, before its buffers. */
RAWHAL_CHECKED rawhal_status_t record_writer_place(record_writer_t *writer, uint64_t dispatch,
                                                   const record_place_t *place,
                                                   rawhal_error_t *error);

/* What a replay of the dispatch may lack. */
RAWHAL_CHECKED rawhal_status_t record_writer_note(record_writer_t *writer, uint64_t dispatch,
                                                  const record_note_t *note, rawhal_error_t *error);

/* Memory of a dispatch: an allocation that it has a pointer into, or a part of its code object as
 * it is loaded. */
typedef struct record_range {
  uint64_t address, size; /* device address of its first byte, bytes */
  bool segment;           /* of its code object */
  bool left_out;          /* without contents; set where it is too large for them */
} record_range_t;

typedef struct record_ranges {
  record_range_t *ranges;
  size_t count;
} record_ranges_t;

/* Gets `size` bytes of a range, at most RECORD_PIECE of them, from front to end; is called without
 * a lock. May add to the ranges, which may move them. */
typedef rawhal_status_t record_read_fn(void *context, const record_range_t *range, uint64_t offset,
                                       void *to, size_t size, rawhal_error_t *error);

/* All buffers of a dispatch, as they are before or after it, once each. Pieces that are as they
 * were when they were written last are not written again. When `read` fails, its status is
 * returned, and what there is of the buffers does not count for a reader. */
RAWHAL_CHECKED rawhal_status_t record_writer_buffers(record_writer_t *writer, uint64_t dispatch,
                                                     record_when_t when,
                                                     const record_ranges_t *ranges,
                                                     record_read_fn *read, void *context,
                                                     rawhal_error_t *error);

/* A kernel with probes: once, before any of its dispatches is. `*number`: from 1. OUT_OF_RANGE: its
 * name is larger than RECORD_MOST_NAME; INVALID_ARGUMENT: no such object, or more than
 * RECORD_MOST_*, or points that are not sorted or count what there is no counter for. */
RAWHAL_CHECKED rawhal_status_t record_writer_probe(record_writer_t *writer,
                                                   const record_probe_t *probe, uint64_t *number,
                                                   rawhal_error_t *error);

/* Which memory of a probed dispatch. */
typedef enum record_probe_part {
  RECORD_PROBE_BUFFER = 0, /* from its rawhal_probe_header_t on */
  RECORD_PROBE_EVENTS = 1, /* from its first event on */
} record_probe_part_t;

/* Gets `size` bytes of it, at most RECORD_PIECE, for a copy: the memory may be changed meanwhile.
 * Is called without a lock, from front to end, never beyond what the capacities say. */
typedef rawhal_status_t record_probe_read_fn(void *context, record_probe_part_t part,
                                             uint64_t offset, void *to, size_t size,
                                             rawhal_error_t *error);

typedef struct record_probe_memory {
  uint32_t wave_capacity, event_capacity; /* that it was made for: the header is not believed */
  record_probe_read_fn *read;
  void *context;
} record_probe_memory_t;

/* How many records there are in the file, and how many there were besides. */
typedef struct record_probe_written {
  uint32_t waves, events, lost_waves, lost_events;
} record_probe_written_t;

/* What a dispatch of a probed kernel left, when it has ended. Records that the file has no room for
 * are lost, the last ones first, as those that the memory had none for. `written` may be NULL. When
 * `read` fails, its status is returned, and what there is does not count for a reader.
 * OUT_OF_RANGE: more than RECORD_MOST_ALLOCATIONS; INVALID_ARGUMENT: no such dispatch, probe or
 * allocation. */
RAWHAL_CHECKED rawhal_status_t record_writer_probed(record_writer_t *writer,
                                                    const record_probed_t *probed,
                                                    const record_probe_memory_t *memory,
                                                    record_probe_written_t *written,
                                                    rawhal_error_t *error);

typedef struct record_writer_info {
  uint64_t bytes, objects, dispatches;
  record_end_t end; /* RECORD_UNFINISHED: it goes on */
} record_writer_info_t;

void record_writer_info(record_writer_t *writer, record_writer_info_t *info);

/* Ends the file and frees the writer, which may be NULL. Fails, and frees it, when what was written
 * may not be there, or the recording had ended before. */
RAWHAL_CHECKED rawhal_status_t record_writer_close(record_writer_t *writer, rawhal_error_t *error);

#endif
