#include "front/probe/probes.h"

#include "front/engine/trace.h"
#include "front/probe/file.h"
#include "front/probe/probed.h"
#include "front/probe/worker.h"
#include "front/record_file.h"
#include "front/report.h"

#include "base/checked.h"
#include "base/clock.h"
#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static probe_rule_t *rules;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static probed_t *all;
static atomic_bool ended; /* nothing is probed any more */
static uint64_t began;    /* ns, of windows */

/* ---- Kernels ---- */

void probed_hold(probed_t *entry)
{
  atomic_fetch_add(&entry->users, 1);
}

void probed_release(probed_t *entry)
{
  if (entry && atomic_fetch_sub(&entry->users, 1) == 1)
    probe_worker_dispose(entry);
}

static probed_t *find(uint64_t kernel_object)
{
  probed_t *entry;
  pthread_rwlock_rdlock(&lock);
  HASH_FIND(hh, all, &kernel_object, sizeof(kernel_object), entry);
  if (entry)
    probed_hold(entry);
  pthread_rwlock_unlock(&lock);
  return entry;
}

static void drop(const hsa_executable_t *executable) /* NULL: all */
{
  probed_t *entry, *next;
  pthread_rwlock_wrlock(&lock);
  HASH_ITER(hh, all, entry, next)
  {
    if (executable && entry->executable != executable->handle)
      continue;
    HASH_DELETE(hh, all, entry);
    probed_release(entry);
  }
  pthread_rwlock_unlock(&lock);
}

/* What is added is held. What has gone meanwhile is not: nobody would tell of it again. */
static probed_t *add(probed_t *entry)
{
  probed_t *other;
  object_loaded_t loaded;
  pthread_rwlock_wrlock(&lock);
  HASH_FIND(hh, all, &entry->kernel_object, sizeof(entry->kernel_object), other);
  if (!other && objects_loaded(entry->kernel_object, &loaded) &&
      loaded.executable == entry->executable)
    HASH_ADD(hh, all, kernel_object, sizeof(entry->kernel_object), entry);
  probed_t *there = other ? other : entry->hh.tbl ? entry : NULL;
  if (there)
    probed_hold(there);
  pthread_rwlock_unlock(&lock);
  return there;
}

/* The first dispatch of a kernel. NULL: there is no memory for it. */
static probed_t *meet(const front_device_t *device, const front_kernel_t *kernel,
                      uint64_t kernel_object)
{
  object_loaded_t loaded;
  probed_t *entry = objects_loaded(kernel_object, &loaded) ? calloc(1, sizeof(*entry)) : NULL;
  if (!entry)
    return NULL;
  entry->kernel_object = kernel_object;
  entry->executable = loaded.executable;
  entry->place = (record_place_t){loaded.base, loaded.size, loaded.delta};
  entry->device = device;
  entry->rule = probe_rules_find(rules, kernel->facts->name, object_hash(kernel->object));
  if (entry->rule)
    entry->kernel = objects_kernel(kernel_object, NULL);
  atomic_init(&entry->users, 1);
  probed_t *there = entry->rule && !entry->kernel ? NULL : add(entry);
  if (there != entry)
    probed_release(entry);
  else if (entry->rule)
    probe_worker_prepare(entry);
  return there;
}

/* ---- Copies ---- */

static bool is_copy(const probed_t *entry, uint64_t kernel_object)
{
  return entry->rule && atomic_load(&entry->state) == PROBED_READY && entry->own.handle &&
         entry->probed_object == kernel_object;
}

probed_t *probes_copy(uint64_t kernel_object)
{
  pthread_rwlock_rdlock(&lock);
  probed_t *entry = all;
  while (entry && !is_copy(entry, kernel_object))
    entry = entry->hh.next;
  if (entry)
    probed_hold(entry);
  pthread_rwlock_unlock(&lock);
  return entry;
}

uint64_t probes_copy_of(const probed_t *copy)
{
  return copy->kernel_object;
}

bool probes_copy_origin(const probed_t *copy, uint64_t *offset, bool *is_probe)
{
  uint32_t original;
  rawhal_error_t error;
  if (rawhal_probe_origin(copy->plan, *offset, &original, is_probe, &error) != RAWHAL_OK)
    return false;
  *offset = original;
  return true;
}

rawhal_bytes_t probes_copy_code(const probed_t *copy, object_loaded_t *loaded)
{
  *loaded = copy->loaded;
  return copy->bytes;
}

/* ---- Dispatches ---- */

