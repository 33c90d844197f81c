// Vector memory and LDS instructions, each with every form of address, against a model of bytes.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <random>

#include "tests/softgpu/isa/device.h"
#include "tests/softgpu/isa/kernels.h"

namespace {

// The registers around the instruction under test: see vmem_begin in kernels.s.
struct Lane {
  uint64_t address, unused;
  uint32_t data[4], result[4], lds[4];
};
static_assert(sizeof(Lane) == 64, "a record is 64 bytes");
struct Output {
  uint32_t result[4], lds[4], unused[8];
};

struct Arguments {
  uint64_t in, out, exec;
  uint32_t m0, unused;
  uint32_t descriptor[4];
};

struct State {
  std::vector<Lane> lanes{64};
  std::vector<uint8_t> memory; // of the buffer under test
  uint64_t exec = ~0ull;
  uint32_t m0 = 0;
};

const uint32_t LDS = 1024;

// Runs the instruction with `state`, whose addresses are offsets in `memory` plus `base`; the state afterwards.
State execute(const std::string &instruction, const State &state, device::Memory &memory,
              const uint32_t *descriptor)
{
  device::Memory in(64 * sizeof(Lane)), out(64 * sizeof(Output)), kernarg(sizeof(Arguments));
  memcpy(memory.as<void>(), state.memory.data(), state.memory.size());
  memcpy(in.as<void>(), state.lanes.data(), in.size());
  Arguments arguments = {in.address(), out.address(), state.exec, state.m0, 0, {}};
  memcpy(arguments.descriptor, descriptor, sizeof arguments.descriptor);
  memcpy(kernarg.as<void>(), &arguments, sizeof arguments);
  device::Descriptor d;
  d.accum_offset = 32;
  device::Kernel kernel(kernels::around("vmem_begin", instruction, "vmem_end"), d);
  auto chip = kernels::needs_gfx942(instruction) ? SOFTGPU_GFX942 : SOFTGPU_GFX90A;
  auto dispatch = device::dispatch(kernel.object(), kernarg.as<void>(), 1, 64, chip);
  dispatch.group_bytes = LDS;
  auto result = device::run(dispatch);
  EXPECT_TRUE(result.ok) << instruction << ": " << result.fault.text;
  State after = state;
  memcpy(after.memory.data(), memory.as<void>(), after.memory.size());
  for (unsigned i = 0; i < 64; i++) {
    memcpy(after.lanes[i].result, out.as<Output>()[i].result, 16);
    memcpy(after.lanes[i].lds, out.as<Output>()[i].lds, 16);
  }
  return after;
}

std::string operation_of(const std::string &instruction)
{
  std::string name = instruction.substr(0, instruction.find(' '));
  return name.substr(name.find('_') + 1);
}

// --- the model: one lane, bytes in little-endian order ---

void model_load(const std::string &name, Lane &lane, const uint8_t *at)
{
  bool high = name.find("d16_hi") != std::string::npos,
       half = name.find("d16") != std::string::npos;
  bool is_signed = name.find("sbyte") != std::string::npos ||
                   name.find("sshort") != std::string::npos ||
                   name.find("read_i") != std::string::npos;
  unsigned bytes = 4;
  if (name.find("byte") != std::string::npos || name.find("u8") != std::string::npos ||
      name.find("i8") != std::string::npos)
    bytes = 1;
  else if (name.find("short") != std::string::npos || name.find("u16") != std::string::npos ||
           name.find("i16") != std::string::npos)
    bytes = 2;
  else if (name.find("x2") != std::string::npos || name.find("b64") != std::string::npos)
    bytes = 8;
  else if (name.find("x3") != std::string::npos || name.find("b96") != std::string::npos)
    bytes = 12;
  else if (name.find("x4") != std::string::npos || name.find("b128") != std::string::npos)
    bytes = 16;
  if (bytes >= 4) {
    memcpy(lane.result, at, bytes);
    return;
  }
  int32_t value = bytes == 1 ? at[0] : at[0] | at[1] << 8;
  if (is_signed)
    value = bytes == 1 ? int8_t(value) : int16_t(value);
  uint16_t parts[2];
  memcpy(parts, lane.result, 4);
  if (half)
    parts[high] = uint16_t(value);
  else
    memcpy(parts, &value, 4);
  memcpy(lane.result, parts, 4);
}

void model_store(const std::string &name, const Lane &lane, uint8_t *at)
{
  const uint8_t *data = reinterpret_cast<const uint8_t *>(lane.data);
  bool high = name.find("d16_hi") != std::string::npos;
  unsigned bytes = 4;
  if (name.find("byte") != std::string::npos || name.find("_b8") != std::string::npos)
    bytes = 1;
  else if (name.find("short") != std::string::npos || name.find("_b16") != std::string::npos)
    bytes = 2;
  else if (name.find("x2") != std::string::npos || name.find("b64") != std::string::npos)
    bytes = 8;
  else if (name.find("x3") != std::string::npos || name.find("b96") != std::string::npos)
    bytes = 12;
  else if (name.find("x4") != std::string::npos || name.find("b128") != std::string::npos)
    bytes = 16;
  memcpy(at, data + (high ? 2 : 0), bytes);
}

template <typename T> using Operation = std::function<T(T old, T data, T second)>;

// Names as in global_atomic_* and ds_*; `second` is the value compared with, in DS the second data operand.
template <typename T, typename S> std::map<std::string, Operation<T>> operations()
{
  std::map<std::string, Operation<T>> m;
  m["swap"] = m["wrxchg"] = [](T, T d, T) { return d; };
  m["cmpswap"] = [](T o, T d, T c) { return o == c ? d : o; };
  m["cmpst"] = [](T o, T c, T d) { return o == c ? d : o; };
  m["mskor"] = [](T o, T mask, T d) { return T((o & ~mask) | d); };
  m["add"] = [](T o, T d, T) { return o + d; };
  m["sub"] = [](T o, T d, T) { return o - d; };
  m["rsub"] = [](T o, T d, T) { return d - o; };
  m["smin"] = m["min_i"] = [](T o, T d, T) { return S(o) < S(d) ? o : d; };
  m["smax"] = m["max_i"] = [](T o, T d, T) { return S(o) > S(d) ? o : d; };
  m["umin"] = m["min_u"] = [](T o, T d, T) { return o < d ? o : d; };
  m["umax"] = m["max_u"] = [](T o, T d, T) { return o > d ? o : d; };
  m["and"] = [](T o, T d, T) { return o & d; };
  m["or"] = [](T o, T d, T) { return o | d; };
  m["xor"] = [](T o, T d, T) { return o ^ d; };
  m["inc"] = [](T o, T d, T) { return o >= d ? 0 : o + 1; };
  m["dec"] = [](T o, T d, T) { return o == 0 || o > d ? d : o - 1; };
  return m;
}

template <typename T>
void exchange(const Operation<T> &operation, Lane &lane, uint8_t *at, bool returns)
{
  T old, data[2];
  memcpy(&old, at, sizeof old);
  memcpy(data, lane.data, sizeof data);
  T now = operation(old, data[0], data[1]);
  memcpy(at, &now, sizeof now);
  if (returns)
    memcpy(lane.result, &old, sizeof old);
}

// --- memory ---

State random_state(unsigned seed, size_t bytes)
{
  std::mt19937 random(seed);
  State state;
  state.memory.resize(bytes);
  for (uint8_t &byte : state.memory)
    byte = uint8_t(random());
  for (Lane &lane : state.lanes)
    for (uint32_t *words : {lane.data, lane.result, lane.lds})
      for (unsigned i = 0; i < 4; i++)
        words[i] = random() % 8 == 0 ? random() % 4 : uint32_t(random());
  return state;
}

// A raw buffer of the whole memory.
void describe(const device::Memory &memory, uint32_t descriptor[4])
{
  descriptor[0] = uint32_t(memory.address());
  descriptor[1] = uint32_t(memory.address() >> 32);
  descriptor[2] = uint32_t(memory.size());
  descriptor[3] = 0x00020000;
}

int immediate_offset(const std::string &instruction)
{
  size_t at = instruction.find("offset:");
  return at == std::string::npos ? 0 : atoi(instruction.c_str() + at + 7);
}

void expect_same(const std::string &instruction, const State &actual, const State &expected)
{
  EXPECT_EQ(actual.memory, expected.memory) << instruction;
  for (unsigned i = 0; i < 64; i++)
    for (unsigned j = 0; j < 4; j++) {
      ASSERT_EQ(actual.lanes[i].result[j], expected.lanes[i].result[j])
          << instruction << " lane " << i << " dword " << j;
      ASSERT_EQ(actual.lanes[i].lds[j], expected.lanes[i].lds[j])
          << instruction << " LDS of lane " << i;
    }
}

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

unsigned width_of(const std::string &name)
{
  for (const auto &entry : std::map<std::string, unsigned>{{"x2", 8}, {"x3", 12}, {"x4", 16}})
    if (name.find(entry.first) != std::string::npos)
      return entry.second;
  return 4;
}

void test_plain(const std::string &instruction, Pattern pattern)
{
  device::Memory memory(2048);
  State state = random_state(unsigned(pattern) + 1, memory.size());
  const bool is_buffer = instruction.compare(0, 6, "buffer") == 0;
  const std::string name = operation_of(instruction);
  if (pattern == SOME_LANES)
    state.exec = 0x8000000123456780;
  for (unsigned i = 0; i < 64; i++)
    state.lanes[i].address =
        (is_buffer ? 0 : memory.address()) + offset_of(pattern, i, width_of(name));
  State expected = state;
  for (unsigned i = 0; i < 64; i++) {
    uint8_t *at = expected.memory.data() + offset_of(pattern, i, width_of(name)) +
                  immediate_offset(instruction);
    if (!(state.exec >> i & 1))
      continue;
    if (name.find("load") == 0)
      model_load(name, expected.lanes[i], at);
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
        test_plain(instruction, pattern);
      tested++;
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
      for (unsigned i = 0; i < 64; i++)
        state.lanes[i].address = offset_of(pattern, i, 4) | 0xdead00000000; // only 32 bits count
      State expected = state;
      for (unsigned i = 0; i < 64; i++) {
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
      for (unsigned i = 0; i < 64; i++) {
        // Several lanes to one address: they take their turns in order.
        uint64_t offset = 64 + i / 3 * 16;
        state.lanes[i].address = (prefix[0] == 'b' ? 0 : memory.address()) + offset;
        if (i % 5 == 0 && name == "cmpswap") // let some compare equal
          memcpy(state.lanes[i].data + (is_wide ? 2 : 1), &state.memory[offset], is_wide ? 8 : 4);
        if (prefix[0] == 'b') // buffer atomics return into the register of the data
          memcpy(state.lanes[i].result, state.lanes[i].data, 16);
      }
      State expected = state;
      for (unsigned i = 0; i < 64; i++) {
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
      tested++;
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
  for (unsigned i = 0; i < 64; i++) {
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
    for (unsigned i = 0; i < 64; i++)
      exchange(entry.second, expected.lanes[i], &expected.memory[64 + i * 16], true);
    expect_same(entry.first, execute(entry.first, state, memory, descriptor), expected);
  }
  for (unsigned i = 0; i < 64; i++) {
    float value = float(i) * 0.3f - 7, there = 1.0f / float(i + 1);
    memcpy(state.lanes[i].data, &value, 4);
    memcpy(&state.memory[64 + i * 16], &there, 4);
  }
  State expected = state;
  for (unsigned i = 0; i < 64; i++)
    exchange(add_f32, expected.lanes[i], &expected.memory[64 + i * 16], false);
  const char *instruction = "global_atomic_add_f32 v[2:3], v6, off";
  expect_same(instruction, execute(instruction, state, memory, descriptor), expected);
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
  for (unsigned i = 0; i < count; i++) {
    state.lanes[i].address = memory.address() + i * 4;
    state.lanes[i].data[0] = cases[i].data;
    memcpy(&state.memory[i * 4], &cases[i].there, 4);
  }
  uint32_t descriptor[4] = {};
  State after = execute("global_atomic_pk_add_f16 v[2:3], v6, off", state, memory, descriptor);
  for (unsigned i = 0; i < count; i++) {
    uint32_t sum;
    memcpy(&sum, &after.memory[i * 4], 4);
    EXPECT_EQ(sum, cases[i].sum) << std::hex << cases[i].there << " + " << cases[i].data;
  }
}

TEST(VectorMemory, BuffersEndWithoutAFault)
{
  device::Memory memory(2048);
  State state = random_state(6, memory.size());
  for (unsigned i = 0; i < 64; i++)
    state.lanes[i].address = i * 16;
  uint32_t descriptor[4];
  describe(memory, descriptor);
  descriptor[2] =
      32 * 16; // lanes from 32 on are beyond the end: lane 31's offset 496 + 4 + 4 is within
  State expected = state;
  for (unsigned i = 0; i < 64; i++)
    if (i < 32)
      model_load("load_dword", expected.lanes[i], &state.memory[i * 16 + 4]);
    else
      expected.lanes[i].result[0] = 0;
  const char *load = "buffer_load_dword v10, v2, s[12:15], 0 offen offset:4";
  expect_same(load, execute(load, state, memory, descriptor), expected);
  expected = state;
  for (unsigned i = 0; i < 32; i++)
    model_store("store_dword", state.lanes[i], &expected.memory[i * 16 + 4]);
  const char *store = "buffer_store_dword v6, v2, s[12:15], 0 offen offset:4";
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
  for (unsigned i = 0; i < 64; i++)
    state.lanes[i].address = (is_buffer ? 0 : memory.address()) + offset_of(SCATTERED, i, 4);
  uint32_t descriptor[4];
  describe(memory, descriptor);
  if (is_buffer)
    descriptor[2] = 64 + 60 * 16; // beyond it, loads give 0
  State expected = state;
  for (unsigned i = 0; i < 64; i++) {
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
        tested++;
      }
  EXPECT_EQ(tested, 10u);
}

// --- LDS: the memory is the lanes' 16 bytes each ---

void run_ds(const std::string &instruction, const std::function<void(Lane &, uint8_t *)> &model,
            const std::function<uint32_t(unsigned)> &address)
{
  device::Memory memory(64);
  State state = random_state(7, memory.size());
  state.exec = 0xffff00ff12345678;
  for (unsigned i = 0; i < 64; i++)
    state.lanes[i].address = address(i);
  State expected = state;
  std::vector<uint8_t> lds(LDS);
  for (unsigned i = 0; i < 64; i++)
    memcpy(&lds[i * 16], state.lanes[i].lds, 16);
  for (unsigned i = 0; i < 64; i++)
    if (state.exec >> i & 1)
      model(expected.lanes[i], &lds[expected.lanes[i].address]);
  for (unsigned i = 0; i < 64; i++)
    memcpy(expected.lanes[i].lds, &lds[i * 16], 16);
  uint32_t descriptor[4] = {};
  expect_same(instruction, execute(instruction, state, memory, descriptor), expected);
}

TEST(Lds, ReadsAndWrites)
{
  unsigned tested = 0;
  for (const char *prefix : {"ds_read_", "ds_write_"})
    for (const std::string &instruction : kernels::instructions(prefix)) {
      std::string name = operation_of(instruction);
      auto model = [name](Lane &lane, uint8_t *at) {
        if (name.find("read") == 0)
          model_load(name, lane, at + 4);
        else
          model_store(name, lane, at + 4);
      };
      run_ds(instruction, model, [](unsigned i) { return i * 15; });
      tested++;
    }
  EXPECT_EQ(tested, 22u);
}

TEST(Lds, TwoAddresses)
{
  for (const std::string &width : {std::string("b32"), std::string("b64")}) {
    const unsigned bytes = width == "b32" ? 4 : 8, w = bytes / 4;
    auto find = [&](const std::string &name) {
      return kernels::instructions("ds_" + name + "_" + width).at(0);
    };
    auto address = [](unsigned i) { return i * 8 % 448; };
    auto read = [=](unsigned first, unsigned second) {
      return [=](Lane &lane, uint8_t *at) {
        memcpy(lane.result, at + first, bytes);
        memcpy(lane.result + w, at + second, bytes);
      };
    };
    auto write = [=](unsigned first, unsigned second) {
      return [=](Lane &lane, uint8_t *at) {
        memcpy(at + first, lane.data, bytes);
        memcpy(at + second, lane.data + 2, bytes); // v[8:9]
      };
    };
    run_ds(find("read2"), read(bytes, 3 * bytes), address);
    run_ds(find("read2st64"), read(0, 64 * bytes), address);
    run_ds(find("write2"), write(bytes, 3 * bytes), address);
    run_ds(find("write2st64"), write(64 * bytes, 0), address);
    run_ds(
        find("wrxchg2_rtn"),
        [=](Lane &lane, uint8_t *at) {
          read(0, bytes)(lane, at);
          write(0, bytes)(lane, at);
        },
        [](unsigned i) { return i * 16; });
  }
}

TEST(Lds, IntegerAtomics)
{
  const auto narrow = operations<uint32_t, int32_t>();
  const auto wide = operations<uint64_t, int64_t>();
  unsigned tested = 0;
  for (const std::string &instruction : kernels::instructions("ds_")) {
    std::string name = instruction.substr(3, instruction.find(' ') - 3);
    bool returns = name.find("_rtn") != std::string::npos;
    size_t type = name.rfind('_');
    std::string operation = name.substr(0, name.find('_')), kind = name.substr(type + 1);
    if (operation == "min" || operation == "max")
      operation += "_" + kind.substr(0, 1);
    if (kind[0] == 'f' || !narrow.count(operation))
      continue;
    bool is_wide = kind.find("64") != std::string::npos;
    auto model = [&](Lane &lane, uint8_t *at) {
      Lane copy = lane;
      if (is_wide)
        exchange(wide.at(operation), lane, at, returns);
      copy.data[1] = copy.data[2]; // the second operand starts at v8
      if (!is_wide) {
        exchange(narrow.at(operation), copy, at, returns);
        memcpy(lane.result, copy.result, 16);
      }
    };
    run_ds(instruction, model, [](unsigned i) { return i / 2 * 16; });
    tested++;
  }
  EXPECT_EQ(tested, 52u);
}

TEST(Lds, FloatAtomics)
{
  // Random bits include denormals, infinities and NaNs; only bits that the host's own arithmetic leaves open differ.
  for (const char *name : {"add", "min", "max"}) {
    auto narrow = [name](uint32_t o, uint32_t d, uint32_t) {
      float x, y;
      memcpy(&x, &o, 4);
      memcpy(&y, &d, 4);
      if (name[0] != 'a')
        return (name[1] == 'i' ? y < x : y > x) ? d : o;
      x += y;
      memcpy(&o, &x, 4);
      return o;
    };
    auto wide = [name](uint64_t o, uint64_t d, uint64_t) {
      double x, y;
      memcpy(&x, &o, 8);
      memcpy(&y, &d, 8);
      if (name[0] != 'a')
        return (name[1] == 'i' ? y < x : y > x) ? d : o;
      x += y;
      memcpy(&o, &x, 8);
      return o;
    };
    auto address = [](unsigned i) { return i * 16; };
    std::string prefix = std::string("ds_") + name + "_rtn_";
    run_ds(
        kernels::instructions(prefix + "f32").at(0),
        [&](Lane &lane, uint8_t *at) { exchange<uint32_t>(narrow, lane, at, true); }, address);
    run_ds(
        kernels::instructions(prefix + "f64").at(0),
        [&](Lane &lane, uint8_t *at) { exchange<uint64_t>(wide, lane, at, true); }, address);
  }
}

// --- permutations ---

uint32_t lane_value(unsigned i)
{
  return 1000 + i;
}

std::vector<uint32_t> permuted(const std::string &instruction, uint64_t exec,
                               const std::function<uint32_t(unsigned)> &address)
{
  device::Memory memory(64);
  State state = random_state(8, memory.size());
  state.exec = exec;
  for (unsigned i = 0; i < 64; i++) {
    state.lanes[i].address = address(i);
    state.lanes[i].data[0] = lane_value(i);
    state.lanes[i].result[0] = 7;
  }
  uint32_t descriptor[4] = {};
  State after = execute(instruction, state, memory, descriptor);
  std::vector<uint32_t> out;
  for (const Lane &lane : after.lanes)
    out.push_back(lane.result[0]);
  return out;
}

TEST(Lds, Permutations)
{
  const uint64_t exec = 0xfffffffffffffff5; // lanes 1 and 3 are off
  auto pulled = permuted("ds_bpermute_b32 v10, v2, v6", exec,
                         [](unsigned i) { return (i * 7 + 64) * 4 + 1; });
  auto pushed =
      permuted("ds_permute_b32 v10, v2, v6", exec, [](unsigned i) { return (i ^ 5) * 4; });
  for (unsigned i = 0; i < 64; i++) {
    bool on = exec >> i & 1;
    unsigned from = i * 7 % 64;
    EXPECT_EQ(pulled[i], !on ? 7 : exec >> from & 1 ? lane_value(from) : 0) << i;
    EXPECT_EQ(pushed[i], !on ? 7 : exec >> (i ^ 5) & 1 ? lane_value(i ^ 5) : 0) << i;
  }
}

TEST(Lds, Swizzles)
{
  const std::map<std::string, std::function<unsigned(unsigned)>> cases = {
      {"ds_swizzle_b32 v10, v6 offset:swizzle(QUAD_PERM,3,2,1,0)",
       [](unsigned i) { return i ^ 3; }},
      {"ds_swizzle_b32 v10, v6 offset:swizzle(REVERSE,8)", [](unsigned i) { return i ^ 7; }},
      {"ds_swizzle_b32 v10, v6 offset:swizzle(BROADCAST,4,2)",
       [](unsigned i) { return (i & ~3u) + 2; }},
      {"ds_swizzle_b32 v10, v6 offset:swizzle(SWAP,16)", [](unsigned i) { return i ^ 16; }},
  };
  for (const auto &entry : cases) {
    auto out = permuted(entry.first, ~0ull, [](unsigned) { return 0u; });
    for (unsigned i = 0; i < 64; i++)
      EXPECT_EQ(out[i], lane_value(entry.second(i))) << entry.first << " lane " << i;
  }
}

} // namespace
