/* All queues of the process, which are told when a device or, by fork(), the whole process is lost.
 */
#include "queue/list.h"

#include "queue/limit/opening.h"
#include "queue/wait.h"

#include "base/error.h"

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static rawhal_queue_t *list_first;

/* fork() takes neither the runtime's threads nor the device along: in the child every queue of the
 * parent is dead. The lock is held across fork(), so that the child finds the list whole. */
static void fork_prepare(void)
{
  pthread_mutex_lock(&list_lock);
}

static void fork_parent(void)
{
  pthread_mutex_unlock(&list_lock);
}

static void fork_child(void)
{
  for (rawhal_queue_t *queue = list_first; queue; queue = queue->next) {
    queue->cause.status = rawhal_fail(&queue->cause, RAWHAL_DEVICE_LOST,
                                      "the queue belongs to the parent of this process: after "
                                      "fork() a child cannot use the device of its parent");
    queue->fault = (rawhal_fault_t){.size = sizeof(queue->fault), .kind = RAWHAL_FAULT_DEVICE_LOST};
    cause_find(&(debug_scene_t){0}, &queue->fault);
    atomic_store(&queue->health, QUEUE_FORKED);
  }
  pthread_mutex_unlock(&list_lock);
}

static void watch_forks(void)
{
  (void)pthread_atfork(fork_prepare, fork_parent, fork_child);
}

void queue_watch_forks(void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  limit_watch_forks();
  pthread_once(&once, watch_forks);
}

void queue_list_add(rawhal_queue_t *queue)
{
  queue_watch_forks();
  pthread_mutex_lock(&list_lock);
  queue->next = list_first;
  list_first = queue;
  pthread_mutex_unlock(&list_lock);
}

void queue_list_close(rawhal_queue_t *queue)
{
  pthread_mutex_lock(&list_lock);
  queue->closing = true;
  pthread_mutex_unlock(&list_lock);
}

void queue_list_remove(rawhal_queue_t *queue)
{
  pthread_mutex_lock(&list_lock);
  for (rawhal_queue_t **at = &list_first; *at; at = &(*at)->next)
    if (*at == queue) {
      *at = queue->next;
      break;
    }
  pthread_mutex_unlock(&list_lock);
}

bool queue_list_visit(bool (*visit)(rawhal_queue_t *queue, void *data), void *data)
{
  bool found = false;
  for (rawhal_queue_t *queue = list_first; queue && !found; queue = queue->next)
    found = visit(queue, data);
  return found;
}

bool queue_list_find(bool (*visit)(rawhal_queue_t *queue, void *data), void *data)
{
  pthread_mutex_lock(&list_lock);
  const bool found = queue_list_visit(visit, data);
  pthread_mutex_unlock(&list_lock);
  return found;
}

/* ---- What runs ---- */

static bool ticket_names(const rawhal_queue_t *queue, const queue_slot_t *slot,
                         const kernel_owner_t *owner)
{
  for (uint32_t i = 0; i < slot->packets; ++i) {
    const rawhal_device_kernel_t *kernel = queue_kernel(queue, slot, slot->packet + i);
    if (kernel && kernel->owner == owner)
      return true;
  }
  return false;
}

/* With drain_lock held no slot in flight is given to another ticket, and the kernels its packets
 * name stay loaded, because code that unloads them looks here first. What a dead queue has not
 * finished it may still be doing, until it is destroyed. */
static bool queue_runs(rawhal_queue_t *queue, void *data)
{
  bool runs = false;
  pthread_mutex_lock(&queue->drain_lock);
  uint64_t last = ring_last_ticket(&queue->ring);
  for (uint64_t ticket = ring_finished(&queue->ring) + 1; ticket <= last && !runs; ++ticket) {
    const queue_slot_t *slot = queue_slot(queue, ticket);
    int64_t target;
    runs = atomic_load_explicit(&slot->ticket, memory_order_acquire) == ticket &&
           queue_progress(queue, ticket, &target, NULL) != QUEUE_FINISHED &&
           ticket_names(queue, slot, data);
  }
  pthread_mutex_unlock(&queue->drain_lock);
  return runs;
}

bool queues_run(kernel_owner_t *owner)
{
  return queue_list_find(queue_runs, owner);
}
