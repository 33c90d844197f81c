// What tests ask processes that they observe, and the messages of those who are no observers.
#ifndef RAWHAL_TESTS_OBSERVING_H
#define RAWHAL_TESTS_OBSERVING_H

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

extern "C" {
#include "debug/door/observe.h"
}

struct Answered {
  std::string said; // its words, or why there is no answer
  std::string got;  // bytes that came along
};

inline rawhal_status_t ask_process(observer_t *observer, door_ask_t what, uint64_t address,
                                   uint64_t bytes, const void *poked, Answered *answered)
{
  const door_request_t request = {0, static_cast<uint32_t>(what), address, bytes};
  rawhal_error_t error = {};
  char text[DOOR_TEXT_BYTES];
  int memory = -1;
  uint64_t size = 0;
  const rawhal_status_t status =
      observer_ask(observer, &request, poked, UINT64_C(60000000000), text, &memory, &size, &error);
  answered->said = status == RAWHAL_OK ? text : error.message;
  answered->got.assign(size, '\0');
  if (memory < 0)
    return status;
  EXPECT_EQ(pread(memory, &answered->got[0], size, 0), static_cast<ssize_t>(size));
  close(memory);
  return status;
}

// With any number of descriptors, up to eight.
inline ssize_t send_with(int to, const std::string &bytes, const std::vector<int> &passed)
{
  iovec part = {const_cast<char *>(bytes.data()), bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(8 * sizeof(int))] = {};
  msghdr header = {};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (!passed.empty()) {
    header.msg_control = control;
    header.msg_controllen = CMSG_LEN(passed.size() * sizeof(int));
    cmsghdr *head = CMSG_FIRSTHDR(&header);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = header.msg_controllen;
    memcpy(CMSG_DATA(head), passed.data(), passed.size() * sizeof(int));
  }
  return sendmsg(to, &header, MSG_NOSIGNAL);
}

#endif
