// Every kind of fault, with the exact place: pc, lane, address, and a line that says so.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/softgpu/isa/device.h"
#include "tests/softgpu/isa/kernels.h"

namespace {

struct Expected {
  softgpu_fault_kind_t kind;
  uint64_t pc_offset, address;
  uint32_t bytes, lane;
};

void expect_fault(const device::Result &result, const device::Kernel &kernel,
                  const Expected &expected, std::initializer_list<const char *> says)
{
  const softgpu_fault_t &fault = result.fault;
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(fault.kind, expected.kind) << fault.text;
  EXPECT_EQ(fault.pc, kernel.entry() + expected.pc_offset) << fault.text;
  EXPECT_EQ(fault.pc_offset, expected.pc_offset) << fault.text;
  EXPECT_EQ(fault.address, expected.address) << fault.text;
  EXPECT_EQ(fault.access_bytes, expected.bytes) << fault.text;
  EXPECT_EQ(fault.lane, expected.lane) << fault.text;
  for (const char *part : says)
    EXPECT_NE(std::string(fault.text).find(part), std::string::npos)
        << part << " is not in: " << fault.text;
}

// Offset of an instruction in a kernel, in bytes.
uint64_t offset_of(const std::string &kernel, uint32_t word)
{
  const auto &words = kernels::words(kernel);
  for (size_t i = 0; i < words.size(); ++i)
    if (words[i] == word)
      return i * 4;
  ADD_FAILURE() << kernel << " has no such word";
  return 0;
}

class Fault : public testing::Test {
protected:
  // Runs a kernel whose kernarg segment holds `arguments`.
  device::Result run(const device::Kernel &kernel, std::initializer_list<uint64_t> arguments,
                     uint32_t group_bytes = 0)
  {
    std::copy(arguments.begin(), arguments.end(), kernarg.as<uint64_t>());
    auto dispatch = device::dispatch(kernel.object(), kernarg.as<void>());
    dispatch.group_bytes = group_bytes;
    dispatch.checks = checks;
    return device::run(dispatch);
  }
  device::Memory kernarg{64};
  uint32_t checks = 0;
};

TEST_F(Fault, StoreByOneLane)
{
  device::Kernel kernel(kernels::words("store_lane"));
  device::Memory out(4096);
  const uint64_t offset = offset_of("store_lane", 0xdc708000);
  // Just past the end, and ending past it.
  expect_fault(run(kernel, {out.address(), 4096}), kernel,
               {SOFTGPU_FAULT_MEMORY, offset, out.address() + 4096, 4, 5},
               {"memory access fault", "lane 5", "0 bytes past the end",
                "global_store_dword v1, v0, s[4:5]", "dc708000", "work-group (0, 0, 0), wave 0"});
  expect_fault(run(kernel, {out.address(), 4094}), kernel,
               {SOFTGPU_FAULT_MEMORY, offset, out.address() + 4094, 4, 5},
               {"ends 2 bytes after it"});
  EXPECT_TRUE(run(kernel, {out.address(), 4092}).ok);
  EXPECT_EQ(out.as<uint32_t>()[1023], 5u);
}

TEST_F(Fault, ReadOnlyMemory)
{
  device::Kernel kernel(kernels::words("store_lane"));
  device::Memory constant(4096, 0);
  expect_fault(
      run(kernel, {constant.address(), 8}), kernel,
      {SOFTGPU_FAULT_READ_ONLY, offset_of("store_lane", 0xdc708000), constant.address(), 4, 0},
      {"read-only"});
  EXPECT_EQ(constant.as<uint32_t>()[0], 0u);
}

TEST_F(Fault, FlatAccess)
{
  device::Memory in(64);
  device::Kernel load(kernels::words("flat_load_pair"));
  expect_fault(
      run(load, {in.address() + 60}), load,
      {SOFTGPU_FAULT_MEMORY, offset_of("flat_load_pair", 0xdc540000), in.address() + 60, 8, 5},
      {"flat_load_dwordx2"});
  EXPECT_TRUE(run(load, {in.address() + 53}).ok) << "plain loads take any address";
  device::Kernel add(kernels::words("flat_add"));
  expect_fault(
      run(add, {in.address() + 6}), add,
      {SOFTGPU_FAULT_MISALIGNED, offset_of("flat_add", 0xdd080000), in.address() + 6, 4, 5},
      {"misaligned"});
  expect_fault(run(add, {0}), add,
               {SOFTGPU_FAULT_MEMORY, offset_of("flat_add", 0xdd080000), 0, 4, 5}, {"0x0"});
}

TEST_F(Fault, ScalarAccess)
{
  device::Memory in(64);
  device::Kernel kernel(kernels::words("scalar_load"));
  const uint64_t offset = offset_of("scalar_load", 0xc00a0202);
  expect_fault(run(kernel, {in.address() + 52}), kernel,
               {SOFTGPU_FAULT_MEMORY, offset, in.address() + 52, 16, 0},
               {"s_load_dwordx4 s[8:11], s[4:5], 0x0"});
  expect_fault(run(kernel, {in.address() + 2}), kernel,
               {SOFTGPU_FAULT_MISALIGNED, offset, in.address() + 2, 16, 0}, {});
  EXPECT_TRUE(run(kernel, {in.address() + 48}).ok);
}

TEST_F(Fault, Lds)
{
  device::Kernel kernel(kernels::words("lds_write"));
  EXPECT_TRUE(run(kernel, {}, 0).ok) << "what is beyond LDS is no fault of itself";
  checks = SOFTGPU_CHECK_LDS;
  EXPECT_TRUE(run(kernel, {}, 132).ok);
  expect_fault(run(kernel, {}, 131), kernel,
               {SOFTGPU_FAULT_LDS, offset_of("lds_write", 0xd89a0018), 124, 8, 5},
               {"offset 124 of 131", "lane 5"});
  expect_fault(run(kernel, {}, 0), kernel,
               {SOFTGPU_FAULT_LDS, offset_of("lds_write", 0xd81a0000), 100, 4, 5}, {});
  checks = 0;
  device::Kernel add(kernels::words("lds_add"));
  expect_fault(run(add, {}, 64), add,
               {SOFTGPU_FAULT_MISALIGNED, offset_of("lds_add", 0xd8000000), 2, 4, 5}, {});
}

TEST_F(Fault, ScalarStoreThatIsNotWrittenBack)
{
  device::Memory out(64);
  device::Kernel without(kernels::words("loop")), with(kernels::words("clocks"));
  EXPECT_TRUE(run(without, {out.address(), 3}).ok) << "is no fault of itself";
  checks = SOFTGPU_CHECK_STORES;
  EXPECT_TRUE(run(with, {out.address()}).ok);
  const uint64_t end = without.end() - without.entry() - 4;
  expect_fault(run(without, {out.address(), 3}), without,
               {SOFTGPU_FAULT_STORE_UNWRITTEN, end, 0, 0, 0},
               {"no s_dcache_wb after a scalar store", "s_endpgm",
                ("stored at entry+" + std::to_string(end - 8)).c_str()});
  EXPECT_EQ(out.as<uint32_t>()[0], 6u) << "is stored all the same";
}

TEST_F(Fault, Fetch)
{
  device::Memory data(64);
  device::Kernel jump(kernels::words("jump"));
  for (uint64_t target : {uint64_t(0x1000), data.address(), jump.entry() + 2, jump.end()}) {
    auto result = run(jump, {target});
    EXPECT_EQ(result.fault.kind, SOFTGPU_FAULT_FETCH) << result.fault.text;
    EXPECT_EQ(result.fault.pc, target) << "not executable, misaligned, or beyond the code";
  }
  device::Kernel end(kernels::words("fall_off"));
  expect_fault(run(end, {}), end, {SOFTGPU_FAULT_FETCH, 8, end.entry() + 8, 4, 0},
               {"instruction fetch"});
  device::Kernel cut(kernels::words("cut_off"));
  expect_fault(run(cut, {}), cut, {SOFTGPU_FAULT_FETCH, 4, 0, 0, 0}, {});
}

TEST_F(Fault, IllegalInstructions)
{
  device::Kernel unknown(kernels::words("unknown"));
  auto result = run(unknown, {});
  expect_fault(result, unknown, {SOFTGPU_FAULT_ILLEGAL_INSTRUCTION, 4, 0, 0, 0},
               {"illegal instruction", "entry+4", "(ffffffff 12345678)"});
  EXPECT_EQ(result.fault.instruction[0], 0xffffffffu);
  EXPECT_EQ(result.fault.instruction[1], 0x12345678u);
  device::Kernel beyond(kernels::words("registers_beyond"));
  expect_fault(run(beyond, {}), beyond, {SOFTGPU_FAULT_ILLEGAL_INSTRUCTION, 0, 0, 0, 0},
               {"v_mov_b32 v200, 0"});
}

// As ROCr's trap handler takes them: only llvm.debugtrap goes on.
TEST_F(Fault, Traps)
{
  device::Kernel abort(kernels::words("abort"));
  expect_fault(run(abort, {}), abort, {SOFTGPU_FAULT_TRAP, 4, 2, 0, 0}, {"s_trap 0x2", "abort"});
  const uint32_t s_nop = 0xbf800000, s_trap = 0xbf920000, s_endpgm = 0xbf810000;
  device::Kernel debug({s_nop, s_trap | 3, s_endpgm});
  EXPECT_TRUE(run(debug, {}).ok);
  for (uint32_t id : {0u, 1u, 4u, 255u}) {
    device::Kernel other({s_nop, s_trap | id, s_endpgm});
    expect_fault(run(other, {}), other, {SOFTGPU_FAULT_TRAP, 4, id, 0, 0}, {"s_trap"});
  }
}

TEST_F(Fault, FirstFaultOfManyGroups)
{
  device::Kernel kernel(kernels::words("unknown"));
  auto dispatch = device::dispatch(kernel.object(), kernarg.as<void>(), 1000, 256);
  expect_fault(device::run(dispatch), kernel, {SOFTGPU_FAULT_ILLEGAL_INSTRUCTION, 4, 0, 0, 0}, {});
}

// --- private memory ---

TEST_F(Fault, PrivateSegmentThroughTheBuffer)
{
  device::Memory scratch(1 << 20);
  device::Descriptor d;
  d.properties = 1 | 1 << 3;
  d.user_sgprs = 6;
  d.private_segment = true;
  device::Kernel kernel(kernels::words("private_buffer"), d);
  auto dispatch = device::dispatch(kernel.object(), kernarg.as<void>());
  dispatch.private_bytes = 20;
  dispatch.scratch_base = scratch.address();
  dispatch.scratch_bytes = scratch.size();
  kernarg.as<uint32_t>()[0] = 16;
  auto result = device::run(dispatch);
  EXPECT_TRUE(result.ok) << result.fault.text;
  EXPECT_EQ(scratch.as<uint32_t>()[4 * 64 + 5], 5u) << "dword 4 of lane 5";
  const uint64_t offset = offset_of("private_buffer", 0xe0701000);
  for (uint32_t at : {17u, 20u, 0x80000000u}) {
    kernarg.as<uint32_t>()[0] = at;
    expect_fault(device::run(dispatch), kernel, {SOFTGPU_FAULT_SCRATCH, offset, at, 4, 5},
                 {"private segment", "of 20"});
  }
}

TEST_F(Fault, PrivateSegmentThroughScratch)
{
  device::Memory scratch(1 << 20);
  device::Kernel kernel(kernels::words("private_scratch"));
  auto dispatch = device::dispatch(kernel.object(), kernarg.as<void>(), 1, 64, SOFTGPU_GFX942);
  dispatch.private_bytes = 20;
  dispatch.scratch_base = scratch.address();
  dispatch.scratch_bytes = scratch.size();
  kernarg.as<uint32_t>()[0] = 16;
  EXPECT_TRUE(device::run(dispatch).ok);
  EXPECT_EQ(scratch.as<uint32_t>()[4 * 64 + 5], 5u);
  kernarg.as<uint32_t>()[0] = 20;
  uint64_t offset = (kernels::words("private_scratch").size() - 3) * 4;
  expect_fault(device::run(dispatch), kernel, {SOFTGPU_FAULT_SCRATCH, offset, 20, 4, 5},
               {"scratch_store_dword v1, v0, off"});
}

// A kernel of GFX10 sets FLAT_SCR before it has a private segment.
TEST_F(Fault, PrivateSegmentBeforeFlatScratch)
{
  device::Memory scratch(1 << 20);
  device::Kernel kernel({0xdc704004u, 0x007f0000u, // scratch_store_dword off, v0, off offset:4
                         0xbf810000u});
  auto dispatch = device::dispatch(kernel.object(), kernarg.as<void>(), 1, 64, SOFTGPU_GFX1030);
  dispatch.private_bytes = 20;
  dispatch.scratch_base = scratch.address();
  dispatch.scratch_bytes = scratch.size();
  const device::Result result = device::run(dispatch);
  EXPECT_EQ(result.fault.kind, SOFTGPU_FAULT_SCRATCH);
  EXPECT_NE(std::string(result.fault.text)
                .find("lane 0: FLAT_SCR, where the wave's scratch memory begins, has not been set"),
            std::string::npos)
      << result.fault.text;
}

// --- what is refused before anything runs ---

TEST_F(Fault, Kernarg)
{
  device::Descriptor d;
  d.kernarg_size = 65;
  device::Kernel kernel(kernels::words("loop"), d);
  auto result = run(kernel, {});
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.fault.kind, SOFTGPU_FAULT_KERNARG);
  EXPECT_EQ(result.fault.address, kernarg.address());
  auto dispatch = device::dispatch(kernel.object(), nullptr);
  EXPECT_EQ(device::run(dispatch).fault.kind, SOFTGPU_FAULT_KERNARG);
}

