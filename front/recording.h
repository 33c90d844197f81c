/* A dispatch that is being recorded: what it may reach, and what of that a replay will not have.
 * Internal to the recorder.
 *
 * From its kernargs and the variables of its code object on: the memory that they lead to, and, one
 * level deep, what words in that lead to. (More is noted.) A declared pointer is certain; any other
 * word is taken for a pointer when it leads into memory that the program has at that moment.
 *
 *     recorder        the file, and each dispatch
 *     recorder_find   the memory
 *     recorder_notes  what may be missing
 *
 * Thread-safety: each dispatch is one thread's at a time. */
#ifndef RAWHAL_FRONT_RECORDING_H
#define RAWHAL_FRONT_RECORDING_H

#include "front/kernargs.h"
#include "front/recorder.h"
#include "record/scan.h"
#include "record/writer.h"

enum {
  RECORDING_MOST_RANGES = 1024,
  RECORDING_MOST_NOTES = 64,
};

/* How a range was found. */
typedef enum recording_depth {
  DEPTH_ROOT = 0,   /* a part of the code object */
  DEPTH_DIRECT = 1, /* a kernarg or a variable leads to it */
  DEPTH_WORD = 2,   /* a word in what one of those leads to */
} recording_depth_t;

typedef struct recording_fact {
  uint64_t number; /* of the allocation; 0: it has none */
  recording_depth_t depth;
  /* What only arguments of the constant address space point to, no kernel may write, but the
   * program may, while it runs: it is not a result. Nor is the runtime's own memory. */
  bool constant;
} recording_fact_t;

struct recorder_capture {
  uint64_t dispatch;
  const front_kernel_t *kernel;
  uint64_t others; /* dispatches that had begun when this one did */
  bool beside;     /* some of them had not ended */
  record_place_t place;
  record_ranges_t list;
  recording_fact_t *facts; /* of each range */
  size_t room;
  uint64_t least, end; /* of all memory that there is, when it was looked for */
  record_scan_t scan;  /* of the range that is being read */
  size_t scanned;      /* its place */
  record_note_t notes[RECORDING_MOST_NOTES];
  size_t note_count, told; /* those that are written */
};

/* recorder_find.c: what the kernargs and the variables lead to; what words in that lead to is found
 * when it is read. */
void recording_find(recorder_capture_t *recording, const hsa_kernel_dispatch_packet_t *packet,
                    const kernargs_t *kernargs);
/* kernargs_take(), also of kernargs in a device's memory. */
void recording_take_kernargs(kernargs_t *kernargs, const front_kernel_t *kernel,
                             const hsa_kernel_dispatch_packet_t *packet);
/* A record_read_fn of the ranges before the dispatch, and of what is left of them after it. The
 * context is the recording. */
rawhal_status_t recording_read_before(void *recording, const record_range_t *range, uint64_t offset,
                                      void *to, size_t size, rawhal_error_t *error);
rawhal_status_t recording_read_after(void *recording, const record_range_t *range, uint64_t offset,
                                     void *to, size_t size, rawhal_error_t *error);
/* Leaves of the ranges those that a dispatch may have changed, and that are still there. */
void recording_keep_results(recorder_capture_t *recording);

/* recorder_notes.c: of kinds that are counted the first is kept, and how many there are. */
void recording_note(recorder_capture_t *recording, record_note_kind_t kind, uint64_t at,
                    uint64_t value);
/* Of others each. */
void recording_note_one(recorder_capture_t *recording, record_note_t note);
/* What the packet and the code say. */
void recording_note_packet(recorder_capture_t *recording,
                           const hsa_kernel_dispatch_packet_t *packet);
/* Writes those that are new, and tells of each kind of each kernel once. */
RAWHAL_CHECKED rawhal_status_t recording_write_notes(recorder_capture_t *recording,
                                                     record_writer_t *writer,
                                                     rawhal_error_t *error);

#endif
