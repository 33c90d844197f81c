// What others see of a program behind the front: this process is both.
#include "tests/front/proxy_test.h"
#include "tests/front/toy_memory.h"
#include "tests/observing.h"

#include <map>
#include <string>

extern "C" {
#include "debug/door/observe.h"
}

namespace {

using VmemCreate = hsa_status_t(hsa_amd_memory_pool_t, size_t, int, uint64_t, uint64_t *);
using VmemMap = hsa_status_t(void *, size_t, size_t, uint64_t, uint64_t);
using VmemUnmap = hsa_status_t(void *, size_t);
using VmemRelease = hsa_status_t(uint64_t);

struct Seen {
  rawhal_event_t event;
  std::string text;
};

class FrontDoor : public FrontProxy {
protected:
  void Begin(const char *door, const char *share = nullptr, uint32_t major = 1)
  {
    Set("RAWHAL_DOOR", door);
    Start(share, 64, major);
    Look();
  }
  void Look()
  {
    rawhal_error_t error = {};
    ASSERT_EQ(RAWHAL_OK, observer_open(getpid(), 0, &observer_, &error)) << error.message;
    EXPECT_EQ(DOOR_OF_FRONT, observer_kind(observer_));
    observer_want(observer_, RAWHAL_EVENTS_ALL);
  }
  void TearDown() override
  {
    FrontProxy::TearDown();
    observer_close(observer_);
  }

  // The next event of that type; those before it are passed over.
  Seen Next(rawhal_event_type_t type)
  {
    Seen seen = {};
    while (seen.event.type != type)
      if (observer_next(observer_, &seen.event, &lost_))
        seen.text =
            std::string(seen.event.text.data ? seen.event.text.data : "", seen.event.text.size);
      else
        usleep(100);
    return seen;
  }
  std::vector<rawhal_event_t> Listed()
  {
    std::vector<rawhal_event_t> all;
    uint64_t unlisted;
    observer_list(
        observer_,
        [](void *context, const rawhal_event_t *event) {
          static_cast<std::vector<rawhal_event_t> *>(context)->push_back(*event);
          return true;
        },
        &all, &unlisted);
    return all;
  }
  std::map<uint64_t, uint64_t> Memory() // bytes by address
  {
    std::map<uint64_t, uint64_t> all;
    for (const rawhal_event_t &event : Listed())
      if (event.type == RAWHAL_EVENT_ALLOCATE)
        all[event.address] = event.bytes;
    return all;
  }

  rawhal_status_t Ask(door_ask_t what, const void *address = nullptr, uint64_t bytes = 0,
                      const void *poked = nullptr)
  {
    return ask_process(observer_, what, reinterpret_cast<uint64_t>(address), bytes, poked,
                       &answered_);
  }

  void *Allocate(hsa_amd_memory_pool_t pool, size_t size)
  {
    void *memory = nullptr;
    EXPECT_EQ(HSA_STATUS_SUCCESS,
              Amd<decltype(hsa_amd_memory_pool_allocate)>(120)(pool, size, 0, &memory));
    return memory;
  }
  void Free(void *memory)
  {
    EXPECT_EQ(HSA_STATUS_SUCCESS, Amd<decltype(hsa_amd_memory_pool_free)>(128)(memory));
  }

  static constexpr hsa_amd_memory_pool_t host_pool = {1};
  observer_t *observer_ = nullptr;
  uint64_t lost_ = 0;
  Answered answered_;
};

} // namespace

// Under the device's own queue: its ring, its packets, what the front has put behind them.
TEST_F(FrontDoor, AQueueAndWhatGoesOnIt)
{
  for (const char *share : {static_cast<const char *>(nullptr), "100%"}) {
    Begin("events", share);
    ASSERT_EQ(1u, Listed().size());
    const rawhal_event_t queue = Listed()[0];
    EXPECT_EQ(RAWHAL_EVENT_QUEUE_CREATE, queue.type);
    EXPECT_EQ(reinterpret_cast<uint64_t>(toy_queue()), queue.address);
    EXPECT_NE(reinterpret_cast<uint64_t>(queue_), queue.address);
    EXPECT_EQ(128u, queue.packets);
    EXPECT_EQ(queue_->id, queue.queue_id);
    EXPECT_EQ(toy_agent().handle, queue.agent);

    const hsa_signal_t own = Signal();
    Submit(Kernel(7, 100));
    Submit(Kernel(8, 100, own)); // a barrier comes behind it
    Submit(Kernel(9, 100));
    const uint64_t places[3][2] = {{0, 1}, {1, 2}, {3, 1}};
    for (uint64_t i = 0; i < 3; ++i) {
      const rawhal_event_t told = Next(RAWHAL_EVENT_SUBMIT).event;
      EXPECT_EQ(queue.queue_id, told.queue_id);
      EXPECT_EQ(i + 1, told.ticket);
      EXPECT_EQ(places[i][0], told.packet);
      EXPECT_EQ(places[i][1], told.packets);
      EXPECT_EQ((i + 7) << 8, told.kernel_object);
    }
    observer_queue_t at;
    ASSERT_TRUE(observer_queue(
        observer_, queue.address, &at,
        [](void *, uint64_t, const hsa_kernel_dispatch_packet_t *) { return true; }, nullptr));
    EXPECT_EQ(4u, at.write);
    Ran(3);
    Drop(own);
    Destroy();
    EXPECT_EQ(queue.queue_id, Next(RAWHAL_EVENT_QUEUE_DESTROY).event.queue_id);
    EXPECT_EQ(0u, Listed().size());
    observer_close(observer_);
    observer_ = nullptr;
    Unload();
  }
}

