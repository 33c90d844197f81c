// Scalar models of the integer and bit instructions, written from the ISA document.
#include "valu_harness.h"

#include <algorithm>

using namespace valu;

namespace {

using u32 = uint32_t;
using i32 = int32_t;
using u64 = uint64_t;
using i64 = int64_t;
__extension__ typedef __int128 i128;

i64 sext(u64 x, unsigned bits)
{
  i64 value = (i64)(x & ((u64(1) << bits) - 1));
  return value >= i64(1) << (bits - 1) ? value - (i64(1) << bits) : value;
}
u32 byte(u64 x, unsigned n)
{
  return (u32)(x >> 8 * n) % 256;
}
i64 s24(u64 x)
{
  return sext(x, 24);
}
i64 s16(u64 x)
{
  return sext(x, 16);
}
u64 u24(u64 x)
{
  return x % (1 << 24);
}
u64 u16(u64 x)
{
  return x % 65536;
}
template <typename T> T middle(T a, T b, T c)
{
  T sorted[] = {a, b, c};
  std::sort(sorted, sorted + 3);
  return sorted[1];
}
int ones(u64 x)
{
  int n = 0;
  for (; x; x &= x - 1)
    ++n;
  return n;
}
int highest(u32 x) // distance of the highest one from the top
{
  for (int i = 0; i < 32; ++i)
    if (x >> (31 - i) & 1)
      return i;
  return -1;
}
u32 sad8(u64 a, u64 b, bool masked)
{
  u32 sum = 0;
  for (unsigned n = 0; n < 4; ++n)
    if (!masked || byte(b, n))
      sum += (u32)std::abs((int)byte(a, n) - (int)byte(b, n));
  return sum;
}
u64 qsad(const Lane &l, bool masked)
{
  u64 result = 0;
  for (unsigned n = 0; n < 4; ++n)
    result |= u16(sad8(l.a >> 8 * n & 0xffffffff, l.b, masked) + u16(l.c >> 16 * n)) << 16 * n;
  return result;
}
u32 permute(const Lane &l)
{
  u64 data = l.a << 32 | l.b;
  u32 result = 0;
  for (unsigned n = 0; n < 4; ++n) {
    u32 select = byte(l.c, n), value = 0;
    if (select > 12)
      value = 255;
    else if (select >= 8 && select < 12)
      value = sext(data >> 16 * (select - 8), 16) < 0 ? 255 : 0;
    else if (select < 8)
      value = byte(data, select);
    result += value << 8 * n;
  }
  return result;
}
Value wide(i128 exact) // 64 bits and bit 64
{
  return Value((u64)exact, (bool)(exact >> 64 & 1));
}

#define MODEL(...) [](const Lane &l) -> Value { return Value(__VA_ARGS__); }

const bool registered = add({
    {ISA_v_mov_b32, "u:u", MODEL(l.a)},
    {ISA_v_mov_b64, "q:q", MODEL(l.a)},
    {ISA_v_accvgpr_read_b32, "u:u", MODEL(l.a)},
    {ISA_v_accvgpr_write_b32, "u:u", MODEL(l.a)},
    {ISA_v_accvgpr_mov_b32, "u:u", MODEL(l.a)},
    {ISA_v_cndmask_b32, "u:uum", MODEL(l.c ? l.b : l.a)},
    {ISA_v_not_b32, "u:u", MODEL((u32)(0xffffffff - l.a))},
    {ISA_v_and_b32, "u:uu", MODEL(l.a & l.b)},
    {ISA_v_or_b32, "u:uu", MODEL(l.a | l.b)},
    {ISA_v_xor_b32, "u:uu", MODEL((l.a | l.b) - (l.a & l.b))},
    {ISA_v_xnor_b32, "u:uu", MODEL((u32)((l.a & l.b) | ~(l.a | l.b)))},
    {ISA_v_and_or_b32, "u:uuu", MODEL((l.a & l.b) | l.c)},
    {ISA_v_or3_b32, "u:uuu", MODEL(l.a | l.b | l.c)},
    {ISA_v_xor3_b32, "u:uuu", MODEL(l.a ^ l.b ^ l.c)},
    {ISA_v_xad_u32, "u:uuu", MODEL((u32)((l.a ^ l.b) + l.c))},
    {ISA_v_lshlrev_b32, "u:uu", MODEL((u32)(l.b << l.a % 32))},
    {ISA_v_lshrrev_b32, "u:uu", MODEL(l.b >> l.a % 32)},
    {ISA_v_ashrrev_i32, "u:uu", MODEL((u32)(sext(l.b, 32) >> l.a % 32))},
    {ISA_v_lshlrev_b16, "h:hh", MODEL(u16(u16(l.b) << l.a % 16))},
    {ISA_v_lshrrev_b16, "h:hh", MODEL(u16(l.b) >> l.a % 16)},
    {ISA_v_ashrrev_i16, "h:hh", MODEL(u16((u64)(s16(l.b) >> l.a % 16)))},
    {ISA_v_lshlrev_b64, "q:uq", MODEL(l.b << l.a % 64)},
    {ISA_v_lshrrev_b64, "q:uq", MODEL(l.b >> l.a % 64)},
    {ISA_v_ashrrev_i64, "q:uq", MODEL((u64)(i64)((i128)(i64)l.b >> l.a % 64))},
    {ISA_v_lshl_add_u32, "u:uuu", MODEL((u32)((l.a << l.b % 32) + l.c))},
    {ISA_v_lshl_add_u64, "q:quq", MODEL((l.a << l.b % 8) + l.c)},
    {ISA_v_add_lshl_u32, "u:uuu", MODEL((u32)((l.a + l.b) << l.c % 32))},
    {ISA_v_lshl_or_b32, "u:uuu", MODEL((u32)(l.a << l.b % 32) | (u32)l.c)},
    {ISA_v_add_u32, "u:uu", MODEL((u32)(l.a + l.b))},
    {ISA_v_sub_u32, "u:uu", MODEL((u32)(l.a - l.b))},
    {ISA_v_subrev_u32, "u:uu", MODEL((u32)(l.b - l.a))},
    {ISA_v_add_i32, "u:uu", MODEL((u32)(l.a + l.b))},
    {ISA_v_sub_i32, "u:uu", MODEL((u32)(l.a - l.b))},
    {ISA_v_add_u16, "h:hh", MODEL(u16(l.a + l.b))},
    {ISA_v_sub_u16, "h:hh", MODEL(u16(l.a - l.b))},
    {ISA_v_subrev_u16, "h:hh", MODEL(u16(l.b - l.a))},
    {ISA_v_add_i16, "h:hh", MODEL(u16(l.a + l.b))},
    {ISA_v_sub_i16, "h:hh", MODEL(u16(l.a - l.b))},
    {ISA_v_add3_u32, "u:uuu", MODEL((u32)(l.a + l.b + l.c))},
    {ISA_v_add_co_u32, "c:uu", MODEL((u32)(l.a + l.b), l.a + l.b > 0xffffffff)},
    {ISA_v_addc_co_u32, "c:uum", MODEL((u32)(l.a + l.b + l.c), l.a + l.b + l.c > 0xffffffff)},
    {ISA_v_sub_co_u32, "c:uu", MODEL((u32)(l.a - l.b), l.b > l.a)},
    {ISA_v_subrev_co_u32, "c:uu", MODEL((u32)(l.b - l.a), l.a > l.b)},
    {ISA_v_subb_co_u32, "c:uum", MODEL((u32)(l.a - l.b - l.c), l.b + l.c > l.a)},
    {ISA_v_subbrev_co_u32, "c:uum", MODEL((u32)(l.b - l.a - l.c), l.a + l.c > l.b)},
    {ISA_v_mul_lo_u32, "u:uu", MODEL((u32)(l.a * l.b))},
    {ISA_v_mul_hi_u32, "u:uu", MODEL((u32)(l.a * l.b / 4294967296))},
    {ISA_v_mul_hi_i32, "u:uu", MODEL((u32)((u64)(sext(l.a, 32) * sext(l.b, 32)) / 4294967296))},
    {ISA_v_mul_u32_u24, "u:uu", MODEL((u32)(u24(l.a) * u24(l.b)))},
    {ISA_v_mul_hi_u32_u24, "u:uu", MODEL((u32)(u24(l.a) * u24(l.b) / 4294967296))},
    {ISA_v_mul_i32_i24, "u:uu", MODEL((u32)(s24(l.a) * s24(l.b)))},
    {ISA_v_mul_hi_i32_i24, "u:uu", MODEL((u32)((u64)(s24(l.a) * s24(l.b)) / 4294967296))},
    {ISA_v_mul_lo_u16, "h:hh", MODEL(u16(l.a * l.b))},
    {ISA_v_mad_u32_u24, "u:uuu", MODEL((u32)(u24(l.a) * u24(l.b) + l.c))},
    {ISA_v_mad_i32_i24, "u:uuu", MODEL((u32)(s24(l.a) * s24(l.b) + (i64)l.c))},
    {ISA_v_mad_u32_u16, "u:hhu", MODEL((u32)(u16(l.a) * u16(l.b) + l.c))},
    {ISA_v_mad_i32_i16, "u:hhu", MODEL((u32)(s16(l.a) * s16(l.b) + (i64)l.c))},
    {ISA_v_mad_u16, "h:hhh", MODEL(u16(u16(l.a) * u16(l.b) + l.c))},
    {ISA_v_mad_i16, "h:hhh", MODEL(u16((u64)(s16(l.a) * s16(l.b)) + l.c))},
    {ISA_v_mad_legacy_u16, "h:hhh", MODEL(u16(u16(l.a) * u16(l.b) + l.c))},
    {ISA_v_mad_legacy_i16, "h:hhh", MODEL(u16((u64)(s16(l.a) * s16(l.b)) + l.c))},
    {ISA_v_mad_u64_u32, "C:uuq", MODEL(wide((i128)(l.a * l.b) + l.c))},
    {ISA_v_mad_i64_i32, "C:uuq",
     MODEL(wide((i128)sext(l.a, 32) * sext(l.b, 32) + (i64)l.c))},
    {ISA_v_min_u32, "u:uu", MODEL(std::min(l.a, l.b))},
    {ISA_v_max_u32, "u:uu", MODEL(std::max(l.a, l.b))},
    {ISA_v_min_i32, "u:uu", MODEL((u32)std::min((i32)l.a, (i32)l.b))},
    {ISA_v_max_i32, "u:uu", MODEL((u32)std::max((i32)l.a, (i32)l.b))},
    {ISA_v_min_u16, "h:hh", MODEL(std::min(u16(l.a), u16(l.b)))},
    {ISA_v_max_u16, "h:hh", MODEL(std::max(u16(l.a), u16(l.b)))},
    {ISA_v_min_i16, "h:hh", MODEL(u16((u64)std::min(s16(l.a), s16(l.b))))},
    {ISA_v_max_i16, "h:hh", MODEL(u16((u64)std::max(s16(l.a), s16(l.b))))},
    {ISA_v_min3_u32, "u:uuu", MODEL(std::min({l.a, l.b, l.c}))},
    {ISA_v_max3_u32, "u:uuu", MODEL(std::max({l.a, l.b, l.c}))},
    {ISA_v_med3_u32, "u:uuu", MODEL(middle(l.a, l.b, l.c))},
    {ISA_v_min3_i32, "u:uuu", MODEL((u32)std::min({(i32)l.a, (i32)l.b, (i32)l.c}))},
    {ISA_v_max3_i32, "u:uuu", MODEL((u32)std::max({(i32)l.a, (i32)l.b, (i32)l.c}))},
    {ISA_v_med3_i32, "u:uuu", MODEL((u32)middle((i32)l.a, (i32)l.b, (i32)l.c))},
    {ISA_v_min3_u16, "h:hhh", MODEL(std::min({u16(l.a), u16(l.b), u16(l.c)}))},
    {ISA_v_max3_u16, "h:hhh", MODEL(std::max({u16(l.a), u16(l.b), u16(l.c)}))},
    {ISA_v_med3_u16, "h:hhh", MODEL(middle(u16(l.a), u16(l.b), u16(l.c)))},
    {ISA_v_min3_i16, "h:hhh", MODEL(u16((u64)std::min({s16(l.a), s16(l.b), s16(l.c)})))},
    {ISA_v_max3_i16, "h:hhh", MODEL(u16((u64)std::max({s16(l.a), s16(l.b), s16(l.c)})))},
    {ISA_v_med3_i16, "h:hhh", MODEL(u16((u64)middle(s16(l.a), s16(l.b), s16(l.c))))},
    {ISA_v_bfe_u32, "u:uuu", MODEL((l.a >> l.b % 32) % (u64(1) << l.c % 32))},
    {ISA_v_bfe_i32, "u:uuu",
     MODEL(l.c % 32 ? (u32)sext((u64)(sext(l.a, 32) >> l.b % 32), l.c % 32) : 0u)},
    {ISA_v_bfi_b32, "u:uuu", MODEL(l.c ^ ((l.b ^ l.c) & l.a))},
    {ISA_v_bfm_b32, "u:uu", MODEL((u32)(((u64(1) << l.a % 32) - 1) << l.b % 32))},
    {ISA_v_bfrev_b32, "u:u",
     [](const Lane &l) -> Value {
       u32 result = 0;
       for (unsigned i = 0; i < 32; ++i)
         result |= (u32)(l.a >> i & 1) << (31 - i);
       return result;
     }},
    {ISA_v_bcnt_u32_b32, "u:uu", MODEL((u32)(ones(l.a) + l.b))},
    {ISA_v_mbcnt_lo_u32_b32, "u:uu",
     MODEL((u32)(ones(l.a & ((u64(1) << std::min(l.lane, 32u)) - 1)) + l.b))},
    {ISA_v_mbcnt_hi_u32_b32, "u:uu",
     MODEL((u32)(ones(l.a << 32 & ((u64(1) << l.lane) - 1)) + l.b))},
    {ISA_v_ffbh_u32, "u:u", MODEL(highest((u32)l.a))},
    {ISA_v_ffbl_b32, "u:u",
     [](const Lane &l) -> Value {
       for (int i = 0; i < 32; ++i)
         if (l.a >> i & 1)
           return i;
       return -1;
     }},
    {ISA_v_ffbh_i32, "u:u", MODEL(highest((i32)l.a < 0 ? ~(u32)l.a : (u32)l.a))},
    {ISA_v_alignbit_b32, "u:uuu", MODEL((u32)((l.a * 4294967296 + l.b) >> l.c % 32))},
    {ISA_v_alignbyte_b32, "u:uuu", MODEL((u32)((l.a * 4294967296 + l.b) >> l.c % 4 * 8))},
    {ISA_v_perm_b32, "u:uuu", MODEL(permute(l))},
    {ISA_v_sad_u8, "u:uuu", MODEL((u32)(sad8(l.a, l.b, false) + l.c))},
    {ISA_v_sad_hi_u8, "u:uuu", MODEL((u32)((u64(sad8(l.a, l.b, false)) << 16) + l.c))},
    {ISA_v_sad_u16, "u:uuu",
     MODEL((u32)((u64)std::abs((i64)u16(l.a) - (i64)u16(l.b)) +
                 (u64)std::abs((i64)(l.a >> 16) - (i64)(l.b >> 16)) + l.c))},
    {ISA_v_sad_u32, "u:uuu", MODEL((u32)((u64)std::abs((i64)l.a - (i64)l.b) + l.c))},
    {ISA_v_msad_u8, "u:uuu", MODEL((u32)(sad8(l.a, l.b, true) + l.c))},
    {ISA_v_lerp_u8, "u:uuu",
     [](const Lane &l) -> Value {
       u32 result = 0;
       for (unsigned n = 0; n < 4; ++n)
         result |= (byte(l.a, n) + byte(l.b, n) + byte(l.c, n) % 2) / 2 << 8 * n;
       return result;
     }},
    {ISA_v_qsad_pk_u16_u8, "q:quq", MODEL(qsad(l, false))},
    {ISA_v_mqsad_pk_u16_u8, "q:quq", MODEL(qsad(l, true))},
    {ISA_v_sat_pk_u8_i16, "h:u",
     [](const Lane &l) -> Value {
       auto clip = [](i64 x) { return (u32)std::min<i64>(std::max<i64>(x, 0), 255); };
       return clip(s16(l.a)) + 256 * clip(s16(l.a >> 16));
     }},
    {ISA_v_cvt_pk_u16_u32, "u:uu",
     MODEL((u32)(std::min<u64>(l.a, 65535) + 65536 * std::min<u64>(l.b, 65535)))},
    {ISA_v_cvt_pk_i16_i32, "u:uu",
     [](const Lane &l) -> Value {
       auto clip = [](u64 x) {
         return u16((u64)std::min<i64>(std::max<i64>((i32)x, -32768), 32767));
       };
       return (u32)(clip(l.a) | clip(l.b) << 16);
     }},
    {ISA_v_pack_b32_f16, "u:hh", MODEL((u32)(u16(l.a) | u16(l.b) << 16))},
});

} // namespace
