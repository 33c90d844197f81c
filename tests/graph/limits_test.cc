// Launches are admitted and charged like batches, to the tenant of the process and the queue that launches.
#include "graph_test.h"
#include "tests/child.h"

#include <rawhal/transfer.h>

#include <cstdlib>

namespace {

// Whoever reads from it hears that the other process has ended, once it has closed the end it does not use.
struct Pipe {
  int ends[2] = {-1, -1};
  bool opened = pipe(ends) == 0;
  void close_end(int end)
  {
    if (ends[end] >= 0)
      close(ends[end]);
    ends[end] = -1;
  }
  bool tell() const
  {
    const char byte = 'r';
    return write(ends[1], &byte, 1) == 1;
  }
  bool hear() const
  {
    char byte;
    return read(ends[0], &byte, 1) == 1;
  }
  ~Pipe()
  {
    close_end(0);
    close_end(1);
  }
};

class GraphLimits : public GraphTest {
protected:
  void SetUp() override
  {
    region = testing::TempDir() + "graph-" + std::to_string(getpid()) + ".region";
    unlink(region.c_str());
    setenv("RAWHAL_LIMIT_REGION", region.c_str(), 1);
    setenv("RAWHAL_TENANT", "first", 1);
    setenv("RAWHAL_GPU_SHARE", "100%", 1);
    setenv("RAWHAL_DISPATCHES_IN_FLIGHT", "12", 1);
    setenv("RAWHAL_WORKGROUPS_IN_FLIGHT", "40", 1);
    setenv("RAWHAL_GRID_WORKGROUPS", "20", 1);
  }

  void TearDown() override
  {
    GraphTest::TearDown();
    unlink(region.c_str());
    for (const char *name :
         {"RAWHAL_LIMIT_REGION", "RAWHAL_TENANT", "RAWHAL_GPU_SHARE", "RAWHAL_DISPATCHES_IN_FLIGHT",
          "RAWHAL_WORKGROUPS_IN_FLIGHT", "RAWHAL_GRID_WORKGROUPS"})
      unsetenv(name);
  }

  void begin()
  {
    GraphTest::SetUp();
    on = queue();
    words = zeros(256);
  }

  std::vector<rawhal_dispatch_t> batch(size_t count)
  {
    arguments = {rawhal_buffer_address(words), rawhal_buffer_address(words), 64, 3};
    return std::vector<rawhal_dispatch_t>(count, mix_of(arguments, 64));
  }

  const rawhal_graph_exec_t *exec_of(size_t count)
  {
    rawhal_graph_t *made = graph();
    const std::vector<rawhal_dispatch_t> all = batch(count);
    EXPECT_OK(rawhal_graph_add_batch(made, all.data(), count, nullptr, &error));
    return instantiate(made);
  }

  // Of a tenant of the region.
  rawhal_limit_row_t row(const char *tenant)
  {
    rawhal_limit_view_t *view = nullptr;
    rawhal_limit_row_t rows[16] = {};
    EXPECT_OK(rawhal_limit_view_open(region.c_str(), &view, &error));
    const size_t count = rawhal_limit_view_read(view, rows, sizeof(*rows), std::size(rows));
    rawhal_limit_view_close(view);
    for (size_t i = 0; i < count; ++i)
      if (rows[i].level == RAWHAL_LIMIT_LEVEL_TENANT && strcmp(rows[i].name, tenant) == 0)
        return rows[i];
    ADD_FAILURE() << "no tenant " << tenant;
    return {};
  }

