/* The report of a fault: one line that says what, where and how far off. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "softgpu/isa/describe/chips.h"
#include "softgpu/isa/describe/opcodes.h"
#include "softgpu/isa/memory/gws.h"
#include "softgpu/isa/memory/image.h"
#include "softgpu/isa/memory/reach.h"
#include "softgpu/isa/memory/shadow.h"
#include "softgpu/isa/run/group.h"
#include "softgpu/isa/run/width.h"

static const char *const kinds[] = {
    [SOFTGPU_FAULT_NONE] = "no fault",
    [SOFTGPU_FAULT_ILLEGAL_INSTRUCTION] = "illegal instruction",
    [SOFTGPU_FAULT_FETCH] = "instruction fetch outside of executable memory",
    [SOFTGPU_FAULT_MEMORY] = "memory access fault",
    [SOFTGPU_FAULT_READ_ONLY] = "store to read-only memory",
    [SOFTGPU_FAULT_LDS] = "access beyond the work-group's LDS",
    [SOFTGPU_FAULT_SCRATCH] = "access beyond the work-item's private segment",
    [SOFTGPU_FAULT_KERNARG] = "kernarg segment not in live memory",
    [SOFTGPU_FAULT_MISALIGNED] = "misaligned access",
    [SOFTGPU_FAULT_TIMEOUT] = "time limit exceeded",
    [SOFTGPU_FAULT_STOPPED] = "stopped",
    [SOFTGPU_FAULT_DISPATCH] = "dispatch refused",
    [SOFTGPU_FAULT_LDS_UNWRITTEN] = "read of LDS that was not written",
    [SOFTGPU_FAULT_LDS_RACE] = "race in LDS",
    [SOFTGPU_FAULT_KERNARG_MISSING] = "read of kernel arguments that were not supplied",
    [SOFTGPU_FAULT_FOREIGN] = "access to memory that the device was not given",
    [SOFTGPU_FAULT_TRAP] = "trap raised by the kernel",
    [SOFTGPU_FAULT_GWS] = "global wave sync that cannot complete",
    [SOFTGPU_FAULT_IMAGE] = "unusable image",
    [SOFTGPU_FAULT_MEMORY_UNWRITTEN] = "read of memory that was not written",
    [SOFTGPU_FAULT_MOMENT] = "stopped as asked",
    [SOFTGPU_FAULT_REGISTERS] = "work-group with more registers than a compute unit has",
    [SOFTGPU_FAULT_STORE_UNWRITTEN] = "wave ended with no s_dcache_wb after a scalar store",
};

__attribute__((format(printf, 2, 3))) static void append(softgpu_fault_t *fault, const char *format,
                                                         ...)
{
  size_t used = strlen(fault->text);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(fault->text + used, sizeof fault->text - used, format, arguments);
  va_end(arguments);
}

/* "1 byte", "4 bytes". */
static void append_bytes(softgpu_fault_t *fault, const char *before, uint64_t count)
{
  append(fault, "%s%" PRIu64 " byte%s", before, count, count == 1 ? "" : "s");
}

/* Where an address outside of live memory lies relative to the closest allocation. */
static void append_neighbour(softgpu_fault_t *fault)
{
  softgpu_allocation_t near;
  bool inside = softgpu_memory_find(fault->address, &near);
  if (inside && !softgpu_memory_present(&near, near.base, near.size))
    append(fault,
           "; the program has unmapped memory at 0x%" PRIx64 " of [0x%" PRIx64 ", +%" PRIu64
           "), which is still registered",
           near.base + near.shift, near.base, near.size);
  else if (inside) {
    append(fault, "; the allocation [0x%" PRIx64 ", +%" PRIu64 ")", near.base, near.size);
    append_bytes(fault, " ends ", near.base + near.size - fault->address);
    append(fault, " after it");
  } else if (!softgpu_memory_nearest(fault->address, &near)) {
    append(fault, "; there is no live allocation");
  } else {
    const uint64_t end = near.base + near.size;
    const bool past = fault->address >= end;
    append_bytes(fault, "; ", past ? fault->address - end : near.base - fault->address);
    append(fault, " %s [0x%" PRIx64 ", +%" PRIu64 ")", past ? "past the end of" : "before",
           near.base, near.size);
  }
}

