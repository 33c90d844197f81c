// All that is made with an instance's devices is in memory of the instance's allocator.
#include "device_test.h"

#include "tests/graph_of.h"
#include "tests/harness/allocator.h"

#include <functional>

namespace {

const std::string fixtures = RAWHAL_SOURCE_DIR "/tests/fixtures/";

rawhal_status_t share_instance(const rawhal_allocator_t *from, rawhal_instance_t **made,
                               rawhal_error_t *error)
{
  rawhal_instance_options_t options = {};
  options.size = sizeof(options);
  options.backend = RAWHAL_BACKEND_SOFTGPU;
  options.allocator = from;
  return rawhal_instance_create(&options, made, error);
}

// The first, which starts the runtime.
rawhal_status_t make_instance(const rawhal_allocator_t *from, rawhal_instance_t **made,
                              rawhal_error_t *error, const rawhal_limit_config_t *limits = nullptr)
{
  rawhal_instance_options_t options = {};
  options.size = sizeof(options);
  options.backend = RAWHAL_BACKEND_SOFTGPU;
  options.softgpu_options = "gpus=2,vram_mib=256,timeout_ms=8000";
  options.limits = limits;
  options.allocator = from;
  return rawhal_instance_create(&options, made, error);
}

void count_call(void *calls, rawhal_ticket_t, const rawhal_error_t *)
{
  ++*static_cast<std::atomic<int> *>(calls);
}

// One of everything, as far as it gets: each step adds to what there is.
struct Everything {
  rawhal_error_t *error;
  rawhal_instance_t *instance = nullptr;
  rawhal_device_t *first = nullptr, *second = nullptr;
  rawhal_executable_t *file = nullptr, *bundle = nullptr, *loaded = nullptr, *external = nullptr;
  const rawhal_device_kernel_t *kernel = nullptr;
  rawhal_buffer_t *memory = nullptr, *other = nullptr, *imported = nullptr, *shared = nullptr;
  rawhal_queue_t *queue = nullptr;
  rawhal_graph_exec_t *exec = nullptr;
  rawhal_services_t *services = nullptr;
  rawhal_ticket_t ticket = 0;
  std::vector<char> host = std::vector<char>(8192);
  std::atomic<int> calls{};

  rawhal_status_t buffers()
  {
    rawhal_ipc_handle_t handle;
    rawhal_status_t status =
        rawhal_buffer_allocate(first, RAWHAL_MEMORY_DEVICE, 4096, &memory, error);
    if (status == RAWHAL_OK)
      status = rawhal_buffer_allocate(second, RAWHAL_MEMORY_DEVICE, 4096, &other, error);
    if (status == RAWHAL_OK)
      status = rawhal_buffer_import(first, host.data(), host.size(), &imported, error);
    if (status == RAWHAL_OK)
      status = rawhal_buffer_export_ipc(memory, &handle, error);
    if (status == RAWHAL_OK)
      status = rawhal_buffer_import_ipc(first, &handle, 4096, &shared, error);
    if (status == RAWHAL_OK)
      status = rawhal_buffer_write(memory, 0, host.data(), 4096, error);
    if (status == RAWHAL_OK)
      status = rawhal_buffer_copy(other, 0, memory, 0, 4096, error); // through the host
    if (status == RAWHAL_OK)
      status = rawhal_buffer_allow(memory, &second, 1, error);
    return status;
  }

