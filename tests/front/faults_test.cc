// What the front says of a queue that fails, and that the program is told the same as without.
#include "tests/front/front_test.h"

#include <functional>

namespace {

hsa_amd_system_event_callback_t registered;

hsa_status_t Register(hsa_amd_system_event_callback_t callback, void *)
{
  registered = callback;
  return HSA_STATUS_SUCCESS;
}

// A runtime that has one queue, which it gives again and again.
struct Only {
  amd_queue_t queue;
  void (*callback)(hsa_status_t, hsa_queue_t *, void *);
  void *data;
  int users;
} only;

hsa_status_t Given(hsa_agent_t, uint32_t, hsa_queue_type32_t,
                   void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data, uint32_t,
                   uint32_t, hsa_queue_t **queue)
{
  if (!only.users++)
    only.callback = callback, only.data = data;
  *queue = &only.queue.hsa_queue;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t Gone(hsa_queue_t *)
{
  --only.users;
  return HSA_STATUS_SUCCESS;
}

class FrontFaults : public FrontTest {
protected:
  void Prepare() override
  {
    registered = nullptr;
    toy_replace_amd(major_ == 1 ? 288 : 304, reinterpret_cast<void *>(&Register));
    if (given_)
      toy_replace_core(72, reinterpret_cast<void *>(&Given)),
          toy_replace_core(88, reinterpret_cast<void *>(&Gone));
  }

  void Open(const char *faults, int major = 1)
  {
    if (faults)
      Set("RAWHAL_FAULTS", faults);
    major_ = major;
    Load(static_cast<uint32_t>(major));
  }

  struct Told {
    int count = 0;
    hsa_status_t status = HSA_STATUS_SUCCESS;
    hsa_queue_t *source = nullptr;
    std::string before; // what the front had said by then
    std::function<void()> then = [] {};
    FrontFaults *test = nullptr;
  };
  static void Tell(hsa_status_t status, hsa_queue_t *source, void *data)
  {
    auto *told = static_cast<Told *>(data);
    ++told->count;
    told->status = status;
    told->source = source;
    told->before = told->test->Report();
    told->then();
  }

  hsa_queue_t *Queue(Told *told)
  {
    hsa_queue_t *queue = nullptr;
    if (told)
      told->test = this;
    EXPECT_EQ(HSA_STATUS_SUCCESS,
              Core<decltype(hsa_queue_create)>(72)(toy_agent(), 64, HSA_QUEUE_TYPE_MULTI,
                                                   told ? Tell : nullptr, told, 0, 0, &queue));
    return queue;
  }
  void Destroy(hsa_queue_t *queue)
  {
    EXPECT_EQ(HSA_STATUS_SUCCESS, Core<decltype(hsa_queue_destroy)>(88)(queue));
  }

  static hsa_status_t Event(uint32_t mask,
                            hsa_amd_event_type_t type = HSA_AMD_GPU_MEMORY_FAULT_EVENT)
  {
    hsa_amd_event_t event = {};
    event.event_type = type;
    event.memory_fault = {toy_agent(), 0x123456789000, mask};
    return registered(&event, nullptr);
  }

  static size_t Count(const std::string &text, const std::string &part)
  {
    size_t count = 0;
    for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size())
      ++count;
    return count;
  }

  int major_ = 1;
  bool given_ = false;
};

} // namespace

TEST_F(FrontFaults, AreLeftToTheRuntimeWhereNobodyAsks)
{
  for (const char *word : {"", "off"}) {
    Open(word);
    EXPECT_EQ(1u, toy_replaced()) << word; // ours
    EXPECT_EQ(nullptr, registered) << word;
    Unload();
  }
}

TEST_F(FrontFaults, OfAnotherWordThereIsNoDevice)
{
  Open("loud");
  hsa_queue_t *queue = nullptr;
  EXPECT_NE(HSA_STATUS_SUCCESS,
            Core<decltype(hsa_queue_create)>(72)(toy_agent(), 64, HSA_QUEUE_TYPE_MULTI, nullptr,
                                                 nullptr, 0, 0, &queue));
  EXPECT_NE(std::string::npos,
            Report().find("RAWHAL_FAULTS: expected off, text or json, got 'loud'"));
}

