#include "front/proxies.h"
#include "base/cancel.h"
#include "front/copying.h"
#include "front/devices.h"
#include "front/direct.h"
#include "front/door.h"
#include "front/faults.h"
#include "front/flight.h"
#include "front/held.h"
#include "front/report.h"
#include "front/scratch.h"
#include "front/service.h"

#include <hsa/hsa_ext_amd.h>
#include <stdlib.h>
#include <string.h>

/* Faces lie side by side in memory that devices reach, as those of the runtime do: a kernel may
 * read its queue's. Whether a queue is ours is then a question of its address. */
static pthread_mutex_t places_lock = PTHREAD_MUTEX_INITIALIZER;
/* Of two that ask for a cooperative queue, of which a device has one, one makes a proxy. Of other
 * queues no two are the same; and another tool that the runtime's function may belong to can ask
 * for one meanwhile. */
static pthread_mutex_t making_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(amd_queue_t *) faces;
static _Atomic(proxy_t *) proxies[PROXY_QUEUES];
/* The device's own queue of each, which a kernel can tell the program: it is the same queue to it.
 */
static _Atomic(const void *) reals[PROXY_QUEUES];
static atomic_uint places_used; /* no place from there on was ever given away */

/* ---- Which are ours ---- */

static proxy_t *proxy_at(uintptr_t address)
{
  uintptr_t base = (uintptr_t)atomic_load_explicit(&faces, memory_order_acquire);
  uintptr_t offset = address - base;
  if (!base || offset >= PROXY_QUEUES * sizeof(amd_queue_t) || offset % sizeof(amd_queue_t))
    return NULL;
  return atomic_load_explicit(&proxies[offset / sizeof(amd_queue_t)], memory_order_acquire);
}

static proxy_t *proxy_of_real(const void *queue)
{
  const unsigned used = atomic_load_explicit(&places_used, memory_order_acquire);
  for (unsigned i = 0; i < used; ++i)
    if (atomic_load_explicit(&reals[i], memory_order_acquire) == queue)
      return atomic_load_explicit(&proxies[i], memory_order_acquire);
  return NULL;
}

proxy_t *proxy_of(const hsa_queue_t *queue)
{
  proxy_t *proxy = proxy_at((uintptr_t)queue);
  return __builtin_expect(proxy != NULL, 1) || !queue ? proxy : proxy_of_real(queue);
}

proxy_t *proxy_of_doorbell(hsa_signal_t signal)
{
  const amd_signal_t *found = (const amd_signal_t *)(uintptr_t)signal.handle;
  /* In other signals softgpu leaves counts there, at any time; no proxy is at them. */
  const uint64_t queue = found ? __atomic_load_n(&found->reserved2, __ATOMIC_RELAXED) : 0;
  if (!queue)
    return NULL;
  if (__builtin_expect(found->kind == AMD_SIGNAL_KIND_USER, 1))
    return proxy_at((uintptr_t)queue);
  return proxy_of_real((const void *)(uintptr_t)queue);
}

/* ---- Visits ---- */

static pthread_cond_t visitor_left = PTHREAD_COND_INITIALIZER;

static proxy_t *visit_begin(uint32_t index)
{
  if (!atomic_load(&proxies[index]))
    return NULL;
  pthread_mutex_lock(&places_lock);
  proxy_t *proxy = atomic_load(&proxies[index]);
  if (proxy && proxy->leaving)
    proxy = NULL;
  if (proxy)
    ++proxy->visitors;
  pthread_mutex_unlock(&places_lock);
  return proxy;
}

static void visit_end(proxy_t *proxy)
{
  pthread_mutex_lock(&places_lock);
  --proxy->visitors;
  (void)pthread_cond_broadcast(&visitor_left);
  pthread_mutex_unlock(&places_lock);
}

void proxies_each(proxy_visitor *visitor)
{
  for (uint32_t i = 0; i < PROXY_QUEUES; ++i) {
    proxy_t *proxy = visit_begin(i);
    if (!proxy)
      continue;
    notice_t notice = {0};
    visitor(proxy, &notice);
    visit_end(proxy);
    if (notice.of)
      (void)notice_tell(&notice);
  }
}

/* It is not visited from here on: what belongs to it may go. False: it has been given to others, of
 * whom there is one less. */
