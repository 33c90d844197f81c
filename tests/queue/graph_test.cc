// The packets of graphs' launches: which wait for all before them, and what is left of a graph.
#include "steps.h"

#include <hsa/hsa.h>

namespace {

class GraphSteps : public Steps {
protected:
  void SetUp() override
  {
    Steps::SetUp();
    ASSERT_OK(toy_graph_create(here, &graph, &error));
  }
  void TearDown() override
  {
    rawhal_graph_destroy(graph);
    Steps::TearDown();
  }
  rawhal_graph_node_t add(const std::vector<rawhal_graph_node_t> &after, uint32_t flags = 0)
  {
    rawhal_graph_node_t node = UINT32_MAX;
    rawhal_dispatch_t dispatch = kernel.dispatch();
    dispatch.flags = flags;
    EXPECT_OK(rawhal_graph_add_kernel(graph, &dispatch, after.data(), after.size(), &node, &error));
    return node;
  }
  // The barrier bit of each packet of a launch, which is all that this queue has.
  std::string waits(bool overlap = false)
  {
    rawhal_graph_options_t options = {};
    options.size = sizeof(options);
    options.overlap = overlap;
    rawhal_graph_exec_t *exec = nullptr;
    EXPECT_OK(rawhal_graph_instantiate(graph, &options, &exec, &error));
    rawhal_queue_t *on = queue();
    toy_hold(true);
    EXPECT_OK(rawhal_graph_launch(on, exec, nullptr, 0, 0, nullptr, &error));
    const auto *theirs = static_cast<const hsa_queue_t *>(queue_info(on).hsa_queue);
    const auto *packets = static_cast<const hsa_kernel_dispatch_packet_t *>(theirs->base_address);
    std::string bits;
    for (size_t i = 0; i < rawhal_graph_node_count(graph); ++i)
      bits += packets[i].header >> HSA_PACKET_HEADER_BARRIER & 1 ? 'w' : '-';
    rawhal_graph_exec_info_t info = {};
    info.size = sizeof(info);
    rawhal_graph_exec_info(exec, &info);
    EXPECT_EQ(info.overlapping, std::count(bits.begin(), bits.end(), '-'));
    toy_hold(false);
    rawhal_graph_exec_destroy(exec);
    rawhal_queue_destroy(on);
    return bits;
  }

