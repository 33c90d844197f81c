#include "probe/verify_state.h"

#include "probe/probe_records.h"
#include "probe/stub.h"
#include "probe/verify_lend.h"

#include <stddef.h>
#include <string.h>

enum {
  COUNTERS_AT = sizeof(rawhal_probe_header_t),
  EVENT_BYTES = sizeof(rawhal_probe_event_t),
  ARGUMENT_DWORDS = sizeof(rawhal_probe_argument_t) / 4,
  SMEM_IMMEDIATE = 1 << 17, /* bits of the first dword */
  SMEM_RETURNS = 1 << 16,
  SMEM_REGISTER = 1 << 14,
  INITIAL_VGPRS = 1, /* v0: the work-items' ids, packed from gfx90a on */
};

bool state_refuse(judge_t *judge, const char *text)
{
  judge->text = text;
  return false;
}

bool state_is_entry(const judge_t *judge)
{
  return judge->where == BETWEEN_ENTRY || judge->where == BETWEEN_WHOLE;
}

bool state_is(const code_t *code, emit_op_t op)
{
  return ((uint32_t)code->format << 12 | code->op) == (uint32_t)op;
}

/* ---- Registers ---- */

static bool has(const sgpr_set_t *set, uint32_t number)
{
  return set->bits[number / 64] >> (number % 64) & 1;
}

static void include(sgpr_set_t *set, uint32_t first, uint32_t count)
{
  for (uint32_t i = first; i < first + count; ++i)
    set->bits[i / 64] |= UINT64_C(1) << (i % 64);
}

/* Are they there, if they are SGPRs? */
static bool use(judge_t *judge, const state_t *state, uint32_t operand, uint32_t count)
{
  for (uint32_t i = operand; i < operand + count && i < CODE_SGPRS; ++i)
    if (has(&state->loaded, i) || (state->waits && code_set_has(&judge->owned->sgprs, i)))
      return state_refuse(judge, "uses an SGPR for whose load nothing waits");
  return true;
}

static uint8_t value_of(const state_t *state, uint32_t operand)
{
  if (operand < CODE_SGPRS)
    return state->sgprs[operand];
  if (operand == EMIT_ZERO || operand == EMIT_ZERO + 1)
    return operand == EMIT_ZERO ? VALUE_ZERO : VALUE_ONE;
  if (operand > EMIT_ZERO + 1 && operand <= EMIT_ZERO + STUB_TOGETHER)
    return VALUE_FEW;
  if ((operand == CODE_EXEC || operand == CODE_EXEC + 1) && state->exec == VALUE_ITS_OWN)
    return operand == CODE_EXEC ? VALUE_EXEC : VALUE_EXEC_HIGH;
  return VALUE_OTHER;
}

static bool are(const state_t *state, uint32_t first, uint32_t low, uint32_t high)
{
  return first + 1 < CODE_SGPRS && state->sgprs[first] == low && state->sgprs[first + 1] == high;
}

static bool write_sgprs(judge_t *judge, state_t *state, uint32_t first, uint32_t count,
                        uint8_t value)
{
  if (first + count > judge->owned->sgprs_end)
    return state_refuse(judge, "writes a register that is no SGPR of the wave's");
  for (uint32_t i = first; i < first + count; ++i) {
    if (has(&state->loaded, i) || has(&state->read, i) ||
        (state->waits && code_set_has(&judge->owned->sgprs, i)))
      return state_refuse(judge, "writes an SGPR that scalar memory has not done with");
    state->sgprs[i] = value == VALUE_ITS_OWN || value >= VALUE_SGPR ? (uint8_t)VALUE_OTHER : value;
  }
  return true;
}

/* At the ends all are free but the work-items' ids. */
static bool write_vgpr(judge_t *judge, bool is_end, uint32_t number)
{
  if (is_end ? number < INITIAL_VGPRS : code_set_has(&judge->owned->vgprs, number))
    return state_refuse(judge, "writes a VGPR of the kernel's");
  return number < judge->owned->vgprs_end || state_refuse(judge, "writes a VGPR that no wave has");
}

/* A number is taken: what comes of another one is not of it. */
static void forget_in(uint8_t *places, size_t count, uint8_t value)
{
  for (size_t i = 0; i < count; ++i)
    if (places[i] == value)
      places[i] = VALUE_OTHER;
}

