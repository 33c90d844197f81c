/* The instance and its devices, opened by the first call that needs one. Internal.
 *
 * Locks, each taken only while those before it are held or not needed: registry.c's (what was
 * registered and loaded), runtime.c's (opening), a device's (streams and what is submitted),
 * memory.c's. No thread waits for a device while it holds a lock, except where it is said. fork()
 * takes all of them, so that a child can go on with what does not need the parent's devices. */
#ifndef RAWHAL_HIPLAUNCH_RUNTIME_H
#define RAWHAL_HIPLAUNCH_RUNTIME_H

#include <pthread.h>

#include "hiplaunch/hip/report.h"

typedef struct lane lane_t;

typedef struct device {
  int ordinal;
  rawhal_device_t *device;
  const rawhal_device_info_t *info;
  pthread_mutex_t lock;
  lane_t *lanes;                            /* all that were ever made: stream.h */
  struct ihipStream_t *streams;             /* the null stream first */
  pthread_cond_t called;                    /* a host function has returned: host.c */
  struct ihipMemPoolHandle_t *pools, *pool; /* the default one first; the current one */
  uint64_t peers; /* the devices that reach its memory, a bit each; memory.c's lock */
} device_t;

/* The devices, opened when they are not; fails in a child of a process that had them open. */
hipError_t devices_open(device_t **devices, int *count);

/* The calling thread's. */
hipError_t device_current(device_t **device);

/* The device of that number. */
hipError_t device_at(int ordinal, device_t **device);

/* Without opening anything: how many there are. */
int devices_opened(device_t **devices);

/* For fork(); every file that has a lock. */
void registry_lock_all(void);
void registry_unlock_all(void);
void memory_lock_all(void);
void memory_unlock_all(void);

/* Has fork() take the locks; as often as one likes. */
void fork_prepare(void);

#endif
