/* Files that keep a device's memory, as dma-bufs do, for as long as they are open or mapped.
 * Internal. */
#ifndef RAWHAL_FRONT_DESCRIPTORS_H
#define RAWHAL_FRONT_DESCRIPTORS_H

#include <stdbool.h>
#include <stdint.h>

/* By what something is held: see held.h. */
typedef struct held_key {
  uint64_t kind, number;
  uint64_t device; /* of a file, whose number is its inode */
} held_key_t;

/* False: it is not a descriptor. */
bool descriptor_key(int fd, held_key_t *key);
/* The size of the memory behind it; 0: it does not tell. */
uint64_t descriptor_size(int fd);
/* All files that threads of this process have open or mapped; some more than once. Those that are
 * on their way in a socket are not among them. False: that cannot be told. */
bool descriptors_each(void (*visit)(const held_key_t *key, void *data), void *data);

#endif