  rawhal_status_t executables()
  {
    std::vector<char> bytes = fixture_bytes("vector_add.bundle");
    std::vector<char> needs = fixture_bytes("externals-gfx90a-v5.co");
    std::string path = fixtures + "empty-gfx90a-v5.co";
    const rawhal_external_t externals[] = {
        {RAWHAL_STRING("shared_counter"), rawhal_buffer_address(memory)},
        {RAWHAL_STRING("shared_table"), rawhal_buffer_address(memory) + 16}};
    rawhal_open_options_t options = {};
    options.size = sizeof(options);
    options.externals = externals;
    options.external_count = 2;
    uint64_t address, size;
    rawhal_status_t status =
        rawhal_executable_open_file(first, path.c_str(), nullptr, &file, error);
    if (status == RAWHAL_OK)
      status = rawhal_executable_open(first, bytes.data(), bytes.size(), nullptr, &bundle, error);
    if (status == RAWHAL_OK)
      status = rawhal_executable_load(second, rawhal_executable_hsaco(bundle), &loaded, error);
    if (status == RAWHAL_OK)
      status =
          rawhal_executable_open(first, needs.data(), needs.size(), &options, &external, error);
    if (status == RAWHAL_OK)
      status = rawhal_executable_variable(external, RAWHAL_STRING("shared_table"), &address, &size,
                                          error);
    if (status == RAWHAL_OK)
      status = rawhal_executable_kernel(file, RAWHAL_STRING("empty"), 0, &kernel, error);
    return status;
  }

  rawhal_status_t work()
  {
    rawhal_queue_options_t options = {};
    options.size = sizeof(options);
    options.dispatch_times = true;
    rawhal_status_t status = rawhal_services_create(first, nullptr, &services, error);
    options.services = rawhal_services_queue(services);
    if (status == RAWHAL_OK)
      status = rawhal_queue_create(first, &options, &queue, error);
    std::vector<rawhal_dispatch_t> batch(3, dispatch_of(kernel, 1, 1, {}));
    if (status == RAWHAL_OK)
      status = graph_of(first, queue, batch.data(), batch.size(), &exec, error);
    if (status == RAWHAL_OK)
      status =
          rawhal_queue_write(queue, memory, 0, host.data(), 4096, RAWHAL_FOREVER, nullptr, error);
    if (status == RAWHAL_OK)
      status = rawhal_queue_read(queue, memory, 0, host.data(), 64, RAWHAL_FOREVER, nullptr, error);
    if (status == RAWHAL_OK)
      status = rawhal_queue_submit(queue, batch.data(), 3, RAWHAL_FOREVER, &ticket, error);
    for (int i = 0; status == RAWHAL_OK && i < 3; ++i)
      status = rawhal_graph_launch(queue, exec, nullptr, 0, RAWHAL_FOREVER, &ticket, error);
    for (int i = 0; status == RAWHAL_OK && i < 40; ++i)
      status = rawhal_queue_on_complete(queue, ticket, count_call, &calls, error);
    return status == RAWHAL_OK ? rawhal_queue_wait(queue, ticket, RAWHAL_FOREVER, error) : status;
  }

  rawhal_status_t make(const rawhal_allocator_t *from, const rawhal_limit_config_t *limits)
  {
    rawhal_status_t status = make_instance(from, &instance, error, limits);
    first = rawhal_instance_device(instance, 0);
    second = rawhal_instance_device(instance, 1);
    if (status == RAWHAL_OK)
      status = buffers();
    if (status == RAWHAL_OK)
      status = executables();
    return status == RAWHAL_OK ? work() : status;
  }

  // In one order or another; what a queue still does with its kernels it does.
  void destroy(unsigned order)
  {
    std::function<void()> steps[] = {
        [this] { rawhal_instance_destroy(instance); },
        [this] {
          rawhal_executable_destroy(file);
          rawhal_executable_destroy(loaded);
        },
        [this] {
          rawhal_executable_destroy(bundle);
          rawhal_executable_destroy(external);
        },
        [this] {
          rawhal_buffer_free(shared);
          rawhal_buffer_free(imported);
          rawhal_buffer_free(other);
          rawhal_buffer_free(memory);
        },
        [this] { // what a queue is given is there as long as the queue
          rawhal_queue_destroy(queue);
          rawhal_services_destroy(services);
        },
        [this] { rawhal_graph_exec_destroy(exec); },
    };
    constexpr unsigned count = sizeof(steps) / sizeof(*steps);
    for (unsigned i = 0; i < count; ++i)
      steps[order < count ? (i + order) % count : (2 * count - 1 + order - i) % count]();
  }
};

class OwnAllocator : public testing::Test {
protected:
  void TearDown() override { rawhal_limit_config_destroy(limits); }

