// What the runtime lists.
#include "runtime.h"

namespace {

class Agents : public Runtime {
protected:
  void configure() override { option("compute_units", 0); }

  std::string name(hsa_agent_t agent)
  {
    char text[64] = "";
    hsa->hsa_agent_get_info(agent, HSA_AGENT_INFO_NAME, text);
    return text;
  }

  template <typename T> T info(hsa_agent_t agent, uint32_t attribute)
  {
    T value{};
    EXPECT_EQ(hsa->hsa_agent_get_info(agent, (hsa_agent_info_t)attribute, &value),
              HSA_STATUS_SUCCESS);
    return value;
  }
};

TEST_F(Agents, one_gfx90a_by_default)
{
  ASSERT_EQ(gpus.size(), 1u);
  EXPECT_EQ(name(gpu), "gfx90a");
  EXPECT_EQ(info<uint32_t>(gpu, HSA_AGENT_INFO_WAVEFRONT_SIZE), 64u);
  EXPECT_EQ(info<uint32_t>(gpu, HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT), 104u);
  EXPECT_EQ(info<uint32_t>(gpu, HSA_AMD_AGENT_INFO_CHIP_ID), 0x740fu);
  size_t size = 0;
  hsa->hsa_amd_memory_pool_get_info(device_pool, HSA_AMD_MEMORY_POOL_INFO_SIZE, &size);
  EXPECT_EQ(size, 8192ull << 20);
}

TEST_F(Agents, names_itself_software)
{
  char product[64] = "";
  hsa->hsa_agent_get_info(gpu, (hsa_agent_info_t)HSA_AMD_AGENT_INFO_PRODUCT_NAME, product);
  EXPECT_STREQ(product, "AMD Instinct MI210 (softgpu)");
}

TEST_F(Agents, isa_carries_the_target_features)
{
  auto isa = info<hsa_isa_t>(gpu, HSA_AGENT_INFO_ISA);
  char text[64] = "";
  ASSERT_EQ(hsa->hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME, text), HSA_STATUS_SUCCESS);
  EXPECT_STREQ(text, "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-");
}

class WithoutEcc : public Agents {
  void configure() override { option("sramecc", 0); }
};

TEST_F(WithoutEcc, isa_carries_the_target_features)
{
  auto isa = info<hsa_isa_t>(gpu, HSA_AGENT_INFO_ISA);
  char text[64] = "";
  ASSERT_EQ(hsa->hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME, text), HSA_STATUS_SUCCESS);
  EXPECT_STREQ(text, "amdgcn-amd-amdhsa--gfx90a:sramecc-:xnack-");
}

class ListedUnits : public Agents {
  void configure() override { option("compute_units", 8); }
};

TEST_F(ListedUnits, are_as_many_as_asked_for)
{
  EXPECT_EQ(info<uint32_t>(gpu, HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT), 8u);
  EXPECT_FALSE(hsa->option_set("compute_units", 104));
}

class MoreUnitsThanTheChipHas : public Agents {
  void configure() override { option("compute_units", 65535); }
};

TEST_F(MoreUnitsThanTheChipHas, are_the_chips)
{
  EXPECT_EQ(info<uint32_t>(gpu, HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT), 104u);
}

class ThreeAgents : public Agents {
  void configure() override
  {
    option("gpus", 3);
    option("vram_mib", 64);
  }
};

TEST_F(ThreeAgents, each_with_its_own_memory)
{
  ASSERT_EQ(gpus.size(), 3u);
  EXPECT_NE(info<uint32_t>(gpus[0], HSA_AMD_AGENT_INFO_BDFID),
            info<uint32_t>(gpus[1], HSA_AMD_AGENT_INFO_BDFID));
  for (hsa_agent_t agent : gpus) {
    EXPECT_EQ(name(agent), "gfx90a");
    gpu = agent;
    hsa_queue_t *made = queue();
    ASSERT_NE(made, nullptr);
    EXPECT_TRUE(reaches(submit_barrier(made), 0));
  }
}

TEST_F(ThreeAgents, shape_is_fixed_while_open)
{
  EXPECT_FALSE(hsa->option_set("gpus", 1));
  EXPECT_FALSE(hsa->option_set("vram_mib", 8192));
  EXPECT_TRUE(hsa->option_set("timeout_ms", 120000));
}

class OtherChip : public Agents, public ::testing::WithParamInterface<uint64_t> {
  void configure() override { option("chip", GetParam()); }
};

TEST_P(OtherChip, is_listed)
{
  char expected[16];
  snprintf(expected, sizeof(expected), "gfx%llx", (unsigned long long)GetParam());
  EXPECT_EQ(name(gpu), expected);
}

INSTANTIATE_TEST_SUITE_P(chips, OtherChip, ::testing::Values(0x900, 0x906, 0x908, 0x1030),
                         [](const auto &chip) {
                           char text[16];
                           snprintf(text, sizeof(text), "gfx%llx", (unsigned long long)chip.param);
                           return std::string(text);
                         });

} // namespace
