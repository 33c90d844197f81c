/* The life of a queue: its thread, how it rests, how it ends. */
#include "softgpu/cp/processor.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "softgpu/cp/doorbell.h"
#include "softgpu/cp/inject.h"
#include "softgpu/cp/pause.h"
#include "softgpu/debug/live.h"
#include "softgpu/device/clock.h"
#include "softgpu/device/freed.h"
#include "softgpu/device/option.h"
#include "softgpu/device/thread.h"
#include "softgpu/isa/run/notes.h"
#include "softgpu/isa/run/pool.h"

enum {
  NAP_MIN_NS = 50 * 1000,
  NAP_MAX_NS = 1000 * 1000,
  CROWDED_POLL = 64, /* what a poll counts for when another thread could have used the CPU */
};

softgpu_totals_t softgpu_totals;

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static softgpu_queue_t *table[SOFTGPU_MAX_QUEUES]; /* by doorbell index */
static uint32_t table_used;                        /* no entry from here on was ever used */
static uint64_t last_id;
static _Atomic uint32_t listeners; /* queues in SOFTGPU_STEP_WAITING that want kicks */
static _Atomic uint32_t awake;     /* processors that execute or poll */
static _Atomic uint32_t cpus = 1;  /* that the last queue's thread may use */

/* How a processor that has nothing to do rests: it polls for a while, then asks to be woken, looks
 * once more (what came between the last look and the asking wakes no thread), then sleeps. The
 * while is short where as many threads of the device are awake as there are CPUs: a thread that
 * polls then keeps one that works, or the program, from running. Not where nothing is published: a
 * doorbell costs ten times what a kick does to wake by, and more than is gained.
 *
 * No wake-up is lost. Of a doorbell the protection keeps the store waiting until the watcher has
 * set `woken`. Of a signal: a processor counts itself in `listeners`, then looks at the value; a
 * thread that changes the value does so by an atomic operation, then looks at `listeners`. Both
 * counting and changing are sequentially consistent read-modify-writes, which no later access
 * overtakes on this architecture, so that one of the two sees the other. `woken` changes under the
 * queue's lock and is taken back before the next look, never after. What the host or a kernel
 * stores without telling is found by the nap's end.
 *
 * `awake` and `cpus` only say how long to poll. They are relaxed, and may be old. */
typedef struct rest {
  uint64_t polls;
  bool listening;
  softgpu_step_t reason; /* while listening */
  long nap_ns;
} rest_t;

static bool queue_stopping(const softgpu_queue_t *queue)
{
  return __atomic_load_n(&queue->stop, __ATOMIC_RELAXED);
}

static bool is_crowded(void)
{
  return atomic_load_explicit(&awake, memory_order_relaxed) + isa_pool_helping() >=
         atomic_load_explicit(&cpus, memory_order_relaxed);
}

static void count_awake(bool is_awake)
{
  atomic_fetch_add_explicit(&awake, is_awake ? 1 : UINT32_MAX, memory_order_relaxed);
}

static void queue_wake(softgpu_queue_t *queue)
{
  pthread_mutex_lock(&queue->lock);
  queue->woken = true;
  pthread_cond_signal(&queue->wake);
  pthread_mutex_unlock(&queue->lock);
}

/* Caller holds the queue's lock. */
static void queue_disarm(softgpu_queue_t *queue)
{
  if (queue->armed)
    softgpu_doorbell_disarm(queue->doorbell);
  queue->armed = false;
}

static void rest_listen(softgpu_queue_t *queue, rest_t *rest, softgpu_step_t reason)
{
  pthread_mutex_lock(&queue->lock);
  queue->woken = false;
  queue->kicked_for = queue->awaits;
  if (reason == SOFTGPU_STEP_IDLE)
    queue->armed = softgpu_doorbell_arm(queue->doorbell);
  pthread_mutex_unlock(&queue->lock);
  if (reason == SOFTGPU_STEP_WAITING) {
    atomic_store(&queue->listening, true);
    atomic_fetch_add(&listeners, 1);
  }
  rest->listening = true;
  rest->reason = reason;
}

static void rest_end(softgpu_queue_t *queue, rest_t *rest)
{
  if (rest->listening) {
    pthread_mutex_lock(&queue->lock);
    queue_disarm(queue);
    pthread_mutex_unlock(&queue->lock);
    if (rest->reason == SOFTGPU_STEP_WAITING) {
      atomic_store(&queue->listening, false);
      atomic_fetch_sub(&listeners, 1);
    }
  }
  *rest = (rest_t){.nap_ns = NAP_MIN_NS};
}

