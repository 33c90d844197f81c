#include "probe/verify_between.h"

#include "probe/verify_lend.h"

/* ---- Where two ways come together ---- */

static void merge_byte(uint8_t *to, uint8_t from)
{
  if (*to != from)
    *to = VALUE_OTHER;
}

static void add(sgpr_set_t *to, const sgpr_set_t *from)
{
  to->bits[0] |= from->bits[0];
  to->bits[1] |= from->bits[1];
}

static void merge(state_t *to, const state_t *from)
{
  if (!to->reached) {
    *to = *from;
    to->reached = true;
    return;
  }
  for (unsigned i = 0; i < sizeof(to->sgprs); ++i)
    merge_byte(&to->sgprs[i], from->sgprs[i]);
  for (unsigned i = 0; i < sizeof(to->lanes); ++i) {
    merge_byte(&to->lanes[i],
               to->lanes_vgpr == from->lanes_vgpr ? from->lanes[i] : (uint8_t)VALUE_OTHER);
    merge_byte(&to->scratch[i], from->scratch[i]);
  }
  merge_byte(&to->scc, from->scc);
  merge_byte(&to->exec, from->exec);
  to->mode |= from->mode;
  to->skips_nothing |= from->skips_nothing;
  to->wave_inside &= from->wave_inside;
  to->waits |= from->waits;
  to->fills |= from->fills;
  add(&to->loaded, &from->loaded);
  add(&to->read, &from->read);
  lend_merge(&to->lent, &from->lent);
}

/* ---- Both ends of a stretch ---- */

/* What the kernel is given, or has, is its own, and may be what its scalar memory is still at. */
static state_t begin(const judge_t *judge, uint8_t mode)
{
  const bool is_entry = state_is_entry(judge);
  state_t state = {.reached = true,
                   .mode = mode,
                   .waits = !is_entry,
                   .lanes_vgpr = judge->lasting.lanes_vgpr,
                   .lent = lend_begin(is_entry)};
  for (uint32_t i = 0; i < CODE_SGPRS; ++i)
    if (is_entry)
      state.sgprs[i] = i < judge->owned->initial_sgprs ? VALUE_ITS_OWN : VALUE_OTHER;
    else
      state.sgprs[i] =
          code_set_has(&judge->owned->sgprs, i) ? (uint8_t)VALUE_ITS_OWN : judge->lasting.sgprs[i];
  for (uint32_t i = 0; i < sizeof(state.lanes); ++i) {
    state.lanes[i] = is_entry ? (uint8_t)VALUE_OTHER : judge->lasting.lanes[i];
    state.scratch[i] = is_entry ? (uint8_t)VALUE_OTHER : judge->lasting.scratch[i];
  }
  if (!is_entry)
    state.read = judge->lasting.read;
  return state;
}

static uint8_t lasts(uint8_t value)
{
  return (value >= VALUE_ARGUMENT && value <= VALUE_RESOURCE) || value == VALUE_ZERO ||
                 value == VALUE_ONE
             ? value
             : (uint8_t)VALUE_OTHER;
}

/* The entry makes what lasts. */
static bool is_entered(judge_t *judge, const state_t *state)
{
  lasting_t *lasting = &judge->lasting;
  for (uint32_t i = 0; i < judge->owned->initial_sgprs; ++i)
    if (state->sgprs[i] != VALUE_ITS_OWN)
      return state_refuse(judge, "comes after a change of an SGPR of the kernel's");
  for (uint32_t i = 0; i < CODE_SGPRS; ++i)
    lasting->sgprs[i] =
        code_set_has(&judge->owned->sgprs, i) || lasting->changed.bits[i / 64] >> (i % 64) & 1
            ? (uint8_t)VALUE_OTHER
            : lasts(state->sgprs[i]);
  /* A VGPR of the kernel's only lasts in scratch memory. */
  const bool is_kept = !code_set_has(&judge->owned->vgprs, state->lanes_vgpr);
  lasting->lanes_vgpr = is_kept ? state->lanes_vgpr : UINT32_MAX;
  for (uint32_t i = 0; i < sizeof(lasting->lanes); ++i) {
    lasting->lanes[i] =
        !is_kept || lasting->changed_lanes >> i & 1 ? (uint8_t)VALUE_OTHER : lasts(state->lanes[i]);
    lasting->scratch[i] =
        lasting->changed_scratch ? (uint8_t)VALUE_OTHER : lasts(state->scratch[i]);
  }
  return true;
}

/* In between all is as it was; what is not, and not the kernel's, does not last. */
static bool is_as_before(judge_t *judge, const state_t *state, bool needs_scc)
{
  lasting_t *lasting = &judge->lasting;
  for (uint32_t i = 0; i < CODE_SGPRS; ++i) {
    const bool is_own = code_set_has(&judge->owned->sgprs, i);
    if (is_own && state->sgprs[i] != VALUE_ITS_OWN)
      return state_refuse(judge, "comes after a change of an SGPR of the kernel's");
    if (!is_own && lasting->sgprs[i] != VALUE_OTHER && lasting->sgprs[i] != state->sgprs[i])
      lasting->changed.bits[i / 64] |= UINT64_C(1) << (i % 64);
  }
  for (uint32_t i = 0; i < sizeof(lasting->lanes); ++i)
    if (lasting->lanes[i] != VALUE_OTHER && lasting->lanes[i] != state->lanes[i])
      lasting->changed_lanes |= UINT64_C(1) << i;
  return !needs_scc || state->scc == VALUE_ITS_OWN ||
         state_refuse(judge, "comes after a change of SCC");
}

