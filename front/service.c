/* The thread of a proxy: forwards what was held back when it may go, and sees to it that what has
 * finished is charged though the program does not look. It sleeps by the limiter's word or by what
 * kernels are known to take, and never on the device: the runtime's wait spins before it sleeps. */
#include "front/service.h"

#include "front/flight.h"
#include "front/forward.h"
#include "front/proxies.h"

#include "base/cancel.h"
#include "base/thread.h"

/* Naps, in ns. Held back: a nap more is a little of the share lost until the burst makes up for it.
 * Not held: only peers in a region wait to hear of what has finished. */
static const uint64_t held_least = 50000, held_most = 2000000, paced_most = 20000000,
                      nothing_known = 1000000;
static const uint64_t shared_least = 200000, alone_least = 10000000, loose_most = 20000000;
static const uint64_t retry_most = 100000000; /* limits may be changed */

atomic_bool service_ended;

/* A queue that asks for more than the share gets the next turn when the last is paid for, however
 * long before it has finished. The limiter knows when that is; it counts from when the last was
 * due, so that the thread may be late without losing by it. One that is not held back by time goes
 * on as soon as the last has finished. */
static uint64_t held_until(proxy_t *proxy, uint64_t now)
{
  uint64_t left = flight_left(proxy, now); /* of its own: there is a way to the device and back */
  uint64_t ends = now + clock_clamp(left + left / 16 + held_least, held_least, held_most);
  uint64_t paid = limit_expects_at(proxy->gate.lease);
  return paid > ends ? clock_clamp(paid, now, now + paced_most) : ends;
}

/* When to look again; UINT64_MAX: when something is rung. The caller holds the lock. */
static uint64_t next_look(proxy_t *proxy, uint64_t now)
{
  bool in_flight = proxy_in_flight(proxy) != 0;
  if (proxy->held && proxy->retry_at > now)
    return clock_clamp(proxy->retry_at, now, now + retry_most);
  if (proxy->held)
    return in_flight ? held_until(proxy, now) : now + nothing_known;
  if (!in_flight)
    return proxy_is_read(proxy) ? UINT64_MAX : now + alone_least;
  bool awaited = limit_is_shared(proxy->gate.lease) || proxies_hold(proxy);
  return now +
         clock_clamp(flight_left(proxy, now), awaited ? shared_least : alone_least, loose_most);
}

static void sleep_until(proxy_t *proxy, uint64_t until)
{
  proxy->idle = until == UINT64_MAX;
  atomic_store(&proxy->blind, proxy->held && !proxy_in_flight(proxy));
  proxy->planned = proxy->held;
  (void)clock_wait(&proxy->wake, &proxy->lock, until);
  proxy->idle = false;
}

static void tell(proxy_t *proxy, notice_t *notice)
{
  (void)notice;
  if (atomic_load(&proxy->blind))
    (void)pthread_cond_signal(&proxy->wake);
}

void service_tell(void)
{
  proxies_each(tell);
}

/* Lets the lock go meanwhile. False: there is no proxy any more. */
static bool tell_failure(proxy_t *proxy)
{
  notice_t notice;
  proxy->telling = true;
  (void)pthread_cond_broadcast(&proxy->wake);
  proxy_release(proxy, &notice);
  if (!notice_tell(&notice))
    return false;
  pthread_mutex_lock(&proxy->lock);
  proxy->telling = false;
  return true;
}

static void *serve(void *context)
{
  proxy_t *proxy = context;
  pthread_mutex_lock(&proxy->lock);
  while (!proxy->stop) {
    bool any = flight_harvest(proxy);
    if (proxy->held)
      proxy_forward(proxy);
    if (proxy_has_failed(proxy)) {
      if (!tell_failure(proxy))
        return NULL;
      continue;
    }
    (void)proxy_read_index(proxy); /* there are programs that read it where it is */
    if (any && proxies_hold(proxy))
      service_tell();
    uint64_t until = next_look(proxy, clock_now());
    if (!proxy->stop)
      sleep_until(proxy, until);
  }
  proxy->serving = false;
  (void)pthread_cond_broadcast(&proxy->wake);
  pthread_mutex_unlock(&proxy->lock);
  return NULL;
}

bool service_thread(pthread_t *thread, pthread_cond_t *wake, void *(*function)(void *),
                    void *context, const char *name)
{
  if (condition_init(wake) || thread_start(thread, function, context))
    return false;
  (void)pthread_setname_np(*thread, name);
  return true;
}

void service_thread_end(pthread_t thread, pthread_mutex_t *lock, pthread_cond_t *wake, bool *stop)
{
  WITHOUT_CANCELLATION();
  pthread_mutex_lock(lock);
  *stop = true;
  (void)pthread_cond_signal(wake);
  pthread_mutex_unlock(lock);
  (void)pthread_join(thread, NULL);
}

/* Nobody joins it: a handler that it calls may destroy the proxy. */
bool service_start(proxy_t *proxy)
{
  pthread_mutex_lock(&proxy->lock); /* it waits for that */
  const bool started = service_thread(&proxy->thread, &proxy->wake, serve, proxy, "rawhal-front");
  if (started)
    (void)pthread_detach(proxy->thread);
  proxy->serving = started;
  pthread_mutex_unlock(&proxy->lock);
  return started;
}

void service_wake(proxy_t *proxy)
{
  bool news = proxy->held && !proxy->planned;
  if (news || (proxy->idle && (proxy_in_flight(proxy) || !proxy_is_read(proxy)))) {
    proxy->idle = false;
    proxy->planned = proxy->held;
    (void)pthread_cond_signal(&proxy->wake);
  }
}

/* The caller holds the lock. */
static void ask_to_end(proxy_t *proxy)
{
  proxy->stop = true;
  if (proxy->serving)
    (void)pthread_cond_broadcast(&proxy->wake);
}

void service_stop(proxy_t *proxy)
{
  WITHOUT_CANCELLATION();
  pthread_mutex_lock(&proxy->lock);
  ask_to_end(proxy);
  while (proxy->serving && !pthread_equal(proxy->thread, pthread_self()))
    (void)pthread_cond_wait(&proxy->wake, &proxy->lock);
  pthread_mutex_unlock(&proxy->lock);
}

void service_end(proxy_t *proxy)
{
  WITHOUT_CANCELLATION();
  pthread_mutex_lock(&proxy->lock);
  ask_to_end(proxy);
  while (proxy->serving && !proxy->telling)
    (void)pthread_cond_wait(&proxy->wake, &proxy->lock);
  pthread_mutex_unlock(&proxy->lock);
}
