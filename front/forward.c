/* Packets from the program's ring into the device's. */
#include "front/forward.h"

#include "front/devices.h"
#include "front/direct.h"
#include "front/door.h"
#include "front/flight.h"
#include "front/proxies.h"
#include "front/report.h"
#include "front/service.h"

#include <stdio.h>
#include <string.h>

/* Of device time that is admitted as one, when the kernels are known: what a limit may be exceeded
 * by once, less than a burst, and what others wait for when it is not their turn. Each such costs
 * the service thread a look. */
static const uint64_t batch_alone_ns = 4000000, batch_shared_ns = 1000000;

enum { HARVEST_EACH = 32 }; /* dispatches: looking at what has finished costs */

/* All of a packet but its first word. Word by word: the program wrote it a moment ago, and a load
 * of more than one of its stores waits until both are in the cache. */
static inline void copy_rest(proxy_packet_t *to, const proxy_packet_t *from)
{
  to->halves[1] = __atomic_load_n(&from->halves[1], __ATOMIC_RELAXED);
#pragma GCC unroll 8
  for (unsigned i = 1; i < PROXY_PACKET_BYTES / sizeof(uint64_t); ++i)
    to->words[i] = __atomic_load_n(&from->words[i], __ATOMIC_RELAXED);
}

/* Acquire: the packet was written before it. */
static inline uint32_t first_of(const proxy_packet_t *packet)
{
  return __atomic_load_n(&packet->first, __ATOMIC_ACQUIRE);
}

/* A copy of the next packet, once: the program may write it again at any time, and what is put must
 * be what was checked and charged. What was watched is what it was then. False: its writer has
 * still to ring. */
static inline bool see(const proxy_t *proxy, uint64_t index, proxy_packet_t *copy)
{
  if (__builtin_expect(index < proxy->looked_at, 0)) {
    copy->dispatch = proxy->waiting[index & proxy->mask].goes;
    return true;
  }
  const proxy_packet_t *packet = proxy_packet_at(proxy, index);
  copy->first = first_of(packet);
  if (packet_type(copy) == HSA_PACKET_TYPE_INVALID)
    return false;
  copy_rest(copy, packet);
  return true;
}

/* ---- The device's ring ---- */

/* Do so many more of the program's packets fit, whatever becomes of them? */
static bool has_room(proxy_t *proxy, uint32_t packets)
{
  uint64_t end = proxy->real_write + (uint64_t)packets * PROXY_PER_PACKET;
  if (end - proxy->real_taken > proxy->real->size)
    proxy->real_taken = direct_read_index(proxy->real);
  return end - proxy->real_taken <= proxy->real->size;
}

/* Where the next packet goes: all of it is there but the first word. Until that is published the
 * place is as free as it was. */
static proxy_packet_t *fill(const proxy_t *proxy, const proxy_packet_t *packet)
{
  uint64_t at = proxy->real_write & (proxy->real->size - 1);
  proxy_packet_t *slot = (proxy_packet_t *)proxy->real->base_address + at;
  copy_rest(slot, packet);
  return slot;
}

/* The device may take it from here on. */
static void publish(proxy_t *proxy, proxy_packet_t *slot, uint32_t first)
{
  ++proxy->real_write;
  __atomic_store_n(&slot->first, first, __ATOMIC_RELEASE);
}

static void put(proxy_t *proxy, const proxy_packet_t *packet)
{
  publish(proxy, fill(proxy, packet), packet->first);
}

/* Tells the device of what was put there since `before`. */
static void announce(const proxy_t *proxy, uint64_t before)
{
  if (proxy->real_write == before)
    return;
  direct_set_write_index(proxy->real, proxy->real_write);
  if (__builtin_expect(proxy->doorbell != NULL, 1))
    direct_ring(proxy->doorbell, proxy->real_write - 1);
  else
    front.hsa.signal_store_screlease(proxy->real->doorbell_signal,
                                     (hsa_signal_value_t)(proxy->real_write - 1));
}

