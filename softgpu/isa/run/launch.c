/* Kernel descriptor and packet into initial register state. AMDGPUUsage, "Kernel Descriptor" and
 * "Initial Kernel Execution State". */
#include "softgpu/isa/run/launch.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "softgpu/device/memory.h"
#include "softgpu/isa/describe/chips.h"
#include "softgpu/isa/run/placement.h"

enum {
  PROPERTY_PRIVATE_SEGMENT_BUFFER = 1 << 0,
  PROPERTY_DISPATCH_PTR = 1 << 1,
  PROPERTY_QUEUE_PTR = 1 << 2,
  PROPERTY_KERNARG_PTR = 1 << 3,
  PROPERTY_DISPATCH_ID = 1 << 4,
  PROPERTY_FLAT_SCRATCH_INIT = 1 << 5,
  PROPERTY_PRIVATE_SEGMENT_SIZE = 1 << 6,
  PROPERTY_WAVE32 = 1 << 10,
};

enum { QUEUE_SCRATCH_DESCRIPTOR = 144 }; /* offset in amd_queue_t */

/* What a work-group gets LDS in: AMDGPUUsage, GRANULATED_LDS_SIZE. Of gfx950 it is taken to be that
 * many times larger as its LDS is. */
static uint32_t lds_unit(softgpu_chip_t chip)
{
  return softgpu_lds_bytes(chip) / 128;
}

/* The fields of the 64-byte descriptor that matter here. */
typedef struct descriptor {
  uint32_t kernarg_size, rsrc1, rsrc2, rsrc3;
  int64_t entry_offset;
  uint16_t properties, preload;
} descriptor_t;

__attribute__((format(printf, 4, 5))) static bool
refuse(softgpu_fault_t *fault, softgpu_fault_kind_t kind, uint64_t address, const char *format, ...)
{
  va_list arguments;
  *fault = (softgpu_fault_t){.kind = kind, .address = address};
  va_start(arguments, format);
  vsnprintf(fault->text, sizeof fault->text, format, arguments);
  va_end(arguments);
  return false;
}

/* Where the host has what the dispatch's device may read, or NULL. */
static const uint8_t *reach(const softgpu_dispatch_t *dispatch, uint64_t address, uint64_t bytes)
{
  return softgpu_memory_reach(dispatch->node, address, bytes, false);
}

/* Scratch memory is used without another look: it has to be there, all of it, for stores too, and
 * to stay at one address for host and device. */
static bool scratch_ok(const softgpu_dispatch_t *dispatch)
{
  const uint64_t base = dispatch->scratch_base;
  return base != 0 && base % (4 * ISA_LANES_MOST) == 0 &&
         softgpu_memory_keeps(dispatch->node, base, dispatch->scratch_bytes);
}

static descriptor_t read_descriptor(const uint8_t *at)
{
  descriptor_t d;
  memcpy(&d.kernarg_size, at + 8, 4);
  memcpy(&d.entry_offset, at + 16, 8);
  memcpy(&d.rsrc3, at + 44, 4);
  memcpy(&d.rsrc1, at + 48, 4);
  memcpy(&d.rsrc2, at + 52, 4);
  memcpy(&d.properties, at + 56, 2);
  memcpy(&d.preload, at + 58, 2);
  return d;
}

static uint32_t lanes_of(const softgpu_dispatch_t *dispatch, const descriptor_t *d)
{
  return isa_chip(dispatch->chip)->lanes == 32 && d->properties & PROPERTY_WAVE32 ? 32 : 64;
}

uint32_t softgpu_lanes(const softgpu_dispatch_t *dispatch)
{
  const uint8_t *object = reach(dispatch, dispatch->kernel_object, 64);
  const descriptor_t d = object ? read_descriptor(object) : (descriptor_t){0};
  return dispatch->chip < SOFTGPU_CHIP_OTHER ? lanes_of(dispatch, &d) : 64;
}

