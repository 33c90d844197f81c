// Addresses: inside, at both ends, a little beyond, near 2^32, and not aligned.
#include "tests/softgpu/oracle/cases.h"

namespace oracle {
namespace {

// Rows of `dwords` registers; pairs and longer tuples begin at an even one.
uint32_t registers(Random &random, unsigned dwords)
{
  return random.below((ROWS - dwords) / 2 + 1) * 2;
}

// An offset of an access of `bytes` within `size`, often at an end. `align` is a power of two.
uint32_t inside(Random &random, uint32_t size, unsigned bytes, unsigned align)
{
  const uint32_t last = size - bytes;
  uint32_t at = random.below(last + 1);
  if (random.one_in(4))
    at = random.one_in(2) ? random.below(17) : last - random.below(17);
  at = at > last ? last : at;
  return at & ~(align - 1);
}

unsigned alignment(Random &random, const Row &row)
{
  const unsigned natural = row.access.bytes > 8 ? 4 : row.access.bytes;
  if (row.access.kind == Access::ATOMIC)
    return row.access.bytes;
  return random.one_in(4) ? 1 : natural < 4 ? natural : 4;
}

unsigned data_dwords(const Row &row)
{
  return row.access.dwords() * (row.access.op == "cmpswap" ? 2 : 1) * row.access.addresses;
}

void set_address(Machine &m, unsigned row, unsigned lane, uint64_t address)
{
  m.v[row][lane] = uint32_t(address);
  m.v[row + 1][lane] = uint32_t(address >> 32);
}

} // namespace

Case make_smem(Random &random, const Row &row, Machine &m)
{
  const unsigned dwords = row.access.dwords(), align = dwords > 4 ? 4 : dwords;
  const bool is_buffer = has(row.name, "_buffer_"), is_store = row.access.kind == Access::STORE;
  const uint32_t sdata = random.below((60 - dwords) / align + 1) * align;
  const uint32_t sbase = 64 + random.below(8) * 4 + (is_buffer ? 0 : random.below(2) * 2);
  const uint32_t soffset = is_store || random.one_in(3) ? uint32_t(M0) : 98 + random.below(4);
  const unsigned form = random.below(3); // immediate, register, both
  uint32_t size = MEMORY_BYTES - 64, target = inside(random, MEMORY_BYTES, 4 * dwords, 4);
  if (is_buffer) {
    static const uint32_t strides[] = {0, 0, 4, 16};
    const uint32_t stride = random.one_of(strides), bytes = random.below(512) * 16;
    m.set_pair(sbase, m.base + 16 * random.below(4));
    m.s[sbase + 1] |= stride << 16;
    m.s[sbase + 2] = stride ? bytes / stride : bytes;
    m.s[sbase + 3] = 0x20000;
    size = bytes;
    target = random.one_in(2) && bytes ? random.below(bytes / 4) * 4 : random.below(4) * 4;
    if (random.one_in(2))
      target = (size > 16 ? size - 16 : 0) + 4 * random.below(9);
  }
  if (random.one_in(16))
    target += random.below(4);
  int32_t immediate = int32_t(random.below(1024) * 4) - (is_buffer ? 0 : 2048);
  uint32_t reg = random.below(256) * 4;
  if (is_buffer) { // the base is fixed
    immediate = form == 0 ? int32_t(target) : int32_t(random.below(target / 4 + 1) * 4);
    reg = form == 1 ? target : target - uint32_t(immediate);
    if (form && random.one_in(8))
      reg = 0xffffffc0 + 4 * random.below(16);
  } else {
    if (form == 2) // the sum must not be negative
      reg += 2048;
    if (form == 1 && random.one_in(8))
      reg = 0xfffffff0;
    const int64_t offset = (form == 1 ? 0 : immediate) + int64_t(form == 0 ? 0 : reg);
    m.set_pair(sbase, m.base + target - uint64_t(offset) + (random.one_in(32) ? MEMORY_BYTES : 0));
  }
  m.s[soffset] = reg;
  Case c;
  c.words[0] = 0xc0000000 | row.number << 18 | random.below(2) << 16 | sdata << 6 | sbase >> 1;
  if (form == 1) {
    c.words[1] = soffset;
  } else {
    c.words[0] |= 1u << 17 | (form == 2) << 14;
    c.words[1] = (uint32_t(immediate) & 0x1fffff) | (form == 2 ? soffset << 25 : 0);
  }
  return c;
}

Case make_ds(Random &random, const Row &row, Machine &m)
{
  const Access &access = row.access;
  const bool is_exchange = has(row.name, "permute_") || row.name == "ds_swizzle_b32";
  const bool counts = row.name == "ds_append" || row.name == "ds_consume";
  uint32_t offset = random.one_in(2)   ? 0
                    : random.one_in(2) ? random.below(32) * 8
                                       : random.below(0x10000);
  if (row.name == "ds_swizzle_b32")
    offset = random.one_in(2) ? random.below(0x10000) : 0xc000 + random.below(0x4000);
  if (access.addresses == 2)
    offset = random.below(8) | random.below(random.one_in(2) ? 8 : 256) << 8;
  const unsigned align = access.op == "condxchg32" ? 8 : alignment(random, row);
  if (access.kind == Access::ATOMIC && access.addresses == 1)
    offset &= ~(access.bytes - 1);
  if (counts || has(row.name, "addtid")) {
    offset = counts ? 4 * random.below(LDS_BYTES / 4 + 8) : 4 * random.below(64);
    m.s[M0] = counts ? 0 : 4 * random.below(random.one_in(2) ? 512 : 64) | uint32_t(random()) << 16;
  }
  const uint32_t addr = registers(random, 1), span = access.addresses == 2 ? 64 : access.bytes;
  const unsigned how = random.below(4);
  for (unsigned lane = 0; lane < LANES && !is_exchange; ++lane) {
    static const uint32_t far[] = {0xf00000, 0xfffffff0, 0x80000000, LDS_BYTES + 0x10000};
    uint32_t at = how == 0 ? (lane * 24) & ~(align - 1) : inside(random, LDS_BYTES, span, align);
    if (access.addresses == 1)
      at -= offset; // its sum with the offset is inside
    if (random.one_in(16))
      at = (LDS_BYTES - 16 + random.below(32) - (random.one_in(2) ? offset : 0)) & ~(align - 1);
    if (random.one_in(32))
      at = (random.one_of(far) + random.below(16)) & ~(align - 1);
    if (access.bytes >= 4 && random.one_in(2))
      at &= ~3u;
    m.v[addr][lane] = at;
  }
  const unsigned d = access.dwords(), results = d * access.addresses;
  Case c;
  c.words[0] = 0xd8000000 | row.number << 17 | offset | random.below(2) << 25;
  c.words[1] = addr;
  const bool reads = access.kind == Access::LOAD || access.returns || is_exchange || counts;
  if (counts || row.name == "ds_read_addtid_b32" || row.name == "ds_write_addtid_b32")
    c.words[1] = 0;
  const bool two =
      access.addresses == 2 || access.op == "cmpst" || access.op == "mskor" || access.op == "wrap";
  if (reads)
    c.words[1] |= registers(random, results) << 24;
  if (access.kind != Access::LOAD && row.name != "ds_swizzle_b32" && !counts)
    c.words[1] |= registers(random, d) << 8;
  if (access.kind != Access::LOAD && two)
    c.words[1] |= registers(random, d) << 16;
  return c;
}

Case make_by_address(Random &random, const Row &row, Machine &m)
{
  const Access &access = row.access;
  const uint32_t vaddr = registers(random, 2), sgpr = random.below(50) * 2;
  bool has_saddr = row.format != FLAT && random.one_in(2), has_vaddr = true;
  const unsigned align = alignment(random, row);
  int32_t offset =
      row.format == FLAT ? int32_t(random.below(0x1000)) : int32_t(random.below(0x2000)) - 0x1000;
  if (access.kind == Access::ATOMIC)
    offset &= ~int32_t(access.bytes - 1);
  const uint64_t spread =
      (random.one_in(2) ? random.below(0x1000) : random.below(0xffff0000)) & ~7u;
  // On gfx90a a scratch address is one register, on gfx942 none, one or both.
  if (row.format == SCRATCH) {
    has_vaddr = m.is_gfx942 ? random.one_in(2) : !has_saddr;
    if (!has_vaddr && !has_saddr) // all lanes the same
      offset = int32_t(inside(random, PRIVATE_BYTES, access.bytes, align));
  }
  const uint64_t uniform = inside(random, PRIVATE_BYTES, access.bytes, align);
  if (row.format == SCRATCH && offset > 0 && (has_vaddr || has_saddr))
    offset &= 15;
  if (row.format == SCRATCH && has_saddr)
    m.s[sgpr] = has_vaddr ? 0 : uint32_t(int32_t(uniform) < offset ? 0 : int32_t(uniform) - offset);
  else
    m.set_pair(sgpr, m.base - spread - uint64_t(int64_t(offset)));
  if (row.format == FLAT && random.one_in(2)) // so that LDS and scratch memory are reached
    offset = int32_t(random.below(4) * 8);
  const bool leaves_aperture = random.one_in(4);
  const unsigned outside = random.one_in(24) ? random.below(LANES) : unsigned(LANES);
  for (unsigned lane = 0; lane < LANES && has_vaddr; ++lane) {
    uint64_t at = inside(random, MEMORY_BYTES - SCRATCH_BYTES, access.bytes, align);
    if (lane == outside)
      at += random.one_in(2) ? uint64_t(MEMORY_BYTES) : uint64_t(-64);
    if (row.format == SCRATCH) {
      const uint32_t o =
          inside(random, PRIVATE_BYTES, access.bytes, align) + (lane == outside ? 64 : 0);
      m.v[vaddr][lane] = offset > int32_t(o) ? 0 : uint32_t(int32_t(o) - offset);
    } else if (has_saddr) {
      m.v[vaddr][lane] = uint32_t(at + spread);
    } else {
      const unsigned segment = row.format == FLAT ? random.below(6) : 0;
      uint64_t address = m.base + at - uint64_t(int64_t(offset)), low = 0;
      if (segment == 1)
        low = inside(random, LDS_BYTES, access.bytes, align);
      if (segment == 2)
        low = inside(random, PRIVATE_BYTES, access.bytes, align);
      if (low >= uint64_t(offset) &&
          (segment == 1 || (segment == 2 && access.kind != Access::ATOMIC)))
        address = uint64_t(segment == 1 ? SHARED_APERTURE : PRIVATE_APERTURE) << 32 |
                  (low - uint64_t(offset));
      if (segment == 1 && leaves_aperture && lane == 5)
        address = (uint64_t(SHARED_APERTURE) << 32) - uint64_t(offset) + low;
      set_address(m, vaddr, lane, address);
    }
  }
  if (access.to_lds)
    m.s[M0] = 4 * random.below(512);
  static const uint32_t segments[] = {0, 1, 2};
  Case c;
  c.words[0] = 0xdc000000 | row.number << 18 | segments[row.format - FLAT] << 14 |
               (uint32_t(offset) & 0x1fff) | random.below(2) << 16 | random.below(2) << 17;
  if (row.format == SCRATCH && m.is_gfx942 && has_vaddr)
    c.words[0] |= 1u << 13;
  const unsigned data = data_dwords(row);
  // LLVM wants the unused field of FLAT to be 0, and that of the others to be 0x7f.
  c.words[1] = (has_vaddr ? vaddr : 0) | (has_saddr ? sgpr : row.format == FLAT ? 0 : 0x7f) << 16;
  if (!access.to_lds)
    c.words[1] |= random.below(2) << 23;
  if (access.kind != Access::LOAD)
    c.words[1] |= registers(random, data) << 8;
  const bool returns = access.kind == Access::ATOMIC && c.words[0] >> 16 & 1;
  if ((access.kind == Access::LOAD && !access.to_lds) || returns)
    c.words[1] |= registers(random, access.dwords()) << 24;
  return c;
}

namespace {

enum Shape { RAW, STRUCTURED, SWIZZLED, BY_THREAD };

// The resource constant in s[srsrc..]; all that it lets through is in memory.
uint32_t make_resource(Random &random, Machine &m, Shape shape, unsigned srsrc)
{
  static const uint32_t strides[] = {4, 8, 12, 16};
  const uint32_t stride = shape == RAW ? (random.one_in(4) ? 16 : 0) : random.one_of(strides);
  uint32_t records = shape == RAW ? random.below(512) * 4 : random.below(65);
  if (shape == RAW && random.one_in(8))
    records += random.below(4);
  if (random.one_in(32))
    records = 0;
  m.set_pair(srsrc, m.base + 64 * random.below(8));
  const bool swizzles = shape == SWIZZLED || (shape == BY_THREAD && random.one_in(2));
  m.s[srsrc + 1] |= stride << 16 | uint32_t(swizzles) << 31;
  m.s[srsrc + 2] = shape == BY_THREAD && random.one_in(2) ? UINT32_MAX : records;
  m.s[srsrc + 3] = random.below(4) << 21;
  m.s[srsrc + 3] |= shape == BY_THREAD ? 1u << 23 : 4u << 15; // thread id; data format
  m.s[srsrc + 3] |= swizzles ? 1u << 19 : 0;                  // element size
  return stride;
}

uint32_t offset_near(Random &random, uint32_t records, const Access &access, unsigned align)
{
  switch (random.below(5)) {
  case 0: // how Tensile masks lanes, and beside it
    return 0xffffffff - random.below(random.one_in(2) ? 1 : 32);
  case 1:
  case 2:
    return (records + random.below(32) - 16) & ~(align - 1);
  case 3:
    return random.below(32) & ~(align - 1);
  default:
    return records > access.bytes ? random.below(records - access.bytes) & ~(align - 1) : 0;
  }
}

} // namespace

Case make_buffer(Random &random, const Row &row, Machine &m)
{
  const Access &access = row.access;
  static const Shape shapes[] = {RAW, RAW, RAW, RAW, STRUCTURED, STRUCTURED, SWIZZLED, BY_THREAD};
  const Shape shape = random.one_of(shapes);
  const unsigned srsrc = 4 * random.below(16), align = alignment(random, row);
  const uint32_t stride = make_resource(random, m, shape, srsrc), records = m.s[srsrc + 2];
  const bool has_index =
      shape == STRUCTURED || shape == SWIZZLED || (shape == RAW && !stride && random.one_in(4));
  const bool has_offset = random.one_in(8) ? false : true;
  const uint32_t vaddr = registers(random, 2);
  const uint32_t room = shape == RAW ? records : stride;
  uint32_t immediate = random.one_in(2) ? 0 : random.below(16) * 4;
  if (shape == RAW && random.one_in(8))
    immediate = random.below(0x1000) & ~(align - 1);
  for (unsigned lane = 0; lane < LANES; ++lane) {
    uint32_t offset = offset_near(random, room, access, align);
    if (shape != RAW)
      offset = random.below(stride) & ~(align - 1);
    if (shape == RAW && offset >= immediate && offset < 0xfffff000 && random.one_in(2))
      offset -= immediate;
    if (access.kind == Access::ATOMIC)
      offset &= ~(access.bytes - 1);
    uint32_t index = random.below(records + 2);
    if (random.one_in(16))
      index = random.one_in(2) ? records : uint32_t(random()) | 0x80000000;
    m.v[vaddr + (has_index ? 1 : 0)][lane] = offset;
    if (has_index)
      m.v[vaddr][lane] = index;
  }
  if (access.kind == Access::ATOMIC)
    immediate &= ~7u;
  static const uint32_t constants[] = {128, 132, 144, 192};
  uint32_t soffset = random.one_of(constants);
  if (random.one_in(2)) {
    soffset = random.one_in(4) ? uint32_t(M0) : 68 + random.below(30);
    m.s[soffset] = random.below(32) * 8;
  }
  const bool to_lds = access.kind == Access::LOAD && access.bytes <= 4 &&
                      access.half == Access::WHOLE && random.one_in(5);
  if (to_lds && soffset != M0)
    m.s[M0] = 4 * random.below(512);
  Case c;
  c.words[0] = 0xe0000000 | row.number << 18 | immediate | uint32_t(has_offset) << 12 |
               uint32_t(has_index) << 13 | random.below(2) << 14 | uint32_t(to_lds) << 16 |
               random.below(2) << 17;
  c.words[1] = (has_offset || has_index ? vaddr : 0) | srsrc / 4 << 16 | soffset << 24;
  if (!to_lds)
    c.words[1] |= registers(random, data_dwords(row)) << 8 | random.below(2) << 23;
  return c;
}

} // namespace oracle
