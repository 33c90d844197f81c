// LDS instructions. The memory is the lanes' 16 bytes each.
#include "tests/softgpu/isa/vmem_model.h"

using namespace vmem;

namespace {

void run_ds(const std::string &instruction, const std::function<void(Lane &, uint8_t *)> &model,
            const std::function<uint32_t(unsigned)> &address, bool sram_ecc = true)
{
  device::Memory memory(64);
  State state = random_state(7, memory.size());
  state.sram_ecc = sram_ecc;
  state.exec = 0xffff00ff12345678;
  for (unsigned i = 0; i < 64; ++i)
    state.lanes[i].address = address(i);
  State expected = state;
  std::vector<uint8_t> lds(LDS);
  for (unsigned i = 0; i < 64; ++i)
    memcpy(&lds[i * 16], state.lanes[i].lds, 16);
  for (unsigned i = 0; i < 64; ++i)
    if (state.exec >> i & 1)
      model(expected.lanes[i], &lds[expected.lanes[i].address]);
  for (unsigned i = 0; i < 64; ++i)
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
      for (bool sram_ecc : {true, false}) {
        auto model = [=](Lane &lane, uint8_t *at) {
          if (name.find("read") == 0)
            model_load(name, lane, at + 4, sram_ecc);
          else
            model_store(name, lane, at + 4);
        };
        run_ds(
            instruction, model, [](unsigned i) { return i * 15; }, sram_ecc);
      }
      ++tested;
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
    ++tested;
  }
  EXPECT_EQ(tested, 52u);
}

TEST(Lds, FloatAtomics)
{
  // Random bits include denormals, infinities and NaNs.
  for (const char *name : {"add", "min", "max"}) {
    auto model = [name](auto o, auto d, auto) {
      std::conditional_t<sizeof(o) == 4, float, double> x, y;
      memcpy(&x, &o, sizeof(o));
      memcpy(&y, &d, sizeof(d));
      if (name[0] != 'a')
        return (name[1] == 'i' ? y < x : y > x) ? d : o;
      x += y;
      memcpy(&o, &x, sizeof(o));
      return o;
    };
    auto address = [](unsigned i) { return i * 16; };
    std::string prefix = std::string("ds_") + name + "_rtn_";
    run_ds(
        kernels::instructions(prefix + "f32").at(0),
        [&](Lane &lane, uint8_t *at) { exchange<uint32_t>(model, lane, at, true); }, address);
    run_ds(
        kernels::instructions(prefix + "f64").at(0),
        [&](Lane &lane, uint8_t *at) { exchange<uint64_t>(model, lane, at, true); }, address);
  }
}

// LLVM, SIISelLowering: LDS obeys the mode's denormals, except for ds_add_f64.
TEST(Lds, FloatAddsObeyTheModesDenormals)
{
  device::Memory memory(64);
  State state = random_state(9, memory.size());
  const uint32_t descriptor[4] = {};
  for (unsigned i = 0; i < 64; ++i)
    state.lanes[i].address = i * 16;
  const struct {
    uint32_t there, data, kept, input_flushed, output_flushed;
  } cases[] = {{0x00000001, 0x80000123, 0x80000122, 0x00000000, 0x80000000},
               {0x3f800000, 0x00000001, 0x3f800000, 0x3f800000, 0x3f800000},
               {0x00800001, 0x80800000, 0x00000001, 0x00000001, 0x00000000}};
  for (unsigned i = 0; i < 3; ++i) {
    state.lanes[i].lds[0] = cases[i].there;
    state.lanes[i].data[0] = cases[i].data;
  }
  state.exec = 7;
  for (uint32_t mode : {0xf0u, 0xe0u, 0xd0u}) {
    State after = execute("ds_add_f32 v2, v6", state, memory, descriptor, mode);
    for (unsigned i = 0; i < 3; ++i)
      EXPECT_EQ(after.lanes[i].lds[0], mode == 0xf0   ? cases[i].kept
                                       : mode == 0xe0 ? cases[i].input_flushed
                                                      : cases[i].output_flushed)
          << std::hex << mode << " case " << i;
  }
  const uint64_t tiny = 1;
  memcpy(state.lanes[0].lds, &tiny, 8);
  memcpy(state.lanes[0].data, &tiny, 8);
  State after = execute("ds_add_f64 v2, v[6:7]", state, memory, descriptor, 0x30);
  EXPECT_EQ(after.lanes[0].lds[0], 2u);
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
  for (unsigned i = 0; i < 64; ++i) {
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
  for (unsigned i = 0; i < 64; ++i) {
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
    for (unsigned i = 0; i < 64; ++i)
      EXPECT_EQ(out[i], lane_value(entry.second(i))) << entry.first << " lane " << i;
  }
}

} // namespace
