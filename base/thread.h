/* Threads and conditions of ours in a program that is not. Internal. */
#ifndef RAWHAL_BASE_THREAD_H
#define RAWHAL_BASE_THREAD_H

#include <pthread.h>

/* As pthread_create(); the program's signals are not for this thread. */
int thread_start(pthread_t *thread, void *(*run)(void *context), void *context);

/* As pthread_cond_init(), for clock_wait() of base/clock.h: its clock is CLOCK_MONOTONIC. */
int condition_init(pthread_cond_t *condition);

#endif
