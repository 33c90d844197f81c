#include "tests/softgpu/isa/status.h"

#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <sys/stat.h>
#include <vector>

#include "tests/softgpu/isa/words.h"

extern "C" {
#include "softgpu/isa/exec/vector/valu.h"
}

namespace status {

namespace {

struct Entry {
  const char *prefix, *text;
};

// By the beginning of the mnemonic; the first that fits.
const Entry reasons[] = {
    {"v_screen_partition_4se_b32", "its table is not published"},
    {"v_cvt_pkaccum_u8_f32", "its rounding is not published, and no compiler emits it"},
    {"v_mqsad_u32_u8", "a result of four registers that no compiler emits"},
    {"v_mfma_ld_scale_b32", "runs only as the prefix of v_mfma_f32_*_f8f6f4, as in LLVM"},
    {"s_rfe", "returns from a trap handler, and there is none"},
    {"s_cbranch_join", "needs the fork stack, which compilers do not use"},
    {"s_cbranch_g_fork", "needs the fork stack, which compilers do not use"},
    {"s_cbranch_i_fork", "needs the fork stack, which compilers do not use"},
    {"s_endpgm_ordered_ps_done", "ends pixel shaders"},
    {"s_scratch", "scalar access to swizzled memory, which compilers do not use"},
};

// The documents leave these open; softgpu does what the note says.
const Entry notes[] = {
    {"v_mfma_i32", ""},
    {"v_mfma_f64", "sums in ascending order of k, fused"},
    {"v_smfmac_i32", "equal or falling indices each say what their element is multiplied by"},
    {"v_smfmac",
     "sums in the order of A's lanes and elements, fused, one rounding each; NaNs without payload; "
     "equal or falling indices each say what their element is multiplied by"},
    {"v_mfma",
     "sums in ascending order of k, fused, one rounding each; NaNs without payload; f16 and "
     "bf16 lose denormals on gfx90a"},
    {"v_dot2_f32_f16",
     "both products and the sum in f64, one rounding; denormals are lost on gfx90a"},
    {"v_dot2c_f32_f16",
     "both products and the sum in f64, one rounding; denormals are lost on gfx90a"},
    {"v_div_scale", "derived from what the division sequence needs, not from the manual"},
    {"v_div_fmas", "derived from what the division sequence needs, not from the manual"},
    {"v_fma_mix", "f16 results are rounded to f32 first"},
    {"v_trig_preop", "2 / pi to 1216 bits"},
    {"v_cvt_sr", "noise is added below the last place that is kept"},
    {"v_cvt_scalef32_sr", "noise is added below the last place that is kept"},
    {"v_cvt_scalef32",
     "numbers that are too large become what OCP's formats say, or the largest number where "
     "FP16_OVFL or the format says so; in 6 and 4 bits a NaN is the largest number"},
    {"v_permlane16_swap", "FI takes the value of an inactive lane; otherwise BOUND_CTRL gives 0"},
    {"v_permlane32_swap", "FI takes the value of an inactive lane; otherwise BOUND_CTRL gives 0"},
    {"ds_read_b64_tr", "an inactive lane's elements are 0"},
    {"ds_read_b96_tr", "an inactive lane's elements are 0"},
    {"v_cvt_pk_u8_f32", "truncates"},
    {"image_sample",
     "coordinates have 8 fractional bits; texels are summed in f64 and rounded to f32"},
    {"image_load_mip_pck", "the texel's dwords unchanged; the base level"},
    {"image_load_pck", "the texel's dwords unchanged"},
    {"image_store_mip_pck", "the texel's dwords unchanged; the base level"},
    {"image_store_pck", "the texel's dwords unchanged"},
    {"image_load_mip", "the base level"},
    {"image_store_mip", "the base level"},
    {"image_get_resinfo", "layers stand in the place of the next dimension, otherwise 0"},
};

const char *find(const Entry *entries, size_t count, unsigned op)
{
  for (size_t i = 0; i < count; ++i)
    if (!strncmp(isa_op_name(op), entries[i].prefix, strlen(entries[i].prefix)))
      return entries[i].text;
  return nullptr;
}

bool is_float_atomic(const std::string &name)
{
  bool is_float = name.find("_f32") != std::string::npos ||
                  name.find("_f64") != std::string::npos || name.find("f16") != std::string::npos;
  return is_float && (name.find("atomic") != std::string::npos || !name.compare(0, 3, "ds_"));
}

const char *const encodings[] = {"SOP1",   "SOP2",    "SOPK",  "SOPC",  "SOPP", "SMEM", "VOP1",
                                 "VOP2",   "VOPC",    "VOP3",  "VOP3P", "VOPD", "DS",   "FLAT",
                                 "GLOBAL", "SCRATCH", "MUBUF", "MTBUF", "MIMG"};

const char preamble[] = R"(# Instructions of softgpu

Written by a test from the engine's own tables (`tests/softgpu/isa/status_test.cc` says how); do not edit.

- **exact**: the bits that AMD's ISA documents define, as softgpu's author reads them. Nothing was compared with hardware.
- **<= 1 ulp**: computed in higher precision and rounded to nearest. By the documents the hardware's results are also
  within one unit in the last place; they may differ from these.
- **decided**: the documents leave the arithmetic to the hardware; a note says what softgpu does.
- **unsupported**: a kernel that reaches one stops with an illegal-instruction fault that names it.
- A note says what the documents leave open, and what softgpu does there.

What each claim was checked against:

- every mnemonic: each build of the engine against a reference engine that was written separately and computes in
  integers, in at least 2,000 cases (10,000 in the tests' tier `all`) of special and random values with random operands
  and modifiers. **Both engines have the same author**: where a document was misread, both are wrong, as they once were for
  D16 loads with SRAM-ECC, reads beyond LDS and buffer offsets near 2^32;
- the vector and scalar ALU, memory and LDS: models in the tests, by the same author;
- memory, LDS and scalar instructions, comparisons, carries and arithmetic under MODE: a third model, written from LLVM's and
  AMD's documents by somebody who had read neither engine; `tests/softgpu/oracle/oracle_test.cc` lists where the engines
  differ from it;
- `<= 1 ulp` functions: the C library in higher precision; divisions and square roots by clang's sequences: correctly
  rounded quotients and roots;
- encodings, operands and texts: LLVM 19's assembler and disassembler, for every opcode of gfx90a and gfx942; LLVM 22's
  assembler for what gfx950 adds. gfx950's matrices of 8, 6 and 4 bits, small formats and v_cvt_scalef32: models by OCP's
  definitions, summed in double; which k of a matrix a lane holds: Triton's notes, taken from hardware;
- sparse matrices: dense products of integers; where k lies: AMD's matrix instruction calculator (gfx942), what AMD
  published of probes of both chips (fpsan), and single products of another probe of gfx950. Nothing covers gfx950's i8,
  which here are like its fp8;
- typed buffers and images: element by element against values worked out by hand; positions of texels: AMD's address
  library, in every layout and texel size that it has; arrays, textures and surfaces: Debian's HIP; barriers of whole grids
  and semaphores: kernels whose results show which waves arrived too early;
- whole kernels: results computed on the CPU, of kernels compiled by clang and kernels of AMD's libraries;
- gfx1030, gfx1100 and gfx1151: encodings, operands and texts by LLVM 22; both engines in 200 cases and more of each
  instruction, in waves of 32 and of 64 lanes; the same models as for GFX9; 58 programs that clang compiles for each chip and
  width, against the host; kernels in Triton against numpy; and, once and outside of these tests, tinygrad's 783, which its
  authors ran on hardware: all pass but those of instructions that the chip or softgpu has not. Of a NaN's bits they say
  nothing.

What cannot be known without hardware, and softgpu therefore decides:

- the bits of the `<= 1 ulp` functions, and which of their results are denormal;
- denormal sources of v_sqrt_f32, v_rsq_f32, v_log_f32 and v_exp_f32: the documents say "denormals are flushed", in any
  mode; LLVM says so of v_rcp_f32. Here each is a zero of the same sign: its root is -0 if it is negative, not NaN, and its
  logarithm and reciprocal root are negative infinity. Denormals of f16 and f64 are not flushed;
- which NaN is the result: here the first NaN operand, quieted, or else the positive NaN without payload;
- the order in which matrix instructions and dot products add, and where they round in between; what equal or falling
  indices of a sparse matrix mean: here each index says what its element is multiplied by;
- omod and clamp of results that were denormal or overflowed before them: here rounding comes first (for f16: last). AMD and
  LLVM both say that -0 becomes +0 under omod, but not under clamp alone;
- corner cases of v_div_scale and v_div_fmas; here every quotient of clang's sequences is correctly rounded;
- gfx1030's vector ALU: a 16-bit result leaves the other half of its register, in conversions to f16 too, as LLVM found by
  experiments; those that fill a register (v_cvt_pk*, v_pack_b32_f16, packed ones) write all of it, and so does SDWA with
  dst_sel:DWORD. v_dot2_f32_f16 and v_dot2c_f32_f16 keep denormals. v_div_scale and v_div_fmas go by exponents alone, as
  measured on gfx1100 and gfx1201, of denormals that the mode flushes as of zeros; v_div_fixup of numbers makes a quotient
  that is NaN, as one that is infinite, what the mode's rounding makes of an overflow. v_mullit_f32 multiplies as
  v_mul_legacy_f32 does: its text says that 0 times anything is 0, its pseudocode does not. DPP8 takes 0 from inactive
  lanes (LLVM) unless FI is set. Beyond the allocation, v_movrel* read v0 and write nothing, and v_swaprel_b32 does
  nothing. op_sel of v_alignbit_b32 and v_alignbyte_b32 is ignored;
- the NaNs of float atomics: of two, the one in memory wins; denormals of 16-bit float atomics, which are kept here;
- accesses beyond LDS: by the documents reads give 0 and writes are dropped, also for flat instructions. Decided here: each
  dword of a larger access counts for itself, an atomic counts as a whole, and LDS ends with its last unit of 512 bytes.
  `SOFTGPU_CHECK_LDS=refuse` makes such accesses a fault, at the exact end;
- accesses beyond a buffer: each dword of a load or a store counts for itself, with saturating arithmetic (AMDGPUUsage); an
  atomic counts as a whole. Before that the register's offset and the instruction's are added in 32 bits, and the sum wraps:
  LLVM's code for these chips does so, and AMD's own simulator, which follows gfx950;
- accesses beyond memory whose bounds are exact (what the program locked, or softgpu_memory_bound() named): a load of
  aligned dwords, and an atomic of one, may have up to three bytes of its first and last dword beyond, because LLVM makes
  them for elements of one or two bytes. All others are faults. So it is, of one dword, at the exact end of LDS;
- typed buffers: stores round to nearest even, but truncate USCALED and SSCALED, and saturate. So do integers, which have 16
  bits with D16. A NaN is 0 in fixed point. A load gives 0 for components that the element does not have, and a store
  leaves those that it does not name, except in formats that are not whole bytes. Combinations of formats that the
  documents do not list are faults. The lds bit is not supported;
- images: a texel out of range reads as 0, before the descriptor selects 0, 1 and components, and is not written. A store
  writes the whole texel: components that dmask does not name become 0, each of the others goes where a load would find it,
  and nothing is written when dmask is 0. `_pck` moves the texel's dwords unchanged. If the instruction does not declare an
  array (da), it accesses the first layer. Not supported, with a fault that says so: mip levels beyond the base, cubes,
  samples, compression, sRGB stores, formats other than those of buffers and 5_6_5, 1_5_5_5, 5_5_5_1, 4_4_4_4 and sRGB;
- image_sample: coordinates are rounded to 8 fractional bits, or truncated where the sampler says so; so are weights. Texels
  of weight 0 are not read; the others, as f32, are multiplied by their weights, summed in f64 from x on, and rounded to
  f32. Integers are not blended. A NaN coordinate is 0. Not supported, with a fault that says so: half borders, custom
  border colours, comparisons, different filters for minification and magnification, anisotropy, and linear filters of
  three dimensions, which MI200 does not have (HIP refuses them from 5.3 on). Layouts are those of AMD's address library,
  for the GB_ADDR_CONFIG that the runtime is given;
- global wave sync: counters are 32 bits wide, waves at a semaphore go on in the order of their arrival, and with no active
  lane, lane 0 gives the count;
- architectural registers go on beyond ACCUM_OFFSET, up to the end of the allocation and at most to 256, where they are the
  same as accumulation registers. No document says so; AMD's attention kernels for gfx942 need it;
- HW_ID holds wave, SIMD, CU and shader engine, XCC_ID (gfx942) the die; all other fields, and all registers other than
  MODE, STATUS and SH_MEM_BASES, read as 0;
- gfx11's dot products of f16 and bf16, and its matrices, which are eight of them, one after the other: the terms are cut and
  added as rocjitsu's authors measured it on gfx1100 and gfx1151 (rocm-systems issue 12056), so that even sums of small
  integers may be one unit off. Of A and B lanes 0 to 15 count. clamp of v_dot2_f32_f16 is ignored there: kernels that set it
  give sums beyond 1 on gfx1100 (bitsandbytes' tests);
- buffers from gfx10 on: an index takes the place of the lane's number, what has none is not swizzled, and only the last way of
  looking at bounds counts the scalar offset, as was measured on later chips;
- which waves of different work-groups see whose stores first; time, caches, and conflicts of LDS banks.

)";

} // namespace

// What gfx942 has, gfx950 has, unless its table takes the opcode away.
static bool is_on_gfx950(const std::string &name)
{
  for (const isa_opcode &row : words::all_opcodes())
    if (isa_op_name(row.op) == name) {
      const isa_opcode *found = isa_opcode_find(SOFTGPU_GFX950, row.encoding, row.number);
      if (found && isa_op_name(found->op) == name)
        return true;
    }
  return false;
}

static std::string chip_names(unsigned chips)
{
  static const char *const names[] = {"gfx90a", "gfx942", "gfx950"};
  std::string out;
  for (unsigned chip = 0; chip < 3 && chips != 7; ++chip)
    if (chips >> chip & 1)
      out += (out.empty() ? "" : ", ") + std::string(names[chip]);
  return out.empty() ? "all" : out;
}

const char *unsupported_reason(unsigned op)
{
  return find(reasons, std::size(reasons), op);
}

std::string of(unsigned op)
{
  if (is_unsupported(op))
    return "unsupported";
  if (op == ISA_image_sample)
    return "decided";
  return isa_valu_build()->ops[op].attributes & VALU_ULP1 ? "<= 1 ulp" : "exact";
}

std::string note(unsigned op)
{
  if (is_unsupported(op))
    return unsupported_reason(op);
  const char *text = find(notes, std::size(notes), op);
  if (text)
    return text;
  const std::string name = isa_op_name(op);
  const bool is_sum =
      name.find("add") != std::string::npos && name.find("f32") != std::string::npos;
  return !is_float_atomic(name) ? ""
         : !is_sum              ? "to nearest"
                   : "to nearest; LDS obeys the mode's denormals, memory keeps them on gfx942 only";
}

std::string document()
{
  std::map<std::string, unsigned> sorted;
  std::map<std::string, unsigned> counts;
  for (const isa_opcode &row : words::all_opcodes()) // gfx942's meaning of a name comes first
    sorted.emplace(isa_op_name(row.op), row.op);
  std::string table = "| mnemonic | encodings | chips | status | note |\n|---|---|---|---|---|\n";
  for (const auto &entry : sorted) {
    std::set<unsigned> used;
    unsigned chips = 0;
    for (const isa_opcode *row : words::rows_of(entry.second)) {
      used.insert(row->encoding);
      chips |= row->chips;
    }
    if (chips & 2 && is_on_gfx950(entry.first))
      chips |= 4;
    std::string names;
    for (unsigned encoding : used)
      names += (names.empty() ? "" : ", ") + std::string(encodings[encoding]);
    ++counts[of(entry.second)];
    table += "| " + entry.first + " | " + names + " | " + chip_names(chips) + " | " +
             of(entry.second) + " | " + note(entry.second) + " |\n";
  }
  std::string summary = "Of " + std::to_string(sorted.size()) +
                        " mnemonics that LLVM 22 knows for gfx90a, gfx942 and gfx950, ";
  summary += std::to_string(counts["exact"]) + " are exact, " + std::to_string(counts["<= 1 ulp"]) +
             " within one ulp by design, " + std::to_string(counts["decided"]) + " decided here, " +
             std::to_string(counts["unsupported"]) + " unsupported.\n\n";
  return preamble + summary + table;
}

Counter::Counter(const std::string &family)
{
  const std::string folder = RAWHAL_BUILD_DIR "/softgpu-cases";
  mkdir(folder.c_str(), 0777);
  path = folder + "/" + family + ".tsv";
}

void Counter::add(unsigned op, uint64_t cases)
{
  lines += isa_op_name(op) + ("\t" + std::to_string(cases)) + "\n";
}

Counter::~Counter()
{
  std::ofstream(path) << lines;
}

} // namespace status
