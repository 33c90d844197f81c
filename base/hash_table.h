/* uthash, whose tables are malloc()'s. An element that finds no memory is not in the table, and its
 * `hh.tbl` is NULL; none of uthash ends the process. Internal. */
#ifndef RAWHAL_BASE_HASH_TABLE_H
#define RAWHAL_BASE_HASH_TABLE_H

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#endif
