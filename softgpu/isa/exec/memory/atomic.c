/* Atomic operations, on values and on memory shared with other threads. */
#include "softgpu/isa/exec/memory/access.h"

static float as_float(uint32_t bits)
{
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static uint32_t float_bits(float value)
{
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static double as_double(uint64_t bits)
{
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static uint64_t double_bits(double value)
{
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* Exact: every f16 is a float. */
static float half_to_float(uint32_t half)
{
  uint32_t sign = (half & 0x8000) << 16, exponent = half >> 10 & 31, fraction = half & 0x3ff;
  if (exponent == 31)
    return as_float(sign | 0x7f800000 | fraction << 13);
  if (exponent)
    return as_float(sign | (exponent + 112) << 23 | fraction << 13);
  return as_float(sign | float_bits((float)fraction * 0x1p-24f));
}

/* Rounds to nearest even. */
static uint32_t float_to_half(float value)
{
  uint32_t bits = float_bits(value), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return 0x7e00;
  if (magnitude >= 0x477ff000)
    return sign | 0x7c00;       /* 65520 and above round to infinity */
  if (magnitude < 0x38800000) { /* below 2^-14: denormal, in units of 2^-24 */
    float scaled = as_float(magnitude) * 0x1p24f + 0x1p23f;
    return sign | (float_bits(scaled) & 0x7fff);
  }
  uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
  return sign | (rounded - 0x38000000) >> 13;
}

static uint32_t float_to_bfloat(float value)
{
  uint32_t bits = float_bits(value);
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

/* Hosts disagree about which NaN a sum is: here the first one, quieted, or a positive one. */
static uint32_t sum_bits(uint32_t a, uint32_t b)
{
  float sum = as_float(a) + as_float(b);
  if (sum == sum)
    return float_bits(sum);
  return as_float(a) != as_float(a)   ? a | 0x400000
         : as_float(b) != as_float(b) ? b | 0x400000
                                      : 0x7fc00000;
}

static uint64_t sum_bits64(uint64_t a, uint64_t b)
{
  double sum = as_double(a) + as_double(b);
  if (sum == sum)
    return double_bits(sum);
  return as_double(a) != as_double(a)   ? a | 1ull << 51
         : as_double(b) != as_double(b) ? b | 1ull << 51
                                        : 0x7ff8000000000000;
}

static uint32_t bfloat_sum(uint32_t a, uint32_t b)
{
  uint32_t sum = sum_bits(a << 16, b << 16);
  return as_float(sum) != as_float(sum) ? sum >> 16 : float_to_bfloat(as_float(sum));
}

/* The sum of two halves is exact in double, so the double rounding through float is harmless: float
 * keeps 24 bits, twice 11 and 2 more. */
static uint32_t packed_add(uint32_t a, uint32_t b, bool is_bfloat)
{
  uint32_t out = 0;
  for (unsigned shift = 0; shift < 32; shift += 16) {
    uint32_t x = a >> shift & 0xffff, y = b >> shift & 0xffff;
    out |= (is_bfloat ? bfloat_sum(x, y) : float_to_half(half_to_float(x) + half_to_float(y)))
           << shift;
  }
  return out;
}

static uint32_t flushed(uint32_t bits, bool is_wanted)
{
  return is_wanted && !(bits & 0x7f800000) ? bits & 0x80000000 : bits;
}

static uint32_t float_atomic32(unsigned atomic, uint32_t old, uint32_t data, uint32_t compare)
{
  const bool flushes_in = atomic & ISA_ATOMIC_FLUSH_IN, flushes_out = atomic & ISA_ATOMIC_FLUSH_OUT;
  float x = as_float(old), y = as_float(data);
  switch (atomic & ~(unsigned)(ISA_ATOMIC_FLUSH_IN | ISA_ATOMIC_FLUSH_OUT)) {
  case ISA_ATOMIC_ADD_F:
    return flushed(sum_bits(flushed(old, flushes_in), flushed(data, flushes_in)), flushes_out);
  case ISA_ATOMIC_MIN_F:
    return y < x ? data : old;
  case ISA_ATOMIC_MAX_F:
    return y > x ? data : old;
  case ISA_ATOMIC_CMPSWAP_F:
    return x == as_float(compare) ? data : old;
  default:
    return packed_add(old, data, atomic == ISA_ATOMIC_PK_ADD_BF16);
  }
}

static uint64_t float_atomic64(unsigned atomic, uint64_t old, uint64_t data, uint64_t compare)
{
  double x = as_double(old), y = as_double(data);
  switch (atomic) {
  case ISA_ATOMIC_ADD_F:
    return sum_bits64(old, data);
  case ISA_ATOMIC_MIN_F:
    return y < x ? data : old;
  case ISA_ATOMIC_MAX_F:
    return y > x ? data : old;
  default:
    return x == as_double(compare) ? data : old;
  }
}

#define INTEGER_CASES(type, signed_type)                                                           \
  case ISA_ATOMIC_SWAP:                                                                            \
    return data;                                                                                   \
  case ISA_ATOMIC_CMPSWAP:                                                                         \
    return old == compare ? data : old;                                                            \
  case ISA_ATOMIC_ADD:                                                                             \
    return old + data;                                                                             \
  case ISA_ATOMIC_SUB:                                                                             \
    return old - data;                                                                             \
  case ISA_ATOMIC_RSUB:                                                                            \
    return data - old;                                                                             \
  case ISA_ATOMIC_SMIN:                                                                            \
    return (signed_type)data < (signed_type)old ? data : old;                                      \
  case ISA_ATOMIC_UMIN:                                                                            \
    return data < old ? data : old;                                                                \
  case ISA_ATOMIC_SMAX:                                                                            \
    return (signed_type)data > (signed_type)old ? data : old;                                      \
  case ISA_ATOMIC_UMAX:                                                                            \
    return data > old ? data : old;                                                                \
  case ISA_ATOMIC_AND:                                                                             \
    return old & data;                                                                             \
  case ISA_ATOMIC_OR:                                                                              \
    return old | data;                                                                             \
  case ISA_ATOMIC_XOR:                                                                             \
    return old ^ data;                                                                             \
  case ISA_ATOMIC_INC:                                                                             \
    return old >= data ? 0 : old + 1;                                                              \
  case ISA_ATOMIC_DEC:                                                                             \
    return old == 0 || old > data ? data : old - 1;                                                \
  case ISA_ATOMIC_MSKOR:                                                                           \
    return (old & ~compare) | data

uint32_t isa_atomic32(unsigned atomic, uint32_t old, uint32_t data, uint32_t compare)
{
  switch (atomic) {
    INTEGER_CASES(uint32_t, int32_t);
  default:
    return float_atomic32(atomic, old, data, compare);
  }
}

uint64_t isa_atomic64(unsigned atomic, uint64_t old, uint64_t data, uint64_t compare)
{
  switch (atomic) {
    INTEGER_CASES(uint64_t, int64_t);
  default:
    return float_atomic64(atomic, old, data, compare);
  }
}

uint32_t isa_atomic_memory32(uint8_t *at, unsigned atomic, uint32_t data, uint32_t compare)
{
  uint32_t *word = (uint32_t *)(void *)at, old = __atomic_load_n(word, __ATOMIC_RELAXED);
  if (atomic == ISA_ATOMIC_ADD)
    return __atomic_fetch_add(word, data, __ATOMIC_SEQ_CST);
  while (!__atomic_compare_exchange_n(word, &old, isa_atomic32(atomic, old, data, compare), true,
                                      __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
    ;
  return old;
}

uint64_t isa_atomic_memory64(uint8_t *at, unsigned atomic, uint64_t data, uint64_t compare)
{
  uint64_t *word = (uint64_t *)(void *)at, old = __atomic_load_n(word, __ATOMIC_RELAXED);
  if (atomic == ISA_ATOMIC_ADD)
    return __atomic_fetch_add(word, data, __ATOMIC_SEQ_CST);
  while (!__atomic_compare_exchange_n(word, &old, isa_atomic64(atomic, old, data, compare), true,
                                      __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
    ;
  return old;
}
