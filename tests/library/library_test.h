// A library, a folder of its own for each test, and objects made of the fixtures by giving their kernels other names.
#ifndef RAWHAL_TESTS_LIBRARY_LIBRARY_TEST_H
#define RAWHAL_TESTS_LIBRARY_LIBRARY_TEST_H

#include <rawhal/library.h>

#include <sys/inotify.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <mutex>
#include <set>

#include "tests/hal/device_test.h"

namespace fs = std::filesystem;

// How far the clock of the library is ahead.
extern "C" long clock_ahead_s;

// An object whose kernel `from` is called `to`, which is as long.
inline std::vector<char> renamed(std::vector<char> bytes, const std::string &from,
                                 const std::string &to)
{
  EXPECT_EQ(from.size(), to.size());
  auto at = bytes.begin();
  while ((at = std::search(at, bytes.end(), from.begin(), from.end())) != bytes.end())
    at = std::copy(to.begin(), to.end(), at);
  return bytes;
}

inline std::string numbered(size_t number)
{
  char name[32];
  snprintf(name, sizeof(name), "kern_%05zu", number);
  return name; // as long as "vector_add"
}

inline void write_file(const fs::path &path, const std::vector<char> &bytes)
{
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// Of files that were opened in a folder, as the kernel says.
class Opens {
public:
  explicit Opens(const fs::path &folder) : descriptor(inotify_init1(IN_NONBLOCK | IN_CLOEXEC))
  {
    EXPECT_GE(inotify_add_watch(descriptor, folder.c_str(), IN_OPEN), 0);
  }
  ~Opens() { close(descriptor); }

  size_t count()
  {
    size_t found = 0;
    alignas(inotify_event) char events[65536];
    for (ssize_t got; (got = read(descriptor, events, sizeof(events))) > 0;)
      for (ssize_t at = 0; at < got;) {
        const auto *event = reinterpret_cast<const inotify_event *>(events + at);
        found += !(event->mask & IN_ISDIR);
        at += static_cast<ssize_t>(sizeof(*event)) + event->len;
      }
    return found;
  }

private:
  int descriptor;
};

class LibraryTest : public DeviceTest {
protected:
  void SetUp() override
  {
    DeviceTest::SetUp();
    std::string name = fs::temp_directory_path() / "rawhal-library-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root = name;
    folder = root / "objects";
    cache = root / "cache";
    fs::create_directories(folder);
    clock_ahead_s = 10;
    vector_add = fixture_bytes("vector_add-gfx90a-v5.co");
  }

  void TearDown() override
  {
    for (rawhal_library_t *one : libraries)
      rawhal_library_destroy(one);
    fs::remove_all(root);
    DeviceTest::TearDown();
  }

  rawhal_library_t *create(rawhal_library_options_t options = {})
  {
    rawhal_library_t *made = nullptr;
    const std::string where = cache.string();
    if (!options.cache)
      options.cache = where.c_str();
    EXPECT_OK(rawhal_library_create(device, &options, &made, &error));
    libraries.push_back(made);
    return made;
  }

  rawhal_library_t *create_with(const fs::path &path)
  {
    rawhal_library_t *made = create();
    EXPECT_OK(rawhal_library_add(made, path.c_str(), &error));
    return made;
  }

  void destroy(rawhal_library_t *library)
  {
    rawhal_library_destroy(library);
    libraries.erase(std::find(libraries.begin(), libraries.end(), library));
  }

  // kern_00000.co and so on, a kernel each.
  void fill(size_t count, size_t first = 0)
  {
    for (size_t i = first; i < first + count; ++i)
      write_file(folder / (numbered(i) + ".co"), renamed(vector_add, "vector_add", numbered(i)));
  }

  // By a name that lives as long as the program.
  static rawhal_library_query_t named(const std::string &name)
  {
    static std::mutex lock;
    static std::set<std::string> names;
    const std::lock_guard<std::mutex> guard(lock);
    const std::string &kept = *names.insert(name).first;
    rawhal_library_query_t query = {};
    query.name = {kept.data(), kept.size()};
    return query;
  }

  rawhal_status_t get(rawhal_library_t *library, const std::string &name,
                      const rawhal_device_kernel_t **kernel)
  {
    const rawhal_library_query_t query = named(name);
    return rawhal_library_kernel(library, &query, kernel, &error);
  }

  std::vector<rawhal_library_match_t> find(rawhal_library_t *library,
                                           const rawhal_library_query_t &query)
  {
    std::vector<rawhal_library_match_t> matches(64);
    size_t count = 99;
    EXPECT_OK(rawhal_library_find(library, &query, matches.data(), matches.size(),
                                  sizeof(matches[0]), &count, &error));
    matches.resize(std::min(count, matches.size()));
    return matches;
  }

  static rawhal_library_stats_t stats(rawhal_library_t *library)
  {
    rawhal_library_stats_t now;
    rawhal_library_stats(library, &now, sizeof(now));
    return now;
  }

  // The kernel adds.
  void expect_adds(const rawhal_device_kernel_t *kernel)
  {
    const uint32_t n = 100;
    std::vector<float> a(n), b(n);
    for (uint32_t i = 0; i < n; ++i) {
      a[i] = static_cast<float>(i);
      b[i] = static_cast<float>(2 * i);
    }
    rawhal_buffer_t *c = buffer(n * 4);
    Blob blob;
    blob.add(rawhal_buffer_address(c))
        .add(rawhal_buffer_address(upload(a)))
        .add(rawhal_buffer_address(upload(b)))
        .add(n);
    rawhal_dispatch_t dispatch = {};
    dispatch.kernel = kernel;
    dispatch.work_items[0] = 128;
    dispatch.workgroup[0] = 64;
    for (int d = 1; d < 3; ++d)
      dispatch.work_items[d] = dispatch.workgroup[d] = 1;
    dispatch.blob = blob.bytes.data();
    dispatch.blob_size = blob.bytes.size();
    if (!on)
      on = queue();
    ASSERT_OK(run(on, dispatch));
    const std::vector<float> sums = download<float>(c, n);
    for (uint32_t i = 0; i < n; ++i)
      ASSERT_EQ(sums[i], a[i] + b[i]) << i;
  }

  // Adds, as `vector_add` does, or fails.
  void expect_found(rawhal_library_t *library, const std::string &name)
  {
    const rawhal_device_kernel_t *kernel = nullptr;
    ASSERT_OK(get(library, name, &kernel));
    expect_adds(kernel);
    rawhal_library_release(library, kernel);
  }

  fs::path root, folder, cache;
  std::vector<char> vector_add;
  std::vector<rawhal_library_t *> libraries;
  rawhal_queue_t *on = nullptr;
};

#endif
