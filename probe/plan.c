#include "probe/plan.h"

#include "probe/object.h"

#include "base/checked.h"
#include "base/error.h"
#include "base/sized.h"
#include "hsaco/preload.h"

#include <string.h>

enum {
  ALL_KINDS = RAWHAL_PROBE_WAVES | RAWHAL_PROBE_BLOCKS | RAWHAL_PROBE_EDGES | RAWHAL_PROBE_EXEC |
              STUB_EVENTS,
  ARGUMENT_ALIGNMENT = 16,
  MOST_VALUES = 64,
  MOST_KERNARGS = 1 << 20, /* bytes; an offset of scalar memory has 20 bits */
};

/* ---- What there is ---- */

static bool is_known(const rawhal_hsaco_t *object)
{
  static const char *const processors[] = {"gfx90a", "gfx942", "gfx950"};
  for (size_t i = 0; i < sizeof(processors) / sizeof(processors[0]); ++i)
    if (!strcmp(object->info.target.processor, processors[i]))
      return true;
  return false;
}

rawhal_status_t plan_check(const rawhal_kernel_t *kernel, rawhal_error_t *error)
{
  if (!kernel->object)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "the kernel is of no code object");
  if (!kernel->usable || !kernel->descriptor)
    return rawhal_fail(error, RAWHAL_UNSUPPORTED, "it cannot be used: %.*s",
                       RAWHAL_STRING_ARGS(kernel->unusable_reason));
  if (!is_known(kernel->object))
    return rawhal_fail(
        error, RAWHAL_UNSUPPORTED, "it is for %s; probes are for gfx90a, gfx942 and gfx950",
        kernel->object->info.target.processor[0] ? kernel->object->info.target.processor
                                                 : "an unknown processor");
  if (object_is_probed(kernel->object))
    return rawhal_fail(error, RAWHAL_UNSUPPORTED, "it has probes already");
  return RAWHAL_OK;
}

/* What stands before the first instruction loads the arguments itself, and goes there. */
static rawhal_status_t check_preamble(const walk_t *walk, rawhal_error_t *error)
{
  for (uint64_t at = 0; at < PRELOAD_PROLOGUE / 4;) {
    code_t code;
    const bool known =
        at < walk->available && code_decode(walk->code + at * 4, walk->available - at, &code);
    const uint64_t next = known ? at + code.dwords : 0;
    if (known && code.flow == CODE_JUMPS &&
        (int64_t)next + code_distance(&code) == PRELOAD_PROLOGUE / 4)
      return RAWHAL_OK;
    if (!known || code.flow != CODE_STRAIGHT || next > PRELOAD_PROLOGUE / 4)
      return rawhal_fail_at(error, RAWHAL_UNSUPPORTED, walk->offset + at * 4,
                            "what stands before its first instruction, where arguments are "
                            "preloaded, does not lead to it");
    at = next;
  }
  return RAWHAL_OK;
}

rawhal_status_t plan_code(const rawhal_kernel_t *kernel, walk_t *walk, uint32_t *preamble,
                          rawhal_error_t *error)
{
  const rawhal_hsaco_t *object = kernel->object;
  const uint64_t entry = kernel->descriptor->entry;
  const Elf64_Phdr *segment = elf_view_segment_at(&object->elf, entry);
  if (!segment || !(segment->p_flags & PF_X) || entry - segment->p_vaddr >= segment->p_filesz)
    return rawhal_fail(error, RAWHAL_MALFORMED, "its code is not in the object");
  const uint64_t inside = entry - segment->p_vaddr, left = segment->p_filesz - inside;
  const unsigned char *code = elf_view_range(&object->elf, segment->p_offset + inside, left);
  if (!code)
    return rawhal_fail(error, RAWHAL_MALFORMED, "its code is not in the object");
  *walk = (walk_t){.allocator = hsaco_allocator(object),
                   .code = code,
                   .available = left / 4,
                   .offset = segment->p_offset + inside};
  *preamble = preload_prologue(kernel->descriptor);
  if (!*preamble)
    return RAWHAL_OK;
  rawhal_status_t status = check_preamble(walk, error);
  if (status == RAWHAL_OK && walk->available <= PRELOAD_PROLOGUE / 4)
    status = rawhal_fail(error, RAWHAL_MALFORMED, "its code is not in the object");
  if (status != RAWHAL_OK)
    return status;
  walk->code += PRELOAD_PROLOGUE;
  walk->offset += PRELOAD_PROLOGUE;
  walk->available -= PRELOAD_PROLOGUE / 4;
  return RAWHAL_OK;
}

/* Code that the loader changes is not what was walked. */
static rawhal_status_t check_relocations(const rawhal_probe_plan_t *plan, rawhal_error_t *error)
{
  const rawhal_hsaco_t *object = plan->info.kernel->object;
  const uint64_t first = plan->info.kernel->descriptor->entry;
  for (size_t i = 0; i < object->info.relocation_count; ++i) {
    const uint64_t address = object->relocations[i].address;
    if (address + 7 >= first && address < first + plan->preamble + plan->walk.end * UINT64_C(4))
      return rawhal_fail(error, RAWHAL_UNSUPPORTED,
                         "its code at +0x%llx has a relocation that the loader applies",
                         (unsigned long long)(address - first));
  }
  return RAWHAL_OK;
}

