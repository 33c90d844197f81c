/* The HSA runtime, which refuses some calls of two of its functions: as many as the test says, after
 * so many that it lets pass. */
#include <dlfcn.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <stdbool.h>

#define SHOWN __attribute__((visibility("default")))

SHOWN int refused_copies, passed_copies, refused_signals, passed_signals;

static bool refuses(int *refused, int *passed)
{
  if (*refused == 0 || (*passed)-- > 0)
    return false;
  --*refused;
  *passed = 0;
  return true;
}

SHOWN hsa_status_t hsa_amd_memory_async_copy(void *to, hsa_agent_t to_agent, const void *from,
                                             hsa_agent_t from_agent, size_t size, uint32_t count,
                                             const hsa_signal_t *signals, hsa_signal_t done)
{
  __typeof__(&hsa_amd_memory_async_copy) real;
  if (refuses(&refused_copies, &passed_copies))
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  *(void **)&real = dlsym(RTLD_NEXT, "hsa_amd_memory_async_copy");
  return real(to, to_agent, from, from_agent, size, count, signals, done);
}

SHOWN hsa_status_t hsa_signal_create(hsa_signal_value_t value, uint32_t count,
                                     const hsa_agent_t *consumers, hsa_signal_t *signal)
{
  __typeof__(&hsa_signal_create) real;
  if (refuses(&refused_signals, &passed_signals))
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  *(void **)&real = dlsym(RTLD_NEXT, "hsa_signal_create");
  return real(value, count, consumers, signal);
}
