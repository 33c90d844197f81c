// Of a fault: all lanes whose access fails, and which way it went. Of an allocation: its exact end, and what may be beyond.
#include "tests/softgpu/isa/vmem_model.h"

using vmem::Arguments;
using vmem::Lane;
using vmem::Output;

namespace {

// Below it is no memory, nor in LDS and scratch.
constexpr uint64_t nowhere = 0x1000;

struct Case {
  std::string instruction;
  uint32_t checks = 0;
  uint32_t group_bytes = 1024;
  uint64_t exec = ~0ull;
  bool on_gfx942 = false;
};

class Lanes : public testing::TestWithParam<bool> {
protected:
  void SetUp() override { softgpu_engine_reference(GetParam()); }
  void TearDown() override { softgpu_engine_reference(false); }

  // The instruction with an address for each lane.
  softgpu_fault_t run(const Case &of, const std::vector<uint64_t> &addresses)
  {
    device::Memory in(64 * sizeof(Lane)), out(64 * sizeof(Output)), kernarg(sizeof(Arguments));
    std::vector<Lane> lanes(64);
    for (unsigned i = 0; i < 64; ++i)
      lanes[i].address = addresses[i];
    memcpy(in.as<void>(), lanes.data(), in.size());
    Arguments arguments = {in.address(), out.address(), of.exec, 0, 0, {}};
    memcpy(arguments.descriptor, descriptor, sizeof descriptor);
    memcpy(kernarg.as<void>(), &arguments, sizeof arguments);
    device::Descriptor d;
    d.accum_offset = 32;
    device::Kernel kernel(kernels::around("vmem_begin", of.instruction, "vmem_end"), d);
    const bool on_gfx942 = of.on_gfx942 || kernels::needs_gfx942(of.instruction);
    auto dispatch = device::dispatch(kernel.object(), kernarg.as<void>(), 1, 64,
                                     on_gfx942 ? SOFTGPU_GFX942 : SOFTGPU_GFX90A);
    dispatch.group_bytes = of.group_bytes;
    dispatch.checks = of.checks;
    return device::run(dispatch).fault;
  }

  // The lanes of `bad` have the address `wrong`, the others lie side by side from `right` on.
  void expect(const Case &of, softgpu_fault_kind_t kind, softgpu_access_t access, uint64_t right,
              uint64_t wrong, uint64_t bad)
  {
    std::vector<uint64_t> addresses;
    for (unsigned lane = 0; lane < 64; ++lane)
      addresses.push_back(bad >> lane & 1 ? wrong : right + 16 * lane);
    const softgpu_fault_t fault = run(of, addresses);
    SCOPED_TRACE(of.instruction + ": " + fault.text);
    EXPECT_EQ(fault.kind, kind);
    EXPECT_EQ(fault.access, access);
    EXPECT_TRUE(fault.lanes_known);
    EXPECT_EQ(fault.lanes, bad & of.exec);
    EXPECT_EQ(fault.lane, (unsigned)__builtin_ctzll(bad & of.exec));
  }

  static std::string first(const std::string &prefix) { return kernels::instructions(prefix)[0]; }

