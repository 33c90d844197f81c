#include "base/numbered.h"

#include <stdio.h>
#include <unistd.h>

bool path_with_number(char name[PATH_WITH_NUMBER_BYTES], const char *path, unsigned attempt)
{
  const int size =
      attempt ? snprintf(name, PATH_WITH_NUMBER_BYTES, "%s.%d.%u", path, getpid(), attempt + 1)
              : snprintf(name, PATH_WITH_NUMBER_BYTES, "%s.%d", path, getpid());
  return size > 0 && size < PATH_WITH_NUMBER_BYTES;
}
