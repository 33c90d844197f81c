#include "probe/stub.h"

#include <assert.h>
#include <string.h>

enum {
  COUNTERS = RAWHAL_PROBE_BLOCKS | RAWHAL_PROBE_EDGES | RAWHAL_PROBE_EXEC,
  COUNTERS_AT = sizeof(rawhal_probe_header_t),
  STUB_BORROWED = 0, /* lanes: what SGPRs of the kernel's held, and what is kept */
  STUB_KEPT = 32,
  NOP_MOST = 15,
  NOP_SGPR = 4, /* s_nop 4: five wait states, from a VALU's write of an SGPR to its use by memory */
};

#define HEADER(member)   (uint32_t) offsetof(rawhal_probe_header_t, member)
#define ARGUMENT(member) (uint32_t) offsetof(rawhal_probe_argument_t, member)
#define WAVE(member)     (uint32_t) offsetof(rawhal_probe_wave_t, member)
#define EVENT(member)    (uint32_t) offsetof(rawhal_probe_event_t, member)

/* ---- Registers ---- */

typedef struct taking {
  code_set_t taken;
  stub_registers_t *registers;
  bool fails;
} taking_t;

static uint8_t take(taking_t *taking, uint32_t width)
{
  const uint32_t at = code_set_room(&taking->taken, 0, CODE_SGPRS, width, width);
  if (at == CODE_SGPRS) {
    taking->fails = true;
    return CODE_NONE;
  }
  code_set_add(&taking->taken, at, width);
  code_set_add(&taking->registers->all, at, width);
  return (uint8_t)at;
}

bool stub_registers(uint32_t kinds, const code_set_t *taken, stub_registers_t *r)
{
  const bool events = kinds & STUB_EVENTS;
  taking_t taking = {.taken = *taken, .registers = r};
  memset(r, CODE_NONE, sizeof(*r));
  r->all = (code_set_t){{0}};
  if (events) {
    r->record = take(&taking, 4);
    r->scalars = take(&taking, 4);
    r->wave = (uint8_t)(r->record + 3);
    r->events = take(&taking, 4);
  }
  r->buffer = take(&taking, 2);
  if (kinds & COUNTERS)
    r->one = take(&taking, 2);
  if (kinds & RAWHAL_PROBE_EXEC)
    r->active = take(&taking, 2);
  if (events)
    r->number = take(&taking, 1);
  else if (kinds & RAWHAL_PROBE_WAVES)
    r->wave = take(&taking, 1);
  if (events || kinds & RAWHAL_PROBE_EXEC)
    r->scc = take(&taking, 1);
  return !taking.fails;
}

/* Registers of the entry's or the exit's own, all next to each other, which are not `taken`. */
static uint32_t first_of(const stubs_t *stubs, uint32_t taken)
{
  code_set_t busy = stubs->in_lanes ? (code_set_t){{0}} : stubs->kept.all;
  code_set_add(&busy, 0, taken);
  return code_set_room(&busy, 0, CODE_SGPRS, STUB_ENTRY_REGISTERS, 4);
}

/* Where the entry works: behind the initial SGPRs, and not where it leaves what is kept. */
static uint32_t entry_first(const stubs_t *stubs)
{
  return first_of(stubs, stubs->initial_sgprs);
}

/* Where the exit does. */
static uint32_t exit_first(const stubs_t *stubs)
{
  return first_of(stubs, 0);
}

static uint32_t larger(uint32_t a, uint32_t b)
{
  return a > b ? a : b;
}

uint32_t stub_sgprs(const stubs_t *stubs)
{
  const bool waves = stubs->kinds & RAWHAL_PROBE_WAVES;
  const uint32_t kept = code_set_end(&stubs->kept.all);
  /* In lanes: borrow_from() moves twice at most, each time by less than that and 8. */
  uint32_t most = stubs->in_lanes ? 3 * (kept + 8) : kept;
  if (waves || stubs->in_lanes)
    most = larger(most, entry_first(stubs) + STUB_ENTRY_REGISTERS);
  if (waves)
    most = larger(most, exit_first(stubs) + STUB_ENTRY_REGISTERS);
  for (int i = 0; i < 2; ++i)
    if (stubs->guards[i] != CODE_NONE)
      most = larger(most, stubs->guards[i] + 1u);
  return most;
}

