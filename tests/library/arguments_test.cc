// Wrong calls, no memory, and a child of fork().
#include "library_test.h"

#include <sys/wait.h>

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
  const pid_t child = fork();
  if (child == 0) {
    const rawhal_device_kernel_t *kernel = nullptr;
    const bool refused = get(library, numbered(0), &kernel) == RAWHAL_DEVICE_LOST &&
                         rawhal_library_add(library, "/tmp", &error) == RAWHAL_DEVICE_LOST &&
                         stats(library).files == 0;
    rawhal_library_destroy(library);
    _exit(refused ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  const rawhal_device_kernel_t *kernel = nullptr;
  EXPECT_OK(get(library, numbered(0), &kernel));
}

} // namespace
