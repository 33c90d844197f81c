// A child of fork() gets clean errors for everything of its parent's, and the parent goes on.
#include "device_test.h"
#include "tests/child.h"
#include "tests/graph_of.h"
#include "tests/values.h"

#include <atomic>
#include <thread>

#include <unistd.h>

namespace {

class Fork : public DeviceTest {};

TEST_F(Fork, AChildsQueuesAreLostTheParentsGoOn)
{
  rawhal_buffer_t *out = buffer(4096);
  Blob blob;
  blob.add(rawhal_buffer_address(out)).add(1u).add(1u).add(42u);
  rawhal_dispatch_t dispatch =
      dispatch_of(kernel("write_ids-gfx90a-v5.co", "write_ids"), 1, 1, blob);
  rawhal_queue_t *on = queue();
  ASSERT_OK(run(on, dispatch));
  rawhal_ticket_t last = queue_info(on).last_ticket;
  EXPECT_EQ(in_child([&] {
              int wrong = 0;
              rawhal_ticket_t ticket = 7;
              wrong |= rawhal_queue_submit(on, &dispatch, 1, RAWHAL_FOREVER, &ticket, &error) !=
                       RAWHAL_DEVICE_LOST;
              wrong |= (ticket != 0 || !strstr(error.message, "fork()")) << 1;
              wrong |= (rawhal_queue_wait(on, last, RAWHAL_FOREVER, &error) != RAWHAL_DEVICE_LOST)
                       << 2;
              wrong |= (queue_info(on).status != RAWHAL_DEVICE_LOST) << 3;
              rawhal_queue_destroy(on);
              return wrong;
            }),
            0);
  ASSERT_OK(run(on, dispatch));
  EXPECT_EQ(download<uint32_t>(out, 1)[0], 42u);
}

TEST_F(Fork, AChildGetsNoMemoryOfItsParents)
{
  rawhal_buffer_t *local = upload<uint32_t>({1, 2, 3, 4}), *host = buffer(4096, RAWHAL_MEMORY_HOST);
  EXPECT_EQ(in_child([&] {
              uint32_t data[4] = {};
              rawhal_buffer_t *made = nullptr;
              int wrong = 0;
              for (rawhal_buffer_t *one : {local, host}) {
                wrong |= rawhal_buffer_read(one, 0, data, 16, &error) != RAWHAL_DEVICE_LOST;
                wrong |= rawhal_buffer_write(one, 0, data, 16, &error) != RAWHAL_DEVICE_LOST;
                wrong |= rawhal_buffer_fill(one, 0, 9, 16, &error) != RAWHAL_DEVICE_LOST;
                wrong |= (!strstr(error.message, "fork()")) << 1;
                wrong |= (rawhal_buffer_address(one) != 0 || rawhal_buffer_host(one)) << 2;
              }
              wrong |= (rawhal_buffer_copy(host, 0, local, 0, 16, &error) != RAWHAL_DEVICE_LOST)
                       << 3;
              wrong |= (rawhal_buffer_allocate(device, RAWHAL_MEMORY_HOST, 64, &made, &error) !=
                            RAWHAL_DEVICE_LOST ||
                        made)
                       << 4;
              wrong |= (rawhal_buffer_import(device, data, 16, &made, &error) != RAWHAL_DEVICE_LOST)
                       << 5;
              rawhal_ipc_handle_t handle = {};
              rawhal_device_t *found = device;
              int fd = 0;
              uint64_t offset = 0, agent = rawhal_device_info(device)->agent;
              for (rawhal_status_t status :
                   {rawhal_buffer_allow(local, &device, 1, &error),
                    rawhal_buffer_export_ipc(local, &handle, &error),
                    rawhal_buffer_import_ipc(device, &handle, 16, &made, &error),
                    rawhal_buffer_export_dmabuf(local, &fd, &offset, &error),
                    rawhal_buffer_import_dmabuf(device, 0, 0, 16, &made, &error),
                    rawhal_instance_find_device(instance, agent, &found, &error)})
                wrong |= (status != RAWHAL_DEVICE_LOST) << 6;
              wrong |= (found || made || fd != -1 || rawhal_device_can_access(device, device)) << 7;
              rawhal_buffer_free(local);
              return wrong;
            }),
            0);
  EXPECT_EQ(download<uint32_t>(local, 4), (std::vector<uint32_t>{1, 2, 3, 4}));
}

TEST_F(Fork, AChildGetsNoExecutablesQueuesAndInstances)
{
  rawhal_executable_t *executable = load("write_ids-gfx90a-v5.co");
  rawhal_queue_t *on = queue();
  rawhal_dispatch_t dispatch = {};
  Blob nothing;
  dispatch = dispatch_of(kernel("empty-gfx90a-v5.co", "empty"), 1, 1, nothing);
  ASSERT_OK(run(on, dispatch));
  rawhal_graph_exec_t *exec = nullptr;
  ASSERT_OK(graph_of(device, on, &dispatch, 1, &exec, &error));
  std::vector<char> bytes = fixture_bytes("write_ids-gfx90a-v5.co");
  rawhal_hsaco_t *hsaco = nullptr;
  ASSERT_OK(rawhal_hsaco_open(bytes.data(), bytes.size(), nullptr, &hsaco, &error));
  EXPECT_EQ(
      in_child([&] {
        int wrong = 0;
        const rawhal_device_kernel_t *found = nullptr;
        rawhal_executable_t *loaded = nullptr;
        rawhal_instance_t *second = nullptr;
        rawhal_queue_t *made = nullptr;
        rawhal_graph_exec_t *exec_of_child = nullptr;
        rawhal_dependency_t on_it = {on, 1, 0, 0};
        auto ignore = [](void *, rawhal_ticket_t, const rawhal_error_t *) {};
        wrong |= rawhal_executable_kernel(executable, {"write_ids", 9}, 0, &found, &error) !=
                 RAWHAL_DEVICE_LOST;
        wrong |=
            (rawhal_executable_load(device, hsaco, &loaded, &error) != RAWHAL_DEVICE_LOST || loaded)
            << 1;
        wrong |= (rawhal_instance_create(nullptr, &second, &error) != RAWHAL_DEVICE_LOST || second)
                 << 2;
        wrong |= (rawhal_queue_create(device, nullptr, &made, &error) != RAWHAL_DEVICE_LOST || made)
                 << 3;
        wrong |= (rawhal_queue_barrier(on, &on_it, 1, 0, nullptr, &error) != RAWHAL_DEVICE_LOST)
                 << 4;
        wrong |= (rawhal_queue_on_complete(on, 1, ignore, nullptr, &error) != RAWHAL_DEVICE_LOST)
                 << 5;
        wrong |=
            (graph_of(device, on, &dispatch, 1, &exec_of_child, &error) != RAWHAL_DEVICE_LOST ||
             rawhal_graph_launch(on, exec, nullptr, 0, 0, nullptr, &error) != RAWHAL_DEVICE_LOST)
            << 6;
        uint64_t start, end;
        wrong |= (rawhal_queue_timing(on, 1, &start, &end, &error) != RAWHAL_DEVICE_LOST ||
                  device_memory(device).total != 0)
                 << 7;
        rawhal_graph_exec_destroy(exec);
        rawhal_queue_destroy(on);
        rawhal_executable_destroy(executable);
        rawhal_instance_destroy(instance);
        return wrong;
      }),
      0);
  rawhal_hsaco_close(hsaco);
  ASSERT_OK(rawhal_graph_launch(on, exec, nullptr, 0, 0, nullptr, &error));
  ASSERT_OK(run(on, dispatch));
  rawhal_graph_exec_destroy(exec);
  load("vector_add-gfx90a-v5.co");
}

// Children that come while other threads hold whatever locks there are.
TEST_F(Fork, AtAnyMoment)
{
  rawhal_queue_t *on = queue();
  Blob nothing;
  rawhal_dispatch_t dispatch = dispatch_of(kernel("empty-gfx90a-v5.co", "empty"), 1, 1, nothing);
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::thread busy([&] {
    while (!stop) {
      rawhal_error_t its = {};
      rawhal_buffer_t *made = nullptr;
      rawhal_ticket_t ticket = 0;
      wrong += rawhal_buffer_allocate(device, RAWHAL_MEMORY_HOST, 4096, &made, &its) != RAWHAL_OK;
      wrong += rawhal_queue_submit(on, &dispatch, 1, RAWHAL_FOREVER, &ticket, &its) != RAWHAL_OK;
      wrong += rawhal_queue_wait(on, ticket, RAWHAL_FOREVER, &its) != RAWHAL_OK;
      rawhal_buffer_free(made);
    }
  });
  for (int i = 0; i < 30; ++i)
    EXPECT_EQ(in_child([&] {
                rawhal_buffer_t *made = nullptr;
                return (rawhal_queue_submit(on, &dispatch, 1, 0, nullptr, &error) !=
                        RAWHAL_DEVICE_LOST) |
                       (rawhal_buffer_allocate(device, RAWHAL_MEMORY_HOST, 64, &made, &error) !=
                        RAWHAL_DEVICE_LOST)
                           << 1 |
                       (queue_info(on).status != RAWHAL_DEVICE_LOST) << 2;
              }),
              0);
  stop = true;
  busy.join();
  EXPECT_EQ(wrong, 0);
}

// A parent that has no runtime open keeps nobody from opening one.
TEST(ForkBefore, AChildMayMakeItsOwnInstance)
{
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer allows no threads in a child";
#endif
  EXPECT_EQ(in_child([] {
              rawhal_error_t error = {};
              rawhal_instance_options_t options = {};
              options.backend = RAWHAL_BACKEND_SOFTGPU;
              rawhal_instance_t *instance = nullptr;
              int wrong = rawhal_instance_create(&options, &instance, &error) != RAWHAL_OK;
              rawhal_instance_destroy(instance);
              return wrong;
            }),
            0);
}

// Neither waits for the other for ever, whatever locks tools of the runtime take meanwhile.
TEST(ForkBefore, WhileInstancesWithLimitsBegin)
{
  rawhal_error_t error = {};
  rawhal_limit_config_t *limits = nullptr;
  ASSERT_OK(rawhal_limit_config_create(&limits, &error));
  ASSERT_OK(rawhal_limit_config_set(limits, RAWHAL_LIMIT_MEMORY, 1 << 24, &error));
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0}, begun{0};
  std::thread busy([&] {
    rawhal_instance_options_t options = {};
    options.backend = RAWHAL_BACKEND_SOFTGPU;
    options.limits = limits;
    while (!stop) {
      rawhal_error_t its = {};
      rawhal_instance_t *instance = nullptr;
      wrong += rawhal_instance_create(&options, &instance, &its) != RAWHAL_OK;
      rawhal_instance_destroy(instance);
      ++begun;
    }
  });
  alarm(60); // in vain, if all is well
  for (int i = 0; i < 40 || begun < 3; ++i)
    EXPECT_EQ(in_child([] { return 0; }), 0);
  alarm(0);
  stop = true;
  busy.join();
  EXPECT_EQ(wrong, 0);
  rawhal_limit_config_destroy(limits);
}

} // namespace
