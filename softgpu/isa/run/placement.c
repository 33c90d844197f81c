#include "softgpu/isa/run/placement.h"

#include <stdatomic.h>
#include <string.h>

#include "softgpu/isa/describe/chips.h"

enum {
  UNITS_MOST = 304,
  DEVICES_MOST = 17, /* node 0, which tests use, and SOFTGPU_MAX_GPUS */
};

/* Slots in use. One word a unit, so that taking and giving back is one exchange. */
static _Atomic uint32_t used[DEVICES_MOST][UNITS_MOST];
static _Atomic uint32_t turns[DEVICES_MOST]; /* groups go to one unit after the other */

uint32_t isa_placement_units(const softgpu_dispatch_t *dispatch, const softgpu_limits_t *limits)
{
  uint32_t units = limits->all_units;
  if (!units)
    units = isa_chip(dispatch->chip)->units;
  if (limits->units && limits->units < units)
    units = limits->units;
  return units < UNITS_MOST ? units : UNITS_MOST;
}

uint32_t isa_placement_waves(const isa_launch_t *launch)
{
  const uint32_t rows = launch->limits.rows;
  const uint32_t waves = isa_chip(launch->dispatch.chip)->simd_bytes /
                         (uint32_t)isa_launch_row(launch) / (rows ? rows : 1);
  return ISA_SIMDS * (waves < ISA_SIMD_SLOTS ? waves : ISA_SIMD_SLOTS);
}

uint32_t isa_placement_groups(const isa_launch_t *launch)
{
  const uint32_t lds = isa_launch_lds(&launch->dispatch);
  const uint32_t groups = isa_placement_waves(launch) / launch->group_waves;
  const uint32_t by_lds = lds ? softgpu_lds_bytes(launch->dispatch.chip) / lds : UINT32_MAX;
  return groups < by_lds ? groups : by_lds;
}

/* How many bits each byte has. A group begins with this, and not every build has an instruction. */
static uint32_t bits_of_bytes(uint32_t word)
{
  word -= word >> 1 & 0x55555555;
  word = (word & 0x33333333) + (word >> 2 & 0x33333333);
  return (word + (word >> 4)) & 0x0f0f0f0f;
}

/* Each wave on the SIMD that has most room. False when the unit has too little. */
static bool choose(uint32_t taken, uint32_t waves, isa_placement_t *place)
{
  const uint32_t counts = bits_of_bytes(taken);
  uint8_t busy[ISA_SIMDS];
  uint32_t all = 0;
  for (unsigned simd = 0; simd < ISA_SIMDS; ++simd)
    all += busy[simd] = (uint8_t)(counts >> 8 * simd);
  if (waves > ISA_SIMDS * ISA_SIMD_SLOTS - all)
    return false;
  place->taken = 0;
  for (uint32_t i = 0; i < waves; ++i) {
    unsigned best = 0;
    for (unsigned simd = 1; simd < ISA_SIMDS; ++simd)
      if (busy[simd] < busy[best])
        best = simd;
    const unsigned slot = (unsigned)__builtin_ctz(~((taken | place->taken) >> 8 * best));
    ++busy[best];
    place->slot[i] = (uint8_t)(8 * best + slot);
    place->taken |= 1u << place->slot[i];
  }
  return true;
}

bool isa_placement_take(uint32_t node, uint32_t units, uint32_t waves, isa_placement_t *place)
{
  const uint32_t first =
      atomic_fetch_add_explicit(&turns[node % DEVICES_MOST], 1, memory_order_relaxed);
  for (uint32_t i = 0; i < units; ++i) {
    place->unit = (uint16_t)((first + i) % units);
    _Atomic uint32_t *unit = &used[node % DEVICES_MOST][place->unit];
    uint32_t before = atomic_load_explicit(unit, memory_order_relaxed);
    while (choose(before, waves, place))
      if (atomic_compare_exchange_weak(unit, &before, before | place->taken))
        return true;
  }
  return false;
}

void isa_placement_share(uint32_t node, uint32_t units, uint32_t waves, isa_placement_t *place)
{
  place->unit = (uint16_t)(atomic_fetch_add(&turns[node % DEVICES_MOST], 1) % units);
  choose(0, waves, place);
  place->taken = 0;
}

void isa_placement_release(uint32_t node, const isa_placement_t *place)
{
  atomic_fetch_and(&used[node % DEVICES_MOST][place->unit], ~place->taken);
}

/* WAVE_ID 0-3, SIMD_ID 4-5, CU_ID 8-11, SE_ID 13-15 (LLVM's and HIP's words for gfx90a and gfx942);
 * the other fields read as 0. gfx90a has eight shader engines; gfx942 has four in each of eight
 * dies, which take turns. Of GFX10's HW_ID1 (Mesa's registers): WAVE_ID 0-4, SIMD_ID 8-9, WGP_ID
 * 10-13, SA_ID 16, SE_ID 18-19. */
uint32_t isa_placement_hw_id(softgpu_chip_t chip, const isa_placement_t *place, uint32_t wave)
{
  const uint32_t engines = isa_chip(chip)->engines;
  const uint32_t unit = place->unit / isa_chip(chip)->dies;
  const uint32_t slot = place->slot[wave];
  if (isa_chip(chip)->family != ISA_FAMILY_GFX9) /* HW_ID1 */
    return slot % ISA_SIMD_SLOTS | slot / ISA_SIMD_SLOTS << 8 | unit / 2 / engines % 16 << 10 |
           unit % 2 << 16 | unit / 2 % engines << 18;
  return slot % ISA_SIMD_SLOTS | slot / ISA_SIMD_SLOTS << 4 | unit / engines << 8 |
         unit % engines << 13;
}

uint32_t isa_placement_xcc_id(softgpu_chip_t chip, const isa_placement_t *place)
{
  return place->unit % isa_chip(chip)->dies;
}
