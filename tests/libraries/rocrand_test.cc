// rocRAND's MRG32k3a, Sobol32 and MTGP32 kernels against the generators' definitions. (Philox and
// XORWOW are what rawhal-demo runs.)
#include <array>
#include <fstream>
#include <iterator>

#include "tests/libraries/library.h"

namespace {

struct Empty { // a class without members occupies a byte
  uint8_t byte = 0;
};

const std::string detail = "rocrand_host::detail::";

class Rocrand : public LibraryTest {
protected:
  void SetUp() override
  {
    library = Library::rocrand();
    if (!library)
      GTEST_SKIP() << "no librocrand below the build folder (./dev test fetches it)";
  }
  template <typename... A>
  void run(const std::string &name, Extent workgroups, Extent workgroup, const A &...arguments)
  {
    LibraryTest::run(detail + name, workgroups, workgroup, arguments...);
  }
  // "generate_kernel<FRONT, DISTRIBUTION >" with the first of the distribution's names, of several releases, that it has.
  std::string generator(const std::string &front, const std::vector<std::string> &distributions)
  {
    std::string name;
    for (const std::string &distribution : distributions) {
      name = "generate_kernel<" + front + ", " + distribution + " >";
      if (library->has(detail + name))
        break;
    }
    return name;
  }
};

// ---- MRG32k3a: L'Ecuyer 1999, "Good parameters and implementations for combined multiple recursive
// random number generators" ----

constexpr uint64_t M1 = 4294967087, M2 = 4294944443;

struct Mrg {
  uint32_t g1[3], g2[3];
  bool operator==(const Mrg &other) const { return !memcmp(this, &other, sizeof(other)); }

  uint32_t next()
  {
    uint64_t p1 = (1403580 * uint64_t(g1[1]) + 810728 * (M1 - g1[0])) % M1;
    uint64_t p2 = (527612 * uint64_t(g2[2]) + 1370589 * (M2 - g2[0])) % M2;
    for (int i = 0; i < 2; ++i) {
      g1[i] = g1[i + 1];
      g2[i] = g2[i + 1];
    }
    g1[2] = static_cast<uint32_t>(p1);
    g2[2] = static_cast<uint32_t>(p2);
    return static_cast<uint32_t>(p1 > p2 ? p1 - p2 : p1 + M1 - p2);
  }
};

using Matrix = std::array<std::array<uint64_t, 3>, 3>;

Matrix product(const Matrix &a, const Matrix &b, uint64_t modulus)
{
  Matrix c = {};
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 3; ++k)
        c[i][j] = (c[i][j] + a[i][k] * b[k][j] % modulus) % modulus;
  return c;
}

// state = step^(2^doublings * times) * state
void jump(uint32_t state[3], Matrix step, int doublings, uint64_t times, uint64_t modulus)
{
  for (int i = 0; i < doublings; ++i)
    step = product(step, step, modulus);
  for (; times; times >>= 1, step = product(step, step, modulus)) {
    if (!(times & 1))
      continue;
    uint64_t next[3] = {};
    for (int i = 0; i < 3; ++i)
      for (int k = 0; k < 3; ++k)
        next[i] = (next[i] + step[i][k] * state[k] % modulus) % modulus;
    for (int i = 0; i < 3; ++i)
      state[i] = static_cast<uint32_t>(next[i]);
  }
}

