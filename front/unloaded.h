/* Where code was that has been unloaded lately, and nothing has been loaded since, as far as there
 * is room. Internal. Thread-safety: everything may be called from any thread. */
#ifndef RAWHAL_FRONT_UNLOADED_H
#define RAWHAL_FRONT_UNLOADED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct unloaded {
  uint64_t base, size;
  uint64_t at;    /* CLOCK_MONOTONIC ns */
  uint64_t agent; /* its handle */
} unloaded_t;
enum { UNLOADED = 32 };

void unloaded_note(uint64_t base, uint64_t size, uint64_t agent);
/* Something is there again. */
void unloaded_forget(uint64_t base, uint64_t size);
/* Returns how many there are. */
size_t unloaded_list(unloaded_t *to, size_t room);
bool unloaded_has(uint64_t address);
void unloaded_abandon(void);

#endif
