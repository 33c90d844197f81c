#include "tests/softgpu/isa/vmem_model.h"

#include <random>

namespace vmem {

State execute(const std::string &instruction, const State &state, device::Memory &memory,
              const uint32_t *descriptor, uint32_t float_mode, bool on_gfx942)
{
  device::Memory in(64 * sizeof(Lane)), out(64 * sizeof(Output)), kernarg(sizeof(Arguments));
  memcpy(memory.as<void>(), state.memory.data(), state.memory.size());
  memcpy(in.as<void>(), state.lanes.data(), in.size());
  Arguments arguments = {in.address(), out.address(), state.exec, state.m0, 0, {}};
  memcpy(arguments.descriptor, descriptor, sizeof arguments.descriptor);
  memcpy(kernarg.as<void>(), &arguments, sizeof arguments);
  device::Descriptor d;
  d.accum_offset = 32;
  d.float_mode = float_mode;
  device::Kernel kernel(kernels::around("vmem_begin", instruction, "vmem_end"), d);
  auto chip = on_gfx942 || kernels::needs_gfx942(instruction) ? SOFTGPU_GFX942 : SOFTGPU_GFX90A;
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

} // namespace vmem