static void wait_scalar(emit_t *emit)
{
  emit_sopp(emit, EMIT_s_waitcnt, EMIT_WAIT_SCALAR);
}

/* What is kept, of a register of stubs->kept, in its lane. */
static uint32_t lane_of(uint32_t kept)
{
  return emit_integer(STUB_KEPT + kept);
}

/* Keeps what is in an SGPR, or a constant, from the entry on. */
static void keep(const stubs_t *stubs, emit_t *emit, uint32_t kept, uint32_t from)
{
  if (stubs->in_lanes)
    emit_vop3(emit, EMIT_v_writelane_b32, stubs->lanes_vgpr, from, lane_of(kept), 0);
  else
    emit_sop1(emit, EMIT_s_mov_b32, kept, from, 0);
}

/* The other way. */
static void fetch(const stubs_t *stubs, emit_t *emit, uint32_t to, uint32_t kept)
{
  if (stubs->in_lanes)
    emit_vop3(emit, EMIT_v_readlane_b32, to, EMIT_VGPR | stubs->lanes_vgpr, lane_of(kept), 0);
  else
    emit_sop1(emit, EMIT_s_mov_b32, to, kept, 0);
}

/* ---- The first instruction ---- */

/* The entry's registers, from entry_first() on. */
enum {
  ENTRY_BUFFER = 0, /* pairs */
  ENTRY_EVENTS = 2,
  ENTRY_WAVES = 4, /* capacities */
  ENTRY_CAPACITY = 5,
  ENTRY_WAVE = 6,
  ENTRY_PLACE = 7,
  ENTRY_FIRST = 8, /* the record's first four dwords, and the second four */
  ENTRY_SECOND = 12,
  ENTRY_ADDRESS = 16, /* pairs */
  ENTRY_EXEC = 18,
};
static_assert(sizeof(rawhal_probe_wave_t) == 64, "a record's place is its number, shifted by 6");

/* Where the record of the wave's number is, but for waves_offset. */
static void place_record(emit_t *emit, uint32_t t)
{
  emit_sop2(emit, EMIT_s_lshl_b32, t + ENTRY_PLACE, t + ENTRY_WAVE, emit_integer(6), 0);
  emit_sop2(emit, EMIT_s_add_u32, t + ENTRY_ADDRESS, t + ENTRY_BUFFER, t + ENTRY_PLACE, 0);
  emit_sop2(emit, EMIT_s_addc_u32, t + ENTRY_ADDRESS + 1, t + ENTRY_BUFFER + 1, EMIT_ZERO, 0);
}

/* A record of the wave, with all but its end; and its number. */
static void enter_wave(const stubs_t *stubs, emit_t *emit, uint32_t t)
{
  emit_smem(emit, EMIT_s_memrealtime, t + ENTRY_FIRST, 0, 0, false);
  emit_sopk(emit, EMIT_s_getreg_b32, t + ENTRY_FIRST + 2, EMIT_HW_ID);
  if (stubs->is_gfx942)
    emit_sopk(emit, EMIT_s_getreg_b32, t + ENTRY_FIRST + 3, EMIT_XCC_ID);
  else
    emit_sop1(emit, EMIT_s_mov_b32, t + ENTRY_FIRST + 3, EMIT_ZERO, 0);
  emit_sop1(emit, EMIT_s_mov_b32, t + ENTRY_WAVE, emit_integer(1), 0);
  wait_scalar(emit); /* the argument is there */
  emit_smem(emit, EMIT_s_atomic_add, t + ENTRY_WAVE, t + ENTRY_BUFFER, HEADER(waves), true);
  for (uint32_t i = 0; i < 3; ++i)
    emit_sop1(
        emit, EMIT_s_mov_b32, t + ENTRY_SECOND + i,
        stubs->workgroup_sgpr[i] < 0 ? (uint32_t)EMIT_ZERO : (uint32_t)stubs->workgroup_sgpr[i], 0);
  emit_readfirstlane(emit, t + ENTRY_SECOND + 3, 0);
  wait_scalar(emit);
  emit_sopc(emit, EMIT_s_cmp_ge_u32, t + ENTRY_WAVE, t + ENTRY_WAVES);
  const size_t lost = emit_skip(emit);
  place_record(emit, t);
  emit_smem(emit, EMIT_s_store_dwordx4, t + ENTRY_FIRST, t + ENTRY_ADDRESS,
            stubs->waves_offset + WAVE(start), false);
  emit_smem(emit, EMIT_s_store_dwordx4, t + ENTRY_SECOND, t + ENTRY_ADDRESS,
            stubs->waves_offset + WAVE(workgroup), false);
  emit_land(emit, lost);
}

