/* A dispatch that is being recorded: what it may reach, and what of that a replay will not have.
 * Internal.
 *
 * From its kernargs and the variables of its code object on: the memory that they lead to, and, one
 * level deep, what words in that lead to. (More is noted.) A declared pointer is certain; any other
 * word is taken for a pointer when it leads into memory that the program has at that moment. Who
 * records says what that memory is: the front of programs that were never changed, and librawhal of
 * what is launched by itself (hal/recorder.c).
 *
 *     capture        the memory
 *     capture_notes  what may be missing
 *
 * Thread-safety: each dispatch is one thread's at a time. */
#ifndef RAWHAL_RECORD_CAPTURE_H
#define RAWHAL_RECORD_CAPTURE_H

#include "kernarg/kernarg.h"
#include "record/scan.h"
#include "record/variables.h"
#include "record/writer.h"

enum {
  RECORD_CAPTURE_MOST_RANGES = 1024,
  RECORD_CAPTURE_MOST_NOTES = 64,
};

/* What is at an address. */
typedef enum record_memory {
  RECORD_MEMORY_NONE = 0,
  RECORD_MEMORY_PROGRAM,
  RECORD_MEMORY_SHARED,    /* which may be mapped elsewhere, too */
  RECORD_MEMORY_RUNTIME,   /* its own */
  RECORD_MEMORY_VARIABLES, /* of another code object */
  RECORD_MEMORY_CODE,      /* the rest of one */
  RECORD_MEMORY_OWN,       /* of the kernel's code object, wherever in it */
} record_memory_t;

typedef struct record_found {
  uint64_t base, size;
  uint64_t number; /* of the allocation; 0: it has none */
} record_found_t;

/* The program's memory, of which the context of a capture knows. */
typedef struct record_world {
  /* What is there, but for the kernel's own code object. `runtime`: also what came by other ways
   * than those that are known. A pointer may lead just past the end of what it is about. */
  record_memory_t (*find)(void *context, uint64_t address, bool runtime, record_found_t *found);
  /* Whether what began at the address, and had that number, is still there. */
  bool (*is_there)(void *context, uint64_t base, uint64_t number);
  bool (*read)(void *context, uint64_t address, void *to, size_t size);
} record_world_t;

/* How a range was found. */
typedef enum record_depth {
  RECORD_DEPTH_ROOT = 0,   /* a part of the code object */
  RECORD_DEPTH_DIRECT = 1, /* a kernarg or a variable leads to it */
  RECORD_DEPTH_WORD = 2,   /* a word in what one of those leads to */
} record_depth_t;

typedef struct record_fact {
  uint64_t number; /* of the allocation; 0: it has none */
  record_depth_t depth;
  /* What only arguments of the constant address space point to, no kernel may write, but the
   * program may, while it runs: it is not a result. Nor is the runtime's own memory. */
  bool constant;
} record_fact_t;

/* Zeros at first, but for what is set before anything is found. */
typedef struct record_capture {
  uint64_t dispatch; /* its number in the file */
  const rawhal_kernel_t *kernel;
  const rawhal_kernarg_layout_t *layout; /* NULL: what it takes is not known */
  const record_world_t *world;
  void *context;       /* of the world */
  uint64_t least, end; /* of all memory that there is; what lies just past it counts, too */
  /* ---- What was found ---- */
  record_place_t place;
  record_ranges_t list;
  record_fact_t *facts; /* of each range */
  size_t room;
  record_scan_t scan; /* of the range that is being read */
  size_t scanned;     /* its place */
  record_note_t notes[RECORD_CAPTURE_MOST_NOTES];
  size_t note_count, told; /* those that are written */
} record_capture_t;

/* The variables of the code object that is loaded there. Comes before the kernargs. `whole`: those
 * are all that it has. */
void record_capture_variables(record_capture_t *capture, const record_place_t *place,
                              const variables_t *variables, bool whole);
/* What the kernargs lead to; what words in that lead to is found when it is read. */
void record_capture_kernargs(record_capture_t *capture, rawhal_bytes_t kernargs);

/* Everything of before the dispatch: its place, its buffers, its notes. `report`: is given each
 * note that is new; NULL: nobody is. */
typedef void record_report_fn(void *context, const record_note_t *note);
RAWHAL_CHECKED rawhal_status_t record_capture_before(record_capture_t *capture,
                                                     record_writer_t *writer,
                                                     record_report_fn *report, void *context,
                                                     rawhal_error_t *error);
/* When it has ended: what it may have changed, and what is still there. `concurrent`: other
 * dispatches ran at the same time. */
RAWHAL_CHECKED rawhal_status_t record_capture_after(record_capture_t *capture,
                                                    record_writer_t *writer, bool concurrent,
                                                    record_report_fn *report, void *context,
                                                    rawhal_error_t *error);
void record_capture_free(record_capture_t *capture); /* what it has, not itself */

/* capture_notes.c: of kinds that are counted the first is kept, and how many there are. */
void record_capture_note(record_capture_t *capture, record_note_kind_t kind, uint64_t at,
                         uint64_t value);
/* Of others each. */
void record_capture_note_one(record_capture_t *capture, record_note_t note);
/* What the packet and the code say. `code`: of record_code_of(). */
void record_capture_note_packet(record_capture_t *capture, uint32_t group_bytes,
                                uint32_t private_bytes, uint32_t code);
/* Writes those that are new. */
RAWHAL_CHECKED rawhal_status_t record_capture_write_notes(record_capture_t *capture,
                                                          record_writer_t *writer,
                                                          record_report_fn *report, void *context,
                                                          rawhal_error_t *error);

#endif
