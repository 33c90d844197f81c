// A node that fails is named by its label, and it is known which nodes had finished and which never began.
#include "graph_test.h"

#include <rawhal/fault.h>

namespace {

constexpr uint64_t nowhere = uint64_t{1} << 46; // beyond all memory

class GraphFaults : public GraphTest {
protected:
  void SetUp() override
  {
    GraphTest::SetUp();
    on = queue();
    out = zeros(nodes * 256);
    in = zeros(256);
  }

  // Each node has 64 words, which it makes those of their numbers.
  Mix own_words(uint32_t node) const
  {
    return {rawhal_buffer_address(out) + 256 * node, rawhal_buffer_address(in), 64, 1};
  }
  bool has_run(uint32_t node) const
  {
    return static_cast<const uint32_t *>(rawhal_buffer_host(out))[64 * node + 63] == 63;
  }

  // A chain of kernels "node 0", "node 1" and so on.
  rawhal_graph_t *chain()
  {
    rawhal_graph_t *made = graph();
    for (uint32_t i = 0; i < nodes; ++i) {
      const std::string label = "node " + std::to_string(i);
      const Mix arguments = own_words(i);
      const rawhal_dispatch_t dispatch = mix_of(arguments, 64, label.c_str());
      EXPECT_OK(
          rawhal_graph_add_kernel(made, &dispatch, nullptr, RAWHAL_GRAPH_ALL, nullptr, &error));
    }
    return made;
  }

  void expect_failure_of(uint32_t node, const rawhal_graph_exec_t *exec, rawhal_ticket_t ticket)
  {
    EXPECT_EQ(RAWHAL_FAULT, rawhal_queue_wait(on, ticket, RAWHAL_FOREVER, &error));
    const std::string label = "node " + std::to_string(node);
    EXPECT_NE(nullptr, strstr(error.message, label.c_str())) << error.message;
    rawhal_fault_t fault = {};
    fault.size = sizeof(fault);
    ASSERT_OK(rawhal_queue_fault(on, &fault, &error));
    EXPECT_EQ(label, fault.label);
    EXPECT_EQ(ticket, fault.ticket);
    rawhal_graph_failure_t failure = {};
    failure.size = sizeof(failure);
    ASSERT_OK(rawhal_graph_failure(exec, on, ticket, &failure, &error));
    EXPECT_EQ(node, failure.failed);
    EXPECT_EQ(label, failure.label);
    EXPECT_LE(failure.finished, node);
    EXPECT_GT(failure.begun, node);
    for (uint32_t i = 0; i < nodes; ++i) {
      const bool before = i<node, behind = i> node; // which waits for it
      EXPECT_TRUE(!before || has_run(i)) << i;
      EXPECT_FALSE(behind && has_run(i)) << i;
    }
  }

