#include "probe/object.h"
#include "probe/plan.h"
#include "probe/weave.h"

#include "base/error.h"

enum { PREFETCHED = 64 }; /* dwords behind the last instruction, which hardware may read */

static weave_t weave_of(const rawhal_probe_plan_t *plan, uint64_t original)
{
  return (weave_t){.walk = &plan->walk,
                   .stubs = &plan->stubs,
                   .points = plan->points,
                   .point_count = plan->info.point_count,
                   .original = original};
}

/* What stands before the first instruction, the kernel, and what hardware prefetches. */
static rawhal_status_t make_code(const rawhal_probe_plan_t *plan, uint64_t original, emit_t *code,
                                 rawhal_error_t *error)
{
  const weave_t weave = weave_of(plan, original);
  for (uint32_t i = 0; i < plan->preamble / 4; ++i) {
    uint32_t dword;
    memcpy(&dword, plan->walk.code - plan->preamble + i * 4, sizeof(dword));
    emit_dwords(code, &dword, 1);
  }
  rawhal_status_t status = weave_code(&weave, code, NULL, error);
  for (int i = 0; i < PREFETCHED && status == RAWHAL_OK; ++i)
    emit_sopp(code, EMIT_s_nop, 0);
  if (status == RAWHAL_OK && code->failed)
    status = rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for the probed code");
  return status;
}

static rawhal_status_t check_plan(const rawhal_probe_plan_t *plan, rawhal_error_t *error)
{
  if (!plan)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "no plan");
  if (plan->has_only_points)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "the plan has points, and no registers");
  return RAWHAL_OK;
}

rawhal_status_t rawhal_probe_apply(const rawhal_probe_plan_t *plan, uint64_t load_delta,
                                   rawhal_bytes_t *bytes, rawhal_error_t *error)
{
  *bytes = (rawhal_bytes_t){0};
  rawhal_status_t status = check_plan(plan, error);
  if (status != RAWHAL_OK)
    return status;
  if (plan->info.reads_pc && load_delta == RAWHAL_PROBE_NOWHERE)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "the kernel reads its PC: where the original is loaded has to be known");
  const uint64_t original =
      load_delta == RAWHAL_PROBE_NOWHERE
          ? 0
          : load_delta + plan->info.kernel->descriptor->entry + plan->preamble;
  emit_t code = {.allocator = plan->allocator};
  unsigned char descriptor[DESCRIPTOR_SIZE];
  memcpy(descriptor, plan->descriptor, sizeof(descriptor));
  status = make_code(plan, original, &code, error);
  if (status == RAWHAL_OK) {
    const object_parts_t parts = {plan->info.kernel, descriptor, code.dwords, code.count};
    status = object_write(&parts, bytes, error);
  }
  emit_free(&code);
  return status;
}

rawhal_status_t rawhal_probe_origin(const rawhal_probe_plan_t *plan, uint64_t offset,
                                    uint32_t *original, bool *is_probe, rawhal_error_t *error)
{
  *original = 0;
  *is_probe = false;
  rawhal_status_t status = check_plan(plan, error);
  if (status != RAWHAL_OK)
    return status;
  emit_t code = {.allocator = plan->allocator};
  const weave_t weave = weave_of(plan, 0);
  weave_origin_t origin = {.dword = offset / 4 < UINT32_MAX ? (uint32_t)(offset / 4) : UINT32_MAX};
  status = weave_code(&weave, &code, &origin, error);
  emit_free(&code);
  if (status != RAWHAL_OK)
    return status;
  *original = plan->walk.instructions[origin.instruction].at * 4;
  *is_probe = origin.is_probe;
  return RAWHAL_OK;
}

void rawhal_probe_free(const rawhal_probe_plan_t *plan, rawhal_bytes_t *bytes)
{
  if (!plan || !bytes)
    return;
  allocate_free(plan->allocator, (void *)(uintptr_t)bytes->data);
  *bytes = (rawhal_bytes_t){0};
}
