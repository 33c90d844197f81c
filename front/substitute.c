#include "front/substitute.h"

#include "front/devices.h"
#include "front/report.h"

#include "front/instead.h"
#include "front/outcomes.h"
#include "front/substitute_rules.h"

#include "base/cancel.h"
#include "base/error.h"
#include "base/version.h"
#include "hsaco/content.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_table.h"

/* A kernel where it is loaded, and what runs in its place. */
struct substitute {
  uint64_t kernel_object, executable;
  atomic_size_t users; /* the table, and dispatches on their way */
  substitute_rule_t *rule;
  front_kernel_t *original;
  instead_t instead;
  char *refusal; /* NULL: it is taken */
  outcome_key_t key;
  atomic_bool tried, accepted, told; /* of that a dispatch stayed the original */
  tell_entry_t shown;                /* to observers */
  UT_hash_handle hh;
};

static substitute_rule_t *rules;
static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER; /* before `lock` */
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static substitute_t *all;

/* ---- Entries ---- */

static void release(substitute_t *entry)
{
  if (!entry || atomic_fetch_sub(&entry->users, 1) != 1)
    return;
  tell_unlist(entry->shown);
  instead_destroy(&entry->instead);
  free(entry->refusal);
  objects_release(entry->original);
  free(entry);
}

static substitute_t *find(uint64_t kernel_object)
{
  substitute_t *entry;
  pthread_rwlock_rdlock(&lock);
  HASH_FIND(hh, all, &kernel_object, sizeof(kernel_object), entry);
  if (entry)
    atomic_fetch_add(&entry->users, 1);
  pthread_rwlock_unlock(&lock);
  return entry;
}

static void drop(const hsa_executable_t *executable) /* NULL: all */
{
  substitute_t *entry, *next;
  pthread_rwlock_wrlock(&lock);
  HASH_ITER(hh, all, entry, next)
  {
    if (executable && entry->executable != executable->handle)
      continue;
    HASH_DELETE(hh, all, entry);
    release(entry);
  }
  pthread_rwlock_unlock(&lock);
}

/* ---- Loading ---- */

static void make_key(const substitute_t *entry, const replacement_object_t *object,
                     const replacement_t *replacement, const front_device_t *device,
                     outcome_key_t *key)
{
  char extras[256];
  const rawhal_string_t one = entry->original->facts->name, other = replacement->facts->name;
  const rawhal_content_hash_t hashes[] = {
      object_hash(entry->original->object), rawhal_content_hash(one.data, one.size),
      replacement_hash(object), rawhal_content_hash(other.data, other.size)};
  int used =
      snprintf(key->about, sizeof(key->about), "rawhal %s %s", rawhal_version_text(), device->isa);
  for (size_t i = 0; i < sizeof(hashes) / sizeof(*hashes); ++i) {
    char text[CONTENT_TEXT];
    content_text(hashes[i], text);
    used += snprintf(key->about + used, sizeof(key->about) - (size_t)used, " %s", text);
  }
  rule_extras_text(entry->rule, extras, sizeof(extras));
  (void)snprintf(key->about + used, sizeof(key->about) - (size_t)used, " %s", extras);
}

static rawhal_status_t make_instead(substitute_t *entry, const replacement_t *replacement,
                                    rawhal_error_t *error)
{
  remap_extra_t extras[REMAP_EXTRAS];
  for (size_t i = 0; i < entry->rule->extra_count; ++i)
    extras[i] = entry->rule->extras[i].argument;
  return instead_create(&entry->instead, entry->original, replacement, extras,
                        entry->rule->extra_count, error);
}

static rawhal_status_t prepare(substitute_t *entry, const front_device_t *device,
                               rawhal_error_t *error)
{
  replacement_object_t *object;
  replacement_t *replacement = NULL;
  const char *named = entry->rule->kernel;
  rawhal_status_t status = replacement_select(entry->rule->file, device, &object, error);
  if (status == RAWHAL_OK)
    status = replacement_find(object, named ? rawhal_string(named) : entry->original->facts->name,
                              &replacement, error);
  if (status != RAWHAL_OK)
    return status;
  make_key(entry, object, replacement, device, &entry->key);
  status = outcomes_check(&entry->key, error);
  if (status != RAWHAL_OK)
    return status;
  status = make_instead(entry, replacement, error);
  if (status == RAWHAL_OK)
    status = replacement_load(object, replacement, error);
  if (status == RAWHAL_INVALID_ARGUMENT || status == RAWHAL_UNSUPPORTED)
    outcomes_refuse(&entry->key, error->message);
  if (status == RAWHAL_OK && !rule_prepare(entry->rule))
    status = rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for the additional arguments");
  return status;
}

