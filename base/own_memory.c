#include "base/own_memory.h"

#include "base/cancel.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PIPE_PART = 4096 };

/* Where other processes' memory may not be read one's own cannot either, by that call, nor what a
 * driver maps: the kernel reads both for write(). */
static bool copy_by_pipe(uint64_t to, uint64_t from, size_t size)
{
  int ends[2];
  WITHOUT_CANCELLATION();
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
    return false;
  size_t done = 0;
  while (done < size) {
    const size_t part = size - done < PIPE_PART ? size - done : PIPE_PART;
    if (write(ends[1], (const void *)(uintptr_t)(from + done), part) != (ssize_t)part ||
        read(ends[0], (void *)(uintptr_t)(to + done), part) != (ssize_t)part)
      break;
    done += part;
  }
  (void)close(ends[0]);
  (void)close(ends[1]);
  return done == size;
}

bool own_memory_copy(void *to, uint64_t from, size_t size)
{
  const struct iovec into = {to, size}, of = {(void *)(uintptr_t)from, size};
  return process_vm_readv(getpid(), &into, 1, &of, 1, 0) == (ssize_t)size ||
         copy_by_pipe((uintptr_t)to, from, size);
}

bool own_memory_write(uint64_t to, const void *from, size_t size)
{
  const struct iovec into = {(void *)(uintptr_t)to, size}, of = {(void *)(uintptr_t)from, size};
  return process_vm_writev(getpid(), &of, 1, &into, 1, 0) == (ssize_t)size ||
         copy_by_pipe(to, (uintptr_t)from, size);
}
