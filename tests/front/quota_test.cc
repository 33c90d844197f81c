// Every way to a device's memory, behind the front: it counts for as long as it is there.
#include "tests/front/front_test.h"
#include "tests/front/toy_memory.h"

#include <elf.h>
#include <fcntl.h>
#include <future>
#include <sched.h>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

constexpr hsa_status_t ok = HSA_STATUS_SUCCESS, full = HSA_STATUS_ERROR_OUT_OF_RESOURCES;

// Of the later headers, which are not installed everywhere.
struct VmemHandle {
  uint64_t handle;
};
using VmemCreate = hsa_status_t(hsa_amd_memory_pool_t, size_t, int, uint64_t, VmemHandle *);
using VmemRelease = hsa_status_t(VmemHandle);
using VmemMap = hsa_status_t(void *, size_t, size_t, VmemHandle, uint64_t);
using VmemUnmap = hsa_status_t(void *, size_t);
using VmemExport = hsa_status_t(int *, VmemHandle, uint64_t);
using VmemImport = hsa_status_t(int, VmemHandle *);
using VmemRetain = hsa_status_t(VmemHandle *, void *);
using DmabufExport = hsa_status_t(const void *, size_t, int *, uint64_t *);

class Quota : public FrontTest {
protected:
  void SetUp() override
  {
    FrontTest::SetUp();
    Set("RAWHAL_MEMORY_LIMIT", "64M");
    Load(major());
  }

  void TearDown() override
  {
    EXPECT_LE(toy_most_bytes(), 64 * mi + beyond_);
    FrontTest::TearDown();
  }

  virtual uint32_t major() const { return 2; }
  void MayExceedBy(size_t bytes) { beyond_ = bytes; }

  template <typename Function, typename... Arguments>
  static hsa_status_t Core(size_t offset, Arguments... arguments)
  {
    return FrontTest::Core<Function>(offset)(arguments...);
  }
  template <typename Function> Function *Amd(size_t first, size_t second) const
  {
    return FrontTest::Amd<Function>(major() == 1 ? first : second);
  }

  hsa_status_t Allocate(size_t size, void **memory)
  {
    return Amd<decltype(hsa_amd_memory_pool_allocate)>(120, 120)(toy_pool(), size, 0, memory);
  }
  void *Take(size_t size)
  {
    void *memory = nullptr;
    EXPECT_EQ(ok, Allocate(size, &memory));
    return memory;
  }
  hsa_status_t Free(void *memory)
  {
    return Amd<decltype(hsa_amd_memory_pool_free)>(128, 128)(memory);
  }
  // Is so much left, and no page more?
  void Left(size_t size)
  {
    void *memory = nullptr;
    EXPECT_EQ(full, Allocate(size + 4096, &memory));
    if (!size)
      return;
    ASSERT_EQ(ok, Allocate(size, &memory));
    EXPECT_EQ(ok, Free(memory));
  }

  hsa_amd_ipc_memory_t Export(void *memory)
  {
    hsa_amd_ipc_memory_t handle = {};
    EXPECT_EQ(ok, Amd<decltype(hsa_amd_ipc_memory_create)>(240, 256)(memory, 0, &handle));
    return handle;
  }
  hsa_status_t Attach(const hsa_amd_ipc_memory_t &handle, size_t size, void **memory)
  {
    const hsa_agent_t agent = toy_agent();
    return Amd<decltype(hsa_amd_ipc_memory_attach)>(248, 264)(&handle, size, 1, &agent, memory);
  }
  hsa_status_t Detach(void *memory)
  {
    return Amd<decltype(hsa_amd_ipc_memory_detach)>(256, 272)(memory);
  }
  hsa_status_t Unmap(void *memory)
  {
    return Amd<decltype(hsa_amd_interop_unmap_buffer)>(208, 224)(memory);
  }
  hsa_status_t MapFile(int fd, void **memory)
  {
    hsa_agent_t agent = toy_agent();
    size_t size = 0;
    return Amd<decltype(hsa_amd_interop_map_buffer)>(200, 216)(1, &agent, fd, 0, &size, memory,
                                                               nullptr, nullptr);
  }
  hsa_status_t ExportFile(void *memory, int *fd)
  {
    uint64_t offset;
    return Amd<DmabufExport>(0, 440)(memory, mi, fd, &offset);
  }

