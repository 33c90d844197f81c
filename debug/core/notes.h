/* Notes of owner "RAWHAL" in a core file: what happened, in rawhal's words. All have one form, a
 * head and records, so that one reader has them all, of other versions as well. Internal to who
 * writes core files and who shows them.
 *
 * On disk, little endian, each a multiple of 8 bytes:
 *   head    u32 version (1), u32 records, u32 records that found no room, u32 0
 *   record  u32 type (core_record_type_t), u32 bytes of all of it, then its fields in the order of
 *           the structures below: a number is 8 bytes (a signed one as two's complement), text and
 *           bytes are 8 bytes of size and then so many, padded with zeros
 * Fields are only ever added behind the last: a reader takes those that it knows, and zeros for
 * those that are missing. It passes over records whose type it does not know. */
#ifndef RAWHAL_DEBUG_CORE_NOTES_H
#define RAWHAL_DEBUG_CORE_NOTES_H

#include "base/types.h"
#include "debug/events.h"

typedef enum core_record_type {
  CORE_RECORD_PROCESS = 1,
  CORE_RECORD_MODULE = 2,
  CORE_RECORD_DISPATCH = 3,
  CORE_RECORD_ALLOCATION = 4,
  CORE_RECORD_FAULT = 5, /* rawhal_fault_t without its causes, which follow it: */
  CORE_RECORD_CAUSE = 6, /* rawhal_cause_t */
  CORE_RECORD_LIMITS = 7,
  CORE_RECORD_LEFT_OUT = 8, /* core_left_out_t (format.h), then of what is listed: */
  CORE_RECORD_LEFT_OUT_ENTRY = 9,
  CORE_RECORD_WATCH = 10,  /* of the events that follow, up to the next of these */
  CORE_RECORD_EVENTS = 64, /* and a rawhal_event_type_t: rawhal_event_t, as far as it has members */
  CORE_RECORD_TYPES = CORE_RECORD_EVENTS + RAWHAL_EVENT_TYPES,
} core_record_type_t;

/* Strings and bytes are the caller's when they are written, the note's when they are read. Times
 * are of CLOCK_MONOTONIC, in ns; 0: not known, or not yet. */

typedef struct core_note_process {
  int64_t id;
  int64_t written; /* seconds since 1970 */
  uint64_t now;    /* the same moment in ns, to which other times refer */
  rawhal_string_t program, arguments, host;
  rawhal_string_t versions; /* "rawhal 0.36, ROCr 1.14" */
  rawhal_string_t omitted;  /* threads without registers and other things in words, or empty */
} core_note_process_t;

/* A code object. */
typedef struct core_note_module {
  uint64_t delta, image, image_bytes; /* where it is loaded */
  rawhal_string_t name;               /* of its file, or whatever it is known by */
} core_note_module_t;

typedef enum core_outcome {
  CORE_OUTCOME_UNKNOWN = 0,
  CORE_OUTCOME_WAITING = 1, /* submitted: the packet processor has not come to it */
  CORE_OUTCOME_RUNNING = 2,
  CORE_OUTCOME_DONE = 3,
  CORE_OUTCOME_FAILED = 4,
  CORE_OUTCOMES,
} core_outcome_t;

typedef struct core_note_dispatch {
  uint64_t queue, ticket, packet; /* id of the queue; submission; index of the packet in it */
  uint32_t index;                 /* in its submission */
  uint32_t outcome;               /* core_outcome_t */
  uint64_t submitted, finished;
  uint64_t kernel_object, kernarg;
  rawhal_string_t kernel, label;
  rawhal_bytes_t packet_bytes, kernarg_bytes; /* may be empty */
  rawhal_string_t queue_label;
} core_note_dispatch_t;

typedef enum core_allocation_state {
  CORE_ALLOCATION_UNKNOWN = 0,
  CORE_ALLOCATION_LIVE = 1,
  CORE_ALLOCATION_FREED = 2,
  CORE_ALLOCATION_FOREIGN = 3, /* it lives, but the device has no access */
  CORE_ALLOCATION_STATES,
} core_allocation_state_t;

typedef struct core_note_allocation {
  uint64_t base, size, number; /* device address; bytes as asked for; in the order of making */
  uint32_t state;              /* core_allocation_state_t */
  bool read_only;
  uint64_t made, freed;
  rawhal_string_t label;
} core_note_allocation_t;

typedef struct core_note_limits {
  rawhal_string_t text; /* lines, as the limiter has them */
} core_note_limits_t;

/* What is written and read for a CORE_RECORD_LEFT_OUT and its entries. */
typedef struct core_left_out {
  uint64_t ranges, bytes; /* all; the first CORE_MOST_LISTED are listed */
} core_left_out_t;
typedef struct core_left_out_entry {
  uint64_t address, size;
  uint32_t kind, reason; /* core_class_t, core_reason_t */
} core_left_out_entry_t;

/* Of events that somebody has watched. */
typedef struct core_note_watch {
  uint64_t door;   /* door_kind_t: which of the process's tells them */
  uint64_t opened; /* the time when that was opened */
  uint64_t lost;   /* so many were, in front of them */
  bool exists;     /* they are of what there was when watching began, not of what happened then */
} core_note_watch_t;

/* ---- Writing: into the caller's bytes; nothing is allocated ---- */

typedef struct core_notes {
  unsigned char *bytes;
  size_t size, used;
} core_notes_t;

/* `bytes` may be anywhere. */
void core_notes_begin(core_notes_t *notes, void *bytes, size_t size);
/* Adds the structure of that type. False: no room; it is counted. */
bool core_notes_put(core_notes_t *notes, core_record_type_t type, const void *record);
/* A fault and its causes; all or nothing. */
bool core_notes_put_fault(core_notes_t *notes, const rawhal_fault_t *fault);
/* The note's contents; empty where not even the head had room. */
rawhal_bytes_t core_notes_end(const core_notes_t *notes);

enum { CORE_NOTES_HEAD = 16 }; /* bytes; a record's: records.h */

/* ---- Reading: any bytes, which may lie ---- */

typedef struct core_record {
  core_record_type_t type;
  union {
    core_note_process_t process;
    core_note_module_t module;
    core_note_dispatch_t dispatch;
    core_note_allocation_t allocation;
    rawhal_fault_t fault;
    rawhal_cause_t cause;
    core_note_limits_t limits;
    core_left_out_t left_out;
    core_left_out_entry_t entry;
    core_note_watch_t watch;
    rawhal_event_t event; /* without `fault` */
  } as;
} core_record_t;

/* The next record of a known type behind `*cursor`, which begins as 0. False: there are no more. A
 * fault has no causes: those are the records that follow. */
bool core_notes_next(rawhal_bytes_t note, uint64_t *cursor, core_record_t *record);
/* The first fault of a note with its causes. False: there is none. */
bool core_notes_fault(rawhal_bytes_t note, rawhal_fault_t *fault);
/* How many records found no room when it was written. */
uint32_t core_notes_dropped(rawhal_bytes_t note);

#endif
