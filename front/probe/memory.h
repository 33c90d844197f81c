/* Memory for records of probed dispatches: the host's, which all devices reach, zeros, used again.
 * Internal. Thread-safety: everything but opening and closing may be called from any thread. */
#ifndef RAWHAL_FRONT_PROBE_MEMORY_H
#define RAWHAL_FRONT_PROBE_MEMORY_H

#include "front/front.h"

#include <pthread.h>

#define PROBE_MEMORY_LARGEST ((uint64_t)1 << 32) /* events have places below 4 GiB */

/* Aligned to pages. */
typedef struct probe_memory {
  char *bytes;
  size_t size;
  struct probe_memory *next;
} probe_memory_t;

/* Of a rule. */
typedef struct probe_pool {
  pthread_mutex_t lock;
  probe_memory_t *idle;
  uint64_t each;            /* what a dispatch gets at most */
  uint64_t allocated, most; /* of all of them together */
} probe_pool_t;

void probe_pool_open(probe_pool_t *pool, uint64_t each);
/* Frees what is idle; nothing else is there. */
void probe_pool_close(probe_pool_t *pool);

/* At least so many bytes; NULL: there are none, or so many are in use. */
probe_memory_t *probe_memory_take(probe_pool_t *pool, uint64_t bytes);
/* No device writes it any more, and it is zeros again. NULL is allowed. */
void probe_memory_give_back(probe_pool_t *pool, probe_memory_t *memory);

#endif
