/* rawhal replay: a dispatch of a recording, launched once more. */
#ifndef TOOLS_REPLAY_REPLAY_H
#define TOOLS_REPLAY_REPLAY_H

#include <rawhal/rawhal.h>

#include "record/reader.h"

typedef struct replay_request {
  const char *path;
  uint64_t number; /* of the dispatch */
  rawhal_backend_t backend;
  uint32_t timeout_seconds;
  bool json, demangle;
} replay_request_t;

/* A buffer as it was recorded before, and where it is now. */
typedef struct replay_buffer {
  const record_buffer_t *before;
  size_t index;            /* in the recording */
  rawhal_buffer_t *memory; /* also that of those that lay next to it */
  uint64_t skip;           /* where in that it begins */
  bool owned;              /* it is the first of those */
  bool compared;
  bool named; /* by an argument: its number */
  size_t argument;
  char name[64]; /* of the argument, cut */
} replay_buffer_t;

enum { REPLAY_NOTES = 32, REPLAY_NOTE = 240 };

/* Everything a replay holds; zero-initialised, released in one place. */
typedef struct replay {
  const replay_request_t *request;
  record_reader_t *reader;
  unsigned char *image; /* the kernarg segment, relocated */
  size_t image_size;
  char *kernel_name;
  record_dispatch_t recorded; /* without the reader's texts: kernel and segment are the two above */
  replay_buffer_t *buffers;   /* by recorded address */
  size_t buffer_count;
  record_place_t place; /* where its code object was; of size 0: not known */
  uint64_t delta;       /* from the object's own addresses to where it is now */

  rawhal_instance_t *instance;
  rawhal_device_t *device;
  unsigned char *object;
  rawhal_hsaco_t *hsaco;
  rawhal_executable_t *executable;
  const rawhal_device_kernel_t *kernel;
  rawhal_queue_t *queue;

  /* What came of it. */
  char notes[REPLAY_NOTES][REPLAY_NOTE]; /* what could not be as it was */
  size_t note_count;                     /* may be more */
  uint64_t compared, different;          /* bytes */
  const replay_buffer_t *first;          /* that has a byte which differs; NULL: none */
  uint64_t offset;                       /* of that byte */
  unsigned char expected, got;
  rawhal_error_t error;
} replay_t;

__attribute__((format(printf, 2, 3))) void replay_note(replay_t *replay, const char *format, ...);

/* ---- Each false when it cannot, with the error in the replay ---- */

/* load.c: device, code object and kernel. */
bool replay_load(replay_t *replay);

/* memory.c: the buffers as they were before, and the pointers to them. */
bool replay_fill(replay_t *replay);
bool replay_relocate(replay_t *replay);
/* find.c: by recorded address, as many as there are. */
bool replay_sort(replay_t *replay, const record_buffers_t *before);
/* The buffer in which a recorded address is, or after whose end it is; NULL: none. */
replay_buffer_t *replay_find(const replay_t *replay, uint64_t address);
/* Where a recorded address is now, in a buffer or in the code object. False: nowhere. */
bool replay_moved(const replay_t *replay, uint64_t address, uint64_t *now);
/* From the least of the addresses that are anywhere to the end of the last one. */
void replay_bounds(const replay_t *replay, uint64_t *least, uint64_t *end);

/* run.c */
bool replay_launch(replay_t *replay);
bool replay_compare(replay_t *replay);

/* ---- What is printed ---- */

/* Of a recording without notes. */
extern const char replay_first_version[];

/* list.c; false: the recording cannot be read any more. */
bool replay_list(record_reader_t *reader, const replay_request_t *request, rawhal_error_t *error);

/* report.c: of a whole replay, or of one that failed. */
void replay_report(const replay_t *replay, bool done);

#endif
