/* The HSA runtime, which refuses some calls of four of its functions: as many as the test says, after
 * so many that it lets pass. Of loads it also counts all, and holds those up that the test says; of
 * copies it tells by which signal the last one ends, and has them wait for another. What handles
 * events of the system is told, too. */
#include <dlfcn.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))

SHOWN _Atomic int refused_copies, passed_copies, refused_signals, passed_signals, refused_loads,
    passed_loads, refused_rectangles, passed_rectangles;
SHOWN _Atomic int copies, rectangles; /* begun */
SHOWN _Atomic int loads;              /* begun */
SHOWN _Atomic int held_loads; /* the load of this number, from 1, waits until this is another */
SHOWN _Atomic uint64_t last_copy, copies_await; /* handles of signals; 0: none */

SHOWN hsa_amd_system_event_callback_t event_handler;
SHOWN void *event_data;

SHOWN hsa_status_t hsa_amd_register_system_event_handler(hsa_amd_system_event_callback_t handler,
                                                         void *data)
{
  __typeof__(&hsa_amd_register_system_event_handler) real;
  event_handler = handler;
  event_data = data;
  *(void **)&real = dlsym(RTLD_NEXT, "hsa_amd_register_system_event_handler");
  return real(handler, data);
}

static bool refuses(_Atomic int *refused, _Atomic int *passed)
{
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* loads come from many threads */
  pthread_mutex_lock(&lock);
  bool refuse = *refused != 0 && (*passed)-- <= 0;
  if (refuse) {
    --*refused;
    *passed = 0;
  }
  pthread_mutex_unlock(&lock);
  return refuse;
}

SHOWN hsa_status_t hsa_amd_memory_async_copy(void *to, hsa_agent_t to_agent, const void *from,
                                             hsa_agent_t from_agent, size_t size, uint32_t count,
                                             const hsa_signal_t *signals, hsa_signal_t done)
{
  __typeof__(&hsa_amd_memory_async_copy) real;
  if (refuses(&refused_copies, &passed_copies))
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  *(void **)&real = dlsym(RTLD_NEXT, "hsa_amd_memory_async_copy");
  const hsa_signal_t awaited = {copies_await};
  last_copy = done.handle;
  ++copies;
  if (count == 0 && awaited.handle)
    return real(to, to_agent, from, from_agent, size, 1, &awaited, done);
  return real(to, to_agent, from, from_agent, size, count, signals, done);
}

SHOWN hsa_status_t hsa_amd_memory_async_copy_rect(
    const hsa_pitched_ptr_t *to, const hsa_dim3_t *to_at, const hsa_pitched_ptr_t *from,
    const hsa_dim3_t *from_at, const hsa_dim3_t *range, hsa_agent_t agent,
    hsa_amd_copy_direction_t direction, uint32_t count, const hsa_signal_t *signals,
    hsa_signal_t done)
{
  __typeof__(&hsa_amd_memory_async_copy_rect) real;
  if (refuses(&refused_rectangles, &passed_rectangles))
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  *(void **)&real = dlsym(RTLD_NEXT, "hsa_amd_memory_async_copy_rect");
  ++rectangles;
  return real(to, to_at, from, from_at, range, agent, direction, count, signals, done);
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

SHOWN hsa_status_t hsa_executable_load_agent_code_object(hsa_executable_t executable,
                                                         hsa_agent_t agent,
                                                         hsa_code_object_reader_t reader,
                                                         const char *options,
                                                         hsa_loaded_code_object_t *loaded)
{
  __typeof__(&hsa_executable_load_agent_code_object) real;
  int number = ++loads;
  while (held_loads == number)
    (void)usleep(100);
  if (refuses(&refused_loads, &passed_loads))
    return HSA_STATUS_ERROR_INVALID_CODE_OBJECT;
  *(void **)&real = dlsym(RTLD_NEXT, "hsa_executable_load_agent_code_object");
  return real(executable, agent, reader, options, loaded);
}
