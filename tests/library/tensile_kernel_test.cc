// From a solution of Tensile's to its kernel: of the file that it names, in the order that Tensile's own loader looks.
#include <rawhal/tensile.h>

#include "tests/library/library_test.h"
#include "tests/library/tensile_build.h"

namespace {

class TensileKernel : public LibraryTest {
protected:
  void SetUp() override
  {
    LibraryTest::SetUp();
    ids = fixture_bytes("mandelbrot-gfx90a-v5.co");
  }

  void TearDown() override
  {
    rawhal_tensile_close(tensile);
    LibraryTest::TearDown();
  }

  void open(const std::vector<std::string> &solutions, const fs::path &name = "T_gfx90a.dat")
  {
    const fs::path path = folder / name;
    const std::string bytes = build::tensile(solutions);
    write_file(path, {bytes.begin(), bytes.end()});
    reopen(path);
  }

  void reopen(const fs::path &path)
  {
    rawhal_tensile_close(tensile);
    ASSERT_OK(rawhal_tensile_open_file(path.c_str(), nullptr, &tensile, &error));
  }

  rawhal_status_t load(rawhal_library_t *library, size_t number)
  {
    rawhal_library_release(library, kernel);
    return rawhal_tensile_kernel(tensile, number, library, &kernel, &error);
  }

  // Of hipBLASLt's protocol, version 2: where rawhal_tensile_split_arguments() says the kernel has them.
  void expect_words_first(const rawhal_tensile_solution_t *solution)
  {
    if (!solution->arguments.known)
      return;
    uint32_t words[RAWHAL_TENSILE_SPLIT_ARGUMENTS], count = 0;
    EXPECT_EQ(solution->arguments.version, 2);
    ASSERT_OK(rawhal_tensile_split_arguments(solution, 1, 104, words, &count, &error));
    ASSERT_EQ(count, 4u);
    const char *const names[] = {"Gemm info", "kernel info0", "kernel info1", "numWG"};
    for (uint32_t i = 0; i < count; ++i) {
      const rawhal_kernarg_argument_t *argument =
          rawhal_kernarg_layout_argument(rawhal_device_kernel_info(kernel)->layout, i);
      EXPECT_EQ(std::string(argument->name.data, argument->name.size), names[i]);
      EXPECT_EQ(argument->offset, 4 * i);
      EXPECT_EQ(argument->size, 4u);
    }
  }

