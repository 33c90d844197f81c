// Arguments made by a builder: a kernel's own, and blocks that a kernel reads from device memory.
#include "device_test.h"

#include <numeric>

namespace {

struct Product {
  uint32_t m, n, k;
  float beta;
  bool negate;
  uint64_t row;
  std::vector<float> c, a, b;
  rawhal_buffer_t *at[3] = {};
};

// Small whole numbers: sums are exact in any order.
std::vector<float> numbers(size_t count, unsigned seed)
{
  std::vector<float> made(count);
  for (size_t i = 0; i < count; ++i)
    made[i] = static_cast<float>(static_cast<int>((i * 7 + seed * 13) % 11) - 5);
  return made;
}

std::vector<float> expected(const Product &p)
{
  std::vector<float> c = p.c;
  for (uint32_t i = 0; i < p.m; ++i)
    for (uint32_t j = 0; j < p.n; ++j) {
      float sum = 0;
      for (uint32_t x = 0; x < p.k; ++x)
        sum += p.a[i * p.k + x] * p.b[x * p.n + j];
      c[i * p.row + j] = p.beta * c[i * p.row + j] + (p.negate ? -sum : sum);
    }
  return c;
}

class Grouped : public DeviceTest {
protected:
  void SetUp() override
  {
    DeviceTest::SetUp();
    rawhal_executable_t *executable = load("grouped-gfx90a-v5.co");
    ASSERT_NE(nullptr, executable);
    ASSERT_OK(rawhal_executable_kernel(executable, RAWHAL_STRING("product"), 0, &product, &error));
    ASSERT_OK(rawhal_executable_kernel(executable, RAWHAL_STRING("grouped"), 0, &grouped, &error));
    unsigned seed = 0;
    for (auto [m, n, k] :
         {std::tuple{5u, 7u, 3u}, {1u, 1u, 1u}, {16u, 16u, 16u}, {33u, 2u, 40u}, {8u, 31u, 0u}}) {
      Product p = {m, n, k, seed % 2 ? 0.5f : 2.0f, seed % 3 == 1, n + seed, {}, {}, {}, {}};
      p.c = numbers(m * p.row, ++seed);
      p.a = numbers(m * k + 1, ++seed);
      p.b = numbers(k * n + 1, ++seed);
      p.at[0] = upload(p.c), p.at[1] = upload(p.a), p.at[2] = upload(p.b);
      products.push_back(p);
    }
  }

  static void append(rawhal_builder_t *builder, const Product &p)
  {
    RAWHAL_APPEND_NAMED(builder, "c", rawhal_buffer_address(p.at[0]));
    RAWHAL_APPEND_NAMED(builder, "a", rawhal_buffer_address(p.at[1]));
    RAWHAL_APPEND_NAMED(builder, "b", rawhal_buffer_address(p.at[2]));
    RAWHAL_APPEND_NAMED(builder, "m", p.m);
    RAWHAL_APPEND_NAMED(builder, "n", p.n);
    RAWHAL_APPEND_NAMED(builder, "k", p.k);
    RAWHAL_APPEND_NAMED(builder, "beta", p.beta);
    RAWHAL_APPEND_NAMED(builder, "negate", p.negate);
    RAWHAL_APPEND_NAMED(builder, "row", p.row);
  }

  rawhal_builder_t *build(const rawhal_device_kernel_t *kernel, size_t stride = 0)
  {
    rawhal_builder_options_t options = {};
    options.stride = stride;
    rawhal_builder_t *builder = nullptr;
    EXPECT_OK(rawhal_builder_create(rawhal_device_kernel_info(kernel)->layout, &options, &builder,
                                    &error));
    return builder;
  }

  rawhal_dispatch_t dispatch_of(const rawhal_device_kernel_t *kernel, rawhal_bytes_t blob,
                                uint32_t items, uint32_t y)
  {
    rawhal_dispatch_t dispatch = {};
    dispatch.kernel = kernel;
    dispatch.work_items[0] = (items + 63) / 64 * 64;
    dispatch.work_items[1] = y;
    dispatch.work_items[2] = 1;
    dispatch.workgroup[0] = 64;
    dispatch.workgroup[1] = dispatch.workgroup[2] = 1;
    dispatch.blob = blob.data;
    dispatch.blob_size = blob.size;
    return dispatch;
  }

  void expect_all()
  {
    for (const Product &p : products)
      EXPECT_EQ(expected(p), download<float>(p.at[0], p.c.size()))
          << p.m << " x " << p.n << " x " << p.k;
  }

  const rawhal_device_kernel_t *product = nullptr, *grouped = nullptr;
  std::vector<Product> products;
};

} // namespace

// One builder, emptied for each.
TEST_F(Grouped, ProductsByTheirOwnArguments)
{
  rawhal_queue_t *on = queue();
  rawhal_builder_t *builder = build(product);
  for (const Product &p : products) {
    rawhal_bytes_t blob;
    rawhal_builder_reset(builder);
    append(builder, p);
    ASSERT_OK(rawhal_builder_finish(builder, &blob, &error));
    EXPECT_EQ(56u, blob.size);
    ASSERT_OK(run(on, dispatch_of(product, blob, p.m * p.n, 1)));
  }
  rawhal_builder_destroy(builder);
  expect_all();
}

// One kernel for all, whose arguments are blocks in a buffer that the queue writes.
TEST_F(Grouped, ProductsByBlocksInDeviceMemory)
{
  for (size_t stride : {0, 256}) {
    SCOPED_TRACE(stride);
    rawhal_queue_t *on = queue();
    rawhal_builder_t *blocks = build(product, stride), *own = build(grouped);
    uint32_t most = 0;
    for (Product &p : products) {
      ASSERT_OK(rawhal_buffer_write(p.at[0], 0, p.c.data(), p.c.size() * sizeof(float), &error));
      append(blocks, p);
      ASSERT_EQ(RAWHAL_OK, rawhal_builder_next(blocks));
      most = std::max(most, p.m * p.n);
    }
    rawhal_bytes_t bytes, blob;
    ASSERT_OK(rawhal_builder_finish(blocks, &bytes, &error));
    rawhal_builder_info_t info = {};
    rawhal_builder_info(blocks, &info);
    EXPECT_EQ(stride ? stride : 56, info.stride);
    EXPECT_EQ(products.size(), info.blocks);
    EXPECT_EQ(products.size() * info.stride, bytes.size);

    rawhal_buffer_t *groups = buffer(bytes.size);
    ASSERT_OK(
        rawhal_queue_write(on, groups, 0, bytes.data, bytes.size, RAWHAL_FOREVER, nullptr, &error));
    RAWHAL_APPEND_NAMED(own, "groups", rawhal_buffer_address(groups));
    RAWHAL_APPEND_NAMED(own, "stride", uint64_t{info.stride});
    ASSERT_OK(rawhal_builder_finish(own, &blob, &error));
    ASSERT_OK(run(on, dispatch_of(grouped, blob, most, static_cast<uint32_t>(info.blocks))));
    rawhal_builder_destroy(blocks);
    rawhal_builder_destroy(own);
    expect_all();
  }
}
