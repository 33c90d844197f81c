#include "fleet/slurm/tenants.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static rawhal_status_t open_control(int region, rawhal_limit_control_t **control,
                                    rawhal_error_t *error)
{
  char name[32];
  snprintf(name, sizeof(name), "fd:%d", region);
  return rawhal_limit_control_open(name, control, error);
}

static rawhal_status_t hold(rawhal_limit_control_t *control, const char *tenant,
                            const holding_t *holding, rawhal_error_t *error)
{
  rawhal_status_t status = rawhal_limit_control_set(
      control, holding->device, tenant, RAWHAL_LIMIT_MEMORY, holding->memory_bytes, error);
  if (status == RAWHAL_OK)
    status = rawhal_limit_control_set(control, holding->device, tenant, RAWHAL_LIMIT_GPU_SHARE,
                                      holding->share_ppm, error);
  return status;
}

rawhal_status_t tenant_make(int region, const char *tenant, const holding_t *holding,
                            rawhal_error_t *error)
{
  rawhal_limit_control_t *control;
  rawhal_status_t status = open_control(region, &control, error);
  if (status != RAWHAL_OK)
    return status;
  status = rawhal_limit_control_add(control, holding->device, tenant, error);
  if (status == RAWHAL_OK) /* if that fails the epilog removes it */
    status = hold(control, tenant, holding, error);
  rawhal_limit_control_close(control);
  return status;
}

/* ---- Looking ---- */

/* The rows of a tenant: its own, and those of its processes. */
typedef struct look {
  const char *device, *tenant;
  tenant_visitor_t *visit;
  void *context;
  usage_t usage;
  bool found;
} look_t;

static void look_at(const rawhal_limit_row_t *rows, size_t count, look_t *look)
{
  bool here = false;
  for (size_t i = 0; i < count; ++i) {
    if (rows[i].level == RAWHAL_LIMIT_LEVEL_DEVICE)
      here = strcmp(rows[i].name, look->device) == 0;
    if (!here || rows[i].level == RAWHAL_LIMIT_LEVEL_DEVICE ||
        strcmp(rows[i].name, look->tenant) != 0)
      continue;
    if (rows[i].level == RAWHAL_LIMIT_LEVEL_PROCESS && look->visit)
      look->visit(&rows[i], look->context);
    if (rows[i].level == RAWHAL_LIMIT_LEVEL_TENANT) {
      look->usage = (usage_t){.gpu_ns = rows[i].gpu_ns, .memory_peak = rows[i].memory_peak};
      look->found = true;
    }
  }
}

static rawhal_status_t look_into(int region, look_t *look, rawhal_error_t *error)
{
  char name[32];
  rawhal_limit_view_t *view;
  snprintf(name, sizeof(name), "fd:%d", region);
  const rawhal_status_t status = rawhal_limit_view_open(name, &view, error);
  if (status != RAWHAL_OK)
    return status;
  const size_t room = rawhal_limit_view_read(view, NULL, sizeof(rawhal_limit_row_t), 0) + 16;
  rawhal_limit_row_t *rows = calloc(room, sizeof(*rows));
  const size_t count = rows ? rawhal_limit_view_read(view, rows, sizeof(*rows), room) : 0;
  rawhal_limit_view_close(view);
  if (!rows)
    return refuse(error, RAWHAL_OUT_OF_MEMORY, "no memory for a region's rows");
  look_at(rows, count < room ? count : room, look);
  free(rows);
  return look->found ? RAWHAL_OK
                     : refuse(error, RAWHAL_NOT_FOUND, "the region has no tenant %s", look->tenant);
}

void tenant_processes(int region, const char *tenant, const holding_t *holding,
                      tenant_visitor_t *visit, void *context)
{
  rawhal_error_t error;
  look_t look = {.device = holding->device, .tenant = tenant, .visit = visit, .context = context};
  if (look_into(region, &look, &error) != RAWHAL_OK)
    return; /* it has none */
}

/* ---- Removing ---- */

rawhal_status_t tenant_remove(int region, const char *tenant, const holding_t *holding,
                              usage_t *usage, rawhal_error_t *error)
{
  rawhal_limit_control_t *control;
  look_t look = {.device = holding->device, .tenant = tenant};
  *usage = (usage_t){0};
  rawhal_status_t status = open_control(region, &control, error);
  if (status != RAWHAL_OK)
    return status;
  /* Afterwards nothing more of it is admitted; what the dead had in flight is charged by then. */
  status = rawhal_limit_control_suspend(control, holding->device, tenant, true, error);
  if (status == RAWHAL_OK)
    status = look_into(region, &look, error);
  if (status == RAWHAL_OK)
    status = rawhal_limit_control_remove(control, holding->device, tenant, error);
  rawhal_limit_control_close(control);
  if (status == RAWHAL_OK)
    *usage = look.usage;
  return status;
}
