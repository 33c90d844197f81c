/* C++ has no _Atomic, with which the region is described. */
#include "tests/front/looks.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "queue/limit/region.h"

/* Who is refused says until when it waits; at a share of 0 it is counted. */
static uint64_t look_at(const region_member_t *member)
{
  return atomic_load(&member->hot.wait_until) +
         atomic_load(&member->counters[COUNTER_QUOTA_DENIALS]);
}

uint64_t looks_seen(const char *path)
{
  uint64_t seen = 0;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  const region_data_t *data = mmap(NULL, sizeof(*data), PROT_READ, MAP_SHARED, file, 0);
  for (int i = 0; data != MAP_FAILED && i < REGION_KEPT; ++i) /* as those that come first */
    seen += look_at(&data->members[i]);
  if (data != MAP_FAILED)
    (void)munmap((void *)(uintptr_t)data, sizeof(*data));
  (void)close(file);
  return seen;
}
