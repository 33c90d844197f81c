/* From a kernel to its copy with probes in it. */
#include "front/probe/probed.h"

#include "front/blocks.h"
#include "front/code.h"
#include "front/loaded.h"
#include "front/own_code.h"
#include "front/probe/worker.h"

#include "base/checked.h"
#include "base/error.h"
#include "base/version.h"
#include "debug/softgpu.h"
#include "hsaco/content.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- Outcomes ---- */

/* All that it depends on: that the same code was planned the same way. */
static void make_key(probed_t *entry)
{
  entry->key = malloc(sizeof(*entry->key));
  if (!entry->key)
    return;
  const rawhal_string_t name = entry->kernel->facts->name;
  const rawhal_content_hash_t hashes[] = {object_hash(entry->kernel->object),
                                          rawhal_content_hash(name.data, name.size),
                                          entry->rule->engine_hash};
  char *about = entry->key->about;
  const size_t room = sizeof(entry->key->about);
  int used = snprintf(about, room, "rawhal %s %s probe %x", rawhal_version_text(),
                      entry->device->isa, entry->rule->kinds);
  for (size_t i = 0; i < (entry->rule->engine ? 3 : 2); ++i) {
    char text[CONTENT_TEXT];
    content_text(hashes[i], text);
    used += snprintf(about + used, room - (size_t)used, " %s", text);
  }
  for (size_t i = 0; i < entry->rule->value_count; ++i) {
    const rawhal_probe_value_t *value = &entry->rule->values[i];
    used += snprintf(about + used, room - (size_t)used, " %c%u@%x", value->is_vector ? 'v' : 's',
                     value->number, value->offset);
  }
}

/* ---- The copy ---- */

/* What the front needs of it besides. */
static rawhal_status_t check_plan(const probed_t *entry, rawhal_error_t *error)
{
  const rawhal_probe_plan_info_t *info = rawhal_probe_plan_info(entry->plan);
  const uint64_t least = rawhal_probe_buffer_bytes(entry->plan, 1);
  if (info->argument_offset < entry->kernarg_most ||
      !range_within(info->argument_offset, sizeof(rawhal_probe_argument_t), info->kernarg_size))
    return rawhal_fail(error, RAWHAL_UNSUPPORTED,
                       "its argument at %u of %u bytes is among the %u of the kernel's own",
                       info->argument_offset, info->kernarg_size, entry->kernarg_most);
  if (info->kernarg_size > BLOCKS_LARGEST)
    return rawhal_fail(error, RAWHAL_UNSUPPORTED, "it takes %u bytes of kernargs; the most is %d",
                       info->kernarg_size, BLOCKS_LARGEST);
  if (least > entry->rule->buffer)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE,
                       "its records take at least %llu bytes; the buffer has %llu",
                       (unsigned long long)least, (unsigned long long)entry->rule->buffer);
  return RAWHAL_OK;
}

static rawhal_status_t make_plan(probed_t *entry, rawhal_error_t *error)
{
  const rawhal_probe_spec_t spec = {.size = sizeof(spec),
                                    .kinds = entry->rule->kinds,
                                    .flags = entry->ask ? RAWHAL_PROBE_POINTS_ONLY : 0,
                                    .values = entry->rule->values,
                                    .value_count = entry->rule->value_count};
  rawhal_status_t status = rawhal_probe_plan(entry->kernel->facts, &spec, &entry->plan, error);
  return status == RAWHAL_OK ? check_plan(entry, error) : status;
}

static rawhal_status_t make_copy(probed_t *entry, rawhal_error_t *error)
{
  rawhal_status_t status =
      rawhal_probe_apply(entry->plan, entry->place.delta, &entry->bytes, error);
  return status == RAWHAL_OK ? rawhal_probe_verify(entry->kernel->facts, entry->bytes.data,
                                                   entry->bytes.size, entry->place.delta, error)
                             : status;
}

/* For core files. */
static void see_place(hsa_executable_t executable, hsa_loaded_code_object_t object,
                      loaded_info_t *info, void *context)
{
  object_loaded_t *place = context;
  (void)executable;
  if (info(object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_BASE, &place->base) !=
          HSA_STATUS_SUCCESS ||
      info(object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_SIZE, &place->size) !=
          HSA_STATUS_SUCCESS ||
      info(object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_DELTA, &place->delta) !=
          HSA_STATUS_SUCCESS)
    place->size = 0;
}

static rawhal_status_t load_copy(probed_t *entry, rawhal_error_t *error)
{
  const hsa_status_t result = own_code_load(entry->device, entry->bytes, &entry->own);
  rawhal_status_t status =
      own_code_kernel(entry->device, entry->own, result, entry->kernel->facts->symbol,
                      &entry->probed_object, error);
  if (status != RAWHAL_OK)
    return status;
  (void)loaded_each(entry->own, see_place, &entry->loaded);
  objects_set_copy(entry->probed_object, entry->kernel_object); /* faults have its name */
  return status;
}

