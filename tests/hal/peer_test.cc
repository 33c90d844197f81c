// Two devices: who reaches whose memory, copies between them, host memory that both have.
#include "device_test.h"

#include <dlfcn.h>
#include <unistd.h>

#include <numeric>
#include <thread>

namespace {

class Peers : public DeviceTest {
protected:
  const char *softgpu_options() override { return "gpus=2,vram_mib=64,timeout_ms=8000"; }

  void SetUp() override
  {
    DeviceTest::SetUp();
    first = device;
    second = rawhal_instance_device(instance, 1);
    ASSERT_NE(second, nullptr);
  }

  rawhal_buffer_t *buffer_of(rawhal_device_t *on, size_t size,
                             rawhal_memory_kind_t kind = RAWHAL_MEMORY_DEVICE)
  {
    device = on;
    rawhal_buffer_t *made = buffer(size, kind);
    device = first;
    return made;
  }

  rawhal_buffer_t *import_on(rawhal_device_t *on, void *pointer, size_t size)
  {
    rawhal_buffer_t *made = nullptr;
    EXPECT_OK(rawhal_buffer_import(on, pointer, size, &made, &error));
    buffers.push_back(made);
    return made;
  }

  // Has a kernel of `on` write first, first + 1, .. to `count` words at a device address.
  rawhal_status_t write_ids(rawhal_device_t *on, uint64_t address, uint32_t count, uint32_t value)
  {
    const rawhal_device_kernel_t *ids = nullptr;
    device = on;
    ids = kernel("write_ids-gfx90a-v5.co", "write_ids");
    Blob blob;
    blob.add(address).add(count).add(1u).add(value);
    rawhal_status_t status = run(queue(), dispatch_of(ids, count, 64, blob));
    device = first;
    return status;
  }

  static std::vector<uint32_t> from(uint32_t value, size_t count)
  {
    std::vector<uint32_t> values(count);
    std::iota(values.begin(), values.end(), value);
    return values;
  }