static bool check_geometry(const softgpu_dispatch_t *dispatch, isa_launch_t *launch,
                           softgpu_fault_t *fault)
{
  uint64_t items = 1, count = 1;
  for (unsigned i = 0; i < 3; ++i) {
    if (!dispatch->workgroup[i] || !dispatch->grid[i])
      return refuse(fault, SOFTGPU_FAULT_DISPATCH, 0, "dispatch: dimension %u is empty", i);
    items *= dispatch->workgroup[i];
    launch->groups[i] = (dispatch->grid[i] - 1) / dispatch->workgroup[i] + 1;
    if (items > 1024)
      return refuse(fault, SOFTGPU_FAULT_DISPATCH, 0,
                    "dispatch: more than 1024 work-items in a work-group");
    if (count > UINT64_MAX / 2 / launch->groups[i])
      return refuse(fault, SOFTGPU_FAULT_DISPATCH, 0, "dispatch: the grid is too large");
    count *= launch->groups[i];
  }
  launch->group_count = count;
  launch->group_waves = ((uint32_t)items - 1) / launch->limits.lanes + 1;
  const uint32_t most = softgpu_lds_bytes(dispatch->chip);
  if (dispatch->group_bytes > most)
    return refuse(fault, SOFTGPU_FAULT_DISPATCH, 0, "dispatch: %u bytes of LDS; the chip has %u",
                  dispatch->group_bytes, most);
  return true;
}

/* All waves of a work-group are on one compute unit, at the same time. (Scalar registers are enough
 * for any.) */
static bool check_room(const isa_launch_t *launch, softgpu_fault_t *fault)
{
  const uint32_t room = isa_placement_waves(launch);
  return launch->group_waves <= room ||
         refuse(
             fault, SOFTGPU_FAULT_REGISTERS, launch->dispatch.kernel_object,
             "dispatch: a work-group of %u waves with %u vector registers each; a compute unit has "
             "room for %u waves",
             launch->group_waves, launch->limits.rows, room);
}

/* From GFX10 on all scalar registers are there, and vector registers by lanes of the wave. */
static void count_registers_later(const descriptor_t *d, isa_limits_t *limits)
{
  const uint32_t total = ((d->rsrc1 & 63) + 1) * (limits->lanes == 32 ? 8 : 4);
  limits->sgprs = ISA_VCC;
  limits->rows = limits->first_agpr = total;
  limits->vgprs = total < 256 ? total : 256;
}

/* gfx90a and later share one file of vector registers, in which ACCUM_OFFSET says where a0 is. It
 * says nothing of architectural registers, which go on beyond it, to the end: AMD's attention
 * kernels for gfx942 use v235 with an ACCUM_OFFSET of 160. */
static void count_registers(const descriptor_t *d, isa_limits_t *limits)
{
  uint32_t total = ((d->rsrc1 & 63) + 1) * 8, sgprs = ((d->rsrc1 >> 6 & 15) / 2 + 1) * 16;
  uint32_t offset = ((d->rsrc3 & 63) + 1) * 4;
  limits->sgprs = sgprs < 102 ? sgprs : 102;
  limits->rows = total;
  limits->first_agpr = offset < total ? offset : total;
  limits->vgprs = total < 256 ? total : 256;
  limits->agprs = total - limits->first_agpr < 256 ? total - limits->first_agpr : 256;
}

/* --- user SGPRs --- */

typedef struct user_sgprs {
  uint32_t *s;
  unsigned next; /* beyond 16 nothing is written, the caller sees it */
} user_sgprs_t;

static void put(user_sgprs_t *user, const void *value, unsigned dwords)
{
  if (user->next + dwords <= 16)
    memcpy(&user->s[user->next], value, dwords * 4u);
  user->next += dwords;
}

/* What ROCr puts into the queue; without a queue the same for the given scratch memory: swizzled,
 * add_tid, elements of 4 bytes, by lanes. */
