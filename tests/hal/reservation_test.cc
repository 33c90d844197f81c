// Reserved addresses where the runtime has virtual memory, which is one that only says so
// (vmem_runtime.c): what rawhal makes of it.
#include "device_test.h"

#include <rawhal/reservation.h>

#include "tests/harness/allocation_failure.h"

#include <atomic>
#include <dlfcn.h>
#include <thread>

namespace {

constexpr uint64_t granule = 4096, part = 64 << 10;

class Reservation : public DeviceTest {
protected:
  void SetUp() override
  {
    setenv("RAWHAL_RUNTIME_LIBRARY", RAWHAL_VMEM_RUNTIME, 1);
    // What is left of it is what was paid for, whatever the runtime says is free.
    setenv("RAWHAL_MEMORY_LIMIT", "64M", 1);
    DeviceTest::SetUp();
  }

  void TearDown() override
  {
    DeviceTest::TearDown();
    unsetenv("RAWHAL_MEMORY_LIMIT");
    unsetenv("RAWHAL_RUNTIME_LIBRARY");
  }

  static int &number(const char *name)
  {
    static int none;
    void *there = dlsym(RTLD_DEFAULT, name);
    EXPECT_NE(there, nullptr);
    return there ? *static_cast<int *>(there) : none;
  }

  void expect_there(int ranges, int maps)
  {
    EXPECT_EQ(number("vmem_ranges"), ranges);
    EXPECT_EQ(number("vmem_handles"), maps);
    EXPECT_EQ(number("vmem_maps"), maps);
  }

  rawhal_reservation_t *reserve(uint64_t bytes)
  {
    rawhal_reservation_t *made = nullptr;
    EXPECT_OK(rawhal_reservation_create(device, bytes, &made, &error));
    return made;
  }

  rawhal_buffer_t *map(rawhal_reservation_t *in, uint64_t offset, uint64_t bytes)
  {
    rawhal_buffer_t *made = nullptr;
    EXPECT_OK(rawhal_reservation_map(in, offset, bytes, &made, &error));
    return made;
  }

  uint64_t address(const rawhal_reservation_t *of)
  {
    rawhal_reservation_info_t info = {};
    info.size = sizeof(info);
    rawhal_reservation_info(of, &info);
    return info.address;
  }

