// Copies in queue order: what they move, and what they wait for and hold up.
#include "held_test.h"
#include "tests/extended.h"
#include "tests/values.h"

#include <cstdlib>
#include <random>

namespace {

class Transfer : public HeldTest {
protected:
  static constexpr size_t elements = 1024, bytes = elements * 4;

  std::vector<uint32_t> numbers(uint32_t first)
  {
    std::vector<uint32_t> made(elements);
    for (size_t i = 0; i < elements; ++i)
      made[i] = first + static_cast<uint32_t>(i) * 7;
    return made;
  }
};

TEST_F(Transfer, MovesBytesBetweenAllKindsOfMemory)
{
  rawhal_queue_t *on = queue();
  rawhal_buffer_t *device[2] = {buffer(bytes), buffer(bytes)};
  rawhal_buffer_t *host[2] = {buffer(bytes, RAWHAL_MEMORY_HOST), buffer(bytes, RAWHAL_MEMORY_HOST)};
  std::vector<uint32_t> sent = numbers(3), got(elements);
  rawhal_ticket_t ticket = 0;
  ASSERT_OK(rawhal_queue_write(on, device[0], 0, sent.data(), bytes, 0, &ticket, &error));
  EXPECT_EQ(ticket, 1u);
  ASSERT_OK(copy_in(on, {0, device[1], 0, device[0], 0, bytes}, 0, nullptr, &error));
  ASSERT_OK(copy_in(on, {0, host[0], 0, device[1], 0, bytes}, 0, nullptr, &error));
  ASSERT_OK(copy_in(on, {0, host[1], 0, host[0], 0, bytes}, 0, nullptr, &error));
  ASSERT_OK(rawhal_queue_fill(on, device[0], 0, 0xdeadbeef, bytes, 0, nullptr, &error));
  ASSERT_OK(copy_in(on, {0, device[0], 8, host[1], 16, bytes - 16}, 0, nullptr, &error));
  ASSERT_OK(rawhal_queue_read(on, device[0], 0, got.data(), bytes, 0, &ticket, &error));
  ASSERT_OK(wait(on, ticket));
  for (size_t i = 0; i < elements; ++i)
    ASSERT_EQ(got[i], i < 2 || i >= elements - 2 ? 0xdeadbeef : sent[i + 2]) << i;
}

TEST_F(Transfer, UnalignedBytesAndNeighbours)
{
  rawhal_queue_t *on = queue();
  rawhal_buffer_t *there = buffer(bytes);
  std::vector<unsigned char> sent(257), got(bytes);
  for (size_t i = 0; i < sent.size(); ++i)
    sent[i] = static_cast<unsigned char>(i * 31 + 1);
  for (size_t offset : {1, 3, 62, 4096 - 257}) {
    for (size_t size : {1, 2, 5, 63, 257}) {
      rawhal_ticket_t ticket = 0;
      ASSERT_OK(
          rawhal_queue_fill(on, there, 0, 0xaaaaaaaa, bytes, RAWHAL_FOREVER, nullptr, &error));
      ASSERT_OK(rawhal_queue_write(on, there, offset, sent.data(), size, RAWHAL_FOREVER, nullptr,
                                   &error));
      ASSERT_OK(
          rawhal_queue_read(on, there, 0, got.data(), bytes, RAWHAL_FOREVER, &ticket, &error));
      ASSERT_OK(wait(on, ticket));
      for (size_t i = 0; i < bytes; ++i)
        ASSERT_EQ(got[i], i < offset || i >= offset + size ? 0xaa : sent[i - offset])
            << offset << "+" << size;
    }
  }
}

TEST_F(Transfer, AFillOfManyPieces)
{
  constexpr size_t size = (1 << 20) + 4; // two whole patterns and a bit
  rawhal_queue_t *on = queue();
  rawhal_buffer_t *there = buffer(size + 8);
  rawhal_ticket_t ticket = 0;
  ASSERT_OK(rawhal_buffer_fill(there, 0, 1, size + 8, &error));
  ASSERT_OK(rawhal_queue_fill(on, there, 4, 0x12345678, size, 0, &ticket, &error));
  ASSERT_OK(wait(on, ticket));
  std::vector<uint32_t> got = download<uint32_t>(there, size / 4 + 2);
  EXPECT_EQ(got.front(), 1u);
  EXPECT_EQ(got.back(), 1u);
  for (size_t i = 1; i <= size / 4; ++i)
    ASSERT_EQ(got[i], 0x12345678u) << i;
}

TEST_F(Transfer, WaitsForWhatCameBeforeAndHoldsWhatComesAfter)
{
  rawhal_queue_t *on = queue();
  rawhal_buffer_t *from = buffer(bytes), *to = buffer(bytes);
  const rawhal_device_kernel_t *write_ids = kernel("write_ids-gfx90a-v5.co", "write_ids");
  rawhal_dispatch_t spin = held(), storing = store(write_ids, 5);
  storing.flags = RAWHAL_DISPATCH_OVERLAP;
  ASSERT_OK(rawhal_buffer_fill(from, 0, 7, bytes, &error));
  ASSERT_OK(rawhal_buffer_fill(to, 0, 1, bytes, &error));
  ASSERT_OK(rawhal_buffer_fill(out, 0, 0, 4, &error));
  submit(on, spin);
  rawhal_ticket_t copy = 0;
  ASSERT_OK(copy_in(on, {0, to, 0, from, 0, bytes}, 0, &copy, &error));
  rawhal_ticket_t after = submit(on, storing);
  EXPECT_EQ(rawhal_queue_wait(on, after, rawhal_deadline_after(30 * millisecond), &error),
            RAWHAL_TIMED_OUT);
  EXPECT_EQ(rawhal_queue_wait(on, copy, 0, &error), RAWHAL_WOULD_BLOCK);
  EXPECT_EQ(rawhal_queue_on_complete(on, 99, nullptr, nullptr, &error), RAWHAL_INVALID_ARGUMENT);
  release();
  ASSERT_OK(wait(on, after));
  ASSERT_OK(rawhal_queue_wait(on, copy, 0, &error));
  EXPECT_EQ(download<uint32_t>(to, 1)[0], 7u);
  EXPECT_EQ(download<uint32_t>(out, 1)[0], 5u);
  uint64_t start = 0, end = 0;
  ASSERT_OK(rawhal_queue_timing(on, copy, &start, &end, &error));
  EXPECT_LT(start, end);
}

TEST_F(Transfer, AnotherQueueWaitsForACopy)
{
  rawhal_queue_t *copying = queue(), *running = queue();
  rawhal_buffer_t *from = buffer(bytes, RAWHAL_MEMORY_HOST), *to = buffer(bytes);
  ASSERT_OK(rawhal_buffer_fill(from, 0, 9, bytes, &error));
  submit(copying, held());
  rawhal_dependency_t dependency = {copying, 0, 0, 0};
  ASSERT_OK(copy_in(copying, {0, to, 0, from, 0, bytes}, 0, &dependency.ticket, &error));
  rawhal_ticket_t barrier = 0;
  ASSERT_OK(rawhal_queue_barrier(running, &dependency, 1, 0, &barrier, &error));
  EXPECT_EQ(rawhal_queue_wait(running, barrier, rawhal_deadline_after(20 * millisecond), &error),
            RAWHAL_TIMED_OUT);
  release();
  ASSERT_OK(wait(running, barrier));
  EXPECT_EQ(download<uint32_t>(to, 1)[0], 9u);
}

TEST_F(Transfer, SizeZeroIsAMarker)
{
  rawhal_queue_t *on = queue();
  rawhal_buffer_t *there = buffer(64);
  rawhal_ticket_t tickets[4] = {};
  ASSERT_OK(copy_in(on, {0, there, 64, there, 0, 0}, 0, &tickets[0], &error));
  ASSERT_OK(rawhal_queue_fill(on, there, 0, 1, 0, 0, &tickets[1], &error));
  ASSERT_OK(rawhal_queue_write(on, there, 3, nullptr, 0, 0, &tickets[2], &error));
  ASSERT_OK(rawhal_queue_read(on, there, 3, nullptr, 0, 0, &tickets[3], &error));
  for (uint64_t i = 0; i < 4; ++i)
    EXPECT_EQ(tickets[i], i + 1);
  ASSERT_OK(wait(on, tickets[3]));
}

TEST_F(Transfer, WhatIsWrongLeavesNoTrace)
{
  rawhal_queue_t *on = queue();
  rawhal_buffer_t *there = buffer(64), *freed = nullptr;
  ASSERT_OK(rawhal_buffer_allocate(device, RAWHAL_MEMORY_DEVICE, 64, &freed, &error));
  rawhal_buffer_free(freed);
  char mine[64];
  rawhal_ticket_t ticket = 1;
  const std::pair<rawhal_status_t, rawhal_status_t> cases[] = {
      {copy_in(nullptr, {0, there, 0, there, 32, 8}, 0, &ticket, &error), RAWHAL_INVALID_ARGUMENT},
      {copy_in(on, {0, there, 0, there, 4, 8}, 0, &ticket, &error), RAWHAL_INVALID_ARGUMENT},
      {copy_in(on, {0, there, 60, there, 0, 8}, 0, &ticket, &error), RAWHAL_OUT_OF_RANGE},
      {copy_in(on, {0, freed, 0, there, 0, 8}, 0, &ticket, &error), RAWHAL_INVALID_ARGUMENT},
      {copy_in(on, {0, nullptr, 0, there, 0, 8}, 0, &ticket, &error), RAWHAL_INVALID_ARGUMENT},
      {rawhal_queue_fill(on, there, 2, 0, 8, 0, &ticket, &error), RAWHAL_INVALID_ARGUMENT},
      {rawhal_queue_fill(nullptr, there, 0, 0, 8, 0, &ticket, &error), RAWHAL_INVALID_ARGUMENT},
      {rawhal_queue_write(on, there, 0, nullptr, 8, 0, &ticket, &error), RAWHAL_INVALID_ARGUMENT},
      {rawhal_queue_write(on, there, UINT64_MAX, mine, 8, 0, &ticket, &error), RAWHAL_OUT_OF_RANGE},
      {rawhal_queue_read(on, there, 0, mine, 65, 0, &ticket, &error), RAWHAL_OUT_OF_RANGE},
      {rawhal_queue_read(on, freed, 0, mine, 8, 0, &ticket, &error), RAWHAL_INVALID_ARGUMENT},
  };
  for (size_t i = 0; i < std::size(cases); ++i)
    EXPECT_EQ(cases[i].first, cases[i].second) << i;
  EXPECT_EQ(ticket, 0u);
  EXPECT_EQ(queue_info(on).last_ticket, 0u);
}

TEST_F(Transfer, AFullQueueAnswersWouldBlockAndHoldsNothing)
{
  rawhal_queue_options_t small = {};
  small.submissions = 2;
  rawhal_queue_t *on = queue(small);
  rawhal_buffer_t *there = buffer(bytes);
  std::vector<uint32_t> mine = numbers(1);
  submit(on, held());
  rawhal_ticket_t last = 0, none = 0;
  ASSERT_OK(rawhal_queue_write(on, there, 0, mine.data(), bytes, 0, &last, &error));
  EXPECT_EQ(rawhal_queue_write(on, there, 0, mine.data(), bytes, 0, &none, &error),
            RAWHAL_WOULD_BLOCK);
  EXPECT_EQ(
      rawhal_queue_fill(on, there, 0, 1, 8, rawhal_deadline_after(10 * millisecond), &none, &error),
      RAWHAL_TIMED_OUT);
  EXPECT_EQ(none, 0u);
  release();
  ASSERT_OK(wait(on, last));
  for (int i = 0; i < 500; ++i) // slots, and their signals, are used again
    ASSERT_OK(rawhal_queue_write(on, there, 0, mine.data(), bytes, RAWHAL_FOREVER, &last, &error));
  ASSERT_OK(wait(on, last));
  EXPECT_EQ(download<uint32_t>(there, elements), mine);
}

// The copies of a queue that dies begin all the same: others wait behind them in the engine.
TEST_F(Transfer, ADeadQueueHoldsUpNoOtherQueuesCopies)
{
  rawhal_queue_t *bad = queue(), *good = queue();
  rawhal_buffer_t *there = buffer(bytes);
  Blob blob;
  blob.add(uint64_t{0}).add(int64_t{1} << 40).add(1u);
  rawhal_dispatch_t wild = dispatch_of(kernel("fault-gfx90a-v5.co", "fault_store"), 1, 1, blob);
  std::vector<uint32_t> mine = numbers(1);
  submit(bad, held());
  submit(bad, wild);
  rawhal_ticket_t lost = 0, ticket = 0;
  ASSERT_OK(rawhal_queue_write(bad, there, 0, mine.data(), bytes, 0, &lost, &error));
  release();
  EXPECT_EQ(wait(bad, lost), RAWHAL_FAULT);
  ASSERT_OK(rawhal_queue_fill(good, there, 0, 4, bytes, 0, &ticket, &error));
  ASSERT_OK(wait(good, ticket));
  EXPECT_EQ(rawhal_queue_write(bad, there, 0, mine.data(), bytes, 0, &lost, &error), RAWHAL_FAULT);
}

TEST_F(Transfer, AQueueIsDestroyedWithCopiesUnderWay)
{
  rawhal_buffer_t *there = buffer(bytes);
  std::vector<uint32_t> mine = numbers(1);
  rawhal_queue_t *on = nullptr, *other = queue();
  ASSERT_OK(rawhal_queue_create(device, nullptr, &on, &error));
  submit(on, held());
  for (int i = 0; i < 20; ++i)
    ASSERT_OK(rawhal_queue_write(on, there, 0, mine.data(), bytes, 0, nullptr, &error));
  rawhal_queue_destroy(on);
  rawhal_ticket_t ticket = 0;
  ASSERT_OK(rawhal_queue_fill(other, there, 0, 4, bytes, 0, &ticket, &error));
  ASSERT_OK(wait(other, ticket));
  EXPECT_EQ(download<uint32_t>(there, 1)[0], 4u);
}

// ---- Any schedule gives what one thread would ----

class Schedule : public Transfer {
protected:
  static constexpr size_t words = 256, queue_count = 3, buffer_count = 4;