static void forget(state_t *state, const uint8_t *values, size_t count)
{
  for (size_t v = 0; v < count; ++v) {
    forget_in(state->sgprs, sizeof(state->sgprs), values[v]);
    forget_in(state->lanes, sizeof(state->lanes), values[v]);
    forget_in(state->scratch, sizeof(state->scratch), values[v]);
    forget_in(&state->scc, 1, values[v]);
  }
}

/* ---- Scalar arithmetic ---- */

static bool move_pair(judge_t *judge, state_t *state, uint32_t to, uint32_t from)
{
  if (to == CODE_EXEC) {
    if (judge->where == BETWEEN_TWO)
      return state_refuse(judge, "writes EXEC");
    state->exec = from == EMIT_MINUS_ONE                          ? VALUE_ALL
                  : are(state, from, VALUE_EXEC, VALUE_EXEC_HIGH) ? VALUE_ITS_OWN
                  : from == CODE_EXEC                             ? state->exec
                                                                  : VALUE_OTHER;
    return true;
  }
  const bool is_register = from < CODE_SGPRS || from == CODE_EXEC;
  const uint8_t low = value_of(state, from), high = is_register ? value_of(state, from + 1)
                                                    : low == VALUE_ZERO || low == VALUE_ONE
                                                        ? (uint8_t)VALUE_ZERO
                                                        : (uint8_t)VALUE_OTHER;
  return write_sgprs(judge, state, to, 1, low) && write_sgprs(judge, state, to + 1, 1, high);
}

static bool of_sop1(judge_t *judge, const code_t *code, state_t *state)
{
  const uint32_t to = code_field(code->dword[0], 16, 7), from = code_field(code->dword[0], 0, 8);
  const bool is_pair = state_is(code, EMIT_s_mov_b64);
  if (!use(judge, state, from, is_pair ? 2 : 1))
    return false;
  if (is_pair)
    return move_pair(judge, state, to, from);
  if (!state_is(code, EMIT_s_bcnt1_i32_b64))
    return write_sgprs(judge, state, to, 1,
                       from == EMIT_LITERAL && code->dword[1] == EMIT_RESOURCE
                           ? VALUE_RESOURCE
                           : value_of(state, from));
  state->scc = VALUE_OTHER;
  return write_sgprs(judge, state, to, 1,
                     from == CODE_EXEC && state->exec == VALUE_ITS_OWN ? VALUE_ACTIVE
                                                                       : VALUE_OTHER);
}

/* What two values make, and what SCC is then. VALUE_ITS_OWN: that it was. */
static const struct sum {
  uint32_t op;
  uint8_t a, b, scc_before;
  uint8_t result, scc;
} sums[] = {
    {EMIT_s_cselect_b32, VALUE_ONE, VALUE_ZERO, VALUE_ITS_OWN, VALUE_SCC, VALUE_ITS_OWN},
    {EMIT_s_add_u32, VALUE_ARGUMENT, VALUE_WAVE_PLACE, VALUE_ALL, VALUE_WAVE_ADDRESS,
     VALUE_WAVE_CARRY},
    {EMIT_s_addc_u32, VALUE_ARGUMENT + 1, VALUE_ZERO, VALUE_WAVE_CARRY, VALUE_WAVE_ADDRESS_HIGH,
     VALUE_OTHER},
};

/* Numbers, and how many there may be, by the bytes of what they number. */
static bool of_products(judge_t *judge, const code_t *code, const state_t *state, uint8_t *result)
{
  const uint32_t d = code->dword[0], a = code_field(d, 0, 8), b = code_field(d, 8, 8);
  *result = VALUE_OTHER;
  if (state_is(code, EMIT_s_lshl_b32) && value_of(state, a) == VALUE_WAVE && b == EMIT_ZERO + 6)
    *result = VALUE_WAVE_PLACE;
  if (state_is(code, EMIT_s_mul_i32) && value_of(state, a) == VALUE_EVENTS && b == EMIT_LITERAL) {
    const uint32_t bytes = code->dword[1];
    if (bytes != EVENT_BYTES && bytes != EVENT_BYTES + RAWHAL_PROBE_LANES_BYTES)
      return state_refuse(judge, "takes events for larger or smaller than they are");
    if (judge->lasting.event_bytes && judge->lasting.event_bytes != bytes)
      return state_refuse(judge, "takes events for of another size than before");
    judge->lasting.event_bytes = bytes;
    *result = VALUE_EVENT_BYTES;
  }
  return true;
}

