#include "debug/softgpu.h"

#include <assert.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void debug_softgpu_find(void *library, debug_softgpu_t *softgpu)
{
  /* POSIX promises that an object pointer from dlsym() holds a function's address. */
  *(void **)&softgpu->fault_text = dlsym(library, "softgpu_queue_fault");
  *(void **)&softgpu->fault_info = dlsym(library, "softgpu_queue_fault_info");
  *(void **)&softgpu->waves = dlsym(library, "softgpu_waves");
  *(void **)&softgpu->waves_take = dlsym(library, "softgpu_waves_take");
  *(void **)&softgpu->memory_bound = dlsym(library, "softgpu_memory_bound");
  *(void **)&softgpu->memory_order = dlsym(library, "softgpu_memory_order");
  *(void **)&softgpu->instructions = dlsym(library, "softgpu_signal_instructions");
  *(void **)&softgpu->memory_in_place = dlsym(library, "softgpu_memory_in_place");
  *(void **)&softgpu->probe = dlsym(library, "softgpu_probe");
  *(void **)&softgpu->device_chip = dlsym(library, "softgpu_device_chip");
}

void debug_softgpu_find_loaded(debug_softgpu_t *softgpu)
{
  static const char *const names[] = {"libhsakmt.so.1", "libdtif.so"};
  void *thunk = NULL;
  for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !thunk; ++i)
    thunk = dlopen(names[i], RTLD_NOW | RTLD_NOLOAD);
  debug_softgpu_find(thunk ? thunk : RTLD_DEFAULT, softgpu);
  if (thunk)
    (void)dlclose(thunk); /* which the runtime has open */
}

rawhal_status_t debug_softgpu_target(const debug_softgpu_t *softgpu,
                                     hsa_status_t (*info)(hsa_agent_t, hsa_agent_info_t, void *),
                                     hsa_agent_t agent, rawhal_target_t *target,
                                     rawhal_error_t *error)
{
  rawhal_target_t executes;
  uint32_t node = 0, chip = 0, listed = 0;
  if (!softgpu->device_chip || info(agent, HSA_AGENT_INFO_NODE, &node) != HSA_STATUS_SUCCESS ||
      !softgpu->device_chip(node, &chip, &listed) || chip == listed)
    return RAWHAL_OK;
  char name[24];
  (void)snprintf(name, sizeof(name), "gfx%" PRIx32, chip);
  rawhal_status_t status = rawhal_target_parse(rawhal_string(name), &executes, error);
  if (status != RAWHAL_OK)
    return status;
  target->machine = executes.machine;
  memcpy(target->processor, executes.processor, sizeof(target->processor));
  return RAWHAL_OK;
}

/* What its faults are here, and whether their address is one, of memory, LDS or scratch, or a
 * trap's number. */
static const struct {
  rawhal_fault_kind_t kind;
  bool has_address;
} kinds[] = {
    [SOFTGPU_FAULT_NONE] = {RAWHAL_FAULT_PACKET, false},
    [SOFTGPU_FAULT_ILLEGAL_INSTRUCTION] = {RAWHAL_FAULT_INSTRUCTION, false},
    [SOFTGPU_FAULT_FETCH] = {RAWHAL_FAULT_FETCH, true},
    [SOFTGPU_FAULT_MEMORY] = {RAWHAL_FAULT_MEMORY, true},
    [SOFTGPU_FAULT_READ_ONLY] = {RAWHAL_FAULT_READ_ONLY, true},
    [SOFTGPU_FAULT_LDS] = {RAWHAL_FAULT_LDS, true},
    [SOFTGPU_FAULT_SCRATCH] = {RAWHAL_FAULT_SCRATCH, true},
    [SOFTGPU_FAULT_KERNARG] = {RAWHAL_FAULT_KERNARG, true},
    [SOFTGPU_FAULT_MISALIGNED] = {RAWHAL_FAULT_MISALIGNED, true},
    [SOFTGPU_FAULT_TIMEOUT] = {RAWHAL_FAULT_TIME_LIMIT, false},
    [SOFTGPU_FAULT_STOPPED] = {RAWHAL_FAULT_DESTROYED, false},
    [SOFTGPU_FAULT_DISPATCH] = {RAWHAL_FAULT_PACKET, false},
    [SOFTGPU_FAULT_LDS_UNWRITTEN] = {RAWHAL_FAULT_LDS_UNWRITTEN, true},
    [SOFTGPU_FAULT_LDS_RACE] = {RAWHAL_FAULT_LDS_RACE, true},
    [SOFTGPU_FAULT_KERNARG_MISSING] = {RAWHAL_FAULT_KERNARG, true},
    [SOFTGPU_FAULT_FOREIGN] = {RAWHAL_FAULT_NO_ACCESS, true},
    [SOFTGPU_FAULT_TRAP] = {RAWHAL_FAULT_TRAP, true},
    [SOFTGPU_FAULT_STORE_UNWRITTEN] = {RAWHAL_FAULT_INSTRUCTION, false},
    [SOFTGPU_FAULT_GWS] = {RAWHAL_FAULT_RESOURCES, false},
    [SOFTGPU_FAULT_IMAGE] = {RAWHAL_FAULT_INSTRUCTION, false},
    [SOFTGPU_FAULT_REGISTERS] = {RAWHAL_FAULT_RESOURCES, false},
    [SOFTGPU_FAULT_MEMORY_UNWRITTEN] = {RAWHAL_FAULT_UNWRITTEN, true},
    [SOFTGPU_FAULT_MOMENT] = {RAWHAL_FAULT_MOMENT, false},
};

