/* Code objects on a device, through the runtime's own loader. Everything rawhal can know is checked
 * before the runtime sees the bytes: its loader crashes on damaged ones.
 *
 * The same bytes are loaded once a device and counted. An executable that nobody has any more, but
 * that a dispatch in flight or a recording needs, stays until the next executables_reap(). */
#include "hal/executable.h"

#include "base/cancel.h"
#include "base/error.h"
#include "base/sized.h"
#include "hsaco/loadable.h"
#include "hsaco/relabel.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
/* By bytes; [1]: with leave to use kernels that only have a descriptor. */
static code_source_t *sources[2];
static _Atomic size_t retiring; /* executables nobody has any more */

/* ---- Sources. The caller holds the table's lock ---- */

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

/* Has the caller opened the object with leave to use kernels that only have a descriptor? */
static bool allows_descriptor_kernels(const rawhal_hsaco_t *hsaco)
{
  const rawhal_kernel_t *kernel;
  for (size_t i = 0; (kernel = rawhal_hsaco_kernel(hsaco, i)); ++i)
    if (!kernel->has_metadata && kernel->usable)
      return true;
  return false;
}

/* The caps were the caller's concern when it opened its object; ours has the same bytes. */
static rawhal_status_t open_copy(const rawhal_hsaco_t *hsaco, const allocator_t *allocator,
                                 rawhal_hsaco_t **copy, rawhal_error_t *error)
{
  rawhal_hsaco_options_t options = {
      .size = sizeof(options),
      .flags = RAWHAL_HSACO_COPY |
               (allows_descriptor_kernels(hsaco) ? RAWHAL_HSACO_DESCRIPTOR_KERNELS : 0u),
      .max_kernels = UINT32_MAX,
      .max_arguments = UINT32_MAX,
      .max_metadata_bytes = UINT64_MAX,
      .allocator = allocator_option(allocator),
  };
  const rawhal_hsaco_info_t *info = rawhal_hsaco_info(hsaco);
  return rawhal_hsaco_open(info->bytes.data, info->bytes.size, &options, copy, error);
}

static code_source_t *source_find(const rawhal_hsaco_t *hsaco)
{
  rawhal_bytes_t bytes = rawhal_hsaco_info(hsaco)->bytes;
  code_source_t *found = NULL;
  HASH_FIND(hh, sources[allows_descriptor_kernels(hsaco)], bytes.data, (unsigned)bytes.size, found);
  return found; /* the hash, then memcmp() */
}

static rawhal_status_t source_list(code_source_t *source, rawhal_error_t *error)
{
  rawhal_bytes_t bytes = rawhal_hsaco_info(source->hsaco)->bytes;
  source->descriptor_kernels = allows_descriptor_kernels(source->hsaco);
  HASH_ADD_KEYPTR(hh, sources[source->descriptor_kernels], bytes.data, (unsigned)bytes.size,
                  source);
  if (source_find(source->hsaco) == source)
    return RAWHAL_OK;
  return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for the table of code objects");
}

static rawhal_status_t source_get(const rawhal_hsaco_t *hsaco, const allocator_t *allocator,
                                  code_source_t **result, rawhal_error_t *error)
{
  *result = source_find(hsaco);
  if (*result)
    return RAWHAL_OK;
  code_source_t *source = allocate_zeroed(allocator, 1, sizeof(*source));
  if (!source)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a code object");
  rawhal_status_t status = open_copy(hsaco, allocator, &source->hsaco, error);
  if (status == RAWHAL_OK)
    status = source_list(source, error);
  if (status != RAWHAL_OK) {
    rawhal_hsaco_close(source->hsaco);
    allocate_free(allocator, source);
    return status;
  }
  *result = source;
  return RAWHAL_OK;
}

/* Frees a source without executables. */
static void source_put(code_source_t *source)
{
  if (source->executables)
    return;
  HASH_DEL(sources[source->descriptor_kernels], source);
  rawhal_hsaco_close(source->hsaco);
  runtime_free(source);
}

/* ---- Readers ---- */

static bool file_holds(int descriptor, uint64_t offset, rawhal_bytes_t bytes)
{
  unsigned char piece[16384];
  const unsigned char *expected = bytes.data;
  for (size_t done = 0; done < bytes.size;) {
    size_t want = bytes.size - done < sizeof(piece) ? bytes.size - done : sizeof(piece);
    ssize_t got = pread(descriptor, piece, want, (off_t)(offset + done));
    if (got <= 0 || memcmp(piece, expected + done, (size_t)got) != 0)
      return false;
    done += (size_t)got;
  }
  return true;
}

