/* The threads that forward what was held back. Internal. */
#ifndef RAWHAL_FRONT_SERVICE_H
#define RAWHAL_FRONT_SERVICE_H

#include "front/proxy.h"

#include "base/clock.h"

/* One that is woken by `wake`, whose clock is CLOCK_MONOTONIC. */
bool service_thread(pthread_t *thread, pthread_cond_t *wake, void *(*function)(void *),
                    void *context, const char *name);
/* Ends it: sets what it looks at under the lock, wakes it and waits for its end. */
void service_thread_end(pthread_t thread, pthread_mutex_t *lock, pthread_cond_t *wake, bool *stop);
bool service_start(proxy_t *proxy);
/* The caller holds the lock. */
void service_wake(proxy_t *proxy);
/* Until the proxy's thread uses it no more; its own thread does not when it is back. */
void service_stop(proxy_t *proxy);
/* Until it has ended, or is with the program, after which it ends. */
void service_end(proxy_t *proxy);
/* Something has finished: queues that may go on now look again. */
void service_tell(void);
/* From here on, threads of the program do what the service threads did. */
extern atomic_bool service_ended;

#endif
