/* Threads of the device, and those of the program while they are here. */
#ifndef SOFTGPU_DEVICE_THREAD_H
#define SOFTGPU_DEVICE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Starts a thread that takes none of the program's signals, and has the usual floating-point
 * environment whatever the program's is. */
typedef bool softgpu_thread_starter_t(pthread_t *thread, const char *name, void *(*run)(void *),
                                      void *argument);
softgpu_thread_starter_t softgpu_thread_start;

/* In the calling process; and who starts those of softgpu_thread_start() from now on, elsewhere. */
softgpu_thread_starter_t softgpu_thread_start_here;
void softgpu_thread_start_by(softgpu_thread_starter_t *start);

/* The time of CLOCK_MONOTONIC in so many nanoseconds. */
struct timespec softgpu_time_in(uint64_t ns);

/* A condition variable whose timeouts are on CLOCK_MONOTONIC. */
bool softgpu_condition_init(pthread_cond_t *condition);
/* Waits at most `ns`; the mutex is held on return. */
void softgpu_condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, long ns);

/* A driver's calls are no cancellation points, as ioctl() is none: what sleeps for the program, or
 * has files open, holds cancellation back from here to the end of the block, on all ways out of it.
 */
#define SOFTGPU_WITHOUT_CANCELLATION()                                                             \
  __attribute__((cleanup(softgpu_cancellation_resume), unused)) const int cancellation_before =    \
      softgpu_cancellation_hold()
int softgpu_cancellation_hold(void);
void softgpu_cancellation_resume(const int *before);

#endif
