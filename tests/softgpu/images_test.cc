// Images as the HSA runtime lays them out: its own kernels write, read, clear and copy them.
#include <hsa/hsa_ext_image.h>

#include "runtime.h"

namespace {

#define IMAGE_FUNCTIONS(F)                                                                         \
  F(hsa_ext_image_data_get_info)                                                                   \
  F(hsa_ext_image_create)                                                                          \
  F(hsa_ext_image_destroy)                                                                         \
  F(hsa_ext_image_import)                                                                          \
  F(hsa_ext_image_export)                                                                          \
  F(hsa_ext_image_clear)                                                                           \
  F(hsa_ext_image_copy)

struct Shape {
  hsa_ext_image_geometry_t geometry;
  size_t width, height, depth, layers; // 0 where the geometry has none
  size_t rows() const { return height ? height : 1; }
  size_t slices() const { return depth ? depth : layers ? layers : 1; }
};

// Some of one block of any layout, others of many.
const Shape shapes[] = {
    {HSA_EXT_IMAGE_GEOMETRY_1D, 1000, 0, 0, 0},   {HSA_EXT_IMAGE_GEOMETRY_2D, 7, 5, 0, 0},
    {HSA_EXT_IMAGE_GEOMETRY_2D, 400, 300, 0, 0},  {HSA_EXT_IMAGE_GEOMETRY_3D, 5, 4, 3, 0},
    {HSA_EXT_IMAGE_GEOMETRY_3D, 90, 50, 30, 0},   {HSA_EXT_IMAGE_GEOMETRY_1DA, 300, 0, 0, 6},
    {HSA_EXT_IMAGE_GEOMETRY_2DA, 130, 70, 0, 18},
};

struct Format {
  hsa_ext_image_channel_order_t order;
  hsa_ext_image_channel_type_t type;
  size_t bytes;
};

const Format formats[] = {
    {HSA_EXT_IMAGE_CHANNEL_ORDER_R, HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT8, 1},
    {HSA_EXT_IMAGE_CHANNEL_ORDER_RG, HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT8, 2},
    {HSA_EXT_IMAGE_CHANNEL_ORDER_BGRA, HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT8, 4},
    {HSA_EXT_IMAGE_CHANNEL_ORDER_RGBA, HSA_EXT_IMAGE_CHANNEL_TYPE_HALF_FLOAT, 8},
    {HSA_EXT_IMAGE_CHANNEL_ORDER_RGBA, HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT, 16},
};

class ImagesOfTheRuntime : public Runtime {
protected:
  struct Image {
    hsa_ext_image_t handle{};
    Shape shape;
    size_t texel;
    size_t bytes() const { return shape.width * shape.rows() * shape.slices() * texel; }
    hsa_ext_image_region_t all() const
    {
      const bool is_rows = shape.geometry == HSA_EXT_IMAGE_GEOMETRY_1DA; // its layers are y
      const auto y = uint32_t(is_rows ? shape.layers : shape.rows());
      return {{0, 0, 0}, {uint32_t(shape.width), y, uint32_t(is_rows ? 1 : shape.slices())}};
    }
  };

#define IMAGE_MEMBER(name) decltype(&::name) name##_fn = nullptr;
  IMAGE_FUNCTIONS(IMAGE_MEMBER)
#undef IMAGE_MEMBER

  void SetUp() override
  {
    Runtime::SetUp();
    if (HasFatalFailure() || IsSkipped())
      return;
    void *library = dlopen("libhsa-runtime64.so.1", RTLD_NOW | RTLD_NOLOAD);
    ASSERT_TRUE(library);
#define IMAGE_FIND(name) name##_fn = (decltype(name##_fn))dlsym(library, #name);
    IMAGE_FUNCTIONS(IMAGE_FIND)
#undef IMAGE_FIND
    dlclose(library);
    bool has_images = false;
    const auto key = hsa_agent_info_t(HSA_EXT_AGENT_INFO_IMAGE_2D_MAX_ELEMENTS);
    uint32_t most[2] = {};
    has_images = hsa_ext_image_create_fn &&
                 hsa->hsa_agent_get_info(gpu, key, most) == HSA_STATUS_SUCCESS && most[0];
    if (!has_images)
      GTEST_SKIP() << "this runtime has no images";
    EXPECT_EQ(most[1], 16384u);
  }

