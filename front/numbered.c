#include "front/numbered.h"

#include <stdio.h>
#include <unistd.h>

bool numbered_name(char name[NUMBERED_BYTES], const char *path, unsigned attempt)
{
  const int size = attempt ? snprintf(name, NUMBERED_BYTES, "%s.%d.%u", path, getpid(), attempt + 1)
                           : snprintf(name, NUMBERED_BYTES, "%s.%d", path, getpid());
  return size > 0 && size < NUMBERED_BYTES;
}
