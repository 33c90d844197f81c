/* Kernels of executables, looked up by name. */
#include "hal/executable.h"
#include "hal/runtime.h"

#include "base/cancel.h"
#include "base/error.h"
#include "base/near.h"

#include <stdlib.h>
#include <string.h>

static void kernel_free(loaded_kernel_t *loaded)
{
  tell_unlist(loaded->told);
  rawhal_kernarg_layout_destroy(loaded->layout);
  runtime_free(loaded);
}

void kernels_free(rawhal_executable_t *executable)
{
  loaded_kernel_t *loaded, *next;
  HASH_ITER(hh, executable->kernels, loaded, next)
  {
    HASH_DEL(executable->kernels, loaded);
    kernel_free(loaded);
  }
}

/* Kernel object and segment sizes, as the runtime's loader has them. */
static rawhal_status_t resolve(const rawhal_executable_t *executable, loaded_kernel_t *loaded,
                               rawhal_error_t *error)
{
  const hsa_table_t *hsa = &executable->device->runtime->hsa;
  rawhal_string_t name = loaded->facts->symbol;
  if (memchr(name.data, '\0', name.size))
    return rawhal_fail(error, RAWHAL_UNSUPPORTED, "the kernel's symbol is not a C string");
  hsa_executable_symbol_t symbol;
  hsa_status_t result = executable_symbol(executable, name, &symbol);
  rawhal_device_kernel_info_t *info = &loaded->kernel.info;
  const struct {
    hsa_executable_symbol_info_t attribute;
    void *value;
  } facts[] = {
      {HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &info->kernel_object},
      {HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE, &info->group_segment_size},
      {HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE, &info->private_segment_size},
  };
  for (size_t i = 0; result == HSA_STATUS_SUCCESS && i < sizeof(facts) / sizeof(*facts); ++i)
    result = hsa->hsa_executable_symbol_get_info(symbol, facts[i].attribute, facts[i].value);
  if (result != HSA_STATUS_SUCCESS)
    return hsa_fail(hsa, result, error, "looking the kernel up in the executable");
  return RAWHAL_OK;
}

/* A device whose waves have 64 lanes knows no others; one with 32 runs both. */
static rawhal_status_t check_wave(const rawhal_device_t *device, const rawhal_kernel_t *facts,
                                  rawhal_error_t *error)
{
  if (facts->wavefront_size == 0 || facts->wavefront_size >= device->info.wavefront_size)
    return RAWHAL_OK;
  return rawhal_fail(error, RAWHAL_UNSUPPORTED,
                     "the kernel has waves of %u work-items, the device of %u",
                     facts->wavefront_size, device->info.wavefront_size);
}

static rawhal_status_t kernel_load(rawhal_executable_t *executable, const rawhal_kernel_t *facts,
                                   uint32_t stated_size, loaded_kernel_t **result,
                                   rawhal_error_t *error)
{
  rawhal_status_t status = check_wave(executable->device, facts, error);
  if (status != RAWHAL_OK)
    return status;
  loaded_kernel_t *loaded =
      allocate_zeroed(&executable->device->runtime->allocator, 1, sizeof(*loaded));
  if (!loaded)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a kernel");
  loaded->facts = facts;
  loaded->stated_size = stated_size;
  loaded->kernel.owner = &executable->owner;
  loaded->kernel.agent = executable->device->queue.agent.handle;
  status = rawhal_kernarg_layout_create(facts, stated_size, &loaded->layout, error);
  loaded->kernel.info.kernel = facts;
  loaded->kernel.info.layout = loaded->layout;
  if (status == RAWHAL_OK)
    status = resolve(executable, loaded, error);
  if (status == RAWHAL_OK)
    status = device_kernel_init(&loaded->kernel, &executable->device->queue, error);
  if (status != RAWHAL_OK) {
    kernel_free(loaded);
    return status;
  }
  *result = loaded;
  return RAWHAL_OK;
}

/* The handle for `facts`, made when it is asked for the first time. The caller holds the lock. */
static rawhal_status_t kernel_find(rawhal_executable_t *executable, const rawhal_kernel_t *facts,
                                   uint32_t stated_size, loaded_kernel_t **result,
                                   rawhal_error_t *error)
{
  HASH_FIND_PTR(executable->kernels, &facts, *result);
  if (*result && stated_size && (*result)->stated_size != stated_size)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "a kernarg size of %u bytes is stated, but it was %u before", stated_size,
                       (*result)->stated_size);
  if (*result)
    return RAWHAL_OK;
  loaded_kernel_t *loaded = NULL;
  rawhal_status_t status = kernel_load(executable, facts, stated_size, &loaded, error);
  if (status != RAWHAL_OK)
    return status;
  HASH_ADD_PTR(executable->kernels, facts, loaded);
  HASH_FIND_PTR(executable->kernels, &facts, *result);
  if (!*result) {
    kernel_free(loaded);
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for the table of kernels");
  }
  const rawhal_device_kernel_info_t *info = &loaded->kernel.info;
  loaded->told = tell_came((rawhal_event_t){
      .type = RAWHAL_EVENT_KERNEL,
      .id = executable->number,
      .kernel_object = info->kernel_object,
      .delta = facts->descriptor ? (int64_t)(info->kernel_object - facts->descriptor->address) : 0,
      .text = facts->name});
  return RAWHAL_OK;
}

static rawhal_string_t kernel_name(const void *hsaco, size_t number)
{
  return rawhal_hsaco_kernel(hsaco, number)->name;
}

static rawhal_status_t not_a_kernel(const rawhal_hsaco_t *hsaco, rawhal_string_t name,
                                    rawhal_error_t *error)
{
  const near_phrase_t nearest = near_phrase(near_stem(name), kernel_name, hsaco,
                                            rawhal_hsaco_info(hsaco)->kernel_count, error);
  return rawhal_fail(error, RAWHAL_NOT_FOUND, "the code object has no kernel '%.*s'%s",
                     RAWHAL_STRING_ARGS(name), nearest.text);
}

rawhal_status_t rawhal_executable_kernel(rawhal_executable_t *executable, rawhal_string_t name,
                                         uint32_t stated_size,
                                         const rawhal_device_kernel_t **kernel,
                                         rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  if (!kernel)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "kernel is NULL");
  *kernel = NULL;
  if (!executable || (!name.data && name.size))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s is NULL",
                       executable ? "name" : "executable");
  rawhal_status_t status = runtime_check(error);
  if (status != RAWHAL_OK)
    return status;
  const rawhal_kernel_t *facts = rawhal_hsaco_find_kernel(executable->source->hsaco, name);
  if (!facts)
    return not_a_kernel(executable->source->hsaco, name, error);
  if (!facts->usable)
    return rawhal_fail(error, RAWHAL_UNSUPPORTED, "kernel '%.*s' cannot be used: %.*s",
                       RAWHAL_STRING_ARGS(name), RAWHAL_STRING_ARGS(facts->unusable_reason));
  loaded_kernel_t *loaded = NULL;
  pthread_mutex_lock(&executable->lock);
  status = kernel_find(executable, facts, stated_size, &loaded, error);
  pthread_mutex_unlock(&executable->lock);
  if (status != RAWHAL_OK)
    return status;
  *kernel = &loaded->kernel;
  return RAWHAL_OK;
}
