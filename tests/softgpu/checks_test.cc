// The checks that dispatches can ask for, through the runtime.
#include "kernels.h"

namespace {

class Checks : public Kernels {
protected:
  // Runs a kernel of lds_checks.cl with one argument behind `out`; its fault, empty without one.
  std::string run(const char *name, uint32_t argument, uint16_t items)
  {
    Kernel kernel = load("lds_checks-gfx90a-v5.co", name);
    auto *out = (uint32_t *)host_memory(4096);
    hsa_queue_t *q = queue();
    hsa_signal_t done = start(q, kernel, kernargs({(uint64_t)out, argument}), items, items);
    if (reaches_or_fails(q, done))
      return "";
    EXPECT_EQ(queue_error(), HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION);
    EXPECT_TRUE(hsa->queue_fault_info(q, &info, sizeof(info)));
    return fault_text(q);
  }

  // Whether the dispatch completes; false once its queue has stopped.
  bool reaches_or_fails(hsa_queue_t *q, hsa_signal_t done)
  {
    for (int i = 0; i < 10000; ++i) {
      if (hsa->hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_EQ, 0, 1000000,
                                         HSA_WAIT_STATE_BLOCKED) == 0)
        return reaches(done, 0);
      if (hsa->queue_fault(q, nullptr, 0) > 0)
        return false;
    }
    ADD_FAILURE() << "neither completed nor failed";
    return true;
  }

  static bool says(const std::string &text, const char *part)
  {
    return text.find(part) != std::string::npos;
  }

  softgpu_fault_info_t info{};
};

TEST_F(Checks, are_off_unless_asked_for)
{
  EXPECT_EQ(run("lds_unwritten", 70, 256), "");
  EXPECT_EQ(run("lds_race", 0, 256), "");
  EXPECT_EQ(run("lds_two_writers", 1, 128), "");
}

TEST_F(Checks, unwritten_lds_is_told_to_the_lane_that_reads_it)
{
  option("check_lds", 1);
  EXPECT_EQ(run("lds_unwritten", 256, 256), ""); // everybody wrote
  const std::string text = run("lds_unwritten", 70, 256);
  // Work-item 70's word is read by item 6, the first wave's.
  EXPECT_TRUE(says(text, "read of LDS that was not written")) << text;
  EXPECT_TRUE(says(text, "ds_read_b32")) << text;
  EXPECT_TRUE(says(text, "work-group (0, 0, 0), wave 0, lane 6, 4 bytes at offset 280 of 1024"))
      << text;
  EXPECT_EQ(info.address, 280u);
  EXPECT_EQ(info.access_bytes, 4u);
  EXPECT_EQ(info.lane, 6u);
  EXPECT_NE(info.instruction[0], 0u);
}

TEST_F(Checks, use_of_what_is_beyond_lds_is_told)
{
  Kernel kernel = load("fault-gfx90a-v5.co", "fault_lds_store");
  auto *out = (uint32_t *)host_memory(4096);
  for (bool is_checked : {false, true}) {
    option("check_lds", is_checked);
    hsa_queue_t *q = queue();
    out[0] = 1;
    hsa_signal_t done = start(q, kernel, kernargs({(uint64_t)out, 65536}));
    EXPECT_EQ(reaches_or_fails(q, done), !is_checked);
    if (!is_checked) {
      EXPECT_EQ(out[0], 0u) << "what it stored was dropped, and reads as 0";
      continue;
    }
    EXPECT_EQ(queue_error(), HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION);
    const std::string text = fault_text(q);
    EXPECT_TRUE(says(text, "access beyond the work-group's LDS")) << text;
    EXPECT_TRUE(says(text, "lane 0, 4 bytes at offset 65536 of 64")) << text;
  }
}

TEST_F(Checks, a_race_names_both_sides)
{
  option("check_races", 1);
  EXPECT_EQ(run("lds_race", 1, 256), ""); // with a barrier
  // Wave 0 runs to its end first, reading what nobody has written yet; then wave 1 writes there.
  const std::string text = run("lds_race", 0, 256);
  EXPECT_TRUE(says(text, "race in LDS")) << text;
  EXPECT_TRUE(says(text, "wave 1, lane 0, 1 byte at offset 256 of 1024, used by wave 0")) << text;
  EXPECT_TRUE(says(text, "without a barrier in between")) << text;
  EXPECT_TRUE(says(text, "ds_write_b32")) << text;
}

