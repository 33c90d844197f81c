#include "probe/verify.h"

#include <string.h>

/* What is known of a register, SCC or a lane: whose value it has. */
enum {
  ITS_OWN = 0,
  OTHER = 1,  /* anything */
  OF_SCC = 2, /* SCC's own, as 1 or 0 */
  OF_EXEC = 3,
  OF_SGPR = 4, /* and from there on: that of an SGPR of that number, less 4 */
  TRACKED = 128,
};

typedef struct state {
  bool reached;
  uint8_t sgprs[TRACKED]; /* by operand encoding */
  uint8_t lanes[64];      /* of the one VGPR that is written by lanes */
  uint8_t scc, exec;
} state_t;

typedef struct judge {
  const walk_t *walk;
  const owned_t *owned;
  between_t where;
  uint32_t lanes_vgpr; /* CODE_NONE: none yet */
  const char *text;
} judge_t;

static bool refuse(judge_t *judge, const char *text)
{
  judge->text = text;
  return false;
}

static bool is(const code_t *code, emit_op_t op)
{
  return ((uint32_t)code->format << 12 | code->op) == (uint32_t)op;
}

/* ---- Writes ---- */

static bool write_sgprs(judge_t *judge, state_t *state, uint32_t first, uint32_t count,
                        uint8_t value)
{
  if (first == CODE_EXEC && count == 2) {
    if (judge->where != BETWEEN_ENTRY)
      return refuse(judge, "writes EXEC");
    state->exec = value == OF_EXEC ? ITS_OWN : OTHER;
    return true;
  }
  if (first + count > CODE_SGPRS)
    return refuse(judge, "writes a register that is not a plain SGPR");
  for (uint32_t i = first; i < first + count; ++i)
    state->sgprs[i] = value;
  return true;
}

static bool write_vgpr(judge_t *judge, uint32_t number)
{
  return number >= judge->owned->vgprs || refuse(judge, "writes a VGPR of the kernel's");
}

/* ---- One instruction ---- */

static bool is_pair(const code_t *code)
{
  return is(code, EMIT_s_mov_b64) || is(code, EMIT_s_memrealtime) ||
         is(code, EMIT_s_load_dwordx2) || is(code, EMIT_s_atomic_add_x2);
}

static bool of_sop1(judge_t *judge, const code_t *code, state_t *state)
{
  const uint32_t to = code_field(code->dword[0], 16, 7), from = code_field(code->dword[0], 0, 8);
  if (is(code, EMIT_s_bcnt1_i32_b64))
    state->scc = OTHER;
  uint8_t value = OTHER;
  if (is(code, EMIT_s_mov_b64) && from == CODE_EXEC && state->exec == ITS_OWN)
    value = OF_EXEC;
  if (is(code, EMIT_s_mov_b64) && from < CODE_SGPRS && state->sgprs[from] == OF_EXEC &&
      to == CODE_EXEC)
    value = OF_EXEC;
  return write_sgprs(judge, state, to, is_pair(code) ? 2 : 1, value);
}

static bool of_sop2(judge_t *judge, const code_t *code, state_t *state)
{
  const uint32_t d = code->dword[0];
  const bool keeps_scc = is(code, EMIT_s_cselect_b32) && code_field(d, 0, 8) == EMIT_ZERO + 1 &&
                         code_field(d, 8, 8) == EMIT_ZERO && state->scc == ITS_OWN;
  if (!is(code, EMIT_s_cselect_b32) && !is(code, EMIT_s_mul_i32))
    state->scc = OTHER;
  return write_sgprs(judge, state, code_field(d, 16, 7), 1, keeps_scc ? OF_SCC : OTHER);
}

static void of_sopc(const code_t *code, state_t *state)
{
  const uint32_t a = code_field(code->dword[0], 0, 8), b = code_field(code->dword[0], 8, 8);
  const bool restores =
      is(code, EMIT_s_cmp_lg_u32) && b == EMIT_ZERO && a < CODE_SGPRS && state->sgprs[a] == OF_SCC;
  state->scc = restores ? ITS_OWN : OTHER;
}

static bool of_smem(judge_t *judge, const code_t *code, state_t *state)
{
  const uint32_t data = code_field(code->dword[0], 6, 7);
  const bool returns = code_field(code->dword[0], 16, 1);
  if (is(code, EMIT_s_load_dword) || is(code, EMIT_s_load_dwordx2) ||
      is(code, EMIT_s_load_dwordx4) || is(code, EMIT_s_memrealtime))
    return write_sgprs(judge, state, data,
                       is(code, EMIT_s_load_dwordx4) ? 4
                       : is_pair(code)               ? 2
                                                     : 1,
                       OTHER);
  if ((is(code, EMIT_s_atomic_add) || is(code, EMIT_s_atomic_add_x2)) && returns)
    return write_sgprs(judge, state, data, is_pair(code) ? 2 : 1, OTHER);
  return true;
}