static rawhal_status_t reader_from_file(rawhal_executable_t *executable,
                                        const rawhal_executable_options_t *options,
                                        rawhal_bytes_t bytes, rawhal_error_t *error)
{
  const hal_runtime_t *runtime = executable->device->runtime;
  int descriptor = open(options->path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return rawhal_fail(error, RAWHAL_NOT_FOUND, "cannot open '%s': %s", options->path,
                       strerror(errno));
  rawhal_status_t status = RAWHAL_OK;
  if (options->offset > INT64_MAX - bytes.size || !file_holds(descriptor, options->offset, bytes))
    status = rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                         "'%s' does not hold the code object's %zu bytes at offset %llu",
                         options->path, bytes.size, (unsigned long long)options->offset);
  hsa_status_t result = HSA_STATUS_SUCCESS;
  if (status == RAWHAL_OK)
    result =
        runtime->reader_from_file(descriptor, options->offset, bytes.size, &executable->reader);
  (void)close(descriptor); /* the runtime has mapped it */
  if (result != HSA_STATUS_SUCCESS) {
    executable->reader.handle = 0;
    status =
        hsa_fail(&runtime->hsa, result, error, "opening the code object's file in the runtime");
  }
  return status;
}

static rawhal_status_t reader_create(rawhal_executable_t *executable,
                                     const rawhal_executable_options_t *options,
                                     rawhal_error_t *error)
{
  const hal_runtime_t *runtime = executable->device->runtime;
  rawhal_bytes_t bytes = rawhal_hsaco_info(executable->source->hsaco)->bytes;
  if (executable->relabelled)
    bytes.data = executable->relabelled;
  else if (options->path && runtime->reader_from_file)
    return reader_from_file(executable, options, bytes, error);
  hsa_status_t result = runtime->hsa.hsa_code_object_reader_create_from_memory(
      bytes.data, bytes.size, &executable->reader);
  if (result == HSA_STATUS_SUCCESS)
    return RAWHAL_OK;
  executable->reader.handle = 0;
  return hsa_fail(&runtime->hsa, result, error, "opening the code object in the runtime");
}

/* ---- Loading ---- */

static rawhal_status_t reserve_code(rawhal_executable_t *executable, rawhal_error_t *error)
{
  uint64_t bytes = limits_code_bytes(rawhal_hsaco_info(executable->source->hsaco)->bytes);
  rawhal_status_t status = limits_reserve(executable->device, LEDGER_CODE, bytes, error);
  if (status == RAWHAL_OK)
    executable->code_bytes = bytes;
  return status;
}

static rawhal_status_t load(rawhal_executable_t *executable, rawhal_error_t *error)
{
  const hsa_table_t *hsa = &executable->device->runtime->hsa;
  hsa_agent_t agent = executable->device->queue.agent;
  hsa_profile_t profile = HSA_PROFILE_BASE;
  hsa_status_t result = hsa->hsa_agent_get_info(agent, HSA_AGENT_INFO_PROFILE, &profile);
  if (result != HSA_STATUS_SUCCESS)
    return hsa_fail(hsa, result, error, "reading the device's profile");
  result = hsa->hsa_executable_create_alt(profile, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL,
                                          &executable->executable);
  if (result != HSA_STATUS_SUCCESS) {
    executable->executable.handle = 0;
    return hsa_fail(hsa, result, error, "creating an executable");
  }
  rawhal_status_t status = externals_define(executable, error);
  if (status != RAWHAL_OK)
    return status;
  result = hsa->hsa_executable_load_agent_code_object(executable->executable, agent,
                                                      executable->reader, NULL, NULL);
  if (result != HSA_STATUS_SUCCESS)
    return hsa_fail(hsa, result, error, "the runtime's loader refused the code object");
  result = hsa->hsa_executable_freeze(executable->executable, NULL);
  if (result != HSA_STATUS_SUCCESS)
    return hsa_fail(hsa, result, error, "the runtime's loader could not finish the executable");
  return RAWHAL_OK;
}

static void unload(rawhal_executable_t *executable)
{
  const hsa_table_t *hsa = &executable->device->runtime->hsa;
  if (executable->executable.handle)
    (void)hsa->hsa_executable_destroy(executable->executable);
  executable->executable.handle = 0;
  if (executable->reader.handle)
    (void)hsa->hsa_code_object_reader_destroy(executable->reader);
  executable->reader.handle = 0;
  runtime_free(executable->relabelled);
  executable->relabelled = NULL;
}

static rawhal_status_t load_as_it_is(rawhal_executable_t *executable,
                                     const rawhal_executable_options_t *options,
                                     rawhal_error_t *error)
{
  const rawhal_hsaco_info_t *object = rawhal_hsaco_info(executable->source->hsaco);
  executable->info = (rawhal_executable_info_t){false, object->target, object->code_object_version};
  rawhal_status_t status = reader_create(executable, options, error);
  return status == RAWHAL_OK ? load(executable, error) : status;
}