  hsa_status_t Create(size_t size, VmemHandle *handle)
  {
    return Amd<VmemCreate>(0, 472)(toy_pool(), size, 0, 0, handle);
  }
  hsa_status_t Release(VmemHandle handle) { return Amd<VmemRelease>(0, 480)(handle); }
  hsa_status_t Map(uint64_t at, size_t size, VmemHandle handle)
  {
    return Amd<VmemMap>(0, 488)(reinterpret_cast<void *>(at), size, 0, handle, 0);
  }
  hsa_status_t UnmapAt(uint64_t at, size_t size)
  {
    return Amd<VmemUnmap>(0, 496)(reinterpret_cast<void *>(at), size);
  }

  size_t beyond_ = 0;
};

class QuotaOfBoth : public Quota, public testing::WithParamInterface<int> {
protected:
  uint32_t major() const override { return static_cast<uint32_t>(GetParam()); }
};

// ---- What is attached ----

TEST_P(QuotaOfBoth, WhatIsFreedAndStillAttachedCounts)
{
  void *mine = Take(24 * mi), *attached = nullptr, *more = nullptr;
  hsa_amd_ipc_memory_t handle = Export(mine);
  ASSERT_EQ(ok, Attach(handle, 24 * mi, &attached));
  EXPECT_EQ(ok, Free(mine));
  Left(40 * mi);
  more = Take(40 * mi); // full
  EXPECT_EQ(64 * mi, toy_live_bytes());
  EXPECT_EQ(full, Attach(Export(more), 40 * mi, &mine));
  EXPECT_EQ(64 * mi, toy_live_bytes()); // and it left no trace
  EXPECT_EQ(ok, Detach(attached));
  Left(24 * mi);
  EXPECT_EQ(ok, Free(more));
  Left(64 * mi);
  EXPECT_EQ(0u, toy_live_bytes());
}

TEST_P(QuotaOfBoth, MemoryOfAnotherProcessCountsByItsRealSize)
{
  void *attached[3] = {};
  for (void *&each : attached)
    ASSERT_EQ(ok, Attach(toy_foreign(16 * mi), 4096, &each)); // says the program
  Left(16 * mi);
  void *fourth = nullptr;
  EXPECT_EQ(full, Attach(toy_foreign(17 * mi), 4096, &fourth));
  EXPECT_EQ(nullptr, fourth);
  EXPECT_EQ(ok, Detach(attached[0]));
  EXPECT_EQ(ok, Unmap(attached[1])); // which to the runtime is the same
  EXPECT_EQ(HSA_STATUS_ERROR_INVALID_ARGUMENT, Detach(attached[1]));
  Left(48 * mi);
  EXPECT_EQ(HSA_STATUS_ERROR_INVALID_ARGUMENT, Detach(Take(4096))); // no import
  EXPECT_EQ(ok, Detach(attached[2]));
  Left(64 * mi - 4096);
  MayExceedBy(SIZE_MAX / 2); // other processes' is not ours to limit
}

// A small piece keeps the block that it is in.
TEST_P(QuotaOfBoth, SmallPiecesCountAsBlocks)
{
  void *memory = nullptr;
  for (int i = 0; i < 32; ++i)
    ASSERT_EQ(ok, Attach(toy_foreign(4096), 4096, &memory)) << i;
  EXPECT_EQ(full, Attach(toy_foreign(4096), 4096, &memory));
}

