/* What of this process's memory can be read. Internal. */
#ifndef RAWHAL_HSACO_MAPPED_H
#define RAWHAL_HSACO_MAPPED_H

#include <rawhal/status.h>

/* One mapping; device and inode are 0 where it is of no file. */
typedef struct mapped_range {
  uint64_t start, end;
  uint64_t device, inode;
  bool readable;
} mapped_range_t;

/* Hands all mappings to `visit`, in order of addresses, until it returns false. Takes no memory.
 * NOT_FOUND: there is no such file to ask. */
typedef bool mapped_visit(void *context, const mapped_range_t *range);
RAWHAL_CHECKED rawhal_status_t mapped_walk(mapped_visit *visit, void *context,
                                           rawhal_error_t *error);

/* How many bytes from `pointer` on are mapped and readable without a gap, by /proc/self/maps.
 * Takes no memory. INVALID_ARGUMENT: not even one; NOT_FOUND: there is no such file to ask. */
RAWHAL_CHECKED rawhal_status_t mapped_readable(const void *pointer, size_t *readable,
                                               rawhal_error_t *error);

#endif