  void limit()
  {
    ASSERT_OK(rawhal_limit_config_create(&limits, &error));
    ASSERT_OK(rawhal_limit_config_set(limits, RAWHAL_LIMIT_GPU_SHARE, 1000000, &error));
  }

  rawhal_error_t error = {};
  rawhal_limit_config_t *limits = nullptr;
};

TEST_F(OwnAllocator, OfEverythingInWhateverOrderItGoes)
{
  for (unsigned order = 0; order < 12; ++order) {
    if (order == 6)
      limit();
    Allocator own;
    Everything all{&error};
    ASSERT_OK(all.make(own.hook(), limits));
    EXPECT_GT(own.live(), 30u);
    all.destroy(order);
    EXPECT_EQ(0u, own.live()) << order;
    EXPECT_EQ(0, own.wrong) << order;
    EXPECT_EQ(40, all.calls);
  }
}

// 0, 1, 2.. blocks, and then there is no more memory.
TEST_F(OwnAllocator, OfEverythingMayFail)
{
  limit();
  long allowed = 0;
  for (bool refused = true; refused; ++allowed) {
    ASSERT_LT(allowed, 1000);
    Allocator own;
    own.left = allowed;
    error = {};
    Everything all{&error};
    rawhal_status_t status = all.make(own.hook(), limits);
    refused = own.refused;
    if (status != RAWHAL_OK) {
      EXPECT_EQ(RAWHAL_OUT_OF_MEMORY, status) << allowed << ": " << error.message;
      EXPECT_EQ(RAWHAL_OUT_OF_MEMORY, error.status);
    }
    EXPECT_TRUE(refused || status == RAWHAL_OK);
    own.left = -1;
    all.destroy(4);
    EXPECT_EQ(0u, own.live()) << allowed;
  }
  EXPECT_GT(allowed, 40);
}

TEST_F(OwnAllocator, IsTheRuntimesAndInstancesShareIt)
{
  Allocator own, other;
  rawhal_instance_t *first = nullptr, *second = nullptr, *third = nullptr, *fourth = nullptr;
  rawhal_allocator_t mine = *own.hook();
  ASSERT_OK(make_instance(&mine, &first, &error));
  memset(&mine, 0, sizeof(mine)); // it was copied
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, share_instance(other.hook(), &second, &error));
  EXPECT_NE(std::string(error.message).find("already running"), std::string::npos) << error.message;
  EXPECT_EQ(nullptr, second);
  size_t one = own.live();
  ASSERT_OK(share_instance(own.hook(), &second, &error)); // the same
  EXPECT_EQ(one + 1, own.live());
  ASSERT_OK(share_instance(nullptr, &third, &error)); // whatever it is
  EXPECT_EQ(one + 2, own.live());
  rawhal_instance_destroy(first);
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, share_instance(other.hook(), &fourth, &error));
  rawhal_instance_destroy(second);
  rawhal_instance_destroy(third);
  EXPECT_EQ(0u, own.live());
  EXPECT_EQ(0u, other.taken());
  ASSERT_OK(make_instance(other.hook(), &first, &error)); // another runtime
  EXPECT_GT(other.live(), 0u);
  rawhal_instance_destroy(first);
  ASSERT_OK(make_instance(nullptr, &first, &error)); // malloc()
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, share_instance(own.hook(), &second, &error));
  rawhal_instance_destroy(first);
}

TEST_F(OwnAllocator, HasBothFunctionsOrNeither)
{
  Allocator own;
  rawhal_allocator_t half = *own.hook();
  half.allocate = nullptr;
  rawhal_instance_t *instance = nullptr;
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, make_instance(&half, &instance, &error));
  EXPECT_STREQ("an allocator without allocate()", error.message);
  EXPECT_EQ(nullptr, instance);
}