INSTANTIATE_TEST_SUITE_P(Majors, QuotaOfBoth, testing::Values(1, 2),
                         testing::PrintToStringParamName());

// ---- Files ----

TEST_F(Quota, AFileKeepsTheMemoryUntilItIsClosed)
{
  void *mine = Take(40 * mi);
  int fd = -1;
  ASSERT_EQ(ok, ExportFile(mine, &fd));
  EXPECT_EQ(ok, Free(mine));
  EXPECT_EQ(40 * mi, toy_live_bytes());
  Left(24 * mi);
  const int other = dup(fd); // one that the runtime knows nothing of
  close(fd);
  MayExceedBy(40 * mi); // the toy looks at the first descriptor alone
  Left(24 * mi);
  void *mapped = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, other, 0);
  ASSERT_NE(MAP_FAILED, mapped);
  close(other);
  Left(24 * mi);
  munmap(mapped, 4096);
  Left(64 * mi);
}

// A thread need not have the descriptors of the others.
TEST_F(Quota, AFileOfOneThreadAloneKeepsTheMemory)
{
  void *mine = Take(40 * mi);
  int fd = -1;
  ASSERT_EQ(ok, ExportFile(mine, &fd));
  EXPECT_EQ(ok, Free(mine));
  std::promise<bool> has, may_end;
  std::thread thread([&] {
    has.set_value(unshare(CLONE_FILES) == 0);
    (void)may_end.get_future().get();
  });
  EXPECT_TRUE(has.get_future().get());
  close(fd);
  MayExceedBy(40 * mi); // the toy looks at the first thread alone
  Left(24 * mi);
  may_end.set_value(true);
  thread.join();
  Left(64 * mi);
}

TEST_F(Quota, WhatIsImportedFromAFileCounts)
{
  void *mine = Take(24 * mi), *mapped = nullptr, *again = nullptr;
  int fd = -1;
  ASSERT_EQ(ok, ExportFile(mine, &fd));
  ASSERT_EQ(ok, MapFile(fd, &mapped));
  EXPECT_EQ(ok, Free(mine));
  close(fd);
  EXPECT_EQ(24 * mi, toy_live_bytes());
  Left(40 * mi);
  EXPECT_EQ(ok, Detach(mapped));
  Left(64 * mi);
  EXPECT_EQ(0u, toy_live_bytes());
  mine = Take(40 * mi);
  ASSERT_EQ(ok, ExportFile(mine, &fd));
  EXPECT_EQ(full, MapFile(fd, &again));
  EXPECT_EQ(ok, Free(mine));
  close(fd);
  Left(64 * mi);
}

TEST_F(Quota, AFileOfASmallPieceKeepsItsBlock)
{
  void *mine = Take(4096);
  std::vector<int> files;
  int fd = -1;
  while (ExportFile(mine, &fd) == ok)
    files.push_back(fd);
  EXPECT_EQ(31u, files.size());
  for (int each : files)
    close(each);
  EXPECT_EQ(ok, Free(mine));
  Left(64 * mi);
}

// ---- Handles ----

TEST_F(Quota, WhatIsMappedCountsWhenItsHandleIsGone)
{
  VmemHandle handle = {}, more = {};
  ASSERT_EQ(ok, Create(40 * mi, &handle));
  ASSERT_EQ(ok, Map(mi, 40 * mi, handle));
  ASSERT_EQ(ok, Map(100 * mi, 40 * mi, handle));
  EXPECT_EQ(ok, Release(handle));
  EXPECT_EQ(full, Create(40 * mi, &more));
  EXPECT_EQ(ok, UnmapAt(mi, 40 * mi));
  EXPECT_EQ(full, Create(40 * mi, &more));
  EXPECT_EQ(HSA_STATUS_ERROR_INVALID_ARGUMENT, UnmapAt(mi, 40 * mi));
  Left(24 * mi);
  EXPECT_EQ(ok, UnmapAt(100 * mi, 40 * mi));
  Left(64 * mi);
  EXPECT_EQ(0u, toy_live_bytes());
}

