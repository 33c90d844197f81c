#include "softgpu/isa/memory/gws.h"

#include <string.h>

void isa_gws_open(softgpu_gws_t *gws)
{
  memset(gws, 0, sizeof *gws);
  pthread_mutex_init(&gws->lock, NULL);
}

void isa_gws_close(softgpu_gws_t *gws)
{
  pthread_mutex_destroy(&gws->lock);
}

void isa_gws_begin(softgpu_gws_t *gws, uint64_t groups, uint64_t most, uint32_t group_waves)
{
  pthread_mutex_lock(&gws->lock);
  for (unsigned i = 0; i < ISA_GWS_RESOURCES; ++i)
    gws->resources[i].released = gws->resources[i].queued;
  gws->groups = groups;
  gws->most = most;
  gws->group_waves = group_waves;
  pthread_mutex_unlock(&gws->lock);
}

/* Whether those that a barrier waits for can all be there. When not all groups can, it is enough to
 * know of two cases: one wave of each group, which is HIP's grid.sync(), and more waves than there
 * can be. */
static bool can_complete(const softgpu_gws_t *gws, uint32_t value)
{
  const uint64_t waves = (uint64_t)value + 1;
  return gws->groups <= gws->most ||
         (waves != gws->groups && waves <= gws->most * gws->group_waves);
}

/* Whether the wave goes on. The last one to arrive says how many come to the next barrier. */
static bool barrier(isa_wave_t *wave, isa_gws_resource_t *r, uint32_t value)
{
  if (wave->gws_waits)
    return r->barriers != wave->gws_ticket;
  if (r->counter == 0) {
    ++r->barriers;
    r->counter = value;
    return true;
  }
  --r->counter;
  wave->gws_ticket = r->barriers;
  return false;
}

static bool take(isa_wave_t *wave, isa_gws_resource_t *r)
{
  if (wave->gws_waits)
    return r->released > wave->gws_ticket;
  if (r->counter > 0) {
    --r->counter;
    return true;
  }
  wave->gws_ticket = r->queued++;
  return false;
}

/* Those that wait have it before those that come. */
static void give(isa_gws_resource_t *r, uint32_t count)
{
  const uint64_t waiting = r->queued - r->released;
  const uint32_t handed = waiting < count ? (uint32_t)waiting : count;
  r->released += handed;
  r->counter += count - handed;
}

static bool operate(isa_wave_t *wave, unsigned op, isa_gws_resource_t *r, uint32_t value)
{
  switch (op) {
  case ISA_ds_gws_init:
    r->counter = value;
    return true;
  case ISA_ds_gws_barrier:
    return barrier(wave, r, value);
  case ISA_ds_gws_sema_p:
    return take(wave, r);
  case ISA_ds_gws_sema_v:
    give(r, 1);
    return true;
  case ISA_ds_gws_sema_br:
    give(r, value);
    return true;
  default: /* ds_gws_sema_release_all */
    r->released = r->queued;
    return true;
  }
}

bool isa_gws_run(isa_wave_t *wave, const isa_inst_t *inst, uint32_t resource, uint32_t value)
{
  softgpu_gws_t *gws = wave->dispatch->gws;
  if (!gws || (inst->op == ISA_ds_gws_barrier && !can_complete(gws, value)))
    return isa_wave_fault(wave, SOFTGPU_FAULT_GWS, 0, 0, 0);
  pthread_mutex_lock(&gws->lock);
  const bool goes_on =
      operate(wave, inst->op, &gws->resources[resource % ISA_GWS_RESOURCES], value);
  pthread_mutex_unlock(&gws->lock);
  wave->gws_waits = !goes_on;
  if (!goes_on) {
    wave->pc -= inst->dwords * 4u;
    wave->budget = 0; /* the others' turn */
    ++wave->thread->tried_again;
  }
  return true;
}