/* The program's slot is free as soon as the device has taken what was put for it. */
static void pass(proxy_t *proxy)
{
  uint64_t index = atomic_load_explicit(&proxy->forwarded, memory_order_relaxed);
  __atomic_store_n(&proxy_packet_at(proxy, index)->header,
                   (uint16_t)HSA_PACKET_TYPE_INVALID << HSA_PACKET_HEADER_TYPE, __ATOMIC_RELAXED);
  atomic_store_explicit(&proxy->ends[index & proxy->mask], proxy->real_write, memory_order_relaxed);
  atomic_store_explicit(&proxy->forwarded, index + 1, memory_order_release);
}

/* A signal of ours on a barrier. `after`: all that came before has ended; else it may still run. */
static void put_barrier(proxy_t *proxy, bool after, hsa_signal_t signal)
{
  proxy_packet_t packet;
  memset(&packet, 0, sizeof(packet));
  packet.header = (uint16_t)(HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE |
                             after << HSA_PACKET_HEADER_BARRIER);
  packet.barrier.completion_signal = signal;
  put(proxy, &packet);
}

static inline void keep_kernargs(const proxy_t *proxy, uint64_t ticket, const proxy_packet_t *slot)
{
  if (__builtin_expect(proxy->lately != NULL, 0))
    lately_keep(proxy->lately, ticket, proxy->real_write,
                (uint64_t)(uintptr_t)slot->dispatch.kernarg_address);
}

/* One that fill() has put there. True: its own signal is ours. */
static bool put_dispatch(proxy_t *proxy, proxy_packet_t *slot, uint32_t first, hsa_signal_t signal)
{
  hsa_signal_t *completion = &slot->dispatch.completion_signal;
  if (front.serial) { /* the program hears of it when it has been recorded */
    proxy->owed = *completion;
    completion->handle = 0;
  }
  bool ours = !completion->handle;
  if (ours)
    *completion = signal;
  publish(proxy, slot, first);
  if (!ours)
    put_barrier(proxy, true, signal);
  return ours;
}

/* ---- Batches on the device ---- */

/* Is there room for a batch of that many? */
static bool flight_has_room(const proxy_t *proxy, uint32_t dispatches)
{
  return proxy->tickets + dispatches - atomic_load(&proxy->free_tickets) <= PROXY_SIGNALS;
}

/* The signal of the next ticket, set to 1; 0: it cannot be made. */
static hsa_signal_t flight_signal(proxy_t *proxy, uint64_t ticket)
{
  hsa_signal_t *signal = &proxy->signals[ticket % PROXY_SIGNALS];
  if (signal->handle)
    return *signal;
  /* No thread sleeps on it: without an interrupt it is made and signalled at less cost. */
  if (front.hsa.amd_signal_create(1, 0, NULL, HSA_AMD_SIGNAL_AMD_GPU_ONLY, signal) !=
      HSA_STATUS_SUCCESS)
    signal->handle = 0;
  return *signal;
}

/* Where the next batch is described, in its place. */
static flight_batch_t *flight_next(proxy_t *proxy)
{
  return &proxy->batches[atomic_load_explicit(&proxy->begun, memory_order_relaxed) % PROXY_SIGNALS];
}

/* It has been put into the device's ring, and its grant is in its place. */
static inline void flight_begin(proxy_t *proxy, uint64_t first, uint32_t count, uint64_t ours,
                                bool marked, bool commands)
{
  flight_batch_t *batch = flight_next(proxy);
  batch->first = first;
  batch->count = count;
  batch->ours = ours;
  batch->marked = marked;
  batch->commands = commands;
  proxy->tickets = first + count;
  atomic_store_explicit(&proxy->begun,
                        atomic_load_explicit(&proxy->begun, memory_order_relaxed) + 1,
                        memory_order_release);
  if (tell_wants(RAWHAL_EVENT_SUBMIT))
    front_door_submitted(proxy, first + 1, count, ours & 1);
}

