/* A region as it is now, for people. Nothing is locked and nothing is written: a snapshot of a busy
 * region is torn between its words, never within one. */
#include "queue/limit/clock.h"
#include "queue/limit/damage.h"
#include "queue/limit/denial.h"
#include "queue/limit/ledger.h"
#include "queue/limit/node.h"
#include "queue/limit/region_lock.h"
#include "queue/limit/rules.h"
#include "queue/limit/table.h"
#include "queue/limit/usage.h"

#include "base/allocate.h"
#include "base/cancel.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/sized.h"

#include <string.h>

_Static_assert((int)RAWHAL_LIMIT_CLASSES == (int)LEDGER_CLASSES &&
                   (int)RAWHAL_LIMIT_WAIT_BUCKETS == (int)REGION_WAIT_BUCKETS,
               "the public face has the same tables");

struct rawhal_limit_view {
  region_t region;
  identity_t self;
};

rawhal_status_t rawhal_limit_view_open(const char *path, rawhal_limit_view_t **result,
                                       rawhal_error_t *error)
{
  if (!result)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "view is NULL");
  WITHOUT_CANCELLATION();
  *result = NULL;
  if (!path)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "path is NULL");
  rawhal_limit_view_t *view = allocate_zeroed(NULL, 1, sizeof(*view));
  if (!view)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a view");
  rawhal_status_t status = region_view(path, &view->region, error);
  if (status != RAWHAL_OK) {
    allocate_free(NULL, view);
    return status;
  }
  identity_of_self(&view->self);
  *result = view;
  return RAWHAL_OK;
}

void rawhal_limit_view_close(rawhal_limit_view_t *view)
{
  if (!view)
    return;
  WITHOUT_CANCELLATION();
  region_view_close(&view->region);
  allocate_free(NULL, view);
}

static const uint64_t windows[RAWHAL_LIMIT_WINDOWS] = {1000000000u, 10000000000u, 60000000000u};

/* A look at the region: who is alive is found out once. What the dead hold no longer counts, even
 * before a process that may write has reclaimed their slots. */
typedef struct look {
  const region_data_t *data;
  uint64_t now;
  bool live[REGION_MEMBERS];
} look_t;

static void look_at(const rawhal_limit_view_t *view, look_t *look)
{
  look->data = view->region.data;
  look->now = limit_clock_real.now(NULL);
  for (uint32_t slot = 0; slot < REGION_MEMBERS; ++slot)
    look->live[slot] =
        slot < region_member_count(look->data) &&
        region_state(node_load(&look->data->members[slot].hot.state)) == REGION_LIVE &&
        !region_slot_dead(&view->region, &view->self, slot);
}

static void fill_time(const region_node_t *node, const region_usage_t *usage, uint64_t now,
                      rawhal_limit_row_t *row)
{
  uint64_t tat = node_tat(node, now);
  row->share_ppm = limit_share_value(node_load(&node->share));
  row->burst_ns = node_load(&node->burst);
  row->dispatch_rate = node_load(&node->rate);
  row->ahead_ns = row->share_ppm != RAWHAL_UNLIMITED && tat > now ? tat - now : 0;
  for (int i = 0; i < RAWHAL_LIMIT_WINDOWS; ++i)
    row->achieved_ppm[i] = usage_sum(usage, now, windows[i]) / (windows[i] / 1000000);
}

static void add_counters(const region_member_t *member, rawhal_limit_row_t *row)
{
  const struct {
    region_counter_t counter;
    uint64_t *into;
  } counters[] = {
      {COUNTER_LAUNCHES, &row->launches},
      {COUNTER_GPU_NS, &row->charged_ns},
      {COUNTER_REFUND_NS, &row->returned_ns},
      {COUNTER_WAITS, &row->waits},
      {COUNTER_WAIT_NS, &row->wait_ns},
      {COUNTER_WOULD_BLOCK, &row->would_block},
      {COUNTER_QUOTA_DENIALS, &row->denials},
      {COUNTER_ESTIMATED_NS, &row->estimated_ns},
      {COUNTER_ESTIMATE_ERROR_NS, &row->estimate_error_ns},
      {COUNTER_NO_TIMESTAMPS, &row->no_timestamps},
  };
  for (size_t i = 0; i < sizeof(counters) / sizeof(*counters); ++i)
    *counters[i].into += node_load(&member->counters[counters[i].counter]);
  for (int i = 0; i < RAWHAL_LIMIT_WAIT_BUCKETS; ++i)
    row->wait_histogram[i] += node_load(&member->waits[i]);
  row->open_ns += load_ns(hot_load(&member->hot));
  for (int i = 0; i < RAWHAL_LIMIT_CLASSES; ++i)
    row->memory_by_class[i] += limit_memory_value(node_load(&member->ledger.used[i]));
}

