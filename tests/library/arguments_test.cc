// Wrong calls, no memory, and a child of fork().
#include "library_test.h"

#include "tests/child.h"
#include "tests/harness/allocator.h"

namespace {

class LibraryArguments : public LibraryTest {};

TEST_F(LibraryArguments, WrongCallsAreRefused)
{
  fill(1);
  rawhal_library_t *library = create_with(folder), *none = library;
  const rawhal_device_kernel_t *kernel = nullptr;
  rawhal_library_query_t query = named(numbered(0));
  size_t count = 0;
  EXPECT_EQ(rawhal_library_create(nullptr, nullptr, &none, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(none, nullptr);
  EXPECT_EQ(rawhal_library_create(device, nullptr, nullptr, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_library_add(nullptr, folder.c_str(), &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_library_add(library, nullptr, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_library_add(library, "/nonexistent", &error), RAWHAL_NOT_FOUND);
  EXPECT_EQ(rawhal_library_add(library, "/dev/null", &error), RAWHAL_INVALID_ARGUMENT)
      << error.message;
  EXPECT_EQ(rawhal_library_add_bytes(library, "text", 4, RAWHAL_STRING("x"), &error),
            RAWHAL_MALFORMED)
      << error.message;
  EXPECT_EQ(rawhal_library_kernel(library, nullptr, &kernel, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_library_kernel(library, &query, nullptr, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_library_kernel(nullptr, &query, &kernel, &error), RAWHAL_INVALID_ARGUMENT);
  query.name.size = 0;
  EXPECT_EQ(rawhal_library_kernel(library, &query, &kernel, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_library_find(library, &query, nullptr, 1, 8, &count, &error),
            RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_library_find(library, &query, nullptr, 0, 0, nullptr, &error),
            RAWHAL_INVALID_ARGUMENT);
  rawhal_library_options_t options = {};
  rawhal_hsaco_options_t hsaco = {};
  hsaco.flags = RAWHAL_HSACO_COPY;
  options.hsaco = &hsaco;
  EXPECT_EQ(rawhal_library_create(device, &options, &none, &error), RAWHAL_INVALID_ARGUMENT);
  rawhal_library_release(nullptr, nullptr);
  rawhal_library_release(library, nullptr);
  rawhal_library_destroy(nullptr);
  EXPECT_EQ(rawhal_library_executable(library, nullptr), nullptr);
  const rawhal_device_kernel_t *foreign = this->kernel("empty-gfx90a-v5.co", "empty");
  EXPECT_EQ(rawhal_library_executable(library, foreign), nullptr);
  rawhal_library_release(library, foreign);
}

TEST_F(LibraryArguments, AnUnusableKernelSaysWhy)
{
  write_file(folder / "bare.co", fixture_bytes("bare-gfx90a-v5.co"));
  rawhal_library_t *library = create_with(folder);
  rawhal_hsaco_t *hsaco = nullptr;
  const std::vector<char> bytes = fixture_bytes("bare-gfx90a-v5.co");
  ASSERT_OK(rawhal_hsaco_open(bytes.data(), bytes.size(), nullptr, &hsaco, &error));
  const rawhal_kernel_t *kernel = rawhal_hsaco_kernel(hsaco, 0);
  const std::string name(kernel->symbol.data, kernel->symbol.size);
  EXPECT_FALSE(kernel->usable);
  rawhal_hsaco_close(hsaco);
  const rawhal_device_kernel_t *got = nullptr;
  EXPECT_EQ(get(library, name, &got), RAWHAL_UNSUPPORTED) << error.message;
  EXPECT_EQ(got, nullptr);
  EXPECT_EQ(stats(library).loaded_objects, 1u);
}

TEST_F(LibraryArguments, AChildOfForkIsRefused)
{
  fill(1);
  rawhal_library_t *library = create_with(folder);
  EXPECT_EQ(in_child([&] {
              const rawhal_device_kernel_t *kernel = nullptr;
              const bool refused =
                  get(library, numbered(0), &kernel) == RAWHAL_DEVICE_LOST &&
                  rawhal_library_add(library, "/tmp", &error) == RAWHAL_DEVICE_LOST &&
                  stats(library).files == 0;
              rawhal_library_destroy(library);
              return refused ? 0 : 1;
            }),
            0);
  const rawhal_device_kernel_t *kernel = nullptr;
  EXPECT_OK(get(library, numbered(0), &kernel));
}

// 0, 1, 2.. blocks, and then there is no more memory: every call fails cleanly, and what it began is gone.
class LibraryMemory : public testing::TestWithParam<bool> {};

TEST_P(LibraryMemory, OfEverythingMayFail)
{
  const bool cached = GetParam();
  char name[] = "/tmp/rawhal-library-XXXXXX";
  ASSERT_NE(mkdtemp(name), nullptr);
  const fs::path folder = fs::path(name) / "objects";
  const std::string cache = fs::path(name) / "cache";
  const std::vector<char> bytes = fixture_bytes("vector_add-gfx90a-v5.co");
  for (size_t i = 0; i < 40; ++i)
    write_file(folder / (numbered(i) + ".co"), renamed(bytes, "vector_add", numbered(i % 39)));
  clock_ahead_s = 10;
  Allocator own;
  rawhal_error_t error = {};
  rawhal_instance_options_t options = {};
  options.backend = RAWHAL_BACKEND_SOFTGPU;
  options.allocator = own.hook();
  rawhal_instance_t *instance = nullptr;
  ASSERT_OK(rawhal_instance_create(&options, &instance, &error));
  const size_t without = own.live();
  long allowed = 0;
  for (bool refused = true; refused && allowed < 2000; ++allowed) {
    rawhal_library_options_t choices = {};
    choices.cache = cached ? cache.c_str() : "off";
    rawhal_library_t *library = nullptr;
    const rawhal_device_kernel_t *kernel = nullptr;
    own.refused = false;
    own.left = allowed;
    rawhal_status_t status =
        rawhal_library_create(rawhal_instance_device(instance, 0), &choices, &library, &error);
    if (status == RAWHAL_OK)
      status = rawhal_library_add(library, folder.c_str(), &error);
    for (size_t i : {0, 7}) // the first is in two files
      if (status == RAWHAL_OK) {
        const std::string wanted = numbered(i);
        rawhal_library_query_t query = {};
        query.name = {wanted.data(), wanted.size()};
        status = rawhal_library_kernel(library, &query, &kernel, &error);
        EXPECT_EQ(status == RAWHAL_OK, kernel != nullptr);
      }
    if (status == RAWHAL_OK)
      status = rawhal_library_refresh(library, &error);
    refused = own.refused;
    if (status != RAWHAL_OK) {
      EXPECT_EQ(status, RAWHAL_OUT_OF_MEMORY) << allowed << ": " << error.message;
    }
    EXPECT_TRUE(refused || status == RAWHAL_OK);
    own.left = -1;
    if (library && refused) { // what is left can be used
      const rawhal_library_query_t query = {0, RAWHAL_STRING("kern_00009"), {}, {}, 0, 0};
      EXPECT_OK(rawhal_library_add(library, folder.c_str(), &error));
      EXPECT_OK(rawhal_library_kernel(library, &query, &kernel, &error));
    }
    rawhal_library_destroy(library);
    EXPECT_EQ(without, own.live()) << allowed;
  }
  EXPECT_LT(allowed, 2000);
  rawhal_instance_destroy(instance);
  EXPECT_EQ(0u, own.live());
  EXPECT_GT(allowed, cached ? 60 : 150);
  fs::remove_all(name);
}
INSTANTIATE_TEST_SUITE_P(Index, LibraryMemory, testing::Bool(),
                         [](const auto &cached) { return cached.param ? "OnDisk" : "Made"; });

} // namespace