/* The first dispatch with all of its memory is not to wait for it to be zeros. */
static void make_memory(const probed_t *entry)
{
  probe_pool_t *pool = &entry->rule->memory;
  if (entry->plan && rawhal_probe_plan_info(entry->plan)->event_bytes)
    probe_memory_give_back(pool, probe_memory_take(pool, pool->each));
}

static rawhal_status_t check_kernel(probed_t *entry, rawhal_error_t *error)
{
  const rawhal_kernel_t *facts = entry->kernel->facts;
  if (!facts->usable)
    return rawhal_fail(error, RAWHAL_UNSUPPORTED, "it cannot be used: %.*s",
                       (int)facts->unusable_reason.size, facts->unusable_reason.data);
  if (!entry->kernel->layout)
    return rawhal_fail(error, RAWHAL_UNSUPPORTED, "what arguments it takes is not known");
  const rawhal_kernarg_info_t *info = rawhal_kernarg_layout_info(entry->kernel->layout);
  entry->kernarg_bytes = info->segment_size;
  entry->kernarg_most = info->effective_size;
  return RAWHAL_OK;
}

static bool is_lasting(rawhal_status_t status)
{
  return status == RAWHAL_UNSUPPORTED || status == RAWHAL_MALFORMED ||
         status == RAWHAL_CAP_EXCEEDED || status == RAWHAL_INVALID_ARGUMENT ||
         status == RAWHAL_NOT_FOUND || status == RAWHAL_TARGET_MISMATCH;
}

enum { MOST_TIMEOUTS = 3 }; /* meanwhile nothing else is prepared or written */

/* What an engine fails to do may come right the next time, or the fifth. */
static rawhal_status_t by_engine(probed_t *entry, rawhal_error_t *error)
{
  make_key(entry);
  if (!entry->key)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for its outcome");
  probe_rule_t *rule = entry->rule;
  if (rule->timeouts == MOST_TIMEOUTS)
    return rawhal_fail(error, RAWHAL_TIMED_OUT, "its engine has taken too long %d times already",
                       MOST_TIMEOUTS);
  const engine_subject_t subject = {.device = entry->device,
                                    .kernel = entry->kernel,
                                    .kernel_object = entry->kernel_object,
                                    .program = rule->engine,
                                    .about = entry->key->about,
                                    .limit = rule->limit,
                                    .buffer = rule->buffer,
                                    .stop = probe_worker_is_ending};
  rawhal_status_t status = outcomes_check(entry->key, error);
  if (status != RAWHAL_OK)
    return status;
  status = engine_create(&subject, &entry->engine, error);
  if (status == RAWHAL_OK) {
    entry->probed_object = entry->engine->instead.replacement->kernel_object;
    objects_set_copy(entry->probed_object, entry->kernel_object);
  } else if (is_lasting(status)) {
    outcomes_refuse(entry->key, error->message);
  } else if (!probe_worker_is_ending()) {
    outcomes_try(entry->key);
    rule->timeouts += status == RAWHAL_TIMED_OUT;
  }
  return status;
}

static rawhal_status_t by_code(probed_t *entry, rawhal_error_t *error)
{
  make_key(entry);
  rawhal_status_t status = entry->key ? outcomes_check(entry->key, error) : RAWHAL_OK;
  if (status != RAWHAL_OK)
    return status;
  status = make_plan(entry, error);
  if (status == RAWHAL_OK)
    status = make_copy(entry, error);
  if (status == RAWHAL_OK && entry->rule->verified) {
    status = probed_certified(entry, error);
    entry->uncertified = status != RAWHAL_OK;
  }
  if (entry->uncertified) /* it may have one the next time */
    return status;
  if (status == RAWHAL_OK)
    status = load_copy(entry, error);
  if (entry->key && is_lasting(status))
    outcomes_refuse(entry->key, error->message);
  return status;
}

static rawhal_status_t by_softgpu(probed_t *entry, rawhal_error_t *error)
{
  debug_softgpu_t softgpu;
  debug_softgpu_find_loaded(&softgpu);
  if (!softgpu.probe)
    return rawhal_fail(error, RAWHAL_UNSUPPORTED, "the device is not softgpu of this version");
  entry->ask = softgpu.probe;
  return make_plan(entry, error);
}

rawhal_status_t probed_prepare(probed_t *entry, rawhal_error_t *error)
{
  rawhal_status_t status = check_kernel(entry, error);
  if (status == RAWHAL_OK)
    status = entry->rule->engine       ? by_engine(entry, error)
             : entry->rule->by_softgpu ? by_softgpu(entry, error)
                                       : by_code(entry, error);
  if (status == RAWHAL_OK)
    make_memory(entry);
  return status;
}

void probed_unprepare(probed_t *entry)
{
  if (entry->probed_object)
    objects_set_copy(entry->probed_object, 0);
  engine_destroy(entry->engine);
  if (entry->own.handle)
    (void)code_unload(entry->own);
  if (entry->plan)
    rawhal_probe_free(entry->plan, &entry->bytes);
  rawhal_probe_plan_destroy(entry->plan);
}