/* Sleeps until the queue is woken, or for a nap where it might not be. */
static void rest_sleep(softgpu_queue_t *queue, rest_t *rest)
{
  pthread_mutex_lock(&queue->lock);
  if (memcmp(&queue->kicked_for, &queue->awaits, sizeof(queue->awaits)) != 0) {
    queue->kicked_for = queue->awaits; /* and another look, that no kick may have come for */
    pthread_mutex_unlock(&queue->lock);
    return;
  }
  bool nap = rest->reason == SOFTGPU_STEP_WAITING ||
             (rest->reason == SOFTGPU_STEP_IDLE && !queue->armed && !queue->woken);
  count_awake(false);
  while (!queue->woken && !queue_stopping(queue) && !softgpu_pausing()) {
    if (nap) {
      softgpu_condition_wait(&queue->wake, &queue->lock, rest->nap_ns);
      break;
    }
    pthread_cond_wait(&queue->wake, &queue->lock);
  }
  count_awake(true);
  bool woken = queue->woken;
  /* Many are woken by what one of them waited for. The others go on listening. */
  bool look_once = woken && rest->reason == SOFTGPU_STEP_WAITING && is_crowded();
  if (look_once)
    queue->woken = false;
  pthread_mutex_unlock(&queue->lock);
  if (look_once)
    return;
  if (woken)
    rest_end(queue, rest);
  else if (rest->nap_ns < NAP_MAX_NS)
    rest->nap_ns *= 2;
}

static void processor_rest(softgpu_queue_t *queue, rest_t *rest, softgpu_step_t reason)
{
  if (rest->listening && rest->reason != reason)
    rest_end(queue, rest);
  if (reason != SOFTGPU_STEP_STOPPED && rest->polls < softgpu_option(SOFTGPU_OPTION_SPIN)) {
    rest->polls += reason == SOFTGPU_STEP_WAITING && is_crowded() ? CROWDED_POLL : 1;
    __builtin_ia32_pause();
  } else if (!rest->listening) {
    rest_listen(queue, rest, reason);
  } else {
    rest_sleep(queue, rest);
  }
}

static void *processor_run(void *argument)
{
  softgpu_queue_t *queue = argument;
  rest_t rest = {.nap_ns = NAP_MIN_NS};
  atomic_store_explicit(&cpus, isa_pool_cpus(), memory_order_relaxed);
  count_awake(true);
  while (!queue_stopping(queue)) {
    if (softgpu_pausing()) {
      rest_end(queue, &rest);
      count_awake(false);
      softgpu_pause_park(&queue->stop);
      count_awake(true);
      continue;
    }
    softgpu_step_t step = SOFTGPU_STEP_STOPPED;
    queue->awaits = (softgpu_words_t){0};
    if (!atomic_load(&queue->failed) && !atomic_load(&queue->suspended))
      step = softgpu_inject_stalled(queue) ? SOFTGPU_STEP_WAITING : queue->setup.step(queue);
    if (step != SOFTGPU_STEP_DONE)
      processor_rest(queue, &rest, step);
    else if (rest.polls > 0 || rest.listening)
      rest_end(queue, &rest);
  }
  rest_end(queue, &rest);
  count_awake(false);
  softgpu_pause_leave();
  return NULL;
}

static void queue_rung(uint32_t index)
{
  pthread_mutex_lock(&table_lock);
  softgpu_queue_t *queue = table[index];
  if (queue) {
    pthread_mutex_lock(&queue->lock);
    queue->woken = true;
    /* Under the lock, or a queue that has armed itself again would lose its protection. */
    softgpu_doorbell_disarm(index);
    queue->armed = false;
    pthread_cond_signal(&queue->wake);
    pthread_mutex_unlock(&queue->lock);
    softgpu_total_add(&softgpu_totals.doorbell_wakeups, 1);
  } else {
    softgpu_doorbell_disarm(index);
  }
  pthread_mutex_unlock(&table_lock);
}

/* Caller holds the table's lock. */
static bool queue_place(softgpu_queue_t *queue)
{
  if (!softgpu_doorbells_open() && !softgpu_doorbells_start(queue_rung))
    return false;
  uint32_t index = 0;
  while (index < SOFTGPU_MAX_QUEUES && table[index])
    ++index;
  if (index == SOFTGPU_MAX_QUEUES)
    return false;
  queue->doorbell = index;
  queue->id = ++last_id;
  /* Also brings the page into being, which cannot be protected before. */
  atomic_store(softgpu_doorbell(index), UINT64_MAX);
  softgpu_pause_join();
  if (!softgpu_thread_start(&queue->thread, queue->setup.thread_name, processor_run, queue)) {
    softgpu_pause_leave();
    return false;
  }
  table[index] = queue;
  if (table_used <= index)
    table_used = index + 1;
  return true;
}

