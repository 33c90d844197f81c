/* Messages of instances. Internal. */
#ifndef RAWHAL_HAL_LOG_H
#define RAWHAL_HAL_LOG_H

#include "hal/internal.h"

/* Also reads RAWHAL_LOG. INVALID_ARGUMENT: a value that it may not have. */
RAWHAL_CHECKED rawhal_status_t log_hook_add(log_hook_t *hook, rawhal_log_fn *function,
                                            void *context, rawhal_error_t *error);
void log_hook_remove(log_hook_t *hook);
/* Puts `to` in the place of `from`. */
void log_hook_move(log_hook_t *from, log_hook_t *to);
void hal_log(rawhal_severity_t severity, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void log_fault(const char *message); /* an error, as it stands */

#endif
