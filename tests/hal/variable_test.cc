// Variables of executables by name, and those that an object needs of others.
#include "device_test.h"

namespace {

class Variables : public DeviceTest {
protected:
  struct Place {
    uint64_t address = 0, size = 0;
  };

  Place variable(const rawhal_executable_t *of, const char *name)
  {
    Place place;
    EXPECT_OK(
        rawhal_executable_variable(of, rawhal_string(name), &place.address, &place.size, &error));
    return place;
  }

  rawhal_status_t load_with(const std::string &fixture,
                            const std::vector<rawhal_external_t> &externals,
                            rawhal_executable_t **loaded)
  {
    rawhal_executable_options_t options = {};
    options.size = sizeof(options);
    options.externals = externals.data();
    options.external_count = externals.size();
    options.external_size = sizeof(rawhal_external_t);
    std::vector<char> bytes = fixture_bytes(fixture);
    rawhal_hsaco_t *hsaco = nullptr;
    EXPECT_OK(rawhal_hsaco_open(bytes.data(), bytes.size(), nullptr, &hsaco, &error));
    rawhal_status_t status = rawhal_executable_load_with(device, hsaco, &options, loaded, &error);
    rawhal_hsaco_close(hsaco);
    if (*loaded)
      executables.push_back(*loaded);
    EXPECT_EQ(*loaded == nullptr, status != RAWHAL_OK);
    return status;
  }

  // Runs a kernel of one work-item that takes `out` and perhaps a number; out's first two.
  std::vector<uint32_t> run_kernel(rawhal_executable_t *of, const char *name, bool number = false)
  {
    const rawhal_device_kernel_t *found = nullptr;
    EXPECT_OK(rawhal_executable_kernel(of, rawhal_string(name), 0, &found, &error));
    rawhal_buffer_t *out = buffer(8);
    Blob blob;
    blob.add(rawhal_buffer_address(out));
    if (number)
      blob.add(1u);
    EXPECT_OK(run(queue(), dispatch_of(found, 1, 1, blob)));
    return download<uint32_t>(out, 2);
  }

  rawhal_external_t external(const char *name, uint64_t address)
  {
    return {rawhal_string(name), address};
  }