TEST_F(Quota, AHandleOfWhatIsMappedCountsLikeTheFirst)
{
  VmemHandle handle = {}, again = {};
  ASSERT_EQ(ok, Create(40 * mi, &handle));
  ASSERT_EQ(ok, Map(mi, 40 * mi, handle));
  EXPECT_EQ(ok, Release(handle));
  ASSERT_EQ(ok, Amd<VmemRetain>(0, 536)(&again, reinterpret_cast<void *>(mi)));
  EXPECT_EQ(ok, UnmapAt(mi, 40 * mi));
  Left(24 * mi);
  EXPECT_EQ(ok, Release(again));
  Left(64 * mi);
}

TEST_F(Quota, AHandleThatIsSentCountsWhereItIs)
{
  VmemHandle handle = {}, imported = {};
  int fd = -1;
  ASSERT_EQ(ok, Create(24 * mi, &handle));
  ASSERT_EQ(ok, Amd<VmemExport>(0, 520)(&fd, handle, 0));
  EXPECT_EQ(ok, Release(handle));
  Left(40 * mi);
  ASSERT_EQ(ok, Amd<VmemImport>(0, 528)(fd, &imported));
  Left(16 * mi); // the file and the import
  close(fd);
  Left(40 * mi);
  EXPECT_EQ(ok, Release(imported));
  Left(64 * mi);
  EXPECT_EQ(0u, toy_live_bytes());
}

// ---- Regions ----

// What is refused must not have been there: meanwhile something else would find the device full.
TEST_F(Quota, WhatIsRefusedNeverReachesTheDevice)
{
  void *memory = nullptr;
  const auto allocate = FrontTest::Core<decltype(hsa_memory_allocate)>(280);
  const hsa_region_t region = {toy_pool().handle};
  EXPECT_EQ(full, allocate(region, size_t{1} << 40, &memory));
  EXPECT_EQ(full, allocate(region, SIZE_MAX, &memory));
  EXPECT_EQ(0u, toy_most_bytes());
  ASSERT_EQ(ok, allocate(region, 64 * mi, &memory));
  EXPECT_EQ(ok, FrontTest::Core<decltype(hsa_memory_free)>(288)(memory));
  Left(64 * mi);
}

TEST_F(Quota, NothingMigratesToTheDevice)
{
  int here;
  EXPECT_EQ(full, Amd<decltype(hsa_amd_memory_migrate)>(168, 184)(&here, toy_pool(), 0));
  EXPECT_EQ(0u, toy_live_bytes());
}

// ---- Soft queues ----

class QuotaOfRings : public Quota {
protected:
  static hsa_status_t Make(uint64_t region, uint32_t packets, hsa_queue_t **queue)
  {
    return Core<decltype(hsa_soft_queue_create)>(80, hsa_region_t{region}, packets,
                                                 HSA_QUEUE_TYPE_MULTI, 0u, hsa_signal_t{0}, queue);
  }
  static constexpr uint64_t elsewhere = 99; // a region that is none of the pools
};

TEST_F(QuotaOfRings, ASoftQueueCountsUntilItEnds)
{
  hsa_queue_t *queue = nullptr, *more = nullptr;
  const uint64_t device = toy_pool().handle;
  const uint32_t packets = 32 * mi / 64;
  ASSERT_EQ(ok, Make(device, packets, &queue));
  EXPECT_EQ(full, Make(device, 2 * packets, &more));
  EXPECT_EQ(nullptr, more);
  EXPECT_EQ(full, Make(device, uint32_t{1} << 31, &more));
  EXPECT_EQ(HSA_STATUS_ERROR_INVALID_ARGUMENT, Make(device, packets - 1, &more));
  Left(32 * mi);
  EXPECT_EQ(32 * mi, toy_live_bytes());
  EXPECT_EQ(ok, Core<decltype(hsa_queue_destroy)>(88, queue));
  Left(64 * mi);
  EXPECT_EQ(0u, toy_live_queues());
}

