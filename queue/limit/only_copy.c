#include "queue/limit/only_copy.h"

#include "base/cancel.h"
#include "base/error.h"
#include "base/memfd.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096 };

static const char *const names[] = {[LIMIT_PART_FRONT] = "rawhal-limits-of-front",
                                    [LIMIT_PART_LIBRARY] = "rawhal-limits-of-library"};

static struct sign {
  void *page;
  pid_t process; /* a child has not the page, but this */
  unsigned uses;
} signs[sizeof(names) / sizeof(*names)];

static rawhal_status_t fail(rawhal_error_t *error, const char *what)
{
  const int code = errno;
  char text[128];
  return rawhal_fail(error, RAWHAL_RUNTIME,
                     "cannot tell whether another copy of rawhal in this process has limits: %s: "
                     "%s (not needed with RAWHAL_LIMIT_REGION)",
                     what, strerror_r(code, text, sizeof(text)));
}

static void *map_page(const char *name)
{
  int fd = memfd_make(name, MFD_CLOEXEC);
  if (fd < 0)
    return MAP_FAILED;
  void *page = ftruncate(fd, PAGE) ? MAP_FAILED : mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
  if (page != MAP_FAILED && madvise(page, PAGE, MADV_DONTFORK)) {
    (void)munmap(page, PAGE);
    page = MAP_FAILED;
  }
  const int code = errno;
  (void)close(fd);
  errno = code;
  return page;
}

/* How many mappings of that name there are; 0: the list cannot be read. What is there all the while
 * is in the list, whatever else comes and goes. */
static unsigned count(const char *name)
{
  FILE *maps = fopen("/proc/self/maps", "re");
  if (!maps)
    return 0;
  char line[PATH_MAX + 256], wanted[64]; /* addresses, then a path */
  unsigned found = 0;
  (void)snprintf(wanted, sizeof(wanted), " /memfd:%s (deleted)\n", name);
  const size_t length = strlen(wanted);
  while (fgets(line, sizeof(line), maps)) {
    const size_t size = strlen(line);
    found += size > length && !strcmp(line + size - length, wanted);
  }
  (void)fclose(maps);
  return found;
}

/* Of two that begin at once both may be refused; never is neither. */
rawhal_status_t limit_only_copy_begin(limit_part_t part, rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  struct sign *sign = &signs[part];
  if (sign->uses && sign->process == getpid()) {
    ++sign->uses;
    return RAWHAL_OK;
  }
  void *page = map_page(names[part]);
  if (page == MAP_FAILED)
    return fail(error, "a page with a name");
  const unsigned found = count(names[part]);
  if (found == 1) {
    *sign = (struct sign){page, getpid(), 1};
    return RAWHAL_OK;
  }
  rawhal_status_t status = found ? RAWHAL_OK : fail(error, "/proc/self/maps");
  (void)munmap(page, PAGE);
  if (status != RAWHAL_OK)
    return status;
  return rawhal_fail(error, RAWHAL_UNSUPPORTED,
                     "another copy of rawhal in this process has limits already, and this one "
                     "would allow as much again: set RAWHAL_LIMIT_REGION, in which both count");
}

void limit_only_copy_end(limit_part_t part)
{
  struct sign *sign = &signs[part];
  if (!sign->uses || sign->process != getpid() || --sign->uses)
    return;
  (void)munmap(sign->page, PAGE);
}
