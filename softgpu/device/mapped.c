#include "softgpu/device/mapped.h"

#include "softgpu/device/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

/* PROCMAP_QUERY of <linux/fs.h> from Linux 6.11 on, which older systems' headers lack: the mapping that has an address
 * and all of the rights, else ENOENT. */
typedef struct query {
  uint64_t size, rights, address;    /* in */
  uint64_t first, last, flags, page; /* out */
  uint64_t offset, inode;            /* out */
  uint32_t device[2], name_size, id_size;
  uint64_t name, id; /* NULL: not wanted */
} query_t;
_Static_assert(sizeof(query_t) == 104, "struct procmap_query");
#define QUERY _IOWR('f', 17, query_t)
enum { READABLE = 1, WRITABLE = 2 };

typedef enum answer { ALL_THERE, NOT_ALL, UNKNOWN } answer_t;

static answer_t ask(int maps, uint64_t first, uint64_t last, uint64_t rights)
{
  for (uint64_t at = first; at < last;) {
    query_t query = {.size = sizeof query, .rights = rights, .address = at};
    int result;
    do
      result = ioctl(maps, QUERY, &query);
    while (result != 0 && errno == EINTR);
    if (result != 0)
      return errno == ENOENT ? NOT_ALL : UNKNOWN;
    if (query.last <= at) /* what else would end the loop */
      return UNKNOWN;
    at = query.last;
  }
  return ALL_THERE;
}

static bool readable(uint64_t address)
{
  char byte;
  const struct iovec to = {.iov_base = &byte, .iov_len = 1};
  const struct iovec from = {.iov_base = (void *)(uintptr_t)address, .iov_len = 1};
  return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == 1 || errno != EFAULT;
}

/* What can be learned from any kernel: whether there are mappings, and what is at both ends. */
static bool guess(uint64_t first, uint64_t last)
{
  const uint64_t page = 4096, start = first & ~(page - 1);
  const uint64_t size = ((last + page - 1) & ~(page - 1)) - start;
  return msync((void *)(uintptr_t)start, size, MS_ASYNC) == 0 && readable(first) &&
         readable(last - 1);
}

bool softgpu_mapped(uint64_t first, uint64_t last, bool write)
{
  SOFTGPU_WITHOUT_CANCELLATION();
  /* By its own thread: the process's first one may have ended. */
  const int maps = open("/proc/thread-self/maps", O_RDONLY | O_CLOEXEC);
  answer_t answer = UNKNOWN;
  if (maps >= 0) {
    answer = ask(maps, first, last, READABLE | (write ? WRITABLE : 0));
    close(maps);
  }
  return answer == UNKNOWN ? guess(first, last) : answer == ALL_THERE;
}