  Image create(const Shape &shape, const Format &format)
  {
    hsa_ext_image_descriptor_t what = {};
    what.geometry = shape.geometry;
    what.width = shape.width;
    what.height = shape.height;
    what.depth = shape.depth;
    what.array_size = shape.layers;
    what.format = {format.type, format.order};
    hsa_ext_image_data_info_t needs = {};
    EXPECT_EQ(hsa_ext_image_data_get_info_fn(gpu, &what, HSA_ACCESS_PERMISSION_RW, &needs),
              HSA_STATUS_SUCCESS);
    auto *memory = static_cast<char *>(device_memory(needs.size + needs.alignment));
    memory += (needs.alignment - uintptr_t(memory) % needs.alignment) % needs.alignment;
    Image image{{}, shape, format.bytes};
    EXPECT_EQ(hsa_ext_image_create_fn(gpu, &what, memory, HSA_ACCESS_PERMISSION_RW, &image.handle),
              HSA_STATUS_SUCCESS);
    return image;
  }

  std::vector<uint8_t> read(const Image &image)
  {
    auto *host = static_cast<uint8_t *>(host_memory(image.bytes()));
    const auto all = image.all();
    EXPECT_EQ(hsa_ext_image_export_fn(gpu, image.handle, host, 0, 0, &all), HSA_STATUS_SUCCESS);
    std::vector<uint8_t> out(host, host + image.bytes());
    release(host);
    return out;
  }

  std::vector<uint8_t> fill(const Image &image)
  {
    auto *host = static_cast<uint8_t *>(host_memory(image.bytes()));
    uint32_t state = 1;
    for (size_t i = 0; i < image.bytes(); ++i) {
      state = state * 1664525 + 1013904223;
      host[i] = uint8_t(state >> 24);
    }
    // No signalling NaNs, nor others: what is read as a float is not what was written.
    for (size_t i = 1; image.texel >= 8 && i < image.bytes(); i += 2)
      host[i] &= 0xbf;
    const auto all = image.all();
    EXPECT_EQ(hsa_ext_image_import_fn(gpu, host, 0, 0, image.handle, &all), HSA_STATUS_SUCCESS);
    std::vector<uint8_t> out(host, host + image.bytes());
    release(host);
    return out;
  }
};

TEST_F(ImagesOfTheRuntime, come_back_as_they_were_written)
{
  for (const Shape &shape : shapes)
    for (const Format &format : formats) {
      SCOPED_TRACE(testing::Message() << "geometry " << shape.geometry << ", " << shape.width
                                      << " wide, texels of " << format.bytes);
      const Image image = create(shape, format);
      ASSERT_NE(image.handle.handle, 0u);
      const auto written = fill(image);
      EXPECT_TRUE(read(image) == written);
      EXPECT_EQ(hsa_ext_image_destroy_fn(gpu, image.handle), HSA_STATUS_SUCCESS);
    }
}

TEST_F(ImagesOfTheRuntime, are_cleared_where_and_as_it_was_asked)
{
  const float orange[4] = {1, 0.2f, 0, 0.4f};
  const uint8_t bgra[4] = {0, 51, 255, 102};
  const Image image = create(shapes[2], formats[2]);
  auto expected = fill(image);
  const hsa_ext_image_region_t region = {{100, 20, 0}, {210, 130, 1}};
  ASSERT_EQ(hsa_ext_image_clear_fn(gpu, image.handle, orange, &region), HSA_STATUS_SUCCESS);
  for (size_t y = 20; y < 150; ++y)
    for (size_t x = 100; x < 310; ++x)
      memcpy(&expected[(y * image.shape.width + x) * 4], bgra, 4);
  EXPECT_TRUE(read(image) == expected);
  EXPECT_EQ(hsa_ext_image_destroy_fn(gpu, image.handle), HSA_STATUS_SUCCESS);
}

TEST_F(ImagesOfTheRuntime, are_copied_to_others)
{
  const Image from = create(shapes[6], formats[3]), to = create(shapes[6], formats[3]);
  const auto written = fill(from);
  auto expected = fill(to);
  const hsa_dim3_t source = {3, 5, 7}, target = {20, 11, 2}, range = {100, 50, 9};
  ASSERT_EQ(hsa_ext_image_copy_fn(gpu, from.handle, &source, to.handle, &target, &range),
            HSA_STATUS_SUCCESS);
  auto at = [&](const hsa_dim3_t &first, size_t x, size_t y, size_t z) {
    return (((first.z + z) * from.shape.height + first.y + y) * from.shape.width + first.x + x) * 8;
  };
  for (size_t z = 0; z < range.z; ++z)
    for (size_t y = 0; y < range.y; ++y)
      memcpy(&expected[at(target, 0, y, z)], &written[at(source, 0, y, z)], range.x * 8);
  EXPECT_TRUE(read(to) == expected);
  for (const Image &image : {from, to})
    EXPECT_EQ(hsa_ext_image_destroy_fn(gpu, image.handle), HSA_STATUS_SUCCESS);
}

} // namespace
