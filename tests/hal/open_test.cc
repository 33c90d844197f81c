// From a path or bytes to an executable in one call, whatever carries the object.
#include "device_test.h"

#include <unistd.h>

namespace {

const char folder[] = RAWHAL_SOURCE_DIR "/tests/fixtures/";

class Open : public DeviceTest {
protected:
  rawhal_status_t open_file(const std::string &name, rawhal_open_options_t options = {})
  {
    options.size = sizeof(options);
    opened = nullptr;
    rawhal_status_t status =
        rawhal_executable_open_file(device, (folder + name).c_str(), &options, &opened, &error);
    return keep(status);
  }

  rawhal_status_t open_bytes(const std::vector<char> &bytes, rawhal_open_options_t options = {})
  {
    options.size = sizeof(options);
    rawhal_status_t status =
        rawhal_executable_open(device, bytes.data(), bytes.size(), &options, &opened, &error);
    return keep(status);
  }

  rawhal_status_t keep(rawhal_status_t status)
  {
    EXPECT_EQ(opened == nullptr, status != RAWHAL_OK);
    if (opened)
      executables.push_back(opened);
    return status;
  }

  bool has(const char *name)
  {
    const rawhal_device_kernel_t *found = nullptr;
    return rawhal_executable_kernel(opened, rawhal_string(name), 0, &found, &error) == RAWHAL_OK;
  }

  bool said(const std::string &part)
  {
    return std::string(error.message).find(part) != std::string::npos;
  }

  static std::vector<char> together(std::initializer_list<const char *> names)
  {
    std::vector<char> all;
    for (const char *name : names) {
      std::vector<char> one = fixture_bytes(name);
      all.insert(all.end(), one.begin(), one.end());
    }
    return all;
  }

