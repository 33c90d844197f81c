// Transfers of rows and of patterns, one or several in a submission and at once, against what one
// thread of the host does to bytes.
#include "held_test.h"
#include "tests/extended.h"
#include "tests/harness/allocation_failure.h"

#include <functional>
#include <random>
#include <thread>

namespace {

using Bytes = std::vector<unsigned char>;

// What a transfer does, to bytes.
void model(const rawhal_transfer_t &t, unsigned char *to, const unsigned char *from)
{
  const uint64_t rows = t.rows ? t.rows : 1;
  const uint64_t to_pitch = t.to_pitch ? t.to_pitch : t.bytes;
  const uint64_t from_pitch = t.from_pitch ? t.from_pitch : t.bytes;
  for (uint64_t row = 0; row < rows; ++row)
    for (uint64_t i = 0; i < t.bytes; ++i)
      to[row * to_pitch + i] =
          t.pattern_bytes ? t.pattern[i % t.pattern_bytes] : from[row * from_pitch + i];
}

class Rectangle : public HeldTest {
protected:
  static constexpr size_t size = 40000;

  uint64_t below(uint64_t n) { return std::uniform_int_distribution<uint64_t>(0, n - 1)(random); }

  Bytes noise(size_t count)
  {
    Bytes made(count);
    for (unsigned char &byte : made)
      byte = static_cast<unsigned char>(random());
    return made;
  }

  // Rows and pitches that fit `size` bytes on both sides, often of whole dwords, often close together.
  rawhal_transfer_t shape(uint64_t unit)
  {
    rawhal_transfer_t t = {};
    const uint64_t step = std::max<uint64_t>(unit, below(3) ? 4 : 1);
    t.bytes = step * (1 + below(below(4) ? 24 : 300));
    t.rows = below(3) ? 1 + below(40) : below(2);
    const uint64_t room = size / std::max<uint64_t>(t.rows, 1);
    t.bytes = std::min(t.bytes, room / step * step);
    const auto pitch = [&]() -> uint64_t {
      return below(4) ? std::min(t.bytes + step * below(9), room / step * step) : 0;
    };
    t.to_pitch = pitch();
    t.from_pitch = pitch();
    return t;
  }

  static uint64_t extent(const rawhal_transfer_t &t, uint64_t pitch)
  {
    return t.rows > 1 ? (t.rows - 1) * (pitch ? pitch : t.bytes) + t.bytes : t.bytes;
  }

  uint64_t place(uint64_t extent, uint64_t unit)
  {
    return below(3) ? (below(size - extent + 1)) / 4 / unit * 4 * unit
                    : below(size - extent + 1) / unit * unit;
  }

  // A transfer between these, and what it does to their models.
  struct Side {
    rawhal_buffer_t *buffer; // NULL: memory of the program's
    Bytes *bytes;            // all of it
  };

  rawhal_transfer_t random_transfer(const Side &to, const Side &from, Bytes *to_model,
                                    const Bytes *from_model)
  {
    const bool fills = !from.buffer && !from.bytes;
    const uint64_t unit = fills ? uint64_t{1} << below(5) : 1;
    rawhal_transfer_t t = shape(unit);
    t.to_offset = place(extent(t, t.to_pitch), unit);
    t.from_offset = place(extent(t, t.from_pitch), 1);
    const uint64_t to_offset = t.to_offset, from_offset = t.from_offset;
    t.to = to.buffer;
    if (!to.buffer)
      t.to_host = to.bytes->data() + to_offset;
    if (fills) {
      t.pattern_bytes = static_cast<uint32_t>(unit);
      for (unsigned char &byte : t.pattern)
        byte = static_cast<unsigned char>(random());
    } else if (from.buffer) {
      t.from = from.buffer;
    } else {
      t.from_host = from.bytes->data() + from_offset;
    }
    model(t, to_model->data() + to_offset, fills ? nullptr : from_model->data() + from_offset);
    return t;
  }