/* Where an address is in a part of live memory that was freed before the dispatch. */
static bool append_freed(softgpu_fault_t *fault, const softgpu_dispatch_t *dispatch)
{
  softgpu_freed_t freed;
  if (!(dispatch->checks & SOFTGPU_CHECK_FREED) ||
      !softgpu_freed_find(fault->address, fault->access_bytes, dispatch->queue,
                          dispatch->dispatch_id, &freed))
    return false;
  append(fault, "; byte %" PRId64 " of %s", (int64_t)(fault->address - freed.base), freed.text);
  return true;
}

/* Where in its allocation a live address is. */
static void append_place(softgpu_fault_t *fault)
{
  softgpu_allocation_t found;
  if (softgpu_memory_next(fault->address, &found))
    append(fault, "; byte %" PRId64 " of [0x%" PRIx64 ", +%" PRIu64 ")",
           (int64_t)(fault->address - found.base), found.base, found.size);
}

/* Whose memory it is that the dispatch's device has no right to. Devices are nodes from 1 on. */
static void append_owner(softgpu_fault_t *fault, uint32_t node)
{
  softgpu_allocation_t found;
  if (!softgpu_memory_find(fault->address, &found))
    return;
  append(fault, "; in [0x%" PRIx64 ", +%" PRIu64 ") of ", found.base, found.size);
  if (found.node > 0)
    append(fault, "device %u", found.node - 1);
  else
    append(fault, "the host");
  append(fault, ", to which device %u was not given access", node - 1);
}

/* The other side of a race. */
static void append_other(softgpu_fault_t *fault)
{
  if (fault->other_wave == ISA_SHADOW_MANY)
    append(fault, ", used by several waves");
  else
    append(fault, ", used by wave %u", fault->other_wave);
  append(fault, " at entry+%u without a barrier in between", fault->other_pc_offset);
}

/* Bytes of the kernarg segment, counted from its start. */
static void append_missing(softgpu_fault_t *fault, const softgpu_dispatch_t *dispatch)
{
  const uint32_t first = dispatch->missing_from, last = dispatch->missing_to - 1;
  append(fault, ", from byte %" PRIu64 " on; ", fault->address - dispatch->kernarg);
  if (first == last)
    append(fault, "byte %u is missing", first);
  else
    append(fault, "bytes %u to %u are missing", first, last);
  append(fault, "; address 0x%" PRIx64, fault->address);
}

static void append_sync(softgpu_fault_t *fault, const softgpu_gws_t *gws)
{
  if (!gws)
    append(fault, ": the queue has no GWS resources, which queues of cooperative launches get on "
                  "gfx90a and gfx942 alone");
  else
    append(fault, ": %" PRIu64 " work-group%s, of which %" PRIu64 " can be resident at a time",
           gws->groups, gws->groups == 1 ? "" : "s", gws->most);
}

static void append_address(softgpu_fault_t *fault)
{
  append_bytes(fault, ", ", fault->access_bytes);
  append(fault, " at 0x%" PRIx64, fault->address);
}

/* Where nothing sets up flat_scratch, kernels do so first. */
static bool has_no_scratch_yet(const isa_wave_t *wave, const isa_inst_t *inst)
{
  const isa_chip_t *chip = inst ? isa_chip(inst->chip) : NULL;
  return chip && !chip->has_flat_scratch && !chip->architected_scratch && !wave->flat_scratch &&
         (inst->encoding == ISA_FLAT || inst->encoding == ISA_SCRATCH);
}

