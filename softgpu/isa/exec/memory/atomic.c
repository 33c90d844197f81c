/* Atomic operations, on values and on memory shared with other threads. */
#include "softgpu/isa/base/float.h"
#include "softgpu/isa/exec/memory/access.h"

/* Hosts disagree about which NaN a sum is: here the first one, quieted, or a positive one. */
static uint32_t sum_bits(uint32_t a, uint32_t b)
{
  float sum = float_of(a) + float_of(b);
  if (sum == sum)
    return float_bits(sum);
  return float_of(a) != float_of(a)   ? a | 0x400000
         : float_of(b) != float_of(b) ? b | 0x400000
                                      : 0x7fc00000;
}

static uint64_t sum_bits64(uint64_t a, uint64_t b)
{
  double sum = double_of(a) + double_of(b);
  if (sum == sum)
    return double_bits(sum);
  return double_of(a) != double_of(a)   ? a | 1ull << 51
         : double_of(b) != double_of(b) ? b | 1ull << 51
                                        : 0x7ff8000000000000;
}

/* The sum of two halves is exact in double, so the double rounding through float is harmless: float
 * keeps 24 bits, twice 11 and 2 more. */
static uint32_t half_sum(uint32_t a, uint32_t b)
{
  const float sum = float_of(half_to_float_bits(a)) + float_of(half_to_float_bits(b));
  return sum == sum ? float_bits_to_half(float_bits(sum)) : 0x7e00;
}

static uint32_t packed_add(uint32_t a, uint32_t b, bool is_bfloat)
{
  uint32_t out = 0;
  for (unsigned shift = 0; shift < 32; shift += 16) {
    const uint32_t x = a >> shift & 0xffff, y = b >> shift & 0xffff;
    out |= (is_bfloat ? float_bits_to_bf16(sum_bits(x << 16, y << 16)) : half_sum(x, y)) << shift;
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
  float x = float_of(old), y = float_of(data);
  switch (atomic & ~(unsigned)(ISA_ATOMIC_FLUSH_IN | ISA_ATOMIC_FLUSH_OUT)) {
  case ISA_ATOMIC_ADD_F:
    return flushed(sum_bits(flushed(old, flushes_in), flushed(data, flushes_in)), flushes_out);
  case ISA_ATOMIC_MIN_F:
    return y < x ? data : old;
  case ISA_ATOMIC_MAX_F:
    return y > x ? data : old;
  case ISA_ATOMIC_CMPSWAP_F:
    return x == float_of(compare) ? data : old;
  default:
    return packed_add(old, data, atomic == ISA_ATOMIC_PK_ADD_BF16);
  }
}

static uint64_t float_atomic64(unsigned atomic, uint64_t old, uint64_t data, uint64_t compare)
{
  double x = double_of(old), y = double_of(data);
  switch (atomic) {
  case ISA_ATOMIC_ADD_F:
    return sum_bits64(old, data);
  case ISA_ATOMIC_MIN_F:
    return y < x ? data : old;
  case ISA_ATOMIC_MAX_F:
    return y > x ? data : old;
  default:
    return x == double_of(compare) ? data : old;
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
  case ISA_ATOMIC_CSUB:                                                                            \
    return old < data ? 0 : old - data;                                                            \
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