static bool of_sop2(judge_t *judge, const code_t *code, state_t *state)
{
  const uint32_t d = code->dword[0], op = (uint32_t)code->format << 12 | code->op,
                 a = code_field(d, 0, 8), b = code_field(d, 8, 8);
  uint8_t result;
  if (!use(judge, state, a, 1) || !use(judge, state, b, 1) ||
      !of_products(judge, code, state, &result))
    return false;
  const bool keeps_scc = op == EMIT_s_cselect_b32 || op == EMIT_s_mul_i32;
  uint8_t scc = keeps_scc ? state->scc : (uint8_t)VALUE_OTHER;
  for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); ++i)
    if (sums[i].op == op && sums[i].a == value_of(state, a) && sums[i].b == value_of(state, b) &&
        (sums[i].scc_before == VALUE_ALL || sums[i].scc_before == state->scc)) {
      result = sums[i].result;
      scc = sums[i].scc;
    }
  state->scc = scc;
  return write_sgprs(judge, state, code_field(d, 16, 7), 1, result);
}

/* Off; and as it was before, without which the kernel does not go on. */
static bool of_skipping(judge_t *judge, uint32_t a, uint32_t b, state_t *state)
{
  const bool is_off = a == EMIT_ZERO;
  if (b != EMIT_ZERO || (!is_off && (value_of(state, a) != VALUE_SKIPS || !state->skips_nothing)))
    return state_refuse(judge, "changes a mode of the kernel's");
  if (!use(judge, state, a, 1))
    return false;
  state->skips_nothing = is_off;
  state->mode = is_off ? state->mode & (uint8_t)~CODE_SKIPPING : state->mode | CODE_SKIPPING;
  return true;
}

static bool of_sopc(judge_t *judge, const code_t *code, state_t *state)
{
  const uint32_t a = code_field(code->dword[0], 0, 8), b = code_field(code->dword[0], 8, 8);
  const uint8_t left = value_of(state, a), right = value_of(state, b);
  if (state_is(code, EMIT_s_setvskip))
    return of_skipping(judge, a, b, state);
  state->scc = VALUE_OTHER;
  if (state_is(code, EMIT_s_cmp_lg_u32) && left == VALUE_SCC && right == VALUE_ZERO)
    state->scc = VALUE_ITS_OWN;
  if (state_is(code, EMIT_s_cmp_ge_u32) && left == VALUE_WAVE && right == VALUE_WAVES)
    state->scc = VALUE_WAVE_LOST;
  if (state_is(code, EMIT_s_cmp_lg_u32) && left == VALUE_SKIPS && right == VALUE_ZERO)
    state->scc = VALUE_SKIPPED;
  return use(judge, state, a, 1) && use(judge, state, b, 1);
}

/* ---- Scalar memory ---- */

typedef struct access {
  uint32_t data, count, base, offset;
} access_t;

static bool load(judge_t *judge, state_t *state, const access_t *to, uint8_t value, bool is_dwords)
{
  if (to->data < to->base + 2 && to->base < to->data + to->count)
    return state_refuse(judge, "loads over its own address");
  for (uint32_t i = 0; i < to->count; ++i)
    if (!write_sgprs(judge, state, to->data + i, 1, (uint8_t)(value + (is_dwords ? i : 0))))
      return false;
  include(&state->loaded, to->data, to->count);
  include(&state->read, to->base, 2);
  return true;
}

/* Of the argument; and, of the header, capacities. */
static bool of_load(judge_t *judge, state_t *state, const access_t *from)
{
  const uint32_t at = from->offset - judge->owned->argument_offset,
                 waves = offsetof(rawhal_probe_header_t, wave_capacity);
  if (state_is_entry(judge) && from->base == judge->owned->kernarg_sgpr &&
      are(state, from->base, VALUE_ITS_OWN, VALUE_ITS_OWN) && at % 4 == 0 &&
      at / 4 + from->count <= ARGUMENT_DWORDS)
    return load(judge, state, from, (uint8_t)(VALUE_ARGUMENT + at / 4), true);
  if (are(state, from->base, VALUE_ARGUMENT, VALUE_ARGUMENT + 1) && from->count == 1 &&
      (from->offset == waves || from->offset == waves + 4))
    return load(judge, state, from, from->offset == waves ? VALUE_WAVES : VALUE_EVENTS, true);
  return state_refuse(judge, "loads what is not the probe's argument");
}

