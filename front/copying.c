#include "front/copy.h"
#include "front/proxies.h"
#include "front/report.h"
#include "front/service.h"

#include <stdlib.h>

/* Naps, in ns. A copy that is held back is looked at soon at first, then after as long as it has
 * waited. One that is to be paid for first may be late: the burst makes up for it. What is in
 * flight ends without us: only copies that are held back, or peers in a region, wait to hear of it.
 */
static const uint64_t unpaid_least = 500000, retry_most = 100000000, awaited_least = 200000,
                      awaited_most = 2000000, alone_nap = 10000000, landing_nap = 5000000;

static pthread_mutex_t engines_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(engine_t *) engines[FRONT_DEVICES];

static atomic_uint waiting_count;

bool copying_holds(void)
{
  return atomic_load(&waiting_count) != 0;
}

/* ---- Times ---- */

bool copying_times(hsa_signal_t completion, hsa_amd_profiling_async_copy_time_t *times)
{
  for (int i = 0; i < FRONT_DEVICES; ++i) {
    engine_t *engine = atomic_load(&engines[i]);
    if (engine)
      (void)copies_harvest(engine);
  }
  return copy_times_find(completion, times);
}

/* ---- The service thread ---- */

/* Opens the gates of those that may go. The caller holds the lock. `*ready`: one more is only held
 * back by the limiter. */
static void open_gates(engine_t *engine, bool *ready)
{
  *ready = false;
  for (copy_t **at = &engine->waiting; *at;) {
    copy_t *copy = *at;
    bool arrived = front.hsa.signal_load_scacquire(copy->arrived) <= 0;
    if (!arrived ||
        copies_admit(&engine->turns, &copy->turn, COPIES_BESIDE_OURS, NULL) != RAWHAL_OK) {
      *ready |= arrived;
      at = &copy->next;
      continue;
    }
    *at = copy->next;
    atomic_fetch_sub(&waiting_count, 1);
    copy_fly(engine, copy);
    front.hsa.signal_store_screlease(copy->gate, 0);
    engine->nap = COPIES_NAP_LEAST;
  }
}

/* When to look again; UINT64_MAX: when something is asked for. */
static uint64_t next_look(engine_t *engine, bool ready)
{
  uint64_t now = clock_now(), retry = limit_retry_at(engine->turns.lease);
  if (ready && retry > now)
    return clock_clamp(retry, now + unpaid_least, now + retry_most);
  if (engine->waiting) {
    const uint64_t nap = engine->nap, paid = ready ? limit_expects_at(engine->turns.lease) : 0;
    engine->nap = clock_clamp(2 * nap, COPIES_NAP_LEAST, COPIES_NAP_MOST);
    return clock_clamp(paid, now + nap, now + retry_most);
  }
  const bool awaited = limit_is_shared(engine->turns.lease) || proxies_hold(NULL);
  pthread_mutex_lock(&engine->harvest);
  uint64_t left =
      !engine->flying ? engine->landing ? landing_nap : 0
      : awaited ? clock_clamp(engine->flying->turn.grant.estimate_ns, awaited_least, awaited_most)
                : alone_nap;
  pthread_mutex_unlock(&engine->harvest);
  return left ? now + left : UINT64_MAX;
}

static void *serve(void *context)
{
  engine_t *engine = context;
  bool ready;
  pthread_mutex_lock(&engine->lock);
  while (!engine->stop) {
    if (copies_harvest(engine))
      service_tell();
    open_gates(engine, &ready);
    const uint64_t until = next_look(engine, ready);
    engine->idle = until == UINT64_MAX;
    (void)clock_wait(&engine->wake, &engine->lock, until);
  }
  pthread_mutex_unlock(&engine->lock);
  return NULL;
}

/* ---- Engines ---- */

static void reap(void *context)
{
  (void)copies_harvest(context);
}

