#include "queue/hang.h"

#include "queue/fault.h"
#include "queue/list.h"
#include "queue/packet.h"
#include "queue/scene.h"
#include "queue/submit.h"
#include "queue/timeline/timeline.h"
#include "queue/wait.h"

#include "debug/cause_text.h"
#include "debug/hang.h"
#include "debug/label.h"

#include <inttypes.h>
#include <stdio.h>

typedef struct search {
  watchdog_settings_t settings; /* limit 0: whatever stands may stand for ever */
  uint64_t now;
  watchdog_action_t action; /* of what was found */
  const rawhal_queue_t *queues[HANG_STANDS];
  hang_stand_t stands[HANG_STANDS];
  size_t count;
  bool more;                   /* there are queues that are not among them */
  const rawhal_queue_t *asked; /* is the first of them */
  rawhal_queue_t *found;       /* may be gone, unless it is doomed */
  hsa_agent_t agent;           /* its device's */
  char barrier[512];           /* what it waits for; "": a kernel runs */
  char message[2048];
} search_t;

/* ---- Where queues stand ---- */

/* Which of the ticket's packets the device has come to. */
static uint64_t stands_at(const rawhal_queue_t *queue, uint64_t ticket)
{
  const queue_slot_t *slot = queue_slot(queue, ticket);
  const uint64_t first = atomic_load(&slot->packet), packets = atomic_load(&slot->packets);
  const uint64_t at =
      clock_clamp(queue->device->hsa->hsa_queue_load_read_index_scacquire(queue->hsa_queue), first,
                  first + packets);
  return at - first < packets ? at : first;
}

/* The oldest that has not finished; 0: none. */
static uint64_t oldest_of(rawhal_queue_t *queue)
{
  const uint64_t oldest = ring_finished(&queue->ring) + 1;
  return oldest <= ring_last_ticket(&queue->ring) &&
                 atomic_load(&queue_slot(queue, oldest)->ticket) == oldest
             ? oldest
             : 0;
}

/* Of a queue that is being destroyed only the signals stand; one with nothing in flight sets none.
 */
static void add_stand(rawhal_queue_t *queue, search_t *search)
{
  const hsa_table_t *hsa = queue->device->hsa;
  const uint64_t oldest = queue->closing || !queue->hsa_queue ? 0 : oldest_of(queue);
  if (!oldest)
    return;
  if (search->count == HANG_STANDS) {
    search->more = true;
    return;
  }
  hang_stand_t *stand = &search->stands[search->count];
  search->queues[search->count++] = queue;
  *stand = (hang_stand_t){
      .id = queue->hsa_queue->id,
      .ring = (uint64_t)(uintptr_t)queue->packets,
      .size = queue->ring.packets,
      .read = hsa->hsa_queue_load_read_index_scacquire(queue->hsa_queue),
      .end = hsa->hsa_queue_load_write_index_scacquire(queue->hsa_queue),
      .moves =
          search->settings.limit && !hang_stands(&queue->hang, search->now, search->settings.limit),
      .dead = atomic_load(&queue->health) != QUEUE_ALIVE,
  };
  stand->at = stands_at(queue, oldest);
}

/* The caller holds the list. */
static bool add_other(rawhal_queue_t *queue, void *data)
{
  search_t *search = data;
  if (queue != search->asked)
    add_stand(queue, search);
  return false;
}

/* ---- What a barrier waits for ---- */

/* The one that is asked about is locked; others are not waited for. */
static void say_label(const search_t *search, const rawhal_queue_t *queue, print_t *to)
{
  pthread_mutex_t *lock = (pthread_mutex_t *)(uintptr_t)&queue->drain_lock;
  const bool asked = queue == search->asked;
  if (!asked && pthread_mutex_trylock(lock) != 0)
    return;
  const cause_phrase_t label = cause_quoted(label_text(queue->label));
  if (!asked)
    pthread_mutex_unlock(lock);
  print(to, "%s%s", *label.text ? " " : "", label.text);
}

static void say_ticket(void *context, size_t stand, uint64_t packet, print_t *to)
{
  const search_t *search = context;
  const rawhal_queue_t *queue = search->queues[stand];
  for (uint32_t i = 0; i < queue->ring.tickets; ++i) {
    const queue_slot_t *slot = &queue->slots[i];
    if (packet - atomic_load(&slot->packet) < atomic_load(&slot->packets)) {
      print(to, "ticket %" PRIu64 " of queue %" PRIu64, atomic_load(&slot->ticket),
            search->stands[stand].id);
      say_label(search, queue, to);
      return;
    }
  }
  print(to, "packet %" PRIu64 " of queue %" PRIu64, packet, search->stands[stand].id);
}

static bool say_signal(void *context, uint64_t signal, print_t *to)
{
  (void)context;
  return timeline_say(signal, to);
}

