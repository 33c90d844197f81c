#include "tests/softgpu/oracle/trial.h"

#include <cstdarg>

#include "tests/softgpu/isa/llvm.h"

extern "C" {
#include "softgpu/isa/run/program.h"
#include "softgpu/isa/run/width.h"
}

namespace oracle {
namespace {

std::string format(const char *pattern, ...) __attribute__((format(printf, 1, 2)));
std::string format(const char *pattern, ...)
{
  char text[300];
  va_list arguments;
  va_start(arguments, pattern);
  vsnprintf(text, sizeof text, pattern, arguments);
  va_end(arguments);
  return text;
}

// Any NaN, or any zero, where the model says so.
bool is_allowed(const Machine &model, const Open &open, const Machine &other)
{
  uint64_t value = other.v[open.row][open.lane];
  if (open.bits == 64)
    value |= uint64_t(other.v[open.row + 1][open.lane]) << 32;
  if (open.bits == 16) {
    if ((value ^ model.v[open.row][open.lane]) >> 16)
      return false;
    value &= 0xffff;
  }
  const Real &type = real_of(open.bits);
  return open.is_zero ? !(value & ~(1ull << (open.bits - 1))) : is_nan(type, value);
}

void accept_open(const Machine &model, Machine &other)
{
  for (const Open &open : model.open)
    if (is_allowed(model, open, other))
      for (unsigned i = 0; i < (open.bits == 64 ? 2 : 1); ++i)
        other.v[open.row + i][open.lane] = model.v[open.row + i][open.lane];
}

std::string bytes_differ(const char *what, const std::vector<uint8_t> &x,
                         const std::vector<uint8_t> &y, const std::vector<uint8_t> &z)
{
  for (size_t i = 0; (x != y || x != z) && i < x.size(); ++i)
    if (x[i] != y[i] || x[i] != z[i])
      return format("%s byte 0x%zx: model %02x, engine %02x, reference %02x", what, i, x[i], y[i],
                    z[i]);
  return "";
}

std::string registers_differ(char kind, const Machine &x, const Machine &y, const Machine &z)
{
  auto file = [&](const Machine &m) { return kind == 'v' ? m.v : m.a; };
  const size_t size = sizeof x.v;
  if (!memcmp(file(x), file(y), size) && !memcmp(file(x), file(z), size))
    return "";
  for (unsigned row = 0; row < ROWS; ++row)
    for (unsigned lane = 0; lane < LANES; ++lane) {
      const uint32_t p = file(x)[row][lane], q = file(y)[row][lane], r = file(z)[row][lane];
      if (p != q || p != r)
        return format("%c%u lane %u: model %08x, engine %08x, reference %08x", kind, row, lane, p,
                      q, r);
    }
  return "";
}

std::string state_differs(const Machine &x, const Machine &y, const Machine &z)
{
  for (unsigned i = 0; i < 128; ++i)
    if (x.s[i] != y.s[i] || x.s[i] != z.s[i])
      return format("s%u: model %08x, engine %08x, reference %08x", i, x.s[i], y.s[i], z.s[i]);
  if (x.scc != y.scc || x.scc != z.scc)
    return format("SCC: model %u, engine %u, reference %u", x.scc, y.scc, z.scc);
  if (x.mode != y.mode || x.mode != z.mode)
    return format("MODE: model %x, engine %x, reference %x", x.mode, y.mode, z.mode);
  if (x.pc != y.pc || x.pc != z.pc)
    return format("PC: model %llx, engine %llx, reference %llx", (unsigned long long)x.pc,
                  (unsigned long long)y.pc, (unsigned long long)z.pc);
  return "";
}

// What the memory instructions of a lane or a wave read, for reports.
std::string inputs(const Machine &m, const Row &row, const Case &c, const std::string &difference)
{
  std::string out = format(" [%s words %08x %08x, exec %016llx, mode %x, m0 %x",
                           m.is_gfx942 ? "gfx942" : "gfx90a", c.words[0], c.words[1],
                           (unsigned long long)m.exec(), m.mode, m.s[M0]);
  if (row.format == MUBUF || has(row.name, "s_buffer")) {
    const unsigned s = row.format == MUBUF ? (c.words[1] >> 16 & 31) * 4 : (c.words[0] & 63) * 2;
    out += format(", resource %08x %08x %08x %08x", m.s[s], m.s[s + 1], m.s[s + 2], m.s[s + 3]);
  }
  unsigned lane;
  const size_t at = difference.find("lane ");
  if (at != std::string::npos && sscanf(difference.c_str() + at, "lane %u", &lane) == 1 &&
      lane < 64) {
    const unsigned v = c.words[row.format >= VOP1 ? 0 : 1] & 0xff;
    if (v + 1 < ROWS)
      out += format(", v%u %08x v%u %08x", v, m.v[v][lane], v + 1, m.v[v + 1][lane]);
  }
  return out + format(", base %llx]", (unsigned long long)m.base);
}

} // namespace

Trial::Trial() : memory(MEMORY_BYTES), lds(LDS_BYTES)
{
  before = {};
  before.base = memory.address();
  before.scratch = memory.address() + MEMORY_BYTES - SCRATCH_BYTES;
  before.memory.resize(MEMORY_BYTES);
  before.lds.resize(LDS_BYTES);
  before.has_sramecc = true;
  dispatch.shared_aperture_hi = SHARED_APERTURE;
  dispatch.private_aperture_hi = PRIVATE_APERTURE;
  dispatch.scratch_base = before.scratch;
  dispatch.scratch_bytes = SCRATCH_BYTES;
  model = engine = reference = before;
}

Trial::Answer Trial::execute(Machine &m, const Case &c, bool by_reference)
{
  isa_inst_t decoded, prepared;
  isa_limits_t limits = {};
  limits.chip = m.is_gfx942 ? SOFTGPU_GFX942 : SOFTGPU_GFX90A;
  limits.sgprs = 102;
  limits.lanes = 64;
  limits.vgprs = limits.agprs = limits.first_agpr = ROWS;
  if (isa_decode(limits.chip, c.words, c.dwords, &decoded) != ISA_DECODED)
    return REFUSED;
  prepared = decoded;
  if (!isa_prepare(&prepared, &limits))
    return REFUSED;
  dispatch.sram_ecc = m.has_sramecc;
  isa_wave_t wave = {};
  fault = {};
  memcpy(wave.s, m.s, sizeof m.s);
  wave.v = m.v;
  wave.a = m.a;
  wave.sgprs = limits.sgprs;
  wave.lanes = 64;
  wave.vgprs = wave.agprs = ROWS;
  wave.pc = m.pc;
  wave.scc = m.scc;
  wave.mode = m.mode;
  wave.fault = &fault;
  wave.budget = 1000;
  wave.dispatch = &dispatch;
  wave.lds = lds.data();
  wave.lds_bytes = LDS_BYTES;
  wave.scratch = m.scratch;
  wave.private_bytes = PRIVATE_BYTES;
  wave.thread = &thread;
  const bool has_memory = !m.memory.empty();
  if (has_memory) {
    memcpy(memory.as<void>(), m.memory.data(), MEMORY_BYTES);
    lds = m.lds;
  }
  bool ok = by_reference ? isa_reference_run(&wave, &decoded) : prepared.run(&wave, &prepared);
  ok &= isa_lds_loads_land(&wave, UINT64_MAX);
  if (has_memory) {
    memcpy(m.memory.data(), memory.as<void>(), MEMORY_BYTES);
    m.lds = lds;
  }
  memcpy(m.s, wave.s, sizeof m.s);
  m.pc = wave.pc;
  m.scc = wave.scc;
  m.mode = wave.mode;
  return ok ? RAN : FAULTED;
}

void Trial::duplicate(Machine &to, bool with_vectors, bool with_memory) const
{
  if (with_vectors) {
    memcpy(to.v, before.v, sizeof to.v);
    memcpy(to.a, before.a, sizeof to.a);
  }
  memcpy(to.s, before.s, sizeof to.s);
  to.scc = before.scc;
  to.mode = before.mode;
  to.pc = before.pc;
  to.is_gfx942 = before.is_gfx942;
  to.has_sramecc = before.has_sramecc;
  to.open.clear();
  to.memory = with_memory ? before.memory : std::vector<uint8_t>();
  to.lds = with_memory ? before.lds : std::vector<uint8_t>();
}

std::string Trial::run(const Row &row, const Case &c, Outcome &outcome)
{
  const bool with_vectors = has_vectors(row), with_memory = row.format <= MUBUF;
  for (Machine *m : {&model, &engine, &reference})
    duplicate(*m, with_vectors, with_memory);
  outcome = step(model, c.words);
  if (outcome == UNDECIDED)
    return "";
  std::string difference;
  const Answer x = execute(engine, c, false), y = execute(reference, c, true);
  if (x == REFUSED || y == REFUSED)
    difference = "an engine does not run it";
  else if ((x == FAULTED) != (outcome == FAULT) || (y == FAULTED) != (outcome == FAULT))
    difference = format("faults: model %d, engine %d, reference %d (kind %d lane %u at %llx)",
                        outcome == FAULT, x == FAULTED, y == FAULTED, int(fault.kind), fault.lane,
                        (unsigned long long)fault.address);
  else if (outcome == DONE) {
    accept_open(model, engine);
    accept_open(model, reference);
    difference = state_differs(model, engine, reference);
    for (char file : {'v', 'a'})
      if (with_vectors && difference.empty())
        difference = registers_differ(file, model, engine, reference);
    if (with_memory && difference.empty())
      difference = bytes_differ("memory", model.memory, engine.memory, reference.memory);
    if (with_memory && difference.empty())
      difference = bytes_differ("LDS", model.lds, engine.lds, reference.lds);
  }
  return difference;
}

std::string Trial::describe(const Row &row, const Case &c, const std::string &difference) const
{
  const auto lines = llvm::available()
                         ? llvm::disassemble({before.is_gfx942 ? "gfx942" : "gfx90a"},
                                             {{0xbf800000}, {c.words, c.words + c.dwords}})
                         : std::vector<llvm::Disassembled>();
  return (lines.empty() ? row.name : lines[1].text) + ": " + difference +
         inputs(before, row, c, difference);
}

} // namespace oracle
