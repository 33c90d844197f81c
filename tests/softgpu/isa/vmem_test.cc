// Vector memory instructions, each with every form of address.
#include "tests/softgpu/isa/vmem_model.h"

using namespace vmem;

namespace {

enum Pattern { CONSECUTIVE, SCATTERED, UNALIGNED, SOME_LANES };

uint64_t offset_of(Pattern pattern, unsigned lane, unsigned bytes)
{
  switch (pattern) {
  case CONSECUTIVE:
    return 64 + lane * bytes;
  case UNALIGNED:
    return 64 + lane * 17;
  default:
    return 64 + (lane * 37 % 64) * 16;
  }
}

unsigned step_of(const std::string &name)
{
  return std::max(width_of(name), 4u);
}

void test_plain(const std::string &instruction, Pattern pattern, bool sram_ecc)
{
  device::Memory memory(2048);
  State state = random_state(unsigned(pattern) + 1, memory.size());
  state.sram_ecc = sram_ecc;
  const bool is_buffer = instruction.compare(0, 6, "buffer") == 0;
  const std::string name = operation_of(instruction);
  if (pattern == SOME_LANES)
    state.exec = 0x8000000123456780;
  for (unsigned i = 0; i < 64; ++i)
    state.lanes[i].address =
        (is_buffer ? 0 : memory.address()) + offset_of(pattern, i, step_of(name));
  State expected = state;
  for (unsigned i = 0; i < 64; ++i) {
    uint8_t *at = expected.memory.data() + offset_of(pattern, i, step_of(name)) +
                  immediate_offset(instruction);
    if (!(state.exec >> i & 1))
      continue;
    if (name.find("load") == 0)
      model_load(name, expected.lanes[i], at, sram_ecc);
    else
      model_store(name, expected.lanes[i], at);
  }
  uint32_t descriptor[4];
  describe(memory, descriptor);
  expect_same(instruction, execute(instruction, state, memory, descriptor), expected);
}

TEST(VectorMemory, LoadsAndStores)
{
  unsigned tested = 0;
  for (const char *prefix :
       {"global_load", "global_store", "flat_load", "flat_store", "buffer_load", "buffer_store"})
    for (const std::string &instruction : kernels::instructions(prefix)) {
      if (instruction.find("s[12:13]") != std::string::npos ||
          instruction.find("lds") != std::string::npos)
        continue; // the scalar base and loads into LDS have their own tests
      for (Pattern pattern : {CONSECUTIVE, SCATTERED, UNALIGNED, SOME_LANES})
        test_plain(instruction, pattern, true);
      if (instruction.find("d16") != std::string::npos)
        test_plain(instruction, SCATTERED, false);
      ++tested;
    }
  EXPECT_EQ(tested, 66u);
}

TEST(VectorMemory, ScalarBase)
{
  for (const char *instruction : {"global_load_dword v10, v2, s[12:13] offset:4",
                                  "global_store_dword v2, v6, s[12:13] offset:4"})
    for (Pattern pattern : {CONSECUTIVE, SCATTERED, SOME_LANES}) {
      device::Memory memory(2048);
      State state = random_state(9, memory.size());
      for (unsigned i = 0; i < 64; ++i)
        state.lanes[i].address = offset_of(pattern, i, 4) | 0xdead00000000; // only 32 bits count
      State expected = state;
      for (unsigned i = 0; i < 64; ++i) {
        uint8_t *at = expected.memory.data() + offset_of(pattern, i, 4) + 4;
        if (instruction[7] == 'l')
          model_load("load_dword", expected.lanes[i], at);
        else
          model_store("store_dword", expected.lanes[i], at);
      }
      uint32_t base[4];
      describe(memory, base);
      expect_same(instruction, execute(instruction, state, memory, base), expected);
    }
}

TEST(VectorMemory, IntegerAtomics)
{
  const auto narrow = operations<uint32_t, int32_t>();
  const auto wide = operations<uint64_t, int64_t>();
  unsigned tested = 0;
  for (const char *prefix : {"global_atomic_", "flat_atomic_", "buffer_atomic_"})
    for (const std::string &instruction : kernels::instructions(prefix)) {
      std::string name = instruction.substr(0, instruction.find(' ')).substr(strlen(prefix));
      if (name.find("_f") != std::string::npos)
        continue;
      bool is_wide = name.find("_x2") != std::string::npos,
           returns = instruction.find("glc") != std::string::npos;
      name = name.substr(0, name.find("_x2"));
      device::Memory memory(2048);
      State state = random_state(3, memory.size());
      state.exec = 0xfffffffffffffff7;
      for (unsigned i = 0; i < 64; ++i) {
        // Several lanes to one address: they take their turns in order.
        uint64_t offset = 64 + i / 3 * 16;
        state.lanes[i].address = (prefix[0] == 'b' ? 0 : memory.address()) + offset;
        if (i % 5 == 0 && name == "cmpswap") // let some compare equal
          memcpy(state.lanes[i].data + (is_wide ? 2 : 1), &state.memory[offset], is_wide ? 8 : 4);
        if (prefix[0] == 'b') // buffer atomics return into the register of the data
          memcpy(state.lanes[i].result, state.lanes[i].data, 16);
      }
      State expected = state;
      for (unsigned i = 0; i < 64; ++i) {
        uint8_t *at = &expected.memory[64 + i / 3 * 16];
        if (!(state.exec >> i & 1))
          continue;
        if (is_wide)
          exchange(wide.at(name), expected.lanes[i], at, returns);
        else
          exchange(narrow.at(name), expected.lanes[i], at, returns);
      }
      uint32_t descriptor[4];
      describe(memory, descriptor);
      expect_same(instruction, execute(instruction, state, memory, descriptor), expected);
      ++tested;
    }
  EXPECT_EQ(tested, 79u);
}

TEST(VectorMemory, FloatAtomics)
{
  const Operation<uint32_t> add_f32 = [](uint32_t o, uint32_t d, uint32_t) {
    float x, y;
    memcpy(&x, &o, 4);
    memcpy(&y, &d, 4);
    x += y;
    memcpy(&o, &x, 4);
    return o;
  };
  auto with_double = [](std::function<double(double, double)> f) -> Operation<uint64_t> {
    return [f](uint64_t o, uint64_t d, uint64_t) {
      double x, y;
      memcpy(&x, &o, 8);
      memcpy(&y, &d, 8);
      x = f(x, y);
      memcpy(&o, &x, 8);
      return o;
    };
  };
  device::Memory memory(2048);
  State state = random_state(4, memory.size());
  for (unsigned i = 0; i < 64; ++i) {
    double value = std::ldexp(i * 1.25 - 40, int(i % 9) - 4),
           there = std::ldexp(31 - int(i), int(i % 7));
    memcpy(state.lanes[i].data, &value, 8);
    memcpy(&state.memory[64 + i * 16], &there, 8);
    state.lanes[i].address = memory.address() + 64 + i * 16;
  }
  const std::map<std::string, Operation<uint64_t>> wide = {
      {"global_atomic_add_f64 v[10:11], v[2:3], v[6:7], off glc",
       with_double([](double x, double y) { return x + y; })},
      {"global_atomic_min_f64 v[10:11], v[2:3], v[6:7], off glc",
       with_double([](double x, double y) { return y < x ? y : x; })},
      {"global_atomic_max_f64 v[10:11], v[2:3], v[6:7], off glc",
       with_double([](double x, double y) { return y > x ? y : x; })},
  };
  uint32_t descriptor[4] = {};
  for (const auto &entry : wide) {
    State expected = state;
    for (unsigned i = 0; i < 64; ++i)
      exchange(entry.second, expected.lanes[i], &expected.memory[64 + i * 16], true);
    expect_same(entry.first, execute(entry.first, state, memory, descriptor), expected);
  }
  for (unsigned i = 0; i < 64; ++i) {
    float value = float(i) * 0.3f - 7, there = 1.0f / float(i + 1);
    memcpy(state.lanes[i].data, &value, 4);
    memcpy(&state.memory[64 + i * 16], &there, 4);
  }
  State expected = state;
  for (unsigned i = 0; i < 64; ++i)
    exchange(add_f32, expected.lanes[i], &expected.memory[64 + i * 16], false);
  const char *instruction = "global_atomic_add_f32 v[2:3], v6, off";
  expect_same(instruction, execute(instruction, state, memory, descriptor), expected);
}

// LLVM's FeatureMemoryAtomicFAddF32DenormalSupport: gfx942 has it, gfx90a has not.
TEST(VectorMemory, AddingFloatsInMemoryFlushesDenormalsOnMi200)
{
  device::Memory memory(2048);
  State state = random_state(12, memory.size());
  const uint32_t descriptor[4] = {}, there = 0x00000005, data = 0x80000003;
  state.exec = 1;
  state.lanes[0].address = memory.address();
  state.lanes[0].data[0] = data;
  memcpy(&state.memory[0], &there, 4);
  for (bool on_gfx942 : {false, true}) {
    const char *instruction = "global_atomic_add_f32 v[2:3], v6, off";
    State after = execute(instruction, state, memory, descriptor, 0xf0, on_gfx942);
    uint32_t sum;
    memcpy(&sum, &after.memory[0], 4);
    EXPECT_EQ(sum, on_gfx942 ? 2u : 0u);
  }
}

TEST(VectorMemory, PackedHalfAtomic)
{
  // 1.0 + 2.0 | 65504 + 32 rounds to infinity, 65504 + 8 does not; denormals add exactly.
  const struct {
    uint32_t there, data, sum;
  } cases[] = {
      {0x3c007bff, 0x40005000, 0x42007c00}, {0x3c007bff, 0x3c004800, 0x40007bff},
      {0x00010001, 0x000103ff, 0x00020400}, {0x80008000, 0x00008000, 0x00008000},
      {0x7c000001, 0xfc000000, 0x7e000001}, {0x3c013c00, 0x14000c00, 0x3c023c00},
  };
  device::Memory memory(2048);
  State state = random_state(5, memory.size());
  const unsigned count = sizeof cases / sizeof *cases;
  state.exec = (1u << count) - 1;
  for (unsigned i = 0; i < count; ++i) {
    state.lanes[i].address = memory.address() + i * 4;
    state.lanes[i].data[0] = cases[i].data;
    memcpy(&state.memory[i * 4], &cases[i].there, 4);
  }
  uint32_t descriptor[4] = {};
  State after = execute("global_atomic_pk_add_f16 v[2:3], v6, off", state, memory, descriptor);
  for (unsigned i = 0; i < count; ++i) {
    uint32_t sum;
    memcpy(&sum, &after.memory[i * 4], 4);
    EXPECT_EQ(sum, cases[i].sum) << std::hex << cases[i].there << " + " << cases[i].data;
  }
}

TEST(VectorMemory, BuffersEndWithoutAFault)
{
  device::Memory memory(2048);
  State state = random_state(6, memory.size());
  for (unsigned i = 0; i < 64; ++i)
    state.lanes[i].address = i * 16;
  uint32_t descriptor[4];
  describe(memory, descriptor);
  descriptor[2] =
      32 * 16; // lanes from 32 on are beyond the end: lane 31's offset 496 + 4 + 4 is within
  State expected = state;
  for (unsigned i = 0; i < 64; ++i)
    if (i < 32)
      model_load("load_dword", expected.lanes[i], &state.memory[i * 16 + 4]);
    else
      expected.lanes[i].result[0] = 0;
  const char *load = "buffer_load_dword v10, v2, s[12:15], 0 offen offset:4";
  expect_same(load, execute(load, state, memory, descriptor), expected);
  expected = state;
  for (unsigned i = 0; i < 32; ++i)
    model_store("store_dword", state.lanes[i], &expected.memory[i * 16 + 4]);
  const char *store = "buffer_store_dword v6, v2, s[12:15], 0 offen offset:4";
  expect_same(store, execute(store, state, memory, descriptor), expected);
}

// ISA document, "Range checking": loads and stores of several dwords are checked per component.
TEST(VectorMemory, BuffersEndBetweenTheDwordsOfALane)
{
  device::Memory memory(2048);
  State state = random_state(8, memory.size());
  for (unsigned i = 0; i < 64; ++i)
    state.lanes[i].address = i * 20;
  uint32_t descriptor[4];
  describe(memory, descriptor);
  descriptor[2] = 20 * 20 + 4 + 8; // two dwords of lane 20
  State expected = state;
  for (unsigned i = 0; i < 64; ++i)
    for (unsigned j = 0; j < 4; ++j) {
      expected.lanes[i].result[j] = 0;
      if (i * 20 + 4 + 4 * j + 4 <= descriptor[2])
        memcpy(&expected.lanes[i].result[j], &state.memory[i * 20 + 4 + 4 * j], 4);
    }
  const char *load = "buffer_load_dwordx4 v[10:13], v2, s[12:15], 0 offen offset:4";
  expect_same(load, execute(load, state, memory, descriptor), expected);
  expected = state;
  for (unsigned i = 0; i < 64; ++i)
    for (unsigned j = 0; j < 4; ++j)
      if (i * 20 + 4 + 4 * j + 4 <= descriptor[2])
        memcpy(&expected.memory[i * 20 + 4 + 4 * j], &state.lanes[i].data[j], 4);
  const char *store = "buffer_store_dwordx4 v[6:9], v2, s[12:15], 0 offen offset:4";
  expect_same(store, execute(store, state, memory, descriptor), expected);
}

// A dword for each lane at m0 + the offset + 4 * lane; a lane that is off leaves its dword alone.
void test_load_into_lds(const std::string &instruction)
{
  const bool is_buffer = instruction.compare(0, 6, "buffer") == 0;
  device::Memory memory(2048);
  State state = random_state(11, memory.size());
  state.exec = 0xffffffff7fffffef;
  state.m0 = 0xabcd0100; // 16 bits count
  for (unsigned i = 0; i < 64; ++i)
    state.lanes[i].address = (is_buffer ? 0 : memory.address()) + offset_of(SCATTERED, i, 4);
  uint32_t descriptor[4];
  describe(memory, descriptor);
  if (is_buffer)
    descriptor[2] = 64 + 60 * 16; // beyond it, loads give 0
  State expected = state;
  for (unsigned i = 0; i < 64; ++i) {
    const uint64_t offset = offset_of(SCATTERED, i, 4) + 4;
    Lane loaded = {};
    if (offset < descriptor[2])
      model_load(operation_of(instruction), loaded, &state.memory[offset]);
    const unsigned at = 0x100 / 4 + 1 + i;
    if (state.exec >> i & 1)
      expected.lanes[at / 4].lds[at % 4] = loaded.result[0];
  }
  expect_same(instruction, execute(instruction, state, memory, descriptor), expected);
}

TEST(VectorMemory, LoadsIntoLds)
{
  unsigned tested = 0;
  for (const char *prefix : {"buffer_load", "global_load"})
    for (const std::string &instruction : kernels::instructions(prefix))
      if (instruction.find("lds") != std::string::npos) {
        test_load_into_lds(instruction);
        ++tested;
      }
  EXPECT_EQ(tested, 10u);
}

} // namespace
