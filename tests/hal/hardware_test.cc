// What a queue's creator asks of the hardware: compute units and priority. And grids that must run
// as a whole.
#include "device_test.h"
#include "tests/graph_of.h"

#include <dlfcn.h>
#include <hsa/hsa_ext_amd.h>

namespace {

class Hardware : public DeviceTest {
protected:
  const char *softgpu_options() override
  {
    return "gpus=1,vram_mib=256,timeout_ms=8000,compute_units=0"; // as many as the chip has
  }

  rawhal_status_t make(const rawhal_queue_options_t &options)
  {
    made = nullptr;
    rawhal_queue_options_t all = options;
    all.size = sizeof(all);
    rawhal_status_t status = rawhal_queue_create(device, &all, &made, &error);
    if (made)
      queues.push_back(made);
    EXPECT_EQ(made == nullptr, status != RAWHAL_OK);
    return status;
  }

  rawhal_status_t masked(const std::vector<uint32_t> &words, uint32_t bits)
  {
    rawhal_queue_options_t options = {};
    options.cu_mask = words.data();
    options.cu_mask_bits = bits;
    return make(options);
  }

  // The mask that the runtime has for the queue.
  std::vector<uint32_t> mask_of(rawhal_queue_t *queue)
  {
    void *runtime = dlopen("libhsa-runtime64.so.1", RTLD_NOLOAD | RTLD_LAZY);
    auto get = reinterpret_cast<decltype(&hsa_amd_queue_cu_get_mask)>(
        dlsym(runtime, "hsa_amd_queue_cu_get_mask"));
    rawhal_queue_info_t info = {};
    info.size = sizeof(info);
    rawhal_queue_info(queue, &info);
    std::vector<uint32_t> words(4);
    EXPECT_EQ(get(static_cast<const hsa_queue_t *>(info.hsa_queue), 128, words.data()),
              HSA_STATUS_SUCCESS);
    dlclose(runtime);
    return words;
  }

  rawhal_status_t run_empty(uint32_t groups, uint16_t size, uint32_t flags, uint32_t lds = 0)
  {
    if (!nothing)
      nothing = kernel("empty-gfx90a-v5.co", "empty");
    rawhal_dispatch_t dispatch = dispatch_of(nothing, groups * size, size, none);
    dispatch.flags = flags;
    dispatch.dynamic_lds = lds;
    return run(made, dispatch);
  }

  bool said(const char *part) { return std::string(error.message).find(part) != std::string::npos; }

