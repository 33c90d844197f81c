// What probes know of instructions, against what llvm-objdump prints of the same bytes: where each ends, and that no
// register it names is taken for free.
#include <glob.h>

#include <rawhal/container.h>

#include "tests/extended.h"
#include "tests/tools/process.h"

extern "C" {
#include "probe/plan.h"
}

namespace {

constexpr char disassembler[] = "llvm-objdump-22"; // knows gfx950

struct Line {
  uint32_t bytes;
  uint32_t named[3]; // SGPRs, VGPRs, AGPRs: one more than the highest
};
using Listing = std::map<uint64_t, Line>;

bool has_disassembler()
{
  return system((std::string("command -v ") + disassembler + " >/dev/null").c_str()) == 0;
}

uint64_t number(const char **at)
{
  char *end;
  const uint64_t value = strtoul(*at, &end, 10);
  *at = end;
  return value;
}

// s5, v[4:7]; not a part of another word, as in 0xa1 or vcc.
void add_named(const char *text, const char *end, Line *line)
{
  for (const char *at = text; at < end; ++at) {
    const char *kind = strchr("sva", *at);
    if (!kind || !*kind || (at > text && (isalnum(at[-1]) || at[-1] == '_')))
      continue;
    const char *next = at + 1;
    if (*next == '[')
      ++next;
    if (!isdigit(*next))
      continue;
    uint64_t last = number(&next);
    if (at[1] == '[' && *next == ':')
      last = number(&++next);
    if (at[1] != '[' && (isalnum(*next) || *next == '_'))
      continue;
    uint32_t &named = line->named[kind - "sva"];
    named = std::max(named, static_cast<uint32_t>(last + 1));
  }
}

// "\ts_load_dword s0, s[4:5], 0x0   // 000000001000: C0020002 00000000"
Listing list(const std::string &path, const char *processor)
{
  Listing listing;
  FILE *pipe = popen(
      (std::string(disassembler) + " -d --mcpu=" + processor + " " + path + " 2>/dev/null").c_str(),
      "r");
  char *text = nullptr;
  size_t room = 0;
  while (pipe && getline(&text, &room, pipe) > 0) {
    const char *comment = strstr(text, "// ");
    if (text[0] != '\t' || !comment)
      continue;
    char *words;
    const uint64_t address = strtoull(comment + 3, &words, 16);
    Line line = {};
    for (const char *at = words + 1; isxdigit(at[1]); at += 9) // " C0020002 00000000"
      line.bytes += 4;
    const char *operands = text + 1 + strcspn(text + 1, " ");
    add_named(operands, comment, &line);
    line.named[0] = std::min<uint32_t>(line.named[0], CODE_SGPRS);
    listing[address] = line;
  }
  free(text);
  if (pipe)
    pclose(pipe);
  return listing;
}

struct Figures {
  size_t kernels, refused, instructions, larger[3];
};

void compare_one(uint64_t address, const code_t &code, const Line &line)
{
  code_registers_t named = {};
  code_add_registers(&code, &named);
  EXPECT_EQ(line.bytes, code.dwords * 4u) << std::hex << address;
  EXPECT_LE(line.named[0], named.sgprs) << std::hex << address;
  EXPECT_LE(line.named[1], named.vgprs) << std::hex << address;
  EXPECT_LE(line.named[2], named.agprs) << std::hex << address;
}

// All of a kernel's symbol, one after the other.
void compare_linear(const rawhal_kernel_t *kernel, const Listing &listing, Figures *figures)
{
  walk_t walk;
  uint32_t preamble;
  rawhal_error_t error;
  ASSERT_EQ(RAWHAL_OK, plan_code(kernel, &walk, &preamble, &error)) << error.message;
  const uint64_t first = kernel->descriptor->entry + preamble;
  uint64_t at = 0;
  for (auto line = listing.find(first); line != listing.end(); ++line) {
    code_t code;
    if (line->first != first + at * 4) // padding that is not printed
      return;
    if (!code_decode(walk.code + at * 4, walk.available - at, &code)) // data behind the code
      return;
    compare_one(line->first, code, line->second);
    if (testing::Test::HasFailure())
      return;
    at += code.dwords;
    ++figures->instructions;
    if (code.flow == CODE_ENDS && !walk.code[at * 4] && !walk.code[at * 4 + 1])
      return;
  }
}

// What the kernel can reach, and what its plan makes of that.
void compare_plan(const rawhal_kernel_t *kernel, const Listing &listing, Figures *figures)
{
  rawhal_probe_spec_t spec = {};
  rawhal_probe_plan_t *plan;
  rawhal_error_t error;
  spec.size = sizeof(spec);
  spec.kinds = RAWHAL_PROBE_WAVES;
  ++figures->kernels;
  if (rawhal_probe_plan(kernel, &spec, &plan, &error) != RAWHAL_OK) {
    EXPECT_TRUE(error.status == RAWHAL_UNSUPPORTED || error.status == RAWHAL_MALFORMED)
        << error.message;
    ++figures->refused;
    return;
  }
  Line highest = {};
  const uint64_t first = kernel->descriptor->entry + plan->preamble;
  for (uint32_t i = 0; i < plan->walk.count; ++i) {
    const walk_instruction_t *one = &plan->walk.instructions[i];
    const auto line = listing.find(first + one->at * 4);
    if (line == listing.end() || line->second.bytes != one->dwords * 4u) {
      ADD_FAILURE() << "at +" << one->at * 4 << " there is another instruction";
      break;
    }
    for (int kind = 0; kind < 3; ++kind)
      highest.named[kind] = std::max(highest.named[kind], line->second.named[kind]);
  }
  const rawhal_probe_plan_info_t *info = rawhal_probe_plan_info(plan);
  const uint32_t named[3] = {info->named_sgprs, info->named_vgprs, info->named_agprs};
  for (int kind = 0; kind < 3; ++kind) {
    EXPECT_LE(highest.named[kind], named[kind]) << "sva"[kind];
    figures->larger[kind] += named[kind] > highest.named[kind];
  }
  rawhal_probe_plan_destroy(plan);
}

void compare_object(const rawhal_bytes_t &bytes, Figures *figures)
{
  rawhal_hsaco_t *hsaco = nullptr;
  if (rawhal_hsaco_open(bytes.data, bytes.size, nullptr, &hsaco, nullptr) != RAWHAL_OK)
    return;
  const rawhal_hsaco_info_t *info = rawhal_hsaco_info(hsaco);
  const std::string processor = info->target.processor;
  if (processor == "gfx90a" || processor == "gfx942" || processor == "gfx950") {
    Scratch scratch;
    spit(scratch / "object", bytes.data, bytes.size);
    const Listing listing = list(scratch / "object", processor.c_str());
    for (size_t i = 0; i < info->kernel_count && !testing::Test::HasFailure(); ++i) {
      const rawhal_kernel_t *kernel = rawhal_hsaco_kernel(hsaco, i);
      SCOPED_TRACE(std::string(kernel->name.data, kernel->name.size));
      if (!kernel->usable)
        continue;
      compare_linear(kernel, listing, figures);
      compare_plan(kernel, listing, figures);
    }
  }
  rawhal_hsaco_close(hsaco);
}

// Every `step`th object of what the pattern names.
void compare(const std::string &pattern, const std::string &missing, size_t step = 1)
{
  if (!has_disassembler())
    GTEST_SKIP() << "no " << disassembler;
  glob_t found = {};
  if (glob(pattern.c_str(), 0, nullptr, &found) != 0)
    GTEST_SKIP() << missing;
  Figures figures = {};
  for (size_t i = 0; i < found.gl_pathc && !testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE(found.gl_pathv[i]);
    rawhal_container_t *container = nullptr;
    rawhal_error_t error;
    if (rawhal_container_open_file(found.gl_pathv[i], nullptr, &container, &error) != RAWHAL_OK)
      continue;
    for (size_t object = 0; object < rawhal_container_count(container); object += step) {
      rawhal_bytes_t bytes;
      if (rawhal_container_read(container, object, &bytes, &error) == RAWHAL_OK)
        compare_object(bytes, &figures);
    }
    rawhal_container_close(container);
  }
  globfree(&found);
  EXPECT_GT(figures.instructions, 0u);
  printf("%zu kernels, %zu not planned; %zu instructions; more is kept free in %zu, %zu and %zu "
         "(s, v, a)\n",
         figures.kernels, figures.refused, figures.instructions, figures.larger[0],
         figures.larger[1], figures.larger[2]);
}

} // namespace

TEST(ProbeCode, OfFixturesIsWhatIsDisassembled)
{
  compare(RAWHAL_SOURCE_DIR "/tests/fixtures/*-v[456].co", "no fixtures");
}

TEST(ProbeCode, OfRocrandIsWhatIsDisassembled)
{
  compare(RAWHAL_BUILD_DIR "/rocrand/usr/lib/*/librocrand.so.1.*",
          "no librocrand below the build folder (./dev test fetches it)");
}

TEST(ProbeCode, OfAiterIsWhatIsDisassembled)
{
  compare(RAWHAL_CORPUS "/aiter/gfx9*.co", "no corpus at " RAWHAL_CORPUS);
}

// All of it where hours are allowed.
TEST(ProbeCode, OfRocsparseIsWhatIsDisassembled)
{
  if (!is_extended())
    GTEST_SKIP() << "a minute: RAWHAL_TEST_EXTENDED asks for it";
  compare(RAWHAL_BUILD_DIR "/rocsparse/usr/lib/*/librocsparse.so.0.*",
          "no librocsparse below the build folder (./dev test --extended fetches it)",
          by_length(16, 16, 1));
}
