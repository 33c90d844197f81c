/* A VGPR of the kernel's between two of its instructions: its value is elsewhere, and comes back.
 * Internal to this folder.
 *
 * The same lanes are active when it goes and when it comes, and no others are changed meanwhile:
 * EXEC is the kernel's. */
#ifndef RAWHAL_PROBE_VERIFY_LEND_H
#define RAWHAL_PROBE_VERIFY_LEND_H

#include "probe/verify_state.h"

lent_t lend_begin(bool is_entry);
void lend_merge(lent_t *to, const lent_t *from);
/* What an instruction, which has been judged, makes of what is waited for. */
void lend_step(const code_t *code, lent_t *lent);
/* Nothing is lent, and the kernel's next instruction may use what was. */
bool lend_is_done(judge_t *judge, const lent_t *lent);

/* Its value goes to an AGPR, or to scratch memory; and comes from there. */
bool lend_takes(judge_t *judge, state_t *state, uint32_t vgpr, uint32_t to);
bool lend_returns(judge_t *judge, state_t *state, uint32_t vgpr, uint32_t from);

static inline bool lend_has(const lent_t *lent, uint32_t vgpr)
{
  return lent->vgpr == vgpr;
}
/* Active lanes of the one that is lent. */
bool lend_writes(judge_t *judge, const state_t *state);
/* An event is stored from it, but is not what is in it. */
bool lend_is_stored(judge_t *judge, const lent_t *lent, uint32_t offsets, uint32_t data,
                    uint32_t count);

#endif
