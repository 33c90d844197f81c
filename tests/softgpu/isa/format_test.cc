// Typed buffers: every data format with the numbers that it can have, by values worked out by hand from the ISA documents;
// which component goes where; what is out of range.
#include "tests/softgpu/isa/vmem_model.h"

using namespace vmem;

namespace {

enum { UNORM, SNORM, USCALED, SSCALED, UINT, SINT, RESERVED, FLOAT };
enum { X = 4, Y, Z, W }; // of a descriptor; 0 and 1 are constants

uint32_t f(float value)
{
  uint32_t bits;
  memcpy(&bits, &value, 4);
  return bits;
}

struct Buffer {
  device::Memory memory{4096};
  uint32_t descriptor[4];
  Buffer(unsigned data, unsigned number, uint32_t records = 4096,
         std::vector<unsigned> select = {X, Y, Z, W})
  {
    describe(memory, descriptor);
    descriptor[2] = records;
    descriptor[3] = data << 15 | number << 12;
    for (unsigned i = 0; i < 4; ++i)
      descriptor[3] |= select[i] << 3 * i;
  }
};

const uint32_t BEFORE = 0xdddddddd;

// Lane 0's registers after a load of what is at byte 32.
std::vector<uint32_t> load(const std::string &instruction, Buffer &buffer,
                           const std::vector<uint32_t> &memory, uint32_t address = 32,
                           bool sram_ecc = true)
{
  State state = random_state(3, buffer.memory.size());
  memcpy(state.memory.data() + 32, memory.data(), memory.size() * 4);
  state.exec = 1;
  state.sram_ecc = sram_ecc;
  state.lanes[0].address = address;
  std::fill(state.lanes[0].result, state.lanes[0].result + 4, BEFORE);
  const State after = execute(instruction, state, buffer.memory, buffer.descriptor);
  EXPECT_EQ(after.memory, state.memory);
  return {after.lanes[0].result, after.lanes[0].result + 4};
}

// The dwords at byte 32 after a store by lane 0.
std::vector<uint32_t> store(const std::string &instruction, Buffer &buffer,
                            const std::vector<uint32_t> &data, uint32_t address = 32)
{
  State state = random_state(3, buffer.memory.size());
  std::fill(state.memory.begin(), state.memory.end(), uint8_t(0xdd));
  state.exec = 1;
  state.lanes[0].address = address;
  std::copy(data.begin(), data.end(), state.lanes[0].data);
  State after = execute(instruction, state, buffer.memory, buffer.descriptor);
  std::vector<uint32_t> words(4);
  memcpy(words.data(), after.memory.data() + 32, 16);
  std::fill(after.memory.begin() + 32, after.memory.begin() + 48, uint8_t(0xdd));
  EXPECT_EQ(after.memory, state.memory) << "elsewhere";
  return words;
}

struct Row {
  unsigned data, number;
  std::vector<uint32_t> memory, registers;
};

// The last of a data format's name is in the lowest bits, and is x.
const Row loads[] = {
    {0, UINT, {0xffffffff}, {0, 0, 0, 0}}, // no buffer
    {1, UNORM, {0x80}, {f(128 / 255.0f), 0, 0, 0}},
    {1, SNORM, {0x80}, {f(-1), 0, 0, 0}},
    {1, USCALED, {0xff}, {f(255), 0, 0, 0}},
    {1, SSCALED, {0x80}, {f(-128), 0, 0, 0}},
    {1, UINT, {0x80}, {0x80, 0, 0, 0}},
    {1, SINT, {0x80}, {0xffffff80, 0, 0, 0}},
    {2, UNORM, {0xffff}, {f(1), 0, 0, 0}},
    {2, SNORM, {0x8001}, {f(-1), 0, 0, 0}},
    {2, FLOAT, {0x3c01}, {0x3f802000, 0, 0, 0}},
    {2, FLOAT, {0x0001}, {0x33800000, 0, 0, 0}}, // a denormal
    {3, UNORM, {0xff00}, {0, f(1), 0, 0}},
    {4, UINT, {0x80000001}, {0x80000001, 0, 0, 0}},
    {4, FLOAT, {0x00000001}, {0x00000001, 0, 0, 0}}, // as it is
    {5, SSCALED, {0x7fff8000}, {f(-32768), f(32767), 0, 0}},
    {6, FLOAT, {0x1e0u << 22 | 0x3c1 << 11 | 0x3c0}, {f(1), f(1 + 1 / 64.0f), f(1), 0}},
    {6, FLOAT, {0x3e0u << 22 | 0x001 << 11 | 0x7c0}, {0x7f800000, 0x35800000, 0x7f800000, 0}},
    {6, UINT, {0x3ffu << 22 | 1 << 11 | 0x7ff}, {0x7ff, 1, 0x3ff, 0}},
    {7, UINT, {0x7ffu << 21 | 1 << 10 | 0x3ff}, {0x3ff, 1, 0x7ff, 0}},
    {8, UINT, {0x3ffu << 22 | 2 << 12 | 1 << 2 | 3}, {3, 1, 2, 0x3ff}},
    {9, UNORM, {3u << 30 | 0x3ff << 20 | 1}, {f(1 / 1023.0f), 0, f(1), f(1)}},
    {9, SNORM, {2u << 30 | 0x200 << 20 | 0x1ff}, {f(1), 0, f(-1), f(-1)}},
    {10, SINT, {0x80ff7f01}, {1, 127, 0xffffffff, 0xffffff80}},
    {10, UNORM, {0x00ff0033}, {f(0.2f), 0, f(1), 0}},
    {11, SINT, {1, 0x80000000}, {1, 0x80000000, 0, 0}},
    {12, FLOAT, {0x40003c00, 0x7c00c000}, {f(1), f(2), f(-2), 0x7f800000}},
    {13, UINT, {1, 2, 3}, {1, 2, 3, 0}},
    {14, FLOAT, {1, 2, 3, 4}, {1, 2, 3, 4}},
};

TEST(Formats, Loads)
{
  for (const Row &row : loads) {
    Buffer buffer(row.data, row.number);
    EXPECT_EQ(load("load_format_xyzw", buffer, row.memory), row.registers)
        << "data format " << row.data << ", number format " << row.number;
  }
}

const Row stores[] = {
    {1, UNORM, {0xdddddd80}, {f(128 / 255.0f)}},
    {1, UNORM, {0xdddddd00}, {0x7fc00000}}, // not a number
    {1, UNORM, {0xddddddff}, {f(7)}},
    {1, SNORM, {0xdddddd81}, {f(-2)}},
    {1, USCALED, {0xddddddff}, {f(1000)}},
    {1, SSCALED, {0xddddddff}, {f(-1.75f)}},
    {1, UINT, {0xddddddff}, {256}},
    {1, SINT, {0xdddddd80}, {0x80000000}},
    {2, FLOAT, {0xdddd3c01}, {f(1 + 1 / 1024.0f)}},
    {3, UNORM, {0xddddff00}, {0, f(1)}},
    {4, FLOAT, {0x00000001}, {1}},
    {5, UINT, {0x0002ffff}, {0x10000, 2}},
    {6, FLOAT, {0x1e0u << 22 | 0x3c1 << 11 | 0x3c0}, {f(1), f(1 + 1 / 64.0f), f(1)}},
    {6, FLOAT, {0x3e0u << 22 | 0x000 << 11 | 0x001}, {0x35800000, f(-1), 0x7f800000}},
    {7, UINT, {0x7ffu << 21 | 1 << 10 | 0x3ff}, {4000, 1, 4000}},
    {8, UINT, {0x3ffu << 22 | 2 << 12 | 1 << 2 | 3}, {4, 1, 2, 1024}},
    {9, UNORM, {3u << 30 | 0x3ff << 20 | 0x200}, {f(0.5f), f(-1), f(2), f(1)}}, // 511.5 to even
    {9, SINT, {2u << 30 | 0x1ff << 20 | 0x200}, {f(-1), 0, 1000, 0x80000000}},
    {10, SINT, {0x80ff7f01}, {1, 300, 0xffffffff, 0xffffff00}},
    {12, FLOAT, {0x40003c00, 0x7c00c000}, {f(1), f(2), f(-2), f(65520)}},
    {13, UINT, {1, 2, 3, 0xdddddddd}, {1, 2, 3, 4}},
    {14, FLOAT, {1, 2, 3, 4}, {1, 2, 3, 4}},
};

TEST(Formats, Stores)
{
  for (const Row &row : stores) {
    Buffer buffer(row.data, row.number);
    std::vector<uint32_t> data = row.registers, expected = row.memory;
    data.resize(4);
    expected.resize(4, 0xdddddddd);
    EXPECT_EQ(store("store_format_xyzw", buffer, data), expected)
        << "data format " << row.data << ", number format " << row.number;
  }
  Buffer none(0, UINT);
  EXPECT_EQ(store("store_format_xyzw", none, {1, 2, 3, 4}), std::vector<uint32_t>(4, 0xdddddddd));
}

TEST(Formats, AnInstructionsOwnGoBeforeTheDescriptors)
{
  Buffer buffer(14, FLOAT, 4096, {0, 0, 0, 0}); // nor does it say where components go
  EXPECT_EQ(load(kernels::instructions("tbuffer_load_format_xyzw")[0], buffer,
                 {2u << 30 | 0x200 << 20 | 0x1ff}),
            (std::vector<uint32_t>{f(1), 0, f(-1), f(-1)}));
  EXPECT_EQ(load(kernels::instructions("tbuffer_load_format_x ")[0], buffer, {0, 0x80}),
            (std::vector<uint32_t>{f(128 / 255.0f), BEFORE, BEFORE, BEFORE}));
  EXPECT_EQ(
      store(kernels::instructions("tbuffer_store_format_xyz ")[0], buffer, {f(1), f(2), f(-2), 0}),
      (std::vector<uint32_t>{0x40003c00, 0xddddc000, 0xdddddddd, 0xdddddddd}))
      << "w stays";
  EXPECT_EQ(load(kernels::instructions("tbuffer_load_format_d16_xy")[0], buffer,
                 {0x12345, 0xfffffffe, 3, 4}),
            (std::vector<uint32_t>{0xfffe7fff, BEFORE, BEFORE, BEFORE}));
}

TEST(Formats, TheDescriptorSaysWhatARegisterGets)
{
  Buffer swapped(10, UINT, 4096, {Z, Y, X, 1}), fixed(10, UNORM, 4096, {1, 0, W, W});
  EXPECT_EQ(load("load_format_xyzw", swapped, {0x04030201}), (std::vector<uint32_t>{3, 2, 1, 1}));
  EXPECT_EQ(load("load_format_xyzw", fixed, {0xff030201}),
            (std::vector<uint32_t>{f(1), 0, f(1), f(1)}));
  EXPECT_EQ(load("load_format_x", swapped, {0x04030201}),
            (std::vector<uint32_t>{3, BEFORE, BEFORE, BEFORE}));
}

// "Load/store-format instructions are range-checked all or nothing"; what is constant stays.
TEST(Formats, ElementsAreInRangeWhollyOrNotAtAll)
{
  const std::vector<uint32_t> memory = {1, 2, 3, 4};
  for (uint32_t records : {47u, 48u}) {
    Buffer buffer(14, UINT, records, {X, Y, Z, 1}), all(14, UINT, records);
    const bool is_in = records == 48;
    EXPECT_EQ(load("load_format_xyzw", buffer, memory),
              is_in ? (std::vector<uint32_t>{1, 2, 3, 1}) : (std::vector<uint32_t>{0, 0, 0, 1}));
    EXPECT_EQ(store("store_format_xyzw", all, memory),
              is_in ? memory : std::vector<uint32_t>(4, 0xdddddddd));
  }
  // Where the end of 32 bits is near, too.
  Buffer buffer(14, UINT);
  EXPECT_EQ(store("store_format_xyzw", buffer, memory, 0xffffffff),
            std::vector<uint32_t>(4, 0xdddddddd));
}

TEST(Formats, HalvesOfRegisters)
{
  Buffer floats(14, FLOAT), shorts(12, SINT);
  const std::vector<uint32_t> memory = {f(1), f(2), f(-2), f(4)};
  EXPECT_EQ(load("load_format_d16_xyz", floats, memory),
            (std::vector<uint32_t>{0x40003c00, 0x0000c000, BEFORE, BEFORE}));
  EXPECT_EQ(load("load_format_d16_xyz", floats, memory, 32, false)[1], 0xddddc000);
  EXPECT_EQ(load("load_format_d16_hi_x", floats, memory)[0], 0x3c000000u);
  EXPECT_EQ(load("load_format_d16_hi_x", floats, memory, 32, false)[0], 0x3c00ddddu);
  EXPECT_EQ(store("store_format_d16_xyzw", shorts, {0x00020001, 0xfffe8000}),
            (std::vector<uint32_t>{0x00020001, 0xfffe8000, 0xdddddddd, 0xdddddddd}));
  EXPECT_EQ(store("store_format_d16_hi_x", floats, {0x3c004000})[0], f(1));
}

// What the documents have no such combination of is told, rather than guessed.
TEST(Formats, ReservedOnesAreFaults)
{
  for (auto [data, number] :
       {std::pair{4, UNORM}, {1, FLOAT}, {9, FLOAT}, {10, RESERVED}, {15, UINT}}) {
    Buffer buffer{unsigned(data), unsigned(number)};
    device::Memory in(64 * sizeof(Lane)), out(64 * sizeof(Output)), kernarg(64);
    auto *arguments = kernarg.as<Arguments>();
    *arguments = {in.address(), out.address(), ~0ull, 0, 0, {}};
    memcpy(arguments->descriptor, buffer.descriptor, 16);
    device::Descriptor d;
    d.accum_offset = 32;
    device::Kernel kernel(kernels::around("vmem_begin", "load_format_x", "vmem_end"), d);
    auto dispatch = device::dispatch(kernel.object(), kernarg.as<void>());
    dispatch.group_bytes = 1024;
    const device::Result result = device::run(dispatch);
    EXPECT_EQ(result.fault.kind, SOFTGPU_FAULT_ILLEGAL_INSTRUCTION) << data << " " << number;
    EXPECT_NE(std::string(result.fault.text).find("buffer_load_format_x"), std::string::npos);
  }
}

} // namespace