/* `inst`: NULL where it is not known. */
static void append_access(softgpu_fault_t *fault, const isa_wave_t *wave, const isa_inst_t *inst)
{
  switch (fault->kind) {
  case SOFTGPU_FAULT_MEMORY:
    append_address(fault);
    if (!append_freed(fault, wave->dispatch))
      append_neighbour(fault);
    break;
  case SOFTGPU_FAULT_FOREIGN:
    append_address(fault);
    append_owner(fault, wave->dispatch->node);
    break;
  case SOFTGPU_FAULT_MEMORY_UNWRITTEN:
    append_address(fault);
    append_place(fault);
    break;
  case SOFTGPU_FAULT_READ_ONLY:
  case SOFTGPU_FAULT_MISALIGNED:
    append_address(fault);
    break;
  case SOFTGPU_FAULT_TRAP:
    append(fault, fault->address == 2 ? ", an abort, as after a failed assertion"
                                      : ", whose number the runtime does not know");
    break;
  case SOFTGPU_FAULT_GWS:
    append_sync(fault, wave->dispatch->gws);
    break;
  case SOFTGPU_FAULT_IMAGE:
    append(fault, ": %s", isa_image_reason(fault->address));
    break;
  case SOFTGPU_FAULT_STORE_UNWRITTEN:
    append(fault, ", stored at entry+%u", fault->other_pc_offset);
    break;
  case SOFTGPU_FAULT_KERNARG_MISSING:
    append_missing(fault, wave->dispatch);
    append_neighbour(fault);
    break;
  case SOFTGPU_FAULT_LDS:
  case SOFTGPU_FAULT_LDS_UNWRITTEN:
  case SOFTGPU_FAULT_LDS_RACE:
    append_bytes(fault, ", ", fault->access_bytes);
    append(fault, " at offset %" PRIu64 " of %u", fault->address, wave->lds_bytes);
    if (fault->kind == SOFTGPU_FAULT_LDS_RACE)
      append_other(fault);
    break;
  case SOFTGPU_FAULT_SCRATCH:
    if (has_no_scratch_yet(wave, inst)) {
      append(fault, ": FLAT_SCR, where the wave's scratch memory begins, has not been set");
      break;
    }
    append_bytes(fault, ", ", fault->access_bytes);
    append(fault, " at offset %" PRId64 " of %u", (int64_t)fault->address, wave->private_bytes);
    break;
  default:
    break;
  }
}

/* The words at pc, and their text when they are an instruction. */
static bool append_instruction(softgpu_fault_t *fault, const isa_group_t *group, uint64_t pc,
                               isa_inst_t *inst)
{
  const isa_chunk_t *chunk = isa_program_chunk(group->program, pc);
  if (!chunk)
    return false;
  uint32_t slot = (uint32_t)((pc - chunk->base) / 4), left = chunk->available - slot;
  memcpy(fault->instruction, &chunk->code[slot], (left < 2 ? left : 2) * sizeof(uint32_t));
  append(fault, ": ");
  const bool is_known = isa_decode_of(group->launch->limits.chip, group->launch->limits.lanes,
                                      &chunk->code[slot], left, inst) == ISA_DECODED;
  if (is_known) {
    isa_text(inst, fault->instruction_text, sizeof fault->instruction_text);
    append(fault, "%s ", fault->instruction_text);
  }
  append(fault, "(%08x", fault->instruction[0]);
  append(fault, left < 2 ? ")" : " %08x)", fault->instruction[1]);
  return is_known;
}

/* --- which way, and which lanes --- */

static bool is_in_lds(softgpu_fault_kind_t kind)
{
  return kind == SOFTGPU_FAULT_LDS || kind == SOFTGPU_FAULT_LDS_UNWRITTEN ||
         kind == SOFTGPU_FAULT_LDS_RACE;
}

/* Those that describe/ has no access of. */
static softgpu_access_t rare_access(unsigned op)
{
  switch (op) {
  case ISA_ds_append:
  case ISA_ds_consume:
  case ISA_ds_wrap_rtn_b32:
  case ISA_ds_condxchg32_rtn_b64:
    return SOFTGPU_ACCESS_ATOMIC;
  case ISA_ds_write_addtid_b32:
    return SOFTGPU_ACCESS_WRITE;
  case ISA_ds_read_addtid_b32:
  case ISA_image_sample:
    return SOFTGPU_ACCESS_READ;
  default:
    return SOFTGPU_ACCESS_UNKNOWN;
  }
}

