// What queues that do not get on wait for, by their packets and the signals in them.
#include "debug/hang.h"

#include <gtest/gtest.h>
#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa_ext_amd.h>

#include <cstring>
#include <string>

namespace {

bool Copy(const void *, void *to, uint64_t from, size_t size)
{
  if (from < 4096)
    return false;
  memcpy(to, reinterpret_cast<const void *>(from), size);
  return true;
}

// Four queues of four packets, each of which stands at its first and has as many as were put.
class Hang : public testing::Test {
protected:
  enum { A, B, C, D, QUEUES };

  void SetUp() override
  {
    for (uint64_t i = 0; i < QUEUES; ++i) {
      stands_[i].id = i + 1;
      stands_[i].ring = reinterpret_cast<uint64_t>(rings_[i]);
      stands_[i].size = 4;
    }
    for (amd_signal_t &signal : signals_)
      signal.value = 1;
  }

  hsa_signal_t Signal(int which) { return {reinterpret_cast<uint64_t>(&signals_[which])}; }
  hsa_barrier_and_packet_t &Put(int queue, uint16_t type, int end)
  {
    hsa_barrier_and_packet_t &packet = rings_[queue][stands_[queue].end++ % 4];
    packet = {};
    packet.header = type;
    if (end >= 0)
      packet.completion_signal = Signal(end);
    return packet;
  }
  void Kernel(int queue, int end) { Put(queue, HSA_PACKET_TYPE_KERNEL_DISPATCH, end); }
  void Barrier(int queue, int end, int first, int second = -1,
               uint16_t type = HSA_PACKET_TYPE_BARRIER_AND)
  {
    hsa_barrier_and_packet_t &packet = Put(queue, type, end);
    packet.dep_signal[0] = Signal(first);
    if (second >= 0)
      packet.dep_signal[3] = Signal(second);
  }
  void Value(int queue, int end, int awaited, hsa_signal_condition32_t condition, int64_t value)
  {
    hsa_amd_barrier_value_packet_t packet = {};
    packet.header = {HSA_PACKET_TYPE_VENDOR_SPECIFIC, HSA_AMD_PACKET_TYPE_BARRIER_VALUE, 0};
    packet.signal = Signal(awaited);
    packet.value = value;
    packet.mask = -1;
    packet.cond = condition;
    packet.completion_signal = Signal(end);
    memcpy(&Put(queue, 0, end), &packet, sizeof(packet));
  }
  hang_why_t Why(int queue)
  {
    char text[512] = "";
    print_t to = print_into(text, sizeof(text));
    hang_scene_t scene = {};
    scene.stands = stands_;
    scene.count = QUEUES;
    scene.copy = Copy;
    scene.others_wait = copies_wait_;
    const hang_why_t why = hang_why(&scene, (size_t)queue, &to);
    said_ = text;
    return why;
  }
  void ExpectWaits(int queue, const std::string &what)
  {
    EXPECT_EQ(Why(queue), HANG_WAITS);
    EXPECT_EQ(said_, "the barrier waits for " + what);
  }

