#include "base/whole.h"

#include <errno.h>
#include <unistd.h>

static ssize_t read_all(int file, void *bytes, size_t size, const uint64_t *offset)
{
  size_t done = 0;
  for (ssize_t got = 1; got && done < size; done += (size_t)got) {
    char *at = (char *)bytes + done;
    got = TEMP_FAILURE_RETRY(offset ? pread(file, at, size - done, (off_t)(*offset + done))
                                    : read(file, at, size - done));
    if (got < 0)
      return -1;
  }
  return (ssize_t)done;
}

ssize_t read_whole(int file, void *bytes, size_t size)
{
  return read_all(file, bytes, size, NULL);
}

ssize_t pread_whole(int file, void *bytes, size_t size, uint64_t offset)
{
  return read_all(file, bytes, size, &offset);
}

bool write_whole(int file, const void *bytes, size_t size)
{
  for (const char *at = bytes; size;) {
    const ssize_t put = TEMP_FAILURE_RETRY(write(file, at, size));
    if (put == 0)
      errno = EIO;
    if (put <= 0)
      return false;
    at += put;
    size -= (size_t)put;
  }
  return true;
}
