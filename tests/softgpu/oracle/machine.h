// A third model of GFX9 instructions, for gfx90a and gfx942: the memory instructions and everything that has state. It
// was written by somebody who had read neither of softgpu's engines, decodes the words itself, and favours plainness over
// speed. Its sources: LLVM's assembler and what its developers say in code and pull requests, AMD's ISA guide for CDNA 4
// ("the guide", with its section), and, from memory, the guides before it.
// Where the documents are silent or contradict each other a comment says "undecided". XNACK replays what faults and changes
// no result, so that there is nothing of it here; neither are messages (s_sendmsg) and GWS, which have no state in a wave.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace oracle {

enum { LANES = 64, ROWS = 32, LDS_BYTES = 2048, PRIVATE_BYTES = 64 };
enum { SCRATCH_BYTES = LANES * PRIVATE_BYTES, MEMORY_BYTES = 4096 + SCRATCH_BYTES };
enum { FLAT_SCRATCH = 102, VCC = 106, M0 = 124, EXEC = 126 };

// Upper halves of the addresses by which flat instructions reach LDS and scratch memory.
enum { SHARED_APERTURE = 0x10000, PRIVATE_APERTURE = 0x20000 };

// A result that the documents leave open: any NaN of that width, or a zero of either sign. A VGPR's `lane`.
struct Open {
  unsigned row, lane, bits;
  bool is_zero;
};

// What tests want to know of a case.
enum Fact {
  D16_CLEARS = 1,         // a 16-bit load that does not keep the other half
  LDS_OUTSIDE = 2,        // LDS beyond its end
  BUFFER_SATURATES = 4,   // a dword of a buffer whose offset would wrap around at 2^32
  SCALAR_UNALIGNED = 8,   // a scalar address whose lowest bits are ignored
  FLAT_APERTURE = 16,     // a flat access whose offset leaves the register's aperture
  THREADS_UNCHECKED = 32, // a buffer that adds the thread id, and would be out of range if checked

  SCALAR_STORE_PARTLY = 128, // a scalar store to a buffer of which some dwords are out of range
  MAXIMUM_OF_EQUALS = 256,   // s_max of two equal values
  SWIZZLE_FFT = 512,         // ds_swizzle_b32 in its FFT mode
};

struct Machine {
  uint32_t v[ROWS][LANES], a[ROWS][LANES]; // architectural and accumulation VGPRs
  uint32_t s[128]; // by operand encoding: VCC at 106, M0 at 124, EXEC at 126
  uint32_t scc, mode;
  uint64_t pc; // of the instruction that follows
  std::vector<uint8_t> lds, memory;
  uint64_t base;    // address of memory[0]; all other addresses fault
  uint64_t scratch; // address of the wave's slice, in `memory`
  bool is_gfx942, has_sramecc;
  std::vector<Open> open;
  unsigned facts; // Fact: what the last instruction's result depends on

  uint64_t pair(unsigned index) const { return s[index] | uint64_t(s[index + 1]) << 32; }
  void set_pair(unsigned index, uint64_t value)
  {
    s[index] = uint32_t(value);
    s[index + 1] = uint32_t(value >> 32);
  }
  uint64_t exec() const { return pair(EXEC); }
  bool is_active(unsigned lane) const { return exec() >> lane & 1; }
};

enum Format {
  SMEM,
  DS,
  FLAT,
  SCRATCH,
  GLOBAL,
  MUBUF,
  VOP1,
  VOP2,
  VOPC,
  VOP3,
  SOP1,
  SOP2,
  SOPC,
  SOPK,
  SOPP,
  FORMATS
};

// What a memory instruction's name says.
struct Access {
  enum Kind { NONE, LOAD, STORE, ATOMIC } kind = NONE;
  enum Half { WHOLE, LOW, HIGH } half = WHOLE; // D16
  unsigned bytes = 4;                          // of each address
  unsigned addresses = 1, stride = 1;          // DS read2 ..: bytes that an offset counts
  bool is_signed = false, returns = false, to_lds = false;
  std::string op; // of an atomic
  unsigned dwords() const { return (bytes + 3) / 4; }
};

struct Row {
  Format format;
  unsigned number;
  std::string name;
  bool gfx942_only;
  Access access;
};

const std::vector<Row> &rows();
// The row that the words encode; NULL when the model has none.
const Row *decode(const uint32_t words[3]);

// FAULT: memory that is not there; nothing is said about the state then. UNDECIDED: the documents do not say.
enum Outcome { DONE, FAULT, UNDECIDED };

// Executes one instruction. `m.pc` has been advanced past it.
Outcome step(Machine &m, const uint32_t words[3]);

// --- the parts ---

Outcome step_smem(Machine &m, const Row &row, const uint32_t words[3]);
Outcome step_vmem(Machine &m, const Row &row, const uint32_t words[3]); // FLAT to MUBUF
Outcome step_ds(Machine &m, const Row &row, const uint32_t words[3]);
Outcome step_scalar(Machine &m, const Row &row, const uint32_t words[3]);
Outcome step_vector(Machine &m, const Row &row, const uint32_t words[3]);

// A scalar operand of 32 bits; `literal` is the word that follows.
uint32_t scalar(const Machine &m, unsigned code, uint32_t literal);

// An atomic's new value. Data of `bits` width, 32 or 64.
uint64_t combine(const std::string &op, uint64_t old, uint64_t data, uint64_t second,
                 unsigned bits);

// A loaded value of 1, 2 or 4 bytes as it is written to a register that held `before`.
uint32_t widen(const Access &access, uint32_t value, uint32_t before, bool has_sramecc);

inline bool ends_with(const std::string &text, const std::string &end)
{
  return text.size() >= end.size() && !text.compare(text.size() - end.size(), end.size(), end);
}
inline bool has(const std::string &text, const std::string &part)
{
  return text.find(part) != std::string::npos;
}

// --- floating point: real.cc ---

struct Real {
  unsigned fraction, exponent; // bits of the fields
  unsigned bits() const { return 1 + fraction + exponent; }
};
const Real &real_of(unsigned bits); // 16, 32 or 64

bool is_nan(const Real &type, uint64_t x);
bool is_signalling(const Real &type, uint64_t x);
bool is_denormal(const Real &type, uint64_t x);
// x < y, x == y, x > y as -1, 0, 1; neither is a NaN.
int compare(const Real &type, uint64_t x, uint64_t y);
// x * y + z with one rounding; `round` as in MODE. Without `has_addend` the product alone.
uint64_t multiply_add(const Real &type, uint64_t x, uint64_t y, uint64_t z, unsigned round,
                      bool has_addend);

} // namespace oracle
