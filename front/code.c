/* Code objects: what their loaded segments take of a device is reserved before they are loaded, and
 * given back when their executable is destroyed.
 *
 * Not before, even if loading failed: the loader may have taken memory by then, and keeps it as
 * long. Where it has taken more than the code object said that is charged, too, fit or not. */
#include "front/code.h"

#include "front/devices.h"

#include "front/held.h"
#include "front/loaded.h"
#include "front/objects.h"
#include "front/report.h"
#include "front/sources.h"

#include <string.h>

/* ---- What is there ---- */

typedef struct loaded {
  uint64_t bytes[FRONT_DEVICES]; /* by device */
} loaded_t;

static void add_up(hsa_executable_t executable, hsa_loaded_code_object_t object,
                   loaded_info_t *info, void *context)
{
  (void)executable;
  loaded_t *loaded = context;
  hsa_agent_t agent = {0};
  uint64_t bytes = 0;
  if (info(object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_AGENT, &agent) !=
          HSA_STATUS_SUCCESS ||
      info(object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_SIZE, &bytes) !=
          HSA_STATUS_SUCCESS)
    return; /* it is not a device's */
  const front_device_t *device = device_of_agent(agent);
  if (device)
    loaded->bytes[device - front.devices] += memory_granules(device->granule, bytes);
}