static bool end_visits(proxy_t *proxy)
{
  WITHOUT_CANCELLATION();
  pthread_mutex_lock(&places_lock);
  if (proxy->others) {
    --proxy->others;
    pthread_mutex_unlock(&places_lock);
    return false;
  }
  proxy->leaving = true;
  if (proxy->face)
    atomic_store(&reals[proxy->index], NULL); /* another may come to be at its address */
  while (proxy->visitors)
    (void)pthread_cond_wait(&visitor_left, &places_lock);
  pthread_mutex_unlock(&places_lock);
  return true;
}

static atomic_uint held_count;

void proxy_set_held(proxy_t *proxy, bool held)
{
  if (atomic_exchange(&proxy->held, held) == held)
    return;
  if (held)
    atomic_fetch_add(&held_count, 1);
  else
    atomic_fetch_sub(&held_count, 1);
}

bool proxies_hold(const proxy_t *but)
{
  unsigned own = but && atomic_load(&but->held);
  return atomic_load(&held_count) > own || copying_holds();
}

/* ---- Places ---- */

/* The one that has the same queue of the device, for one more. */
static proxy_t *share_place(const hsa_queue_t *real)
{
  pthread_mutex_lock(&places_lock);
  proxy_t *proxy = proxy_of_real(real);
  if (proxy)
    ++proxy->others;
  pthread_mutex_unlock(&places_lock);
  return proxy;
}

static bool take_place(proxy_t *proxy)
{
  bool taken = false;
  pthread_mutex_lock(&places_lock);
  amd_queue_t *all = atomic_load(&faces);
  if (!all) {
    all = devices_shared_memory(PROXY_QUEUES * sizeof(amd_queue_t));
    atomic_store(&faces, all);
  }
  for (uint32_t i = 0; all && i < PROXY_QUEUES && !taken; ++i) {
    if (atomic_load(&proxies[i]))
      continue;
    proxy->face = &all[i];
    proxy->index = i;
    atomic_store(&proxies[i], proxy);
    atomic_store(&reals[i], proxy->real);
    if (i >= atomic_load(&places_used))
      atomic_store(&places_used, i + 1);
    taken = true;
  }
  pthread_mutex_unlock(&places_lock);
  return taken;
}

static void leave_place(proxy_t *proxy)
{
  if (!proxy->face)
    return;
  pthread_mutex_lock(&places_lock);
  atomic_store(&proxies[proxy->index], NULL);
  pthread_mutex_unlock(&places_lock);
}

void proxies_forget(void)
{
  amd_queue_t *all = atomic_exchange(&faces, NULL);
  if (all)
    (void)front.hsa.pool_free(all);
}

void proxies_abandon(void)
{
  (void)pthread_mutex_init(&places_lock, NULL);
  (void)pthread_mutex_init(&making_lock, NULL);
  (void)pthread_cond_init(&visitor_left, NULL);
  notices_abandon();
  atomic_store(&faces, NULL);
  for (uint32_t i = 0; i < PROXY_QUEUES; ++i) {
    atomic_store(&proxies[i], NULL);
    atomic_store(&reals[i], NULL);
  }
}

/* ---- Creating ---- */

static void on_error(hsa_status_t status, hsa_queue_t *source, void *data)
{
  proxy_t *proxy = data;
  (void)source; /* which the program does not know */
  notice_t notice;
  proxy_notice(proxy, status, &notice);
  uint64_t alive = 0;
  (void)atomic_compare_exchange_strong(&proxy->died_at, &alive, clock_now());
  if (proxy->gate.lease)
    flight_end_all(proxy, atomic_load(&proxy->died_at));
  faults_tell(proxy->device, proxy->real, proxy, status);
  (void)notice_tell(&notice);
}

static void reap(void *context)
{
  (void)flight_harvest(context);
}

/* Room for all that the program's ring has at a time, where the device has rings that large.
 * Scratch that the program asks for comes with the first dispatch that needs it, when it is
 * charged. */
static hsa_status_t make_real(proxy_t *proxy, const proxy_wish_t *wish, uint32_t size)
{
  const uint32_t most = proxy->device->max_packets;
  const uint32_t real = size <= most / PROXY_PER_PACKET ? size * PROXY_PER_PACKET : most;
  return front.hsa.queue_create(wish->agent, real, wish->type, on_error, proxy, 0,
                                wish->group_bytes, &proxy->real);
}