static softgpu_access_t access_of(const isa_inst_t *inst, softgpu_fault_kind_t kind)
{
  const isa_access_t *access = isa_access_of(inst->op);
  if (!access)
    return rare_access(inst->op);
  if (access->kind == ISA_ATOMIC)
    return SOFTGPU_ACCESS_ATOMIC;
  const bool is_from_lds = access->kind == ISA_STORE_LDS;
  const bool is_to_lds = access->kind == ISA_LOAD_LDS || (inst->mem.lds && !is_from_lds);
  if ((is_from_lds || is_to_lds) && is_in_lds(kind))
    return is_to_lds ? SOFTGPU_ACCESS_WRITE : SOFTGPU_ACCESS_READ;
  return isa_kind_writes(access->kind) ? SOFTGPU_ACCESS_WRITE : SOFTGPU_ACCESS_READ;
}

/* Of what checks find, before the instruction runs: not of a load into LDS that raced when it
 * landed. */
static bool find_lanes_of_checks(isa_wave_t *wave, isa_inst_t *inst, softgpu_fault_t *fault)
{
  const isa_access_t *access = isa_access_of(inst->op);
  const bool is_looked_at = inst->encoding >= ISA_DS && inst->encoding <= ISA_GLOBAL;
  if (!is_looked_at || !access || access->kind == ISA_LOAD_LDS)
    return false;
  inst->plan = access;
  fault->lanes = isa_width_of(wave)->checks_failing(wave, inst, fault->lane);
  return true;
}

/* Up to the lane that failed, LDS instructions and atomics have been done, and may have changed the
 * registers that they had their addresses from. */
static bool find_lanes(isa_wave_t *wave, isa_inst_t *inst, softgpu_fault_t *fault)
{
  if (fault->kind == SOFTGPU_FAULT_LDS_UNWRITTEN || fault->kind == SOFTGPU_FAULT_LDS_RACE ||
      fault->kind == SOFTGPU_FAULT_KERNARG_MISSING)
    return find_lanes_of_checks(wave, inst, fault);
  const bool is_begun = inst->encoding == ISA_DS || fault->kind == SOFTGPU_FAULT_MISALIGNED;
  return isa_width_of(wave)->reference.failing(wave, inst, is_begun ? fault->lane : 0,
                                               &fault->lanes);
}

static void note_access(softgpu_fault_t *fault, isa_wave_t *wave, isa_inst_t *inst)
{
  softgpu_fault_t other, *const described = wave->fault;
  fault->access = access_of(inst, fault->kind);
  wave->fault = &other;
  fault->lanes_known = find_lanes(wave, inst, fault);
  wave->fault = described;
  if (fault->lanes_known)
    fault->lanes |= 1ull << fault->lane;
}

void isa_fault_describe(softgpu_fault_t *fault, const isa_group_t *group, isa_wave_t *wave)
{
  isa_inst_t inst;
  fault->pc = wave->pc;
  fault->pc_offset = wave->pc - group->launch->entry;
  memcpy(fault->workgroup, group->id, sizeof fault->workgroup);
  fault->wave = wave->index;
  snprintf(fault->text, sizeof fault->text, "%s at pc 0x%" PRIx64 " (entry%+" PRId64 ")",
           kinds[fault->kind], fault->pc, (int64_t)fault->pc_offset);
  const bool is_known = append_instruction(fault, group, wave->pc, &inst);
  append(fault, ", work-group (%u, %u, %u), wave %u", group->id[0], group->id[1], group->id[2],
         wave->index);
  if (fault->access_bytes && fault->kind != SOFTGPU_FAULT_FETCH) {
    append(fault, ", lane %u", fault->lane);
    if (is_known)
      note_access(fault, wave, &inst);
  }
  append_access(fault, wave, is_known ? &inst : NULL);
}
