/* rawhal replay: a dispatch of a recording, or the one for which a core file was written, launched
 * once more. */
#ifndef TOOLS_REPLAY_REPLAY_H
#define TOOLS_REPLAY_REPLAY_H

#include <rawhal/rawhal.h>

#include "record/reader.h"

typedef struct replay_request {
  const char *path;
  rawhal_backend_t backend;
  uint32_t timeout_seconds;
  bool json, demangle;
} replay_request_t;

/* ---- What is launched: of either file ---- */

/* What was at an address of the recorded process. */
typedef enum replay_state {
  REPLAY_MEMORY = 0,  /* memory that the device could use */
  REPLAY_FOREIGN = 1, /* memory that it could not, as it is another's */
  REPLAY_NOTHING = 2, /* memory no more: no access must succeed */
} replay_state_t;

/* A fault to be held against the one that comes of it; NULL where a recording is replayed. */
typedef struct replay_expected {
  rawhal_fault_t fault;
  char chip[32];         /* "gfx90a": what softgpu has to be */
  uint64_t memory_bytes; /* of all buffers */
  bool has_foreign;
} replay_expected_t;

typedef struct replay_source {
  uint64_t number;            /* of the dispatch in the file */
  record_dispatch_t dispatch; /* its texts and segment are the source's */
  const unsigned char *object;
  size_t object_size;
  record_place_t place; /* where that was; of size 0: not known */
  record_buffers_t before;
  const unsigned char *states; /* replay_state_t of each buffer; NULL: all are REPLAY_MEMORY */
  record_notes_t notes;
  bool is_first_version;
  void *file;
  /* As record_reader_content(), but for what the file may lack: that is passed over. */
  rawhal_status_t (*content)(void *file, const record_content_t *content, record_take_fn *take,
                             void *context, rawhal_error_t *error);
  const replay_expected_t *expected;
  const char (*said)[240]; /* further notes, in words; said_count of them */
  size_t said_count;
} replay_source_t;

/* ---- The launch ---- */

/* A buffer as it was recorded before, and where it is now. */
typedef struct replay_buffer {
  const record_buffer_t *before;
  replay_state_t state;
  size_t index;            /* in the file */
  uint64_t now;            /* its address */
  rawhal_buffer_t *memory; /* also that of those that lay next to it; NULL: REPLAY_NOTHING */
  uint64_t skip;           /* where in that it begins */
  bool owned;              /* it is the first of those */
  void *reserved;          /* addresses with nothing, */
  size_t reserved_size;    /* or NULL */
  bool compared;
  bool named; /* by an argument: its number */
  size_t argument;
  char name[64]; /* of the argument, cut */
} replay_buffer_t;

enum { REPLAY_NOTES = 32, REPLAY_NOTE = 240 };

/* In what a fault is another one: a set of these. */
enum {
  REPLAY_OTHER_NONE = 1u << 0, /* there was none */
  REPLAY_OTHER_KIND = 1u << 1,
  REPLAY_OTHER_KERNEL = 1u << 2,
  REPLAY_OTHER_PC = 1u << 3,
  REPLAY_OTHER_ACCESS = 1u << 4,
  REPLAY_OTHER_ADDRESS = 1u << 5,
  REPLAY_OTHERS = 6,
};

/* Everything a replay holds; zero-initialised, released in one place. */
typedef struct replay {
  const replay_request_t *request;
  const replay_source_t *source;
  unsigned char *image; /* the kernarg segment, relocated */
  size_t image_size;
  replay_buffer_t *buffers; /* by recorded address */
  size_t buffer_count;
  uint64_t delta; /* from the object's own addresses to where it is now */

  rawhal_instance_t *instance;
  rawhal_device_t *device;
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
  bool faulted;
  rawhal_fault_t fault;
  uint32_t other;               /* a set of REPLAY_OTHER_* */
  const replay_buffer_t *there; /* whose neighbourhood the recorded fault's address is; or NULL */
  rawhal_error_t error;
} replay_t;

__attribute__((format(printf, 2, 3))) void replay_note(replay_t *replay, const char *format, ...);

/* ---- Each false when it cannot, with the error in the replay ---- */

/* load.c: device, code object and kernel. */
bool replay_load(replay_t *replay);

/* memory.c: the buffers as they were before. */
bool replay_fill(replay_t *replay);
/* relocate.c: the pointers to them. */
bool replay_relocate(replay_t *replay);
/* find.c: by recorded address, as many as there are. */
bool replay_sort(replay_t *replay);
/* The buffer in which a recorded address is, or after whose end it is; NULL: none. */
replay_buffer_t *replay_find(const replay_t *replay, uint64_t address);
/* Where a recorded address is now, in a buffer or in the code object. False: nowhere. */
bool replay_moved(const replay_t *replay, uint64_t address, uint64_t *now);
/* The buffer that an address is next to, near enough to be meant: NULL: none. */
replay_buffer_t *replay_near(const replay_t *replay, uint64_t address);
/* From the least of the addresses that are anywhere to the end of the last one. */
void replay_bounds(const replay_t *replay, uint64_t *least, uint64_t *end);

/* run.c */
bool replay_launch(replay_t *replay);
/* compare.c: what a recorded dispatch left. */
bool replay_compare(replay_t *replay, record_reader_t *reader);
/* fault.c: launches it, and holds the fault against the one that is expected. */
bool replay_fault(replay_t *replay);

/* ---- Which dispatch ---- */

/* Of `count` dispatches, which are numbered from 1, the one that is wanted: by number, or the first
 * of a kernel of that name. False, with `error`: there is none, or its name cannot be read. */
typedef bool replay_name_fn(void *file, uint64_t number, rawhal_string_t *name,
                            rawhal_error_t *error);
bool replay_choose(void *file, replay_name_fn *name_of, uint64_t count, const char *wanted,
                   uint64_t *number, rawhal_error_t *error);

/* recording.c, core.c: the exit status. `wanted` is --kernel's, or NULL. */
int replay_recording(const replay_request_t *request, const char *wanted, bool list);
int replay_core(const replay_request_t *request, const char *wanted);
/* Launches what was found in a file, reports, and releases; `reader` is NULL of a core file. */
int replay_source(const replay_request_t *request, const replay_source_t *source,
                  record_reader_t *reader);
/* Before there is anything to report on. */
int replay_cannot(const replay_request_t *request, bool list, const rawhal_error_t *error);

/* ---- What is printed ---- */

/* Of a recording without notes. */
extern const char replay_first_version[];

/* list.c; false: the recording cannot be read any more. */
bool replay_list(record_reader_t *reader, const replay_request_t *request, rawhal_error_t *error);

/* report.c: of a whole replay, or of one that failed. */
void replay_report(const replay_t *replay, bool done);

#endif
