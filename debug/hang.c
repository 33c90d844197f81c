#include "debug/hang.h"

#include "debug/cause_text.h"
#include "debug/label.h"

#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa_ext_amd.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { AT_ONCE = 32, NONE = HANG_STANDS };

void hang_note(hang_progress_t *progress, bool busy, uint64_t ended, uint64_t stands_at,
               uint64_t now)
{
  if (busy && progress->busy && progress->step[0] == ended && progress->step[1] == stands_at)
    return;
  *progress = (hang_progress_t){{ended, stands_at}, now, busy, false};
}

/* ---- Barriers ---- */

typedef struct barrier {
  hsa_signal_t unmet[5];
  size_t count;
  bool is_one;
  bool any; /* one of them is enough */
} barrier_t;

static bool copy(const hang_scene_t *scene, void *to, uint64_t from, size_t size)
{
  return debug_copy(scene->copy, scene->process, to, from, size);
}

static bool signal_value(const hang_scene_t *scene, hsa_signal_t signal, int64_t *value)
{
  return copy(scene, value, signal.handle + offsetof(amd_signal_t, value), sizeof(*value));
}

static bool holds(int64_t value, uint32_t condition, int64_t other)
{
  return condition == HSA_SIGNAL_CONDITION_EQ   ? value == other
         : condition == HSA_SIGNAL_CONDITION_NE ? value != other
         : condition == HSA_SIGNAL_CONDITION_LT ? value < other
                                                : value >= other;
}

static void add_unmet(const hang_scene_t *scene, barrier_t *barrier, hsa_signal_t signal)
{
  int64_t value;
  if (signal.handle && !(signal_value(scene, signal, &value) && value == 0))
    barrier->unmet[barrier->count++] = signal;
}

/* What keeps the packet at which it stands. False: nothing does. */
static bool barrier_of(const hang_scene_t *scene, const hang_stand_t *stand, barrier_t *barrier)
{
  hsa_barrier_and_packet_t packet;
  hsa_amd_barrier_value_packet_t value;
  int64_t is = 0;
  *barrier = (barrier_t){0};
  if (stand->at == stand->end ||
      !copy(scene, &packet, stand->ring + (stand->at & (stand->size - 1)) * PACKET_BYTES,
            sizeof(packet)))
    return false;
  memcpy(&value, &packet, sizeof(value));
  const uint16_t type = packet.header & PACKET_TYPE_BITS;
  barrier->any = type == HSA_PACKET_TYPE_BARRIER_OR;
  barrier->is_one = type == HSA_PACKET_TYPE_BARRIER_AND || barrier->any;
  if (barrier->is_one)
    for (size_t i = 0; i < 5; ++i)
      add_unmet(scene, barrier, packet.dep_signal[i]);
  if (type == HSA_PACKET_TYPE_VENDOR_SPECIFIC &&
      value.header.AmdFormat == HSA_AMD_PACKET_TYPE_BARRIER_VALUE) {
    barrier->is_one = true;
    if (value.signal.handle && !(signal_value(scene, value.signal, &is) &&
                                 holds(is & value.mask, value.cond, value.value)))
      barrier->unmet[barrier->count++] = value.signal;
  }
  return barrier->count != 0;
}

/* ---- Who sets a signal ---- */

/* Past what has been taken a packet without a type is one that is not written yet. */
static bool sets(const hang_stand_t *stand, uint64_t index,
                 const hsa_kernel_dispatch_packet_t *packet, hsa_signal_t signal)
{
  return packet->completion_signal.handle == signal.handle &&
         (index < stand->read || (packet->header & PACKET_TYPE_BITS) != HSA_PACKET_TYPE_INVALID);
}

static bool find_in(const hang_scene_t *scene, const hang_stand_t *stand, hsa_signal_t signal,
                    uint64_t *found)
{
  hsa_kernel_dispatch_packet_t packets[AT_ONCE];
  const uint64_t end = stand->end - stand->at > stand->size ? stand->at + stand->size : stand->end;
  for (uint64_t at = stand->at; at < end;) {
    const uint64_t slot = at & (stand->size - 1), left = end - at, wraps = stand->size - slot;
    uint64_t count = left < wraps ? left : wraps;
    count = count < AT_ONCE ? count : AT_ONCE;
    if (!copy(scene, packets, stand->ring + slot * PACKET_BYTES, count * PACKET_BYTES))
      return false;
    for (uint64_t i = 0; i < count; ++i)
      if (sets(stand, at + i, &packets[i], signal)) {
        *found = at + i;
        return true;
      }
    at += count;
  }
  return false;
}

/* The queue whose packet will; NONE: no packet. */
static size_t setter(const hang_scene_t *scene, hsa_signal_t signal, uint64_t *packet)
{
  for (size_t i = 0; i < scene->count; ++i)
    if (find_in(scene, &scene->stands[i], signal, packet))
      return i;
  return NONE;
}

/* ---- Whether it can happen ---- */

/* From the best to the worst. */
typedef enum verdict { MOVES, RUNS, NOBODY, CYCLE } verdict_t;

typedef struct search {
  const hang_scene_t *scene;
  enum { UNSEEN, OPEN, KNOWN } state[HANG_STANDS];
  verdict_t verdict[HANG_STANDS];
  size_t next[HANG_STANDS]; /* which queue it waits for; NONE */
} search_t;

static verdict_t of_queue(search_t *search, size_t at);

static verdict_t of_signal(search_t *search, hsa_signal_t signal, size_t *by, uint64_t *packet)
{
  *by = setter(search->scene, signal, packet);
  if (*by == NONE)
    return search->scene->others_wait ? MOVES : NOBODY;
  return search->scene->stands[*by].dead ? NOBODY : of_queue(search, *by);
}

