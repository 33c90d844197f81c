/* What became of replacements that were tried, in a folder that processes share: one file for each.
 * Internal.
 *
 *     tried      its first dispatch is on its way, for the Nth time
 *     accepted   one has ended
 *     refused    it does not take what the original takes, or could not be loaded
 *
 * A process that tries one records that before, and "accepted" after: one that was tried
 * OUTCOME_TRIES times and never ended is not tried again. What was accepted stays so.
 *
 * A file is written under another name and renamed, by one process at a time; a process that is
 * killed meanwhile leaves what was there before. What is damaged, or is about something else,
 * counts as absent.
 *
 * Thread-safety: everything may be called from any thread and process. */
#ifndef RAWHAL_FRONT_OUTCOMES_H
#define RAWHAL_FRONT_OUTCOMES_H

#include "base/status.h"
#include "hsaco/hsaco.h"

enum { OUTCOME_TRIES = 5, OUTCOME_REASON = 256, OUTCOME_ABOUT = 1024 };

typedef enum outcome_kind {
  OUTCOME_NONE = 0,
  OUTCOME_TRIED = 1,
  OUTCOME_ACCEPTED = 2,
  OUTCOME_REFUSED = 3,
} outcome_kind_t;

typedef struct outcome {
  outcome_kind_t kind;
  uint32_t tries;
  char reason[OUTCOME_REASON]; /* of a refusal */
} outcome_t;

/* `about`: all that an outcome depends on, as one line. */
typedef struct outcome_key {
  char about[OUTCOME_ABOUT];
} outcome_key_t;

/* The folder is made if its parent is there. INVALID_ARGUMENT: it cannot be used. */
RAWHAL_CHECKED rawhal_status_t outcomes_open(const char *folder, rawhal_error_t *error);
void outcomes_close(void);

/* Without a folder nothing is remembered, and these do nothing. */
void outcomes_find(const outcome_key_t *key, outcome_t *outcome);
/* UNSUPPORTED: it was refused, or tried too often, and why. */
RAWHAL_CHECKED rawhal_status_t outcomes_check(const outcome_key_t *key, rawhal_error_t *error);
/* None of them waits. One more try. */
void outcomes_try(const outcome_key_t *key);
/* False: another process is writing its file; call again. */
bool outcomes_accept(const outcome_key_t *key);
void outcomes_refuse(const outcome_key_t *key, const char *reason);

#endif
