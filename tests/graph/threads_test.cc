// One exec that many threads launch, each with bindings of its own.
#include "graph_test.h"

#include <rawhal/transfer.h>

#include <atomic>
#include <thread>

namespace {

class GraphThreads : public GraphTest {};

// Word i of a thread's buffer is multiplied and added to in an order that its launches have.
TEST_F(GraphThreads, LaunchOneExecOnQueuesOfTheirOwnAndOnASharedOne)
{
  constexpr uint32_t threads = 4, launches = 40, steps = 6, words = 70;
  rawhal_buffer_t *zeros = upload(std::vector<uint32_t>(words));
  rawhal_buffer_t *out[threads];
  for (auto &one : out)
    one = buffer(words * 4, RAWHAL_MEMORY_HOST);
  rawhal_graph_t *made = graph();
  rawhal_graph_node_t last = 0;
  for (uint32_t i = 0; i < steps; ++i) { // of words that only bindings name
    const Mix arguments = {rawhal_buffer_address(out[0]), rawhal_buffer_address(zeros), words,
                           3 + 2 * i};
    const rawhal_dispatch_t dispatch = mix_of(arguments, words);
    ASSERT_OK(rawhal_graph_add_kernel(made, &dispatch, &last, i ? 1 : 0, &last, &error));
  }
  rawhal_queue_t *shared = queue(), *own[threads];
  for (auto &one : own)
    one = queue();
  const rawhal_graph_exec_t *exec = instantiate(made, own[0]);
  rawhal_graph_destroy(graphs.back()); // nothing needs it any more
  graphs.pop_back();
  for (rawhal_queue_t *one : {shared, static_cast<rawhal_queue_t *>(nullptr)}) {
    std::vector<std::vector<uint32_t>> expected(threads, std::vector<uint32_t>(words));
    for (auto *each : out)
      memset(rawhal_buffer_host(each), 0, words * 4);
    std::atomic<uint32_t> wrong{0};
    std::vector<std::thread> running;
    for (uint32_t t = 0; t < threads; ++t)
      running.emplace_back([&, t] {
        rawhal_queue_t *const on = one ? one : own[t];
        rawhal_error_t mine = {};
        rawhal_ticket_t ticket = 0;
        uint64_t address = 0;
        uint32_t factor = 0;
        std::vector<rawhal_graph_binding_t> bindings;
        for (uint32_t i = 0; i < steps; ++i)
          bindings.push_back({RAWHAL_GRAPH_ARGUMENT, i, mix_out, sizeof(address), &address});
        bindings.push_back({RAWHAL_GRAPH_ARGUMENT, 2, mix_factor, sizeof(factor), &factor});
        for (uint32_t launch = 0; launch < launches; ++launch) {
          address = rawhal_buffer_address(out[t]);
          factor = 11 + 2 * (launch * threads + t);
          wrong += rawhal_graph_launch(on, exec, bindings.data(), bindings.size(), RAWHAL_FOREVER,
                                       &ticket, &mine) != RAWHAL_OK;
          address = 0; // read during the call only
          for (uint32_t i = 0; i < steps; ++i)
            for (uint32_t w = 0; w < words; ++w)
              expected[t][w] = expected[t][w] * (i == 2 ? factor : 3 + 2 * i) + w;
        }
        wrong += rawhal_queue_wait(on, ticket, RAWHAL_FOREVER, &mine) != RAWHAL_OK;
      });
    for (std::thread &thread : running)
      thread.join();
    EXPECT_EQ(0u, wrong);
    for (uint32_t t = 0; t < threads; ++t) {
      const auto *got = static_cast<const uint32_t *>(rawhal_buffer_host(out[t]));
      EXPECT_EQ(expected[t], std::vector<uint32_t>(got, got + words));
    }
  }
}

// Copies, and what each thread signals and waits for, in the midst of kernels.
TEST_F(GraphThreads, LaunchPartsSideBySide)
{
  constexpr uint32_t threads = 4, launches = 25, words = 64;
  rawhal_buffer_t *in = upload(std::vector<uint32_t>(words));
  rawhal_buffer_t *out[threads], *copied[threads];
  rawhal_semaphore_t *own_timeline[threads];
  for (uint32_t t = 0; t < threads; ++t) {
    out[t] = zeros(words * 4);
    copied[t] = zeros(words * 4);
    own_timeline[t] = semaphore();
  }
  const auto copy_of = [&](uint32_t t) {
    rawhal_transfer_t copy = {};
    copy.to = copied[t];
    copy.from = out[t];
    copy.bytes = words * 4;
    return copy;
  };
  rawhal_graph_t *made = graph();
  const Mix arguments = {rawhal_buffer_address(out[0]), rawhal_buffer_address(in), words, 3};
  const rawhal_dispatch_t dispatch = mix_of(arguments, words);
  const rawhal_transfer_t copy = copy_of(0);
  const rawhal_timepoint_t point = {own_timeline[0], 1};
  ASSERT_OK(rawhal_graph_add_batch(made, &dispatch, 1, nullptr, &error));
  ASSERT_OK(rawhal_graph_add_transfers(made, &copy, 1, nullptr, nullptr, RAWHAL_GRAPH_ALL, nullptr,
                                       &error));
  for (bool waits : {false, true})
    ASSERT_OK(rawhal_graph_add_timeline(made, &point, waits, &point, !waits, nullptr, nullptr,
                                        RAWHAL_GRAPH_ALL, nullptr, &error));
  const rawhal_graph_exec_t *exec = instantiate(made);
  rawhal_queue_t *shared = queue(), *own = queue();
  std::atomic<uint32_t> wrong{0};
  std::vector<std::thread> running;
  for (uint32_t t = 0; t < threads; ++t)
    running.emplace_back([&, t] {
      rawhal_error_t mine = {};
      rawhal_queue_t *const on = t ? shared : own;
      const uint64_t address = rawhal_buffer_address(out[t]);
      const rawhal_transfer_t its = copy_of(t);
      rawhal_ticket_t ticket = 0;
      for (uint64_t launch = 1; launch <= launches; ++launch) {
        const rawhal_timepoint_t next = {own_timeline[t], launch};
        const rawhal_graph_binding_t bindings[] = {
            {RAWHAL_GRAPH_ARGUMENT, 0, mix_out, sizeof(address), &address},
            {RAWHAL_GRAPH_TRANSFER, 1, 0, sizeof(its), &its},
            {RAWHAL_GRAPH_TIMEPOINT, 2, 0, sizeof(next), &next},
            {RAWHAL_GRAPH_TIMEPOINT, 3, 0, sizeof(next), &next}};
        wrong += rawhal_graph_launch(on, exec, bindings, std::size(bindings), RAWHAL_FOREVER,
                                     &ticket, &mine) != RAWHAL_OK;
      }
      wrong += rawhal_semaphore_wait(own_timeline[t], launches, RAWHAL_FOREVER, &mine) != RAWHAL_OK;
      wrong += rawhal_queue_wait(on, ticket, RAWHAL_FOREVER, &mine) != RAWHAL_OK;
    });
  for (std::thread &thread : running)
    thread.join();
  EXPECT_EQ(0u, wrong);
  for (uint32_t t = 0; t < threads; ++t) {
    uint32_t expected = 0;
    for (uint32_t i = 0; i < launches; ++i)
      expected = expected * 3 + words - 1;
    EXPECT_EQ(expected, static_cast<uint32_t *>(rawhal_buffer_host(copied[t]))[words - 1]);
  }
}

// What has been launched goes on when exec, graph and executable are destroyed.
TEST_F(GraphThreads, ExecsAreDestroyedWhileTheirLaunchesRun)
{
  constexpr uint32_t threads = 4, each = 25, words = 64;
  rawhal_buffer_t *zeros = upload(std::vector<uint32_t>(words));
  rawhal_buffer_t *out = buffer(threads * words * 4, RAWHAL_MEMORY_HOST);
  memset(rawhal_buffer_host(out), 0, threads * words * 4);
  rawhal_queue_t *own[threads];
  for (auto &one : own)
    one = queue();
  std::atomic<uint32_t> wrong{0};
  std::vector<std::thread> running;
  for (uint32_t t = 0; t < threads; ++t)
    running.emplace_back([&, t] {
      rawhal_error_t mine = {};
      for (uint32_t i = 0; i < each; ++i) {
        rawhal_graph_t *made = nullptr;
        rawhal_graph_exec_t *exec = nullptr;
        const Mix arguments = {rawhal_buffer_address(out) + 4 * words * t,
                               rawhal_buffer_address(zeros), words, 5};
        const std::vector<rawhal_dispatch_t> batch(3, mix_of(arguments, words));
        wrong +=
            rawhal_graph_create(device, &made, &mine) != RAWHAL_OK ||
            rawhal_graph_add_batch(made, batch.data(), batch.size(), nullptr, &mine) != RAWHAL_OK ||
            rawhal_graph_instantiate(made, nullptr, &exec, &mine) != RAWHAL_OK ||
            rawhal_graph_launch(own[t], exec, nullptr, 0, RAWHAL_FOREVER, nullptr, &mine) !=
                RAWHAL_OK;
        rawhal_graph_destroy(made);
        rawhal_graph_exec_destroy(exec);
      }
      wrong += rawhal_queue_wait(own[t], each, RAWHAL_FOREVER, &mine) != RAWHAL_OK;
    });
  for (std::thread &thread : running)
    thread.join();
  ASSERT_EQ(0u, wrong);
  std::vector<uint32_t> expected(words);
  for (uint32_t i = 0; i < 3 * each; ++i)
    for (uint32_t w = 0; w < words; ++w)
      expected[w] = expected[w] * 5 + w;
  const auto *got = static_cast<const uint32_t *>(rawhal_buffer_host(out));
  for (uint32_t t = 0; t < threads; ++t)
    EXPECT_EQ(expected, std::vector<uint32_t>(got + t * words, got + (t + 1) * words));
}

} // namespace
