// Builders that are destroyed, and what they have as a string.
#ifndef RAWHAL_TESTS_KERNARG_BUILDER_TEST_H
#define RAWHAL_TESTS_KERNARG_BUILDER_TEST_H

#include <gtest/gtest.h>

#include <rawhal/builder.h>

#include "kernel_builder.h"

namespace kernarg_test {

struct BuilderDeleter {
  void operator()(rawhal_builder_t *builder) const { rawhal_builder_destroy(builder); }
};
using Builder = std::unique_ptr<rawhal_builder_t, BuilderDeleter>;

inline Builder Build(const rawhal_kernarg_layout_t *layout,
                     const rawhal_builder_options_t *options = nullptr)
{
  rawhal_builder_t *builder = nullptr;
  rawhal_error_t error = {};
  EXPECT_EQ(RAWHAL_OK, rawhal_builder_create(layout, options, &builder, &error)) << error.message;
  return Builder(builder);
}

inline std::string Finish(const Builder &builder)
{
  rawhal_bytes_t bytes;
  rawhal_error_t error = {};
  EXPECT_EQ(RAWHAL_OK, rawhal_builder_finish(builder.get(), &bytes, &error)) << error.message;
  return bytes.size ? std::string(static_cast<const char *>(bytes.data), bytes.size) : "";
}

// Why it cannot be finished.
inline std::string Refusal(const Builder &builder, rawhal_status_t status)
{
  rawhal_bytes_t bytes = {"x", 1};
  rawhal_error_t error = {};
  EXPECT_EQ(status, rawhal_builder_finish(builder.get(), &bytes, &error)) << error.message;
  EXPECT_EQ(status, error.status);
  EXPECT_EQ(nullptr, bytes.data);
  EXPECT_EQ(0u, bytes.size);
  return error.message;
}

inline rawhal_builder_info_t Info(const Builder &builder)
{
  rawhal_builder_info_t info = {};
  rawhal_builder_info(builder.get(), &info);
  return info;
}

} // namespace kernarg_test

#endif
