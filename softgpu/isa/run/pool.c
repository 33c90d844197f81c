#include "softgpu/isa/run/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

#include "softgpu/device/thread.h"
#include "softgpu/isa/run/engine.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t job_added = PTHREAD_COND_INITIALIZER;
static pthread_cond_t worker_left = PTHREAD_COND_INITIALIZER;
static isa_job_t *jobs;     /* those that helpers may join */
static unsigned helpers;    /* threads that exist */
static unsigned configured; /* softgpu_engine_threads() */
static _Atomic unsigned helping;

unsigned isa_pool_cpus(void)
{
  cpu_set_t cpus;
  if (sched_getaffinity(0, sizeof cpus, &cpus) != 0)
    return 1;
  return (unsigned)CPU_COUNT(&cpus);
}

void softgpu_engine_threads(unsigned count)
{
  pthread_mutex_lock(&lock);
  configured = count;
  pthread_mutex_unlock(&lock);
}

unsigned isa_pool_threads(void)
{
  pthread_mutex_lock(&lock);
  unsigned count = configured;
  pthread_mutex_unlock(&lock);
  return count ? count : isa_pool_cpus();
}

unsigned isa_pool_helping(void)
{
  return atomic_load_explicit(&helping, memory_order_relaxed);
}

static isa_job_t *joinable_job(void)
{
  for (isa_job_t *job = jobs; job; job = job->next)
    if (job->workers < job->helpers && job->has_work(job))
      return job;
  return NULL;
}

/* Helpers live as long as the process. They hold `lock` unless they wait or work. */
static void *helper_main(void *unused)
{
  (void)unused;
  pthread_mutex_lock(&lock);
  for (;;) {
    isa_job_t *job = joinable_job();
    if (!job) {
      pthread_cond_wait(&job_added, &lock);
      continue;
    }
    ++job->workers;
    pthread_mutex_unlock(&lock);
    atomic_fetch_add_explicit(&helping, 1, memory_order_relaxed);
    job->work(job);
    atomic_fetch_sub_explicit(&helping, 1, memory_order_relaxed);
    pthread_mutex_lock(&lock);
    if (--job->workers == 0)
      pthread_cond_broadcast(&worker_left);
  }
  return NULL;
}

/* Caller holds `lock`. */
static void start_helpers(unsigned wanted)
{
  pthread_t thread;
  while (helpers < wanted && softgpu_thread_start(&thread, "softgpu-wave", helper_main, NULL)) {
    pthread_detach(thread);
    ++helpers;
  } /* fewer helpers are slower, not wrong */
}

void isa_pool_run(isa_job_t *job, unsigned wanted)
{
  job->helpers = wanted;
  job->workers = 0;
  if (!wanted) {
    job->work(job);
    return;
  }
  pthread_mutex_lock(&lock);
  start_helpers(wanted);
  job->next = jobs;
  jobs = job;
  for (unsigned i = 0; i < wanted; ++i) /* others would wake for nothing */
    pthread_cond_signal(&job_added);
  pthread_mutex_unlock(&lock);

  job->work(job);

  pthread_mutex_lock(&lock);
  isa_job_t **link = &jobs;
  while (*link != job)
    link = &(*link)->next;
  *link = job->next;
  while (job->workers)
    pthread_cond_wait(&worker_left, &lock);
  pthread_mutex_unlock(&lock);
}