  std::mt19937 random{7};
};

// Each pair of kinds of memory, in queue order and at once.
TEST_F(Rectangle, AgreesWithAModel)
{
  rawhal_queue_t *on = queue();
  rawhal_buffer_t *there[4] = {buffer(size), buffer(size), buffer(size, RAWHAL_MEMORY_HOST),
                               buffer(size, RAWHAL_MEMORY_HOST)};
  Bytes models[5];
  for (Bytes &each : models)
    each = noise(size);
  Bytes mine = models[4];
  for (size_t i = 0; i < 4; ++i)
    ASSERT_OK(rawhal_buffer_write(there[i], 0, models[i].data(), size, &error));
  for (int i = by_length(400, 3000, 20000); i-- > 0;) {
    const uint64_t to = below(5), from = (to + 1 + below(5)) % 6; // 4: the program's, 5: a pattern
    if (to == 4 && from >= 4)
      continue;
    const Side target = {to < 4 ? there[to] : nullptr, &mine};
    const Side source = {from < 4 ? there[from] : nullptr, from == 5 ? nullptr : &mine};
    const rawhal_transfer_t t =
        random_transfer(target, source, &models[to], from < 5 ? &models[from] : nullptr);
    if (below(2)) {
      rawhal_ticket_t ticket = 0;
      ASSERT_OK(rawhal_queue_transfer(on, &t, 1, RAWHAL_FOREVER, &ticket, &error));
      ASSERT_OK(wait(on, ticket));
    } else {
      ASSERT_OK(rawhal_buffer_transfer(&t, &error));
    }
    ASSERT_EQ(mine, models[4]) << i;
    if (to == 4)
      continue;
    ASSERT_EQ(download<unsigned char>(there[to], size), models[to])
        << i << ": " << t.rows << " rows of " << t.bytes << ", " << t.to_pitch << " and "
        << t.from_pitch << " apart, from " << from << " to " << to;
  }
}

// One submission of several: in places of their own.
TEST_F(Rectangle, SeveralInOneSubmission)
{
  rawhal_queue_t *on = queue();
  rawhal_buffer_t *from = buffer(size), *to[12];
  const Bytes source = noise(size);
  ASSERT_OK(rawhal_buffer_write(from, 0, source.data(), size, &error));
  Bytes models[12], mine[12];
  for (size_t i = 0; i < 12; ++i)
    to[i] = buffer(size);
  for (int round = by_length(20, 100, 500); round-- > 0;) {
    std::vector<rawhal_transfer_t> all;
    const size_t count = 1 + below(12);
    for (size_t i = 0; i < count; ++i) {
      models[i] = mine[i] = noise(size);
      ASSERT_OK(rawhal_buffer_write(to[i], 0, models[i].data(), size, &error));
      switch (below(4)) {
      case 0:
        all.push_back(random_transfer({to[i], nullptr}, {from, nullptr}, &models[i], &source));
        break;
      case 1:
        all.push_back(random_transfer({to[i], nullptr}, {nullptr, nullptr}, &models[i], nullptr));
        break;
      case 2: // of what stays where it is: staged during the call
        all.push_back(random_transfer({to[i], nullptr}, {nullptr, const_cast<Bytes *>(&source)},
                                      &models[i], &source));
        break;
      default:
        all.push_back(random_transfer({nullptr, &mine[i]}, {from, nullptr}, &models[i], &source));
      }
    }
    if (below(2))
      all.insert(all.begin() + static_cast<long>(below(all.size())), rawhal_transfer_t{});
    for (rawhal_transfer_t &t : all)
      if (!t.bytes)
        t.to = from; // nothing to do
    rawhal_ticket_t ticket = 0;
    const uint64_t last = queue_info(on).last_ticket;
    ASSERT_OK(rawhal_queue_transfer(on, all.data(), all.size(), RAWHAL_FOREVER, &ticket, &error));
    ASSERT_EQ(ticket, last + 1);
    ASSERT_OK(wait(on, ticket));
    size_t at = 0;
    for (const rawhal_transfer_t &t : all) {
      if (!t.bytes)
        continue;
      ASSERT_EQ(t.to_host ? mine[at] : download<unsigned char>(to[at], size), models[at]) << at;
      ++at;
    }
  }
}

TEST_F(Rectangle, FillsOfEverySizeAndRowsLongerThanAPiece)
{
  constexpr uint64_t wide = (1 << 20) + 64, rows = 3, pitch = wide + 16;
  rawhal_queue_t *on = queue();
  rawhal_buffer_t *there = buffer(rows * pitch);
  for (uint32_t unit : {1, 2, 4, 8, 16}) {
    rawhal_transfer_t t = {};
    t.to = there;
    t.bytes = wide;
    t.rows = rows;
    t.to_pitch = pitch;
    t.pattern_bytes = unit;
    for (uint32_t i = 0; i < 16; ++i)
      t.pattern[i] = static_cast<unsigned char>(unit * 16 + i + 1);
    Bytes expected(rows * pitch, 0xee);
    for (const bool queued : {true, false}) {
      ASSERT_OK(rawhal_buffer_fill(there, 0, 0xeeeeeeee, rows * pitch, &error));
      rawhal_ticket_t ticket = 0;
      if (queued) {
        ASSERT_OK(rawhal_queue_transfer(on, &t, 1, 0, &ticket, &error));
        ASSERT_OK(wait(on, ticket));
      } else {
        ASSERT_OK(rawhal_buffer_transfer(&t, &error));
      }
      model(t, expected.data(), nullptr);
      ASSERT_TRUE(download<unsigned char>(there, rows * pitch) == expected) << unit << queued;
    }
  }
}

// Rows that are no rectangle, of more than the staging buffer, and of two pitches.
TEST_F(Rectangle, RowsLongerThanTheStagingBuffer)
{
  constexpr uint64_t wide = (5 << 20) + 3, rows = 2;
  rawhal_buffer_t *there = buffer(rows * wide + 100);
  Bytes sent = noise(rows * wide), got(rows * wide + 2), expected;
  rawhal_transfer_t t = {};
  t.to = there;
  t.to_offset = 1;
  t.to_pitch = wide + 7;
  t.from_host = sent.data();
  t.bytes = wide;
  t.rows = rows;
  ASSERT_OK(rawhal_buffer_transfer(&t, &error));
  rawhal_transfer_t back = {};
  back.from = there;
  back.from_offset = 1;
  back.from_pitch = wide + 7;
  back.to_host = got.data();
  back.to_pitch = wide + 1;
  back.bytes = wide;
  back.rows = rows;
  ASSERT_OK(rawhal_buffer_transfer(&back, &error));
  EXPECT_TRUE(std::equal(sent.begin(), sent.begin() + wide, got.begin()));
  EXPECT_TRUE(std::equal(sent.begin() + wide, sent.end(), got.begin() + wide + 1));
}

// Columns of a matrix are moved within it; where rows overlap, by whatever way, it is refused.
TEST_F(Rectangle, OverlapIsFoundExactly)
{
  rawhal_buffer_t *there = buffer(4096);
  for (int i = 0; i < 3000; ++i) {
    rawhal_transfer_t t = {};
    t.to = there;
    t.from = there;
    t.bytes = 1 + below(20);
    t.rows = 1 + below(6);
    t.to_pitch = t.from_pitch = t.bytes + below(30);
    const uint64_t end = (t.rows - 1) * t.to_pitch + t.bytes;
    t.to_offset = below(200);
    t.from_offset = below(200);
    std::vector<bool> read(200 + end);
    bool overlaps = false;
    for (uint64_t row = 0; row < t.rows; ++row)
      for (uint64_t b = 0; b < t.bytes; ++b)
        read[t.from_offset + row * t.from_pitch + b] = true;
    for (uint64_t row = 0; row < t.rows; ++row)
      for (uint64_t b = 0; b < t.bytes; ++b)
        overlaps |= read[t.to_offset + row * t.to_pitch + b];
    ASSERT_EQ(rawhal_buffer_transfer(&t, &error), overlaps ? RAWHAL_INVALID_ARGUMENT : RAWHAL_OK)
        << t.rows << " rows of " << t.bytes << ", " << t.to_pitch << " apart, from "
        << t.from_offset << " to " << t.to_offset;
  }
}

class Wrong : public Rectangle {
protected:
  void SetUp() override
  {
    Rectangle::SetUp();
    there = buffer(4096);
    fine.to = there;
    fine.from = there;
    fine.from_offset = 2048;
    fine.bytes = 16;
    fine.rows = 4;
    fine.to_pitch = fine.from_pitch = 32;
  }

