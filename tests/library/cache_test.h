// Libraries whose answers are known, beside a folder of indexes.
#ifndef RAWHAL_TESTS_LIBRARY_CACHE_TEST_H
#define RAWHAL_TESTS_LIBRARY_CACHE_TEST_H

#include "library_test.h"

class LibraryCache : public LibraryTest {
protected:
  std::vector<fs::path> cached()
  {
    std::vector<fs::path> files;
    if (fs::exists(cache))
      for (const fs::directory_entry &entry : fs::directory_iterator(cache))
        files.push_back(entry.path());
    return files;
  }

  void expect_answers(rawhal_library_t *library, size_t count)
  {
    EXPECT_EQ(find(library, named(numbered(count / 2))).size(), 1u);
    EXPECT_EQ(find(library, named(numbered(count - 1))).size(), 1u);
    EXPECT_TRUE(find(library, named(numbered(count))).empty());
    EXPECT_TRUE(find(library, named("vector_add")).empty());
  }

  // A new library, which answers rightly.
  rawhal_library_stats_t answers(size_t count)
  {
    rawhal_library_t *library = create_with(folder);
    expect_answers(library, count);
    const rawhal_library_stats_t now = stats(library);
    destroy(library);
    return now;
  }

  static std::vector<char> bytes_of(const fs::path &path)
  {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

#endif
