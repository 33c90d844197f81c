// rawhal probe plan: which kernels can be probed, and why others cannot.
#include "tests/limit/schema.h"
#include "tests/tools/command.h"

namespace {

const std::string reduce = fixtures + "reduce-gfx90a-v5.co",
                  other = fixtures + "vector_add-gfx1030-v5.co";

TEST(ProbePlan, KernelsThatCanBeProbed)
{
  Outcome got = run({tool, "probe", "plan", reduce, "--kernel", "red*", "--verify"});
  EXPECT_EQ(got.status, 0) << got.err;
  EXPECT_NE(got.out.find("reduce\n  "), std::string::npos) << got.out;
  EXPECT_NE(got.out.find(" SGPRs from s"), std::string::npos) << got.out;
  EXPECT_NE(got.out.find("1 of 1 kernels can be probed, and are the original's"), std::string::npos)
      << got.out;
  EXPECT_NE(got.out.find("Probes have not met hardware"), std::string::npos) << got.out;
}

TEST(ProbePlan, WhyOthersCannot)
{
  Outcome got = run({tool, "probe", "plan", other});
  EXPECT_EQ(got.status, 1) << got.err;
  EXPECT_NE(got.out.find("0 of 1 kernels can be probed\n         1 refused: it is for gfx1030;"),
            std::string::npos)
      << got.out;
}

TEST(ProbePlan, KernelsWithoutAName)
{
  Scratch scratch;
  const std::string file = scratch / "nameless.co", key = "\xa5.name\xa6reduce";
  std::string bytes = slurp(reduce);
  const size_t at = bytes.find(key);
  ASSERT_NE(at, std::string::npos);
  bytes[at + 2] = 'N';
  spit(file, bytes);
  Outcome got = run({tool, "probe", "plan", file, "--kernel", "*"});
  EXPECT_EQ(got.status, 1) << got.err;
  EXPECT_NE(got.out.find("refused: it cannot be used: .name is missing"), std::string::npos)
      << got.out << got.err;
}

TEST(ProbePlan, AsADocument)
{
  for (const std::string &file : {reduce, other}) {
    Outcome got = run({tool, "probe", "plan", file, "--json", "--kinds", "memory+exec"});
    const Json document = parse(got.out),
               schema = parse(slurp(RAWHAL_SOURCE_DIR "/docs/probe-plan.schema.json"));
    EXPECT_EQ("", Violation(schema.get(), document.get()));
    const bool planned = file == reduce;
    EXPECT_EQ(got.status, planned ? 0 : 1);
    EXPECT_EQ(number_of(document.get(), "planned"), planned);
    EXPECT_EQ(number_of(document.get(), "refused"), !planned);
  }
}

TEST(ProbePlan, WrongCommandLinesAndFiles)
{
  for (const std::vector<std::string> &words :
       std::vector<std::vector<std::string>>{{"plan"},
                                             {"plan", reduce, "--kinds", "wave"},
                                             {"plan", reduce, "--kinds", "values"},
                                             {"plan", reduce, "--top", "3"},
                                             {"plans", reduce}}) {
    std::vector<std::string> line = {tool, "probe"};
    line.insert(line.end(), words.begin(), words.end());
    EXPECT_EQ(run(line).status, 2) << words.back();
  }
  Outcome got = run({tool, "probe", "plan", reduce, "--kernel", "nothing"});
  EXPECT_EQ(got.status, 3);
  EXPECT_NE(got.err.find("has no kernel of that name"), std::string::npos) << got.err;
  EXPECT_EQ(run({tool, "probe", "plan", "/dev/null"}).status, 3);
}

} // namespace
