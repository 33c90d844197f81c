#include "softgpu/system/reach.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ANSWER_MS = 10000 };

static ssize_t send_with(int to, struct iovec *pieces, size_t count, int fd)
{
  union {
    struct cmsghdr head;
    char room[CMSG_SPACE(sizeof(int))];
  } control = {0};
  struct msghdr header = {.msg_iov = pieces, .msg_iovlen = count};
  if (fd >= 0) {
    header.msg_control = &control;
    header.msg_controllen = sizeof control;
    struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(rights), &fd, sizeof fd);
  }
  return sendmsg(to, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* --- finding it --- */

static bool is_door(int directory, const char *name, uint32_t pid, softgpu_wire_door_t *door)
{
  static const char wanted[] = "/memfd:" SOFTGPU_WIRE_NAME;
  char link[64];
  const ssize_t length = readlinkat(directory, name, link, sizeof link);
  if (length < (ssize_t)sizeof wanted - 1 || memcmp(link, wanted, sizeof wanted - 1) != 0)
    return false;
  const int fd = (int)syscall(SYS_openat, directory, name, O_RDONLY | O_CLOEXEC, 0);
  const ssize_t size = fd >= 0 ? pread(fd, door, sizeof *door, 0) : -1;
  if (fd >= 0)
    close(fd);
  return size == (ssize_t)sizeof *door && door->magic == SOFTGPU_WIRE_MAGIC &&
         door->version == SOFTGPU_WIRE_VERSION && door->pid == pid;
}

static bool find_door(uint32_t pid, softgpu_wire_door_t *door)
{
  char path[32];
  snprintf(path, sizeof path, "/proc/%u/fd", pid);
  DIR *directory = opendir(path);
  bool found = false;
  for (struct dirent *entry; directory && !found && (entry = readdir(directory));)
    found = is_door(dirfd(directory), entry->d_name, pid, door);
  if (directory)
    closedir(directory);
  return found;
}

int reach_open(uint32_t pid)
{
  softgpu_wire_door_t door;
  int pair[2] = {-1, -1};
  char byte = 0;
  struct iovec piece = {&byte, 1};
  if (!find_door(pid, &door))
    return -1;
  const int process = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
  const int socket =
      process >= 0 ? (int)syscall(SYS_pidfd_getfd, process, (int)door.socket, 0) : -1;
  const bool has_pair =
      socket >= 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0;
  const bool sent = has_pair && send_with(socket, &piece, 1, pair[1]) == 1;
  if (has_pair)
    close(pair[1]);
  if (has_pair && !sent)
    close(pair[0]);
  if (socket >= 0)
    close(socket);
  if (process >= 0)
    close(process);
  return sent ? pair[0] : -1;
}

/* --- asking it --- */

int reach_ask(int connection, const kfd_debug_t *debug, const void *behind, size_t size, int fd,
              void *answer, size_t room)
{
  const softgpu_wire_request_t request = {*debug};
  struct iovec pieces[2] = {{(void *)(uintptr_t)&request, sizeof request},
                            {(void *)(uintptr_t)behind, size}};
  softgpu_wire_answer_t *head = answer;
  struct pollfd wait = {.fd = connection, .events = POLLIN};
  ssize_t got;
  int ready;
  if (send_with(connection, pieces, behind ? 2 : 1, fd) < 0)
    return -ESRCH;
  do {
    ready = poll(&wait, 1, ANSWER_MS);
  } while (ready < 0 && errno == EINTR);
  if (ready == 0)
    fprintf(stderr, "softgpu: no answer to debug operation %u from process %u in %d s\n", debug->op,
            debug->pid, ANSWER_MS / 1000);
  if (ready <= 0)
    return -ESRCH;
  got = recv(connection, answer, room, MSG_DONTWAIT);
  return got >= (ssize_t)sizeof *head && (size_t)got - sizeof *head == head->bytes ? 0 : -ESRCH;
}