static hsa_status_t charge_more(front_device_t *device, hsa_executable_t executable, uint64_t bytes)
{
  hsa_status_t result = HSA_STATUS_SUCCESS;
  held_t *held = held_reserve(device, LEDGER_CODE, bytes);
  if (!held) {
    result = HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    held = held_charge(device, LEDGER_CODE, bytes);
  }
  if (held && held_remember(held, HELD_CODE, executable.handle, 1))
    return result;
  held_give_back(held);
  return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

/* Charges what has been loaded beyond what was reserved. */
static hsa_status_t compare(hsa_executable_t executable)
{
  loaded_t loaded = {0};
  hsa_status_t result = HSA_STATUS_SUCCESS;
  if (front_orphaned() || !front.limited)
    return HSA_STATUS_SUCCESS;
  (void)loaded_each(executable, add_up, &loaded);
  for (uint32_t i = 0; i < front.device_count; ++i) {
    const uint64_t known = held_sum(HELD_CODE, executable.handle, &front.devices[i]);
    if (loaded.bytes[i] > known &&
        charge_more(&front.devices[i], executable, loaded.bytes[i] - known) != HSA_STATUS_SUCCESS)
      result = HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  }
  return result;
}

/* ---- Loading ---- */

/* What nobody knows of is not loaded: its size could be any. */
static hsa_status_t reserve(hsa_executable_t executable, hsa_agent_t agent, source_kind_t kind,
                            uint64_t source)
{
  if (front_orphaned())
    return HSA_STATUS_ERROR_NOT_INITIALIZED;
  uint64_t bytes;
  front_device_t *device = front.limited ? device_of_agent(agent) : NULL;
  if (!device)
    return HSA_STATUS_SUCCESS;
  if (!source_bytes(kind, source, &bytes))
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  held_t *held = held_reserve(device, LEDGER_CODE, bytes);
  if (held && held_remember(held, HELD_CODE, executable.handle, 1))
    return HSA_STATUS_SUCCESS;
  held_give_back(held);
  return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

static hsa_status_t loaded(hsa_executable_t executable, hsa_status_t result)
{
  if (result != HSA_STATUS_SUCCESS)
    loaded_failed(executable);
  const hsa_status_t fits = compare(executable);
  return result == HSA_STATUS_SUCCESS ? fits : result;
}

/* And of the program's, which is looked at. */
static hsa_status_t loaded_by_program(hsa_executable_t executable, hsa_status_t result)
{
  result = loaded(executable, result);
  if (front.remembered && result == HSA_STATUS_SUCCESS)
    objects_remember(executable);
  return result;
}

/* Before it is gone: afterwards another may get its number. */
hsa_status_t code_unload(hsa_executable_t executable)
{
  held_t *held = held_take_all(HELD_CODE, executable.handle);
  loaded_gone(executable);
  return held_settle(held, front.hsa.executable_destroy(executable));
}

hsa_status_t code_load(hsa_executable_t executable, hsa_agent_t agent,
                       hsa_code_object_reader_t reader)
{
  hsa_status_t result = reserve(executable, agent, SOURCE_READER, reader.handle);
  if (result != HSA_STATUS_SUCCESS)
    return result;
  result = front.hsa.load_agent_code_object(executable, agent, reader, NULL, NULL);
  if (result == HSA_STATUS_SUCCESS)
    result = front.hsa.executable_freeze(executable, NULL);
  return loaded(executable, result);
}

/* ---- Hooks ---- */

/* The runtime says only that it is not valid. */
static hsa_status_t told(hsa_agent_t agent, source_kind_t kind, uint64_t source,
                         hsa_status_t result)
{
  const front_device_t *device = front.faults ? device_known(agent) : NULL;
  rawhal_target_t built, has;
  char name[64], own[64], why[192];
  if (result == HSA_STATUS_SUCCESS || front_orphaned() || !device ||
      !source_target(kind, source, &built) ||
      rawhal_target_parse((rawhal_string_t){device->isa, strlen(device->isa)}, &has, NULL) !=
          RAWHAL_OK)
    return result;
  const uint32_t mismatch = rawhal_target_match(&built, &has);
  (void)rawhal_target_format(&built, name, sizeof(name));
  (void)rawhal_target_format(&has, own, sizeof(own));
  (void)rawhal_target_explain(mismatch, &built, &has, why, sizeof(why));
  if (mismatch)
    front_report("a code object for %s was not loaded: device %u is %s: %s", name,
                 (unsigned)(device - front.devices), own, why);
  return result;
}

static hsa_status_t load_agent_code_object(hsa_executable_t executable, hsa_agent_t agent,
                                           hsa_code_object_reader_t reader, const char *options,
                                           hsa_loaded_code_object_t *object)
{
  hsa_status_t result = reserve(executable, agent, SOURCE_READER, reader.handle);
  if (result != HSA_STATUS_SUCCESS)
    return result;
  result = front.hsa.load_agent_code_object(executable, agent, reader, options, object);
  return loaded_by_program(executable, told(agent, SOURCE_READER, reader.handle, result));
}

/* For all devices at once, or none: what it is only the outcome shows. */
static hsa_status_t load_program_code_object(hsa_executable_t executable,
                                             hsa_code_object_reader_t reader, const char *options,
                                             hsa_loaded_code_object_t *object)
{
  return loaded_by_program(executable,
                           front.hsa.load_program_code_object(executable, reader, options, object));
}

/* The older way: LLVM's OpenMP runtime has it. */
static hsa_status_t load_code_object(hsa_executable_t executable, hsa_agent_t agent,
                                     hsa_code_object_t object, const char *options)
{
  hsa_status_t result = reserve(executable, agent, SOURCE_OBJECT, object.handle);
  if (result != HSA_STATUS_SUCCESS)
    return result;
  result = front.hsa.load_code_object(executable, agent, object, options);
  return loaded_by_program(executable, told(agent, SOURCE_OBJECT, object.handle, result));
}

/* The last moment at which the bytes are sure to be there: what came in otherwise is seen here. */
static hsa_status_t executable_freeze(hsa_executable_t executable, const char *options)
{
  if (front.remembered)
    objects_remember(executable);
  return loaded(executable, front.hsa.executable_freeze(executable, options));
}

/* A kernel's address, which is asked for before it is launched. */
static hsa_status_t symbol_get_info(hsa_executable_symbol_t symbol,
                                    hsa_executable_symbol_info_t attribute, void *value)
{
  const hsa_status_t result = front.hsa.symbol_get_info(symbol, attribute, value);
  if (result == HSA_STATUS_SUCCESS && attribute == HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT &&
      value)
    objects_asked(*(const uint64_t *)value, true);
  return result;
}

static __typeof__(hsa_agent_get_info) *asked; /* what the hook stands before */

static hsa_status_t agent_get_info(hsa_agent_t agent, hsa_agent_info_t attribute, void *value)
{
  if ((int)attribute != CODE_AGENT_INFO_COPY || !value || front_orphaned())
    return asked(agent, attribute, value);
  source_tell_copy(value);
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t executable_destroy(hsa_executable_t executable)
{
  if (front.remembered)
    objects_unload(executable);
  return code_unload(executable);
}

void code_hooks(front_calls_t *hooks)
{
  if (front.limited || front.faults)
    sources_hooks(hooks);
#define X(name) hooks->name = name;
  X(load_agent_code_object)
  X(load_program_code_object)
  X(load_code_object)
  X(executable_freeze)
  X(executable_destroy)
#undef X
  if (!front.remembered)
    return;
  hooks->symbol_get_info = symbol_get_info;
  asked = hooks->agent_get_info ? hooks->agent_get_info : front.hsa.agent_get_info;
  hooks->agent_get_info = agent_get_info;
}
