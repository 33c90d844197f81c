#include "queue/limit/describe.h"

#include "queue/limit/table.h"

void limit_describe(const rawhal_limiter_t *limiter, print_t *to)
{
  char text[64];
  uint64_t total, used;
  for (int i = 0; limiter && i < LIMIT_COUNT; ++i) {
    const rawhal_limit_t limit = (rawhal_limit_t)i;
    const uint64_t value = rawhal_limiter_get(limiter, limit);
    if (value == limit_rows[i].initial)
      continue;
    rawhal_limit_format(limit, value, text, sizeof(text));
    print(to, "%s: %s\n", limit_rows[i].info.name, text);
  }
  if (!limiter)
    return;
  rawhal_limiter_memory(limiter, &total, &used);
  rawhal_limit_format(RAWHAL_LIMIT_MEMORY, used, text, sizeof(text));
  print(to, "memory in use: %s\n", text);
}
