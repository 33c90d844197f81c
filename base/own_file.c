#include "base/own_file.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

bool own_file_keep(own_file_t *file, int descriptor)
{
  struct stat now;
  *file = (own_file_t){.descriptor = -1};
  if (fstat(descriptor, &now))
    return false;
  *file = (own_file_t){descriptor, now.st_dev, now.st_ino};
  return true;
}

bool own_file_is_open(const own_file_t *file)
{
  struct stat now;
  if (file->descriptor >= 0 && fstat(file->descriptor, &now) == 0 && now.st_dev == file->device &&
      now.st_ino == file->inode)
    return true;
  errno = EBADF;
  return false;
}

int own_file_close(own_file_t *file)
{
  const bool ours = own_file_is_open(file);
  const int descriptor = file->descriptor;
  file->descriptor = -1;
  return ours ? close(descriptor) : -1;
}