/* Nothing comes later into what is the kernel's, nor is read there; nor comes into anything. */
static bool is_done(judge_t *judge, const state_t *state)
{
  if (state->loaded.bits[0] | state->loaded.bits[1])
    return state_refuse(judge, "comes before what is loaded");
  for (uint32_t i = 0; i < CODE_SGPRS; ++i)
    if (code_set_has(&judge->owned->sgprs, i) && state->read.bits[i / 64] >> (i % 64) & 1)
      return state_refuse(judge, "comes before an SGPR of the kernel's is stored");
  add(&judge->lasting.read, &state->read);
  return true;
}

static bool is_whole(judge_t *judge, const state_t *state, bool needs_scc)
{
  if (judge->where == BETWEEN_END || judge->where == BETWEEN_WHOLE)
    return true;
  if (state->exec != VALUE_ITS_OWN)
    return state_refuse(judge, "comes after a change of EXEC");
  if (state->skips_nothing)
    return state_refuse(judge, "comes after a change of a mode of the kernel's");
  return is_done(judge, state) && lend_is_done(judge, &state->lent) &&
         (judge->where == BETWEEN_ENTRY ? is_entered(judge, state)
                                        : is_as_before(judge, state, needs_scc));
}

/* ---- A stretch ---- */

/* Ways that were left come back here. */
static void land(stretch_t *stretch)
{
  for (uint32_t i = 0; i < stretch->skip_count;)
    if (stretch->skips[i].to == stretch->at) {
      merge(&stretch->state, &stretch->skips[i].state);
      stretch->skips[i] = stretch->skips[--stretch->skip_count];
    } else {
      ++i;
    }
}

/* A branch, which says what is known on both ways: there is room for a record, or not; vector
 * instructions are skipped, or not. */
static bool skip(stretch_t *stretch, const walk_instruction_t *branch)
{
  state_t *state = &stretch->state;
  if (branch->target <= stretch->at || stretch->skip_count == STRETCH_MOST_SKIPS)
    return state_refuse(&stretch->judge, "goes elsewhere");
  struct skip *open = &stretch->skips[stretch->skip_count++];
  *open = (struct skip){branch->target, *state};
  state->reached = branch->flow == CODE_BRANCHES;
  if (branch->flow == CODE_BRANCHES && state->scc == VALUE_SKIPPED)
    state->mode &= (uint8_t)~CODE_SKIPPING;
  if (branch->flow == CODE_BRANCHES && state->scc == VALUE_WAVE_LOST) {
    open->state.wave_inside = false;
    state->wave_inside = true;
  }
  return true;
}

stretch_t stretch_begin(const walk_t *walk, uint32_t first, between_t where, uint8_t mode,
                        const owned_t *owned, const lasting_t *lasting)
{
  stretch_t stretch = {
      .walk = walk, .at = first, .judge = {.owned = owned, .where = where, .lasting = *lasting}};
  if (state_is_entry(&stretch.judge)) {
    stretch.judge.lasting = LASTING_NOTHING;
    stretch.judge.lasting.read = lasting->read;
    stretch.judge.lasting.changed = lasting->changed;
    stretch.judge.lasting.changed_lanes = lasting->changed_lanes;
    stretch.judge.lasting.changed_scratch = lasting->changed_scratch;
  }
  stretch.state = begin(&stretch.judge, mode);
  return stretch;
}

bool stretch_step(stretch_t *stretch)
{
  const walk_instruction_t *instruction = &stretch->walk->instructions[stretch->at];
  const code_t code = walk_code(stretch->walk, instruction);
  const bool branches = instruction->flow == CODE_JUMPS || instruction->flow == CODE_BRANCHES;
  stretch->judge.text = NULL;
  /* What is not reached: hops, which others come by. */
  if (stretch->state.reached && (!state_step(&stretch->judge, &code, &stretch->state) ||
                                 (branches && !skip(stretch, instruction))))
    return false;
  ++stretch->at;
  land(stretch);
  return true;
}

bool stretch_ends(stretch_t *stretch, bool needs_scc, lasting_t *lasting)
{
  judge_t judge = stretch->judge;
  judge.text = NULL;
  const bool ends = stretch->skip_count       ? state_refuse(&judge, "is skipped")
                    : !stretch->state.reached ? state_refuse(&judge, "is not reached")
                                              : is_whole(&judge, &stretch->state, needs_scc);
  stretch->judge.text = judge.text;
  if (ends)
    *lasting = judge.lasting;
  return ends;
}
