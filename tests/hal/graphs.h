// Graphs on a device of softgpu: made of dispatches, launched, waited for.
#ifndef RAWHAL_TESTS_HAL_GRAPHS_H
#define RAWHAL_TESTS_HAL_GRAPHS_H

#include "device_test.h"
#include "tests/graph_of.h"

class Graphs : public DeviceTest {
protected:
  void TearDown() override
  {
    for (rawhal_graph_exec_t *exec : execs)
      rawhal_graph_exec_destroy(exec);
    DeviceTest::TearDown();
  }

  rawhal_graph_exec_t *graph(rawhal_queue_t *on, const std::vector<rawhal_dispatch_t> &dispatches)
  {
    rawhal_graph_exec_t *made = nullptr;
    EXPECT_OK(graph_of(device, on, dispatches.data(), dispatches.size(), &made, &error));
    execs.push_back(made);
    return made;
  }

  // One work-item of write_ids(out, width, height, bias) for each of `count` words: word i = i + 1.
  std::vector<rawhal_dispatch_t> stores(rawhal_buffer_t *out, uint32_t count)
  {
    const rawhal_device_kernel_t *ids = kernel("write_ids-gfx90a-v5.co", "write_ids");
    blobs.assign(count, Blob());
    std::vector<rawhal_dispatch_t> dispatches;
    for (uint32_t i = 0; i < count; ++i) {
      blobs[i].add(rawhal_buffer_address(out) + 4 * i).add(1u).add(1u).add(i + 1);
      dispatches.push_back(dispatch_of(ids, 1, 1, blobs[i]));
    }
    return dispatches;
  }

  template <typename T>
  static rawhal_graph_binding_t argument(rawhal_graph_node_t node, uint32_t index, const T *value)
  {
    return {RAWHAL_GRAPH_ARGUMENT, node, index, sizeof(T), value};
  }
  static rawhal_graph_binding_t blob_of(rawhal_graph_node_t node, const Blob &blob)
  {
    return {RAWHAL_GRAPH_BLOB, node, 0, static_cast<uint32_t>(blob.bytes.size()),
            blob.bytes.data()};
  }

  void launch(rawhal_queue_t *on, const rawhal_graph_exec_t *exec,
              const std::vector<rawhal_graph_binding_t> &bindings = {})
  {
    rawhal_ticket_t ticket = 0;
    ASSERT_OK(rawhal_graph_launch(on, exec, bindings.data(), bindings.size(), RAWHAL_FOREVER,
                                  &ticket, &error));
    ASSERT_NE(ticket, 0u);
    ASSERT_OK(rawhal_queue_wait(on, ticket, rawhal_deadline_after(20000 * millisecond), &error));
  }

  std::vector<rawhal_graph_exec_t *> execs;
  std::vector<Blob> blobs;
};

#endif