  std::vector<char> ids;
  rawhal_tensile_t *tensile = nullptr;
  const rawhal_device_kernel_t *kernel = nullptr;
};

// The same name stands in another file with other code.
TEST_F(TensileKernel, IsTheOneOfTheFileThatTheSolutionNames)
{
  open({build::solution("other_name", 4), build::solution("vector_add", 5)});
  write_file(folder / "T_gfx90a.co", vector_add);
  write_file(folder / "U_gfx90a.co", renamed(ids, "mandelbrot", "vector_add"));
  rawhal_library_t *library = create_with(folder);
  EXPECT_EQ(get(library, "vector_add", &kernel), RAWHAL_AMBIGUOUS);
  ASSERT_OK(load(library, 1));
  expect_adds(kernel);
  EXPECT_EQ(load(library, 0), RAWHAL_NOT_FOUND);
  EXPECT_EQ(kernel, nullptr);
  for (const char *said : {"solution 0", "T_gfx90a.co", "other_name"})
    EXPECT_NE(strstr(error.message, said), nullptr) << error.message;
  EXPECT_EQ(load(library, 2), RAWHAL_OUT_OF_RANGE);
  EXPECT_EQ(rawhal_tensile_kernel(tensile, 0, nullptr, &kernel, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_tensile_kernel(nullptr, 0, library, &kernel, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_tensile_kernel(tensile, 0, library, nullptr, &error), RAWHAL_INVALID_ARGUMENT);
}

// "", "-xnack-", "-xnack+": what a later name has, counts where the earlier ones have none.
TEST_F(TensileKernel, OfVersionsTheFirstThatIsThere)
{
  open({build::solution("vector_add", 0)});
  const std::vector<char> wrong = renamed(ids, "mandelbrot", "vector_add");
  write_file(folder / "T_gfx90a-xnack+.co", vector_add);
  ASSERT_OK(load(create_with(folder), 0));
  expect_adds(kernel);
  kernel = nullptr;
  write_file(folder / "T_gfx90a-xnack-.co", vector_add);
  write_file(folder / "T_gfx90a-xnack+.co", wrong);
  ASSERT_OK(load(create_with(folder), 0));
  expect_adds(kernel);
  kernel = nullptr;
  write_file(folder / "T_gfx90a.co", vector_add);
  write_file(folder / "T_gfx90a-xnack-.co", wrong);
  ASSERT_OK(load(create_with(folder), 0));
  expect_adds(kernel);
}

// Two versions of a library have files of the same names: those beside the one that says so are meant.
TEST_F(TensileKernel, IsBesideTheFileThatSaysSo)
{
  const std::vector<char> wrong = renamed(ids, "mandelbrot", "vector_add");
  write_file(folder / "new/T_gfx90a.co", wrong);
  write_file(folder / "new/T_gfx90a-xnack-.co", wrong);
  open({build::solution("vector_add", 0)}, "old/T_gfx90a.dat");
  EXPECT_EQ(load(create_with(folder), 0), RAWHAL_NOT_FOUND);
  write_file(folder / "old/T_gfx90a.co", vector_add);
  ASSERT_OK(load(create_with(folder), 0));
  expect_adds(kernel);
  kernel = nullptr;
  fs::create_directory_symlink(folder / "old", root / "link");
  const fs::path before = fs::current_path();
  fs::current_path(folder / "old");
  for (const fs::path &path :
       {fs::path("T_gfx90a.dat"), fs::path("../old/T_gfx90a.dat"), root / "link/T_gfx90a.dat"}) {
    reopen(path);
    ASSERT_OK(load(create_with(folder), 0));
    expect_adds(kernel);
    kernel = nullptr;
  }
  fs::current_path(before);
}

// Bytes have no folder: the name alone decides.
TEST_F(TensileKernel, OfBytesIsInAnyFolder)
{
  write_file(folder / "some/T_gfx90a.co", vector_add);
  const std::string bytes = build::tensile({build::solution("vector_add", 0)});
  rawhal_tensile_options_t options = {};
  options.prefix = RAWHAL_STRING("T_gfx90a");
  ASSERT_OK(rawhal_tensile_open(bytes.data(), bytes.size(), &options, &tensile, &error));
  ASSERT_OK(load(create_with(folder), 0));
  expect_adds(kernel);
  rawhal_library_release(libraries.back(), kernel);
}

// Tensile loads all that is beside a library that is not lazy: their names are not the library's.
TEST_F(TensileKernel, OfALibraryThatIsNotLazyIsInAnyFile)
{
  const struct {
    const char *library, *object;
    bool source;
  } cases[] = {
      {"TensileLibrary.dat", "TensileLibrary_gfx90a.co", false},
      {"TensileLibrary_gfx90a.dat", "TensileLibrary_gfx90a.co", false},
      {"TensileLibrary_gfx90a.dat", "Kernels.so-000-gfx90a.hsaco", true},
      {"TensileLibrary_gfx90a.dat", "vector_add_gfx90a.co", false},
  };
  for (const auto &each : cases) {
    SCOPED_TRACE(each.object);
    open({build::solution("vector_add", 0, each.source)}, each.library);
    write_file(folder / each.object, vector_add);
    ASSERT_OK(load(create_with(folder), 0));
    expect_adds(kernel);
    kernel = nullptr;
    fs::remove(folder / each.object);
    fs::remove(folder / each.library);
  }
}

// As <rawhal/status.h> has it of every call.
TEST_F(TensileKernel, SuccessLeavesTheErrorAsItWas)
{
  open({build::solution("vector_add", 0)});
  for (const char *name : {"T_gfx90a-xnack-.co", "T_gfx90a.co"}) {
    write_file(folder / name, vector_add);
    rawhal_library_t *library = create_with(folder);
    rawhal_error_t before;
    memset(&before, 0x5a, sizeof(before));
    error = before;
    EXPECT_EQ(load(library, 0), RAWHAL_OK);
    EXPECT_EQ(memcmp(&error, &before, sizeof(before)), 0) << name;
    kernel = nullptr;
  }
}

// Only the object that is wanted is loaded, and a library without a name is searched as a whole.
TEST_F(TensileKernel, LoadsNothingElse)
{
  fill(20);
  write_file(folder / "T_gfx90a.co", vector_add);
  open({build::solution("vector_add", 0), build::solution(numbered(7), 1)});
  rawhal_library_t *library = create_with(folder);
  ASSERT_OK(load(library, 0));
  EXPECT_EQ(stats(library).loads, 1u);
  EXPECT_EQ(load(library, 1), RAWHAL_NOT_FOUND);
  EXPECT_EQ(stats(library).loads, 1u);
  const std::string bytes = build::tensile({build::solution(numbered(7), 1)});
  rawhal_tensile_close(tensile);
  ASSERT_OK(rawhal_tensile_open(bytes.data(), bytes.size(), nullptr, &tensile, &error));
  ASSERT_OK(load(library, 0));
  expect_adds(kernel);
  rawhal_library_release(library, kernel);
}

// Folders that Tensile has made, wherever somebody has put them: what they say is loaded from what they have.
TEST_F(TensileKernel, RealSolutionsLeadToTheirKernels)
{
  const char *made = getenv("RAWHAL_TENSILE_DIR");
  if (!made)
    GTEST_SKIP() << "RAWHAL_TENSILE_DIR says no folder";
  size_t loaded = 0;
  for (const fs::directory_entry &entry : fs::recursive_directory_iterator(made)) {
    if (entry.path().extension() != ".dat")
      continue;
    rawhal_tensile_close(tensile);
    ASSERT_OK(rawhal_tensile_open_file(entry.path().c_str(), nullptr, &tensile, &error));
    const fs::path object = fs::path(entry.path()).replace_extension(".co");
    if (!fs::exists(object) || object.string().find("gfx90a") == std::string::npos)
      continue;
    rawhal_library_t *library = create_with(entry.path().parent_path());
    for (size_t i = 0; i < rawhal_tensile_count(tensile); ++i, ++loaded) {
      ASSERT_OK(load(library, i));
      const rawhal_tensile_solution_t *solution = rawhal_tensile_solution(tensile, i);
      EXPECT_NE(rawhal_kernarg_layout_argument(rawhal_device_kernel_info(kernel)->layout, 0),
                nullptr)
          << std::string(solution->kernel.data, solution->kernel.size);
      expect_words_first(solution);
    }
    rawhal_library_release(library, kernel);
    kernel = nullptr;
  }
  EXPECT_GT(loaded, 0u) << made << " has none for gfx90a";
}

} // namespace
