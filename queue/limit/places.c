/* The places of devices and tenants: who is in one, when it may be given to another, and how it
 * begins. */
#include "queue/limit/places.h"

#include "queue/limit/ledger.h"
#include "queue/limit/node.h"
#include "queue/limit/rules.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>

static bool tenant_in_use(const region_data_t *data, uint32_t tenant)
{
  uint32_t count = region_member_count(data);
  for (uint32_t slot = 0; slot < count; ++slot)
    if (region_state(atomic_load(&data->members[slot].hot.state)) != REGION_FREE &&
        atomic_load(&data->members[slot].tenant) == tenant)
      return true;
  return false;
}

static bool device_in_use(const region_data_t *data, uint32_t device)
{
  uint32_t count = region_member_count(data);
  for (uint32_t slot = 0; slot < count; ++slot)
    if (region_state(atomic_load(&data->members[slot].hot.state)) != REGION_FREE &&
        atomic_load(&data->members[slot].device) == device)
      return true;
  return false;
}

/* May a tenant's place be given to another? Not while a process is in it, nor before it has paid:
 * leaving does not cancel a debt. */
static bool tenant_can_go(const region_data_t *data, uint32_t index, uint64_t now)
{
  const region_tenant_t *tenant = &data->tenants[index];
  /* What an operator has set outlives the processes it was set for, as does one that it added. */
  bool asked = atomic_load(&tenant->suspended) != 0 || place_is_kept(tenant);
  for (int ask = 0; ask < REGION_ASKS; ++ask)
    asked |= node_load(&tenant->asks.of[ask]) != 0;
  return !asked && !rules_in_debt(&tenant->node, now) && !tenant_in_use(data, index);
}

static bool is_tenant_of(const region_tenant_t *tenant, uint32_t device)
{
  return atomic_load(&tenant->state) == REGION_LIVE && atomic_load(&tenant->device) == device;
}

static bool device_can_go(const region_data_t *data, uint32_t index, uint64_t now)
{
  const region_device_t *device = &data->devices[index];
  for (int ask = 0; ask < REGION_ASKS; ++ask)
    if (node_load(&device->asks.of[ask]))
      return false;
  if (rules_in_debt(&device->node, now) || device_in_use(data, index))
    return false;
  for (uint32_t i = 0; i < REGION_TENANTS; ++i)
    if (is_tenant_of(&data->tenants[i], index) && !tenant_can_go(data, i, now))
      return false;
  return true;
}

static void start_device(region_data_t *data, uint32_t index, const char *name)
{
  region_device_t *device = &data->devices[index];
  atomic_store(&device->state, REGION_FREE);
  for (uint32_t i = 0; i < REGION_TENANTS; ++i)
    if (is_tenant_of(&data->tenants[i], index))
      atomic_store(&data->tenants[i].state, REGION_FREE);
  rules_start(&device->node);
  atomic_store(&device->charged, 0);
  atomic_store(&device->returned, 0);
  region_clear(device->usage.buckets, REGION_BUCKETS);
  snprintf(device->name, sizeof(device->name), "%s", name);
  atomic_store(&device->state, REGION_LIVE);
}

static void start_tenant(region_data_t *data, uint32_t index, uint32_t device, const char *name)
{
  region_tenant_t *tenant = &data->tenants[index];
  atomic_store(&tenant->state, REGION_FREE);
  rules_start(&tenant->node);
  atomic_store(&tenant->served, 0);
  atomic_store(&tenant->refund, 0);
  atomic_store(&tenant->charged, 0);
  atomic_store(&tenant->returned, 0);
  region_clear(tenant->usage.buckets, REGION_BUCKETS);
  atomic_store(&tenant->device, device);
  snprintf(tenant->name, sizeof(tenant->name), "%s", name);
  atomic_store(&tenant->state, REGION_LIVE);
}

rawhal_status_t place_check_names(const char *device, const char *tenant, rawhal_error_t *error)
{
  const bool of_tenant = strlen(tenant) >= REGION_TENANT_NAME;
  if (!of_tenant && strlen(device) < REGION_DEVICE_NAME)
    return RAWHAL_OK;
  return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                     "the name of the %s is too long: at most %d characters",
                     of_tenant ? "tenant" : "device", REGION_TENANT_NAME - 1);
}