  std::string region;
  rawhal_queue_t *on = nullptr;
  rawhal_buffer_t *words = nullptr;
  Mix arguments = {};
};

TEST_F(GraphLimits, ALaunchIsChargedAsItsBatchIs)
{
  ASSERT_NO_FATAL_FAILURE(begin());
  const std::vector<rawhal_dispatch_t> all = batch(10);
  const rawhal_graph_exec_t *exec = exec_of(10);
  uint64_t charged[2], time[2];
  for (int launched = 0; launched < 2; ++launched) {
    const rawhal_limit_row_t before = row("first");
    rawhal_ticket_t ticket = 0;
    ASSERT_OK(launched ? rawhal_graph_launch(on, exec, nullptr, 0, RAWHAL_FOREVER, &ticket, &error)
                       : rawhal_queue_submit(on, all.data(), 10, RAWHAL_FOREVER, &ticket, &error));
    ASSERT_NO_FATAL_FAILURE(finish(on, ticket));
    const rawhal_limit_row_t after = row("first");
    charged[launched] = after.launches - before.launches;
    time[launched] = after.gpu_ns - before.gpu_ns;
  }
  EXPECT_EQ(charged[0], charged[1]);
  EXPECT_GT(charged[0], 0u);
  EXPECT_GT(time[0], 0u);
  EXPECT_GT(time[1], 0u);
}

TEST_F(GraphLimits, WhatCanNeverBeAdmittedIsRefusedWithoutTrace)
{
  ASSERT_NO_FATAL_FAILURE(begin());
  const rawhal_graph_exec_t *fits = exec_of(12), *never = exec_of(13);
  rawhal_ticket_t ticket = 0;
  ASSERT_OK(rawhal_graph_launch(on, fits, nullptr, 0, RAWHAL_FOREVER, &ticket, &error));
  ASSERT_NO_FATAL_FAILURE(finish(on, ticket));
  EXPECT_EQ(RAWHAL_QUOTA_EXCEEDED, rawhal_graph_launch(on, never, nullptr, 0, 0, &ticket, &error));
  EXPECT_EQ(0u, ticket);
  // As large as the launch really is.
  rawhal_graph_grid_t grid = {{64 * 20, 1, 1}, {64, 1, 1}, 0, 0, 0, {0, 0, 0}};
  const rawhal_graph_binding_t binding = {RAWHAL_GRAPH_GRID, 5, 0, sizeof(grid), &grid};
  ASSERT_OK(rawhal_graph_launch(on, fits, &binding, 1, RAWHAL_FOREVER, &ticket, &error));
  ASSERT_NO_FATAL_FAILURE(finish(on, ticket));
  grid.work_items[0] = 64 * 21;
  EXPECT_EQ(RAWHAL_QUOTA_EXCEEDED, rawhal_graph_launch(on, fits, &binding, 1, 0, &ticket, &error));
  const rawhal_graph_binding_t both[] = {binding, {RAWHAL_GRAPH_GRID, 6, 0, sizeof(grid), &grid}};
  grid.work_items[0] = 64 * 20; // 20 + 20 + 10 of 40
  EXPECT_EQ(RAWHAL_QUOTA_EXCEEDED, rawhal_graph_launch(on, fits, both, 2, 0, &ticket, &error));
  EXPECT_EQ(2u, queue_info(on).last_ticket);
  ASSERT_OK(rawhal_graph_launch(on, fits, nullptr, 0, RAWHAL_FOREVER, &ticket, &error));
  EXPECT_EQ(3u, ticket);
  ASSERT_NO_FATAL_FAILURE(finish(on, ticket));
}

TEST_F(GraphLimits, WhatIsInFlightHoldsALaunchBack)
{
  ASSERT_NO_FATAL_FAILURE(begin());
  const rawhal_graph_exec_t *exec = exec_of(7);
  rawhal_ticket_t ticket = 0, other = 0;
  softgpu_call("softgpu_pause");
  ASSERT_OK(rawhal_graph_launch(on, exec, nullptr, 0, 0, &ticket, &error));
  EXPECT_EQ(RAWHAL_WOULD_BLOCK, rawhal_graph_launch(on, exec, nullptr, 0, 0, &other, &error));
  EXPECT_EQ(0u, other);
  softgpu_call("softgpu_resume");
  ASSERT_OK(rawhal_graph_launch(on, exec, nullptr, 0, RAWHAL_FOREVER, &other, &error));
  ASSERT_NO_FATAL_FAILURE(finish(on, other));
  EXPECT_EQ(2u, other);
}

// Copies count as dispatches do, and what steps of timelines wait costs nothing, though the launch is admitted before.
TEST_F(GraphLimits, PartsAreChargedAsOneAndWaitsAreNot)
{
  ASSERT_NO_FATAL_FAILURE(begin());
  rawhal_graph_t *made = graph();
  const rawhal_timepoint_t point = {semaphore(), 1};
  rawhal_transfer_t fill = {};
  fill.to = words;
  fill.bytes = 256;
  fill.pattern_bytes = 1;
  const std::vector<rawhal_dispatch_t> all = batch(3);
  ASSERT_OK(rawhal_graph_add_batch(made, all.data(), all.size(), nullptr, &error));
  ASSERT_OK(rawhal_graph_add_timeline(made, &point, 1, nullptr, 0, nullptr, nullptr,
                                      RAWHAL_GRAPH_ALL, nullptr, &error));
  ASSERT_OK(rawhal_graph_add_transfers(made, &fill, 1, nullptr, nullptr, RAWHAL_GRAPH_ALL, nullptr,
                                       &error));
  const rawhal_limit_row_t before = row("first");
  rawhal_ticket_t ticket = 0;
  ASSERT_OK(
      rawhal_graph_launch(on, instantiate(made), nullptr, 0, RAWHAL_FOREVER, &ticket, &error));
  EXPECT_EQ(3u, ticket);
  ASSERT_NO_FATAL_FAILURE(finish(on, 1));
  uint64_t start[2], end[2];
  ASSERT_OK(rawhal_queue_timing(on, 1, &start[0], &end[0], &error));
  const uint64_t from = rawhal_deadline_after(0);
  uint64_t waited = 0;
  for (rawhal_queue_t *other = queue(); waited < 50 * (end[0] - start[0]);
       waited = rawhal_deadline_after(0) - from) { // barriers cost nothing
    rawhal_ticket_t barrier = 0;
    ASSERT_OK(rawhal_queue_barrier(other, nullptr, 0, RAWHAL_FOREVER, &barrier, &error));
    ASSERT_NO_FATAL_FAILURE(finish(other, barrier));
  }
  ASSERT_OK(rawhal_semaphore_signal(point.semaphore, 1, &error));
  ASSERT_NO_FATAL_FAILURE(finish(on, ticket));
  const rawhal_limit_row_t after = row("first");
  EXPECT_EQ(4u, after.launches - before.launches);
  ASSERT_OK(rawhal_queue_timing(on, ticket, &start[1], &end[1], &error));
  EXPECT_GT(end[1] - start[1], waited) << "from the first part to the last";
  EXPECT_GT(after.gpu_ns, before.gpu_ns);
  EXPECT_LT(after.gpu_ns - before.gpu_ns, waited);
}

// Each pays for what it launches, and what both compute is right.
TEST_F(GraphLimits, TwoTenantsPayEachForItself)
{
  constexpr uint32_t launches = 30;
  Pipe go, done;
  ASSERT_TRUE(go.opened && done.opened);
  const auto work = [&](uint32_t count) {
    const rawhal_graph_exec_t *exec = exec_of(4);
    rawhal_ticket_t ticket = 0;
    for (uint32_t i = 0; i < count; ++i)
      ASSERT_OK(rawhal_graph_launch(on, exec, nullptr, 0, RAWHAL_FOREVER, &ticket, &error));
    ASSERT_NO_FATAL_FAILURE(finish(on, ticket));
    uint32_t expected = 0;
    for (uint32_t i = 0; i < 4 * count; ++i)
      expected = expected * 3 + expected + 63;
    EXPECT_EQ(expected, static_cast<uint32_t *>(rawhal_buffer_host(words))[63]);
  };
  const pid_t child = fork_child();
  if (child == 0) {
    alarm(60);
    go.close_end(1);
    done.close_end(0);
    setenv("RAWHAL_TENANT", "second", 1);
    begin();
    if (!HasFailure() && done.tell() && go.hear())
      work(launches);
    if (done.tell() && go.hear())
      _exit(HasFailure() ? 1 : 0);
    _exit(2);
  }
  go.close_end(0);
  done.close_end(1);
  ASSERT_NO_FATAL_FAILURE(begin());
  ASSERT_TRUE(done.hear());
  const uint64_t before[] = {row("first").launches, row("second").launches};
  ASSERT_TRUE(go.tell());
  work(2 * launches);
  ASSERT_TRUE(done.hear());
  const uint64_t mine = row("first").launches - before[0],
                 theirs = row("second").launches - before[1];
  ASSERT_TRUE(go.tell());
  int status = 0;
  ASSERT_EQ(child, waitpid(child, &status, 0));
  EXPECT_EQ(0, status);
  EXPECT_EQ(2 * theirs, mine);
  EXPECT_GT(theirs, 0u);
}

} // namespace