static hang_why_t why(rawhal_queue_t *queue, search_t *search, print_t *barrier)
{
  search->count = 0;
  search->more = false;
  search->asked = queue;
  add_stand(queue, search);
  if (!search->count)
    return HANG_MOVES;
  (void)queue_list_visit(add_other, search);
  const hang_scene_t scene = {.stands = search->stands,
                              .count = search->count,
                              .others_wait = search->more,
                              .name = say_ticket,
                              .name_signal = say_signal,
                              .context = search};
  return hang_why(&scene, 0, barrier);
}

/* ---- Looking ---- */

/* False: the queue has died meanwhile, and says more than can be said here. With drain_lock it
 * cannot: what it has begun keeps its counts and kernels. */
static bool say_why(rawhal_queue_t *queue, search_t *search, rawhal_fault_t *fault,
                    print_t *barrier, hang_why_t *is)
{
  const queue_witness_t *witness = queue->device->witness;
  const bool code = witness && witness->code_hold();
  pthread_mutex_lock(&queue->drain_lock);
  const bool lives = atomic_load(&queue->health) == QUEUE_ALIVE;
  *is = lives ? why(queue, search, barrier) : HANG_MOVES;
  memcpy(fault->queue_label, queue->label, sizeof(fault->queue_label));
  if (*is == HANG_RUNS) {
    scene_explain(queue, fault, NULL, true, code, NULL);
    if (witness && witness->waves && fault->kernel_object)
      witness->waves(queue->hsa_queue, fault);
  }
  pthread_mutex_unlock(&queue->drain_lock);
  if (code)
    witness->code_let();
  return lives;
}

/* False: there is nothing to tell, now or for the log. */
static bool explain(rawhal_queue_t *queue, search_t *search, uint64_t ticket)
{
  rawhal_fault_t fault = {.size = sizeof(fault), .kind = RAWHAL_FAULT_TIME_LIMIT};
  print_t said = print_into(search->barrier, sizeof(search->barrier));
  hang_why_t is;
  if (!say_why(queue, search, &fault, &said, &is) || is == HANG_MOVES)
    return false;
  queue->hang.told = true;
  fault.queue_id = queue->hsa_queue->id;
  hang_say(&fault, search->now - queue->hang.since, "ticket", ticket, search->barrier,
           search->message, sizeof(search->message));
  search->found = queue;
  search->agent = queue->device->agent;
  search->action = is == HANG_WAITS ? search->settings.waits : search->settings.kernels;
  return search->action < WATCHDOG_FAIL || queue_doom(queue);
}

/* True: there is something to tell. */
static bool look(rawhal_queue_t *queue, void *data)
{
  search_t *search = data;
  if (queue->closing || atomic_load(&queue->health) != QUEUE_ALIVE)
    return false;
  queue_drain(queue);
  const uint64_t oldest = oldest_of(queue);
  hang_note(&queue->hang, oldest != 0, oldest, oldest ? stands_at(queue, oldest) : 0, search->now);
  return hang_stands(&queue->hang, search->now, search->settings.limit) && !queue->hang.told &&
         explain(queue, search, oldest);
}

void queues_find_hangs(const watchdog_settings_t *settings, uint64_t now, queue_hang_fn *hangs)
{
  search_t search = {.settings = *settings, .now = now};
  while (queue_list_find(look, &search)) {
    const queue_hang_t hang = {.message = search.message,
                               .action = search.action,
                               .agent = search.agent,
                               .queue = search.found};
    if (search.action >= WATCHDOG_FAIL)
      queue_fail_hang(search.found, *search.barrier ? search.barrier : NULL, search.message);
    hangs(&hang);
  }
}

/* ---- Where all are ---- */

typedef struct saying {
  search_t search;
  print_t to;
} saying_t;

static bool say(rawhal_queue_t *queue, void *data)
{
  saying_t *saying = data;
  search_t *search = &saying->search;
  rawhal_fault_t fault = {
      .size = sizeof(fault), .kind = RAWHAL_FAULT_TIME_LIMIT, .queue_id = queue->id};
  print_t barrier = print_into(search->barrier, sizeof(search->barrier));
  hang_why_t is;
  if (queue->closing || atomic_load(&queue->health) != QUEUE_ALIVE)
    return false;
  queue_drain(queue);
  const uint64_t oldest = oldest_of(queue);
  if (!oldest || !say_why(queue, search, &fault, &barrier, &is)) {
    print(&saying->to, "queue %" PRIu64 ": nothing is in flight\n", queue->id);
    return false;
  }
  hang_say(&fault, 0, "ticket", oldest, search->barrier, search->message, sizeof(search->message));
  print(&saying->to, "%s\n", search->message);
  return false;
}

void queues_say(char *text, size_t size)
{
  saying_t saying = {.to = print_into(text, size)};
  (void)queue_list_find(say, &saying);
  if (!saying.to.length)
    print(&saying.to, "there are no queues\n");
}
