// Random instruction words of families whose fields the tables of decode/ place.
#include "tests/softgpu/isa/words.h"

extern "C" {
#include "softgpu/isa/decode/family.h"
}

namespace words {
namespace {

// An instruction that fields are put into.
class Writer {
public:
  Writer(unsigned chip, const isa_opcode &row, Random &random, uint32_t vgprs)
      : family(isa_family(chip)), row(row), random(random), vgprs(vgprs)
  {
    const unsigned encoding =
        row.encoding >= ISA_FLAT && row.encoding <= ISA_SCRATCH ? (unsigned)ISA_FLAT : row.encoding;
    for (size_t i = 0; i < family->format_count && !format; ++i)
      if (family->formats[i].encoding == encoding)
        format = &family->formats[i];
    code[0] = format->prefix << format->shift;
    put({format->op_low, format->op_bits}, row.number);
  }

  void write();
  std::vector<uint32_t> words() const { return code; }

private:
  const isa_family_t *family;
  const isa_fields_t *format = nullptr;
  const isa_opcode &row;
  Random &random;
  uint32_t vgprs;
  std::vector<uint32_t> code = std::vector<uint32_t>(ISA_MOST_DWORDS + 1);

  void put(isa_place_t place, uint32_t value)
  {
    const uint32_t mask = uint32_t((1ull << place.bits) - 1) << place.low % 32;
    uint32_t &word = code[place.low / 32];
    word = (word & ~mask) | (value << place.low % 32 & mask);
  }
  void set(isa_field_t field, uint32_t value)
  {
    if (family->fields[field].bits)
      put(family->fields[field], value);
  }
  void flag(isa_field_t field, uint32_t one_in) { set(field, random.one_in(one_in)); }
  void any(isa_field_t field) { set(field, (uint32_t)random()); }

  uint32_t sgpr(unsigned width = 2)
  {
    static const uint32_t others[] = {106, 106, 106, 125, 126, 104, 124, 107, 127};
    if (random.one_in(6))
      return others[random.below(width < 2 ? 9 : 6)];
    return width < 2 ? random.below(106) : random.below(104) & ~1u;
  }
  uint32_t vgpr() { return random.below(vgprs) & ~1u; }
  // In 32 bits, where half a register's number has seven.
  uint32_t short_vgpr(uint32_t half_flag)
  {
    return row.flags & half_flag ? vgpr() % 128 + 128 * random.below(2) : vgpr();
  }
  uint32_t null() const { return family->null_first ? ISA_M0 : ISA_NULL; }
  uint32_t literal()
  {
    static const uint32_t values[] = {0,          1,          0x3f800000, 0xbf800000, 0x80000000,
                                      0x7fffffff, 0xffffffff, 0x00003c00, 0x7f800000, 33};
    return random.one_in(2) ? values[random.below(10)] : uint32_t(random());
  }
  uint32_t scalar_source(unsigned width)
  {
    static const uint32_t specials[] = {251, 252, 253, 235, 236, 237, 238};
    switch (random.below(6)) {
    case 0:
      return 128 + random.below(81);
    case 1:
      return 240 + random.below(9);
    case 2:
      return random.one_in(4) ? specials[random.below(7)] : 255;
    default:
      return sgpr(width);
    }
  }
  uint32_t source(unsigned width) { return random.one_in(4) ? scalar_source(width) : 256 + vgpr(); }

