// Memory by handle, within one process and across several.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <hsakmt.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

extern "C" {
#include "softgpu/device/memory.h"
}

#include "tests/child.h"

namespace {

constexpr uint64_t bytes = 64 * 4096;

class Share : public ::testing::Test {
protected:
  void SetUp() override
  {
    ASSERT_EQ(hsaKmtOpenKFD(), HSAKMT_STATUS_SUCCESS);
    memory = allocate();
  }
  void TearDown() override { EXPECT_EQ(hsaKmtCloseKFD(), HSAKMT_STATUS_SUCCESS); }

  static char *allocate()
  {
    void *got = nullptr;
    EXPECT_EQ(hsaKmtAllocMemory(1, bytes, HsaMemFlags{}, &got), HSAKMT_STATUS_SUCCESS);
    return (char *)got;
  }

  static bool good(const HsaSharedMemoryHandle &handle)
  {
    void *got = nullptr;
    HSAuint64 size = 0;
    if (hsaKmtRegisterSharedHandle(&handle, &got, &size) != HSAKMT_STATUS_SUCCESS)
      return false;
    EXPECT_EQ(size, bytes);
    EXPECT_EQ(hsaKmtDeregisterMemory(got), HSAKMT_STATUS_SUCCESS);
    EXPECT_FALSE(softgpu_memory_reach(0, (uintptr_t)got, 1, false));
    return true;
  }

  static int files()
  {
    int count = 0;
    for (int i = 0; i < 1024; ++i)
      count += fcntl(i, F_GETFD) >= 0;
    return count;
  }

