// What tests of graphs share: a device with mix(), whose results tell an order, and graphs that end with the test.
#ifndef RAWHAL_TESTS_GRAPH_GRAPH_TEST_H
#define RAWHAL_TESTS_GRAPH_GRAPH_TEST_H

#include "plan.h"
#include "tests/hal/device_test.h"

#include <rawhal/graph.h>

// The bytes of mix()'s arguments.
struct Mix {
  uint64_t out, in;
  uint32_t n, factor;
};
enum { mix_out, mix_in, mix_n, mix_factor }; // by index

class GraphTest : public DeviceTest {
protected:
  void SetUp() override
  {
    DeviceTest::SetUp();
    if (device)
      mix = kernel("mix-gfx90a-v5.co", "mix");
  }

  void TearDown() override
  {
    for (rawhal_graph_exec_t *exec : execs)
      rawhal_graph_exec_destroy(exec);
    for (rawhal_graph_t *graph : graphs)
      rawhal_graph_destroy(graph);
    for (rawhal_semaphore_t *one : semaphores)
      rawhal_semaphore_destroy(one);
    DeviceTest::TearDown();
  }

  rawhal_graph_t *graph()
  {
    rawhal_graph_t *made = nullptr;
    EXPECT_OK(rawhal_graph_create(device, &made, &error));
    graphs.push_back(made);
    return made;
  }

  rawhal_graph_exec_t *instantiate(const rawhal_graph_t *of, rawhal_queue_t *on = nullptr)
  {
    rawhal_graph_options_t options = {};
    options.queue = on;
    rawhal_graph_exec_t *made = nullptr;
    EXPECT_OK(rawhal_graph_instantiate(of, &options, &made, &error));
    execs.push_back(made);
    return made;
  }

  rawhal_semaphore_t *semaphore()
  {
    rawhal_semaphore_t *made = nullptr;
    EXPECT_OK(rawhal_semaphore_create(device, 0, &made, &error));
    semaphores.push_back(made);
    return made;
  }

  // The host's memory, of zeros.
  rawhal_buffer_t *zeros(size_t bytes)
  {
    rawhal_buffer_t *made = buffer(bytes, RAWHAL_MEMORY_HOST);
    memset(rawhal_buffer_host(made), 0, bytes);
    return made;
  }

  rawhal_dispatch_t mix_of(const Mix &arguments, uint32_t items, const char *label = nullptr) const
  {
    rawhal_dispatch_t dispatch = {};
    dispatch.kernel = mix;
    dispatch.work_items[0] = whole_groups(items);
    dispatch.workgroup[0] = group_items;
    for (int d = 1; d < 3; ++d)
      dispatch.work_items[d] = dispatch.workgroup[d] = 1;
    dispatch.blob = &arguments;
    dispatch.blob_size = sizeof(arguments);
    dispatch.label = label;
    return dispatch;
  }

  void finish(rawhal_queue_t *on, rawhal_ticket_t ticket)
  {
    ASSERT_OK(rawhal_queue_wait(on, ticket, rawhal_deadline_after(60000 * millisecond), &error));
  }

  const rawhal_device_kernel_t *mix = nullptr;
  std::vector<rawhal_graph_t *> graphs;
  std::vector<rawhal_graph_exec_t *> execs;
  std::vector<rawhal_semaphore_t *> semaphores;
};

#endif
