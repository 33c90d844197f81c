// Descriptors: poll, epoll by level and by edge, io_uring.
#include "timeline_test.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <poll.h>

#include <filesystem>
#include <set>

namespace {

class Descriptor : public TimelineTest {
protected:
  void SetUp() override
  {
    TimelineTest::SetUp();
    fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  }
  void TearDown() override
  {
    close(fd);
    TimelineTest::TearDown();
  }
  bool readable(int ms)
  {
    pollfd of = {fd, POLLIN, 0};
    return poll(&of, 1, ms) == 1;
  }
  uint64_t count()
  {
    uint64_t is = 0;
    return read(fd, &is, sizeof(is)) == sizeof(is) ? is : 0;
  }
  int fd = -1;
};

TEST_F(Descriptor, IsReadableWhenTheValueIsReached)
{
  rawhal_queue_t *on = queue();
  rawhal_semaphore_t *s = semaphore();
  ASSERT_OK(rawhal_semaphore_notify(s, 2, fd, &error));
  EXPECT_FALSE(readable(10));
  submit(on, held());
  ASSERT_OK(timeline(on, {}, {{s, 1}})); // too little
  ASSERT_OK(timeline(on, {}, {{s, 2}}));
  EXPECT_FALSE(readable(10));
  release();
  EXPECT_TRUE(readable(10000));
  EXPECT_OK(rawhal_semaphore_wait(s, 2, 0, &error));
  EXPECT_EQ(count(), 1u);
  ASSERT_OK(rawhal_semaphore_notify(s, 2, fd, &error)); // at once
  EXPECT_EQ(count(), 1u);
}

TEST_F(Descriptor, OfATicketAndOfTheHostsSignals)
{
  rawhal_queue_t *on = queue();
  rawhal_semaphore_t *s = semaphore();
  rawhal_ticket_t ticket = submit(on, held());
  ASSERT_OK(rawhal_queue_notify(on, ticket, fd, &error));
  ASSERT_OK(rawhal_semaphore_notify(s, 7, fd, &error));
  EXPECT_FALSE(readable(10));
  ASSERT_OK(rawhal_semaphore_signal(s, 9, &error));
  EXPECT_EQ(count(), 1u); // by the thread that signalled
  release();
  EXPECT_TRUE(readable(10000));
  EXPECT_OK(rawhal_queue_wait(on, ticket, 0, &error));
  EXPECT_EQ(count(), 1u);
}

TEST_F(Descriptor, TellsOfFailuresToo)
{
  rawhal_queue_t *on = own_queue();
  rawhal_semaphore_t *s = own_semaphore(), *t = semaphore();
  ASSERT_OK(rawhal_semaphore_notify(s, 1, fd, &error));
  rawhal_semaphore_destroy(s);
  EXPECT_EQ(count(), 1u);
  rawhal_ticket_t ticket = submit(on, held());
  ASSERT_OK(rawhal_queue_notify(on, ticket, fd, &error));
  ASSERT_OK(timeline(on, {}, {{t, 1}}));
  ASSERT_OK(rawhal_semaphore_notify(t, 1, fd, &error));
  rawhal_queue_destroy(on);
  EXPECT_EQ(count(), 2u);
  rawhal_queue_t *bad = queue();
  rawhal_semaphore_t *u = semaphore();
  ASSERT_OK(timeline(bad, {{u, 1}}, {}));
  submit(bad, wild());
  rawhal_ticket_t after = submit(bad, empty());
  ASSERT_OK(rawhal_queue_notify(bad, after, fd, &error));
  ASSERT_OK(rawhal_semaphore_signal(u, 1, &error));
  EXPECT_TRUE(readable(10000));
  EXPECT_EQ(rawhal_queue_wait(bad, after, 0, &error), RAWHAL_FAULT);
}

TEST_F(Descriptor, IsDuplicated)
{
  rawhal_semaphore_t *s = semaphore();
  int other = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  ASSERT_OK(rawhal_semaphore_notify(s, 1, other, &error));
  ASSERT_OK(rawhal_semaphore_notify(s, 1, fd, &error));
  close(other);
  int again = dup(fd); // gets its number
  ASSERT_OK(rawhal_semaphore_signal(s, 1, &error));
  EXPECT_EQ(count(), 1u);
  close(again);
}

TEST_F(Descriptor, AFullOneIsLeftAsItIs)
{
  rawhal_semaphore_t *s = semaphore();
  int blocking = eventfd(0, EFD_CLOEXEC);
  const uint64_t full = UINT64_MAX - 1;
  ASSERT_EQ(write(blocking, &full, sizeof(full)), ssize_t(sizeof(full)));
  ASSERT_OK(rawhal_semaphore_notify(s, 1, blocking, &error));
  ASSERT_OK(rawhal_semaphore_signal(s, 1, &error)); // which does not block
  uint64_t is = 0;
  ASSERT_EQ(read(blocking, &is, sizeof(is)), ssize_t(sizeof(is)));
  EXPECT_EQ(is, full);
  close(blocking);
}

std::set<std::string> threads()
{
  std::set<std::string> found;
  for (const auto &each : std::filesystem::directory_iterator("/proc/self/task"))
    found.insert(each.path().filename());
  return found;
}

TEST_F(Descriptor, OneThreadServesAllAndOnlyOnceOneWasAskedFor)
{
  rawhal_queue_t *on = queue(), *other = queue();
  rawhal_semaphore_t *s = own_semaphore(), *t = own_semaphore();
  ASSERT_OK(timeline(on, {}, {{s, 1}}));
  ASSERT_OK(timeline(other, {{s, 1}}, {{t, 1}}));
  ASSERT_OK(wait_value(t, 1)); // what the device has for threads is there
  std::set<std::string> before = threads();
  for (uint64_t i = 2; i < 10; ++i) {
    ASSERT_OK(timeline(other, {{s, i}}, {{t, i}}));
    ASSERT_OK(timeline(on, {}, {{s, i}}));
    ASSERT_OK(wait_value(t, i));
  }
  EXPECT_EQ(threads(), before);
  for (uint64_t i = 10; i < 20; ++i) {
    ASSERT_OK(rawhal_semaphore_notify(s, i, fd, &error));
    ASSERT_OK(rawhal_semaphore_notify(t, i, fd, &error));
  }
  EXPECT_EQ(threads().size(), before.size() + 1);
  rawhal_semaphore_destroy(s);
  EXPECT_EQ(threads().size(), before.size() + 1);
  rawhal_semaphore_destroy(t); // the last
  for (int i = 0; i < 5000 && threads() != before;
       ++i) // the kernel has it a little longer than pthread_join()
    usleep(1000);
  EXPECT_EQ(threads(), before);
  EXPECT_EQ(count(), 20u);
}

TEST_F(Descriptor, RefusesWhatIsNone)
{
  rawhal_semaphore_t *s = semaphore();
  rawhal_queue_t *on = queue();
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  EXPECT_EQ(rawhal_semaphore_notify(s, 1, -1, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_semaphore_notify(s, 1, pipes[1], &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_semaphore_notify(nullptr, 1, fd, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_queue_notify(on, 1, fd, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_queue_notify(nullptr, 1, fd, &error), RAWHAL_INVALID_ARGUMENT);
  close(pipes[0]);
  close(pipes[1]);
}

TEST_F(Descriptor, ByLevelAndByEdge)
{
  rawhal_semaphore_t *s = semaphore();
  int level = epoll_create1(EPOLL_CLOEXEC), edge = epoll_create1(EPOLL_CLOEXEC);
  epoll_event by_level = {EPOLLIN, {}}, by_edge = {EPOLLIN | EPOLLET, {}}, got = {};
  ASSERT_EQ(epoll_ctl(level, EPOLL_CTL_ADD, fd, &by_level), 0);
  ASSERT_EQ(epoll_ctl(edge, EPOLL_CTL_ADD, fd, &by_edge), 0);
  for (uint64_t value : {1, 2, 3})
    ASSERT_OK(rawhal_semaphore_notify(s, value, fd, &error));
  EXPECT_EQ(epoll_wait(level, &got, 1, 0), 0);
  EXPECT_EQ(epoll_wait(edge, &got, 1, 0), 0);
  ASSERT_OK(rawhal_semaphore_signal(s, 1, &error));
  EXPECT_EQ(epoll_wait(level, &got, 1, 0), 1);
  EXPECT_EQ(epoll_wait(level, &got, 1, 0), 1); // until it is read
  EXPECT_EQ(epoll_wait(edge, &got, 1, 0), 1);
  EXPECT_EQ(epoll_wait(edge, &got, 1, 0), 0); // once
  ASSERT_OK(rawhal_semaphore_signal(s, 2, &error));
  EXPECT_EQ(epoll_wait(edge, &got, 1, 0), 1); // another, unread as the first is
  EXPECT_EQ(epoll_wait(edge, &got, 1, 0), 0);
  EXPECT_EQ(count(), 2u);
  EXPECT_EQ(epoll_wait(level, &got, 1, 0), 0);
  ASSERT_OK(rawhal_semaphore_signal(s, 3, &error));
  EXPECT_EQ(epoll_wait(level, &got, 1, 0), 1);
  close(level);
  close(edge);
}

} // namespace
