/* By which names limits are set, and what is known of other limiters' variables. */
#include "queue/limit/names.h"

#include "base/meant.h"
#include "base/variables.h"

#include <string.h>

const limit_text_info_t limit_texts[LIMIT_NAME_COUNT] = {
    [RAWHAL_LIMIT_NAME_TENANT] = {"tenant", "RAWHAL_TENANT"},
    [RAWHAL_LIMIT_NAME_REGION] = {"region", "RAWHAL_LIMIT_REGION"},
    [RAWHAL_LIMIT_NAME_CU_MASK] = {"cu-mask", "RAWHAL_CU_MASK"},
};

enum { PER_DEVICE = LIMIT_COUNT + LIMIT_NAME_COUNT };

/* Limits first, then texts. */
const char *limit_variable(int index)
{
  if (index >= PER_DEVICE)
    return NULL;
  return index < LIMIT_COUNT ? rawhal_limit_info((rawhal_limit_t)index)->variable
                             : limit_texts[index - LIMIT_COUNT].variable;
}

static const char *name_at(int index)
{
  return index < LIMIT_COUNT ? rawhal_limit_info((rawhal_limit_t)index)->name
                             : limit_texts[index - LIMIT_COUNT].name;
}

bool limit_resolve_name(const char *name, char variable[LIMIT_NAME_BYTES], const char **nearest)
{
  size_t size = strlen(name), stem = variable_stem(name, size);
  for (int i = 0; i < PER_DEVICE; ++i) {
    const char *known = limit_variable(i);
    if (!variable_is(name, stem, known) && !variable_is(name, stem, name_at(i)))
      continue;
    size_t length = strlen(known);
    memcpy(variable, known, length);
    memcpy(variable + length, name + stem, size - stem + 1);
    return true;
  }
  meant_t found = {0};
  for (int i = 0; i < PER_DEVICE; ++i) {
    meant_compare(&found, name, stem, limit_variable(i));
    meant_compare(&found, name, stem, name_at(i));
  }
  *nearest = found.name;
  return false;
}

int limit_find_name(const char *name, size_t size, const char **nearest)
{
  for (int i = 0; i < PER_DEVICE; ++i)
    if (variable_is(name, size, name_at(i)))
      return i;
  meant_t found = {0};
  for (int i = 0; i < PER_DEVICE; ++i)
    meant_compare(&found, name, size, name_at(i));
  *nearest = found.name;
  return -1;
}

/* ---- Other limiters' ---- */

static const rawhal_limit_foreign_t foreign[] = {
    {"GPU_CORE_UTILIZATION_POLICY",
     "a share that is set holds, whatever the policy; CUDA_DEVICE_SM_LIMIT of 0 sets none"},
    {"CUDA_OVERSUBSCRIBE", "memory beyond the limit is refused; nothing moves to the host"},
    {"HIP_OVERSUBSCRIBE", "memory beyond the limit is refused; nothing moves to the host"},
    {"ACTIVE_OOM_KILLER", "no process is killed: the allocation that does not fit is refused"},
    {"CUDA_DISABLE_CONTROL", "limits hold; they end with the variables that set them"},
    {"RECORD_KERNEL_INTERVAL", "the region is always up to date"},
    {"LIBCUDA_LOG_LEVEL", "the library prints nothing; see rawhal top --log"},
    {"LIBHIP_LOG_LEVEL", "the library prints nothing; see rawhal top --log"},
    {"CUDA_REDIRECT", "no library is redirected: limits are part of submission"},
    {"CUDA_VISIBLE_DEVICES", "the HSA runtime's ROCR_VISIBLE_DEVICES selects devices"},
    {"HIP_VISIBLE_DEVICES", "the HSA runtime's ROCR_VISIBLE_DEVICES selects devices"},
    {"HSA_CU_MASK", "the HSA runtime's own: it makes any mask of rawhal's smaller"},
    {"/overrideEnv", "not read; RAWHAL_LIMITS_FILE names a file that is"},
};

const rawhal_limit_foreign_t *rawhal_limit_foreign(size_t index)
{
  return index < sizeof(foreign) / sizeof(*foreign) ? &foreign[index] : NULL;
}
