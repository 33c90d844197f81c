// Buffers, copies, and what is refused.
#include "device_test.h"

#include <numeric>

namespace {

using Memory = DeviceTest;

TEST_F(Memory, CopiesOfEveryAlignmentAndSize)
{
  constexpr size_t size = 9 << 20; // more than two staging buffers
  std::vector<uint8_t> pattern(size);
  for (size_t i = 0; i < size; ++i)
    pattern[i] = static_cast<uint8_t>(i * 131 + (i >> 12));
  for (rawhal_memory_kind_t kind : {RAWHAL_MEMORY_DEVICE, RAWHAL_MEMORY_HOST}) {
    rawhal_buffer_t *whole = buffer(size, kind), *other = buffer(size, kind);
    ASSERT_OK(rawhal_buffer_write(whole, 0, pattern.data(), size, &error));
    EXPECT_EQ(download<uint8_t>(whole, size), pattern);
    ASSERT_OK(rawhal_buffer_fill(other, 0, 0xA5A5A5A5, size, &error));
    const struct {
      size_t from, to, bytes;
    } cases[] = {{0, 1, 1},           {3, 8191, 4097}, {4096, 4096, 4096},
                 {1, 5 << 20, 65537}, {77, 100, 0},    {2, 6 << 20, 3 << 20}};
    std::vector<uint8_t> expected(size, 0xA5);
    for (const auto &c : cases) {
      ASSERT_OK(rawhal_buffer_copy(other, c.to, whole, c.from, c.bytes, &error));
      std::copy_n(pattern.begin() + static_cast<ptrdiff_t>(c.from), c.bytes,
                  expected.begin() + static_cast<ptrdiff_t>(c.to));
    }
    EXPECT_EQ(download<uint8_t>(other, size), expected);
    uint8_t middle[3] = {1, 2, 3};
    ASSERT_OK(rawhal_buffer_write(whole, 1001, middle, 3, &error));
    uint8_t seen[5] = {};
    ASSERT_OK(rawhal_buffer_read(whole, 1000, seen, 5, &error));
    EXPECT_EQ(seen[0], pattern[1000]);
    EXPECT_EQ(seen[1], 1);
    EXPECT_EQ(seen[3], 3);
    EXPECT_EQ(seen[4], pattern[1004]);
  }
}

TEST_F(Memory, BetweenKinds)
{
  std::vector<uint32_t> values(5000);
  std::iota(values.begin(), values.end(), 1);
  rawhal_buffer_t *host = buffer(20000, RAWHAL_MEMORY_HOST), *local = upload(values);
  ASSERT_OK(rawhal_buffer_copy(host, 0, local, 0, 20000, &error));
  ASSERT_NE(rawhal_buffer_host(host), nullptr);
  EXPECT_EQ(memcmp(rawhal_buffer_host(host), values.data(), 20000), 0);
  static_cast<uint32_t *>(rawhal_buffer_host(host))[7] = 12345;
  ASSERT_OK(rawhal_buffer_copy(local, 0, host, 28, 4, &error));
  EXPECT_EQ(download<uint32_t>(local, 2), (std::vector<uint32_t>{12345, 2}));
  EXPECT_EQ(rawhal_buffer_host(local), nullptr);
}

TEST_F(Memory, HostMemoryIsSeenByKernels)
{
  const rawhal_device_kernel_t *ids = kernel("write_ids-gfx90a-v5.co", "write_ids");
  rawhal_buffer_t *host = buffer(256 * 4, RAWHAL_MEMORY_HOST);
  Blob blob;
  blob.add(rawhal_buffer_address(host)).add(256u).add(1u).add(11u);
  ASSERT_OK(run(queue(), dispatch_of(ids, 256, 64, blob)));
  std::vector<uint32_t> expected(256);
  std::iota(expected.begin(), expected.end(), 11);
  EXPECT_EQ(memcmp(rawhal_buffer_host(host), expected.data(), 1024), 0);
}

TEST_F(Memory, RangesAreChecked)
{
  rawhal_buffer_t *small = buffer(100), *large = buffer(4096);
  uint8_t data[200] = {};
  EXPECT_EQ(rawhal_buffer_size(small), 100u);
  EXPECT_EQ(rawhal_buffer_address(small) % 4096, 0u);
  EXPECT_OK(rawhal_buffer_write(small, 100, data, 0, &error));
  EXPECT_OK(rawhal_buffer_write(small, 0, data, 100, &error));
  EXPECT_EQ(rawhal_buffer_write(small, 1, data, 100, &error), RAWHAL_OUT_OF_RANGE);
  EXPECT_EQ(rawhal_buffer_read(small, 101, data, 0, &error), RAWHAL_OUT_OF_RANGE);
  EXPECT_EQ(rawhal_buffer_read(small, UINT64_MAX, data, 2, &error), RAWHAL_OUT_OF_RANGE);
  EXPECT_EQ(rawhal_buffer_write(small, 0, nullptr, 1, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_buffer_copy(small, 0, large, 4000, 97, &error), RAWHAL_OUT_OF_RANGE);
  EXPECT_EQ(rawhal_buffer_copy(large, 0, small, 0, SIZE_MAX, &error), RAWHAL_OUT_OF_RANGE);
  EXPECT_EQ(rawhal_buffer_copy(large, 0, large, 99, 100, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_buffer_copy(large, 99, large, 0, 100, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_OK(rawhal_buffer_copy(large, 100, large, 0, 100, &error));
  EXPECT_EQ(rawhal_buffer_fill(large, 2, 0, 4, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_buffer_fill(large, 4, 0, 4096, &error), RAWHAL_OUT_OF_RANGE);
}

TEST_F(Memory, FreedBuffersAreRefused)
{
  rawhal_buffer_t *live = buffer(64), *dead = nullptr;
  ASSERT_OK(rawhal_buffer_allocate(device, RAWHAL_MEMORY_DEVICE, 64, &dead, &error));
  rawhal_buffer_free(dead);
  rawhal_buffer_free(dead); // nothing happens
  rawhal_buffer_free(nullptr);
  uint32_t data = 0;
  EXPECT_EQ(rawhal_buffer_address(dead), 0u);
  EXPECT_EQ(rawhal_buffer_size(dead), 0u);
  EXPECT_EQ(rawhal_buffer_address(nullptr), 0u);
  EXPECT_EQ(rawhal_buffer_read(dead, 0, &data, 4, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "the buffer has been freed");
  EXPECT_EQ(rawhal_buffer_copy(live, 0, dead, 0, 4, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_buffer_fill(dead, 0, 0, 4, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_buffer_write(nullptr, 0, &data, 4, &error), RAWHAL_INVALID_ARGUMENT);
}

TEST_F(Memory, MoreThanThereIs)
{
  rawhal_buffer_t *made = nullptr;
  EXPECT_EQ(rawhal_buffer_allocate(device, RAWHAL_MEMORY_DEVICE, SIZE_MAX, &made, &error),
            RAWHAL_OUT_OF_MEMORY);
  EXPECT_EQ(made, nullptr);
  std::vector<rawhal_buffer_t *> filled;
  rawhal_status_t status = RAWHAL_OK;
  for (int i = 0; i < 8 && status == RAWHAL_OK; ++i) { // 8 x 48 MiB into 256 MiB
    status = rawhal_buffer_allocate(device, RAWHAL_MEMORY_DEVICE, 48u << 20, &made, &error);
    if (made)
      filled.push_back(made);
  }
  EXPECT_EQ(status, RAWHAL_OUT_OF_MEMORY);
  EXPECT_GE(filled.size(), 4u);
  EXPECT_EQ(made, nullptr);
  for (rawhal_buffer_t *one : filled)
    rawhal_buffer_free(one);
  EXPECT_NE(buffer(100u << 20), nullptr); // and all of it came back
  EXPECT_EQ(rawhal_buffer_allocate(device, RAWHAL_MEMORY_DEVICE, 0, &made, &error),
            RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_buffer_allocate(nullptr, RAWHAL_MEMORY_DEVICE, 1, &made, &error),
            RAWHAL_INVALID_ARGUMENT);
}

// Debian 12's runtime has no virtual memory, and with later ones softgpu's driver has none.
TEST_F(Memory, AddressesCannotBeReserved)
{
  rawhal_reservation_t *range = nullptr;
  EXPECT_EQ(rawhal_reservation_create(device, 4096, &range, &error), RAWHAL_UNSUPPORTED);
  EXPECT_EQ(range, nullptr);
  EXPECT_NE(strstr(error.message, "runtime"), nullptr) << error.message;
}

} // namespace