  void scalar();
  void short_vector();
  void sdwa();
  void dpp();
  void dpp_lanes();
  void long_dpp();
  void dual();
  void long_vector();
  void packed();
  void smem();
  void ds();
  void flat();
  void buffer();
};

void Writer::scalar()
{
  code[format->dwords] = literal();
  set(F_SOP2_SSRC0, scalar_source(row.src[0]));
  if (row.encoding == ISA_SOP2 || row.encoding == ISA_SOPC)
    set(F_SOP2_SSRC1, scalar_source(row.src[1]));
  if (row.encoding != ISA_SOPC)
    set(F_SOP2_SDST, sgpr(row.dst));
}

void Writer::sdwa()
{
  const bool is_float = row.flags & ISA_F_ABS, has_two = row.src[1];
  const bool scalars[2] = {random.one_in(4), has_two && random.one_in(4)};
  set(F_VOP2_SRC0, 249);
  set(F_SDWA_VSRC0, scalars[0] ? sgpr(1) : vgpr());
  set(F_SDWA_S0, scalars[0]);
  if (has_two) {
    set(F_SDWA_VSRC1, scalars[1] ? sgpr(1) : vgpr());
    set(F_SDWA_S1, scalars[1]);
  }
  set(F_SDWA_SEL0, random.below(7));
  set(F_SDWA_SEL1, has_two ? random.below(7) : 6);
  for (isa_field_t field : {F_SDWA_ABS0, F_SDWA_NEG0})
    set(field, is_float && random.one_in(2));
  for (isa_field_t field : {F_SDWA_ABS1, F_SDWA_NEG1})
    set(field, is_float && has_two && random.one_in(2));
  set(F_SDWA_SEXT0, !is_float && random.one_in(2));
  set(F_SDWA_SEXT1, !is_float && has_two && random.one_in(2));
  if (row.encoding == ISA_VOPC) {
    const bool has_mask = !(row.flags & ISA_F_ONLY_EXEC) && random.one_in(2);
    set(F_SDWA_SD, has_mask);
    set(F_SDWA_SDST, has_mask ? sgpr() : 0);
    return;
  }
  set(F_SDWA_DST_SEL, random.below(7));
  set(F_SDWA_DST_UNUSED, random.below(3));
  set(F_SDWA_CLAMP, row.flags & ISA_F_CLAMP && random.one_in(2));
  set(F_SDWA_OMOD, row.flags & ISA_F_OMOD ? random.below(4) : 0);
}

void Writer::dpp_lanes()
{
  static const uint32_t rows[] = {0x100, 0x110, 0x120, 0x150, 0x160};
  set(F_DPP_CTRL, random.one_in(3)   ? random.below(256)
                  : random.one_in(6) ? 0x140 + random.below(2)
                                     : rows[random.below(5)] + random.below(16));
  set(F_DPP_BANK_MASK, random.one_in(3) ? random.below(16) : 15);
  set(F_DPP_ROW_MASK, random.one_in(3) ? random.below(16) : 15);
  flag(F_DPP_BOUND_CTRL, 2);
  flag(F_DPP_FI, 2);
}

// A third dword, without signs.
void Writer::long_dpp()
{
  const bool is_long = random.one_in(2);
  const uint32_t first = code[0];
  set(F_VOP3_SRC0, is_long ? 250 : 233 + random.below(2));
  const uint32_t second = code[1];
  code[1] = 0;
  set(F_DPP_VSRC0, vgpr());
  if (is_long)
    dpp_lanes();
  else
    any(F_DPP8_LANES);
  code[2] = code[1];
  code[1] = second;
  code[0] = first;
}

void Writer::dpp()
{
  const bool is_float = row.flags & ISA_F_ABS, is_long = random.one_in(2);
  set(F_VOP2_SRC0, is_long ? 250 : 233 + random.below(2));
  set(F_DPP_VSRC0, short_vgpr(ISA_F_HALF_0));
  if (!is_long) {
    any(F_DPP8_LANES);
    return;
  }
  dpp_lanes();
  for (isa_field_t field : {F_DPP_ABS0, F_DPP_NEG0})
    set(field, is_float && random.one_in(2));
  for (isa_field_t field : {F_DPP_ABS1, F_DPP_NEG1})
    set(field, is_float && row.src[1] && random.one_in(2));
}

void Writer::short_vector()
{
  const uint32_t form = random.below(3);
  const bool has_register = !random.one_in(4);
  set(F_VOP2_SRC0, !row.src[0]    ? 0
                   : has_register ? 256 + short_vgpr(ISA_F_HALF_0)
                                  : scalar_source(row.src[0]));
  if (row.encoding != ISA_VOP1)
    set(F_VOP2_VSRC1, short_vgpr(ISA_F_HALF_1));
  if (row.encoding != ISA_VOPC)
    set(F_VOP2_VDST, !row.dst                     ? 0
                     : row.flags & ISA_F_DST_SGPR ? sgpr(1)
                                                  : short_vgpr(ISA_F_HALF_DST));
  code[format->dwords] = literal();
  if (form == 1 && row.flags & ISA_F_SDWA && row.src[0]) {
    code[1] = 0;
    sdwa();
  } else if (form == 2 && row.flags & ISA_F_DPP && row.src[0]) {
    code[1] = 0;
    dpp();
  }
}

void Writer::long_vector()
{
  static const isa_field_t sources[3] = {F_VOP3_SRC0, F_VOP3_SRC1, F_VOP3_SRC2};
  const bool plain = random.one_in(3), is_compare = row.number < 0x100;
  auto has = [&](uint32_t flag) { return row.flags & flag && !plain; };
  for (unsigned n = 0; n < 3; ++n)
    if (row.src[n])
      set(sources[n], n == 2 && row.flags & ISA_F_MASK ? sgpr() : source(row.src[n]));
  if (row.op == ISA_v_readlane_b32 || row.op == ISA_v_writelane_b32)
    set(F_VOP3_SRC1, scalar_source(1));
  if (row.op == ISA_v_writelane_b32)
    set(F_VOP3_SRC0, scalar_source(1));
  if (row.op == ISA_v_permlane16_b32 || row.op == ISA_v_permlanex16_b32) {
    set(F_VOP3_SRC1, scalar_source(1));
    set(F_VOP3_SRC2, scalar_source(1));
  }
  code[format->dwords] = literal();
  if (is_compare)
    set(F_VOP3_VDST, row.flags & ISA_F_ONLY_EXEC ? 126 : sgpr());
  else if (row.dst)
    set(F_VOP3_VDST, row.flags & ISA_F_DST_SGPR ? sgpr(1) : vgpr());
  set(F_VOP3_CLAMP, has(ISA_F_CLAMP) && random.one_in(2));
  set(F_VOP3_OMOD, has(ISA_F_OMOD) ? random.below(4) : 0);
  set(F_VOP3_NEG, has(ISA_F_NEG) ? random.below(8) : 0);
  if (row.flags & ISA_F_VOP3B) {
    set(F_VOP3B_SDST, sgpr());
    return;
  }
  set(F_VOP3_ABS, has(ISA_F_ABS) ? random.below(8) : 0);
  const uint32_t selects =
      ISA_F_OP_SEL | ISA_F_HALF_DST | ISA_F_HALF_0 | ISA_F_HALF_1 | ISA_F_HALF_2;
  uint32_t op_sel = has(selects) ? random.below(16) : 0;
  if (row.flags & ISA_F_TIED) // as assemblers have it: the source is the destination
    op_sel = (op_sel & 11) | (op_sel >> 1 & 4);
  set(F_VOP3_OP_SEL, op_sel);
  if (has(ISA_F_DPP) && random.one_in(4))
    long_dpp();
}

void Writer::packed()
{
  static const isa_field_t sources[3] = {F_VOP3P_SRC0, F_VOP3P_SRC1, F_VOP3P_SRC2};
  auto some = [&](isa_field_t field, uint32_t flags) {
    set(field, row.flags & flags ? (uint32_t)random() : 0);
  };
  for (unsigned n = 0; n < 3; ++n)
    if (row.src[n])
      set(sources[n], source(row.src[n]));
  code[format->dwords] = literal();
  set(F_VOP3P_VDST, vgpr());
  some(F_VOP3P_OP_SEL, ISA_F_OP_SEL);
  some(F_VOP3P_OP_SEL_HI, ISA_F_OP_SEL_HI);
  some(F_VOP3P_OP_SEL_HI2, ISA_F_OP_SEL_HI);
  some(F_VOP3P_NEG_HI, ISA_F_NEG_HI | ISA_F_ABS);
  some(F_VOP3P_NEG, ISA_F_NEG);
  some(F_VOP3P_CLAMP, ISA_F_CLAMP);
  if (row.flags & ISA_F_DPP && random.one_in(4))
    long_dpp();
}

void Writer::dual()
{
  set(F_VOPD_OPY, random.one_in(16) ? random.below(32) : random.below(19));
  set(F_VOPD_SRCX0, source(1));
  set(F_VOPD_SRCY0, source(1));
  set(F_VOPD_VSRCX1, vgpr() + random.below(2));
  set(F_VOPD_VSRCY1, vgpr() + random.below(2));
  set(F_VOPD_VDSTX, vgpr() + random.below(2));
  set(F_VOPD_VDSTY, vgpr() / 2);
  code[format->dwords] = literal();
}

void Writer::smem()
{
  const bool has_register = random.one_in(2);
  if (row.dst || row.src[0])
    set(F_SMEM_SDATA, random.one_in(16) ? null() : random.below(88) & ~3u);
  if (!row.sdst)
    return;
  set(F_SMEM_SBASE, random.below(84) / 4 * 2);
  set(F_SMEM_OFFSET, random.one_in(16) ? 0u - 4 * random.below(4) : random.below(64) * 4);
  set(F_SMEM_SOFFSET, has_register ? sgpr(1) : null());
  any(F_SMEM_GLC);
  any(F_SMEM_DLC);
}

void Writer::ds()
{
  set(F_DS_GDS, row.flags & ISA_F_GWS ? 1 : 0);
  set(F_DS_OFFSET, random.one_in(2) ? random.below(0x10000) & 0x303f : 0);
  if (row.src[2])
    set(F_DS_ADDR, vgpr());
  if (row.src[0])
    set(F_DS_DATA0, vgpr());
  if (row.src[1])
    set(F_DS_DATA1, vgpr());
  if (row.dst)
    set(F_DS_VDST, vgpr());
}

void Writer::flat()
{
  static const uint32_t segments[] = {0, 2, 1};
  const uint32_t off[] = {null(), family->null_first ? null() : 0x7f};
  const bool has_base = row.encoding != ISA_FLAT && random.one_in(2);
  set(F_FLAT_SEG, segments[row.encoding - ISA_FLAT]);
  set(F_FLAT_OFFSET,
      row.encoding != ISA_FLAT && random.one_in(8) ? 0u - random.below(64) : random.below(64) * 4);
  for (isa_field_t field : {F_FLAT_GLC, F_FLAT_SLC, F_FLAT_DLC})
    any(field);
  set(F_FLAT_SADDR, has_base ? random.below(100) & ~1u : off[random.below(2)]);
  flag(F_FLAT_SVE, 2);
  if (row.src[2])
    set(F_FLAT_ADDR, vgpr());
  if (row.src[0])
    set(F_FLAT_DATA, vgpr());
  if (row.dst)
    set(F_FLAT_VDST, vgpr());
}

void Writer::buffer()
{
  const uint32_t offsets[] = {128, 132, 144, 96, null()};
  if (!row.sdst)
    return;
  const bool is_typed = row.encoding == ISA_MTBUF;
  set(is_typed ? F_MTBUF_OFFSET : F_MUBUF_OFFSET, random.below(64) * 4);
  any(is_typed ? F_MTBUF_OFFEN : F_MUBUF_OFFEN);
  any(is_typed ? F_MTBUF_IDXEN : F_MUBUF_IDXEN);
  any(is_typed ? F_MTBUF_GLC : F_MUBUF_GLC);
  any(is_typed ? F_MTBUF_DLC : F_MUBUF_DLC);
  set(is_typed ? F_MTBUF_VADDR : F_MUBUF_VADDR, vgpr());
  set(is_typed ? F_MTBUF_VDATA : F_MUBUF_VDATA, vgpr());
  set(is_typed ? F_MTBUF_SRSRC : F_MUBUF_SRSRC, random.below(24));
  set(is_typed ? F_MTBUF_SOFFSET : F_MUBUF_SOFFSET, offsets[random.below(5)]);
  if (!is_typed) {
    flag(F_MUBUF_LDS, 8);
    return;
  }
  any(F_MTBUF_FORMAT);
  set(F_MTBUF_OP3, row.number >> 3);
}

void Writer::write()
{
  switch (row.encoding) {
  case ISA_SOPK:
    code[1] = literal();
    set(F_SOPK_SDST, sgpr(row.dst));
    set(F_SOPK_SIMM, literal());
    return;
  case ISA_SOPP:
    set(F_SOPP_SIMM, random.below(0x10000));
    return;
  case ISA_VOP1:
  case ISA_VOP2:
  case ISA_VOPC:
    return short_vector();
  case ISA_VOP3:
    return long_vector();
  case ISA_VOP3P:
    return packed();
  case ISA_VOPD:
    return dual();
  case ISA_SMEM:
    return smem();
  case ISA_DS:
    return ds();
  case ISA_FLAT:
  case ISA_GLOBAL:
  case ISA_SCRATCH:
    return flat();
  case ISA_MUBUF:
  case ISA_MTBUF:
    return buffer();
  default:
    return scalar();
  }
}

} // namespace

std::vector<isa_opcode> opcodes_of(unsigned chip)
{
  const isa_family_t *family = isa_family(chip);
  std::vector<isa_opcode> rows;
  for (size_t i = 0; i < family->opcode_count; ++i)
    if (family->opcodes[i].chips >> isa_chip(chip)->member & 1)
      rows.push_back(family->opcodes[i]);
  return rows;
}

std::vector<uint32_t> instruction_of(unsigned chip, const isa_opcode &row, Random &random,
                                     uint32_t vgprs)
{
  Writer writer(chip, row, random, vgprs);
  writer.write();
  return writer.words();
}

} // namespace words