  amd_signal_t signals_[8] = {};
  hsa_barrier_and_packet_t rings_[QUEUES][4] = {};
  hang_stand_t stands_[QUEUES] = {};
  bool copies_wait_ = false;
  std::string said_;
};

TEST_F(Hang, IsWhateverRunsAndNoBarrierThatIsOpen)
{
  Kernel(A, 0);
  EXPECT_EQ(Why(A), HANG_RUNS);
  Barrier(B, 1, 2);
  signals_[2].value = 0;
  EXPECT_EQ(Why(B), HANG_MOVES);
  Value(C, 3, 4, HSA_SIGNAL_CONDITION_LT, 2);
  EXPECT_EQ(Why(C), HANG_MOVES);
}

TEST_F(Hang, IsNotWhatWaitsForAQueueThatGetsOn)
{
  Kernel(A, 0);
  Barrier(B, 1, 0);
  Barrier(C, 2, 1);
  ExpectWaits(C, "packet 0 of queue 2");
  ExpectWaits(B, "packet 0 of queue 1");
  stands_[A].moves = true; // or is held back
  EXPECT_EQ(Why(B), HANG_MOVES);
  EXPECT_EQ(Why(C), HANG_MOVES);
}

TEST_F(Hang, ASignalOfNobodys)
{
  signals_[5].value = 7;
  Barrier(A, 0, 5);
  EXPECT_EQ(Why(A), HANG_WAITS);
  EXPECT_NE(said_.find("which is 7 and which no packet in flight sets"), std::string::npos)
      << said_;
  EXPECT_EQ(said_.find("too"), std::string::npos) << said_;
  Barrier(C, 1, 4, 5);
  EXPECT_EQ(Why(A), HANG_WAITS);
  EXPECT_NE(said_.find("sets, and queue 3 waits for it, too"), std::string::npos) << said_;
  Barrier(B, 2, 0);
  ExpectWaits(B, "packet 0 of queue 1, which waits for a signal that no packet in flight sets");
  copies_wait_ = true;
  EXPECT_EQ(Why(A), HANG_MOVES);
  EXPECT_EQ(Why(B), HANG_MOVES);
}

TEST_F(Hang, ASignalThatCannotBeRead)
{
  Put(A, HSA_PACKET_TYPE_BARRIER_AND, 0).dep_signal[1].handle = 16;
  ExpectWaits(A, "signal 0x10, which cannot be read");
}

TEST_F(Hang, ACycleOfQueuesAndABarrierThatWaitsForWhatIsBehindIt)
{
  Barrier(A, 0, 2);
  Barrier(B, 1, 0);
  Barrier(C, 2, 1);
  ExpectWaits(A,
              "packet 0 of queue 3, which never ends: queue 3 waits for queue 2, which waits for "
              "queue 1, which waits for queue 3");
  stands_[B].moves = true; // it will not for long
  EXPECT_EQ(Why(A), HANG_WAITS);
  stands_[A].end = 0;
  Barrier(A, 0, 3);
  Kernel(A, 3);
  ExpectWaits(A, "packet 1 of queue 1, which never ends: queue 1 waits for queue 1");
}

TEST_F(Hang, AllOfABarrierMustComeTrueOrOneIsEnough)
{
  stands_[A].moves = true;
  Kernel(A, 0);
  Kernel(C, 2);
  Barrier(B, 1, 0, 2);
  ExpectWaits(B, "packet 0 of queue 1 and packet 0 of queue 3");
  stands_[B].end = 0;
  Barrier(B, 1, 0, 2, HSA_PACKET_TYPE_BARRIER_OR);
  EXPECT_EQ(Why(B), HANG_MOVES);
  stands_[A].moves = false;
  ExpectWaits(B, "packet 0 of queue 1 or packet 0 of queue 3");
}

// What waits for it within the search is no cycle, then.
TEST_F(Hang, OneOfABarrierThatGetsOnBreaksACycle)
{
  stands_[C].moves = true;
  Kernel(C, 2);
  Barrier(A, 0, 1, 2, HSA_PACKET_TYPE_BARRIER_OR);
  Barrier(B, 1, 0);
  Barrier(D, 3, 0, 1);
  for (const int queue : {A, B, D})
    EXPECT_EQ(Why(queue), HANG_MOVES) << queue << said_;
  stands_[C].moves = false;
  ExpectWaits(D, "packet 0 of queue 1 and packet 0 of queue 2");
}

TEST_F(Hang, AValueThatIsNotReached)
{
  Kernel(A, 0);
  Value(B, 1, 0, HSA_SIGNAL_CONDITION_LT, 1);
  ExpectWaits(B, "packet 0 of queue 1");
  signals_[0].value = 0;
  EXPECT_EQ(Why(B), HANG_MOVES);
}

// Slots that have not been written again name signals that they do not set any more; what has been taken has no header.
TEST_F(Hang, OnlyPacketsInFlightSetSignals)
{
  Kernel(A, 0);
  Barrier(B, 1, 0);
  rings_[A][0].header = HSA_PACKET_TYPE_INVALID;
  EXPECT_EQ(Why(B), HANG_WAITS);
  EXPECT_NE(said_.find("no packet in flight"), std::string::npos) << said_;
  stands_[A].read = 1;
  ExpectWaits(B, "packet 0 of queue 1");
  stands_[A].dead = true;
  ExpectWaits(B, "packet 0 of queue 1, which is dead");
  stands_[A].at = 1;
  EXPECT_EQ(Why(B), HANG_WAITS);
  EXPECT_NE(said_.find("no packet in flight"), std::string::npos) << said_;
}

TEST_F(Hang, IndicesBeyondTheRingAreLookedAtOnce)
{
  Barrier(B, 1, 0);
  stands_[A].end = UINT64_MAX;
  EXPECT_EQ(Why(B), HANG_WAITS);
}

TEST(HangProgress, BeginsAnewWithEachStepAndWhenThereIsNothing)
{
  hang_progress_t progress = {};
  hang_note(&progress, true, 1, 1, 100);
  hang_note(&progress, true, 1, 1, 150);
  EXPECT_TRUE(hang_stands(&progress, 150, 50));
  EXPECT_FALSE(hang_stands(&progress, 149, 50));
  progress.told = true;
  hang_note(&progress, true, 1, 2, 160);
  EXPECT_FALSE(hang_stands(&progress, 200, 50) || progress.told);
  hang_note(&progress, true, 2, 2, 170);
  EXPECT_FALSE(hang_stands(&progress, 215, 50));
  hang_note(&progress, false, 2, 2, 180);
  EXPECT_FALSE(hang_stands(&progress, 900, 50));
  hang_note(&progress, true, 2, 2, 900);
  EXPECT_FALSE(hang_stands(&progress, 949, 50));
}

// A label may have any bytes, and goes to logs and terminals here: 40 columns of it.
TEST(HangLine, ALabelIsMadeFitToBeShown)
{
  rawhal_fault_t fault = {};
  char line[256];
  fault.queue_id = 3;
  strcpy(fault.kernel, "k");
  hang_say(&fault, 0, "ticket", 7, nullptr, line, sizeof(line));
  EXPECT_STREQ(line, "queue 3: ticket 7, kernel k");
  strcpy(fault.queue_label, "copies");
  hang_say(&fault, 1'500'000'000, "ticket", 7, "it waits", line, sizeof(line));
  EXPECT_STREQ(line, "queue 3 'copies' has not got on for 1.5 s: ticket 7, it waits");
  strcpy(fault.label, "layer 3");
  hang_say(&fault, 0, "ticket", 7, nullptr, line, sizeof(line));
  EXPECT_STREQ(line, "queue 3 'copies': ticket 7, dispatch 'layer 3', kernel k");
  fault.label[0] = '\0';
  memset(fault.queue_label, 'x', sizeof(fault.queue_label));
  memcpy(fault.queue_label, "\x1b[2J\n\xff", 6);
  hang_say(&fault, 0, "ticket", 7, nullptr, line, sizeof(line));
  EXPECT_EQ(std::string(line),
            "queue 3 '\\x1b[2J\\x0a\\xff" + std::string(25, 'x') + "': ticket 7, kernel k");
}

} // namespace
