// How often those who are held back look whether they may go, which nothing counts: each look is seen in the region.
#ifndef RAWHAL_TESTS_FRONT_LOOKS_H
#define RAWHAL_TESTS_FRONT_LOOKS_H

#include <stdint.h>

#ifdef __cplusplus
#include <string>
#include <unistd.h>
extern "C" {
#endif

// Another number after each look of a process in the region. 0: there is no region.
uint64_t looks_seen(const char *region);

#ifdef __cplusplus
}

// Until they have looked so often, and more often than that if two looks came at a time.
inline void AwaitLooks(const std::string &region, uint64_t looks)
{
  for (uint64_t last = looks_seen(region.c_str()); looks; --looks) {
    const uint64_t before = last;
    while ((last = looks_seen(region.c_str())) == before)
      usleep(200);
  }
}
#endif

#endif
