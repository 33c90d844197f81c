/* Opening a limiter, for those who have an allocator, or locks of their own. Internal. */
#ifndef RAWHAL_QUEUE_LIMIT_OPENING_H
#define RAWHAL_QUEUE_LIMIT_OPENING_H

#include "base/allocate.h"
#include "queue/limit.h"

/* rawhal_limiter_open() with memory of the allocator, which is copied; leases take theirs from it,
 * too. */
RAWHAL_CHECKED rawhal_status_t limit_open(const rawhal_limit_config_t *config, const char *device,
                                          const allocator_t *allocator, rawhal_limiter_t **limiter,
                                          rawhal_error_t *error);

/* Opens the region that it names, and closes it again: with whatever error limit_open() would end.
 */
RAWHAL_CHECKED rawhal_status_t limit_check_region(const rawhal_limit_config_t *config,
                                                  rawhal_error_t *error);

/* `told` is called once, with a line, by the thread that finds the limiter's region damaged: it has
 * left it then, with what damage.h says. It must not call the limiter. NULL: nobody is told. */
typedef void limit_damage_fn(void *context, const char *text);
void limit_watch_damage(rawhal_limiter_t *limiter, limit_damage_fn *told, void *context);

/* What all processes call a device: its UUID, or for want of one (empty) its name and where it is,
 * bus << 8 | device << 3 | function. */
void limit_device_name(const char *uuid, const char *name, uint32_t domain, uint32_t bdf,
                       char identity[64]);

/* Handlers before fork() are called in the reverse order of their registration, and each takes its
 * lock: so code that opens limiters under a lock of its own, and also holds that across fork(),
 * calls this first. */
void limit_watch_forks(void);

#endif
