// quick.c against msgpack-c's parser: on everything there is, cut and damaged; and that it does take
// what compilers write, since nothing else would notice if it did not.
#include <dirent.h>

#include <random>

#include "hsaco_test.h"
#include "quick_oracle.h"

using build::Pack;
using build::pack_kernel;
using build::plain_kernel;

static std::vector<std::string> kernels_of(const std::string &bytes)
{
  std::vector<std::string> kernels;
  Opened opened(bytes);
  for (size_t i = 0; opened.hsaco && i < opened.info().kernel_count; ++i) {
    rawhal_bytes_t map = opened.kernel(i).metadata;
    if (map.size)
      kernels.emplace_back(static_cast<const char *>(map.data), map.size);
  }
  return kernels;
}

// Every file of a folder that has kernels.
static std::vector<std::string> kernels_in(const std::string &folder)
{
  std::vector<std::string> kernels;
  if (DIR *stream = opendir(folder.c_str())) {
    while (dirent *entry = readdir(stream)) {
      if (entry->d_type == DT_DIR)
        continue;
      std::ifstream file(folder + "/" + entry->d_name, std::ios::binary);
      for (std::string &kernel : kernels_of({std::istreambuf_iterator<char>(file), {}}))
        kernels.push_back(std::move(kernel));
    }
    closedir(stream);
  }
  return kernels;
}

static std::vector<std::string> all_kernels()
{
  std::vector<std::string> kernels;
  const std::string corpus = RAWHAL_CORPUS "/";
  for (const std::string &folder : {std::string(RAWHAL_SOURCE_DIR "/tests/fixtures"),
                                    corpus + "aiter", corpus + "generated", corpus + "damaged"})
    for (std::string &kernel : kernels_in(folder))
      kernels.push_back(std::move(kernel));
  return kernels;
}

static bool takes(const std::string &bytes)
{
  Exact exact(bytes);
  bool quick;
  EXPECT_EQ("", quick_fault(exact.data.get(), exact.size, &quick));
  return quick;
}

TEST(Quick, TakesWhatCompilersWrite)
{
  std::vector<std::string> kernels = kernels_in(RAWHAL_SOURCE_DIR "/tests/fixtures");
  ASSERT_FALSE(kernels.empty());
  for (const std::string &kernel : kernels)
    EXPECT_TRUE(takes(kernel));
}

TEST(Quick, AgreesOnEveryKernelAndTakesNearlyAll)
{
  size_t taken = 0;
  std::vector<std::string> kernels = all_kernels();
  for (const std::string &kernel : kernels)
    taken += takes(kernel);
  EXPECT_GE(taken * 10, kernels.size() * 9);
}

TEST(Quick, TakesNoPrefix)
{
  std::string kernel = pack_kernel(plain_kernel("a_kernel_with_a_name_of_more_than_31_bytes"));
  ASSERT_TRUE(takes(kernel));
  for (size_t size = 0; size < kernel.size(); ++size)
    EXPECT_FALSE(takes(kernel.substr(0, size))) << size;
}

TEST(Quick, AgreesOnEveryPrefixOfSmallKernels)
{
  for (const std::string &kernel : all_kernels())
    for (size_t size = 0; kernel.size() < 1500 && size < kernel.size(); ++size) {
      bool taken = takes(kernel.substr(0, size));
      ASSERT_FALSE(taken) << size;
    }
}

TEST(Quick, AgreesOnMutants)
{
  std::mt19937 random(20260101);
  std::vector<std::string> kernels = all_kernels();
  size_t taken = 0;
  for (int i = 0; i < 40000; ++i) {
    std::string kernel = kernels[random() % kernels.size()];
    if (kernel.size() > 4000)
      continue;
    for (unsigned flips = 1 + random() % 3; flips; --flips) {
      // Any byte, or a token's first byte of any kind in the place of one there is.
      size_t at = random() % kernel.size();
      kernel[at] = static_cast<char>(random() % 2 ? random() : kernel[at] ^ 1 << random() % 8);
    }
    taken += takes(kernel);
    ASSERT_FALSE(HasFailure()) << i;
  }
  EXPECT_GT(taken, 1000u); // damage inside of texts and numbers
}

// ---- One shape at a time ----

// A kernel with this value for a key, at the end of its map.
static std::string with(const std::string &key, const std::string &value)
{
  build::Kernel kernel = plain_kernel("k");
  kernel.without = {key};
  std::string map = pack_kernel(kernel);
  ++map[0]; // one more pair; there are fewer than 15
  return map + Pack().str(key).bytes + value;
}

TEST(Quick, TakesListsOfNumbers)
{
  EXPECT_TRUE(takes(with(".reqd_workgroup_size", Pack().numbers({256, 1, 1}).bytes)));
  EXPECT_TRUE(takes(with(".language_version", Pack().numbers({2, 0}).bytes)));
}

TEST(Quick, TakesUnknownKeysWithPlainValues)
{
  std::string kernel = with(".new_in_another_version", Pack().str("text").bytes);
  EXPECT_TRUE(takes(kernel));
  KernelReading reading(KernelReading::kQuick, kernel.data(), kernel.size());
  EXPECT_EQ(unsigned{ODD_UNKNOWN_KERNEL_KEY}, reading.unpacker.odd);
}

