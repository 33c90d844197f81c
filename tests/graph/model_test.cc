// Random graphs of kernels, copies, fills, signals, waits and children on two queues and two sets of buffers, with bindings,
// between copies and fills, against the sequential model of plan.h. What uses a set of buffers comes after what used it before, by a barrier or by a semaphore where
// that was on the other queue; the two sets run side by side.
#include "graph_test.h"
#include "tests/extended.h"

#include <memory>

namespace {

constexpr uint32_t sets = 2, seed = 40;

class GraphModel : public GraphTest {
protected:
  void SetUp() override
  {
    GraphTest::SetUp();
    for (auto &one : on)
      one = queue();
    for (auto &set : buffers_of)
      for (auto &one : set)
        one = buffer(buffer_words * 4, RAWHAL_MEMORY_HOST);
    for (rawhal_semaphore_t **each : {&between, &within[0], &within[1], &awaited})
      *each = semaphore();
  }

  uint64_t address(uint32_t set, const Range &range) const
  {
    return rawhal_buffer_address(buffers_of[set][range.buffer]) + 4 * range.begin;
  }
  uint32_t *words(uint32_t set, uint32_t which) const
  {
    return static_cast<uint32_t *>(rawhal_buffer_host(buffers_of[set][which]));
  }

  rawhal_transfer_t transfer_of(uint32_t set, const Step &step) const
  {
    rawhal_transfer_t made = {};
    made.to = buffers_of[set][step.to.buffer];
    made.to_offset = 4 * step.to.begin;
    made.bytes = 4 * step.to.count;
    if (step.kind == Step::copy) {
      made.from = buffers_of[set][step.from.buffer];
      made.from_offset = 4 * step.from.begin;
    } else {
      memcpy(made.pattern, &step.factor, made.pattern_bytes = sizeof(step.factor));
    }
    return made;
  }

  // What is not a barrier or a child, and which node of the graph it is.
  struct Placed {
    uint32_t node;
    const Step *step;
  };

  // With the buffers of set 0. Children are graphs of their own, whose nodes are included.
  rawhal_graph_t *build(const std::vector<Step> &plan, uint32_t first, std::vector<Placed> &placed)
  {
    rawhal_graph_t *made = graph();
    std::vector<rawhal_graph_node_t> nodes; // of the steps; of a child, what comes behind it
    for (const Step &step : plan) {
      rawhal_graph_node_t node = UINT32_MAX, inner = UINT32_MAX;
      std::vector<rawhal_graph_node_t> after;
      for (uint32_t each : step.after)
        after.push_back(nodes[each]);
      const size_t count = step.after_all ? RAWHAL_GRAPH_ALL : after.size();
      const uint32_t next = nodes.empty() ? 0 : nodes.back() + 1;
      if (step.kind == Step::barrier) {
        EXPECT_OK(rawhal_graph_add_barrier(made, nullptr, after.data(), count, &node, &error));
      } else if (step.kind == Step::child) {
        const rawhal_graph_t *child = build(step.steps, first + next, placed);
        EXPECT_OK(rawhal_graph_add_child(made, child, "child", after.data(), count, &inner, &node,
                                         &error));
        EXPECT_EQ(next, inner);
      } else if (step.kind == Step::copy || step.kind == Step::fill) {
        const rawhal_transfer_t transfer = transfer_of(0, step);
        EXPECT_OK(rawhal_graph_add_transfers(made, &transfer, 1, "moves", after.data(), count,
                                             &node, &error));
      } else if (step.kind == Step::signal || step.kind == Step::wait) {
        const bool waits = step.kind == Step::wait;
        const rawhal_timepoint_t never = {waits ? awaited : within[0], UINT64_MAX};
        EXPECT_OK(rawhal_graph_add_timeline(made, &never, waits, &never, !waits, nullptr,
                                            after.data(), count, &node, &error));
      } else {
        const Mix arguments = {address(0, step.to), address(0, step.from), step.to.count,
                               step.factor};
        const rawhal_dispatch_t dispatch = mix_of(arguments, step.to.count);
        EXPECT_OK(rawhal_graph_add_kernel(made, &dispatch, after.data(), count, &node, &error));
      }
      if (step.kind != Step::barrier && step.kind != Step::child)
        placed.push_back({first + node, &step});
      nodes.push_back(node);
    }
    return made;
  }

  // What one launch replaces.
  struct Bound {
    std::vector<rawhal_graph_binding_t> bindings;
    std::vector<std::unique_ptr<uint64_t>> values;
    std::vector<std::unique_ptr<rawhal_graph_grid_t>> grids;
    std::vector<std::unique_ptr<Mix>> blobs;
    std::vector<std::unique_ptr<rawhal_transfer_t>> transfers;
    std::vector<std::unique_ptr<rawhal_timepoint_t>> points;
    std::vector<uint32_t> factors, items; // of each that is placed, for the model
    bool waits = false;                   // for the host

