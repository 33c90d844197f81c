// What probes know of instructions, against what llvm-objdump prints of the same bytes: where each ends, and that no
// register it names is taken for free.
#include <rawhal/container.h>

#include <map>
#include <regex>

#include "tests/extended.h"
#include "tests/tools/process.h"

extern "C" {
#include "probe/plan.h"
}

#include "tests/probe/named.h"
#include "tests/probe/paths.h"

namespace {

struct Line : Named {
  uint64_t address;
  uint32_t bytes;
};
using Listing = std::vector<Line>; // by address

struct Disassembler {
  const char *name;
  bool knows_gfx950;
};
constexpr Disassembler disassemblers[] = {{"llvm-objdump-22", true}, {"llvm-objdump-19", false}};

// The first that is installed; NULL: none is.
const Disassembler *disassembler()
{
  for (const Disassembler &one : disassemblers)
    if (system((std::string("command -v ") + one.name + " >/dev/null").c_str()) == 0)
      return &one;
  return nullptr;
}

// "\ts_load_dword s0, s[4:5], 0x0   // 000000001000: C0020002 00000000". What is no instruction to the disassembler is not
// in it: it prints data as such.
Listing list(const Disassembler &with, const std::string &path, const char *processor)
{
  Listing listing;
  FILE *pipe = popen(
      (std::string(with.name) + " -d --mcpu=" + processor + " " + path + " 2>/dev/null").c_str(),
      "r");
  char *text = nullptr;
  size_t room = 0;
  while (pipe && getline(&text, &room, pipe) > 0) {
    const char *comment = strstr(text, "// ");
    if (text[0] != '\t' || !comment || text[1] == '.' || strstr(text, "<unknown>"))
      continue;
    char *words;
    Line line = {};
    line.address = strtoull(comment + 3, &words, 16);
    for (const char *at = words + 1; isxdigit(at[1]); at += 9) // " C0020002 00000000"
      line.bytes += 4;
    const char *operands = text + 1 + strcspn(text + 1, " ");
    add_named(operands, comment, &line);
    line.named[0] = code_set_below(&line.named[0], CODE_SGPRS);
    listing.push_back(line);
  }
  free(text);
  if (pipe)
    pclose(pipe);
  std::sort(listing.begin(), listing.end(),
            [](const Line &a, const Line &b) { return a.address < b.address; });
  return listing;
}

const Line *find(const Listing &listing, uint64_t address)
{
  const auto found =
      std::lower_bound(listing.begin(), listing.end(), address,
                       [](const Line &line, uint64_t wanted) { return line.address < wanted; });
  return found != listing.end() && found->address == address ? &*found : nullptr;
}

struct Figures {
  size_t objects, unknown, kernels, instructions, reached, larger[3], wrong;
  std::map<std::string, size_t> refused; // by the reason
};

// Each instruction that is printed, wherever it is: of kernels, of functions, and between them.
void compare_lines(const rawhal_bytes_t &bytes, const rawhal_hsaco_t *hsaco, const Listing &listing,
                   Figures *figures)
{
  const rawhal_segment_t *segment = nullptr;
  for (const Line &line : listing) {
    for (size_t i = 0; !segment || line.address - segment->address >= segment->file_size; ++i)
      if (!(segment = rawhal_hsaco_segment(hsaco, i))) // it is not linked
        return;
    const uint64_t at = line.address - segment->address;
    code_t code = {};
    code_registers_t named = {};
    const bool is_known = code_decode(static_cast<const char *>(bytes.data) + segment->offset + at,
                                      (segment->file_size - at) / 4, &code);
    if (is_known)
      code_add_registers(&code, &named);
    const uint32_t left[] = {missing(line.named[0], named.sgprs),
                             missing(line.named[1], named.vgprs),
                             missing(line.named[2], named.agprs)};
    const bool right =
        is_known && line.bytes == code.dwords * 4u && !left[0] && !left[1] && !left[2];
    ++figures->instructions;
    figures->wrong += !right;
    if (!right && figures->wrong <= 20)
      ADD_FAILURE() << std::hex << line.address << ": " << (is_known ? code.dwords * 4 : 0)
                    << ", not " << line.bytes << " bytes; taken for free: " << left[0] << ", "
                    << left[1] << ", " << left[2];
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
    ++figures->refused[std::regex_replace(error.message, std::regex("0x[0-9a-f]+"), "N")];
    return;
  }
  Line all = {};
  const uint64_t first = kernel->descriptor->entry + plan->preamble;
  for (uint32_t i = 0; i < plan->walk.count; ++i) {
    const walk_instruction_t *one = &plan->walk.instructions[i];
    const Line *line = find(listing, first + one->at * 4);
    if (!line || line->bytes != one->dwords * 4u) {
      ADD_FAILURE() << "at +" << one->at * 4 << " there is another instruction";
      ++figures->wrong;
      break;
    }
    ++figures->reached;
    for (int kind = 0; kind < 3; ++kind)
      code_set_add_all(&all.named[kind], &line->named[kind]);
  }
  const rawhal_probe_plan_info_t *info = rawhal_probe_plan_info(plan);
  const uint32_t named[3] = {info->named_sgprs, info->named_vgprs, info->named_agprs};
  for (int kind = 0; kind < 3; ++kind) {
    const uint32_t highest = code_set_end(&all.named[kind]);
    EXPECT_LE(highest, named[kind]) << "sva"[kind];
    figures->larger[kind] += named[kind] > highest;
  }
  rawhal_probe_plan_destroy(plan);
}

void compare_object(const Disassembler &with, const rawhal_bytes_t &bytes, Figures *figures)
{
  rawhal_hsaco_t *hsaco = nullptr;
  if (rawhal_hsaco_open(bytes.data, bytes.size, nullptr, &hsaco, nullptr) != RAWHAL_OK)
    return;
  const rawhal_hsaco_info_t *info = rawhal_hsaco_info(hsaco);
  const std::string processor = info->target.processor;
  if (processor == "gfx950" && !with.knows_gfx950) {
    ++figures->unknown;
  } else if (processor == "gfx90a" || processor == "gfx942" || processor == "gfx950") {
    ++figures->objects;
    Scratch scratch;
    spit(scratch / "object", bytes.data, bytes.size);
    const Listing listing = list(with, scratch / "object", processor.c_str());
    compare_lines(bytes, hsaco, listing, figures);
    for (size_t i = 0; i < info->kernel_count; ++i) {
      const rawhal_kernel_t *kernel = rawhal_hsaco_kernel(hsaco, i);
      SCOPED_TRACE(std::string(kernel->name.data, kernel->name.size));
      if (kernel->usable)
        compare_plan(kernel, listing, figures);
    }
  }
  rawhal_hsaco_close(hsaco);
}

// Every `step`th object of the files.
void compare(const std::vector<std::string> &paths, const std::string &missing, size_t step = 1)
{
  const Disassembler *with = disassembler();
  if (!with)
    GTEST_SKIP() << "no " << disassemblers[0].name;
  if (paths.empty())
    GTEST_SKIP() << missing;
  Figures figures = {};
  size_t number = 0;
  for (const std::string &path : paths) {
    SCOPED_TRACE(path);
    rawhal_container_t *container = nullptr;
    rawhal_error_t error;
    if (rawhal_container_open_file(path.c_str(), nullptr, &container, &error) != RAWHAL_OK)
      continue;
    for (size_t object = 0; object < rawhal_container_count(container); ++object) {
      rawhal_bytes_t bytes;
      if (number++ % step == 0 &&
          rawhal_container_read(container, object, &bytes, &error) == RAWHAL_OK)
        compare_object(*with, bytes, &figures);
    }
    rawhal_container_close(container);
  }
  EXPECT_GT(figures.instructions, 0u);
  EXPECT_EQ(figures.wrong, 0u);
  printf("%s: %zu objects (%zu that it does not know), %zu instructions, %zu of them of other "
         "length or registers; %zu kernels reach %zu instructions; more is kept free in %zu, %zu "
         "and %zu (s, v, a)\n",
         with->name, figures.objects, figures.unknown, figures.instructions, figures.wrong,
         figures.kernels, figures.reached, figures.larger[0], figures.larger[1], figures.larger[2]);
  for (const auto &[reason, kernels] : figures.refused)
    printf("%zu kernels not planned: %s\n", kernels, reason.c_str());
}

} // namespace

