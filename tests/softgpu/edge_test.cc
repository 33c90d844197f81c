// Where a matrix ends and how halves come together: kernels that rely on what the hardware does
// there, through the runtime's loader.
#include "kernels.h"

namespace {

class Edge : public Kernels {
protected:
  // Whether the dispatch completes before its queue stops; on failure the queue's text is shown.
  void run(const Kernel &kernel, void *arguments)
  {
    hsa_queue_t *q = queue();
    hsa_signal_t done = start(q, kernel, arguments, 64, 64);
    ASSERT_TRUE(reaches(done, 0)) << fault_text(q);
  }

  // A pair of halves for each of 64 work-items, as clang's object `file` puts it together.
  void expect_pairs(const char *file)
  {
    auto *out = (uint32_t *)host_memory(4096);
    auto *low = (uint16_t *)host_memory(4096), *high = (uint16_t *)host_memory(4096);
    for (uint32_t i = 0; i < 64; ++i) {
      low[i] = (uint16_t)(0x8001 + i);
      high[i] = (uint16_t)(0x7f00 - i);
    }
    for (const char *name : {"halves_global", "halves_lds"}) {
      memset(out, 0xee, 256);
      run(load(file, name), kernargs({(uint64_t)out, (uint64_t)low, (uint64_t)high}));
      for (uint32_t i = 0; i < 64; ++i) {
        const uint32_t from = strcmp(name, "halves_lds") == 0 ? 63 - i : i;
        ASSERT_EQ(out[i], low[from] | (uint32_t)high[from] << 16) << file << " " << name << i;
      }
    }
  }
};

TEST_F(Edge, zeros_from_lds_cleared_halves_and_masked_lanes)
{
  const Kernel kernel = load("edge-gfx90a-v5.co", "edge");
  auto *out = (uint32_t *)host_memory(4096), *in = (uint32_t *)host_memory(4096);
  for (uint64_t reference : {0u, 1u})
    for (uint32_t items : {64u, 37u, 1u, 0u}) {
      option("reference", reference);
      for (uint32_t i = 0; i < 64; ++i)
        in[i] = i * 0x01010101 + 0x80007fff;
      memset(out, 0xab, 4096);
      run(kernel, kernargs({(uint64_t)out, (uint64_t)in, items | (uint64_t)1024 << 32}));
      for (uint32_t i = 0; i < 256; ++i)
        ASSERT_EQ(out[i], i >= items * 4 ? 0xabababab
                          : i % 4        ? 0
                                         : in[i / 4])
            << "dword " << i << " of " << items << " items, reference " << reference;
    }
}

TEST_F(Edge, halves_are_put_together_as_for_sram_ecc)
{
  expect_pairs("halves-gfx90a_ecc-v5.co");
}

class EdgeWithoutEcc : public Edge {
  void configure() override { option("sramecc", 0); }
};

TEST_F(EdgeWithoutEcc, halves_are_loaded_into_each_others_registers)
{
  expect_pairs("halves-gfx90a_noecc-v5.co");
  option("reference", 1);
  expect_pairs("halves-gfx90a_noecc-v5.co");
}

} // namespace
