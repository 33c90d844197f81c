// Kernels of libraries and the same with probes in them, see twin.h, with arguments made from metadata: pointers lead to
// memory of small numbers, and whatever else there is room for is small. That many of the kernels make no sense of them
// takes nothing from what is compared; those that fault have to in the same place. Kernels with the arguments that their
// libraries give them are compared by the tests of these libraries, where RAWHAL_TEST_TWINS says so.
#include <rawhal/container.h>

#include "tests/extended.h"
#include "tests/hal/device_test.h"
#include "tests/probe/paths.h"
#include "tests/probe/twin.h"

namespace {

struct Engine {
  const char *chip;
  bool is_reference;
};

class TwinsOf : public DeviceTest, public testing::WithParamInterface<Engine> {
protected:
  static constexpr size_t bytes_each = 256 << 10;
  static constexpr uint64_t size = 40, long_size = 1000; // of 4 and of 8 bytes

  // Waves come in one order where there is one thread.
  const char *softgpu_options() override
  {
    options = std::string("gpus=1,vram_mib=4096,threads=1,timeout_ms=10000,chip=") +
              GetParam().chip + ",listed=gfx90a,reference=" + (GetParam().is_reference ? "1" : "0");
    return options.c_str();
  }
  void SetUp() override
  {
    DeviceTest::SetUp();
    Twins::all().most = 1;
  }
  void forget_buffers()
  {
    for (rawhal_buffer_t *each : buffers)
      rawhal_buffer_free(each);
    buffers.clear();
  }

  // Small as numbers of 4 bytes and of 8.
  uint64_t memory()
  {
    std::vector<uint32_t> words(bytes_each / 4);
    for (size_t i = 0; i < words.size(); i += 2)
      words[i] = i / 2 % 32;
    return rawhal_buffer_address(upload(words));
  }

  // What follows the last pointer is mostly an enumeration, a base of indices and the like: 0.
  std::vector<char> arguments(const rawhal_kernarg_layout_t *layout)
  {
    std::vector<char> blob(rawhal_kernarg_layout_info(layout)->explicit_end);
    const rawhal_kernarg_argument_t *each;
    size_t last_pointer = 0;
    for (size_t i = 0; (each = rawhal_kernarg_layout_argument(layout, i)); ++i)
      if (each->value_kind == RAWHAL_VALUE_GLOBAL_BUFFER)
        last_pointer = i;
    for (size_t i = 0; (each = rawhal_kernarg_layout_argument(layout, i)); ++i) {
      uint64_t value = 0;
      if (each->hidden || each->offset + each->size > blob.size())
        continue;
      if (each->value_kind == RAWHAL_VALUE_GLOBAL_BUFFER)
        value = memory();
      else if (each->value_kind == RAWHAL_VALUE_BY_VALUE && each->size == 8)
        value = long_size;
      else if (each->value_kind == RAWHAL_VALUE_BY_VALUE && each->size <= 4 && i < last_pointer)
        value = size;
      memcpy(&blob[each->offset], &value, std::min<size_t>(each->size, sizeof value));
    }
    return blob;
  }

  void compare_kernel(rawhal_executable_t *executable, const rawhal_kernel_t *facts)
  {
    rawhal_dispatch_t dispatch = {};
    if (rawhal_executable_kernel(executable, facts->name, 0, &dispatch.kernel, &error) != RAWHAL_OK)
      return;
    const std::vector<char> blob = arguments(rawhal_device_kernel_info(dispatch.kernel)->layout);
    dispatch.blob = blob.data();
    dispatch.blob_size = blob.size();
    for (int i = 0; i < 3; ++i) {
      const uint32_t most = facts->max_flat_workgroup_size ? facts->max_flat_workgroup_size : 64;
      const uint32_t items = facts->reqd_workgroup_size[0] ? facts->reqd_workgroup_size[i]
                             : i                           ? 1
                                                           : std::min(most, 1024u);
      dispatch.workgroup[i] = static_cast<uint16_t>(items);
      dispatch.work_items[i] = items * (i ? 1 : 3);
    }
    Twins::all().compare(device, dispatch);
    forget_buffers();
  }

