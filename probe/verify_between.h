/* What runs between two of a kernel's instructions, judged. Internal to this folder. */
#ifndef RAWHAL_PROBE_VERIFY_BETWEEN_H
#define RAWHAL_PROBE_VERIFY_BETWEEN_H

#include "probe/verify_state.h"

enum { STRETCH_MOST_SKIPS = 4 }; /* that are open at a time */

/* Instructions of the probed kernel, from the one at which they are entered. What is wrong with the
 * one that `at` is, or with going on to it, is in `judge.text`. */
typedef struct stretch {
  const walk_t *walk;
  uint32_t at; /* number of the next */
  judge_t judge;
  state_t state; /* before that */
  struct skip {
    uint32_t to;
    state_t state;
  } skips[STRETCH_MOST_SKIPS];
  uint32_t skip_count;
} stretch_t;

/* `mode`: code_mode() that it is entered in. */
stretch_t stretch_begin(const walk_t *walk, uint32_t first, between_t where, uint8_t mode,
                        const owned_t *owned, const lasting_t *lasting);

/* One instruction more belongs to it. False: it cannot, nor can any behind it. */
bool stretch_step(stretch_t *stretch);

/* True: it goes on to instruction number `at`, there all that is the kernel's is as it was, SCC if
 * that is needed, and what lasts is, too, and no memory is written but that of the argument;
 * `*lasting` has what that adds. */
bool stretch_ends(stretch_t *stretch, bool needs_scc, lasting_t *lasting);

#endif
