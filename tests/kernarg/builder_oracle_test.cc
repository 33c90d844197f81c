// Builders against others who know: clang's structs, and rawhal_kernarg_set() on real kernels.
#include "builder_test.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>

using namespace kernarg_test;
namespace fs = std::filesystem;

namespace {

const fs::path kSource = RAWHAL_SOURCE_DIR;

std::string Slurp(const fs::path &path)
{
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/* ---- clang's structs ---- */

struct Type {
  const char *text;
  size_t size, alignment;
};

// Such as library kernels take, and in what order; the second row is that of Tensile's products.
const Type kTypes[] = {{"unsigned char", 1, 1},
                       {"short", 2, 2},
                       {"_Float16", 2, 2},
                       {"unsigned", 4, 4},
                       {"float", 4, 4},
                       {"int", 4, 4},
                       {"double", 8, 8},
                       {"unsigned long", 8, 8},
                       {"void *", 8, 8},
                       {"float __attribute__((ext_vector_type(2)))", 8, 8},
                       {"float __attribute__((ext_vector_type(4)))", 16, 16}};
const std::vector<size_t> kProduct = {7, 7, 7, 8, 8, 8, 8, 4, 4, 3, 3, 3, 3,
                                      3, 3, 3, 3, 3, 3, 3, 3, 5, 5, 6, 1, 3};

std::string Declaration(size_t number, const std::vector<size_t> &members)
{
  std::ostringstream text;
  text << "struct s" << number << " {\n";
  for (size_t i = 0; i < members.size(); ++i)
    text << "  typedef_" << members[i] << " m" << i << ";\n";
  text << "};\nconst unsigned long offsets" << number << "[] = {0x5a5a5a5a";
  for (size_t i = 0; i < members.size(); ++i)
    text << ", __builtin_offsetof(struct s" << number << ", m" << i << ")";
  text << ", sizeof(struct s" << number << ")};\n";
  return text.str();
}

// The words of all arrays, as clang's assembly for the GPU has them; empty without clang.
std::vector<uint64_t> Offsets(const std::string &source)
{
  std::vector<uint64_t> words;
  char folder[] = "/tmp/rawhal-builder-XXXXXX";
  if (!mkdtemp(folder))
    return words;
  std::string path = std::string(folder) + "/structs.c";
  std::ofstream(path) << source;
  std::string command =
      "clang-19 -target amdgcn-amd-amdhsa -mcpu=gfx90a -nogpulib -S -o - " + path + " 2>/dev/null";
  if (FILE *pipe = popen(command.c_str(), "r")) {
    char line[4096];
    unsigned long long word;
    while (fgets(line, sizeof(line), pipe))
      if (sscanf(line, " .quad %llu", &word) == 1)
        words.push_back(word);
    pclose(pipe);
  }
  fs::remove_all(folder);
  return words;
}

} // namespace

TEST(BuilderOracle, StructsAsClangLaysThemOutForTheGpu)
{
  std::mt19937 random(14);
  std::vector<std::vector<size_t>> structs = {kProduct};
  while (structs.size() < 300) {
    structs.emplace_back(1 + random() % 30);
    for (size_t &member : structs.back())
      member = random() % std::size(kTypes);
  }
  std::string source;
  for (size_t i = 0; i < std::size(kTypes); ++i)
    source += "typedef " + std::string(kTypes[i].text) + " typedef_" + std::to_string(i) + ";\n";
  for (size_t i = 0; i < structs.size(); ++i)
    source += Declaration(i, structs[i]);
  std::vector<uint64_t> words = Offsets(source);
  if (words.empty())
    GTEST_SKIP() << "clang-19 is not installed";
  size_t at = 0, members = 0;
  for (const std::vector<size_t> &each : structs) {
    ASSERT_LT(at + each.size() + 1, words.size());
    ASSERT_EQ(0x5a5a5a5au, words[at++]);
    Builder builder = Build(nullptr);
    std::string expected(words[at + each.size()], '\0');
    for (size_t i = 0; i < each.size(); ++i, ++members) {
      const Type &type = kTypes[each[i]];
      std::string value(type.size, static_cast<char>(i + 1));
      expected.replace(words[at + i], value.size(), value);
      rawhal_builder_append(builder.get(), {nullptr, 0}, value.data(), type.size, type.alignment,
                            RAWHAL_BUILDER_ANY);
    }
    at += each.size() + 1;
    size_t tail = Info(builder).length;
    EXPECT_EQ(expected.substr(0, tail), Finish(builder));
    rawhal_builder_next(builder.get());
    EXPECT_EQ(expected, Finish(builder)); // one block of an array is the struct with its padding
  }
  EXPECT_EQ(words.size(), at);
  EXPECT_GT(members, 3000u);
}

/* ---- Real kernels ---- */

namespace {

struct Counts {
  size_t kernels = 0, arguments = 0, placed = 0;
};

size_t NaturalAlignment(const rawhal_kernarg_argument_t *argument)
{
  size_t alignment = 1;
  while (alignment < 16 && argument->size % (2 * alignment) == 0)
    alignment *= 2;
  return argument->size > 16 ? std::min<size_t>(alignment, 8) : alignment;
}

// Each visible argument, in order of offsets, with bytes of its own.
std::vector<uint32_t> InOrder(const rawhal_kernarg_layout_t *layout)
{
  const rawhal_kernarg_info_t *info = rawhal_kernarg_layout_info(layout);
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < info->visible_count + info->hidden_count; ++i) {
    const rawhal_kernarg_argument_t *argument = rawhal_kernarg_layout_argument(layout, i);
    if (!argument->hidden && argument->size)
      order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return rawhal_kernarg_layout_argument(layout, a)->offset <
           rawhal_kernarg_layout_argument(layout, b)->offset;
  });
  return order;
}