/* The number of a record, or numbers of events. */
static bool of_number(judge_t *judge, state_t *state, const access_t *to)
{
  static const uint8_t of_wave[] = {VALUE_WAVE,         VALUE_WAVE_PLACE,
                                    VALUE_WAVE_ADDRESS, VALUE_WAVE_ADDRESS_HIGH,
                                    VALUE_WAVE_LOST,    VALUE_WAVE_CARRY};
  const bool is_wave = to->offset == offsetof(rawhal_probe_header_t, waves);
  if ((!is_wave && to->offset != offsetof(rawhal_probe_header_t, events)) ||
      (is_wave && !state_is_entry(judge)) ||
      !are(state, to->base, VALUE_ARGUMENT, VALUE_ARGUMENT + 1) || to->data >= CODE_SGPRS ||
      (state->sgprs[to->data] != VALUE_ONE && (is_wave || state->sgprs[to->data] != VALUE_FEW)))
    return state_refuse(judge, "adds to what is no number of records");
  if (is_wave) {
    forget(state, of_wave, sizeof(of_wave));
    state->wave_inside = false;
  }
  return load(judge, state, to, is_wave ? VALUE_WAVE : VALUE_OTHER, false);
}

static bool of_counter(judge_t *judge, state_t *state, const access_t *to)
{
  const uint32_t end = COUNTERS_AT + judge->owned->counters * (uint32_t)sizeof(uint64_t);
  if (!are(state, to->base, VALUE_ARGUMENT, VALUE_ARGUMENT + 1) || to->offset % 8 ||
      to->offset < COUNTERS_AT || to->offset + 8 > end)
    return state_refuse(judge, "adds to what is no counter");
  if (!are(state, to->data, VALUE_ONE, VALUE_ZERO) &&
      !are(state, to->data, VALUE_ACTIVE, VALUE_ZERO))
    return state_refuse(judge, "adds neither 1 nor how many lanes are active");
  include(&state->read, to->base, 2);
  include(&state->read, to->data, 2);
  return true;
}

static bool of_store(judge_t *judge, state_t *state, const access_t *to)
{
  const uint32_t bytes = to->count * 4,
                 counted = COUNTERS_AT + judge->owned->counters * (uint32_t)sizeof(uint64_t),
                 at = to->offset - ((counted + 63) & ~63u);
  if (!are(state, to->base, VALUE_WAVE_ADDRESS, VALUE_WAVE_ADDRESS_HIGH) || !state->wave_inside ||
      at >= sizeof(rawhal_probe_wave_t) || at + bytes > sizeof(rawhal_probe_wave_t))
    return state_refuse(judge, "stores elsewhere than in its record");
  if (to->data + to->count > judge->owned->sgprs_end)
    return state_refuse(judge, "stores registers that are no SGPRs of the wave's");
  include(&state->read, to->base, 2);
  include(&state->read, to->data, to->count);
  return use(judge, state, to->data, to->count);
}

/* The resource of the events' memory: what is beyond its end is not stored. */
static bool is_resource(const judge_t *judge, const state_t *state, uint32_t first)
{
  return judge->lasting.event_bytes && first % 4 == 0 &&
         are(state, first, VALUE_ARGUMENT + 2, VALUE_ARGUMENT + 3) &&
         are(state, first + 2, VALUE_EVENT_BYTES, VALUE_RESOURCE);
}

/* `at`: where in the first of some events. Is it in what each has at its beginning, or, of lanes,
 * behind that? */
static bool is_in_event(const judge_t *judge, uint32_t at, uint32_t bytes, bool is_lanes)
{
  const uint32_t event = judge->lasting.event_bytes, inside = at % event;
  return at / event < STUB_TOGETHER &&
         (is_lanes ? event > EVENT_BYTES && inside == EVENT_BYTES : inside + bytes <= EVENT_BYTES);
}

