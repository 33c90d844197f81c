/* What a limit may be, and who may change it. Internal. */
#ifndef RAWHAL_QUEUE_LIMIT_CONFIG_H
#define RAWHAL_QUEUE_LIMIT_CONFIG_H

#include "queue/limit.h"

enum {
  LIMIT_COUNT = (int)RAWHAL_LIMIT_PRIORITY + 1,
  LIMIT_NAME_COUNT = (int)RAWHAL_LIMIT_NAME_CU_MASK + 1,
};

/* Zeros: nothing is set. */
struct rawhal_limit_config {
  rawhal_limit_value_t values[LIMIT_COUNT];
  rawhal_limit_text_t tenant, region, cu_mask;
  bool has_region_fd; /* instead of a path's */
  int region_fd;
};

/* NULL: there is no such name. */
rawhal_limit_text_t *limit_config_name(rawhal_limit_config_t *config, rawhal_limit_name_t name);

/* Is `a` stricter than `b`? The table in limit.h says what stricter means. It holds for values as
 * they are configured and for words of the region alike. */
bool limit_is_stricter(rawhal_limit_t limit, uint64_t a, uint64_t b);

/* OUT_OF_RANGE. */
RAWHAL_CHECKED rawhal_status_t limit_check_value(rawhal_limit_t limit, uint64_t value,
                                                 rawhal_error_t *error);

/* May a program set the value, given what was said from outside? QUOTA_EXCEEDED, naming what
 * forbids it. */
RAWHAL_CHECKED rawhal_status_t limit_check_bound(const rawhal_limit_value_t *bound,
                                                 rawhal_limit_t limit, uint64_t value,
                                                 rawhal_error_t *error);

#endif