/* What is on the device shows before it has ended. */
static void add_running(const region_member_t *member, uint64_t now, rawhal_limit_row_t *row)
{
  uint64_t since = node_load(&member->hot.running_since);
  uint64_t ran = since && since < now ? least_u64(now - since, NODE_MAX_DEBT_NS) : 0;
  row->gpu_ns += ran;
  for (int i = 0; i < RAWHAL_LIMIT_WINDOWS; ++i)
    row->achieved_ppm[i] = least_u64(1000000, row->achieved_ppm[i] + least_u64(ran, windows[i]) /
                                                                         (windows[i] / 1000000));
}

/* What has run, with what runs. */
static void fill_total(rawhal_limit_row_t *row, uint64_t charged, uint64_t returned)
{
  row->charged_ns = charged;
  row->returned_ns = returned;
  row->gpu_ns += charged - least_u64(charged, returned);
}

static void fill_member(const look_t *look, uint32_t slot, rawhal_limit_row_t *row)
{
  const region_data_t *data = look->data;
  uint64_t now = look->now;
  const region_member_t *member = &data->members[slot];
  uint32_t tenant = atomic_load_explicit(&member->tenant, memory_order_relaxed);
  row->level = RAWHAL_LIMIT_LEVEL_PROCESS;
  row->slot = slot;
  if (tenant < REGION_TENANTS)
    region_copy_name(row->name, data->tenants[tenant].name);
  fill_time(&member->node, &member->usage, now, row);
  row->pid = node_load(&member->pid);
  row->pid_namespace = node_load(&member->pid_namespace);
  row->weight = node_load(&member->weight);
  row->priority = (rawhal_limit_priority_t)(node_load(&member->priority) & 3);
  row->waiting =
      node_load(&member->hot.wait_until) >= now && !(node_load(&member->hot.waits) & WAITS_ALONE);
  row->memory_limit = limit_memory_value(node_load(&member->ledger.limit));
  row->memory_used = limit_memory_value(ledger_used(&member->ledger));
  row->memory_peak = limit_memory_value(node_load(&member->ledger.peak));
  /* A slot's last denial may be an earlier holder's. */
  if (!denial_read(data, slot, &row->denial) || row->denial.pid != row->pid ||
      row->denial.pid_namespace != row->pid_namespace ||
      row->denial.at_ns < node_load(&member->joined_at))
    row->denial = (rawhal_limit_denial_t){0};
  add_counters(member, row);
  add_running(member, now, row);
  fill_total(row, row->charged_ns, row->returned_ns);
}

/* Sums over the members of a tenant, or of a device when `tenant` is REGION_NO_INDEX. */
static void fill_sums(const look_t *look, uint32_t device, uint32_t tenant, rawhal_limit_row_t *row)
{
  for (uint32_t slot = 0; slot < REGION_MEMBERS; ++slot) {
    const region_member_t *member = &look->data->members[slot];
    if (!look->live[slot] ||
        atomic_load_explicit(&member->device, memory_order_relaxed) != device ||
        (tenant != REGION_NO_INDEX &&
         atomic_load_explicit(&member->tenant, memory_order_relaxed) != tenant))
      continue;
    ++row->processes;
    row->memory_used += limit_memory_value(ledger_used(&member->ledger));
    add_counters(member, row);
    add_running(member, look->now, row);
  }
}

static void fill_tenant(const look_t *look, uint32_t index, rawhal_limit_row_t *row)
{
  const region_tenant_t *tenant = &look->data->tenants[index];
  row->level = RAWHAL_LIMIT_LEVEL_TENANT;
  region_copy_name(row->name, tenant->name);
  fill_time(&tenant->node, &tenant->usage, look->now, row);
  row->charging = node_load(&tenant->charging) == RAWHAL_CHARGING_WALL ? RAWHAL_CHARGING_WALL
                                                                       : RAWHAL_CHARGING_FAIR;
  row->suspended = atomic_load_explicit(&tenant->suspended, memory_order_relaxed) != 0;
  row->held = rules_held(&tenant->asks);
  row->memory_limit = limit_memory_value(node_load(&tenant->memory_limit));
  row->memory_peak = limit_memory_value(node_load(&tenant->memory_peak));
  fill_sums(look, atomic_load_explicit(&tenant->device, memory_order_relaxed), index, row);
  fill_total(row, node_load(&tenant->charged), node_load(&tenant->returned));
}

