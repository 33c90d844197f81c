#include "children.h"
#include "tests/child.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

namespace {

// Loading four GiB of zeros on a busy machine is slow, but not that slow.
constexpr double kTimeout = 20; // seconds

struct Shared {
  std::atomic<size_t> next{0}; // the item at work
  std::atomic<size_t> text_size{0};
  char text[64 << 10];
};

double now()
{
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

[[noreturn]] void child(Shared *shared, int *values, size_t count, const Work &work)
{
  for (size_t i = shared->next; i < count; shared->next = ++i) {
    std::string complaint;
    values[i] = work(i, complaint);
    size_t size = std::min(complaint.size(), sizeof(shared->text) - shared->text_size);
    memcpy(shared->text + shared->text_size, complaint.data(), size);
    shared->text_size += size;
  }
  _exit(0);
}

// Waits for the child's end; a child that stalls is killed. Returns whether it had to be.
bool wait_or_kill(pid_t pid, const Shared *shared, int *status)
{
  size_t seen = shared->next;
  double since = now();
  while (waitpid(pid, status, WNOHANG) == 0) {
    if (shared->next != seen) {
      seen = shared->next;
      since = now();
    } else if (now() - since > kTimeout) {
      signal_child(pid, SIGKILL);
      waitpid(pid, status, 0);
      return true;
    }
    usleep(500);
  }
  return false;
}

} // namespace

std::vector<Outcome> run_in_children(size_t count, const Work &work, std::string &complaints)
{
  std::vector<Outcome> outcomes(count);
  size_t room = sizeof(Shared) + (count + 1) * sizeof(int);
  void *memory = mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return outcomes;
  Shared *shared = new (memory) Shared;
  int *values = reinterpret_cast<int *>(shared + 1);
  while (shared->next < count) {
    size_t first = shared->next;
    pid_t pid = try_fork();
    if (pid < 0)
      break;
    if (pid == 0)
      child(shared, values, count, work);
    int status = 0;
    bool hung = wait_or_kill(pid, shared, &status);
    size_t last = shared->next;
    for (size_t i = first; i < last; ++i)
      outcomes[i] = {Outcome::kDone, values[i]};
    if (last < count) {
      outcomes[last] = {hung ? Outcome::kHung : Outcome::kCrashed,
                        WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status)};
      shared->next = last + 1;
    }
  }
  complaints.append(shared->text, shared->text_size);
  munmap(memory, room);
  return outcomes;
}
