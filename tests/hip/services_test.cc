// printf() and malloc() of kernels that hipcc compiled, with the device library it links, served by
// rawhal_services and not by HIP. What a program of HIP's prints is what they must print.
#include <rawhal/rawhal.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include "tests/assert_ok.h"

namespace {

std::vector<std::string> sorted_lines(const std::string &text)
{
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);)
    lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  return lines;
}

std::string output_of(const std::string &command)
{
  std::string text;
  char part[4096];
  FILE *pipe = popen(command.c_str(), "r");
  for (size_t size; pipe && (size = fread(part, 1, sizeof(part), pipe)) > 0;)
    text.append(part, size);
  EXPECT_TRUE(pipe && pclose(pipe) == 0) << command;
  return text;
}

class HipServices : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override
  {
    rawhal_instance_options_t options = {};
    options.backend = RAWHAL_BACKEND_SOFTGPU;
    ASSERT_OK(rawhal_instance_create(&options, &instance, &error));
    device = rawhal_instance_device(instance, 0);
  }

  void open(uint64_t heap_bytes)
  {
    rawhal_services_options_t services_options = {};
    services_options.heap_bytes = heap_bytes;
    services_options.output = [](void *context, rawhal_services_stream_t, const char *text,
                                 size_t size) {
      static_cast<std::string *>(context)->append(text, size);
    };
    services_options.context = &printed;
    ASSERT_OK(rawhal_services_create(device, &services_options, &services, &error));
    rawhal_queue_options_t queue_options = {};
    queue_options.services = rawhal_services_queue(services);
    ASSERT_OK(rawhal_queue_create(device, &queue_options, &queue, &error));
  }

  void TearDown() override
  {
    rawhal_queue_destroy(queue);
    rawhal_services_destroy(services);
    rawhal_executable_destroy(executable);
    rawhal_buffer_free(buffer);
    rawhal_instance_destroy(instance);
  }

  // Runs a kernel of the program's code object.
  void run(const char *name, uint32_t groups, uint16_t size, const void *blob, size_t blob_size)
  {
    rawhal_container_t *container = nullptr;
    rawhal_hsaco_t *hsaco = nullptr;
    const rawhal_container_object_t *found = nullptr;
    const rawhal_device_kernel_t *kernel = nullptr;
    ASSERT_OK(rawhal_container_open_file(GetParam(), nullptr, &container, &error));
    for (size_t i = 0; i < rawhal_container_count(container); ++i)
      if (rawhal_container_object(container, i)->bytes.size)
        found = rawhal_container_object(container, i);
    ASSERT_NE(found, nullptr);
    ASSERT_OK(rawhal_hsaco_open(found->bytes.data, found->bytes.size, nullptr, &hsaco, &error));
    ASSERT_OK(rawhal_executable_load(device, hsaco, &executable, &error));
    rawhal_hsaco_close(hsaco);
    rawhal_container_close(container);
    ASSERT_OK(rawhal_executable_kernel(executable, rawhal_string(name), 0, &kernel, &error));
    rawhal_dispatch_t dispatch = {};
    dispatch.kernel = kernel;
    dispatch.work_items[0] = groups * size;
    dispatch.workgroup[0] = size;
    dispatch.work_items[1] = dispatch.work_items[2] = 1;
    dispatch.workgroup[1] = dispatch.workgroup[2] = 1;
    dispatch.blob = blob;
    dispatch.blob_size = blob_size;
    rawhal_ticket_t ticket = 0;
    ASSERT_OK(rawhal_queue_submit(queue, &dispatch, 1, RAWHAL_FOREVER, &ticket, &error));
    ASSERT_OK(rawhal_queue_wait(queue, ticket, rawhal_deadline_after(60000000000), &error));
    ASSERT_OK(rawhal_services_flush(services, executable, &error));
  }

  // What each item's list sums up to: of `count` nodes of 8 sizes, every 32nd item's of large ones.
  const int *lists()
  {
    struct {
      uint64_t sums;
      int32_t count;
    } blob = {0, count};
    EXPECT_OK(rawhal_buffer_allocate(device, RAWHAL_MEMORY_HOST, items * 4, &buffer, &error));
    blob.sums = rawhal_buffer_address(buffer);
    run("lists", items / 64, 64, &blob, 12);
    return static_cast<const int *>(rawhal_buffer_host(buffer));
  }

  rawhal_services_info_t info()
  {
    rawhal_services_info_t now = {};
    now.size = sizeof(now);
    rawhal_services_info(services, &now);
    return now;
  }

  static constexpr int items = 256, count = 20;
  static constexpr uint64_t slab = 2 << 20;
  rawhal_error_t error = {};
  rawhal_instance_t *instance = nullptr;
  rawhal_device_t *device = nullptr;
  rawhal_services_t *services = nullptr;
  rawhal_queue_t *queue = nullptr;
  rawhal_executable_t *executable = nullptr;
  rawhal_buffer_t *buffer = nullptr;
  std::string printed;
};

TEST_P(HipServices, PrintsWhatHipPrints)
{
  const int from = 100;
  open(0);
  run("say", 2, 48, &from, sizeof(from));
  std::string expected = output_of(RAWHAL_SOFTGPU_RUN " " RAWHAL_PRINTF_PROGRAM);
  EXPECT_EQ(sorted_lines(printed), sorted_lines(expected));
  EXPECT_EQ(sorted_lines(printed).size(), 96u + 6u);
  EXPECT_EQ(info().refused, 0u);
}

// On a slow device each of the 4 waves takes a slab for each of the 8 sizes of blocks; and the device
// library of ROCm 5.2 counts a wave's blocks once for each lane, so that a slab is full after a few.
TEST_P(HipServices, MemoryIsTakenAndGivenBack)
{
  open(128 * slab);
  const int *sums = lists();
  for (int i = 0; i < items; ++i)
    EXPECT_EQ(sums[i], i * count * (count - 1) / 2) << i;
  EXPECT_EQ(info().refused, 0u);
  EXPECT_EQ(info().heap_full, 0u);
  EXPECT_GT(info().packets, 0u);
  EXPECT_EQ(info().heap_used % slab, 0u) << "only slabs are left";
}

TEST_P(HipServices, MemoryThatIsNotThereIsCounted)
{
  open(slab);
  const int *sums = lists();
  EXPECT_LT(sums[1], count * (count - 1) / 2) << "malloc() gave NULL";
  EXPECT_GT(info().heap_full, 0u);
  EXPECT_EQ(info().refused, 0u);
  EXPECT_EQ(info().heap_used % slab, 0u);
}

INSTANTIATE_TEST_SUITE_P(Version, HipServices,
                         testing::Values(RAWHAL_PRINTF_OBJECTS "4.co",
                                         RAWHAL_PRINTF_OBJECTS "5.co"),
                         [](const auto &object) { return object.index ? "V5" : "V4"; });

} // namespace