TEST_F(Checks, two_writers_of_one_word_race)
{
  option("check_races", 1);
  EXPECT_EQ(run("lds_two_writers", 0, 128), "");
  EXPECT_TRUE(says(run("lds_two_writers", 1, 128), "race in LDS"));
}

TEST_F(Checks, atomics_do_not_race_and_count_as_writes)
{
  option("check_races", 1);
  option("check_lds", 1);
  EXPECT_EQ(run("lds_atomic", 0, 256), "");
}

class Arguments : public Checks {
protected:
  // Adds 64 floats with a kernarg segment of which bytes [from, to) are said to be missing.
  std::string add(uint32_t from, uint32_t to)
  {
    Kernel kernel = load("vector_add-gfx90a-v4.co", "vector_add");
    auto *a = (float *)host_memory(4096);
    void *arguments = kernargs({(uint64_t)a, (uint64_t)a, (uint64_t)a, 64});
    if (from < to) {
      EXPECT_TRUE(hsa->kernarg_missing(arguments, from, to));
    }
    hsa_queue_t *q = queue();
    std::string text;
    for (int i = 0; i < 2; ++i) { // what was said is for one dispatch
      hsa_signal_t done = start(q, kernel, arguments, 64, 64);
      if (reaches_or_fails(q, done))
        continue;
      EXPECT_EQ(queue_error(), HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION);
      EXPECT_TRUE(hsa->queue_fault_info(q, &info, sizeof(info)));
      return fault_text(q);
    }
    return "";
  }
};

TEST_F(Arguments, missing_ones_are_told_when_they_are_read)
{
  EXPECT_EQ(add(24, 28), ""); // nobody asked
  option("check_kernarg", 1);
  EXPECT_EQ(add(0, 0), "");
  EXPECT_EQ(add(28, 64), ""); // not read
  const std::string text = add(24, 28);
  EXPECT_TRUE(says(text, "read of kernel arguments that were not supplied")) << text;
  EXPECT_TRUE(says(text, "s_load_dword")) << text;
  EXPECT_TRUE(says(text, "from byte 24 on; bytes 24 to 27 are missing; address 0x")) << text;
  EXPECT_TRUE(says(text, "the allocation [0x")) << text;
  EXPECT_NE(info.nearest_size, 0u);
}

class Unwritten : public Checks {
protected:
  // out[i] = a[i] + a[i] for some i; the fault, empty without one.
  std::string add(void *out, void *a, uint32_t items = 64)
  {
    Kernel kernel = load("vector_add-gfx90a-v4.co", "vector_add");
    hsa_queue_t *q = queue();
    hsa_signal_t done =
        start(q, kernel, kernargs({(uint64_t)out, (uint64_t)a, (uint64_t)a, items}), items, 64);
    if (reaches_or_fails(q, done))
      return "";
    EXPECT_TRUE(hsa->queue_fault_info(q, &info, sizeof(info)));
    EXPECT_EQ(info.kind, (uint32_t)SOFTGPU_FAULT_MEMORY_UNWRITTEN);
    return fault_text(q);
  }
};