  char *memory = nullptr;
  HsaSharedMemoryHandle handle = {};
};

TEST_F(Share, both_see_what_the_other_writes)
{
  memory[5] = 42;
  memory[bytes - 1] = 43;
  ASSERT_EQ(hsaKmtShareMemory(memory, bytes, &handle), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(memory[5], 42);
  void *other = nullptr;
  HSAuint64 size = 0, alternate = 0;
  ASSERT_EQ(hsaKmtRegisterSharedHandle(&handle, &other, &size), HSAKMT_STATUS_SUCCESS);
  EXPECT_NE(other, memory);
  EXPECT_EQ(size, bytes);
  EXPECT_EQ(((char *)other)[5], 42);
  EXPECT_EQ(((char *)other)[bytes - 1], 43);
  ((char *)other)[7] = 44;
  EXPECT_EQ(memory[7], 44);
  EXPECT_FALSE(softgpu_memory_reach(1, (uintptr_t)other, bytes, true));
  ASSERT_EQ(hsaKmtMapMemoryToGPU(other, size, &alternate), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(softgpu_memory_reach(1, (uintptr_t)other, bytes, true), other);
  HsaPointerInfo info{};
  ASSERT_EQ(hsaKmtQueryPointerInfo((char *)other + 4, &info), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(info.Type, HSA_POINTER_REGISTERED_SHARED);
  EXPECT_EQ(info.Node, 1u);
  EXPECT_EQ(hsaKmtFreeMemory(other, bytes), HSAKMT_STATUS_INVALID_PARAMETER);
  EXPECT_EQ(hsaKmtUnmapMemoryToGPU(other), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(hsaKmtDeregisterMemory(other), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(hsaKmtDeregisterMemory(other), HSAKMT_STATUS_MEMORY_NOT_REGISTERED);
  EXPECT_EQ(hsaKmtDeregisterMemory(memory), HSAKMT_STATUS_MEMORY_NOT_REGISTERED);
  EXPECT_EQ(memory[7], 44);
}

TEST_F(Share, a_handle_is_good_while_the_memory_is)
{
  int before = files();
  HsaSharedMemoryHandle again = {};
  ASSERT_EQ(hsaKmtShareMemory(memory, bytes, &handle), HSAKMT_STATUS_SUCCESS);
  ASSERT_EQ(hsaKmtShareMemory(memory, bytes, &again), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(memcmp(handle, again, sizeof(handle)), 0);
  EXPECT_TRUE(good(handle));
  EXPECT_TRUE(good(handle));
  ASSERT_EQ(hsaKmtFreeMemory(memory, bytes), HSAKMT_STATUS_SUCCESS);
  EXPECT_FALSE(good(handle));
  char *next = allocate(); // gets the same descriptor
  ASSERT_EQ(hsaKmtShareMemory(next, bytes, &again), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(handle[1], again[1]);
  EXPECT_FALSE(good(handle));
  EXPECT_TRUE(good(again));
  ASSERT_EQ(hsaKmtFreeMemory(next, bytes), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(files(), before);
}

TEST_F(Share, any_other_handle_is_refused)
{
  int before = files();
  ASSERT_EQ(hsaKmtShareMemory(memory, bytes, &handle), HSAKMT_STATUS_SUCCESS);
  for (unsigned word : {0u, 1u, 2u, 3u, 4u, 6u}) {
    for (uint32_t flip : {1u, 0x10000u, 0x80000000u, 0xffffffffu}) {
      HsaSharedMemoryHandle forged;
      memcpy(forged, handle, sizeof(forged));
      forged[word] ^= flip;
      EXPECT_FALSE(good(forged)) << word << " " << flip;
    }
  }
  HsaSharedMemoryHandle zero = {};
  EXPECT_FALSE(good(zero));
  EXPECT_TRUE(good(handle));
  EXPECT_EQ(files(), before + 1);
  EXPECT_EQ(hsaKmtShareMemory(memory + 4096, 4096, &handle), HSAKMT_STATUS_INVALID_PARAMETER);
  EXPECT_EQ(hsaKmtShareMemory(&before, 4096, &handle), HSAKMT_STATUS_INVALID_PARAMETER);
  EXPECT_EQ(hsaKmtShareMemory(memory, bytes, nullptr), HSAKMT_STATUS_INVALID_PARAMETER);
}

// Somebody's file of the same name, which could be cut off under our accesses.
TEST_F(Share, a_file_that_can_shrink_is_refused)
{
  ASSERT_EQ(hsaKmtShareMemory(memory, bytes, &handle), HSAKMT_STATUS_SUCCESS);
  char name[64];
  snprintf(name, sizeof(name), "softgpu-%08x%08x%08x", handle[2], handle[3], handle[4]);
  int file = memfd_create(name, 0);
  ASSERT_GE(file, 0);
  ASSERT_EQ(ftruncate(file, bytes), 0);
  handle[1] = (uint32_t)file;
  EXPECT_FALSE(good(handle));
  close(file);
}

// A program that closes what it does not know must not lose a file of its own for that.
TEST_F(Share, a_descriptor_that_was_taken_away_is_left_alone)
{
  ASSERT_EQ(hsaKmtShareMemory(memory, bytes, &handle), HSAKMT_STATUS_SUCCESS);
  close((int)handle[1]);
  int own = open("/dev/null", O_RDONLY);
  int there = own == (int)handle[1] ? own : dup2(own, (int)handle[1]);
  ASSERT_EQ(there, (int)handle[1]);
  EXPECT_FALSE(good(handle));
  memory[0] = 1;
  ASSERT_EQ(hsaKmtFreeMemory(memory, bytes), HSAKMT_STATUS_SUCCESS);
  EXPECT_GE(fcntl(there, F_GETFD), 0);
  close(there);
}

// As in_child(), where what succeeds is true; the device is closed before.
int truth_in_child(bool (*what)())
{
  return in_child([&] { return what() ? 0 : 1; });
}

bool shares_and_opens()
{
  void *got = nullptr, *other = nullptr;
  HSAuint64 size = 0;
  HsaSharedMemoryHandle its = {};
  return hsaKmtOpenKFD() == HSAKMT_STATUS_SUCCESS &&
         hsaKmtAllocMemory(1, bytes, HsaMemFlags{}, &got) == HSAKMT_STATUS_SUCCESS &&
         hsaKmtShareMemory(got, bytes, &its) == HSAKMT_STATUS_SUCCESS &&
         hsaKmtRegisterSharedHandle(&its, &other, &size) == HSAKMT_STATUS_SUCCESS;
}

// vm.memfd_noexec, which systems set for all, is set here for a PID namespace and its own /proc.
template <char value> bool with_noexec()
{
  if (unshare(CLONE_NEWPID | CLONE_NEWNS) != 0 ||
      mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return true; // not allowed to: nothing is tried
  return truth_in_child([] {
           const char said = value;
           int file = mount("proc", "/proc", "proc", 0, nullptr) == 0
                          ? open("/proc/sys/vm/memfd_noexec", O_WRONLY)
                          : -1;
           return file < 0 || write(file, &said, 1) != 1 || shares_and_opens();
         }) == 0;
}

TEST(ShareElsewhere, where_files_of_memory_cannot_be_executed)
{
  EXPECT_EQ(truth_in_child(with_noexec<'0'>), 0);
  EXPECT_EQ(truth_in_child(with_noexec<'1'>), 0);
  EXPECT_EQ(truth_in_child(with_noexec<'2'>), 0);
}

TEST(ShareElsewhere, a_limit_of_files_is_no_end_of_the_program)
{
  EXPECT_EQ(truth_in_child([] {
              const struct rlimit few = {bytes - 1, RLIM_INFINITY}, enough = {bytes, RLIM_INFINITY};
              void *got = nullptr;
              HsaSharedMemoryHandle its = {};
              return setrlimit(RLIMIT_FSIZE, &few) == 0 &&
                     hsaKmtOpenKFD() == HSAKMT_STATUS_SUCCESS &&
                     hsaKmtAllocMemory(1, bytes, HsaMemFlags{}, &got) == HSAKMT_STATUS_SUCCESS &&
                     hsaKmtShareMemory(got, bytes, &its) == HSAKMT_STATUS_NO_MEMORY &&
                     setrlimit(RLIMIT_FSIZE, &enough) == 0 &&
                     hsaKmtShareMemory(got, bytes, &its) == HSAKMT_STATUS_SUCCESS;
            }),
            0);
}

TEST_F(Share, pages_outlive_the_process_they_come_from)
{
  int pipes[2], wait[2];
  ASSERT_EQ(pipe(pipes), 0);
  ASSERT_EQ(pipe(wait), 0);
  ASSERT_EQ(hsaKmtCloseKFD(), HSAKMT_STATUS_SUCCESS);
  pid_t child = fork_child();
  if (child == 0) {
    void *got = nullptr;
    HsaSharedMemoryHandle its = {};
    bool done = hsaKmtOpenKFD() == HSAKMT_STATUS_SUCCESS &&
                hsaKmtAllocMemory(1, bytes, HsaMemFlags{}, &got) == HSAKMT_STATUS_SUCCESS &&
                hsaKmtShareMemory(got, bytes, &its) == HSAKMT_STATUS_SUCCESS;
    if (done)
      memset(got, 77, bytes);
    ssize_t moved = write(pipes[1], its, sizeof(its));
    char go;
    moved += read(wait[0], &go, 1);
    _exit(done && moved > 0 ? 0 : 1);
  }
  ASSERT_EQ(hsaKmtOpenKFD(), HSAKMT_STATUS_SUCCESS);
  HsaSharedMemoryHandle its = {};
  ASSERT_EQ(read(pipes[0], its, sizeof(its)), (ssize_t)sizeof(its));
  void *got = nullptr;
  HSAuint64 size = 0;
  EXPECT_EQ(hsaKmtRegisterSharedHandle(&its, &got, &size), HSAKMT_STATUS_SUCCESS);
  ASSERT_EQ(write(wait[1], "x", 1), 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ASSERT_NE(got, nullptr);
  EXPECT_EQ(((char *)got)[bytes - 1], 77);
  EXPECT_FALSE(good(its)); // nobody new
  HsaSharedMemoryHandle onward = {};
  EXPECT_EQ(hsaKmtShareMemory(got, size, &onward), HSAKMT_STATUS_SUCCESS);
  EXPECT_TRUE(good(onward)); // but through who has it
  EXPECT_EQ(hsaKmtDeregisterMemory(got), HSAKMT_STATUS_SUCCESS);
  for (int file : {pipes[0], pipes[1], wait[0], wait[1]})
    close(file);
}

} // namespace