static void free_engine(engine_t *engine)
{
  (void)pthread_mutex_destroy(&engine->order);
  (void)pthread_mutex_destroy(&engine->lock);
  (void)pthread_mutex_destroy(&engine->harvest);
  free(engine);
}

/* In the limiter's words. */
static hsa_status_t refuse(const rawhal_error_t *error)
{
  front_report("a copy was refused: %s", error->message);
  return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

static engine_t *make_engine(front_device_t *device)
{
  rawhal_error_t error;
  engine_t *engine = calloc(1, sizeof(*engine));
  if (!engine)
    return NULL;
  engine->device = device;
  engine->nap = COPIES_NAP_LEAST;
  engine->turns.holds = true;
  (void)pthread_mutex_init(&engine->order, NULL);
  (void)pthread_mutex_init(&engine->lock, NULL);
  (void)pthread_mutex_init(&engine->harvest, NULL);
  const limit_queue_t reached = {.context = engine, .reap = reap};
  (void)front.hsa.async_copy_enable(true); /* without, it is charged by the host's clock */
  if (copies_open(&engine->turns, device->limiter, &reached, &error) != RAWHAL_OK) {
    (void)refuse(&error);
    free_engine(engine);
    return NULL;
  }
  engine->has_thread =
      service_thread(&engine->thread, &engine->wake, serve, engine, "rawhal-copies");
  if (engine->has_thread)
    return engine;
  copies_close(&engine->turns);
  free_engine(engine);
  return NULL;
}

static engine_t *engine_of(front_device_t *device)
{
  _Atomic(engine_t *) *place = &engines[device - front.devices];
  engine_t *engine = atomic_load_explicit(place, memory_order_acquire);
  if (engine)
    return engine;
  pthread_mutex_lock(&engines_lock);
  engine = atomic_load(place);
  if (!engine) {
    engine = make_engine(device);
    atomic_store(place, engine);
  }
  pthread_mutex_unlock(&engines_lock);
  return engine;
}

/* ---- Starting ---- */

static bool is_ready(const copying_t *copying)
{
  bool ready = true;
  for (uint32_t i = 0; i < copying->waits; ++i)
    ready &=
        !copying->wait_for[i].handle || front.hsa.signal_load_scacquire(copying->wait_for[i]) == 0;
  return ready;
}

/* Of one whose end the thread waits for, as copies_await() has it. */
static hsa_status_t await_turn(engine_t *engine, copies_turn_t *turn)
{
  rawhal_error_t error;
  switch (copies_await(&engine->turns, turn, &service_ended, &error)) {
  case RAWHAL_OK:
    return HSA_STATUS_SUCCESS;
  case RAWHAL_WOULD_BLOCK:
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  default:
    return refuse(&error);
  }
}

/* There is no thread any more that would open its gate. */
static hsa_status_t start_at_the_end(engine_t *engine, copy_t *copy, const copying_t *copying)
{
  copy->turn.awaits = !is_ready(copying);
  hsa_status_t result = await_turn(engine, &copy->turn);
  const bool admitted = result == HSA_STATUS_SUCCESS;
  if (admitted)
    result = copy_submit(copy, copying);
  if (result == HSA_STATUS_SUCCESS) {
    copy_fly(engine, copy);
    return result;
  }
  if (admitted)
    copies_cancel(&engine->turns, &copy->turn);
  copy_give_back(engine, copy);
  return result;
}

hsa_status_t copying_start(front_device_t *device, const copying_t *copying)
{
  engine_t *engine = engine_of(device);
  copy_t *copy = engine ? copy_take(engine, copying) : NULL;
  if (!copy)
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  copying_disown(copying->completion);
  if (atomic_load(&service_ended))
    return start_at_the_end(engine, copy, copying);
  pthread_mutex_lock(&engine->order);
  pthread_mutex_lock(&engine->lock);
  const bool ready = is_ready(copying);
  /* What the program has it wait for may be held back itself: then it has no turn yet. */
  const bool may_ask = !engine->waiting && (ready || !proxies_hold(NULL));
  copy->turn.awaits = !ready;
  rawhal_error_t error;
  const rawhal_status_t status =
      may_ask ? copies_admit(&engine->turns, &copy->turn, COPIES_BESIDE_NOTHING, &error)
              : RAWHAL_WOULD_BLOCK;
  copy->gated = status != RAWHAL_OK;
  copy->turn.awaits &= !copy->gated;
  pthread_mutex_unlock(&engine->lock);
  hsa_status_t result =
      !copy->gated || status == RAWHAL_WOULD_BLOCK ? copy_submit(copy, copying) : refuse(&error);
  if (result == HSA_STATUS_SUCCESS && !copy->gated)
    copy_fly(engine, copy);
  pthread_mutex_lock(&engine->lock);
  if (result == HSA_STATUS_SUCCESS && copy->gated) {
    copy_append(&engine->waiting, copy);
    atomic_fetch_add(&waiting_count, 1);
  }
  if (copy->gated || engine->idle) {
    engine->nap = COPIES_NAP_LEAST;
    (void)pthread_cond_signal(&engine->wake);
  }
  pthread_mutex_unlock(&engine->lock);
  pthread_mutex_unlock(&engine->order);
  if (result == HSA_STATUS_SUCCESS)
    return result;
  if (!copy->gated)
    copies_cancel(&engine->turns, &copy->turn);
  copy_give_back(engine, copy);
  return result;
}

/* ---- While the program waits ---- */

hsa_status_t copying_begin(front_device_t *device, copies_turn_t *turn)
{
  engine_t *engine = engine_of(device);
  return engine ? await_turn(engine, turn) : HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

void copying_end(front_device_t *device, const copies_turn_t *turn)
{
  engine_t *engine = engine_of(device);
  pthread_mutex_lock(&engine->harvest);
  copies_charge(&engine->turns, turn, (gate_span_t){0});
  pthread_mutex_unlock(&engine->harvest);
}

/* ---- The end ---- */

/* Threads that wait for a copy that is held back see to it themselves; one that nobody waits for
 * never runs. */
void copying_forward(void)
{
  for (int i = 0; i < FRONT_DEVICES && copying_holds(); ++i) {
    engine_t *engine = atomic_load(&engines[i]);
    bool ready;
    if (!engine || pthread_mutex_trylock(&engine->lock))
      continue;
    (void)copies_harvest(engine);
    open_gates(engine, &ready);
    pthread_mutex_unlock(&engine->lock);
  }
}

void copying_stop(void)
{
  for (int i = 0; i < FRONT_DEVICES; ++i) {
    engine_t *engine = atomic_load(&engines[i]);
    if (!engine)
      continue;
    if (engine->has_thread)
      service_thread_end(engine->thread, &engine->lock, &engine->wake, &engine->stop);
    engine->has_thread = false;
    (void)copies_harvest(engine);
  }
}

static void forget(engine_t *engine)
{
  for (int i = 0; i < 1000 && (engine->flying || engine->landing); ++i) {
    (void)copies_harvest(engine);
    clock_nap(COPIES_NAP_MOST);
  }
  /* What has not finished is left to the runtime's end. */
  copies_close(&engine->turns);
  for (copy_t *copy; (copy = engine->spare);) {
    engine->spare = copy->next;
    copy_unmake(copy);
  }
  (void)pthread_cond_destroy(&engine->wake);
  free_engine(engine);
}

void copying_forget(void)
{
  copying_stop();
  for (int i = 0; i < FRONT_DEVICES; ++i) {
    engine_t *engine = atomic_exchange(&engines[i], NULL);
    if (engine)
      forget(engine);
  }
  copy_times_forget();
}

void copying_abandon(void)
{
  (void)pthread_mutex_init(&engines_lock, NULL);
  for (int i = 0; i < FRONT_DEVICES; ++i)
    atomic_store(&engines[i], NULL);
  atomic_store(&waiting_count, 0);
  copy_times_abandon();
}
