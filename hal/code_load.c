/* A code object into the runtime and out of it again: its bytes, from memory, from a file or
 * relabelled, through the runtime's own loader. Any number of them may be under way at once: the
 * loader has locks of its own. */
#include "hal/executable.h"
#include "hal/limits.h"
#include "hal/log.h"
#include "hal/runtime.h"

#include "base/error.h"
#include "hsaco/relabel.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

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
  int descriptor =
      open(options->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not block */
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

/* A front records what the program gave us. Without `original` the copy goes. */
static void tell_front(const rawhal_executable_t *executable, rawhal_bytes_t original)
{
  code_copy_t copy = {executable->copied, original};
  (void)executable->device->runtime->hsa.hsa_agent_get_info(
      executable->device->queue.agent, (hsa_agent_info_t)CODE_AGENT_INFO_COPY, &copy);
}

static rawhal_status_t reader_create(rawhal_executable_t *executable,
                                     const rawhal_executable_options_t *options,
                                     rawhal_error_t *error)
{
  const hal_runtime_t *runtime = executable->device->runtime;
  rawhal_bytes_t bytes = rawhal_hsaco_info(executable->source->hsaco)->bytes;
  if (executable->copied) {
    tell_front(executable, bytes);
    bytes.data = executable->copied;
  } else if (options->path && runtime->reader_from_file) {
    return reader_from_file(executable, options, bytes, error);
  }
  hsa_status_t result = runtime->hsa.hsa_code_object_reader_create_from_memory(
      bytes.data, bytes.size, &executable->reader);
  if (result == HSA_STATUS_SUCCESS)
    return RAWHAL_OK;
  executable->reader.handle = 0;
  return hsa_fail(&runtime->hsa, result, error, "opening the code object in the runtime");
}

/* ---- Loading ---- */

static rawhal_status_t reserve(rawhal_executable_t *executable, rawhal_error_t *error)
{
  const rawhal_bytes_t object = rawhal_hsaco_info(executable->source->hsaco)->bytes;
  uint64_t bytes = memory_of_code(object.data, object.size);
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

/* Leaves what is reserved of the quota. */
static void unload(rawhal_executable_t *executable)
{
  const hsa_table_t *hsa = &executable->device->runtime->hsa;
  if (executable->executable.handle)
    (void)hsa->hsa_executable_destroy(executable->executable);
  executable->executable.handle = 0;
  if (executable->reader.handle)
    (void)hsa->hsa_code_object_reader_destroy(executable->reader);
  executable->reader.handle = 0;
  if (executable->copied)
    tell_front(executable, (rawhal_bytes_t){0});
  runtime_free(executable->copied);
  executable->copied = NULL;
}

static rawhal_status_t load_as_it_is(rawhal_executable_t *executable,
                                     const rawhal_executable_options_t *options,
                                     rawhal_error_t *error)
{
  const rawhal_hsaco_info_t *object = rawhal_hsaco_info(executable->source->hsaco);
  executable->info = (rawhal_executable_info_t){false, object->target, object->code_object_version};
  rawhal_status_t status = RAWHAL_OK;
  if (hsaco_has_static_relocations(executable->source->hsaco))
    status = hsaco_relabel(executable->source->hsaco, NULL, RELABEL_ABI_V5,
                           &executable->device->runtime->allocator, &executable->copied, error);
  if (status == RAWHAL_OK)
    status = reader_create(executable, options, error);
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
      hsaco_relabel(executable->source->hsaco, target, RELABEL_ABI_V5,
                    &executable->device->runtime->allocator, &executable->copied, error);
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

void code_unload(rawhal_executable_t *executable)
{
  unload(executable);
  if (executable->code_bytes)
    limits_release(executable->device, LEDGER_CODE, executable->code_bytes);
  executable->code_bytes = 0;
  tell_went(executable->told,
            (rawhal_event_t){.type = RAWHAL_EVENT_MODULE_UNLOAD, .id = executable->number});
  executable->told = 0;
}

rawhal_status_t code_load(rawhal_executable_t *executable,
                          const rawhal_executable_options_t *options, rawhal_error_t *error)
{
  rawhal_status_t status = reserve(executable, error);
  if (status == RAWHAL_OK)
    status = load_somehow(executable, options, error);
  if (status != RAWHAL_OK) {
    code_unload(executable);
    return status;
  }
  executable->number = tell_number();
  executable->told = tell_came((rawhal_event_t){.type = RAWHAL_EVENT_MODULE_LOAD,
                                                .id = executable->number,
                                                .agent = executable->device->queue.agent.handle,
                                                .bytes = executable->code_bytes,
                                                .text = rawhal_string(options->path)});
  return status;
}
