/* An engine behind bench/engine/engine.h. ENGINE_MEMORY_H and ENGINE_THREADS_H are where its
 * checkout has the two headers; ENGINE_VALU_H, where builds can be chosen, is that of today. */
#include "bench/engine/engine.h"

#include <string.h>

#include ENGINE_MEMORY_H
#include ENGINE_THREADS_H
#include "softgpu/execute.h"
#ifdef ENGINE_VALU_H
#include ENGINE_VALU_H
#endif

/* One from history takes the best build that it has; which those are, its shared object says. */
static bool use(engine_host_t host)
{
#ifdef ENGINE_VALU_H
  static const isa_valu_host_t hosts[] = {
      [ENGINE_PORTABLE] = ISA_VALU_PORTABLE,
      [ENGINE_AVX2] = ISA_VALU_AVX2,
      [ENGINE_AVX512] = ISA_VALU_AVX512,
  };
  const valu_build_t *build = isa_valu_build_of(hosts[host]);
  if (build)
    isa_valu_use(build);
  softgpu_invalidate_code(); /* what was prepared for another build */
  return build != NULL;
#else
  (void)host;
  return true;
#endif
}

static bool add(void *memory, size_t bytes, bool is_code)
{
  const softgpu_allocation_t allocation = {
      .base = (uintptr_t)memory,
      .size = bytes,
      .flags = is_code ? SOFTGPU_MEMORY_EXECUTE : SOFTGPU_MEMORY_WRITE,
      .node = 1,
  };
  return softgpu_memory_add(&allocation);
}

static bool remove_memory(void *memory)
{
  return softgpu_memory_remove((uintptr_t)memory);
}

static bool run(const engine_dispatch_t *dispatch, char *why, size_t size)
{
  softgpu_dispatch_t full = {
      .chip = SOFTGPU_GFX90A,
#ifdef ENGINE_VALU_H
      .sram_ecc = true, /* as the chip is listed */
#endif
      .kernel_object = dispatch->kernel_object,
      .kernarg = dispatch->kernarg,
      .packet = dispatch->packet,
      .group_bytes = dispatch->group_bytes,
      .shared_aperture_hi = 0x10000,
      .private_aperture_hi = 0x20000,
  };
  memcpy(full.grid, dispatch->grid, sizeof full.grid);
  memcpy(full.workgroup, dispatch->workgroup, sizeof full.workgroup);
  softgpu_limits_t limits = {0};
  softgpu_fault_t fault;
  if (softgpu_execute(&full, &limits, &fault))
    return true;
  const size_t length = strnlen(fault.text, sizeof fault.text);
  const size_t kept = length < size ? length : size - 1;
  memcpy(why, fault.text, kept);
  why[kept] = '\0';
  return false;
}

const engine_t *bench_engine(void);

__attribute__((visibility("default"))) const engine_t *bench_engine(void)
{
  static const engine_t engine = {
      use, add, remove_memory, softgpu_engine_threads, run, softgpu_instruction_count,
  };
  return &engine;
}
