// Queues as the runtimes of 2025 and 2026 make and fill them.
#include <cpuid.h>
#include <emmintrin.h>

#include <chrono>
#include <thread>

#include "fake.h"

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

TEST_P(Fake, queues_by_every_function_that_makes_them)
{
  for (Maker maker : {kPlain, kExt, kV2}) {
    Queue q = queue(maker);
    amd_signal_t *done = signal(3);
    auto packet = barrier(done);
    for (uint64_t i = 0; i < 3; ++i) {
      put(q, i, &packet);
      announce(q, i);
    }
    EXPECT_TRUE(reaches(done, 0)) << maker;
    EXPECT_EQ(call("hsaKmtDestroyQueue", (HSA_QUEUEID)q.resource.QueueId), 0);
    EXPECT_EQ(call("hsaKmtQueueRingDoorbell", (HSA_QUEUEID)q.resource.QueueId),
              HSAKMT_STATUS_INVALID_HANDLE);
  }
}

TEST_P(Fake, copy_engines_by_number_and_rings_of_metadata)
{
  HsaQueueResource resource{};
  void *ring = memory(1, 4096);
  const HSAuint64 bytes = 4096, metadata = 16384;
  HsaEvent *none = nullptr;
  ASSERT_EQ(call("hsaKmtCreateQueueExt", 1u, 6, 100u, HSA_QUEUE_PRIORITY_NORMAL, 1u, ring, bytes,
                 none, &resource),
            0);
  EXPECT_EQ(call("hsaKmtQueueRingDoorbell", (HSA_QUEUEID)resource.QueueId), 0);
  EXPECT_EQ(call("hsaKmtDestroyQueue", (HSA_QUEUEID)resource.QueueId), 0);
  EXPECT_EQ(call("hsaKmtCreateQueueV2", 1u, HSA_QUEUE_COMPUTE_AQL, 100u, HSA_QUEUE_PRIORITY_NORMAL,
                 0u, ring, bytes, metadata, none, &resource),
            HSAKMT_STATUS_NOT_SUPPORTED);
}