static uint64_t items_of(const hsa_kernel_dispatch_packet_t *packet)
{
  uint64_t items = packet->grid_size_x;
  return checked_mul_u64(items, packet->grid_size_y, &items) &&
                 checked_mul_u64(items, packet->grid_size_z, &items)
             ? items
             : UINT64_MAX;
}

static bool is_open(const probe_rule_t *rule)
{
  const uint64_t time = rule->after || rule->until != UINT64_MAX ? clock_now() - began : 0;
  return time >= rule->after && time < rule->until;
}

static bool is_sampled(probed_t *entry, uint64_t queue_id,
                       const hsa_kernel_dispatch_packet_t *packet)
{
  const probe_rule_t *rule = entry->rule;
  const uint64_t items = items_of(packet);
  if ((rule->of_queue && queue_id != rule->queue) || items < rule->least || items > rule->most ||
      !is_open(rule))
    return false;
  const uint64_t before = atomic_fetch_add(&entry->seen, 1);
  return before >= rule->skip && (before - rule->skip) % rule->each == 0;
}

static void tell_refusal(probed_t *entry)
{
  const rawhal_string_t name = entry->kernel->facts->name;
  if (!atomic_exchange(&entry->told, true))
    front_report("probe: %.*s is not probed: %s", (int)(name.size < 200 ? name.size : 200),
                 name.data, entry->refusal ? entry->refusal : "no memory");
}

/* PROBE_KEPTS: nothing stands in its way. */
static probe_kept_t judge(probed_t *entry, uint64_t queue_id, const front_kernel_t *kernel,
                          const hsa_kernel_dispatch_packet_t *packet, bool replaced)
{
  if (replaced)
    return PROBE_KEPT_REPLACED;
  if (kernel->policy && kernel->policy->no_record)
    return PROBE_KEPT_POLICY;
  if (!is_sampled(entry, queue_id, packet))
    return PROBE_KEPT_SAMPLING;
  if (probe_file_has_ended(entry->rule))
    return PROBE_KEPT_FILE;
  if (entry->rule->waits)
    probe_worker_wait(entry);
  const int state = atomic_load(&entry->state);
  if (state == PROBED_REFUSED)
    tell_refusal(entry);
  return state == PROBED_READY     ? PROBE_KEPTS
         : state != PROBED_REFUSED ? PROBE_KEPT_EARLY
         : entry->uncertified      ? PROBE_KEPT_UNCERTIFIED
                                   : PROBE_KEPT_REFUSED;
}

/* As many as the rule has first, at most. */
static probe_kept_t take(probed_t *entry, uint64_t queue_id, hsa_kernel_dispatch_packet_t *packet,
                         probe_run_t **run)
{
  if (atomic_fetch_add(&entry->taken, 1) >= entry->rule->first) {
    atomic_fetch_sub(&entry->taken, 1);
    return PROBE_KEPT_SAMPLING;
  }
  const probe_kept_t kept = probe_run_begin(entry, queue_id, packet, run);
  if (kept != PROBE_KEPTS)
    atomic_fetch_sub(&entry->taken, 1);
  return kept;
}

probe_run_t *probes_dispatch(const front_device_t *device, uint64_t queue_id,
                             const front_kernel_t *kernel,
                             const hsa_kernel_dispatch_packet_t *asked,
                             hsa_kernel_dispatch_packet_t *packet)
{
  probe_run_t *run = NULL;
  if (!kernel || atomic_load(&ended))
    return NULL;
  probed_t *entry = find(asked->kernel_object);
  if (!entry)
    entry = meet(device, kernel, asked->kernel_object);
  if (!entry || !entry->rule) {
    probed_release(entry);
    return NULL;
  }
  probe_kept_t kept =
      judge(entry, queue_id, kernel, asked, packet->kernel_object != asked->kernel_object);
  if (kept == PROBE_KEPTS)
    kept = take(entry, queue_id, packet, &run);
  if (kept != PROBE_KEPTS)
    atomic_fetch_add(&entry->rule->kept[kept], 1);
  else
    atomic_fetch_add(&entry->rule->probed, 1);
  if (run && entry->key && !atomic_exchange(&entry->tried, true))
    outcomes_try(entry->key);
  probed_release(entry);
  return run;
}

void probed_accept(probed_t *entry)
{
  if (entry->key && !atomic_load(&entry->accepted) && outcomes_accept(entry->key))
    atomic_store(&entry->accepted, true);
}

/* ---- Code ---- */

void probes_unload(hsa_executable_t executable)
{
  drop(&executable);
}

/* ---- The whole ---- */

