// What somebody who means harm, or has bad luck, does to a library: folders that go, files that are no files, caches
// that are not its own, indexes whose sums are right and whose content is not.
#include "library_test.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <atomic>
#include <cstring>
#include <thread>

extern "C" {
#include "library/index.h"
}

namespace {

class LibraryAttacks : public LibraryTest {
protected:
  // Every object of the index at `path`, changed, under sums that are right.
  template <typename Change> static void forge(const fs::path &path, Change change)
  {
    image_t image;
    image_of_file(&image, open(path.c_str(), O_RDONLY | O_CLOEXEC),
                  fs::file_size(path) / IMAGE_PAGE, INDEX_SEED, nullptr);
    ASSERT_TRUE(image_load(&image, nullptr));
    index_header_t header;
    ASSERT_TRUE(image_read(&image, 0, &header, sizeof(header)));
    for (uint64_t i = 0; i < header.object_count; ++i) {
      const uint64_t at = header.objects_at + i * sizeof(index_object_t);
      index_object_t object;
      ASSERT_TRUE(image_read(&image, at, &object, sizeof(object)));
      change(&object);
      image_put(&image, at, &object, sizeof(object));
    }
    image_seal(&image);
    const rawhal_bytes_t bytes = image_bytes(&image);
    const char *data = static_cast<const char *>(bytes.data);
    write_file(path, std::vector<char>(data, data + bytes.size));
    image_free(&image);
  }
};

TEST_F(LibraryAttacks, AFolderThatGoesDoesNotHideTheOthers)
{
  fill(3);
  const fs::path other = root / "other";
  fs::copy(folder, other);
  rawhal_library_t *library = create_with(folder);
  ASSERT_OK(rawhal_library_add(library, other.c_str(), &error));
  EXPECT_EQ(find(library, named(numbered(1))).size(), 2u);
  fs::remove_all(folder);
  const rawhal_device_kernel_t *kernel = nullptr;
  ASSERT_OK(get(library, numbered(1), &kernel));
  expect_adds(kernel);
  rawhal_library_release(library, kernel);
  EXPECT_EQ(find(library, named(numbered(2))).size(), 1u);
  // It is said, and those after it are looked at all the same.
  write_file(other / "new.co", renamed(vector_add, "vector_add", numbered(7)));
  EXPECT_EQ(rawhal_library_refresh(library, &error), RAWHAL_NOT_FOUND);
  EXPECT_EQ(find(library, named(numbered(7))).size(), 1u);
  fill(1, 8); // it is back
  ASSERT_OK(rawhal_library_refresh(library, &error));
  EXPECT_EQ(find(library, named(numbered(8))).size(), 1u);
}

TEST_F(LibraryAttacks, OldFilesThatAreNotTheCachesStay)
{
  fill(30);
  fs::create_directories(cache);
  fs::permissions(cache, fs::perms::owner_all);
  const char *const names[] = {"book.index", "thesis.unfinished", ".index",
                               "0123456789abcdef0123456789abcdef.old.index"};
  for (const char *name : names) {
    write_file(cache / name, {'x'});
    fs::last_write_time(cache / name,
                        fs::file_time_type::clock::now() - std::chrono::hours(24 * 100));
  }
  rawhal_library_t *library = create_with(folder);
  EXPECT_EQ(find(library, named(numbered(1))).size(), 1u);
  EXPECT_EQ(stats(library).indexes_written, 1u);
  for (const char *name : names)
    EXPECT_TRUE(fs::exists(cache / name)) << name;
}

TEST_F(LibraryAttacks, WhoRefreshesGetsInAmongThoseWhoSearch)
{
  fill(3);
  rawhal_library_t *library = create_with(folder);
  EXPECT_EQ(find(library, named(numbered(1))).size(), 1u);
  std::atomic<bool> done{false};
  std::atomic<size_t> gave_up{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 8; ++i)
    readers.emplace_back([&] {
      const rawhal_library_query_t query = named("no_such_kernel");
      size_t count, rounds = 0;
      rawhal_error_t why;
      while (!done && rounds < 400000) {
        if (rawhal_library_find(library, &query, nullptr, 0, 0, &count, &why) != RAWHAL_OK)
          break;
        ++rounds;
      }
      gave_up += !done;
    });
  for (int i = 0; i < 20; ++i)
    EXPECT_OK(rawhal_library_refresh(library, &error));
  done = true;
  for (std::thread &reader : readers)
    reader.join();
  EXPECT_EQ(gave_up, 0u);
}

TEST_F(LibraryAttacks, AForgedTargetIsText)
{
  fill(30);
  destroy([&] {
    rawhal_library_t *library = create_with(folder);
    EXPECT_EQ(find(library, named(numbered(1))).size(), 1u);
    return library;
  }());
  forge(*fs::directory_iterator(cache), [](index_object_t *object) {
    memset(object->target.processor, 'x', sizeof(object->target.processor));
  });
  rawhal_library_t *library = create_with(folder);
  const std::vector<rawhal_library_match_t> found = find(library, named(numbered(1)));
  EXPECT_EQ(stats(library).indexes_read, 1u);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(memchr(found[0].target.processor, 0, sizeof(found[0].target.processor)), nullptr);
}

TEST_F(LibraryAttacks, BytesWithoutANameTwice)
{
  rawhal_library_t *library = create();
  for (int i = 0; i < 2; ++i)
    ASSERT_OK(rawhal_library_add_bytes(library, vector_add.data(), vector_add.size(), {}, &error));
  EXPECT_EQ(find(library, named("vector_add")).size(), 2u);
}

TEST_F(LibraryAttacks, AFifoInThePlaceOfTheFileDoesNotStopALoad)
{
  rawhal_hsaco_t *hsaco = nullptr;
  ASSERT_OK(rawhal_hsaco_open(vector_add.data(), vector_add.size(), nullptr, &hsaco, &error));
  const fs::path fifo = folder / "fifo.co";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  rawhal_executable_t *executable = nullptr;
  alarm(20); // a load that waits for a writer waits for ever
  EXPECT_NE(rawhal_executable_load_file(device, hsaco, fifo.c_str(), 0, &executable, &error),
            RAWHAL_OK);
  alarm(0);
  EXPECT_EQ(executable, nullptr);
  rawhal_hsaco_close(hsaco);
}

} // namespace
