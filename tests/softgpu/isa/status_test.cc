// docs/softgpu-instructions.md is what the engine's tables say today. To write it anew:
// RAWHAL_WRITE_STATUS=1 test_softgpu_isa --gtest_filter=Status.*
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

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

// Compiled kernels, rocSPARSE, rocRAND and aiter use 414 mnemonics, none of which is among these.
TEST(Status, EveryMnemonicOfRealCodeIsRun)
{
  const std::set<std::string> unsupported = {"s_cbranch_g_fork",
                                             "s_cbranch_i_fork",
                                             "s_cbranch_join",
                                             "s_endpgm_ordered_ps_done",
                                             "s_rfe_b64",
                                             "s_rfe_restore_b64",
                                             "s_scratch_load_dword",
                                             "s_scratch_load_dwordx2",
                                             "s_scratch_load_dwordx4",
                                             "s_scratch_store_dword",
                                             "s_scratch_store_dwordx2",
                                             "s_scratch_store_dwordx4",
                                             "v_cvt_pkaccum_u8_f32",
                                             "v_mfma_ld_scale_b32",
                                             "v_mqsad_u32_u8",
                                             "v_screen_partition_4se_b32"};
  std::set<std::string> found;
  for (const isa_opcode &row : words::all_opcodes())
    if (status::is_unsupported(row.op))
      found.insert(isa_op_name(row.op));
  EXPECT_EQ(found, unsupported);
}

} // namespace