TEST_F(QuotaOfRings, ASoftQueueCountsInWhicheverRegion)
{
  hsa_queue_t *queue = nullptr, *more = nullptr;
  ASSERT_EQ(ok, Make(elsewhere, 32 * mi / 64, &queue));
  Left(32 * mi);
  MayExceedBy(32 * mi); // whose it is is known when it is there
  EXPECT_EQ(full, Make(elsewhere, 64 * mi / 64, &more));
  EXPECT_EQ(nullptr, more);
  EXPECT_EQ(ok, Core<decltype(hsa_queue_destroy)>(88, queue));
  Left(64 * mi);
  EXPECT_EQ(0u, toy_live_queues());
}

// ---- Code ----

class QuotaOfCode : public Quota {
protected:
  void SetUp() override
  {
    Quota::SetUp();
    small_ = Object(mi);
    large_ = Object(40 * mi);
  }

  static std::vector<char> Object(uint64_t bytes)
  {
    Elf64_Ehdr header = {};
    Elf64_Phdr segment = {};
    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_phoff = sizeof(header);
    header.e_phnum = 1;
    segment.p_type = PT_LOAD;
    segment.p_memsz = bytes;
    std::vector<char> object(sizeof(header) + sizeof(segment));
    memcpy(object.data(), &header, sizeof(header));
    memcpy(object.data() + sizeof(header), &segment, sizeof(segment));
    return object;
  }

  static hsa_executable_t Executable()
  {
    hsa_executable_t made = {};
    EXPECT_EQ(ok, Core<decltype(hsa_executable_create_alt)>(960, HSA_PROFILE_FULL,
                                                            HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT,
                                                            nullptr, &made));
    return made;
  }
  static hsa_code_object_reader_t Reader(const std::vector<char> &object)
  {
    hsa_code_object_reader_t made = {};
    EXPECT_EQ(ok, Core<decltype(hsa_code_object_reader_create_from_memory)>(944, object.data(),
                                                                            object.size(), &made));
    return made;
  }
  static hsa_status_t LoadInto(hsa_executable_t executable, hsa_code_object_reader_t reader)
  {
    return Core<decltype(hsa_executable_load_agent_code_object)>(976, executable, toy_agent(),
                                                                 reader, nullptr, nullptr);
  }
  static void Drop(hsa_code_object_reader_t reader)
  {
    EXPECT_EQ(ok, Core<decltype(hsa_code_object_reader_destroy)>(952, reader));
  }
  static void Destroy(hsa_executable_t executable)
  {
    EXPECT_EQ(ok, Core<decltype(hsa_executable_destroy)>(688, executable));
  }

  std::vector<char> small_, large_;
};

TEST_F(QuotaOfCode, CountsFromLoadingUntilItIsDestroyed)
{
  hsa_executable_t first = Executable(), second = Executable();
  hsa_code_object_reader_t reader = Reader(large_);
  ASSERT_EQ(ok, LoadInto(first, reader));
  EXPECT_EQ(full, LoadInto(second, reader)); // and nothing was frozen
  EXPECT_EQ(40 * mi, toy_live_bytes());
  Left(24 * mi);
  EXPECT_EQ(ok, Core<decltype(hsa_executable_freeze)>(704, first, nullptr));
  Left(24 * mi);
  Destroy(second);
  Destroy(first);
  Drop(reader);
  Left(64 * mi);
}

TEST_F(QuotaOfCode, CountsWhenItCouldNotBeLoaded)
{
  hsa_executable_t executable = Executable();
  hsa_code_object_reader_t reader = Reader(large_);
  toy_code.fails = true;
  EXPECT_EQ(HSA_STATUS_ERROR_INVALID_ARGUMENT, LoadInto(executable, reader));
  EXPECT_EQ(full, LoadInto(executable, reader));
  Left(24 * mi);
  Destroy(executable);
  Drop(reader);
  Left(64 * mi);
}

