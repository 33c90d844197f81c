// Choosing, finding and refusing devices and libraries. A process keeps its first backend, so that
// tests that need a fresh one run in a child.
#include "device_test.h"

#include <dlfcn.h>
#include <unistd.h>

namespace {

class Instance : public testing::Test {
protected:
  void TearDown() override
  {
    unsetenv("RAWHAL_DEVICE");
    unsetenv("RAWHAL_SOFTGPU_LIBRARY");
    rawhal_instance_destroy(instance);
  }

  rawhal_status_t create(rawhal_instance_options_t options = {})
  {
    return rawhal_instance_create(&options, &instance, &error);
  }

  bool said(const char *part) { return std::string(error.message).find(part) != std::string::npos; }

  rawhal_error_t error = {};
  rawhal_instance_t *instance = nullptr;
};

TEST_F(Instance, DefaultIsSoftgpuWithoutHardware)
{
  if (has_hardware())
    GTEST_SKIP() << "this machine has /dev/kfd";
  ASSERT_OK(rawhal_instance_create(nullptr, &instance, &error));
  ASSERT_EQ(rawhal_instance_device_count(instance), 1u);
  EXPECT_TRUE(rawhal_device_info(rawhal_instance_device(instance, 0))->is_software);
  EXPECT_EQ(rawhal_instance_device(instance, 1), nullptr);
}

TEST_F(Instance, EnvironmentForcesSoftgpu)
{
  setenv("RAWHAL_DEVICE", "softgpu", 1);
  ASSERT_OK(rawhal_instance_create(nullptr, &instance, &error));
  EXPECT_TRUE(rawhal_device_info(rawhal_instance_device(instance, 0))->is_software);
}

TEST_F(Instance, HardwareThatIsNotThere)
{
  if (has_hardware())
    GTEST_SKIP() << "this machine has /dev/kfd";
  rawhal_instance_options_t options = {};
  options.backend = RAWHAL_BACKEND_HSA;
  EXPECT_EQ(create(options), RAWHAL_NOT_FOUND);
  EXPECT_TRUE(said("/dev/kfd")) << error.message;
  EXPECT_EQ(instance, nullptr);
  setenv("RAWHAL_DEVICE", "hsa", 1);
  EXPECT_EQ(create(), RAWHAL_NOT_FOUND);
  options.backend = RAWHAL_BACKEND_SOFTGPU; // the caller's word counts more
  EXPECT_OK(create(options));
}

TEST_F(Instance, GarbageIsNamed)
{
  setenv("RAWHAL_DEVICE", "gpu0", 1);
  EXPECT_EQ(create(), RAWHAL_INVALID_ARGUMENT);
  EXPECT_TRUE(said("RAWHAL_DEVICE: expected softgpu or hsa, got 'gpu0'")) << error.message;
  unsetenv("RAWHAL_DEVICE");
  rawhal_instance_options_t options = {};
  options.backend = static_cast<rawhal_backend_t>(9);
  EXPECT_EQ(create(options), RAWHAL_INVALID_ARGUMENT);
  options.backend = RAWHAL_BACKEND_SOFTGPU;
  for (const char *wrong :
       {"gpus", "gpus=many", "colour=red", "timeout_ms=5,,gpus=1", "gpus=1,2", "chips=gfx94",
        "chips=gfx942,,gfx950", "chips=gfx90a,gfx906b", "chips=gfx90a gfx942", "chips=90a"}) {
    options.softgpu_options = wrong;
    EXPECT_EQ(create(options), RAWHAL_INVALID_ARGUMENT) << wrong;
    EXPECT_TRUE(said("softgpu")) << error.message;
  }
  EXPECT_EQ(rawhal_instance_create(nullptr, nullptr, &error), RAWHAL_INVALID_ARGUMENT);
}

TEST_F(Instance, MissingLibraries)
{
  rawhal_instance_options_t options = {};
  options.backend = RAWHAL_BACKEND_SOFTGPU;
  options.softgpu_library = "/nowhere/libhsakmt.so.1";
  EXPECT_EQ(create(options), RAWHAL_NOT_FOUND);
  EXPECT_TRUE(said("/nowhere/libhsakmt.so.1")) << error.message;
  options.softgpu_library = nullptr;
  options.runtime_library = "/nowhere/libhsa-runtime64.so.1";
  EXPECT_EQ(create(options), RAWHAL_NOT_FOUND);
  EXPECT_TRUE(said("libhsa-runtime64-1")) << error.message;
  EXPECT_EQ(instance, nullptr);
}

TEST_F(Instance, SeveralGpusAndSharing)
{
  rawhal_instance_options_t options = {};
  options.backend = RAWHAL_BACKEND_SOFTGPU;
  options.softgpu_options = "gpus=3,vram_mib=32";
  ASSERT_OK(create(options));
  ASSERT_EQ(rawhal_instance_device_count(instance), 3u);
  rawhal_instance_t *second = nullptr;
  ASSERT_OK(rawhal_instance_create(nullptr, &second, &error));
  EXPECT_EQ(rawhal_instance_device(second, 2), rawhal_instance_device(instance, 2));
  // The number of GPUs is fixed while the runtime is open.
  options.softgpu_options = "gpus=1";
  rawhal_instance_t *third = nullptr;
  EXPECT_EQ(rawhal_instance_create(&options, &third, &error), RAWHAL_INVALID_ARGUMENT);
  rawhal_instance_destroy(second);
  rawhal_instance_destroy(instance);
  instance = nullptr;
  ASSERT_OK(create(options)); // all closed: a new start with new options
  EXPECT_EQ(rawhal_instance_device_count(instance), 1u);
}

// softgpu's own, of this process.
uint64_t option(const char *name)
{
  auto get = reinterpret_cast<bool (*)(const char *, uint64_t *)>(
      dlsym(RTLD_DEFAULT, "softgpu_option_get"));
  uint64_t value = ~uint64_t{0};
  EXPECT_TRUE(get && get(name, &value)) << name;
  return value;
}

TEST_F(Instance, OptionsLastAsLongAsTheRuntime)
{
  static const char *const names[] = {"chip",      "listed", "gpus",    "vram_mib",
                                      "check_lds", "spin",   "slowdown"};
  rawhal_instance_options_t options = {};
  options.backend = RAWHAL_BACKEND_SOFTGPU;
  ASSERT_OK(create(options)); // which loads it
  std::vector<uint64_t> before;
  for (const char *name : names)
    before.push_back(option(name));
  rawhal_instance_destroy(instance);

  options.softgpu_options =
      "chip=gfx942,listed=gfx90a,gpus=2,vram_mib=32,check_lds=refuse,check_lds=off";
  ASSERT_OK(create(options));
  options.softgpu_options = "check_lds=refuse,spin=77";
  rawhal_instance_t *second = nullptr;
  ASSERT_OK(rawhal_instance_create(&options, &second, &error));
  // One that is refused changes nothing, whatever it is refused for.
  rawhal_instance_t *none = nullptr;
  options.softgpu_options = "spin=5,slowdown=3,gpus=1";
  EXPECT_EQ(rawhal_instance_create(&options, &none, &error), RAWHAL_INVALID_ARGUMENT);
  options.softgpu_options = "spin=5,slowdown=3";
  options.copy_timeout_ns = 1;
  EXPECT_EQ(rawhal_instance_create(&options, &none, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(option("spin"), 77u);
  EXPECT_EQ(option("slowdown"), before[6]);
  // However often: what was fixed, and so never changed, takes no room among what is to be set back.
  options.copy_timeout_ns = 0;
  options.softgpu_options = "chip=gfx942";
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(rawhal_instance_create(&options, &none, &error), RAWHAL_INVALID_ARGUMENT);
  options.softgpu_options = "timeout_ms=5000,guard_kib=1024";
  EXPECT_OK(rawhal_instance_create(&options, &none, &error));
  rawhal_instance_destroy(none);
  rawhal_instance_destroy(instance); // the runtime stays
  instance = nullptr;
  EXPECT_EQ(option("chip"), 0x942u);
  EXPECT_EQ(option("check_lds"), 1u);
  EXPECT_EQ(option("spin"), 77u);
  rawhal_instance_destroy(second);
  for (size_t i = 0; i < before.size(); ++i)
    EXPECT_EQ(option(names[i]), before[i]) << names[i];

  options = {};
  options.backend = RAWHAL_BACKEND_SOFTGPU;
  options.softgpu_options = "slowdown=4,gpus=many";
  EXPECT_EQ(create(options), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(option("slowdown"), before[6]);
}

// What chips says of every device, and the options of all, in any order.
TEST_F(Instance, ChipsAreNotContradicted)
{
  rawhal_instance_options_t options = {};
  options.backend = RAWHAL_BACKEND_SOFTGPU;
  for (const char *wrong :
       {"chips=gfx90a,gfx942,gpus=3", "gpus=3,chips=gfx90a,gfx942", "gpus=1,chips=gfx90a,gfx942",
        "chips=gfx90a,gpus=0", "chip=gfx942,chips=gfx90a,gfx942", "chips=gfx942,chip=gfx90a"}) {
    options.softgpu_options = wrong;
    EXPECT_EQ(create(options), RAWHAL_INVALID_ARGUMENT) << wrong;
    EXPECT_TRUE(said("contradicts")) << error.message;
    EXPECT_EQ(option("chips"), 0u) << "it is as it was";
    EXPECT_EQ(option("gpus"), 1u);
  }
  options.softgpu_options = "chips=gfx90a,gfx908,listed=gfx90a";
  EXPECT_EQ(create(options), RAWHAL_UNSUPPORTED) << "which only lists the second";
  options.softgpu_options = "chip=gfx90a,chips=gfx90a,gfx90a,gpus=2,vram_mib=32";
  ASSERT_OK(create(options));
  EXPECT_EQ(rawhal_instance_device_count(instance), 2u);
  EXPECT_EQ(option("chips"), 0x84u);
  rawhal_instance_destroy(instance);
  instance = nullptr;
  EXPECT_EQ(option("chips"), 0u);
  EXPECT_EQ(option("gpus"), 1u);
}

TEST_F(Instance, AChipThatIsOnlyListed)
{
  rawhal_instance_options_t options = {};
  options.backend = RAWHAL_BACKEND_SOFTGPU;
  for (const char *chip : {"chip=gfx906", "chip=gfx900", "gpus=1,chip=gfx908,listed=gfx90a"}) {
    options.softgpu_options = chip;
    EXPECT_EQ(create(options), RAWHAL_UNSUPPORTED) << chip;
    EXPECT_TRUE(said("only lists") && said("gfx950")) << error.message;
    EXPECT_EQ(option("chip"), 0x90au) << "it is as it was";
  }
  options.softgpu_options = "chip=gfx90a,listed=gfx906,gpus=1";
  EXPECT_OK(create(options)); // which executes one and shows the other
}

TEST_F(Instance, NoGpuIsNoDevice)
{
  rawhal_instance_options_t options = {};
  options.backend = RAWHAL_BACKEND_SOFTGPU;
  options.softgpu_options = "gpus=0";
  ASSERT_OK(create(options));
  EXPECT_EQ(rawhal_instance_device_count(instance), 0u);
  EXPECT_EQ(rawhal_instance_device(instance, 0), nullptr);
  rawhal_instance_destroy(instance);
  options.softgpu_options = "gpus=1";
  ASSERT_OK(create(options));
}

TEST_F(Instance, ObjectsOutliveTheirInstance)
{
  rawhal_instance_options_t options = {};
  options.backend = RAWHAL_BACKEND_SOFTGPU;
  ASSERT_OK(create(options));
  rawhal_device_t *device = rawhal_instance_device(instance, 0);
  rawhal_buffer_t *buffer = nullptr;
  rawhal_queue_t *queue = nullptr;
  ASSERT_OK(rawhal_buffer_allocate(device, RAWHAL_MEMORY_DEVICE, 4096, &buffer, &error));
  ASSERT_OK(rawhal_queue_create(device, nullptr, &queue, &error));
  rawhal_instance_destroy(instance);
  instance = nullptr;
  uint32_t value = 77, seen = 0;
  EXPECT_OK(rawhal_buffer_write(buffer, 0, &value, 4, &error));
  EXPECT_OK(rawhal_buffer_read(buffer, 0, &seen, 4, &error));
  EXPECT_EQ(seen, 77u);
  rawhal_queue_destroy(queue);
  rawhal_buffer_free(buffer);
}

class InstanceDeathTest : public Instance {
protected:
  void expect_refused(const char *variable, const char *value, const char *words)
  {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
          setenv(variable, value, 1);
          rawhal_instance_options_t options = {};
          options.backend = RAWHAL_BACKEND_SOFTGPU;
          _exit(create(options) == RAWHAL_INVALID_ARGUMENT && said(words) ? 0 : 1);
        },
        testing::ExitedWithCode(0), "");
  }
};

// Runs in a fresh process, which exits with 0 when the message is as expected.
TEST_F(InstanceDeathTest, ARealThunkLoadedBeforeIsInTheWay)
{
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        void *thunk = dlopen("libhsakmt.so.1", RTLD_NOW | RTLD_GLOBAL);
        rawhal_instance_options_t options = {};
        options.backend = RAWHAL_BACKEND_SOFTGPU;
        bool refused =
            create(options) == RAWHAL_INVALID_ARGUMENT && said("already") && said("softgpu-run");
        _exit(thunk && refused ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

// As one of ROCm 7 and later, which does not link libhsakmt.so.1; zlib does not either.
TEST_F(InstanceDeathTest, ARuntimeWithAThunkInsideFindsTheOtherLibrary)
{
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        unsetenv("HSA_ENABLE_DTIF");
        setenv("RAWHAL_RUNTIME_LIBRARY", "/lib/x86_64-linux-gnu/libz.so.1", 1);
        rawhal_instance_options_t options = {};
        options.backend = RAWHAL_BACKEND_SOFTGPU;
        bool failed = create(options) != RAWHAL_OK; // zlib is no runtime
        void *library = dlopen("libdtif.so", RTLD_NOW | RTLD_NOLOAD);
        const char *asked = getenv("HSA_ENABLE_DTIF");
        _exit(failed && library && asked && *asked == '1' ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(InstanceDeathTest, ALibraryThatIsNoSoftgpu)
{
  expect_refused("RAWHAL_SOFTGPU_LIBRARY", "/lib/x86_64-linux-gnu/libz.so.1", "not softgpu");
}

TEST_F(InstanceDeathTest, GarbageInSoftgpusEnvironment)
{
  expect_refused("SOFTGPU_VRAM_MIB", "plenty", "SOFTGPU_VRAM_MIB");
}

} // namespace
