// DS instructions.
#include "tests/softgpu/oracle/machine.h"

#include <bitset>

namespace oracle {
namespace {

struct Ds {
  uint32_t low, high; // the words
  bool has_acc() const { return low >> 25 & 1; }
  unsigned addr() const { return high & 0xff; }
  unsigned data(unsigned n) const { return high >> (8 + 8 * n) & 0xff; }
  unsigned dst() const { return high >> 24; }
  unsigned offset() const { return low & 0xffff; }
};

// Registers that hold data or results: the ACC bit speaks of all of them.
uint32_t &reg(Machine &m, Ds w, unsigned row, unsigned lane)
{
  return w.has_acc() ? m.a[row][lane] : m.v[row][lane];
}

// A dword, or part of one, that begins outside LDS reads 0 and is not written, each for itself. HSA runs with unaligned
// accesses enabled. Undecided, and not reached by tests: one that crosses the end. RDNA's guides let the whole
// instruction return 0 when a part is outside; CDNA's do not say so.
bool is_undecided(uint64_t at, unsigned bytes)
{
  for (unsigned i = 0; i < bytes; i += 4)
    if (at + i < LDS_BYTES && at + i + (bytes < 4 ? bytes : 4) > LDS_BYTES)
      return true;
  return false;
}

uint32_t load(Machine &m, uint64_t at, unsigned bytes)
{
  m.facts |= at >= LDS_BYTES ? LDS_OUTSIDE : 0;
  uint32_t value = 0;
  for (unsigned i = 0; at < LDS_BYTES && i < bytes; ++i)
    value |= uint32_t(m.lds[at + i]) << 8 * i;
  return value;
}

void store(Machine &m, uint64_t at, unsigned bytes, uint32_t value)
{
  m.facts |= at >= LDS_BYTES ? LDS_OUTSIDE : 0;
  for (unsigned i = 0; at < LDS_BYTES && i < bytes; ++i)
    m.lds[at + i] = uint8_t(value >> 8 * i);
}

// The sum wraps at 2^32: LLVM folds constants into the offset of negative bases since Sea Islands. LDS' size in M0 is
// not looked at since GFX9 (LLVM: ldsRequiresM0Init).
uint64_t address_of(const Machine &m, const Row &row, Ds w, unsigned lane, unsigned n)
{
  const Access &access = row.access;
  if (has(row.name, "_addtid_"))
    return (m.s[M0] & 0xffff) + w.offset() + 4 * lane;
  const uint32_t base = m.v[w.addr()][lane];
  if (access.addresses == 1)
    return uint32_t(base + w.offset());
  return uint32_t(base + (w.offset() >> 8 * n & 0xff) * access.stride);
}

// Which lane gives ds_swizzle_b32's value to lane `i`.
unsigned swizzled(unsigned offset, unsigned i)
{
  const unsigned mask = offset & 31;
  unsigned j;
  if (offset >= 0xe000) { // FFT
    j = 0;
    for (unsigned bit = 0; bit < 5; ++bit)
      j |= (i >> bit & 1) << (4 - bit);
    j = j >> std::bitset<5>(mask).count() | (i & mask);
  } else if (offset >= 0xc000) { // rotate within 32, the bits of the mask excepted
    const unsigned by = offset >> 5 & 31;
    j = (i & mask) | ((offset >> 10 & 1 ? i - by : i + by) & ~mask);
  } else if (offset >= 0x8000) {
    return (i & ~3u) | (offset >> 2 * (i & 3) & 3);
  } else {
    j = (((i & 31) & mask) | (offset >> 5 & 31)) ^ (offset >> 10 & 31);
  }
  return (j & 31) | (i & 32);
}

// Values of lanes that are switched off read as 0. Undecided: which lane wins when ds_permute_b32 has several for one;
// the guide's pseudocode lets the highest.
void exchange(Machine &m, const Row &row, Ds w)
{
  m.facts |= row.name == "ds_swizzle_b32" && w.offset() >= 0xe000 ? SWIZZLE_FFT : 0;
  const bool is_forward = row.name == "ds_permute_b32", is_swizzle = row.name == "ds_swizzle_b32";
  uint32_t out[LANES] = {};
  for (unsigned lane = 0; lane < LANES; ++lane) {
    if (!m.is_active(lane))
      continue;
    const uint32_t at = (m.v[w.addr()][lane] + w.offset()) / 4 % LANES;
    const unsigned from = is_swizzle ? swizzled(w.offset(), lane) : at;
    if (is_forward)
      out[at] = reg(m, w, w.data(0), lane);
    else if (m.is_active(from))
      // The operand of ds_swizzle_b32 is in the address field.
      out[lane] = is_swizzle ? m.v[w.addr()][from] : reg(m, w, w.data(0), from);
  }
  for (unsigned lane = 0; lane < LANES; ++lane)
    if (m.is_active(lane))
      reg(m, w, w.dst(), lane) = out[lane];
}

// Counts lanes; all of them get the old value. AMD's guide: in LDS at the instruction's offset. LLVM puts a base into M0
// for LDS, too: undecided unless that is 0. With no lane switched on, nothing changes either way.
Outcome count(Machine &m, const Row &row, Ds w)
{
  if (m.s[M0] || w.offset() % 4 || is_undecided(w.offset(), 4))
    return UNDECIDED;
  const uint32_t old = load(m, w.offset(), 4);
  const uint32_t lanes = uint32_t(std::bitset<64>(m.exec()).count());
  store(m, w.offset(), 4, row.name == "ds_append" ? old + lanes : old - lanes);
  for (unsigned lane = 0; lane < LANES; ++lane)
    if (m.is_active(lane))
      reg(m, w, w.dst(), lane) = old;
  return DONE;
}

uint64_t data_of(Machine &m, Ds w, unsigned n, unsigned dwords, unsigned lane)
{
  uint64_t out = 0;
  for (unsigned i = 0; i < dwords; ++i)
    out |= uint64_t(reg(m, w, w.data(n) + i, lane)) << 32 * i;
  return out;
}

// Each half with its highest bit set is written without it.
void exchange_conditionally(Machine &m, Ds w, unsigned lane, uint64_t at)
{
  const uint64_t data = data_of(m, w, 0, 2, lane);
  for (unsigned i = 0; i < 2; ++i) {
    const uint32_t old = load(m, at + 4 * i, 4), half = uint32_t(data >> 32 * i);
    if (half >> 31)
      store(m, at + 4 * i, 4, half & 0x7fffffff);
    reg(m, w, w.dst() + i, lane) = old;
  }
}

// On one or two addresses. All of them are read before one is written.
void modify(Machine &m, const Row &row, Ds w, unsigned lane, const uint64_t at[2])
{
  const Access &access = row.access;
  const unsigned dwords = access.dwords();
  uint64_t old[2] = {}, data[2] = {};
  for (unsigned n = 0; n < 2; ++n)
    data[n] = data_of(m, w, n,
                      n == 0 || access.addresses == 2 || access.op == "cmpst" ||
                              access.op == "mskor" || access.op == "wrap"
                          ? dwords
                          : 0,
                      lane);
  for (unsigned n = 0; n < access.addresses; ++n)
    for (unsigned i = 0; i < dwords; ++i)
      old[n] |= uint64_t(load(m, at[n] + 4 * i, 4)) << 32 * i;
  for (unsigned n = 0; n < access.addresses; ++n) {
    const uint64_t result = combine(access.op, old[n], data[n], data[1], 8 * access.bytes);
    for (unsigned i = 0; i < dwords; ++i)
      store(m, at[n] + 4 * i, 4, uint32_t(result >> 32 * i));
    for (unsigned i = 0; access.returns && i < dwords; ++i)
      reg(m, w, w.dst() + n * dwords + i, lane) = uint32_t(old[n] >> 32 * i);
  }
}

void run_lane(Machine &m, const Row &row, Ds w, unsigned lane, const uint64_t at[2])
{
  const Access &access = row.access;
  const unsigned unit = access.bytes < 4 ? access.bytes : 4;
  if (access.op == "condxchg32")
    return exchange_conditionally(m, w, lane, at[0]);
  if (access.kind == Access::ATOMIC)
    return modify(m, row, w, lane, at);
  for (unsigned n = 0; n < access.addresses; ++n)
    for (unsigned i = 0; i < access.dwords(); ++i) {
      if (access.kind == Access::LOAD) {
        uint32_t &dst = reg(m, w, w.dst() + n * access.dwords() + i, lane);
        m.facts |= access.half != Access::WHOLE && m.has_sramecc ? D16_CLEARS : 0;
        dst = widen(access, load(m, at[n] + 4 * i, unit), dst, m.has_sramecc);
      } else {
        store(m, at[n] + 4 * i, unit,
              reg(m, w, w.data(n) + i, lane) >> (access.half == Access::HIGH ? 16 : 0));
      }
    }
}

} // namespace

// Undecided: the order in which lanes reach the same address. Here the lowest lane is first.
Outcome step_ds(Machine &m, const Row &row, const uint32_t words[3])
{
  const Ds w = {words[0], words[1]};
  const Access &access = row.access;
  if (row.name == "ds_swizzle_b32" || has(row.name, "permute_")) {
    exchange(m, row, w);
    return DONE;
  }
  if (row.name == "ds_append" || row.name == "ds_consume")
    return count(m, row, w);
  // Undecided: two equal offsets. By the text of the guide (11.3.1) they make one access with the first data, by its
  // pseudocode the second data are written over the first.
  const bool is_single = access.addresses == 2 && (w.offset() & 0xff) == w.offset() >> 8;
  if (is_single && access.kind != Access::LOAD)
    return UNDECIDED;
  std::vector<uint64_t> at(2 * LANES);
  for (unsigned lane = 0; lane < LANES; ++lane)
    for (unsigned n = 0; m.is_active(lane) && n < access.addresses; ++n) {
      at[2 * lane + n] = address_of(m, row, w, lane, n);
      // Undecided: atomics that are not aligned.
      if (is_undecided(at[2 * lane + n], access.bytes) ||
          (access.kind == Access::ATOMIC && at[2 * lane + n] % access.bytes))
        return UNDECIDED;
    }

  for (unsigned lane = 0; lane < LANES; ++lane)
    if (m.is_active(lane))
      run_lane(m, row, w, lane, &at[2 * lane]);
  return DONE;
}

} // namespace oracle
