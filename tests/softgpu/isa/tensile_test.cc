// Matrix products with the habits of Tensile's assembly (tests/fixtures/src/tensile.s), in every type
// of element, against products of whole numbers, which are exact in all of them. Tiles that the
// matrices do not fill, leading dimensions with something in between, k in parts.
#include <gtest/gtest.h>

#include <random>

#include "tests/softgpu/isa/device.h"

namespace {

enum class Sum { kF32, kF64, kI32 };

struct Element {
  const char *name; // of the kernel: tensile_NAME
  unsigned bytes;
  unsigned tile;
  unsigned step; // of k, that the kernel takes at once
  // Of a format with a sign, so many bits of exponent with that bias, and a mantissa; or an integer.
  unsigned exponent_bits, mantissa_bits;
  int bias;
  Sum sum;
};

struct Chip {
  const char *file;
  softgpu_chip_t chip;
  std::vector<Element> elements;
};

// The 8-bit formats of gfx942 are those without infinities and negative zero (FNUZ).
const Chip kChips[] = {
    {"tensile-gfx90a-v5.co",
     SOFTGPU_GFX90A,
     {{"f32", 4, 32, 2, 8, 23, 127, Sum::kF32},
      {"f64", 8, 16, 4, 11, 52, 1023, Sum::kF64},
      {"f16", 2, 32, 8, 5, 10, 15, Sum::kF32},
      {"bf16", 2, 32, 8, 8, 7, 127, Sum::kF32},
      {"i8", 1, 32, 8, 0, 0, 0, Sum::kI32}}},
    {"tensile-gfx942-v5.co",
     SOFTGPU_GFX942,
     {{"f32", 4, 32, 2, 8, 23, 127, Sum::kF32},
      {"f64", 8, 16, 4, 11, 52, 1023, Sum::kF64},
      {"f16", 2, 32, 8, 5, 10, 15, Sum::kF32},
      {"bf16", 2, 32, 8, 8, 7, 127, Sum::kF32},
      {"i8", 1, 32, 16, 0, 0, 0, Sum::kI32},
      {"fp8", 1, 32, 16, 4, 3, 8, Sum::kF32},
      {"bf8", 1, 32, 16, 5, 2, 16, Sum::kF32},
      {"fp8_bf8", 1, 32, 16, 4, 3, 8, Sum::kF32},
      {"xf32", 4, 32, 4, 8, 23, 127, Sum::kF32}}},
};

struct Shape {
  uint32_t m, n, k, parts, stagger;
};

const Shape kShapes[] = {
    {32, 32, 16, 1, 0},  {64, 96, 64, 1, 0},   {1, 1, 1, 1, 0},     {33, 17, 31, 1, 0},
    {40, 50, 7, 1, 0},   {100, 36, 130, 1, 1}, {31, 65, 96, 1, 3},  {36, 20, 50, 1, 0},
    {130, 33, 80, 1, 2}, {64, 32, 128, 3, 0},  {45, 19, 133, 4, 1}, {36, 35, 66, 2, 5},
};

uint64_t encode(const Element &element, int value)
{
  if (element.exponent_bits == 0)
    return static_cast<uint64_t>(value) & 0xff;
  if (value == 0)
    return 0;
  unsigned size = static_cast<unsigned>(abs(value)), exponent = 0;
  while (size >> (exponent + 1))
    ++exponent;
  uint64_t mantissa =
      static_cast<uint64_t>(size ^ 1u << exponent) << element.mantissa_bits >> exponent;
  uint64_t biased = static_cast<uint64_t>(static_cast<int>(exponent) + element.bias);
  uint64_t sign = value < 0 ? 1 : 0;
  return sign << (element.exponent_bits + element.mantissa_bits) | biased << element.mantissa_bits |
         mantissa;
}

// Rows of k whole numbers, and between them what must not be read: ones in every bit.
struct Matrix {
  Matrix(const Element &element, uint32_t rows, uint32_t k, uint32_t stride, uint32_t seed)
      : stride(stride), numbers(rows * k), memory(rows * stride * element.bytes + 4096)
  {
    memset(memory.as<void>(), 0xff, memory.size());
    std::mt19937 random(seed);
    for (uint32_t row = 0; row < rows; ++row)
      for (uint32_t i = 0; i < k; ++i) {
        int value = static_cast<int>(random() % 7) - 3;
        uint64_t bits = encode(element, value);
        numbers[row * k + i] = value;
        memcpy(memory.as<uint8_t>() + (row * stride + i) * element.bytes, &bits, element.bytes);
      }
  }
  uint32_t stride;
  std::vector<int> numbers;
  device::Memory memory;
};

struct Arguments {
  uint64_t a, b, d;
  uint32_t m, n, k, lda, ldb, ldd, steps, parts, stagger, padding;
};

uint64_t encode_sum(Sum kind, int value)
{
  uint64_t bits = 0;
  float single = static_cast<float>(value);
  double wide = value;
  switch (kind) {
  case Sum::kF32:
    memcpy(&bits, &single, 4);
    break;
  case Sum::kF64:
    memcpy(&bits, &wide, 8);
    break;
  case Sum::kI32:
    memcpy(&bits, &value, 4);
    break;
  }
  return bits;
}

// The other operand's element, where they differ.
Element second(const Element &element)
{
  Element other = element;
  if (!strcmp(element.name, "fp8_bf8")) {
    other.exponent_bits = 5;
    other.mantissa_bits = 2;
    other.bias = 16;
  }
  return other;
}

void expect_product(const Chip &chip, const device::CodeObject &object, const Element &element,
                    const Shape &shape)
{
  const unsigned width = element.sum == Sum::kF64 ? 8 : 4;
  const uint32_t stride = (shape.k + 3) / 4 * 4 + 4, ldd = shape.m + 3 + shape.m % 2;
  Matrix a(element, shape.m, shape.k, stride, 1),
      b(second(element), shape.n, shape.k, stride + 4, 2);
  device::Memory d(ldd * shape.n * width + 4096), kernarg(4096);
  uint8_t *out = d.as<uint8_t>();
  memset(out, 0xee, d.size());
  if (shape.parts > 1) // which are added to what is there
    for (uint32_t j = 0; j < shape.n; ++j)
      memset(out + j * ldd * width, 0, shape.m * width);
  const uint32_t steps = shape.k / element.step, each = (steps + shape.parts - 1) / shape.parts;
  Arguments arguments = {a.memory.address(),
                         b.memory.address(),
                         d.address(),
                         shape.m,
                         shape.n,
                         shape.k,
                         a.stride,
                         b.stride,
                         ldd,
                         each,
                         shape.parts,
                         shape.stagger,
                         0};
  memcpy(kernarg.as<void>(), &arguments, sizeof arguments);
  uint64_t descriptor = object.symbol(std::string("tensile_") + element.name + ".kd");
  ASSERT_NE(descriptor, 0u) << element.name;
  softgpu_dispatch_t dispatch = device::dispatch(descriptor, kernarg.as<void>(), 1, 64, chip.chip);
  memcpy(&dispatch.group_bytes, reinterpret_cast<void *>(descriptor), 4);
  dispatch.grid[0] = (shape.m + element.tile - 1) / element.tile * 64;
  dispatch.grid[1] = (shape.n + element.tile - 1) / element.tile;
  dispatch.grid[2] = shape.parts;
  device::Result result = device::run(dispatch, 60000);
  ASSERT_TRUE(result.ok) << element.name << ": " << result.fault.text;
  uint32_t wrong = 0;
  for (uint32_t j = 0; j < shape.n; ++j)
    for (uint32_t i = 0; i < ldd; ++i) {
      if (j == shape.n - 1 && i >= shape.m)
        break;
      int sum = 0;
      for (uint32_t k = 0; i < shape.m && k < shape.k; ++k)
        sum += a.numbers[i * shape.k + k] * b.numbers[j * shape.k + k];
      uint64_t expected = i < shape.m ? encode_sum(element.sum, sum) : 0xeeeeeeeeeeeeeeee, got = 0;
      memcpy(&got, out + (j * ldd + i) * width, width);
      wrong += memcmp(&got, &expected, width) != 0;
    }
  for (size_t at = ((shape.n - 1) * ldd + shape.m) * width; at < d.size(); ++at)
    wrong += out[at] != 0xee;
  EXPECT_EQ(wrong, 0u) << element.name << ' ' << shape.m << 'x' << shape.n << 'x' << shape.k
                       << ", parts " << shape.parts;
}

class Tensile : public testing::TestWithParam<bool> {
protected:
  void SetUp() override { softgpu_engine_reference(GetParam()); }
  void TearDown() override { softgpu_engine_reference(false); }
};

TEST_P(Tensile, ProductsAreExact)
{
  for (const Chip &chip : kChips) {
    device::CodeObject object(chip.file);
    for (const Element &element : chip.elements)
      for (const Shape &shape : kShapes)
        expect_product(chip, object, element, shape);
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, Tensile, testing::Bool(), [](const auto &info) {
  return std::string(info.param ? "reference" : "fast");
});

} // namespace
