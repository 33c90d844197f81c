// The committed fixtures: rebuilt from their sources, and their layouts as read by hand from
// llvm-readelf-19 --notes.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "kernel_builder.h"

extern "C" {
#include "naive.h"
}

using namespace kernarg_test;
namespace fs = std::filesystem;

namespace {

const fs::path kFixtures = fs::path(RAWHAL_SOURCE_DIR) / "tests" / "fixtures";

std::string Slurp(const fs::path &path)
{
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string Output(const std::string &command)
{
  std::string text;
  FILE *pipe = popen((command + " 2>/dev/null").c_str(), "r");
  if (!pipe)
    return text;
  char buffer[256];
  while (size_t size = fread(buffer, 1, sizeof(buffer), pipe))
    text.append(buffer, size);
  pclose(pipe);
  return text;
}

} // namespace

TEST(Fixtures, RebuildToTheSameBytes)
{
  if (Output("clang-19 --version").find("version 19.1.") == std::string::npos)
    GTEST_SKIP() << "clang 19.1 is not installed";
  for (const char *tool : {"ld.lld-19", "llvm-objcopy-19", "python3"})
    if (Output(std::string("command -v ") + tool).empty())
      GTEST_SKIP() << tool << " is not installed";
  char folder[] = "/tmp/rawhal-fixtures-XXXXXX";
  ASSERT_NE(nullptr, mkdtemp(folder));
  std::string command = "python3 '" + (kFixtures / "build.py").string() + "' " + folder;
  EXPECT_EQ(0, system(command.c_str()));
  int compared = 0;
  for (const auto &entry : fs::directory_iterator(kFixtures)) {
    std::string extension = entry.path().extension();
    if (extension != ".co" && extension != ".bundle")
      continue;
    ++compared;
    EXPECT_TRUE(Slurp(entry.path()) == Slurp(fs::path(folder) / entry.path().filename()))
        << entry.path().filename() << " differs from what its source builds";
  }
  EXPECT_GE(compared, 25);
  fs::remove_all(folder);
}

namespace {

struct HsacoDeleter {
  void operator()(rawhal_hsaco_t *hsaco) const { rawhal_hsaco_close(hsaco); }
};

// One fixture, open; its bytes live as long.
class CodeObject {
public:
  explicit CodeObject(const std::string &name) : bytes_(Slurp(kFixtures / name))
  {
    rawhal_hsaco_options_t options = {};
    options.flags = RAWHAL_HSACO_DESCRIPTOR_KERNELS;
    rawhal_error_t error = {};
    rawhal_hsaco_t *hsaco = nullptr;
    EXPECT_EQ(RAWHAL_OK, rawhal_hsaco_open(bytes_.data(), bytes_.size(), &options, &hsaco, &error))
        << name << ": " << error.message;
    hsaco_.reset(hsaco);
  }
  const rawhal_kernel_t *At(size_t index) const
  {
    return hsaco_ ? rawhal_hsaco_kernel(hsaco_.get(), index) : nullptr;
  }
  const rawhal_kernel_t *Find(const std::string &kernel) const
  {
    return hsaco_ ? rawhal_hsaco_find_kernel(hsaco_.get(), Text(kernel)) : nullptr;
  }
  Layout Compile(const std::string &name, uint32_t stated_size = 0) const
  {
    const rawhal_kernel_t *kernel = Find(name);
    EXPECT_NE(nullptr, kernel) << name;
    rawhal_kernarg_layout_t *layout = nullptr;
    rawhal_error_t error = {};
    if (kernel) {
      EXPECT_EQ(RAWHAL_OK, rawhal_kernarg_layout_create(kernel, stated_size, &layout, &error))
          << name << ": " << error.message;
    }
    return Layout(layout);
  }

private:
  std::string bytes_;
  std::unique_ptr<rawhal_hsaco_t, HsacoDeleter> hsaco_;
};

} // namespace

TEST(Fixtures, LayoutFactsAreThoseReadelfPrints)
{
  const struct {
    const char *object, *kernel;
    uint32_t segment, effective, explicit_end, visible, hidden, blocks;
  } facts[] = {
      {"vector_add-gfx90a-v4.co", "vector_add", 28, 28, 28, 4, 0, 1},
      {"vector_add-gfx90a-v5.co", "vector_add", 288, 288, 28, 4, 13, 5},
      {"vector_add-gfx942-v6.co", "vector_add", 288, 288, 28, 4, 13, 5},
      {"vector_add-gfx1030-v5.co", "vector_add", 288, 288, 28, 4, 13, 5},
      {"empty-gfx90a-v5.co", "empty", 0, 0, 0, 0, 0, 1},
      {"many_args-gfx90a-v4.co", "many_args", 180, 180, 177, 10, 0, 3},
      {"many_args-gfx90a-v5.co", "many_args", 440, 440, 177, 10, 14, 7},
      {"saxpy_partial-gfx90a-v4.co", "saxpy_partial", 88, 88, 32, 4, 7, 2},
      {"saxpy_partial-gfx90a-v5.co", "saxpy_partial", 288, 288, 32, 4, 13, 5},
      {"reduce-gfx90a-v5.co", "reduce", 16, 16, 16, 2, 0, 1},
      {"write_ids-gfx90a-v4.co", "write_ids", 20, 20, 20, 4, 0, 1},
      {"layouts-gfx90a-v5.co", "hidden_unaligned", 252, 252, 201, 2, 10, 4},
      {"layouts-gfx90a-v5.co", "hidden_partial", 24, 24, 8, 1, 2, 1},
      {"layouts-gfx90a-v5.co", "visible_after_hidden", 20, 20, 20, 2, 2, 1},
      {"layouts-gfx90a-v5.co", "past_segment", 12, 20, 12, 4, 0, 1},
      {"layouts-gfx90a-v5.co", "pointer_at_12", 20, 20, 20, 3, 0, 1},
  };
  for (const auto &fact : facts) {
    SCOPED_TRACE(std::string(fact.object) + " " + fact.kernel);
    CodeObject object(fact.object);
    Layout layout = object.Compile(fact.kernel);
    ASSERT_TRUE(layout);
    const rawhal_kernarg_info_t *info = rawhal_kernarg_layout_info(layout.get());
    EXPECT_EQ(RAWHAL_KERNARG_ARGUMENTS, info->knowledge);
    EXPECT_EQ(fact.segment, info->segment_size);
    EXPECT_EQ(fact.effective, info->effective_size);
    EXPECT_EQ(fact.explicit_end, info->explicit_end);
    EXPECT_EQ(fact.visible, info->visible_count);
    EXPECT_EQ(fact.hidden, info->hidden_count);
    EXPECT_EQ(fact.blocks, info->block_count);
    EXPECT_EQ(16u, info->alignment);
  }
}

TEST(Fixtures, KernelsWhoseArgumentsAreNotKnown)
{
  CodeObject layouts("layouts-gfx90a-v5.co"), bare("bare-gfx90a-v5.co");
  Layout no_args = layouts.Compile("no_args"), store = bare.Compile("bare_store"),
         unsized = bare.Compile("bare_unsized", 12);
  ASSERT_TRUE(no_args && store && unsized);
  EXPECT_EQ(RAWHAL_KERNARG_SIZE, rawhal_kernarg_layout_info(no_args.get())->knowledge);
  EXPECT_EQ(16u, rawhal_kernarg_layout_info(no_args.get())->segment_size);
  EXPECT_EQ(RAWHAL_KERNARG_SIZE, rawhal_kernarg_layout_info(store.get())->knowledge);
  EXPECT_EQ(12u, rawhal_kernarg_layout_info(store.get())->segment_size);
  EXPECT_EQ(12u, rawhal_kernarg_layout_info(unsized.get())->segment_size);

  rawhal_kernarg_layout_t *layout = nullptr;
  ASSERT_NE(nullptr, bare.Find("bare_unsized"));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT,
            rawhal_kernarg_layout_create(bare.Find("bare_unsized"), 0, &layout, nullptr));
  EXPECT_EQ(nullptr, layout);
}