/* ---- Watching ---- */

/* Once for each packet, though it is held back: it may be changed. False: it must not go. */
static bool look_at(proxy_t *proxy, uint64_t index, proxy_packet_t *packet)
{
  rawhal_error_t error;
  if (proxy->refused || index < proxy->looked_at)
    return !proxy->refused;
  watch_note_t *note = &proxy->waiting[index & proxy->mask];
  proxy->looked_at = index + 1;
  if (watch_dispatch(proxy->device, proxy->face->hsa_queue.id, &packet->dispatch, note, &error)) {
    note->goes = packet->dispatch;
    return true;
  }
  proxy->refused = true;
  (void)snprintf(proxy->refusal, sizeof(proxy->refusal), "%.*s", CHECK_TEXT - 1, error.message);
  return false;
}

static void fly(proxy_t *proxy, uint64_t index, uint64_t ticket)
{
  watch_note_t *note = &proxy->waiting[index & proxy->mask];
  probes_goes(note->probe);
  proxy->flying[ticket % PROXY_SIGNALS] = *note;
  *note = (watch_note_t){0};
}

/* With front.serial: has all that was put run, and been recorded? */
static bool is_quiet(proxy_t *proxy)
{
  if (proxy_in_flight(proxy) || direct_read_index(proxy->real) != proxy->real_write)
    return false;
  const hsa_signal_t owed = proxy->owed;
  proxy->owed.handle = 0;
  if (!owed.handle || flight_tell_last(proxy, owed))
    return true;
  put_barrier(proxy, true, owed);
  return false;
}

/* ---- Admission ---- */

/* How many may go as one, however short they were: they are one submission, and each may be long
 * from now on. That many times the share of PROXY_BATCH: what such a batch owes does not grow as
 * the share falls, and what is paid for takes the longer the smaller the share, so that fewer of
 * them hide the look at their end as well. */
static uint32_t most_as_one(const proxy_t *proxy)
{
  const uint64_t most = (limit_least_share(proxy->gate.lease) * PROXY_BATCH) >> 32;
  return most ? (uint32_t)most : 1;
}

/* How many dispatches from here on go as one: those whose time is known, up to a bound, or one. The
 * first of `packets` has been seen. `*lane_bytes`: of scratch, at most. */
static uint32_t gather(proxy_t *proxy, uint64_t index, proxy_packet_t *packets, limit_cost_t *all,
                       uint32_t *lane_bytes)
{
  uint32_t count = 0;
  const uint32_t marker = proxy->behind;
  uint64_t most_ns = 0; /* once there are two */
  /* What is announced may be more than the ring has: places are reserved before there is room. */
  const uint32_t ring = proxy->mask + 1, batch = ring < PROXY_BATCH ? ring : PROXY_BATCH;
  uint32_t most = front.serial ? 1 : batch;
  *all = (limit_cost_t){0};
  *lane_bytes = 0;
  while (count < most && index + count != proxy->announced &&
         flight_has_room(proxy, marker + count + 1) && has_room(proxy, marker + count + 1)) {
    proxy_packet_t *packet = &packets[count];
    if (count == 1) {
      const uint32_t as_one = most_as_one(proxy);
      most = as_one < most ? as_one : most;
      most_ns = limit_is_shared(proxy->gate.lease) ? batch_shared_ns : batch_alone_ns;
      if (most == 1)
        break;
    }
    if (count && (!see(proxy, index + count, packet) ||
                  packet_type(packet) != HSA_PACKET_TYPE_KERNEL_DISPATCH))
      break;
    if (front.watched && !look_at(proxy, index + count, packet))
      break;
    const limit_shape_t shape = gate_packet(&packet->dispatch);
    const uint64_t ns = gate_expects(&proxy->gate, &shape);
    if (count && (!ns || all->estimate_ns + ns > most_ns))
      break;
    limit_cost_add(all, &shape, ns);
    const uint32_t lane = packet->dispatch.private_segment_size;
    *lane_bytes = lane > *lane_bytes ? lane : *lane_bytes;
    ++count;
    if (!ns) {
      objects_asked(packet->dispatch.kernel_object, false);
      break;
    }
  }
  return count;
}

