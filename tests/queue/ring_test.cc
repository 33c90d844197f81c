// The three rings that move together. The ring is C; a small C shim makes it visible to C++.
#include "ring_shim.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace {

struct Ring {
  Ring(uint32_t tickets, uint32_t packets, uint32_t blocks)
      : ring(shim_ring_create(tickets, packets, blocks))
  {
  }
  ~Ring() { shim_ring_destroy(ring); }
  shim_ring_t *ring;
};

TEST(Ring, GivesOutInOrderAndRefusesWithoutTrace)
{
  Ring r(4, 8, 16);
  shim_reservation_t got;
  ASSERT_TRUE(shim_ring_reserve(r.ring, 3, 5, &got));
  EXPECT_EQ(got.ticket, 1u);
  EXPECT_EQ(got.packet, 0u);
  EXPECT_EQ(got.block, 0u);
  ASSERT_TRUE(shim_ring_reserve(r.ring, 5, 1, &got));
  EXPECT_EQ(got.ticket, 2u);
  EXPECT_EQ(got.packet, 3u);
  EXPECT_EQ(got.block, 5u);
  EXPECT_FALSE(shim_ring_reserve(r.ring, 1, 1, &got)); // no packet left
  EXPECT_EQ(shim_ring_last_ticket(r.ring), 2u);
  shim_ring_release(r.ring, 3, 5);
  EXPECT_EQ(shim_ring_finished(r.ring), 1u);
  EXPECT_FALSE(shim_ring_reserve(r.ring, 1, 16, &got)); // 15 blocks are free
  ASSERT_TRUE(shim_ring_reserve(r.ring, 3, 15, &got));
  EXPECT_EQ(got.ticket, 3u);
  EXPECT_EQ(got.packet, 8u); // not reduced: the caller masks
  EXPECT_EQ(got.block, 6u);
}

TEST(Ring, TicketsAreBoundedToo)
{
  Ring r(2, 64, 64);
  shim_reservation_t got;
  ASSERT_TRUE(shim_ring_reserve(r.ring, 1, 1, &got));
  ASSERT_TRUE(shim_ring_reserve(r.ring, 1, 1, &got));
  EXPECT_FALSE(shim_ring_reserve(r.ring, 1, 1, &got));
  shim_ring_release(r.ring, 1, 1);
  ASSERT_TRUE(shim_ring_reserve(r.ring, 1, 1, &got));
  EXPECT_EQ(got.ticket, 3u);
}

TEST(Ring, WholeCapacityAtOnce)
{
  Ring r(2, 8, 16);
  shim_reservation_t got;
  for (uint64_t lap = 0; lap < 5; ++lap) {
    ASSERT_TRUE(shim_ring_reserve(r.ring, 8, 16, &got));
    EXPECT_EQ(got.packet, lap * 8);
    EXPECT_FALSE(shim_ring_reserve(r.ring, 1, 1, &got));
    shim_ring_release(r.ring, 8, 16);
  }
}

// Packet and block tails count modulo 2^32; what is given out must go on with 64 bits.
TEST(Ring, GoesOnBeyond32Bits)
{
  Ring r(4, 1u << 31, 1u << 31);
  shim_reservation_t got;
  for (uint64_t lap = 0; lap < 6; ++lap) {
    ASSERT_TRUE(shim_ring_reserve(r.ring, 1u << 31, (1u << 31) - 1, &got));
    EXPECT_EQ(got.packet, lap << 31);
    EXPECT_EQ(got.block, static_cast<uint32_t>(lap * ((1ull << 31) - 1)));
    EXPECT_FALSE(shim_ring_reserve(r.ring, 1, 1, &got));
    shim_ring_release(r.ring, 1u << 31, (1u << 31) - 1);
  }
}

// Producers and one releaser: every packet is given out once, and never two laps at a time.
TEST(Ring, ManyProducers)
{
  constexpr uint32_t packets = 64, producers = 3, rounds = 20000;
  Ring r(16, packets, 256);
  std::vector<std::atomic<uint64_t>> owner(packets);
  struct Claim {
    std::atomic<uint64_t> ticket{0};
    uint32_t packets = 0, blocks = 0;
    uint64_t first = 0;
  };
  std::vector<Claim> claims(16);
  std::atomic<bool> wrong{false};
  auto produce = [&](uint32_t seed) {
    for (uint32_t i = 0; i < rounds; ++i) {
      uint32_t count = 1 + (seed + i) % 5, blocks = 1 + (seed * 7 + i) % 40;
      shim_reservation_t got;
      while (!shim_ring_reserve(r.ring, count, blocks, &got))
        std::this_thread::yield();
      for (uint64_t p = got.packet; p < got.packet + count; ++p)
        if (owner[p % packets].exchange(got.ticket) != 0)
          wrong = true;
      Claim &claim = claims[got.ticket % 16];
      claim.packets = count;
      claim.blocks = blocks;
      claim.first = got.packet;
      claim.ticket.store(got.ticket, std::memory_order_release);
    }
  };
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < producers; ++i)
    threads.emplace_back(produce, i);
  uint64_t next_packet = 0;
  for (uint64_t ticket = 1; ticket <= producers * rounds; ++ticket) {
    Claim &claim = claims[ticket % 16];
    while (claim.ticket.load(std::memory_order_acquire) != ticket)
      std::this_thread::yield();
    ASSERT_EQ(claim.first, next_packet); // tickets, packets and blocks are in the same order
    next_packet += claim.packets;
    for (uint64_t p = claim.first; p < next_packet; ++p)
      ASSERT_EQ(owner[p % packets].exchange(0), ticket);
    shim_ring_release(r.ring, claim.packets, claim.blocks);
  }
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_FALSE(wrong);
  EXPECT_EQ(shim_ring_finished(r.ring), uint64_t{producers} * rounds);
}

// What was written before a ticket was given back is there for whoever sees that it has finished. A
// test for ThreadSanitizer: plain variables, and nothing but the ring between two threads.
TEST(Ring, AFinishedTicketShowsWhatCameBefore)
{
  constexpr uint64_t rounds = 2000;
  Ring r(4, 8, 16);
  uint64_t asked = 0, answer = 0;
  std::thread other([&] {
    for (uint64_t ticket = 1; ticket <= rounds; ++ticket) {
      while (shim_ring_last_ticket(r.ring) < ticket)
        std::this_thread::yield();
      answer = asked * 3;
      shim_ring_release(r.ring, 2, 3);
    }
  });
  uint64_t wrong = 0;
  for (uint64_t ticket = 1; ticket <= rounds; ++ticket) {
    shim_reservation_t got;
    asked = ticket;
    wrong += !shim_ring_reserve(r.ring, 2, 3, &got);
    while (shim_ring_finished(r.ring) < ticket)
      std::this_thread::yield();
    wrong += answer != ticket * 3;
  }
  other.join();
  EXPECT_EQ(wrong, 0u);
}

} // namespace
