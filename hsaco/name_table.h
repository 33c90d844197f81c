/* Kernels by name: a hash table (uthash) with a secret key. Internal.
 *
 * The hash is keyed with random bytes of this process, so that a file cannot be made whose names
 * collide. Keys point to text that outlives the table; everything else lives in the arena. */
#ifndef RAWHAL_HSACO_NAME_TABLE_H
#define RAWHAL_HSACO_NAME_TABLE_H

#include "hsaco/arena.h"

struct name_entry;

struct name_table {
  struct name_entry *head; /* uthash's handle; NULL when empty */
  struct name_entry *spare, *spare_end;
  struct arena *arena;
  uint32_t buckets_log2; /* to start with */
  uint64_t key[2];
};

enum { NAME_NONE = UINT32_MAX };

/* What one name stands for: indices of kernels (or of anything else), NAME_NONE when unset. */
struct name_slots {
  uint32_t by_name;   /* the first kernel with this `.name` */
  uint32_t by_symbol; /* the kernel whose symbol is this text + ".kd" */
};

/* `expected` entries are made room for; more are fine. */
void name_table_init(struct name_table *table, struct arena *arena, size_t expected);

struct name_slots *name_table_find(const struct name_table *table, rawhal_string_t name);

/* Finds or adds; NULL when the arena gives no memory. */
struct name_slots *name_table_at(struct name_table *table, rawhal_string_t name);

#endif
