#include "fake.h"

#include <chrono>
#include <thread>

void Fake::SetUp()
{
  // As a program has it that loads softgpu before it knows which runtime comes.
  ASSERT_NE(dlopen(SOFTGPU_LIBRARY, RTLD_NOW | RTLD_GLOBAL), nullptr) << dlerror();
  library = dlopen(GetParam().path, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  if (GetParam().dtif) {
    ASSERT_NE(call<void *>("DtifCreate", "HSA"), nullptr);
  }
  ASSERT_TRUE(call<bool>("softgpu_option_set", "compute_units", uint64_t{0}));
  ASSERT_EQ(call("hsaKmtOpenKFD"), HSAKMT_STATUS_SUCCESS);
}

void Fake::TearDown()
{
  if (!library)
    return;
  EXPECT_EQ(call("hsaKmtRuntimeDisable"), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(call("hsaKmtCloseKFD"), HSAKMT_STATUS_SUCCESS);
  if (GetParam().dtif)
    call<int>("DtifDestroy");
  dlclose(library); // as the runtime does, while threads of the device may be ending
}

void *Fake::memory(uint32_t node, size_t size)
{
  HsaMemFlags flags{};
  flags.ui32.HostAccess = 1;
  flags.ui32.ExecuteAccess = 1;
  void *made = nullptr;
  uint64_t device = 0;
  uint32_t gpu = 1;
  EXPECT_EQ(call("hsaKmtAllocMemory", node, (HSAuint64)size, flags, &made), 0);
  EXPECT_EQ(call("hsaKmtMapMemoryToGPUNodes", made, (HSAuint64)size, &device, HsaMemMapFlags{},
                 (HSAuint64)1, &gpu),
            0);
  return made;
}

amd_signal_t *Fake::signal(int64_t value)
{
  auto *made = (amd_signal_t *)memory(0, 4096);
  made->kind = AMD_SIGNAL_KIND_USER;
  made->value = value;
  return made;
}

Fake::Queue Fake::queue(Maker maker)
{
  Queue made;
  made.own = (amd_queue_t *)memory(0, 4096);
  made.ring = (hsa_kernel_dispatch_packet_t *)memory(1, Queue::packets * 64);
  for (uint64_t i = 0; i < Queue::packets; ++i)
    made.ring[i].header = HSA_PACKET_TYPE_INVALID;
  made.own->hsa_queue.base_address = made.ring;
  made.own->hsa_queue.size = Queue::packets;
  made.own->queue_inactive_signal.handle = (uint64_t)signal(0);
  made.resource.Queue_read_ptr_aql = (HSAuint64 *)&made.own->read_dispatch_id;
  made.resource.Queue_write_ptr_aql = (HSAuint64 *)&made.own->write_dispatch_id;
  const uint32_t node = 1, all = 100, engine = 0;
  const HSAuint64 bytes = Queue::packets * 64, no_metadata = 0;
  HsaEvent *none = nullptr;
  int status = -1;
  if (maker == kPlain)
    status = call("hsaKmtCreateQueue", node, HSA_QUEUE_COMPUTE_AQL, all, HSA_QUEUE_PRIORITY_NORMAL,
                  (void *)made.ring, bytes, none, &made.resource);
  if (maker == kExt)
    status =
        call("hsaKmtCreateQueueExt", node, HSA_QUEUE_COMPUTE_AQL, all, HSA_QUEUE_PRIORITY_NORMAL,
             engine, (void *)made.ring, bytes, none, &made.resource);
  if (maker == kV2)
    status =
        call("hsaKmtCreateQueueV2", node, HSA_QUEUE_COMPUTE_AQL, all, HSA_QUEUE_PRIORITY_NORMAL,
             engine, (void *)made.ring, bytes, no_metadata, none, &made.resource);
  EXPECT_EQ(status, 0);
  EXPECT_NE(made.resource.Queue_DoorBell_aql, nullptr);
  return made;
}

HsaQueueResource Fake::copying(const std::vector<uint32_t> &packet)
{
  HsaQueueResource made{};
  void *ring = memory(1, 4096);
  HsaEvent *none = nullptr;
  EXPECT_EQ(call("hsaKmtCreateQueueExt", 1u, 6, 100u, HSA_QUEUE_PRIORITY_NORMAL, 1u, ring,
                 (HSAuint64)4096, none, &made),
            0);
  memcpy(ring, packet.data(), packet.size() * 4);
  __atomic_store_n(made.Queue_write_ptr_aql, packet.size() * 4, __ATOMIC_RELEASE);
  __atomic_store_n(made.Queue_DoorBell_aql, packet.size() * 4, __ATOMIC_RELEASE);
  return made;
}

hsa_barrier_and_packet_t Fake::barrier(amd_signal_t *completion)
{
  hsa_barrier_and_packet_t packet{};
  packet.header = kBarrierHeader;
  packet.completion_signal.handle = (uint64_t)completion;
  return packet;
}

void Fake::put(Queue &to, uint64_t index, const void *packet)
{
  char *slot = (char *)&to.ring[index % Queue::packets];
  memcpy(slot + 4, (const char *)packet + 4, 60);
  __atomic_store_n((uint32_t *)(void *)slot, *(const uint32_t *)packet, __ATOMIC_RELEASE);
  __atomic_store_n(&to.own->write_dispatch_id, index + 1, __ATOMIC_RELEASE);
}

void Fake::announce(Queue &to, uint64_t index)
{
  if (GetParam().dtif)
    EXPECT_EQ(call("hsaKmtQueueRingDoorbell", (HSA_QUEUEID)to.resource.QueueId), 0);
  else
    __atomic_store_n(to.resource.Queue_DoorBell_aql, index, __ATOMIC_RELEASE);
}

bool Fake::reaches(amd_signal_t *awaited, int64_t value)
{
  for (int i = 0; i < 10000; ++i) {
    if (__atomic_load_n(&awaited->value, __ATOMIC_ACQUIRE) == value)
      return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

std::string Fake::fault(const Queue &of)
{
  char text[1024] = "";
  for (int i = 0; i < 10000 && !*text; ++i) {
    call<size_t>("softgpu_queue_fault", (const void *)&of.own->hsa_queue, text, sizeof(text));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return text;
}