// The library's engine `subsequence` for a seed below 2^32, `offset` numbers in: 2^76 numbers apart.
Mrg mrg_engine(uint64_t seed, uint64_t subsequence, uint64_t offset)
{
  const uint64_t x = uint32_t(seed) ^ 0x55555555u, y = uint32_t(seed >> 32) ^ 0xAAAAAAAAu;
  Mrg engine;
  for (int i = 0; i < 3; ++i) {
    engine.g1[i] = static_cast<uint32_t>((i == 1 ? y : x) * seed % M1);
    engine.g2[i] = static_cast<uint32_t>((i == 1 ? x : y) * seed % M2);
  }
  const Matrix a1 = {{{0, 1, 0}, {0, 0, 1}, {M1 - 810728, 1403580, 0}}};
  const Matrix a2 = {{{0, 1, 0}, {0, 0, 1}, {M2 - 1370589, 0, 527612}}};
  jump(engine.g1, a1, 76, subsequence, M1);
  jump(engine.g2, a2, 76, subsequence, M2);
  jump(engine.g1, a1, 0, offset, M1);
  jump(engine.g2, a2, 0, offset, M2);
  return engine;
}

TEST_F(Rocrand, MrgReferenceGivesThePublishedSum)
{
  // RngStreams (L'Ecuyer et al. 2002): from 12345 in every word, the first number is 0.1270111.
  Mrg engine = {{12345, 12345, 12345}, {12345, 12345, 12345}};
  EXPECT_NEAR(0.1270111, engine.next() / (M1 + 1.0), 1e-7);
  EXPECT_NEAR(0.3185276, engine.next() / (M1 + 1.0), 1e-7);
}

// Of rocRAND 5.3 (Debian 12), and of 5.7 (Debian 13), which has a second generator of the kind.
std::vector<std::string> mrg_uniform(const std::string &type)
{
  return {"mrg_uniform_distribution<" + type + ">",
          "mrg_engine_uniform_distribution<" + type + ", rocrand_device::mrg32k3a_engine>"};
}

TEST_F(Rocrand, Mrg32k3a)
{
  const uint64_t seed = 0xC0FFEE, offset = 1000003;
  const uint32_t engines = 512, start = 5;
  const size_t count = 20011;
  std::vector<Mrg> expected(engines);
  for (uint32_t i = 0; i < engines; ++i)
    expected[i] = mrg_engine(seed, i, offset + (i < start));
  auto states = device<Mrg>(engines);
  run("init_engines_kernel(rocrand_device::mrg32k3a_engine*, unsigned int, unsigned long long, "
      "unsigned long long)",
      {engines / 256}, {256}, states, start, seed, offset);
  ASSERT_TRUE(expected == states.read());

  std::vector<double> numbers(count);
  for (size_t i = 0; i < count; ++i)
    numbers[i] = expected[(i + start) % engines].next() * 2.3283065498378288e-10;
  auto out = device<double>(count);
  run(generator("double", mrg_uniform("double")), {engines / 256}, {256}, states, start, out, count,
      Empty());
  EXPECT_EQ(numbers, out.read());
  EXPECT_TRUE(expected == states.read());

  std::vector<uint32_t> integers(count);
  for (size_t i = 0; i < count; ++i)
    integers[i] =
        static_cast<uint32_t>((expected[(i + start) % engines].next() - 1) * 1.000000048661607);
  auto integers_out = device<uint32_t>(count);
  run(generator("unsigned int", mrg_uniform("unsigned int")), {engines / 256}, {256}, states, start,
      integers_out, count, Empty());
  EXPECT_EQ(integers, integers_out.read());
}

// ---- Sobol32: dimensions 1 to 3 of Joe and Kuo 2008 (new-joe-kuo-6.21201) ----

std::vector<uint32_t> directions()
{
  struct {
    uint32_t degree, coefficients, m[2];
  } const polynomials[] = {{1, 0, {1, 0}}, {2, 1, {1, 3}}};
  std::vector<uint32_t> v(96);
  for (uint32_t i = 0; i < 32; ++i)
    v[i] = 1u << (31 - i);
  for (size_t dimension = 1; dimension < 3; ++dimension) {
    const auto &p = polynomials[dimension - 1];
    uint32_t *at = &v[dimension * 32];
    for (uint32_t i = 0; i < 32; ++i) {
      if (i < p.degree) {
        at[i] = p.m[i] << (31 - i);
        continue;
      }
      at[i] = at[i - p.degree] ^ (at[i - p.degree] >> p.degree);
      for (uint32_t k = 1; k < p.degree; ++k)
        if (p.coefficients >> (p.degree - 1 - k) & 1)
          at[i] ^= at[i - k];
    }
  }
  return v;
}

