// Every allocation of queue/ and hal/ fails once, at every point. The linker sends this program's
// malloc, calloc, realloc and aligned_alloc here.
#include "device_test.h"

#include "tests/graph_of.h"
#include "tests/harness/aligned_allocation_failure.h"

#include <functional>

namespace {

using Attempt = std::function<rawhal_status_t(rawhal_error_t *)>;

// Repeats `attempt`, which cleans up after itself, with 0, 1, 2.. allocations allowed until it
// succeeds. Returns how often it did not.
int sweep(const Attempt &attempt)
{
  for (int allowed = 0; allowed < 2000; ++allowed) {
    rawhal_error_t error = {};
    allocations_refused = 0;
    allocations_left = allowed;
    rawhal_status_t status = attempt(&error);
    const bool refused = allocations_refused;
    allocations_left = -1;
    if (status == RAWHAL_OK && !refused)
      return allowed;
    if (status != RAWHAL_OK) { // an allocation that can be done without may fail unnoticed
      EXPECT_EQ(status, RAWHAL_OUT_OF_MEMORY) << allowed << ": " << error.message;
      EXPECT_EQ(error.status, RAWHAL_OUT_OF_MEMORY);
      EXPECT_STRNE(error.message, "");
    }
  }
  ADD_FAILURE() << "no end";
  return -1;
}

// What the test does around an attempt does not fail.
class Spared {
public:
  Spared() : left(allocations_left) { allocations_left = -1; }
  ~Spared() { allocations_left = left; }

private:
  long left;
};

class Allocation : public DeviceTest {
protected:
  rawhal_dispatch_t empty()
  {
    if (!nothing)
      nothing = kernel("empty-gfx90a-v5.co", "empty");
    return dispatch_of(nothing, 1, 1, none);
  }

