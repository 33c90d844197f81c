/* rawhal replay: what a core file has of a dispatch. Nothing in the file is trusted; no device is
 * needed. */
#ifndef TOOLS_REPLAY_CORE_H
#define TOOLS_REPLAY_CORE_H

#include "base/list.h"
#include "debug/core/core.h"
#include "debug/core/notes.h"
#include "debug/core/walk.h"
#include "tools/replay/replay.h"
#include "tools/shared/core_file.h"

enum { REPLAY_CORE_NOTES = 8 };

/* Zero-initialised; it refers to the file, which stays open. */
typedef struct replay_core {
  const core_file_t *file;
  replay_source_t source;
  replay_expected_t expected;
  /* What the debugger's lists have: walk_agent_t, walk_object_t, walk_queue_t. */
  list_t agents, objects, queues;
  bool starved;            /* there was no memory for all of it */
  uint64_t passed, cursor; /* dispatches of their note, and where the next one is */
  core_note_dispatch_t dispatch;
  const rawhal_kernel_t *kernel; /* of: */
  rawhal_hsaco_t *hsaco;
  void *object;   /* a copy of its bytes */
  void *kernargs; /* where they are not in the note */
  char device[64];
  list_t buffers; /* record_buffer_t */
  list_t states;  /* unsigned char */
  char said[REPLAY_CORE_NOTES][240];
} replay_core_t;

/* Fills it in; false, with `error`: the dispatch cannot be had. `wanted` is --kernel's, or NULL:
 * the one that failed. To be freed always. */
bool replay_core_read(const core_file_t *file, const char *wanted, replay_core_t *core,
                      rawhal_error_t *error);
void replay_core_free(replay_core_t *core);

__attribute__((format(printf, 2, 3))) void replay_core_say(replay_core_t *core, const char *format,
                                                           ...);

/* core_memory.c: the buffers, of which the kernel's object is known. */
bool replay_core_buffers(replay_core_t *core, rawhal_error_t *error);

#endif
