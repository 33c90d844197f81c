#include "debug/door/subscribers.h"

#include "debug/door/memory.h"

#include "base/allocate.h"
#include "base/error.h"

#include <pthread.h>

struct rawhal_subscription {
  uint64_t types;
  rawhal_event_fn *function;
  void *context;
  rawhal_subscription_t *next;
};

/* Held for reading while functions are called; whoever unsubscribes comes first. */
static pthread_rwlock_t lock = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static rawhal_subscription_t *first;
uint64_t subscribers_types;

/* The caller holds the lock for writing. */
static void types_collect(void)
{
  uint64_t types = 0;
  for (const rawhal_subscription_t *each = first; each; each = each->next)
    types |= each->types;
  __atomic_store_n(&subscribers_types, types, __ATOMIC_SEQ_CST);
  tell_aim();
}

void subscribers_tell(const rawhal_event_t *event)
{
  if (!subscribers_want(event->type))
    return;
  pthread_rwlock_rdlock(&lock);
  for (const rawhal_subscription_t *each = first; each; each = each->next)
    if (each->types & RAWHAL_EVENT_BIT(event->type))
      each->function(each->context, event);
  pthread_rwlock_unlock(&lock);
}

/* Who held the lock is not there any more. */
static void fork_child(void)
{
  static const pthread_rwlock_t fresh = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
  lock = fresh;
}

static void watch_forks(void)
{
  (void)pthread_atfork(NULL, NULL, fork_child);
}

rawhal_status_t rawhal_events_subscribe(uint64_t types, rawhal_event_fn *function, void *context,
                                        rawhal_subscription_t **subscription, rawhal_error_t *error)
{
  if (!subscription)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "subscription is NULL");
  *subscription = NULL;
  if (!function || !types || types & ~RAWHAL_EVENTS_ALL)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s",
                       function ? "`types` has none of the types, or others" : "function is NULL");
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  (void)pthread_once(&once, watch_forks);
  rawhal_subscription_t *created = allocate(NULL, sizeof(*created));
  if (!created)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a subscription");
  pthread_rwlock_wrlock(&lock);
  *created = (rawhal_subscription_t){types, function, context, first};
  first = created;
  types_collect();
  pthread_rwlock_unlock(&lock);
  *subscription = created;
  return RAWHAL_OK;
}

void rawhal_events_unsubscribe(rawhal_subscription_t *subscription)
{
  if (!subscription)
    return;
  pthread_rwlock_wrlock(&lock);
  for (rawhal_subscription_t **at = &first; *at; at = &(*at)->next)
    if (*at == subscription) {
      *at = subscription->next;
      break;
    }
  types_collect();
  pthread_rwlock_unlock(&lock);
  allocate_free(NULL, subscription);
}

const char *rawhal_event_type_name(rawhal_event_type_t type)
{
  static const char *const names[RAWHAL_EVENT_TYPES] = {
      [RAWHAL_EVENT_MODULE_LOAD] = "module-load",
      [RAWHAL_EVENT_MODULE_UNLOAD] = "module-unload",
      [RAWHAL_EVENT_KERNEL] = "kernel",
      [RAWHAL_EVENT_QUEUE_CREATE] = "queue-create",
      [RAWHAL_EVENT_QUEUE_DESTROY] = "queue-destroy",
      [RAWHAL_EVENT_ALLOCATE] = "allocate",
      [RAWHAL_EVENT_FREE] = "free",
      [RAWHAL_EVENT_SUBMIT] = "submit",
      [RAWHAL_EVENT_COMPLETE] = "complete",
      [RAWHAL_EVENT_THROTTLE] = "throttle",
      [RAWHAL_EVENT_FAULT] = "fault",
      [RAWHAL_EVENT_DUMP] = "dump",
      [RAWHAL_EVENT_LABEL] = "label",
  };
  const char *name = (unsigned)type < RAWHAL_EVENT_TYPES ? names[type] : NULL;
  return name ? name : "unknown";
}