/* False, as that is what forwarding it comes to; so is proxy_fail(). */
static bool hold(proxy_t *proxy, uint64_t retry_at)
{
  proxy->holding = true;
  if (front.watched && !proxy->held_since)
    proxy->held_since = front_now();
  if (tell_wants(RAWHAL_EVENT_THROTTLE) && !proxy->held_at)
    proxy->held_at = clock_now();
  proxy->retry_at = retry_at;
  return false;
}

bool proxy_fail(proxy_t *proxy, hsa_status_t status, const char *why)
{
  front_report("a queue was stopped: %s", why);
  uint64_t alive = 0; /* it may have died of something else meanwhile */
  (void)atomic_compare_exchange_strong(&proxy->died_at, &alive, clock_now());
  (void)front.hsa.queue_inactivate(proxy->real);
  flight_end_all(proxy, atomic_load(&proxy->died_at));
  proxy->failure = status;
  return false;
}

/* What a region says of a time far away may be damage, which is found by asking. */
static uint64_t ask_again_at(const proxy_t *proxy)
{
  static const uint64_t most_ns = 1000000000u;
  const uint64_t retry = limit_retry_at(proxy->gate.lease), now = clock_now();
  return limit_is_shared(proxy->gate.lease) && retry > now + most_ns ? now + most_ns : retry;
}

/* False: held back, or nothing more goes. */
static bool is_admitted(proxy_t *proxy, rawhal_status_t status, const rawhal_error_t *error)
{
  if (status == RAWHAL_WOULD_BLOCK)
    return hold(proxy, ask_again_at(proxy));
  return status == RAWHAL_OK ||
         proxy_fail(proxy, HSA_STATUS_ERROR_OUT_OF_RESOURCES, error->message);
}

/* Where it does not matter how long dispatches take they need no signal of ours, and nothing of
 * them is counted: only how large they are. False: as below. */
static bool forward_uncounted(proxy_t *proxy, const proxy_packet_t *packet)
{
  rawhal_error_t error;
  if (!has_room(proxy, 1))
    return hold(proxy, 0);
  if (!is_admitted(proxy, gate_admit_size(&proxy->gate, &packet->dispatch, &error), &error))
    return false;
  put(proxy, packet);
  pass(proxy);
  if (tell_wants(RAWHAL_EVENT_SUBMIT))
    front_door_submitted(proxy, 0, 1, true);
  return true;
}

/* As most come: one that a doorbell has just told of, of a kernel whose time is known, by what the
 * lease has. It is copied where it goes and read there. False: it has not gone, and whether it may
 * must be looked at. */
static bool forward_one(proxy_t *proxy, uint64_t index)
{
  const proxy_packet_t *packet = proxy_packet_at(proxy, index);
  const uint32_t first = first_of(packet);
  const uint64_t ticket = proxy->tickets;
  const hsa_signal_t signal = proxy->signals[ticket % PROXY_SIGNALS];
  if (packet_type_in(first) != HSA_PACKET_TYPE_KERNEL_DISPATCH || front.watched || proxy->behind ||
      proxy->held_at || index + 1 != proxy->announced || !signal.handle ||
      ticket - proxy->harvested_at >= HARVEST_EACH || !flight_has_room(proxy, 1) ||
      !has_room(proxy, 1))
    return false;
  proxy_packet_t *slot = fill(proxy, packet);
  if (!gate_admit_at_once(&proxy->gate, &slot->dispatch, &flight_next(proxy)->grant))
    return false;
  keep_kernargs(proxy, ticket, slot);
  const bool ours = put_dispatch(proxy, slot, first, signal);
  pass(proxy);
  flight_begin(proxy, ticket, 1, ours, false, false);
  return true;
}

