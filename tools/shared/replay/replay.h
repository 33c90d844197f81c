/* A dispatch of a file, launched: the memory that it had, elsewhere, with the pointers in it. For
 * verbs that launch what was recorded. */
#ifndef TOOLS_SHARED_REPLAY_REPLAY_H
#define TOOLS_SHARED_REPLAY_REPLAY_H

#include <rawhal/rawhal.h>

#include "record/reader.h"

/* Going back: tools/replay/past.h. */
typedef struct replay_back {
  uint64_t order; /* softgpu's option; 0: none */
  const char *stop_at, *last_write, *core;
} replay_back_t;

typedef struct replay_past replay_past_t;

typedef struct replay_request {
  const char *path;
  replay_back_t back;
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
  rawhal_log_fn *log;   /* of its instance, or NULL */
  replay_past_t *past;  /* NULL: it is in no order */
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
  rawhal_ticket_t ticket; /* of the last launch */
  bool filled;            /* the memory had its contents once */

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

/* All up to the launch: its device, code object and kernel, its memory as it was before, and its
 * arguments. To be released in any case. */
bool replay_prepare(replay_t *replay);
/* The memory as it was before, once more. */
bool replay_refill(replay_t *replay);
void replay_release(replay_t *replay);
/* What both replays have of one code object, and the first needs no more: its device, and what is
 * loaded there. Before replay_prepare() of the second. */
void replay_hand_over(replay_t *from, replay_t *to);

/* run.c: launches the kernel with its arguments. The queue stays until the replay is released, or
 * until the next launch. */
bool replay_launch(replay_t *replay);
/* Likewise of another kernel, which is on the device, with a kernarg segment of its own. */
bool replay_launch_other(replay_t *replay, const rawhal_device_kernel_t *kernel, const void *image,
                         size_t image_size);
/* Instructions that waves of the last launch ran. False: the device does not count them. */
bool replay_instructions(replay_t *replay, uint64_t *instructions);

/* load.c: device, code object and kernel, but for those that it has. */
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

/* ---- From a recording ---- */

/* A dispatch that is taken out of one, whose reader has texts until its next call only. */
typedef struct replay_taken {
  replay_source_t source; /* without its object's bytes */
  char *texts;            /* device, kernel, segment */
} replay_taken_t;

/* recording.c: false, with `error`. To be freed in any case. */
bool replay_take(record_reader_t *reader, uint64_t number, replay_taken_t *taken,
                 rawhal_error_t *error);
void replay_taken_free(replay_taken_t *taken);
/* The bytes of a code object, to be freed by the caller; NULL, with `error`. */
unsigned char *replay_take_object(record_reader_t *reader, uint64_t number, size_t *size,
                                  rawhal_error_t *error);

/* Of a recording without notes. */
extern const char replay_first_version[];

#endif
