#include "front/plain_queues.h"

#include "front/devices.h"
#include "front/door.h"
#include "front/faults.h"
#include "front/notices.h"

#include <pthread.h>
#include <stdlib.h>

/* A queue that has no proxy. Of one that is given out again and again the runtime has the first. */
typedef struct noted {
  void (*callback)(hsa_status_t status, hsa_queue_t *source, void *data);
  void *data;
  const front_device_t *device;
  hsa_queue_t *queue; /* NULL: its runtime has ended */
  uint64_t id;
  tell_entry_t told;
  atomic_bool failed;
  struct noted *next;
} noted_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static noted_t *all_noted;

static void on_error(hsa_status_t status, hsa_queue_t *source, void *data)
{
  noted_t *noted = data;
  notice_t notice = {.callback = noted->callback,
                     .status = status,
                     .source = source,
                     .data = noted->data,
                     .of = noted};
  notice_begin(&notice);
  atomic_store(&noted->failed, true);
  faults_tell(noted->device, source, NULL, status);
  (void)notice_tell(&notice);
}

static void note(noted_t *noted)
{
  noted->told = front_door_queue(noted->device, noted->queue);
  pthread_mutex_lock(&lock);
  noted->next = all_noted;
  all_noted = noted;
  pthread_mutex_unlock(&lock);
}

/* Without front.faults the program's handler is the runtime's to call, as ever. */
static hsa_status_t queue_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                                 void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data,
                                 uint32_t private_bytes, uint32_t group_bytes, hsa_queue_t **queue)
{
  const front_device_t *limited = device_of_agent(agent);
  noted_t *noted = limited && limited->timed ? NULL : malloc(sizeof(*noted));
  if (!noted || front_orphaned()) {
    free(noted); /* a proxy tells by itself; without memory nobody does */
    return front.inner.queue_create(agent, size, type, callback, data, private_bytes, group_bytes,
                                    queue);
  }
  *noted = (noted_t){.callback = callback, .data = data, .device = device_known(agent)};
  const hsa_status_t result =
      front.inner.queue_create(agent, size, type, front.faults ? on_error : callback,
                               front.faults ? noted : data, private_bytes, group_bytes, queue);
  if (result != HSA_STATUS_SUCCESS) {
    free(noted);
    return result;
  }
  noted->queue = *queue;
  noted->id = (*queue)->id;
  note(noted);
  return result;
}

/* The latest of that queue. */
static noted_t *forget(const hsa_queue_t *queue)
{
  pthread_mutex_lock(&lock);
  noted_t **at = &all_noted;
  while (*at && (*at)->queue != queue)
    at = &(*at)->next;
  noted_t *noted = *at;
  if (noted)
    *at = noted->next;
  pthread_mutex_unlock(&lock);
  if (noted)
    front_door_queue_gone(noted->told, noted->id);
  return noted;
}

static bool is_noted(const hsa_queue_t *queue)
{
  pthread_mutex_lock(&lock);
  const noted_t *noted = all_noted;
  while (noted && noted->queue != queue)
    noted = noted->next;
  pthread_mutex_unlock(&lock);
  return noted != NULL;
}

static hsa_status_t queue_destroy(hsa_queue_t *queue)
{
  noted_t *noted = queue && !front_orphaned() ? forget(queue) : NULL;
  if (noted)
    notices_wait(noted);
  if (noted && !atomic_load(&noted->failed) && !is_noted(queue))
    faults_tell_destroyed(noted->device, queue);
  const hsa_status_t result = front.inner.queue_destroy(queue);
  if (noted)
    notices_wait(noted); /* of the runtime's, until then */
  if (noted && result != HSA_STATUS_SUCCESS)
    note(noted);
  else
    free(noted);
  return result;
}

void plain_queues_hooks(front_calls_t *hooks)
{
  hooks->queue_create = queue_create;
  hooks->queue_destroy = queue_destroy;
}

void plain_queues_each(const front_device_t *device, plain_queue_visitor *visitor, void *context)
{
  pthread_mutex_lock(&lock);
  for (const noted_t *noted = all_noted; noted; noted = noted->next)
    if (noted->queue && noted->device == device)
      visitor(context, noted->queue);
  pthread_mutex_unlock(&lock);
}

void plain_queues_close(void)
{
  pthread_mutex_lock(&lock);
  for (noted_t *noted = all_noted; noted; noted = noted->next) {
    front_door_queue_gone(noted->told, noted->id);
    noted->told = 0;
    noted->queue = NULL; /* its thread may still be there, and so this stays */
  }
  pthread_mutex_unlock(&lock);
}

void plain_queues_abandon(void)
{
  (void)pthread_mutex_init(&lock, NULL);
  all_noted = NULL;
}
