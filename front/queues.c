/* Hooks of queues: those with a proxy are answered here, others by what was in the table before. */
#include "front/queues.h"

#include "front/devices.h"
#include "front/direct.h"
#include "front/flight.h"
#include "front/forward.h"
#include "front/memory.h"
#include "front/proxies.h"
#include "front/report.h"
#include "front/service.h"

#include <unistd.h>

/* ---- Coming and going ---- */

static hsa_status_t queue_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                                 void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data,
                                 uint32_t private_bytes, uint32_t group_bytes, hsa_queue_t **queue)
{
  front_device_t *device = device_of_agent(agent);
  const proxy_wish_t wish = {agent, size, type, callback, data, private_bytes, group_bytes};
  if (front_orphaned())
    return HSA_STATUS_ERROR_NOT_INITIALIZED;
  if (device && device->timed)
    return proxy_create(device, &wish, queue);
  return memory_queue_create(agent, size, type, callback, data, private_bytes, group_bytes, queue);
}

static hsa_status_t queue_destroy(hsa_queue_t *queue)
{
  proxy_t *proxy = proxy_of(queue);
  if (proxy && front_orphaned())
    return HSA_STATUS_ERROR_NOT_INITIALIZED;
  return proxy ? proxy_destroy(proxy) : memory_queue_destroy(queue);
}

static hsa_status_t queue_inactivate(hsa_queue_t *queue)
{
  proxy_t *proxy = proxy_of(queue);
  if (!proxy)
    return front.hsa.queue_inactivate(queue);
  if (front_orphaned())
    return HSA_STATUS_ERROR_NOT_INITIALIZED;
  uint64_t alive = 0;
  (void)atomic_compare_exchange_strong(&proxy->died_at, &alive, clock_now());
  hsa_status_t result = front.hsa.queue_inactivate(proxy->real);
  flight_end_all(proxy, clock_now());
  return result;
}

