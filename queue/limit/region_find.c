#include "queue/limit/region_find.h"

#include "base/cancel.h"
#include "queue/limit/inherited.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <unistd.h>

rawhal_status_t region_fail(rawhal_error_t *error, const char *what, const char *path)
{
  int code = errno;
  char text[128];
  return rawhal_fail(error, file_failure(code), "%s %.200s: %s", what, path,
                     strerror_r(code, text, sizeof(text)));
}

bool region_is_sealed(int fd)
{
  const int wanted = F_SEAL_SHRINK | F_SEAL_GROW;
  const int seals = fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & wanted) == wanted;
}

/* ---- Brokers ---- */

enum { ANSWER_SECONDS = 2, NOBODY = 65534 };

/* In a user namespace root outside is nobody; what such a one has put there cannot be changed from
 * within if that cannot be written to. */
static rawhal_status_t check_socket(const char *path, rawhal_error_t *error)
{
  struct stat facts;
  struct statvfs mount;
  if (lstat(path, &facts))
    return region_fail(error, "opening the region", path);
  if (!S_ISSOCK(facts.st_mode))
    return rawhal_fail(error, RAWHAL_UNSUPPORTED, "%.200s is neither a file nor a socket", path);
  if (facts.st_uid == 0 || facts.st_uid == geteuid())
    return RAWHAL_OK;
  if (facts.st_uid == NOBODY && statvfs(path, &mount) == 0 && mount.f_flag & ST_RDONLY)
    return RAWHAL_OK;
  return rawhal_fail(error, RAWHAL_UNSUPPORTED,
                     "the socket %.200s belongs to user %u, not to this one (%u) or root", path,
                     (unsigned)facts.st_uid, (unsigned)geteuid());
}

static rawhal_status_t connect_to(const char *path, int *result, rawhal_error_t *error)
{
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  const struct timeval limit = {.tv_sec = ANSWER_SECONDS};
  if (strlen(path) >= sizeof(address.sun_path))
    return rawhal_fail(error, RAWHAL_UNSUPPORTED,
                       "the path of a broker's socket has at most %zu bytes: %.200s",
                       sizeof(address.sun_path) - 1, path);
  memcpy(address.sun_path, path, strlen(path) + 1);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0)
    return region_fail(error, "opening a socket for the region", path);
  if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) ||
      setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) ||
      connect(fd, (const struct sockaddr *)&address, sizeof(address))) {
    const int code = errno;
    close(fd);
    errno = code;
    if (code == EAGAIN)
      return rawhal_fail(error, RAWHAL_TIMED_OUT, "the broker of %.200s does not answer", path);
    return region_fail(error, "asking the broker of the region", path);
  }
  *result = fd;
  return RAWHAL_OK;
}

/* The only descriptor of a message; -1: there is none, or several. */
static int only_descriptor(struct msghdr *message)
{
  int fds[2], kept = -1;
  const struct cmsghdr *part = CMSG_FIRSTHDR(message);
  if (!part || part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
    return -1;
  const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(*fds);
  memcpy(fds, CMSG_DATA(part), (count < 2 ? count : 2) * sizeof(*fds));
  for (size_t i = 0; i < count && i < 2; ++i)
    if (count == 1)
      kept = fds[i];
    else
      close(fds[i]);
  return kept;
}

static rawhal_status_t receive(int from, const char *path, int *fd, rawhal_error_t *error)
{
  char byte;
  _Alignas(struct cmsghdr) char room[CMSG_SPACE(2 * sizeof(int))];
  struct iovec text = {&byte, 1};
  struct msghdr message = {
      .msg_iov = &text, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)};
  const ssize_t size = TEMP_FAILURE_RETRY(recvmsg(from, &message, MSG_CMSG_CLOEXEC));
  if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
    return rawhal_fail(error, RAWHAL_TIMED_OUT, "the broker of %.200s does not answer", path);
  if (size < 0)
    return region_fail(error, "asking the broker of the region", path);
  *fd = size ? only_descriptor(&message) : -1;
  if (*fd >= 0 && region_is_sealed(*fd))
    return RAWHAL_OK;
  if (*fd < 0)
    return rawhal_fail(error, RAWHAL_UNSUPPORTED, "the broker of %.200s gives no region", path);
  close(*fd);
  *fd = -1;
  return rawhal_fail(error, RAWHAL_UNSUPPORTED,
                     "the broker of %.200s gives a file whose size is not sealed", path);
}