/* What the environment says besides the rules. */
typedef struct places {
  const char *file, *folder, *callback;
  bool kinds, engines; /* are there rules of either? */
  uint64_t limit, bound;
} places_t;

static const char *value_of(const char *variable)
{
  const char *value = secure_getenv(variable);
  return value && *value ? value : NULL;
}

static void look_at_rules(places_t *places)
{
  places->kinds = places->engines = false;
  for (const probe_rule_t *rule = rules; rule; rule = rule->next) {
    *(rule->engine ? &places->engines : &places->kinds) = true;
    if (rule->engine && rule->limit > places->limit)
      places->limit = rule->limit;
  }
}

static rawhal_status_t check_places(const places_t *places, rawhal_error_t *error)
{
  const char *lacks = places->kinds && !places->file         ? "RAWHAL_PROBE_FILE"
                      : !places->kinds && places->file       ? "RAWHAL_PROBE"
                      : places->engines && !places->folder   ? "RAWHAL_PROBE_FOLDER"
                      : !places->engines && places->folder   ? "RAWHAL_PROBE_ENGINE"
                      : !places->engines && places->callback ? "RAWHAL_PROBE_ENGINE"
                                                             : NULL;
  if (lacks)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s must be set, too", lacks);
  if (places->callback && access(places->callback, X_OK) != 0)
    return rawhal_fail(error, file_failure(errno), "the callback '%.200s': %s", places->callback,
                       strerror(errno));
  return RAWHAL_OK;
}

static rawhal_status_t read_environment(const char *program, bool *wanted, places_t *places,
                                        rawhal_error_t *error)
{
  *wanted = false;
  *places = (places_t){.file = value_of("RAWHAL_PROBE_FILE"),
                       .folder = value_of("RAWHAL_PROBE_FOLDER"),
                       .callback = value_of("RAWHAL_PROBE_CALLBACK")};
  rawhal_status_t status =
      probe_rules_open(value_of("RAWHAL_PROBE"), value_of("RAWHAL_PROBE_ENGINE"), &rules, error);
  look_at_rules(places);
  if (status == RAWHAL_OK)
    status = check_places(places, error);
  if (status != RAWHAL_OK)
    return status;
  probe_rules_keep(&rules, program);
  look_at_rules(places);
  *wanted = rules;
  if (!places->engines)
    return RAWHAL_OK;
  status = record_file_bound("RAWHAL_PROBE_BYTES", &places->bound, error);
  return status == RAWHAL_OK ? engine_folder_open(places->folder, error) : status;
}

/* Before the program starts it is an error; later, kernels are not probed. */
static rawhal_status_t check_certificates(rawhal_error_t *error)
{
  for (const probe_rule_t *rule = rules; rule; rule = rule->next)
    if (rule->verified && access(rule->verified, R_OK) != 0)
      return rawhal_fail(error, file_failure(errno), "certificates in '%.200s': %s", rule->verified,
                         strerror(errno));
  return RAWHAL_OK;
}

rawhal_status_t probes_check(const char *program, bool *wanted, rawhal_error_t *error)
{
  places_t places;
  rawhal_status_t status = read_environment(program, wanted, &places, error);
  if (status == RAWHAL_OK)
    status = check_certificates(error);
  return status == RAWHAL_OK && places.file ? probe_file_check(places.file, error) : status;
}

rawhal_status_t probes_open(bool *wanted, rawhal_error_t *error)
{
  places_t places;
  rawhal_status_t status = read_environment(NULL, wanted, &places, error);
  began = clock_now();
  if (status == RAWHAL_OK && *wanted)
    status = probe_worker_begin(error);
  if (status == RAWHAL_OK && places.kinds)
    status = probe_file_open(places.file, error);
  if (status == RAWHAL_OK && places.engines)
    status = engine_trace_open(places.callback, places.limit, places.bound, error);
  atomic_store(&ended, status != RAWHAL_OK || !*wanted);
  return status;
}

void probes_summary(void)
{
  if (atomic_exchange(&ended, true))
    return;
  probe_worker_end();
  probe_rules_summary(rules);
  probe_file_close();
  engine_trace_close();
}

void probes_close(void)
{
  atomic_store(&ended, true);
  probe_worker_end();
  drop(NULL);
  probe_file_close();
  engine_trace_close();
  probe_rules_close(rules);
  rules = NULL;
}

void probes_abandon(void)
{
  (void)pthread_rwlock_init(&lock, NULL);
  rules = NULL;
  all = NULL;
  probe_run_abandon();
  probe_worker_abandon();
  probe_file_abandon();
  engine_trace_abandon();
}