/* A runtime's intercept queue is one that this front does not see. */
static hsa_status_t intercept_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                                     void (*callback)(hsa_status_t, hsa_queue_t *, void *),
                                     void *data, uint32_t private_bytes, uint32_t group_bytes,
                                     hsa_queue_t **queue)
{
  front_device_t *device = device_of_agent(agent);
  if (!device || !device->timed)
    return front.hsa.intercept_create(agent, size, type, callback, data, private_bytes, group_bytes,
                                      queue);
  front_report("hsa_amd_queue_intercept_create() is refused: what its queue runs is not limited");
  return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

/* ---- Indices ---- */

/* A program that waits for room in a ring whose packets are held back polls: not too fast. */
static void leave_time(const proxy_t *proxy, uint64_t read)
{
  uint64_t write = __atomic_load_n(&proxy->face->write_dispatch_id, __ATOMIC_RELAXED);
  if (write - read > proxy->mask)
    clock_nap(50000);
}

static uint64_t read_index(proxy_t *proxy)
{
  if (front_orphaned())
    return __atomic_load_n(&proxy->face->read_dispatch_id, __ATOMIC_RELAXED);
  ending_forward();
  uint64_t read = proxy_read_index(proxy);
  if (__builtin_expect(proxy->held, 0))
    leave_time(proxy, read);
  return read;
}

#define LOAD_READ(order)                                                                           \
  static uint64_t load_read_##order(const hsa_queue_t *queue)                                      \
  {                                                                                                \
    proxy_t *proxy = proxy_of(queue);                                                              \
    return proxy ? read_index(proxy) : front.hsa.load_read_##order(queue);                         \
  }

#define LOAD_WRITE(order, memory)                                                                  \
  static uint64_t load_write_##order(const hsa_queue_t *queue)                                     \
  {                                                                                                \
    proxy_t *proxy = proxy_of(queue);                                                              \
    return proxy ? __atomic_load_n(&proxy->face->write_dispatch_id, memory)                        \
                 : front.hsa.load_write_##order(queue);                                            \
  }

#define STORE_WRITE(order, memory)                                                                 \
  static void store_write_##order(const hsa_queue_t *queue, uint64_t value)                        \
  {                                                                                                \
    proxy_t *proxy = proxy_of(queue);                                                              \
    if (proxy)                                                                                     \
      __atomic_store_n(&proxy->face->write_dispatch_id, value, memory);                            \
    else                                                                                           \
      front.hsa.store_write_##order(queue, value);                                                 \
  }

#define CAS_WRITE(order, memory, failed)                                                           \
  static uint64_t cas_write_##order(const hsa_queue_t *queue, uint64_t expected, uint64_t value)   \
  {                                                                                                \
    proxy_t *proxy = proxy_of(queue);                                                              \
    if (!proxy)                                                                                    \
      return front.hsa.cas_write_##order(queue, expected, value);                                  \
    (void)__atomic_compare_exchange_n(&proxy->face->write_dispatch_id, &expected, value, false,    \
                                      memory, failed);                                             \
    return expected;                                                                               \
  }

#define ADD_WRITE(order, memory)                                                                   \
  static uint64_t add_write_##order(const hsa_queue_t *queue, uint64_t value)                      \
  {                                                                                                \
    proxy_t *proxy = proxy_of(queue);                                                              \
    return proxy ? __atomic_fetch_add(&proxy->face->write_dispatch_id, value, memory)              \
                 : front.hsa.add_write_##order(queue, value);                                      \
  }

/* Of a queue of the device's only the device stores it. */
#define STORE_READ(order)                                                                          \
  static void store_read_##order(const hsa_queue_t *queue, uint64_t value)                         \
  {                                                                                                \
    if (!proxy_of(queue))                                                                          \
      front.hsa.store_read_##order(queue, value);                                                  \
  }

LOAD_READ(scacquire)
LOAD_READ(relaxed)
LOAD_WRITE(scacquire, __ATOMIC_ACQUIRE)
LOAD_WRITE(relaxed, __ATOMIC_RELAXED)
STORE_WRITE(relaxed, __ATOMIC_RELAXED)
STORE_WRITE(screlease, __ATOMIC_RELEASE)
CAS_WRITE(scacq_screl, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)
CAS_WRITE(scacquire, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)
CAS_WRITE(relaxed, __ATOMIC_RELAXED, __ATOMIC_RELAXED)
CAS_WRITE(screlease, __ATOMIC_RELEASE, __ATOMIC_RELAXED)
ADD_WRITE(scacq_screl, __ATOMIC_ACQ_REL)
ADD_WRITE(scacquire, __ATOMIC_ACQUIRE)
ADD_WRITE(relaxed, __ATOMIC_RELAXED)
ADD_WRITE(screlease, __ATOMIC_RELEASE)
STORE_READ(relaxed)
STORE_READ(screlease)

/* ---- Doorbells ---- */

/* The signal keeps its value: the program may read it. That of the device's own doorbell is where
 * that is, and what it would tell the device of is in our ring. */
#define SIGNAL_STORE(name)                                                                         \
  static void name(hsa_signal_t signal, hsa_signal_value_t value)                                  \
  {                                                                                                \
    proxy_t *proxy = proxy_of_doorbell(signal);                                                    \
    if (proxy && front_orphaned())                                                                 \
      return;                                                                                      \
    if (proxy && __builtin_expect(front.direct, 1))                                                \
      proxy_show_rung(proxy, signal, value);                                                       \
    else if (!proxy || signal.handle == proxy->face->hsa_queue.doorbell_signal.handle)             \
      front.hsa.name(signal, value);                                                               \
    if (proxy)                                                                                     \
      proxy_ring(proxy);                                                                           \
  }

static void proxy_show_rung(const proxy_t *proxy, hsa_signal_t signal, hsa_signal_value_t value)
{
  if (__builtin_expect(signal.handle == proxy->face->hsa_queue.doorbell_signal.handle, 1))
    direct_set_value(signal, value);
}

SIGNAL_STORE(signal_store_relaxed)
SIGNAL_STORE(signal_store_screlease)
SIGNAL_STORE(silent_store_relaxed)
SIGNAL_STORE(silent_store_screlease)

/* ---- What else takes a queue ---- */

static hsa_queue_t *real_of(hsa_queue_t *queue)
{
  proxy_t *proxy = proxy_of(queue);
  return proxy ? proxy->real : queue;
}

/* A program that switches it off gets times all the same; without them nothing could be charged. */
static hsa_status_t set_profiler_enabled(hsa_queue_t *queue, int enable)
{
  return proxy_of(queue) ? HSA_STATUS_SUCCESS : front.hsa.set_profiler_enabled(queue, enable);
}

static hsa_status_t cu_set_mask(const hsa_queue_t *queue, uint32_t bits, const uint32_t *mask)
{
  return front.hsa.cu_set_mask(real_of((hsa_queue_t *)(uintptr_t)queue), bits, mask);
}

static hsa_status_t cu_get_mask(const hsa_queue_t *queue, uint32_t bits, uint32_t *mask)
{
  return front.hsa.cu_get_mask(real_of((hsa_queue_t *)(uintptr_t)queue), bits, mask);
}

static hsa_status_t queue_set_priority(hsa_queue_t *queue, hsa_amd_queue_priority_t priority)
{
  return front.hsa.queue_set_priority(real_of(queue), priority);
}

/* Of hsa_queue_info_attribute_t in HSA 1.31. */
enum {
  INFO_METADATA_FIRST = 4, /* four versions of its packets, one byte each */
  INFO_METADATA_RING = 8,
  INFO_READ_POINTER = 15,
  INFO_WRITE_POINTER = 16,
  NO_METADATA = 0xff,
};

/* What would let the program past its own ring it is told that there is not. */
static hsa_status_t queue_get_info(hsa_queue_t *queue, int attribute, void *value)
{
  proxy_t *proxy = proxy_of(queue);
  if (!proxy || !value || attribute < INFO_METADATA_FIRST)
    return front.hsa.queue_get_info(real_of(queue), attribute, value);
  if (attribute == INFO_READ_POINTER || attribute == INFO_WRITE_POINTER)
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  if (attribute > INFO_METADATA_RING)
    return front.hsa.queue_get_info(proxy->real, attribute, value);
  if (attribute == INFO_METADATA_RING)
    *(uint64_t *)value = 0;
  else
    *(uint8_t *)value = NO_METADATA;
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t intercept_register(hsa_queue_t *queue, void (*handler)(void), void *data)
{
  return front.hsa.intercept_register(real_of(queue), handler, data);
}

void queues_hooks(front_calls_t *hooks)
{
#define X(name) hooks->name = name;
  X(queue_create)
  X(queue_destroy)
  X(queue_inactivate)
  X(intercept_create)
  X(intercept_register)
  X(load_read_scacquire)
  X(load_read_relaxed)
  X(load_write_scacquire)
  X(load_write_relaxed)
  X(store_write_relaxed)
  X(store_write_screlease)
  X(cas_write_scacq_screl)
  X(cas_write_scacquire)
  X(cas_write_relaxed)
  X(cas_write_screlease)
  X(add_write_scacq_screl)
  X(add_write_scacquire)
  X(add_write_relaxed)
  X(add_write_screlease)
  X(store_read_relaxed)
  X(store_read_screlease)
  X(signal_store_relaxed)
  X(signal_store_screlease)
  X(silent_store_relaxed)
  X(silent_store_screlease)
  X(set_profiler_enabled)
  X(cu_set_mask)
  X(cu_get_mask)
  X(queue_set_priority)
  X(queue_get_info)
#undef X
}

/* ---- The end ---- */

static void stop(proxy_t *proxy, notice_t *notice)
{
  (void)notice;
  service_end(proxy);
}

static void harvest(proxy_t *proxy, notice_t *notice)
{
  (void)notice;
  (void)flight_harvest(proxy);
}

void queues_harvest(void)
{
  proxies_each(harvest);
}

void queues_end(void)
{
  atomic_store(&service_ended, true);
  proxies_each(stop);
  queues_harvest();
}

static atomic_bool flying;

static void look_at(proxy_t *proxy, notice_t *notice)
{
  harvest(proxy, notice);
  if (!atomic_load(&proxy->died_at) && proxy_in_flight(proxy))
    atomic_store(&flying, true);
}

void queues_settle(bool (*wanted)(void))
{
  static const uint64_t nap = 50000;
  const uint64_t end = clock_now() + CLOCK_SECOND;
  for (atomic_store(&flying, true); wanted() && atomic_load(&flying) && clock_now() < end;) {
    atomic_store(&flying, false);
    proxies_each(look_at);
    if (atomic_load(&flying))
      clock_nap(nap);
  }
}

void queues_forget(void)
{
  proxies_destroy();
  proxies_forget();
  atomic_store(&service_ended, false);
}

void queues_abandon(void)
{
  proxies_abandon();
  atomic_store(&service_ended, false);
}