// Names, kinds and sizes of many_args as its source declares them.
TEST(Fixtures, ArgumentTableOfManyArgs)
{
  CodeObject object("many_args-gfx90a-v5.co");
  Layout layout = object.Compile("many_args");
  ASSERT_TRUE(layout);
  const struct {
    const char *name;
    uint32_t offset, size;
    int kind;
  } arguments[] = {{"flag", 0, 1, RAWHAL_VALUE_BY_VALUE},
                   {"rgb", 4, 4, RAWHAL_VALUE_BY_VALUE},
                   {"out", 8, 8, RAWHAL_VALUE_GLOBAL_BUFFER},
                   {"record", 16, 24, RAWHAL_VALUE_BY_VALUE},
                   {"half_bits", 40, 2, RAWHAL_VALUE_BY_VALUE},
                   {"scratchpad", 44, 4, RAWHAL_VALUE_DYNAMIC_SHARED_POINTER},
                   {"big", 48, 8, RAWHAL_VALUE_BY_VALUE},
                   {"blob", 56, 108, RAWHAL_VALUE_BY_VALUE},
                   {"in", 168, 8, RAWHAL_VALUE_GLOBAL_BUFFER},
                   {"last", 176, 1, RAWHAL_VALUE_BY_VALUE},
                   {"", 184, 4, RAWHAL_VALUE_HIDDEN_BLOCK_COUNT_X}};
  for (size_t i = 0; i < sizeof(arguments) / sizeof(*arguments); ++i) {
    SCOPED_TRACE(arguments[i].name);
    const rawhal_kernarg_argument_t *argument = rawhal_kernarg_layout_argument(layout.get(), i);
    ASSERT_NE(nullptr, argument);
    EXPECT_EQ(arguments[i].name, std::string(argument->name.data, argument->name.size));
    EXPECT_EQ(arguments[i].offset, argument->offset);
    EXPECT_EQ(arguments[i].size, argument->size);
    EXPECT_EQ(arguments[i].kind, argument->value_kind);
    EXPECT_EQ(KindText(arguments[i].kind),
              std::string(argument->value_kind_text.data, argument->value_kind_text.size));
  }
}

