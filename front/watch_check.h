/* How mistakes are dealt with. Internal. */
#ifndef RAWHAL_FRONT_WATCH_CHECK_H
#define RAWHAL_FRONT_WATCH_CHECK_H

#include <stdbool.h>

typedef enum watch_check {
  WATCH_CHECK_OFF = 0,
  WATCH_CHECK_WARN = 1,
  WATCH_CHECK_REPORT = 2,
  WATCH_CHECK_REFUSE = 3,
} watch_check_t;

#define WATCH_CHECKS "off, warn, report or refuse"

/* False: `word` is none of them. */
bool watch_check_of(const char *word, watch_check_t *check);

#endif
