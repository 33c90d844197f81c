#include "tools/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tool.h"

enum { MAX_FILE_BYTES = 1 << 30 };

bool tool_read_file(const char *path, unsigned char **data, size_t *size, rawhal_error_t *error)
{
  *data = NULL;
  *size = 0;
  FILE *file = fopen(path, "rb");
  if (!file)
    return tool_refuse(error, RAWHAL_NOT_FOUND, "cannot open '%s': %s", path, strerror(errno));
  size_t room = 0;
  bool done = false;
  while (!done) {
    if (*size == room) {
      room = room ? 2 * room : 64 * 1024;
      unsigned char *grown = room <= MAX_FILE_BYTES ? realloc(*data, room) : NULL;
      if (!grown)
        break;
      *data = grown;
    }
    size_t got = fread(*data + *size, 1, room - *size, file);
    *size += got;
    done = got == 0;
  }
  bool failed = ferror(file) != 0;
  fclose(file);
  if (failed)
    return tool_refuse(error, RAWHAL_NOT_FOUND, "cannot read '%s'", path);
  return done || tool_refuse(error, RAWHAL_LIMIT, "'%s' has %d bytes or more, or memory ran out",
                             path, MAX_FILE_BYTES);
}
