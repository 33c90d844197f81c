// Vector instructions that read or write state beyond VGPRs: carries, comparisons, lanes, and arithmetic under MODE.
#include "tests/softgpu/oracle/machine.h"

#include <bitset>

namespace oracle {
namespace {

// MODE: rounding of f32 in bits 0-1, of f16 and f64 in 2-3; denormals in 4-5 and 6-7, where the lower bit keeps those of
// sources and the higher one those of results (AMD's guides; LLVM: FLOAT_DENORM_MODE_FLUSH_DST is 1).
struct Mode {
  unsigned round;
  bool keeps_sources, keeps_results, clamps_nan, is_ieee;
  Mode(uint32_t mode, unsigned bits)
      : round(mode >> (bits == 32 ? 0 : 2) & 3), keeps_sources(mode >> (bits == 32 ? 4 : 6) & 1),
        keeps_results(mode >> (bits == 32 ? 5 : 7) & 1), clamps_nan(mode >> 8 & 1),
        is_ieee(mode >> 9 & 1)
  {
  }
};

struct Fields {
  unsigned dst, sdst, src[3];
  unsigned abs, neg, op_sel;
  bool clamp;
  uint32_t literal;
};

Fields fields_of(const Row &row, const uint32_t words[3])
{
  const uint32_t w = words[0], high = words[1];
  Fields f = {};
  f.literal = high;
  f.sdst = VCC;
  if (row.format == VOP3) {
    f.dst = w & 0xff;
    f.sdst = has(row.name, "_co_") ? w >> 8 & 0x7f : w & 0xff;
    for (unsigned i = 0; i < 3; ++i)
      f.src[i] = high >> 9 * i & 0x1ff;
    f.abs = has(row.name, "_co_") ? 0 : w >> 8 & 7;
    f.neg = high >> 29;
    f.clamp = w >> 15 & 1;
    return f;
  }
  f.src[0] = w & 0x1ff;
  f.src[1] = (w >> 9 & 0xff) + 256;
  f.src[2] = VCC;
  f.dst = w >> 17 & 0xff;
  return f;
}

unsigned bits_of(const std::string &name)
{
  return ends_with(name, "64") ? 64 : ends_with(name, "16") ? 16 : 32;
}

// Constants take the operand's type: 0.5 is a half for f16 and a double for f64. A literal is a double's upper half, and
// extended by its sign for i64 only.
uint64_t source(const Machine &m, const Fields &f, unsigned n, unsigned lane, unsigned bits,
                char type)
{
  static const uint16_t halves[] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000,
                                    0xc000, 0x4400, 0xc400, 0x3118};
  static const uint16_t doubles[] = {0x3fe0, 0xbfe0, 0x3ff0, 0xbff0,
                                     0x4000, 0xc000, 0x4010, 0xc010};
  const unsigned code = f.src[n];
  const bool is_real = type == 'f';
  uint64_t value;
  if (code >= 256) {
    value = m.v[code - 256][lane];
    if (bits == 64)
      value |= uint64_t(m.v[code - 255][lane]) << 32;
  } else if (bits == 64 && code < 128) {
    value = m.pair(code);
  } else if (code >= 240 && code <= 248 && bits != 32) {
    value = bits == 16    ? halves[code - 240]
            : code == 248 ? 0x3fc45f306dc9c882
                          : uint64_t(doubles[code - 240]) << 48;
  } else {
    const uint32_t word = scalar(m, code, f.literal);
    value = code == 255 && bits == 64 && is_real         ? uint64_t(word) << 32
            : bits == 64 && (code != 255 || type == 'i') ? uint64_t(int64_t(int32_t(word)))
                                                         : word;
  }
  if (bits < 64)
    value &= (1ull << bits) - 1;
  const uint64_t sign = 1ull << (bits - 1);
  if (is_real && f.abs >> n & 1)
    value &= ~sign;
  if (is_real && f.neg >> n & 1)
    value ^= sign;
  return value;
}

uint64_t flushed(const Real &type, uint64_t x, bool is_kept)
{
  return is_kept || !is_denormal(type, x) ? x : x & 1ull << (type.bits() - 1);
}

// A result of min or max. Signalling NaNs are quieted and returned in IEEE mode only, other NaNs lose against numbers.
uint64_t select(const Real &t, bool is_max, uint64_t x, uint64_t y, const Mode &mode)
{
  for (uint64_t value : {x, y})
    if (mode.is_ieee && is_signalling(t, value))
      return value | 1ull << (t.fraction - 1);
  if (is_nan(t, x))
    return y;
  if (is_nan(t, y))
    return x;
  const int order = compare(t, x, y);
  if (order == 0) // zeros of both signs, or the same
    return is_max ? x & y : x | y;
  return (order < 0) == is_max ? y : x;
}

struct Calculated {
  uint64_t value;
  bool is_open, is_zero; // any NaN, or a zero of either sign
};

Calculated calculate(const std::string &name, const Real &t, uint64_t s[3], const Mode &mode,
                     bool clamp)
{
  const uint64_t sign = 1ull << (t.bits() - 1), one = uint64_t((1 << (t.exponent - 1)) - 1)
                                                      << t.fraction;
  for (unsigned i = 0; i < 3; ++i)
    s[i] = flushed(t, s[i], mode.keeps_sources);
  uint64_t out;
  if (has(name, "_min_") || has(name, "_max_"))
    out = select(t, has(name, "_max_"), s[0], s[1], mode);
  else if (has(name, "_fma_"))
    out = multiply_add(t, s[0], s[1], s[2], mode.round, true);
  else if (has(name, "_mul_"))
    out = multiply_add(t, s[0], s[1], 0, mode.round, false);
  else
    out = multiply_add(t, has(name, "_subrev_") ? s[0] ^ sign : s[0], one,
                       has(name, "_sub_") ? s[1] ^ sign : s[1], mode.round, true);
  // A sign that was changed for a subtraction is no part of a NaN.
  out = flushed(t, out, mode.keeps_results);
  if (is_nan(t, out))
    return {clamp && mode.clamps_nan ? 0 : out, !(clamp && mode.clamps_nan), false};
  if (clamp && compare(t, out, 0) <= 0)
    return {0, true, true}; // undecided: which zero
  if (clamp && compare(t, out, one) > 0)
    out = one;
  return {out, false, false};
}

void arithmetic(Machine &m, const Row &row, const Fields &f)
{
  const unsigned bits = bits_of(row.name);
  const Real &type = real_of(bits);
  const Mode mode(m.mode, bits);
  const uint64_t exec = m.exec();
  for (unsigned lane = 0; lane < LANES; ++lane) {
    if (!(exec >> lane & 1))
      continue;
    uint64_t s[3] = {};
    for (unsigned n = 0; n < (has(row.name, "_fma_") ? 3 : 2); ++n)
      s[n] = source(m, f, n, lane, bits, 'f');
    const Calculated out = calculate(row.name, type, s, mode, f.clamp);
    uint32_t *dst = &m.v[f.dst][lane];
    // 16-bit results clear the other half, but for v_fma_f16 (LLVM: zeroesHigh16BitsOfDest).
    *dst = (row.name == "v_fma_f16" ? *dst & 0xffff0000 : 0) | uint32_t(out.value);
    if (bits == 64)
      m.v[f.dst + 1][lane] = uint32_t(out.value >> 32);
    if (out.is_open)
      m.open.push_back({f.dst, lane, bits, out.is_zero});
  }
}

bool holds(const std::string &op, int order)
{
  return op == "eq"                 ? order == 0
         : op == "lt"               ? order < 0
         : op == "le"               ? order <= 0
         : op == "gt"               ? order > 0
         : op == "ge"               ? order >= 0
         : op == "lg" || op == "ne" ? order != 0
                                    : op == "t" || op == "tru";
}

// The n.. forms are negations, so that they hold for NaNs.
bool holds_for_reals(const std::string &op, const Real &t, uint64_t x, uint64_t y)
{
  const bool is_unordered = is_nan(t, x) || is_nan(t, y);
  if (op == "o" || op == "u")
    return is_unordered == (op == "u");
  if (op[0] == 'n')
    return is_unordered || !holds(op == "neq" ? "eq" : op.substr(1), compare(t, x, y));
  return op == "tru" || (!is_unordered && holds(op, compare(t, x, y)));
}

// Lanes that are switched off give 0. The x forms write EXEC as well.
void comparison(Machine &m, const Row &row, const Fields &f)
{
  const bool is_x = has(row.name, "_cmpx_");
  const size_t begin = is_x ? 7 : 6, end = row.name.find('_', begin);
  const std::string op = row.name.substr(begin, end - begin);
  const char type = row.name[end + 1];
  const unsigned bits = bits_of(row.name);
  const Mode mode(m.mode, bits);
  uint64_t out = 0;
  for (unsigned lane = 0; lane < LANES; ++lane) {
    if (!m.is_active(lane))
      continue;
    uint64_t x = source(m, f, 0, lane, bits, type), y = source(m, f, 1, lane, bits, type);
    bool is_true;
    if (type == 'f') {
      x = flushed(real_of(bits), x, mode.keeps_sources);
      y = flushed(real_of(bits), y, mode.keeps_sources);
      is_true = holds_for_reals(op, real_of(bits), x, y);
    } else if (type == 'i') {
      const unsigned up = 64 - bits;
      const int64_t a = int64_t(x << up), b = int64_t(y << up);
      is_true = holds(op, a < b ? -1 : a > b);
    } else {
      is_true = holds(op, x < y ? -1 : x > y);
    }
    out |= uint64_t(is_true) << lane;
  }
  m.set_pair(f.sdst, out);
  if (is_x)
    m.set_pair(EXEC, out);
}

// v_add_co_u32 .. v_subbrev_co_u32: the carry of lanes that are switched off is 0.
void carries(Machine &m, const Row &row, const Fields &f)
{
  const std::string &name = row.name;
  const bool has_carry = has(name, "addc") || has(name, "subb"), is_add = has(name, "_add");
  const bool is_reversed = has(name, "rev");
  const uint64_t carry_in = has_carry ? m.pair(f.src[2]) : 0;
  uint64_t out = 0;
  for (unsigned lane = 0; lane < LANES; ++lane) {
    if (!m.is_active(lane))
      continue;
    const uint64_t c = carry_in >> lane & 1;
    uint64_t x = source(m, f, 0, lane, 32, 'b'), y = source(m, f, 1, lane, 32, 'b');
    if (is_reversed)
      std::swap(x, y);
    m.v[f.dst][lane] = uint32_t(is_add ? x + y + c : x - y - c);
    out |= uint64_t(is_add ? x + y + c > UINT32_MAX : y + c > x) << lane;
  }
  m.set_pair(f.sdst, out);
}

void for_lanes(Machine &m, const Row &row, const Fields &f)
{
  const uint64_t mask = row.name == "v_cndmask_b32" ? m.pair(f.src[2]) : 0;
  for (unsigned lane = 0; lane < LANES; ++lane) {
    if (!m.is_active(lane))
      continue;
    const uint32_t x = uint32_t(source(m, f, 0, lane, 32, 'b'));
    if (row.name == "v_mov_b32") {
      m.v[f.dst][lane] = x;
      continue;
    }
    const uint32_t y = uint32_t(source(m, f, 1, lane, 32, 'b'));
    if (row.name == "v_cndmask_b32") {
      m.v[f.dst][lane] = mask >> lane & 1 ? y : x;
      continue;
    }
    // v_mbcnt_lo, v_mbcnt_hi: bits of the mask below this lane, in either half.
    const uint64_t below = (1ull << lane) - 1;
    const uint32_t half = uint32_t(has(row.name, "_lo_") ? below : below >> 32);
    m.v[f.dst][lane] = y + uint32_t(std::bitset<32>(x & half).count());
  }
}

} // namespace

Outcome step_vector(Machine &m, const Row &row, const uint32_t words[3])
{
  const Fields f = fields_of(row, words);
  const std::string &name = row.name;
  if (has(name, "_cmp"))
    comparison(m, row, f);
  else if (has(name, "_co_"))
    carries(m, row, f);
  else if (name == "v_readfirstlane_b32") { // of lane 0 when none is switched on
    unsigned lane = 0;
    while (m.exec() && !m.is_active(lane))
      ++lane;
    m.s[words[0] >> 17 & 0x7f] = uint32_t(source(m, f, 0, lane, 32, 'b'));
  } else if (name == "v_readlane_b32") {
    m.s[f.dst] = uint32_t(source(m, f, 0, scalar(m, f.src[1], 0) % LANES, 32, false));
  } else if (name == "v_writelane_b32") { // EXEC does not matter
    m.v[f.dst][scalar(m, f.src[1], 0) % LANES] = scalar(m, f.src[0], 0);
  } else if (has(name, "_f16") || has(name, "_f32") || has(name, "_f64")) {
    arithmetic(m, row, f);
  } else {
    for_lanes(m, row, f);
  }
  return DONE;
}

} // namespace oracle
