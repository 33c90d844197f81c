// Scalar models of the comparisons.
#include "valu_harness.h"

using namespace valu;

namespace {

template <typename T> T value(uint64_t bits)
{
  return (T)bits;
}
template <> float value(uint64_t bits)
{
  return f32(bits);
}
template <> double value(uint64_t bits)
{
  return f64(bits);
}
struct half {
  double x;
  operator double() const { return x; }
};
template <> half value(uint64_t bits)
{
  return {f16(bits & 0xffff)};
}

// The condition as the set of outcomes it accepts.
enum { LESS = 1, EQUAL = 2, GREATER = 4, UNORDERED = 8 };
template <typename T> std::function<Value(const Lane &)> model(unsigned accepted)
{
  return [accepted](const Lane &l) -> Value {
    auto a = value<T>(l.a), b = value<T>(l.b);
    unsigned outcome = a < b ? LESS : a > b ? GREATER : a == b ? EQUAL : UNORDERED;
    return Value((accepted & outcome) != 0);
  };
}

#define PAIR(name, letter, type, accepted)                                                         \
  {ISA_v_cmp_##name, "m:" letter letter, model<type>(accepted)},                                   \
  {                                                                                                \
    ISA_v_cmpx_##name, "m:" letter letter, model<type>(accepted)                                   \
  }
#define INTEGERS(suffix, letter, type)                                                             \
  PAIR(f_##suffix, letter, type, 0), PAIR(lt_##suffix, letter, type, LESS),                        \
      PAIR(eq_##suffix, letter, type, EQUAL), PAIR(le_##suffix, letter, type, LESS | EQUAL),       \
      PAIR(gt_##suffix, letter, type, GREATER), PAIR(ne_##suffix, letter, type, LESS | GREATER),   \
      PAIR(ge_##suffix, letter, type, GREATER | EQUAL), PAIR(t_##suffix, letter, type, 15)
#define FLOATS(suffix, letter, type)                                                               \
  PAIR(f_##suffix, letter, type, 0), PAIR(lt_##suffix, letter, type, LESS),                        \
      PAIR(eq_##suffix, letter, type, EQUAL), PAIR(le_##suffix, letter, type, LESS | EQUAL),       \
      PAIR(gt_##suffix, letter, type, GREATER), PAIR(lg_##suffix, letter, type, LESS | GREATER),   \
      PAIR(ge_##suffix, letter, type, GREATER | EQUAL),                                            \
      PAIR(o_##suffix, letter, type, LESS | EQUAL | GREATER),                                      \
      PAIR(u_##suffix, letter, type, UNORDERED),                                                   \
      PAIR(nge_##suffix, letter, type, UNORDERED | LESS),                                          \
      PAIR(nlg_##suffix, letter, type, UNORDERED | EQUAL),                                         \
      PAIR(ngt_##suffix, letter, type, UNORDERED | LESS | EQUAL),                                  \
      PAIR(nle_##suffix, letter, type, UNORDERED | GREATER),                                       \
      PAIR(neq_##suffix, letter, type, UNORDERED | LESS | GREATER),                                \
      PAIR(nlt_##suffix, letter, type, UNORDERED | GREATER | EQUAL),                               \
      PAIR(tru_##suffix, letter, type, 15)

// Order of the mask bits: signalling NaN, quiet NaN, -infinity, -normal, -denormal, -0, and the
// positive ones the other way round.
Value classify(double x, bool is_signalling, double least_normal, uint64_t mask)
{
  unsigned bit;
  if (std::isnan(x))
    bit = is_signalling ? 0 : 1;
  else if (std::isinf(x))
    bit = x < 0 ? 2 : 9;
  else if (x == 0)
    bit = std::signbit(x) ? 5 : 6;
  else if (std::fabs(x) < least_normal)
    bit = x < 0 ? 4 : 7;
  else
    bit = x < 0 ? 3 : 8;
  return Value((mask >> bit & 1) != 0);
}
Value class16(const Lane &l)
{
  return classify(f16(l.a), !(l.a & 0x200), 0x1p-14, l.b);
}
Value class32(const Lane &l)
{
  return classify(f32(l.a), !(l.a & 0x400000), 0x1p-126, l.b);
}
Value class64(const Lane &l)
{
  return classify(f64(l.a), !(l.a >> 51 & 1), 0x1p-1022, l.b);
}

const bool registered = add({
    INTEGERS(i16, "h", int16_t),
    INTEGERS(u16, "h", uint16_t),
    INTEGERS(i32, "u", int32_t),
    INTEGERS(u32, "u", uint32_t),
    INTEGERS(i64, "q", int64_t),
    INTEGERS(u64, "q", uint64_t),
    FLOATS(f16, "e", half),
    FLOATS(f32, "f", float),
    FLOATS(f64, "g", double),
    {ISA_v_cmp_class_f16, "m:eu", class16},
    {ISA_v_cmpx_class_f16, "m:eu", class16},
    {ISA_v_cmp_class_f32, "m:fu", class32},
    {ISA_v_cmpx_class_f32, "m:fu", class32},
    {ISA_v_cmp_class_f64, "m:gu", class64},
    {ISA_v_cmpx_class_f64, "m:gu", class64},
});

} // namespace
