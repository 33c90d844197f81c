/* uthash, whose tables are of malloc()'s memory. An element that finds no memory is not in the table, and its
 * `hh.tbl` is NULL; none of uthash ends the process. Internal. */
#ifndef RAWHAL_BASE_HASH_TABLE_H
#define RAWHAL_BASE_HASH_TABLE_H

#include "base/allocate.h"

#define HASH_NONFATAL_OOM    1
#define uthash_malloc(size)  allocate(NULL, size)
#define uthash_free(p, size) allocate_free(NULL, p)
#include <uthash.h>

#endif
