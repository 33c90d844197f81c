// What the runtime itself sees of a library, and what becomes of loads that it refuses (tests/hal/refusing_runtime.c).
#include "library_test.h"
#include "tests/extended.h"

#include <dlfcn.h>

#include <atomic>
#include <map>
#include <mutex>
#include <thread>

extern "C" {
long clock_ahead_s;
}

namespace {

constexpr size_t objects = is_sanitized ? 60 : 200, threads = 16;
const char *const kernels[] = {"store", "load", "atomic", "scratch", "trap"};

class LibraryRefused : public LibraryTest {
protected:
  void SetUp() override
  {
    setenv("RAWHAL_RUNTIME_LIBRARY", RAWHAL_REFUSING_RUNTIME, 1);
    LibraryTest::SetUp();
    for (const char *name : {"loads", "held_loads", "refused_loads", "passed_loads"})
      number(name) = 0;
    const std::vector<char> bytes = fixture_bytes("fault-gfx90a-v5.co");
    for (size_t i = 0; i < objects; ++i)
      write_file(folder / (prefix(i) + ".co"), renamed(bytes, "fault", prefix(i)));
  }

  static std::string prefix(size_t object)
  {
    char name[32];
    snprintf(name, sizeof(name), "f%04zu", object);
    return name; // as long as "fault"
  }

  static std::atomic<int> &number(const char *name)
  {
    return *static_cast<std::atomic<int> *>(dlsym(RTLD_DEFAULT, name));
  }

  // All threads ask for all kernels, each in an order of its own. How many calls failed, and with what.
  std::map<rawhal_status_t, int> ask_for_all(rawhal_library_t *library)
  {
    std::map<rawhal_status_t, int> results;
    std::map<std::string, const rawhal_device_kernel_t *> seen;
    std::mutex lock;
    std::vector<std::thread> all;
    for (size_t t = 0; t < threads; ++t)
      all.emplace_back([&, t] {
        for (size_t i = 0; i < objects * 5; ++i) {
          const size_t which = (i * (2 * t + 3) + 11 * t) % (objects * 5);
          const std::string name = prefix(which / 5) + "_" + kernels[which % 5];
          const rawhal_library_query_t query = named(name);
          const rawhal_device_kernel_t *kernel = nullptr;
          rawhal_error_t mine = {};
          const rawhal_status_t status = rawhal_library_kernel(library, &query, &kernel, &mine);
          const std::lock_guard<std::mutex> guard(lock);
          ++results[status];
          if (status == RAWHAL_OK) {
            EXPECT_EQ(seen.emplace(name, kernel).first->second, kernel);
          } else {
            EXPECT_EQ(mine.status, status);
            EXPECT_NE(mine.message[0], '\0');
          }
        }
      });
    for (std::thread &one : all)
      one.join();
    return results;
  }
};

TEST_F(LibraryRefused, ThousandKernelsOfTwoHundredObjectsAreTwoHundredLoads)
{
  rawhal_library_t *library = create_with(folder);
  const std::map<rawhal_status_t, int> results = ask_for_all(library);
  EXPECT_EQ(results, (std::map<rawhal_status_t, int>{{RAWHAL_OK, threads * objects * 5}}));
  EXPECT_EQ(number("loads"), static_cast<int>(objects));
  EXPECT_EQ(stats(library).loads, objects);
}

TEST_F(LibraryRefused, RefusedLoadsAreTriedAgain)
{
  rawhal_library_t *library = create_with(folder);
  number("refused_loads") = 50; // the first
  const std::map<rawhal_status_t, int> results = ask_for_all(library);
  EXPECT_EQ(results.at(RAWHAL_OK) + results.at(RAWHAL_RUNTIME),
            static_cast<int>(threads * objects * 5));
  EXPECT_GE(results.at(RAWHAL_RUNTIME), 50); // and whoever waited for one of them
  EXPECT_EQ(number("loads"), static_cast<int>(objects) + 50);
  EXPECT_EQ(stats(library).loads, objects);
  EXPECT_EQ(ask_for_all(library).size(), 1u);
  EXPECT_EQ(number("loads"), static_cast<int>(objects) + 50);
}

} // namespace
