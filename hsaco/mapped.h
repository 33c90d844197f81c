/* What of this process's memory can be read. Internal. */
#ifndef RAWHAL_HSACO_MAPPED_H
#define RAWHAL_HSACO_MAPPED_H

#include <rawhal/status.h>

/* How many bytes from `pointer` on are mapped and readable without a gap, by /proc/self/maps.
 * Takes no memory. INVALID_ARGUMENT: not even one; NOT_FOUND: there is no such file to ask. */
RAWHAL_CHECKED rawhal_status_t mapped_readable(const void *pointer, size_t *readable,
                                               rawhal_error_t *error);

#endif
