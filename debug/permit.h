/* How many core files a folder gets of a program in an hour: a thousand processes that fail at once
 * write one. Internal. */
#ifndef RAWHAL_DEBUG_PERMIT_H
#define RAWHAL_DEBUG_PERMIT_H

#include <stdbool.h>
#include <stdint.h>

enum { PERMIT_MOST = 64 };

/* Whether one more may be written to the folder now, of at most `most` (up to PERMIT_MOST; 0: any
 * number) in the hour before `now`, seconds since 1970. A user's processes agree by a file
 * ".rawhal-core-USER-PROGRAM" in the folder, which is locked until permit_end(): who finds it
 * locked may not.
 *
 * Others may write to the folder, too, as to /tmp. They cannot open that file (0600), and so not
 * hold it; what they have made by its name, a link, a pipe or a file, is not used. Then, and where
 * there can be no such file, each process counts for itself: others can make it that many processes
 * write that many files, not that one writes more, nor that none is written. */
typedef struct permit {
  int file; /* -1: none */
  bool own; /* this process alone counts */
  uint32_t slot;
  int64_t now;
} permit_t;
#define PERMIT_NONE ((permit_t){.file = -1})
bool permit_take(permit_t *permit, const char *folder, const char *program, uint32_t most,
                 int64_t now);
/* After permit_take() answered true; it counts if one has been written. */
void permit_end(const permit_t *permit, bool written);

#endif