    void add(uint32_t kind, uint32_t node, uint32_t index, uint32_t bytes, const void *value)
    {
      bindings.push_back({kind, node, index, bytes, value});
    }
    void add(uint32_t node, uint32_t index, uint32_t bytes, uint64_t value)
    {
      values.push_back(std::make_unique<uint64_t>(value));
      add(RAWHAL_GRAPH_ARGUMENT, node, index, bytes, values.back().get());
    }
  };

  // A value that comes next, and the buffers of the set.
  void bind_other(Bound &bound, const Placed &each, uint32_t set)
  {
    const Step::Kind kind = each.step->kind;
    if (kind == Step::signal || kind == Step::wait) {
      bound.points.push_back(std::make_unique<rawhal_timepoint_t>(
          kind == Step::signal ? rawhal_timepoint_t{within[set], ++raised[set]}
                               : rawhal_timepoint_t{awaited, host_raised + 1}));
      bound.waits |= kind == Step::wait;
      bound.add(RAWHAL_GRAPH_TIMEPOINT, each.node, 0, sizeof(rawhal_timepoint_t),
                bound.points.back().get());
    } else if (set) {
      bound.transfers.push_back(std::make_unique<rawhal_transfer_t>(transfer_of(set, *each.step)));
      bound.add(RAWHAL_GRAPH_TRANSFER, each.node, 0, sizeof(rawhal_transfer_t),
                bound.transfers.back().get());
    }
  }

  // The buffers of a set in place of the first one's, other factors and smaller grids.
  Bound bind(Random &random, const std::vector<Placed> &placed, uint32_t set)
  {
    Bound bound;
    for (const Placed &each : placed) {
      const Step &step = *each.step;
      const uint32_t i = each.node;
      bound.factors.push_back(step.factor);
      bound.items.push_back(whole_groups(step.to.count));
      if (step.kind != Step::kernel) {
        bind_other(bound, each, set);
        continue;
      }
      const bool blob = below(random, 4) == 0, other = below(random, 4) == 0;
      if (other)
        bound.factors.back() += 2;
      if (blob) {
        bound.blobs.push_back(std::make_unique<Mix>(Mix{
            address(set, step.to), address(set, step.from), step.to.count, bound.factors.back()}));
        bound.add(RAWHAL_GRAPH_BLOB, i, 0, sizeof(Mix), bound.blobs.back().get());
      }
      if (!blob && other)
        bound.add(i, mix_factor, 4, bound.factors.back());
      if (!blob && set) {
        bound.add(i, mix_out, 8, address(set, step.to));
        bound.add(i, mix_in, 8, address(set, step.from));
      }
      if (below(random, 8) == 0) {
        bound.items.back() = group_items;
        bound.grids.push_back(std::make_unique<rawhal_graph_grid_t>());
        *bound.grids.back() = {{group_items, 1, 1}, {group_items, 1, 1}, 0, 0, 0, {0, 0, 0}};
        bound.add(RAWHAL_GRAPH_GRID, i, 0, sizeof(rawhal_graph_grid_t), bound.grids.back().get());
      }
    }
    return bound;
  }

  // What comes next on this queue begins when the set's last has finished.
  void follow(Random &random, uint32_t set, rawhal_queue_t *next)
  {
    rawhal_queue_t *before = last[set].queue;
    last[set].queue = next;
    if (!before || before == next)
      return;
    const rawhal_dependency_t dependency = {before, last[set].ticket, 0, 0};
    const rawhal_timepoint_t point = {between, ++signalled};
    if (below(random, 2)) {
      ASSERT_OK(rawhal_queue_barrier(next, &dependency, 1, RAWHAL_FOREVER, nullptr, &error));
      return;
    }
    ASSERT_OK(
        rawhal_queue_timeline(before, nullptr, 0, &point, 1, RAWHAL_FOREVER, nullptr, &error));
    ASSERT_OK(rawhal_queue_timeline(next, &point, 1, nullptr, 0, RAWHAL_FOREVER, nullptr, &error));
  }

  void launch(Random &random, uint32_t set, const std::vector<Placed> &placed,
              const rawhal_graph_exec_t *exec)
  {
    const Bound bound = bind(random, placed, set);
    ASSERT_OK(rawhal_graph_launch(last[set].queue, exec, bound.bindings.data(),
                                  bound.bindings.size(), RAWHAL_FOREVER, &last[set].ticket,
                                  &error));
    if (bound.waits)
      ASSERT_OK(rawhal_semaphore_signal(awaited, ++host_raised, &error));
    for (uint32_t i = 0; i < placed.size(); ++i)
      if (placed[i].step->kind <= Step::fill)
        run_step(expected[set], *placed[i].step, bound.factors[i], bound.items[i]);
  }

