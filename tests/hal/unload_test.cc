// Executables that are shared, outlive their owners while the device needs them, and leave then.
#include "held_test.h"
#include "tests/graph_of.h"

#include <dlfcn.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ven_amd_loader.h>

#include <cstdlib>
#include <unistd.h>

namespace {

class Unload : public HeldTest {
protected:
  void SetUp() override
  {
    HeldTest::SetUp();
    auto table = reinterpret_cast<decltype(&hsa_system_get_major_extension_table)>(
        dlsym(RTLD_DEFAULT, "hsa_system_get_major_extension_table"));
    ASSERT_NE(table, nullptr);
    ASSERT_EQ(table(HSA_EXTENSION_AMD_LOADER, 1, sizeof(loader), &loader), HSA_STATUS_SUCCESS);
  }

  // Whether the runtime has code at a kernel's address.
  bool loaded(uint64_t object)
  {
    hsa_executable_t executable;
    return loader.hsa_ven_amd_loader_query_executable(reinterpret_cast<const void *>(object),
                                                      &executable) == HSA_STATUS_SUCCESS;
  }

  // What the runtime tells debuggers of the executable with that kernel.
  std::string uri(uint64_t object)
  {
    hsa_executable_t executable;
    if (loader.hsa_ven_amd_loader_query_executable(reinterpret_cast<const void *>(object),
                                                   &executable) != HSA_STATUS_SUCCESS)
      return "not loaded";
    struct Visit {
      const hsa_ven_amd_loader_1_02_pfn_t *loader;
      std::string text;
    } visit = {&loader, ""};
    loader.hsa_ven_amd_loader_executable_iterate_loaded_code_objects(
        executable,
        [](hsa_executable_t, hsa_loaded_code_object_t code, void *data) {
          Visit *to = static_cast<Visit *>(data);
          uint32_t length = 0;
          auto get = to->loader->hsa_ven_amd_loader_loaded_code_object_get_info;
          get(code, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI_LENGTH, &length);
          to->text.resize(length);
          get(code, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI, &to->text[0]);
          return HSA_STATUS_SUCCESS;
        },
        &visit);
    return visit.text;
  }

  // An executable that the test destroys.
  rawhal_executable_t *own(const std::vector<char> &bytes, uint32_t flags = 0)
  {
    rawhal_executable_t *made = load(bytes, flags);
    executables.pop_back();
    return made;
  }

  const rawhal_device_kernel_t *kernel_of(rawhal_executable_t *executable, const char *name)
  {
    const rawhal_device_kernel_t *found = nullptr;
    EXPECT_OK(rawhal_executable_kernel(executable, {name, strlen(name)}, 0, &found, &error));
    return found;
  }

  static uint64_t object_of(const rawhal_device_kernel_t *kernel)
  {
    return rawhal_device_kernel_info(kernel)->kernel_object;
  }

  void take_ids()
  {
    executable = own(ids);
    kernel = kernel_of(executable, "write_ids");
    object = object_of(kernel);
  }

  // Any call that looks after what can go.
  void look() { rawhal_buffer_free(buffer(64)); }

