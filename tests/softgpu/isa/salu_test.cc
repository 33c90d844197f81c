// Every scalar ALU instruction against a model written from the ISA document, bit by bit where that is the clearer way.
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "tests/softgpu/isa/device.h"
#include "tests/softgpu/isa/kernels.h"

namespace {

// The registers around the instruction under test: see salu_begin in kernels.s.
struct Record {
  uint64_t a, b, d;
  uint32_t scc, unused;
  uint64_t exec;
  uint64_t rest[3];
};
static_assert(sizeof(Record) == 64, "a record is 64 bytes");

using Model = std::function<void(Record &)>;

// Result in the low dword of d, scc as given or, without one, unchanged.
Model value32(std::function<uint32_t(uint32_t, uint32_t, const Record &)> f)
{
  return [f](Record &r) { r.d = (r.d & ~0xffffffffull) | f(uint32_t(r.a), uint32_t(r.b), r); };
}
Model nonzero32(std::function<uint32_t(uint32_t, uint32_t)> f)
{
  return [f](Record &r) {
    uint32_t d = f(uint32_t(r.a), uint32_t(r.b));
    r.d = (r.d & ~0xffffffffull) | d;
    r.scc = d != 0;
  };
}
Model with_scc32(std::function<uint32_t(uint32_t, uint32_t, uint32_t, uint32_t &)> f)
{
  return [f](Record &r) {
    uint32_t scc = 0, d = f(uint32_t(r.a), uint32_t(r.b), r.scc, scc);
    r.d = (r.d & ~0xffffffffull) | d;
    r.scc = scc;
  };
}
Model value64(std::function<uint64_t(uint64_t, uint64_t, const Record &)> f)
{
  return [f](Record &r) { r.d = f(r.a, r.b, r); };
}
Model nonzero64(std::function<uint64_t(uint64_t, uint64_t)> f)
{
  return [f](Record &r) {
    r.d = f(r.a, r.b);
    r.scc = r.d != 0;
  };
}
Model saveexec(std::function<uint64_t(uint64_t, uint64_t)> f)
{
  return [f](Record &r) {
    r.d = r.exec;
    r.exec = f(r.a, r.exec);
    r.scc = r.exec != 0;
  };
}
Model wrexec(std::function<uint64_t(uint64_t, uint64_t)> f)
{
  return [f](Record &r) {
    r.d = r.exec = f(r.a, r.exec);
    r.scc = r.exec != 0;
  };
}
Model compare(std::function<bool(uint64_t, uint64_t)> f)
{
  return [f](Record &r) { r.scc = f(r.a, r.b); };
}
template <typename T> Model compare32(std::function<bool(T, T)> f)
{
  return [f](Record &r) { r.scc = f(T(r.a), T(r.b)); };
}
template <typename T> Model comparek(T k, std::function<bool(T, T)> f)
{
  return [f, k](Record &r) { r.scc = f(T(uint32_t(r.d)), k); };
}

bool overflows(int64_t v)
{
  return v != int64_t(int32_t(v));
}

// One bit at a time: what a field of a sign- or zero-extended value holds.
uint64_t field(uint64_t value, unsigned offset, unsigned width, unsigned size, bool is_signed)
{
  uint64_t out = 0;
  auto bit = [&](unsigned i) {
    return i < size ? value >> i & 1 : is_signed ? value >> (size - 1) & 1 : 0;
  };
  if (!width)
    return 0;
  for (unsigned i = 0; i < size; ++i)
    out |= (i < width ? bit(offset + i) : is_signed ? bit(offset + width - 1) : 0) << i;
  return out;
}

uint32_t find(uint64_t value, unsigned size, bool wanted, bool from_top)
{
  for (unsigned i = 0; i < size; ++i)
    if ((value >> (from_top ? size - 1 - i : i) & 1) == wanted)
      return i;
  return ~0u;
}

uint32_t sign_run(uint64_t value, unsigned size)
{
  return find(value, size, !(value >> (size - 1) & 1), true);
}

uint64_t reversed(uint64_t value, unsigned size)
{
  uint64_t out = 0;
  for (unsigned i = 0; i < size; ++i)
    out |= (value >> i & 1) << (size - 1 - i);
  return out;
}

uint32_t ones(uint64_t value, unsigned size)
{
  uint32_t n = 0;
  for (unsigned i = 0; i < size; ++i)
    n += value >> i & 1;
  return n;
}

uint64_t whole_quads(uint64_t value, unsigned size)
{
  uint64_t out = 0;
  for (unsigned i = 0; i < size; ++i)
    out |= uint64_t((value >> (i & ~3u) & 15) != 0) << i;
  return out;
}

uint64_t quad_mask(uint64_t value, unsigned size)
{
  uint64_t out = 0;
  for (unsigned i = 0; i < size / 4; ++i)
    out |= uint64_t((value >> 4 * i & 15) != 0) << i;
  return out;
}

const uint32_t K = 0xffff8001; // the immediate of the SOPK instructions, sign-extended

std::map<std::string, Model> arithmetic()
{
  using u = uint32_t;
  std::map<std::string, Model> m;
  m["s_add_u32"] = with_scc32([](u a, u b, u, u &scc) {
    scc = (uint64_t(a) + b) >> 32;
    return a + b;
  });
  m["s_sub_u32"] = with_scc32([](u a, u b, u, u &scc) {
    scc = b > a;
    return a - b;
  });
  m["s_addc_u32"] = with_scc32([](u a, u b, u c, u &scc) {
    scc = (uint64_t(a) + b + c) >> 32;
    return a + b + c;
  });
  m["s_subb_u32"] = with_scc32([](u a, u b, u c, u &scc) {
    scc = uint64_t(b) + c > a;
    return a - b - c;
  });
  m["s_add_i32"] = with_scc32([](u a, u b, u, u &scc) {
    scc = overflows(int64_t(int32_t(a)) + int32_t(b));
    return a + b;
  });
  m["s_sub_i32"] = with_scc32([](u a, u b, u, u &scc) {
    scc = overflows(int64_t(int32_t(a)) - int32_t(b));
    return a - b;
  });
  m["s_min_i32"] = with_scc32([](u a, u b, u, u &scc) {
    scc = int32_t(a) < int32_t(b);
    return scc ? a : b;
  });
  m["s_max_i32"] = with_scc32([](u a, u b, u, u &scc) {
    scc = int32_t(a) > int32_t(b);
    return scc ? a : b;
  });
  m["s_min_u32"] = with_scc32([](u a, u b, u, u &scc) {
    scc = a < b;
    return scc ? a : b;
  });
  m["s_max_u32"] = with_scc32([](u a, u b, u, u &scc) {
    scc = a > b;
    return scc ? a : b;
  });
  for (unsigned n = 1; n <= 4; ++n)
    m["s_lshl" + std::to_string(n) + "_add_u32"] = with_scc32([n](u a, u b, u, u &scc) {
      uint64_t sum = (uint64_t(a) << n) + b;
      scc = sum >> 32 != 0;
      return u(sum);
    });
  m["s_mul_i32"] = value32([](u a, u b, const Record &) { return a * b; });
  m["s_mul_hi_u32"] = value32([](u a, u b, const Record &) { return u(uint64_t(a) * b >> 32); });
  m["s_mul_hi_i32"] =
      value32([](u a, u b, const Record &) { return u(int64_t(int32_t(a)) * int32_t(b) >> 32); });
  m["s_absdiff_i32"] = nonzero32([](u a, u b) {
    u d = a - b;
    return d >> 31 ? 0 - d : d;
  });
  m["s_abs_i32"] = nonzero32([](u a, u) { return a >> 31 ? 0 - a : a; });
  m["s_movk_i32"] = value32([](u, u, const Record &) { return K; });
  m["s_cmovk_i32"] = value32([](u, u, const Record &r) { return r.scc ? K : u(r.d); });
  m["s_mulk_i32"] = value32([](u, u, const Record &r) { return u(r.d) * K; });
  m["s_addk_i32"] = [](Record &r) {
    r.scc = overflows(int64_t(int32_t(r.d)) + int32_t(K));
    r.d = (r.d & ~0xffffffffull) | u(u(r.d) + K);
  };
  return m;
}

std::map<std::string, Model> logic()
{
  using u = uint32_t;
  using l = uint64_t;
  std::map<std::string, Model> m;
  const std::map<std::string, std::function<l(l, l)>> operations = {
      {"and", [](l a, l b) { return a & b; }},    {"or", [](l a, l b) { return a | b; }},
      {"xor", [](l a, l b) { return a ^ b; }},    {"andn2", [](l a, l b) { return a & ~b; }},
      {"orn2", [](l a, l b) { return a | ~b; }},  {"nand", [](l a, l b) { return ~(a & b); }},
      {"nor", [](l a, l b) { return ~(a | b); }}, {"xnor", [](l a, l b) { return ~(a ^ b); }},
      {"andn1", [](l a, l b) { return ~a & b; }}, {"orn1", [](l a, l b) { return ~a | b; }},
  };
  for (const auto &operation : operations) {
    auto f = operation.second;
    m["s_" + operation.first + "_b32"] = nonzero32([f](u a, u b) { return u(f(a, b)); });
    m["s_" + operation.first + "_b64"] = nonzero64(f);
    m["s_" + operation.first + "_saveexec_b64"] = saveexec(f);
    m["s_" + operation.first + "_wrexec_b64"] = wrexec(f);
  }
  m["s_not_b32"] = nonzero32([](u a, u) { return ~a; });
  m["s_not_b64"] = nonzero64([](l a, l) { return ~a; });
  m["s_mov_b32"] = value32([](u a, u, const Record &) { return a; });
  m["s_mov_b64"] = value64([](l a, l, const Record &) { return a; });
  m["s_cmov_b32"] = value32([](u a, u, const Record &r) { return r.scc ? a : u(r.d); });
  m["s_cmov_b64"] = value64([](l a, l, const Record &r) { return r.scc ? a : r.d; });
  m["s_cselect_b32"] = value32([](u a, u b, const Record &r) { return r.scc ? a : b; });
  m["s_cselect_b64"] = value64([](l a, l b, const Record &r) { return r.scc ? a : b; });
  m["s_pack_ll_b32_b16"] =
      value32([](u a, u b, const Record &) { return (a & 0xffff) + ((b & 0xffff) << 16); });
  m["s_pack_lh_b32_b16"] =
      value32([](u a, u b, const Record &) { return (a & 0xffff) + ((b >> 16) << 16); });
  m["s_pack_hh_b32_b16"] =
      value32([](u a, u b, const Record &) { return (a >> 16) + ((b >> 16) << 16); });
  return m;
}

std::map<std::string, Model> bits()
{
  using u = uint32_t;
  using l = uint64_t;
  std::map<std::string, Model> m;
  m["s_lshl_b32"] = nonzero32([](u a, u b) { return u(l(a) << b % 32); });
  m["s_lshr_b32"] = nonzero32([](u a, u b) { return u(field(a, b % 32, 32, 32, false)); });
  m["s_ashr_i32"] = nonzero32([](u a, u b) { return u(field(a, b % 32, 32, 32, true)); });
  m["s_lshl_b64"] = nonzero64([](l a, l b) { return a << b % 64; });
  m["s_lshr_b64"] = nonzero64([](l a, l b) { return field(a, b % 64, 64, 64, false); });
  m["s_ashr_i64"] = nonzero64([](l a, l b) { return field(a, b % 64, 64, 64, true); });
  m["s_bfe_u32"] =
      nonzero32([](u a, u b) { return u(field(a, b % 32, b >> 16 & 127, 32, false)); });
  m["s_bfe_i32"] = nonzero32([](u a, u b) { return u(field(a, b % 32, b >> 16 & 127, 32, true)); });
  m["s_bfe_u64"] = nonzero64([](l a, l b) { return field(a, b % 64, b >> 16 & 127, 64, false); });
  m["s_bfe_i64"] = nonzero64([](l a, l b) { return field(a, b % 64, b >> 16 & 127, 64, true); });
  m["s_bfm_b32"] =
      value32([](u a, u b, const Record &) { return u(((1ull << a % 32) - 1) << b % 32); });
  m["s_bfm_b64"] =
      value64([](l a, l b, const Record &) { return ((l(1) << a % 64) - 1) << b % 64; });
  m["s_wqm_b32"] = nonzero32([](u a, u) { return u(whole_quads(a, 32)); });
  m["s_wqm_b64"] = nonzero64([](l a, l) { return whole_quads(a, 64); });
  m["s_quadmask_b32"] = nonzero32([](u a, u) { return u(quad_mask(a, 32)); });
  m["s_quadmask_b64"] = nonzero64([](l a, l) { return quad_mask(a, 64); });
  m["s_brev_b32"] = value32([](u a, u, const Record &) { return u(reversed(a, 32)); });
  m["s_brev_b64"] = value64([](l a, l, const Record &) { return reversed(a, 64); });
  m["s_bcnt0_i32_b32"] = nonzero32([](u a, u) { return 32 - ones(a, 32); });
  m["s_bcnt1_i32_b32"] = nonzero32([](u a, u) { return ones(a, 32); });
  auto counts64 = [](bool value) {
    return [value](Record &r) {
      u d = value ? ones(r.a, 64) : 64 - ones(r.a, 64);
      r.d = (r.d & ~0xffffffffull) | d;
      r.scc = d != 0;
    };
  };
  m["s_bcnt0_i32_b64"] = counts64(false);
  m["s_bcnt1_i32_b64"] = counts64(true);
  m["s_ff0_i32_b32"] = value32([](u a, u, const Record &) { return find(a, 32, false, false); });
  m["s_ff1_i32_b32"] = value32([](u a, u, const Record &) { return find(a, 32, true, false); });
  m["s_ff0_i32_b64"] = value32([](u, u, const Record &r) { return find(r.a, 64, false, false); });
  m["s_ff1_i32_b64"] = value32([](u, u, const Record &r) { return find(r.a, 64, true, false); });
  m["s_flbit_i32_b32"] = value32([](u a, u, const Record &) { return find(a, 32, true, true); });
  m["s_flbit_i32_b64"] = value32([](u, u, const Record &r) { return find(r.a, 64, true, true); });
  m["s_flbit_i32"] = value32([](u a, u, const Record &) { return sign_run(a, 32); });
  m["s_flbit_i32_i64"] = value32([](u, u, const Record &r) { return sign_run(r.a, 64); });
  m["s_sext_i32_i8"] = value32([](u a, u, const Record &) { return u(field(a, 0, 8, 32, true)); });
  m["s_sext_i32_i16"] =
      value32([](u a, u, const Record &) { return u(field(a, 0, 16, 32, true)); });
  m["s_bitset0_b32"] = value32([](u a, u, const Record &r) { return u(r.d) & ~(1u << a % 32); });
  m["s_bitset1_b32"] = value32([](u a, u, const Record &r) { return u(r.d) | 1u << a % 32; });
  m["s_bitset0_b64"] = value64([](l a, l, const Record &r) { return r.d & ~(l(1) << a % 64); });
  m["s_bitset1_b64"] = value64([](l a, l, const Record &r) { return r.d | l(1) << a % 64; });
  m["s_bitreplicate_b64_b32"] = value64([](l a, l, const Record &) {
    l out = 0;
    for (unsigned i = 0; i < 64; ++i)
      out |= (a >> i / 2 & 1) << i;
    return out;
  });
  return m;
}

template <typename T> std::map<std::string, std::function<bool(T, T)>> relations()
{
  return {{"eq", [](T a, T b) { return a == b; }}, {"lg", [](T a, T b) { return a != b; }},
          {"gt", [](T a, T b) { return a > b; }},  {"ge", [](T a, T b) { return a >= b; }},
          {"lt", [](T a, T b) { return a < b; }},  {"le", [](T a, T b) { return a <= b; }}};
}

std::map<std::string, Model> compares()
{
  std::map<std::string, Model> m;
  for (const auto &relation : relations<int32_t>()) {
    m["s_cmp_" + relation.first + "_i32"] = compare32<int32_t>(relation.second);
    m["s_cmpk_" + relation.first + "_i32"] = comparek<int32_t>(int32_t(K), relation.second);
  }
  for (const auto &relation : relations<uint32_t>()) {
    m["s_cmp_" + relation.first + "_u32"] = compare32<uint32_t>(relation.second);
    m["s_cmpk_" + relation.first + "_u32"] = comparek<uint32_t>(0x8001, relation.second);
  }
  m["s_cmp_eq_u64"] = compare([](uint64_t a, uint64_t b) { return a == b; });
  m["s_cmp_lg_u64"] = compare([](uint64_t a, uint64_t b) { return a != b; });
  m["s_bitcmp0_b32"] = compare([](uint64_t a, uint64_t b) { return !(a >> b % 32 & 1); });
  m["s_bitcmp1_b32"] = compare([](uint64_t a, uint64_t b) { return a >> b % 32 & 1; });
  m["s_bitcmp0_b64"] = compare([](uint64_t a, uint64_t b) { return !(a >> b % 64 & 1); });
  m["s_bitcmp1_b64"] = compare([](uint64_t a, uint64_t b) { return a >> b % 64 & 1; });
  return m;
}

std::vector<Record> records()
{
  const uint64_t values[] = {0,
                             1,
                             2,
                             31,
                             32,
                             63,
                             0x7fffffff,
                             0x80000000,
                             0xffff8001,
                             0x00008001,
                             0xffffffff,
                             0x100000000,
                             0x7fffffffffffffff,
                             0x8000000000000000,
                             0xffffffffffffffff,
                             0x00200003,
                             0x00400000,
                             0x0005001f,
                             0x123456789abcdef0,
                             0xfedcba9876543210};
  std::vector<Record> out;
  uint32_t n = 0;
  for (uint64_t a : values)
    for (uint64_t b : values) {
      Record r = {};
      r.a = a;
      r.b = b;
      r.d = a * 0x9e3779b97f4a7c15 + b;
      if (n % 5 == 0)
        r.d = 0xffff8001 - n % 3;
      r.scc = ++n & 1;
      r.exec = n % 7 == 0 ? 0 : b ^ 0x00ff00ff0f0f3355;
      out.push_back(r);
    }
  return out;
}

std::vector<Record> execute(const std::string &instruction, const std::vector<Record> &in)
{
  device::Memory input(in.size() * sizeof(Record)), output(in.size() * sizeof(Record)), kernarg(16);
  memcpy(input.as<void>(), in.data(), input.size());
  kernarg.as<uint64_t>()[0] = input.address();
  kernarg.as<uint64_t>()[1] = output.address();
  device::Kernel kernel(kernels::around("salu_begin", instruction, "salu_end"));
  auto result =
      device::run(device::dispatch(kernel.object(), kernarg.as<void>(), uint32_t(in.size())));
  EXPECT_TRUE(result.ok) << result.fault.text;
  std::vector<Record> out(in.size());
  memcpy(out.data(), output.as<void>(), output.size());
  // Stored from s20 on.
  for (size_t i = 0; i < out.size(); ++i) {
    const uint32_t *s = output.as<uint32_t>() + i * 16;
    Record stored = in[i];
    stored.d = s[0] | uint64_t(s[1]) << 32;
    stored.scc = s[2];
    stored.exec = s[4] | uint64_t(s[5]) << 32;
    out[i] = stored;
  }
  return out;
}

TEST(Salu, EveryInstructionFollowsItsModel)
{
  std::map<std::string, Model> models;
  for (auto part : {arithmetic(), logic(), bits(), compares()})
    models.insert(part.begin(), part.end());
  const std::vector<Record> in = records();
  unsigned tested = 0;
  for (const std::string &instruction : kernels::instructions("s_")) {
    if (instruction.find("s16") == std::string::npos &&
        instruction.find("s[16:17]") == std::string::npos &&
        instruction.find("0x8001") == std::string::npos)
      continue; // other operands have a test of their own
    if (instruction.find("0x80000000") != std::string::npos)
      continue;
    auto model = models.find(instruction.substr(0, instruction.find(' ')));
    ASSERT_NE(model, models.end()) << instruction;
    auto out = execute(instruction, in);
    for (size_t i = 0; i < in.size(); ++i) {
      Record expected = in[i];
      model->second(expected);
      ASSERT_TRUE(out[i].d == expected.d && out[i].scc == expected.scc &&
                  out[i].exec == expected.exec)
          << instruction << std::hex << " a " << in[i].a << " b " << in[i].b << " d " << in[i].d
          << " scc " << in[i].scc << " exec " << in[i].exec << ": d " << out[i].d << ", expected "
          << expected.d << "; scc " << out[i].scc << ", expected " << expected.scc << "; exec "
          << out[i].exec << ", expected " << expected.exec;
    }
    ++tested;
  }
  EXPECT_EQ(tested, 129u);
}

TEST(Salu, OtherOperands)
{
  const struct {
    const char *instruction;
    uint64_t d;
    bool is_wide;
  } cases[] = {
      {"s_mov_b32 s20, 0x12345678", 0x12345678, false},
      {"s_mov_b32 s20, -16", 0xfffffff0, false},
      {"s_mov_b32 s20, 64", 64, false},
      {"s_mov_b32 s20, 0.5", 0x3f000000, false},
      {"s_mov_b32 s20, 0.15915494", 0x3e22f983, false},
      {"s_mov_b64 s[20:21], -1", ~0ull, true},
      {"s_mov_b64 s[20:21], 1.0", 0x3ff0000000000000, true},
      {"s_and_b64 s[20:21], s[16:17], 0x80000000", 0x80000000, true},
      {"s_ashr_i64 s[20:21], 0x80000000, 4", 0xfffffffff8000000, true},
      {"s_mov_b32 s20, src_scc", 1, false},
      {"s_mov_b32 s20, src_execz", 1, false},
      {"s_mov_b32 s20, src_vccz", 1, false},
      {"s_mov_b64 s[20:21], src_shared_base", 0x0001000000000000, true},
      {"s_mov_b64 s[20:21], src_private_limit", 0x00020000ffffffff, true},
      {"s_getreg_b32 s20, hwreg(HW_REG_MODE, 4, 4)", 0xf, false},
      {"s_getreg_b32 s20, hwreg(HW_REG_SH_MEM_BASES, 16, 16)", 1, false},
  };
  for (const auto &c : cases) {
    Record r = {};
    r.a = ~0ull;
    r.d = 0x1111111122222222;
    r.scc = 1;
    Record out = execute(c.instruction, {r})[0];
    uint64_t expected = c.is_wide ? c.d : c.d | (r.d & ~0xffffffffull);
    EXPECT_EQ(out.d, expected) << c.instruction;
  }
}

} // namespace
