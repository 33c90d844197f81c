// The demo's kernarg structs against the argument metadata of the kernels they are for.
#include <cstring>
#include <gtest/gtest.h>
#include <vector>

#include <rawhal/kernarg.h>

#include "tests/tools/demo_rocrand.h"

extern "C" {
#include "tools/demo/rocrand.h"
}

namespace {

struct Layout {
  const char *kernel, *kernel_5_7; // by the library's release, or the same
  size_t blob_size;
  std::vector<uint32_t> offsets;
};

TEST(DemoLayout, TheBlobsAreLaidOutAsTheMetadataSays)
{
  std::string path = demo_rocrand();
  if (path.empty())
    GTEST_SKIP() << "no librocrand under " RAWHAL_BUILD_DIR "/rocrand";
  std::vector<char> object = demo_rocrand_object(path, "gfx90a");
  rawhal_hsaco_t *hsaco;
  rawhal_error_t error;
  ASSERT_EQ(rawhal_hsaco_open(object.data(), object.size(), nullptr, &hsaco, &error), RAWHAL_OK)
      << error.message;

  const Layout layouts[] = {
      {ROCRAND_PHILOX_UINT,
       ROCRAND_5_7_PHILOX_UINT,
       sizeof(rocrand_philox_kernarg_t),
       {offsetof(rocrand_philox_kernarg_t, engine), offsetof(rocrand_philox_kernarg_t, numbers),
        offsetof(rocrand_philox_kernarg_t, count),
        offsetof(rocrand_philox_kernarg_t, distribution)}},
      {ROCRAND_XORWOW_INIT,
       ROCRAND_XORWOW_INIT,
       sizeof(rocrand_xorwow_init_kernarg_t),
       {offsetof(rocrand_xorwow_init_kernarg_t, engines),
        offsetof(rocrand_xorwow_init_kernarg_t, start),
        offsetof(rocrand_xorwow_init_kernarg_t, seed),
        offsetof(rocrand_xorwow_init_kernarg_t, offset)}},
      {ROCRAND_XORWOW_FLOAT,
       ROCRAND_5_7_XORWOW_FLOAT,
       sizeof(rocrand_xorwow_kernarg_t),
       {offsetof(rocrand_xorwow_kernarg_t, engines), offsetof(rocrand_xorwow_kernarg_t, start),
        offsetof(rocrand_xorwow_kernarg_t, numbers), offsetof(rocrand_xorwow_kernarg_t, count),
        offsetof(rocrand_xorwow_kernarg_t, distribution)}},
  };
  for (const Layout &expected : layouts) {
    const rawhal_kernel_t *kernel =
        rawhal_hsaco_find_kernel(hsaco, {expected.kernel, std::strlen(expected.kernel)});
    if (!kernel)
      kernel =
          rawhal_hsaco_find_kernel(hsaco, {expected.kernel_5_7, std::strlen(expected.kernel_5_7)});
    ASSERT_NE(kernel, nullptr) << expected.kernel;
    rawhal_kernarg_layout_t *layout;
    ASSERT_EQ(rawhal_kernarg_layout_create(kernel, 0, &layout, &error), RAWHAL_OK) << error.message;
    const rawhal_kernarg_info_t *info = rawhal_kernarg_layout_info(layout);
    EXPECT_EQ(info->visible_count, expected.offsets.size()) << expected.kernel;
    EXPECT_EQ(info->hidden_count, 0u) << expected.kernel;
    for (size_t i = 0; i < expected.offsets.size(); ++i)
      EXPECT_EQ(rawhal_kernarg_layout_argument(layout, i)->offset, expected.offsets[i])
          << "argument " << i << " of " << expected.kernel;
    std::vector<char> blob(expected.blob_size);
    EXPECT_EQ(rawhal_kernarg_check(layout, blob.data(), blob.size(), 0, &error), RAWHAL_OK)
        << error.message;
    rawhal_kernarg_layout_destroy(layout);
  }
  rawhal_hsaco_close(hsaco);
}

} // namespace
