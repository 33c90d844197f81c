// What a kernel can store into, and packets can say, is nobody's word: the packet processor uses an
// address only where its GPU may use it. Here the host stores what a kernel would.
#include <sys/mman.h>

#include <chrono>
#include <initializer_list>
#include <thread>
#include <vector>

#include "fake.h"

namespace {

// Memory that no device was given, in the shape of a signal, so that only its place is wrong.
class Canary {
public:
  Canary()
  {
    signal_->kind = AMD_SIGNAL_KIND_USER;
    signal_->value = 3;
    memcpy(before_, bytes_, sizeof(bytes_));
  }
  uint64_t address() const { return (uint64_t)bytes_; }
  bool is_untouched() const { return memcmp(before_, bytes_, sizeof(bytes_)) == 0; }

private:
  alignas(4096) char bytes_[4096] = {};
  char before_[4096];
  amd_signal_t *signal_ = (amd_signal_t *)(void *)bytes_;
};

class Hostile : public Fake {
protected:
  // A kernel's descriptor and, 256 bytes on, its code: kernargs in s[0:1], the scratch memory's address in s[2:3].
  uint64_t kernel(std::initializer_list<uint32_t> words)
  {
    auto *code = (char *)memory(1, 4096);
    const int64_t entry = 256;
    const uint32_t rsrc1 = 0, rsrc2 = 4 << 1, rsrc3 = 0;
    const uint16_t properties = 1 << 3 | 1 << 5;
    memcpy(code + 16, &entry, sizeof(entry));
    memcpy(code + 44, &rsrc3, 4);
    memcpy(code + 48, &rsrc1, 4);
    memcpy(code + 52, &rsrc2, 4);
    memcpy(code + 56, &properties, 2);
    memcpy(code + entry, words.begin(), words.size() * 4);
    return (uint64_t)code;
  }
  hsa_kernel_dispatch_packet_t dispatch(uint64_t object, amd_signal_t *completion)
  {
    hsa_kernel_dispatch_packet_t packet{};
    packet.header = HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE;
    packet.setup = 1;
    packet.workgroup_size_x = 64, packet.workgroup_size_y = packet.workgroup_size_z = 1;
    packet.grid_size_x = 64, packet.grid_size_y = packet.grid_size_z = 1;
    packet.kernel_object = object;
    packet.kernarg_address = memory(0, 4096);
    packet.completion_signal.handle = (uint64_t)completion;
    return packet;
  }
  void send(Queue &to, const void *packet)
  {
    const uint64_t index = to.own->write_dispatch_id;
    put(to, index, packet);
    announce(to, index);
  }
  void destroy(const Queue &q)
  {
    EXPECT_EQ(call("hsaKmtDestroyQueue", (HSA_QUEUEID)q.resource.QueueId), 0);
  }
  // Where devices see memory of the program's own.
  uint64_t registered(void *host, uint64_t size)
  {
    uint64_t device = 0;
    EXPECT_EQ(call("hsaKmtRegisterMemory", host, (HSAuint64)size), 0);
    EXPECT_EQ(call("hsaKmtMapMemoryToGPU", host, (HSAuint64)size, &device), 0);
    return device;
  }
};

const std::initializer_list<uint32_t> ENDS = {0xbf810000};

TEST_P(Hostile, QueueSignal)
{
  Canary canary;
  hsa_barrier_and_packet_t unknown = barrier(nullptr);
  unknown.header = 7 << HSA_PACKET_HEADER_TYPE;
  auto wants_scratch = dispatch(kernel(ENDS), nullptr);
  wants_scratch.private_segment_size = 4;
  for (const void *packet : {(const void *)&unknown, (const void *)&wants_scratch}) {
    for (uint64_t handle : {canary.address(), canary.address() + 8, UINT64_C(0), UINT64_C(64),
                            UINT64_MAX - 63, UINT64_C(0x8000000000000000)}) {
      Queue q = queue();
      q.own->queue_inactive_signal.handle = handle;
      send(q, packet);
      EXPECT_NE(fault(q), "");
      destroy(q);
    }
  }
  EXPECT_TRUE(canary.is_untouched());
}

// While the processor waits for scratch memory that was asked for, and after a dispatch with it.
TEST_P(Hostile, QueueSignalOfAQueueThatWaits)
{
  Canary canary;
  Queue q = queue();
  auto *told = (amd_signal_t *)q.own->queue_inactive_signal.handle;
  auto packet = dispatch(kernel(ENDS), nullptr);
  packet.private_segment_size = 4;
  send(q, &packet);
  ASSERT_TRUE(reaches(told, 1));
  __atomic_store_n(&q.own->queue_inactive_signal.handle, canary.address(), __ATOMIC_RELAXED);
  EXPECT_NE(fault(q), "");
  destroy(q);

  q = queue();
  amd_signal_t *done = signal(1);
  packet.completion_signal.handle = (uint64_t)done;
  q.own->scratch_wave64_lane_byte_size = 4;
  q.own->scratch_backing_memory_location = (uint64_t)memory(1, 4096);
  q.own->scratch_backing_memory_byte_size = 4096;
  q.own->queue_properties = AMD_QUEUE_PROPERTIES_USE_SCRATCH_ONCE;
  q.own->queue_inactive_signal.handle = canary.address();
  send(q, &packet);
  EXPECT_TRUE(reaches(done, 0));
  EXPECT_NE(fault(q), "");
  destroy(q);
  EXPECT_TRUE(canary.is_untouched());
}

TEST_P(Hostile, Mailboxes)
{
  Canary canary;
  HsaMemFlags flags{};
  flags.ui32.HostAccess = 1;
  void *unmapped = nullptr; // the thunk's, and of no GPU
  ASSERT_EQ(call("hsaKmtAllocMemory", 0u, (HSAuint64)4096, flags, &unmapped), 0);
  Queue q = queue();
  for (uint64_t mailbox : {canary.address(), (uint64_t)unmapped, UINT64_MAX - 7, UINT64_C(3)}) {
    amd_signal_t *done = signal(1);
    done->event_mailbox_ptr = mailbox;
    done->event_id = 77;
    auto packet = barrier(done);
    send(q, &packet);
    EXPECT_TRUE(reaches(done, 0));
  }
  destroy(q);
  EXPECT_TRUE(canary.is_untouched());
  EXPECT_EQ(*(uint64_t *)unmapped, 0u);
}

TEST_P(Hostile, Scratch)
{
  // s_mov_b32 flat_scratch_lo, s2; s_mov_b32 flat_scratch_hi, s3; s_mov_b32 s4, 0; v_mov_b32 v0, 7;
  // scratch_store_dword off, v0, s4; s_endpgm
  const uint64_t stores =
      kernel({0xbee60002, 0xbee70003, 0xbe840080, 0x7e000287, 0xdc704000, 0x00040000, 0xbf810000});
  Canary canary;
  void *own = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(own, MAP_FAILED);
  HsaMemFlags flags{};
  flags.ui32.HostAccess = 1;
  flags.ui32.ReadOnly = 1;
  void *constant = nullptr;
  uint64_t device = 0;
  ASSERT_EQ(call("hsaKmtAllocMemory", 1u, (HSAuint64)4096, flags, &constant), 0);
  ASSERT_EQ(call("hsaKmtMapMemoryToGPU", constant, (HSAuint64)4096, &device), 0);
  const uint64_t own_at = registered(own, 4096), given = (uint64_t)memory(1, 4096);
  const struct {
    uint64_t base, bytes;
    bool ok;
  } table[] = {{given, 4096, true},
               {0, 4096, false},
               {given, 1 << 20, false},
               {given + 256, UINT64_MAX - 255, false},
               {canary.address(), 4096, false},
               {own_at, 4096, false}, // which the program may unmap
               {(uint64_t)own, 4096, false},
               {(uint64_t)constant, 4096, false}};
  for (const auto &row : table) {
    Queue q = queue();
    amd_signal_t *done = signal(1);
    auto packet = dispatch(stores, done);
    packet.private_segment_size = 4;
    q.own->scratch_wave64_lane_byte_size = 4;
    q.own->scratch_backing_memory_location = row.base;
    q.own->scratch_backing_memory_byte_size = row.bytes;
    send(q, &packet);
    if (row.ok)
      EXPECT_TRUE(reaches(done, 0)) << row.base;
    else
      EXPECT_NE(fault(q).find("scratch memory"), std::string::npos) << fault(q);
    destroy(q);
  }
  EXPECT_TRUE(canary.is_untouched());
  EXPECT_EQ(*(uint32_t *)own, 0u);
  EXPECT_EQ(*(uint32_t *)constant, 0u);
  EXPECT_EQ(*(uint32_t *)given, 7u);
  EXPECT_EQ(call("hsaKmtUnmapMemoryToGPU", own), 0);
  EXPECT_EQ(call("hsaKmtDeregisterMemory", own), 0);
  munmap(own, 4096);
}

// Preloaded kernargs, a descriptor and code, in memory that the program unmapped without a word.
TEST_P(Hostile, UnmappedKernargs)
{
  const uint64_t object = kernel(ENDS);
  const uint32_t sgprs = 6 << 1;
  const uint16_t preload = 2;
  memcpy((char *)object + 52, &sgprs, 4);
  memcpy((char *)object + 58, &preload, 2);
  void *own = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(own, MAP_FAILED);
  auto packet = dispatch(object, nullptr);
  packet.kernarg_address = (void *)registered(own, 4096);
  Queue q = queue(); // before: what it maps is not to come to lie there
  munmap(own, 4096);
  send(q, &packet);
  EXPECT_NE(fault(q).find("kernarg"), std::string::npos) << fault(q);
  destroy(q);
}

// The ring's size and the apertures are those that the queue was made with.
TEST_P(Hostile, SizeAndApertures)
{
  // s_load_dwordx2 s[2:3], s[0:1], 0x0; v_mov_b32 v2, 7; s_waitcnt lgkmcnt(0); v_mov_b32 v0, s2; v_mov_b32 v1, s3;
  // flat_store_dword v[0:1], v2; s_endpgm
  const uint64_t stores = kernel({0xc0060080, 0, 0x7e040287, 0xbf8cc07f, 0x7e000202, 0x7e020203,
                                  0xdc700000, 0x00000200, 0xbf810000});
  Queue q = queue();
  auto *target = (uint32_t *)memory(0, 4096);
  amd_signal_t *done = signal(3);
  auto packet = dispatch(stores, done);
  *(uint64_t *)packet.kernarg_address = (uint64_t)target;
  for (int i = 2; i >= 0; --i) {
    send(q, &packet);
    ASSERT_TRUE(reaches(done, i));
    EXPECT_EQ(__atomic_exchange_n(target, 0, __ATOMIC_SEQ_CST), 7u) << i;
    q.own->hsa_queue.size = 2;
    q.own->group_segment_aperture_base_hi = (uint32_t)((uint64_t)target >> 32);
    q.own->private_segment_aperture_base_hi = (uint32_t)((uint64_t)target >> 32);
  }
  destroy(q);
}

// Packets of copy engines, to where they may not.
TEST_P(Hostile, CopyEngines)
{
  Canary canary;
  const uint64_t to = canary.address(), from = (uint64_t)memory(1, 4096);
  const uint32_t low = (uint32_t)to, high = (uint32_t)(to >> 32), good = (uint32_t)from,
                 good_high = (uint32_t)(from >> 32);
  const std::vector<std::vector<uint32_t>> packets = {
      {1, 63, 0, good, good_high, low, high},                               // a copy there
      {1, 63, 0, low, high, good, good_high},                               // and from there
      {1 | 4u << 8, good, good_high, 0, 0, 0, low, high, 0, 0, 0, 0x3f, 0}, // of a rectangle
      {1 | 4u << 8, good, good_high, 0, 0, 0, good, good_high, 0x3fff3fff, 0x7ff, UINT32_MAX, 0x3f,
       0},
      {5, low, high, 1},                             // a fence
      {8 | 1u << 31 | 3u << 28, low, high, 0, 0, 0}, // a poll
      {10 | 47u << 25, low, high, 1, 0, 0, 0, 0},    // an atomic
      {11, low, high, 1, 60},                        // a fill
      {13, low, high},                               // a timestamp
  };
  for (const auto &packet : packets) {
    softgpu_counters_t before{}, after{};
    call<void *>("softgpu_counters", &before, sizeof(before));
    const HsaQueueResource resource = copying(packet);
    for (int i = 0; i < 10000 && after.queue_errors <= before.queue_errors; ++i) {
      call<void *>("softgpu_counters", &after, sizeof(after));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(after.queue_errors, before.queue_errors + 1) << packet[0];
    EXPECT_EQ(call("hsaKmtDestroyQueue", (HSA_QUEUEID)resource.QueueId), 0);
  }
  EXPECT_TRUE(canary.is_untouched());
}

// The largest rectangle there is, whose rows lie over each other, takes days: a queue ends before.
TEST_P(Hostile, RectanglesEndWithTheirQueue)
{
  const size_t size = 8 << 20;
  auto *data = (uint8_t *)memory(1, 2 * size);
  const uint64_t from = (uint64_t)data, to = from + size;
  data[0] = 1;
  const HsaQueueResource resource =
      copying({1 | 4u << 8 | 7u << 29, (uint32_t)from, (uint32_t)(from >> 32), 0, 0, 0,
               (uint32_t)to, (uint32_t)(to >> 32), 0, 0, 0, 0x3fff3fff, 0x7ff});
  for (int i = 0; i < 10000 && !__atomic_load_n(&data[size], __ATOMIC_ACQUIRE); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(data[size], 1) << "it has not begun";
  EXPECT_EQ(__atomic_load_n(resource.Queue_read_ptr_aql, __ATOMIC_ACQUIRE), 0u) << "it is done";
  EXPECT_EQ(call("hsaKmtDestroyQueue", (HSA_QUEUEID)resource.QueueId), 0);
}

const Door DOORS[] = {{SOFTGPU_LIBRARY, false}, {DTIF_LIBRARY, true}};
INSTANTIATE_TEST_SUITE_P(Doors, Hostile, ::testing::ValuesIn(DOORS),
                         [](const auto &door) { return door.param.dtif ? "dtif" : "hsakmt"; });

} // namespace
