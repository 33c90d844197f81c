// Matrix products in Tensile's style: see tests/fixtures/src/gemm.cl. The numbers are small
// integers, so that every type's products and sums are exact.
#include <cmath>
#include <random>

#include "tests/libraries/library.h"

namespace {

constexpr uint32_t M = 150, N = 101, BATCH = 2;
constexpr uint32_t GAP = 0x7fc5a5a5; // what Device puts where nothing is given

int integer(std::mt19937 &random)
{
  return static_cast<int>(random() % 15) - 7;
}

// Bits of an integer as each element type of A and B.
uint32_t float_bits(int value)
{
  float number = static_cast<float>(value);
  uint32_t bits;
  memcpy(&bits, &number, sizeof(bits));
  return bits;
}
float to_float(int value)
{
  return static_cast<float>(value);
}
uint16_t to_bfloat(int value)
{
  return static_cast<uint16_t>(float_bits(value) >> 16);
}
uint16_t to_half(int value)
{
  uint32_t bits = float_bits(value);
  return value ? static_cast<uint16_t>((bits >> 16 & 0x8000) | ((bits >> 23 & 255) - 112) << 10 |
                                       (bits >> 13 & 0x3ff))
               : 0;
}
int8_t to_byte(int value)
{
  return static_cast<int8_t>(value);
}

// `batch` matrices: rows `stride` elements apart.
struct Shape {
  uint32_t rows, columns, stride;
  uint32_t extent() const { return (rows - 1) * stride + columns; }
  uint32_t distance() const { return rows * stride + 16; } // from a matrix to the next
  size_t total() const { return size_t(distance()) * (BATCH - 1) + extent(); }
};

std::vector<int> integers(const Shape &shape, unsigned seed)
{
  std::mt19937 random(seed);
  std::vector<int> result(shape.total());
  for (int &value : result)
    value = integer(random);
  return result;
}

template <typename Element, typename Scalar>
void multiply(const char *name, uint32_t depth, Element (*element_of)(int))
{
  Library *library = Library::gemm();
  const uint32_t pad = 8 / sizeof(Element);
  const Shape a = {M, depth, depth + pad}, b = {N, depth, depth + 2 * pad}, c = {M, N, N + 3},
              d = {M, N, N + 3};
  const std::vector<int> a_values = integers(a, 1), b_values = integers(b, 2),
                         c_values = integers(c, 3);
  std::vector<Element> a_elements, b_elements;
  for (int value : a_values)
    a_elements.push_back(element_of(value));
  for (int value : b_values)
    b_elements.push_back(element_of(value));
  const Scalar alpha = 3, beta = -2;
  Device<Element> device_a(library, a_elements), device_b(library, b_elements);
  Device<Scalar> device_c(library, std::vector<Scalar>(c_values.begin(), c_values.end()));
  Device<Scalar> device_d(library, d.total());
  const std::vector<uint8_t> blob =
      blob_of(uint64_t(c.extent()), uint64_t(a.extent()), uint64_t(b.extent()), device_d, device_c,
              device_a, device_b, alpha, beta, d.stride, d.distance(), c.stride, c.distance(),
              a.stride, a.distance(), b.stride, b.distance(), M, N, BATCH, depth);
  ASSERT_EQ(112u, blob.size());
  library->run(name, {(M + 63) / 64, (N + 63) / 64, BATCH}, {256}, blob);

  std::vector<Scalar> expected(d.total());
  for (Scalar &value : expected) // between the rows nothing may change
    memcpy(&value, &GAP, sizeof(value));
  for (uint32_t matrix = 0; matrix < BATCH; ++matrix)
    for (uint32_t row = 0; row < M; ++row)
      for (uint32_t column = 0; column < N; ++column) {
        int sum = 0;
        for (uint32_t k = 0; k < depth; ++k)
          sum += a_values[matrix * a.distance() + row * a.stride + k] *
                 b_values[matrix * b.distance() + column * b.stride + k];
        int old = c_values[matrix * c.distance() + row * c.stride + column];
        expected[matrix * d.distance() + row * d.stride + column] =
            static_cast<Scalar>(3 * sum - 2 * old);
      }
  const std::vector<Scalar> got = device_d.read();
  size_t wrong = 0;
  for (size_t i = 0; i < expected.size(); ++i)
    if (memcmp(&got[i], &expected[i], sizeof(Scalar)) && wrong++ < 5)
      ADD_FAILURE() << name << " at " << i << ": " << got[i] << ", not " << expected[i];
  EXPECT_EQ(0u, wrong);
}

TEST(Gemm, F32)
{
  multiply<float, float>("gemm_f32", 42, to_float);
}

TEST(Gemm, F16)
{
  multiply<uint16_t, float>("gemm_f16", 92, to_half);
}

TEST(Gemm, Bf16)
{
  multiply<uint16_t, float>("gemm_bf16", 68, to_bfloat);
}

TEST(Gemm, I8)
{
  multiply<int8_t, int32_t>("gemm_i8", 120, to_byte);
}

} // namespace