  void SetUp() override
  {
    Transfer::SetUp();
    add = kernel("vector_add-gfx90a-v5.co", "vector_add");
    for (size_t i = 0; i < queue_count; ++i)
      on[i] = queue();
    for (size_t i = 0; i < buffer_count; ++i) {
      place[i] = buffer(words * 4, i % 2 ? RAWHAL_MEMORY_HOST : RAWHAL_MEMORY_DEVICE);
      model[i].assign(words, 0);
    }
  }

  uint32_t below(uint32_t n) { return std::uniform_int_distribution<uint32_t>(0, n - 1)(random); }

  // One step, on `which`, after `before`, which is the last one's queue and ticket.
  void step(size_t which, std::vector<std::vector<uint32_t>> &mine)
  {
    if (last.queue && last.queue != on[which])
      ASSERT_OK(rawhal_queue_barrier(on[which], &last, 1, RAWHAL_FOREVER, nullptr, &error));
    last.queue = on[which];
    size_t to = below(buffer_count), from = (to + 1 + below(buffer_count - 1)) % buffer_count;
    size_t count = 1 + below(words), at = below(static_cast<uint32_t>(words - count + 1));
    size_t source = below(static_cast<uint32_t>(words - count + 1));
    uint32_t value = below(1u << 20);
    switch (below(6)) {
    case 0:
      ASSERT_OK(copy_in(last.queue, {0, place[to], at * 4, place[from], source * 4, count * 4},
                        RAWHAL_FOREVER, &last.ticket, &error));
      std::copy_n(model[from].begin() + source, count, model[to].begin() + at);
      break;
    case 1:
      ASSERT_OK(rawhal_queue_fill(last.queue, place[to], at * 4, value, count * 4, RAWHAL_FOREVER,
                                  &last.ticket, &error));
      std::fill_n(model[to].begin() + at, count, value);
      break;
    case 2:
      mine.emplace_back(count);
      for (size_t i = 0; i < count; ++i)
        mine.back()[i] = value + static_cast<uint32_t>(i);
      ASSERT_OK(rawhal_queue_write(last.queue, place[to], at * 4, mine.back().data(), count * 4,
                                   RAWHAL_FOREVER, &last.ticket, &error));
      std::copy_n(mine.back().begin(), count, model[to].begin() + at);
      break;
    case 3:
      mine.emplace_back(count);
      ASSERT_OK(rawhal_queue_read(last.queue, place[from], at * 4, mine.back().data(), count * 4,
                                  RAWHAL_FOREVER, &last.ticket, &error));
      reads.push_back(
          {mine.size() - 1, {model[from].begin() + at, model[from].begin() + at + count}});
      break;
    default:
      submit_add(to, from, static_cast<uint32_t>(count));
    }
  }

