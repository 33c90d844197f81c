// What became of replacements, as processes tell each other in a folder.
extern "C" {
#include "front/outcomes.h"
}

#include "tests/cancelled.h"
#include "tests/child.h"
#include "tests/tools/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace {

class Outcomes : public testing::Test {
protected:
  void SetUp() override
  {
    rawhal_error_t error;
    ASSERT_EQ(RAWHAL_OK, outcomes_open(folder_.c_str(), &error)) << error.message;
  }
  void TearDown() override { outcomes_close(); }

  static outcome_key_t Key(const char *about)
  {
    outcome_key_t key = {};
    strncpy(key.about, about, sizeof(key.about) - 1);
    return key;
  }
  outcome_t Find() const
  {
    outcome_t outcome;
    outcomes_find(&key_, &outcome);
    return outcome;
  }
  std::vector<std::string> Files() const
  {
    std::vector<std::string> files;
    for (const auto &entry : std::filesystem::directory_iterator(folder_))
      files.push_back(entry.path());
    return files;
  }

  Scratch scratch_;
  const std::string folder_ = scratch_ / "outcomes";
  const outcome_key_t key_ = Key("a kernel and another");
};

// They are asked for where a program's thread submits, with locks held.
TEST_F(Outcomes, ACancelledThreadWritesThemToTheEnd)
{
  EXPECT_TRUE(goes_on_though_cancelled([this] {
    outcomes_try(&key_);
    outcomes_accept(&key_);
    (void)Find();
  }));
  EXPECT_EQ(OUTCOME_ACCEPTED, Find().kind);
  EXPECT_EQ(1u, Files().size());
}

TEST_F(Outcomes, TriesAreCountedUntilOneEnds)
{
  EXPECT_EQ(OUTCOME_NONE, Find().kind);
  for (uint32_t i = 1; i <= 7; ++i) {
    outcomes_try(&key_);
    EXPECT_EQ(OUTCOME_TRIED, Find().kind);
    EXPECT_EQ(i, Find().tries);
  }
  EXPECT_TRUE(outcomes_accept(&key_));
  EXPECT_EQ(OUTCOME_ACCEPTED, Find().kind);
  outcomes_try(&key_);
  outcomes_refuse(&key_, "too late");
  EXPECT_EQ(OUTCOME_ACCEPTED, Find().kind);
  const outcome_key_t other = Key("a kernel and a third");
  outcome_t outcome;
  outcomes_find(&other, &outcome);
  EXPECT_EQ(OUTCOME_NONE, outcome.kind);
  EXPECT_EQ(1u, Files().size());
}

TEST_F(Outcomes, ARefusalKeepsItsReason)
{
  outcomes_refuse(&key_, "two\nlines");
  EXPECT_EQ(OUTCOME_REFUSED, Find().kind);
  EXPECT_STREQ("two lines", Find().reason);
  outcomes_try(&key_);
  EXPECT_EQ(OUTCOME_REFUSED, Find().kind);
  const outcome_key_t other = Key("another");
  outcomes_refuse(&other, std::string(5000, 'x').c_str());
  outcome_t outcome;
  outcomes_find(&other, &outcome);
  EXPECT_EQ(std::string(OUTCOME_REASON - 1, 'x'), outcome.reason);
}

TEST_F(Outcomes, WhatIsDamagedIsNotThere)
{
  outcomes_refuse(&key_, "a reason");
  const std::string file = Files().at(0), whole = slurp(file);
  for (size_t i = 0; i < whole.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      std::string other = whole;
      other[i] = static_cast<char>(other[i] ^ 1 << bit);
      std::ofstream(file, std::ios::binary) << other;
      ASSERT_EQ(OUTCOME_NONE, Find().kind) << i << " " << bit;
    }
  for (size_t size = 0; size < whole.size(); ++size) {
    std::ofstream(file, std::ios::binary) << whole.substr(0, size);
    ASSERT_EQ(OUTCOME_NONE, Find().kind) << size;
  }
  std::ofstream(file, std::ios::binary) << whole << whole;
  EXPECT_EQ(OUTCOME_NONE, Find().kind);
  // What is no file waits for nobody.
  std::filesystem::remove(file);
  ASSERT_EQ(0, mkfifo(file.c_str(), 0600));
  EXPECT_EQ(OUTCOME_NONE, Find().kind);
  std::filesystem::remove(file);
  std::filesystem::create_directory(file);
  EXPECT_EQ(OUTCOME_NONE, Find().kind);
  EXPECT_TRUE(outcomes_accept(&key_)) << "nothing can be said of it, and nobody waits";
}

// Whoever is stopped in the middle of writing keeps nobody.
TEST_F(Outcomes, NobodyWaits)
{
  outcomes_try(&key_);
  const std::string beside = Files().at(0) + ".new";
  int fd = open(beside.c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_EQ(0, flock(fd, LOCK_EX));
  outcomes_try(&key_);
  EXPECT_EQ(1u, Find().tries);
  EXPECT_FALSE(outcomes_accept(&key_));
  EXPECT_EQ(OUTCOME_TRIED, Find().kind);
  close(fd); // it was killed, and its file is there
  EXPECT_TRUE(outcomes_accept(&key_));
  EXPECT_EQ(OUTCOME_ACCEPTED, Find().kind);
  EXPECT_EQ(1u, Files().size());
}

// Processes that write all the time, and are killed: what is there is always whole.
TEST_F(Outcomes, WhatIsThereIsWholeWhoeverIsKilled)
{
  size_t in_the_middle = 0; // of writing a file, which is beside still
  for (int round = 0; round < 30; ++round) {
    std::vector<pid_t> children;
    for (int i = 0; i < 4; ++i) {
      pid_t child = fork_child();
      if (child == 0)
        for (;;)
          outcomes_try(&key_);
      children.push_back(child);
    }
    uint32_t before = 0;
    for (int i = 0; i < 2000; ++i) {
      const outcome_t outcome = Find();
      if (before || outcome.kind != OUTCOME_NONE) {
        ASSERT_EQ(OUTCOME_TRIED, outcome.kind) << round;
        ASSERT_GE(outcome.tries, before);
      }
      before = outcome.tries;
    }
    for (pid_t child : children)
      signal_child(child, SIGKILL);
    for (pid_t child : children)
      waitpid(child, nullptr, 0);
    in_the_middle += Files().size() > 1;
    EXPECT_TRUE(outcomes_accept(&key_));
    ASSERT_EQ(OUTCOME_ACCEPTED, Find().kind);
    EXPECT_EQ(1u, Files().size());
    for (const std::string &file : Files())
      std::filesystem::remove(file);
  }
  EXPECT_GT(in_the_middle, 0u);
}

TEST(OutcomesFolder, OneThatCannotBeIsRefused)
{
  rawhal_error_t error;
  EXPECT_EQ(RAWHAL_NOT_FOUND, outcomes_open("/nowhere/at/all", &error));
  EXPECT_EQ(RAWHAL_NOT_FOUND, outcomes_open("/dev/null", &error));
  const outcome_key_t key = {};
  outcome_t outcome;
  outcomes_try(&key);
  EXPECT_TRUE(outcomes_accept(&key));
  outcomes_find(&key, &outcome);
  EXPECT_EQ(OUTCOME_NONE, outcome.kind);
}

} // namespace