/* False: held back, or nothing more goes. */
static bool forward_dispatches(proxy_t *proxy, uint64_t index, const proxy_packet_t *seen)
{
  proxy_packet_t packets[PROXY_BATCH];
  limit_cost_t all;
  uint32_t lane_bytes;
  rawhal_error_t error; /* zeros for all of it would cost as much as the rest */
  /* The limiter has it done, too, before it refuses. */
  if (proxy->tickets - proxy->harvested_at >= HARVEST_EACH || !flight_has_room(proxy, 1)) {
    proxy->harvested_at = proxy->tickets;
    (void)flight_harvest(proxy);
  }
  packets[0] = *seen;
  const uint32_t count = gather(proxy, index, packets, &all, &lane_bytes);
  const bool marked = proxy->behind;
  const uint64_t first = proxy->tickets + marked;
  if (count == 0 && proxy->refused)
    return proxy_fail(proxy, HSA_STATUS_ERROR_INVALID_ARGUMENT, proxy->refusal);
  if (count == 0) /* no signal is free, or no place */
    return hold(proxy, 0);
  for (uint64_t ticket = proxy->tickets; ticket < first + count; ++ticket)
    if (!flight_signal(proxy, ticket).handle)
      return hold(proxy, clock_now() + 1000000);
  limit_grant_t *grant = &flight_next(proxy)->grant;
  /* Without words, which cost more than the rest: mostly it is not yet. */
  rawhal_status_t status = gate_admit(&proxy->gate, &all, lane_bytes, 0, grant, NULL);
  if (status != RAWHAL_OK && status != RAWHAL_WOULD_BLOCK)
    status = gate_admit(&proxy->gate, &all, lane_bytes, 0, grant, &error);
  if (!is_admitted(proxy, status, &error))
    return false;
  if (proxy->held_since) {
    trace_held(proxy->index, proxy->held_since, front_now());
    proxy->held_since = 0;
  }
  if (proxy->held_at)
    front_door_admitted(proxy);
  if (marked)
    put_barrier(proxy, false, proxy->signals[(first - 1) % PROXY_SIGNALS]);
  proxy->behind = false;
  uint64_t all_ours = 0;
  for (uint32_t i = 0; i < count; ++i) {
    proxy_packet_t *slot = fill(proxy, &packets[i]);
    keep_kernargs(proxy, first + i, slot);
    bool ours =
        put_dispatch(proxy, slot, packets[i].first, proxy->signals[(first + i) % PROXY_SIGNALS]);
    all_ours |= (uint64_t)ours << i;
    if (front.watched)
      fly(proxy, index + i, first + i);
    pass(proxy);
  }
  flight_begin(proxy, first, count, all_ours, marked, false);
  return true;
}

/* False: it must not go, and the queue is stopped. */
static bool look_at_other(proxy_t *proxy, const proxy_packet_t *packet)
{
  rawhal_error_t error;
  return watch_packet(proxy->face->hsa_queue.id, packet->first, &error) ||
         proxy_fail(proxy, HSA_STATUS_ERROR_INVALID_ARGUMENT, error.message);
}

/* One that is admitted as a dispatch of whatever length, with a barrier after it that tells when it
 * has ended. False: held back, or nothing more goes. */
