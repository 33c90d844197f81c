// docs/softgpu-instructions.md is what the engine's tables say today. To write it anew:
// RAWHAL_WRITE_STATUS=1 test_softgpu_isa --gtest_filter=Status.*
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include "tests/softgpu/isa/status.h"
#include "tests/softgpu/isa/words.h"

namespace {

TEST(Status, TheTableInTheDocumentationIsCurrent)
{
  const char *path = RAWHAL_SOURCE_DIR "/docs/softgpu-instructions.md";
  if (getenv("RAWHAL_WRITE_STATUS"))
    std::ofstream(path) << status::document();
  std::ifstream in(path);
  const std::string written{std::istreambuf_iterator<char>(in), {}};
  EXPECT_TRUE(written == status::document())
      << path << " is stale: run this test with RAWHAL_WRITE_STATUS=1";
}

// What real code uses: typical compiled kernels, rocSPARSE, rocRAND and aiter.
TEST(Status, EveryMnemonicOfRealCodeIsRun)
{
  std::ifstream list(RAWHAL_CORPUS "/../reference/gfx9-mnemonics.tsv");
  if (!list)
    GTEST_SKIP() << "no list of mnemonics beside " RAWHAL_CORPUS;
  std::map<std::string, unsigned> known;
  for (const isa_opcode &row : words::opcodes())
    known[isa_op_name(row.op)] = row.op;
  std::string line, name;
  unsigned count = 0;
  std::getline(list, line); // the heading
  while (std::getline(list, line)) {
    std::istringstream(line) >> name;
    ASSERT_TRUE(known.count(name)) << name;
    EXPECT_FALSE(status::is_unsupported(known[name])) << name;
    ++count;
  }
  EXPECT_EQ(count, 414u);
}

} // namespace