TEST(Quick, LeavesWhatIsUnusual)
{
  EXPECT_FALSE(takes(with(".new_in_another_version", Pack().numbers({1}).bytes)));
  EXPECT_FALSE(takes(with(".sgpr_count", Pack().negative(-1).bytes)));
  EXPECT_FALSE(takes(with(".sgpr_count", Pack().str("8").bytes)));
  EXPECT_FALSE(takes(with(".sgpr_count", Pack().number(uint64_t{1} << 40).bytes)));
  EXPECT_FALSE(takes(with(".name", Pack().nil().bytes)));
  EXPECT_FALSE(takes(with(".args", Pack().number(3).bytes)));
  EXPECT_FALSE(takes(with(".args", Pack().array(1).number(3).bytes)));
  EXPECT_FALSE(takes(with(".args", Pack().array(1).map(0).bytes))); // keys are missing
  EXPECT_FALSE(takes(with(".reqd_workgroup_size", Pack().numbers({1, 1}).bytes)));
  EXPECT_FALSE(takes(with(".args", Pack().array(60000).bytes))); // more than there are bytes
  EXPECT_FALSE(takes(Pack().array(0).bytes));
}

TEST(Quick, LeavesKeysThatStandTwice)
{
  build::Kernel kernel = plain_kernel("k");
  kernel.more = {{".name", Pack().str("other").bytes}};
  EXPECT_FALSE(takes(pack_kernel(kernel)));
  kernel.more = {{".args", Pack().array(0).bytes}};
  EXPECT_FALSE(takes(pack_kernel(kernel)));
}

TEST(Quick, TakesArgumentsInAnyOrderOfKeys)
{
  Pack arguments;
  arguments.array(2);
  arguments.map(3).str(".size").number(8).str(".offset").number(0);
  arguments.str(".value_kind").str("by_value");
  arguments.map(4).str(".value_kind").str("global_buffer").str(".name").str("p");
  arguments.str(".offset").number(8).str(".size").number(8);
  EXPECT_TRUE(takes(with(".args", arguments.bytes)));
}

TEST(Quick, KeepsToTheNestingAllowed)
{
  std::string kernel = pack_kernel(plain_kernel("k"));
  for (uint32_t nesting = 0; nesting < 8; ++nesting) {
    KernelReading fast(KernelReading::kQuick, kernel.data(), kernel.size(), nesting);
    KernelReading thorough(KernelReading::kThorough, kernel.data(), kernel.size(), nesting);
    EXPECT_EQ(thorough.done, fast.done) << nesting;
    EXPECT_EQ(nesting >= 5, fast.done) << nesting;
  }
}

TEST(Quick, GivesMemoryBack)
{
  std::string kernel = with(".sgpr_count", Pack().negative(-1).bytes); // found out behind .args
  KernelReading reading(KernelReading::kQuick, kernel.data(), kernel.size());
  EXPECT_FALSE(reading.done);
  EXPECT_EQ(nullptr, reading.arena.chunks);
  EXPECT_EQ(uint64_t{64} << 20, reading.arena.budget);
}

// ---- Values of the root map ----

TEST(Quick, ValuesAgree)
{
  const std::string values[] = {
      Pack().number(0).bytes,         Pack().number(127).bytes,
      Pack().number(255).bytes,       Pack().number(65535).bytes,
      Pack().number(1u << 31).bytes,  Pack().str("").bytes,
      Pack().str("text").bytes,       Pack().str(std::string(200, 'x')).bytes,
      Pack().boolean(true).bytes,     Pack().numbers({1, 2}).bytes,
      Pack().numbers({}).bytes,       Pack().nil().bytes,
      Pack().negative(-5).bytes,      Pack().real(1.5).bytes,
      Pack().array(1).array(0).bytes, Pack().map(0).bytes,
  };
  for (const std::string &value : values)
    for (enum unpack_shape shape : {SHAPE_ANY, SHAPE_NUMBERS})
      for (size_t size = 0; size <= value.size(); ++size) {
        Exact exact(value.substr(0, size));
        struct unpacker fast = {}, thorough = {};
        fast.max_nesting = thorough.max_nesting = 32;
        fast.bytes = thorough.bytes = exact.data.get();
        fast.size = thorough.size = exact.size;
        struct unpack_value a = {}, b = {};
        size_t end_a = 0, end_b = 0;
        if (!quick_value(&fast, shape, 1, &end_a, &a)) {
          EXPECT_EQ(0u, end_a);
          continue;
        }
        ASSERT_TRUE(unpack_value(&thorough, shape, 1, &end_b, &b));
        EXPECT_EQ(end_b, end_a);
        EXPECT_EQ(b.type, a.type);
        EXPECT_EQ(b.shape, a.shape);
        if (a.type == VALUE_STRING) {
          EXPECT_EQ(std::string(b.text, b.size), std::string(a.text, a.size));
        } else if (a.type != VALUE_CONTAINER) {
          EXPECT_EQ(b.number, a.number);
        } else {
          EXPECT_EQ(thorough.number_count, fast.number_count);
          EXPECT_EQ(thorough.numbers_fit, fast.numbers_fit);
        }
      }
}