  // Those of its kernels whose turn it is.
  void compare_object(const rawhal_bytes_t &bytes)
  {
    rawhal_hsaco_t *hsaco = nullptr;
    rawhal_executable_t *executable = nullptr;
    if (rawhal_hsaco_open(bytes.data, bytes.size, nullptr, &hsaco, &error) != RAWHAL_OK)
      return;
    for (size_t i = 0; i < rawhal_hsaco_info(hsaco)->kernel_count; ++i) {
      const rawhal_kernel_t *kernel = rawhal_hsaco_kernel(hsaco, i);
      if (!kernel->usable || number++ % step)
        continue;
      if (!executable && rawhal_executable_load(device, hsaco, &executable, &error) != RAWHAL_OK)
        break;
      compare_kernel(executable, kernel);
    }
    rawhal_executable_destroy(executable);
    rawhal_hsaco_close(hsaco);
  }

  // Every `each`th kernel for the chip.
  void compare(const std::vector<std::string> &paths, const char *missing, size_t each)
  {
    if (paths.empty())
      GTEST_SKIP() << missing;
    step = each;
    for (const std::string &path : paths) {
      rawhal_container_t *container = nullptr;
      ASSERT_OK(rawhal_container_open_file(path.c_str(), nullptr, &container, &error));
      for (size_t i = 0; i < rawhal_container_count(container); ++i) {
        const rawhal_container_object_t *object = rawhal_container_object(container, i);
        rawhal_bytes_t bytes;
        if (!strcmp(object->target.processor, GetParam().chip) &&
            object->target.xnack != RAWHAL_FEATURE_ON &&
            rawhal_container_read(container, i, &bytes, &error) == RAWHAL_OK)
          compare_object(bytes);
      }
      rawhal_container_close(container);
    }
    EXPECT_GT(number, 0u);
  }

  std::string options;
  size_t number = 0, step = 1; // kernels
};

class Gfx90a : public TwinsOf {};
class Gfx9 : public TwinsOf {};

TEST_P(Gfx90a, RocrandAreTheSame)
{
  compare(matching(RAWHAL_BUILD_DIR "/rocrand/usr/lib/*/librocrand.so.1.*"),
          "no librocrand below the build folder (./dev test fetches it)", by_length(16, 4, 1));
}

TEST_P(Gfx90a, RocsparseAreTheSame)
{
  if (!is_lengthened())
    GTEST_SKIP() << "minutes: RAWHAL_TEST_EXTENDED asks for it";
  compare(matching(RAWHAL_BUILD_DIR "/rocsparse/usr/lib/*/librocsparse.so.0.*"),
          "no librocsparse below the build folder (./dev test --extended fetches it)",
          by_length(1000, 1000, 50));
}

TEST_P(Gfx9, AiterAreTheSame)
{
  compare(below(getenv("RAWHAL_AITER_DIR"), ".co"),
          "RAWHAL_AITER_DIR is not a folder with aiter's objects", by_length(200, 100, 20));
}

std::string engine_name(const testing::TestParamInfo<Engine> &info)
{
  return std::string(info.param.chip) + (info.param.is_reference ? "_reference" : "_fast");
}
INSTANTIATE_TEST_SUITE_P(Twins, Gfx90a,
                         testing::Values(Engine{"gfx90a", false}, Engine{"gfx90a", true}),
                         engine_name);
INSTANTIATE_TEST_SUITE_P(Twins, Gfx9,
                         testing::Values(Engine{"gfx942", false}, Engine{"gfx942", true},
                                         Engine{"gfx950", false}, Engine{"gfx950", true}),
                         engine_name);

} // namespace
