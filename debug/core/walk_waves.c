/* A queue's context save areas, from the control stack's first word to its last. */
#include "debug/core/walk_internal.h"

#include "base/checked.h"

/* Where the walk of one area stands. */
typedef struct area {
  walk_t *walk;
  const walk_queue_t *queue;
  const core_format_agent_t *agent;
  const core_chip_t *chip;
  uint32_t xcc;
  uint64_t base, bottom, at; /* the lowest byte of waves; of the wave that was seen last */
  uint32_t vgprs, agprs, sgprs, lds_bytes;
  bool has_state, in_group;
  uint64_t lds_at;
} area_t;

static bool take_state(area_t *area, uint32_t word)
{
  const uint32_t rows = ((word & 63) + 1) * 8;
  area->vgprs = ((word >> 24 & 63) + 1) * 4;
  area->sgprs = ((word >> 6 & 7) + 1) * 16 - 16;
  area->lds_bytes = (word >> 9 & 255) * area->chip->lds_block;
  area->has_state = true;
  if (area->vgprs > rows)
    return walk_fail(area->walk, MISTAKE_SAVE_AREA, area->at);
  area->agprs = rows - area->vgprs;
  return true;
}

/* Its place below the wave before it, and where its registers are. */
static bool place_wave(area_t *area, walk_wave_t *wave)
{
  const uint64_t rows = FORMAT_ROW * (uint64_t)(area->vgprs + area->agprs);
  const uint64_t words = 4 * (area->sgprs + FORMAT_HWREGS + FORMAT_TTMPS);
  const uint64_t size = rows + words + (wave->first ? area->lds_bytes : 0) + FORMAT_GAP;
  if (size > area->at - area->bottom)
    return walk_fail(area->walk, MISTAKE_SAVE_AREA, area->at);
  area->at -= size;
  wave->vgprs = area->vgprs;
  wave->agprs = area->agprs;
  wave->vgprs_at = area->at;
  wave->agprs_at = area->at + FORMAT_ROW * (uint64_t)area->vgprs;
  wave->special_at = area->at + rows;
  wave->sgpr_count = area->sgprs;
  if (wave->first)
    area->lds_at = wave->special_at + words;
  wave->lds_at = area->lds_at;
  wave->lds_bytes = area->lds_bytes;
  return true;
}

static bool read_words(area_t *area, walk_wave_t *wave)
{
  const uint32_t sgprs = area->sgprs < FORMAT_SGPRS ? area->sgprs : FORMAT_SGPRS;
  const uint64_t hwregs_at = wave->special_at + 4 * (uint64_t)area->sgprs;
  return walk_read(area->walk, wave->special_at, wave->sgprs, 4 * sgprs, MISTAKE_SAVE_AREA) &&
         walk_read(area->walk, hwregs_at, wave->hwregs, sizeof(wave->hwregs), MISTAKE_SAVE_AREA) &&
         walk_read(area->walk, hwregs_at + sizeof(wave->hwregs), wave->ttmps, sizeof(wave->ttmps),
                   MISTAKE_SAVE_AREA);
}

static uint64_t words_64(const uint32_t *words)
{
  return words[0] | (uint64_t)words[1] << 32;
}

static uint32_t reason_of(const walk_wave_t *wave)
{
  static const uint32_t traps[] = {0, WALK_BREAKPOINT, WALK_ASSERT_TRAP, WALK_DEBUG_TRAP};
  const uint32_t trapsts = wave->hwregs[HWREG_TRAPSTS];
  uint32_t reason = wave->trap < 4 ? traps[wave->trap] : WALK_TRAP;
  if (trapsts & TRAPSTS_XNACK_ERROR)
    reason |= WALK_MEMORY_VIOLATION;
  else if (trapsts & TRAPSTS_MEM_VIOL)
    reason |= WALK_ADDRESS_ERROR;
  return reason | (trapsts & TRAPSTS_ILLEGAL ? WALK_ILLEGAL_INSTRUCTION : 0);
}

/* What the trap handler left in the TTMPs: ttmp6 of newer chips counts only if ttmp11 says so. */
static bool read_stop(area_t *area, walk_wave_t *wave)
{
  uint32_t ttmp6 = wave->ttmps[6];
  wave->pc = words_64(&wave->hwregs[HWREG_PC]);
  wave->exec = words_64(&wave->hwregs[HWREG_EXEC]);
  if (!area->chip->parks && !(wave->ttmps[11] & (uint32_t)TTMP11_VALID) &&
      !(wave->hwregs[HWREG_STATUS] & STATUS_SKIP_EXPORT)) {
    if (ttmp6 & TTMP6_STOPPED && !walk_partial(area->walk, MISTAKE_STOP_REASON, wave->special_at))
      return false;
    ttmp6 = 0;
  }
  if (ttmp6 & TTMP6_STOPPED) {
    wave->trap = ttmp6 >> TTMP6_TRAP_SHIFT & 15;
    wave->reason = reason_of(wave);
    if (area->chip->parks)
      wave->pc = wave->ttmps[7] | (uint64_t)(wave->ttmps[11] >> 7 & 0xffff) << 32;
  }
  wave->placed = !(ttmp6 & (uint32_t)TTMP6_NOT_VALID);
  return wave->pc % 4 == 0 || walk_fail(area->walk, MISTAKE_PC, wave->pc);
}

static bool has_ttmps(const area_t *area)
{
  return area->walk->runtime.ttmp_setup ||
         (!area->chip->parks && area->agent->debug_prop & FORMAT_ALWAYS_TTMPS);
}

