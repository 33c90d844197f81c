#include "softgpu/isa/memory/lds_load.h"

#include <stdlib.h>
#include <string.h>

#include "softgpu/isa/describe/memory.h"
#include "softgpu/isa/memory/shadow.h"

enum { VMCNT_MOST = 63 }; /* vmcnt has six bits; the chip issues no more before some are complete */

/* It may have landed at any time since it was issued. False for a race. */
static bool check_landing(isa_wave_t *wave, const isa_lds_load_t *load)
{
  const uint64_t pc = wave->pc;
  isa_touch_t touch = isa_touch_of(wave, ISA_STORE, 0);
  touch.since = load->epoch;
  wave->pc = load->pc;
  for (unsigned lane = 0; lane < wave->lanes; ++lane) {
    touch.lane = lane;
    touch.address = load->base + load->stride * lane;
    touch.bytes = 4u * load->dwords[lane];
    touch.words = load->words[lane];
    touch.apart = 1;
    if (touch.bytes && !isa_shadow_check(&touch))
      return false; /* the fault is at the load */
  }
  wave->pc = pc;
  return true;
}

static bool land(isa_wave_t *wave, const isa_lds_load_t *load)
{
  if (load->epoch && !check_landing(wave, load))
    return false;
  for (unsigned lane = 0; lane < wave->lanes; ++lane) {
    const uint32_t address = load->base + lane * load->stride; /* a negative base wraps */
    if (load->dwords[lane])
      memcpy(wave->lds + address, load->words[lane], 4u * load->dwords[lane]);
  }
  return true;
}

bool isa_lds_load(isa_wave_t *wave, const isa_inst_t *inst, const isa_lds_load_t *load)
{
  const bool is_checked = wave->dispatch->checks && wave->shadow;
  isa_lds_load_t *kept = malloc(sizeof *kept), now;
  isa_lds_load_t *of = kept ? kept : &now;
  *of = *load;
  of->next = NULL;
  of->number = wave->vmem_issued;
  of->pc = wave->pc - inst->dwords * 4u;
  of->epoch = is_checked ? wave->shadow->epoch : 0;
  if (!kept) /* at once is right, too */
    return isa_lds_loads_land(wave, wave->vmem_issued) && land(wave, of);
  *(wave->lds_loads ? &wave->lds_loads_last->next : &wave->lds_loads) = kept;
  wave->lds_loads_last = kept;
  return wave->vmem_issued <= VMCNT_MOST ||
         isa_lds_loads_land(wave, wave->vmem_issued - VMCNT_MOST);
}

void isa_lds_loads_await(isa_wave_t *wave, unsigned count)
{
  if (!wave->lds_loads || wave->lds_loads->number + count > wave->vmem_issued)
    return;
  wave->vmem_awaited = wave->vmem_issued - count;
  wave->budget = 0;
}

bool isa_lds_loads_land(isa_wave_t *wave, uint64_t last)
{
  isa_lds_load_t *load;
  bool ok = true;
  while (ok && (load = wave->lds_loads) && load->number <= last) {
    ok = land(wave, load);
    wave->lds_loads = load->next;
    free(load);
  }
  return ok;
}

void isa_lds_loads_drop(isa_wave_t *wave)
{
  for (isa_lds_load_t *load; (load = wave->lds_loads);) {
    wave->lds_loads = load->next;
    free(load);
  }
}