static bool of_scalar_buffer(judge_t *judge, const code_t *code, state_t *state)
{
  const bool is_four = state_is(code, EMIT_s_buffer_store_dwordx4);
  const uint32_t d = code->dword[0], d1 = code->dword[1], count = is_four ? 4 : 2,
                 data = code_field(d, 6, 7), resource = code_field(d, 0, 6) * 2, sgpr = d1 >> 25,
                 offset = code_field(d1, 0, 25);
  if ((d & (0xfu << 13 | SMEM_IMMEDIATE)) != (SMEM_IMMEDIATE | SMEM_REGISTER) ||
      !is_resource(judge, state, resource) || !is_in_event(judge, offset, count * 4, false))
    return state_refuse(judge, "stores elsewhere than in an event");
  if (data + count > judge->owned->sgprs_end || sgpr >= judge->owned->sgprs_end)
    return state_refuse(judge, "stores registers that are no SGPRs of the wave's");
  include(&state->read, resource, 4);
  include(&state->read, data, count);
  include(&state->read, sgpr, 1);
  return use(judge, state, resource, 4) && use(judge, state, data, count) &&
         use(judge, state, sgpr, 1);
}

static bool of_smem(judge_t *judge, const code_t *code, state_t *state)
{
  if (state_is(code, EMIT_s_buffer_store_dwordx2) || state_is(code, EMIT_s_buffer_store_dwordx4))
    return of_scalar_buffer(judge, code, state);
  const uint32_t d = code->dword[0];
  const bool is_pair = state_is(code, EMIT_s_load_dwordx2) ||
                       state_is(code, EMIT_s_store_dwordx2) || state_is(code, EMIT_s_memrealtime) ||
                       state_is(code, EMIT_s_atomic_add_x2),
             is_four = state_is(code, EMIT_s_load_dwordx4) || state_is(code, EMIT_s_store_dwordx4);
  const access_t access = {code_field(d, 6, 7),
                           is_four   ? 4
                           : is_pair ? 2
                                     : 1,
                           code_field(d, 0, 6) * 2, code->dword[1]};
  const uint32_t own_bits = d & (0xfu << 13 | SMEM_IMMEDIATE);
  if (state_is(code, EMIT_s_dcache_wb))
    return (!own_bits && !code->dword[1]) || state_refuse(judge, "has an operand too many");
  if (state_is(code, EMIT_s_memrealtime)) {
    if (own_bits || code->dword[1])
      return state_refuse(judge, "has an operand too many");
    if (!write_sgprs(judge, state, access.data, 2, VALUE_OTHER))
      return false;
    include(&state->loaded, access.data, 2);
    return true;
  }
  const bool returns = state_is(code, EMIT_s_atomic_add);
  if (own_bits != (SMEM_IMMEDIATE | (returns ? SMEM_RETURNS : 0u)) ||
      access.offset > EMIT_MOST_OFFSET)
    return state_refuse(judge, "has bits of scalar memory that no probe sets");
  if (!use(judge, state, access.base, 2))
    return false;
  if (returns)
    return use(judge, state, access.data, 1) && of_number(judge, state, &access);
  if (state_is(code, EMIT_s_atomic_add_x2))
    return use(judge, state, access.data, 2) && of_counter(judge, state, &access);
  if (state_is(code, EMIT_s_store_dwordx2) || state_is(code, EMIT_s_store_dwordx4))
    return of_store(judge, state, &access);
  return of_load(judge, state, &access);
}

/* ---- Vectors ---- */

/* Where lanes' parts of an event are, in a VGPR that is not the kernel's, or is lent. */
static bool of_offsets(judge_t *judge, const code_t *code, state_t *state)
{
  const uint32_t d = code->dword[0], d1 = code->dword[1], to = code_field(d, 0, 8);
  if (code_field(d, 8, 8) || d1 >> 27 || to == state->lanes_vgpr || to == judge->lasting.lanes_vgpr)
    return state_refuse(judge, "is no step to the lanes' offsets");
  for (unsigned i = 0; i < 3; ++i)
    if (!use(judge, state, code_field(d1, 9 * i, 9), 1))
      return false;
  return lend_has(&state->lent, to) ? lend_writes(judge, state) : write_vgpr(judge, false, to);
}

