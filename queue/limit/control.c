/* Changing limits from outside, through the region's file: an operator is not a member, holds no
 * slot, and makes its changes under the structure lock, as a process does that joins. */
#include "queue/limit/complete.h"
#include "queue/limit/config.h"
#include "queue/limit/dead.h"
#include "queue/limit/node.h"
#include "queue/limit/places.h"
#include "queue/limit/region_lock.h"
#include "queue/limit/rules.h"
#include "queue/limit/table.h"

#include "base/allocate.h"
#include "base/cancel.h"
#include "base/error.h"

#include <string.h>

struct rawhal_limit_control {
  region_t region;
  pthread_mutex_t lock; /* one thread has the file's lock at a time */
};

rawhal_status_t rawhal_limit_control_open(const char *path, rawhal_limit_control_t **result,
                                          rawhal_error_t *error)
{
  if (!result)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "control is NULL");
  WITHOUT_CANCELLATION();
  *result = NULL;
  if (!path)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "path is NULL");
  rawhal_limit_control_t *control = allocate_zeroed(NULL, 1, sizeof(*control));
  if (!control)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a control");
  rawhal_status_t status = region_open_existing(path, &control->region, error);
  if (status != RAWHAL_OK) {
    allocate_free(NULL, control);
    return status;
  }
  pthread_mutex_init(&control->lock, NULL);
  *result = control;
  return RAWHAL_OK;
}

void rawhal_limit_control_close(rawhal_limit_control_t *control)
{
  if (!control)
    return;
  region_close(&control->region);
  pthread_mutex_destroy(&control->lock);
  allocate_free(NULL, control);
}

/* ---- One change ---- */

typedef struct change change_t;

/* What is done to one tenant. */
struct change {
  void (*apply)(region_data_t *data, uint32_t tenant, const change_t *change);
  rawhal_limit_t limit;
  uint64_t value;
  bool suspended;
};

static void set_limit(region_data_t *data, uint32_t tenant, const change_t *change)
{
  uint64_t word = limit_rows[change->limit].encode(change->value);
  rules_hold(data, tenant, limit_rows[change->limit].ask, word, limit_clock_real.now(NULL));
}

static void suspend(region_data_t *data, uint32_t tenant, const change_t *change)
{
  atomic_store(&data->tenants[tenant].suspended, change->suspended ? REGION_SUSPENDED : 0);
}

static void release(region_data_t *data, uint32_t tenant, const change_t *change)
{
  (void)change;
  atomic_store(&data->tenants[tenant].suspended, 0);
  rules_release(data, tenant, limit_clock_real.now(NULL));
}

static region_device_t *device_of(region_data_t *data, uint32_t tenant)
{
  uint32_t device = atomic_load(&data->tenants[tenant].device);
  return device < REGION_DEVICES ? &data->devices[device] : NULL;
}

/* ---- Whose limits ---- */

static bool has_name(const char *field, size_t size, const char *name)
{
  return !name || (strlen(name) < size && !strncmp(field, name, size));
}

static bool is_meant(const region_data_t *data, uint32_t index, const char *device,
                     const char *tenant)
{
  const region_tenant_t *row = &data->tenants[index];
  uint32_t of = atomic_load(&row->device);
  return atomic_load(&row->state) == REGION_LIVE && of < REGION_DEVICES &&
         atomic_load(&data->devices[of].state) == REGION_LIVE &&
         has_name(row->name, sizeof(row->name), tenant) &&
         has_name(data->devices[of].name, sizeof(data->devices[of].name), device);
}

static rawhal_status_t apply_all(region_data_t *data, const char *device, const char *tenant,
                                 const change_t *change, rawhal_error_t *error)
{
  bool any = false;
  for (uint32_t i = 0; i < REGION_TENANTS; ++i) {
    if (!is_meant(data, i, device, tenant))
      continue;
    any = true;
    change->apply(data, i, change);
  }
  if (!any)
    return rawhal_fail(error, RAWHAL_NOT_FOUND, "the region has no tenant '%.100s'%s%.100s%s",
                       tenant, device ? " on the device '" : "", device ? device : "",
                       device ? "'" : "");
  /* After the change: a thread that sees the new epoch sees what changed. */
  atomic_fetch_add(&data->header.epoch, 1);
  for (uint32_t i = 0; i < REGION_TENANTS; ++i) {
    if (!is_meant(data, i, device, tenant))
      continue;
    region_device_t *of = device_of(data, i);
    limit_signal_node(&limit_clock_real, &data->tenants[i].node);
    if (of)
      limit_signal_node(&limit_clock_real, &of->node);
  }
  return RAWHAL_OK;
}