// The signature of a kernel read from a file is that of the same facts made by hand.
TEST(Fixtures, SignatureDependsOnTheFactsOnly)
{
  CodeObject v4("vector_add-gfx90a-v4.co"), v5("vector_add-gfx90a-v5.co");
  Layout from_file = v4.Compile("vector_add"), with_hidden = v5.Compile("vector_add");
  Kernel kernel(28);
  AddVectorAdd(kernel);
  Layout by_hand = Compile(kernel);
  ASSERT_TRUE(from_file && with_hidden && by_hand);
  const rawhal_kernarg_info_t *file = rawhal_kernarg_layout_info(from_file.get());
  EXPECT_EQ(rawhal_kernarg_layout_info(by_hand.get())->signature, file->signature);
  EXPECT_NE(rawhal_kernarg_layout_info(with_hidden.get())->signature, file->signature);
  EXPECT_EQ(rawhal_kernarg_layout_info(with_hidden.get())->blob_signature, file->blob_signature);
}

// Every kernel of the shared corpus, when it is there: the layout agrees with the naive one, and so
// does each byte of an image.
TEST(Corpus, LayoutsAgreeWithTheNaiveImplementation)
{
  fs::path corpus = fs::path(RAWHAL_SOURCE_DIR) / ".." / "shared" / "corpus";
  if (!fs::exists(corpus))
    GTEST_SKIP() << "no corpus beside the source tree";
  int kernels = 0;
  for (const char *folder : {"aiter", "generated"})
    for (const auto &entry : fs::directory_iterator(corpus / folder)) {
      SCOPED_TRACE(entry.path().filename().string());
      CodeObject object(entry.path());
      for (size_t i = 0; const rawhal_kernel_t *kernel = object.At(i); ++i) {
        naive_layout_t naive = naive_compile(kernel, 0);
        rawhal_kernarg_layout_t *made = nullptr;
        rawhal_error_t error = {};
        ASSERT_EQ(naive.status, rawhal_kernarg_layout_create(kernel, 0, &made, &error))
            << error.message;
        Layout layout(made);
        if (naive.status != RAWHAL_OK)
          continue;
        ++kernels;
        const rawhal_kernarg_info_t *info = rawhal_kernarg_layout_info(made);
        EXPECT_EQ(naive.effective_size, info->effective_size);
        EXPECT_EQ(naive.explicit_end, info->explicit_end);
        rawhal_launch_t launch = DistinctLaunch();
        size_t length = naive.arguments_known ? naive.explicit_end : naive.segment_size;
        std::vector<unsigned char> blob(length + 1, 0x5a), image(naive.image_size, 0xFD);
        ASSERT_EQ(RAWHAL_OK, rawhal_kernarg_write_blob(made, blob.data(), length, 0, &launch,
                                                       image.data(), image.size(), &error))
            << error.message;
        for (size_t b = 0; b < image.size(); ++b)
          ASSERT_EQ(naive_image_byte(kernel, &naive, blob.data(), length, 0, &launch, b), image[b])
              << b;
      }
    }
  EXPECT_GT(kernels, 400);
}
