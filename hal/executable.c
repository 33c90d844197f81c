/* Code objects on a device, through the runtime's own loader. Everything rawhal can know is checked
 * before the runtime sees the bytes: its loader crashes on damaged ones. */
#include "hal/internal.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1 /* a failed insertion leaves the element out, it does not exit() */
#include <uthash.h>

typedef struct loaded_kernel {
  rawhal_device_kernel_t kernel;
  rawhal_kernarg_layout_t *layout;
  const rawhal_kernel_t *facts; /* the table's key */
  uint32_t stated_size;
  UT_hash_handle hh;
} loaded_kernel_t;

struct rawhal_executable {
  rawhal_device_t *device;
  rawhal_hsaco_t *hsaco; /* our own, on our own copy of the bytes */
  hsa_code_object_reader_t reader;
  hsa_executable_t executable;
  pthread_mutex_t lock;
  loaded_kernel_t *kernels; /* those asked for */
  uint64_t code_bytes;      /* reserved of the device's quota */
};

/* ---- Loading ---- */

static rawhal_status_t check_loadable(const rawhal_device_t *device,
                                      const rawhal_hsaco_info_t *info, rawhal_error_t *error)
{
  uint32_t mismatch = rawhal_target_match(&info->target, &device->info.target);
  if (mismatch) {
    char object[96], mine[96], why[256];
    rawhal_target_format(&info->target, object, sizeof(object));
    rawhal_target_format(&device->info.target, mine, sizeof(mine));
    rawhal_target_explain(mismatch, &info->target, &device->info.target, why, sizeof(why));
    return rawhal_fail(error, RAWHAL_TARGET_MISMATCH,
                       "the code object is for %s, the device is %s: %s", object, mine, why);
  }
  if (!info->loadable)
    return rawhal_fail(error, RAWHAL_UNSUPPORTED, "the code object cannot be loaded: %.*s",
                       RAWHAL_STRING_ARGS(info->not_loadable_reason));
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
static rawhal_status_t open_copy(const rawhal_hsaco_t *hsaco, rawhal_hsaco_t **copy,
                                 rawhal_error_t *error)
{
  rawhal_hsaco_options_t options = {
      .flags = RAWHAL_HSACO_COPY |
               (allows_descriptor_kernels(hsaco) ? RAWHAL_HSACO_DESCRIPTOR_KERNELS : 0u),
      .max_kernels = UINT32_MAX,
      .max_arguments = UINT32_MAX,
      .max_metadata_bytes = UINT64_MAX,
  };
  const rawhal_hsaco_info_t *info = rawhal_hsaco_info(hsaco);
  return rawhal_hsaco_open(info->bytes.data, info->bytes.size, &options, copy, error);
}

static rawhal_status_t reserve_code(rawhal_executable_t *executable, rawhal_error_t *error)
{
  uint64_t bytes = limits_code_bytes(rawhal_hsaco_info(executable->hsaco)->bytes);
  rawhal_status_t status = limits_reserve(executable->device, LEDGER_CODE, bytes, error);
  if (status == RAWHAL_OK)
    executable->code_bytes = bytes;
  return status;
}

static rawhal_status_t load(rawhal_executable_t *executable, rawhal_error_t *error)
{
  const hsa_table_t *hsa = &executable->device->runtime->hsa;
  hsa_agent_t agent = executable->device->queue.agent;
  rawhal_bytes_t bytes = rawhal_hsaco_info(executable->hsaco)->bytes;
  hsa_profile_t profile = HSA_PROFILE_BASE;
  hsa_status_t result = hsa->hsa_agent_get_info(agent, HSA_AGENT_INFO_PROFILE, &profile);
  if (result != HSA_STATUS_SUCCESS)
    return hsa_fail(hsa, result, error, "reading the device's profile");
  result =
      hsa->hsa_code_object_reader_create_from_memory(bytes.data, bytes.size, &executable->reader);
  if (result != HSA_STATUS_SUCCESS) {
    executable->reader.handle = 0;
    return hsa_fail(hsa, result, error, "opening the code object in the runtime");
  }
  result = hsa->hsa_executable_create_alt(profile, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL,
                                          &executable->executable);
  if (result != HSA_STATUS_SUCCESS) {
    executable->executable.handle = 0;
    return hsa_fail(hsa, result, error, "creating an executable");
  }
  result = hsa->hsa_executable_load_agent_code_object(executable->executable, agent,
                                                      executable->reader, NULL, NULL);
  if (result != HSA_STATUS_SUCCESS)
    return hsa_fail(hsa, result, error, "the runtime's loader refused the code object");
  result = hsa->hsa_executable_freeze(executable->executable, NULL);
  if (result != HSA_STATUS_SUCCESS)
    return hsa_fail(hsa, result, error, "the runtime's loader could not finish the executable");
  return RAWHAL_OK;
}

rawhal_status_t rawhal_executable_load(rawhal_device_t *device, const rawhal_hsaco_t *hsaco,
                                       rawhal_executable_t **executable, rawhal_error_t *error)
{
  if (!executable)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "executable is NULL");
  *executable = NULL;
  if (!device || !hsaco)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s is NULL", device ? "hsaco" : "device");
  rawhal_status_t status = check_loadable(device, rawhal_hsaco_info(hsaco), error);
  if (status != RAWHAL_OK)
    return status;
  rawhal_executable_t *created = calloc(1, sizeof(*created));
  if (!created)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for an executable");
  created->device = device;
  pthread_mutex_init(&created->lock, NULL);
  runtime_hold();
  status = open_copy(hsaco, &created->hsaco, error);
  if (status == RAWHAL_OK)
    status = reserve_code(created, error);
  if (status == RAWHAL_OK)
    status = load(created, error);
  if (status != RAWHAL_OK) {
    rawhal_executable_destroy(created);
    return status;
  }
  *executable = created;
  return RAWHAL_OK;
}