  void copy(Random &random, uint32_t set)
  {
    const Range to = some_range(random, below(random, buffer_count));
    Range from = {(to.buffer + 1) % buffer_count, below(random, buffer_words - to.count + 1),
                  to.count};
    rawhal_copy_t transfer = {};
    transfer.to = buffers_of[set][to.buffer];
    transfer.to_offset = 4 * to.begin;
    transfer.from = buffers_of[set][from.buffer];
    transfer.from_offset = 4 * from.begin;
    transfer.bytes = 4 * to.count;
    ASSERT_OK(copy_in(last[set].queue, transfer, RAWHAL_FOREVER, &last[set].ticket, &error));
    for (uint32_t i = 0; i < to.count; ++i)
      expected[set][to.buffer][to.begin + i] = expected[set][from.buffer][from.begin + i];
  }

  void fill(Random &random, uint32_t set)
  {
    const Range to = some_range(random, below(random, buffer_count));
    const uint32_t value = static_cast<uint32_t>(random());
    ASSERT_OK(rawhal_queue_fill(last[set].queue, buffers_of[set][to.buffer], 4 * to.begin, value,
                                4 * to.count, RAWHAL_FOREVER, &last[set].ticket, &error));
    for (uint32_t i = 0; i < to.count; ++i)
      expected[set][to.buffer][to.begin + i] = value;
  }

  void turn(Random &random, const std::vector<Placed> &placed, const rawhal_graph_exec_t *exec)
  {
    const uint32_t set = below(random, sets);
    ASSERT_NO_FATAL_FAILURE(follow(random, set, on[below(random, 2)]));
    switch (below(random, 8)) {
    case 0:
      return copy(random, set);
    case 1:
      return fill(random, set);
    default:
      return launch(random, set, placed, exec);
    }
  }

  void try_one(uint32_t number)
  {
    Random random(seed * 1000003 + number);
    const std::vector<Step> plan = some_plan(random, true);
    std::vector<Placed> placed;
    const rawhal_graph_t *made = build(plan, 0, placed);
    const rawhal_graph_exec_t *exec = instantiate(made, below(random, 2) ? on[0] : nullptr);
    for (uint32_t set = 0; set < sets; ++set) {
      last[set] = {};
      expected[set].assign(buffer_count, std::vector<uint32_t>(buffer_words));
      for (uint32_t b = 0; b < buffer_count; ++b)
        for (uint32_t i = 0; i < buffer_words; ++i)
          words(set, b)[i] = expected[set][b][i] = static_cast<uint32_t>(random());
    }
    for (uint32_t turns = 1 + below(random, 6); turns; --turns)
      ASSERT_NO_FATAL_FAILURE(turn(random, placed, exec));
    for (uint32_t set = 0; set < sets; ++set) {
      if (last[set].queue) {
        ASSERT_NO_FATAL_FAILURE(finish(last[set].queue, last[set].ticket));
      }
      for (uint32_t b = 0; b < buffer_count; ++b)
        ASSERT_EQ(expected[set][b],
                  std::vector<uint32_t>(words(set, b), words(set, b) + buffer_words))
            << "buffer " << b << " of set " << set;
    }
    for (rawhal_graph_exec_t *one : execs)
      rawhal_graph_exec_destroy(one);
    for (rawhal_graph_t *one : graphs)
      rawhal_graph_destroy(one);
    execs.clear();
    graphs.clear();
  }

  rawhal_queue_t *on[2] = {};
  rawhal_buffer_t *buffers_of[sets][buffer_count] = {};
  struct {
    rawhal_queue_t *queue;
    rawhal_ticket_t ticket;
  } last[sets] = {}; // that used a set
  rawhal_semaphore_t *between = nullptr, *within[sets] = {}, *awaited = nullptr;
  uint64_t signalled = 0, raised[sets] = {}, host_raised = 0;
  Memory expected[sets];
};

TEST_F(GraphModel, RandomGraphsDoWhatTheirNodesDoOneByOne)
{
  const uint32_t count = is_extended_to_all() ? 10000 : 200;
  for (uint32_t number = 0; number < count; ++number) {
    SCOPED_TRACE("graph " + std::to_string(number) + " of seed " + std::to_string(seed));
    ASSERT_NO_FATAL_FAILURE(try_one(number));
  }
}

} // namespace