static bool add(substitute_t *entry)
{
  substitute_t *other;
  pthread_rwlock_wrlock(&lock);
  HASH_FIND(hh, all, &entry->kernel_object, sizeof(entry->kernel_object), other);
  if (!other)
    HASH_ADD(hh, all, kernel_object, sizeof(entry->kernel_object), entry);
  bool added = !other && entry->hh.tbl;
  pthread_rwlock_unlock(&lock);
  return added;
}

/* What is refused is said when it is dispatched: a pattern may be for many more. */
static void load(const front_device_t *device, substitute_rule_t *rule, hsa_executable_t executable,
                 uint64_t kernel_object)
{
  rawhal_error_t error;
  front_kernel_t *original = objects_kernel(kernel_object, NULL);
  substitute_t *entry = original ? calloc(1, sizeof(*entry)) : NULL;
  if (!entry) {
    objects_release(original);
    return;
  }
  entry->kernel_object = kernel_object;
  entry->executable = executable.handle;
  entry->rule = rule;
  entry->original = original;
  atomic_init(&entry->users, 1);
  bool whole = true;
  if (prepare(entry, device, &error) != RAWHAL_OK) {
    entry->refusal = strdup(error.message);
    whole = entry->refusal != NULL;
  } else {
    entry->shown =
        objects_tell_substitute(entry->instead.replacement->kernel_object, kernel_object, original);
  }
  if (!whole || !add(entry))
    release(entry);
}

void substitute_loaded(hsa_agent_t agent, hsa_executable_t executable, const front_kernel_t *kernel,
                       uint64_t kernel_object)
{
  const front_device_t *device = device_of_agent(agent);
  substitute_rule_t *rule = rules_find(rules, kernel->facts->name, object_hash(kernel->object));
  if (!rule || !rule->file || !device)
    return;
  WITHOUT_CANCELLATION(); /* the runtime writes files where it loads */
  pthread_mutex_lock(&loading);
  load(device, rule, executable, kernel_object);
  pthread_mutex_unlock(&loading);
}

void substitute_unload(hsa_executable_t executable)
{
  drop(&executable);
}

/* ---- Dispatches ---- */

static void values_of(void *context, uint64_t values[REMAP_EXTRAS])
{
  const substitute_t *entry = context;
  rule_values(entry->rule, values);
}

void substitute_dispatch(const front_device_t *device, hsa_kernel_dispatch_packet_t *packet,
                         substitute_run_t *run)
{
  rawhal_error_t error;
  substitute_t *entry = find(packet->kernel_object);
  *run = (substitute_run_t){0};
  if (!entry)
    return;
  if (!entry->refusal && instead_dispatch(&entry->instead, device, values_of, entry, packet,
                                          &run->block, &error) == RAWHAL_OK) {
    run->instead = entry;
    atomic_fetch_add(&entry->rule->replaced, 1);
    if (!atomic_exchange(&entry->tried, true))
      outcomes_try(&entry->key);
    return;
  }
  atomic_fetch_add(&entry->rule->kept, 1);
  const rawhal_string_t name = entry->original->facts->name;
  if (!atomic_exchange(&entry->told, true))
    front_report("substitute: %.*s is not replaced: %s", (int)(name.size < 200 ? name.size : 200),
                 name.data, entry->refusal ? entry->refusal : error.message);
  release(entry);
}

void substitute_ended(substitute_run_t *run, bool ran)
{
  substitute_t *entry = run->instead;
  if (!entry)
    return;
  instead_give_back(&entry->instead, run->block);
  if (ran && !atomic_load(&entry->accepted) && outcomes_accept(&entry->key))
    atomic_store(&entry->accepted, true);
  *run = (substitute_run_t){0};
  release(entry);
}

/* ---- The whole ---- */

rawhal_status_t substitute_open(bool *wanted, rawhal_error_t *error)
{
  char *lines;
  rawhal_error_t why;
  rawhal_status_t status = policy_substitutes(&lines, error);
  if (status != RAWHAL_OK)
    return status;
  status = rules_open(lines, &rules, &why);
  free(lines);
  if (status != RAWHAL_OK)
    return rawhal_fail(error, status, "RAWHAL_POLICY: %s", why.message);
  status = rules_open(secure_getenv("RAWHAL_SUBSTITUTE"), &rules, &why);
  if (status != RAWHAL_OK)
    return rawhal_fail(error, status, "RAWHAL_SUBSTITUTE: %s", why.message);
  *wanted = rules != NULL;
  return RAWHAL_OK;
}

rawhal_status_t substitute_check(rawhal_error_t *error)
{
  return rules_check(rules, error);
}

void substitute_summary(void)
{
  rules_summary(rules);
}

void substitute_close(void)
{
  drop(NULL);
  rules_close(rules);
  rules = NULL;
}

void substitute_abandon(void)
{
  (void)pthread_mutex_init(&loading, NULL);
  (void)pthread_rwlock_init(&lock, NULL);
  rules = NULL;
  all = NULL;
}