static void fill_device(const look_t *look, uint32_t index, rawhal_limit_row_t *row)
{
  const region_device_t *device = &look->data->devices[index];
  row->level = RAWHAL_LIMIT_LEVEL_DEVICE;
  region_copy_name(row->name, device->name);
  fill_time(&device->node, &device->usage, look->now, row);
  row->memory_limit = RAWHAL_UNLIMITED;
  row->held = rules_held(&device->asks);
  fill_sums(look, index, REGION_NO_INDEX, row);
  fill_total(row, node_load(&device->charged), node_load(&device->returned));
}

/* Where the next row goes; counts rows beyond the capacity as well. */
typedef struct rows {
  unsigned char *at; /* of `stride` bytes each, as many as the caller's header has */
  size_t stride, capacity, count;
  rawhal_limit_row_t row;
} rows_t;

static rawhal_limit_row_t *begin_row(rows_t *into)
{
  into->row = (rawhal_limit_row_t){0};
  return &into->row;
}

static void end_row(rows_t *into)
{
  if (into->count < into->capacity)
    sized_element(into->at + into->count * into->stride, into->stride, &into->row,
                  sizeof(into->row));
  ++into->count;
}

static void tenant_rows(const look_t *look, uint32_t tenant, rows_t *into)
{
  fill_tenant(look, tenant, begin_row(into));
  end_row(into);
  for (uint32_t slot = 0; slot < REGION_MEMBERS; ++slot)
    if (look->live[slot] &&
        atomic_load_explicit(&look->data->members[slot].tenant, memory_order_relaxed) == tenant) {
      fill_member(look, slot, begin_row(into));
      end_row(into);
    }
}

size_t rawhal_limit_view_read(const rawhal_limit_view_t *view, rawhal_limit_row_t *rows,
                              size_t row_size, size_t capacity)
{
  if (!view)
    return 0;
  look_t look;
  look_at(view, &look);
  const region_data_t *data = look.data;
  rows_t into = {.at = (unsigned char *)rows, .stride = row_size, .capacity = rows ? capacity : 0};
  for (uint32_t device = 0; device < REGION_DEVICES; ++device) {
    if (node_load(&data->devices[device].state) != REGION_LIVE)
      continue;
    fill_device(&look, device, begin_row(&into));
    end_row(&into);
    for (uint32_t tenant = 0; tenant < REGION_TENANTS; ++tenant)
      if (node_load(&data->tenants[tenant].state) == REGION_LIVE &&
          atomic_load_explicit(&data->tenants[tenant].device, memory_order_relaxed) == device)
        tenant_rows(&look, tenant, &into);
  }
  return into.count;
}

bool rawhal_limit_view_damage(const rawhal_limit_view_t *view, rawhal_limit_damage_t *damage,
                              size_t damage_size)
{
  rawhal_limit_damage_t known = {0};
  const region_header_t *header = view ? &view->region.data->header : NULL;
  known.at_ns = header ? node_load(&header->damaged_at) : 0;
  if (known.at_ns) {
    const uint64_t word = node_load(&header->damage);
    known.slot = (uint32_t)word;
    strcpy(known.what, damage_text((damage_kind_t)(word >> 32 & 0xff)));
  }
  if (damage)
    sized_element((unsigned char *)damage, damage_size, &known, sizeof(known));
  return known.at_ns != 0;
}

size_t rawhal_limit_view_denials(const rawhal_limit_view_t *view, rawhal_limit_denial_t *denials,
                                 size_t denial_size, size_t capacity)
{
  unsigned char *at = (unsigned char *)denials;
  size_t count = 0;
  uint32_t slots = view ? region_member_count(view->region.data) : 0;
  for (uint32_t slot = 0; slot < slots; ++slot) {
    rawhal_limit_denial_t denial;
    if (!denial_read(view->region.data, slot, &denial))
      continue;
    if (denials && count < capacity)
      sized_element(at + count * denial_size, denial_size, &denial, sizeof(denial));
    ++count;
  }
  return count;
}

const char *rawhal_limit_class_name(size_t index)
{
  return index < LEDGER_CLASSES ? ledger_class_names[index] : NULL;
}
