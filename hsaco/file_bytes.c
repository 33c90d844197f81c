#include "hsaco/file_bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/whole.h"

static rawhal_status_t map(int file, const char *path, file_bytes_t *bytes, rawhal_error_t *error)
{
  void *data = mmap(NULL, bytes->size, PROT_READ, MAP_PRIVATE, file, 0);
  if (data == MAP_FAILED)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "cannot map %s: %s", path, strerror(errno));
  bytes->data = data;
  bytes->mapped = true;
  return RAWHAL_OK;
}

static rawhal_status_t read_all(int file, const char *path, const allocator_t *allocator,
                                file_bytes_t *bytes, rawhal_error_t *error)
{
  char *data = allocate(allocator, bytes->size);
  if (!data)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for the %zu bytes of %s",
                       bytes->size, path);
  const ssize_t got = read_whole(file, data, bytes->size);
  if (got != (ssize_t)bytes->size) {
    rawhal_status_t status = rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "cannot read %s: %s", path,
                                         got < 0 ? strerror(errno) : "it was truncated");
    allocate_free(allocator, data);
    return status;
  }
  bytes->data = data;
  return RAWHAL_OK;
}

rawhal_status_t file_bytes_open(const char *path, uint64_t most, bool copy,
                                const allocator_t *allocator, file_bytes_t *bytes,
                                rawhal_error_t *error)
{
  *bytes = (file_bytes_t){0};
  if (!path)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "path is NULL");
  struct stat facts;
  WITHOUT_CANCELLATION(); /* callers hold locks, and the file would stay open */
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not block */
  if (file < 0)
    return rawhal_fail(error, errno == ENOENT ? RAWHAL_NOT_FOUND : RAWHAL_INVALID_ARGUMENT,
                       "cannot open %s: %s", path, strerror(errno));
  rawhal_status_t status = RAWHAL_OK;
  if (fstat(file, &facts) || !S_ISREG(facts.st_mode)) {
    status = rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s is not a regular file", path);
  } else if ((uint64_t)facts.st_size > most) {
    status = rawhal_fail(error, RAWHAL_CAP_EXCEEDED,
                         "%s has %lld bytes: more than max_file_bytes (%llu)", path,
                         (long long)facts.st_size, (unsigned long long)most);
  } else if (facts.st_size) {
    bytes->size = (size_t)facts.st_size;
    status = copy ? read_all(file, path, allocator, bytes, error) : map(file, path, bytes, error);
  }
  close(file);
  if (status != RAWHAL_OK)
    bytes->size = 0;
  return status;
}

void file_bytes_close(file_bytes_t *bytes, const allocator_t *allocator)
{
  if (bytes->mapped)
    munmap(bytes->data, bytes->size);
  else
    allocate_free(allocator, bytes->data);
  *bytes = (file_bytes_t){0};
}
