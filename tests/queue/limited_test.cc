// Queues of a device that has limits.
#include "steps.h"

#include <elf.h>

#include <memory>

extern "C" {
#include "queue/limit/config.h"
}

namespace {

class LimitedSteps : public Steps {
protected:
  void limit(std::vector<std::pair<rawhal_limit_t, uint64_t>> limits)
  {
    rawhal_limit_config_t config = {};
    for (const auto &[name, value] : limits)
      ASSERT_OK(rawhal_limit_config_set(&config, name, value, &error));
    ASSERT_OK(rawhal_limiter_open(&config, "toy", &limiter, &error));
    toy_limit(limiter);
  }
  void TearDown() override
  {
    toy_limit(nullptr);
    rawhal_limiter_close(limiter);
    Steps::TearDown();
  }
  uint64_t used() const { return limiter_memory(limiter).used; }
  std::unique_ptr<Loaded> Hungry(uint32_t lane_bytes)
  {
    auto made = std::make_unique<Loaded>();
    rawhal_device_kernel_info_t info = {};
    info.kernel = made->kernel.facts();
    info.layout = made->layout.get();
    info.private_segment_size = lane_bytes;
    toy_kernel_free(made->loaded);
    made->loaded = toy_kernel(here, &info, &error);
    return made;
  }
  rawhal_limiter_t *limiter = nullptr;
};

// HSA_AMD_QUEUE_PRIORITY_LOW is 0, HIGH 2; NORMAL is what a queue has without being told.
TEST_F(LimitedSteps, PrioritiesAreToldUpToThatOfTheLimits)
{
  const rawhal_queue_priority_t asked[] = {RAWHAL_QUEUE_PRIORITY_DEFAULT, RAWHAL_QUEUE_PRIORITY_LOW,
                                           RAWHAL_QUEUE_PRIORITY_NORMAL,
                                           RAWHAL_QUEUE_PRIORITY_HIGH};
  auto told = [&] {
    std::vector<int> all;
    for (rawhal_queue_priority_t one : asked) {
      rawhal_queue_options_t options = {};
      options.size = sizeof(options);
      options.priority = one;
      rawhal_queue_t *made = nullptr;
      EXPECT_OK(toy_queue(1, &options, &made, &error));
      all.push_back(toy_priority());
      rawhal_queue_destroy(made);
    }
    return all;
  };
  EXPECT_EQ(told(), (std::vector<int>{-1, 0, -1, 2}));
  const std::vector<std::pair<rawhal_limit_priority_t, std::vector<int>>> limited = {
      {RAWHAL_PRIORITY_LOW, {0, 0, 0, 0}},
      {RAWHAL_PRIORITY_NORMAL, {-1, 0, -1, -1}},
      {RAWHAL_PRIORITY_HIGH, {2, 0, -1, 2}}};
  for (const auto &[most, expected] : limited) {
    limit({{RAWHAL_LIMIT_PRIORITY, most}, {RAWHAL_LIMIT_MEMORY, 1 << 30}});
    EXPECT_EQ(told(), expected) << most;
    toy_limit(nullptr);
    rawhal_limiter_close(limiter);
    limiter = nullptr;
  }
}

rawhal_dispatch_t with_grid(rawhal_dispatch_t dispatch, uint32_t x, uint32_t y, uint32_t z,
                            uint16_t group = 1)
{
  dispatch.work_items[0] = x;
  dispatch.work_items[1] = y;
  dispatch.work_items[2] = z;
  dispatch.workgroup[0] = group;
  return dispatch;
}

TEST_F(LimitedSteps, WorkGroupsOfAGridDoNotWrap)
{
  limit({{RAWHAL_LIMIT_GRID_WORKGROUPS, 4}});
  Loaded kernel;
  rawhal_queue_t *on = queue();
  const uint32_t half = 1u << 31;
  const struct {
    rawhal_dispatch_t dispatch;
    bool right;
  } cases[] = {
      {with_grid(kernel.dispatch(), 4, 1, 1), true},
      {with_grid(kernel.dispatch(), 5, 1, 1), false},
      {with_grid(kernel.dispatch(), 8, 1, 1, 2), true},
      {with_grid(kernel.dispatch(), 9, 1, 1, 2), false}, // the last one is partial
      {with_grid(kernel.dispatch(), 1, 1, 1, 2), true},
      {with_grid(kernel.dispatch(), half, half, 4), false}, // 2^64
      {with_grid(kernel.dispatch(), half, half, half), false},
  };
  for (const auto &one : cases) {
    rawhal_ticket_t ticket = 0;
    EXPECT_EQ(rawhal_queue_submit(on, &one.dispatch, 1, 0, &ticket, &error),
              one.right ? RAWHAL_OK : RAWHAL_QUOTA_EXCEEDED)
        << one.dispatch.work_items[0] << "x" << one.dispatch.work_items[1] << "x"
        << one.dispatch.work_items[2];
  }
  rawhal_queue_destroy(on);
}

// Together they have 2^64 work-groups, which is none if one does not look.
TEST_F(LimitedSteps, WorkGroupsOfABatchDoNotWrap)
{
  limit({{RAWHAL_LIMIT_WORKGROUPS_IN_FLIGHT, 1000}});
  Loaded kernel;
  rawhal_queue_t *on = queue();
  const rawhal_dispatch_t large = with_grid(kernel.dispatch(), 1u << 31, 1u << 31, 2);
  const rawhal_dispatch_t batch[2] = {large, large};
  rawhal_ticket_t ticket = 0;
  EXPECT_EQ(rawhal_queue_submit(on, batch, 2, 0, &ticket, &error), RAWHAL_QUOTA_EXCEEDED)
      << "as a batch";
  rawhal_graph_exec_t *exec = nullptr;
  ASSERT_OK(toy_graph(on, batch, 2, &exec, &error));
  EXPECT_EQ(rawhal_graph_launch(on, exec, nullptr, 0, 0, &ticket, &error), RAWHAL_QUOTA_EXCEEDED)
      << "as a graph";
  rawhal_graph_exec_destroy(exec);
  rawhal_queue_destroy(on);
}

// The grids that a launch really has: a larger one is refused, a smaller one in its place is not.
TEST_F(LimitedSteps, AGraphsGridsAreThoseThatAreBound)
{
  limit({{RAWHAL_LIMIT_GRID_WORKGROUPS, 100}});
  Loaded kernel;
  rawhal_queue_t *on = queue();
  const rawhal_dispatch_t batch[2] = {with_grid(kernel.dispatch(), 50, 1, 1),
                                      with_grid(kernel.dispatch(), 101, 1, 1)};
  rawhal_graph_exec_t *exec = nullptr;
  ASSERT_OK(toy_graph(on, batch, 2, &exec, &error));
  EXPECT_EQ(rawhal_graph_launch(on, exec, nullptr, 0, 0, nullptr, &error), RAWHAL_QUOTA_EXCEEDED);
  const auto grid = [&](uint32_t items) {
    rawhal_graph_grid_t made = {};
    memcpy(made.work_items, batch[0].work_items, sizeof(made.work_items));
    memcpy(made.workgroup, batch[0].workgroup, sizeof(made.workgroup));
    made.work_items[0] = items * batch[0].workgroup[0];
    return made;
  };
  const rawhal_graph_grid_t fits = grid(100), large = grid(101);
  const rawhal_graph_binding_t small_second = {RAWHAL_GRAPH_GRID, 1, 0, sizeof(fits), &fits};
  const rawhal_graph_binding_t large_first[2] = {small_second,
                                                 {RAWHAL_GRAPH_GRID, 0, 0, sizeof(large), &large}};
  EXPECT_OK(rawhal_graph_launch(on, exec, &small_second, 1, 0, nullptr, &error));
  EXPECT_EQ(rawhal_graph_launch(on, exec, large_first, 2, 0, nullptr, &error),
            RAWHAL_QUOTA_EXCEEDED);
  ASSERT_OK(rawhal_graph_exec_bind(exec, &small_second, 1, &error));
  EXPECT_OK(rawhal_graph_launch(on, exec, nullptr, 0, 0, nullptr, &error));
  rawhal_graph_exec_destroy(exec);
  rawhal_queue_destroy(on);
}

// The most that any dispatch asks for is the queue's, whichever it is. When the queue is gone the next that asks for
// as much has it.
TEST_F(LimitedSteps, ScratchIsThatOfTheHungriestAndTakenOver)
{
  Loaded plain;
  for (bool first : {false, true})
    for (bool launched : {false, true}) {
      limit({{RAWHAL_LIMIT_MEMORY, uint64_t{1} << 30}});
      const std::unique_ptr<Loaded> hungry = Hungry(1024);
      const uint64_t before = used();
      for (int round = 0; round < 2; ++round) {
        rawhal_queue_t *on = queue();
        const rawhal_dispatch_t batch[3] = {first ? hungry->dispatch() : plain.dispatch(),
                                            first ? plain.dispatch() : hungry->dispatch(),
                                            plain.dispatch()};
        rawhal_ticket_t ticket = 0;
        rawhal_graph_exec_t *exec = nullptr;
        if (launched) {
          ASSERT_OK(toy_graph(on, batch, 3, &exec, &error));
          ASSERT_OK(rawhal_graph_launch(on, exec, nullptr, 0, 0, &ticket, &error));
        } else {
          ASSERT_OK(rawhal_queue_submit(on, batch, 3, 0, &ticket, &error));
        }
        rawhal_graph_exec_destroy(exec);
        rawhal_queue_destroy(on);
        // 1,024 bytes for each of 64 lanes of 32 waves of the one compute unit.
        EXPECT_EQ(used() - before, 1024u * 64 * 32) << first << launched << round;
      }
      toy_limit(nullptr);
      rawhal_limiter_close(limiter);
      limiter = nullptr;
    }
}

// Each size that a queue had is another block of the runtime's, and devices count waves and bytes differently.
TEST_F(LimitedSteps, ScratchIsOfWholeEnginesAndOfTheChipsGranule)
{
  struct {
    uint32_t engines;
    const char *processor;
    std::vector<uint32_t> lanes;
    uint64_t bytes;
  } const cases[] = {
      {0, nullptr, {1}, 1024 * 32},
      {8, "gfx90a", {1}, 8 * 1024 * 32},
      {1, "gfx90a", {16, 4, 32}, (1024 + 2048) * 32},
      {1, "gfx90a", {4, 8, 12, 16}, 1024 * 32},
      {1, "gfx1030", {4, 8}, 1024 * 32},
      {1, "gfx1100", {4, 8, 7}, (256 + 512) * 32},
      {1, "gfx1201", {5}, 512 * 32},
  };
  for (const auto &each : cases) {
    SCOPED_TRACE(each.processor ? each.processor : "none");
    limit({{RAWHAL_LIMIT_MEMORY, uint64_t{1} << 30}});
    toy_chip(each.engines, each.processor);
    rawhal_queue_t *on = queue();
    const uint64_t made = used();
    for (uint32_t lane : each.lanes)
      submit(on, Hungry(lane)->dispatch());
    EXPECT_EQ(used() - made, each.bytes);
    rawhal_queue_destroy(on);
    toy_limit(nullptr);
    rawhal_limiter_close(limiter);
    limiter = nullptr;
  }
  toy_chip(0, nullptr);
}

// A barrier that has not opened when its queue goes lets nothing begin.
TEST_F(LimitedSteps, WhatABarrierHeldBackCostsNothing)
{
  const Loaded loaded;
  limit({{RAWHAL_LIMIT_GPU_SHARE, 1}, {RAWHAL_LIMIT_BURST, 1000000}}); // a us is owed for a second
  toy_hold(true);
  for (int round = 0; round < 3; ++round) {
    rawhal_queue_t *on = queue();
    ASSERT_OK(rawhal_queue_barrier(on, nullptr, 0, 0, nullptr, &error));
    submit(on, loaded.dispatch());
    rawhal_queue_destroy(on);
  }
}

// What ends while its queue goes costs what it took, not the time until then: one ns here, by the device's clock.
TEST_F(LimitedSteps, WhatEndsWithItsQueueCostsWhatItTook)
{
  const Loaded loaded;
  limit({{RAWHAL_LIMIT_GPU_SHARE, 1}, {RAWHAL_LIMIT_BURST, 10000000}}); // ten ns
  for (int round = 0; round < 2; ++round) {
    toy_hold(true);
    rawhal_queue_t *on = queue();
    submit(on, loaded.dispatch());
    toy_step_in(
        TOY_QUEUE_DESTROY, [](void *) { toy_hold(false); }, nullptr);
    rawhal_queue_destroy(on);
  }
}

} // namespace

// ROCr allocates from address 0 to the end of the last segment, and tells that as LOAD_SIZE.
TEST(Code, TakesWhatIsBeforeItsFirstSegmentToo)
{
  struct {
    Elf64_Ehdr head;
    Elf64_Phdr segments[3];
  } elf = {};
  elf.head.e_phoff = sizeof(elf.head);
  elf.head.e_phnum = 3;
  elf.segments[0].p_type = elf.segments[1].p_type = PT_LOAD;
  elf.segments[0].p_vaddr = 0x1000;
  elf.segments[0].p_memsz = 0x800;
  elf.segments[1].p_vaddr = 0x5000;
  elf.segments[1].p_memsz = 0x1234;
  elf.segments[2].p_type = PT_NOTE;
  elf.segments[2].p_vaddr = 0x100000;
  EXPECT_EQ(0x6234u, toy_code_bytes(&elf, sizeof(elf)));
  EXPECT_EQ(0x1800u, toy_code_bytes(&elf, sizeof(elf.head) + sizeof(Elf64_Phdr)));
  EXPECT_EQ(0u, toy_code_bytes(&elf, sizeof(elf.head) - 1));
}