  rawhal_executable_t *opened = nullptr;
};

TEST_F(Open, ABareObjectAndOneOfABundle)
{
  ASSERT_OK(open_file("vector_add-gfx90a-v5.co"));
  rawhal_executable_t *bare = opened;
  ASSERT_OK(open_file("vector_add.bundle"));
  EXPECT_EQ(opened, bare); // the same bytes
  ASSERT_OK(open_bytes(fixture_bytes("vector_add.bundle")));
  EXPECT_EQ(opened, bare);
  EXPECT_EQ(rawhal_executable_load(device, rawhal_executable_hsaco(bare), &opened, &error),
            RAWHAL_OK);
  EXPECT_EQ(opened, bare);
  executables.push_back(opened);
}

TEST_F(Open, TheFactsStay)
{
  {
    std::vector<char> bytes = fixture_bytes("vector_add.bundle");
    ASSERT_OK(open_bytes(bytes));
    std::fill(bytes.begin(), bytes.end(), 0);
  }
  const rawhal_hsaco_t *hsaco = rawhal_executable_hsaco(opened);
  ASSERT_NE(hsaco, nullptr);
  const rawhal_kernel_t *facts = rawhal_hsaco_find_kernel(hsaco, RAWHAL_STRING("vector_add"));
  ASSERT_NE(facts, nullptr);
  EXPECT_GE(facts->argument_count, 4u);
  rawhal_buffer_t *a = upload(std::vector<float>(64, 1)), *b = upload(std::vector<float>(64, 2));
  rawhal_buffer_t *c = buffer(256);
  Blob blob;
  blob.add(rawhal_buffer_address(c)).add(rawhal_buffer_address(a));
  blob.add(rawhal_buffer_address(b)).add(64u);
  const rawhal_device_kernel_t *found = nullptr;
  ASSERT_OK(rawhal_executable_kernel(opened, RAWHAL_STRING("vector_add"), 0, &found, &error));
  ASSERT_OK(run(queue(), dispatch_of(found, 64, 64, blob)));
  EXPECT_EQ(download<float>(c, 64), std::vector<float>(64, 3));
  EXPECT_EQ(rawhal_executable_hsaco(nullptr), nullptr);
}

TEST_F(Open, AMismatchListsWhatWasThere)
{
  EXPECT_EQ(open_file("vector_add-gfx942-v5.co"), RAWHAL_TARGET_MISMATCH);
  EXPECT_TRUE(said("gfx942") && said("gfx90a")) << error.message;
  EXPECT_EQ(open_bytes(together({"vector_add-gfx942-v5.co", "vector_add-gfx1030-v5.co"})),
            RAWHAL_TARGET_MISMATCH);
  EXPECT_TRUE(said("among 2") && said("gfx942") && said("gfx1030")) << error.message;
}

TEST_F(Open, AmongEquallyGoodOnesAKernelDecides)
{
  std::vector<char> both =
      together({"vector_add-gfx942-v5.co", "empty-gfx90a-v5.co", "spin-gfx90a-v5.co"});
  EXPECT_EQ(open_bytes(both), RAWHAL_AMBIGUOUS);
  EXPECT_TRUE(said("2 different code objects are for") && said("gfx90a")) << error.message;
  rawhal_open_options_t options = {};
  options.kernel = RAWHAL_STRING("spin");
  ASSERT_OK(open_bytes(both, options));
  EXPECT_TRUE(has("spin") && !has("empty"));
  options.kernel = RAWHAL_STRING("empty");
  ASSERT_OK(open_bytes(both, options));
  EXPECT_TRUE(has("empty") && !has("spin"));
  options.kernel = RAWHAL_STRING("vector_add");
  EXPECT_EQ(open_bytes(both, options), RAWHAL_NOT_FOUND);
  EXPECT_TRUE(said("among 2 has kernel 'vector_add'")) << error.message;
  EXPECT_FALSE(said("nearest")) << error.message;
  for (const char *name : {"spim", "spim.kd"}) { // of what was passed over, too
    options.kernel = rawhal_string(name);
    EXPECT_EQ(open_bytes(both, options), RAWHAL_NOT_FOUND);
    EXPECT_TRUE(said("'; nearest: 'spin'")) << error.message;
  }
  options.kernel = RAWHAL_STRING("empyt");
  EXPECT_EQ(open_bytes(both, options), RAWHAL_NOT_FOUND);
  EXPECT_TRUE(said("'; nearest: 'empty'")) << error.message;
  ASSERT_OK(open_bytes(together({"spin-gfx90a-v5.co", "spin-gfx90a-v5.co"})));
  EXPECT_TRUE(has("spin"));
}

TEST_F(Open, OptionsOfTheParts)
{
  rawhal_container_options_t container = {};
  container.max_objects = 1;
  rawhal_open_options_t options = {};
  options.container = &container;
  EXPECT_EQ(open_file("vector_add.bundle", options), RAWHAL_CAP_EXCEEDED);
  rawhal_hsaco_options_t hsaco = {};
  hsaco.flags = RAWHAL_HSACO_DESCRIPTOR_KERNELS;
  options = {};
  options.hsaco = &hsaco;
  ASSERT_OK(open_file("bare-gfx90a-v5.co", options));
  EXPECT_TRUE(has("bare_store")) << error.message;
  ASSERT_OK(open_file("bare-gfx90a-v5.co"));
  EXPECT_FALSE(has("bare_store"));
  rawhal_buffer_t *memory = upload(std::vector<uint32_t>(16, 7));
  rawhal_external_t externals[] = {
      {RAWHAL_STRING("shared_counter"), rawhal_buffer_address(memory)},
      {RAWHAL_STRING("shared_table"), rawhal_buffer_address(memory) + 16}};
  options = {};
  EXPECT_EQ(open_file("externals-gfx90a-v5.co", options), RAWHAL_NOT_FOUND);
  options.externals = externals;
  options.external_count = 2;
  options.external_size = sizeof(*externals);
  ASSERT_OK(open_file("externals-gfx90a-v5.co", options));
}

TEST_F(Open, WhatIsWrongIsSaid)
{
  EXPECT_EQ(open_file("nobody.co"), RAWHAL_NOT_FOUND);
  EXPECT_TRUE(said("nobody.co")) << error.message;
  EXPECT_NE(open_bytes(std::vector<char>(64, 'x')), RAWHAL_OK);
  EXPECT_EQ(rawhal_executable_open_file(device, nullptr, nullptr, &opened, &error),
            RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_executable_open_file(nullptr, "x", nullptr, &opened, &error),
            RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_executable_open_file(device, "x", nullptr, nullptr, &error),
            RAWHAL_INVALID_ARGUMENT);
}

} // namespace
