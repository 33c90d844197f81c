// What jobs have, and what is wrong.
#include "tests/fleet/slurm/hooks_test.h"

namespace {

TEST_F(Hooks, AJobHasWhatItWasAllottedAndLeavesNothing)
{
  ASSERT_EQ(0, Prolog(7, "shard:3(IDX:1)")) << host.log;
  EXPECT_EQ((std::vector<std::string>{"gpu1", "job.7"}), Kept());
  const Keeper keeper = KeeperOf(1);
  EXPECT_TRUE(IsAlive(keeper.pid));
  struct stat linked, kept;
  ASSERT_EQ(0, stat((folder_ + "/run/node/gpu1.region").c_str(), &linked));
  ASSERT_EQ(0, stat(keeper.path.c_str(), &kept));
  EXPECT_EQ(kept.st_ino, linked.st_ino) << "where rawhal top finds it";
  ASSERT_EQ(0, Task(7)) << said_;
  EXPECT_EQ("slurm-7", Variable("RAWHAL_TENANT"));
  EXPECT_EQ("/dev/null", Variable("HSA_TOOLS_LIB"));
  ASSERT_EQ(1u, Passed().size());
  const int fd = Passed()[0];
  EXPECT_LE(100, fd);
  EXPECT_EQ(0, fcntl(fd, F_GETFD) & FD_CLOEXEC) << "it survives exec()";
  struct stat facts;
  ASSERT_EQ(0, fstat(fd, &facts));
  EXPECT_NE(0, ftruncate(fd, 0)) << "it cannot be cut short";
  rawhal_limiter_t *limiter = Join("second");
  ASSERT_NE(nullptr, limiter) << error_.message;
  EXPECT_EQ(300000u, rawhal_limiter_get(limiter, RAWHAL_LIMIT_GPU_SHARE));
  EXPECT_EQ(4 * gib / 10 * 3 / 4096, rawhal_limiter_get(limiter, RAWHAL_LIMIT_MEMORY) / 4096);
  EXPECT_EQ(RAWHAL_QUOTA_EXCEEDED,
            rawhal_limiter_set(limiter, RAWHAL_LIMIT_GPU_SHARE, 310000, &error_));
  rawhal_limiter_close(limiter);
  EXPECT_EQ(nullptr, Join("first")) << "was not given";
  EXPECT_EQ(0, Epilog(7)) << host.log;
  EXPECT_TRUE(Kept().empty());
  EXPECT_NE(0, lstat((folder_ + "/run/node/gpu1.region").c_str(), &linked));
  AwaitEnd(keeper.pid);
  const std::string accounts = Read("accounting");
  EXPECT_TRUE(Has(accounts, "JobID|JobIDRaw|UID|Node|GPU|Device|")) << accounts;
  EXPECT_TRUE(Has(accounts, "\n7|7|" + std::to_string(geteuid()) + "|node|1|second|")) << accounts;
  EXPECT_TRUE(Has(accounts, "|30.0000|1288490188|0.000000|0\n")) << accounts;
  close(fd);
}

TEST_F(Hooks, SeveralGpusAreSeveralRegions)
{
  ASSERT_EQ(0, Prolog(1, "gpu:1(IDX:0),shard:2(IDX:1)"));
  ASSERT_EQ(0, Prolog(2, "shard:8(IDX:1)"));
  EXPECT_EQ((std::vector<std::string>{"gpu0", "gpu1", "job.1", "job.2"}), Kept());
  ASSERT_EQ(0, Task(1)) << said_;
  ASSERT_EQ(2u, Passed().size());
  const struct {
    const char *device;
    uint64_t share, memory;
  } parts[] = {{"first", RAWHAL_UNLIMITED, 8 * gib}, {"second", 200000, 4 * gib / 10 * 2}};
  for (const auto &part : parts) {
    rawhal_limiter_t *limiter = Join(part.device);
    ASSERT_NE(nullptr, limiter) << error_.message;
    EXPECT_EQ(part.share, rawhal_limiter_get(limiter, RAWHAL_LIMIT_GPU_SHARE));
    EXPECT_EQ(part.memory / 4096, rawhal_limiter_get(limiter, RAWHAL_LIMIT_MEMORY) / 4096);
    rawhal_limiter_close(limiter);
  }
  for (int fd : Passed())
    close(fd);
  EXPECT_EQ(0, Epilog(1));
  EXPECT_EQ((std::vector<std::string>{"gpu1", "job.2"}), Kept());
}

TEST_F(Hooks, TenantsAreCalledAsJobsAre)
{
  Answer(12, "shard:1(IDX:0)");
  host.answer.array_job_id = 10;
  host.answer.array_task_id = 3;
  begun_.push_back(12);
  ASSERT_EQ(0, Call(slurm_spank_job_prolog, S_CTX_JOB_SCRIPT, 12));
  EXPECT_TRUE(Has(Read("run/node/job.12"), "tenant slurm-10_3\n"));
  Answer(14, "shard:1(IDX:0)");
  host.answer.het_job_id = 13;
  host.answer.het_job_offset = 1;
  begun_.push_back(14);
  ASSERT_EQ(0, Call(slurm_spank_job_prolog, S_CTX_JOB_SCRIPT, 14));
  EXPECT_TRUE(Has(Read("run/node/job.14"), "tenant slurm-13+1\n"));
}

TEST_F(Hooks, AJobWithoutGpusIsLeftAlone)
{
  for (const char *gres : {static_cast<const char *>(nullptr), "", "nic:1(IDX:0)"}) {
    ASSERT_EQ(0, Prolog(3, gres)) << host.log;
    EXPECT_TRUE(Kept().empty());
    EXPECT_EQ(0, Task(3));
    EXPECT_EQ("", Variable("RAWHAL_LIMIT_REGION") + Variable("HSA_TOOLS_LIB"));
    EXPECT_EQ(0, Epilog(3));
  }
}

TEST_F(Hooks, OptionsAreRegisteredWhereJobsBegin)
{
  EXPECT_EQ(0, Call(slurm_spank_init, S_CTX_ALLOCATOR, 0));
  EXPECT_EQ(2, host.registered);
  EXPECT_EQ(0, Call(slurm_spank_init, S_CTX_SLURMD, 0));
  EXPECT_EQ(2, host.registered);
}

TEST_F(Hooks, AWishIsNeverMoreThanWhatWasAllotted)
{
  const struct {
    const char *share, *memory, *reason;
  } cases[] = {{"41%", nullptr, "--gpu-share=41% is more than what the job was allotted: 40%"},
               {nullptr, "4G", "--gpu-memory=4GiB is more than what the job was allotted: "},
               {"x", nullptr, "--gpu-share: "},
               {nullptr, "x", "--gpu-memory: "}};
  for (const auto &c : cases) {
    host.options[0] = c.share;
    host.options[1] = c.memory;
    ASSERT_EQ(0, Prolog(4, "shard:4(IDX:0)"));
    EXPECT_NE(0, Task(4));
    EXPECT_TRUE(Has(said_, std::string("rawhal: this job does not start: ") + c.reason)) << said_;
    EXPECT_TRUE(Has(host.log, c.reason)) << host.log;
    EXPECT_EQ(0, Epilog(4));
    EXPECT_TRUE(Kept().empty());
  }
  host.options[0] = "5%";
  host.options[1] = "10%";
  ASSERT_EQ(0, Prolog(4, "shard:4(IDX:0)"));
  ASSERT_EQ(0, Task(4)) << said_;
  EXPECT_EQ("5%", Variable("RAWHAL_PROCESS_SHARE"));
  EXPECT_EQ("10%", Variable("RAWHAL_PROCESS_MEMORY_LIMIT"));
  rawhal_limiter_t *limiter = Join("first");
  ASSERT_NE(nullptr, limiter) << error_.message;
  EXPECT_EQ(50000u, rawhal_limiter_get(limiter, RAWHAL_LIMIT_GPU_SHARE));
  EXPECT_EQ(8 * gib / 10 / 4096, rawhal_limiter_get(limiter, RAWHAL_LIMIT_MEMORY) / 4096);
  rawhal_limiter_close(limiter);
  close(Passed()[0]);
}

TEST_F(Hooks, WhatIsWrongStopsTheJobUnlessTheOperatorSaysElse)
{
  given_ = {{"SLURM_SHARDS_ON_NODE", "3"}};
  const std::vector<std::string> good = words_;
  const struct {
    const char *gres;
    bool is_down;
    std::string without, with, reason;
  } cases[] = {
      {"shard:3(IDX:0)", true, "", "", "asking Slurm's controller for job 5: Connection refused"},
      {"shard:3(IDX:2)", false, "", "", "Slurm has given GPU 2, but this node has 2"},
      {"shard:3", false, "", "", "it does not say of which GPU"},
      {"shard:3(IDX:0)", false, "shards=10", "", "is shards= as in gres.conf?"},
      {"shard:3(IDX:0)", false, "", "unknown", "'unknown' is none of dir="},
      {"shard:3(IDX:0)", false, "front=/dev/null", "front=/none", "front=/none: "}};
  for (const auto &c : cases)
    for (const char *on_error : {"refuse", "drain", "run"}) {
      SCOPED_TRACE(c.reason + ", " + on_error);
      words_ = {std::string("on-error=") + on_error, c.with.empty() ? "accounting=none" : c.with};
      for (const std::string &word : good)
        if (word != c.without)
          words_.push_back(word);
      host.is_down = c.is_down;
      *host.log = '\0';
      EXPECT_EQ(strcmp(on_error, "drain") ? 0 : -1, Prolog(5, c.gres)) << host.log;
      EXPECT_TRUE(Has(host.log, c.reason)) << host.log;
      if (strcmp(on_error, "drain") != 0) {
        EXPECT_EQ(strcmp(on_error, "run") ? -1 : 0, Task(5)) << host.log;
        EXPECT_EQ("", Variable("RAWHAL_LIMIT_REGION"));
      }
      EXPECT_EQ(strcmp(on_error, "refuse") == 0, Has(said_, c.reason)) << said_;
      said_.clear();
      host.is_down = false;
      words_ = good;
      EXPECT_EQ(0, Epilog(5));
      EXPECT_TRUE(Kept().empty());
    }
}

TEST_F(Hooks, WithoutAPrologTheStepMakesUpForIt)
{
  given_ = {{"SLURM_SHARDS_ON_NODE", "3"}};
  Answer(6, "shard:3(IDX:0)");
  begun_.push_back(6);
  ASSERT_EQ(0, Task(6)) << said_ << host.log;
  EXPECT_EQ("slurm-6", Variable("RAWHAL_TENANT"));
  close(Passed()[0]);
  EXPECT_EQ(0, Epilog(6));
  // Of a step without GPUs nobody asks, whatever its user calls it.
  given_ = {};
  EXPECT_EQ(0, Task(6));
  EXPECT_TRUE(Kept().empty());
}

TEST_F(Hooks, OtherToolsStayBehindTheFront)
{
  given_ = {{"HSA_TOOLS_LIB", "one.so /dev/null  two.so"},
            {"ROCP_TOOL_LIBRARIES", "three.so:"},
            {"RAWHAL_TENANT", "another"},
            {"RAWHAL_LIMIT_REGION", "/tmp/region"}};
  ASSERT_EQ(0, Prolog(8, "shard:1(IDX:0)"));
  ASSERT_EQ(0, Task(8)) << said_;
  EXPECT_EQ("/dev/null one.so two.so", Variable("HSA_TOOLS_LIB"));
  EXPECT_EQ("/dev/librawhal-front-register.so:three.so:", Variable("ROCP_TOOL_LIBRARIES"));
  EXPECT_EQ("slurm-8", Variable("RAWHAL_TENANT"));
  EXPECT_EQ("tenant,region", Variable("RAWHAL_LIMITS_PINNED"));
  close(Passed()[0]);
}

TEST_F(Hooks, AnotherVersionsRegionIsNotUsed)
{
  ASSERT_EQ(0, Prolog(30, "shard:1(IDX:0)"));
  const Keeper keeper = KeeperOf(0);
  const int fd = open(keeper.path.c_str(), O_RDWR | O_CLOEXEC);
  const uint32_t other = 999;
  ASSERT_EQ(static_cast<ssize_t>(sizeof(other)), pwrite(fd, &other, sizeof(other), 8));
  close(fd);
  ASSERT_EQ(0, Prolog(31, "shard:1(IDX:0)"));
  EXPECT_NE(0, Task(31));
  EXPECT_TRUE(Has(said_, "jobs that use GPU 0 began under another version of rawhal, and go on") &&
              Has(said_, "version 999"))
      << said_;
  EXPECT_EQ(0, Epilog(31));
  EXPECT_TRUE(IsAlive(keeper.pid));
  EXPECT_EQ(0, Epilog(30));
  AwaitEnd(keeper.pid);
  ASSERT_EQ(0, Prolog(32, "shard:1(IDX:0)"));
  ASSERT_EQ(0, Task(32)) << said_;
  close(Passed()[0]);
}

TEST_F(Hooks, DamagedFilesStopAJobAndNotTheNext)
{
  for (const char *text : {"", "tenant\n", "gpu 0 x y z\n", "what\n", "user 1\n"}) {
    ASSERT_EQ(0, Prolog(50, "shard:1(IDX:0)"));
    Write("run/node/job.50", text);
    EXPECT_NE(0, Task(50));
    EXPECT_TRUE(Has(said_, "job.50 is damaged")) << said_;
    EXPECT_EQ(0, Epilog(50));
    std::filesystem::remove(folder_ + "/run/node/job.50");
    ASSERT_EQ(0, Prolog(51, "shard:1(IDX:0)")) << host.log;
    EXPECT_EQ(0, Epilog(51)) << host.log;
  }
  ASSERT_EQ(0, Prolog(52, "shard:1(IDX:0)"));
  const Keeper keeper = KeeperOf(0);
  const std::string whole = Read("run/node/gpu0");
  for (const std::string &text : {std::string(), std::string("1 2 3 4"), std::string("-1 0 0 0")}) {
    Write("run/node/gpu0", text);
    EXPECT_NE(0, Task(52));
    EXPECT_TRUE(Has(said_, "has no region on this node")) << said_;
  }
  Write("run/node/gpu0", whole);
  EXPECT_EQ(0, Task(52)) << said_;
  close(Passed()[0]);
}

TEST_F(Hooks, AFolderOfOthersIsNotTrusted)
{
  ASSERT_EQ(0, Prolog(60, "shard:1(IDX:0)"));
  EXPECT_EQ(0, Epilog(60));
  ASSERT_EQ(0, chmod((folder_ + "/run/node").c_str(), 0770));
  EXPECT_EQ(-1, Prolog(61, "shard:1(IDX:0)")) << "nothing can be recorded: the node is drained";
  EXPECT_TRUE(Has(host.log, "with mode 0700")) << host.log;
  ASSERT_EQ(0, chmod((folder_ + "/run/node").c_str(), 0700));
}

} // namespace
