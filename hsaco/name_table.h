/* Kernels by name: a hash table (uthash) with a secret key. Internal.
 *
 * The hash is keyed with random bytes of this process, so that a file cannot be made whose names
 * collide. Keys point to text that outlives the table; everything else lives in the arena. */
#ifndef RAWHAL_HSACO_NAME_TABLE_H
#define RAWHAL_HSACO_NAME_TABLE_H

#include "hsaco/arena.h"

struct name_entry;

typedef struct name_table {
  struct name_entry *head; /* uthash's handle; NULL when empty */
  struct name_entry *spare, *spare_end;
  arena_t *arena;
  uint32_t buckets_log2; /* to start with */
  uint64_t key[2];
} name_table_t;

enum { NAME_NONE = UINT32_MAX };

/* What one name stands for: indices of kernels (or of anything else), NAME_NONE when unset. */
typedef struct name_slots {
  uint32_t by_name;   /* the first kernel with this `.name` */
  uint32_t by_symbol; /* the kernel whose symbol is this text + ".kd" */
} name_slots_t;

/* `expected` entries are made room for; more are fine. */
void name_table_init(name_table_t *table, arena_t *arena, size_t expected);

name_slots_t *name_table_find(const name_table_t *table, rawhal_string_t name);

/* Finds or adds; NULL when the arena gives no memory. */
name_slots_t *name_table_at(name_table_t *table, rawhal_string_t name);

#endif
