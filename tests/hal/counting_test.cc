// What submitting costs besides instructions: nothing is allocated, the kernel is not called and no
// lock is taken, from a queue's first submission on, refused ones included.
//
// This program's allocator and pthread_mutex_lock() stand before everybody's, the runtime's as well,
// and count what the submitting thread asks of them. System calls of that thread are refused by a
// filter of its own, which counts.
#include "device_test.h"

#include <atomic>
#include <csignal>
#include <dlfcn.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <thread>
#include <ucontext.h>
#include <unistd.h>

namespace {

struct Counts {
  uint64_t allocations, locks, calls;
  long last_call;
};

thread_local bool counting;
Counts counts; // of the one thread that counts

} // namespace

extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void __libc_free(void *);

void *malloc(size_t size)
{
  counts.allocations += counting;
  return __libc_malloc(size);
}
void *calloc(size_t count, size_t size)
{
  counts.allocations += counting;
  return __libc_calloc(count, size);
}
void *realloc(void *old, size_t size)
{
  counts.allocations += counting;
  return __libc_realloc(old, size);
}
void free(void *memory)
{
  counts.allocations += counting;
  __libc_free(memory);
}

using mutex_function_t = int(pthread_mutex_t *);
static mutex_function_t *lock_itself, *trylock_itself;

static mutex_function_t *mutex_function(mutex_function_t **known, const char *name)
{
  if (!*known)
    *known = reinterpret_cast<mutex_function_t *>(dlsym(RTLD_NEXT, name));
  return *known;
}
int pthread_mutex_lock(pthread_mutex_t *mutex)
{
  counts.locks += counting;
  return mutex_function(&lock_itself, "pthread_mutex_lock")(mutex);
}
int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
  counts.locks += counting;
  return mutex_function(&trylock_itself, "pthread_mutex_trylock")(mutex);
}
}

