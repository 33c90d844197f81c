/* What a limit may be, and who may change it. Internal. */
#ifndef RAWHAL_QUEUE_LIMIT_CONFIG_H
#define RAWHAL_QUEUE_LIMIT_CONFIG_H

#include "queue/limit.h"

/* Is `a` stricter than `b`? The table in limit.h says what stricter means. It holds for values as
 * they are configured and for words of the region alike. */
bool limit_is_stricter(rawhal_limit_t limit, uint64_t a, uint64_t b);

/* OUT_OF_RANGE. */
RAWHAL_CHECKED rawhal_status_t limit_check_value(rawhal_limit_t limit, uint64_t value,
                                                 rawhal_error_t *error);

/* May a program set the value, whatever the operator has said? QUOTA_EXCEEDED, naming who has. */
RAWHAL_CHECKED rawhal_status_t limit_check_bound(const rawhal_limit_value_t *bound,
                                                 rawhal_limit_t limit, uint64_t value,
                                                 rawhal_error_t *error);

#endif