// What an executable is read from may be in other memory; what it keeps is the instance's.
TEST_F(OwnAllocator, OfReadingMayBeAnother)
{
  Allocator own;
  rawhal_instance_t *instance = nullptr;
  ASSERT_OK(make_instance(own.hook(), &instance, &error));
  std::vector<char> bytes = fixture_bytes("vector_add.bundle");
  rawhal_open_options_t options = {};
  options.size = sizeof(options);
  size_t elsewhere[4], all = 0;
  for (unsigned named : {0u, 1u, 2u, 3u}) { // the container's, the object's
    Allocator reading;
    rawhal_container_options_t container = {};
    rawhal_hsaco_options_t hsaco = {};
    container.size = sizeof(container);
    hsaco.size = sizeof(hsaco);
    container.allocator = named & 1 ? reading.hook() : nullptr;
    hsaco.allocator = named & 2 ? reading.hook() : nullptr;
    options.container = named ? &container : nullptr;
    options.hsaco = named ? &hsaco : nullptr;
    size_t before = own.taken();
    rawhal_executable_t *executable = nullptr;
    ASSERT_OK(rawhal_executable_open(rawhal_instance_device(instance, 0), bytes.data(),
                                     bytes.size(), &options, &executable, &error));
    EXPECT_GT(own.taken(), before);
    EXPECT_EQ(0u, reading.live());
    elsewhere[named] = reading.taken();
    size_t together = own.taken() - before + reading.taken();
    all = all ? all : together;
    EXPECT_EQ(all, together) << named; // nothing from a third place
    rawhal_executable_destroy(executable);
  }
  EXPECT_EQ(0u, elsewhere[0]);
  EXPECT_GT(elsewhere[1], 0u);
  EXPECT_GT(elsewhere[2], 0u);
  EXPECT_EQ(elsewhere[3], elsewhere[1] + elsewhere[2]);
  rawhal_instance_destroy(instance);
}

// What the runtime is given instead of an object that it does not know.
TEST_F(OwnAllocator, OfRelabelledObjects)
{
  Allocator own;
  rawhal_instance_options_t options = {};
  options.size = sizeof(options);
  options.backend = RAWHAL_BACKEND_SOFTGPU;
  options.softgpu_options = "chip=gfx942,listed=gfx90a,gpus=1,vram_mib=64";
  options.allocator = own.hook();
  rawhal_instance_t *instance = nullptr;
  rawhal_executable_t *executable = nullptr;
  ASSERT_OK(rawhal_instance_create(&options, &instance, &error));
  ASSERT_OK(rawhal_executable_open_file(rawhal_instance_device(instance, 0),
                                        (fixtures + "vector_add-gfx942-v6.co").c_str(), nullptr,
                                        &executable, &error));
  EXPECT_TRUE(rawhal_executable_info(executable)->relabelled);
  rawhal_executable_destroy(executable);
  rawhal_instance_destroy(instance);
  options.softgpu_options = "chip=gfx90a,listed=0"; // for other tests
  ASSERT_OK(rawhal_instance_create(&options, &instance, &error));
  rawhal_instance_destroy(instance);
}

