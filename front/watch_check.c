#include "front/watch_check.h"

#include <stddef.h>
#include <string.h>

static const char *const words[] = {[WATCH_CHECK_OFF] = "off",
                                    [WATCH_CHECK_WARN] = "warn",
                                    [WATCH_CHECK_REPORT] = "report",
                                    [WATCH_CHECK_REFUSE] = "refuse"};

bool watch_check_of(const char *word, watch_check_t *check)
{
  size_t i = 0;
  while (i < sizeof(words) / sizeof(*words) && strcmp(words[i], word) != 0)
    ++i;
  *check = (watch_check_t)i;
  return i < sizeof(words) / sizeof(*words);
}