uint32_t sobol(const uint32_t *v, uint32_t index)
{
  uint32_t gray = index ^ index >> 1, x = 0;
  for (int bit = 0; bit < 32; ++bit)
    if (gray >> bit & 1)
      x ^= v[bit];
  return x;
}

// With its arguments: 5.7 has another of the name, which scrambles the numbers.
std::string sobol32(const std::string &type)
{
  const std::string distribution = "sobol_uniform_distribution<" + type + ">";
  return "generate_kernel<1u, " + type + ", " + distribution + " >(" + type +
         "*, unsigned long, unsigned int const*, unsigned int, " + distribution + ")";
}

TEST_F(Rocrand, Sobol32)
{
  const std::vector<uint32_t> v = directions();
  const size_t count = 5003;
  const uint32_t offset = 77;
  std::vector<uint32_t> expected(3 * count);
  std::vector<float> expected_floats(3 * count);
  for (size_t i = 0; i < 3 * count; ++i) {
    expected[i] = sobol(&v[i / count * 32], offset + static_cast<uint32_t>(i % count));
    expected_floats[i] = static_cast<float>(expected[i]) * 0x1p-32f + 0x1p-32f;
  }
  auto vectors = device(v), out = device<uint32_t>(3 * count);
  run(sobol32("unsigned int"), {8, 3}, {256}, out, count, vectors, offset, Empty());
  EXPECT_EQ(expected, out.read());
  auto floats = device<float>(3 * count);
  run(sobol32("float"), {8, 3}, {256}, floats, count, vectors, offset, Empty());
  EXPECT_EQ(expected_floats, floats.read());
}

TEST_F(Rocrand, SobolReferenceGivesThePublishedPoints)
{
  // The first points of the sequence in three dimensions, in the order of Gray codes.
  const double points[8][3] = {{0, 0, 0},
                               {0.5, 0.5, 0.5},
                               {0.75, 0.25, 0.25},
                               {0.25, 0.75, 0.75},
                               {0.375, 0.375, 0.625},
                               {0.875, 0.875, 0.125},
                               {0.625, 0.125, 0.875},
                               {0.125, 0.625, 0.375}};
  const std::vector<uint32_t> v = directions();
  for (uint32_t i = 0; i < 8; ++i)
    for (uint32_t dimension = 0; dimension < 3; ++dimension)
      EXPECT_EQ(points[i][dimension], sobol(&v[dimension * 32], i) * 0x1p-32) << i;
}

// ---- MTGP32: Saito and Matsumoto, "Variants of Mersenne Twister suitable for graphic processors" ----

struct MtgpParameters { // as the library's own table holds them, MTGP's sources' fast form
  int32_t exponent, pos, sh1, sh2;
  uint32_t table[16], temper[16], temper_float[16], mask;
  uint8_t sha1[24];
};

struct MtgpEngine { // the library's
  int32_t offset, id;
  uint32_t status[1024];
  uint32_t pos, table[16], temper[16], sh1, sh2, temper_float[16], mask;
};

constexpr uint32_t MTGP_WORDS = 11213 / 32 + 1;