  bool said(const char *part) { return std::string(error.message).find(part) != std::string::npos; }
};

TEST_F(Variables, AreWhereKernelsUseThem)
{
  rawhal_executable_t *loaded = load("variables-gfx90a-v5.co");
  Place counter = variable(loaded, "counter"), table = variable(loaded, "table");
  EXPECT_EQ(counter.size, 4u);
  EXPECT_EQ(table.size, 24u);
  EXPECT_EQ(variable(loaded, "primes").size, 12u);
  EXPECT_EQ(run_kernel(loaded, "use_variables"), (std::vector<uint32_t>{42, 21 + 10}));

  rawhal_buffer_t *mine = nullptr;
  ASSERT_OK(rawhal_buffer_import(device, reinterpret_cast<void *>(counter.address), counter.size,
                                 &mine, &error));
  buffers.push_back(mine);
  EXPECT_EQ(download<uint32_t>(mine, 1)[0], 42u);
  ASSERT_OK(rawhal_buffer_fill(mine, 0, 99, 4, &error));
  EXPECT_EQ(run_kernel(loaded, "use_variables")[0], 100u);
}

TEST_F(Variables, OthersAreNotFound)
{
  rawhal_executable_t *loaded = load("variables-gfx90a-v5.co");
  uint64_t address = 1, size = 1;
  EXPECT_EQ(rawhal_executable_variable(loaded, RAWHAL_STRING("contour"), &address, &size, &error),
            RAWHAL_NOT_FOUND);
  EXPECT_TRUE(said("no variable 'contour'; nearest: 'counter'")) << error.message;
  EXPECT_EQ(address, 0u);
  EXPECT_EQ(size, 0u);
  for (const char *name : {"use_variables", "use_variables.kd"}) {
    EXPECT_EQ(rawhal_executable_variable(loaded, rawhal_string(name), &address, &size, &error),
              RAWHAL_NOT_FOUND);
    EXPECT_TRUE(said("is a kernel")) << error.message;
  }
  EXPECT_EQ(rawhal_executable_variable(loaded, {"counter\0", 8}, &address, &size, &error),
            RAWHAL_NOT_FOUND);
  EXPECT_EQ(rawhal_executable_variable(loaded, {nullptr, 0}, nullptr, nullptr, &error),
            RAWHAL_NOT_FOUND);
  EXPECT_EQ(rawhal_executable_variable(nullptr, RAWHAL_STRING("a"), nullptr, nullptr, &error),
            RAWHAL_INVALID_ARGUMENT);
}

TEST_F(Variables, OfOneObjectForAnother)
{
  rawhal_executable_t *owner = load("variables-gfx90a-v5.co"), *user = nullptr;
  Place counter = variable(owner, "counter"), table = variable(owner, "table");
  ASSERT_OK(load_with("externals-gfx90a-v5.co",
                      {external("shared_table", table.address), external("nobody_needs_it", 64),
                       external("shared_counter", counter.address)},
                      &user));
  EXPECT_EQ(variable(user, "shared_table").address, table.address);
  EXPECT_EQ(variable(user, "shared_table").size, 0u);
  EXPECT_EQ(run_kernel(user, "use_externals", true), (std::vector<uint32_t>{42, 2}));
  EXPECT_EQ(run_kernel(owner, "use_variables")[0], 43u);
}

TEST_F(Variables, AnAddressWithinOne)
{
  rawhal_executable_t *user = nullptr;
  rawhal_buffer_t *table = upload(std::vector<uint32_t>{10, 11, 12, 13, 14, 15, 16, 17});
  EXPECT_EQ(load_with("externals_within-gfx90a-v5.co", {}, &user), RAWHAL_NOT_FOUND);
  EXPECT_TRUE(said("'shared_table'")) << error.message;
  ASSERT_OK(load_with("externals_within-gfx90a-v5.co",
                      {external("shared_table", rawhal_buffer_address(table))}, &user));
  EXPECT_EQ(run_kernel(user, "use_third")[0], 13u);
}

TEST_F(Variables, TheSameBytesForOtherAddressesAreLoadedApart)
{
  rawhal_buffer_t *one = upload(std::vector<uint32_t>(16, 100));
  rawhal_buffer_t *two = upload(std::vector<uint32_t>(16, 200));
  auto externals = [&](rawhal_buffer_t *table) {
    return std::vector<rawhal_external_t>{
        external("shared_counter", rawhal_buffer_address(one) + 32),
        external("shared_table", rawhal_buffer_address(table))};
  };
  rawhal_executable_t *first = nullptr, *second = nullptr, *again = nullptr;
  ASSERT_OK(load_with("externals-gfx90a-v5.co", externals(one), &first));
  ASSERT_OK(load_with("externals-gfx90a-v5.co", externals(two), &second));
  std::vector<rawhal_external_t> otherwise = externals(one);
  std::swap(otherwise[0], otherwise[1]);
  otherwise.push_back(external("nobody_needs_it", 64));
  ASSERT_OK(load_with("externals-gfx90a-v5.co", otherwise, &again));
  EXPECT_NE(first, second);
  EXPECT_EQ(first, again);
  EXPECT_EQ(run_kernel(first, "use_externals", true), (std::vector<uint32_t>{101, 100}));
  EXPECT_EQ(run_kernel(second, "use_externals", true), (std::vector<uint32_t>{102, 200}));
}

TEST_F(Variables, WhatAnObjectNeedsIsAFact)
{
  const std::pair<const char *, std::vector<std::string>> needed[] = {
      {"variables-gfx90a-v5.co", {}},
      {"externals-gfx90a-v5.co", {"shared_counter", "shared_table"}},
      {"externals_within-gfx90a-v5.co", {"shared_table"}}};
  for (const auto &[fixture, expected] : needed) {
    std::vector<char> bytes = fixture_bytes(fixture);
    rawhal_hsaco_t *hsaco = nullptr;
    ASSERT_OK(rawhal_hsaco_open(bytes.data(), bytes.size(), nullptr, &hsaco, &error));
    std::vector<std::string> names;
    const rawhal_relocation_t *relocation;
    for (size_t i = 0; (relocation = rawhal_hsaco_relocation(hsaco, i)); ++i)
      if (relocation->external)
        names.emplace_back(relocation->symbol.data, relocation->symbol.size);
    EXPECT_EQ(names, expected) << fixture;
    rawhal_hsaco_close(hsaco);
  }
}

TEST_F(Variables, WhatIsNotSuppliedRightIsSaid)
{
  rawhal_executable_t *loaded = nullptr;
  EXPECT_EQ(load_with("externals-gfx90a-v5.co", {external("shared_table", 4096)}, &loaded),
            RAWHAL_NOT_FOUND);
  EXPECT_TRUE(said("'shared_counter'")) << error.message;
  EXPECT_FALSE(said("nearest")) << error.message;
  EXPECT_EQ(load_with("externals-gfx90a-v5.co",
                      {external("shared_table", 4096), external("shard_counter", 4096)}, &loaded),
            RAWHAL_NOT_FOUND);
  EXPECT_TRUE(said("'shared_counter'") && said("; nearest: 'shard_counter'")) << error.message;
  EXPECT_EQ(load_with("externals-gfx90a-v5.co", {external("shared_table", 0)}, &loaded),
            RAWHAL_INVALID_ARGUMENT);
  EXPECT_TRUE(said("'shared_table', has the address 0")) << error.message;
  EXPECT_EQ(load_with("externals-gfx90a-v5.co", {external("a", 8), external("a", 8)}, &loaded),
            RAWHAL_INVALID_ARGUMENT);
  EXPECT_TRUE(said("'a' is given twice")) << error.message;
  EXPECT_EQ(load_with("externals-gfx90a-v5.co", {{{"a\0b", 3}, 8}}, &loaded),
            RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(load_with("externals-gfx90a-v5.co", {{{nullptr, 0}, 8}}, &loaded),
            RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(load_with("variables-gfx90a-v5.co", {external("counter", 8)}, &loaded),
            RAWHAL_INVALID_ARGUMENT);
  EXPECT_TRUE(said("'counter' is a variable that the code object defines itself")) << error.message;

  std::vector<char> bytes = fixture_bytes("externals-gfx90a-v5.co");
  rawhal_hsaco_t *hsaco = nullptr;
  ASSERT_OK(rawhal_hsaco_open(bytes.data(), bytes.size(), nullptr, &hsaco, &error));
  EXPECT_EQ(rawhal_executable_load(device, hsaco, &loaded, &error), RAWHAL_NOT_FOUND);
  rawhal_executable_options_t options = {};
  options.external_count = 1;
  EXPECT_EQ(rawhal_executable_load_with(device, hsaco, &options, &loaded, &error),
            RAWHAL_INVALID_ARGUMENT);
  rawhal_external_t one = external("shared_table", 4096);
  options.externals = &one;
  options.external_size = 8;
  EXPECT_EQ(rawhal_executable_load_with(device, hsaco, &options, &loaded, &error),
            RAWHAL_INVALID_ARGUMENT);
  rawhal_hsaco_close(hsaco);
}

} // namespace
