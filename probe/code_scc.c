#include "probe/code.h"

#include <stddef.h>

/* Opcodes from `first` to `last` read SCC, write it, or both. What is not listed does neither, but
 * by an operand, or by reading STATUS. */
static const struct scc {
  uint8_t format, first, last, scc;
} sccs[] = {
    {CODE_SOP2, 0x00, 0x03, CODE_WRITES_SCC},                  /* s_add, s_sub */
    {CODE_SOP2, 0x04, 0x05, CODE_READS_SCC | CODE_WRITES_SCC}, /* s_addc, s_subb */
    {CODE_SOP2, 0x06, 0x09, CODE_WRITES_SCC},                  /* s_min, s_max */
    {CODE_SOP2, 0x0a, 0x0b, CODE_READS_SCC},                   /* s_cselect */
    {CODE_SOP2, 0x0c, 0x21, CODE_WRITES_SCC},                  /* logic, shifts */
    {CODE_SOP2, 0x25, 0x28, CODE_WRITES_SCC},                  /* s_bfe */
    {CODE_SOP2, 0x2a, 0x2a, CODE_WRITES_SCC},                  /* s_absdiff */
    {CODE_SOP2, 0x2e, 0x31, CODE_WRITES_SCC},                  /* s_lshl1_add to s_lshl4_add */
    {CODE_SOP1, 0x02, 0x03, CODE_READS_SCC},                   /* s_cmov */
    {CODE_SOP1, 0x04, 0x07, CODE_WRITES_SCC},                  /* s_not, s_wqm */
    {CODE_SOP1, 0x0a, 0x0d, CODE_WRITES_SCC},                  /* s_bcnt */
    {CODE_SOP1, 0x20, 0x29, CODE_WRITES_SCC},                  /* *_saveexec, s_quadmask */
    {CODE_SOP1, 0x30, 0x30, CODE_WRITES_SCC},                  /* s_abs */
    {CODE_SOP1, 0x33, 0x36, CODE_WRITES_SCC},                  /* s_andn1_*, s_orn1_*, s_andn2_* */
    {CODE_SOPK, 0x01, 0x01, CODE_READS_SCC},                   /* s_cmovk */
    {CODE_SOPK, 0x02, 0x0e, CODE_WRITES_SCC},                  /* s_cmpk, s_addk */
    {CODE_SOPC, 0x00, 0x0f, CODE_WRITES_SCC},                  /* comparisons, */
    {CODE_SOPC, 0x12, 0x13, CODE_WRITES_SCC},                  /* but for what changes modes */
    {CODE_SOPP, 0x04, 0x05, CODE_READS_SCC},                   /* s_cbranch_scc */
};

/* Whether any field of an operand's may be SCC's number: most instructions are told by that. */
static bool may_name_scc(const code_t *code)
{
  const uint32_t d = code->dword[0], d1 = code->dword[1];
  switch (code->format) {
  case CODE_SOP1:
  case CODE_SOP2:
  case CODE_SOPC:
    return code_field(d, 0, 8) == CODE_SCC || code_field(d, 8, 8) == CODE_SCC;
  case CODE_VOP1:
  case CODE_VOP2:
  case CODE_VOPC:
    return code->dwords > 1 || code_field(d, 0, 9) == CODE_SCC;
  case CODE_VOP3:
  case CODE_VOP3P:
    return code->dwords > 2 || code_field(d1, 0, 9) == CODE_SCC ||
           code_field(d1, 9, 9) == CODE_SCC || code_field(d1, 18, 9) == CODE_SCC;
  case CODE_DS:
  case CODE_SMEM:
  case CODE_FLAT:
  case CODE_SOPP:
    return false;
  default:
    return true;
  }
}

uint8_t code_scc(const code_t *code)
{
  enum { SOPK_GETREG = 0x11, STATUS = 2 };
  code_registers_t named = {0};
  if (may_name_scc(code))
    code_add_registers(code, &named);
  uint8_t scc = named.has_scc ? CODE_READS_SCC : 0;
  if (code->format == CODE_SOPK && code->op == SOPK_GETREG &&
      code_field(code->dword[0], 0, 6) == STATUS)
    scc |= CODE_READS_SCC;
  if (code->format > CODE_SOPP) /* scalar ones alone are listed */
    return scc;
  for (size_t i = 0; i < sizeof(sccs) / sizeof(sccs[0]); ++i)
    if (sccs[i].format == code->format && code->op >= sccs[i].first && code->op <= sccs[i].last)
      scc |= sccs[i].scc;
  return scc;
}
