#include "softgpu/isa/memory/shadow.h"

#include "softgpu/isa/describe/memory.h"

static uint32_t pc_offset(const isa_wave_t *wave)
{
  return (uint32_t)(wave->pc - wave->entry);
}

static bool report_race(const isa_touch_t *touch, unsigned byte, unsigned other, uint32_t pc)
{
  isa_wave_t *wave = touch->wave;
  isa_wave_fault(wave, SOFTGPU_FAULT_LDS_RACE, touch->lane, touch->address + byte, 1);
  wave->fault->other_wave = other;
  wave->fault->other_pc_offset = pc;
  return false;
}

static uint8_t stored_byte(const isa_touch_t *touch, unsigned byte)
{
  return (uint8_t)(touch->words[byte / 4 * touch->apart] >> (touch->shift + byte % 4 * 8));
}

/* Where a layout is replicated, as Triton's are, each wave stores all of it: by one instruction,
 * the same bytes. Which of them is the last makes no difference. */
static bool is_replicated(const isa_touch_t *touch, const isa_shadow_cell_t *cell, unsigned byte)
{
  const isa_wave_t *wave = touch->wave;
  return touch->words && !cell->by_atomic && cell->write_pc == pc_offset(wave) &&
         stored_byte(touch, byte) == wave->lds[touch->address + byte];
}

/* Conflicts with another wave since the last barrier. Of two atomics there is none; nor is a plain
 * read of what another wave changes atomically taken for one, for that is how flags are polled. */
static bool check_race(const isa_touch_t *touch, const isa_shadow_cell_t *cell, unsigned byte)
{
  const unsigned self = touch->wave->index;
  const bool plain = !touch->is_atomic, writes = touch->writes;
  const bool written = cell->write_epoch >= touch->since && cell->writer != self;
  const bool read = cell->read_epoch >= touch->since && cell->reader != self;
  if (written && !(cell->by_atomic && (touch->is_atomic || !writes)) &&
      !is_replicated(touch, cell, byte))
    return report_race(touch, byte, cell->writer, cell->write_pc);
  if (read && writes && plain)
    return report_race(touch, byte, cell->reader, cell->read_pc);
  return true;
}

static void note(const isa_touch_t *touch, isa_shadow_cell_t *cell, uint32_t epoch, uint32_t pc)
{
  const uint8_t self = (uint8_t)touch->wave->index;
  if (touch->writes) {
    cell->write_epoch = epoch;
    cell->write_pc = pc;
    cell->writer = self;
    cell->by_atomic = touch->is_atomic;
  } else {
    const bool others = cell->read_epoch == epoch && cell->reader != self;
    cell->reader = others ? ISA_SHADOW_MANY : self;
    cell->read_epoch = epoch;
    cell->read_pc = pc;
  }
}

bool isa_shadow_check(const isa_touch_t *touch)
{
  isa_wave_t *wave = touch->wave;
  isa_shadow_t *shadow = wave->shadow;
  const uint32_t checks = wave->dispatch->checks;
  if (touch->address >= wave->lds_bytes || touch->bytes > wave->lds_bytes - touch->address)
    return true;
  for (uint32_t i = 0; i < touch->bytes; ++i) {
    isa_shadow_cell_t *cell = &shadow->cells[touch->address + i];
    if (checks & SOFTGPU_CHECK_LDS && touch->reads && cell->write_epoch == 0)
      return isa_wave_fault(wave, SOFTGPU_FAULT_LDS_UNWRITTEN, touch->lane, touch->address,
                            touch->bytes);
    if (checks & SOFTGPU_CHECK_RACES && !check_race(touch, cell, i))
      return false;
  }
  for (uint32_t i = 0; i < touch->bytes; ++i)
    note(touch, &shadow->cells[touch->address + i], shadow->epoch, pc_offset(wave));
  return true;
}

isa_touch_t isa_touch_of(isa_wave_t *wave, unsigned kind, uint32_t bytes)
{
  return (isa_touch_t){.wave = wave,
                       .bytes = bytes,
                       .since = wave->shadow ? wave->shadow->epoch : 0,
                       .reads = kind == ISA_LOAD || kind == ISA_ATOMIC,
                       .writes = kind != ISA_LOAD,
                       .is_atomic = kind == ISA_ATOMIC};
}
