// Programs that were never changed, seen by another process: this one.
#include "tests/front/region_child.h"
#include "tests/observing.h"

#include <cinttypes>
#include <map>

#include <hsa/hsa.h>

extern "C" {
#include "debug/door/observe.h"
}

namespace {

struct Seen : rawhal_event_t {
  std::string words;
};

class FrontWatched : public testing::Test {
protected:
  ~FrontWatched() override { observer_close(observer_); }

  void Begin(const char *door, const std::vector<std::string> &program)
  {
    child_ = std::make_unique<RegionChild>(scratch_ / "region",
                                           RegionChild::Variables{{"RAWHAL_DOOR", door},
                                                                  {"RAWHAL_FRONT_REPORT", ""},
                                                                  {"SOFTGPU_TIMEOUT_MS", "120000"},
                                                                  {"SOFTGPU_TIMEOUT_MS", "120000"}},
                                           program);
  }
  // As soon as the program has a runtime.
  void Look()
  {
    rawhal_error_t error = {};
    while (observer_open(child_->Process(), 0, &observer_, &error) != RAWHAL_OK)
      usleep(1000);
    EXPECT_EQ(DOOR_OF_FRONT, observer_kind(observer_));
    observer_want(observer_, RAWHAL_EVENTS_ALL);
    observer_rewind(observer_);
  }

  static std::vector<Seen> Of(const std::vector<Seen> &all, rawhal_event_type_t type)
  {
    std::vector<Seen> some;
    for (const Seen &each : all)
      if (each.type == type)
        some.push_back(each);
    return some;
  }
  static std::vector<Seen> Named(const std::vector<Seen> &all, const std::string &name)
  {
    std::vector<Seen> some;
    for (const Seen &each : all)
      if (each.words.find(name) != std::string::npos)
        some.push_back(each);
    return some;
  }
  std::vector<Seen> Listed(rawhal_event_type_t type)
  {
    std::vector<Seen> all;
    uint64_t unlisted;
    observer_list(
        observer_,
        [](void *context, const rawhal_event_t *event) {
          static_cast<std::vector<Seen> *>(context)->push_back(
              {*event, std::string(event->text.data ? event->text.data : "", event->text.size)});
          return true;
        },
        &all, &unlisted);
    EXPECT_EQ(0u, unlisted);
    return Of(all, type);
  }
  // Of that name, when it is there.
  Seen Kernel(const std::string &name)
  {
    std::vector<Seen> found;
    while ((found = Named(Listed(RAWHAL_EVENT_KERNEL), name)).empty())
      usleep(1000);
    return found[0];
  }
  // The next line of the program. An observer that does not look for two seconds is forgotten.
  std::string Line()
  {
    while (!child_->HasPrinted())
      for (const Seen &each : Happened())
        before_.push_back(each);
    return child_->Line();
  }
  // What has happened by now.
  std::vector<Seen> Happened()
  {
    std::vector<Seen> all;
    all.swap(before_);
    rawhal_event_t event;
    uint64_t lost = 0;
    while (observer_next(observer_, &event, &lost))
      all.push_back({event, std::string(event.text.data ? event.text.data : "", event.text.size)});
    EXPECT_EQ(0u, lost);
    return all;
  }
  Seen Next(rawhal_event_type_t type)
  {
    std::vector<Seen> found;
    while ((found = Of(Happened(), type)).empty())
      usleep(1000);
    return found[0];
  }

  rawhal_status_t Ask(door_ask_t what, uint64_t address = 0, uint64_t bytes = 0,
                      const void *poked = nullptr)
  {
    return ask_process(observer_, what, address, bytes, poked, &answered_);
  }

  Scratch scratch_;
  std::unique_ptr<RegionChild> child_;
  observer_t *observer_ = nullptr;
  std::vector<Seen> before_;
  Answered answered_;
};

} // namespace