// The library's parameter sets: the exponent 11213 at the distance of one set, twice.
std::vector<MtgpParameters> mtgp_parameters(size_t count)
{
  std::ifstream file(Library::find_file("rocrand/usr/lib/*/librocrand.so.1.*"), std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const size_t size = sizeof(MtgpParameters);
  auto is_set = [&](size_t at) {
    MtgpParameters p;
    memcpy(&p, &bytes[at], size);
    return p.exponent == 11213 && p.pos > 2 && p.pos < 1024 && p.sh1 > 0 && p.sh1 < 32 &&
           p.sh2 > 0 && p.sh2 < 32 && p.table[0] == 0 && p.temper[0] == 0;
  };
  std::vector<MtgpParameters> result;
  for (size_t at = 0; at + count * size <= bytes.size(); at += 4)
    if (is_set(at) && is_set(at + size)) {
      result.resize(count);
      memcpy(result.data(), &bytes[at], count * size);
      break;
    }
  return result;
}

MtgpEngine mtgp_engine(const MtgpParameters &p, int32_t id, uint32_t mask, uint32_t seed)
{
  MtgpEngine engine = {};
  const uint32_t hidden = p.table[4] ^ p.table[8] << 16;
  uint32_t fill = hidden + (hidden >> 16);
  fill += fill >> 8;
  memset(engine.status, static_cast<int>(fill & 0xff), MTGP_WORDS * 4);
  engine.status[0] = seed;
  engine.status[1] = hidden;
  for (uint32_t i = 1; i < MTGP_WORDS; ++i)
    engine.status[i] ^= 1812433253u * (engine.status[i - 1] ^ engine.status[i - 1] >> 30) + i;
  engine.id = id;
  engine.pos = static_cast<uint32_t>(p.pos);
  engine.sh1 = static_cast<uint32_t>(p.sh1);
  engine.sh2 = static_cast<uint32_t>(p.sh2);
  engine.mask = mask;
  memcpy(engine.table, p.table, sizeof(p.table));
  memcpy(engine.temper, p.temper, sizeof(p.temper));
  memcpy(engine.temper_float, p.temper_float, sizeof(p.temper_float));
  return engine;
}

uint32_t mtgp_next(MtgpEngine &engine)
{
  auto at = [&](uint32_t distance) -> uint32_t & {
    return engine.status[(static_cast<uint32_t>(engine.offset) + distance) % 1024];
  };
  uint32_t x = (at(0) & engine.mask) ^ at(1);
  x ^= x << engine.sh1;
  uint32_t y = x ^ at(engine.pos) >> engine.sh2;
  uint32_t word = at(MTGP_WORDS) = y ^ engine.table[y & 15];
  uint32_t t = at(engine.pos - 1);
  t ^= t >> 16;
  t ^= t >> 8;
  engine.offset = (engine.offset + 1) % 1024;
  return word ^ engine.temper[t & 15];
}

TEST_F(Rocrand, Mtgp32)
{
  const size_t groups = 4, count = 256 * groups * 5 + 100; // the last round is a partial one
  const std::vector<MtgpParameters> parameters = mtgp_parameters(groups);
  ASSERT_EQ(groups, parameters.size());
  std::vector<MtgpEngine> engines;
  for (size_t i = 0; i < groups; ++i)
    engines.push_back(mtgp_engine(parameters[i], static_cast<int32_t>(i), parameters[0].mask,
                                  static_cast<uint32_t>(i) + 4712));
  auto states = device(engines);
  auto out = device<uint32_t>(count);
  run(generator("256u, unsigned int", {"uniform_distribution<unsigned int>", // rocRAND 5.3
                                       "uniform_distribution<unsigned int, unsigned int>"}),
      {groups}, {256}, states, out, count, Empty());
  std::vector<uint32_t> expected(count);
  for (size_t round = 0; round * 256 < count; ++round)
    for (size_t i = round * 256; i < round * 256 + 256; ++i) {
      uint32_t number = mtgp_next(engines[round % groups]);
      if (i < count)
        expected[i] = number;
    }
  EXPECT_EQ(expected, out.read());
  const std::vector<MtgpEngine> after = states.read();
  for (size_t i = 0; i < groups; ++i)
    EXPECT_EQ(0, memcmp(&engines[i], &after[i], sizeof(MtgpEngine))) << i;
}

} // namespace
