/* A tools library of the HSA runtime (HSA_TOOLS_LIB) that makes programs wait by blocking, and lets
 * them share all memory.
 *
 * HIP waits for a device by polling, which on a GPU costs a processor that has nothing else to do.
 * Here it costs one of those that the kernel runs on. Nor is it enough to ask the runtime for
 * another wait: it lets one thread sleep for a signal and has all others poll, and HIP has a thread
 * of the runtime wait for the same signals. So waits are done here, on the device's events. */
#include <dlfcn.h>
#include <hsa/amd_hsa_signal.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "softgpu/softgpu.h"
#include "softgpu/system/tools.h"

enum {
  POLL_NS = 100000, /* while which other threads are let run */
  SLEEP_NS = 50000, /* between looks at a signal without an event, and at the end of a timeout */
  BLOCK_MS = 20,    /* the longest that one look at the value is away from the next */
  MS_IN_NS = 1000000,
};

static tools_wait_fn *wait_scacquire; /* the runtime's, or of a tool that came before */
static softgpu_event_wait_fn *event_wait;
static tools_ipc_create_fn *ipc_create;

static uint64_t now_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool condition_met(hsa_signal_condition_t condition, int64_t now, int64_t value)
{
  switch (condition) {
  case HSA_SIGNAL_CONDITION_EQ:
    return now == value;
  case HSA_SIGNAL_CONDITION_NE:
    return now != value;
  case HSA_SIGNAL_CONDITION_LT:
    return now < value;
  default:
    return now >= value;
  }
}

/* Lets a while pass, no longer than `remaining`, or until the signal's event is raised. */
static void rest(const amd_signal_t *signal, uint64_t passed, uint64_t remaining)
{
  if (passed < POLL_NS) {
    sched_yield();
    return;
  }
  uint64_t most = remaining / MS_IN_NS < BLOCK_MS ? remaining / MS_IN_NS : BLOCK_MS;
  if (most > 0 && event_wait(signal->event_id, (uint32_t)most))
    return;
  int before; /* a wait is no cancellation point */
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  nanosleep(&(struct timespec){.tv_nsec = SLEEP_NS}, NULL);
  pthread_setcancelstate(before, &before);
}

/* Timeouts count nanoseconds, as the system's timestamps here do. */
static hsa_signal_value_t blocking_wait(hsa_signal_t handle, hsa_signal_condition_t condition,
                                        hsa_signal_value_t value, uint64_t timeout,
                                        hsa_wait_state_t hint)
{
  amd_signal_t *signal = (amd_signal_t *)handle.handle;
  if (!signal || signal->kind != AMD_SIGNAL_KIND_USER || condition > HSA_SIGNAL_CONDITION_GTE)
    return wait_scacquire(handle, condition, value, timeout, hint);
  const uint64_t start = now_ns();
  for (;;) {
    int64_t now = atomic_load_explicit((_Atomic int64_t *)&signal->value, memory_order_acquire);
    if (condition_met(condition, now, value))
      return now;
    uint64_t passed = now_ns() - start;
    if (passed >= timeout)
      return now;
    rest(signal, passed, timeout - passed);
    if (passed >= POLL_NS) /* what others do when a thread waits must not be left out */
      (void)wait_scacquire(handle, condition, value, 0, hint);
  }
}

/* HIP 5.7 shares what was asked for, the runtime whole pages. ROCr 6.1 takes anything else for a
 * part of its suballocator's block and, without that, which the device asks for, aborts. */
static hsa_status_t create_whole(void *memory, size_t size, hsa_amd_ipc_memory_t *handle)
{
  const size_t page = 4096;
  return ipc_create(memory, size <= SIZE_MAX - page ? (size + page - 1) / page * page : size,
                    handle);
}

/* With another version's table, or another device, nothing is touched, and everything is as without
 * this. */
bool OnLoad(tools_table_t *table, uint64_t runtime_version, uint64_t failed_count,
            const char *const *failed)
{
  (void)runtime_version;
  (void)failed_count;
  (void)failed;
  tools_core_t *core = tools_core(table);
  void *device = dlopen("libhsakmt.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (device)
    *(void **)&event_wait = dlsym(device, "softgpu_event_wait");
  if (!event_wait || !core)
    return true;
  wait_scacquire = core->wait_scacquire;
  core->wait_relaxed = core->wait_scacquire = blocking_wait;
  tools_ipc_create_fn **create = tools_ipc_create(table);
  if (create) {
    ipc_create = *create;
    *create = create_whole;
  }
  return true;
}

void OnUnload(void) {}