TEST_F(FrontDoor, WhatHasEnded)
{
  Begin("events");
  for (uint64_t i = 0; i < 70; ++i)
    Submit(Kernel(7, 100));
  for (uint64_t i = 1; i <= 70; ++i) {
    const rawhal_event_t told = Next(RAWHAL_EVENT_COMPLETE).event;
    EXPECT_EQ(queue_->id, told.queue_id);
    EXPECT_EQ(i, told.ticket);
  }
  EXPECT_EQ(0u, lost_);
}

TEST_F(FrontDoor, WhatIsHeldBack)
{
  Set("RAWHAL_GPU_BURST", "1ms");
  Begin("events", "50%");
  for (int i = 0; i < 10; ++i)
    Submit(Kernel(7, 2000000));
  const rawhal_event_t told = Next(RAWHAL_EVENT_THROTTLE).event;
  EXPECT_EQ(queue_->id, told.queue_id);
  EXPECT_GT(told.nanoseconds, 0u);
}

// Listed as long as it is there, by whichever way it came; and no longer than the runtime.
TEST_F(FrontDoor, MemoryOfEachKind)
{
  Begin("events", nullptr, 2);
  EXPECT_EQ(0u, Memory().size());
  void *device = Allocate(toy_pool(), 1000), *host = Allocate(host_pool, 4096);
  std::map<uint64_t, uint64_t> there = Memory();
  EXPECT_EQ(2u, there.size());
  EXPECT_EQ(1000u, there[reinterpret_cast<uint64_t>(device)]);
  EXPECT_EQ(4096u, there[reinterpret_cast<uint64_t>(host)]);
  const rawhal_event_t first = Next(RAWHAL_EVENT_ALLOCATE).event;
  EXPECT_EQ(toy_agent().handle, first.agent);
  EXPECT_EQ(0u, Next(RAWHAL_EVENT_ALLOCATE).event.agent);
  Free(device);
  const rawhal_event_t freed = Next(RAWHAL_EVENT_FREE).event;
  EXPECT_EQ(first.id, freed.id);
  EXPECT_EQ(first.address, freed.address);
  EXPECT_EQ(1u, Memory().size());
  Free(host);
  EXPECT_EQ(0u, Memory().size());
  Allocate(toy_pool(), 1000);
  Destroy();
  EXPECT_EQ(1u, Listed().size());
  Unload();
  EXPECT_EQ(0u, Listed().size());
}

TEST_F(FrontDoor, MemoryOfHandlesAndOthersWhereItIsLimited)
{
  Set("RAWHAL_MEMORY_LIMIT", "64M");
  Begin("events", nullptr, 2);
  uint64_t handle = 0;
  ASSERT_EQ(HSA_STATUS_SUCCESS, Amd<VmemCreate>(472)(toy_pool(), 8 * mi, 0, 0, &handle));
  auto *at = reinterpret_cast<void *>(100 * mi), *other = reinterpret_cast<void *>(200 * mi);
  ASSERT_EQ(HSA_STATUS_SUCCESS, Amd<VmemMap>(488)(at, 8 * mi, 0, handle, 0));
  ASSERT_EQ(HSA_STATUS_SUCCESS, Amd<VmemMap>(488)(other, 8 * mi, 0, handle, 0));
  ASSERT_EQ(HSA_STATUS_SUCCESS, Amd<VmemRelease>(480)(handle));
  const hsa_amd_ipc_memory_t foreign = toy_foreign(4 * mi);
  const hsa_agent_t agent = toy_agent();
  void *attached = nullptr;
  ASSERT_EQ(HSA_STATUS_SUCCESS,
            Amd<decltype(hsa_amd_ipc_memory_attach)>(264)(&foreign, 4 * mi, 1, &agent, &attached));
  std::map<uint64_t, uint64_t> there = Memory();
  EXPECT_EQ(3u, there.size());
  EXPECT_EQ(8 * mi, there[100 * mi]);
  EXPECT_EQ(4 * mi, there[reinterpret_cast<uint64_t>(attached)]);
  ASSERT_EQ(HSA_STATUS_SUCCESS, Amd<VmemUnmap>(496)(at, 8 * mi));
  EXPECT_EQ(100 * mi, Next(RAWHAL_EVENT_FREE).event.address);
  EXPECT_NE(HSA_STATUS_SUCCESS, Amd<VmemUnmap>(496)(at, 8 * mi)); // which there is not
  ASSERT_EQ(HSA_STATUS_SUCCESS, Amd<decltype(hsa_amd_ipc_memory_detach)>(272)(attached));
  EXPECT_EQ(1u, Memory().size());
  Destroy();
  Unload();
  EXPECT_EQ(0u, Listed().size());
}

