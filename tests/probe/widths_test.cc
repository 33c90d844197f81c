// Which registers each opcode names, by its first and second dword, beside what llvm-mc makes of the same bytes: what is
// free is only what no instruction names.
#include "tests/probe/named.h"
#include "tests/tools/process.h"

#include <gtest/gtest.h>

namespace {

constexpr char assembler[] = "llvm-mc-22";

using Bytes = std::vector<uint32_t>;

// Operands differ from each other by more than the widest of them.
constexpr uint32_t s20 = 20, s40 = 40, s60 = 60, v = 256, v40 = 40, v80 = 80, v120 = 120,
                   v160 = 160;

void add_scalar(std::vector<Bytes> *all)
{
  for (uint32_t op = 0; op < 128; ++op)
    all->push_back({0x80000000 | op << 23 | s20 << 16 | s60 << 8 | s40});
  for (uint32_t op = 0; op < 128; ++op)
    all->push_back({0xbf000000 | op << 16 | s60 << 8 | s40});
  for (uint32_t op = 0; op < 256; ++op)
    all->push_back({0xbe800000 | op << 8 | s20 << 16 | s40});
  for (uint32_t op = 0; op < 32; ++op)
    all->push_back({0xb0000000 | op << 23 | s20 << 16 | 0x1234});
  for (uint32_t op = 0; op < 256; ++op)
    for (uint32_t bits : {0u, 1u << 16, 1u << 17, 1u << 14 | 1u << 17})
      all->push_back({0xc0000000 | op << 18 | bits | s20 << 6 | s40 / 2, s60 << 25 | s60});
}

// With sources of either kind.
void add_vector(std::vector<Bytes> *all)
{
  for (uint32_t source : {s40, v | v40}) {
    for (uint32_t op = 0; op < 64; ++op)
      all->push_back({op << 25 | v120 << 17 | v80 << 9 | source});
    for (uint32_t op = 0; op < 256; ++op) {
      all->push_back({0x7e000000 | v120 << 17 | op << 9 | source});
      all->push_back({0x7e000000 | s20 << 17 | op << 9 | source});
      all->push_back({0x7c000000 | op << 17 | v80 << 9 | source});
    }
    for (uint32_t op = 0; op < 1024; ++op)
      for (uint32_t last : {v | v120, s60, 0u})
        for (uint32_t mask : {0u, s60})
          all->push_back(
              {0xd0000000 | op << 16 | mask << 8 | s20, last << 18 | (v | v80) << 9 | source});
    for (uint32_t op = 0; op < 128; ++op)
      for (uint32_t acc : {0u, 1u, 2u, 3u})
        for (uint32_t kind : {0u, 1u})
          all->push_back({0xd3800000 | op << 16 | kind << 15 | v160,
                          acc << 27 | (v | v120) << 18 | (v | v80) << 9 | source});
  }
  for (uint32_t second : {uint32_t(CODE_DPP), uint32_t(CODE_SDWA)})
    for (uint32_t op = 0; op < 256; ++op)
      for (uint32_t bits : {0xff0e4000u, 0x06060600u, 0x86860600u, 0x0686a800u}) {
        all->push_back({0x7e000000 | v120 << 17 | op << 9 | second, bits | v40});
        all->push_back({0x7c000000 | op << 17 | v80 << 9 | second, bits | v40});
        all->push_back({(op & 63) << 25 | v120 << 17 | v80 << 9 | second, bits | v40});
      }
}

void add_memory(std::vector<Bytes> *all)
{
  for (uint32_t op = 0; op < 128; ++op) {
    for (uint32_t segment = 0; segment < 3; ++segment)
      for (uint32_t base : {0x7fu, s20})
        for (uint32_t acc : {0u, 1u})
          for (uint32_t returns : {0u, 1u})
            all->push_back({0xdc000000 | op << 18 | returns << 16 | segment << 14,
                            v160 << 24 | acc << 23 | base << 16 | v80 << 8 | v40});
    for (uint32_t bits = 0; bits < 8; ++bits) // OFFEN, IDXEN, GLC
      all->push_back(
          {0xe0000000 | op << 18 | bits << 12, s60 << 24 | s20 / 4 << 16 | v80 << 8 | v40});
  }
  for (uint32_t op = 0; op < 256; ++op)
    for (uint32_t acc : {0u, 1u})
      all->push_back({0xd8000000 | acc << 25 | op << 17, v160 << 24 | v120 << 16 | v80 << 8 | v40});
  for (uint32_t op = 0; op < 16; ++op)
    for (uint32_t bits = 0; bits < 4; ++bits)
      all->push_back(
          {0xe8780000 | op << 15 | bits << 12, s60 << 24 | s20 / 4 << 16 | v80 << 8 | v40});
}

// "\tv_add_f32_e32 v120, v40, v80 ; encoding: [0x28,0x51,0xf0,0x02]": the bytes, and what is named.
bool read_line(const char *line, Bytes *bytes, Named *named)
{
  const char *encoding = strstr(line, "encoding: [");
  if (line[0] != '\t' || !encoding || strstr(line, "Invalid register"))
    return false;
  const char *operands = line + 1 + strcspn(line + 1, " ");
  if (operands < encoding)
    add_named(operands, encoding, named);
  named->named[0] = code_set_below(&named->named[0], CODE_SGPRS);
  uint32_t shift = 0;
  for (const char *at = strstr(encoding, "0x"); at;
       at = strstr(at + 4, "0x"), shift = (shift + 8) % 32) {
    if (!shift)
      bytes->push_back(0);
    bytes->back() |= uint32_t(strtoul(at, nullptr, 16)) << shift;
  }
  return true;
}

// What is known of the opcodes by one chip; what it does not know is left out.
size_t compare(const std::vector<Bytes> &all, const char *processor)
{
  Scratch scratch;
  std::string text;
  for (const Bytes &bytes : all) {
    for (uint32_t dword : bytes)
      for (int shift = 0; shift < 32; shift += 8)
        text += "0x" + std::string(1, "0123456789abcdef"[dword >> shift >> 4 & 15]) +
                "0123456789abcdef"[dword >> shift & 15] + ' ';
    text += '\n';
  }
  spit(scratch / "bytes", text.data(), text.size());
  FILE *pipe = popen((std::string(assembler) +
                      " --disassemble --show-encoding --triple=amdgcn --mcpu=" + processor + " " +
                      (scratch / "bytes") + " 2>/dev/null")
                         .c_str(),
                     "r");
  char *line = nullptr;
  size_t room = 0, known = 0;
  while (pipe && getline(&line, &room, pipe) > 0) {
    Bytes bytes;
    Named named = {};
    if (!read_line(line, &bytes, &named))
      continue;
    code_t code;
    code_registers_t taken = {};
    if (!code_decode(bytes.data(), bytes.size(), &code)) {
      ADD_FAILURE() << processor << ": " << line;
      continue;
    }
    code_add_registers(&code, &taken);
    if (missing(named.named[0], taken.sgprs) + missing(named.named[1], taken.vgprs) +
        missing(named.named[2], taken.agprs))
      ADD_FAILURE() << processor << ": not all is taken that is named by " << line;
    ++known;
  }
  free(line);
  if (pipe)
    pclose(pipe);
  return known;
}

} // namespace

TEST(ProbeCode, OfEachOpcodeNamesWhatItsTextNames)
{
  if (system((std::string("command -v ") + assembler + " >/dev/null").c_str()) != 0)
    GTEST_SKIP() << "no " << assembler;
  std::vector<Bytes> all;
  add_scalar(&all);
  add_vector(&all);
  add_memory(&all);
  for (const char *processor : {"gfx90a", "gfx942", "gfx950"})
    EXPECT_GT(compare(all, processor), 5000u);
}