static bool of_lanes(judge_t *judge, const code_t *code, state_t *state)
{
  const uint32_t to = code_field(code->dword[0], 0, 8), from = code_field(code->dword[1], 0, 9),
                 lane = code_field(code->dword[1], 9, 9) - EMIT_ZERO;
  if (is(code, EMIT_v_mbcnt_lo_u32_b32) || is(code, EMIT_v_mbcnt_hi_u32_b32))
    return to != judge->lanes_vgpr ? write_vgpr(judge, to)
                                   : refuse(judge, "writes a VGPR that keeps SGPRs");
  const uint32_t vgpr = is(code, EMIT_v_writelane_b32) ? to : from - EMIT_VGPR;
  if (lane >= 64)
    return refuse(judge, "has a lane that is not a constant");
  if (judge->lanes_vgpr != CODE_NONE && judge->lanes_vgpr != vgpr)
    return refuse(judge, "keeps SGPRs in another VGPR than before");
  judge->lanes_vgpr = vgpr;
  if (is(code, EMIT_v_writelane_b32)) {
    const bool own = from < CODE_SGPRS && state->sgprs[from] == ITS_OWN;
    state->lanes[lane] = own ? (uint8_t)(OF_SGPR + from) : OTHER;
    return write_vgpr(judge, to);
  }
  const bool back = to < CODE_SGPRS && state->lanes[lane] == OF_SGPR + to;
  return write_sgprs(judge, state, to, 1, back ? ITS_OWN : OTHER);
}

static bool step(judge_t *judge, const code_t *code, state_t *state)
{
  if (!emit_knows(code))
    return refuse(judge, "is not an instruction that probes are made of");
  if (judge->where != BETWEEN_END &&
      (is(code, EMIT_s_setvskip) || is(code, EMIT_s_set_gpr_idx_off)))
    return refuse(judge, "changes a mode of the kernel's");
  switch (code->format) {
  case CODE_SOP1:
    return of_sop1(judge, code, state);
  case CODE_SOP2:
    return of_sop2(judge, code, state);
  case CODE_SOPK:
    return write_sgprs(judge, state, code_field(code->dword[0], 16, 7), 1, OTHER);
  case CODE_SOPC:
    of_sopc(code, state);
    return true;
  case CODE_SMEM:
    return of_smem(judge, code, state);
  case CODE_VOP1:
    return write_sgprs(judge, state, code_field(code->dword[0], 17, 8), 1, OTHER);
  case CODE_VOP2:
    return write_vgpr(judge, code_field(code->dword[0], 17, 8));
  case CODE_VOP3:
    return of_lanes(judge, code, state);
  default:
    return true; /* waits, skips, stores of vectors */
  }
}

/* ---- A stretch ---- */

static void merge_byte(uint8_t *to, uint8_t from)
{
  if (*to != from)
    *to = OTHER;
}

static void merge(state_t *to, const state_t *from)
{
  if (!to->reached) {
    *to = *from;
    to->reached = true;
    return;
  }
  for (unsigned i = 0; i < TRACKED; ++i)
    merge_byte(&to->sgprs[i], from->sgprs[i]);
  for (unsigned i = 0; i < sizeof(to->lanes); ++i)
    merge_byte(&to->lanes[i], from->lanes[i]);
  merge_byte(&to->scc, from->scc);
  merge_byte(&to->exec, from->exec);
}

static bool is_whole(judge_t *judge, const state_t *state)
{
  const uint32_t owned =
      judge->where == BETWEEN_ENTRY ? judge->owned->initial_sgprs : judge->owned->sgprs;
  if (state->exec != ITS_OWN)
    return refuse(judge, "comes after a change of EXEC");
  if (judge->where == BETWEEN_END)
    return true;
  for (uint32_t i = 0; i < owned; ++i)
    if (state->sgprs[i] != ITS_OWN)
      return refuse(judge, "comes after a change of an SGPR of the kernel's");
  return judge->where == BETWEEN_ENTRY || state->scc == ITS_OWN ||
         refuse(judge, "comes after a change of SCC");
}

enum { MOST_SKIPS = 4 }; /* that are open at a time */

bool verify_between(const walk_t *walk, uint32_t first, uint32_t end, between_t where,
                    const owned_t *owned, uint32_t *wrong, const char **text)
{
  judge_t judge = {.walk = walk, .owned = owned, .where = where, .lanes_vgpr = CODE_NONE};
  state_t state = {.reached = true};
  struct skip {
    uint32_t to;
    state_t state;
  } skips[MOST_SKIPS];
  uint32_t skip_count = 0;
  for (uint32_t i = first; i <= end; ++i) {
    for (uint32_t s = 0; s < skip_count;)
      if (skips[s].to == i) {
        merge(&state, &skips[s].state);
        skips[s] = skips[--skip_count];
      } else {
        ++s;
      }
    *wrong = i;
    *text = NULL;
    if (i == end)
      break;
    if (!state.reached) /* hops, which others come by */
      continue;
    const walk_instruction_t *instruction = &walk->instructions[i];
    const code_t code = walk_code(walk, instruction);
    if (!step(&judge, &code, &state)) {
      *text = judge.text;
      return false;
    }
    if (instruction->flow != CODE_JUMPS && instruction->flow != CODE_BRANCHES)
      continue;
    if (instruction->target <= i || instruction->target > end || skip_count == MOST_SKIPS) {
      *text = "goes elsewhere";
      return false;
    }
    skips[skip_count].to = instruction->target;
    skips[skip_count++].state = state;
    state.reached = instruction->flow == CODE_BRANCHES;
  }
  if (!state.reached)
    *text = "is not reached";
  else if (!is_whole(&judge, &state))
    *text = judge.text;
  return !*text;
}