static hsa_status_t make_ring(proxy_t *proxy, uint32_t size)
{
  proxy->ring = devices_shared_memory((size_t)size * sizeof(*proxy->ring));
  proxy->ends = calloc(size, sizeof(*proxy->ends));
  if (front.watched) {
    proxy->waiting = calloc(size, sizeof(*proxy->waiting));
    proxy->flying = calloc(PROXY_SIGNALS, sizeof(*proxy->flying));
  }
  if (front.faults)
    proxy->lately = calloc(1, sizeof(*proxy->lately));
  if (!proxy->ring || !proxy->ends || (front.watched && !(proxy->waiting && proxy->flying)))
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  memset(proxy->ring, 0, (size_t)size * sizeof(*proxy->ring));
  for (uint32_t i = 0; i < size; ++i)
    proxy->ring[i].header = HSA_PACKET_TYPE_INVALID << HSA_PACKET_HEADER_TYPE;
  proxy->mask = size - 1;
  proxy->doorbell = direct_doorbell(proxy->real);
  return HSA_STATUS_SUCCESS;
}

/* What the program sees: the device's queue, but for ring and doorbell. */
static hsa_status_t make_face(proxy_t *proxy)
{
  amd_queue_t *face = proxy->face;
  hsa_signal_t doorbell;
  /* No thread sleeps on it: without an interrupt storing it is only that. */
  hsa_status_t result =
      front.hsa.amd_signal_create(0, 0, NULL, HSA_AMD_SIGNAL_AMD_GPU_ONLY, &doorbell);
  if (result != HSA_STATUS_SUCCESS)
    return result;
  memcpy(face, proxy->real, sizeof(*face));
  face->hsa_queue.base_address = proxy->ring;
  face->hsa_queue.size = proxy->mask + 1;
  face->hsa_queue.doorbell_signal = doorbell;
  face->write_dispatch_id = face->read_dispatch_id = 0;
  ((amd_signal_t *)(uintptr_t)doorbell.handle)->queue_ptr = face;
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t make_lease(proxy_t *proxy)
{
  const limit_queue_t reached = {.context = proxy, .reap = reap};
  rawhal_error_t error;
  if (limit_lease_create(proxy->device->limiter, &reached, RAWHAL_UNLIMITED, &proxy->gate.lease,
                         &error) == RAWHAL_OK)
    return HSA_STATUS_SUCCESS;
  front_report("a queue was refused: %s", error.message);
  return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

/* What was looked at and never went. */
static void forget_waiting(proxy_t *proxy)
{
  for (uint64_t i = atomic_load(&proxy->forwarded); i < proxy->looked_at; ++i)
    watch_ended(proxy->index, &proxy->waiting[i & proxy->mask], 0, 0, false);
}

static void unmake(proxy_t *proxy)
{
  service_stop(proxy);
  proxy_set_held(proxy, false);
  if (proxy->gate.lease)
    flight_end_all(proxy, clock_now());
  limit_lease_destroy(proxy->gate.lease);
  scratch_keep(&proxy->gate.scratch);
  held_give_back(proxy->own);
  leave_place(proxy);
  for (uint32_t i = 0; i < PROXY_SIGNALS; ++i)
    if (proxy->signals[i].handle)
      (void)front.hsa.signal_destroy(proxy->signals[i]);
  if (proxy->ring)
    (void)front.hsa.pool_free(proxy->ring);
  free((void *)proxy->ends);
  free(proxy->lately);
  if (proxy->waiting)
    forget_waiting(proxy);
  free(proxy->waiting);
  free(proxy->flying);
  (void)pthread_mutex_destroy(&proxy->lock);
  (void)pthread_mutex_destroy(&proxy->harvest);
  free(proxy);
}

/* `*same`: one that has the queue already, or NULL. */
static hsa_status_t make(proxy_t *proxy, const proxy_wish_t *wish, proxy_t **same)
{
  const uint32_t most = proxy->device->max_packets;
  const uint32_t size =
      wish->size < most ? wish->size : most; /* a program that asks for a size relies on it */
  hsa_status_t result = make_real(proxy, wish, size);
  if (result != HSA_STATUS_SUCCESS)
    return result;
  *same = share_place(proxy->real);
  if (*same)
    return result;
  /* One that was destroyed may come again. */
  proxy->real_write = proxy->real_taken = ((const amd_queue_t *)proxy->real)->write_dispatch_id;
  scratch_begin_of(proxy->device, proxy->real, &proxy->gate.scratch);
  result = front.hsa.set_profiler_enabled(proxy->real, 1);
  proxy->own = memory_of_queue(proxy->device, proxy->real);
  if (result == HSA_STATUS_SUCCESS)
    result = proxy->own ? make_ring(proxy, size) : HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  if (result == HSA_STATUS_SUCCESS)
    result = make_lease(proxy);
  if (result == HSA_STATUS_SUCCESS && !take_place(proxy))
    result = HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  if (result == HSA_STATUS_SUCCESS)
    result = make_face(proxy);
  if (result == HSA_STATUS_SUCCESS && !service_start(proxy)) {
    (void)front.hsa.signal_destroy(proxy->face->hsa_queue.doorbell_signal);
    result = HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  }
  if (result != HSA_STATUS_SUCCESS) {
    (void)end_visits(proxy);
    (void)front.hsa.queue_destroy(proxy->real);
  }
  return result;
}

hsa_status_t proxy_create(front_device_t *device, const proxy_wish_t *wish, hsa_queue_t **queue)
{
  if (!queue || !wish->size || wish->size & (wish->size - 1)) /* the runtime's words for it */
    return front.hsa.queue_create(wish->agent, wish->size, wish->type, wish->callback, wish->data,
                                  wish->private_bytes, wish->group_bytes, queue);
  proxy_t *proxy = calloc(1, sizeof(*proxy));
  if (!proxy)
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  proxy->device = device;
  proxy->callback = wish->callback;
  proxy->data = wish->data;
  (void)pthread_mutex_init(&proxy->lock, NULL);
  (void)pthread_mutex_init(&proxy->harvest, NULL);
  const bool cooperative = wish->type == HSA_QUEUE_TYPE_COOPERATIVE;
  proxy_t *same = NULL;
  WITHOUT_CANCELLATION();
  if (cooperative)
    pthread_mutex_lock(&making_lock);
  hsa_status_t result = make(proxy, wish, &same);
  if (cooperative)
    pthread_mutex_unlock(&making_lock);
  if (result == HSA_STATUS_SUCCESS)
    *queue = &(same ? same : proxy)->face->hsa_queue;
  if (result == HSA_STATUS_SUCCESS && !same)
    proxy->told = front_door_queue(device, proxy->real);
  if (result != HSA_STATUS_SUCCESS || same)
    unmake(proxy);
  return result;
}

/* A program that has waited for its dispatches' own signals may be here before the barriers after
 * them have run, which have ours: when they ended would never be known. What runs longer is cut
 * off, as queues are. */
static void let_finish(proxy_t *proxy)
{
  static const uint64_t timeout = 20000000, nap = 50000;
  const uint64_t end = clock_now() + timeout;
  while (!atomic_load(&proxy->died_at) && proxy_in_flight(proxy) && clock_now() < end)
    if (!flight_harvest(proxy))
      clock_nap(nap);
}

hsa_status_t proxy_destroy(proxy_t *proxy)
{
  if (!end_visits(proxy))
    return front.hsa.queue_destroy(proxy->real); /* the runtime counts them, too */
  notices_wait(proxy);
  if (!atomic_load(&proxy->died_at))
    faults_tell_destroyed(proxy->device, proxy->real);
  front_door_queue_gone(proxy->told, proxy->real->id);
  service_stop(proxy); /* what is held back never ran */
  let_finish(proxy);
  hsa_signal_t doorbell = proxy->face->hsa_queue.doorbell_signal;
  hsa_status_t result = front.hsa.queue_destroy(proxy->real);
  notices_wait(proxy); /* of the runtime's, until then */
  unmake(proxy);
  (void)front.hsa.signal_destroy(doorbell);
  return result;
}

void proxies_destroy(void)
{
  for (uint32_t i = 0; i < PROXY_QUEUES; ++i) {
    proxy_t *proxy = atomic_load(&proxies[i]);
    for (uint32_t left = proxy ? proxy->others + 1 : 0; left; --left) /* as often as it was given */
      (void)proxy_destroy(proxy);
  }
}
