/* Code objects on a device. Everything rawhal can know is checked before the runtime sees the
 * bytes: its loader crashes on damaged ones.
 *
 * The same bytes are loaded once per device and counted. A thread that asks for what another is
 * loading waits for that load, and for no other, and gets its result. An executable that has no
 * users any more, but that a dispatch in flight or a graph needs, stays until an
 * executables_reap() finds it unneeded. */
#include "hal/executable.h"
#include "hal/runtime.h"
#include "queue/graph/graph_node.h"
#include "queue/list.h"

#include "base/cancel.h"
#include "base/error.h"
#include "base/sized.h"
#include "hsaco/loadable.h"

#include <limits.h>

/* Of the sources, their executables, and how those are counted. Not held while anything is read or
 * loaded. */
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t load_changed = PTHREAD_COND_INITIALIZER;
static _Atomic size_t retiring; /* executables without users */

static void lock_table(void)
{
  pthread_mutex_lock(&table_lock);
}

static void unlock_table(void)
{
  pthread_mutex_unlock(&table_lock);
}

/* A child of fork() must not find it locked, if it may use the runtime. What is the runtime's is
 * locked under it, and registered before: see limit_watch_forks(). */
static void watch_forks(void)
{
  (void)pthread_atfork(lock_table, unlock_table, unlock_table);
}

/* A load under way: on the stack of the thread that carries it out. */
typedef struct load_in_progress {
  bool done;
  rawhal_status_t status;
  rawhal_error_t error;
  size_t waiting;
} load_in_progress_t;

static rawhal_status_t check_loadable(const rawhal_device_t *device, const rawhal_hsaco_t *hsaco,
                                      rawhal_error_t *error)
{
  const rawhal_hsaco_info_t *info = rawhal_hsaco_info(hsaco);
  uint32_t mismatch = rawhal_target_match(&info->target, &device->info.target);
  if (mismatch) {
    char object[96], mine[96], why[256];
    rawhal_target_format(&info->target, object, sizeof(object));
    rawhal_target_format(&device->info.target, mine, sizeof(mine));
    rawhal_target_explain(mismatch, &info->target, &device->info.target, why, sizeof(why));
    return rawhal_fail(error, RAWHAL_TARGET_MISMATCH,
                       "the code object is for %s, the device is %s: %s", object, mine, why);
  }
  if (!loadable_when_supplied(hsaco)) /* what it needs is looked for by externals_resolve() */
    return rawhal_fail(error, RAWHAL_UNSUPPORTED, "the code object cannot be loaded: %.*s",
                       RAWHAL_STRING_ARGS(info->not_loadable_reason));
  if (info->bytes.size > UINT_MAX)
    return rawhal_fail(error, RAWHAL_UNSUPPORTED,
                       "a code object of %zu bytes, at most %u can be "
                       "loaded",
                       info->bytes.size, UINT_MAX);
  return RAWHAL_OK;
}

/* In its source's list. The caller holds the table's lock. */
static void executable_free(rawhal_executable_t *executable)
{
  for (rawhal_executable_t **at = &executable->source->executables; *at; at = &(*at)->next)
    if (*at == executable) {
      *at = executable->next;
      break;
    }
  kernels_free(executable);
  code_unload(executable);
  externals_free(&executable->externals);
  source_put(executable->source);
  pthread_mutex_destroy(&executable->lock);
  runtime_free(executable);
  runtime_release();
}

/* Nothing is loaded yet. Takes `externals`, whatever comes of it. */
static rawhal_status_t executable_create(rawhal_device_t *device, code_source_t *source,
                                         external_set_t *externals, rawhal_executable_t **result,
                                         rawhal_error_t *error)
{
  rawhal_executable_t *created = allocate_zeroed(&device->runtime->allocator, 1, sizeof(*created));
  if (!created) {
    externals_free(externals);
    source_put(source);
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for an executable");
  }
  created->device = device;
  created->source = source;
  created->externals = *externals;
  pthread_mutex_init(&created->lock, NULL);
  runtime_hold();
  created->next = source->executables;
  source->executables = created;
  *result = created;
  return RAWHAL_OK;
}

/* Releases the table's lock while it loads. Frees an executable that cannot be loaded. */
static rawhal_status_t load_for_all(rawhal_executable_t *executable,
                                    const rawhal_executable_options_t *options,
                                    rawhal_error_t *error)
{
  load_in_progress_t load = {0};
  executable->load = &load;
  executable->users = 1; /* us */
  pthread_mutex_unlock(&table_lock);
  load.status = code_load(executable, options, &load.error);
  pthread_mutex_lock(&table_lock);
  executable->load = NULL;
  if (load.status != RAWHAL_OK)
    executable_free(executable);
  load.done = true;
  pthread_cond_broadcast(&load_changed);
  while (load.waiting) /* for as long as they take to read it */
    pthread_cond_wait(&load_changed, &table_lock);
  if (load.status != RAWHAL_OK && error)
    *error = load.error;
  return load.status;
}

/* A thread is loading it. */
static rawhal_status_t wait_for_load(rawhal_executable_t *executable, rawhal_error_t *error)
{
  load_in_progress_t *load = executable->load;
  ++executable->users; /* so that it is still there afterwards, if it is loaded */
  ++load->waiting;
  while (!load->done)
    pthread_cond_wait(&load_changed, &table_lock);
  rawhal_status_t status = load->status;
  if (status != RAWHAL_OK && error)
    *error = load->error;
  if (--load->waiting == 0)
    pthread_cond_broadcast(&load_changed);
  return status;
}