static void name_all_lanes(emit_t *emit)
{
  emit_sop1(emit, EMIT_s_mov_b64, CODE_EXEC, EMIT_MINUS_ONE, 0);
}

/* The resource of the events' memory, beyond whose end nothing is stored. */
static void enter_events(const stubs_t *stubs, emit_t *emit, uint32_t t)
{
  const uint32_t events = stubs->kept.events;
  emit_sop2(emit, EMIT_s_mul_i32, t + ENTRY_CAPACITY, t + ENTRY_CAPACITY, EMIT_LITERAL,
            stubs->event_bytes);
  emit_sop1(emit, EMIT_s_mov_b32, t + ENTRY_PLACE, EMIT_LITERAL, EMIT_RESOURCE);
  keep(stubs, emit, events, t + ENTRY_EVENTS);
  keep(stubs, emit, events + 1, t + ENTRY_EVENTS + 1);
  keep(stubs, emit, events + 2, t + ENTRY_CAPACITY);
  keep(stubs, emit, events + 3, t + ENTRY_PLACE);
}

/* All lanes, as those that are kept need not be active. */
static void spill(const stubs_t *stubs, emit_t *emit, uint32_t t)
{
  emit_sop1(emit, EMIT_s_mov_b64, t + ENTRY_EXEC, CODE_EXEC, 0);
  name_all_lanes(emit);
  emit_scratch(emit, EMIT_scratch_store_dword, stubs->lanes_vgpr);
  emit_sop1(emit, EMIT_s_mov_b64, CODE_EXEC, t + ENTRY_EXEC, 0);
}

/* What is only counted needs the buffer's address. */
static void enter_counting(const stubs_t *stubs, emit_t *emit)
{
  const stub_registers_t *kept = &stubs->kept;
  emit_smem(emit, EMIT_s_load_dwordx2, kept->buffer, stubs->kernarg_sgpr,
            stubs->argument_offset + ARGUMENT(buffer), false);
  emit_sop1(emit, EMIT_s_mov_b64, kept->one, emit_integer(1), 0);
  if (stubs->kinds & RAWHAL_PROBE_EXEC)
    emit_sop1(emit, EMIT_s_mov_b32, kept->active + 1u, EMIT_ZERO, 0);
  wait_scalar(emit);
}

void stub_entry(const stubs_t *stubs, emit_t *emit)
{
  const stub_registers_t *kept = &stubs->kept;
  const bool waves = stubs->kinds & RAWHAL_PROBE_WAVES, events = stubs->kinds & STUB_EVENTS;
  const uint32_t t = entry_first(stubs);
  if (!waves && !stubs->in_lanes) {
    enter_counting(stubs, emit);
    return;
  }
  emit_smem(emit, EMIT_s_load_dwordx4, t + ENTRY_BUFFER, stubs->kernarg_sgpr,
            stubs->argument_offset + ARGUMENT(buffer), false);
  emit_smem(emit, EMIT_s_load_dwordx2, t + ENTRY_WAVES, stubs->kernarg_sgpr,
            stubs->argument_offset + ARGUMENT(wave_capacity), false);
  if (waves)
    enter_wave(stubs, emit, t);
  else
    wait_scalar(emit);
  for (uint32_t i = 0; i < 2; ++i) {
    keep(stubs, emit, kept->buffer + i, t + ENTRY_BUFFER + i);
    if (stubs->kinds & COUNTERS)
      keep(stubs, emit, kept->one + i, emit_integer(1 - i));
  }
  if (stubs->kinds & RAWHAL_PROBE_EXEC)
    keep(stubs, emit, kept->active + 1u, EMIT_ZERO);
  if (waves)
    keep(stubs, emit, kept->wave, t + ENTRY_WAVE);
  if (events)
    enter_events(stubs, emit, t);
  if (stubs->in_scratch)
    spill(stubs, emit, t);
  wait_scalar(emit); /* what was stored has been read */
}