TEST_F(Unwritten, memory_is_told_where_it_is_read)
{
  void *early = device_memory(4096), *out = device_memory(4096);
  EXPECT_EQ(add(out, early), "") << "nobody asked";
  option("check_memory", 1);
  EXPECT_EQ(add(out, early), "") << "it is older than the check";
  auto *a = (float *)device_memory(4096), *b = (float *)device_memory(4096);
  std::string text = add(b, a);
  EXPECT_TRUE(says(text, "read of memory that was not written")) << text;
  EXPECT_TRUE(says(text, "global_load_dword")) << text;
  EXPECT_TRUE(says(text, "; byte 0 of [0x")) << text;
  EXPECT_EQ(info.address, (uint64_t)a);
  EXPECT_EQ(info.access, (uint32_t)SOFTGPU_ACCESS_READ);
  EXPECT_EQ(info.nearest_size, 4096u);
  // By a fill, as far as it went.
  ASSERT_EQ(hsa->hsa_amd_memory_fill(a, 0, 32), HSA_STATUS_SUCCESS);
  EXPECT_FALSE(add(b, a).empty());
  EXPECT_EQ(info.address, (uint64_t)&a[32]);
  EXPECT_EQ(info.lanes, ~0ull << 32);
  EXPECT_EQ(add(b, a, 32), "");
  // By a kernel, and by copies, of memory that was not written, too.
  auto *c = (float *)device_memory(4096);
  EXPECT_EQ(add(c, b, 32), "");
  EXPECT_FALSE(add(c, b, 33).empty());
  EXPECT_EQ(info.lane, 32u);
  copy(c, b, 4096);
  EXPECT_EQ(add(b, c, 1024), "");
  // By the host itself.
  auto *d = (float *)device_memory(4096);
  memset(d, 0, 256);
  EXPECT_EQ(add(b, d), "");
  EXPECT_FALSE(add(b, d, 65).empty());
  EXPECT_EQ(hsa->hsa_memory_copy(d, c, 512), HSA_STATUS_SUCCESS);
  EXPECT_EQ(add(b, d, 128), "");
}

// Within a device the runtime copies by a kernel, but for rectangles.
TEST_F(Unwritten, memory_stays_so_where_a_copy_engine_takes_it)
{
  option("check_memory", 1);
  auto *a = (float *)device_memory(4096), *b = (float *)device_memory(4096);
  void *out = device_memory(4096);
  ASSERT_EQ(hsa->hsa_amd_memory_fill(a, 0, 32), HSA_STATUS_SUCCESS);
  ASSERT_EQ(hsa->hsa_amd_memory_fill(b, 0, 1024), HSA_STATUS_SUCCESS);
  EXPECT_EQ(add(out, b, 1024), "");
  a[40] = 1; // by the host, and so are the others of its 16 bytes
  const hsa_pitched_ptr_t from{a, 256, 256}, to{b, 256, 256};
  const hsa_dim3_t start{0, 0, 0}, range{256, 1, 1};
  hsa_signal_t done = signal(1);
  ASSERT_EQ(hsa->hsa_amd_memory_async_copy_rect(&to, &start, &from, &start, &range, gpu,
                                                hsaDeviceToDevice, 0, nullptr, done),
            HSA_STATUS_SUCCESS);
  ASSERT_TRUE(reaches(done, 0));
  EXPECT_EQ(add(out, b, 32), "");
  EXPECT_FALSE(add(out, b, 64).empty());
  EXPECT_EQ(info.address, (uint64_t)&b[32]);
  EXPECT_EQ(info.lanes, ~0ull << 32 & ~(15ull << 40));
  EXPECT_EQ(add(out, b + 64, 1024 - 64), "") << "what is behind";
}

TEST_F(Unwritten, memory_is_so_again_when_it_is_allocated_again)
{
  option("check_memory", 1);
  void *memory = nullptr, *out = device_memory(4096);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(hsa->hsa_amd_memory_pool_allocate(device_pool, 8192, 0, &memory), HSA_STATUS_SUCCESS);
    ASSERT_TRUE(hsa->memory_bound((uint64_t)memory, 4100));
    EXPECT_FALSE(add(out, memory).empty());
    ASSERT_EQ(hsa->hsa_amd_memory_fill(memory, 0, 1025), HSA_STATUS_SUCCESS);
    EXPECT_EQ(add(out, memory, 1024), "") << "all of what it has";
    ASSERT_EQ(hsa->hsa_amd_memory_pool_free(memory), HSA_STATUS_SUCCESS);
  }
}

TEST_F(Arguments, nonsense_is_refused)
{
  uint64_t segment[4];
  EXPECT_FALSE(hsa->kernarg_missing(nullptr, 0, 8));
  EXPECT_FALSE(hsa->kernarg_missing(segment, 8, 4));
}

// The runtime would end the process.
TEST_F(Kernels, the_time_limit_spares_the_runtimes_own_kernels)
{
  const size_t size = 16 << 20;
  std::vector<uint8_t> bytes(size, 7), back(size);
  void *device = device_memory(size);
  option("timeout_ms", 1);
  copy(device, bytes.data(), size);
  copy(back.data(), device, size);
  EXPECT_EQ(bytes, back);
}

} // namespace
