// Code objects that load, and those that are refused before the runtime sees them.
#include "device_test.h"

#include <algorithm>

namespace {

class Executable : public DeviceTest {
protected:
  rawhal_status_t try_load(const std::vector<char> &bytes)
  {
    rawhal_hsaco_t *hsaco = nullptr;
    EXPECT_OK(rawhal_hsaco_open(bytes.data(), bytes.size(), nullptr, &hsaco, &error));
    rawhal_executable_t *executable = nullptr;
    rawhal_status_t status = rawhal_executable_load(device, hsaco, &executable, &error);
    EXPECT_EQ(executable == nullptr, status != RAWHAL_OK);
    rawhal_executable_destroy(executable);
    rawhal_hsaco_close(hsaco);
    return status;
  }

  bool said(const char *part) { return std::string(error.message).find(part) != std::string::npos; }
};

TEST_F(Executable, AnotherTargetIsRefusedWithTheReason)
{
  for (const char *name : {"vector_add-gfx942-v5.co", "vector_add-gfx1030-v5.co"}) {
    EXPECT_EQ(try_load(fixture_bytes(name)), RAWHAL_TARGET_MISMATCH) << name;
    EXPECT_TRUE(said("gfx90a")) << error.message;
    EXPECT_TRUE(said("the code object is for gfx")) << error.message;
  }
}

TEST_F(Executable, KernelsByNameAndSymbol)
{
  rawhal_executable_t *executable = load("fault-gfx90a-v5.co");
  const rawhal_device_kernel_t *by_name = nullptr, *by_symbol = nullptr, *other = nullptr;
  std::string name = "fault_load", symbol = "fault_load.kd";
  ASSERT_OK(rawhal_executable_kernel(executable, {name.data(), name.size()}, 0, &by_name, &error));
  ASSERT_OK(
      rawhal_executable_kernel(executable, {symbol.data(), symbol.size()}, 0, &by_symbol, &error));
  EXPECT_EQ(by_name, by_symbol);
  const rawhal_device_kernel_info_t *info = rawhal_device_kernel_info(by_name);
  EXPECT_EQ(std::string(info->kernel->name.data, info->kernel->name.size), name);
  EXPECT_NE(info->kernel_object, 0u);
  EXPECT_EQ(info->group_segment_size, info->kernel->group_segment_fixed_size);
  name = "fault_lds_store";
  ASSERT_OK(rawhal_executable_kernel(executable, {name.data(), name.size()}, 0, &other, &error));
  EXPECT_NE(other, by_name);
  EXPECT_GE(rawhal_device_kernel_info(other)->group_segment_size, 64u);
  EXPECT_EQ(rawhal_executable_kernel(executable, {"nobody", 6}, 0, &other, &error),
            RAWHAL_NOT_FOUND);
  EXPECT_TRUE(said("'nobody'")) << error.message;
  EXPECT_EQ(other, nullptr);
  EXPECT_EQ(rawhal_executable_kernel(nullptr, {"x", 1}, 0, &other, &error),
            RAWHAL_INVALID_ARGUMENT);
}

TEST_F(Executable, DamagedObjectsNeverReachTheRuntime)
{
  // What hsaco reports as not loadable must be refused here; what it lets through must not crash.
  std::vector<char> bytes = fixture_bytes("vector_add-gfx90a-v5.co");
  int refused = 0, loaded = 0;
  for (size_t at = 16; at < 0x400 && at < bytes.size(); at += 7) {
    std::vector<char> damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0xFF);
    rawhal_hsaco_t *hsaco = nullptr;
    if (rawhal_hsaco_open(damaged.data(), damaged.size(), nullptr, &hsaco, &error) != RAWHAL_OK)
      continue;
    rawhal_executable_t *executable = nullptr;
    rawhal_status_t status = rawhal_executable_load(device, hsaco, &executable, &error);
    (status == RAWHAL_OK ? loaded : refused) += 1;
    rawhal_executable_destroy(executable);
    rawhal_hsaco_close(hsaco);
  }
  EXPECT_GT(refused, 0);
  EXPECT_GT(loaded, 0);
}

TEST_F(Executable, AKernelWithOtherWavesIsRefused)
{
  std::vector<char> bytes = fixture_bytes("vector_add-gfx90a-v5.co");
  const std::string key = "wavefront_size";
  auto at = std::search(bytes.begin(), bytes.end(), key.begin(), key.end());
  ASSERT_NE(at, bytes.end());
  ASSERT_EQ(at[key.size()], 64); // a small integer of MessagePack
  at[key.size()] = 32;
  const rawhal_device_kernel_t *found = nullptr;
  rawhal_executable_t *executable = load(bytes);
  ASSERT_NE(executable, nullptr);
  EXPECT_EQ(rawhal_executable_kernel(executable, {"vector_add", 10}, 0, &found, &error),
            RAWHAL_UNSUPPORTED);
  EXPECT_TRUE(said("32") && said("64")) << error.message;
  EXPECT_EQ(found, nullptr);
}

TEST_F(Executable, KernelOfAnotherDevice)
{
  const rawhal_device_kernel_t *empty = kernel("empty-gfx90a-v5.co", "empty");
  ASSERT_NE(empty, nullptr);
  Blob nothing;
  ASSERT_OK(run(queue(), dispatch_of(empty, 1, 1, nothing)));
  EXPECT_EQ(rawhal_executable_load(device, nullptr, nullptr, &error), RAWHAL_INVALID_ARGUMENT);
  rawhal_executable_t *executable = nullptr;
  EXPECT_EQ(rawhal_executable_load(device, nullptr, &executable, &error), RAWHAL_INVALID_ARGUMENT);
}

class TwoDevices : public DeviceTest {
protected:
  const char *softgpu_options() override { return "gpus=2,vram_mib=64,timeout_ms=8000"; }
};

TEST_F(TwoDevices, KernelsStayOnTheirDevice)
{
  const rawhal_device_kernel_t *empty = kernel("empty-gfx90a-v5.co", "empty"); // device 0
  rawhal_device_t *first = device;
  device = rawhal_instance_device(instance, 1);
  ASSERT_NE(device, nullptr);
  rawhal_queue_t *other = queue();
  Blob nothing;
  EXPECT_EQ(run(other, dispatch_of(empty, 1, 1, nothing)), RAWHAL_INVALID_ARGUMENT);
  EXPECT_NE(std::string(error.message).find("another device"), std::string::npos);
  ASSERT_OK(run(other, dispatch_of(kernel("empty-gfx90a-v5.co", "empty"), 1, 1, nothing)));
  device = first;
  ASSERT_OK(run(queue(), dispatch_of(empty, 1, 1, nothing)));
}

} // namespace