TEST_F(Fault, Dispatch)
{
  device::Kernel kernel(kernels::words("loop"));
  const auto good = device::dispatch(kernel.object(), kernarg.as<void>());
  auto refused = [](softgpu_dispatch_t dispatch) {
    auto result = device::run(dispatch);
    return !result.ok && result.fault.kind == SOFTGPU_FAULT_DISPATCH && result.fault.text[0];
  };
  auto bad = good;
  bad.workgroup[1] = 0;
  EXPECT_TRUE(refused(bad));
  bad = good;
  bad.grid[2] = 0;
  EXPECT_TRUE(refused(bad));
  bad = good;
  bad.workgroup[0] = bad.workgroup[1] = 33;
  EXPECT_TRUE(refused(bad));
  bad = good;
  bad.workgroup[0] = 1;
  bad.grid[0] = bad.grid[1] = bad.grid[2] = UINT32_MAX;
  EXPECT_TRUE(refused(bad));
  bad = good;
  bad.kernel_object = 64;
  EXPECT_TRUE(refused(bad));
  bad = good;
  bad.chip = SOFTGPU_CHIP_OTHER;
  EXPECT_TRUE(refused(bad));
  bad = good;
  bad.group_bytes = 65537;
  EXPECT_TRUE(refused(bad));
  bad = good;
  bad.private_bytes = 16;
  EXPECT_TRUE(refused(bad)) << "no scratch memory";
  device::Descriptor d;
  d.properties = 0x7f;
  d.user_sgprs = 14;
  device::Kernel many(kernels::words("loop"), d);
  EXPECT_TRUE(refused(device::dispatch(many.object(), kernarg.as<void>()))) << "15 registers in 14";
}

