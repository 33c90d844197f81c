// Files that change, go and come while a library has them.
#include "library_test.h"

namespace {

class LibraryStale : public LibraryTest {
protected:
  void expect_none(rawhal_library_t *library, const std::string &name)
  {
    const rawhal_device_kernel_t *kernel = nullptr;
    EXPECT_EQ(get(library, name, &kernel), RAWHAL_NOT_FOUND) << name << ": " << error.message;
  }
};

TEST_F(LibraryStale, AFileThatIsReplacedIsReadAgain)
{
  fill(3);
  rawhal_library_t *library = create_with(folder);
  expect_found(library, numbered(0)); // all are indexed
  write_file(folder / "kern_00001.co",
             renamed(vector_add, "vector_add", "other_name")); // as large, and the same inode
  expect_none(library, numbered(1));
  expect_found(library, "other_name");
  expect_found(library, numbered(2));
}

TEST_F(LibraryStale, ItIsNotCountedEither)
{
  fill(3);
  rawhal_library_t *library = create_with(folder);
  EXPECT_EQ(find(library, named(numbered(1))).size(), 1u);
  fs::remove(folder / "kern_00001.co");
  const rawhal_library_query_t query = named(numbered(1));
  size_t count = 99;
  EXPECT_OK(rawhal_library_find(library, &query, nullptr, 0, 0, &count, &error));
  EXPECT_EQ(count, 0u);
}

TEST_F(LibraryStale, SoIsOneThatIsLoaded)
{
  fill(2);
  rawhal_library_t *library = create_with(folder);
  expect_found(library, numbered(0));
  write_file(folder / "kern_00000.co", renamed(vector_add, "vector_add", "other_name"));
  expect_none(library, numbered(0));
  expect_found(library, "other_name");
}

TEST_F(LibraryStale, AFileThatGoesIsGone)
{
  fill(3);
  rawhal_library_t *library = create_with(folder);
  expect_found(library, numbered(0));
  fs::remove(folder / "kern_00001.co");
  expect_none(library, numbered(1));
  expect_found(library, numbered(2));
  expect_found(library, numbered(0)); // is loaded
}

TEST_F(LibraryStale, ANewFileIsSeenAfterRefresh)
{
  fill(3);
  rawhal_library_t *library = create_with(folder);
  expect_none(library, numbered(5));
  fill(1, 5);
  expect_none(library, numbered(5));
  ASSERT_OK(rawhal_library_refresh(library, &error));
  expect_found(library, numbered(5));
  EXPECT_EQ(stats(library).files, 4u);
}

TEST_F(LibraryStale, NothingIsReadAgainWhereNothingHasChanged)
{
  fill(20);
  rawhal_library_t *library = create_with(folder);
  expect_found(library, numbered(0));
  Opens opens(folder);
  ASSERT_OK(rawhal_library_refresh(library, &error));
  expect_none(library, numbered(20));
  EXPECT_EQ(opens.count(), 0u);
}

TEST_F(LibraryStale, AFolderThatGoesIsAFailureThatEnds)
{
  fill(3);
  rawhal_library_t *library = create_with(folder);
  expect_found(library, numbered(0));
  fs::remove_all(folder);
  const rawhal_device_kernel_t *kernel = nullptr;
  EXPECT_EQ(get(library, numbered(1), &kernel), RAWHAL_NOT_FOUND) << error.message;
  EXPECT_EQ(rawhal_library_refresh(library, &error), RAWHAL_NOT_FOUND);
  fs::create_directories(folder);
  fill(3);
  ASSERT_OK(rawhal_library_refresh(library, &error));
  expect_found(library, numbered(1));
}

TEST_F(LibraryStale, LoadedCodeOutlivesItsFile)
{
  fill(1);
  rawhal_library_t *library = create_with(folder);
  const rawhal_device_kernel_t *kernel = nullptr;
  ASSERT_OK(get(library, numbered(0), &kernel));
  fs::remove(folder / "kern_00000.co");
  ASSERT_OK(rawhal_library_refresh(library, &error));
  expect_adds(kernel);
  expect_none(library, numbered(0));
  rawhal_library_release(library, kernel);
}

// The kernel of a name is there, but the file has become another's meanwhile: never the wrong one.
TEST_F(LibraryStale, NamesThatChangePlaces)
{
  write_file(folder / "a.co", renamed(vector_add, "vector_add", "kernel_one"));
  write_file(folder / "b.co",
             renamed(fixture_bytes("mandelbrot-gfx90a-v5.co"), "mandelbrot", "kernel_two"));
  rawhal_library_t *library = create_with(folder);
  EXPECT_EQ(find(library, named("kernel_one")).size(), 1u);
  fs::rename(folder / "a.co", folder / "c.co");
  fs::rename(folder / "b.co", folder / "a.co");
  fs::rename(folder / "c.co", folder / "b.co");
  expect_found(library, "kernel_one");
  const std::vector<rawhal_library_match_t> one = find(library, named("kernel_one"));
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(fs::path(std::string(one[0].file.data, one[0].file.size)).filename(), "b.co");
}

} // namespace
