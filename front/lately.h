/* What a queue has launched lately: the kernargs of each dispatch, which are the program's and may
 * be others when it has ended. The packets stand in the device's ring for as long. Internal.
 *
 * A launch copies them, and takes no lock while the memory that they lie in is that of the launch
 * before and none of the host's has been freed since. They are read only where that memory is the
 * host's and was allocated by the runtime: who frees it waits until nobody reads. */
#ifndef RAWHAL_FRONT_LATELY_H
#define RAWHAL_FRONT_LATELY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  LATELY_DISPATCHES = 512, /* of a queue; a power of two */
  LATELY_BYTES = 256,      /* of each: what is behind is left out */
};

typedef struct lately_entry {
  uint64_t ticket; /* plus one */
  uint64_t packet; /* its index in the device's ring */
  uint64_t size;   /* 0: they could not be had */
  uint64_t words[LATELY_BYTES / sizeof(uint64_t)];
} lately_entry_t;

typedef struct lately {
  bool reads;          /* atomic */
  uint64_t epoch;      /* of what is known here: */
  uint64_t base, size; /* memory that the host has at the same addresses; or, with `other`, not */
  bool other;
  uint32_t misses; /* memory that is not known, one after the other */
  lately_entry_t entries[LATELY_DISPATCHES];
} lately_t;

#ifdef __cplusplus
extern "C" {
#endif

/* NULL: that is no dispatch's. */
static inline const lately_entry_t *lately_entry(const lately_t *lately, uint64_t ticket)
{
  const lately_entry_t *entry = &lately->entries[ticket % LATELY_DISPATCHES];
  return entry->ticket == ticket + 1 ? entry : NULL;
}

/* Of a dispatch that is about to go; one caller at a time. */
void lately_keep(lately_t *lately, uint64_t ticket, uint64_t packet, uint64_t kernargs);
/* Before memory of the host's is freed, which is among the ranges no more: waits until nobody
 * reads it. */
void lately_forget(void);

#ifdef __cplusplus
}
#endif

#endif