/* ---- s_endpgm ---- */

void stub_exit(const stubs_t *stubs, emit_t *emit)
{
  const stub_registers_t *kept = &stubs->kept;
  const uint32_t t = exit_first(stubs);
  if (!(stubs->kinds & RAWHAL_PROBE_WAVES))
    return;
  wait_scalar(emit); /* what the kernel still loads would come later */
  emit_smem(emit, EMIT_s_memrealtime, t + ENTRY_FIRST, 0, 0, false);
  if (stubs->has_modes && stubs->in_lanes) {
    emit_sopc(emit, EMIT_s_setvskip, EMIT_ZERO, EMIT_ZERO);
    emit_sopp(emit, EMIT_s_set_gpr_idx_off, 0);
  }
  if (stubs->in_scratch) {
    name_all_lanes(emit);
    emit_scratch(emit, EMIT_scratch_load_dword, stubs->lanes_vgpr);
    emit_sopp(emit, EMIT_s_waitcnt, EMIT_WAIT_VECTOR);
  }
  if (stubs->in_lanes)
    emit_sopp(emit, EMIT_s_nop, NOP_SGPR);
  fetch(stubs, emit, t + ENTRY_BUFFER, kept->buffer);
  fetch(stubs, emit, t + ENTRY_BUFFER + 1, kept->buffer + 1u);
  fetch(stubs, emit, t + ENTRY_WAVE, kept->wave);
  if (stubs->in_lanes)
    emit_sopp(emit, EMIT_s_nop, NOP_SGPR);
  emit_smem(emit, EMIT_s_load_dword, t + ENTRY_WAVES, t + ENTRY_BUFFER, HEADER(wave_capacity),
            false);
  place_record(emit, t);
  wait_scalar(emit);
  emit_sopc(emit, EMIT_s_cmp_ge_u32, t + ENTRY_WAVE, t + ENTRY_WAVES);
  const size_t lost = emit_skip(emit);
  emit_smem(emit, EMIT_s_store_dwordx2, t + ENTRY_FIRST, t + ENTRY_ADDRESS,
            stubs->waves_offset + WAVE(end), false);
  emit_land(emit, lost);
  emit_smem(emit, EMIT_s_dcache_wb, 0, 0, 0, false);
}

/* ---- In between ---- */

static bool changes_scc(const rawhal_probe_point_t *point)
{
  return point->action != RAWHAL_PROBE_COUNT && point->action != RAWHAL_PROBE_PASSED;
}

static void count(const stub_registers_t *r, const rawhal_probe_point_t *point, emit_t *emit,
                  uint32_t by)
{
  emit_smem(emit, EMIT_s_atomic_add_x2, by, r->buffer,
            COUNTERS_AT + point->counter * (uint32_t)sizeof(uint64_t), false);
}

static void count_active(const stub_registers_t *r, const rawhal_probe_point_t *point, emit_t *emit)
{
  wait_scalar(emit); /* the one before has read its operand */
  emit_sop1(emit, EMIT_s_bcnt1_i32_b64, r->active, CODE_EXEC, 0);
  count(r, point, emit, r->active);
}