static void queue_free(softgpu_queue_t *queue)
{
  pthread_cond_destroy(&queue->wake);
  pthread_mutex_destroy(&queue->lock);
  isa_gws_close(&queue->gws);
  isa_notes_release(queue->notes);
  free(queue);
}

softgpu_queue_t *softgpu_queue_start(const softgpu_queue_setup_t *setup)
{
  softgpu_queue_t *queue = calloc(1, sizeof(*queue));
  if (!queue)
    return NULL;
  queue->notes = isa_notes_create();
  if (!queue->notes || !softgpu_condition_init(&queue->wake)) {
    if (queue->notes)
      isa_notes_release(queue->notes);
    free(queue);
    return NULL;
  }
  pthread_mutex_init(&queue->lock, NULL);
  isa_gws_open(&queue->gws);
  queue->setup = *setup;
  if (!queue->setup.read_index)
    queue->setup.read_index = &queue->own_indices[0];
  if (!queue->setup.write_index)
    queue->setup.write_index = &queue->own_indices[1];
  queue->next = atomic_load(queue->setup.read_index);
  pthread_mutex_lock(&table_lock);
  bool placed = queue_place(queue);
  pthread_mutex_unlock(&table_lock);
  if (!placed) {
    queue_free(queue);
    return NULL;
  }
  return queue;
}

/* Caller holds the table's lock. */
static softgpu_queue_t *table_find(uint64_t id)
{
  for (uint32_t i = 0; i < SOFTGPU_MAX_QUEUES; ++i) {
    if (table[i] && table[i]->id == id)
      return table[i];
  }
  return NULL;
}

bool softgpu_queue_destroy(uint64_t id)
{
  SOFTGPU_WITHOUT_CANCELLATION();
  live_queue_leave(id);
  pthread_mutex_lock(&table_lock);
  softgpu_queue_t *queue = table_find(id);
  /* The second of two callers finds it stopping already and leaves it to the first. */
  if (queue && __atomic_exchange_n(&queue->stop, true, __ATOMIC_RELAXED))
    queue = NULL;
  pthread_mutex_unlock(&table_lock);
  if (!queue)
    return false;
  queue_wake(queue);
  softgpu_pause_nudge();
  pthread_join(queue->thread, NULL);
  live_queue_remove(id);
  pthread_mutex_lock(&table_lock);
  table[queue->doorbell] = NULL;
  pthread_mutex_unlock(&table_lock);
  /* Nobody finds it any more, so nothing is noted of it behind this. */
  softgpu_freed_forget((uintptr_t)softgpu_aql_queue_of(queue));
  queue_free(queue);
  return true;
}

bool softgpu_queue_suspend(uint64_t id, bool suspended)
{
  pthread_mutex_lock(&table_lock);
  softgpu_queue_t *queue = table_find(id);
  if (queue) {
    softgpu_aql_suspending(queue, suspended);
    atomic_store(&queue->suspended, suspended);
    queue_wake(queue);
  }
  pthread_mutex_unlock(&table_lock);
  return queue != NULL;
}

bool softgpu_queue_limit(uint64_t id, uint32_t units)
{
  pthread_mutex_lock(&table_lock);
  softgpu_queue_t *queue = table_find(id);
  if (queue)
    atomic_store(&queue->units, units);
  pthread_mutex_unlock(&table_lock);
  return queue != NULL;
}

uint32_t softgpu_queue_node(uint64_t id)
{
  pthread_mutex_lock(&table_lock);
  const softgpu_queue_t *queue = table_find(id);
  const uint32_t node = queue ? queue->setup.node : 0;
  pthread_mutex_unlock(&table_lock);
  return node;
}

softgpu_gws_answer_t softgpu_queue_gws(uint64_t id, bool is_wanted)
{
  pthread_mutex_lock(&table_lock);
  softgpu_queue_t *queue = table_find(id);
  softgpu_gws_answer_t answer =
      queue && softgpu_aql_queue_of(queue) ? SOFTGPU_GWS_DONE : SOFTGPU_GWS_NO_QUEUE;
  for (uint32_t i = 0; answer == SOFTGPU_GWS_DONE && is_wanted && i < SOFTGPU_MAX_QUEUES; ++i)
    if (table[i] && table[i]->setup.node == queue->setup.node && atomic_load(&table[i]->has_gws))
      answer = SOFTGPU_GWS_TAKEN;
  if (answer == SOFTGPU_GWS_DONE)
    atomic_store(&queue->has_gws, is_wanted);
  pthread_mutex_unlock(&table_lock);
  return answer;
}