  uint32_t descriptor[4] = {};
};

INSTANTIATE_TEST_SUITE_P(Engines, Lanes, ::testing::Bool(), [](const auto &engine) {
  return std::string(engine.param ? "reference" : "fast");
});

const uint64_t some = 0x8000010000800060;

TEST_P(Lanes, OfAddresses)
{
  device::Memory memory(4096);
  const uint64_t at = memory.address() + 64;
  for (const char *family : {"global_", "flat_"}) {
    const std::string name = family;
    for (const char *load : {"load_ubyte", "load_dword v10, v[", "load_dwordx3"})
      expect({first(name + load)}, SOFTGPU_FAULT_MEMORY, SOFTGPU_ACCESS_READ, at, nowhere, some);
    for (const char *store : {"store_short ", "store_dword v[", "store_dwordx4"})
      expect({first(name + store)}, SOFTGPU_FAULT_MEMORY, SOFTGPU_ACCESS_WRITE, at, nowhere, some);
    for (const char *atomic : {"atomic_add ", "atomic_cmpswap_x2"}) {
      expect({first(name + atomic)}, SOFTGPU_FAULT_MEMORY, SOFTGPU_ACCESS_ATOMIC, at, nowhere,
             some);
      // Those before the first of them have been done, and have a result where there was an address.
      expect({first(name + atomic)}, SOFTGPU_FAULT_MISALIGNED, SOFTGPU_ACCESS_ATOMIC, at, at + 2,
             some);
    }
  }
  // Lanes that are off fail at nothing.
  Case half = {first("global_load_dword v10, v[")};
  half.exec = ~0ull << 32;
  expect(half, SOFTGPU_FAULT_MEMORY, SOFTGPU_ACCESS_READ, at, nowhere, some);
  expect({first("global_load_lds_dword")}, SOFTGPU_FAULT_MEMORY, SOFTGPU_ACCESS_READ, at, nowhere,
         some);
}

TEST_P(Lanes, OfWhatMayNotBeWritten)
{
  device::Memory memory(4096), constant(4096, 0);
  expect({first("global_store_dword v[")}, SOFTGPU_FAULT_READ_ONLY, SOFTGPU_ACCESS_WRITE,
         memory.address() + 64, constant.address() + 64, some);
  expect({first("flat_atomic_add ")}, SOFTGPU_FAULT_READ_ONLY, SOFTGPU_ACCESS_ATOMIC,
         memory.address(), constant.address(), some);
}

TEST_P(Lanes, OfBuffers)
{
  device::Memory memory(4096);
  vmem::describe(memory, descriptor);
  descriptor[2] = UINT32_MAX;    // more than there is
  const uint64_t past = 1 << 30; // and farther than anything that lies behind
  for (const char *load : {"buffer_load_dword ", "buffer_load_sshort", "buffer_load_dwordx4"})
    expect({first(load)}, SOFTGPU_FAULT_MEMORY, SOFTGPU_ACCESS_READ, 0, past, some);
  expect({first("buffer_store_dwordx2")}, SOFTGPU_FAULT_MEMORY, SOFTGPU_ACCESS_WRITE, 0, past,
         some);
  expect({first("buffer_atomic_add ")}, SOFTGPU_FAULT_MEMORY, SOFTGPU_ACCESS_ATOMIC, 0, past, some);
  expect({first("tbuffer_load_format_xyzw")}, SOFTGPU_FAULT_MEMORY, SOFTGPU_ACCESS_READ, 0, past,
         some);
  expect({first("tbuffer_store_format_xyz")}, SOFTGPU_FAULT_MEMORY, SOFTGPU_ACCESS_WRITE, 0, past,
         some);
}

TEST_P(Lanes, OfLds)
{
  const Case base = {"", SOFTGPU_CHECK_LDS, 1024 + 512};
  const struct {
    const char *prefix;
    softgpu_access_t access;
  } rows[] = {{"ds_read_b32", SOFTGPU_ACCESS_READ},
              {"ds_read_b128", SOFTGPU_ACCESS_READ},
              {"ds_write_b64", SOFTGPU_ACCESS_WRITE},
              {"ds_write2_b32", SOFTGPU_ACCESS_WRITE},
              {"ds_add_rtn_u32", SOFTGPU_ACCESS_ATOMIC}};
  for (const auto &row : rows) {
    Case of = base;
    of.instruction = first(row.prefix);
    expect(of, SOFTGPU_FAULT_LDS, row.access, 0, 1 << 20, some);
  }
  expect({first("ds_add_u32")}, SOFTGPU_FAULT_MISALIGNED, SOFTGPU_ACCESS_ATOMIC, 0, 2, some);
  // Memory and LDS in one instruction.
  const uint64_t aperture = 0x10000ull << 32;
  Case flat = base;
  flat.instruction = first("flat_load_dword ");
  expect(flat, SOFTGPU_FAULT_LDS, SOFTGPU_ACCESS_READ, aperture, aperture + (1 << 20), some);
}

// What only the engine proper checks.
TEST_P(Lanes, OfChecks)
{
  if (GetParam())
    return;
  Case of = {first("ds_read_b32"), SOFTGPU_CHECK_LDS, 4096}; // 1024 bytes are written
  expect(of, SOFTGPU_FAULT_LDS_UNWRITTEN, SOFTGPU_ACCESS_READ, 0, 2048, some);
}

// Memory of which it is noted what is written: so far the first half.
struct Noted {
  Noted()
  {
    softgpu_memory_remove(memory.address());
    written = softgpu_written_begin(memory.as<void>(), memory.size());
    softgpu_written_add(written, 0, 2048);
    const softgpu_allocation_t noted = {
        memory.address(), memory.size(), SOFTGPU_MEMORY_WRITE, 1, 0, 0, written};
    EXPECT_TRUE(softgpu_memory_add(&noted));
  }
  ~Noted()
  {
    softgpu_memory_remove(memory.address());
    softgpu_written_retire(written);
  }
  device::Memory memory{4096};
  softgpu_written_t *written;
};

TEST_P(Lanes, OfWhatWasNotWritten)
{
  const auto unwritten = SOFTGPU_FAULT_MEMORY_UNWRITTEN;
  for (const char *family : {"global_", "flat_"}) {
    Noted noted;
    const std::string name = family;
    const uint64_t at = noted.memory.address() + 64, rest = at + 3000;
    const auto checked = [&](const char *rest_of_name) {
      return Case{first(name + rest_of_name), SOFTGPU_CHECK_MEMORY};
    };
    for (const char *load : {"load_ubyte", "load_dword v10, v[", "load_dwordx3"})
      expect(checked(load), unwritten, SOFTGPU_ACCESS_READ, at, rest, some);
    expect(checked("atomic_add "), unwritten, SOFTGPU_ACCESS_ATOMIC, at, rest, some);
    const std::vector<uint64_t> there(64, rest);
    EXPECT_EQ(run({first(name + "load_dword v10, v[")}, there).kind, SOFTGPU_FAULT_NONE);
    // What a kernel stores is noted, whether it is checked or not; what the host does is seen.
    EXPECT_EQ(run({first(name + "store_dword v[")}, there).kind, SOFTGPU_FAULT_NONE);
    EXPECT_EQ(run(checked("load_dword v10, v["), there).kind, SOFTGPU_FAULT_NONE);
    const std::vector<uint64_t> then(64, rest + 128);
    EXPECT_EQ(run(checked("load_ubyte"), then).kind, unwritten);
    memset(noted.memory.as<char>() + 3192, 0, 16);
    EXPECT_EQ(run(checked("load_ubyte"), then).kind, SOFTGPU_FAULT_NONE);
    // All of it, from where on nothing needs to be looked at.
    softgpu_written_add(noted.written, 0, 4096);
    EXPECT_EQ(run(checked("load_dwordx3"), there).kind, SOFTGPU_FAULT_NONE);
  }
  Noted noted;
  expect({first("global_load_lds_dword"), SOFTGPU_CHECK_MEMORY}, unwritten, SOFTGPU_ACCESS_READ,
         noted.memory.address() + 64, noted.memory.address() + 3000, some);
}

TEST_P(Lanes, OfBuffersThatWereNotWritten)
{
  Noted noted;
  vmem::describe(noted.memory, descriptor);
  for (const char *load : {"buffer_load_dword ", "buffer_load_sshort", "buffer_load_dwordx4",
                           "tbuffer_load_format_xyzw"})
    expect({first(load), SOFTGPU_CHECK_MEMORY}, SOFTGPU_FAULT_MEMORY_UNWRITTEN, SOFTGPU_ACCESS_READ,
           0, 3072, some);
  const std::vector<uint64_t> there(64, 3072);
  EXPECT_EQ(run({first("buffer_store_dwordx4")}, there).kind, SOFTGPU_FAULT_NONE);
  EXPECT_EQ(run({first("buffer_load_dwordx4"), SOFTGPU_CHECK_MEMORY}, there).kind,
            SOFTGPU_FAULT_NONE);
}

// A scalar access is the wave's.
TEST_P(Lanes, OfNone)
{
  device::Memory kernarg(64);
  device::Kernel kernel(kernels::words("scalar_load"));
  *kernarg.as<uint64_t>() = nowhere;
  const auto fault = device::run(device::dispatch(kernel.object(), kernarg.as<void>())).fault;
  EXPECT_EQ(fault.kind, SOFTGPU_FAULT_MEMORY);
  EXPECT_EQ(fault.access, SOFTGPU_ACCESS_READ);
  EXPECT_FALSE(fault.lanes_known);
  Noted noted; // 16 bytes, of which four were not written
  auto scalar = device::dispatch(kernel.object(), kernarg.as<void>());
  scalar.checks = SOFTGPU_CHECK_MEMORY;
  for (const uint64_t end : {2048, 2052}) {
    *kernarg.as<uint64_t>() = noted.memory.address() + end - 16;
    EXPECT_EQ(device::run(scalar).fault.kind,
              end > 2048 ? SOFTGPU_FAULT_MEMORY_UNWRITTEN : SOFTGPU_FAULT_NONE);
  }
  device::Kernel unknown(kernels::words("unknown"));
  const auto other = device::run(device::dispatch(unknown.object(), kernarg.as<void>())).fault;
  EXPECT_EQ(other.access, SOFTGPU_ACCESS_UNKNOWN);
  EXPECT_FALSE(other.lanes_known);
}

// --- where an allocation ends ---

// An allocation of six bytes, from byte 6 of a page on; of a kernel that accesses by one lane, where it may.
std::string allowed(const std::string &name)
{
  device::Memory page(4096), kernarg(64);
  softgpu_memory_remove(page.address());
  const softgpu_allocation_t six = {page.address() + 6, 6, SOFTGPU_MEMORY_WRITE, 1, 0, 0, nullptr};
  EXPECT_TRUE(softgpu_memory_add(&six));
  device::Kernel kernel(kernels::words(name));
  const bool is_store = name == "store_lane"; // to an offset, while others store to the start
  std::string offsets;
  for (uint64_t offset = is_store ? 6 : 0; offset < 20; ++offset) {
    kernarg.as<uint64_t>()[0] = page.address() + (is_store ? 6 : offset);
    kernarg.as<uint64_t>()[1] = offset - 6;
    const auto result = device::run(device::dispatch(kernel.object(), kernarg.as<void>()));
    if (result.ok)
      offsets += std::to_string(offset) + " ";
    if (result.fault.kind == SOFTGPU_FAULT_MEMORY) {
      EXPECT_EQ(result.fault.address, page.address() + offset);
    }
  }
  softgpu_memory_remove(six.base);
  return offsets;
}

TEST_P(Lanes, WholeDwordsOfSmallerElements)
{
  EXPECT_EQ(allowed("store_lane"), "6 7 8 ") << "stores are the program's own";
  EXPECT_EQ(allowed("flat_add"), "4 8 ") << "atomics of 2 bytes are made of 4";
  EXPECT_EQ(allowed("flat_load_pair"), "4 ") << "8 bytes, of which each dword has one";
  EXPECT_EQ(allowed("scalar_load"), "") << "16 bytes have a dword too many on either side";
  // An argument of two bytes at the end of a segment of ten, loaded as a dword by the wave.
  device::Memory out(64);
  device::Kernel kernel(kernels::words("loop"));
  for (const size_t bytes : {10, 8}) {
    device::Memory kernarg(bytes);
    kernarg.as<uint64_t>()[0] = out.address();
    kernarg.as<uint64_t>()[1] = 3;
    EXPECT_EQ(device::run(device::dispatch(kernel.object(), kernarg.as<void>())).ok, bytes == 10);
  }
}

// The same of LDS, where it ends as the dispatch says.
TEST_P(Lanes, WholeDwordsOfSmallerElementsInLds)
{
  Case of = {"", SOFTGPU_CHECK_LDS, 1026};
  of.exec = 1;
  auto passes = [&](const std::string &prefix, uint64_t address) {
    of.instruction = first(prefix);
    return run(of, std::vector<uint64_t>(64, address)).kind == SOFTGPU_FAULT_NONE;
  };
  for (uint64_t start : {uint64_t{1024}, uint64_t{0x1000000000000} + 1024}) {
    const bool is_flat = start > 1024;
    const std::string name = is_flat ? "flat_atomic_add " : "ds_add_u32";
    EXPECT_TRUE(passes(name, start));
    EXPECT_FALSE(passes(name, start + 4));
    const uint64_t offset = is_flat ? 8 : 4; // the instructions' own
    EXPECT_TRUE(passes(is_flat ? "flat_load_dword " : "ds_read_b32", start - offset));
    EXPECT_FALSE(passes(is_flat ? "flat_load_dwordx2" : "ds_read_b64", start - offset));
    EXPECT_FALSE(passes(is_flat ? "flat_store_dword v[" : "ds_write_b32", start - offset));
    EXPECT_TRUE(passes(is_flat ? "flat_store_short " : "ds_write_b16", start - offset));
  }
}

} // namespace
