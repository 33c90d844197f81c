// Scalar memory, flat, global, scratch and buffer instructions.
#include "tests/softgpu/oracle/machine.h"

#include <cstring>

namespace oracle {

uint64_t combine(const std::string &op, uint64_t old, uint64_t data, uint64_t second, unsigned bits)
{
  const uint64_t mask = bits == 64 ? ~0ull : (1ull << bits) - 1;
  old &= mask;
  data &= mask;
  const int64_t x = bits == 64 ? int64_t(old) : int32_t(old);
  const int64_t y = bits == 64 ? int64_t(data) : int32_t(data);
  uint64_t out = 0;
  if (op == "swap" || op == "wrxchg")
    out = data;
  else if (op ==
           "cmpswap") // data is the new value, the second pair of registers what to compare with
    out = old == (second & mask) ? data : old;
  else if (op == "cmpst") // and the other way round in LDS
    out = old == data ? second : old;
  else if (op == "add")
    out = old + data;
  else if (op == "sub")
    out = old - data;
  else if (op == "rsub")
    out = data - old;
  else if (op == "smin")
    out = uint64_t(x < y ? x : y);
  else if (op == "smax")
    out = uint64_t(x > y ? x : y);
  else if (op == "umin")
    out = old < data ? old : data;
  else if (op == "umax")
    out = old > data ? old : data;
  else if (op == "and")
    out = old & data;
  else if (op == "or")
    out = old | data;
  else if (op == "xor")
    out = old ^ data;
  else if (op == "inc")
    out = old >= data ? 0 : old + 1;
  else if (op == "dec")
    out = old == 0 || old > data ? data : old - 1;
  else if (op == "mskor")
    out = (old & ~data) | second;
  else if (op == "wrap")
    out = old >= data ? old - data : old + second;
  return out & mask;
}

// With SRAM-ECC a 16-bit load writes the whole register and clears the half that it does not load (AMD: "16-bit memory
// operations"; LLVM: d16PreservesUnusedBits()); without, that half stays.
uint32_t widen(const Access &access, uint32_t value, uint32_t before, bool has_sramecc)
{
  if (access.bytes == 1)
    value = access.is_signed ? uint32_t(int32_t(int8_t(value))) : value & 0xff;
  else if (access.bytes == 2)
    value = access.is_signed ? uint32_t(int32_t(int16_t(value))) : value & 0xffff;
  if (access.half == Access::WHOLE)
    return value;
  value &= 0xffff;
  if (has_sramecc)
    before = 0;
  return access.half == Access::LOW ? (before & 0xffff0000) | value
                                    : (before & 0xffff) | value << 16;
}

namespace {

// Where the bytes of one lane's access are.
struct Place {
  enum Kind { ABSENT, MEMORY, IN_LDS } kind[16] = {}; // ABSENT: reads give 0, writes are dropped
  uint64_t at[16] = {};
};

// False for an address without memory.
bool touch(Machine &m, const Place &place, unsigned byte, uint8_t *&data)
{
  static uint8_t nothing;
  nothing = 0;
  data = &nothing;
  if (place.kind[byte] == Place::MEMORY) {
    if (place.at[byte] < m.base || place.at[byte] - m.base >= m.memory.size())
      return false;
    data = &m.memory[place.at[byte] - m.base];
  } else if (place.kind[byte] == Place::IN_LDS) {
    data = &m.lds[place.at[byte]];
  }
  return true;
}

bool read(Machine &m, const Place &place, unsigned first, unsigned bytes, uint64_t &value)
{
  value = 0;
  for (unsigned i = 0; i < bytes; ++i) {
    uint8_t *data;
    if (!touch(m, place, first + i, data))
      return false;
    value |= uint64_t(*data) << 8 * i;
  }
  return true;
}

bool write(Machine &m, const Place &place, unsigned first, unsigned bytes, uint64_t value)
{
  for (unsigned i = 0; i < bytes; ++i) {
    uint8_t *data;
    if (!touch(m, place, first + i, data))
      return false;
    *data = uint8_t(value >> 8 * i);
  }
  return true;
}

struct Vmem {
  uint32_t low, high; // the words
  bool has_acc() const { return high >> 23 & 1; }
  unsigned vaddr() const { return high & 0xff; }
};

// Scratch memory is interleaved: dword n of lane l is at n * 256 + l * 4. False: beyond the private segment.
bool place_in_scratch(const Machine &m, unsigned lane, uint64_t offset, unsigned bytes,
                      Place &place)
{
  for (unsigned i = 0; i < bytes; ++i) {
    const uint64_t o = offset + i;
    if (o >= PRIVATE_BYTES)
      return false;
    place.kind[i] = Place::MEMORY;
    place.at[i] = m.pair(FLAT_SCRATCH) + o / 4 * 4 * LANES + lane * 4 + o % 4;
  }
  return true;
}

// The aperture is that of the register: the test ignores the instruction's offset (LLVM pull requests 132353, 153001).
Outcome place_flat(Machine &m, uint64_t base, uint64_t address, unsigned lane, const Access &access,
                   Place &place)
{
  const uint32_t aperture = uint32_t(base >> 32), offset = uint32_t(address);
  m.facts |= aperture != address >> 32 ? FLAT_APERTURE : 0;
  if (aperture == PRIVATE_APERTURE) {
    // Undecided: atomics on scratch memory.
    if (access.kind == Access::ATOMIC)
      return UNDECIDED;
    return place_in_scratch(m, lane, offset, access.bytes, place) ? DONE : FAULT;
  }
  if (aperture == SHARED_APERTURE && uint64_t(offset) + access.bytes > LDS_BYTES)
    return UNDECIDED; // a memory violation, or LDS' own rule?
  for (unsigned i = 0; i < access.bytes; ++i) {
    place.kind[i] = aperture == SHARED_APERTURE ? Place::IN_LDS : Place::MEMORY;
    place.at[i] = aperture == SHARED_APERTURE ? offset + i : address + i;
  }
  return DONE;
}

// FLAT: 64-bit VGPR pair and a 12-bit unsigned offset. GLOBAL: the pair, or SGPR pair and 32-bit VGPR, and a 13-bit
// signed offset. SCRATCH: VGPR or SGPR offset, on gfx942 also none or both (bit SVE).
Outcome place_by_address(Machine &m, const Row &row, Vmem w, unsigned lane, Place &place)
{
  const unsigned saddr = w.high >> 16 & 0x7f;
  const int32_t offset = int32_t(w.low << 19) >> 19;
  const bool has_saddr = row.format != FLAT && saddr != 0x7f;
  if (row.format == SCRATCH) {
    const bool has_vaddr = m.is_gfx942 ? w.low >> 13 & 1 : !has_saddr;
    int64_t at = offset;
    at += has_saddr ? m.s[saddr] : 0;
    at += has_vaddr ? m.v[w.vaddr()][lane] : 0;
    // Undecided: whether the sum wraps at 2^32. (To LLVM the registers are unsigned, isFlatScratchBaseLegal.)
    if (at > int64_t(UINT32_MAX))
      return UNDECIDED;
    return at >= 0 && place_in_scratch(m, lane, uint64_t(at), row.access.bytes, place) ? DONE
                                                                                       : FAULT;
  }
  uint64_t address = m.v[w.vaddr()][lane];
  if (row.format == FLAT || !has_saddr)
    address |= uint64_t(m.v[w.vaddr() + 1][lane]) << 32;
  else
    address += m.pair(saddr);
  if (row.format == FLAT)
    return place_flat(m, address, address + (w.low & 0xfff), lane, row.access, place);
  for (unsigned i = 0; i < row.access.bytes; ++i) {
    place.kind[i] = Place::MEMORY;
    place.at[i] = address + uint64_t(int64_t(offset)) + i;
  }
  return DONE;
}

// The resource constant of a buffer.
struct Resource {
  uint64_t base;
  uint32_t stride, records, index_stride;
  bool swizzles, adds_tid;
  Resource(const Machine &m, unsigned s)
      : base((m.pair(s)) & 0xffffffffffff), stride(m.s[s + 1] >> 16 & 0x3fff), records(m.s[s + 2]),
        index_stride(8u << (m.s[s + 3] >> 21 & 3)), swizzles(m.s[s + 1] >> 31),
        adds_tid(m.s[s + 3] >> 23 & 1)
  {
    if (adds_tid) // the data format is the upper part of a stride of 18 bits then
      stride |= (m.s[s + 3] >> 15 & 15) << 14;
  }
};

struct Buffered {
  uint64_t index, offset; // of the first byte
  bool has_index;
  uint64_t soffset;
};

// Whether `bytes` at `offset` exist. Raw buffers: all of the unit must be before num_records - soffset, which does not
// wrap, and neither do the offsets of a unit's dwords; the sum of the VGPR's and the instruction's offset does, at 2^32.
// Structured buffers are checked by the index alone, those that add the thread id without an index not at all. (AMD's
// guides for CDNA, 9.1.5.1, which leave out the unit's size and soffset; pull request 10928 of rocm-systems has both, and
// the wrapping, from gfx950 hardware; LLVM's 207821 says "voffset +[checked] imm + payload > num_records -[saturating]
// soffset".) A stride of 0 makes a buffer raw in spite of an index (Mesa).
Outcome check(const Resource &r, const Buffered &b, uint64_t offset, unsigned bytes)
{
  if (r.adds_tid)
    return b.has_index ? UNDECIDED : DONE;
  if (b.has_index && r.stride) {
    if (b.index < r.records && r.swizzles && offset + bytes > r.stride)
      return UNDECIDED; // GCN 3's guide looks at the offset of swizzled buffers, CDNA's does not
    return b.index < r.records ? DONE : FAULT;
  }
  if (r.swizzles)
    return UNDECIDED; // neither raw nor structured
  const uint64_t size = r.records > b.soffset ? r.records - b.soffset : 0;
  return offset + bytes <= size ? DONE : FAULT;
}

// An element is a dword. Undecided: GFX9's constant has no element size in AMD's table and to LLVM, but has one in the
// text beside the table and in ROCr's header; tests write 4 bytes there.
uint64_t address_of(const Resource &r, uint64_t index, uint64_t offset)
{
  if (!r.swizzles)
    return r.base + offset + index * r.stride;
  const uint64_t in_stride = index % r.index_stride;
  return r.base + (index / r.index_stride * r.stride + offset / 4 * 4) * r.index_stride +
         in_stride * 4 + offset % 4;
}

Outcome place_in_buffer(Machine &m, const Row &row, Vmem w, unsigned lane, Place &place)
{
  const Resource r(m, (w.high >> 16 & 0x1f) * 4);
  const bool has_offset = w.low >> 12 & 1, has_index = w.low >> 13 & 1;
  const uint64_t soffset = scalar(m, w.high >> 24, 0);
  Buffered b = {has_index ? m.v[w.vaddr()][lane] : 0u, w.low & 0xfff, has_index, soffset};
  b.offset = uint32_t(b.offset + (has_offset ? m.v[w.vaddr() + has_index][lane] : 0u));
  b.index += r.adds_tid ? lane : 0;
  const bool is_atomic = row.access.kind == Access::ATOMIC; // all or nothing
  bool is_there[4] = {};
  const unsigned units = row.access.dwords();
  if (r.swizzles && b.offset % 4 + (row.access.bytes > 4 ? 4 : row.access.bytes) > 4)
    return UNDECIDED; // must be aligned; several dwords are swizzled one by one (rocm-systems 11240)
  if (r.swizzles && is_atomic && units == 2)
    return UNDECIDED; // its halves are apart
  for (unsigned i = 0; i < units; ++i) {
    const uint64_t end = b.offset + 4 * i + (units > 1 ? 4 : row.access.bytes);
    m.facts |= end > UINT32_MAX ? BUFFER_SATURATES : 0;

    m.facts |= r.adds_tid && r.records != UINT32_MAX ? THREADS_UNCHECKED : 0;

    Outcome outcome = check(r, b, b.offset + (is_atomic ? 0 : 4 * i),
                            units > 1 && !is_atomic ? 4 : row.access.bytes);
    if (outcome == UNDECIDED)
      return outcome;
    is_there[i] = outcome == DONE;
  }

  for (unsigned i = 0; i < row.access.bytes; ++i)
    if (is_there[i / 4]) {
      place.kind[i] = Place::MEMORY;
      place.at[i] = address_of(r, b.index, b.offset + i) + soffset;
    }
  return DONE;
}

// Loads to LDS: M0 has the base, the instruction's offset counts for both sides, each lane has a dword. (GCN 3 guide;
// CDNA 4: "the return data must not be written outside the LDS space".) LLVM takes it for a store of a dword whatever
// was loaded.
void load_to_lds(Machine &m, unsigned offset, unsigned lane, uint32_t value)
{
  const uint64_t at = (m.s[M0] & 0xffff) + offset + lane * 4;
  m.facts |= at + 4 > LDS_BYTES ? LDS_OUTSIDE : 0;
  if (at + 4 <= LDS_BYTES)
    memcpy(&m.lds[at], &value, 4);
}

bool transfer(Machine &m, const Row &row, Vmem w, unsigned lane, const Place &place)
{
  const Access &access = row.access;
  const bool is_buffer = row.format == MUBUF;
  uint32_t(*file)[LANES] = w.has_acc() ? m.a : m.v;
  const unsigned source = w.high >> 8 & 0xff, target = is_buffer ? source : w.high >> 24;
  const bool to_lds = is_buffer ? w.low >> 16 & 1 : access.to_lds;
  if (access.kind == Access::ATOMIC) {
    const unsigned d = access.bytes / 4;
    uint64_t data[2] = {}, old;
    for (unsigned i = 0; i < (access.op == "cmpswap" ? 2 * d : d); ++i)
      data[i / d] |= uint64_t(file[source + i][lane]) << 32 * (i % d);
    if (!read(m, place, 0, access.bytes, old))
      return false;
    write(m, place, 0, access.bytes, combine(access.op, old, data[0], data[1], 8 * access.bytes));
    for (unsigned i = 0; w.low >> (is_buffer ? 14 : 16) & 1 && i < d; ++i) // GLC
      file[target + i][lane] = uint32_t(old >> 32 * i);
    return true;
  }
  for (unsigned i = 0; i < access.dwords(); ++i) {
    const unsigned bytes = access.bytes < 4 ? access.bytes : 4;
    uint64_t value;
    if (access.kind == Access::STORE) {
      value = file[source + i][lane] >> (access.half == Access::HIGH ? 16 : 0);
      if (!write(m, place, 4 * i, bytes, value))
        return false;
    } else {
      if (!read(m, place, 4 * i, bytes, value))
        return false;
      const int offset = is_buffer ? int(w.low & 0xfff) : int32_t(w.low << 19) >> 19;
      m.facts |= access.half != Access::WHOLE && m.has_sramecc ? D16_CLEARS : 0;
      if (to_lds)
        load_to_lds(m, unsigned(offset), lane, widen(access, uint32_t(value), 0, true));
      else
        file[target + i][lane] =
            widen(access, uint32_t(value), file[target + i][lane], m.has_sramecc);
    }
  }
  return true;
}

} // namespace

// Undecided: the order in which lanes reach the same address. Here, as in AMD's pseudocode, the lowest lane is first.
Outcome step_vmem(Machine &m, const Row &row, const uint32_t words[3])
{
  const Vmem w = {words[0], words[1]};
  std::vector<Place> places(LANES);
  for (unsigned lane = 0; lane < LANES; ++lane) {
    if (!m.is_active(lane))
      continue;
    Outcome outcome = row.format == MUBUF ? place_in_buffer(m, row, w, lane, places[lane])
                                          : place_by_address(m, row, w, lane, places[lane]);
    if (outcome != DONE)
      return outcome;
    const Place &place = places[lane];
    if (row.access.kind == Access::ATOMIC && place.kind[0] && place.at[0] % row.access.bytes)
      return UNDECIDED; // not aligned
  }
  for (unsigned lane = 0; lane < LANES; ++lane)
    if (m.is_active(lane) && !transfer(m, row, w, lane, places[lane]))
      return FAULT;
  return DONE;
}

// ADDR = SBASE + OFFSET. IMM chooses a signed 21-bit offset or a register, SOE has both (SOFFSET). The two lowest bits
// of each part are ignored. Buffers: the constant's base, stride and size; out of range dwords read 0 and are not
// stored. Their size is in bytes when the stride is 0, and else in strides (Mesa; RDNA 4's guide; CDNA's has a misprint).
Outcome step_smem(Machine &m, const Row &row, const uint32_t words[3])
{
  const uint32_t low = words[0], high = words[1];
  const unsigned sbase = (low & 0x3f) * 2, sdata = low >> 6 & 0x7f;
  const bool has_immediate = low >> 17 & 1, has_soffset = low >> 14 & 1;
  int64_t offset = has_immediate ? int32_t(high << 11) >> 11 : 0;
  if (has_soffset)
    offset += m.s[high >> 25];
  else if (!has_immediate)
    offset += m.s[high & 0x7f];
  if (offset < 0 && has_soffset)
    return UNDECIDED; // "illegal"
  const bool is_buffer = has(row.name, "_buffer_");
  uint64_t base = m.pair(sbase), size = ~0ull;
  if (is_buffer) {
    const uint32_t stride = m.s[sbase + 1] >> 16 & 0x3fff;
    if (offset < 0)
      return UNDECIDED;
    base &= 0xffffffffffff;
    size = uint64_t(m.s[sbase + 2]) * (stride ? stride : 1);
  }
  m.facts |= ((base | uint64_t(offset)) & 3) ? SCALAR_UNALIGNED : 0;
  // Undecided: whether the parts lose their lowest bits before or after they are added.
  if ((base & 3) + (uint64_t(offset) & 3) > 3)
    return UNDECIDED;
  const uint64_t first = uint64_t(offset) & ~3ull, end = first + row.access.bytes;
  if (row.access.kind == Access::STORE && first < size && end > size)
    m.facts |= SCALAR_STORE_PARTLY;
  std::vector<uint32_t> loaded(row.access.dwords());
  const uint64_t begin = (base + uint64_t(offset)) & ~3ull;
  for (unsigned i = 0; i < row.access.dwords(); ++i) {
    const uint64_t o = first + 4 * i;
    if (is_buffer && o < size && o + 4 > size)
      return UNDECIDED;
    if (is_buffer && o >= size)
      continue;
    Place place;
    uint64_t value;
    for (unsigned byte = 0; byte < 4; ++byte) {
      place.kind[byte] = Place::MEMORY;
      place.at[byte] = begin + 4 * i + byte;
    }
    if (row.access.kind == Access::STORE) {
      if (!write(m, place, 0, 4, m.s[sdata + i]))
        return FAULT;
    } else {
      if (!read(m, place, 0, 4, value))
        return FAULT;
      loaded[i] = uint32_t(value);
    }
  }
  for (unsigned i = 0; row.access.kind == Access::LOAD && i < row.access.dwords(); ++i)
    m.s[sdata + i] = loaded[i];
  return DONE;
}

} // namespace oracle