/* As an object for `target`, of version 5 at most. */
static rawhal_status_t load_relabelled(rawhal_executable_t *executable,
                                       const rawhal_target_t *target, rawhal_error_t *error)
{
  static const rawhal_executable_options_t nowhere;
  const rawhal_hsaco_info_t *object = rawhal_hsaco_info(executable->source->hsaco);
  rawhal_executable_info_t *info = &executable->info;
  uint32_t version = object->code_object_version;
  *info = (rawhal_executable_info_t){true, object->target, version < 5 ? version : 5};
  info->target.machine = target->machine;
  info->target.generic_version = 0;
  memcpy(info->target.processor, target->processor, sizeof(target->processor));
  rawhal_status_t status =
      hsaco_relabel(object, target, RELABEL_ABI_V5, &executable->device->runtime->allocator,
                    &executable->relabelled, error);
  if (status == RAWHAL_OK)
    status = reader_create(executable, &nowhere, error);
  if (status == RAWHAL_OK)
    status = load(executable, error);
  if (status == RAWHAL_OK)
    hal_log(RAWHAL_SEVERITY_NOTE,
            "a code object for %s, V%u, is loaded as one for %s, V%u, which the runtime knows",
            object->target.processor, version, target->processor, info->code_object_version);
  return status;
}

/* The runtime says no to what it does not know; see rawhal_executable_info_t. */
static rawhal_status_t load_somehow(rawhal_executable_t *executable,
                                    const rawhal_executable_options_t *options,
                                    rawhal_error_t *error)
{
  const rawhal_device_t *device = executable->device;
  const rawhal_hsaco_info_t *object = rawhal_hsaco_info(executable->source->hsaco);
  if (device->listed.machine != device->info.target.machine)
    return load_relabelled(executable, &device->listed, error);
  rawhal_error_t refused = {0}, again;
  rawhal_status_t status = load_as_it_is(executable, options, &refused);
  if (status == RAWHAL_RUNTIME && object->code_object_version == 6 &&
      !object->target.generic_version) {
    unload(executable);
    if (load_relabelled(executable, &object->target, &again) == RAWHAL_OK)
      return RAWHAL_OK;
  }
  if (status != RAWHAL_OK && error)
    *error = refused; /* also when the second attempt failed */
  return status;
}

/* In its source's list or not yet. The caller holds the table's lock. */
static void executable_free(rawhal_executable_t *executable)
{
  for (rawhal_executable_t **at = &executable->source->executables; *at; at = &(*at)->next)
    if (*at == executable) {
      *at = executable->next;
      break;
    }
  kernels_free(executable);
  unload(executable);
  if (executable->code_bytes)
    limits_release(executable->device, LEDGER_CODE, executable->code_bytes);
  externals_free(&executable->externals);
  source_put(executable->source);
  pthread_mutex_destroy(&executable->lock);
  runtime_free(executable);
  runtime_release();
}

/* Takes `externals`, whatever comes of it. */
static rawhal_status_t executable_create(rawhal_device_t *device, code_source_t *source,
                                         external_set_t *externals,
                                         const rawhal_executable_options_t *options,
                                         rawhal_executable_t **result, rawhal_error_t *error)
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
  rawhal_status_t status = reserve_code(created, error);
  if (status == RAWHAL_OK)
    status = load_somehow(created, options, error);
  if (status != RAWHAL_OK) {
    executable_free(created);
    return status;
  }
  created->next = source->executables;
  source->executables = created;
  *result = created;
  return RAWHAL_OK;
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

/* The caller holds the table's lock. */
static rawhal_status_t executable_get(rawhal_device_t *device, const rawhal_hsaco_t *hsaco,
                                      const rawhal_executable_options_t *options,
                                      rawhal_executable_t **result, rawhal_error_t *error)
{
  code_source_t *source;
  external_set_t externals;
  rawhal_status_t status = source_get(hsaco, &device->runtime->allocator, &source, error);
  if (status != RAWHAL_OK)
    return status;
  status =
      externals_resolve(source->hsaco, options, &device->runtime->allocator, &externals, error);
  if (status != RAWHAL_OK) {
    source_put(source);
    return status;
  }
  rawhal_executable_t *executable = executable_find(source, device, &externals);
  if (!executable) {
    status = executable_create(device, source, &externals, options, &executable, error);
  } else {
    externals_free(&externals);
    if (executable->users == 0)
      --retiring;
  }
  if (status != RAWHAL_OK)
    return status;
  ++executable->users;
  *result = executable;
  return RAWHAL_OK;
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
  executables_reap();
  pthread_mutex_lock(&table_lock);
  status = executable_get(device, hsaco, &taken, executable, error);
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

/* The caller holds the table's lock. */
static bool is_needed(rawhal_executable_t *executable)
{
  return atomic_load(&executable->owner.pins) || queues_run(&executable->owner);
}

/* The first executable that nobody has and the device does not need. */
static rawhal_executable_t *find_unneeded(void)
{
  for (int i = 0; i < 2; ++i)
    for (code_source_t *source = sources[i]; source; source = source->hh.next)
      for (rawhal_executable_t *one = source->executables; one; one = one->next)
        if (one->users == 0 && !is_needed(one))
          return one;
  return NULL;
}

void executables_reap(void)
{
  if (runtime_check(NULL) != RAWHAL_OK || atomic_load(&retiring) == 0)
    return;
  rawhal_executable_t *unneeded;
  pthread_mutex_lock(&table_lock);
  while ((unneeded = find_unneeded())) {
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
