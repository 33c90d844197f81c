// What lies outside of LDS or of a buffer: reads give 0, stores and atomics do nothing, and each
// dword of a load or a store is in range, or out of it, for itself.
#include "tests/softgpu/isa/vmem_model.h"

using namespace vmem;

namespace {

// --- LDS ---

// Far away (where Tensile's kernels read zeros), around the end, and around the end of 32 bits,
// where the instruction's own offset brings an address back to the start.
uint32_t lds_address(unsigned lane)
{
  switch (lane % 4) {
  case 0:
    return 0xf00000 + lane * 16;
  case 1:
    return LDS - 24 + lane / 4 * 4;
  case 2:
    return LDS - 24 + lane;
  default:
    return 0u - 16 * (lane / 4);
  }
}

struct Lds {
  std::vector<uint8_t> bytes = std::vector<uint8_t>(LDS);
  bool holds(uint64_t address, unsigned count) const { return address + count <= LDS; }

  // Dwords, or what is less, at `address`; of those outside 0.
  void read(uint64_t address, unsigned count, uint8_t *to) const
  {
    memset(to, 0, 16);
    for (unsigned i = 0; i < count; i += 4)
      if (holds(address + i, std::min(count, 4u)))
        memcpy(to + i, &bytes[address + i], std::min(count, 4u));
  }
  void write(uint64_t address, unsigned count, const uint8_t *from)
  {
    for (unsigned i = 0; i < count; i += 4)
      if (holds(address + i, std::min(count, 4u)))
        memcpy(&bytes[address + i], from + i, std::min(count, 4u));
  }
};

using LdsModel = std::function<void(Lane &, Lds &, uint32_t address)>;

void test_lds(const std::string &instruction, unsigned align, const LdsModel &model)
{
  device::Memory memory(64);
  State state = random_state(21, memory.size());
  state.exec = 0xfffffffffffffdff;
  Lds lds;
  for (unsigned i = 0; i < 64; ++i) {
    state.lanes[i].address = lds_address(i) / align * align;
    memcpy(&lds.bytes[i * 16], state.lanes[i].lds, 16);
  }
  State expected = state;
  for (unsigned i = 0; i < 64; ++i)
    if (state.exec >> i & 1)
      model(expected.lanes[i], lds, uint32_t(state.lanes[i].address));
  for (unsigned i = 0; i < 64; ++i)
    memcpy(expected.lanes[i].lds, &lds.bytes[i * 16], 16);
  const uint32_t descriptor[4] = {};
  expect_same(instruction, execute(instruction, state, memory, descriptor), expected);
}

TEST(LdsRange, ReadsGiveZeroAndWritesAreDropped)
{
  unsigned tested = 0;
  for (const char *prefix : {"ds_read_", "ds_write_"})
    for (const std::string &instruction : kernels::instructions(prefix)) {
      const std::string name = operation_of(instruction);
      const unsigned width = width_of(name);
      test_lds(instruction, 1, [&](Lane &lane, Lds &lds, uint32_t address) {
        uint8_t bytes[16];
        address += 4; // the instruction's
        if (name.find("read") == 0) {
          lds.read(address, width, bytes);
          model_load(name, lane, bytes);
        } else {
          model_store(name, lane, bytes);
          lds.write(address, width, bytes);
        }
      });
      ++tested;
    }
  EXPECT_EQ(tested, 22u);
}

// It is given out in units of 512 bytes.
TEST(LdsRange, TheLastUnitIsThereAsAWhole)
{
  device::Memory memory(64);
  State state = random_state(22, memory.size());
  const uint32_t descriptor[4] = {};
  for (uint32_t group_bytes : {0u, 1u, 512u, 513u, 1024u}) {
    state.group_bytes = group_bytes;
    State expected = state;
    for (unsigned i = (group_bytes + 511) / 512 * 32; i < 64; ++i)
      memset(expected.lanes[i].lds, 0, 16);
    for (Lane &lane : expected.lanes)
      lane.result[0] = 0;
    for (Lane &lane : state.lanes)
      lane.address = 1 << 20;
    expect_same("ds_read_b32 v10, v2 offset:4",
                execute("ds_read_b32 v10, v2 offset:4", state, memory, descriptor), expected);
  }
}

TEST(LdsRange, OfTwoAddressesEach)
{
  for (const std::string &width : {std::string("b32"), std::string("b64")}) {
    const unsigned bytes = width == "b32" ? 4 : 8;
    for (unsigned unit : {bytes, 64 * bytes})
      for (const char *kind : {"read2", "write2"}) {
        const bool is_store = kind[0] == 'w', is_far = unit > bytes;
        const std::string instruction =
            kernels::instructions(std::string("ds_") + kind + (is_far ? "st64_" : "_") + width)[0];
        // As the instructions of lds_test.cc: elements 1 and 3, 0 and 1 (read) or 1 and 0 (write).
        const unsigned first = is_far ? is_store : 1, second = is_far ? !is_store : 3;
        test_lds(instruction, 1, [&](Lane &lane, Lds &lds, uint32_t address) {
          uint8_t both[2][16];
          const uint32_t at[2] = {address + first * unit, address + second * unit};
          for (unsigned i = 0; i < 2; ++i)
            if (is_store)
              lds.write(at[i], bytes, reinterpret_cast<uint8_t *>(lane.data + 2 * i));
            else
              lds.read(at[i], bytes, both[i]);
          for (unsigned i = 0; i < 2 && !is_store; ++i)
            memcpy(lane.result + i * bytes / 4, both[i], bytes);
        });
      }
  }
}

TEST(LdsRange, AtomicsReturnZeroAndDoNothing)
{
  const auto narrow = operations<uint32_t, int32_t>();
  const auto wide = operations<uint64_t, int64_t>();
  unsigned tested = 0;
  for (const std::string &instruction : kernels::instructions("ds_")) {
    const std::string name = instruction.substr(3, instruction.find(' ') - 3);
    std::string operation = name.substr(0, name.find('_'));
    const std::string kind = name.substr(name.rfind('_') + 1);
    const bool is_wide = kind.find("64") != std::string::npos,
               returns = name.find("_rtn") != std::string::npos;
    if (operation == "min" || operation == "max")
      operation += "_" + kind.substr(0, 1);
    if (kind[0] == 'f' || !narrow.count(operation))
      continue;
    const unsigned bytes = is_wide ? 8 : 4;
    test_lds(instruction, bytes, [&](Lane &lane, Lds &lds, uint32_t address) {
      if (!lds.holds(address, bytes)) {
        memset(lane.result, 0, returns ? bytes : 0);
        return;
      }
      Lane copy = lane;
      copy.data[1] = is_wide ? copy.data[1] : copy.data[2];
      if (is_wide)
        exchange(wide.at(operation), copy, &lds.bytes[address], returns);
      else
        exchange(narrow.at(operation), copy, &lds.bytes[address], returns);
      memcpy(lane.result, copy.result, 16);
    });
    ++tested;
  }
  EXPECT_EQ(tested, 52u);
}

// --- buffers ---

enum { SOFFSET = 12, RECORDS = 1024 };

// `soffset` bytes before the end, around it, and up to the end of 32 bits.
uint32_t buffer_offset(unsigned lane)
{
  static const uint32_t ends[] = {0xffffffff, 0xfffffffe, 0xfffffffc, 0xfffffff8, 0xfffffff4,
                                  0xfffffff0, 0x80000000, RECORDS,    0};
  if (lane < sizeof ends / sizeof *ends)
    return ends[lane];
  return RECORDS - 64 + (lane - 9) * 7 / 4;
}

struct Buffer {
  device::Memory memory{2048};
  State state = random_state(31, memory.size());
  uint32_t descriptor[4];
  Buffer()
  {
    describe(memory, descriptor);
    descriptor[2] = RECORDS;
    for (unsigned i = 0; i < 64; ++i)
      state.lanes[i].address = buffer_offset(i);
  }
};

// Whether the dword, or what is less, at byte `i` of an access at `offset` is in a raw buffer.
bool in_range(uint64_t offset, unsigned i, unsigned width)
{
  return offset + SOFFSET + i + std::min(width, 4u) <= RECORDS;
}

TEST(BufferRange, EachDwordForItself)
{
  for (const char *name :
       {"store_byte", "store_short", "store_short_d16_hi", "store_dword", "store_dwordx2",
        "store_dwordx3", "store_dwordx4", "load_ubyte", "load_sshort", "load_short_d16",
        "load_short_d16_hi", "load_dword", "load_dwordx2", "load_dwordx3", "load_dwordx4"}) {
    Buffer buffer;
    State expected = buffer.state;
    const unsigned width = width_of(name);
    for (unsigned lane = 0; lane < 64; ++lane) {
      const uint64_t offset = buffer_offset(lane);
      uint8_t bytes[16] = {};
      if (name[0] == 's')
        model_store(name, expected.lanes[lane], bytes);
      for (unsigned i = 0; i < width; i += 4) {
        uint8_t *at = &expected.memory[(offset + SOFFSET + i) % expected.memory.size()];
        if (!in_range(offset, i, width))
          continue;
        if (name[0] == 's')
          memcpy(at, bytes + i, std::min(width, 4u));
        else
          memcpy(bytes + i, at, std::min(width, 4u));
      }
      if (name[0] == 'l')
        model_load(name, expected.lanes[lane], bytes);
    }
    const std::string instruction = std::string("raw_") + name;
    expect_same(instruction, execute(instruction, buffer.state, buffer.memory, buffer.descriptor),
                expected);
  }
}

// How Tensile masks a lane: an offset of -1 must not come back to the buffer's first bytes.
TEST(BufferRange, StoresOfMaskedLanesWriteNothing)
{
  for (const char *instruction : {"raw_store_byte", "raw_store_short", "raw_store_dword",
                                  "raw_store_dwordx2", "raw_store_dwordx3", "raw_store_dwordx4"}) {
    Buffer buffer;
    for (Lane &lane : buffer.state.lanes)
      lane.address = 0xffffffff;
    State after = execute(instruction, buffer.state, buffer.memory, buffer.descriptor);
    EXPECT_EQ(after.memory, buffer.state.memory) << instruction;
  }
}

TEST(BufferRange, AtomicsAreInRangeAsAWhole)
{
  for (const char *name : {"atomic_add", "atomic_add_x2"}) {
    Buffer buffer;
    const unsigned width = width_of(name);
    for (unsigned i = 0; i < 64; ++i) {
      Lane &lane = buffer.state.lanes[i];
      lane.address = (lane.address - SOFFSET) / width * width + SOFFSET % width;
      if (i >= 9)
        lane.address = RECORDS - SOFFSET - 64 + (i - 9) * width;
      memcpy(lane.result, lane.data, sizeof lane.result);
    }
    State expected = buffer.state;
    for (Lane &lane : expected.lanes) {
      const uint64_t offset = uint32_t(lane.address) + uint64_t(SOFFSET);
      uint64_t old = 0, sum;
      if (offset + width <= RECORDS) {
        memcpy(&old, &expected.memory[offset], width);
        memcpy(&sum, lane.data, sizeof sum);
        sum += old;
        memcpy(&expected.memory[offset], &sum, width);
      }
      memcpy(lane.result, &old, width);
    }
    const std::string instruction = std::string("raw_") + name;
    expect_same(instruction, execute(instruction, buffer.state, buffer.memory, buffer.descriptor),
                expected);
  }
}

TEST(BufferRange, LoadsIntoLdsBringZeros)
{
  Buffer buffer;
  State expected = buffer.state;
  for (unsigned lane = 0; lane < 64; ++lane) {
    uint32_t value = 0;
    if (in_range(buffer_offset(lane), 0, 4))
      memcpy(&value, &expected.memory[buffer_offset(lane) + SOFFSET], 4);
    expected.lanes[lane / 4].lds[lane % 4] = value;
  }
  expect_same("raw_load_lds",
              execute("raw_load_lds", buffer.state, buffer.memory, buffer.descriptor), expected);
}

// LLVM splits an addition that may wrap into the register's and the instruction's part.
TEST(BufferRange, RegisterAndInstructionMakeAnOffsetOf32Bits)
{
  Buffer buffer;
  buffer.state.exec = 1;
  buffer.state.lanes[0].address = uint32_t(-16);
  State expected = buffer.state;
  memcpy(&expected.memory[SOFFSET + 4], expected.lanes[0].data, 16);
  const char *instruction = "raw_store_dwordx4_20";
  expect_same(instruction, execute(instruction, buffer.state, buffer.memory, buffer.descriptor),
              expected);
}

// With a stride and an index the index counts; of a swizzled buffer the offset within a record, too.
TEST(BufferRange, OfRecords)
{
  for (bool is_swizzled : {false, true})
    for (const char *instruction : {"record_load_dwordx4", "record_store_dwordx4"}) {
      Buffer buffer;
      const unsigned stride = 16, records = 32, group = 8, element = 4;
      buffer.descriptor[1] |= stride << 16 | uint32_t(is_swizzled) << 31;
      buffer.descriptor[2] = records;
      buffer.descriptor[3] |= 1u << 19; // elements of 4 bytes; 8 indices
      State expected = buffer.state;
      for (unsigned i = 0; i < 64; ++i) {
        const uint32_t index = i == 5 ? 0xffffffff : i;
        const uint32_t offset = !is_swizzled ? 0 : i % 7 == 6 ? 0xfffffffc : i % 7 * 4;
        Lane &lane = expected.lanes[i];
        lane.address = index | uint64_t(offset) << 32;
        buffer.state.lanes[i].address = lane.address;
        for (unsigned j = 0; j < 4; ++j) {
          const uint64_t in_record = uint64_t(offset) + 4 * j;
          uint64_t at = uint64_t(index) * stride + in_record;
          if (is_swizzled)
            at = (index / group * stride + in_record / element * element) * uint64_t(group) +
                 index % group * element;
          const bool is_in = index < records && (!is_swizzled || in_record < stride);
          if (strstr(instruction, "store") && is_in)
            memcpy(&expected.memory[at], &lane.data[j], 4);
          else if (strstr(instruction, "load"))
            memcpy(&lane.result[j], is_in ? &expected.memory[at] : std::vector<uint8_t>(4).data(),
                   4);
        }
      }
      expect_same(instruction, execute(instruction, buffer.state, buffer.memory, buffer.descriptor),
                  expected);
    }
}

// s_buffer_load: dwords beyond the end are 0, also when their offset is close to 2^32, and when the
// loaded registers are those of the descriptor.
TEST(BufferRange, ScalarLoads)
{
  for (const char *instruction : {"scalar_buffer", "scalar_buffer_over"})
    for (uint32_t offset : {0u, RECORDS - 16u, RECORDS - 12u, RECORDS - 4u, uint32_t(RECORDS),
                            0xfffffffcu, 0xfffffff0u}) {
      Buffer buffer;
      buffer.state.m0 = offset;
      State expected = buffer.state;
      for (unsigned j = 0; j < 4; ++j) {
        uint32_t value = 0;
        if (uint64_t(offset) + 4 * j + 4 <= RECORDS)
          memcpy(&value, &expected.memory[offset + 4 * j], 4);
        for (Lane &lane : expected.lanes)
          lane.result[j] = value;
      }
      expect_same(instruction, execute(instruction, buffer.state, buffer.memory, buffer.descriptor),
                  expected);
    }
}

} // namespace
