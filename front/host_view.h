/* What a device's address is to the host. Internal.
 *
 * The only place in the front where an address that a program gave to a device becomes a pointer of
 * the host's: both need not have the same (memory that was locked), the host may have none (a
 * device's memory), and what is there may go at any time (what a program maps it may unmap). So
 * bytes are copied, by ways that fail where they are not there.
 *
 * Thread-safety: everything may be called from any thread. */
#ifndef RAWHAL_FRONT_HOST_VIEW_H
#define RAWHAL_FRONT_HOST_VIEW_H

#include "front/ranges.h"

#include <stddef.h>

typedef enum host_view {
  HOST_VIEW_NONE = 0,   /* the host has it not, or not all of it in one */
  HOST_VIEW_HOST = 1,   /* it is the host's memory */
  HOST_VIEW_DEVICE = 2, /* it is a device's; `*host`: where the host reaches it, or 0 */
} host_view_t;

#ifdef __cplusplus
extern "C" {
#endif

/* Where the host has so many bytes from a device's address on. Nothing is read. */
host_view_t host_view(uint64_t address, uint64_t size, uint64_t *host);

/* Copies them. False: the host cannot read all of them, and what `to` has is not known. */
bool host_read(uint64_t address, void *to, size_t size);

/* Memory that a device reaches at the address; false: none. `range`: how far it goes, and whose it
 * is: what the runtime alone knows of has no number. Where devices reach all of the host's memory
 * (front.reaches_host) that is not among it. */
bool host_view_find(uint64_t address, range_t *range);

#ifdef __cplusplus
}
#endif

#endif