static bool of_lanes(judge_t *judge, const code_t *code, state_t *state)
{
  const uint32_t d = code->dword[0], d1 = code->dword[1], to = code_field(d, 0, 8),
                 from = code_field(d1, 0, 9), lane = code_field(d1, 9, 9) - EMIT_ZERO;
  const bool is_write = state_is(code, EMIT_v_writelane_b32);
  const uint32_t vgpr = is_write ? to : from - EMIT_VGPR;
  if (lane >= 64 || code_field(d, 8, 8) || d1 >> 18)
    return state_refuse(judge, "has a lane that is not a constant, or modifiers");
  if (state->lanes_vgpr == UINT32_MAX && state_is_entry(judge) && is_write)
    state->lanes_vgpr = vgpr;
  if (state->lanes_vgpr != vgpr)
    return state_refuse(judge, "keeps SGPRs in another VGPR than before");
  if (state->fills)
    return state_refuse(judge, "uses a VGPR for whose load nothing waits");
  if (lend_has(&state->lent, vgpr))
    return state_refuse(judge, "keeps SGPRs in a VGPR that is lent");
  if (!is_write) {
    if (!write_sgprs(judge, state, to, 1, state->lanes[lane]))
      return false;
    if (state->lanes[lane] == VALUE_SGPR + to)
      state->sgprs[to] = VALUE_ITS_OWN;
    return true;
  }
  if (!use(judge, state, from, 1))
    return false;
  const uint8_t value = value_of(state, from);
  state->lanes[lane] = value == VALUE_ITS_OWN ? (uint8_t)(VALUE_SGPR + from) : value;
  return write_vgpr(judge, state_is_entry(judge), to);
}

/* All lanes of a VGPR, from the entry to the end of the kernel. */
static bool of_scratch(judge_t *judge, const code_t *code, state_t *state)
{
  const bool is_load = state_is(code, EMIT_scratch_load_dword);
  const uint32_t d1 = code->dword[1], vgpr = is_load ? d1 >> 24 : code_field(d1, 8, 8),
                 dwords[] = {0xdc000000 | ((uint32_t)code->op << 18) | CODE_SEGMENT_SCRATCH << 14,
                             0x7fu << 16 | vgpr << (is_load ? 24 : 8)};
  if (!judge->owned->has_scratch || code->dword[0] != dwords[0] || d1 != dwords[1])
    return state_refuse(judge, "is of scratch that is not there");
  if (state->exec == VALUE_ITS_OWN)
    return is_load ? lend_returns(judge, state, vgpr, LENT_TO_SCRATCH)
                   : lend_takes(judge, state, vgpr, LENT_TO_SCRATCH);
  if (judge->where == BETWEEN_TWO || state->exec != VALUE_ALL)
    return state_refuse(judge, "is of scratch, and of not all lanes");
  if (!is_load) {
    if (!state_is_entry(judge) || vgpr != state->lanes_vgpr)
      return state_refuse(judge, "puts into scratch what is not kept");
    memcpy(state->scratch, state->lanes, sizeof(state->scratch));
    return true;
  }
  if (state->waits || judge->where == BETWEEN_ENTRY)
    return state_refuse(judge, "loads a VGPR before what the kernel has loaded is there");
  memcpy(state->lanes, state->scratch, sizeof(state->lanes));
  state->lanes_vgpr = vgpr;
  state->fills = true;
  return write_vgpr(judge, true, vgpr);
}

static bool of_vector_store(judge_t *judge, const code_t *code, const state_t *state)
{
  const bool is_pair = state_is(code, EMIT_buffer_store_dwordx2);
  const uint32_t d = 0xe0000000 | ((uint32_t)code->op << 18) | 1u << 12, d1 = code->dword[1],
                 resource = code_field(d1, 16, 5) * 4, data = code_field(d1, 8, 8);
  if ((code->dword[0] & ~(uint32_t)EMIT_MOST_BUFFER_OFFSET) != d || d1 >> 24 != EMIT_ZERO ||
      code_field(d1, 21, 3) || !is_resource(judge, state, resource) ||
      !is_in_event(judge, code->dword[0] & EMIT_MOST_BUFFER_OFFSET, 0, true))
    return state_refuse(judge, "stores vectors elsewhere than in an event");
  return use(judge, state, resource, 4) &&
         lend_is_stored(judge, &state->lent, code_field(d1, 0, 8), data, is_pair ? 2 : 1) &&
         ((data + (is_pair ? 2 : 1) <= judge->owned->vgprs_end &&
           code_field(d1, 0, 8) < judge->owned->vgprs_end) ||
          state_refuse(judge, "stores a VGPR that no wave has"));
}