static rawhal_status_t ask_broker(const char *path, int *fd, rawhal_error_t *error)
{
  int from = -1;
  rawhal_status_t status = check_socket(path, error);
  if (status == RAWHAL_OK)
    status = connect_to(path, &from, error);
  if (status != RAWHAL_OK)
    return status;
  status = receive(from, path, fd, error);
  close(from);
  return status;
}

/* ---- Files ---- */

/* A file that was found by its name may be any user's. For a descriptor its giver vouches. */
static rawhal_status_t check_owner(int fd, const char *path, rawhal_error_t *error)
{
  struct stat facts;
  if (fstat(fd, &facts))
    return region_fail(error, "looking at the region", path);
  if (!S_ISREG(facts.st_mode))
    return rawhal_fail(error, RAWHAL_UNSUPPORTED, "%.200s is not a regular file", path);
  if (facts.st_uid != 0 && facts.st_uid != geteuid())
    return rawhal_fail(error, RAWHAL_UNSUPPORTED,
                       "%.200s belongs to user %u, not to this one (%u) or root", path,
                       (unsigned)facts.st_uid, (unsigned)geteuid());
  if (facts.st_mode & S_IWOTH)
    return rawhal_fail(error, RAWHAL_UNSUPPORTED,
                       "%.200s may be written by everybody (mode %04o): chmod o-w it", path,
                       (unsigned)facts.st_mode & 07777u);
  if (facts.st_nlink != 1)
    return rawhal_fail(error, RAWHAL_UNSUPPORTED, "%.200s has %llu hard links, not one", path,
                       (unsigned long long)facts.st_nlink);
  return RAWHAL_OK;
}

rawhal_status_t region_find_existing(const char *path, int access, int *fd, rawhal_error_t *error)
{
  char found[REGION_PATH_BYTES];
  if (inherited_is(path))
    return inherited_open(path, NULL, access, found, fd, error);
  *fd = open(path, access | O_CLOEXEC | O_NONBLOCK | (access == O_RDWR ? O_NOFOLLOW : 0));
  if (*fd >= 0)
    return RAWHAL_OK;
  return errno == ENXIO ? ask_broker(path, fd, error)
                        : region_fail(error, "opening the region", path);
}

rawhal_status_t region_find(const rawhal_limit_config_t *config, const char *device,
                            char path[REGION_PATH_BYTES], int *fd, rawhal_error_t *error)
{
  const int flags = O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  if (inherited_is_named(config))
    return inherited_open(config->region.text, device, O_RDWR, path, fd, error);
  if (config->has_region_fd) { /* again: an open file description of its own, for locks */
    snprintf(path, REGION_PATH_BYTES, "/proc/self/fd/%d", config->region_fd);
    *fd = open(path, flags);
    return *fd >= 0 ? RAWHAL_OK : region_fail(error, "opening the region", path);
  }
  snprintf(path, REGION_PATH_BYTES, "%s", config->region.text);
  *fd = open(path, flags | O_CREAT | O_NOFOLLOW, 0600);
  if (*fd < 0)
    return errno == ENXIO ? ask_broker(path, fd, error)
                          : region_fail(error, "opening the region", path);
  const rawhal_status_t status = check_owner(*fd, path, error);
  if (status != RAWHAL_OK) {
    close(*fd);
    *fd = -1;
  }
  return status;
}

rawhal_status_t rawhal_limit_region_open(const char *path, int *fd, rawhal_error_t *error)
{
  if (!fd)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "fd is NULL");
  *fd = -1;
  if (!path)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "path is NULL");
  WITHOUT_CANCELLATION(); /* of a thread that holds descriptors */
  return region_find_existing(path, O_RDWR, fd, error);
}
