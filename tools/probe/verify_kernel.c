/* rawhal probe verify: a kernel's copy, from its plan to where it is loaded. */
#include "tools/probe/verify.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void verify_say(char said[VERIFY_SAID], const char *format, ...)
{
  va_list args;
  va_start(args, format);
  vsnprintf(said, VERIFY_SAID, format, args);
  va_end(args);
}

static bool refuse(verify_kernel_t *kernel, verify_result_t result, const char *what,
                   const rawhal_error_t *error)
{
  kernel->result = result;
  verify_say(kernel->refusal, "%s: %s", what, error->message);
  return false;
}

bool verify_plan(verify_kernel_t *kernel, const probe_request_t *request, uint32_t kinds)
{
  rawhal_error_t error;
  const rawhal_probe_spec_t spec = {.size = sizeof(spec),
                                    .kinds = kinds,
                                    .values = request->values,
                                    .value_count = request->value_count};
  if (!kernel->facts) {
    kernel->result = VERIFY_CANNOT;
    verify_say(kernel->refusal, "its code object has no kernel of that name");
    return false;
  }
  if (rawhal_probe_plan(kernel->facts, &spec, &kernel->plan, &error) != RAWHAL_OK)
    return refuse(kernel, VERIFY_REFUSED, "it cannot be probed", &error);
  if (kernel->given.size && rawhal_probe_plan_info(kernel->plan)->reads_pc) {
    kernel->result = VERIFY_CANNOT;
    verify_say(kernel->refusal, "it reads its PC, and a copy from a file is for another place");
    return false;
  }
  if (kernel->given.size)
    kernel->copy = rawhal_content_hash(kernel->given.data, kernel->given.size);
  else if (certificate_copy(kernel->plan, &kernel->copy, &error) != RAWHAL_OK)
    return refuse(kernel, VERIFY_REFUSED, "there is no copy", &error);
  return true;
}

static rawhal_status_t load(verify_kernel_t *kernel, const replay_t *replay, rawhal_bytes_t bytes,
                            rawhal_error_t *error)
{
  rawhal_hsaco_t *hsaco;
  rawhal_status_t status = rawhal_hsaco_open(bytes.data, bytes.size, NULL, &hsaco, error);
  if (status == RAWHAL_OK)
    status = rawhal_executable_load(replay->device, hsaco, &kernel->executable, error);
  if (status == RAWHAL_OK)
    status = rawhal_executable_kernel(kernel->executable, kernel->facts->name, 0, &kernel->probed,
                                      error);
  rawhal_hsaco_close(hsaco);
  return status;
}

static void describe_device(verify_kernel_t *kernel, const rawhal_device_info_t *info)
{
  rawhal_target_format(&info->target, kernel->target, sizeof(kernel->target));
  (void)snprintf(kernel->device, sizeof(kernel->device), "%s", info->description);
  kernel->is_software = info->is_software;
}

bool verify_load(verify_kernel_t *kernel, const replay_t *replay)
{
  rawhal_error_t error;
  rawhal_bytes_t bytes = kernel->given;
  const rawhal_device_kernel_info_t *original = rawhal_device_kernel_info(replay->kernel);
  const uint64_t delta = original->kernel_object - original->kernel->descriptor->address;
  if (kernel->probed)
    return true;
  describe_device(kernel, rawhal_device_info(replay->device));
  if (!bytes.size) {
    if (rawhal_probe_apply(kernel->plan, delta, &kernel->bytes, &error) != RAWHAL_OK)
      return refuse(kernel, VERIFY_REFUSED, "there is no copy", &error);
    bytes = kernel->bytes;
  }
  if (rawhal_probe_verify(kernel->facts, bytes.data, bytes.size, delta, &error) != RAWHAL_OK)
    return refuse(kernel, VERIFY_DIFFERENT, "its copy is none, which was not run", &error);
  return load(kernel, replay, bytes, &error) == RAWHAL_OK ||
         refuse(kernel, VERIFY_CANNOT, "its copy cannot be loaded", &error);
}

void verify_unload(verify_kernel_t *kernel)
{
  rawhal_executable_destroy(kernel->executable);
  rawhal_probe_free(kernel->plan, &kernel->bytes);
  kernel->executable = NULL;
  kernel->probed = NULL;
}

void verify_kernel_close(verify_kernel_t *kernel)
{
  verify_unload(kernel);
  rawhal_probe_plan_destroy(kernel->plan);
}
