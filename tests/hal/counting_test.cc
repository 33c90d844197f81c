// What submitting costs besides instructions: nothing is allocated, the kernel is not called and no
// lock is taken, from a queue's first submission on, refused ones included.
//
// This program's allocator and pthread_mutex_lock() stand before everybody's, the runtime's as well,
// and count what the submitting thread asks of them. System calls of that thread are refused by a
// filter of its own, which counts.
#include "device_test.h"
#include "tests/extended.h"
#include "tests/graph_of.h"

#include <hsa/hsa.h>

#include <atomic>
#include <csignal>
#include <dlfcn.h>
#include <functional>
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
void *__libc_memalign(size_t, size_t);
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

void *memalign(size_t alignment, size_t size)
{
  counts.allocations += counting;
  return __libc_memalign(alignment, size);
}
void *aligned_alloc(size_t alignment, size_t size)
{
  return memalign(alignment, size);
}
int posix_memalign(void **memory, size_t alignment, size_t size)
{
  *memory = memalign(alignment, size);
  return *memory ? 0 : ENOMEM;
}

#define COUNT_LOCK(name, type)                                                                     \
  int name(type *lock)                                                                             \
  {                                                                                                \
    static int (*itself)(type *);                                                                  \
    counts.locks += counting;                                                                      \
    if (!itself)                                                                                   \
      itself = reinterpret_cast<int (*)(type *)>(dlsym(RTLD_NEXT, #name));                         \
    return itself(lock);                                                                           \
  }
COUNT_LOCK(pthread_mutex_lock, pthread_mutex_t)
COUNT_LOCK(pthread_mutex_trylock, pthread_mutex_t)
COUNT_LOCK(pthread_rwlock_rdlock, pthread_rwlock_t)
COUNT_LOCK(pthread_rwlock_wrlock, pthread_rwlock_t)
COUNT_LOCK(pthread_spin_lock, pthread_spinlock_t)
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

// The processors are for who submits and for the device.
const timespec moment = {0, 20000};
void nap()
{
  (void)syscall(SYS_nanosleep, &moment, nullptr);
}

// From now on this thread makes no system call but to return from the handler, to nap and to end.
bool refuse_calls()
{
  struct sigaction action = {};
  action.sa_sigaction = refused_call;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSYS, &action, nullptr);
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 7, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 6, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 5, 0), // a thread's end
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigprocmask, 4, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_nanosleep, 0, 2),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args)), // nobody else's
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
               static_cast<uint32_t>(reinterpret_cast<uintptr_t>(&moment)), 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program = {sizeof(code) / sizeof(*code), code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

class Counting : public DeviceTest {
protected:
  // A device that never sleeps: on hardware a doorbell is a store, and nobody has to be woken.
  const char *softgpu_options() override
  {
    return "gpus=1,vram_mib=64,timeout_ms=0,spin=1000000000";
  }

  using Submission = std::function<rawhal_status_t(rawhal_error_t *)>;

  void submit_all(rawhal_queue_t *on, const rawhal_dispatch_t *batch, size_t size,
                  uint64_t submissions, uint64_t round, unsigned rest = 0)
  {
    rawhal_dispatch_t bad = *batch;
    bad.workgroup[1] = 0;
    submit_all(
        on,
        [=](rawhal_error_t *why) { return rawhal_queue_submit(on, batch, size, 0, nullptr, why); },
        [=](rawhal_error_t *why) { return rawhal_queue_submit(on, &bad, 1, 0, nullptr, why); },
        RAWHAL_INVALID_ARGUMENT, submissions, round, rest);
  }

  // Submits from a queue's first time on, as long as there is room; `round` at a time, and then nothing for `rest` times
  // as long as that took. Where `rest` is not 0 a device that was itself interrupted may have used the room up: what is
  // held back then, and what comes right after it, is not counted, nor are the locks of what looks first whether something
  // has finished meanwhile, and finds that. All of these must be few.
  void submit_all(rawhal_queue_t *on, const Submission &submit, const Submission &refuse,
                  rawhal_status_t refusal, uint64_t submissions, uint64_t round, unsigned rest)
  {
    std::atomic<uint64_t> allowed{0}, made{0};
    std::atomic<bool> filtered{true};
    uint64_t wrong = 0, refused = 0, held = 0;
    bool was_held = false;
    counts = {};
    std::thread submitter([&] {
      rawhal_error_t mine = {};
      filtered = refuse_calls();
      for (uint64_t i = 0; i < submissions && filtered; ++i) {
        while (i >= allowed)
          nap();
        const Counts before = counts;
        counting = true;
        rawhal_status_t status = submit(&mine);
        if (rest && (status == RAWHAL_WOULD_BLOCK || was_held)) {
          counts = before;
          held += was_held = status == RAWHAL_WOULD_BLOCK;
        } else {
          wrong += status != RAWHAL_OK;
          held += rest && counts.locks != before.locks;
          counts.locks = rest ? before.locks : counts.locks;
        }
        if (i % 64 == 0)
          refused += refuse(&mine) == refusal;
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

  void count_launches();

  rawhal_queue_t *large()
  {
    rawhal_queue_options_t options = {};
    options.packets = 4096;
    options.submissions = 512;
    return queue(options);
  }
};

// A dispatch of one work-item; `bytes` are of the blob.
rawhal_dispatch_t smallest(const rawhal_device_kernel_t *kernel, const char *bytes, size_t size)
{
  rawhal_dispatch_t dispatch = {};
  dispatch.kernel = kernel;
  for (int d = 0; d < 3; ++d)
    dispatch.work_items[d] = dispatch.workgroup[d] = 1;
  dispatch.blob = bytes;
  dispatch.blob_size = size;
  return dispatch;
}

const char zeros[28] = {};

// Of a million, each test takes a minute or two; a queue's packets are used again from the 4,097th on.
uint64_t many(uint64_t without = 6000)
{
  return is_extended_to_all() ? 1000000 : without;
}

void Counting::count_launches()
{
  rawhal_dispatch_t dispatch =
      smallest(kernel("vector_add-gfx90a-v5.co", "vector_add"), zeros, sizeof(zeros));
  const std::vector<rawhal_dispatch_t> batch(8, dispatch);
  rawhal_queue_t *on = large();
  rawhal_graph_exec_t *exec = nullptr;
  ASSERT_OK(graph_of(device, on, batch.data(), batch.size(), &exec, &error));
  submit_all(
      on,
      [=](rawhal_error_t *why) {
        return rawhal_graph_launch(on, exec, nullptr, 0, 0, nullptr, why);
      },
      [=](rawhal_error_t *why) {
        return rawhal_graph_launch(nullptr, exec, nullptr, 0, 0, nullptr, why);
      },
      RAWHAL_INVALID_ARGUMENT, many(), 256, 0);
  rawhal_graph_exec_destroy(exec);
  ASSERT_OK(graph_of(device, on, batch.data(), 1, &exec, &error));
  const auto with = [=](size_t size) {
    return [=](rawhal_error_t *why) {
      return rawhal_graph_launch_blob(on, exec, zeros, size, 0, nullptr, why);
    };
  };
  submit_all(on, with(sizeof(zeros)), with(sizeof(zeros) - 1), RAWHAL_INVALID_ARGUMENT, many(), 256,
             0);
  rawhal_graph_exec_destroy(exec);
}

TEST_F(Counting, SubmissionsOfBlobs)
{
  rawhal_dispatch_t dispatch =
      smallest(kernel("vector_add-gfx90a-v4.co", "vector_add"), zeros, sizeof(zeros));
  submit_all(large(), &dispatch, 1, many(), 256);
}

TEST_F(Counting, BatchesWithHiddenArgumentsAndPointers)
{
  uint64_t nothing = 0;
  const void *pointers[4] = {&nothing, &nothing, &nothing, &nothing};
  rawhal_dispatch_t batch[4] = {};
  for (rawhal_dispatch_t &dispatch : batch) {
    dispatch = smallest(kernel("vector_add-gfx90a-v5.co", "vector_add"), nullptr, 0);
    dispatch.arguments = pointers;
    dispatch.argument_count = 4;
  }
  submit_all(large(), batch, 4, many(), 256);
}

// More than a page of them: nowhere is there a place to try them out.
TEST_F(Counting, PointersToManyBytes)
{
  static char value[6000];
  const void *pointers[] = {value, value};
  rawhal_dispatch_t dispatch = smallest(kernel("wide-gfx90a-v5.co", "wide"), nullptr, 0);
  dispatch.arguments = pointers;
  dispatch.argument_count = 2;
  submit_all(large(), &dispatch, 1, many(), 128);
}

TEST_F(Counting, GraphLaunches)
{
  count_launches();
}

// Of each kind, in each launch, on a queue that the graph was not made for.
TEST_F(Counting, GraphLaunchesWithBindings)
{
  static const uint64_t nothing = 0;
  static const rawhal_graph_grid_t grid = {{1, 1, 1}, {1, 1, 1}, 0, 0, 0, {0, 0, 0}};
  const rawhal_dispatch_t dispatch =
      smallest(kernel("vector_add-gfx90a-v5.co", "vector_add"), zeros, sizeof(zeros));
  const std::vector<rawhal_dispatch_t> batch(8, dispatch);
  rawhal_graph_exec_t *exec = nullptr;
  rawhal_queue_t *on = large();
  ASSERT_OK(graph_of(device, nullptr, batch.data(), batch.size(), &exec, &error));
  std::vector<rawhal_graph_binding_t> bindings;
  for (uint32_t i = 0; i < batch.size(); ++i)
    bindings.push_back({RAWHAL_GRAPH_ARGUMENT, i, 1, sizeof(nothing), &nothing});
  bindings.push_back({RAWHAL_GRAPH_GRID, 2, 0, sizeof(grid), &grid});
  bindings.push_back({RAWHAL_GRAPH_BLOB, 5, 0, sizeof(zeros), zeros});
  std::vector<rawhal_graph_binding_t> wrong = bindings;
  wrong.back().bytes = 4;
  const auto *right = bindings.data(), *refused = wrong.data();
  const size_t count = bindings.size();
  submit_all(
      on,
      [=](rawhal_error_t *why) {
        return rawhal_graph_launch(on, exec, right, count, 0, nullptr, why);
      },
      [=](rawhal_error_t *why) {
        return rawhal_graph_launch(on, exec, refused, count, 0, nullptr, why);
      },
      RAWHAL_INVALID_ARGUMENT, many(), 256, 0);
  rawhal_graph_exec_destroy(exec);
}

TEST_F(Counting, BatchesWhoseDispatchesHaveTimes)
{
  rawhal_dispatch_t dispatch =
      smallest(kernel("vector_add-gfx90a-v4.co", "vector_add"), zeros, sizeof(zeros));
  const std::vector<rawhal_dispatch_t> batch(2, dispatch);
  rawhal_queue_options_t options = {};
  options.packets = 4096;
  options.submissions = 512;
  options.dispatch_times = 1;
  submit_all(queue(options), batch.data(), batch.size(), many(), 256);
}

// In a queue that the program made.
TEST_F(Counting, SubmissionsToAnExistingQueue)
{
  hsa_queue_t *theirs = nullptr;
  auto *create =
      reinterpret_cast<decltype(hsa_queue_create) *>(dlsym(RTLD_DEFAULT, "hsa_queue_create"));
  auto *destroy =
      reinterpret_cast<decltype(hsa_queue_destroy) *>(dlsym(RTLD_DEFAULT, "hsa_queue_destroy"));
  ASSERT_NE(create, nullptr);
  ASSERT_EQ(create({rawhal_device_info(device)->agent}, 4096, HSA_QUEUE_TYPE_MULTI, nullptr,
                   nullptr, UINT32_MAX, UINT32_MAX, &theirs),
            HSA_STATUS_SUCCESS);
  rawhal_queue_options_t options = {};
  options.submissions = 512;
  options.hsa_queue = theirs;
  rawhal_dispatch_t dispatch =
      smallest(kernel("vector_add-gfx90a-v4.co", "vector_add"), zeros, sizeof(zeros));
  submit_all(queue(options), &dispatch, 1, many(), 256);
  rawhal_queue_destroy(queues.back());
  queues.pop_back();
  destroy(theirs);
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
  rawhal_dispatch_t dispatch =
      smallest(kernel("vector_add-gfx90a-v4.co", "vector_add"), zeros, sizeof(zeros));
  submit_all(large(), &dispatch, 1, many(), 256);
}

TEST_F(CountingLimited, GraphLaunches)
{
  count_launches();
}

// What no limit would ever admit: a grid and a batch above their caps.
class CountingRefused : public Counting {
protected:
  void SetUp() override
  {
    setenv("RAWHAL_WORKGROUPS_IN_FLIGHT", "1500", 1);
    setenv("RAWHAL_GRID_WORKGROUPS", "1000", 1);
    Counting::SetUp();
  }
};

TEST_F(CountingRefused, ByLimits)
{
  rawhal_queue_t *on = large();
  rawhal_dispatch_t fits =
      smallest(kernel("vector_add-gfx90a-v4.co", "vector_add"), zeros, sizeof(zeros));
  rawhal_dispatch_t grid = fits, half = fits;
  grid.work_items[0] = 1001;
  half.work_items[0] = 800;
  const std::vector<rawhal_dispatch_t> batch(2, half);
  const rawhal_dispatch_t *both = batch.data();
  for (int which = 0; which < 2; ++which)
    submit_all(
        on, [=](rawhal_error_t *why) { return rawhal_queue_submit(on, &fits, 1, 0, nullptr, why); },
        [=](rawhal_error_t *why) {
          return which ? rawhal_queue_submit(on, both, 2, 0, nullptr, why)
                       : rawhal_queue_submit(on, &grid, 1, 0, nullptr, why);
        },
        RAWHAL_QUOTA_EXCEEDED, many(), 256, 0);
}

// Limits that other processes have part in, whether there are any or not: somebody watches what finishes here.
class CountingTogether : public CountingLimited {
protected:
  void SetUp() override
  {
    region_ = testing::TempDir() + "counting-" + std::to_string(getpid()) + ".region";
    unlink(region_.c_str());
    setenv("RAWHAL_LIMIT_REGION", region_.c_str(), 1);
    CountingLimited::SetUp();
  }
  void TearDown() override
  {
    CountingLimited::TearDown();
    unlink(region_.c_str());
  }

private:
  std::string region_;
};

TEST_F(CountingTogether, SubmissionsOfBlobs)
{
  rawhal_dispatch_t dispatch =
      smallest(kernel("vector_add-gfx90a-v4.co", "vector_add"), zeros, sizeof(zeros));
  submit_all(large(), &dispatch, 1, many(), 256);
}

TEST_F(CountingTogether, OneByOne)
{
  rawhal_dispatch_t dispatch =
      smallest(kernel("vector_add-gfx90a-v4.co", "vector_add"), zeros, sizeof(zeros));
  submit_all(large(), &dispatch, 1, many() / 100, 1);
}

// Below 100 % of the device's time there is room while as few are in flight as the share allows and no more time is
// used. Of kernels that never ran there is one at a time.
class CountingShared : public Counting {
protected:
  void count(const char *share, uint64_t round, unsigned rest)
  {
    const uint64_t submissions = many(100 * round);
    rawhal_queue_options_t options = {};
    options.packets = 4096;
    options.submissions = 512;
    options.share_ppm = strcmp(share, "queue") ? 0 : 500000;
    rawhal_queue_t *on = queue(options);
    rawhal_dispatch_t dispatch =
        smallest(kernel("vector_add-gfx90a-v4.co", "vector_add"), zeros, sizeof(zeros));
    submit_all(on, &dispatch, 1, submissions, round, rest);
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

} // namespace
