/* How many core files a folder gets of a program in an hour: a thousand processes that fail at once
 * write one. Internal. */
#ifndef RAWHAL_DEBUG_PERMIT_H
#define RAWHAL_DEBUG_PERMIT_H

#include <stdbool.h>
#include <stdint.h>

enum { PERMIT_MOST = 64 };

/* Whether one more may be written to the folder now, of at most `most` (up to PERMIT_MOST; 0: any
 * number) in the hour before `now`, seconds since 1970. Processes agree by a file
 * ".rawhal-core-PROGRAM" in the folder, which is locked until permit_end(): who finds it locked may
 * not. Without such a file of this user's own, as in a folder that cannot be written, the answer is
 * true: writing the core will say why it cannot be. */
typedef struct permit {
  int file; /* -1: none */
  uint32_t slot;
  int64_t now;
} permit_t;
#define PERMIT_NONE ((permit_t){.file = -1})
bool permit_take(permit_t *permit, const char *folder, const char *program, uint32_t most,
                 int64_t now);
/* After permit_take() answered true; it counts if one has been written. */
void permit_end(const permit_t *permit, bool written);

#endif