  hsa_ven_amd_loader_1_02_pfn_t loader = {};
  const std::vector<char> ids = fixture_bytes("write_ids-gfx90a-v5.co");
  rawhal_executable_t *executable = nullptr;
  const rawhal_device_kernel_t *kernel = nullptr;
  uint64_t object = 0;
};

TEST_F(Unload, AtOnceWhenNothingRuns)
{
  take_ids();
  ASSERT_OK(run(queue(), store(kernel, 3)));
  EXPECT_TRUE(loaded(object));
  rawhal_executable_destroy(executable);
  EXPECT_FALSE(loaded(object));
}

TEST_F(Unload, AfterTheLastDispatchInFlight)
{
  take_ids();
  rawhal_queue_t *on = queue();
  submit(on, held());
  rawhal_ticket_t ticket = submit(on, store(kernel, 5));
  rawhal_executable_destroy(executable);
  look();
  EXPECT_TRUE(loaded(object));
  release();
  ASSERT_OK(wait(on, ticket));
  EXPECT_EQ(download<uint32_t>(out, 1)[0], 5u);
  look();
  EXPECT_FALSE(loaded(object));
}

TEST_F(Unload, OthersAreNotHeldUp)
{
  take_ids();
  rawhal_queue_t *busy = queue(), *on = queue();
  submit(busy, held()); // another kernel's
  ASSERT_OK(run(on, store(kernel, 6)));
  rawhal_executable_destroy(executable);
  EXPECT_FALSE(loaded(object));
}

TEST_F(Unload, WithTheQueueThatStillRan)
{
  take_ids();
  rawhal_queue_t *on = own_queue();
  submit(on, held());
  submit(on, store(kernel, 5));
  rawhal_executable_destroy(executable);
  EXPECT_TRUE(loaded(object));
  rawhal_queue_destroy(on);
  EXPECT_FALSE(loaded(object));
}

TEST_F(Unload, WithTheQueueThatDied)
{
  rawhal_executable_t *executable = own(fixture_bytes("fault-gfx90a-v5.co"));
  const rawhal_device_kernel_t *kernel = kernel_of(executable, "fault_store");
  uint64_t object = object_of(kernel);
  rawhal_queue_t *on = own_queue();
  Blob blob;
  blob.add(uint64_t{64}).add(int64_t{0}).add(1u);
  EXPECT_EQ(wait(on, submit(on, dispatch_of(kernel, 1, 1, blob))), RAWHAL_FAULT);
  rawhal_executable_destroy(executable);
  EXPECT_TRUE(loaded(object)); // who knows what the device still does there
  rawhal_queue_destroy(on);
  EXPECT_FALSE(loaded(object));
}

TEST_F(Unload, AfterTheLastGraph)
{
  take_ids();
  rawhal_queue_t *on = own_queue();
  rawhal_dispatch_t twice[2] = {store(kernel, 7), store(kernel, 7)};
  rawhal_graph_exec_t *exec = nullptr;
  ASSERT_OK(graph_of(device, on, twice, 2, &exec, &error));
  rawhal_executable_destroy(executable);
  look();
  EXPECT_TRUE(loaded(object));
  rawhal_ticket_t ticket = 0;
  ASSERT_OK(rawhal_graph_launch(on, exec, nullptr, 0, 0, &ticket, &error));
  ASSERT_OK(wait(on, ticket));
  EXPECT_EQ(download<uint32_t>(out, 1)[0], 7u);
  rawhal_queue_destroy(on);
  EXPECT_TRUE(loaded(object));
  rawhal_graph_exec_destroy(exec);
  EXPECT_FALSE(loaded(object));
}

TEST_F(Unload, TheSameBytesAreLoadedOnceAndCounted)
{
  std::vector<char> copy = ids;
  rawhal_executable_t *first = own(ids), *second = own(copy);
  EXPECT_EQ(first, second);
  const rawhal_device_kernel_t *kernel = kernel_of(first, "write_ids");
  uint64_t object = object_of(kernel);
  rawhal_executable_destroy(first);
  EXPECT_TRUE(loaded(object));
  ASSERT_OK(run(queue(), store(kernel, 9)));
  EXPECT_EQ(download<uint32_t>(out, 1)[0], 9u);
  rawhal_executable_destroy(second);
  EXPECT_FALSE(loaded(object));
}

TEST_F(Unload, OtherBytesOrOtherLeaveAreOtherExecutables)
{
  std::vector<char> other = ids;
  other.push_back('\0'); // behind everything the headers speak of
  rawhal_executable_t *first = own(ids), *second = own(other),
                      *third = own(fixture_bytes("bare-gfx90a-v5.co")),
                      *fourth =
                          own(fixture_bytes("bare-gfx90a-v5.co"), RAWHAL_HSACO_DESCRIPTOR_KERNELS);
  EXPECT_NE(first, second);
  EXPECT_NE(third, fourth);
  for (rawhal_executable_t *one : {first, second, third, fourth})
    rawhal_executable_destroy(one);
}

TEST_F(Unload, WhatIsLeavingCanBeLoadedAgain)
{
  rawhal_executable_t *executable = own(ids);
  const rawhal_device_kernel_t *kernel = kernel_of(executable, "write_ids");
  rawhal_queue_t *on = queue();
  submit(on, held());
  rawhal_ticket_t ticket = submit(on, store(kernel, 5));
  rawhal_executable_destroy(executable);
  rawhal_executable_t *again = own(ids);
  EXPECT_EQ(kernel_of(again, "write_ids"), kernel);
  release();
  ASSERT_OK(wait(on, ticket));
  look();
  EXPECT_TRUE(loaded(object_of(kernel)));
  uint64_t object = object_of(kernel);
  rawhal_executable_destroy(again);
  EXPECT_FALSE(loaded(object));
}

TEST_F(Unload, AFilesObjectIsNamedByItsFile)
{
  char path[] = "/tmp/rawhal_unload_XXXXXX";
  int file = mkstemp(path);
  ASSERT_GE(file, 0);
  std::string content = std::string(100, 'x') + std::string(ids.data(), ids.size()) +
                        std::string(50, 'y'); // an object inside of something else
  ASSERT_EQ(write(file, content.data(), content.size()), static_cast<ssize_t>(content.size()));
  close(file);
  rawhal_hsaco_t *hsaco = nullptr;
  ASSERT_OK(rawhal_hsaco_open(ids.data(), ids.size(), nullptr, &hsaco, &error));
  rawhal_executable_t *executable = nullptr;
  EXPECT_EQ(rawhal_executable_load_file(device, hsaco, path, 99, &executable, &error),
            RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_executable_load_file(device, hsaco, path, 200, &executable, &error),
            RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_executable_load_file(device, hsaco, path, UINT64_MAX, &executable, &error),
            RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_executable_load_file(device, hsaco, "/no/such/file", 0, &executable, &error),
            RAWHAL_NOT_FOUND);
  EXPECT_EQ(rawhal_executable_load_file(device, hsaco, nullptr, 0, &executable, &error),
            RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(executable, nullptr);
  ASSERT_OK(rawhal_executable_load_file(device, hsaco, path, 100, &executable, &error));
  rawhal_hsaco_close(hsaco);
  unlink(path);
  const rawhal_device_kernel_t *kernel = kernel_of(executable, "write_ids");
  EXPECT_EQ(uri(object_of(kernel)),
            "file://" + std::string(path) + "#offset=100&size=" + std::to_string(ids.size()));
  ASSERT_OK(run(queue(), store(kernel, 12)));
  EXPECT_EQ(download<uint32_t>(out, 1)[0], 12u);
  rawhal_executable_destroy(executable);
}

class UnloadTwo : public Unload {
protected:
  const char *softgpu_options() override { return "gpus=2,vram_mib=64,timeout_ms=0"; }
};

TEST_F(UnloadTwo, OneObjectOnSeveralDevices)
{
  rawhal_executable_t *first = own(ids);
  rawhal_device_t *before = device;
  device = rawhal_instance_device(instance, 1);
  rawhal_executable_t *second = own(ids);
  ASSERT_NE(first, second);
  const rawhal_device_kernel_t *one = kernel_of(first, "write_ids"),
                               *two = kernel_of(second, "write_ids");
  EXPECT_NE(object_of(one), object_of(two));
  EXPECT_EQ(rawhal_device_kernel_info(one)->kernel, rawhal_device_kernel_info(two)->kernel);
  ASSERT_OK(run(queue(), store(two, 21)));
  EXPECT_EQ(download<uint32_t>(out, 1)[0], 21u);
  uint64_t object = object_of(one);
  rawhal_executable_destroy(first);
  EXPECT_FALSE(loaded(object));
  ASSERT_OK(run(queues.back(), store(two, 22))); // the copy they shared is still there
  EXPECT_EQ(download<uint32_t>(out, 1)[0], 22u);
  rawhal_executable_destroy(second);
  device = before;
}

// A buffer that a dispatch uses is its owner's to keep: the device says who broke that.
TEST_F(HeldTest, AFreedBufferInFlightFaultsItsQueueAndNoOther)
{
  rawhal_queue_t *on = queue(), *other = queue();
  const rawhal_device_kernel_t *ids = kernel("write_ids-gfx90a-v5.co", "write_ids");
  submit(on, held());
  rawhal_dispatch_t dispatch = store(ids, 1);
  rawhal_ticket_t ticket = submit(on, dispatch);
  char address[32];
  snprintf(address, sizeof(address), "%llx",
           static_cast<unsigned long long>(rawhal_buffer_address(out)));
  rawhal_buffer_free(out);
  release();
  EXPECT_EQ(wait(on, ticket), RAWHAL_FAULT);
  EXPECT_NE(std::string(error.message).find("kernel write_ids"), std::string::npos)
      << error.message;
  EXPECT_NE(std::string(error.message).find(address), std::string::npos) << error.message;
  out = nullptr;
  ASSERT_OK(run(other, store(ids, 2)));
  EXPECT_EQ(download<uint32_t>(out, 1)[0], 2u);
}

} // namespace