static void scratch_descriptor(const isa_launch_t *launch, uint32_t out[4])
{
  const softgpu_dispatch_t *dispatch = &launch->dispatch;
  const bool is_later = isa_chip(dispatch->chip)->unified_formats;
  if (dispatch->queue) {
    memcpy(out, (const uint8_t *)(uintptr_t)dispatch->queue + QUEUE_SCRATCH_DESCRIPTOR, 16);
    if (is_later) /* the packet processor fills in how many lanes the wave has */
      out[3] = (out[3] & ~(3u << 21)) | (launch->limits.lanes == 32 ? 2u : 3u) << 21;
    return;
  }
  out[0] = (uint32_t)dispatch->scratch_base;
  out[1] = (uint32_t)(dispatch->scratch_base >> 32) | 1u << 31;
  out[2] = dispatch->scratch_bytes < UINT32_MAX ? (uint32_t)dispatch->scratch_bytes : UINT32_MAX;
  if (is_later) /* 32_UINT, no bounds */
    out[3] = 0xfac | 20u << 12 | (launch->limits.lanes == 32 ? 2u : 3u) << 21 | 1u << 23 |
             1u << 24 | 2u << 28;
  else
    out[3] = 0xfac | 4u << 12 | 4u << 15 | 1u << 19 | 3u << 21 | 1u << 23;
}

static bool fill_user_sgprs(const descriptor_t *d, isa_launch_t *launch, softgpu_fault_t *fault)
{
  const softgpu_dispatch_t *dispatch = &launch->dispatch;
  user_sgprs_t user = {launch->sgprs, 0};
  uint32_t buffer[4];
  scratch_descriptor(launch, buffer);
  const struct {
    unsigned property;
    const void *value;
    unsigned dwords;
  } values[] = {
      {PROPERTY_PRIVATE_SEGMENT_BUFFER, buffer, 4},
      {PROPERTY_DISPATCH_PTR, &dispatch->packet, 2},
      {PROPERTY_QUEUE_PTR, &dispatch->queue, 2},
      {PROPERTY_KERNARG_PTR, &dispatch->kernarg, 2},
      {PROPERTY_DISPATCH_ID, &dispatch->dispatch_id, 2},
      {PROPERTY_FLAT_SCRATCH_INIT, &dispatch->scratch_base, 2},
      {PROPERTY_PRIVATE_SEGMENT_SIZE, &dispatch->private_bytes, 1},
  };
  for (size_t i = 0; i < sizeof values / sizeof *values; ++i)
    if (d->properties & values[i].property)
      put(&user, values[i].value, values[i].dwords);
  unsigned preload = d->preload & 127, from = d->preload >> 7;
  const uint8_t *kernarg =
      preload ? reach(dispatch, dispatch->kernarg, (from + preload) * 4u) : NULL;
  if (preload && !kernarg)
    return refuse(fault, SOFTGPU_FAULT_KERNARG, dispatch->kernarg,
                  "kernarg: the %u bytes to preload at 0x%llx are not in live memory that the "
                  "device may use",
                  (from + preload) * 4, (unsigned long long)dispatch->kernarg);
  if (preload)
    put(&user, kernarg + from * 4u, preload);
  if (user.next > 16 || user.next > (d->rsrc2 >> 1 & 31))
    return refuse(fault, SOFTGPU_FAULT_DISPATCH, dispatch->kernel_object,
                  "dispatch: the descriptor enables %u user SGPRs and declares %u", user.next,
                  d->rsrc2 >> 1 & 31);
  return true;
}

/* The SGPRs after the user SGPRs, in this order, each only when enabled. */
static void place_system_sgprs(const descriptor_t *d, isa_launch_t *launch)
{
  int8_t next = (int8_t)(d->rsrc2 >> 1 & 31);
  bool has_scratch_sgpr = d->rsrc2 & 1 && isa_chip(launch->limits.chip)->scratch_sgpr;
  for (unsigned i = 0; i < 3; ++i)
    launch->group_sgpr[i] = d->rsrc2 >> (7 + i) & 1 ? next++ : -1;
  launch->info_sgpr = d->rsrc2 >> 10 & 1 ? next++ : -1;
  launch->scratch_sgpr = has_scratch_sgpr ? next++ : -1;
}

