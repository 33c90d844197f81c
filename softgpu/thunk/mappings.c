#include "softgpu/thunk/mappings.h"

#include "softgpu/device/thread.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct walk {
  uint64_t at, end; /* what is not seen yet */
  bool writable;
} walk_t;

/* Takes one line of the list, which is sorted by address. False when it leaves a hole. */
static bool walk_line(walk_t *walk, const char *line)
{
  uint64_t base, end;
  char rights[8];
  if (walk->at >= walk->end)
    return true;
  if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s", &base, &end, rights) != 3 || end <= walk->at)
    return true;
  if (base > walk->at || rights[0] != 'r')
    return false;
  walk->writable = walk->writable && rights[1] == 'w';
  walk->at = end;
  return true;
}

/* Lines of any length: of those longer than the buffer, the end is dropped. */
static bool walk_file(walk_t *walk, int file)
{
  char buffer[4096];
  size_t used = 0;
  bool overlong = false;
  while (walk->at < walk->end) {
    ssize_t got = read(file, buffer + used, sizeof(buffer) - 1 - used);
    if (got <= 0)
      return false;
    used += (size_t)got;
    buffer[used] = '\0';
    char *line = buffer, *end;
    while ((end = strchr(line, '\n')) != NULL) {
      *end = '\0';
      if (!overlong && !walk_line(walk, line))
        return false;
      overlong = false;
      line = end + 1;
    }
    used -= (size_t)(line - buffer);
    memmove(buffer, line, used);
    if (used == sizeof(buffer) - 1) {
      if (!overlong && !walk_line(walk, buffer))
        return false;
      overlong = true;
      used = 0;
    }
  }
  return true;
}

bool softgpu_mappings_readable(uint64_t base, uint64_t end, bool *writable)
{
  SOFTGPU_WITHOUT_CANCELLATION();
  walk_t walk = {.at = base, .end = end, .writable = true};
  int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return false;
  bool readable = walk_file(&walk, file);
  close(file);
  *writable = walk.writable;
  return readable;
}
