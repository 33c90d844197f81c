#include "front/notices.h"

#include "base/cancel.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* the last that may be taken */
static pthread_cond_t returned = PTHREAD_COND_INITIALIZER;
static notice_t *all;

void notice_begin(notice_t *notice)
{
  notice->thread = pthread_self();
  pthread_mutex_lock(&lock);
  notice->next = all;
  all = notice;
  pthread_mutex_unlock(&lock);
}

static void end(void *context)
{
  notice_t **at = &all;
  pthread_mutex_lock(&lock);
  while (*at && *at != context)
    at = &(*at)->next;
  if (*at)
    *at = (*at)->next;
  (void)pthread_cond_broadcast(&returned);
  pthread_mutex_unlock(&lock);
}

bool notice_tell(notice_t *notice)
{
  pthread_cleanup_push(end, notice); /* its thread may end in there */
  if (notice->callback)
    notice->callback(notice->status, notice->source, notice->data);
  pthread_cleanup_pop(1);
  return notice->of != NULL;
}

/* The caller holds the lock. */
static bool others_tell(const void *of)
{
  bool any = false;
  for (notice_t *notice = all; notice; notice = notice->next) {
    if (notice->of != of)
      continue;
    if (pthread_equal(notice->thread, pthread_self()))
      notice->of = NULL;
    else
      any = true;
  }
  return any;
}

void notices_wait(const void *of)
{
  WITHOUT_CANCELLATION();
  pthread_mutex_lock(&lock);
  while (others_tell(of))
    (void)pthread_cond_wait(&returned, &lock);
  pthread_mutex_unlock(&lock);
}

void notices_abandon(void)
{
  (void)pthread_mutex_init(&lock, NULL);
  (void)pthread_cond_init(&returned, NULL);
  all = NULL;
}
