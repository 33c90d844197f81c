/* Where indexes are between processes. Internal.
 *
 * Any number of processes may read and write there at once, be killed meanwhile, or find no room:
 * an index is written under a name of its own and renamed when it is whole, and what is read is
 * believed page by page (image.h), and only if it says that it was made of exactly what is there
 * now. Nothing that goes wrong here is a failure. */
#ifndef RAWHAL_LIBRARY_CACHE_H
#define RAWHAL_LIBRARY_CACHE_H

#include "library/index.h"

typedef struct cache {
  char folder[4096]; /* empty: there is none */
} cache_t;

/* `given`: as rawhal_library_options_t.cache. */
void cache_choose(cache_t *cache, const char *given);
/* Of a source that is called `path`, on a device for `target`. `pages` of the file, which is to be
 * closed; -1: there is none. */
int cache_open(const cache_t *cache, const char *path, const rawhal_target_t *target,
               uint64_t *pages);
/* False: it could not be written. */
bool cache_write(const cache_t *cache, const char *path, const rawhal_target_t *target,
                 const image_t *image);

#endif