/* Both locks, or none. Whoever died in the region is gone then. */
static rawhal_status_t lock(rawhal_limit_control_t *control, const char *tenant,
                            rawhal_error_t *error)
{
  if (!control || !tenant)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s is NULL",
                       control ? "tenant" : "control");
  if (region_forked(&control->region))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "this control belongs to the process this one was forked from");
  pthread_mutex_lock(&control->lock);
  rawhal_status_t status = region_lock(&control->region, REGION_TRIES_MANY, error);
  if (status != RAWHAL_OK) {
    pthread_mutex_unlock(&control->lock);
    return status;
  }
  identity_t self;
  identity_of_self(&self);
  if (dead_reclaim(&control->region, &self, REGION_NO_INDEX, limit_clock_real.now(NULL)))
    atomic_store(&control->region.data->header.rules_due, 1);
  return RAWHAL_OK;
}

static void unlock(rawhal_limit_control_t *control)
{
  region_unlock(&control->region);
  pthread_mutex_unlock(&control->lock);
}

static rawhal_status_t make(rawhal_limit_control_t *control, const char *device, const char *tenant,
                            const change_t *change, rawhal_error_t *error)
{
  rawhal_status_t status = lock(control, tenant, error);
  if (status != RAWHAL_OK)
    return status;
  status = apply_all(control->region.data, device, tenant, change, error);
  unlock(control);
  return status;
}

rawhal_status_t rawhal_limit_control_set(rawhal_limit_control_t *control, const char *device,
                                         const char *tenant, rawhal_limit_t limit, uint64_t value,
                                         rawhal_error_t *error)
{
  rawhal_limit_config_t checked = {0};
  rawhal_status_t status = rawhal_limit_config_set(&checked, limit, value, error);
  if (status != RAWHAL_OK)
    return status;
  if (rawhal_limit_info(limit)->level == RAWHAL_LIMIT_LEVEL_PROCESS)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "%s belongs to a process and is set when it starts; only limits of a tenant "
                       "or a device can be changed from outside",
                       rawhal_limit_info(limit)->name);
  const change_t change = {.apply = set_limit, .limit = limit, .value = value};
  return make(control, device, tenant, &change, error);
}

rawhal_status_t rawhal_limit_control_suspend(rawhal_limit_control_t *control, const char *device,
                                             const char *tenant, bool suspended,
                                             rawhal_error_t *error)
{
  const change_t change = {.apply = suspend, .suspended = suspended};
  return make(control, device, tenant, &change, error);
}

rawhal_status_t rawhal_limit_control_release(rawhal_limit_control_t *control, const char *device,
                                             const char *tenant, rawhal_error_t *error)
{
  const change_t change = {.apply = release};
  return make(control, device, tenant, &change, error);
}

/* ---- Who may be there ---- */

rawhal_status_t rawhal_limit_control_add(rawhal_limit_control_t *control, const char *device,
                                         const char *tenant, rawhal_error_t *error)
{
  uint32_t device_index, index;
  if (!device || !*device || (tenant && !*tenant))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "no %s", device ? "name" : "device");
  rawhal_status_t status = lock(control, tenant, error);
  if (status != RAWHAL_OK)
    return status;
  region_data_t *data = control->region.data;
  const uint64_t now = limit_clock_real.now(NULL);
  status = place_check_names(device, tenant, error);
  if (status == RAWHAL_OK)
    status = place_find_device(data, device, now, &device_index, error);
  if (status == RAWHAL_OK)
    status = place_find_tenant(data, device_index, tenant, now, &index, error);
  if (status == RAWHAL_OK)
    place_keep(data, index);
  unlock(control);
  return status;
}

static rawhal_status_t remove_tenant(region_data_t *data, const char *device, const char *tenant,
                                     rawhal_error_t *error)
{
  uint32_t device_index, index;
  rawhal_status_t status = place_find_kept(data, device, tenant, &device_index, &index, error);
  if (status == RAWHAL_OK)
    status = place_remove(data, index, error);
  if (status != RAWHAL_OK)
    return status;
  atomic_store(&data->header.rules_due, 1);
  rules_apply_due(data, limit_clock_real.now(NULL));
  return RAWHAL_OK;
}

rawhal_status_t rawhal_limit_control_remove(rawhal_limit_control_t *control, const char *device,
                                            const char *tenant, rawhal_error_t *error)
{
  if (!device)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "device is NULL");
  rawhal_status_t status = lock(control, tenant, error);
  if (status != RAWHAL_OK)
    return status;
  status = remove_tenant(control->region.data, device, tenant, error);
  unlock(control);
  return status;
}
