#include "probe/verify_lend.h"

#include "probe/stub.h"

#include <string.h>

lent_t lend_begin(bool is_entry)
{
  return (lent_t){.vgpr = LENT_NONE,
                  .to = LENT_NONE,
                  .waits = !is_entry,
                  .passed = is_entry ? STUB_SETTLED : 0};
}

/* Nothing is lent, and its value is nowhere else. */
static void lend_end(lent_t *lent)
{
  lent->vgpr = LENT_NONE;
  lent->to = LENT_NONE;
}

static uint8_t larger(uint8_t a, uint8_t b)
{
  return a > b ? a : b;
}

void lend_merge(lent_t *to, const lent_t *from)
{
  if (to->vgpr != from->vgpr || to->to != from->to)
    to->vgpr = LENT_UNKNOWN;
  to->returns |= from->returns;
  to->waits |= from->waits;
  to->needed = larger(to->needed, from->needed);
  if (from->passed < to->passed)
    to->passed = from->passed;
}

void lend_step(const code_t *code, lent_t *lent)
{
  const bool is_nop = state_is(code, EMIT_s_nop);
  const uint32_t states = 1 + (is_nop ? code_field(code->dword[0], 0, 4) : 0);
  lent->passed =
      (uint8_t)(lent->passed + states < STUB_SETTLED ? lent->passed + states : STUB_SETTLED);
  if (state_is(code, EMIT_v_accvgpr_read_b32))
    lent->needed = STUB_RETURNED;
  else
    lent->needed = (uint8_t)(lent->needed > states ? lent->needed - states : 0);
  if (!state_is(code, EMIT_s_waitcnt) || code->dword[0] & EMIT_VECTOR_COUNT)
    return;
  lent->waits = false;
  if (lent->returns)
    lend_end(lent);
  lent->returns = false;
}

bool lend_is_done(judge_t *judge, const lent_t *lent)
{
  if (lent->vgpr != LENT_NONE)
    return state_refuse(judge, "comes before a VGPR that is lent has its value again");
  return !lent->needed || state_refuse(judge, "comes too soon after a VGPR has its value again");
}

bool lend_takes(judge_t *judge, state_t *state, uint32_t vgpr, uint32_t to)
{
  lent_t *lent = &state->lent;
  if (state->exec != VALUE_ITS_OWN || lent->vgpr != LENT_NONE || vgpr == state->lanes_vgpr ||
      vgpr >= judge->owned->vgprs_end)
    return state_refuse(judge, "takes a VGPR beside another, or with other lanes");
  if (lent->waits || state->waits || lent->passed < STUB_SETTLED)
    return state_refuse(judge, "takes a VGPR before all that comes into it is there");
  lent->vgpr = (uint16_t)vgpr;
  lent->to = (uint16_t)to;
  if (to != LENT_TO_SCRATCH)
    return true;
  memset(state->scratch, VALUE_OTHER, sizeof(state->scratch));
  judge->lasting.changed_scratch = true;
  return true;
}

bool lend_returns(judge_t *judge, state_t *state, uint32_t vgpr, uint32_t from)
{
  lent_t *lent = &state->lent;
  if (state->exec != VALUE_ITS_OWN || lent->vgpr != vgpr || lent->to != from || lent->returns)
    return state_refuse(judge, "gives back what is not lent, or not what it was");
  if (from == LENT_TO_SCRATCH)
    lent->returns = true;
  else
    lend_end(lent);
  return true;
}

bool lend_writes(judge_t *judge, const state_t *state)
{
  return (state->exec == VALUE_ITS_OWN && !state->lent.returns) ||
         state_refuse(judge, "changes a VGPR that is lent in other lanes, or on its way back");
}

bool lend_is_stored(judge_t *judge, const lent_t *lent, uint32_t offsets, uint32_t data,
                    uint32_t count)
{
  if (lent->vgpr >= data && lent->vgpr < data + count)
    return state_refuse(judge, "stores a VGPR that is lent");
  return lent->vgpr != offsets || !lent->returns ||
         state_refuse(judge, "uses a VGPR that is on its way back");
}