// All waves of a work-group have their registers at the same time: 512 of a SIMD, in units of 8, whichever of them are
// accumulation registers.
TEST_F(Fault, WorkGroupsThatCannotBeResident)
{
  const struct {
    unsigned vgprs, accum_offset;
    uint16_t most; // work-items
  } rows[] = {{128, 128, 1024}, {136, 136, 768}, {136, 4, 768},   {168, 168, 768},
              {176, 176, 512},  {256, 256, 512}, {264, 256, 256}, {512, 256, 256}};
  for (const auto &row : rows)
    for (uint16_t items : {row.most, uint16_t(row.most + 1)}) {
      if (items > 1024)
        continue;
      device::Descriptor d;
      d.vgprs = row.vgprs;
      d.accum_offset = row.accum_offset;
      device::Kernel wide({0xbf810000}, d); // s_endpgm
      auto result = device::run(device::dispatch(wide.object(), kernarg.as<void>(), 1, items));
      EXPECT_EQ(result.ok, items == row.most) << row.vgprs << ": " << result.fault.text;
      EXPECT_EQ(result.fault.kind, result.ok ? SOFTGPU_FAULT_NONE : SOFTGPU_FAULT_REGISTERS);
    }
}

// --- kernels that do not end ---

TEST_F(Fault, Timeout)
{
  for (const char *name : {"forever", "halt"}) {
    device::Kernel kernel(kernels::words(name));
    auto result = device::run(device::dispatch(kernel.object(), kernarg.as<void>(), 50, 256), 30);
    EXPECT_FALSE(result.ok);
    EXPECT_EQ(result.fault.kind, SOFTGPU_FAULT_TIMEOUT) << result.fault.text;
    EXPECT_GE(result.fault.pc, kernel.entry());
    EXPECT_LT(result.fault.pc, kernel.end());
    EXPECT_NE(std::string(result.fault.text).find("time limit"), std::string::npos);
  }
}

TEST_F(Fault, Stopped)
{
  device::Kernel kernel(kernels::words("forever"));
  auto dispatch = device::dispatch(kernel.object(), kernarg.as<void>());
  static volatile bool stop;
  stop = false;
  softgpu_limits_t limits = {};
  limits.stop = &stop;
  softgpu_fault_t fault;
  bool ok = true;
  std::thread runner([&] { ok = softgpu_execute(&dispatch, &limits, &fault); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
  runner.join();
  EXPECT_FALSE(ok);
  EXPECT_EQ(fault.kind, SOFTGPU_FAULT_STOPPED) << fault.text;
  EXPECT_EQ(fault.pc_offset, 4u) << "the branch to itself";
}

} // namespace
