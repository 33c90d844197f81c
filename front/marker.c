/* A mapping without contents, whose name others read in /proc/PID/maps: the runtime of this process
 * has called the front. It needs no descriptor that the program might close, is inherited like the
 * hooks by a child of fork(), and goes with them on exec(). `rawhal exec` ends programs that use a
 * device and do not have it. */
#include "front/front.h"
#include "front/report.h"

#include "base/memfd.h"

#include <unistd.h>

static const char name[] = "rawhal-front"; /* tools/exec/guard_tree.c looks for it */
/* No other mapping has its size: that one of it is at its address tells that it is there still. */
static const size_t size = 257 * 4096;

bool marker_create(void)
{
  static bool exists;
  if (exists)
    return true;
  int fd = memfd_make(name, MFD_CLOEXEC);
  if (fd < 0)
    return false;
  exists = mmap(NULL, size, PROT_NONE, MAP_SHARED, fd, 0) != MAP_FAILED;
  (void)close(fd);
  return exists;
}
