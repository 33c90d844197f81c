/* What can be limited, one row for each limit. Internal to this folder. */
#ifndef RAWHAL_QUEUE_LIMIT_TABLE_H
#define RAWHAL_QUEUE_LIMIT_TABLE_H

#include "queue/limit/region.h"

typedef enum place { PLACE_DEVICE, PLACE_TENANT, PLACE_PROCESS, PLACE_CAPS } place_t;

typedef struct limit_row {
  rawhal_limit_info_t info;
  uint64_t initial; /* when it is not set */
  uint64_t (*encode)(uint64_t value);
  uint64_t (*decode)(uint64_t word);
  place_t place; /* where it is stored, which is whose it is: */
  size_t offset;
  region_ask_t ask; /* REGION_ASKS: it is a process's own business */
} limit_row_t;

extern const limit_row_t limit_rows[LIMIT_COUNT];

/* Words of a region as they are configured. */
uint64_t limit_share_value(uint64_t word); /* parts per million */
uint64_t limit_memory_value(uint64_t units);

#endif