TEST_F(FrontFaults, AreTheProgramsAfterTheyWereTold)
{
  for (const char *share : {"", "90%"}) { // no proxy, and one
    for (const int major : {1, 2}) {
      if (*share)
        Set("RAWHAL_GPU_SHARE", share);
      Open("text", major);
      Told told;
      hsa_queue_t *queue = Queue(&told);
      const size_t before = Count(Report(), "rawhal: illegal instruction\n");
      toy_fail(static_cast<hsa_status_t>(HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION));
      EXPECT_EQ(1, told.count);
      EXPECT_EQ(HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION, static_cast<int>(told.status));
      EXPECT_EQ(queue, told.source);
      EXPECT_EQ(before + 1, Count(told.before, "rawhal: illegal instruction\n")) << told.before;
      Destroy(queue);
      EXPECT_EQ(0u, toy_live_queues());
      Unload();
    }
  }
}

TEST_F(FrontFaults, AreToldOfAQueueWithoutAHandler)
{
  Open("json");
  hsa_queue_t *queue = Queue(nullptr);
  toy_fail(HSA_STATUS_ERROR_EXCEPTION);
  EXPECT_EQ(1u, Count(Report(), "{\"schema\": \"rawhal-fault-1\", \"kind\": \"trap\"")) << Report();
  EXPECT_EQ('\n', Report().back());
  Destroy(queue);
}

TEST_F(FrontFaults, OfAQueueThatIsGivenTwiceAreTheFirstHandlers)
{
  given_ = true;
  Open("text");
  Told first, second;
  hsa_queue_t *queue = Queue(&first);
  EXPECT_EQ(queue, Queue(&second));
  Destroy(queue); // once
  only.callback(HSA_STATUS_ERROR_EXCEPTION, queue, only.data);
  EXPECT_EQ(1, first.count);
  EXPECT_EQ(0, second.count);
  Destroy(queue);
}

// An address is all that hardware tells. What the runtime does about it stays its own.
TEST_F(FrontFaults, OfADeviceAreToldAndLeftToOthers)
{
  for (const char *share : {"", "90%"}) {
    if (*share)
      Set("RAWHAL_GPU_SHARE", share);
    Open("text");
    Destroy(Queue(nullptr)); // it is not looked at
    hsa_queue_t *queue = Queue(nullptr);
    ASSERT_NE(nullptr, registered);
    const size_t before = Report().size();
    EXPECT_EQ(HSA_STATUS_ERROR, Event(HSA_AMD_MEMORY_FAULT_PAGE_NOT_PRESENT));
    EXPECT_EQ(HSA_STATUS_ERROR, Event(HSA_AMD_MEMORY_FAULT_READ_ONLY));
    const std::string said = Report().substr(before);
    EXPECT_EQ(1u, Count(said, "rawhal: memory access fault\n")) << said;
    EXPECT_EQ(1u, Count(said, "rawhal: write to read-only memory\n")) << said;
    EXPECT_EQ(2u, Count(said, "access at 0x123456789000")) << said;
    EXPECT_EQ(HSA_STATUS_ERROR, Event(0, static_cast<hsa_amd_event_type_t>(77)));
    EXPECT_EQ(said, Report().substr(before));
    EXPECT_EQ(HSA_STATUS_ERROR, Event(0, static_cast<hsa_amd_event_type_t>(1))); // a reset
    const std::string lost = Report().substr(before + said.size());
    EXPECT_EQ(1u, Count(lost, "rawhal: device lost\n")) << lost;
    EXPECT_EQ(1u, Count(lost, "  1.  99 %  device lost: ")) << lost;
    const std::string all = Report().substr(before);
    Destroy(queue);
    Unload();
    EXPECT_EQ(HSA_STATUS_ERROR, Event(0)); // the runtime keeps it
    EXPECT_EQ(all, Report().substr(before));
  }
}