// A file may change after it was looked at; then all of it counts, and nothing else fits.
TEST_F(QuotaOfCode, CountsWhatIsThereAndNotWhatWasSaid)
{
  MayExceedBy(37 * mi);
  hsa_executable_t executable = Executable();
  hsa_code_object_reader_t reader = Reader(small_);
  toy_code.more = 10 * mi;
  ASSERT_EQ(ok, LoadInto(executable, reader));
  Left(53 * mi);
  toy_code.more = 90 * mi - mi;
  EXPECT_EQ(full, LoadInto(executable, reader));
  EXPECT_EQ(101 * mi, toy_live_bytes());
  Left(0);
  toy_code.more = 0;
  EXPECT_EQ(full, LoadInto(executable, reader));
  Destroy(executable);
  Drop(reader);
  Left(64 * mi);
}

TEST_F(QuotaOfCode, CountsByWhicheverCallItCame)
{
  hsa_executable_t executable = Executable();
  hsa_code_object_t object = {};
  ASSERT_EQ(ok, Core<decltype(hsa_code_object_deserialize)>(632, static_cast<void *>(large_.data()),
                                                            large_.size(), nullptr, &object));
  const auto load = FrontTest::Core<decltype(hsa_executable_load_code_object)>(696);
  ASSERT_EQ(ok, load(executable, toy_agent(), object, nullptr));
  EXPECT_EQ(full, load(executable, toy_agent(), object, nullptr));
  Left(24 * mi);
  Destroy(executable);
  EXPECT_EQ(ok, Core<decltype(hsa_code_object_destroy)>(640, object));

  executable = Executable();
  const int file = memfd_create("object", MFD_CLOEXEC);
  ASSERT_EQ(static_cast<ssize_t>(large_.size()), pwrite(file, large_.data(), large_.size(), 0));
  ASSERT_EQ(static_cast<ssize_t>(large_.size()), pwrite(file, large_.data(), large_.size(), 4096));
  hsa_code_object_reader_t reader = {};
  ASSERT_EQ(ok, Core<decltype(hsa_code_object_reader_create_from_file)>(936, file, &reader));
  ASSERT_EQ(ok, LoadInto(executable, reader));
  EXPECT_EQ(full, LoadInto(executable, reader));
  Destroy(executable);
  Drop(reader);

  // By number, as HIP does.
  executable = Executable();
  hsa_ven_amd_loader_1_02_pfn_t loader = {}, older = {};
  ASSERT_EQ(ok, Core<decltype(hsa_system_get_major_extension_table)>(800, HSA_EXTENSION_AMD_LOADER,
                                                                     1, sizeof(loader),
                                                                     static_cast<void *>(&loader)));
  ASSERT_EQ(ok, Core<decltype(hsa_system_get_extension_table)>(48, HSA_EXTENSION_AMD_LOADER, 1, 2,
                                                               static_cast<void *>(&older)));
  EXPECT_EQ(0, memcmp(&loader, &older, sizeof(loader)));
  /* No more of the file is looked at than tells it: all of this one has no place in memory. */
  ASSERT_EQ(0, ftruncate(file, off_t{1} << 47));
  ASSERT_EQ(ok, loader.hsa_ven_amd_loader_code_object_reader_create_from_file_with_offset_size(
                    file, 4096, large_.size(), &reader));
  ASSERT_EQ(ok, LoadInto(executable, reader));
  EXPECT_EQ(full, LoadInto(executable, reader));
  close(file);
  Drop(reader);
  EXPECT_EQ(full, LoadInto(executable, reader)); // of nobody knows what
  Destroy(executable);
  Left(64 * mi);
  EXPECT_EQ(0u, toy_live_bytes());
}

} // namespace