  rawhal_transfer_t with(const std::function<void(rawhal_transfer_t &)> &change)
  {
    rawhal_transfer_t t = fine;
    change(t);
    return t;
  }

  rawhal_transfer_t fine = {};
  rawhal_buffer_t *there = nullptr;
  char mine[4096] = {};
};

TEST_F(Wrong, LeavesNoTrace)
{
  using T = rawhal_transfer_t;
  const auto fill = [](T &t, uint32_t unit) {
    t.from = nullptr;
    t.pattern_bytes = unit;
  };
  const std::pair<rawhal_status_t, T> cases[] = {
      {RAWHAL_INVALID_ARGUMENT, with([&](T &t) { t.to_host = mine; })},
      {RAWHAL_INVALID_ARGUMENT, with([&](T &t) { t.from_host = mine; })},
      {RAWHAL_INVALID_ARGUMENT, with([&](T &t) { t.pattern_bytes = 4; })},
      {RAWHAL_INVALID_ARGUMENT, with([&](T &t) { t.to = nullptr; })},
      {RAWHAL_INVALID_ARGUMENT, with([&](T &t) { t.from = nullptr; })},
      {RAWHAL_INVALID_ARGUMENT, with([&](T &t) { t.to = nullptr, t.from = nullptr; })},
      {RAWHAL_INVALID_ARGUMENT,
       with([&](T &t) { t.to = nullptr, t.from = nullptr, t.to_host = mine, t.from_host = mine; })},
      {RAWHAL_INVALID_ARGUMENT, with([&](T &t) { t.to = nullptr, t.to_host = mine, fill(t, 4); })},
      {RAWHAL_INVALID_ARGUMENT, with([&](T &t) { t.to_pitch = 15; })},
      {RAWHAL_INVALID_ARGUMENT, with([&](T &t) { t.from_pitch = 15; })},
      {RAWHAL_INVALID_ARGUMENT, with([&](T &t) { t.from_offset = 8; })},
      {RAWHAL_INVALID_ARGUMENT, with([&](T &t) { t.from_offset = 64, t.from_pitch = 64; })},
      {RAWHAL_INVALID_ARGUMENT, with([&](T &t) { fill(t, 3); })},
      {RAWHAL_INVALID_ARGUMENT, with([&](T &t) { fill(t, 32); })},
      {RAWHAL_INVALID_ARGUMENT, with([&](T &t) { fill(t, 8), t.to_offset = 4; })},
      {RAWHAL_INVALID_ARGUMENT, with([&](T &t) { fill(t, 8), t.bytes = 12; })},
      {RAWHAL_INVALID_ARGUMENT, with([&](T &t) { fill(t, 8), t.to_pitch = 36; })},
      {RAWHAL_OUT_OF_RANGE, with([&](T &t) { t.to_offset = 4096; })},
      {RAWHAL_OUT_OF_RANGE, with([&](T &t) { t.to_offset = 4096 - 3 * 32 - 15; })},
      {RAWHAL_OUT_OF_RANGE, with([&](T &t) { t.from_offset = UINT64_MAX; })},
      {RAWHAL_OUT_OF_RANGE, with([&](T &t) { t.rows = UINT64_MAX; })},
      {RAWHAL_OUT_OF_RANGE, with([&](T &t) { t.to_pitch = UINT64_MAX / 2; })},
      {RAWHAL_OUT_OF_RANGE, with([&](T &t) { t.rows = 2, t.from_pitch = UINT64_MAX; })},
      {RAWHAL_OUT_OF_RANGE, with([&](T &t) { t.bytes = t.to_pitch = t.from_pitch = UINT64_MAX; })},
      {RAWHAL_OUT_OF_RANGE, with([&](T &t) {
         t.to = nullptr, t.to_host = mine, t.rows = 2, t.to_pitch = UINT64_MAX - 64;
       })},
  };
  rawhal_queue_t *on = queue();
  ASSERT_OK(rawhal_buffer_fill(there, 0, 0xabababab, 4096, &error));
  for (size_t i = 0; i < std::size(cases); ++i) {
    SCOPED_TRACE(i);
    const rawhal_transfer_t three[] = {fine, cases[i].second, fine};
    rawhal_ticket_t ticket = 1;
    EXPECT_EQ(rawhal_buffer_transfer(&cases[i].second, &error), cases[i].first) << error.message;
    EXPECT_EQ(rawhal_queue_transfer(on, &cases[i].second, 1, 0, &ticket, &error), cases[i].first);
    EXPECT_EQ(ticket, 0u);
    EXPECT_EQ(rawhal_queue_transfer(on, three, 3, 0, &ticket, &error), cases[i].first);
    EXPECT_EQ(strncmp(error.message, "transfer 1 of 3: ", 17), 0) << error.message;
  }
  rawhal_ticket_t ticket = 1;
  EXPECT_EQ(rawhal_queue_transfer(on, &fine, 0, 0, &ticket, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_queue_transfer(on, nullptr, 1, 0, &ticket, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_queue_transfer(nullptr, &fine, 1, 0, &ticket, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_queue_transfer_sized(on, &fine, sizeof(fine) - 8, 1, 0, &ticket, &error),
            RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_buffer_transfer(nullptr, &error), RAWHAL_INVALID_ARGUMENT);
  struct {
    rawhal_transfer_t known;
    uint64_t more;
  } later = {fine, 1};
  EXPECT_EQ(rawhal_queue_transfer_sized(on, &later.known, sizeof(later), 1, 0, &ticket, &error),
            RAWHAL_UNSUPPORTED);
  EXPECT_EQ(rawhal_buffer_transfer_sized(&later.known, sizeof(later), &error), RAWHAL_UNSUPPORTED);
  EXPECT_EQ(queue_info(on).last_ticket, 0u);
  EXPECT_EQ(download<unsigned char>(there, 4096), Bytes(4096, 0xab));
}

// What is submitted as one waits for what came before, and holds what comes after.
TEST_F(Rectangle, SeveralKeepTheQueuesOrder)
{
  rawhal_queue_t *on = queue();
  rawhal_buffer_t *there = buffer(64 * 32), *copied = buffer(64 * 32);
  ASSERT_OK(rawhal_buffer_fill(there, 0, 0, 64 * 32, &error));
  submit(on, held());
  rawhal_transfer_t fills[32] = {};
  for (uint32_t i = 0; i < 32; ++i) {
    fills[i].to = there;
    fills[i].to_offset = i * 64;
    fills[i].bytes = 64;
    fills[i].pattern_bytes = 1;
    fills[i].pattern[0] = static_cast<unsigned char>(i + 1);
  }
  rawhal_ticket_t filled = 0, ticket = 0;
  ASSERT_OK(rawhal_queue_transfer(on, fills, 32, 0, &filled, &error));
  ASSERT_OK(copy_in(on, {0, copied, 0, there, 0, 64 * 32}, 0, &ticket, &error));
  EXPECT_EQ(rawhal_queue_wait(on, filled, rawhal_deadline_after(10 * millisecond), &error),
            RAWHAL_TIMED_OUT);
  release();
  ASSERT_OK(wait(on, ticket));
  const Bytes got = download<unsigned char>(copied, 64 * 32);
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_EQ(got[i], i / 64 + 1) << i;
}

TEST_F(Rectangle, ThreadsWithAQueueEach)
{
  constexpr int threads = 4;
  std::vector<std::thread> all;
  rawhal_buffer_t *there[threads];
  rawhal_queue_t *on[threads];
  for (int i = 0; i < threads; ++i) {
    there[i] = buffer(8192);
    on[i] = queue();
  }
  for (int i = 0; i < threads; ++i)
    all.emplace_back([&, i] {
      rawhal_error_t error = {}; // NOLINT: of this thread
      Bytes sent(4096, static_cast<unsigned char>(i + 1)), got(4096);
      for (int round = 0; round < 20; ++round) {
        rawhal_transfer_t two[2] = {}, back = {};
        two[0].to = there[i];
        two[0].to_pitch = 128;
        two[0].from_host = sent.data();
        two[0].bytes = 64;
        two[0].rows = 64;
        two[1].to = there[i];
        two[1].to_offset = 64;
        two[1].to_pitch = 128;
        two[1].bytes = 64;
        two[1].rows = 64;
        two[1].pattern_bytes = 2;
        back.from = there[i];
        back.from_pitch = 128;
        back.bytes = 64;
        back.rows = 64;
        back.to_host = got.data();
        rawhal_ticket_t ticket = 0;
        ASSERT_OK(rawhal_queue_transfer(on[i], two, 2, RAWHAL_FOREVER, nullptr, &error));
        ASSERT_OK(rawhal_queue_transfer(on[i], &back, 1, RAWHAL_FOREVER, &ticket, &error));
        ASSERT_OK(rawhal_queue_wait(on[i], ticket, RAWHAL_FOREVER, &error));
        ASSERT_EQ(got, sent);
        if (round % 10 == 0)
          ASSERT_OK(rawhal_buffer_transfer(&back, &error));
      }
    });
  for (std::thread &each : all)
    each.join();
}

// More than four need memory, and several reads do.
TEST_F(Rectangle, EveryAllocationMayFail)
{
  rawhal_queue_t *on = queue();
  rawhal_buffer_t *there = buffer(4096);
  Bytes got(4096);
  rawhal_transfer_t reads[8] = {};
  for (uint64_t i = 0; i < 8; ++i) {
    reads[i].from = there;
    reads[i].from_offset = i * 64;
    reads[i].to_host = got.data() + i * 64;
    reads[i].bytes = 64;
  }
  rawhal_ticket_t ticket = 0;
  ASSERT_OK(rawhal_queue_transfer(on, reads, 8, RAWHAL_FOREVER, &ticket, &error)); // staging
  ASSERT_OK(wait(on, ticket));
  const uint64_t last = queue_info(on).last_ticket;
  for (const int allowed : {0, 1}) {
    allocations_left = allowed;
    const rawhal_status_t status = rawhal_queue_transfer(on, reads, 8, 0, &ticket, &error);
    allocations_left = -1;
    EXPECT_EQ(status, RAWHAL_OUT_OF_MEMORY) << error.message;
    EXPECT_EQ(queue_info(on).last_ticket, last);
  }
  // One allocates nothing, nor do four; of reads one. The runtime may, when it copies.
  for (const size_t count : {1, 4}) {
    rawhal_transfer_t copies[4] = {};
    for (size_t i = 0; i < count; ++i) {
      copies[i].to = there;
      copies[i].to_offset = i * 64;
      copies[i].bytes = 64;
      copies[i].pattern_bytes = 16;
    }
    ASSERT_OK(rawhal_queue_transfer(on, copies, count, RAWHAL_FOREVER, &ticket, &error));
    ASSERT_OK(wait(on, ticket));
    allocations_left = 100;
    const rawhal_status_t status =
        rawhal_queue_transfer(on, copies, count, RAWHAL_FOREVER, &ticket, &error);
    EXPECT_EQ(allocations_left, 100) << count;
    allocations_left = -1;
    EXPECT_OK(status);
    ASSERT_OK(wait(on, ticket));
  }
}

} // namespace