// What the front knows without being asked to: no proxy, but a queue and why it has failed.
TEST_F(FrontDoor, UnaskedItShowsWhatIsKnown)
{
  Set("RAWHAL_FAULTS", "text");
  Begin("");
  ASSERT_EQ(1u, Listed().size());
  EXPECT_EQ(reinterpret_cast<uint64_t>(queue_), Listed()[0].address);
  toy_fail(static_cast<hsa_status_t>(HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION));
  const Seen fault = Next(RAWHAL_EVENT_FAULT);
  EXPECT_EQ(queue_->id, fault.event.queue_id);
  EXPECT_EQ(RAWHAL_FAULT_INSTRUCTION, static_cast<rawhal_fault_kind_t>(fault.event.kind));
  EXPECT_EQ("illegal instruction", fault.text.substr(0, 19));
  Destroy();
  EXPECT_EQ(0u, Listed().size());
}

TEST_F(FrontDoor, RequestsAreAnswered)
{
  Begin("poke");
  EXPECT_EQ(RAWHAL_OK, Ask(DOOR_WHY)) << answered_.said;
  EXPECT_EQ("queue " + std::to_string(queue_->id) + ": nothing is in flight\n", answered_.said);
  toy_hold(true);
  Submit(Kernel(7, 100));
  EXPECT_EQ(RAWHAL_OK, Ask(DOOR_WHY)) << answered_.said;
  EXPECT_NE(std::string::npos,
            answered_.said.find("queue " + std::to_string(queue_->id) + ": packet 0, "))
      << answered_.said;
  EXPECT_EQ(RAWHAL_OK, Ask(DOOR_CORE)) << answered_.said;
  EXPECT_EQ("\177ELF", answered_.got.substr(0, 4));
  auto *memory = static_cast<char *>(Allocate(host_pool, 4096));
  memset(memory, 'a', 4096);
  EXPECT_EQ(RAWHAL_OK, Ask(DOOR_PEEK, memory + 4000, 96)) << answered_.said;
  EXPECT_EQ(std::string(96, 'a'), answered_.got);
  EXPECT_EQ(RAWHAL_NOT_FOUND, Ask(DOOR_PEEK, memory + 4000, 97));
  EXPECT_EQ(RAWHAL_OK, Ask(DOOR_POKE, memory + 4000, 3, "xyz")) << answered_.said;
  EXPECT_EQ("xyza", std::string(memory + 4000, 4));
  EXPECT_NE(std::string::npos, Report().find("an observer has written 3 bytes at 0x"));
  EXPECT_EQ(RAWHAL_NOT_FOUND, Ask(DOOR_POKE, memory + 4095, 3, "xyz"));
  Free(memory);
  EXPECT_EQ(RAWHAL_NOT_FOUND, Ask(DOOR_PEEK, memory, 1));
  toy_hold(false);
  Ran(1);
  Destroy();
  EXPECT_EQ(RAWHAL_OK, Ask(DOOR_WHY)) << answered_.said;
  EXPECT_EQ("there are no queues\n", answered_.said);
  EXPECT_EQ(RAWHAL_NOT_FOUND, Ask(DOOR_CORE));
  Unload();
  EXPECT_EQ(RAWHAL_NOT_FOUND, Ask(DOOR_WHY));
}

TEST_F(FrontDoor, OffNothingIsShown)
{
  rawhal_error_t error = {};
  if (observer_open(getpid(), 0, &observer_, &error) == RAWHAL_OK)
    GTEST_SKIP() << "a test before has made one: for ctest it is alone";
  Set("RAWHAL_FAULTS", "text");
  Set("RAWHAL_DOOR", "off");
  Start(nullptr);
  EXPECT_EQ(RAWHAL_NOT_FOUND, observer_open(getpid(), 0, &observer_, &error)) << error.message;
}

TEST_F(FrontDoor, OfAnotherWordThereIsNoDevice)
{
  Set("RAWHAL_DOOR", "ajar");
  Load();
  EXPECT_NE(HSA_STATUS_SUCCESS,
            Core<decltype(hsa_queue_create)>(72)(toy_agent(), 64, HSA_QUEUE_TYPE_MULTI, nullptr,
                                                 nullptr, 0, 0, &queue_));
  EXPECT_NE(std::string::npos,
            Report().find("RAWHAL_DOOR: expected off, events, answers or poke, got 'ajar'"));
}