/* Four dwords of a kind that the source says, of an event at an offset. */
static void store_scalars(const stub_registers_t *r, const rawhal_probe_point_t *point,
                          uint32_t offset, emit_t *emit)
{
  const uint32_t q = r->scalars, s = point->scalar;
  switch (point->source) {
  case RAWHAL_PROBE_NONE: /* a barrier */
    emit_smem(emit, EMIT_s_memrealtime, q, 0, 0, false);
    wait_scalar(emit);
    break;
  case RAWHAL_PROBE_GLOBAL:
    emit_sop1(emit, EMIT_s_mov_b64, q, s, 0);
    break;
  case RAWHAL_PROBE_SGPR:
    emit_sop1(emit, EMIT_s_mov_b32, q, s, 0);
    break;
  case RAWHAL_PROBE_BUFFER:
    emit_sop1(emit, EMIT_s_mov_b64, q, s, 0);
    emit_sop1(emit, EMIT_s_mov_b32, q + 2, s + 2, 0);
    emit_sop1(emit, EMIT_s_mov_b32, q + 3, point->soffset, 0);
    emit_scalar_buffer(emit, EMIT_s_buffer_store_dwordx4, q, r->events, r->number,
                       offset + EVENT(scalar));
    return;
  default:
    return;
  }
  if (point->source == RAWHAL_PROBE_SGPR)
    emit_sop1(emit, EMIT_s_mov_b32, q + 1, EMIT_ZERO, 0);
  emit_scalar_buffer(emit, EMIT_s_buffer_store_dwordx2, q, r->events, r->number,
                     offset + EVENT(scalar));
}

/* The lowest VGPR that neither the point's instruction nor the probe needs. */
static uint32_t offsets_of(const stubs_t *stubs, const rawhal_probe_point_t *point)
{
  uint32_t vgpr = 0;
  if (!stubs->lends)
    return stubs->offsets_vgpr;
  while ((vgpr >= point->vector && vgpr < point->vector + point->lane_bytes / 4u) ||
         (stubs->in_lanes && vgpr == stubs->lanes_vgpr))
    ++vgpr;
  return vgpr;
}

/* Where the kernel's value is, once nothing on its way comes into the VGPR any more, or reads it.
 * All lanes that the probe writes are active, and no others. */
static void lend(const stubs_t *stubs, uint32_t vgpr, emit_t *emit)
{
  emit_sopp(emit, EMIT_s_waitcnt, EMIT_WAIT_ALL);
  emit_sopp(emit, EMIT_s_nop, NOP_MOST);
  emit_sopp(emit, EMIT_s_nop, STUB_SETTLED - NOP_MOST - 2);
  if (stubs->lends == STUB_LENDS_TO_AGPR)
    emit_accvgpr(emit, EMIT_v_accvgpr_write_b32, stubs->lends_agpr, vgpr);
  else
    emit_scratch(emit, EMIT_scratch_store_dword, vgpr);
}

static void give_back(const stubs_t *stubs, uint32_t vgpr, emit_t *emit)
{
  if (stubs->lends == STUB_LENDS_TO_AGPR) {
    emit_accvgpr(emit, EMIT_v_accvgpr_read_b32, vgpr, stubs->lends_agpr);
    emit_sopp(emit, EMIT_s_nop, STUB_RETURNED - 1);
  } else {
    emit_scratch(emit, EMIT_scratch_load_dword, vgpr);
    emit_sopp(emit, EMIT_s_waitcnt, EMIT_WAIT_VECTOR);
  }
}

/* Numbers of events, as the place of the first. Of one for which there is no room, that is beyond
 * the events' memory, however many there were: it does not come around to the first ones. */