// The services' thread takes memory, too: for messages that are said in several calls.
TEST_F(OwnAllocator, OfServices)
{
  Allocator own;
  rawhal_instance_t *instance = nullptr;
  ASSERT_OK(make_instance(own.hook(), &instance, &error));
  rawhal_device_t *device = rawhal_instance_device(instance, 0);
  std::string text;
  rawhal_services_options_t options = {};
  options.output = [](void *context, rawhal_services_stream_t, const char *data, size_t size) {
    static_cast<std::string *>(context)->append(data, size);
  };
  options.context = &text;
  rawhal_services_t *services = nullptr;
  ASSERT_OK(rawhal_services_create(device, &options, &services, &error));
  rawhal_queue_options_t queue_options = {};
  queue_options.services = rawhal_services_queue(services);
  rawhal_queue_t *queue = nullptr;
  ASSERT_OK(rawhal_queue_create(device, &queue_options, &queue, &error));
  rawhal_executable_t *hostcall = nullptr, *printf = nullptr;
  const rawhal_device_kernel_t *call = nullptr, *ids = nullptr;
  ASSERT_OK(rawhal_executable_open_file(device, (fixtures + "hostcall-gfx90a-v5.co").c_str(),
                                        nullptr, &hostcall, &error));
  ASSERT_OK(rawhal_executable_open_file(device, (fixtures + "printf-gfx90a-v5.co").c_str(), nullptr,
                                        &printf, &error));
  ASSERT_OK(rawhal_executable_kernel(hostcall, RAWHAL_STRING("hostcall"), 0, &call, &error));
  ASSERT_OK(rawhal_executable_kernel(printf, RAWHAL_STRING("printf_ids"), 0, &ids, &error));
  uint64_t requests[2][8] = {{1 | 1 << 5, 0}, {2 | 1 << 5, 0x0a796854 /* "Thy\n" */}};
  rawhal_buffer_t *given = nullptr, *answers = nullptr;
  ASSERT_OK(rawhal_buffer_allocate(device, RAWHAL_MEMORY_DEVICE, 128, &given, &error));
  ASSERT_OK(rawhal_buffer_allocate(device, RAWHAL_MEMORY_DEVICE, 128, &answers, &error));
  ASSERT_OK(rawhal_buffer_write(given, 0, requests, sizeof(requests), &error));
  Blob blob;
  blob.add(rawhal_buffer_address(answers)).add(rawhal_buffer_address(given)).add(2u).add(2u);
  size_t before = own.taken();
  rawhal_ticket_t ticket = 0;
  rawhal_dispatch_t both[] = {dispatch_of(call, 1, 1, blob), dispatch_of(ids, 4, 4, {})};
  ASSERT_OK(rawhal_queue_submit(queue, both, 2, RAWHAL_FOREVER, &ticket, &error));
  ASSERT_OK(rawhal_queue_wait(queue, ticket, RAWHAL_FOREVER, &error));
  EXPECT_EQ(before + 2, own.taken()); // the list of messages, the words of this one
  EXPECT_EQ("Thy\n", text);
  ASSERT_OK(rawhal_services_flush(services, printf, &error));
  EXPECT_EQ(before + 6, own.taken()); // the formats, their table and characters, the records
  EXPECT_GT(text.size(), 20u);
  rawhal_queue_destroy(queue);
  rawhal_executable_destroy(hostcall);
  rawhal_executable_destroy(printf);
  rawhal_buffer_free(given);
  rawhal_buffer_free(answers);
  rawhal_services_destroy(services);
  rawhal_instance_destroy(instance);
}

// Submitting takes none of it: the allocator has nothing left while it goes on.
TEST_F(OwnAllocator, IsNotAskedBySubmissions)
{
  Allocator own;
  Everything all{&error};
  ASSERT_OK(all.make(own.hook(), nullptr));
  size_t before = own.taken();
  own.left = 0;
  std::vector<rawhal_dispatch_t> batch(20, dispatch_of(all.kernel, 1, 1, {}));
  for (int i = 0; i < 100; ++i) {
    ASSERT_OK(rawhal_queue_submit(all.queue, batch.data(), 1, RAWHAL_FOREVER, nullptr, &error));
    ASSERT_OK(rawhal_queue_submit(all.queue, batch.data(), 20, RAWHAL_FOREVER, nullptr, &error));
    ASSERT_OK(
        rawhal_graph_launch(all.queue, all.exec, nullptr, 0, RAWHAL_FOREVER, &all.ticket, &error));
  }
  ASSERT_OK(rawhal_queue_wait(all.queue, all.ticket, RAWHAL_FOREVER, &error));
  EXPECT_EQ(before, own.taken());
  own.left = -1;
  all.destroy(4);
}

} // namespace