static bool forward_commands(proxy_t *proxy, const proxy_packet_t *packet)
{
  const limit_shape_t shape = gate_commands();
  const uint64_t ticket = proxy->tickets;
  rawhal_error_t error;
  (void)flight_harvest(proxy);
  if (!flight_has_room(proxy, 1) || !has_room(proxy, 1) || !flight_signal(proxy, ticket).handle)
    return hold(proxy, clock_now() + 1000000);
  limit_grant_t *grant = &flight_next(proxy)->grant;
  if (!is_admitted(proxy, limit_admit_one(proxy->gate.lease, &shape, 0, grant, &error), &error))
    return false;
  if (front.watched && !look_at_other(proxy, packet)) {
    limit_cancel(proxy->gate.lease, grant);
    return false;
  }
  put(proxy, packet);
  put_barrier(proxy, true, proxy->signals[ticket % PROXY_SIGNALS]);
  pass(proxy);
  flight_begin(proxy, ticket, 1, 0, false, true);
  return true;
}

void proxy_forward(proxy_t *proxy)
{
  uint64_t before = proxy->real_write;
  proxy->holding = false;
  const bool quiet = !front.serial || is_quiet(proxy);
  if (!quiet)
    (void)hold(proxy, 0);
  while (quiet) {
    proxy_packet_t packet;
    uint64_t index = atomic_load_explicit(&proxy->forwarded, memory_order_relaxed);
    if (index == proxy->announced || atomic_load(&proxy->died_at))
      break;
    if (proxy->device->counted && forward_one(proxy, index))
      continue;
    if (!see(proxy, index, &packet))
      break;
    const unsigned type = packet_type(&packet);
    if (type == HSA_PACKET_TYPE_KERNEL_DISPATCH && !proxy->device->counted) {
      if (!forward_uncounted(proxy, &packet))
        break;
      continue;
    }
    if (type == HSA_PACKET_TYPE_KERNEL_DISPATCH) {
      announce(proxy, before);
      before = proxy->real_write;
      if (front.serial && !is_quiet(proxy)) { /* what it waits for comes before */
        (void)hold(proxy, 0);
        break;
      }
      if (!forward_dispatches(proxy, index, &packet))
        break;
      announce(proxy, before);
      before = proxy->real_write;
      if (front.serial) { /* and its end is looked for, though nothing follows it */
        (void)hold(proxy, 0);
        break;
      }
      continue;
    }
    if (packet_is_commands(packet.first) && proxy->device->counted) {
      announce(proxy, before);
      before = proxy->real_write;
      if (!forward_commands(proxy, &packet))
        break;
      continue;
    }
    const bool open =
        packet_is_barrier(type) ? packet_is_open(&packet, type) : !packet_is_vendors(type);
    if (!has_room(proxy, 1) || (packet_is_barrier(type) && !open && proxies_hold(proxy))) {
      (void)hold(proxy, 0);
      break;
    }
    proxy->behind |= !open;
    if (front.watched && !look_at_other(proxy, &packet))
      break;
    put(proxy, &packet); /* whatever it is */
    pass(proxy);
  }
  announce(proxy, before);
  if (proxy->holding != atomic_load_explicit(&proxy->held, memory_order_relaxed))
    proxy_set_held(proxy, proxy->holding);
}

/* ---- The program's ring ---- */

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

/* False: the queue has failed, and who was told may have destroyed it. */
static bool forward_waiting(proxy_t *proxy)
{
  for (int i = 0; proxy->held && i < 10000; ++i) {
    const bool failed = proxy_has_failed(proxy);
    proxy_unlock(proxy);
    if (failed)
      return false;
    clock_nap(1000000);
    pthread_mutex_lock(&proxy->lock);
    (void)flight_harvest(proxy);
    proxy_forward(proxy);
  }
  return true;
}

void proxy_ring(proxy_t *proxy)
{
  uint64_t write = __atomic_load_n(&proxy->face->write_dispatch_id, __ATOMIC_ACQUIRE);
  pthread_mutex_lock(&proxy->lock);
  if (write > proxy->announced)
    proxy->announced = write;
  if (!proxy->held) /* or the service thread has it in hand */
    proxy_forward(proxy);
  if (!atomic_load(&service_ended))
    service_wake(proxy);
  else if (!forward_waiting(proxy))
    return;
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
