// Kinds of memory, and the quota that they count towards.
#include "pool_fixture.h"

#include <functional>

namespace {

class PoolKinds : public PoolTest {
protected:
  // Kernels write and the host reads, or copies what it cannot reach.
  void use(rawhal_pool_t *from, bool in_place)
  {
    rawhal_queue_t *on = queue();
    const Allocation mine = allocate(from, on, 1024);
    ASSERT_EQ(mine.host != nullptr, in_place);
    Blob arguments;
    arguments.add(mine.address).add(256u).add(1u).add(7u);
    ASSERT_OK(
        run(on, dispatch_of(kernel("write_ids-gfx90a-v5.co", "write_ids"), 256, 64, arguments)));
    std::vector<uint32_t> got(256);
    ASSERT_OK(rawhal_buffer_read(mine.buffer, mine.offset, got.data(), 1024, &error));
    for (uint32_t i = 0; i < 256; ++i) {
      ASSERT_EQ(got[i], i + 7);
      if (in_place) {
        ASSERT_EQ(static_cast<uint32_t *>(mine.host)[i], i + 7);
      }
    }
    if (in_place) {
      EXPECT_EQ(rawhal_buffer_host(mine.buffer),
                static_cast<unsigned char *>(mine.host) - mine.offset);
    }
  }
};

TEST_F(PoolKinds, EachKind)
{
  const struct {
    rawhal_memory_kind_t kind;
    bool in_place;
  } kinds[] = {{RAWHAL_MEMORY_DEVICE, false},
               {RAWHAL_MEMORY_HOST, true},
               {RAWHAL_MEMORY_HOST_COARSE, true},
               {RAWHAL_MEMORY_DEVICE_MAPPED, true}};
  for (const auto &each : kinds)
    use(pool(4 * mib, mib, each.kind), each.in_place);
}

// Whether there is any depends on the runtime; where there is none it says what it has looked for.
TEST_F(PoolKinds, ThoseThatARuntimeMayLack)
{
  for (rawhal_memory_kind_t kind : {RAWHAL_MEMORY_DEVICE_FINE, RAWHAL_MEMORY_DEVICE_UNCACHED}) {
    rawhal_pool_options_t options = {};
    options.kind = kind;
    options.slab_bytes = mib;
    rawhal_pool_t *made = nullptr;
    const rawhal_status_t status = rawhal_pool_create(device, &options, &made, &error);
    if (status == RAWHAL_OK) {
      pools.push_back(made);
      use(made, false);
      continue;
    }
    EXPECT_EQ(status, RAWHAL_UNSUPPORTED);
    EXPECT_EQ(made, nullptr);
    EXPECT_NE(strstr(error.message, kind == RAWHAL_MEMORY_DEVICE_FINE
                                        ? "no fine-grained device memory for device"
                                        : "no uncached device memory for device"),
              nullptr)
        << error.message;
  }
}

TEST_F(PoolKinds, BuffersHaveThemToo)
{
  rawhal_buffer_t *mapped = buffer(4096, RAWHAL_MEMORY_DEVICE_MAPPED);
  auto *host = static_cast<uint32_t *>(rawhal_buffer_host(mapped));
  ASSERT_NE(host, nullptr);
  ASSERT_OK(rawhal_buffer_fill(mapped, 0, 0x1234, 4096, &error));
  EXPECT_EQ(host[1023], 0x1234u);
  host[0] = 5;
  EXPECT_EQ(download<uint32_t>(mapped, 1)[0], 5u);
  ASSERT_OK(rawhal_buffer_allow(mapped, &device, 1, &error));
  rawhal_buffer_t *coarse = buffer(4096, RAWHAL_MEMORY_HOST_COARSE);
  ASSERT_OK(rawhal_buffer_copy(coarse, 0, mapped, 0, 4096, &error));
  EXPECT_EQ(static_cast<uint32_t *>(rawhal_buffer_host(coarse))[0], 5u);
}

class PoolQuota : public PoolKinds {
protected:
  void SetUp() override
  {
    ASSERT_OK(rawhal_limit_config_create(&limits, &error));
    ASSERT_OK(rawhal_limit_config_set(limits, RAWHAL_LIMIT_MEMORY, 8 * mib, &error));
    rawhal_instance_options_t options = {};
    options.backend = RAWHAL_BACKEND_SOFTGPU;
    options.softgpu_options = "gpus=1,vram_mib=64";
    options.limits = limits;
    ASSERT_OK(rawhal_instance_create(&options, &instance, &error));
    device = rawhal_instance_device(instance, 0);
  }

  void TearDown() override
  {
    PoolTest::TearDown();
    rawhal_limit_config_destroy(limits);
  }

  rawhal_limit_config_t *limits = nullptr;

  uint64_t used()
  {
    uint64_t quota, bytes;
    rawhal_limiter_memory(rawhal_device_limiter(device), &quota, &bytes);
    EXPECT_EQ(quota, 8 * mib);
    return bytes;
  }
};

TEST_F(PoolQuota, SlabsCountOnceAndUntilTheyAreGivenBack)
{
  rawhal_pool_t *from = pool(0, mib);
  const uint64_t before = used();
  std::vector<Allocation> all;
  for (int i = 0; i < 24; ++i)
    all.push_back(allocate(from, nullptr, mib / 4));
  EXPECT_EQ(used() - before, 6 * mib);
  EXPECT_EQ(info(from).reserved_bytes, 6 * mib);
  EXPECT_EQ(refused(from, nullptr, 4 * mib), RAWHAL_QUOTA_EXCEEDED);
  EXPECT_EQ(used() - before, 6 * mib);
  for (const Allocation &each : all)
    give(from, nullptr, each);
  EXPECT_EQ(used() - before, 6 * mib);
  // Slabs that are free, and too small, make room for one that is not.
  const Allocation large = allocate(from, nullptr, 7 * mib);
  EXPECT_EQ(used() - before, 7 * mib);
  give(from, nullptr, large);
  EXPECT_EQ(rawhal_pool_trim(from, 0), 7 * mib);
  EXPECT_EQ(used(), before);
  (void)allocate(from, nullptr, 100);
  rawhal_pool_t *host = pool(0, 16 * mib, RAWHAL_MEMORY_HOST);
  (void)allocate(host, nullptr, 100);
  EXPECT_EQ(used() - before, mib);
  rawhal_pool_destroy(from);
  pools.erase(pools.begin());
  EXPECT_EQ(used(), before);
}

// A slab of the usual size would be too much, one for this alone is not.
TEST_F(PoolQuota, ASlabIsSmallerWhereTheUsualOneDoesNotFit)
{
  rawhal_pool_t *from = pool(0, 32 * mib);
  const uint64_t before = used();
  (void)allocate(from, nullptr, mib);
  const uint64_t first = info(from).reserved_bytes;
  EXPECT_GE(first, 4 * mib); // a half, a quarter ..
  EXPECT_LE(first, 8 * mib);
  EXPECT_EQ(refused(from, nullptr, 16 * mib), RAWHAL_QUOTA_EXCEEDED);
  EXPECT_EQ(info(from).reserved_bytes, first);
  EXPECT_EQ(used(), before + first);
}

} // namespace