  Loaded kernel;
  rawhal_graph_t *graph = nullptr;
};

TEST_F(GraphSteps, ANodeWaitsForWhatMayNotHaveFinished)
{
  const auto a = add({}), b = add({}); // two roots
  EXPECT_EQ(waits(), "w-");
  EXPECT_EQ(waits(true), "--");
  const auto a2 = add({a}); // waits for both
  const auto b2 = add({b}); // b has finished when a2 begins
  EXPECT_EQ(waits(), "w-w-");
  add({a2, b2});
  add({a});
  add({b2});
  EXPECT_EQ(waits(), "w-w-w--");
  rawhal_graph_node_t join;
  ASSERT_OK(rawhal_graph_add_barrier(graph, "join", nullptr, RAWHAL_GRAPH_ALL, &join, &error));
  add({});
  add({join});
  EXPECT_EQ(waits(), "w-w-w--w-w");
}

// In a batch: what overlaps comes after what the last that does not comes after.
TEST_F(GraphSteps, ABatchIsAsItIsSubmitted)
{
  const uint32_t o = RAWHAL_DISPATCH_OVERLAP;
  for (const std::vector<uint32_t> &flags :
       {std::vector<uint32_t>{0, 0, 0}, {0, o, o, 0, o}, {o, o, 0}, {0, o, 0, 0, o, o}}) {
    rawhal_graph_destroy(graph);
    ASSERT_OK(toy_graph_create(here, &graph, &error));
    std::vector<rawhal_dispatch_t> batch(flags.size(), kernel.dispatch());
    std::string expected;
    for (size_t i = 0; i < flags.size(); ++i) {
      batch[i].flags = flags[i];
      expected += i > 0 && flags[i] ? '-' : 'w'; // a launch waits for what was there before
    }
    ASSERT_OK(rawhal_graph_add_batch(graph, batch.data(), batch.size(), nullptr, &error));
    EXPECT_EQ(waits(), expected);
  }
}

// Its nodes, in the same order among themselves, behind what it comes after, and before what comes after it.
TEST_F(GraphSteps, AChildIsIncluded)
{
  rawhal_graph_t *child = nullptr;
  ASSERT_OK(toy_graph_create(here, &child, &error));
  rawhal_dispatch_t dispatch = kernel.dispatch();
  rawhal_graph_node_t a, b;
  ASSERT_OK(rawhal_graph_add_kernel(child, &dispatch, nullptr, 0, &a, &error));
  ASSERT_OK(rawhal_graph_add_kernel(child, &dispatch, nullptr, 0, &b, &error));
  ASSERT_OK(rawhal_graph_add_kernel(child, &dispatch, &a, 1, nullptr, &error));
  ASSERT_OK(rawhal_graph_add_kernel(child, &dispatch, nullptr, RAWHAL_GRAPH_ALL, nullptr, &error));
  const auto root = add({});
  rawhal_graph_node_t first = 77, last = 77;
  ASSERT_OK(rawhal_graph_add_child(graph, child, "layer", &root, 1, &first, &last, &error));
  rawhal_graph_destroy(child);
  EXPECT_EQ(first, 1u);
  EXPECT_EQ(last, 5u);
  EXPECT_EQ(rawhal_graph_node_count(graph), 6u);
  const struct {
    uint32_t from, prefix;
    std::vector<rawhal_graph_node_t> after;
  } is[] = {{0, 0, {}}, {0, 0, {0}}, {0, 0, {0}}, {1, 1, {1}}, {1, 4, {}}, {1, 5, {}}};
  for (uint32_t i = 0; i < 6; ++i) {
    rawhal_graph_node_info_t info = {};
    info.size = sizeof(info);
    std::vector<rawhal_graph_node_t> after(4);
    ASSERT_OK(rawhal_graph_node(graph, i, &info, after.data(), after.size(), &error));
    after.resize(info.after_count);
    EXPECT_EQ(info.from, is[i].from) << i;
    EXPECT_EQ(info.prefix, is[i].prefix) << i;
    EXPECT_EQ(after, is[i].after) << i;
    EXPECT_STREQ(info.label, i == 5 ? "layer" : "");
  }
  EXPECT_EQ(waits(), "ww-www");
  // Once more, of itself, beside what is there: of those that come after none only this one does.
  ASSERT_OK(rawhal_graph_add_child(graph, graph, nullptr, nullptr, 0, &first, &last, &error));
  EXPECT_EQ(first, 6u);
  EXPECT_EQ(last, 12u);
  EXPECT_EQ(waits(), "ww-www-w-wwww");
}

TEST_F(GraphSteps, AChildIsRefusedWithoutATrace)
{
  rawhal_graph_t *none = nullptr, *other = nullptr;
  ASSERT_OK(toy_graph_create(here, &none, &error));
  ASSERT_OK(toy_graph_create(elsewhere, &other, &error));
  add({});
  const rawhal_graph_node_t missing = 7;
  EXPECT_EQ(rawhal_graph_add_child(graph, none, nullptr, nullptr, 0, nullptr, nullptr, &error),
            RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_graph_add_child(graph, other, nullptr, nullptr, 0, nullptr, nullptr, &error),
            RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_graph_add_child(graph, nullptr, nullptr, nullptr, 0, nullptr, nullptr, &error),
            RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_graph_add_child(nullptr, graph, nullptr, nullptr, 0, nullptr, nullptr, &error),
            RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_graph_add_child(graph, graph, nullptr, &missing, 1, nullptr, nullptr, &error),
            RAWHAL_OUT_OF_RANGE);
  EXPECT_EQ(rawhal_graph_node_count(graph), 1u);
  rawhal_graph_destroy(none);
  rawhal_graph_destroy(other);
}

// The table of arguments ends there: the next is another node's.
TEST_F(GraphSteps, ArgumentsOfOtherNodesAreNotReached)
{
  add({});
  add({});
  rawhal_graph_exec_t *exec = nullptr;
  ASSERT_OK(rawhal_graph_instantiate(graph, nullptr, &exec, &error));
  const rawhal_kernarg_info_t *info = rawhal_kernarg_layout_info(kernel.layout.get());
  const uint64_t value = 0;
  rawhal_graph_binding_t binding = {RAWHAL_GRAPH_ARGUMENT, 0,
                                    info->visible_count + info->hidden_count, 8, &value};
  EXPECT_EQ(rawhal_graph_exec_bind(exec, &binding, 1, &error), RAWHAL_OUT_OF_RANGE);
  binding.node = 1;
  EXPECT_EQ(rawhal_graph_exec_bind(exec, &binding, 1, &error), RAWHAL_OUT_OF_RANGE);
  rawhal_graph_exec_destroy(exec);
}

TEST_F(GraphSteps, AGraphGivesBackAllThatItTook)
{
  const toy_counts_t before = toy_counts();
  rawhal_graph_t *made = nullptr;
  ASSERT_OK(toy_graph_create(here, &made, &error));
  EXPECT_EQ(toy_counts().holds, before.holds + 1);
  rawhal_dispatch_t dispatch = kernel.dispatch();
  ASSERT_OK(rawhal_graph_add_kernel(made, &dispatch, nullptr, 0, nullptr, &error));
  rawhal_graph_exec_t *exec = nullptr;
  ASSERT_OK(rawhal_graph_instantiate(made, nullptr, &exec, &error));
  EXPECT_EQ(toy_counts().holds, before.holds + 2);
  rawhal_graph_destroy(made);
  rawhal_graph_exec_destroy(exec);
  EXPECT_EQ(toy_counts().holds, before.holds);
}

// The fields of another device's queue are not its.
TEST_F(GraphSteps, AGraphIsItsDevices)
{
  add({});
  rawhal_graph_exec_t *exec = nullptr;
  ASSERT_OK(rawhal_graph_instantiate(graph, nullptr, &exec, &error));
  rawhal_queue_t *other = queue(elsewhere);
  EXPECT_EQ(rawhal_graph_launch(other, exec, nullptr, 0, 0, nullptr, &error),
            RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(queue_info(other).last_ticket, 0u);
  rawhal_graph_exec_destroy(exec);
  rawhal_graph_options_t options = {};
  options.size = sizeof(options);
  options.queue = other;
  EXPECT_EQ(rawhal_graph_instantiate(graph, &options, &exec, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(exec, nullptr);
  rawhal_queue_destroy(other);
}

} // namespace
