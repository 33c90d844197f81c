/* Code objects: what their loaded segments take of a device is charged when an executable is
 * frozen, which is when programs have loaded all of it, and given back when it is destroyed. */
#include "front/held.h"

#include <hsa/hsa_ven_amd_loader.h>
#include <stdlib.h>

typedef hsa_ven_amd_loader_1_01_pfn_t loader_t;

/* Of a program that loads code, every runtime has it. */
static bool find_loader(loader_t *loader)
{
  *loader = (loader_t){0};
  return front.hsa.major_extension_table(HSA_EXTENSION_AMD_LOADER, 1, sizeof(*loader), loader) ==
             HSA_STATUS_SUCCESS &&
         loader->hsa_ven_amd_loader_executable_iterate_loaded_code_objects &&
         loader->hsa_ven_amd_loader_loaded_code_object_get_info;
}

typedef struct visit {
  loader_t loader;
  held_t **taken; /* those that are given back */
  size_t count, room;
} visit_t;

static hsa_status_t charge(hsa_executable_t executable, hsa_loaded_code_object_t object, void *data)
{
  (void)executable;
  const visit_t *visit = data;
  hsa_agent_t agent = {0};
  uint64_t bytes = 0;
  if (visit->loader.hsa_ven_amd_loader_loaded_code_object_get_info(
          object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_AGENT, &agent) != HSA_STATUS_SUCCESS ||
      visit->loader.hsa_ven_amd_loader_loaded_code_object_get_info(
          object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_SIZE, &bytes) !=
          HSA_STATUS_SUCCESS)
    return HSA_STATUS_SUCCESS; /* it is not a device's */
  front_device_t *device = device_of_agent(agent);
  if (!device || held_knows(HELD_CODE, object.handle))
    return HSA_STATUS_SUCCESS;
  held_t *held = held_reserve(device, LEDGER_CODE, bytes);
  if (held && held_remember(held, HELD_CODE, object.handle))
    return HSA_STATUS_SUCCESS;
  held_give_back(held);
  return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

/* What has been charged stays so until it is destroyed: only then the memory is free. */
static hsa_status_t executable_freeze(hsa_executable_t executable, const char *options)
{
  visit_t visit = {0};
  if (find_loader(&visit.loader) &&
      visit.loader.hsa_ven_amd_loader_executable_iterate_loaded_code_objects(
          executable, charge, &visit) == HSA_STATUS_ERROR_OUT_OF_RESOURCES)
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  return front.hsa.executable_freeze(executable, options);
}

static hsa_status_t take(hsa_executable_t executable, hsa_loaded_code_object_t object, void *data)
{
  (void)executable;
  visit_t *visit = data;
  held_t *held = held_take(HELD_CODE, object.handle);
  if (held && visit->count == visit->room) {
    size_t room = visit->room ? 2 * visit->room : 8;
    held_t **more = realloc(visit->taken, room * sizeof(held_t *));
    if (!more)
      return held_settle(held, HSA_STATUS_ERROR_OUT_OF_RESOURCES);
    visit->taken = more;
    visit->room = room;
  }
  if (held)
    visit->taken[visit->count++] = held;
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t executable_destroy(hsa_executable_t executable)
{
  visit_t visit = {0};
  if (find_loader(&visit.loader))
    (void)visit.loader.hsa_ven_amd_loader_executable_iterate_loaded_code_objects(executable, take,
                                                                                 &visit);
  hsa_status_t result = front.hsa.executable_destroy(executable);
  for (size_t i = 0; i < visit.count; ++i)
    (void)held_settle(visit.taken[i], result);
  free(visit.taken);
  return result;
}

void code_hooks(front_calls_t *hooks)
{
  hooks->executable_freeze = executable_freeze;
  hooks->executable_destroy = executable_destroy;
}
