// Whole kernels on the engine and on the reference engine: the same memory afterwards, bit for bit,
// after the same number of instructions.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <vector>

#include "tests/softgpu/isa/device.h"

namespace {

// Memory that one kernel works on, with its arguments behind it, and how it is launched.
struct Work {
  device::Memory memory{1 << 18}, kernarg{4096};
  std::vector<uint8_t> arguments = std::vector<uint8_t>(512);
  size_t used = 0;
  softgpu_dispatch_t dispatch = {};

  template <typename T> void pass(T value)
  {
    used = (used + sizeof value - 1) / sizeof value * sizeof value;
    memcpy(&arguments[used], &value, sizeof value);
    used += sizeof value;
  }
  uint64_t at(size_t offset) { return memory.address() + offset; }
};

struct Outcome {
  std::vector<uint8_t> memory;
  uint64_t instructions;
};

Outcome run(Work &work, bool reference, const std::function<void(Work &)> &fill)
{
  memset(work.memory.as<void>(), 0, work.memory.size());
  fill(work);
  memcpy(work.kernarg.as<void>(), work.arguments.data(), work.arguments.size());
  softgpu_engine_reference(reference);
  uint64_t before = softgpu_instruction_count();
  device::Result result = device::run(work.dispatch, 60000);
  softgpu_engine_reference(false);
  EXPECT_TRUE(result.ok) << result.fault.text;
  const uint8_t *bytes = work.memory.as<uint8_t>();
  return {{bytes, bytes + work.memory.size()}, softgpu_instruction_count() - before};
}

void expect_same(Work &work, const std::function<void(Work &)> &fill)
{
  Outcome engine = run(work, false, fill), reference = run(work, true, fill);
  EXPECT_TRUE(engine.memory == reference.memory);
  EXPECT_EQ(engine.instructions, reference.instructions);
  EXPECT_GT(engine.instructions, 0u);
}

softgpu_chip_t chip_of(const std::string &file)
{
  return file.find("gfx942") != std::string::npos ? SOFTGPU_GFX942 : SOFTGPU_GFX90A;
}

softgpu_dispatch_t dispatch(Work &work, const device::CodeObject &object, const std::string &file,
                            const char *kernel, uint32_t groups, uint16_t items)
{
  uint64_t descriptor = object.symbol(std::string(kernel) + ".kd");
  EXPECT_NE(descriptor, 0u) << file << " " << kernel;
  auto out = device::dispatch(descriptor, work.kernarg.as<void>(), groups, items, chip_of(file));
  memcpy(&out.group_bytes, reinterpret_cast<void *>(descriptor), 4);
  memcpy(&out.private_bytes, reinterpret_cast<void *>(descriptor + 4), 4);
  return out;
}

// Numbers of every size, with some special ones among them.
void fill_floats(Work &work, size_t offset, size_t count)
{
  static const uint32_t special[] = {0, 0x80000000, 1, 0x7f800000, 0x7fc00000, 0x3f800000};
  uint32_t seed = (uint32_t)offset + 1;
  uint32_t *at = work.memory.as<uint32_t>() + offset / 4;
  for (size_t i = 0; i < count; ++i) {
    seed = seed * 1664525 + 1013904223;
    at[i] = i % 97 < 6 ? special[i % 97] : (seed & 0x807fffff) | (100 + (seed >> 23 & 63)) << 23;
  }
}

TEST(EnginesKernels, VectorAdd)
{
  for (const char *file : {"vector_add-gfx90a-v5.co", "vector_add-gfx942-v5.co"}) {
    Work work;
    device::CodeObject object(file);
    const uint32_t n = 4000; // the last work-group is only partly in range
    work.dispatch = dispatch(work, object, file, "vector_add", 16, 256);
    for (size_t offset : {0, 1 << 16, 1 << 17})
      work.pass(work.at(offset));
    work.pass(n);
    work.used =
        32; // hidden: block counts, and the size of a work-group, without which all are the first
    for (uint32_t count : {16, 1, 1})
      work.pass(count);
    for (uint16_t size : {256, 1, 1})
      work.pass(size);
    expect_same(work, [](Work &w) {
      fill_floats(w, 1 << 16, 4000);
      fill_floats(w, 1 << 17, 4000);
    });
  }
}

TEST(EnginesKernels, Mandelbrot)
{
  Work work;
  const char *file = "mandelbrot-gfx90a-v5.co";
  device::CodeObject object(file);
  work.dispatch = dispatch(work, object, file, "mandelbrot", 16, 256);
  work.pass(work.at(0));
  for (uint32_t value : {64u, 4000u})
    work.pass(value);
  for (float value : {-2.0f, -1.25f, 0.04f})
    work.pass(value);
  work.pass(uint32_t{40});
  expect_same(work, [](Work &) {});
}

TEST(EnginesKernels, MatrixMultiplicationThroughLds)
{
  Work work;
  const char *file = "matmul-gfx90a-v5.co";
  device::CodeObject object(file);
  const uint32_t n = 48;
  work.dispatch = dispatch(work, object, file, "matmul", 1, 16);
  work.dispatch.workgroup[1] = 16;
  work.dispatch.grid[0] = work.dispatch.grid[1] = n;
  for (size_t offset : {0, 1 << 16, 1 << 17})
    work.pass(work.at(offset));
  work.pass(n);
  expect_same(work, [=](Work &w) {
    fill_floats(w, 1 << 16, n * n);
    fill_floats(w, 1 << 17, n * n);
  });
}

TEST(EnginesKernels, TreeReduction)
{
  for (const char *file : {"reduce-gfx90a-v5.co", "reduce-gfx942-v5.co"}) {
    Work work;
    device::CodeObject object(file);
    work.dispatch = dispatch(work, object, file, "reduce", 32, 256);
    work.pass(work.at(0));
    work.pass(work.at(1 << 16));
    expect_same(work, [](Work &w) { fill_floats(w, 1 << 16, 32 * 256); });
  }
}

TEST(EnginesKernels, PrivateMemory)
{
  for (const char *file : {"scratch-gfx90a-v5.co", "scratch-gfx942-v5.co"}) {
    Work work;
    device::CodeObject object(file);
    device::Memory scratch(4 << 20, SOFTGPU_MEMORY_WRITE | SOFTGPU_MEMORY_SCRATCH);
    work.dispatch = dispatch(work, object, file, "scratch", 8, 128);
    work.dispatch.scratch_base = scratch.address();
    work.dispatch.scratch_bytes = scratch.size();
    work.pass(work.at(0));
    work.pass(uint32_t{5});
    uint32_t groups = 8;
    uint16_t items = 128;
    memcpy(&work.arguments[16], &groups, 4); // hidden block count, and group size 12 bytes on
    memcpy(&work.arguments[28], &items, 2);
    expect_same(work, [](Work &) {});
  }
}

// Tensile's way: matrices through buffer descriptors and LDS into MFMA.
TEST(EnginesKernels, MatrixInstructions)
{
  for (const char *file : {"gemm-gfx90a-v5.co", "gemm-gfx942-v5.co"})
    for (const char *kernel : {"gemm_f32", "gemm_f16", "gemm_bf16", "gemm_i8"}) {
      Work work;
      device::CodeObject object(file);
      const uint32_t m = 70, n = 90, k = 40;
      const bool is_integer = !strcmp(kernel, "gemm_i8");
      work.dispatch = dispatch(work, object, file, kernel, 2, 256);
      work.dispatch.grid[1] = 2;
      for (uint64_t count : {m * n, m * k, n * k})
        work.pass(count);
      for (size_t offset : {0, 1 << 16, 2 << 16, 3 << 16})
        work.pass(work.at(offset));
      if (is_integer)
        work.pass(int32_t{3}), work.pass(int32_t{-2});
      else
        work.pass(1.5f), work.pass(-0.5f);
      for (uint32_t stride : {n, m * n, n, m * n, k, m * k, k, n * k})
        work.pass(stride);
      for (uint32_t size : {m, n, 1u, k})
        work.pass(size);
      expect_same(work, [](Work &w) {
        for (size_t offset : {1 << 16, 2 << 16, 3 << 16})
          fill_floats(w, offset, 1 << 13);
      });
    }
}

} // namespace
