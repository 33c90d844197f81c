// Names of kernels, as observers learn them.
#include <gtest/gtest.h>

#include <string>

extern "C" {
#include "tools/shared/kernels.h"
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

} // namespace