/* To an AGPR that is not the kernel's, or from there. */
static bool of_accvgpr(judge_t *judge, const code_t *code, state_t *state)
{
  const bool is_write = state_is(code, EMIT_v_accvgpr_write_b32);
  const uint32_t to = code_field(code->dword[0], 0, 8), from = code_field(code->dword[1], 0, 8),
                 agpr = is_write ? to : from, vgpr = is_write ? from : to;
  if (code->dword[0] != (0xd3804000 | (uint32_t)code->op << 16 | to) ||
      code->dword[1] != (0x18000000 | EMIT_VGPR | from) ||
      code_set_has(&judge->owned->agprs, agpr) || agpr >= judge->owned->agprs_end)
    return state_refuse(judge, "moves what is no AGPR of the probe's");
  return is_write ? lend_takes(judge, state, vgpr, agpr) : lend_returns(judge, state, vgpr, agpr);
}

static bool of_vectors(judge_t *judge, const code_t *code, state_t *state)
{
  const bool is_memory = code->format == CODE_FLAT || code->format == CODE_MUBUF;
  if (state->mode & CODE_SKIPPING || (state->mode & CODE_INDEXING && !is_memory))
    return state_refuse(judge, "is of vectors, where they are skipped or indexed");
  switch (code->format) {
  case CODE_FLAT:
    return of_scratch(judge, code, state);
  case CODE_MUBUF:
    return of_vector_store(judge, code, state);
  case CODE_VOP1: /* v_readfirstlane_b32 */
    if (code->dwords != 1 || !code_field(code->dword[0], 8, 1))
      return state_refuse(judge, "reads no VGPR");
    return write_sgprs(judge, state, code_field(code->dword[0], 17, 8), 1, VALUE_OTHER);
  case CODE_VOP3P:
    return of_accvgpr(judge, code, state);
  case CODE_VOP3:
    if (state_is(code, EMIT_v_writelane_b32) || state_is(code, EMIT_v_readlane_b32))
      return of_lanes(judge, code, state);
    return of_offsets(judge, code, state);
  default:
    return of_offsets(judge, code, state);
  }
}

/* ---- All of them ---- */

static bool of_sopp(judge_t *judge, const code_t *code, state_t *state)
{
  if (state_is(code, EMIT_s_set_gpr_idx_off)) {
    if (judge->where == BETWEEN_TWO || judge->where == BETWEEN_ENTRY)
      return state_refuse(judge, "changes a mode of the kernel's");
    state->mode &= (uint8_t)~CODE_INDEXING;
  }
  if (state_is(code, EMIT_s_waitcnt) && !code_field(code->dword[0], 8, 4)) { /* lgkmcnt(0) */
    state->loaded = state->read = (sgpr_set_t){{0, 0}};
    state->waits = false;
  }
  if (state_is(code, EMIT_s_waitcnt) && !(code->dword[0] & EMIT_VECTOR_COUNT))
    state->fills = false;
  return true;
}

static bool step(judge_t *judge, const code_t *code, state_t *state)
{
  switch (code->format) {
  case CODE_SOP1:
    return of_sop1(judge, code, state);
  case CODE_SOP2:
    return of_sop2(judge, code, state);
  case CODE_SOPK: /* s_getreg_b32 */
    return write_sgprs(judge, state, code_field(code->dword[0], 16, 7), 1,
                       code_field(code->dword[0], 0, 16) == EMIT_SKIPS && !state->skips_nothing
                           ? VALUE_SKIPS
                           : VALUE_OTHER);
  case CODE_SOPC:
    return of_sopc(judge, code, state);
  case CODE_SMEM:
    return of_smem(judge, code, state);
  case CODE_SOPP:
    return of_sopp(judge, code, state);
  default:
    return of_vectors(judge, code, state);
  }
}

bool state_step(judge_t *judge, const code_t *code, state_t *state)
{
  if (!emit_knows(code))
    return state_refuse(judge, "is not an instruction that probes are made of");
  if (!step(judge, code, state))
    return false;
  lend_step(code, &state->lent);
  return true;
}
