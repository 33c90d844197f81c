/* A descriptor that goes along with a message, and what a socket for messages is. Internal to this
 * folder. */
#ifndef RAWHAL_DEBUG_DOOR_PASSING_H
#define RAWHAL_DEBUG_DOOR_PASSING_H

#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

typedef union passing {
  struct cmsghdr head;
  char bytes[CMSG_SPACE(sizeof(int))];
} passing_t;

/* The message takes it along; `passing` stays until it has been sent. */
static inline void passing_put(struct msghdr *message, passing_t *passing, int descriptor)
{
  memset(passing, 0, sizeof(*passing));
  passing->head = (struct cmsghdr){
      .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
  memcpy(CMSG_DATA(&passing->head), &descriptor, sizeof(descriptor));
  message->msg_control = passing;
  message->msg_controllen = sizeof(*passing);
}

/* Room for one, and for no second. */
static inline void passing_await(struct msghdr *message, passing_t *passing)
{
  message->msg_control = passing;
  message->msg_controllen = CMSG_LEN(sizeof(int));
}

/* The one that came along with what was received; -1: none did. It is the caller's. */
static inline int passing_take(struct msghdr *message)
{
  const struct cmsghdr *passed = CMSG_FIRSTHDR(message);
  int descriptor = -1;
  if (passed && passed->cmsg_level == SOL_SOCKET && passed->cmsg_type == SCM_RIGHTS &&
      passed->cmsg_len == CMSG_LEN(sizeof(descriptor)))
    memcpy(&descriptor, CMSG_DATA(passed), sizeof(descriptor));
  return descriptor;
}

/* Whether it sends and receives messages within this machine, and no file can keep whoever uses it
 * waiting. */
static inline bool passing_is_socket(int descriptor)
{
  int domain = 0, type = 0;
  socklen_t size = sizeof(domain);
  return getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX &&
         getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_DGRAM;
}

#endif