static bool check_memory(const descriptor_t *d, isa_launch_t *launch, softgpu_fault_t *fault)
{
  const softgpu_dispatch_t *dispatch = &launch->dispatch;
  if (d->kernarg_size && !reach(dispatch, dispatch->kernarg, d->kernarg_size))
    return refuse(fault, SOFTGPU_FAULT_KERNARG, dispatch->kernarg,
                  "kernarg: the kernel's %u bytes at 0x%llx are not in live memory that the "
                  "device may use",
                  d->kernarg_size, (unsigned long long)dispatch->kernarg);
  launch->slice_bytes =
      ((uint64_t)dispatch->private_bytes * launch->limits.lanes + 1023) & ~1023ull;
  if (launch->slice_bytes * launch->group_waves > dispatch->scratch_bytes)
    return refuse(fault, SOFTGPU_FAULT_DISPATCH, dispatch->scratch_base,
                  "dispatch: a work-group needs %llu bytes of scratch memory; the queue has %llu",
                  (unsigned long long)(launch->slice_bytes * launch->group_waves),
                  (unsigned long long)dispatch->scratch_bytes);
  if (launch->slice_bytes && !scratch_ok(dispatch))
    return refuse(
        fault, SOFTGPU_FAULT_DISPATCH, dispatch->scratch_base,
        "dispatch: scratch memory at 0x%llx is not live, not writable by the device or not "
        "aligned to 256 bytes",
        (unsigned long long)dispatch->scratch_base);
  return true;
}

bool isa_launch_prepare(const softgpu_dispatch_t *dispatch, isa_launch_t *launch,
                        softgpu_fault_t *fault)
{
  memset(launch, 0, sizeof *launch);
  launch->dispatch = *dispatch;
  if (dispatch->chip >= SOFTGPU_CHIP_OTHER)
    return refuse(fault, SOFTGPU_FAULT_DISPATCH, 0,
                  "dispatch: softgpu does not execute this chip's instructions");
  const uint8_t *object = reach(dispatch, dispatch->kernel_object, 64);
  if (!object)
    return refuse(fault, SOFTGPU_FAULT_DISPATCH, dispatch->kernel_object,
                  "dispatch: the kernel object 0x%llx is not in live memory that the device may "
                  "use",
                  (unsigned long long)dispatch->kernel_object);
  descriptor_t d = read_descriptor(object);
  if (isa_chip(dispatch->chip)->family != ISA_FAMILY_GFX9)
    d.preload = 0; /* these bits mean nothing there */
  for (unsigned i = 0; i < 128; ++i)
    launch->sgprs[i] = (uint32_t)ISA_POISON;
  launch->limits.chip = dispatch->chip;
  launch->limits.lanes = lanes_of(dispatch, &d);
  launch->limits.node = dispatch->node;
  /* That of memory is where ranges are found, not in instructions. */
  launch->limits.checks =
      dispatch->checks & ~(uint32_t)(SOFTGPU_CHECK_MEMORY | SOFTGPU_CHECK_FREED);
  launch->entry = dispatch->kernel_object + (uint64_t)d.entry_offset;
  if (d.preload & 127)
    launch->entry += 256; /* what stands before loads the arguments for older firmware */
  launch->id_dimensions = d.rsrc2 >> 11 & 3;
  launch->mode = (d.rsrc1 >> 12 & 255) | (d.rsrc1 >> 21 & 1) << 8 | (d.rsrc1 >> 23 & 1) << 9 |
                 (d.rsrc1 >> 26 & 1) << 23;
  launch->id_rows = isa_chip(dispatch->chip)->separate_ids ? launch->id_dimensions + 1 : 1;
  if (isa_chip(dispatch->chip)->family == ISA_FAMILY_GFX9)
    count_registers(&d, &launch->limits);
  else
    count_registers_later(&d, &launch->limits);
  place_system_sgprs(&d, launch);
  return check_geometry(dispatch, launch, fault) && check_room(launch, fault) &&
         check_memory(&d, launch, fault) && fill_user_sgprs(&d, launch, fault);
}

