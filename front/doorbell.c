/* What the program does with its ring: it rings, and looks how far the device is. */
#include "front/direct.h"
#include "front/flight.h"
#include "front/forward.h"
#include "front/proxy.h"
#include "front/service.h"

/* The lines that the next launch will write, or read when the program has just written them: most
 * went to the device's side since they were last here, and each is a wait where this has not asked
 * for them before. */
static void expect_next(proxy_t *proxy)
{
  const uint64_t next = atomic_load_explicit(&proxy->forwarded, memory_order_relaxed);
  const uint64_t at = proxy->real_write & (proxy->real->size - 1);
  proxy_expect(proxy_packet_at(proxy, next));
  proxy_expect((const proxy_packet_t *)proxy->real->base_address + at);
  proxy_expect(flight_next(proxy));
  proxy_expect((const char *)(flight_next(proxy) + 1) - 1);
}

static void forward_waiting(proxy_t *proxy)
{
  for (int i = 0; proxy->held && i < 10000; ++i) {
    proxy_unlock(proxy);
    clock_nap(1000000);
    pthread_mutex_lock(&proxy->lock);
    (void)flight_harvest(proxy);
    proxy_forward(proxy);
  }
}

void proxy_ring(proxy_t *proxy)
{
  uint64_t write = __atomic_load_n(&proxy->face->write_dispatch_id, __ATOMIC_ACQUIRE);
  pthread_mutex_lock(&proxy->lock);
  if (write > proxy->announced)
    proxy->announced = write;
  if (!proxy->held) /* or the service thread has it in hand */
    proxy_forward(proxy);
  if (atomic_load(&service_ended))
    forward_waiting(proxy);
  else
    service_wake(proxy);
  expect_next(proxy);
  proxy_unlock(proxy);
}

uint64_t proxy_read_index(proxy_t *proxy)
{
  uint64_t taken = direct_read_index(proxy->real);
  uint64_t forwarded = atomic_load_explicit(&proxy->forwarded, memory_order_acquire);
  volatile uint64_t *shown = &proxy->face->read_dispatch_id;
  uint64_t was = __atomic_load_n(shown, __ATOMIC_RELAXED), index = was;
  /* An end that a later packet wrote in the meantime lies beyond what had been taken before. */
  while (index < forwarded &&
         atomic_load_explicit(&proxy->ends[index & proxy->mask], memory_order_relaxed) <= taken)
    ++index;
  while (was < index &&
         !__atomic_compare_exchange_n(shown, &was, index, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
    continue;
  return was < index ? index : was;
}