// By what the layout says of it, with names and kinds; false when it lies elsewhere than its type would.
bool AppendAll(const Builder &builder, const rawhal_kernarg_layout_t *layout,
               const std::vector<uint32_t> &order)
{
  rawhal_status_t status = RAWHAL_OK;
  for (uint32_t i : order) {
    const rawhal_kernarg_argument_t *argument = rawhal_kernarg_layout_argument(layout, i);
    std::string value(argument->size, static_cast<char>(i + 1));
    rawhal_builder_kind_t kind =
        argument->value_kind == RAWHAL_VALUE_GLOBAL_BUFFER ? RAWHAL_BUILDER_POINTER
        : argument->value_kind == RAWHAL_VALUE_BY_VALUE    ? RAWHAL_BUILDER_VALUE
                                                           : RAWHAL_BUILDER_ANY;
    status = rawhal_builder_append(builder.get(), argument->name, value.data(), value.size(),
                                   NaturalAlignment(argument), kind);
  }
  return status == RAWHAL_OK;
}

void ExpectTheSameImage(const rawhal_kernarg_layout_t *layout, Counts *counts)
{
  const rawhal_kernarg_info_t *info = rawhal_kernarg_layout_info(layout);
  if (info->knowledge != RAWHAL_KERNARG_ARGUMENTS)
    return;
  std::vector<uint32_t> order = InOrder(layout);
  Builder builder = Build(layout);
  bool natural = AppendAll(builder, layout, order);
  if (!natural) {
    rawhal_builder_options_t options = {};
    options.flags = RAWHAL_BUILDER_PLACE;
    builder = Build(layout, &options);
    ASSERT_TRUE(AppendAll(builder, layout, order));
  }
  std::string made = Finish(builder);

  std::string set(info->effective_size, '\0');
  size_t end = 0;
  for (uint32_t i : order) {
    const rawhal_kernarg_argument_t *argument = rawhal_kernarg_layout_argument(layout, i);
    std::string value(argument->size, static_cast<char>(i + 1));
    ASSERT_EQ(RAWHAL_OK, rawhal_kernarg_set(layout, i, value.data(), value.size(), &set[0],
                                            set.size(), nullptr));
    end = std::max<size_t>(end, argument->offset + argument->size);
  }
  ASSERT_EQ(set.substr(0, end), made);
  rawhal_launch_t launch = DistinctLaunch();
  std::vector<char> by_builder(64 * info->block_count), by_set(by_builder);
  ASSERT_EQ(RAWHAL_OK, rawhal_kernarg_write_blob(layout, made.data(), made.size(), 0, &launch,
                                                 by_builder.data(), by_builder.size(), nullptr));
  ASSERT_EQ(RAWHAL_OK, rawhal_kernarg_write_blob(layout, set.data(), set.size(), 0, &launch,
                                                 by_set.data(), by_set.size(), nullptr));
  ASSERT_EQ(by_set, by_builder);
  counts->kernels += 1;
  counts->arguments += order.size();
  counts->placed += !natural;
}

void ExpectAllOf(const fs::path &path, Counts *counts)
{
  SCOPED_TRACE(path);
  std::string bytes = Slurp(path);
  rawhal_hsaco_t *hsaco = nullptr;
  if (rawhal_hsaco_open(bytes.data(), bytes.size(), nullptr, &hsaco, nullptr))
    return;
  for (size_t i = 0; const rawhal_kernel_t *kernel = rawhal_hsaco_kernel(hsaco, i); ++i) {
    rawhal_kernarg_layout_t *layout = nullptr;
    if (rawhal_kernarg_layout_create(kernel, 0, &layout, nullptr) == RAWHAL_OK)
      ExpectTheSameImage(layout, counts);
    rawhal_kernarg_layout_destroy(layout);
  }
  rawhal_hsaco_close(hsaco);
}

} // namespace

TEST(BuilderOracle, FixturesAsSetOneByOne)
{
  Counts counts;
  for (const auto &entry : fs::directory_iterator(kSource / "tests/fixtures"))
    if (entry.path().extension() == ".co")
      ExpectAllOf(entry.path(), &counts);
  EXPECT_GE(counts.kernels, 60u);
  EXPECT_GE(counts.placed, 1u); // pointer_at_12
  EXPECT_LE(counts.placed, 8u);
}

TEST(BuilderOracle, TheCorpusAsSetOneByOne)
{
  fs::path corpus = RAWHAL_CORPUS;
  if (!fs::exists(corpus))
    GTEST_SKIP() << "no corpus at " RAWHAL_CORPUS;
  Counts counts;
  for (const char *folder : {"aiter", "generated"})
    for (const auto &entry : fs::directory_iterator(corpus / folder))
      ExpectAllOf(entry.path(), &counts);
  RecordProperty("kernels", static_cast<int>(counts.kernels));
  RecordProperty("arguments", static_cast<int>(counts.arguments));
  RecordProperty("placed", static_cast<int>(counts.placed));
  EXPECT_GT(counts.kernels, 400u);
}
