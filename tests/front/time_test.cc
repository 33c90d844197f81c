// Ways to more of a device's time than a share allows, on softgpu, by what softgpu says that it did.
#include "tests/front/looks.h"
#include "tests/front/region_child.h"

#include <gtest/gtest.h>
#include <rawhal/queue.h>
#include <unistd.h>

#include <sstream>

namespace {

constexpr uint64_t ms = 1000000;

// Threads of a program, each with one kind of call that returns when the device has done it.
class FrontCalls : public testing::Test {
protected:
  struct Done {
    uint64_t dispatches_and_copies, device_ns;
  };

  void Start(const char *share)
  {
    std::vector<std::string> words = {RAWHAL_GREEDY_TIME, "calls"};
    for (const char *kind : {"copy", "copy", "up", "down", "fill", "fill-host", "fill-locked",
                             "clear", "import", "export", "image"})
      words.push_back(kind);
    (void)signal(SIGPIPE, SIG_IGN);    // one that has ended does not listen
    setenv("SOFTGPU_THREADS", "1", 1); // or one call is the work of several
    child_ = std::make_unique<RegionChild>(
        region_, RegionChild::Variables{{"RAWHAL_GPU_SHARE", share}}, words);
  }
  void TearDown() override
  {
    child_.reset();
    unsetenv("SOFTGPU_THREADS");
  }

  Done Ask() const
  {
    Done done = {};
    child_->Say("\n");
    std::istringstream(child_->Line()) >> done.dispatches_and_copies >> done.device_ns;
    return done;
  }
  Done AwaitDone(uint64_t count) const
  {
    Done done = Ask();
    for (; done.dispatches_and_copies < count && !HasFailure(); done = Ask())
      usleep(5000);
    return done;
  }

  Scratch scratch_;
  const std::string region_ = scratch_ / "region";
  std::unique_ptr<RegionChild> child_;
};

TEST_F(FrontCalls, AreHeldToTheShare)
{
  const uint64_t rounds = 24, share = 4, slack = 4 * ms; // a few calls, and the burst's part
  Start("4%");
  const uint64_t began = rawhal_deadline_after(0);
  const Done first = AwaitDone(1), last = AwaitDone(rounds);
  const uint64_t used = last.device_ns - first.device_ns, lasted = rawhal_deadline_after(0) - began;
  printf("%.2f percent of %.2f s\n",
         100.0 * static_cast<double>(used) / static_cast<double>(lasted),
         static_cast<double>(lasted) / 1e9);
  EXPECT_LE(used, lasted * share / 100 + slack);
}

class FrontCallsStopped : public FrontCalls, public testing::WithParamInterface<bool> {};

TEST_P(FrontCallsStopped, NoneGoesUntilItMay)
{
  const bool suspend = GetParam();
  rawhal_limit_control_t *control = nullptr;
  Start("90%");
  (void)AwaitDone(22);
  ASSERT_EQ(RAWHAL_OK, rawhal_limit_control_open(region_.c_str(), &control, nullptr));
  ASSERT_EQ(RAWHAL_OK,
            suspend ? rawhal_limit_control_suspend(control, nullptr, "default", true, nullptr)
                    : rawhal_limit_control_set(control, nullptr, "default", RAWHAL_LIMIT_GPU_SHARE,
                                               0, nullptr));
  AwaitLooks(region_, 20);
  while (child_->Tenant().open_ns) // what is in flight goes on
    usleep(1000);
  const Done before = Ask();
  AwaitLooks(region_, 200);
  EXPECT_EQ(before.dispatches_and_copies, Ask().dispatches_and_copies);
  EXPECT_EQ(RAWHAL_OK, rawhal_limit_control_release(control, nullptr, "default", nullptr));
  rawhal_limit_control_close(control);
  (void)AwaitDone(before.dispatches_and_copies + 11);
}

INSTANTIATE_TEST_SUITE_P(Ways, FrontCallsStopped, testing::Bool(),
                         [](const testing::TestParamInfo<bool> &suspended) {
                           return suspended.param ? "Suspended" : "AtNothing";
                         });

// ---- Kernels ----

std::string greedy(const char *share, const char *how, const char *lasts)
{
  Scratch scratch;
  RegionChild child(scratch / "region", {{"RAWHAL_GPU_SHARE", share}},
                    {RAWHAL_GREEDY_TIME, how, RAWHAL_TURNS, lasts});
  return child.Line();
}

// What they had of it is the device's own count: of 2 ms each.
class FrontTurns : public testing::TestWithParam<const char *> {};

TEST_P(FrontTurns, AreHeldToTheShare)
{
  const std::string said = greedy("10%", GetParam(), "800");
  EXPECT_NE(std::string::npos, said.find(" percent of ")) << said;
  EXPECT_LE(atof(said.c_str()), 14) << said; // a burst, and one of them
}

INSTANTIATE_TEST_SUITE_P(Queues, FrontTurns, testing::Values("turns", "real", "ring", "both"),
                         [](const testing::TestParamInfo<const char *> &how) {
                           return std::string(how.param);
                         });

// A kernel behind a barrier that the host opens has not been running all that time.
TEST(FrontTurn, WaitsForNothing)
{
  const std::string said = greedy("25%", "late", "600");
  EXPECT_NE(std::string::npos, said.find("no penalty")) << said;
}

} // namespace
