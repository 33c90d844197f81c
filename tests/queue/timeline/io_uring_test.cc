// Descriptors in io_uring, by its system calls: a poll and a read of the eventfd.
#include "timeline_test.h"

#include <linux/io_uring.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <poll.h>

#include <cerrno>

namespace {

// A ring for two requests at a time.
class Ring {
public:
  Ring()
  {
    fd = int(syscall(SYS_io_uring_setup, 2, &parameters));
    if (fd < 0) {
      why = errno;
      return;
    }
    submission =
        map(parameters.sq_off.array + parameters.sq_entries * sizeof(uint32_t), IORING_OFF_SQ_RING);
    completion = map(parameters.cq_off.cqes + parameters.cq_entries * sizeof(io_uring_cqe),
                     IORING_OFF_CQ_RING);
    entries = reinterpret_cast<io_uring_sqe *>(
        map(parameters.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES));
  }
  ~Ring()
  {
    for (const auto &[at, size] : mapped)
      munmap(at, size);
    if (fd >= 0)
      close(fd);
  }

  void submit(uint8_t operation, int on, uint64_t number, void *to = nullptr, uint32_t size = 0)
  {
    const uint32_t tail = *word(submission, parameters.sq_off.tail);
    const uint32_t at = tail & *word(submission, parameters.sq_off.ring_mask);
    io_uring_sqe &entry = entries[at];
    entry = {};
    entry.opcode = operation;
    entry.fd = on;
    entry.addr = reinterpret_cast<uint64_t>(to);
    entry.len = size;
    entry.user_data = number;
    if (operation == IORING_OP_POLL_ADD)
      entry.poll32_events = POLLIN;
    word(submission, parameters.sq_off.array)[at] = at;
    __atomic_store_n(word(submission, parameters.sq_off.tail), tail + 1, __ATOMIC_RELEASE);
    ASSERT_EQ(syscall(SYS_io_uring_enter, fd, 1, 0, 0, nullptr, 0), 1);
  }

  bool is_done() const
  {
    return __atomic_load_n(word(completion, parameters.cq_off.tail), __ATOMIC_ACQUIRE) !=
           *word(completion, parameters.cq_off.head);
  }

  // Waits for the next that is done.
  io_uring_cqe next()
  {
    while (!is_done())
      syscall(SYS_io_uring_enter, fd, 0, 1, IORING_ENTER_GETEVENTS, nullptr, 0);
    uint32_t *head = word(completion, parameters.cq_off.head);
    const auto *all = reinterpret_cast<io_uring_cqe *>(completion + parameters.cq_off.cqes);
    const io_uring_cqe done = all[*head & *word(completion, parameters.cq_off.ring_mask)];
    __atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
    return done;
  }

  int fd = -1, why = 0;

private:
  static uint32_t *word(char *ring, uint32_t offset)
  {
    return reinterpret_cast<uint32_t *>(ring + offset);
  }

  char *map(size_t size, off_t offset)
  {
    void *at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, offset);
    EXPECT_NE(at, MAP_FAILED);
    mapped.push_back({at, size});
    return static_cast<char *>(at);
  }

  io_uring_params parameters = {};
  char *submission = nullptr, *completion = nullptr;
  io_uring_sqe *entries = nullptr;
  std::vector<std::pair<void *, size_t>> mapped;
};

using IoUring = TimelineTest;

TEST_F(IoUring, PollsAndReads)
{
  Ring ring;
  if (ring.fd < 0)
    GTEST_SKIP() << "this kernel refuses io_uring: " << strerror(ring.why);
  const int fd = eventfd(0, EFD_CLOEXEC);
  rawhal_queue_t *on = queue();
  rawhal_semaphore_t *s = semaphore();
  ASSERT_OK(rawhal_semaphore_notify(s, 1, fd, &error));
  ASSERT_OK(rawhal_semaphore_notify(s, 2, fd, &error));
  ring.submit(IORING_OP_POLL_ADD, fd, 1);
  EXPECT_FALSE(ring.is_done());
  submit(on, held());
  ASSERT_OK(timeline(on, {}, {{s, 1}}));
  EXPECT_FALSE(ring.is_done());
  release();
  io_uring_cqe done = ring.next();
  EXPECT_EQ(done.user_data, 1u);
  EXPECT_GT(done.res & POLLIN, 0);
  EXPECT_OK(rawhal_semaphore_wait(s, 1, 0, &error));
  ring.submit(IORING_OP_POLL_ADD, fd, 2); // a level: it has not been read
  EXPECT_EQ(ring.next().user_data, 2u);
  uint64_t count = 0;
  ring.submit(IORING_OP_READ, fd, 3, &count, sizeof(count));
  done = ring.next();
  EXPECT_EQ(done.res, int(sizeof(count)));
  EXPECT_EQ(count, 1u);
  ring.submit(IORING_OP_READ, fd, 4, &count, sizeof(count)); // the next
  EXPECT_FALSE(ring.is_done());
  ASSERT_OK(timeline(on, {}, {{s, 2}}));
  EXPECT_EQ(ring.next().user_data, 4u);
  EXPECT_EQ(count, 1u);
  close(fd);
}

} // namespace