  static constexpr uint32_t nodes = 6;
  rawhal_queue_t *on = nullptr;
  rawhal_buffer_t *out = nullptr, *in = nullptr;
};

// Wherever it is in the chain: its words are no memory.
TEST_F(GraphFaults, AKernelIsNamedByItsLabel)
{
  rawhal_graph_t *made = chain();
  for (uint32_t bad : {0u, 2u, nodes - 1}) {
    memset(rawhal_buffer_host(out), 0, nodes * 256);
    on = queue();
    const rawhal_graph_exec_t *exec = instantiate(made);
    const rawhal_graph_binding_t binding = {RAWHAL_GRAPH_ARGUMENT, bad, mix_out, sizeof(nowhere),
                                            &nowhere};
    rawhal_ticket_t ticket = 0;
    ASSERT_OK(rawhal_graph_launch(on, exec, &binding, 1, RAWHAL_FOREVER, &ticket, &error));
    expect_failure_of(bad, exec, ticket);
    // Those that come after, of this exec or of others, fail with the cause.
    EXPECT_EQ(RAWHAL_FAULT,
              rawhal_graph_launch(on, exec, nullptr, 0, RAWHAL_FOREVER, &ticket, &error));
    EXPECT_EQ(0u, ticket);
    // The binding was that launch's: on a queue that lives all of them run.
    memset(rawhal_buffer_host(out), 0, nodes * 256);
    on = queue();
    ASSERT_OK(rawhal_graph_launch(on, exec, nullptr, 0, RAWHAL_FOREVER, &ticket, &error));
    ASSERT_NO_FATAL_FAILURE(finish(on, ticket));
    for (uint32_t i = 0; i < nodes; ++i)
      EXPECT_TRUE(has_run(i));
  }
}

TEST_F(GraphFaults, OnlyTheLaunchThatFailedIsAskedAbout)
{
  const rawhal_graph_exec_t *exec = instantiate(chain()), *other = instantiate(chain());
  rawhal_graph_failure_t failure = {};
  failure.size = sizeof(failure);
  rawhal_ticket_t good = 0, bad = 0, behind = 0;
  ASSERT_OK(rawhal_graph_launch(on, exec, nullptr, 0, RAWHAL_FOREVER, &good, &error));
  ASSERT_NO_FATAL_FAILURE(finish(on, good));
  EXPECT_EQ(RAWHAL_NOT_FOUND, rawhal_graph_failure(exec, on, good, &failure, &error)) << "it lives";
  const rawhal_graph_binding_t binding = {RAWHAL_GRAPH_ARGUMENT, 1, mix_out, sizeof(nowhere),
                                          &nowhere};
  softgpu_call("softgpu_pause");
  ASSERT_OK(rawhal_graph_launch(on, exec, &binding, 1, RAWHAL_FOREVER, &bad, &error));
  ASSERT_OK(rawhal_graph_launch(on, other, nullptr, 0, RAWHAL_FOREVER, &behind, &error));
  softgpu_call("softgpu_resume");
  EXPECT_EQ(RAWHAL_FAULT, rawhal_queue_wait(on, behind, RAWHAL_FOREVER, &error));
  EXPECT_EQ(RAWHAL_NOT_FOUND, rawhal_graph_failure(exec, on, good, &failure, &error));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, rawhal_graph_failure(exec, on, behind + 1, &failure, &error));
  ASSERT_OK(rawhal_graph_failure(exec, on, bad, &failure, &error));
  EXPECT_EQ(1u, failure.failed);
  EXPECT_STREQ("node 1", failure.label);
  ASSERT_OK(rawhal_graph_failure(other, on, behind, &failure, &error));
  EXPECT_EQ(0u, failure.finished);
  EXPECT_EQ(0u, failure.begun);
  EXPECT_EQ(UINT32_MAX, failure.failed);
  EXPECT_STREQ("", failure.label);
}

// Of branches that may overlap some may have run; what has finished is never said of one that has not.
TEST_F(GraphFaults, ABranchBesideIsNotBlamed)
{
  rawhal_graph_t *made = graph();
  for (uint32_t i = 0; i < nodes; ++i) {
    const std::string label = "node " + std::to_string(i);
    Mix arguments = own_words(i);
    if (i == 3)
      arguments.out = nowhere;
    const rawhal_dispatch_t dispatch = mix_of(arguments, 64, label.c_str());
    const rawhal_graph_node_t before = i - 2; // two chains side by side
    ASSERT_OK(rawhal_graph_add_kernel(made, &dispatch, &before, i < 2 ? 0 : 1, nullptr, &error));
  }
  const rawhal_graph_exec_t *exec = instantiate(made);
  rawhal_ticket_t ticket = 0;
  ASSERT_OK(rawhal_graph_launch(on, exec, nullptr, 0, RAWHAL_FOREVER, &ticket, &error));
  EXPECT_EQ(RAWHAL_FAULT, rawhal_queue_wait(on, ticket, RAWHAL_FOREVER, &error));
  rawhal_graph_failure_t failure = {};
  failure.size = sizeof(failure);
  ASSERT_OK(rawhal_graph_failure(exec, on, ticket, &failure, &error));
  EXPECT_EQ(3u, failure.failed);
  EXPECT_STREQ("node 3", failure.label);
  EXPECT_LE(failure.finished, 3u);
  EXPECT_GE(failure.begun, 4u);
  for (uint32_t i = 0; i < failure.finished; ++i)
    EXPECT_TRUE(has_run(i)) << i;
  for (uint32_t i = failure.begun; i < nodes; ++i)
    EXPECT_FALSE(has_run(i)) << i;
  EXPECT_TRUE(has_run(1)) << "node 3 comes after it";
  EXPECT_FALSE(has_run(5)) << "it comes after node 3";
}

} // namespace
