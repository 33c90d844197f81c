// The plugin's hooks, called as Slurm calls them, by a host that says what a test wants.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <rawhal/limit.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "tests/child.h"

extern "C" {
#include "tests/fleet/slurm/host.h"
}

namespace {

constexpr uint64_t gib = uint64_t{1} << 30;

bool Has(const std::string &text, const std::string &part)
{
  return text.find(part) != std::string::npos;
}

// Whether a process, such as a region's keeper, runs.
bool IsAlive(int pid)
{
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  return std::getline(file, text) && !Has(text, ") Z ");
}

// One that was killed is gone soon.
void AwaitEnd(int pid)
{
  while (IsAlive(pid))
    usleep(1000);
}

// Of this process's children, where it is a subreaper.
int Keepers()
{
  int count = 0;
  for (const auto &entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    std::ifstream file(entry.path() / "stat");
    std::string text;
    if (isdigit(name[0]) && std::getline(file, text) && Has(text, "(rawhal-region) ") &&
        !Has(text, ") Z ") && std::stoi(text.substr(text.rfind(')') + 4)) == getpid())
      ++count;
  }
  return count;
}

class Hooks : public testing::Test {
protected:
  Hooks()
  {
    char name[] = "/tmp/rawhal-hooks-XXXXXX";
    folder_ = mkdtemp(name);
    setenv("SLURMD_NODENAME", "node", 1);
    words_ = {"front=/dev/null", "shards=10", "gpu=first,8G", "gpu=second,4G"};
    host = {};
  }
  ~Hooks() override
  {
    for (uint32_t job : begun_)
      (void)Epilog(job);
    EXPECT_TRUE(Kept().empty()) << "something is left";
    std::filesystem::remove_all(folder_);
    unsetenv("SLURMD_NODENAME");
  }

  int Call(spank_f *hook, spank_context_t context, uint32_t job)
  {
    std::vector<std::string> words = words_;
    words.push_back("dir=" + folder_ + "/run");
    words.push_back("accounting=" + folder_ + "/accounting");
    std::vector<char *> texts;
    for (std::string &word : words)
      texts.push_back(word.data());
    host.context = context;
    host.job = job;
    return hook(nullptr, static_cast<int>(texts.size()), texts.data());
  }
  static void Answer(uint32_t job, const char *gres)
  {
    static char node[] = "node";
    host.answer = {};
    host.answer.job_id = job;
    host.answer.user_id = geteuid();
    host.answer.array_task_id = NO_VAL;
    host.answer.nodes = node;
    host.answer.gres_detail_cnt = gres ? 1 : 0;
    host.gres[0] = const_cast<char *>(gres);
    host.answer.gres_detail_str = host.gres;
  }
  int Prolog(uint32_t job, const char *gres)
  {
    Answer(job, gres);
    begun_.push_back(job);
    return Call(slurm_spank_job_prolog, S_CTX_JOB_SCRIPT, job);
  }
  int Epilog(uint32_t job) { return Call(slurm_spank_job_epilog, S_CTX_JOB_SCRIPT, job); }
  // A task of a step: what it wrote to its stderr is in said_.
  int Task(uint32_t job)
  {
    memset(host.variables, 0, sizeof(host.variables));
    for (const auto &variable : given_)
      (void)spank_setenv(nullptr, variable.first.c_str(), variable.second.c_str(), 1);
    EXPECT_EQ(0, Call(slurm_spank_init_post_opt, S_CTX_REMOTE, job));
    testing::internal::CaptureStderr();
    const int result = Call(slurm_spank_task_init_privileged, S_CTX_REMOTE, job);
    said_ = testing::internal::GetCapturedStderr();
    return result;
  }
  static std::string Variable(const char *name)
  {
    const char *value = host_variable(name);
    return value ? value : "";
  }
  // As a program of the task does; NULL: it may not, for error_'s reason.
  rawhal_limiter_t *Join(const char *device)
  {
    rawhal_limit_config_t *config = nullptr;
    rawhal_limiter_t *limiter = nullptr;
    EXPECT_EQ(RAWHAL_OK, rawhal_limit_config_create(&config, &error_));
    EXPECT_EQ(RAWHAL_OK,
              rawhal_limit_config_set_name(config, RAWHAL_LIMIT_NAME_REGION,
                                           Variable("RAWHAL_LIMIT_REGION").c_str(), &error_));
    EXPECT_EQ(RAWHAL_OK, rawhal_limit_config_set_name(config, RAWHAL_LIMIT_NAME_TENANT,
                                                      Variable("RAWHAL_TENANT").c_str(), &error_));
    const rawhal_status_t status = rawhal_limiter_open(config, device, &limiter, &error_);
    EXPECT_EQ(status == RAWHAL_OK, limiter != nullptr);
    rawhal_limit_config_destroy(config);
    return limiter;
  }
  std::vector<int> Passed() const
  {
    std::vector<int> fds;
    std::istringstream text(Variable("RAWHAL_LIMIT_REGION").substr(3));
    for (std::string number; std::getline(text, number, ',');)
      fds.push_back(std::stoi(number));
    return fds;
  }
  std::string Read(const std::string &name) const
  {
    std::ifstream file(folder_ + "/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void Write(const std::string &name, const std::string &text) const
  {
    std::ofstream(folder_ + "/" + name) << text;
  }
  std::vector<std::string> Kept() const
  {
    std::vector<std::string> names;
    std::error_code code;
    for (const auto &entry : std::filesystem::directory_iterator(folder_ + "/run/node", code))
      if (entry.path().filename() != "lock" && entry.path().extension() != ".region")
        names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
  struct Keeper {
    int pid, fd;
    std::string path;
  };
  Keeper KeeperOf(int gpu) const
  {
    Keeper keeper = {};
    uint64_t start = 0;
    std::istringstream(Read("run/node/gpu" + std::to_string(gpu))) >> keeper.pid >> start >>
        keeper.fd;
    keeper.path = "/proc/" + std::to_string(keeper.pid) + "/fd/" + std::to_string(keeper.fd);
    return keeper;
  }
  // A process of the job, which has joined and lives until it is killed.
  pid_t Member(const char *device)
  {
    int ends[2];
    EXPECT_EQ(0, pipe(ends));
    const pid_t child = fork_child();
    if (child == 0) {
      char byte = Join(device) ? 1 : 0;
      (void)!write(ends[1], &byte, 1);
      for (;;)
        pause();
    }
    char byte = 0;
    EXPECT_EQ(1, read(ends[0], &byte, 1));
    EXPECT_EQ(1, byte);
    close(ends[0]);
    close(ends[1]);
    return child;
  }

  std::string folder_, said_;
  std::vector<std::string> words_;
  std::vector<std::pair<std::string, std::string>> given_;
  std::vector<uint32_t> begun_;
  rawhal_error_t error_ = {};
};

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

TEST_F(Hooks, ProcessesThatAreLeftAreEnded)
{
  ASSERT_EQ(0, Prolog(9, "shard:1(IDX:0)"));
  ASSERT_EQ(0, Task(9));
  const pid_t member = Member("first");
  int status = 0;
  EXPECT_EQ(0, Epilog(9)) << host.log;
  EXPECT_EQ(member, waitpid(member, &status, 0));
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
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
  int status = 0;
  EXPECT_EQ(member, waitpid(member, &status, 0));
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  EXPECT_TRUE(Kept().empty());
  EXPECT_TRUE(Has(Read("accounting"), "|10.0000|858993459|0.000000|")) << Read("accounting");
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