static verdict_t of_barrier(search_t *search, size_t at, const barrier_t *barrier)
{
  verdict_t verdict = barrier->any ? CYCLE : MOVES;
  for (size_t i = 0; i < barrier->count; ++i) {
    size_t by;
    uint64_t packet;
    const verdict_t each = of_signal(search, barrier->unmet[i], &by, &packet);
    if (barrier->any ? each > verdict : each < verdict)
      continue;
    verdict = each;
    search->next[at] = by;
  }
  return verdict;
}

/* What was taken for a cycle while an open queue was, is none if that queue has another way on. */
static void forget_cycles(search_t *search)
{
  for (size_t i = 0; i < search->scene->count; ++i)
    if (search->state[i] == KNOWN && search->verdict[i] == CYCLE)
      search->state[i] = UNSEEN;
}

/* So deep at most as there are queues; each is looked at once, and again for each barrier of which
 * one is enough. */
static verdict_t of_queue(search_t *search, size_t at)
{
  const hang_stand_t *stand = &search->scene->stands[at];
  barrier_t barrier;
  if (search->state[at] != UNSEEN)
    return search->state[at] == OPEN ? CYCLE : search->verdict[at];
  search->next[at] = NONE;
  search->state[at] = OPEN;
  search->verdict[at] = barrier_of(search->scene, stand, &barrier)
                            ? of_barrier(search, at, &barrier)
                        : stand->moves ? MOVES
                                       : RUNS;
  search->state[at] = KNOWN;
  if (barrier.any && search->verdict[at] != CYCLE)
    forget_cycles(search);
  return search->verdict[at];
}

/* ---- Saying it ---- */

static void say_packet(const hang_scene_t *scene, size_t stand, uint64_t packet, print_t *to)
{
  if (scene->name)
    scene->name(scene->context, stand, packet, to);
  else
    print(to, "packet %" PRIu64 " of queue %" PRIu64, packet, scene->stands[stand].id);
}

static void say_cycle(const search_t *search, size_t from, print_t *to)
{
  const hang_stand_t *stands = search->scene->stands;
  print(to, ", which never ends: queue %" PRIu64, stands[from].id);
  size_t at = from;
  for (size_t i = 0; i < search->scene->count && search->next[at] != NONE; ++i) {
    at = search->next[at];
    print(to, " waits for queue %" PRIu64 "%s", stands[at].id, at == from ? "" : ", which");
    if (at == from)
      return;
  }
  print(to, " is in the cycle");
}

static void say_others(const hang_scene_t *scene, size_t but, hsa_signal_t signal, print_t *to)
{
  barrier_t barrier;
  for (size_t i = 0; i < scene->count; ++i)
    for (size_t j = 0;
         i != but && barrier_of(scene, &scene->stands[i], &barrier) && j < barrier.count; ++j)
      if (barrier.unmet[j].handle == signal.handle)
        print(to, ", and queue %" PRIu64 " waits for it, too", scene->stands[i].id);
}

static void say_signal(search_t *search, size_t stand, hsa_signal_t signal, print_t *to)
{
  const hang_scene_t *scene = search->scene;
  size_t by;
  uint64_t packet;
  int64_t value;
  const verdict_t verdict = of_signal(search, signal, &by, &packet);
  if (by != NONE) {
    say_packet(scene, by, packet, to);
    if (scene->stands[by].dead)
      print(to, ", which is dead");
    else if (verdict == CYCLE)
      say_cycle(search, by, to);
    else if (verdict == NOBODY)
      print(to, ", which waits for a signal that no packet in flight sets");
    return;
  }
  if (scene->name_signal && scene->name_signal(scene->context, signal.handle, to))
    print(to, ", which no packet in flight sets");
  else if (signal_value(scene, signal, &value))
    print(to, "signal 0x%" PRIx64 ", which is %" PRId64 " and which no packet in flight sets",
          signal.handle, value);
  else
    print(to, "signal 0x%" PRIx64 ", which cannot be read", signal.handle);
  say_others(scene, stand, signal, to);
}

hang_why_t hang_why(const hang_scene_t *scene, size_t stand, print_t *to)
{
  search_t search = {.scene = scene};
  barrier_t barrier;
  if (!barrier_of(scene, &scene->stands[stand], &barrier))
    return barrier.is_one ? HANG_MOVES : HANG_RUNS;
  if (of_queue(&search, stand) == MOVES)
    return HANG_MOVES;
  for (size_t i = 0; i < barrier.count; ++i) {
    print(to, "%s", !i ? "the barrier waits for " : barrier.any ? " or " : " and ");
    say_signal(&search, stand, barrier.unmet[i], to);
  }
  return HANG_WAITS;
}

void hang_say(const rawhal_fault_t *fault, uint64_t ns, const char *unit, uint64_t number,
              const char *waits, char *text, size_t size)
{
  const bool barrier = waits && *waits;
  const cause_phrase_t label = cause_quoted(label_text(fault->queue_label)),
                       own = cause_quoted(label_text(fault->label));
  char since[48] = "";
  if (ns)
    snprintf(since, sizeof(since), " has not got on for %.3g s", (double)ns / 1e9);
  snprintf(text, size, "queue %" PRIu64 "%s%s%s: %s %" PRIu64 "%s%s, %s%s%s%s", fault->queue_id,
           *label.text ? " " : "", label.text, since, unit, number, *own.text ? ", dispatch " : "",
           own.text,
           barrier          ? waits
           : *fault->kernel ? "kernel "
                            : "a packet that is no kernel's",
           barrier ? "" : fault->kernel, *fault->device_text ? "; " : "", fault->device_text);
}
