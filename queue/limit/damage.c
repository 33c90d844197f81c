/* Leaving a region that is damaged. */
#include "queue/limit/damage.h"

#include "queue/limit/complete.h"
#include "queue/limit/damage_find.h"
#include "queue/limit/node.h"
#include "queue/limit/region_lock.h"
#include "queue/limit/rules.h"

#include "base/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

const char *damage_text(damage_kind_t kind)
{
  static const char *const texts[DAMAGE_KINDS] = {
      [DAMAGE_NONE] = "nothing",
      [DAMAGE_HEADER] = "its header",
      [DAMAGE_COUNTS] = "the number of its members or of changes",
      [DAMAGE_DEVICE] = "what it says of a device",
      [DAMAGE_TENANT] = "what it says of a tenant",
      [DAMAGE_SLOT] = "what it says of a process",
      [DAMAGE_CLOCK] = "a clock, which says that more was used than was charged",
      [DAMAGE_TURNS] = "whose turn it is",
      [DAMAGE_MEMORY] = "how much memory is used",
      [DAMAGE_RULES] = "which limits are in force",
      [DAMAGE_OTHERS] = "what another process shows of itself"};
  return kind < DAMAGE_KINDS ? texts[kind] : "something";
}

/* ---- Beginning and end ---- */

rawhal_status_t damage_begin(rawhal_limiter_t *limiter, rawhal_error_t *error)
{
  damage_watch_t *watch = &limiter->damage;
  atomic_store(&watch->next_at, UINT64_MAX);
  if (limiter->region.fd < 0)
    return RAWHAL_OK;
  void *own = mmap(NULL, sizeof(region_data_t), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (own == MAP_FAILED)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a limiter");
  watch->own = own;
  watch->state = atomic_load(&limiter->me->hot.state);
  watch->number = atomic_load(&limiter->me->ledger.number);
  damage_own_changed(limiter);
  damage_remember(limiter, limiter_now(limiter));
  atomic_store(&watch->next_at, 0);
  return RAWHAL_OK;
}

void damage_end(rawhal_limiter_t *limiter)
{
  if (limiter->damage.own)
    munmap(limiter->damage.own, sizeof(region_data_t));
  limiter->damage.own = NULL;
}

void damage_own_changed(rawhal_limiter_t *limiter)
{
  limiter->damage.words = damage_words(limiter->me);
}

rawhal_status_t damage_refuse(const region_data_t *data, rawhal_error_t *error)
{
  const uint64_t at = node_load(&data->header.damaged_at);
  if (at == 0)
    return RAWHAL_OK;
  return rawhal_fail(error, RAWHAL_MALFORMED,
                     "the region was damaged by one of those who are in it (%s): none may join it. "
                     "A new one is needed, as of `rawhal broker --new`",
                     damage_text((damage_kind_t)(node_load(&data->header.damage) >> 32)));
}

void limit_watch_damage(rawhal_limiter_t *limiter, limit_damage_fn *told, void *context)
{
  pthread_mutex_lock(&limiter->lock);
  limiter->damage.told = told;
  limiter->damage.context = context;
  pthread_mutex_unlock(&limiter->lock);
}

/* ---- What takes its place ---- */

/* A part of what is shared by `of` that are alike, or by weights. */
static uint64_t part_of(uint64_t whole, uint64_t part, uint64_t of)
{
  return of <= part ? whole : (uint64_t)((unsigned __int128)whole * part / of);
}

static void set_node(region_node_t *node, const damage_watch_t *watch, int clock, uint64_t share)
{
  const damage_seen_t *seen = &watch->seen;
  atomic_store(&node->share, share);
  atomic_store(&node->tat_share, share && share < REGION_SHARE_ONE ? share : REGION_SHARE_ONE);
  atomic_store(&node->burst, seen->burst[clock]);
  atomic_store(&node->tat, seen->tat[clock]);
  atomic_store(&node->rate, RAWHAL_UNLIMITED);
}

/* With asks, as if an operator held the part that is ours: a program makes it stricter at most. */
static void fill_device(const rawhal_limiter_t *limiter, region_data_t *own)
{
  const damage_watch_t *watch = &limiter->damage;
  region_device_t *device = &own->devices[limiter->device_index];
  uint64_t share = watch->seen.share[DAMAGE_DEVICE_CLOCK];
  if (share < REGION_SHARE_ONE)
    share = part_of(share, 1, watch->seen.tenants);
  memcpy(device->name, limiter->device_name, sizeof(device->name));
  set_node(&device->node, watch, DAMAGE_DEVICE_CLOCK, share);
  rules_store(&device->asks, ASK_DEVICE_SHARE, share);
  rules_store(&device->asks, ASK_BURST, watch->seen.burst[DAMAGE_DEVICE_CLOCK]);
  atomic_store(&device->state, REGION_LIVE);
}

static uint64_t used_units(const damage_watch_t *watch)
{
  uint64_t sum = 0;
  for (int i = 0; i < LEDGER_CLASSES; ++i)
    sum += watch->used[i];
  return sum;
}

/* What it has, and its part of what the tenant had left. */
static uint64_t memory_limit_of(const damage_watch_t *watch, uint64_t weight)
{
  const damage_seen_t *seen = &watch->seen;
  if (seen->memory_limit == REGION_NO_MEMORY)
    return REGION_NO_MEMORY;
  const uint64_t left = seen->memory_limit > seen->units ? seen->memory_limit - seen->units : 0;
  return used_units(watch) + part_of(left, weight, seen->weights);
}

static void fill_tenant(const rawhal_limiter_t *limiter, region_data_t *own, uint64_t weight)
{
  const damage_watch_t *watch = &limiter->damage;
  const damage_seen_t *seen = &watch->seen;
  region_tenant_t *tenant = &own->tenants[limiter->tenant_index];
  uint64_t share = seen->share[DAMAGE_TENANT_CLOCK], rate = seen->rate;
  if (share < REGION_SHARE_ONE)
    share = part_of(share, weight, seen->weights);
  if (rate != RAWHAL_UNLIMITED)
    rate = part_of(rate, weight, seen->weights);
  memcpy(tenant->name, limiter->tenant_name, sizeof(tenant->name));
  atomic_store(&tenant->device, limiter->device_index);
  atomic_store(&tenant->suspended, (uint32_t)seen->suspended);
  atomic_store(&tenant->charging, seen->charging);
  set_node(&tenant->node, watch, DAMAGE_TENANT_CLOCK, share);
  atomic_store(&tenant->node.rate, rate);
  atomic_store(&tenant->node.rate_tat, seen->rate_tat);
  atomic_store(&tenant->memory_limit, memory_limit_of(watch, weight));
  tenant->memory.units = used_units(watch);
  rules_store(&tenant->asks, ASK_SHARE, share < REGION_SHARE_ONE ? share : UINT64_MAX);
  rules_store(&tenant->asks, ASK_RATE, rate);
  rules_store(&tenant->asks, ASK_MEMORY, atomic_load(&tenant->memory_limit));
  rules_store(&tenant->asks, ASK_CHARGING, seen->charging);
  rules_store(&tenant->asks, ASK_BURST, seen->burst[DAMAGE_TENANT_CLOCK]);
  atomic_store(&tenant->state, REGION_LIVE);
}

static void fill_member(const rawhal_limiter_t *limiter, region_data_t *own, uint64_t weight)
{
  const damage_watch_t *watch = &limiter->damage;
  region_member_t *me = &own->members[limiter->slot];
  atomic_store(&me->device, limiter->device_index);
  atomic_store(&me->tenant, limiter->tenant_index);
  atomic_store(&me->weight, weight);
  atomic_store(&me->weight_most, weight);
  atomic_store(&me->priority, RAWHAL_PRIORITY_NORMAL);
  atomic_store(&me->pid, limiter->self.pid);
  atomic_store(&me->pid_namespace, limiter->self.pid_namespace);
  atomic_store(&me->start_time, limiter->self.start_time);
  atomic_store(&me->time_namespace, limiter->self.time_namespace);
  set_node(&me->node, watch, DAMAGE_PROCESS_CLOCK, watch->seen.share[DAMAGE_PROCESS_CLOCK]);
  for (int i = 0; i < REGION_ASKS; ++i)
    atomic_store(&me->asks.of[i], watch->seen.own[i]);
  for (int i = 0; i < LEDGER_CLASSES; ++i)
    atomic_store(&me->ledger.used[i], watch->used[i]);
  atomic_store(&me->ledger.limit, watch->seen.own_memory);
  atomic_store(&me->hot.state, watch->state);
}

/* ---- Who ---- */

/* Those who can have done it: all that were in the region when nothing was wrong. What they are
 * called is their own word. */
static void name_others(const damage_seen_t *seen, char *text, size_t size)
{
  size_t used = 0;
  *text = '\0';
  for (uint32_t i = 0; i < seen->other_count && i < DAMAGE_NAMED && used < size; ++i)
    used += (size_t)snprintf(text + used, size - used, "process %" PRIu64 " of '%s', ",
                             seen->others[i].pid, seen->others[i].tenant);
  if (seen->other_count > DAMAGE_NAMED && used < size)
    snprintf(text + used, size - used, "%" PRIu32 " more, ", seen->other_count - DAMAGE_NAMED);
}

static void tell_program(rawhal_limiter_t *limiter, damage_kind_t kind, const char *others)
{
  char text[1024], share[32], memory[32];
  rawhal_limit_format(RAWHAL_LIMIT_GPU_SHARE, rawhal_limiter_get(limiter, RAWHAL_LIMIT_GPU_SHARE),
                      share, sizeof(share));
  rawhal_limit_format(RAWHAL_LIMIT_MEMORY, rawhal_limiter_get(limiter, RAWHAL_LIMIT_MEMORY), memory,
                      sizeof(memory));
  snprintf(text, sizeof(text),
           "the region of shared limits is damaged: %s. Who can have done it: %sone "
           "that came later, or this process, which "
           "keeps to its own part: gpu-share %s, memory %s",
           damage_text(kind), others, share, memory);
  if (limiter->damage.told)
    limiter->damage.told(limiter->damage.context, text);
}

/* ---- Leaving ---- */

/* The kernel puts one memory in the place of the other at once: threads that are at it go on in the
 * other, and what they did a moment before is lost, as of any process that was damaged. */
static bool take_its_place(rawhal_limiter_t *limiter)
{
  damage_watch_t *watch = &limiter->damage;
  region_data_t *own = watch->own;
  const uint64_t weight = watch->seen.own_weight ? watch->seen.own_weight : 1;
  memory_lock(limiter);
  region_begin(own);
  atomic_store(&own->header.members, limiter->slot + 1);
  atomic_store(&own->header.epoch, watch->seen.epoch + ((uint64_t)1 << 32));
  fill_device(limiter, own);
  fill_tenant(limiter, own, weight);
  fill_member(limiter, own, weight);
  const bool done = mremap(own, sizeof(*own), sizeof(*own), MREMAP_MAYMOVE | MREMAP_FIXED,
                           limiter->region.data) != MAP_FAILED;
  memory_unlock(limiter);
  if (done)
    watch->own = NULL;
  return done;
}

/* Others are told in the region, also by one that cannot leave it. */
static bool leave(rawhal_limiter_t *limiter, damage_kind_t kind, uint64_t now)
{
  damage_watch_t *watch = &limiter->damage;
  region_header_t *header = &limiter->region.data->header;
  char others[768];
  uint64_t never = 0;
  name_others(&watch->seen, others, sizeof(others));
  atomic_store(&header->damage, (uint64_t)kind << 32 | limiter->slot);
  (void)atomic_compare_exchange_strong(&header->damaged_at, &never, now ? now : 1);
  if (!take_its_place(limiter)) {
    atomic_store(&watch->next_at, now + DAMAGE_AGAIN_NS);
    return false;
  }
  watch->left = true;
  atomic_store(&watch->next_at, UINT64_MAX);
  limiter_tell(limiter, now);
  tell_program(limiter, kind, others);
  return true;
}

static bool is_same(const damage_finding_t *a, const damage_finding_t *b)
{
  return a->kind == b->kind && a->index == b->index && a->value == b->value;
}

bool damage_look(rawhal_limiter_t *limiter, uint64_t now)
{
  damage_watch_t *watch = &limiter->damage;
  if (now < atomic_load_explicit(&watch->next_at, memory_order_relaxed))
    return false;
  const region_header_t *header = &limiter->region.data->header;
  if (node_load(&header->damaged_at)) {
    const uint64_t kind = node_load(&header->damage) >> 32;
    return leave(limiter, kind && kind < DAMAGE_KINDS ? (damage_kind_t)kind : DAMAGE_HEADER, now);
  }
  const damage_finding_t found = damage_find(limiter, now);
  if (found.kind != DAMAGE_NONE && is_same(&found, &watch->doubt))
    return leave(limiter, found.kind, now);
  watch->doubt = found;
  if (found.kind == DAMAGE_NONE)
    damage_remember(limiter, now);
  atomic_store(&watch->next_at, now + (found.kind ? DAMAGE_AGAIN_NS : DAMAGE_LOOK_NS));
  return false;
}

bool damage_doubt(rawhal_limiter_t *limiter)
{
  _Atomic uint64_t *next_at = &limiter->damage.next_at;
  if (atomic_load(next_at) == UINT64_MAX || pthread_mutex_trylock(&limiter->lock))
    return false;
  const uint64_t now = limiter_now(limiter);
  const uint32_t repaired = limiter->damage.repaired;
  for (int i = 0; i < 2 && !limiter->damage.left; ++i) {
    atomic_store(next_at, 0);
    (void)damage_look(limiter, now);
  }
  const bool changed = limiter->damage.left || limiter->damage.repaired != repaired;
  pthread_mutex_unlock(&limiter->lock);
  return changed;
}
