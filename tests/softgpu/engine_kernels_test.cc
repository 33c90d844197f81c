// Whole kernels on the interpreter alone: those of the benches, and Tensile's way of multiplying
// matrices on gfx942, which Debian's runtime does not know.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/softgpu/isa/device.h"

namespace {

template <typename T> std::vector<T> read(device::Memory &memory)
{
  const T *values = memory.as<T>();
  return {values, values + memory.size() / sizeof(T)};
}

template <typename T> void fill(device::Memory &memory, const std::vector<T> &values)
{
  memcpy(memory.as<void>(), values.data(), values.size() * sizeof(T));
}

// A kernarg segment: arguments at their natural alignment, zeros behind them.
class Arguments {
public:
  template <typename T> Arguments &add(T value)
  {
    at_ = (at_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    memcpy(memory_.as<char>() + at_, &value, sizeof(T));
    at_ += sizeof(T);
    return *this;
  }
  Arguments &add(const device::Memory &memory) { return add(memory.address()); }
  void *get() { return memory_.as<void>(); }
  size_t size() const { return at_; }

private:
  device::Memory memory_{512};
  size_t at_ = 0;
};

softgpu_chip_t chip_of(const std::string &file)
{
  return file.find("gfx942") != std::string::npos ? SOFTGPU_GFX942 : SOFTGPU_GFX90A;
}

TEST(EngineKernels, mandelbrot)
{
  const uint32_t width = 100, count = 7000, limit = 200;
  const float left = -2, top = -1.25f, step = 0.03f;
  device::CodeObject object("mandelbrot-gfx90a-v5.co");
  device::Memory out(count * 4);
  Arguments arguments;
  arguments.add(out).add(width).add(count).add(left).add(top).add(step).add(limit);
  auto result = device::run(
      device::dispatch(object.symbol("mandelbrot.kd"), arguments.get(), (count + 255) / 256, 256));
  ASSERT_TRUE(result.ok) << result.fault.text;
  const std::vector<uint32_t> iterations = read<uint32_t>(out);
  for (uint32_t i = 0; i < count; ++i) {
    // Contracted as the compiler contracts it.
    const float cr = std::fma(step, float(i % width), left);
    const float ci = std::fma(step, float(i / width), top);
    float zr = 0, zi = 0;
    uint32_t n = 0;
    while (n < limit && std::fma(zr, zr, zi * zi) < 4.0f) {
      const float next = std::fma(zr, zr, -(zi * zi)) + cr;
      zi = std::fma(2 * zr, zi, ci);
      zr = next;
      ++n;
    }
    ASSERT_EQ(iterations[i], n) << i;
  }
}

TEST(EngineKernels, matrix_multiply)
{
  const uint32_t n = 64;
  device::CodeObject object("matmul-gfx90a-v5.co");
  device::Memory a(n * n * 4), b(n * n * 4), c(n * n * 4);
  std::vector<float> left(n * n), right(n * n);
  for (uint32_t i = 0; i < n * n; ++i) {
    left[i] = float(i % 7) - 3;
    right[i] = float(i % 11) - 5;
  }
  fill(a, left);
  fill(b, right);
  Arguments arguments;
  arguments.add(c).add(a).add(b).add(n);
  auto dispatch = device::dispatch(object.symbol("matmul.kd"), arguments.get());
  for (int i = 0; i < 2; ++i) {
    dispatch.workgroup[i] = 16;
    dispatch.grid[i] = n;
  }
  dispatch.group_bytes = 2048;
  auto result = device::run(dispatch);
  ASSERT_TRUE(result.ok) << result.fault.text;
  const std::vector<float> product = read<float>(c);
  for (uint32_t row = 0; row < n; ++row)
    for (uint32_t column = 0; column < n; ++column) {
      float sum = 0;
      for (uint32_t k = 0; k < n; ++k)
        sum += left[row * n + k] * right[k * n + column];
      ASSERT_EQ(product[row * n + column], sum) << row << ", " << column;
    }
}

// LDS has no address but its offset, also where a generic address reaches it.
TEST(EngineKernels, a_misaligned_atomic_in_lds_is_told_by_its_offset)
{
  device::Kernel kernel({
      0x7e000282,             // v_mov_b32 v0, 2
      0x7e0202ff, 0x00010000, // v_mov_b32 v1, 0x10000: the aperture of LDS
      0xdd080000, 0x00000000, // flat_atomic_add v[0:1], v0
      0xbf810000,             // s_endpgm
  });
  auto dispatch = device::dispatch(kernel.object(), nullptr);
  dispatch.group_bytes = 64;
  for (bool is_reference : {false, true}) {
    softgpu_engine_reference(is_reference);
    auto result = device::run(dispatch);
    softgpu_engine_reference(false);
    EXPECT_EQ(result.fault.kind, SOFTGPU_FAULT_MISALIGNED) << result.fault.text;
    EXPECT_EQ(result.fault.address, 2u) << result.fault.text;
  }
}

// Small integers as elements of each type, whose products and sums are exact.
uint16_t bfloat_of(int value)
{
  const float number = float(value);
  uint32_t bits;
  memcpy(&bits, &number, sizeof(bits));
  return uint16_t(bits >> 16);
}
uint16_t half_of(int value)
{
  const uint32_t bits = uint32_t(bfloat_of(value)) << 16;
  return value ? uint16_t((bits >> 16 & 0x8000) | ((bits >> 23 & 255) - 112) << 10 |
                          (bits >> 13 & 0x3ff))
               : uint16_t(0);
}
float float_of(int value)
{
  return float(value);
}
int8_t byte_of(int value)
{
  return int8_t(value);
}

// d = 3 * a * transpose(b) - 2 * c by gemm.cl, whose kernels take rows of A and B.
template <typename Element, typename Scalar>
void multiply(const char *name, uint32_t k, Element (*element_of)(int))
{
  const uint32_t m = 150, n = 101;
  std::mt19937 random(1);
  auto integers = [&](size_t count) {
    std::vector<int> values(count);
    for (int &value : values)
      value = int(random() % 15) - 7;
    return values;
  };
  const std::vector<int> a = integers(m * k), b = integers(n * k), c = integers(m * n);
  std::vector<Element> a_elements, b_elements;
  for (int value : a)
    a_elements.push_back(element_of(value));
  for (int value : b)
    b_elements.push_back(element_of(value));
  device::Memory device_a(a.size() * sizeof(Element)), device_b(b.size() * sizeof(Element)),
      device_c(c.size() * 4), device_d(c.size() * 4);
  fill(device_a, a_elements);
  fill(device_b, b_elements);
  fill(device_c, std::vector<Scalar>(c.begin(), c.end()));
  Arguments arguments;
  arguments.add(uint64_t(c.size())).add(uint64_t(a.size())).add(uint64_t(b.size()));
  arguments.add(device_d).add(device_c).add(device_a).add(device_b).add(Scalar(3)).add(Scalar(-2));
  for (uint32_t stride : {n, m * n, n, m * n, k, m * k, k, n * k}) // rows, matrices
    arguments.add(stride);
  arguments.add(m).add(n).add(1u).add(k);
  ASSERT_EQ(arguments.size(), 112u);
  device::CodeObject object("gemm-gfx942-v5.co");
  auto dispatch = device::dispatch(object.symbol(std::string(name) + ".kd"), arguments.get(),
                                   (m + 63) / 64, 256, SOFTGPU_GFX942);
  dispatch.grid[1] = (n + 63) / 64;
  dispatch.group_bytes = 8192;
  auto result = device::run(dispatch);
  ASSERT_TRUE(result.ok) << result.fault.text;
  const std::vector<Scalar> d = read<Scalar>(device_d);
  for (uint32_t row = 0; row < m; ++row)
    for (uint32_t column = 0; column < n; ++column) {
      int sum = 0;
      for (uint32_t i = 0; i < k; ++i)
        sum += a[row * k + i] * b[column * k + i];
      ASSERT_EQ(d[row * n + column], Scalar(3 * sum - 2 * c[row * n + column]))
          << row << ", " << column;
    }
}

TEST(EngineKernels, gemm_f32_on_gfx942)
{
  multiply<float, float>("gemm_f32", 42, float_of);
}

TEST(EngineKernels, gemm_f16_on_gfx942)
{
  multiply<uint16_t, float>("gemm_f16", 92, half_of);
}

TEST(EngineKernels, gemm_bf16_on_gfx942)
{
  multiply<uint16_t, float>("gemm_bf16", 68, bfloat_of);
}

TEST(EngineKernels, gemm_i8_on_gfx942)
{
  multiply<int8_t, int32_t>("gemm_i8", 120, byte_of);
}

// Zeros from LDS far beyond its end, halves that the other half's load has cleared, and lanes that
// are masked by an offset of -1.
TEST(EngineKernels, edges)
{
  const uint32_t items = 37, bytes = 1024;
  for (const char *file : {"edge-gfx90a-v5.co", "edge-gfx942-v5.co"})
    for (bool reference : {false, true}) {
      device::CodeObject object(file);
      device::Memory out(bytes), in(bytes);
      for (uint32_t i = 0; i < 64; ++i)
        in.as<uint32_t>()[i] = i * 0x01010101 + 0x80007fff;
      memset(out.as<void>(), 0xab, bytes);
      Arguments arguments;
      arguments.add(out).add(in).add(items).add(bytes);
      auto dispatch =
          device::dispatch(object.symbol("edge.kd"), arguments.get(), 1, 64, chip_of(file));
      dispatch.group_bytes = 1024;
      softgpu_engine_reference(reference);
      auto result = device::run(dispatch);
      softgpu_engine_reference(false);
      ASSERT_TRUE(result.ok) << result.fault.text;
      const std::vector<uint32_t> got = read<uint32_t>(out);
      for (uint32_t i = 0; i < 256; ++i)
        ASSERT_EQ(got[i], i >= items * 4 ? 0xabababab
                          : i % 4        ? 0
                                         : in.as<uint32_t>()[i / 4])
            << file << " dword " << i << ", reference " << reference;
    }
}

// clang's way for chips without SRAM-ECC: right there, and with SRAM-ECC the second load clears
// what the first one brought.
TEST(EngineKernels, halves_follow_sram_ecc)
{
  for (const char *file : {"halves-gfx90a_noecc-v5.co", "halves-gfx942_noecc-v5.co"})
    for (const char *name : {"halves_global", "halves_lds"})
      for (unsigned variant = 0; variant < 4; ++variant) {
        const bool reference = variant & 1, sram_ecc = variant & 2;
        device::CodeObject object(file);
        device::Memory out(256), low(128), high(128);
        for (uint16_t i = 0; i < 64; ++i) {
          low.as<uint16_t>()[i] = uint16_t(0x8001 + i);
          high.as<uint16_t>()[i] = uint16_t(0x7f00 - i);
        }
        Arguments arguments;
        arguments.add(out).add(low).add(high);
        auto dispatch = device::dispatch(object.symbol(std::string(name) + ".kd"), arguments.get(),
                                         1, 64, chip_of(file));
        dispatch.group_bytes = 256;
        dispatch.sram_ecc = sram_ecc;
        softgpu_engine_reference(reference);
        auto result = device::run(dispatch);
        softgpu_engine_reference(false);
        ASSERT_TRUE(result.ok) << result.fault.text;
        for (uint32_t i = 0; i < 64; ++i) {
          const uint32_t from = name[7] == 'l' ? 63 - i : i;
          const uint32_t upper = (uint32_t)high.as<uint16_t>()[from] << 16;
          ASSERT_EQ(out.as<uint32_t>()[i], upper | (sram_ecc ? 0 : low.as<uint16_t>()[from]))
              << file << " " << name << " item " << i << " variant " << variant;
        }
      }
}

} // namespace