  rawhal_device_t *first = nullptr, *second = nullptr;
};

TEST_F(Peers, CopiesInQueueOrderNeedAccess)
{
  rawhal_device_t *first = device, *second = rawhal_instance_device(instance, 1);
  rawhal_buffer_t *here = buffer(4096), *there = nullptr;
  ASSERT_OK(rawhal_buffer_allocate(second, RAWHAL_MEMORY_DEVICE, 4096, &there, &error));
  buffers.push_back(there);
  ASSERT_OK(rawhal_buffer_fill(here, 0, 7, 4096, &error));
  ASSERT_OK(rawhal_buffer_fill(there, 0, 1, 4096, &error));
  rawhal_queue_t *on = queue();
  rawhal_copy_t copy = {0, there, 0, here, 0, 4096};
  rawhal_ticket_t ticket = 0;
  EXPECT_EQ(rawhal_queue_copy(on, &copy, 0, &ticket, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(download<uint32_t>(there, 1)[0], 1u);
  ASSERT_OK(rawhal_buffer_allow(there, &first, 1, &error));
  ASSERT_OK(rawhal_queue_copy(on, &copy, 0, &ticket, &error));
  ASSERT_OK(rawhal_queue_wait(on, ticket, rawhal_deadline_after(20000 * millisecond), &error));
  EXPECT_EQ(download<uint32_t>(there, 1024).back(), 7u);
}

TEST_F(Peers, AccessIsNeededAndSuffices)
{
  EXPECT_TRUE(rawhal_device_can_access(first, second));
  EXPECT_TRUE(rawhal_device_can_access(second, first));
  EXPECT_TRUE(rawhal_device_can_access(first, first));
  EXPECT_FALSE(rawhal_device_can_access(first, nullptr));
  EXPECT_FALSE(rawhal_device_can_access(nullptr, first));
  for (rawhal_memory_kind_t kind : {RAWHAL_MEMORY_DEVICE, RAWHAL_MEMORY_HOST}) {
    rawhal_buffer_t *shared = buffer_of(first, 4096, kind);
    uint64_t address = rawhal_buffer_address(shared);
    ASSERT_OK(write_ids(first, address, 1024, 5));
    EXPECT_EQ(write_ids(second, address, 1024, 7), RAWHAL_FAULT);
    EXPECT_EQ(download<uint32_t>(shared, 1024), from(5, 1024));
    ASSERT_OK(rawhal_buffer_allow(shared, &second, 1, &error));
    EXPECT_EQ(rawhal_buffer_address(shared), address);
    ASSERT_OK(write_ids(second, address, 1024, 7));
    EXPECT_EQ(download<uint32_t>(shared, 1024), from(7, 1024));
    ASSERT_OK(write_ids(first, address, 1024, 9)); // its own still can
    // Again, both, and nobody: those who had access keep it.
    rawhal_device_t *both[] = {second, first, second};
    ASSERT_OK(rawhal_buffer_allow(shared, both, 3, &error));
    ASSERT_OK(rawhal_buffer_allow(shared, nullptr, 0, &error));
    ASSERT_OK(rawhal_buffer_allow(shared, &first, 1, &error));
    ASSERT_OK(write_ids(second, address, 1024, 11));
    EXPECT_EQ(download<uint32_t>(shared, 1024), from(11, 1024));
  }
}

TEST_F(Peers, ThreeDevicesOneAfterTheOther)
{
  rawhal_instance_destroy(instance);
  instance = nullptr;
  rawhal_instance_options_t options = {};
  options.backend = RAWHAL_BACKEND_SOFTGPU;
  options.softgpu_options = "gpus=3,vram_mib=64,timeout_ms=8000";
  ASSERT_OK(rawhal_instance_create(&options, &instance, &error));
  device = first = rawhal_instance_device(instance, 0);
  rawhal_device_t *third = rawhal_instance_device(instance, 2);
  second = rawhal_instance_device(instance, 1);
  rawhal_buffer_t *shared = buffer_of(first, 4096);
  uint64_t address = rawhal_buffer_address(shared);
  ASSERT_OK(rawhal_buffer_allow(shared, &second, 1, &error));
  ASSERT_OK(rawhal_buffer_allow(shared, &third, 1, &error)); // takes nothing from the second
  ASSERT_OK(write_ids(second, address, 64, 1));
  ASSERT_OK(write_ids(third, address + 256, 64, 65));
  EXPECT_EQ(download<uint32_t>(shared, 128), from(1, 128));
}

TEST_F(Peers, WhatCannotBeAllowedIsRefused)
{
  rawhal_buffer_t *mine = buffer(4096);
  rawhal_device_t *hole[] = {second, nullptr};
  EXPECT_EQ(rawhal_buffer_allow(nullptr, &second, 1, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_buffer_allow(mine, nullptr, 1, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_buffer_allow(mine, hole, 2, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_NE(std::string(error.message).find("device 1 of 2"), std::string::npos) << error.message;
  EXPECT_EQ(write_ids(second, rawhal_buffer_address(mine), 1, 1), RAWHAL_FAULT); // all or none
  std::vector<char> memory(4096);
  rawhal_buffer_t *theirs = import_on(first, memory.data(), 4096);
  EXPECT_EQ(rawhal_buffer_allow(theirs, &second, 1, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_NE(std::string(error.message).find("import it"), std::string::npos) << error.message;
  rawhal_buffer_t *freed = nullptr;
  ASSERT_OK(rawhal_buffer_allocate(first, RAWHAL_MEMORY_DEVICE, 64, &freed, &error));
  rawhal_buffer_free(freed);
  EXPECT_EQ(rawhal_buffer_allow(freed, &second, 1, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_NE(std::string(error.message).find("freed"), std::string::npos) << error.message;
}

// Whatever access there is, and in pieces.
TEST_F(Peers, CopiesBetweenTheirMemory)
{
  const size_t words = (5u << 20) / 4; // more than goes through the host at a time
  const size_t bytes = words * 4;
  const std::vector<uint32_t> values = from(3, words);
  for (int access = 0; access < 3; ++access) {
    SCOPED_TRACE(access);
    rawhal_buffer_t *source = buffer_of(first, bytes), *target = buffer_of(second, bytes);
    if (access == 1)
      ASSERT_OK(rawhal_buffer_allow(target, &first, 1, &error));
    if (access == 2)
      ASSERT_OK(rawhal_buffer_allow(source, &second, 1, &error));
    ASSERT_OK(rawhal_buffer_fill(target, 0, 0xabababab, bytes, &error));
    ASSERT_OK(rawhal_buffer_write(source, 0, values.data(), bytes, &error));
    ASSERT_OK(rawhal_buffer_copy(target, 8, source, 4, bytes - 12, &error));
    std::vector<uint32_t> expected(words, 0xabababab);
    std::copy(values.begin() + 1, values.end() - 2, expected.begin() + 2);
    EXPECT_EQ(download<uint32_t>(target, words), expected);
    ASSERT_OK(rawhal_buffer_copy(source, 0, target, 0, bytes, &error)); // and back
    EXPECT_EQ(download<uint32_t>(source, words), expected);
    EXPECT_EQ(rawhal_buffer_copy(target, 4, source, 0, bytes, &error), RAWHAL_OUT_OF_RANGE);
    for (rawhal_buffer_t *&made : buffers) {
      rawhal_buffer_free(made);
      made = nullptr;
    }
  }
}

TEST_F(Peers, CopiesWithHostMemoryOfEither)
{
  const std::vector<uint32_t> values = from(40, 1000);
  rawhal_buffer_t *host = buffer_of(first, 4000, RAWHAL_MEMORY_HOST),
                  *local = buffer_of(second, 4000),
                  *other = buffer_of(second, 4000, RAWHAL_MEMORY_HOST);
  ASSERT_OK(rawhal_buffer_write(host, 0, values.data(), 4000, &error));
  ASSERT_OK(rawhal_buffer_copy(local, 0, host, 0, 4000, &error));
  ASSERT_OK(rawhal_buffer_copy(other, 0, local, 0, 4000, &error));
  EXPECT_EQ(download<uint32_t>(other, 1000), values);
  ASSERT_OK(rawhal_buffer_fill(host, 0, 0, 4000, &error));
  ASSERT_OK(rawhal_buffer_copy(host, 0, other, 0, 4000, &error));
  EXPECT_EQ(download<uint32_t>(host, 1000), values);
}

TEST_F(Peers, OneHostBlockOnBoth)
{
  for (int order = 0; order < 2; ++order) {
    std::vector<uint32_t> memory(1024);
    rawhal_buffer_t *mine[2] = {};
    ASSERT_OK(rawhal_buffer_import(first, memory.data(), 4096, &mine[0], &error));
    ASSERT_OK(rawhal_buffer_import(second, memory.data(), 4096, &mine[1], &error));
    EXPECT_EQ(rawhal_buffer_host(mine[0]), memory.data());
    EXPECT_EQ(rawhal_buffer_host(mine[1]), memory.data());
    ASSERT_OK(write_ids(first, rawhal_buffer_address(mine[0]), 512, 1));
    ASSERT_OK(write_ids(second, rawhal_buffer_address(mine[1]) + 2048, 512, 513));
    EXPECT_EQ(memory, from(1, 1024));
    EXPECT_EQ(rawhal_buffer_copy(mine[0], 0, mine[1], 64, 128, &error), RAWHAL_INVALID_ARGUMENT);
    EXPECT_NE(std::string(error.message).find("overlap"), std::string::npos) << error.message;
    ASSERT_OK(rawhal_buffer_copy(mine[0], 0, mine[1], 64, 64, &error));
    EXPECT_EQ(memory[0], 17u);
    rawhal_buffer_free(mine[order]); // the other's stays
    uint64_t address = rawhal_buffer_address(mine[1 - order]);
    ASSERT_OK(write_ids(order ? first : second, address, 1024, 90));
    EXPECT_EQ(memory, from(90, 1024));
    rawhal_buffer_free(mine[1 - order]);
    EXPECT_EQ(write_ids(order ? first : second, address, 1, 7), RAWHAL_FAULT);
    EXPECT_EQ(memory[0], 90u);
  }
}

TEST_F(Peers, OtherOverlapsAreRefusedThere)
{
  std::vector<char> memory(8192);
  rawhal_buffer_t *made = nullptr;
  import_on(first, memory.data(), 4096);
  EXPECT_EQ(rawhal_buffer_import(second, memory.data(), 4095, &made, &error),
            RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_buffer_import(second, memory.data() + 1, 4096, &made, &error),
            RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_buffer_import(second, memory.data(), 8192, &made, &error),
            RAWHAL_INVALID_ARGUMENT);
  import_on(second, memory.data(), 4096);
  EXPECT_EQ(rawhal_buffer_import(second, memory.data(), 4096, &made, &error),
            RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_buffer_import(first, memory.data(), 4096, &made, &error),
            RAWHAL_INVALID_ARGUMENT);
  import_on(second, memory.data() + 4096, 4096);
}

TEST_F(Peers, ManyThreadsGiveAccess)
{
  rawhal_buffer_t *shared = buffer_of(first, 4096), *other = buffer_of(second, 4096);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      rawhal_error_t mine = {};
      rawhal_device_t *devices[] = {i % 2 ? first : second};
      EXPECT_OK(rawhal_buffer_allow(i % 4 < 2 ? shared : other, devices, 1, &mine));
      EXPECT_OK(rawhal_buffer_copy(shared, 0, other, 0, 4096, &mine));
    });
  for (std::thread &thread : threads)
    thread.join();
  ASSERT_OK(write_ids(second, rawhal_buffer_address(shared), 16, 1));
  ASSERT_OK(write_ids(first, rawhal_buffer_address(other), 16, 1));
}

TEST_F(Peers, AreFoundByTheirHandles)
{
  for (size_t i = 0; i < 2; ++i) {
    rawhal_device_t *mine = rawhal_instance_device(instance, i), *found = nullptr;
    ASSERT_OK(
        rawhal_instance_find_device(instance, rawhal_device_info(mine)->agent, &found, &error));
    EXPECT_EQ(found, mine);
  }
  rawhal_device_t *found = first;
  EXPECT_EQ(rawhal_instance_find_device(instance, 12345, &found, &error), RAWHAL_NOT_FOUND);
  EXPECT_NE(std::string(error.message).find("0x3039"), std::string::npos) << error.message;
  EXPECT_EQ(found, nullptr);
  EXPECT_EQ(rawhal_instance_find_device(nullptr, 1, &found, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_instance_find_device(instance, 1, nullptr, &error), RAWHAL_INVALID_ARGUMENT);
}

TEST_F(Peers, SayWhereTheySit)
{
  const rawhal_device_info_t *a = rawhal_device_info(first), *b = rawhal_device_info(second);
  EXPECT_STREQ(a->uuid, "GPU-736f667467707501"); // softgpu's: its name, and the node
  EXPECT_STREQ(b->uuid, "GPU-736f667467707502");
  EXPECT_NE(a->agent, b->agent);
  EXPECT_EQ(a->pci_domain, 0u);
  EXPECT_EQ(a->pci_bus, 1u);
  EXPECT_EQ(b->pci_bus, 2u);
  EXPECT_EQ(a->pci_device, 0u);
  EXPECT_EQ(a->pci_function, 0u);
  EXPECT_GT(a->clock_mhz, 0u);
  EXPECT_GT(a->memory_clock_mhz, 0u);
  EXPECT_EQ(a->memory_bus_bits, 4096u);
  EXPECT_EQ(a->numa_node, 0);
  EXPECT_EQ(a->cache_bytes[0], 16u << 10);
  EXPECT_EQ(a->cache_bytes[1], 8u << 20);
  EXPECT_EQ(a->cache_bytes[2], 0u);
  EXPECT_EQ(a->cacheline_bytes, 64u);
  EXPECT_EQ(a->simds_per_cu, 4u);
  EXPECT_EQ(a->waves_per_cu, 32u);
}

// Two devices whose use of limits is written down.
class CountedPeers : public Peers {
protected:
  void SetUp() override
  {
    char name[] = "/tmp/rawhal-peers-XXXXXX";
    int file = mkstemp(name);
    ASSERT_GE(file, 0);
    close(file);
    unlink(name);
    region = name;
    rawhal_limit_config_t *limits = nullptr;
    ASSERT_OK(rawhal_limit_config_create(&limits, &error));
    ASSERT_OK(rawhal_limit_config_set(limits, RAWHAL_LIMIT_GPU_SHARE, 1000000, &error));
    ASSERT_OK(rawhal_limit_config_set_name(limits, RAWHAL_LIMIT_NAME_REGION, name, &error));
    rawhal_instance_options_t options = {};
    options.backend = RAWHAL_BACKEND_SOFTGPU;
    options.softgpu_options = softgpu_options();
    options.limits = limits;
    ASSERT_OK(rawhal_instance_create(&options, &instance, &error));
    rawhal_limit_config_destroy(limits);
    ASSERT_OK(rawhal_limit_view_open(region.c_str(), &view, &error));
    device = first = rawhal_instance_device(instance, 0);
    second = rawhal_instance_device(instance, 1);
  }

  void TearDown() override
  {
    rawhal_limit_view_close(view);
    Peers::TearDown();
    unlink(region.c_str());
  }

  uint64_t launches(const rawhal_device_t *of)
  {
    rawhal_limit_row_t rows[16];
    size_t count = rawhal_limit_view_read(view, rows, sizeof(rows[0]), 16);
    for (size_t i = 0; i < count; ++i)
      if (rows[i].level == RAWHAL_LIMIT_LEVEL_DEVICE &&
          !strcmp(rows[i].name, rawhal_device_info(of)->uuid))
        return rows[i].launches;
    return 0;
  }

  std::string region;
  rawhal_limit_view_t *view = nullptr;
};

TEST_F(CountedPeers, WhoCopiesIsCharged)
{
  rawhal_buffer_t *source = buffer_of(first, 4096), *target = buffer_of(second, 4096);
  rawhal_buffer_t *open_source = buffer_of(first, 4096), *open_target = buffer_of(second, 4096);
  ASSERT_OK(rawhal_buffer_allow(open_source, &second, 1, &error));
  ASSERT_OK(rawhal_buffer_allow(open_target, &first, 1, &error));
  for (rawhal_buffer_t *one : {source, target, open_source, open_target}) // leases are there now
    ASSERT_OK(rawhal_buffer_fill(one, 0, 1, 4096, &error));
  const struct {
    rawhal_buffer_t *to, *from;
    uint64_t on_first, on_second;
  } cases[] = {
      {target, source, 1, 1},           // through the host
      {open_target, source, 1, 0},      // the source's device writes
      {target, open_source, 0, 1},      // the target's device reads
      {open_target, open_source, 1, 0}, // both could
  };
  for (const auto &one : cases) {
    uint64_t before[] = {launches(first), launches(second)};
    ASSERT_OK(rawhal_buffer_copy(one.to, 0, one.from, 0, 4096, &error));
    EXPECT_EQ(launches(first) - before[0], one.on_first);
    EXPECT_EQ(launches(second) - before[1], one.on_second);
  }
}

class PatientPeers : public Peers {
protected:
  uint64_t copy_timeout_ns() override { return 250 * millisecond; }
};

// Freeing waits for a transfer that another device was given up with.
TEST_F(PatientPeers, MemoryIsNotFreedUnderAPeersTransfer)
{
  rawhal_buffer_t *source = buffer_of(first, 4096), *target = nullptr;
  ASSERT_OK(rawhal_buffer_fill(source, 0, 3, 4096, &error));
  ASSERT_OK(rawhal_buffer_allocate(second, RAWHAL_MEMORY_DEVICE, 4096, &target, &error));
  ASSERT_OK(rawhal_buffer_allow(target, &first, 1, &error));
  softgpu_call("softgpu_pause");
  EXPECT_EQ(rawhal_buffer_copy(target, 0, source, 0, 4096, &error), RAWHAL_TIMED_OUT);
  std::thread late([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    softgpu_call("softgpu_resume");
  });
  rawhal_buffer_free(target); // a fault of the first device, if it did not wait
  late.join();
  uint32_t seen = 0;
  rawhal_status_t status;
  const uint64_t deadline = rawhal_deadline_after(10000 * millisecond);
  do
    status = rawhal_buffer_read(source, 0, &seen, 4, &error);
  while (status == RAWHAL_TIMED_OUT && rawhal_deadline_after(0) < deadline);
  ASSERT_OK(status);
  EXPECT_EQ(seen, 3u);
}

} // namespace