static void kernel_free(loaded_kernel_t *loaded)
{
  rawhal_kernarg_layout_destroy(loaded->layout);
  free(loaded);
}

void rawhal_executable_destroy(rawhal_executable_t *executable)
{
  if (!executable)
    return;
  const hsa_table_t *hsa = &executable->device->runtime->hsa;
  loaded_kernel_t *loaded, *next;
  HASH_ITER(hh, executable->kernels, loaded, next)
  {
    HASH_DEL(executable->kernels, loaded);
    kernel_free(loaded);
  }
  if (executable->executable.handle)
    (void)hsa->hsa_executable_destroy(executable->executable);
  if (executable->code_bytes)
    limits_release(executable->device, LEDGER_CODE, executable->code_bytes);
  if (executable->reader.handle)
    (void)hsa->hsa_code_object_reader_destroy(executable->reader);
  rawhal_hsaco_close(executable->hsaco);
  pthread_mutex_destroy(&executable->lock);
  free(executable);
  runtime_release();
}

/* ---- Kernels ---- */

/* Kernel object and segment sizes, as the runtime's loader has them. */
static rawhal_status_t resolve(const rawhal_executable_t *executable, loaded_kernel_t *loaded,
                               rawhal_error_t *error)
{
  const hsa_table_t *hsa = &executable->device->runtime->hsa;
  hsa_agent_t agent = executable->device->queue.agent;
  rawhal_string_t name = loaded->facts->symbol;
  char *symbol_name = memchr(name.data, '\0', name.size) ? NULL : strndup(name.data, name.size);
  if (!symbol_name)
    return rawhal_fail(error, RAWHAL_UNSUPPORTED, "the kernel's symbol is no C string");
  hsa_executable_symbol_t symbol;
  hsa_status_t result =
      hsa->hsa_executable_get_symbol_by_name(executable->executable, symbol_name, &agent, &symbol);
  free(symbol_name);
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

static rawhal_status_t kernel_load(const rawhal_executable_t *executable,
                                   const rawhal_kernel_t *facts, uint32_t stated_size,
                                   loaded_kernel_t **result, rawhal_error_t *error)
{
  loaded_kernel_t *loaded = calloc(1, sizeof(*loaded));
  if (!loaded)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a kernel");
  loaded->facts = facts;
  loaded->stated_size = stated_size;
  loaded->kernel.agent = executable->device->queue.agent.handle;
  rawhal_status_t status = rawhal_kernarg_layout_create(facts, stated_size, &loaded->layout, error);
  loaded->kernel.info.kernel = facts;
  loaded->kernel.info.layout = loaded->layout;
  if (status == RAWHAL_OK)
    status = device_kernel_init(&loaded->kernel, error);
  if (status == RAWHAL_OK)
    status = resolve(executable, loaded, error);
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
                       "a kernarg size of %u bytes is stated, it was %u before", stated_size,
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
  return RAWHAL_OK;
}

rawhal_status_t rawhal_executable_kernel(rawhal_executable_t *executable, rawhal_string_t name,
                                         uint32_t stated_size,
                                         const rawhal_device_kernel_t **kernel,
                                         rawhal_error_t *error)
{
  if (!kernel)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "kernel is NULL");
  *kernel = NULL;
  if (!executable || (!name.data && name.size))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s is NULL",
                       executable ? "name" : "executable");
  const rawhal_kernel_t *facts = rawhal_hsaco_find_kernel(executable->hsaco, name);
  if (!facts)
    return rawhal_fail(error, RAWHAL_NOT_FOUND, "the code object has no kernel '%.*s'",
                       RAWHAL_STRING_ARGS(name));
  if (!facts->usable)
    return rawhal_fail(error, RAWHAL_UNSUPPORTED, "kernel '%.*s' cannot be used: %.*s",
                       RAWHAL_STRING_ARGS(name), RAWHAL_STRING_ARGS(facts->unusable_reason));
  loaded_kernel_t *loaded = NULL;
  pthread_mutex_lock(&executable->lock);
  rawhal_status_t status = kernel_find(executable, facts, stated_size, &loaded, error);
  pthread_mutex_unlock(&executable->lock);
  if (status != RAWHAL_OK)
    return status;
  *kernel = &loaded->kernel;
  return RAWHAL_OK;
}