  const rawhal_device_kernel_t *nothing = nullptr;
  Blob none;
};

TEST(AllocationFailure, OfInstances)
{
  rawhal_instance_options_t options = {};
  options.backend = RAWHAL_BACKEND_SOFTGPU;
  options.softgpu_options = "gpus=2,vram_mib=64";
  EXPECT_GE(sweep([&](rawhal_error_t *error) {
              rawhal_instance_t *made = nullptr;
              rawhal_status_t status = rawhal_instance_create(&options, &made, error);
              EXPECT_EQ(made != nullptr, status == RAWHAL_OK);
              rawhal_instance_destroy(made);
              return status;
            }),
            2); // the instance, its devices
}

TEST_F(Allocation, OfQueues)
{
  rawhal_queue_options_t options = {};
  options.submissions = 4;
  EXPECT_GE(sweep([&](rawhal_error_t *error) {
              rawhal_queue_t *made = nullptr;
              rawhal_status_t status = rawhal_queue_create(device, &options, &made, error);
              EXPECT_EQ(made != nullptr, status == RAWHAL_OK);
              rawhal_queue_destroy(made);
              return status;
            }),
            3); // the queue, its slots, its kernels
}

TEST_F(Allocation, OfFilesOfLaunches)
{
  const std::string path = "/tmp/rawhal-allocation-" + std::to_string(getpid()) + ".rec";
  rawhal_queue_t *on = queue();
  const rawhal_dispatch_t dispatch = empty();
  EXPECT_GE(sweep([&](rawhal_error_t *error) {
              rawhal_recorder_t *recorder = nullptr;
              rawhal_capture_t *capture = nullptr;
              rawhal_status_t status =
                  rawhal_recorder_create(device, path.c_str(), nullptr, &recorder, error);
              EXPECT_EQ(recorder != nullptr, status == RAWHAL_OK);
              if (status == RAWHAL_OK)
                status = rawhal_recorder_begin(recorder, on, &dispatch, &capture, error);
              EXPECT_EQ(capture != nullptr, status == RAWHAL_OK);
              if (status == RAWHAL_OK)
                status = rawhal_recorder_end(capture, true, error);
              Spared spared;
              EXPECT_EQ(rawhal_recorder_close(recorder, &this->error), RAWHAL_OK);
              unlink(path.c_str());
              return status;
            }),
            8);
}

class AllocationOfTwo : public Allocation {
protected:
  const char *softgpu_options() override { return "gpus=2,vram_mib=64,timeout_ms=8000"; }
};

TEST_F(AllocationOfTwo, OfAccessAndOfCopiesThroughTheHost)
{
  rawhal_device_t *second = rawhal_instance_device(instance, 1);
  rawhal_buffer_t *source = buffer(4096), *target = nullptr;
  EXPECT_OK(rawhal_buffer_allocate(second, RAWHAL_MEMORY_DEVICE, 4096, &target, &error));
  buffers.push_back(target);
  EXPECT_GE(sweep([&](rawhal_error_t *error) {
              return rawhal_buffer_copy(target, 0, source, 0, 4096, error);
            }),
            1);
  EXPECT_GE(
      sweep([&](rawhal_error_t *error) { return rawhal_buffer_allow(target, &device, 1, error); }),
      2); // the list, what the runtime is told
}

TEST_F(Allocation, OfImportsByHandle)
{
  rawhal_ipc_handle_t handle;
  ASSERT_OK(rawhal_buffer_export_ipc(buffer(4096), &handle, &error));
  EXPECT_GE(sweep([&](rawhal_error_t *error) {
              rawhal_buffer_t *made = nullptr;
              rawhal_status_t status =
                  rawhal_buffer_import_ipc(device, &handle, 4096, &made, error);
              EXPECT_EQ(made != nullptr, status == RAWHAL_OK);
              rawhal_buffer_free(made);
              return status;
            }),
            1);
}

TEST_F(Allocation, OfBuffersAndImports)
{
  std::vector<char> memory(4096);
  for (int import : {0, 1})
    EXPECT_GE(sweep([&](rawhal_error_t *error) {
                rawhal_buffer_t *made = nullptr;
                rawhal_status_t status =
                    import
                        ? rawhal_buffer_import(device, memory.data(), memory.size(), &made, error)
                        : rawhal_buffer_allocate(device, RAWHAL_MEMORY_DEVICE, 4096, &made, error);
                EXPECT_EQ(made != nullptr, status == RAWHAL_OK);
                rawhal_buffer_free(made);
                return status;
              }),
              1);
}

TEST_F(Allocation, OfExecutablesAndTheirKernels)
{
  std::vector<char> bytes = fixture_bytes("vector_add-gfx90a-v5.co");
  rawhal_hsaco_t *hsaco = nullptr;
  ASSERT_OK(rawhal_hsaco_open(bytes.data(), bytes.size(), nullptr, &hsaco, &error));
  for (bool busy : {false, true}) { // the table of sources is empty, or is not
    if (busy)
      load("empty-gfx90a-v5.co");
    EXPECT_GE(sweep([&](rawhal_error_t *why) {
                rawhal_executable_t *made = nullptr;
                const rawhal_device_kernel_t *found = nullptr;
                rawhal_status_t status = rawhal_executable_load(device, hsaco, &made, why);
                EXPECT_EQ(made != nullptr, status == RAWHAL_OK);
                if (status == RAWHAL_OK) {
                  status = rawhal_executable_kernel(made, {"vector_add", 10}, 0, &found, why);
                  EXPECT_EQ(found != nullptr, status == RAWHAL_OK);
                }
                rawhal_executable_destroy(made);
                return status;
              }),
              4);
  }
  rawhal_hsaco_close(hsaco);
}

TEST_F(Allocation, OfObjectsThatNeedOthersAndAreOpenedAtOnce)
{
  rawhal_buffer_t *memory = upload(std::vector<uint32_t>(16, 7));
  const rawhal_external_t externals[] = {
      {RAWHAL_STRING("shared_counter"), rawhal_buffer_address(memory)},
      {RAWHAL_STRING("shared_table"), rawhal_buffer_address(memory) + 16}};
  rawhal_open_options_t options = {};
  options.size = sizeof(options);
  options.externals = externals;
  options.external_count = 2;
  std::vector<char> bytes = fixture_bytes("externals-gfx90a-v5.co");
  EXPECT_GE(sweep([&](rawhal_error_t *why) {
              rawhal_executable_t *made = nullptr;
              uint64_t address = 0, size = 0;
              rawhal_status_t status =
                  rawhal_executable_open(device, bytes.data(), bytes.size(), &options, &made, why);
              EXPECT_EQ(made != nullptr, status == RAWHAL_OK);
              if (status == RAWHAL_OK)
                status = rawhal_executable_variable(made, RAWHAL_STRING("shared_table"), &address,
                                                    &size, why);
              EXPECT_EQ(address, status == RAWHAL_OK ? externals[1].address : 0);
              rawhal_executable_destroy(made);
              return status;
            }),
            8);
}

TEST_F(Allocation, OfGraphs)
{
  rawhal_queue_t *on = queue();
  rawhal_dispatch_t dispatch = empty();
  EXPECT_EQ(
      sweep([&](rawhal_error_t *why) {
        rawhal_graph_exec_t *made = nullptr;
        rawhal_status_t status = graph_of(device, on, &dispatch, 1, &made, why);
        EXPECT_EQ(made != nullptr, status == RAWHAL_OK);
        rawhal_graph_exec_destroy(made);
        return status;
      }),
      11); // a graph, its nodes, an image; an exec, its nodes, kernels, packets, images, hidden and visible arguments
}

TEST_F(Allocation, OfChildGraphs)
{
  const rawhal_dispatch_t dispatch = empty();
  rawhal_graph_t *child = nullptr;
  const rawhal_graph_node_t root = 0;
  ASSERT_OK(rawhal_graph_create(device, &child, &error));
  ASSERT_OK(rawhal_graph_add_kernel(child, &dispatch, nullptr, 0, nullptr, &error));
  ASSERT_OK(rawhal_graph_add_kernel(child, &dispatch, &root, 1, nullptr, &error));
  EXPECT_EQ(sweep([&](rawhal_error_t *why) {
              rawhal_graph_t *made = nullptr;
              const size_t before = rawhal_graph_node_count(child);
              rawhal_status_t status = rawhal_graph_create(device, &made, why);
              if (status == RAWHAL_OK)
                status =
                    rawhal_graph_add_child(made, child, "all", nullptr, 0, nullptr, nullptr, why);
              EXPECT_EQ(rawhal_graph_node_count(made), status == RAWHAL_OK ? 3u : 0u);
              EXPECT_EQ(rawhal_graph_node_count(child), before);
              rawhal_graph_destroy(made);
              return status;
            }),
            5); // it, its nodes, two images, a list of what comes before
  rawhal_graph_destroy(child);
}

TEST_F(Allocation, OfCallbacks)
{
  rawhal_dispatch_t dispatch = empty();
  EXPECT_EQ(sweep([&](rawhal_error_t *why) {
              int called = 0;
              rawhal_queue_t *on = nullptr;
              rawhal_ticket_t ticket = 0;
              {
                Spared spared;
                EXPECT_OK(rawhal_queue_create(device, nullptr, &on, &error));
                EXPECT_OK(rawhal_queue_submit(on, &dispatch, 1, 0, &ticket, &error));
              }
              rawhal_status_t status = rawhal_queue_on_complete(
                  on, ticket,
                  [](void *count, rawhal_ticket_t, const rawhal_error_t *) {
                    ++*static_cast<int *>(count);
                  },
                  &called, why);
              {
                Spared spared;
                rawhal_queue_destroy(on);
              }
              EXPECT_EQ(called, status == RAWHAL_OK ? 1 : 0);
              return status;
            }),
            1);
}

// Submission allocates nothing.
TEST_F(Allocation, NoneOfSubmissions)
{
  rawhal_queue_t *on = queue();
  rawhal_dispatch_t dispatch = empty();
  std::vector<rawhal_dispatch_t> batch(20, dispatch);
  rawhal_graph_exec_t *exec = nullptr;
  ASSERT_OK(graph_of(device, on, batch.data(), batch.size(), &exec, &error));
  uint32_t value = 5;
  rawhal_buffer_t *out = buffer(64), *host = buffer(64, RAWHAL_MEMORY_HOST);
  uint64_t address = rawhal_buffer_address(out);
  const void *arguments[] = {&address, &value, &value, &value};
  rawhal_dispatch_t pointers =
      dispatch_of(kernel("write_ids-gfx90a-v5.co", "write_ids"), 1, 1, none);
  pointers.blob = nullptr;
  pointers.blob_size = 0;
  pointers.arguments = arguments;
  pointers.argument_count = 4;
  EXPECT_EQ(sweep([&](rawhal_error_t *why) {
              rawhal_ticket_t ticket = 0;
              uint64_t start, end;
              rawhal_dependency_t dependency = {on, 1, 0, 0};
              rawhal_status_t status =
                  rawhal_queue_submit(on, batch.data(), batch.size(), RAWHAL_FOREVER, &ticket, why);
              if (status == RAWHAL_OK)
                status = rawhal_queue_submit(on, &pointers, 1, RAWHAL_FOREVER, &ticket, why);
              if (status == RAWHAL_OK)
                status = rawhal_queue_barrier(on, &dependency, 1, RAWHAL_FOREVER, nullptr, why);
              if (status == RAWHAL_OK)
                status = rawhal_graph_launch(on, exec, nullptr, 0, RAWHAL_FOREVER, nullptr, why);
              if (status == RAWHAL_OK)
                status = rawhal_queue_wait(on, ticket, RAWHAL_FOREVER, why);
              if (status == RAWHAL_OK)
                status = rawhal_queue_timing(on, ticket, &start, &end, why);
              if (status == RAWHAL_OK)
                status = rawhal_buffer_write(host, 0, &value, 4, why);
              if (status == RAWHAL_OK)
                status = rawhal_buffer_copy(host, 0, out, 0, 4, why);
              return status;
            }),
            0);
  rawhal_graph_exec_destroy(exec);
}

} // namespace
