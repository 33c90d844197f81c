/* From asking for a copy to its end: signals, words and what it is charged. */
#include "front/copy.h"

#include "front/devices.h"

#include <stdlib.h>

static void push(copy_t **list, copy_t *copy)
{
  copy->next = *list;
  *list = copy;
}

void copy_append(copy_t **list, copy_t *copy)
{
  while (*list)
    list = &(*list)->next;
  copy->next = NULL;
  *list = copy;
}

void copy_unmake(copy_t *copy)
{
  hsa_signal_t *const signals[] = {&copy->arrived, &copy->gate, &copy->done};
  for (int i = 0; i < 3; ++i)
    if (signals[i]->handle)
      (void)front.hsa.signal_destroy(*signals[i]);
  if (copy->cell)
    (void)front.hsa.pool_free((void *)(uintptr_t)copy->cell);
  free(copy);
}

static copy_t *make(void)
{
  copy_t *copy = calloc(1, sizeof(*copy));
  if (!copy)
    return NULL;
  hsa_signal_t *const signals[] = {&copy->arrived, &copy->gate, &copy->done};
  bool made = true;
  for (int i = 0; i < 3 && made; ++i) {
    made = front.hsa.signal_create(1, 0, NULL, signals[i]) == HSA_STATUS_SUCCESS;
    if (!made)
      signals[i]->handle = 0;
  }
  copy->cell = made ? devices_shared_memory(sizeof(cell_t)) : NULL;
  if (copy->cell)
    return copy;
  copy_unmake(copy);
  return NULL;
}

static trace_way_t way_of(const copy_route_t *route)
{
  const bool to = device_known(route->to), from = device_known(route->from);
  return to && from ? TRACE_BESIDE : from ? TRACE_FROM_DEVICE : TRACE_TO_DEVICE;
}

copy_t *copy_take(engine_t *engine, const copying_t *copying)
{
  pthread_mutex_lock(&engine->harvest);
  copy_t *copy = engine->spare;
  if (copy)
    engine->spare = copy->next;
  pthread_mutex_unlock(&engine->harvest);
  if (!copy)
    copy = make();
  if (!copy)
    return NULL;
  front.hsa.silent_store_relaxed(copy->arrived, 1);
  front.hsa.silent_store_relaxed(copy->gate, 1);
  front.hsa.silent_store_relaxed(copy->done, 1);
  *copy->cell = (cell_t){.one = 1};
  copy->program = copying->completion;
  copy->gated = copy->by_us = copy->asked = copy->refused = false;
  copy->failure = 0;
  copy->turn = (copies_turn_t){.bytes = copying->bytes};
  copy->way = way_of(&copying->route);
  copy->asked_at = front.watched ? front_now() : 0;
  return copy;
}

/* A word, by the engine. */
static hsa_status_t put_word(const copy_t *copy, const copying_t *copying, volatile uint32_t *word,
                             uint32_t waits, const hsa_signal_t *wait_for, hsa_signal_t completion)
{
  return copy_by(&copying->route, (void *)(uintptr_t)word,
                 (const void *)(uintptr_t)&copy->cell->one, sizeof(*word), waits, wait_for,
                 completion);
}

hsa_status_t copy_submit(copy_t *copy, const copying_t *copying)
{
  hsa_status_t result;
  if (copy->gated) {
    result = put_word(copy, copying, &copy->cell->arrived, copying->waits, copying->wait_for,
                      copy->arrived);
    copy->asked = result == HSA_STATUS_SUCCESS;
    if (result == HSA_STATUS_SUCCESS)
      result = copying->submit(copying, 1, &copy->gate, copy->done);
  } else {
    result = copying->submit(copying, copying->waits, copying->wait_for, copy->done);
  }
  if (result == HSA_STATUS_SUCCESS)
    copy->by_us = !copy->program.handle ||
                  put_word(copy, copying, &copy->cell->landed, 1, &copy->done, copy->program) !=
                      HSA_STATUS_SUCCESS;
  return result;
}

/* ---- What has finished ---- */

/* Where no word does. The program may have destroyed it since. */
static void count_down(const copy_t *copy, hsa_signal_value_t value)
{
  if (!copy->program.handle || copying_look_at(copy->program) != HSA_STATUS_SUCCESS)
    return;
  if (value < 0)
    front.hsa.signal_store_screlease(copy->program, value);
  else
    front.hsa.signal_subtract(copy->program, 1);
}

static void charge(engine_t *engine, copy_t *copy, hsa_signal_value_t value)
{
  hsa_amd_profiling_async_copy_time_t times = {0};
  gate_span_t ran = {0};
  if (front.hsa.get_copy_time(copy->done, &times) == HSA_STATUS_SUCCESS)
    ran = gate_span(times.start, times.end);
  if (ran.start && copy->program.handle)
    copy_times_keep(copy->program, &times);
  ran = gate_span_ns(ran, front.timestamp_hz);
  copies_charge(&engine->turns, &copy->turn, ran);
  if (front.watched)
    trace_copy(
        &(trace_copy_t){"copy", copy->way, copy->turn.bytes, copy->asked_at, ran.start, ran.end});
  if (value < 0 && !copy->by_us) { /* it failed, and the word after it waits for 0 */
    copy->failure = value;
    front.hsa.signal_subtract(copy->program, -1); /* which the word does not make the last */
    front.hsa.signal_store_screlease(copy->done, 0);
  } else if (copy->by_us) {
    count_down(copy, value);
  }
}

/* Does the engine need nothing of it any more? */
static bool has_landed(const copy_t *copy)
{
  return copy->refused ? copy->cell->arrived != 0 : copy->by_us || copy->cell->landed;
}

/* The caller holds `harvest`. */
static bool harvest(engine_t *engine)
{
  bool any = false;
  for (copy_t **at = &engine->flying; *at;) {
    copy_t *copy = *at;
    hsa_signal_value_t value = front.hsa.signal_load_scacquire(copy->done);
    if (value > 0) {
      at = &copy->next;
      continue;
    }
    *at = copy->next;
    charge(engine, copy, value);
    push(&engine->landing, copy);
    any = true;
  }
  for (copy_t **at = &engine->landing; *at;) {
    copy_t *copy = *at;
    if (!has_landed(copy)) {
      at = &copy->next;
      continue;
    }
    *at = copy->next;
    if (copy->failure)
      front.hsa.signal_store_screlease(copy->program, copy->failure);
    push(&engine->spare, copy);
  }
  return any;
}

bool copies_harvest(engine_t *engine)
{
  pthread_mutex_lock(&engine->harvest);
  bool any = harvest(engine);
  pthread_mutex_unlock(&engine->harvest);
  return any;
}

void copy_fly(engine_t *engine, copy_t *copy)
{
  pthread_mutex_lock(&engine->harvest);
  copy_append(&engine->flying, copy);
  pthread_mutex_unlock(&engine->harvest);
}

void copy_give_back(engine_t *engine, copy_t *copy)
{
  copy->refused = copy->asked;
  pthread_mutex_lock(&engine->harvest);
  push(copy->asked ? &engine->landing : &engine->spare, copy);
  pthread_mutex_unlock(&engine->harvest);
}
