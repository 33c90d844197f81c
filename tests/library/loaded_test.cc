// Objects on the device: loaded once, kept as long as there is room, and given up for others.
#include "library_test.h"
#include "tests/extended.h"

#include <atomic>
#include <mutex>
#include <set>
#include <thread>

namespace {

class LibraryLoaded : public LibraryTest {
protected:
  rawhal_library_t *create_of(uint64_t objects)
  {
    rawhal_library_options_t options = {};
    options.max_loaded_bytes = objects * vector_add.size();
    rawhal_library_t *library = create(options);
    EXPECT_OK(rawhal_library_add(library, folder.c_str(), &error));
    return library;
  }

  const rawhal_device_kernel_t *get(rawhal_library_t *library, size_t number)
  {
    const rawhal_device_kernel_t *kernel = nullptr;
    EXPECT_OK(LibraryTest::get(library, numbered(number), &kernel));
    return kernel;
  }

  void touch(rawhal_library_t *library, size_t number)
  {
    rawhal_library_release(library, get(library, number));
  }
};

TEST_F(LibraryLoaded, TheLeastRecentlyUsedGoFirst)
{
  fill(5);
  rawhal_library_t *library = create_of(3);
  for (size_t i : {0, 1, 2, 0, 3}) // 3 puts 1 out
    touch(library, i);
  EXPECT_EQ(stats(library).loads, 4u);
  EXPECT_EQ(stats(library).unloads, 1u);
  for (size_t i : {0, 2, 3})
    touch(library, i);
  EXPECT_EQ(stats(library).loads, 4u);
  touch(library, 1);
  EXPECT_EQ(stats(library).loads, 5u);
  EXPECT_EQ(stats(library).loaded_objects, 3u);
  EXPECT_EQ(stats(library).loaded_bytes, 3 * vector_add.size());
}

TEST_F(LibraryLoaded, WhatIsInUseStays)
{
  fill(5);
  rawhal_library_t *library = create_of(1);
  const rawhal_device_kernel_t *first = get(library, 0), *again = get(library, 0),
                               *other = get(library, 1);
  EXPECT_EQ(first, again);
  touch(library, 2);
  EXPECT_EQ(stats(library).unloads, 1u); // of 2
  expect_adds(first);
  expect_adds(other);
  rawhal_library_release(library, first);
  expect_adds(again);
  EXPECT_EQ(stats(library).unloads, 1u);
  rawhal_library_release(library, again);
  EXPECT_EQ(stats(library).unloads, 2u);
  expect_adds(other);
}

TEST_F(LibraryLoaded, ADispatchInFlightKeepsItsCode)
{
  write_file(folder / "spin.co", fixture_bytes("spin-gfx90a-v5.co"));
  fill(2);
  rawhal_library_t *library = create_of(1);
  const rawhal_device_kernel_t *spin = nullptr;
  ASSERT_OK(LibraryTest::get(library, "spin", &spin));
  rawhal_buffer_t *flag = buffer(4, RAWHAL_MEMORY_HOST);
  ASSERT_OK(rawhal_buffer_fill(flag, 0, 0, 4, &error));
  const uint64_t address = rawhal_buffer_address(flag);
  rawhal_dispatch_t dispatch = {};
  dispatch.kernel = spin;
  for (int d = 0; d < 3; ++d)
    dispatch.work_items[d] = dispatch.workgroup[d] = 1;
  dispatch.blob = &address;
  dispatch.blob_size = sizeof(address);
  on = queue();
  rawhal_ticket_t ticket = 0;
  ASSERT_OK(rawhal_queue_submit(on, &dispatch, 1, RAWHAL_FOREVER, &ticket, &error));
  rawhal_library_release(library, spin);
  for (size_t i : {0, 1, 0})
    touch(library, i);
  rawhal_library_destroy(library);
  libraries.clear();
  __atomic_store_n(static_cast<uint32_t *>(rawhal_buffer_host(flag)), 1u, __ATOMIC_RELEASE);
  EXPECT_OK(rawhal_queue_wait(on, ticket, RAWHAL_FOREVER, &error));
}

TEST_F(LibraryLoaded, TheSameBytesOfTwoFilesAreOneObject)
{
  fill(1);
  write_file(folder / "copy.co", renamed(vector_add, "vector_add", numbered(0)));
  rawhal_library_t *library = create_of(10);
  rawhal_library_query_t query = named(numbered(0));
  const rawhal_device_kernel_t *kernels[2] = {};
  for (int i = 0; i < 2; ++i) {
    query.file = i ? RAWHAL_STRING("copy.co") : RAWHAL_STRING("kern_00000.co");
    ASSERT_OK(rawhal_library_kernel(library, &query, &kernels[i], &error));
  }
  EXPECT_EQ(kernels[0], kernels[1]);
  EXPECT_EQ(stats(library).loads, 1u);
  rawhal_library_release(library, kernels[0]);
  expect_adds(kernels[1]);
  rawhal_library_release(library, kernels[1]);
  rawhal_library_release(library, kernels[1]); // once too often: nothing
  EXPECT_EQ(stats(library).loaded_objects, 1u);
}

TEST_F(LibraryLoaded, WhatTheDeviceLacksIsTakenFromTheUnused)
{
  fill(40);
  rawhal_instance_destroy(instance); // one with a quota
  instance = nullptr;
  rawhal_limit_config_t *limits = nullptr;
  ASSERT_OK(rawhal_limit_config_create(&limits, &error));
  ASSERT_OK(rawhal_limit_config_set(limits, RAWHAL_LIMIT_MEMORY, 1 << 20, &error));
  rawhal_instance_options_t options = {};
  options.backend = RAWHAL_BACKEND_SOFTGPU;
  options.softgpu_options = softgpu_options();
  options.limits = limits;
  ASSERT_OK(rawhal_instance_create(&options, &instance, &error));
  rawhal_limit_config_destroy(limits);
  device = rawhal_instance_device(instance, 0);
  rawhal_library_t *library = create_with(folder);
  rawhal_buffer_t *rest = nullptr;
  uint64_t total, available;
  rawhal_device_memory(device, &total, &available);
  ASSERT_OK(
      rawhal_buffer_allocate(device, RAWHAL_MEMORY_DEVICE, available - 100000, &rest, &error));
  for (size_t i = 0; i < 40; ++i)
    touch(library, i);
  EXPECT_GT(stats(library).unloads, 0u);
  EXPECT_EQ(stats(library).loads, 40u);
  rawhal_buffer_free(rest);
}

// 16 threads want all kernels of 200 objects: each object is loaded once.
TEST_F(LibraryLoaded, ThreadsLoadEachObjectOnce)
{
  const size_t count = is_sanitized ? 60 : 200;
  fill(count);
  rawhal_library_t *library = create_of(1000);
  std::vector<std::thread> threads;
  std::mutex lock;
  std::vector<std::set<const rawhal_device_kernel_t *>> seen(count);
  std::atomic<int> failed{0};
  for (size_t t = 0; t < 16; ++t)
    threads.emplace_back([&, t] {
      for (size_t i = 0; i < count; ++i) {
        const size_t number = (i * (2 * t + 1) + 7 * t) % count;
        const std::string name = numbered(number);
        const rawhal_library_query_t query = named(name);
        const rawhal_device_kernel_t *kernel = nullptr;
        rawhal_error_t mine = {};
        if (rawhal_library_kernel(library, &query, &kernel, &mine) != RAWHAL_OK) {
          ++failed;
          continue;
        }
        const std::lock_guard<std::mutex> guard(lock);
        seen[number].insert(kernel);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(stats(library).loads, count);
  for (const auto &kernels : seen)
    EXPECT_EQ(kernels.size(), 1u);
  expect_adds(*seen[0].begin());
}

// Some use, some give back, some make it look again, and there is room for few.
TEST_F(LibraryLoaded, ThreadsThatDisturbEachOther)
{
  const size_t count = 20, rounds = is_sanitized ? 30 : 150;
  fill(count);
  rawhal_library_t *library = create_of(3);
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 6; ++t)
    threads.emplace_back([&, t] {
      for (size_t i = 0; i < rounds; ++i) {
        const std::string name = numbered((i * (t + 1)) % count);
        const rawhal_library_query_t query = named(name);
        const rawhal_device_kernel_t *kernel = nullptr;
        rawhal_error_t mine = {};
        if (rawhal_library_kernel(library, &query, &kernel, &mine) != RAWHAL_OK ||
            std::string(rawhal_device_kernel_info(kernel)->kernel->name.data, name.size()) != name)
          ++failed;
        if (t == 0 && i % 10 == 0 && rawhal_library_refresh(library, &mine) != RAWHAL_OK)
          ++failed;
        rawhal_library_release(library, kernel);
      }
    });
  threads.emplace_back([&] {
    for (int i = 0; i < 20; ++i) {
      fill(1, count + static_cast<size_t>(i)); // the index is never of what is there
      usleep(2000);
    }
  });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(failed, 0);
  EXPECT_LE(stats(library).loaded_objects, 3u);
}

} // namespace
