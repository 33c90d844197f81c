// However jobs and hooks end: what is left of them, and what is known.
#include "tests/fleet/slurm/hooks_test.h"

namespace {

TEST_F(Hooks, ProcessesThatAreLeftAreEnded)
{
  ASSERT_EQ(0, Prolog(9, "shard:1(IDX:0)"));
  ASSERT_EQ(0, Task(9));
  const pid_t member = Member("first");
  EXPECT_EQ(0, Epilog(9)) << host.log;
  ExpectKilled(member);
  EXPECT_TRUE(Kept().empty());
  close(Passed()[0]);
}

// With a region of which nobody else knew they would have time and memory beside those who come.
TEST_F(Hooks, ProcessesThatAreLeftAreFoundWithoutAKeeper)
{
  ASSERT_EQ(0, Prolog(28, "shard:1(IDX:0)"));
  ASSERT_EQ(0, Task(28));
  const pid_t member = Member("first");
  const Keeper keeper = KeeperOf(0);
  ASSERT_TRUE(signal_child(keeper.pid, SIGKILL));
  AwaitEnd(keeper.pid);
  EXPECT_EQ(0, Epilog(28)) << host.log;
  ExpectKilled(member);
  EXPECT_TRUE(Kept().empty());
  EXPECT_TRUE(Has(Read("accounting"), "|10.0000|858993459|0.000000|")) << Read("accounting");
  close(Passed()[0]);
}

// The lock of a region is any member's: one that is stopped with it, or does not give it back.
TEST_F(Hooks, ALeftProcessThatHoldsTheRegionsLockIsEnded)
{
  ASSERT_EQ(0, Prolog(29, "shard:1(IDX:0)"));
  ASSERT_EQ(0, Task(29));
  const pid_t member = Member("first", true);
  EXPECT_EQ(0, Epilog(29));
  ExpectKilled(member);
  EXPECT_TRUE(Kept().empty());
  close(Passed()[0]);
}

TEST_F(Hooks, WhatCannotBeRemovedForAnothersLockIsTheNextHooks)
{
  ASSERT_EQ(0, Prolog(30, "shard:1(IDX:0)"));
  ASSERT_EQ(0, Prolog(31, "shard:1(IDX:0)"));
  ASSERT_EQ(0, Task(31));
  const pid_t member = Member("first", true);
  EXPECT_EQ(0, Epilog(30));
  EXPECT_TRUE(Has(host.log, "holds the region's lock")) << host.log;
  EXPECT_EQ((std::vector<std::string>{"gpu0", "job.30", "job.31"}), Kept());
  (void)end_child(member);
  EXPECT_EQ(0, Epilog(31));
  EXPECT_TRUE(Kept().empty());
  const std::string accounts = Read("accounting");
  EXPECT_TRUE(Has(accounts, "\n30|30|") && Has(accounts, "\n31|31|")) << accounts;
  close(Passed()[0]);
}

TEST_F(Hooks, OthersProcessesAreNot)
{
  ASSERT_EQ(0, Prolog(10, "shard:1(IDX:0)"));
  ASSERT_EQ(0, Task(10));
  const pid_t member = Member("first");
  // As if the job were another user's: whoever can write the region could have put the number there.
  const std::string record = Read("run/node/job.10");
  const size_t at = record.find("user "), end = record.find('\n', at);
  Write("run/node/job.10", record.substr(0, at) + "user 4242" + record.substr(end));
  EXPECT_EQ(0, Epilog(10));
  EXPECT_TRUE(Has(host.log, "there are processes in the tenant")) << host.log;
  EXPECT_EQ((std::vector<std::string>{"gpu0", "job.10"}), Kept()) << "until it has gone";
  EXPECT_TRUE(IsAlive(member));
  (void)end_child(member);
  ASSERT_EQ(0, Prolog(11, "shard:1(IDX:1)"));
  EXPECT_EQ((std::vector<std::string>{"gpu1", "job.11"}), Kept()) << "seen by the next hook";
  close(Passed()[0]);
}

TEST_F(Hooks, ARegionIsFoundWithoutItsKeeper)
{
  ASSERT_EQ(0, Prolog(20, "shard:1(IDX:0)"));
  ASSERT_EQ(0, Task(20));
  const Keeper keeper = KeeperOf(0);
  struct stat before, after;
  ASSERT_EQ(0, stat(keeper.path.c_str(), &before));
  ASSERT_TRUE(signal_child(keeper.pid, SIGKILL));
  AwaitEnd(keeper.pid);
  ASSERT_EQ(0, Prolog(21, "shard:1(IDX:0)")) << host.log;
  ASSERT_EQ(0, stat(KeeperOf(0).path.c_str(), &after));
  EXPECT_EQ(before.st_ino, after.st_ino) << "this process has it";
  const int passed = Passed()[0];
  rawhal_limiter_t *limiter = Join("first");
  EXPECT_NE(nullptr, limiter) << error_.message;
  rawhal_limiter_close(limiter);
  EXPECT_EQ(0, Epilog(20)) << host.log;
  EXPECT_EQ(0, Epilog(21)) << host.log;
  close(passed);
}

// All that had it have ended: what the job had nobody knows, and that is said.
TEST_F(Hooks, AJobWhoseRegionIsGoneIsStillAccountedFor)
{
  ASSERT_EQ(0, Prolog(27, "shard:3(IDX:0)"));
  const Keeper keeper = KeeperOf(0);
  ASSERT_TRUE(signal_child(keeper.pid, SIGKILL));
  AwaitEnd(keeper.pid);
  ASSERT_EQ(0, Epilog(27));
  EXPECT_TRUE(Has(Read("accounting"), "|30.0000|2576980377|Unknown|Unknown\n"))
      << Read("accounting");
  EXPECT_TRUE(
      Has(host.log, "the end of job 27: what it had of GPU 0 is not known: its region is gone"))
      << host.log;
}

// slurmd kills hooks that take too long. Wherever that is, the epilog finds what was made.
TEST_F(Hooks, ThatAreKilledLeaveNothing)
{
  ASSERT_EQ(0, prctl(PR_SET_CHILD_SUBREAPER, 1)); // keepers are this process's children then
  ASSERT_EQ(0, Prolog(70, "shard:1(IDX:0)"));
  const std::string first = folder_ + "/run/node/job.71", second = folder_ + "/run/node/gpu1";
  for (int steps = 0; steps < 40; ++steps) {
    const pid_t child = fork_child();
    if (child == 0)
      _exit(Prolog(71, "shard:1(IDX:0),gpu:1(IDX:1)"));
    // Until it has come to some file, and a while of some steps: the loop is the progress it makes.
    for (int i = 0; i < steps % 8 * 50; ++i)
      if (access((steps % 2 ? first : second).c_str(), F_OK) == 0)
        break;
    (void)end_child(child);
    EXPECT_EQ(0, Epilog(71)) << host.log;
    EXPECT_EQ((std::vector<std::string>{"gpu0", "job.70"}), Kept());
  }
  while (Keepers() > 1) // those of which nobody was told end by themselves
    while (waitpid(-1, nullptr, WNOHANG) > 0)
      ;
  EXPECT_TRUE(IsAlive(KeeperOf(0).pid));
  prctl(PR_SET_CHILD_SUBREAPER, 0);
  begun_ = {70};
}

// A hook may be killed between writing a file and giving it its name.
TEST_F(Hooks, WhatAKilledOneWasWritingIsGone)
{
  ASSERT_EQ(0, Prolog(90, "shard:1(IDX:0)")) << host.log;
  Write("run/node/next", "tenant slu");
  ASSERT_EQ(0, Epilog(91)) << host.log;
  EXPECT_EQ((std::vector<std::string>{"gpu0", "job.90"}), Kept());
  begun_ = {90};
}

TEST_F(Hooks, ARequeuedJobBeginsAgain)
{
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(0, Prolog(40, "shard:1(IDX:0)")) << host.log;
  ASSERT_EQ(0, Prolog(40, "shard:1(IDX:1)")) << host.log;
  EXPECT_EQ((std::vector<std::string>{"gpu1", "job.40"}), Kept());
  begun_ = {40};
}

} // namespace