namespace {

void refused_call(int, siginfo_t *info, void *context)
{
  if (counting) {
    ++counts.calls;
    counts.last_call = info->si_syscall;
  }
  static_cast<ucontext_t *>(context)->uc_mcontext.gregs[REG_RAX] = -ENOSYS;
}

// From now on this thread makes no system call but to return from the handler and to end.
bool refuse_calls()
{
  struct sigaction action = {};
  action.sa_sigaction = refused_call;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSYS, &action, nullptr);
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 4, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 2, 0), // a thread's end
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigprocmask, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program = {sizeof(code) / sizeof(*code), code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

class Counting : public DeviceTest {
protected:
  // A device that never sleeps: on hardware a doorbell is a store, and nobody has to be woken.
  const char *softgpu_options() override { return "gpus=1,vram_mib=64,timeout_ms=0,spin=1000000000"; }

  // Submits from a queue's first time on, as long as there is room; `round` at a time, and then nothing for `rest` times
  // as long as that took. Where `rest` is not 0 a device that was itself interrupted may have used the room up: what is
  // held back then, and what comes right after it, is not counted.
  void submit_all(rawhal_queue_t *on, const rawhal_dispatch_t *batch, size_t size, uint64_t submissions,
                  uint64_t round, unsigned rest = 0)
  {
    std::atomic<uint64_t> allowed{0}, made{0};
    std::atomic<bool> filtered{true};
    uint64_t wrong = 0, refused = 0, held = 0;
    bool was_held = false;
    counts = {};
    std::thread submitter([&] {
      rawhal_error_t mine = {};
      rawhal_dispatch_t bad = *batch;
      bad.workgroup[1] = 0;
      filtered = refuse_calls();
      for (uint64_t i = 0; i < submissions && filtered; ++i) {
        while (i >= allowed)
          __builtin_ia32_pause();
        const Counts before = counts;
        counting = true;
        rawhal_status_t status = rawhal_queue_submit(on, batch, size, 0, nullptr, &mine);
        if (rest && (status == RAWHAL_WOULD_BLOCK || was_held)) {
          counts = before;
          held += was_held = status == RAWHAL_WOULD_BLOCK;
        } else {
          wrong += status != RAWHAL_OK;
        }
        if (i % 64 == 0)
          refused += rawhal_queue_submit(on, &bad, 1, 0, nullptr, &mine) == RAWHAL_INVALID_ARGUMENT;
        counting = false;
        made = i + 1;
      }
      counting = true; // the filter is seen to work
      (void)syscall(SYS_getppid);
      counting = false;
      made = submissions;
    });
    for (uint64_t next = 0; next < submissions && filtered;) {
      const auto began = std::chrono::steady_clock::now();
      allowed = next = std::min(next + round, submissions);
      while (made < next && filtered)
        nap();
      rawhal_queue_info_t info = {};
      info.size = sizeof(info);
      do
        rawhal_queue_info(on, &info); // which gives back the room
      while (info.finished < info.last_ticket && info.status == RAWHAL_OK);
      const auto ended = std::chrono::steady_clock::now();
      while (std::chrono::steady_clock::now() - ended < rest * (ended - began))
        nap();
    }
    submitter.join();
    if (!filtered)
      GTEST_SKIP() << "this system lets no thread filter its system calls";
    EXPECT_LT(held, submissions / 10);
    EXPECT_EQ(wrong, 0u);
    EXPECT_EQ(refused, (submissions + 63) / 64);
    EXPECT_EQ(counts.allocations, 0u);
    EXPECT_EQ(counts.locks, 0u);
    EXPECT_EQ(counts.calls, 1u) << "the last was number " << counts.last_call;
    EXPECT_EQ(counts.last_call, SYS_getppid);
  }

  // The processors are for who submits and for the device.
  static void nap() { std::this_thread::sleep_for(std::chrono::microseconds(20)); }

  rawhal_queue_t *large()
  {
    rawhal_queue_options_t options = {};
    options.packets = 4096;
    options.submissions = 512;
    return queue(options);
  }
};

TEST_F(Counting, SubmissionsOfBlobs)
{
  const uint64_t many = getenv("RAWHAL_TEST_EXTENDED") ? 1000000 : 100000;
  char bytes[28] = {};
  rawhal_dispatch_t dispatch = {};
  dispatch.kernel = kernel("vector_add-gfx90a-v4.co", "vector_add");
  for (int d = 0; d < 3; ++d)
    dispatch.work_items[d] = dispatch.workgroup[d] = 1;
  dispatch.blob = bytes;
  dispatch.blob_size = sizeof(bytes);
  submit_all(large(), &dispatch, 1, many, 256);
}

// Limits that are never reached, of all kinds that a submission spends but shares of device time.
class CountingLimited : public Counting {
protected:
  void SetUp() override
  {
    setenv("RAWHAL_GPU_SHARE", "100%", 1);
    setenv("RAWHAL_DISPATCH_RATE", "1000000000", 1);
    setenv("RAWHAL_DISPATCHES_IN_FLIGHT", "1000000000", 1);
    setenv("RAWHAL_WORKGROUPS_IN_FLIGHT", "1000000000", 1);
    setenv("RAWHAL_KERNARG_IN_FLIGHT", "1GiB", 1);
    setenv("RAWHAL_GRID_WORKGROUPS", "1000", 1);
    Counting::SetUp();
  }
};

TEST_F(CountingLimited, SubmissionsOfBlobs)
{
  const uint64_t many = getenv("RAWHAL_TEST_EXTENDED") ? 1000000 : 100000;
  char bytes[28] = {};
  rawhal_dispatch_t dispatch = {};
  dispatch.kernel = kernel("vector_add-gfx90a-v4.co", "vector_add");
  for (int d = 0; d < 3; ++d)
    dispatch.work_items[d] = dispatch.workgroup[d] = 1;
  dispatch.blob = bytes;
  dispatch.blob_size = sizeof(bytes);
  submit_all(large(), &dispatch, 1, many, 256);
}

// Below 100 % of the device's time there is room while as few are in flight as the share allows and no more time is
// used. The first run of a kernel is measured, which takes a lock.
class CountingShared : public Counting {
protected:
  void count(const char *share, uint64_t round, unsigned rest)
  {
    const uint64_t many = (getenv("RAWHAL_TEST_EXTENDED") ? 2000 : 300) * round;
    rawhal_queue_options_t options = {};
    options.packets = 4096;
    options.submissions = 512;
    options.share_ppm = strcmp(share, "queue") ? 0 : 500000;
    rawhal_queue_t *on = queue(options);
    char bytes[28] = {};
    rawhal_dispatch_t dispatch = {};
    dispatch.kernel = kernel("vector_add-gfx90a-v4.co", "vector_add");
    for (int d = 0; d < 3; ++d)
      dispatch.work_items[d] = dispatch.workgroup[d] = 1;
    dispatch.blob = bytes;
    dispatch.blob_size = sizeof(bytes);
    ASSERT_OK(run(on, dispatch));
    submit_all(on, &dispatch, 1, many, round, rest);
  }
};

class CountingHalf : public CountingShared {
protected:
  void SetUp() override
  {
    setenv("RAWHAL_GPU_SHARE", "50%", 1);
    Counting::SetUp();
  }
};

class CountingMost : public CountingShared {
protected:
  void SetUp() override
  {
    setenv("RAWHAL_GPU_SHARE", "97%", 1);
    Counting::SetUp();
  }
};

TEST_F(CountingHalf, SubmissionsOfBlobs)
{
  count("tenant", 1, 3);
}

TEST_F(CountingHalf, AndAShareOfTheQueues)
{
  count("queue", 1, 6);
}

TEST_F(CountingMost, SubmissionsOfBlobs)
{
  count("tenant", 4, 1);
}

TEST_F(Counting, BatchesWithHiddenArgumentsAndPointers)
{
  uint64_t nothing = 0;
  const void *pointers[4] = {&nothing, &nothing, &nothing, &nothing};
  rawhal_dispatch_t batch[4] = {};
  for (rawhal_dispatch_t &dispatch : batch) {
    dispatch.kernel = kernel("vector_add-gfx90a-v5.co", "vector_add");
    for (int d = 0; d < 3; ++d)
      dispatch.work_items[d] = dispatch.workgroup[d] = 1;
    dispatch.arguments = pointers;
    dispatch.argument_count = 4;
  }
  submit_all(large(), batch, 4, 10000, 256);
}

} // namespace