  const rawhal_device_kernel_t *nothing = nullptr;
  rawhal_queue_t *made = nullptr;
  Blob none;
};

TEST_F(Hardware, AMaskIsTheQueues)
{
  ASSERT_EQ(rawhal_device_info(device)->compute_units, 104u);
  ASSERT_OK(masked({0xf0, 1}, 64));
  EXPECT_EQ(mask_of(made), (std::vector<uint32_t>{0xf0, 1, 0, 0}));
  ASSERT_OK(run_empty(10, 64, 0));
  ASSERT_OK(masked({0xffff}, 7)); // bits beyond the count are nobody's
  EXPECT_EQ(mask_of(made), (std::vector<uint32_t>{0x7f, 0, 0, 0}));
  ASSERT_OK(make({}));
  EXPECT_EQ(mask_of(made), (std::vector<uint32_t>{~0u, ~0u, ~0u, 0xff}));
}

TEST_F(Hardware, AMaskThatIsNone)
{
  EXPECT_EQ(masked({0, 0}, 64), RAWHAL_INVALID_ARGUMENT);
  EXPECT_TRUE(said("no compute unit")) << error.message;
  EXPECT_EQ(masked({1, 0, 0, 0x100}, 128), RAWHAL_OUT_OF_RANGE);
  EXPECT_TRUE(said("104, the device has 104")) << error.message;
  EXPECT_EQ(masked({1}, 0), RAWHAL_INVALID_ARGUMENT);
  rawhal_queue_options_t options = {};
  options.cu_mask_bits = 32;
  EXPECT_EQ(make(options), RAWHAL_INVALID_ARGUMENT);
  EXPECT_TRUE(said("NULL")) << error.message;
}

TEST_F(Hardware, Priorities)
{
  rawhal_queue_options_t options = {};
  for (int priority = RAWHAL_QUEUE_PRIORITY_DEFAULT; priority <= RAWHAL_QUEUE_PRIORITY_HIGH;
       ++priority) {
    options.priority = static_cast<rawhal_queue_priority_t>(priority);
    ASSERT_OK(make(options));
    ASSERT_OK(run_empty(1, 64, 0));
  }
  options.priority = static_cast<rawhal_queue_priority_t>(4);
  EXPECT_EQ(make(options), RAWHAL_INVALID_ARGUMENT);
  EXPECT_TRUE(said("priority 4")) << error.message;
}

TEST_F(Hardware, ACooperativeGridRunsAsAWhole)
{
  ASSERT_OK(make({}));
  ASSERT_OK(run_empty(104 * 8, 256, RAWHAL_DISPATCH_COOPERATIVE));
  EXPECT_EQ(run_empty(104 * 8 + 1, 256, RAWHAL_DISPATCH_COOPERATIVE), RAWHAL_OUT_OF_RANGE);
  EXPECT_TRUE(said("833 work-groups, but 832") && said("8 on each of 104")) << error.message;
  ASSERT_OK(run_empty(104 * 8 + 1, 256, 0));
  ASSERT_OK(run_empty(104 * 2, 256, RAWHAL_DISPATCH_COOPERATIVE, 32768));
  EXPECT_EQ(run_empty(104 * 2 + 1, 256, RAWHAL_DISPATCH_COOPERATIVE, 32768), RAWHAL_OUT_OF_RANGE);
  EXPECT_EQ(run_empty(1, 64, RAWHAL_DISPATCH_COOPERATIVE | RAWHAL_DISPATCH_OVERLAP),
            RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(run_empty(1, 64, 1u << 31), RAWHAL_INVALID_ARGUMENT);
  ASSERT_OK(masked({3}, 32)); // of the compute units that the queue has
  ASSERT_OK(run_empty(16, 256, RAWHAL_DISPATCH_COOPERATIVE));
  EXPECT_EQ(run_empty(17, 256, RAWHAL_DISPATCH_COOPERATIVE), RAWHAL_OUT_OF_RANGE);
}

TEST_F(Hardware, WorkGroupsOfACooperativeGridWaitForEachOther)
{
  ASSERT_OK(make({}));
  const rawhal_device_kernel_t *barrier = kernel("grid_barrier-gfx90a-v5.co", "grid_barrier");
  ASSERT_NE(barrier, nullptr);
  rawhal_occupancy_t occupancy = {};
  ASSERT_OK(rawhal_device_kernel_occupancy(barrier, 256, 0, &occupancy, &error));
  uint32_t groups = occupancy.workgroups_per_cu * rawhal_device_info(device)->compute_units;
  rawhal_buffer_t *come = upload(std::vector<uint32_t>(1, 0)), *out = buffer(4 * groups);
  Blob blob;
  blob.add(rawhal_buffer_address(come)).add(rawhal_buffer_address(out)).add(groups);
  rawhal_dispatch_t dispatch = dispatch_of(barrier, groups * 256, 256, blob);
  dispatch.flags = RAWHAL_DISPATCH_COOPERATIVE;
  ASSERT_OK(run(made, dispatch));
  EXPECT_EQ(download<uint32_t>(out, groups), std::vector<uint32_t>(groups, groups));
  dispatch.work_items[0] += 256;
  EXPECT_EQ(run(made, dispatch), RAWHAL_OUT_OF_RANGE);
}

TEST_F(Hardware, ACooperativeGridInAGraph)
{
  ASSERT_OK(make({}));
  nothing = kernel("empty-gfx90a-v5.co", "empty");
  rawhal_dispatch_t dispatch = dispatch_of(nothing, (104 * 8 + 1) * 256, 256, none);
  dispatch.flags = RAWHAL_DISPATCH_COOPERATIVE;
  rawhal_graph_exec_t *exec = nullptr;
  ASSERT_OK(graph_of(device, made, &dispatch, 1, &exec, &error));
  EXPECT_EQ(rawhal_graph_launch(made, exec, nullptr, 0, 0, nullptr, &error), RAWHAL_OUT_OF_RANGE);
  EXPECT_EQ(std::string(error.message).rfind("node 0: a cooperative grid", 0), 0u) << error.message;
  rawhal_graph_grid_t fits = {{104 * 8 * 256, 1, 1}, {256, 1, 1}, 0, 0, 0, {}};
  rawhal_graph_binding_t binding = {RAWHAL_GRAPH_GRID, 0, 0, sizeof(fits), &fits};
  EXPECT_OK(rawhal_graph_launch(made, exec, &binding, 1, 0, nullptr, &error));
  ++fits.work_items[0];
  EXPECT_EQ(rawhal_graph_launch(made, exec, &binding, 1, 0, nullptr, &error), RAWHAL_OUT_OF_RANGE);
  rawhal_graph_exec_destroy(exec);
}

class LimitedHardware : public Hardware {
protected:
  void SetUp() override
  {
    setenv("RAWHAL_CU_MASK", "0xff", 1);
    Hardware::SetUp();
  }

  void TearDown() override
  {
    unsetenv("RAWHAL_CU_MASK");
    Hardware::TearDown();
  }
};

TEST_F(LimitedHardware, StayWithinTheLimits)
{
  ASSERT_OK(make({}));
  EXPECT_EQ(mask_of(made), (std::vector<uint32_t>{0xff, 0, 0, 0}));
  ASSERT_OK(masked({0xff0}, 32));
  EXPECT_EQ(mask_of(made), (std::vector<uint32_t>{0xf0, 0, 0, 0}));
  ASSERT_OK(run_empty(4 * 8, 256, RAWHAL_DISPATCH_COOPERATIVE));
  EXPECT_EQ(run_empty(4 * 8 + 1, 256, RAWHAL_DISPATCH_COOPERATIVE), RAWHAL_OUT_OF_RANGE);
  EXPECT_EQ(masked({0xff00}, 32), RAWHAL_INVALID_ARGUMENT);
  EXPECT_TRUE(said("limits")) << error.message;
}

} // namespace