static void take_numbers(const stubs_t *stubs, const stub_registers_t *r, uint32_t count,
                         bool has_lanes, uint32_t v, emit_t *emit)
{
  if (!stubs->in_lanes)
    wait_scalar(emit); /* the stores before have read their operands */
  emit_sop1(emit, EMIT_s_mov_b32, r->number, emit_integer(count), 0);
  emit_smem(emit, EMIT_s_atomic_add, r->number, r->buffer, HEADER(events), true);
  wait_scalar(emit);
  emit_sop2(emit, EMIT_s_min_u32, r->number, r->number, EMIT_LITERAL,
            UINT32_MAX / stubs->event_bytes - STUB_TOGETHER);
  emit_sop2(emit, EMIT_s_mul_i32, r->number, r->number, EMIT_LITERAL, stubs->event_bytes);
  emit_sop1(emit, EMIT_s_mov_b64, r->record, CODE_EXEC, 0);
  if (!has_lanes)
    return;
  emit_vop3(emit, EMIT_v_mbcnt_lo_u32_b32, v, EMIT_MINUS_ONE, EMIT_ZERO, 0);
  emit_vop3(emit, EMIT_v_mbcnt_hi_u32_b32, v, EMIT_MINUS_ONE, EMIT_VGPR | v, 0);
  emit_vop3(emit, EMIT_v_lshl_add_u32, v, EMIT_VGPR | v, emit_integer(3), r->number);
}

static void append(const stubs_t *stubs, const stub_registers_t *r,
                   const rawhal_probe_point_t *point, stub_place_t place, emit_t *emit)
{
  const uint32_t offset = place.follows * stubs->event_bytes, v = offsets_of(stubs, point);
  const bool lends = stubs->lends && point->lane_bytes;
  if (lends)
    lend(stubs, v, emit);
  if (place.takes)
    take_numbers(stubs, r, place.takes, stubs->has_lanes && (point->lane_bytes || place.takes > 1),
                 v, emit);
  else
    wait_scalar(emit);
  emit_sop1(emit, EMIT_s_mov_b32, r->record + 2u, EMIT_LITERAL, point->offset);
  emit_scalar_buffer(emit, EMIT_s_buffer_store_dwordx4, r->record, r->events, r->number,
                     offset + EVENT(exec));
  store_scalars(r, point, offset, emit);
  if (point->lane_bytes)
    emit_buffer_store(emit,
                      point->lane_bytes == 8 ? EMIT_buffer_store_dwordx2 : EMIT_buffer_store_dword,
                      v, point->vector, r->events, offset + (uint32_t)sizeof(rawhal_probe_event_t));
  if (lends)
    give_back(stubs, v, emit);
}

static void body(const stubs_t *stubs, const stub_registers_t *r, const rawhal_probe_point_t *point,
                 stub_place_t place, emit_t *emit)
{
  const bool is_event = point->action >= RAWHAL_PROBE_ACCESS,
             keeps_scc = place.keeps_scc && (!is_event || place.takes);
  if (!changes_scc(point)) {
    count(r, point, emit, r->one);
    return;
  }
  if (keeps_scc)
    emit_sop2(emit, EMIT_s_cselect_b32, r->scc, emit_integer(1), EMIT_ZERO, 0);
  if (is_event)
    append(stubs, r, point, place, emit);
  else
    count_active(r, point, emit);
  if (keeps_scc)
    emit_sopc(emit, EMIT_s_cmp_lg_u32, r->scc, EMIT_ZERO);
}

/* Registers of the kernel's that the point's instruction does not give to the record. */
static uint32_t borrow_from(const rawhal_probe_point_t *point, uint32_t count)
{
  const uint32_t width = point->scalar == CODE_NONE ? 0 : 4;
  uint32_t first = 0;
  for (int again = 0; again < 3; ++again) { /* two things are avoided: each moves it once at most */
    const uint32_t end = first + count;
    if (width && point->scalar < end && point->scalar + width > first)
      first = (point->scalar + width + 3) & ~3u;
    else if (point->soffset < CODE_SGPRS && point->soffset >= first && point->soffset < end)
      first = (point->soffset + 4u) & ~3u;
  }
  return first;
}

