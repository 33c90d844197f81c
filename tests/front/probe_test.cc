// Probes in running programs: what probe.py says of them, part by part.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace {

void expect_passes(const std::string &part)
{
  const std::string command =
      RAWHAL_PYTHON " " RAWHAL_SOURCE_DIR "/tests/front/probe.py " RAWHAL_SOFTGPU_RUN
                    " " RAWHAL_TOOL " " RAWHAL_PROBED " " RAWHAL_SOURCE_DIR "/tests/fixtures ";
  EXPECT_EQ(0, system((command + part).c_str())) << part; // NOLINT(concurrency-mt-unsafe)
}

TEST(ProbedProgram, EndsAsWithoutAndLeavesRecords)
{
  expect_passes("run");
}

TEST(ProbedProgram, IsProbedByRules)
{
  expect_passes("rules");
}

TEST(ProbedProgram, IsProbedByItsNameAndTenant)
{
  expect_passes("clients");
}

TEST(ProbedProgram, HasItsQuota)
{
  expect_passes("quota");
}

TEST(ProbedProgram, IsProbedByProvenCopies)
{
  expect_passes("verified");
}

TEST(ProbedProgram, LaunchesFromManyThreads)
{
  expect_passes("streams");
}

TEST(ProbedProgram, UnloadsWhatRuns)
{
  expect_passes("unload");
}

TEST(ProbedProgram, UnloadsFromManyThreads)
{
  expect_passes("churn");
}

TEST(ProbedProgram, DoesNotWaitForWhatItHasLaunched)
{
  expect_passes("leaves");
}

TEST(ProbedProgram, Fails)
{
  expect_passes("fault");
}

TEST(ProbedProgram, Forks)
{
  expect_passes("fork");
}

TEST(ProbedProgram, IsObserved)
{
  expect_passes("observed");
}

TEST(ProbedProgram, IsKilled)
{
  expect_passes("kill");
}

} // namespace