uint32_t place_of_device(const region_data_t *data, const char *name)
{
  for (uint32_t i = 0; i < REGION_DEVICES; ++i)
    if (atomic_load(&data->devices[i].state) == REGION_LIVE &&
        !strncmp(data->devices[i].name, name, REGION_DEVICE_NAME))
      return i;
  return REGION_NO_INDEX;
}

static uint32_t place_of_tenant(const region_data_t *data, uint32_t device, const char *name)
{
  for (uint32_t i = 0; i < REGION_TENANTS; ++i)
    if (is_tenant_of(&data->tenants[i], device) &&
        !strncmp(data->tenants[i].name, name, REGION_TENANT_NAME))
      return i;
  return REGION_NO_INDEX;
}

rawhal_status_t place_find_device(region_data_t *data, const char *name, uint64_t now,
                                  uint32_t *index, rawhal_error_t *error)
{
  *index = place_of_device(data, name);
  for (uint32_t i = 0; *index == REGION_NO_INDEX && i < REGION_DEVICES; ++i)
    if (atomic_load(&data->devices[i].state) != REGION_LIVE || device_can_go(data, i, now)) {
      start_device(data, i, name);
      *index = i;
    }
  if (*index != REGION_NO_INDEX)
    return RAWHAL_OK;
  return rawhal_fail(error, RAWHAL_CAP_EXCEEDED,
                     "the region has %d devices, all in use or with tenants in debt",
                     REGION_DEVICES);
}

rawhal_status_t place_find_tenant(region_data_t *data, uint32_t device, const char *name,
                                  uint64_t now, uint32_t *index, rawhal_error_t *error)
{
  *index = place_of_tenant(data, device, name);
  for (uint32_t i = 0; *index == REGION_NO_INDEX && i < REGION_TENANTS; ++i)
    if (atomic_load(&data->tenants[i].state) != REGION_LIVE || tenant_can_go(data, i, now)) {
      start_tenant(data, i, device, name);
      *index = i;
    }
  if (*index == REGION_NO_INDEX)
    return rawhal_fail(error, RAWHAL_CAP_EXCEEDED,
                       "the region has %d tenants, all in use or in debt", REGION_TENANTS);
  region_tenant_t *tenant = &data->tenants[*index];
  if (!tenant_in_use(data, *index))
    ledger_start_tenant(tenant, place_is_kept(tenant));
  return RAWHAL_OK;
}

/* ---- Kept by an operator ---- */

rawhal_status_t place_find_kept(const region_data_t *data, const char *device, const char *tenant,
                                uint32_t *device_index, uint32_t *tenant_index,
                                rawhal_error_t *error)
{
  *device_index = place_of_device(data, device);
  *tenant_index = *device_index == REGION_NO_INDEX ? REGION_NO_INDEX
                                                   : place_of_tenant(data, *device_index, tenant);
  if (*tenant_index != REGION_NO_INDEX && place_is_kept(&data->tenants[*tenant_index]))
    return RAWHAL_OK;
  return rawhal_fail(error, RAWHAL_NOT_FOUND,
                     "the region's operator has added no tenant '%.100s' on the device '%.100s'",
                     tenant, device);
}

void place_keep(region_data_t *data, uint32_t tenant)
{
  atomic_store(&data->tenants[tenant].asks.of[PLACE_KEPT], 1);
}

rawhal_status_t place_remove(region_data_t *data, uint32_t index, rawhal_error_t *error)
{
  region_tenant_t *tenant = &data->tenants[index];
  if (tenant_in_use(data, index))
    return rawhal_fail(error, RAWHAL_WOULD_BLOCK, "there are processes in the tenant");
  region_clear(tenant->asks.of, sizeof(tenant->asks.of) / sizeof(*tenant->asks.of));
  atomic_store(&tenant->suspended, 0);
  atomic_store(&tenant->state, REGION_FREE);
  return RAWHAL_OK;
}