  uint64_t available() { return device_memory(device).available; }
};

TEST_F(Reservation, WhatIsMappedIsOneRangeToKernels)
{
  rawhal_reservation_t *range = reserve(4 * part - 1);
  rawhal_reservation_info_t info = {};
  info.size = sizeof(info);
  rawhal_reservation_info(range, &info);
  EXPECT_EQ(info.bytes, 4 * part);
  EXPECT_EQ(info.granule, granule);
  rawhal_buffer_t *first = map(range, 0, part), *second = map(range, part, part);
  EXPECT_EQ(rawhal_buffer_address(first), info.address);
  EXPECT_EQ(rawhal_buffer_address(second), info.address + part);
  EXPECT_EQ(rawhal_buffer_size(second), part);
  EXPECT_EQ(rawhal_buffer_host(second), nullptr);
  expect_there(1, 2);
  // Dwords up to the second part's end.
  constexpr uint32_t count = 2 * part / 4;
  Blob blob;
  blob.add(info.address).add(count).add(1u).add(9u);
  ASSERT_OK(
      run(queue(), dispatch_of(kernel("write_ids-gfx90a-v5.co", "write_ids"), count, 64, blob)));
  EXPECT_EQ(download<uint32_t>(first, part / 4)[5], 14u);
  EXPECT_EQ(download<uint32_t>(second, part / 4).back(), count - 1 + 9);
  rawhal_buffer_free(first);
  expect_there(1, 1);
  EXPECT_EQ(download<uint32_t>(second, part / 4).back(), count - 1 + 9);
  first = map(range, 0, part); // the same place, other memory
  EXPECT_EQ(rawhal_buffer_address(first), info.address);
  rawhal_buffer_free(first);
  rawhal_buffer_free(first);
  rawhal_buffer_free(second);
  rawhal_reservation_destroy(range);
  expect_there(0, 0);
}

TEST_F(Reservation, MemoryCountsOnceAndAddressesDoNot)
{
  const uint64_t before = available();
  rawhal_reservation_t *range = reserve(32 << 20);
  EXPECT_EQ(available(), before);
  rawhal_buffer_t *made = map(range, 8 * part, part), *none = nullptr;
  EXPECT_EQ(available(), before - part);
  EXPECT_EQ(rawhal_reservation_map(range, 8 * part, part, &none, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(none, nullptr);
  EXPECT_EQ(available(), before - part);
  rawhal_buffer_t *large = nullptr;
  ASSERT_OK(rawhal_buffer_allocate(device, RAWHAL_MEMORY_DEVICE, 31 << 20, &large, &error));
  buffers.push_back(large);
  rawhal_buffer_t *more = nullptr;
  ASSERT_OK(rawhal_buffer_allocate(device, RAWHAL_MEMORY_DEVICE, 20 << 20, &more, &error));
  buffers.push_back(more);
  EXPECT_EQ(rawhal_reservation_map(range, 0, 8 * part, &none, &error), RAWHAL_OK);
  rawhal_buffer_free(none);
  EXPECT_EQ(rawhal_reservation_map(range, 16 << 20, 16 << 20, &none, &error),
            RAWHAL_QUOTA_EXCEEDED);
  EXPECT_EQ(none, nullptr);
  expect_there(1, 1);
  rawhal_buffer_free(made);
  rawhal_reservation_destroy(range);
}

TEST_F(Reservation, BuffersMayOutliveIt)
{
  rawhal_reservation_t *range = reserve(4 * part);
  const uint64_t base = address(range), before = available();
  rawhal_buffer_t *made = map(range, 0, part);
  rawhal_reservation_destroy(range);
  expect_there(1, 1);
  ASSERT_OK(rawhal_buffer_fill(made, 0, 5, part, &error));
  EXPECT_EQ(download<uint32_t>(made, part / 4), std::vector<uint32_t>(part / 4, 5));
  EXPECT_EQ(rawhal_buffer_address(made), base);
  rawhal_buffer_free(made);
  expect_there(0, 0);
  EXPECT_EQ(available(), before);
}

TEST_F(Reservation, WhatIsWrongMapsNothing)
{
  rawhal_reservation_t *range = reserve(4 * part), *none = nullptr;
  rawhal_buffer_t *there = map(range, part, part), *made = nullptr;
  const struct {
    uint64_t offset, bytes;
    rawhal_status_t status;
  } cases[] = {
      {0, 0, RAWHAL_INVALID_ARGUMENT},
      {1, granule, RAWHAL_INVALID_ARGUMENT},
      {0, granule + 1, RAWHAL_INVALID_ARGUMENT},
      {part - granule, 2 * granule, RAWHAL_INVALID_ARGUMENT},
      {part, granule, RAWHAL_INVALID_ARGUMENT},
      {2 * part - granule, granule, RAWHAL_INVALID_ARGUMENT},
      {0, 4 * part, RAWHAL_INVALID_ARGUMENT},
      {4 * part, granule, RAWHAL_OUT_OF_RANGE},
      {2 * part, 3 * part, RAWHAL_OUT_OF_RANGE},
      {UINT64_MAX - granule + 1, granule, RAWHAL_OUT_OF_RANGE},
  };
  for (const auto &each : cases) {
    EXPECT_EQ(rawhal_reservation_map(range, each.offset, each.bytes, &made, &error), each.status)
        << each.offset << "+" << each.bytes << ": " << error.message;
    EXPECT_EQ(made, nullptr);
  }
  EXPECT_EQ(rawhal_reservation_map(nullptr, 0, granule, &made, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_reservation_map(range, 0, granule, nullptr, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_reservation_create(nullptr, 1, &none, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_reservation_create(device, 0, &none, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_reservation_create(device, UINT64_MAX, &none, &error), RAWHAL_OUT_OF_RANGE);
  EXPECT_EQ(rawhal_reservation_create(device, 1, nullptr, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(none, nullptr);
  EXPECT_EQ(rawhal_buffer_allow(there, &device, 1, &error), RAWHAL_INVALID_ARGUMENT);
  expect_there(1, 1);
  rawhal_buffer_free(there);
  rawhal_reservation_destroy(range);
  rawhal_reservation_destroy(nullptr);
  EXPECT_EQ(address(nullptr), 0u);
}

TEST_F(Reservation, WhatTheRuntimeRefusesLeavesNothing)
{
  rawhal_reservation_t *range = reserve(4 * part), *none = nullptr;
  const uint64_t before = available();
  rawhal_buffer_t *made = nullptr;
  number("vmem_refused") = 1;
  EXPECT_EQ(rawhal_reservation_create(device, part, &none, &error), RAWHAL_OUT_OF_MEMORY);
  for (const int function : {2, 3, 4}) {
    number("vmem_refused") = function;
    EXPECT_EQ(rawhal_reservation_map(range, 0, part, &made, &error),
              function == 2 ? RAWHAL_OUT_OF_MEMORY : RAWHAL_RUNTIME)
        << error.message;
    EXPECT_EQ(made, nullptr);
    expect_there(1, 0);
    EXPECT_EQ(available(), before);
  }
  number("vmem_refused") = 0;
  made = map(range, 0, part);
  rawhal_buffer_free(made);
  number("vmem_missing") = 1;
  EXPECT_EQ(rawhal_reservation_create(device, part, &none, &error), RAWHAL_UNSUPPORTED);
  EXPECT_NE(strstr(error.message, "driver"), nullptr) << error.message;
  number("vmem_missing") = 0;
  EXPECT_EQ(none, nullptr);
  rawhal_reservation_destroy(range);
}

TEST_F(Reservation, EveryAllocationMayFail)
{
  const uint64_t before = available();
  int failed = 0;
  for (int allowed = 0;; ++allowed) {
    rawhal_reservation_t *range = nullptr;
    rawhal_buffer_t *made = nullptr;
    allocations_left = allowed;
    rawhal_status_t status = rawhal_reservation_create(device, part, &range, &error);
    if (status == RAWHAL_OK)
      status = rawhal_reservation_map(range, 0, part, &made, &error);
    allocations_left = -1;
    EXPECT_EQ(made != nullptr, status == RAWHAL_OK);
    rawhal_buffer_free(made);
    rawhal_reservation_destroy(range);
    expect_there(0, 0);
    EXPECT_EQ(available(), before);
    if (status == RAWHAL_OK)
      break;
    ASSERT_EQ(status, RAWHAL_OUT_OF_MEMORY) << error.message;
    ++failed;
  }
  EXPECT_GE(failed, 3); // the reservation, the buffer, the mapping
}

// Each place belongs to one of them at a time.
// No part is two threads' at a time; whoever comes second is refused, and comes again.
TEST_F(Reservation, ThreadsMapAndUnmap)
{
  constexpr uint32_t parts = 8;
  rawhal_reservation_t *range = reserve(parts * granule);
  std::vector<std::thread> all;
  std::atomic<int> owners[parts] = {}, twice{0}, wrong{0}, mapped{0};
  for (uint32_t i = 0; i < 4; ++i)
    all.emplace_back([&, i] {
      rawhal_error_t mine = {};
      for (uint64_t round = 0, done = 0; done < 100; ++round) {
        rawhal_buffer_t *made = nullptr;
        const uint64_t at = (round * 3 + i) % parts;
        const rawhal_status_t status =
            rawhal_reservation_map(range, at * granule, granule, &made, &mine);
        if (status == RAWHAL_INVALID_ARGUMENT)
          continue;
        if (status != RAWHAL_OK) {
          ++wrong;
          return;
        }
        ++done;
        ++mapped;
        twice += owners[at]++ != 0;
        --owners[at];
        rawhal_buffer_free(made);
      }
    });
  for (std::thread &each : all)
    each.join();
  EXPECT_EQ(mapped, 400);
  EXPECT_EQ(twice, 0);
  EXPECT_EQ(wrong, 0);
  expect_there(1, 0);
  rawhal_reservation_destroy(range);
}

} // namespace
