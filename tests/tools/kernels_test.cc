// Names of kernels and labels of queues, as observers learn them.
#include <gtest/gtest.h>

#include <string>

extern "C" {
#include "tools/shared/kernels.h"
#include "tools/shared/labels.h"
}

namespace {

class Kernels : public testing::Test {
protected:
  ~Kernels() override { kernels_free(&kernels_); }

  void Tell(uint64_t object, const char *name, uint32_t kind = 0, uint64_t module = 1)
  {
    rawhal_event_t event = {};
    event.type = RAWHAL_EVENT_KERNEL;
    event.id = module;
    event.kernel_object = object;
    event.kind = kind;
    event.text = {name, strlen(name)};
    kernels_learn(&kernels_, &event);
  }
  std::string Name(uint64_t object) const
  {
    const rawhal_string_t name = kernels_find(&kernels_, object);
    const char *instead = kernels_instead(&kernels_, object);
    return std::string(name.data, name.size) + (instead ? std::string(" ") + instead : "");
  }

  kernels_t kernels_ = {};
};

TEST_F(Kernels, SayWhatRunsInTheirPlace)
{
  Tell(64, "one");
  Tell(128, "one", RAWHAL_EVENT_INSTEAD_PROBED);
  Tell(192, "one", 77); // of a later version
  EXPECT_EQ("one", Name(64));
  EXPECT_EQ("one probed", Name(128));
  EXPECT_EQ("one", Name(192));
  EXPECT_EQ("", Name(256));
}

TEST_F(Kernels, ASubstituteStandsForAllOfWhichItIsTold)
{
  Tell(64, "one", RAWHAL_EVENT_INSTEAD_SUBSTITUTE);
  Tell(64, "two", RAWHAL_EVENT_INSTEAD_SUBSTITUTE);
  Tell(64, "one", RAWHAL_EVENT_INSTEAD_SUBSTITUTE);
  EXPECT_EQ("one, two substitute", Name(64));
  const std::string most(510, 'x');
  Tell(128, "one", RAWHAL_EVENT_INSTEAD_SUBSTITUTE);
  Tell(128, most.c_str(), RAWHAL_EVENT_INSTEAD_SUBSTITUTE); // no room for both
  EXPECT_EQ(most + " substitute", Name(128));
  Tell(64, "three"); // what is there now
  EXPECT_EQ("three", Name(64));
}

TEST_F(Kernels, GoWithTheirModule)
{
  Tell(64, "one", RAWHAL_EVENT_INSTEAD_PROBED, 5);
  rawhal_event_t event = {};
  event.type = RAWHAL_EVENT_MODULE_UNLOAD;
  event.id = 5;
  kernels_learn(&kernels_, &event);
  EXPECT_EQ("", Name(64));
  Tell(64, "two", RAWHAL_EVENT_INSTEAD_SUBSTITUTE);
  EXPECT_EQ("two substitute", Name(64));
}

class QueueLabels : public testing::Test {
protected:
  ~QueueLabels() override { list_free(&labels_); }

  void Tell(rawhal_event_type_t type, uint64_t queue, const char *label = "", unsigned door = 1)
  {
    rawhal_event_t event = {};
    event.type = type;
    event.queue_id = queue;
    event.text = rawhal_string(label);
    labels_learn(&labels_, door, &event);
  }
  std::string Label(uint64_t queue, unsigned door = 1) const
  {
    const rawhal_string_t label = labels_find(&labels_, door, queue);
    return std::string(label.data, label.size);
  }

  labels_t labels_ = {};
};

TEST_F(QueueLabels, AreThoseOfTheLastEvent)
{
  Tell(RAWHAL_EVENT_QUEUE_CREATE, 1, "one");
  Tell(RAWHAL_EVENT_QUEUE_CREATE, 1, "front's", 2);
  Tell(RAWHAL_EVENT_QUEUE_CREATE, 2);
  Tell(RAWHAL_EVENT_LABEL, 2, "two");
  Tell(RAWHAL_EVENT_LABEL, 0, "a buffer");
  Tell(RAWHAL_EVENT_SUBMIT, 3, "a dispatch");
  EXPECT_EQ("one", Label(1));
  EXPECT_EQ("front's", Label(1, 2));
  EXPECT_EQ("two", Label(2));
  EXPECT_EQ("", Label(3));
  EXPECT_EQ("", Label(0));
  Tell(RAWHAL_EVENT_LABEL, 2);
  EXPECT_EQ("", Label(2));
  const std::string full(RAWHAL_LABEL_BYTES + 10, 'x');
  Tell(RAWHAL_EVENT_LABEL, 2, full.c_str());
  EXPECT_EQ(full.substr(0, RAWHAL_LABEL_BYTES - 1), Label(2));
}

// Of a queue that has ended events may still come; its place is the next one's.
TEST_F(QueueLabels, PlacesOfQueuesThatHaveEndedAreUsedAgain)
{
  for (uint64_t queue = 1; queue <= 10000; ++queue) {
    Tell(RAWHAL_EVENT_QUEUE_CREATE, queue, "short");
    Tell(RAWHAL_EVENT_QUEUE_DESTROY, queue);
    ASSERT_EQ("short", Label(queue));
  }
  EXPECT_EQ(1u, labels_.count);
  for (uint64_t queue = 20000; queue < 30000; ++queue)
    Tell(RAWHAL_EVENT_LABEL, queue, "long");
  EXPECT_EQ("long", Label(20000));
  EXPECT_EQ("", Label(29999)) << "there is no room for so many";
  Tell(RAWHAL_EVENT_QUEUE_DESTROY, 20000);
  Tell(RAWHAL_EVENT_QUEUE_DESTROY, 29999);
  Tell(RAWHAL_EVENT_LABEL, 29999, "now");
  EXPECT_EQ("now", Label(29999));
  EXPECT_EQ("", Label(20000));
  EXPECT_EQ("long", Label(20001));
}

} // namespace
