/* Limits as text, for what is read later. */
#ifndef RAWHAL_QUEUE_LIMIT_DESCRIBE_H
#define RAWHAL_QUEUE_LIMIT_DESCRIBE_H

#include "queue/limit.h"

#include "base/print.h"

/* A line for each limit in force that is not its initial value, "gpu-share: 30%", and one for the
 * memory that is used; nothing for NULL. */
void limit_describe(const rawhal_limiter_t *limiter, print_t *to);

#endif