  // to = to + from, as floats that are whole numbers below 2^24 or anything else: bits of floats.
  void submit_add(size_t to, size_t from, uint32_t count)
  {
    Blob blob;
    blob.add(rawhal_buffer_address(place[to]))
        .add(rawhal_buffer_address(place[from]))
        .add(rawhal_buffer_address(place[to]))
        .add(count);
    rawhal_dispatch_t dispatch = dispatch_of(add, (count + 63) / 64 * 64, 64, blob);
    ASSERT_OK(rawhal_queue_submit(last.queue, &dispatch, 1, RAWHAL_FOREVER, &last.ticket, &error));
    for (uint32_t i = 0; i < count; ++i) {
      float a, b;
      memcpy(&a, &model[to][i], 4);
      memcpy(&b, &model[from][i], 4);
      a += b;
      memcpy(&model[to][i], &a, 4);
    }
  }

  std::mt19937 random{1};
  const rawhal_device_kernel_t *add = nullptr;
  rawhal_queue_t *on[queue_count] = {};
  rawhal_buffer_t *place[buffer_count] = {};
  std::vector<uint32_t> model[buffer_count];
  rawhal_dependency_t last = {};
  std::vector<std::pair<size_t, std::vector<uint32_t>>> reads;
};

TEST_F(Schedule, OfCopiesKernelsAndBarriersAgreesWithASequentialModel)
{
  const int schedules = by_length(300, 2000, 10000);
  for (int i = 0; i < schedules; ++i) {
    std::vector<std::vector<uint32_t>> mine;
    mine.reserve(64); // they stay where they are
    reads.clear();
    for (uint32_t steps = 1 + below(12); steps-- > 0;)
      step(below(queue_count), mine);
    ASSERT_OK(wait(last.queue, last.ticket));
    for (rawhal_queue_t *each : on) // where it was read, it is delivered
      if (rawhal_ticket_t newest = queue_info(each).last_ticket)
        ASSERT_OK(rawhal_queue_wait(each, newest, 0, &error));
    for (const auto &[which, expected] : reads)
      ASSERT_EQ(mine[which], expected) << "schedule " << i;
    for (size_t b = 0; b < buffer_count; ++b)
      ASSERT_EQ(download<uint32_t>(place[b], words), model[b])
          << "schedule " << i << ", buffer " << b;
  }
}

} // namespace
