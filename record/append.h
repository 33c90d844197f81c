/* Whole frames one after the other, and the end. Internal to this folder. */
#ifndef RAWHAL_RECORD_APPEND_H
#define RAWHAL_RECORD_APPEND_H

#include <pthread.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/list.h"
#include "base/own_file.h"
#include "record/format.h"
#include "record/kept.h"
#include "record/known.h"
#include "record/writer.h"

/* What has to be known of a probed kernel when a dispatch of it has ended. */
typedef struct append_probe {
  uint32_t counters, event_bytes;
} append_probe_t;

struct record_writer {
  pthread_mutex_t lock; /* of everything below */
  own_file_t file;
  pid_t process;
  uint64_t bound, buffer_bound, salt;
  uint64_t bytes; /* of whole frames: where the next one goes */
  uint64_t objects, dispatches, contents, pieces;
  list_t probes; /* append_probe_t */
  known_t *known;
  kept_t kept;
  record_end_t end;
  int code; /* errno that ended it */
  char path[256];
};

enum { MOST_PARTS = 5 };

/* Parts of a frame's payload; the first is the frame's own. */
typedef struct payload {
  struct iovec parts[MOST_PARTS];
  size_t count, size; /* parts, with the frame's; bytes, without it */
} payload_t;

payload_t payload_of(const void *bytes, size_t size);
void payload_add(payload_t *payload, const void *bytes, size_t size);

/* Takes the lock, unless this is not the process that may, or nothing is recorded any more. */
RAWHAL_CHECKED rawhal_status_t append_enter(record_writer_t *writer, rawhal_error_t *error);

/* With the lock held: a frame, or the end where there is no room for it. */
RAWHAL_CHECKED rawhal_status_t append_frame(record_writer_t *writer, format_type_t type,
                                            payload_t payload, rawhal_error_t *error);
RAWHAL_CHECKED rawhal_status_t append_piece(record_writer_t *writer, uint64_t content,
                                            uint64_t offset, const void *bytes, size_t size,
                                            rawhal_error_t *error);

/* The last word; its room is kept free below the bound. On a full disk there may be none. */
void append_end(record_writer_t *writer, record_end_t reason, int code);
/* What all calls answer from then on. */
RAWHAL_CHECKED rawhal_status_t append_ended(const record_writer_t *writer, rawhal_error_t *error);

/* Whole, or errno; beyond RLIMIT_FSIZE that is EFBIG. */
bool append_raw(const own_file_t *file, uint64_t offset, struct iovec *parts, size_t count);

#endif