// A kernel that waits for a word of memory, until an observer writes it.
TEST_F(FrontWatched, APlainProgramWhileItRuns)
{
  Begin("poke", {RAWHAL_HANGS, RAWHAL_MISTAKES_OBJECT, "endless"});
  Look();
  const Seen kernel = Kernel("wait_for");
  EXPECT_EQ("wait_for", kernel.words);
  const std::vector<Seen> modules = Listed(RAWHAL_EVENT_MODULE_LOAD);
  ASSERT_EQ(1u, modules.size());
  EXPECT_EQ(modules[0].id, kernel.id);
  EXPECT_GT(modules[0].bytes, 0u);
  EXPECT_EQ(2u, Listed(RAWHAL_EVENT_QUEUE_CREATE).size());

  while (Ask(DOOR_WHY) == RAWHAL_OK && answered_.said.find("resident") == std::string::npos)
    usleep(1000);
  EXPECT_NE(std::string::npos,
            answered_.said.find(": packet 0, kernel wait_for; 1 wave is resident: "))
      << answered_.said;
  EXPECT_NE(std::string::npos, answered_.said.find(": nothing is in flight\n"))
      << answered_.said; // the other queue

  hsa_kernel_dispatch_packet_t packet = {};
  observer_queue_t at;
  for (const Seen &queue : Listed(RAWHAL_EVENT_QUEUE_CREATE))
    EXPECT_TRUE(observer_queue(
        observer_, queue.address, &at,
        [](void *context, uint64_t, const hsa_kernel_dispatch_packet_t *found) {
          if ((found->header & 0xff) == HSA_PACKET_TYPE_KERNEL_DISPATCH)
            *static_cast<hsa_kernel_dispatch_packet_t *>(context) = *found;
          return true;
        },
        &packet));
  ASSERT_EQ(kernel.kernel_object, packet.kernel_object);

  Outcome shown; // a wave that gets no processor cannot be asked where it is
  do {
    ASSERT_EQ(RAWHAL_OK, Ask(DOOR_CORE)) << answered_.said;
    spit(scratch_ / "core", answered_.got.data(), answered_.got.size());
    shown = run({RAWHAL_TOOL, "core", "show", scratch_ / "core"});
  } while (shown.out.find(" running ") == std::string::npos);
  for (const char *part : {" wait_for  ", " in flight ", " wait_for+0x", " read\n"})
    EXPECT_NE(std::string::npos, shown.out.find(part)) << part << shown.out << shown.err;

  ASSERT_EQ(RAWHAL_OK, Ask(DOOR_PEEK, reinterpret_cast<uint64_t>(packet.kernarg_address), 8))
      << answered_.said;
  uint64_t flag;
  memcpy(&flag, answered_.got.data(), sizeof(flag));
  EXPECT_EQ(RAWHAL_NOT_FOUND, Ask(DOOR_PEEK, reinterpret_cast<uint64_t>(&flag), 8)); // of this one
  (void)Happened();
  const uint32_t one = 1;
  ASSERT_EQ(RAWHAL_OK, Ask(DOOR_POKE, flag, sizeof(one), &one)) << answered_.said;
  EXPECT_EQ(1u, Next(RAWHAL_EVENT_COMPLETE).ticket);
  child_->Say("\n");
  EXPECT_EQ("done", child_->Line());
  EXPECT_EQ(0, child_->End());
  EXPECT_FALSE(observer_lives(observer_));
}

TEST_F(FrontWatched, AHipProgramFromItsFirstQueueToItsFault)
{
  Begin("events,now", {RAWHAL_WATCHED});
  ASSERT_EQ("nothing", child_->Line());
  child_->Say("\n");
  Look();
  const std::string place = Line();
  ASSERT_EQ("run", Line());
  const Seen kernel = Kernel("count_up");
  std::map<rawhal_event_type_t, size_t> count;
  uint64_t launched = 0;
  for (const Seen &each : Happened()) {
    ++count[each.type];
    if (each.type == RAWHAL_EVENT_SUBMIT && each.kernel_object == kernel.kernel_object)
      launched += each.packets; // several may go as one
  }
  EXPECT_GE(launched, 5u);
  EXPECT_GE(count[RAWHAL_EVENT_MODULE_LOAD], 1u);
  EXPECT_GE(count[RAWHAL_EVENT_ALLOCATE], 1u);
  EXPECT_GE(count[RAWHAL_EVENT_QUEUE_CREATE], 1u);
  if (!count[RAWHAL_EVENT_COMPLETE]) // nobody hurries
    (void)Next(RAWHAL_EVENT_COMPLETE);
  const uint64_t memory = strtoull(place.c_str(), nullptr, 16);
  const auto listed = [this, memory] {
    size_t found = 0;
    for (const Seen &each : Listed(RAWHAL_EVENT_ALLOCATE))
      found += each.address == memory && each.bytes >= 40000 && each.agent;
    return found;
  };
  EXPECT_EQ(1u, listed());
  const uint64_t queues = Listed(RAWHAL_EVENT_QUEUE_CREATE).size();
  child_->Say("\n");
  ASSERT_EQ("freed", Line());
  EXPECT_EQ(0u, listed());
  EXPECT_LE(Listed(RAWHAL_EVENT_QUEUE_CREATE).size(), queues);
  child_->Say("\n");
  const Seen fault = Next(RAWHAL_EVENT_FAULT);
  EXPECT_EQ(RAWHAL_FAULT_MEMORY, static_cast<rawhal_fault_kind_t>(fault.kind));
  EXPECT_NE(std::string::npos, fault.words.find("count_up")) << fault.words;
}