/* With what is kept in SGPRs that are borrowed. */
static void borrowed(const stubs_t *stubs, const rawhal_probe_point_t *point, stub_place_t place,
                     emit_t *emit)
{
  const uint32_t count = code_set_end(&stubs->kept.all), v = stubs->lanes_vgpr,
                 first = borrow_from(point, count);
  code_set_t before = {{0}};
  stub_registers_t r;
  code_set_add(&before, 0, first);
  (void)!stub_registers(stubs->kinds, &before, &r); /* stub_sgprs() are there */
  wait_scalar(emit); /* nothing that the kernel loads comes into what is borrowed */
  emit_sopp(emit, EMIT_s_nop, NOP_SGPR); /* gfx942: SGPRs and EXEC that a VALU has written */
  for (uint32_t i = 0; i < count; ++i)
    emit_vop3(emit, EMIT_v_writelane_b32, v, first + i, emit_integer(STUB_BORROWED + i), 0);
  emit_sopp(emit, EMIT_s_nop, 0); /* gfx942: a VGPR that has been written */
  for (uint32_t i = 0; i < count; ++i)
    emit_vop3(emit, EMIT_v_readlane_b32, first + i, EMIT_VGPR | v, emit_integer(STUB_KEPT + i), 0);
  emit_sopp(emit, EMIT_s_nop, NOP_SGPR);
  body(stubs, &r, point, place, emit);
  wait_scalar(emit);
  for (uint32_t i = 0; i < count; ++i)
    emit_vop3(emit, EMIT_v_readlane_b32, first + i, EMIT_VGPR | v, emit_integer(STUB_BORROWED + i),
              0);
  emit_sopp(emit, EMIT_s_nop, NOP_SGPR);
}

static void either(const stubs_t *stubs, const rawhal_probe_point_t *point, stub_place_t place,
                   emit_t *emit)
{
  if (stubs->in_lanes)
    borrowed(stubs, point, place, emit);
  else
    body(stubs, &stubs->kept, point, place, emit);
}

/* s_setvskip and what depends on it are two instructions apart. */
static void read_skips(uint32_t to, emit_t *emit)
{
  emit_sopp(emit, EMIT_s_nop, 1);
  emit_sopk(emit, EMIT_s_getreg_b32, to, EMIT_SKIPS);
}

/* What is skipped accesses nothing. */
static void unless_skipped(const stubs_t *stubs, const rawhal_probe_point_t *point,
                           stub_place_t place, emit_t *emit)
{
  const uint32_t skips = stubs->in_lanes ? stubs->guards[0] : stubs->kept.number,
                 scc = stubs->in_lanes ? stubs->guards[1] : stubs->kept.scc;
  const bool keeps_scc = place.keeps_scc;
  if (keeps_scc)
    emit_sop2(emit, EMIT_s_cselect_b32, scc, emit_integer(1), EMIT_ZERO, 0);
  if (!stubs->in_lanes)
    wait_scalar(emit); /* the stores before have read it */
  read_skips(skips, emit);
  emit_sopc(emit, EMIT_s_cmp_lg_u32, skips, EMIT_ZERO);
  const size_t skipped = emit_skip(emit);
  place.keeps_scc = false;
  either(stubs, point, place, emit);
  emit_land(emit, skipped);
  if (keeps_scc)
    emit_sopc(emit, EMIT_s_cmp_lg_u32, scc, EMIT_ZERO);
}

static void without_skipping(const stubs_t *stubs, const rawhal_probe_point_t *point,
                             stub_place_t place, emit_t *emit)
{
  read_skips(stubs->guards[0], emit);
  emit_sopc(emit, EMIT_s_setvskip, EMIT_ZERO, EMIT_ZERO);
  emit_sopp(emit, EMIT_s_nop, 1);
  borrowed(stubs, point, place, emit);
  emit_sopc(emit, EMIT_s_setvskip, stubs->guards[0], EMIT_ZERO);
  emit_sopp(emit, EMIT_s_nop, 1);
}

void stub_point(const stubs_t *stubs, const rawhal_probe_point_t *point, stub_place_t place,
                emit_t *emit)
{
  if (place.mode & CODE_SKIPPING && point->action == RAWHAL_PROBE_ACCESS)
    unless_skipped(stubs, point, place, emit);
  else if (place.mode & CODE_SKIPPING && stubs->in_lanes)
    without_skipping(stubs, point, place, emit);
  else
    either(stubs, point, place, emit);
}
