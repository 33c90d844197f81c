/* The file of records. Internal to this folder. Thread-safety: everything may be called from any
 * thread. */
#ifndef RAWHAL_FRONT_PROBE_FILE_H
#define RAWHAL_FRONT_PROBE_FILE_H

#include "front/probe/probed.h"

/* Fails as record_writer_create_new(), and INVALID_ARGUMENT for RAWHAL_PROBE_BYTES. */
RAWHAL_CHECKED rawhal_status_t probe_file_open(const char *path, rawhal_error_t *error);
RAWHAL_CHECKED rawhal_status_t probe_file_check(const char *path, rawhal_error_t *error);
/* What the rule's dispatches go to takes nothing any more, as when it is full. */
bool probe_file_has_ended(const probe_rule_t *rule);
/* Of a dispatch that has ended, all that it has recorded; an engine's go to the trace. */
void probe_file_write(probe_run_t *run);
void probe_file_close(void);
void probe_file_abandon(void);

#endif
