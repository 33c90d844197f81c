// Opcode numbers, as LLVM's assembler emits them; a test holds them against llvm-mc.
#include <sstream>

#include "tests/softgpu/oracle/machine.h"

namespace oracle {
namespace {

// Mnemonics of consecutive opcodes from `first` on; "-" leaves one out.
struct Run {
  Format format;
  unsigned first;
  const char *prefix, *names;
};

const char loads_and_stores[] =
    "load_ubyte load_sbyte load_ushort load_sshort load_dword load_dwordx2 load_dwordx3 "
    "load_dwordx4 store_byte store_byte_d16_hi store_short store_short_d16_hi store_dword "
    "store_dwordx2 store_dwordx3 store_dwordx4 load_ubyte_d16 load_ubyte_d16_hi load_sbyte_d16 "
    "load_sbyte_d16_hi load_short_d16 load_short_d16_hi";
const char atomics[] = "swap cmpswap add sub smin umin smax umax and or xor inc dec";
const char atomics_x2[] = "swap_x2 cmpswap_x2 add_x2 sub_x2 smin_x2 umin_x2 smax_x2 umax_x2 "
                          "and_x2 or_x2 xor_x2 inc_x2 dec_x2";
const char real_compares[] = "f lt eq le gt lg ge o u nge nlg ngt nle neq nlt tru";
const char integer_compares[] = "f lt eq le gt ne ge t";

const Run runs[] = {
    {SMEM, 0x0, "s_load_", "dword dwordx2 dwordx4 dwordx8 dwordx16"},
    {SMEM, 0x8, "s_buffer_load_", "dword dwordx2 dwordx4 dwordx8 dwordx16"},
    {SMEM, 0x10, "s_store_", "dword dwordx2 dwordx4"},
    {SMEM, 0x18, "s_buffer_store_", "dword dwordx2 dwordx4"},
    {FLAT, 0x10, "flat_", loads_and_stores},
    {FLAT, 0x40, "flat_atomic_", atomics},
    {FLAT, 0x60, "flat_atomic_", atomics_x2},
    {GLOBAL, 0x10, "global_", loads_and_stores},
    {GLOBAL, 0x26, "global_load_lds_", "ubyte sbyte ushort sshort dword"},
    {GLOBAL, 0x40, "global_atomic_", atomics},
    {GLOBAL, 0x60, "global_atomic_", atomics_x2},
    {SCRATCH, 0x10, "scratch_", loads_and_stores},
    {MUBUF, 0x10, "buffer_", loads_and_stores},
    {MUBUF, 0x40, "buffer_atomic_", atomics},
    {MUBUF, 0x60, "buffer_atomic_", atomics_x2},
    {DS, 0x0, "ds_",
     "add_u32 sub_u32 rsub_u32 inc_u32 dec_u32 min_i32 max_i32 min_u32 max_u32 and_b32 or_b32 "
     "xor_b32 mskor_b32 write_b32 write2_b32 write2st64_b32 cmpst_b32"},
    {DS, 0x1d, "ds_",
     "write_addtid_b32 write_b8 write_b16 add_rtn_u32 sub_rtn_u32 rsub_rtn_u32 inc_rtn_u32 "
     "dec_rtn_u32 min_rtn_i32 max_rtn_i32 min_rtn_u32 max_rtn_u32 and_rtn_b32 or_rtn_b32 "
     "xor_rtn_b32 mskor_rtn_b32 wrxchg_rtn_b32 wrxchg2_rtn_b32 wrxchg2st64_rtn_b32 "
     "cmpst_rtn_b32 - - - wrap_rtn_b32 - read_b32 read2_b32 read2st64_b32 read_i8 read_u8 "
     "read_i16 read_u16 swizzle_b32 permute_b32 bpermute_b32 add_u64 sub_u64 rsub_u64 inc_u64 "
     "dec_u64 min_i64 max_i64 min_u64 max_u64 and_b64 or_b64 xor_b64 mskor_b64 write_b64 "
     "write2_b64 write2st64_b64 cmpst_b64"},
    {DS, 0x54, "ds_",
     "write_b8_d16_hi write_b16_d16_hi read_u8_d16 read_u8_d16_hi read_i8_d16 read_i8_d16_hi "
     "read_u16_d16 read_u16_d16_hi"},
    {DS, 0x60, "ds_",
     "add_rtn_u64 sub_rtn_u64 rsub_rtn_u64 inc_rtn_u64 dec_rtn_u64 min_rtn_i64 max_rtn_i64 "
     "min_rtn_u64 max_rtn_u64 and_rtn_b64 or_rtn_b64 xor_rtn_b64 mskor_rtn_b64 wrxchg_rtn_b64 "
     "wrxchg2_rtn_b64 wrxchg2st64_rtn_b64 cmpst_rtn_b64"},
    {DS, 0x76, "ds_", "read_b64 read2_b64 read2st64_b64 - - - - - condxchg32_rtn_b64"},
    {DS, 0xb6, "ds_", "read_addtid_b32"},
    {DS, 0xbd, "ds_", "consume append"},
    {DS, 0xde, "ds_", "write_b96 write_b128"},
    {DS, 0xfe, "ds_", "read_b96 read_b128"},
    {VOP1, 0x1, "v_", "mov_b32 readfirstlane_b32"},
    {VOP2, 0x0, "v_", "cndmask_b32 add_f32 sub_f32 subrev_f32 - mul_f32 - - - - min_f32 max_f32"},
    {VOP2, 0x19, "v_",
     "add_co_u32 sub_co_u32 subrev_co_u32 addc_co_u32 subb_co_u32 subbrev_co_u32 add_f16 sub_f16 "
     "subrev_f16 mul_f16"},
    {VOP2, 0x2d, "v_", "max_f16 min_f16"},
    {VOP3, 0x100, "v_", "cndmask_b32 add_f32 sub_f32 subrev_f32 - mul_f32 - - - - min_f32 max_f32"},
    {VOP3, 0x119, "v_",
     "add_co_u32 sub_co_u32 subrev_co_u32 addc_co_u32 subb_co_u32 subbrev_co_u32 add_f16 sub_f16 "
     "subrev_f16 mul_f16"},
    {VOP3, 0x12d, "v_", "max_f16 min_f16"},
    {VOP3, 0x1cb, "v_", "fma_f32 fma_f64"},
    {VOP3, 0x206, "v_", "fma_f16"},
    {VOP3, 0x280, "v_",
     "add_f64 mul_f64 min_f64 max_f64 - - - - - readlane_b32 writelane_b32 - mbcnt_lo_u32_b32 "
     "mbcnt_hi_u32_b32"},
    {SOP1, 0x0, "s_",
     "mov_b32 mov_b64 cmov_b32 cmov_b64 not_b32 not_b64 wqm_b32 wqm_b64 brev_b32 brev_b64 "
     "bcnt0_i32_b32 bcnt0_i32_b64 bcnt1_i32_b32 bcnt1_i32_b64 ff0_i32_b32 ff0_i32_b64 ff1_i32_b32 "
     "ff1_i32_b64 flbit_i32_b32 flbit_i32_b64 flbit_i32 flbit_i32_i64 sext_i32_i8 sext_i32_i16 "
     "bitset0_b32 - bitset1_b32 - getpc_b64 setpc_b64 swappc_b64 - and_saveexec_b64 "
     "or_saveexec_b64 xor_saveexec_b64 andn2_saveexec_b64 orn2_saveexec_b64 nand_saveexec_b64 "
     "nor_saveexec_b64 xnor_saveexec_b64"},
    {SOP1, 0x30, "s_",
     "abs_i32 - - andn1_saveexec_b64 orn1_saveexec_b64 andn1_wrexec_b64 andn2_wrexec_b64"},
    {SOP2, 0x0, "s_",
     "add_u32 sub_u32 add_i32 sub_i32 addc_u32 subb_u32 min_i32 min_u32 max_i32 max_u32 "
     "cselect_b32 cselect_b64 and_b32 and_b64 or_b32 or_b64 xor_b32 xor_b64 andn2_b32 andn2_b64 "
     "orn2_b32 orn2_b64 nand_b32 nand_b64 nor_b32 nor_b64 xnor_b32 xnor_b64 lshl_b32 lshl_b64 "
     "lshr_b32 lshr_b64 ashr_i32 ashr_i64 bfm_b32 - mul_i32 bfe_u32 bfe_i32 bfe_u64 bfe_i64 - "
     "absdiff_i32 - mul_hi_u32 mul_hi_i32 lshl1_add_u32 lshl2_add_u32 lshl3_add_u32 "
     "lshl4_add_u32 pack_ll_b32_b16 pack_lh_b32_b16 pack_hh_b32_b16"},
    {SOPC, 0x0, "s_",
     "cmp_eq_i32 cmp_lg_i32 cmp_gt_i32 cmp_ge_i32 cmp_lt_i32 cmp_le_i32 cmp_eq_u32 cmp_lg_u32 "
     "cmp_gt_u32 cmp_ge_u32 cmp_lt_u32 cmp_le_u32 bitcmp0_b32 bitcmp1_b32 bitcmp0_b64 bitcmp1_b64"},
    {SOPC, 0x12, "s_", "cmp_eq_u64 cmp_lg_u64"},
    {SOPK, 0x0, "s_",
     "movk_i32 cmovk_i32 cmpk_eq_i32 cmpk_lg_i32 cmpk_gt_i32 cmpk_ge_i32 cmpk_lt_i32 cmpk_le_i32 "
     "cmpk_eq_u32 cmpk_lg_u32 cmpk_gt_u32 cmpk_ge_u32 cmpk_lt_u32 cmpk_le_u32 addk_i32 mulk_i32 - "
     "getreg_b32 setreg_b32 - setreg_imm32_b32 call_b64"},
    {SOPP, 0x2, "s_",
     "branch - cbranch_scc0 cbranch_scc1 cbranch_vccz cbranch_vccnz cbranch_execz cbranch_execnz"},
};

unsigned number_after(const std::string &name, const std::string &part, unsigned otherwise)
{
  size_t at = name.find(part);
  if (at == std::string::npos || at + part.size() >= name.size() ||
      !isdigit((unsigned char)name[at + part.size()]))
    return otherwise;
  return unsigned(std::stoul(name.substr(at + part.size())));
}

Access::Half half_of(const std::string &name)
{
  return ends_with(name, "_d16_hi") ? Access::HIGH
         : ends_with(name, "_d16")  ? Access::LOW
                                    : Access::WHOLE;
}

Access access_by_address(const std::string &name)
{
  Access out;
  out.half = half_of(name);
  out.to_lds = has(name, "_load_lds_");
  size_t atomic = name.find("_atomic_");
  if (atomic != std::string::npos) {
    out.kind = Access::ATOMIC;
    out.op = name.substr(atomic + 8);
    if (ends_with(out.op, "_x2")) {
      out.bytes = 8;
      out.op.resize(out.op.size() - 3);
    }
    return out;
  }
  out.kind = has(name, "load_") ? Access::LOAD : Access::STORE;
  out.is_signed = has(name, "_sbyte") || has(name, "_sshort");
  out.bytes = has(name, "byte") ? 1 : has(name, "short") ? 2 : 4 * number_after(name, "dwordx", 1);
  return out;
}

Access access_of_lds(const std::string &name)
{
  Access out;
  out.half = half_of(name);
  std::string op = name.substr(3, name.find('_', 3) - 3); // "add", "read2st64" ..
  for (const char *type : {"_b", "_u", "_i"})
    for (size_t at = 0; (at = name.find(type, at + 1)) != std::string::npos;)
      out.bytes = number_after(name.substr(at), type, 8 * out.bytes) / 8;
  out.is_signed = has(name, "_i8") || has(name, "_i16");
  out.returns = has(name, "_rtn_");
  out.addresses = has(op, "2") && op != "condxchg32" ? 2 : 1;
  if (out.addresses == 2)
    out.stride = out.bytes * (has(op, "st64") ? 64 : 1);
  out.kind = has(op, "read") ? Access::LOAD : has(op, "write") ? Access::STORE : Access::ATOMIC;
  out.op = op.substr(0, op.find('2'));
  if (op == "condxchg32")
    out.op = op;
  if (out.kind == Access::ATOMIC && (op == "min" || op == "max"))
    out.op = (has(name, "_i") ? "s" : "u") + op;
  return out;
}

void add_compares(std::vector<Row> &out, const char *names, const char *type, unsigned first)
{
  std::istringstream words(names);
  for (std::string word; words >> word; ++first)
    for (Format format : {VOPC, VOP3}) {
      const std::string end = "_" + word + "_" + type;
      out.push_back({format, first, "v_cmp" + end, false, {}});
      out.push_back({format, first + 0x10, "v_cmpx" + end, false, {}});
    }
}

std::vector<Row> make_rows()
{
  std::vector<Row> out;
  for (const Run &run : runs) {
    std::istringstream names(run.names);
    unsigned number = run.first;
    for (std::string name; names >> name; ++number) {
      if (name == "-")
        continue;
      Row row = {run.format, number, run.prefix + name, has(run.prefix, "load_lds"), {}};
      if (run.format == DS)
        row.access = access_of_lds(row.name);
      else if (run.format <= MUBUF)
        row.access = access_by_address(row.name);
      out.push_back(row);
    }
  }
  add_compares(out, real_compares, "f16", 0x20);
  add_compares(out, real_compares, "f32", 0x40);
  add_compares(out, real_compares, "f64", 0x60);
  unsigned first = 0xa0;
  for (const char *type : {"i16", "u16", "", "", "i32", "u32", "", "", "i64", "u64"}) {
    if (*type)
      add_compares(out, integer_compares, type, first);
    first += 8;
  }
  return out;
}

} // namespace

const std::vector<Row> &rows()
{
  static const std::vector<Row> all = make_rows();
  return all;
}

const Row *decode(const uint32_t words[3])
{
  static const std::vector<std::vector<const Row *>> table = [] {
    std::vector<std::vector<const Row *>> out(FORMATS, std::vector<const Row *>(1024));
    for (const Row &row : rows())
      out[row.format][row.number] = &row;
    return out;
  }();
  const uint32_t w = words[0];
  auto at = [&](Format format, unsigned number) { return table[format][number]; };
  switch (w >> 26) {
  case 0x30:
    return at(SMEM, w >> 18 & 0xff);
  case 0x34:
    return at(VOP3, w >> 16 & 0x3ff);
  case 0x36:
    return at(DS, w >> 17 & 0xff);
  case 0x37:
    return (w >> 14 & 3) == 3 ? nullptr : at(Format(FLAT + (w >> 14 & 3)), w >> 18 & 0x7f);
  case 0x38:
    return at(MUBUF, w >> 18 & 0x7f);
  }
  if (w >> 31 == 0)
    return w >> 25 == 0x3f   ? at(VOP1, w >> 9 & 0xff)
           : w >> 25 == 0x3e ? at(VOPC, w >> 17 & 0xff)
                             : at(VOP2, w >> 25);
  switch (w >> 23) {
  case 0x17d:
    return at(SOP1, w >> 8 & 0xff);
  case 0x17e:
    return at(SOPC, w >> 16 & 0x7f);
  case 0x17f:
    return at(SOPP, w >> 16 & 0x7f);
  }
  return w >> 28 == 0xb ? at(SOPK, w >> 23 & 0x1f)
         : w >> 30 == 2 ? at(SOP2, w >> 23 & 0x7f)
                        : nullptr;
}

Outcome step(Machine &m, const uint32_t words[3])
{
  const Row *row = decode(words);
  m.facts = 0;
  m.open.clear();
  if (!row)
    return UNDECIDED;
  switch (row->format) {
  case SMEM:
    return step_smem(m, *row, words);
  case DS:
    return step_ds(m, *row, words);
  case FLAT:
  case SCRATCH:
  case GLOBAL:
  case MUBUF:
    return step_vmem(m, *row, words);
  case VOP1:
  case VOP2:
  case VOPC:
  case VOP3:
    return step_vector(m, *row, words);
  default:
    return step_scalar(m, *row, words);
  }
}

} // namespace oracle
