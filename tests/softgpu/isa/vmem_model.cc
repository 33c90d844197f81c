#include "tests/softgpu/isa/vmem_model.h"

#include <random>

namespace vmem {

std::vector<Output> run(const std::string &instruction, const State &state,
                        const uint32_t *descriptor, uint32_t groups, uint32_t float_mode,
                        bool on_gfx942)
{
  device::Memory in(64 * sizeof(Lane)), out(64 * sizeof(Output)), kernarg(sizeof(Arguments));
  memcpy(in.as<void>(), state.lanes.data(), in.size());
  Arguments arguments = {in.address(), out.address(), state.exec, state.m0, 0, {}};
  memcpy(arguments.descriptor, descriptor, sizeof arguments.descriptor);
  memcpy(kernarg.as<void>(), &arguments, sizeof arguments);
  device::Descriptor d;
  d.accum_offset = 32;
  d.float_mode = float_mode;
  device::Kernel kernel(kernels::around("vmem_begin", instruction, "vmem_end"), d);
  auto chip = on_gfx942 || kernels::needs_gfx942(instruction) ? SOFTGPU_GFX942 : SOFTGPU_GFX90A;
  auto dispatch = device::dispatch(kernel.object(), kernarg.as<void>(), groups, 64, chip);
  dispatch.group_bytes = state.group_bytes;
  dispatch.sram_ecc = state.sram_ecc;
  auto result = device::run(dispatch);
  EXPECT_TRUE(result.ok) << instruction << ": " << result.fault.text;
  return {out.as<Output>(), out.as<Output>() + 64};
}

static State execute_on(bool reference, const std::string &instruction, const State &state,
                        device::Memory &memory, const uint32_t *descriptor, uint32_t float_mode,
                        bool on_gfx942)
{
  memcpy(memory.as<void>(), state.memory.data(), state.memory.size());
  softgpu_engine_reference(reference);
  const std::vector<Output> lanes = run(instruction, state, descriptor, 1, float_mode, on_gfx942);
  softgpu_engine_reference(false);
  State after = state;
  memcpy(after.memory.data(), memory.as<void>(), after.memory.size());
  for (unsigned i = 0; i < 64; ++i) {
    memcpy(after.lanes[i].result, lanes[i].result, 16);
    memcpy(after.lanes[i].lds, lanes[i].lds, 16);
  }
  return after;
}

State execute(const std::string &instruction, const State &state, device::Memory &memory,
              const uint32_t *descriptor, uint32_t float_mode, bool on_gfx942)
{
  State after = execute_on(false, instruction, state, memory, descriptor, float_mode, on_gfx942);
  expect_same(instruction + " on the reference engine",
              execute_on(true, instruction, state, memory, descriptor, float_mode, on_gfx942),
              after);
  return after;
}

std::string operation_of(const std::string &instruction)
{
  std::string name = instruction.substr(0, instruction.find(' '));
  return name.substr(name.find('_') + 1);
}

// --- the model: one lane, bytes in little-endian order ---

unsigned width_of(const std::string &name)
{
  static const struct {
    const char *part;
    unsigned bytes;
  } parts[] = {{"byte", 1}, {"u8", 1},   {"i8", 1},   {"_b8", 1}, {"short", 2}, {"u16", 2},
               {"i16", 2},  {"_b16", 2}, {"x2", 8},   {"b64", 8}, {"u64", 8},   {"i64", 8},
               {"f64", 8},  {"x3", 12},  {"b96", 12}, {"x4", 16}, {"b128", 16}};
  for (const auto &entry : parts)
    if (name.find(entry.part) != std::string::npos)
      return entry.bytes;
  return 4;
}

void model_load(const std::string &name, Lane &lane, const uint8_t *at, bool sram_ecc)
{
  bool high = name.find("d16_hi") != std::string::npos,
       half = name.find("d16") != std::string::npos;
  bool is_signed = name.find("sbyte") != std::string::npos ||
                   name.find("sshort") != std::string::npos ||
                   name.find("read_i") != std::string::npos;
  const unsigned bytes = width_of(name);
  if (bytes >= 4) {
    memcpy(lane.result, at, bytes);
    return;
  }
  int32_t value = bytes == 1 ? at[0] : at[0] | at[1] << 8;
  if (is_signed)
    value = bytes == 1 ? int8_t(value) : int16_t(value);
  uint16_t parts[2] = {};
  if (!sram_ecc)
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
  memcpy(at, data + (high ? 2 : 0), width_of(name));
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
      for (unsigned i = 0; i < 4; ++i)
        words[i] = random() % 8 == 0 ? random() % 4 : uint32_t(random());
  return state;
}

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
  for (unsigned i = 0; i < 64; ++i)
    for (unsigned j = 0; j < 4; ++j) {
      ASSERT_EQ(actual.lanes[i].result[j], expected.lanes[i].result[j])
          << instruction << " lane " << i << " dword " << j;
      ASSERT_EQ(actual.lanes[i].lds[j], expected.lanes[i].lds[j])
          << instruction << " LDS of lane " << i;
    }
}

} // namespace vmem
