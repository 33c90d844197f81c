// The plugin's hooks, called as Slurm calls them, by a host that says what a test wants.
#ifndef TESTS_FLEET_SLURM_HOOKS_TEST_H
#define TESTS_FLEET_SLURM_HOOKS_TEST_H

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

constexpr uint64_t gib = uint64_t{1} << 30;

inline bool Has(const std::string &text, const std::string &part)
{
  return text.find(part) != std::string::npos;
}

// Whether a process, such as a region's keeper, runs.
inline bool IsAlive(int pid)
{
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  return std::getline(file, text) && !Has(text, ") Z ");
}

// One that was killed is gone soon.
inline void AwaitEnd(int pid)
{
  while (IsAlive(pid))
    usleep(1000);
}

// Of this process's children, where it is a subreaper.
inline int Keepers()
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
  // A process of the job, which has joined and lives until it is killed; `holds`: the lock of the region's structure.
  pid_t Member(const char *device, bool holds = false)
  {
    int ends[2];
    EXPECT_EQ(0, pipe(ends));
    const pid_t child = fork_child();
    if (child == 0) {
      char byte = Join(device) ? 1 : 0;
      if (holds && byte)
        byte = Hold(Passed()[0]);
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

  // By the hook that has returned: it waits for those that it kills.
  static void ExpectKilled(pid_t member)
  {
    int status = 0;
    const bool has_ended = waitpid(member, &status, WNOHANG) == member;
    EXPECT_TRUE(has_ended && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << host.log;
    if (!has_ended)
      (void)end_child(member);
  }
  static char Hold(int region)
  {
    const int fd = open(("/proc/self/fd/" + std::to_string(region)).c_str(), O_RDWR | O_CLOEXEC);
    struct flock lock = {};
    lock.l_type = F_WRLCK;
    lock.l_start = off_t{1} << 40; // as queue/limit/region_lock.c has it
    lock.l_len = 1;
    return fcntl(fd, F_OFD_SETLK, &lock) == 0 ? 1 : 0;
  }

  std::string folder_, said_;
  std::vector<std::string> words_;
  std::vector<std::pair<std::string, std::string>> given_;
  std::vector<uint32_t> begun_;
  rawhal_error_t error_ = {};
};

#endif
