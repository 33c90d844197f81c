// Floating-point numbers in integers.
#include "tests/softgpu/oracle/machine.h"

namespace oracle {
namespace {

using wide = unsigned __int128;

struct Parts {
  bool sign;
  wide significand; // 0 for zeros
  int exponent;     // value = significand * 2^exponent
};

uint64_t mask(unsigned bits)
{
  return bits >= 64 ? ~0ull : (1ull << bits) - 1;
}
uint64_t exponent_field(const Real &t, uint64_t x)
{
  return x >> t.fraction & mask(t.exponent);
}
uint64_t infinity(const Real &t, bool sign)
{
  return mask(t.exponent) << t.fraction | uint64_t(sign) << (t.bits() - 1);
}
bool is_infinite(const Real &t, uint64_t x)
{
  return (x & mask(t.bits() - 1)) == infinity(t, false);
}
int bias(const Real &t)
{
  return (1 << (t.exponent - 1)) - 1;
}

Parts take_apart(const Real &t, uint64_t x)
{
  const int field = int(exponent_field(t, x));
  const wide fraction = x & mask(t.fraction);
  return {bool(x >> (t.bits() - 1) & 1), field ? fraction | wide(1) << t.fraction : fraction,
          (field ? field : 1) - bias(t) - int(t.fraction)};
}

int top_bit(wide x)
{
  int bit = -1;
  for (; x; x >>= 1)
    ++bit;
  return bit;
}

// Shifted right; what falls off remains as a lowest bit.
wide jam(wide x, int by)
{
  if (by <= 0)
    return x;
  if (by > 126)
    return x != 0;
  return x >> by | ((x & ((wide(1) << by) - 1)) != 0);
}

bool rounds_up(wide kept, wide rest, wide half, bool sign, unsigned round)
{
  switch (round) {
  case 0:
    return rest > half || (rest == half && (kept & 1));
  case 1:
    return rest && !sign;
  case 2:
    return rest && sign;
  }
  return false;
}

uint64_t put_together(const Real &t, Parts p, unsigned round)
{
  const uint64_t sign = uint64_t(p.sign) << (t.bits() - 1);
  if (!p.significand)
    return sign;
  const int lowest = 1 - bias(t) - int(t.fraction); // exponent of the last place of denormals
  int shift = top_bit(p.significand) - int(t.fraction);
  if (p.exponent + shift < lowest)
    shift = lowest - p.exponent;
  wide kept = p.significand;
  if (shift > 0) {
    const int by = shift > 126 ? 126 : shift;
    const wide source = shift > 126 ? wide(1) : p.significand; // far below the last place
    kept = source >> by;
    const wide rest = source & ((wide(1) << by) - 1);
    kept += rounds_up(kept, rest, wide(1) << (by - 1), p.sign, round);
  } else {
    kept <<= -shift;
  }
  int exponent = p.exponent + shift;
  if (kept >> (t.fraction + 1)) {
    kept >>= 1;
    ++exponent;
  }
  if (!(kept >> t.fraction))
    return sign | uint64_t(kept);
  const int field = exponent + int(t.fraction) + bias(t);
  if (field >= int(mask(t.exponent))) {
    const bool is_finite = round == 3 || (round == 1 && p.sign) || (round == 2 && !p.sign);
    return is_finite ? infinity(t, p.sign) - 1 : infinity(t, p.sign);
  }
  return sign | uint64_t(field) << t.fraction | (uint64_t(kept) & mask(t.fraction));
}

// The exact sum, but for a sticky lowest bit.
Parts add(Parts x, Parts y, unsigned round)
{
  if (!x.significand && !y.significand)
    return {x.sign == y.sign ? x.sign : round == 2, 0, 0};
  if (!y.significand)
    return x;
  if (!x.significand)
    return y;
  for (Parts *p : {&x, &y}) { // highest bit to bit 120
    const int up = 120 - top_bit(p->significand);
    p->significand <<= up;
    p->exponent -= up;
  }
  if (x.exponent < y.exponent || (x.exponent == y.exponent && x.significand < y.significand))
    std::swap(x, y);
  const wide small = jam(y.significand, x.exponent - y.exponent);
  if (x.sign == y.sign)
    return {x.sign, x.significand + small, x.exponent};
  const wide difference = x.significand - small;
  return {difference ? x.sign : round == 2, difference, x.exponent};
}

} // namespace

const Real &real_of(unsigned bits)
{
  static const Real types[] = {{10, 5}, {23, 8}, {52, 11}};
  return types[bits == 16 ? 0 : bits == 32 ? 1 : 2];
}

bool is_nan(const Real &t, uint64_t x)
{
  return (x & mask(t.bits() - 1)) > infinity(t, false);
}
bool is_signalling(const Real &t, uint64_t x)
{
  return is_nan(t, x) && !(x >> (t.fraction - 1) & 1);
}
bool is_denormal(const Real &t, uint64_t x)
{
  return !exponent_field(t, x) && (x & mask(t.fraction));
}

int compare(const Real &t, uint64_t x, uint64_t y)
{
  auto ordered = [&](uint64_t v) {
    const int64_t size = int64_t(v & mask(t.bits() - 1));
    return v >> (t.bits() - 1) & 1 ? -size : size;
  };
  return ordered(x) < ordered(y) ? -1 : ordered(x) > ordered(y);
}

uint64_t multiply_add(const Real &t, uint64_t x, uint64_t y, uint64_t z, unsigned round,
                      bool has_addend)
{
  const uint64_t nan = infinity(t, false) | 1ull << (t.fraction - 1);
  if (is_nan(t, x) || is_nan(t, y) || (has_addend && is_nan(t, z)))
    return nan;
  const Parts a = take_apart(t, x), b = take_apart(t, y), c = take_apart(t, z);
  const bool sign = a.sign != b.sign;
  if (is_infinite(t, x) || is_infinite(t, y)) {
    if (!a.significand || !b.significand || (has_addend && is_infinite(t, z) && c.sign != sign))
      return nan;
    return infinity(t, sign);
  }
  if (has_addend && is_infinite(t, z))
    return z;
  const Parts product = {sign, a.significand * b.significand, a.exponent + b.exponent};
  return put_together(t, has_addend ? add(product, c, round) : product, round);
}

} // namespace oracle
