// Scalar instructions: SCC, EXEC, M0, MODE and branches.
#include "tests/softgpu/oracle/machine.h"

#include <bitset>

namespace oracle {

uint32_t scalar(const Machine &m, unsigned code, uint32_t literal)
{
  static const uint32_t reals[] = {0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000,
                                   0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983};
  if (code < 128)
    return m.s[code];
  if (code <= 192)
    return code - 128;
  if (code <= 208)
    return 192 - code;
  if (code >= 240 && code <= 248)
    return reals[code - 240];
  switch (code) {
  case 251:
    return m.pair(VCC) == 0;
  case 252:
    return m.exec() == 0;
  case 253:
    return m.scc;
  }
  return literal;
}

namespace {

// One or two dwords; small integers are extended to 64 bits.
uint64_t operand(const Machine &m, unsigned code, uint32_t literal, unsigned bits)
{
  if (bits == 64 && code < 128)
    return m.pair(code);
  const uint32_t value = scalar(m, code, literal);
  return bits == 64 && code > 192 && code <= 208 ? uint64_t(int64_t(int32_t(value))) : value;
}

void put(Machine &m, unsigned code, uint64_t value, unsigned bits)
{
  m.s[code] = uint32_t(value);
  if (bits == 64)
    m.s[code + 1] = uint32_t(value >> 32);
}

uint64_t logic(const std::string &op, uint64_t x, uint64_t y)
{
  return op == "and"     ? x & y
         : op == "or"    ? x | y
         : op == "xor"   ? x ^ y
         : op == "andn2" ? x & ~y
         : op == "orn2"  ? x | ~y
         : op == "nand"  ? ~(x & y)
         : op == "nor"   ? ~(x | y)
         : op == "xnor"  ? ~(x ^ y)
         : op == "andn1" ? ~x & y
                         : ~x | y; // orn1
}

// Bits `offset` and up, `width` of them.
uint64_t extract(uint64_t x, unsigned offset, unsigned width, unsigned bits, bool is_signed)
{
  if (!width)
    return 0;
  const int64_t extended = bits == 64 ? int64_t(x) : int32_t(x);
  const uint64_t shifted = is_signed ? uint64_t(extended >> offset) : x >> offset;
  if (width >= 64)
    return shifted;
  const uint64_t field = shifted & ((1ull << width) - 1);
  return is_signed && field >> (width - 1) ? field | ~0ull << width : field;
}

uint64_t add_sub(Machine &m, const std::string &name, uint32_t x, uint32_t y)
{
  const bool is_sub = has(name, "s_sub"), has_carry = has(name, "addc") || has(name, "subb");
  const uint32_t carry = has_carry ? m.scc : 0;
  const uint32_t out = is_sub ? x - y - carry : x + y + carry;
  if (ends_with(
          name,
          "_i32")) // overflow: both inputs (the second inverted to subtract) differ from the result
    m.scc = ((x ^ out) & ((is_sub ? ~y : y) ^ out)) >> 31;
  else
    m.scc = is_sub ? uint64_t(y) + carry > x : uint64_t(x) + y + carry > UINT32_MAX;
  return out;
}

// The result of an instruction with two operands that has one; `op` is its name up to the type.
uint64_t binary(Machine &m, const std::string &name, const std::string &op, uint64_t x, uint64_t y,
                unsigned bits)
{
  const uint32_t a = uint32_t(x), b = uint32_t(y);
  const bool is_signed = ends_with(name, "_i32") || ends_with(name, "_i64");
  uint64_t out;
  if (op == "add" || op == "sub" || op == "addc" || op == "subb")
    return add_sub(m, name, a, b);
  if (op == "min" ||
      op == "max") { // SCC: the first one was taken; of two equal ones by max only (CDNA 4)
    const bool less = is_signed ? int32_t(a) < int32_t(b) : a < b;
    m.facts |= op == "max" && a == b ? MAXIMUM_OF_EQUALS : 0;
    m.scc = op == "min" ? less : !less;
    return m.scc ? a : b;
  }
  if (op == "cselect")
    return m.scc ? x : y;
  if (op == "bfm")
    return uint32_t(((1ull << (a & 31)) - 1) << (b & 31));
  if (op == "mul" && !has(name, "_hi_"))
    return a * b;
  if (op == "mul")
    return uint64_t(is_signed ? (int64_t(int32_t(a)) * int32_t(b)) >> 32
                              : int64_t((uint64_t(a) * b) >> 32));
  if (op == "pack")
    return has(name, "_ll_")   ? (a & 0xffff) | b << 16
           : has(name, "_lh_") ? (a & 0xffff) | (b & 0xffff0000)
                               : a >> 16 | (b & 0xffff0000);
  if (op.compare(0, 4, "lshl") == 0 && has(name, "_add_")) {
    const uint64_t sum = (uint64_t(a) << (op[4] - '0')) + b;
    m.scc = sum > UINT32_MAX;
    return sum;
  }
  const unsigned shift = b & (bits - 1);
  if (op == "lshl")
    out = x << shift;
  else if (op == "lshr")
    out = x >> shift;
  else if (op == "ashr")
    out = uint64_t((bits == 64 ? int64_t(x) : int32_t(a)) >> shift);
  else if (op == "bfe")
    out = extract(x, shift, b >> 16 & 0x7f, bits, is_signed);
  else if (op == "absdiff")
    out = int32_t(a - b) < 0 ? b - a : a - b;
  else
    out = logic(op, x, y);
  if (bits == 32)
    out = uint32_t(out);
  m.scc = out != 0;
  return out;
}

uint32_t first_bit(uint64_t x, unsigned bits, bool from_top)
{
  for (unsigned i = 0; i < bits; ++i)
    if (x >> (from_top ? bits - 1 - i : i) & 1)
      return i;
  return UINT32_MAX;
}

// Counts and other things that need one operand of `bits` and give 32 or as many.
uint64_t unary(Machine &m, const std::string &op, uint64_t x, unsigned bits)
{
  const uint64_t mask = bits == 64 ? ~0ull : UINT32_MAX;
  uint64_t out = 0;
  if (op == "mov")
    return x;
  if (op == "brev") {
    for (unsigned i = 0; i < bits; ++i)
      out |= (x >> i & 1) << (bits - 1 - i);
    return out;
  }
  if (op == "ff0")
    return first_bit(~x & mask, bits, false);
  if (op == "ff1")
    return first_bit(x, bits, false);
  if (op == "flbit")
    return first_bit(x, bits, true);
  if (op == "flbit_signed") // the first bit that differs from the sign
    return first_bit((x >> (bits - 1) & 1 ? ~x : x) & mask, bits, true);
  if (op == "sext8")
    return uint32_t(int32_t(int8_t(x)));
  if (op == "sext16")
    return uint32_t(int32_t(int16_t(x)));
  if (op == "not")
    out = ~x & mask;
  else if (op == "wqm") // a quad is whole when any of it is set
    for (unsigned i = 0; i < bits; i += 4)
      out |= x >> i & 15 ? 15ull << i : 0;
  else if (op == "bcnt1" || op == "bcnt0")
    out = std::bitset<64>(op == "bcnt1" ? x & mask : ~x & mask).count();
  else // abs
    out = uint32_t(int32_t(uint32_t(x)) < 0 ? 0 - uint32_t(x) : uint32_t(x));
  m.scc = out != 0;
  return out;
}

Outcome sop1(Machine &m, const std::string &name, unsigned dst, unsigned src, uint32_t literal)
{
  const unsigned bits = ends_with(name, "64") ? 64 : 32;
  std::string op = name.substr(2, name.find('_', 2) - 2);
  if (op == "getpc") {
    put(m, dst, m.pc, 64);
    return DONE;
  }
  const uint64_t x = operand(m, src, literal, bits);
  if (op == "setpc" || op == "swappc") {
    if (op == "swappc")
      put(m, dst, m.pc, 64);
    m.pc = x;
  } else if (has(name, "saveexec") || has(name, "wrexec")) {
    const uint64_t old = m.exec(), now = logic(op, x, old);
    m.set_pair(EXEC, now);
    put(m, dst, has(name, "wrexec") ? now : old, 64); // in this order, should it be EXEC
    m.scc = now != 0;
  } else if (op == "bitset0" || op == "bitset1") {
    const uint32_t bit = 1u << (x & 31);
    m.s[dst] = op == "bitset1" ? m.s[dst] | bit : m.s[dst] & ~bit;
  } else if (op == "cmov") {
    if (m.scc)
      put(m, dst, x, bits);
  } else {
    if (op == "sext")
      op += ends_with(name, "_i8") ? "8" : "16";
    if (name == "s_flbit_i32" || name == "s_flbit_i32_i64")
      op += "_signed";
    const bool is_count = has(name, "_i32_b") || has(name, "_i32_i64");
    const uint64_t out = unary(m, op, x, bits);
    put(m, dst, out, is_count ? 32 : bits);
  }
  return DONE;
}

bool compares(const std::string &op, int64_t x, int64_t y)
{
  return op == "eq"   ? x == y
         : op == "lg" ? x != y
         : op == "gt" ? x > y
         : op == "ge" ? x >= y
         : op == "lt" ? x < y
                      : x <= y;
}

void sopc(Machine &m, const std::string &name, uint64_t x, uint64_t y)
{
  if (has(name, "bitcmp")) {
    const unsigned bit = unsigned(y) & (ends_with(name, "64") ? 63 : 31);
    m.scc = (x >> bit & 1) == uint64_t(has(name, "bitcmp1"));
    return;
  }
  const std::string op = name.substr(name.find("_", 2) + 1, 2);
  if (ends_with(name, "64"))
    m.scc = (x == y) == (op == "eq");
  else if (ends_with(name, "_i32"))
    m.scc = compares(op, int32_t(x), int32_t(y));
  else
    m.scc = compares(op, uint32_t(x), uint32_t(y));
}

Outcome sopk(Machine &m, const std::string &name, unsigned dst, uint16_t immediate,
             uint32_t literal)
{
  const int32_t simm = int16_t(immediate);
  const uint32_t d = m.s[dst];
  if (name == "s_movk_i32" || (name == "s_cmovk_i32" && m.scc))
    m.s[dst] = uint32_t(simm);
  else if (name == "s_addk_i32")
    m.s[dst] = uint32_t(add_sub(m, "s_add_i32", d, uint32_t(simm)));
  else if (name == "s_mulk_i32")
    m.s[dst] = d * uint32_t(simm);
  else if (has(name, "cmpk")) // unsigned comparisons extend with zeros
    sopc(m, name, d, ends_with(name, "_u32") ? immediate : uint32_t(simm));
  else if (name == "s_call_b64") {
    m.set_pair(dst, m.pc);
    m.pc += uint64_t(int64_t(simm) * 4);
  } else if (has(name, "etreg")) {
    const unsigned id = immediate & 63, offset = immediate >> 6 & 31, size = (immediate >> 11) + 1u;
    if (id != 1 || offset + size > 32)
      return UNDECIDED;
    const uint32_t mask = uint32_t(((1ull << size) - 1) << offset);
    if (name == "s_getreg_b32")
      m.s[dst] = (m.mode & mask) >> offset;
    else
      m.mode = (m.mode & ~mask) | ((name == "s_setreg_b32" ? d : literal) << offset & mask);
  }
  return DONE;
}

bool is_taken(const Machine &m, const std::string &name)
{
  return name == "s_branch" || (name == "s_cbranch_scc0" && !m.scc) ||
         (name == "s_cbranch_scc1" && m.scc) || (name == "s_cbranch_vccz" && !m.pair(VCC)) ||
         (name == "s_cbranch_vccnz" && m.pair(VCC)) || (name == "s_cbranch_execz" && !m.exec()) ||
         (name == "s_cbranch_execnz" && m.exec());
}

} // namespace

Outcome step_scalar(Machine &m, const Row &row, const uint32_t words[3])
{
  const uint32_t w = words[0];
  const std::string &name = row.name;
  if (row.format == SOP1)
    return sop1(m, name, w >> 16 & 0x7f, w & 0xff, words[1]);
  if (row.format == SOPK)
    return sopk(m, name, w >> 16 & 0x7f, uint16_t(w), words[1]);
  if (row.format == SOPP) {
    if (is_taken(m, name))
      m.pc += uint64_t(int64_t(int16_t(w)) * 4);
    return DONE;
  }
  const std::string op = name.substr(2, name.find('_', 2) - 2);
  const unsigned bits = ends_with(name, "64") ? 64 : 32;
  const bool is_short =
      op.compare(0, 3, "lsh") == 0 || op == "ashr" || op == "bfe" || has(op, "bitcmp");
  const uint64_t x = operand(m, w & 0xff, words[1], bits);
  const uint64_t y = operand(m, w >> 8 & 0xff, words[1], is_short ? 32 : bits);
  if (row.format == SOPC)
    sopc(m, name, x, y);
  else
    put(m, w >> 16 & 0x7f, binary(m, name, op, x, y, bits), bits);
  return DONE;
}

} // namespace oracle