uint32_t isa_launch_lds(const softgpu_dispatch_t *dispatch)
{
  const uint32_t bytes = dispatch->group_bytes, unit = lds_unit(dispatch->chip);
  return dispatch->checks & SOFTGPU_CHECK_LDS ? bytes : (bytes + unit - 1) / unit * unit;
}

/* --- waves --- */

/* Bit 0-5: waves of the work-group; the rest is for graphics. */
static uint32_t group_info(const uint32_t size[3], uint32_t lanes)
{
  return (size[0] * size[1] * size[2] + lanes - 1) / lanes;
}

/* (wmemset() uses the widest vectors that the processor has.) */
void isa_poison(void *memory, size_t dwords)
{
  static_assert(sizeof(wchar_t) == sizeof(uint32_t), "wide characters are dwords");
  wmemset(memory, (wchar_t)ISA_POISON, dwords);
}

void isa_launch_ids(const isa_launch_t *launch, const uint32_t size[3], uint32_t wave,
                    uint32_t *row)
{
  uint32_t flat = wave * launch->limits.lanes;
  uint32_t x = flat % size[0], y = flat / size[0] % size[1], z = flat / size[0] / size[1];
  const uint32_t keep = launch->id_dimensions >= 2 ? UINT32_MAX
                        : launch->id_dimensions    ? 0xfffff
                                                   : 0x3ff;
  const uint32_t lanes = launch->limits.lanes;
  const bool are_separate = isa_chip(launch->limits.chip)->separate_ids;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    if (!are_separate)
      row[lane] = (x | y << 10 | z << 20) & keep;
    for (unsigned i = 0; are_separate && i < launch->id_rows; ++i)
      row[i * lanes + lane] = i == 0 ? x : i == 1 ? y : z;
    if (++x == size[0]) {
      x = 0;
      ++y;
    }
    if (y == size[1]) {
      y = 0;
      ++z;
    }
  }
}

void isa_launch_wave(const isa_launch_t *launch, const uint32_t id[3], const uint32_t size[3],
                     isa_wave_t *wave)
{
  const uint32_t items = size[0] * size[1] * size[2], lanes = launch->limits.lanes;
  const uint32_t left = items - wave->index * lanes;
  memcpy(wave->s, launch->sgprs, sizeof launch->sgprs);
  for (unsigned i = 0; i < 3; ++i)
    if (launch->group_sgpr[i] >= 0)
      wave->s[launch->group_sgpr[i]] = id[i];
  if (launch->info_sgpr >= 0)
    wave->s[launch->info_sgpr] = group_info(size, lanes);
  if (launch->scratch_sgpr >= 0)
    wave->s[launch->scratch_sgpr] = (uint32_t)(wave->scratch - launch->dispatch.scratch_base);
  wave->flat_scratch = 0;
  if (isa_chip(launch->limits.chip)->architected_scratch)
    wave->flat_scratch = wave->scratch;
  else if (!isa_chip(launch->limits.chip)->scratch_sgpr)
    isa_write_s64(wave, ISA_FLAT_SCRATCH, wave->scratch);
  isa_exec_halves(wave)[1] = 0;
  isa_set_exec(wave, left >= lanes ? isa_all_lanes(lanes) : (1ull << left) - 1);
  isa_write_mask(wave, ISA_VCC, 0);
  wave->s[ISA_NULL] = 0;
  wave->sgprs = launch->limits.sgprs;
  wave->vgprs = launch->limits.vgprs;
  wave->agprs = launch->limits.agprs;
  wave->pc = launch->entry;
  wave->mode = launch->mode;
  wave->scc = 0;
  wave->vskip = false;
  wave->gpr_index_mode = 0;
  wave->stored_at = 0;
  wave->gws_waits = false;
  wave->state = ISA_WAVE_READY;
  wave->dispatch = &launch->dispatch;
  wave->private_bytes = launch->dispatch.private_bytes;
  isa_poison(wave->v, (size_t)launch->limits.rows * launch->limits.lanes);
}
