/* A handle names the process, its descriptor of the file, and 96 random bits that are the file's
 * name, by which another file that has the same number since, or a process that has, is told from
 * it. The descriptor is reached through /proc, which gives access to processes that may inspect
 * that process: of the same user, within the same PID namespace. As with the kernel driver, a
 * handle is valid as long as the process that made it has the memory; a process that has opened it
 * keeps the pages beyond that.
 *
 * The file's size is sealed: no process can shrink it under another process's accesses. */
#include "softgpu/thunk/share.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "softgpu/device/memory.h"
#include "softgpu/device/thread.h"

/* Words of a handle. The runtime marks fragments in PAGES, by its top bit and the lowest nine. */
enum { WORD_PROCESS, WORD_FILE, WORD_TOKEN, WORD_FLAGS = 5, WORD_PAGES, WORD_NODE };

enum {
  NAME_BYTES = 64,
  PATH_BYTES = 64,
  FIRST_FILE = 3, /* what comes before is the program's standard streams, even where closed */
};
static const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

#ifndef MFD_NOEXEC_SEAL /* Linux 6.3, glibc 2.38 */
#define MFD_NOEXEC_SEAL 8U
#endif

static void name_write(const uint32_t token[3], char name[NAME_BYTES])
{
  snprintf(name, NAME_BYTES, "softgpu-%08x%08x%08x", token[0], token[1], token[2]);
}

/* Notes which file the descriptor is, so as not to take another one for it later. */
static bool share_identify(softgpu_share_t *share)
{
  struct stat facts;
  if (fstat(share->file, &facts) != 0)
    return false;
  share->device = facts.st_dev;
  share->inode = facts.st_ino;
  return true;
}

/* Pages that are never to be executed, as systems can demand (vm.memfd_noexec). */
static int file_open(const char *name)
{
  int file = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
  if (file < 0 && errno == EINVAL)
    file = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  return file;
}

/* What is larger than files may get does not fail alone: a signal ends the program. */
static bool size_allowed(uint64_t size)
{
  struct rlimit most;
  return size <= INT64_MAX && getrlimit(RLIMIT_FSIZE, &most) == 0 &&
         (most.rlim_cur == RLIM_INFINITY || size <= most.rlim_cur);
}

static int file_create(const char *name, uint64_t size)
{
  int low = size_allowed(size) ? file_open(name) : -1;
  if (low < 0)
    return -1;
  int file = fcntl(low, F_DUPFD_CLOEXEC, FIRST_FILE);
  close(low);
  if (file < 0)
    return -1;
  if (ftruncate(file, (off_t)size) == 0 && fcntl(file, F_ADD_SEALS, seals) == 0)
    return file;
  close(file);
  return -1;
}

bool softgpu_share_create(softgpu_share_t *share, uint64_t size)
{
  *share = (softgpu_share_t){0};
  char name[NAME_BYTES];
  SOFTGPU_WITHOUT_CANCELLATION();
  if (getrandom(share->token, sizeof(share->token), 0) != (ssize_t)sizeof(share->token))
    return false;
  name_write(share->token, name);
  share->file = file_create(name, size);
  if (share->file > 0 && share_identify(share))
    return true;
  softgpu_share_close(share);
  return false;
}

/* Whether a descriptor is a file that softgpu made for this token, of this size for ever. */
static bool file_matches(int file, const uint32_t token[3], uint64_t size)
{
  char path[PATH_BYTES], target[NAME_BYTES + 32], name[NAME_BYTES], expected[NAME_BYTES + 32];
  snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
  ssize_t length = readlink(path, target, sizeof(target) - 1);
  if (length < 0)
    return false;
  target[length] = '\0';
  name_write(token, name);
  snprintf(expected, sizeof(expected), "/memfd:%s (deleted)", name);
  struct stat facts;
  return strcmp(target, expected) == 0 && (fcntl(file, F_GET_SEALS) & seals) == seals &&
         fstat(file, &facts) == 0 && (uint64_t)facts.st_size == size;
}

bool softgpu_share_open(softgpu_share_t *share, const HsaSharedMemoryHandle *handle,
                        softgpu_share_facts_t *facts)
{
  const HSAuint32 *words = *handle;
  SOFTGPU_WITHOUT_CANCELLATION();
  *share = (softgpu_share_t){0};
  *facts = (softgpu_share_facts_t){.size = (uint64_t)words[WORD_PAGES] * SOFTGPU_PAGE,
                                   .node = words[WORD_NODE],
                                   .flags = {.Value = words[WORD_FLAGS]}};
  memcpy(share->token, &words[WORD_TOKEN], sizeof(share->token));
  char path[PATH_BYTES];
  snprintf(path, sizeof(path), "/proc/%u/fd/%u", words[WORD_PROCESS], words[WORD_FILE]);
  /* Without effect on what else a descriptor of that number may be: a device, a pipe. */
  int look = open(path, O_PATH | O_CLOEXEC);
  struct stat kind;
  bool file = look >= 0 && fstat(look, &kind) == 0 && S_ISREG(kind.st_mode);
  if (look >= 0)
    close(look);
  int low = file ? open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
  if (low < 0)
    return false;
  share->file = fcntl(low, F_DUPFD_CLOEXEC, FIRST_FILE);
  close(low);
  if (share->file > 0 && facts->size > 0 && file_matches(share->file, share->token, facts->size) &&
      share_identify(share))
    return true;
  softgpu_share_close(share);
  return false;
}

void softgpu_share_close(softgpu_share_t *share)
{
  struct stat facts;
  SOFTGPU_WITHOUT_CANCELLATION();
  /* Programs close what they do not know, and the number may be another file's by now. */
  if (share->file > 0 && fstat(share->file, &facts) == 0 &&
      (share->inode == 0 || (facts.st_dev == share->device && facts.st_ino == share->inode)))
    close(share->file);
  *share = (softgpu_share_t){0};
}

bool softgpu_share_map(const softgpu_share_t *share, uint64_t address, uint64_t size)
{
  return mmap((void *)address, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE,
              share->file, 0) != MAP_FAILED;
}

void softgpu_share_handle(const softgpu_share_t *share, const softgpu_share_facts_t *facts,
                          HsaSharedMemoryHandle *handle)
{
  HSAuint32 *words = *handle;
  words[WORD_PROCESS] = (HSAuint32)getpid();
  words[WORD_FILE] = (HSAuint32)share->file;
  memcpy(&words[WORD_TOKEN], share->token, sizeof(share->token));
  words[WORD_FLAGS] = facts->flags.Value;
  words[WORD_PAGES] = (HSAuint32)(facts->size / SOFTGPU_PAGE);
  words[WORD_NODE] = facts->node;
}