bool softgpu_queue_ring(uint64_t id)
{
  _Atomic uint64_t *doorbell = NULL;
  uint64_t value = 0;
  pthread_mutex_lock(&table_lock);
  const softgpu_queue_t *queue = table_find(id);
  if (queue) {
    doorbell = softgpu_doorbell(queue->doorbell);
    value = atomic_load(queue->setup.write_index) - (softgpu_aql_queue_of(queue) ? 1 : 0);
  }
  pthread_mutex_unlock(&table_lock);
  /* Without the lock: the store may stop until the watcher, which takes it, has woken the queue. */
  if (doorbell)
    atomic_store(doorbell, value);
  return doorbell != NULL;
}

void softgpu_queue_doze(softgpu_queue_t *queue, uint64_t ns)
{
  uint64_t until = softgpu_clock_ns() + ns;
  count_awake(false);
  pthread_mutex_lock(&queue->lock);
  for (uint64_t now; !queue_stopping(queue) && (now = softgpu_clock_ns()) < until;)
    softgpu_condition_wait(&queue->wake, &queue->lock, (long)(until - now));
  pthread_mutex_unlock(&queue->lock);
  count_awake(true);
}

void softgpu_queues_close(void)
{
  for (uint32_t i = 0; i < SOFTGPU_MAX_QUEUES; ++i) {
    pthread_mutex_lock(&table_lock);
    uint64_t id = table[i] ? table[i]->id : 0;
    pthread_mutex_unlock(&table_lock);
    if (id != 0)
      softgpu_queue_destroy(id);
  }
  softgpu_doorbells_stop();
}

void softgpu_queues_wake(void)
{
  pthread_mutex_lock(&table_lock);
  for (uint32_t i = 0; i < SOFTGPU_MAX_QUEUES; ++i) {
    if (table[i])
      queue_wake(table[i]);
  }
  pthread_mutex_unlock(&table_lock);
}

/* Caller holds the queue's lock. */
static bool is_kicked_for(const softgpu_queue_t *queue, const void *word)
{
  const softgpu_words_t *words = &queue->kicked_for;
  if (!word || !words->at[0])
    return true;
  for (size_t i = 0; i < sizeof(words->at) / sizeof(words->at[0]); ++i)
    if (((uintptr_t)words->at[i] ^ (uintptr_t)word) < sizeof(uint64_t)) /* either half of it */
      return true;
  return false;
}

void softgpu_queues_kick(const void *word)
{
  if (atomic_load(&listeners) == 0)
    return;
  pthread_mutex_lock(&table_lock);
  for (uint32_t i = 0; i < table_used; ++i) {
    softgpu_queue_t *queue = table[i];
    if (!queue || !atomic_load(&queue->listening))
      continue;
    pthread_mutex_lock(&queue->lock);
    if (is_kicked_for(queue, word)) {
      queue->woken = true;
      pthread_cond_signal(&queue->wake);
    }
    pthread_mutex_unlock(&queue->lock);
  }
  pthread_mutex_unlock(&table_lock);
}

/* The caller holds the table. */
static softgpu_queue_t *queue_at(const void *hsa_queue)
{
  for (uint32_t i = 0; i < SOFTGPU_MAX_QUEUES && hsa_queue; ++i)
    if (table[i] && softgpu_aql_queue_of(table[i]) == hsa_queue)
      return table[i];
  return NULL;
}

/* A tool between the program and the runtime may have handed out a queue of its own, with the id of
 * the runtime's. The caller holds the table. */
static softgpu_queue_t *queue_with_id_of(const void *hsa_queue)
{
  uint64_t wanted = 0, id = 0;
  if (!softgpu_aql_id(hsa_queue, &wanted))
    return NULL;
  for (uint32_t i = 0; i < SOFTGPU_MAX_QUEUES; ++i) {
    const void *real = table[i] ? softgpu_aql_queue_of(table[i]) : NULL;
    if (real && softgpu_aql_id(real, &id) && id == wanted)
      return table[i];
  }
  return NULL;
}

softgpu_queue_t *softgpu_queue_lock(const void *hsa_queue)
{
  pthread_mutex_lock(&table_lock);
  softgpu_queue_t *queue = queue_at(hsa_queue);
  if (!queue && hsa_queue)
    queue = queue_with_id_of(hsa_queue);
  if (queue)
    pthread_mutex_lock(&queue->lock); /* both locks stay taken */
  else
    pthread_mutex_unlock(&table_lock);
  return queue;
}

void softgpu_queue_unlock(softgpu_queue_t *queue)
{
  pthread_mutex_unlock(&queue->lock);
  pthread_mutex_unlock(&table_lock);
}