rawhal_status_t plan_argument(const rawhal_kernel_t *kernel, uint32_t *place, rawhal_error_t *error)
{
  uint64_t end = kernel->kernarg_segment_size, offset;
  if (kernel->descriptor->kernarg_size > end)
    end = kernel->descriptor->kernarg_size;
  for (uint32_t i = 0; i < kernel->argument_count; ++i) {
    const uint64_t argument = (uint64_t)kernel->arguments[i].offset + kernel->arguments[i].size;
    end = argument > end ? argument : end;
  }
  if (!end && !kernel->has_arguments)
    return rawhal_fail(error, RAWHAL_UNSUPPORTED, "what arguments it takes is not known");
  if (!checked_align_u64(end, ARGUMENT_ALIGNMENT, &offset) ||
      offset + sizeof(rawhal_probe_argument_t) > MOST_KERNARGS)
    return rawhal_fail(error, RAWHAL_UNSUPPORTED, "its arguments take %llu bytes; at most %d",
                       (unsigned long long)end, MOST_KERNARGS);
  *place = (uint32_t)offset;
  return RAWHAL_OK;
}

/* ---- Planning ---- */

static rawhal_status_t take_spec(const rawhal_probe_spec_t *given, rawhal_probe_spec_t *spec,
                                 rawhal_error_t *error)
{
  rawhal_status_t status = SIZED_TAKE(spec, given, value_count, error);
  if (status != RAWHAL_OK)
    return status;
  if (!spec->kinds || spec->kinds & ~(uint32_t)ALL_KINDS)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "kinds of probes 0x%x: %s", spec->kinds,
                       spec->kinds ? "not all of them are known" : "there is none");
  if (spec->flags & ~(uint32_t)(RAWHAL_PROBE_KEEP_IN_LANES | RAWHAL_PROBE_KEEP_IN_SCRATCH |
                                RAWHAL_PROBE_POINTS_ONLY | RAWHAL_PROBE_LEND_TO_AGPR |
                                RAWHAL_PROBE_LEND_TO_SCRATCH))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "unknown flags 0x%x", spec->flags);
  if (spec->value_count && !spec->values)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%zu values, and no array",
                       spec->value_count);
  if (spec->value_count > MOST_VALUES)
    return rawhal_fail(error, RAWHAL_CAP_EXCEEDED, "%zu values; at most %d", spec->value_count,
                       MOST_VALUES);
  if (!(spec->kinds & RAWHAL_PROBE_VALUES) != !spec->value_count)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%zu values, and kinds of probes 0x%x",
                       spec->value_count, spec->kinds);
  if (spec->kinds & RAWHAL_PROBE_EXEC)
    spec->kinds |= RAWHAL_PROBE_BLOCKS;
  if (spec->kinds & STUB_EVENTS)
    spec->kinds |= RAWHAL_PROBE_WAVES;
  return RAWHAL_OK;
}

static rawhal_status_t fill(rawhal_probe_plan_t *plan, const rawhal_probe_spec_t *spec,
                            rawhal_error_t *error)
{
  const rawhal_kernel_t *kernel = plan->info.kernel;
  rawhal_status_t status = plan_code(kernel, &plan->walk, &plan->preamble, error);
  if (status == RAWHAL_OK)
    status = plan_entry(kernel, &plan->stubs, error);
  if (status == RAWHAL_OK)
    status = plan_argument(kernel, &plan->info.argument_offset, error);
  if (status == RAWHAL_OK)
    status = walk_open(&plan->walk, error);
  plan->stubs.argument_offset = plan->info.argument_offset;
  plan->info.kernarg_size = plan->info.argument_offset + (uint32_t)sizeof(rawhal_probe_argument_t);
  plan->stubs.has_modes = plan->walk.registers.has_modes;
  if (status == RAWHAL_OK)
    status = check_relocations(plan, error);
  if (status == RAWHAL_OK)
    status = plan_points(plan, spec, error);
  return status == RAWHAL_OK ? plan_registers(plan, spec->flags, error) : status;
}

rawhal_status_t rawhal_probe_plan(const rawhal_kernel_t *kernel, const rawhal_probe_spec_t *given,
                                  rawhal_probe_plan_t **out, rawhal_error_t *error)
{
  rawhal_probe_spec_t spec;
  *out = NULL;
  if (!kernel)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "no kernel");
  rawhal_status_t status = take_spec(given, &spec, error);
  if (status == RAWHAL_OK)
    status = plan_check(kernel, error);
  if (status != RAWHAL_OK)
    return status;
  const allocator_t *allocator = hsaco_allocator(kernel->object);
  rawhal_probe_plan_t *plan = allocate_zeroed(allocator, 1, sizeof(*plan));
  if (!plan)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a plan");
  plan->allocator = allocator;
  plan->info.kernel = kernel;
  plan->info.kinds = plan->stubs.kinds = spec.kinds;
  status = fill(plan, &spec, error);
  if (status != RAWHAL_OK) {
    rawhal_probe_plan_destroy(plan);
    return status;
  }
  plan->info.instructions = plan->walk.count;
  plan->info.blocks = plan->walk.blocks;
  plan->info.code_bytes = plan->walk.end * 4;
  plan->info.reads_pc = plan->walk.reads_pc;
  *out = plan;
  return RAWHAL_OK;
}

void rawhal_probe_plan_destroy(rawhal_probe_plan_t *plan)
{
  if (!plan)
    return;
  const allocator_t *allocator = plan->allocator;
  walk_close(&plan->walk);
  allocate_free(allocator, plan->points);
  allocate_free(allocator, plan);
}

const rawhal_probe_plan_info_t *rawhal_probe_plan_info(const rawhal_probe_plan_t *plan)
{
  return plan ? &plan->info : NULL;
}

uint64_t rawhal_probe_buffer_bytes(const rawhal_probe_plan_t *plan, uint32_t wave_capacity)
{
  /* Its place is a number of 32 bits, shifted by 6. */
  if (!plan || wave_capacity >= UINT32_C(1) << 26)
    return UINT64_MAX;
  return plan->stubs.waves_offset + wave_capacity * (uint64_t)sizeof(rawhal_probe_wave_t);
}