static rawhal_executable_t *executable_find(const code_source_t *source,
                                            const rawhal_device_t *device,
                                            const external_set_t *externals)
{
  rawhal_executable_t *one = source->executables;
  while (one && (one->device != device || !externals_equal(&one->externals, externals)))
    one = one->next;
  return one;
}

/* The caller holds the table's lock, and may find it taken by others meanwhile. */
static rawhal_status_t executable_get(rawhal_device_t *device, code_source_t *source,
                                      const rawhal_executable_options_t *options,
                                      rawhal_executable_t **result, rawhal_error_t *error)
{
  external_set_t externals;
  rawhal_status_t status =
      externals_resolve(source->hsaco, options, &device->runtime->allocator, &externals, error);
  if (status != RAWHAL_OK) {
    source_put(source);
    return status;
  }
  rawhal_executable_t *executable = executable_find(source, device, &externals);
  if (!executable) {
    status = executable_create(device, source, &externals, &executable, error);
    if (status == RAWHAL_OK)
      status = load_for_all(executable, options, error);
  } else {
    externals_free(&externals);
    if (executable->load) {
      status = wait_for_load(executable, error);
    } else if (executable->users++ == 0) {
      --retiring;
    }
  }
  if (status == RAWHAL_OK)
    *result = executable;
  return status;
}

rawhal_status_t rawhal_executable_load_with(rawhal_device_t *device, const rawhal_hsaco_t *hsaco,
                                            const rawhal_executable_options_t *options,
                                            rawhal_executable_t **executable, rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  if (!executable)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "executable is NULL");
  *executable = NULL;
  if (!device || !hsaco)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s is NULL", device ? "hsaco" : "device");
  rawhal_executable_options_t taken;
  rawhal_status_t status = SIZED_TAKE(&taken, options, external_size, error);
  if (status == RAWHAL_OK)
    status = runtime_check(error);
  if (status == RAWHAL_OK)
    status = check_loadable(device, hsaco, error);
  if (status != RAWHAL_OK)
    return status;
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  (void)pthread_once(&once, watch_forks);
  executables_reap();
  code_source_t *source;
  status = source_get(hsaco, &device->runtime->allocator, &table_lock, &source, error);
  if (status == RAWHAL_OK)
    status = executable_get(device, source, &taken, executable, error);
  pthread_mutex_unlock(&table_lock);
  return status;
}

rawhal_status_t rawhal_executable_load(rawhal_device_t *device, const rawhal_hsaco_t *hsaco,
                                       rawhal_executable_t **executable, rawhal_error_t *error)
{
  return rawhal_executable_load_with(device, hsaco, NULL, executable, error);
}

rawhal_status_t rawhal_executable_load_file(rawhal_device_t *device, const rawhal_hsaco_t *hsaco,
                                            const char *path, uint64_t offset,
                                            rawhal_executable_t **executable, rawhal_error_t *error)
{
  rawhal_executable_options_t options = {.path = path, .offset = offset};
  if (executable)
    *executable = NULL;
  if (!path)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "path is NULL");
  return rawhal_executable_load_with(device, hsaco, &options, executable, error);
}

const rawhal_executable_info_t *rawhal_executable_info(const rawhal_executable_t *executable)
{
  return executable ? &executable->info : NULL;
}

/* ---- Unloading ---- */

/* It has no users, and the device does not need it. */
static bool is_unneeded(rawhal_executable_t *executable, void *unused)
{
  (void)unused;
  return executable->users == 0 && !atomic_load(&executable->owner.pins) &&
         !queues_run(&executable->owner);
}

void executables_reap(void)
{
  if (runtime_check(NULL) != RAWHAL_OK)
    return;
  graphs_reap(); /* and what launches had, which may be buffers */
  if (atomic_load(&retiring) == 0)
    return;
  rawhal_executable_t *unneeded;
  WITHOUT_CANCELLATION(); /* of a graph that is destroyed, too, which may end the runtime */
  pthread_mutex_lock(&table_lock);
  while ((unneeded = sources_find(is_unneeded, NULL))) {
    --retiring;
    executable_free(unneeded);
  }
  pthread_mutex_unlock(&table_lock);
}

void rawhal_executable_destroy(rawhal_executable_t *executable)
{
  WITHOUT_CANCELLATION();
  if (!executable || runtime_check(NULL) != RAWHAL_OK)
    return;
  pthread_mutex_lock(&table_lock);
  if (executable->users && --executable->users == 0)
    ++retiring;
  pthread_mutex_unlock(&table_lock);
  executables_reap();
}

/* ---- Looking on ---- */

static bool has_kernel(rawhal_executable_t *executable, void *kernel)
{
  bool found = false;
  if (pthread_mutex_trylock(&executable->lock) != 0)
    return false; /* the runtime is being asked for a kernel of it */
  for (const loaded_kernel_t *one = executable->kernels; one && !found; one = one->hh.next)
    found = &one->kernel == kernel;
  pthread_mutex_unlock(&executable->lock);
  return found;
}

void executables_hold(void)
{
  lock_table();
}

bool executables_try_hold(void)
{
  return pthread_mutex_trylock(&table_lock) == 0;
}

void executables_let(void)
{
  pthread_mutex_unlock(&table_lock);
}

bool executables_have(const rawhal_device_kernel_t *kernel)
{
  return sources_find(has_kernel, (void *)(uintptr_t)kernel) != NULL;
}