/* The packet: an index in the ring is one of the ids in flight. */
static bool read_packet(area_t *area, walk_wave_t *wave)
{
  const walk_queue_t *queue = area->queue;
  const uint64_t packets = queue->entry.ring_bytes / FORMAT_PACKET;
  const uint64_t index = area->chip->parks ? wave->ttmps[6] & (FORMAT_MOST_PACKETS - 1)
                                           : wave->ttmps[11] >> 6 & (FORMAT_MOST_PACKETS - 1);
  unsigned char packet[FORMAT_PACKET], descriptor[FORMAT_PACKET];
  wave->packet = queue->read_id + ((index - queue->read_id) & (packets - 1));
  if (index >= packets || wave->packet < queue->read_id || wave->packet >= queue->write_id)
    return walk_fail(area->walk, MISTAKE_PACKET_ID, index);
  const uint64_t at = queue->entry.ring + index * FORMAT_PACKET;
  if (!walk_read(area->walk, at, packet, sizeof(packet), MISTAKE_PACKET))
    return false;
  memcpy(&wave->kernel, packet + FORMAT_PACKET_KERNEL, 8);
  memcpy(&wave->kernargs, packet + FORMAT_PACKET_KERNEL + 8, 8);
  memcpy(wave->group, &wave->ttmps[8], sizeof(wave->group));
  wave->index = wave->ttmps[11] & 63;
  return walk_read(area->walk, wave->kernel, descriptor, sizeof(descriptor), MISTAKE_KERNEL);
}

static bool read_scratch(area_t *area, walk_wave_t *wave, uint32_t word)
{
  const walk_queue_t *queue = area->queue;
  const uint32_t engine = word >> FORMAT_ENGINE_SHIFT & ((1u << area->chip->engine_bits) - 1);
  if (!(word & FORMAT_SCRATCH_ENABLED) || !queue->slice_bytes || !queue->per_engine)
    return true;
  const uint64_t slot = (uint64_t)queue->per_engine * engine + (word & FORMAT_SCOREBOARD);
  wave->scratch = queue->scratch + slot * queue->slice_bytes;
  if (area->chip->parks || words_64(&wave->sgprs[102]) == wave->scratch)
    return true;
  wave->scratch = 0;
  return walk_partial(area->walk, MISTAKE_FLAT_SCRATCH, wave->special_at);
}

static bool take_wave(area_t *area, uint32_t word)
{
  const walk_visitor_t *visitor = area->walk->visitor;
  walk_wave_t wave = {.chip = area->chip,
                      .queue = area->queue->index,
                      .xcc = area->xcc,
                      .first = word & FORMAT_FIRST};
  if (!area->has_state)
    return walk_fail(area->walk, MISTAKE_SAVE_AREA, area->at);
  if (wave.first == area->in_group)
    return walk_fail(area->walk, MISTAKE_GROUP, area->at);
  area->in_group = !(word & FORMAT_LAST);
  if (!place_wave(area, &wave) || !read_words(area, &wave) || !read_stop(area, &wave))
    return false;
  if (!has_ttmps(area)) {
    wave.placed = false;
    if (!walk_partial(area->walk, MISTAKE_TTMPS, wave.special_at))
      return false;
  } else if (!wave.placed && !walk_partial(area->walk, MISTAKE_WAVE_TTMPS, wave.special_at)) {
    return false;
  }
  return (!wave.placed || read_packet(area, &wave)) && read_scratch(area, &wave, word) &&
         (!visitor->wave || visitor->wave(visitor->context, &wave));
}

static bool take_word(area_t *area, uint32_t word)
{
  if (word & (uint32_t)FORMAT_STATE)
    return take_state(area, word);
  return word & FORMAT_EVENT || take_wave(area, word);
}

static bool walk_area(area_t *area)
{
  core_format_save_t header;
  if (!walk_read(area->walk, area->base, &header, sizeof(header), MISTAKE_SAVE_HEADER))
    return false;
  const uint64_t stack_end = (uint64_t)header.stack_offset + header.stack_bytes;
  if (header.waves_bytes > header.waves_end || header.waves_end - header.waves_bytes != stack_end ||
      header.stack_bytes % 4 || header.waves_end > area->queue->entry.save_area_bytes)
    return walk_fail(area->walk, MISTAKE_SAVE_HEADER, area->base);
  area->at = area->base + header.waves_end;
  area->bottom = area->base + stack_end;
  if (area->at < area->base)
    return walk_fail(area->walk, MISTAKE_SAVE_HEADER, area->base);
  for (uint64_t i = FORMAT_STACK_HEAD; i < header.stack_bytes / 4; ++i) {
    uint32_t word;
    if (!walk_read(area->walk, area->base + header.stack_offset + 4 * i, &word, sizeof(word),
                   MISTAKE_SAVE_AREA) ||
        !take_word(area, word))
      return false;
  }
  if (area->in_group)
    return walk_fail(area->walk, MISTAKE_GROUP, area->at);
  return area->at == area->bottom || walk_fail(area->walk, MISTAKE_SAVE_AREA, area->at);
}

bool walk_waves(walk_t *walk, const walk_queue_t *queue, const core_format_agent_t *agent,
                const core_chip_t *chip)
{
  for (uint32_t xcc = 0; xcc < agent->xccs; ++xcc) {
    area_t area = {.walk = walk, .queue = queue, .agent = agent, .chip = chip, .xcc = xcc};
    area.base = queue->entry.save_area + (uint64_t)xcc * queue->entry.save_area_bytes;
    if (!walk_area(&area))
      return false;
  }
  return true;
}