TEST(ProbeCode, OfFixturesIsWhatIsDisassembled)
{
  compare(matching(RAWHAL_SOURCE_DIR "/tests/fixtures/*-v[456].co"), "no fixtures");
}

TEST(ProbeCode, OfRocrandIsWhatIsDisassembled)
{
  compare(matching(RAWHAL_BUILD_DIR "/rocrand/usr/lib/*/librocrand.so.1.*"),
          "no librocrand below the build folder (./dev test fetches it)");
}

TEST(ProbeCode, OfTheCorpusIsWhatIsDisassembled)
{
  compare(below(RAWHAL_CORPUS, ".co"), "no corpus at " RAWHAL_CORPUS);
}

// Of what follows, all where hours are allowed.
TEST(ProbeCode, OfRocsparseIsWhatIsDisassembled)
{
  if (!is_extended())
    GTEST_SKIP() << "a minute: RAWHAL_TEST_EXTENDED asks for it";
  compare(matching(RAWHAL_BUILD_DIR "/rocsparse/usr/lib/*/librocsparse.so.0.*"),
          "no librocsparse below the build folder (./dev test --extended fetches it)",
          by_length(16, 16, 1));
}

TEST(ProbeCode, OfAiterIsWhatIsDisassembled)
{
  compare(below(getenv("RAWHAL_AITER_DIR"), ".co"),
          "RAWHAL_AITER_DIR is not a folder with aiter's objects", by_length(50, 50, 1));
}

TEST(ProbeCode, OfTensileIsWhatIsDisassembled)
{
  compare(below(getenv("RAWHAL_TENSILE_DIR"), ".co"),
          "RAWHAL_TENSILE_DIR is not a folder with Tensile's objects");
}

// What tests/triton leaves.
TEST(ProbeCode, OfTritonIsWhatIsDisassembled)
{
  compare(below(RAWHAL_BUILD_DIR "/tests/triton", ".hsaco"),
          "no cache of Triton's: RAWHAL_TRITON_PYTHON lets tests/triton make one");
}