static void add_instruction(rawhal_fault_t *fault, const softgpu_fault_info_t *info)
{
  fault->known |= RAWHAL_FAULT_KNOWS_PC;
  fault->pc = info->pc;
  fault->pc_offset = (int64_t)info->pc_offset;
  fault->wave = info->wave;
  for (int i = 0; i < 2; ++i)
    fault->instruction[i] = info->instruction[i];
  for (int d = 0; d < 3; ++d)
    fault->group[d] = info->workgroup[d];
  (void)snprintf(fault->instruction_text, sizeof(fault->instruction_text), "%.*s",
                 (int)sizeof(info->instruction_text), info->instruction_text);
}

static void add_access(rawhal_fault_t *fault, const softgpu_fault_info_t *info)
{
  fault->known |= RAWHAL_FAULT_KNOWS_ADDRESS;
  fault->address = info->address;
  fault->bytes = info->access_bytes;
  if (info->access <= SOFTGPU_ACCESS_ATOMIC)
    fault->access = (rawhal_fault_access_t)info->access; /* the same values */
  if (info->access_bytes && info->pc) {
    fault->known |= RAWHAL_FAULT_KNOWS_LANE;
    fault->lane = info->lane;
  }
  if (info->lanes_known) {
    fault->known |= RAWHAL_FAULT_KNOWS_LANES;
    fault->lanes = info->lanes;
  }
}

bool debug_softgpu_fault(const debug_softgpu_t *softgpu, const void *hsa_queue,
                         rawhal_fault_t *fault)
{
  softgpu_fault_info_t info = {0};
  if (!softgpu->fault_info || !softgpu->fault_info(hsa_queue, &info, sizeof(info)))
    return false;
  const bool is_known = info.kind < sizeof(kinds) / sizeof(*kinds);
  if (info.kind != SOFTGPU_FAULT_NONE || fault->kind == RAWHAL_FAULT_UNKNOWN)
    fault->kind = is_known ? kinds[info.kind].kind : RAWHAL_FAULT_UNKNOWN;
  fault->known |= RAWHAL_FAULT_KNOWS_DISPATCH;
  fault->packet = info.packet_index;
  fault->kernel_object = info.kernel_object;
  if (info.pc)
    add_instruction(fault, &info);
  if (is_known && kinds[info.kind].has_address)
    add_access(fault, &info);
  if (softgpu->fault_text)
    softgpu->fault_text(hsa_queue, fault->device_text, sizeof(fault->device_text));
  return true;
}

static_assert((int)SOFTGPU_ACCESS_ATOMIC == (int)RAWHAL_FAULT_ACCESS_ATOMIC, "the same values");
static_assert((int)SOFTGPU_ACCESS_WRITE == (int)RAWHAL_FAULT_ACCESS_WRITE, "the same values");