// Newer runtimes put up to a GiB into one packet, older ones 4 MiB.
TEST_P(Fake, copy_engines_take_large_packets)
{
  const size_t size = 9 << 20;
  auto *from = (uint8_t *)memory(0, size), *to = (uint8_t *)memory(1, size);
  memset(from, 7, size);
  const uint64_t source = (uint64_t)from, target = (uint64_t)to;
  const std::vector<uint32_t> packet = {1,
                                        (uint32_t)size - 1,
                                        0,
                                        (uint32_t)source,
                                        (uint32_t)(source >> 32),
                                        (uint32_t)target,
                                        (uint32_t)(target >> 32)};
  const HsaQueueResource resource = copying(packet);
  for (int i = 0; i < 10000; ++i) {
    if (__atomic_load_n(resource.Queue_read_ptr_aql, __ATOMIC_ACQUIRE) == packet.size() * 4)
      break;
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_EQ(memcmp(from, to, size), 0);
  EXPECT_EQ(call("hsaKmtDestroyQueue", (HSA_QUEUEID)resource.QueueId), 0);
}

bool has_movdir64b()
{
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (c >> 28 & 1);
}

// 64 bytes past the caches, as runtimes write to rings in the memory of a GPU; a fence orders them, which tsan does not know.
__attribute__((no_sanitize("thread"))) void store_packet(void *slot, const void *packet,
                                                         bool movdir64b)
{
  if (movdir64b) {
    asm volatile("movdir64b (%0), %1" : : "r"(packet), "r"(slot) : "memory");
    return;
  }
  for (int i = 0; i < 4; ++i)
    _mm_stream_si128((__m128i *)slot + i, _mm_loadu_si128((const __m128i *)packet + i));
}

TEST_P(Fake, packets_by_stores_past_the_caches)
{
  for (bool movdir64b : {false, true}) {
    if (movdir64b && !has_movdir64b())
      continue;
    Queue q = queue(kV2);
    amd_signal_t *done = signal(200);
    for (uint64_t i = 0; i < 200; ++i) {
      while (i - __atomic_load_n(&q.own->read_dispatch_id, __ATOMIC_ACQUIRE) >= Queue::packets)
        std::this_thread::yield();
      alignas(64) auto packet = barrier(done);
      __atomic_store_n(&q.own->write_dispatch_id, i + 1, __ATOMIC_RELEASE);
      store_packet(&q.ring[i % Queue::packets], &packet, movdir64b);
      _mm_sfence();
      announce(q, i);
    }
    EXPECT_TRUE(reaches(done, 0)) << movdir64b;
  }
}

// How long a processor waits for the doorbell of a packet that is there.
std::chrono::microseconds settle_time()
{
  return milliseconds(Fake::GetParam().dtif ? 50 : 2);
}

// Some runtimes write the header first. A processor that looks at rings and not at doorbells takes
// what was in the slot before for the packet.
TEST_P(Fake, a_header_without_its_doorbell_is_no_packet)
{
  ASSERT_TRUE(call<bool>("softgpu_option_set", "spin", (uint64_t)1000000000)); // never asleep
  Queue q = queue();
  amd_signal_t *stale = signal(2), *done = signal(1);
  auto packet = barrier(stale);
  put(q, 0, &packet);
  announce(q, 0);
  ASSERT_TRUE(reaches(stale, 1)); // the processor looks now
  for (uint64_t tries = 0; tries < 20; ++tries) {
    // The slot holds the body of a packet that was.
    __atomic_store_n(&stale->value, 2, __ATOMIC_RELEASE);
    __atomic_store_n(&done->value, 1, __ATOMIC_RELEASE);
    const uint64_t index = q.own->write_dispatch_id;
    auto *slot = (hsa_barrier_and_packet_t *)&q.ring[index % Queue::packets];
    *slot = packet;
    slot->header = HSA_PACKET_TYPE_INVALID;
    const auto begin = steady_clock::now();
    __atomic_store_n(&q.own->write_dispatch_id, index + 1, __ATOMIC_RELEASE);
    __atomic_store_n(&slot->header, kBarrierHeader, __ATOMIC_RELEASE);
    std::this_thread::sleep_for(settle_time() / 20);
    const bool in_time = steady_clock::now() - begin < settle_time() / 2;
    if (in_time)
      slot->completion_signal.handle = (uint64_t)done;
    announce(q, index);
    if (!in_time) { // the test was held up for longer than a processor waits
      bool taken = false;
      for (int i = 0; i < 10000 && !taken; ++i) {
        taken = __atomic_load_n(&q.own->read_dispatch_id, __ATOMIC_ACQUIRE) > index;
        std::this_thread::sleep_for(milliseconds(1));
      }
      EXPECT_TRUE(taken);
      continue;
    }
    EXPECT_TRUE(reaches(done, 0));
    EXPECT_EQ(__atomic_load_n(&stale->value, __ATOMIC_ACQUIRE), 2);
    break;
  }
  call<bool>("softgpu_option_set", "spin", (uint64_t)2000);
}

// A producer that is held up between the header and the rest is not done as long as it still writes.
TEST_P(Fake, a_packet_that_changes_is_not_complete)
{
  Queue q = queue();
  amd_signal_t *stale = signal(1), *done = signal(1);
  auto packet = barrier(stale);
  put(q, 0, &packet);
  auto *slot = (hsa_barrier_and_packet_t *)&q.ring[0];
  const auto begin = steady_clock::now();
  bool in_time = true;
  for (uint64_t i = 0; i < 40; ++i) {
    auto before = steady_clock::now();
    std::this_thread::sleep_for(settle_time() / 20);
    in_time = in_time && steady_clock::now() - before < settle_time() / 2;
    if (!in_time) // it may be taken by now, and is no more ours to write
      GTEST_SKIP() << "the machine is too slow";
    __atomic_store_n(&slot->reserved2, i + 1, __ATOMIC_RELEASE);
  }
  EXPECT_GE(steady_clock::now() - begin, 2 * settle_time());
  __atomic_store_n(&slot->completion_signal.handle, (uint64_t)done, __ATOMIC_RELEASE);
  announce(q, 0);
  EXPECT_TRUE(reaches(done, 0));
  EXPECT_EQ(__atomic_load_n(&stale->value, __ATOMIC_ACQUIRE), 1);
}

// Two producers, of which the later one rings first: the doorbell ends at the lower value.
TEST_P(Fake, doorbells_out_of_order_leave_nothing_behind)
{
  if (GetParam().dtif)
    GTEST_SKIP() << "doorbells of libdtif.so have no value";
  Queue q = queue();
  amd_signal_t *done = signal(0);
  auto packet = barrier(done);
  // Nor does it take long: in all no more than is waited for any one signal.
  constexpr uint64_t count = 60;
  const auto begin = steady_clock::now();
  for (uint64_t first = 0; first < 5 * count; first += count) {
    done->value = count;
    call<int>("softgpu_pause");
    for (uint64_t i = 0; i < count; ++i)
      put(q, first + i, &packet);
    for (uint64_t i = count; i-- > 0;)
      announce(q, first + i);
    call<int>("softgpu_resume");
    EXPECT_TRUE(reaches(done, 0));
  }
  EXPECT_LT(steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST_P(Fake, extended_dispatches_are_refused_with_words)
{
  Queue q = queue();
  uint32_t packet[16] = {HSA_PACKET_TYPE_VENDOR_SPECIFIC | 3u << 16 | 1u << 24, 64};
  put(q, 0, packet);
  announce(q, 0);
  const std::string text = fault(q);
  EXPECT_NE(text.find("extended kernel dispatch"), std::string::npos) << text;
  EXPECT_NE(text.find("gfx1250"), std::string::npos) << text;
}

} // namespace
