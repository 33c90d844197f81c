#include "queue/follow.h"

static pthread_mutex_t followers = PTHREAD_MUTEX_INITIALIZER;

void queue_followers_hold(void)
{
  pthread_mutex_lock(&followers);
}

void queue_followers_let(void)
{
  pthread_mutex_unlock(&followers);
}

bool queue_follow(rawhal_queue_t *queue, const void *who, void *what, queue_gone_fn *gone)
{
  queue_follower_t *first = atomic_load_explicit(&queue->followers, memory_order_relaxed);
  queue_follower_t *node = first;
  while (node && atomic_load_explicit(&node->who, memory_order_relaxed))
    node = node->next;
  const bool is_new = !node;
  if (is_new)
    node = allocate_zeroed(queue->device->allocator, 1, sizeof(*node));
  if (!node)
    return false;
  node->what = what;
  node->gone = gone;
  atomic_store_explicit(&node->who, who, memory_order_release);
  if (is_new) {
    node->next = first;
    atomic_store_explicit(&queue->followers, node, memory_order_release);
  }
  return true;
}

void queue_unfollow(rawhal_queue_t *queue, const void *who)
{
  queue_follower_t *node = atomic_load_explicit(&queue->followers, memory_order_relaxed);
  for (; node; node = node->next)
    if (atomic_load_explicit(&node->who, memory_order_relaxed) == who)
      atomic_store_explicit(&node->who, NULL, memory_order_release);
}

void queue_followers_tell(rawhal_queue_t *queue, bool ended)
{
  queue_followers_hold();
  queue_follower_t *node = atomic_load_explicit(&queue->followers, memory_order_relaxed), *next;
  for (; node; node = next) {
    next = node->next;
    if (atomic_load_explicit(&node->who, memory_order_relaxed))
      node->gone(node->what, ended);
    allocate_free(queue->device->allocator, node);
  }
  atomic_store_explicit(&queue->followers, NULL, memory_order_relaxed);
  queue_followers_let();
}
