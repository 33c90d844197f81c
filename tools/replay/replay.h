/* rawhal replay: a dispatch of a recording, or the one for which a core file was written, launched
 * once more. */
#ifndef TOOLS_REPLAY_REPLAY_H
#define TOOLS_REPLAY_REPLAY_H

#include "tools/shared/replay/replay.h"

/* ---- What came of it; each false when it cannot be told, with the error in the replay ---- */

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
/* past.c: the same, to a moment or a write. */
int replay_go_back(const replay_request_t *request, const replay_source_t *source);
/* Before there is anything to report on. */
int replay_cannot(const replay_request_t *request, bool list, const rawhal_error_t *error);

/* ---- What is printed ---- */

/* list.c; false: the recording cannot be read any more. */
bool replay_list(record_reader_t *reader, const replay_request_t *request, rawhal_error_t *error);

/* report.c: of a whole replay, or of one that failed. */
void replay_report(const replay_t *replay, bool done);

#endif
