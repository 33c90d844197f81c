// Solution libraries of Tensile: what they say is what was written, damage is refused where it is, and memory is bounded.
// Real libraries are compared with python3's msgpack by tensile_oracle.py.
#include <rawhal/tensile.h>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "tests/assert_ok.h"
#include "tests/extended.h"
#include "tests/harness/allocator.h"
#include "tests/hsaco/compressed.h"
#include "tests/library/tensile_build.h"

namespace {

std::string text(rawhal_string_t string)
{
  return std::string(string.data, string.size);
}

class Tensile : public testing::Test {
protected:
  ~Tensile() override { rawhal_tensile_close(tensile); }

  rawhal_status_t open(const std::string &bytes)
  {
    rawhal_tensile_close(tensile);
    given.assign(bytes.begin(), bytes.end()); // exactly so many, for who watches memory
    return rawhal_tensile_open(given.data(), given.size(), &options, &tensile, &error);
  }

  // Memory ends at each allocation; none is left of those that were made.
  void open_with_less_and_less(const std::string &bytes, long more_than)
  {
    Allocator allocator;
    options.allocator = allocator.hook();
    rawhal_status_t status = RAWHAL_OUT_OF_MEMORY;
    long taken = 0;
    for (; status == RAWHAL_OUT_OF_MEMORY; ++taken) {
      allocator.left = taken;
      status = open(bytes);
      EXPECT_EQ(tensile == nullptr, status != RAWHAL_OK);
    }
    EXPECT_OK(status);
    EXPECT_GT(taken, more_than);
    rawhal_tensile_close(tensile);
    tensile = nullptr;
    EXPECT_EQ(allocator.live(), 0u);
  }

  rawhal_tensile_options_t options = {};
  rawhal_tensile_t *tensile = nullptr;
  rawhal_error_t error = {};
  std::vector<char> given;
};

TEST_F(Tensile, ReadsSolutions)
{
  options.prefix = RAWHAL_STRING("TensileLibrary_SB_gfx90a");
  ASSERT_OK(open(build::tensile({build::solution("Cijk_A", 7), build::solution("Cijk_B", 9)})));
  ASSERT_EQ(rawhal_tensile_count(tensile), 2u);
  const rawhal_tensile_solution_t *first = rawhal_tensile_solution(tensile, 0);
  EXPECT_EQ(first->index, 7);
  EXPECT_EQ(text(first->name), "Cijk_A");
  EXPECT_EQ(text(first->kernel), "Cijk_A");
  EXPECT_EQ(text(first->code_object), "TensileLibrary_SB_gfx90a.co");
  EXPECT_EQ(text(first->operation), "Contraction_l_Alik_Bjlk_Cijk_Dijk");
  EXPECT_FALSE(first->source_kernel);
  EXPECT_FALSE(first->arguments.known);
  const rawhal_tensile_sizes_t &sizes = first->sizes;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(sizes.workgroup[i], 16 + i);
    EXPECT_EQ(sizes.thread_tile[i], i < 2 ? 4 + i : 0);
    EXPECT_EQ(sizes.macro_tile[i], 64 + i);
  }
  EXPECT_EQ(sizes.depth_u, 32);
  EXPECT_EQ(sizes.global_split_u, 2);
  EXPECT_EQ(sizes.stagger_u, 5);
  EXPECT_EQ(sizes.workgroup_mapping, -8);
  EXPECT_EQ(sizes.global_accumulation, 1);
  EXPECT_EQ(sizes.stagger_stride_shift, 3);
  EXPECT_EQ(sizes.workspace_per_c, 4);
  EXPECT_EQ(sizes.stream_k, 0);
  EXPECT_EQ(sizes.persistent, 0);
  EXPECT_EQ(text(rawhal_tensile_solution(tensile, 1)->kernel), "Cijk_B");
  EXPECT_EQ(rawhal_tensile_solution(tensile, 2), nullptr);
  EXPECT_EQ(rawhal_tensile_library_count(tensile), 0u);
  EXPECT_EQ(text(rawhal_tensile_version(tensile)), "4.33.0");
}

// hipBLASLt's solutions have a name of their own beside their kernel's, and say what the kernel takes.
TEST_F(Tensile, ReadsWhatKernelsTake)
{
  ASSERT_OK(open(build::tensile(
      {build::solution("Cijk_A", 1, false,
                       {{"kernelName", build::Pack().str("Cijk_kernel").bytes},
                        {"internalArgsSupport", build::Pack()
                                                    .map(5)
                                                    .str("version")
                                                    .number(2)
                                                    .str("gsu")
                                                    .boolean(true)
                                                    .str("wgm")
                                                    .boolean(false)
                                                    .str("staggerU")
                                                    .boolean(true)
                                                    .str("useUniversalArgs")
                                                    .boolean(true)
                                                    .bytes}},
                       {{"staggerUMapping", build::number(3)},
                        {"workGroupMappingXCC", build::number(8)},
                        {"workGroupMappingXCCGroup", build::Pack().negative(-1).bytes},
                        {"globalSplitUCoalesced", build::Pack().boolean(true).bytes},
                        {"globalSplitUWorkGroupMappingRoundRobin", build::number(2)}})})));
  const rawhal_tensile_solution_t *solution = rawhal_tensile_solution(tensile, 0);
  EXPECT_EQ(text(solution->name), "Cijk_A");
  EXPECT_EQ(text(solution->kernel), "Cijk_kernel");
  EXPECT_EQ(solution->code_object.size, 0u);
  EXPECT_TRUE(solution->arguments.known);
  EXPECT_EQ(solution->arguments.version, 2);
  EXPECT_TRUE(solution->arguments.global_split_u);
  EXPECT_FALSE(solution->arguments.workgroup_mapping);
  EXPECT_TRUE(solution->arguments.stagger_u);
  EXPECT_TRUE(solution->arguments.universal);
  EXPECT_EQ(solution->sizes.stagger_mapping, 3);
  EXPECT_EQ(solution->sizes.xcc, 8);
  EXPECT_EQ(solution->sizes.xcc_group, -1);
  EXPECT_EQ(solution->sizes.split_coalesced, 1);
  EXPECT_EQ(solution->sizes.split_round_robin, 2);
}

// The first two are what tensilelite's own description of its signatures shows (Components/README.md).
TEST_F(Tensile, TellsAKernelHowItsWorkIsShared)
{
  using Words = std::vector<uint32_t>;
  const auto sized = [](int64_t split, int64_t mapping, int64_t shift, int64_t stagger_mapping) {
    rawhal_tensile_sizes_t sizes = {};
    sizes.global_split_u = split;
    sizes.workgroup_mapping = mapping;
    sizes.stagger_u = 32;
    sizes.stagger_stride_shift = shift;
    sizes.stagger_mapping = stagger_mapping;
    return sizes;
  };
  const rawhal_tensile_sizes_t split1 = sized(1, 8, 1, 0), split2 = sized(2, -8, 0, 1);
  rawhal_tensile_sizes_t chips = split2, device = split2, large = split1;
  chips.xcc = 8, chips.xcc_group = 38;
  chips.split_coalesced = 1;
  device.xcc = 8, device.xcc_group = -1;
  device.split_round_robin = 1;
  large.global_split_u = 0x1234, large.workgroup_mapping = 300;
  const rawhal_tensile_arguments_t all = {true, 0, true, true, true, true};
  const struct {
    int64_t version;
    bool mapping, stagger, universal;
    const rawhal_tensile_sizes_t &sizes;
    Words words;
  } cases[] = {
      {0, true, true, true, split1, {1, 0x01200801}},
      {1, true, true, true, split2, {1, 0x20200002, 0xfffffff8, 300}},
      {2, true, true, true, chips, {1, 0x20208002, 38u << 22 | 8u << 16 | 0xfff8, 300}},
      {2, true, true, true, device, {1, 0x20204002, 304u << 22 | 8u << 16 | 0xfff8, 300}},
      {2, false, true, true, device, {1, 0x20204002, 0, 300}},
      {2, true, false, true, chips, {1, 0x8002, 38u << 22 | 8u << 16 | 0xfff8, 300}},
      {1,
       true,
       true,
       true,
       chips,
       {1, 0x20200002, 0xfffffff8, 300}}, // no chips yet, nor coalescing
      {0, true, false, true, large, {1, 0xffff}},
      {0, false, false, true, large, {1, 0x1234}},
      {1, true, false, true, large, {1, 0x1234, 300, 300}},
      {0, true, true, false, split1, {0x01200801}},
      {1, true, true, false, split2, {0x20200002, 0xfffffff8, 0}},
  };
  for (const auto &each : cases) {
    rawhal_tensile_solution_t solution = {};
    solution.sizes = each.sizes;
    solution.arguments = all;
    solution.arguments.version = each.version;
    solution.arguments.workgroup_mapping = each.mapping;
    solution.arguments.stagger_u = each.stagger;
    solution.arguments.universal = each.universal;
    uint32_t words[RAWHAL_TENSILE_SPLIT_ARGUMENTS], count = 99;
    ASSERT_OK(rawhal_tensile_split_arguments(&solution, 300, 304, words, &count, &error));
    EXPECT_EQ(Words(words, words + count), each.words) << &each - cases;
  }
}

TEST_F(Tensile, TellsNothingThatIsNotKnown)
{
  rawhal_tensile_solution_t solution = {};
  uint32_t words[RAWHAL_TENSILE_SPLIT_ARGUMENTS], count = 99;
  EXPECT_EQ(rawhal_tensile_split_arguments(&solution, 1, 1, words, &count, &error),
            RAWHAL_UNSUPPORTED);
  EXPECT_EQ(count, 0u);
  solution.arguments = {true, 2, true, true, true, true};
  EXPECT_OK(rawhal_tensile_split_arguments(&solution, 1, 0, words, &count, &error));
  for (int64_t version : {INT64_C(-1), INT64_C(3), INT64_MIN, INT64_MAX}) {
    solution.arguments.version = version;
    EXPECT_EQ(rawhal_tensile_split_arguments(&solution, 1, 1, words, &count, &error),
              RAWHAL_UNSUPPORTED);
  }
  solution.arguments.version = 2;
  solution.sizes.xcc = 2;
  solution.sizes.xcc_group = -1;
  EXPECT_EQ(rawhal_tensile_split_arguments(&solution, 1, 0, words, &count, &error),
            RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_tensile_split_arguments(nullptr, 1, 1, words, &count, &error),
            RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_tensile_split_arguments(&solution, 1, 1, nullptr, &count, &error),
            RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_tensile_split_arguments(&solution, 1, 1, words, nullptr, &error),
            RAWHAL_INVALID_ARGUMENT);
}

TEST_F(Tensile, NamesCodeObjectsAsTensileDoes)
{
  const std::string library = build::tensile({build::solution("Cijk_A", 0, true)});
  const struct {
    const char *prefix, *target, *object;
  } cases[] = {
      {"T_gfx90a", "", "T_gfx90a.hsaco"},
      {"T_gfx90a", "gfx90a:xnack+", "T_gfx90a.hsaco"},
      {"T_fallback", "gfx90a:sramecc+:xnack-", "T_fallback_gfx90a.hsaco"},
      {"T_fallback", "gfx942", "T_fallback_gfx942.hsaco"},
      {"T_fallback", "", ""},
      {"", "gfx942", ""},
  };
  for (const auto &expected : cases) {
    options.prefix = rawhal_string(expected.prefix);
    options.target = rawhal_string(expected.target);
    ASSERT_OK(open(library));
    EXPECT_EQ(text(rawhal_tensile_solution(tensile, 0)->code_object), expected.object);
  }
}

// Whose file it is says its name.
TEST_F(Tensile, AFileIsNamedAfterItself)
{
  const std::string path = testing::TempDir() + "Tensile_HH.dat";
  std::ofstream(path, std::ios::binary) << build::tensile({build::solution("Cijk_A", 0)});
  ASSERT_OK(rawhal_tensile_open_file(path.c_str(), nullptr, &tensile, &error));
  EXPECT_EQ(text(rawhal_tensile_solution(tensile, 0)->code_object), "Tensile_HH.co");
  rawhal_tensile_close(tensile);
  options.prefix = RAWHAL_STRING("other");
  ASSERT_OK(rawhal_tensile_open_file(path.c_str(), &options, &tensile, &error));
  EXPECT_EQ(text(rawhal_tensile_solution(tensile, 0)->code_object), "other.co");
  remove(path.c_str());
  rawhal_tensile_close(tensile);
  EXPECT_EQ(rawhal_tensile_open_file(path.c_str(), nullptr, &tensile, &error), RAWHAL_NOT_FOUND);
  EXPECT_EQ(tensile, nullptr);
}

TEST_F(Tensile, FindsTheLibrariesOfItsTree)
{
  ASSERT_OK(open(build::tensile(
      {}, build::rows({build::branches({{"Contraction_1", build::placeholder("T_one")},
                                        {"Contraction_2", build::single(3)}}),
                       build::placeholder("T_two")}))));
  EXPECT_EQ(rawhal_tensile_count(tensile), 0u);
  ASSERT_EQ(rawhal_tensile_library_count(tensile), 2u);
  EXPECT_EQ(text(rawhal_tensile_library(tensile, 0)), "T_one");
  EXPECT_EQ(text(rawhal_tensile_library(tensile, 1)), "T_two");
  EXPECT_EQ(rawhal_tensile_library(tensile, 2).size, 0u);
}

TEST_F(Tensile, MembersMayStandInAnyOrder)
{
  build::Pack root;
  root.map(2).str("library").raw(build::placeholder("T")).str("solutions").array(0);
  ASSERT_OK(open(root.bytes));
  EXPECT_EQ(rawhal_tensile_library_count(tensile), 1u);
  EXPECT_EQ(rawhal_tensile_version(tensile).size, 0u);
}

TEST_F(Tensile, RefusesWhatIsNone)
{
  const std::string sound = build::tensile({build::solution("Cijk_A", 1)});
  const std::string none = build::Pack().map(1).str("kernels").array(0).bytes;
  const std::string unnamed = build::tensile({build::Pack().map(1).str("index").number(1).bytes});
  for (const std::string &bytes :
       {std::string(),
        std::string("\x7f"
                    "ELF"),
        none, unnamed, sound + "x", build::tensile({build::solution("", 1)}),
        build::tensile({build::record({{"index", build::number(1)}, {"name", build::words("a")}})}),
        build::tensile({}, build::Pack().map(0).bytes),
        build::tensile({}, build::placeholder(""))}) {
    EXPECT_EQ(open(bytes), RAWHAL_MALFORMED);
    EXPECT_EQ(tensile, nullptr);
    EXPECT_LE(error.offset, bytes.size());
  }
  EXPECT_EQ(rawhal_tensile_open(nullptr, 1, nullptr, &tensile, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_tensile_open("", 0, nullptr, nullptr, &error), RAWHAL_INVALID_ARGUMENT);
}

TEST_F(Tensile, EveryShorterFileIsRefused)
{
  const std::string sound =
      build::tensile({build::solution("Cijk_A", 1)}, build::rows({build::placeholder("T")}));
  ASSERT_OK(open(sound));
  for (size_t size = 0; size < sound.size(); ++size)
    EXPECT_EQ(open(sound.substr(0, size)), RAWHAL_MALFORMED) << size;
}

TEST_F(Tensile, TreesThatNestTooDeepAreRefused)
{
  std::string tree = build::placeholder("T");
  for (int i = 0; i < 8; ++i)
    tree = build::rows({tree});
  ASSERT_OK(open(build::tensile({}, tree)));
  EXPECT_EQ(rawhal_tensile_library_count(tensile), 1u);
  for (int i = 0; i < 1000; ++i)
    tree = build::rows({tree});
  EXPECT_EQ(open(build::tensile({}, tree)), RAWHAL_CAP_EXCEEDED);
  tree = build::single(0);
  for (int i = 0; i < 1000; ++i)
    tree = build::branches({{"x", tree}});
  EXPECT_EQ(open(build::tensile({}, tree)), RAWHAL_CAP_EXCEEDED);
  tree = build::single(0); // with nothing beside the branches that is passed over
  for (int i = 0; i < 1000; ++i)
    tree = build::record(
        {{"type", build::words("ProblemMap")}, {"map", build::record({{"x", tree}})}});
  EXPECT_EQ(open(build::tensile({}, tree)), RAWHAL_CAP_EXCEEDED);
}

// Values of a byte each, as many as there can be, are read to their end.
TEST_F(Tensile, DenseFilesCostNoMoreThanTheyMay)
{
  build::Pack many;
  many.map(100000);
  for (int i = 0; i < 100000; ++i)
    many.number(1).raw(build::placeholder("T"));
  build::Pack tree;
  tree.map(2).str("type").str("ProblemMap").str("map").raw(many.bytes);
  ASSERT_OK(open(build::tensile({}, tree.bytes)));
  EXPECT_EQ(rawhal_tensile_library_count(tensile), 100000u);
  build::Pack keys; // of the root: a byte each, and skipped one by one
  keys.map(1000002).str("solutions").array(0).str("library").raw(build::single(0));
  for (int i = 0; i < 1000000; ++i)
    keys.number(1).number(1);
  ASSERT_OK(open(keys.bytes));
}

TEST_F(Tensile, MemoryMayEndAnywhere)
{
  const std::string sound =
      build::tensile(std::vector<std::string>(20, build::solution("Cijk_A", 1)),
                     build::rows({build::placeholder("T")}));
  options.prefix = RAWHAL_STRING("T");
  open_with_less_and_less(sound, 2);
}

// ---- Compressed by zlib ----

std::string some_library(size_t solutions = 20)
{
  std::vector<std::string> all;
  for (size_t i = 0; i < solutions; ++i)
    all.push_back(build::solution("Cijk_" + std::to_string(i), i));
  return build::tensile(all, build::rows({build::placeholder("T_one")}));
}

std::string packed_at(int level, const std::string &plain)
{
  uLongf size = compressBound(plain.size());
  std::string packed(size, '\0');
  EXPECT_EQ(compress2(reinterpret_cast<Bytef *>(&packed[0]), &size,
                      reinterpret_cast<const Bytef *>(plain.data()), plain.size(), level),
            Z_OK);
  packed.resize(size);
  return packed;
}

TEST_F(Tensile, APackedOneSaysTheSame)
{
  const std::string plain = some_library(500);
  for (int level : {0, 1, 6, 9}) {
    const std::string packed = packed_at(level, plain);
    EXPECT_TRUE(rawhal_tensile_recognise(packed.data(), packed.size()));
    EXPECT_TRUE(rawhal_tensile_recognise(packed.data(), std::min<size_t>(packed.size(), 1024)));
    ASSERT_OK(open(packed));
    given.assign(given.size(), 'x'); // what was unpacked is its own
    ASSERT_EQ(rawhal_tensile_count(tensile), 500u);
    for (size_t i = 0; i < 500; ++i) {
      const rawhal_tensile_solution_t *solution = rawhal_tensile_solution(tensile, i);
      EXPECT_EQ(text(solution->kernel), "Cijk_" + std::to_string(i));
      EXPECT_EQ(solution->sizes.workgroup_mapping, -8);
    }
    EXPECT_EQ(text(rawhal_tensile_library(tensile, 0)), "T_one");
  }
  const std::string other = packed_at(9, "no library at all");
  EXPECT_FALSE(rawhal_tensile_recognise(other.data(), other.size()));
  EXPECT_EQ(open(other), RAWHAL_MALFORMED);
  EXPECT_EQ(open(packed_at(9, "")), RAWHAL_MALFORMED);
}

TEST_F(Tensile, APackedFileIsCalledAsItsTables)
{
  const std::string folder = "/tmp/rawhal-tensile-" + std::to_string(getpid()) + "/";
  const std::string path = folder + "TensileLibrary_SB_gfx90a.dat.zlib";
  ASSERT_EQ(mkdir(folder.c_str(), 0700), 0);
  std::ofstream(path, std::ios::binary) << packed_at(9, some_library());
  EXPECT_OK(rawhal_tensile_open_file(path.c_str(), &options, &tensile, &error));
  unlink(path.c_str());
  rmdir(folder.c_str());
  ASSERT_NE(tensile, nullptr);
  EXPECT_EQ(text(rawhal_tensile_solution(tensile, 3)->code_object), "TensileLibrary_SB_gfx90a.co");
}

TEST_F(Tensile, DamagedPackedOnesAreRefused)
{
  const std::string sound = packed_at(9, some_library());
  ASSERT_OK(open(sound));
  for (size_t size = 0; size < sound.size(); ++size)
    EXPECT_EQ(open(sound.substr(0, size)), RAWHAL_MALFORMED) << size;
  for (size_t at = 0; at < sound.size(); ++at) {
    std::string bad = sound;
    bad[at] = static_cast<char>(bad[at] ^ (1 << at % 8));
    const rawhal_status_t status = open(bad);
    EXPECT_EQ(tensile == nullptr, status != RAWHAL_OK);
    // A sum is at the end; before it, bits that fill up the last byte say nothing.
    EXPECT_TRUE(status != RAWHAL_OK || at == sound.size() - 5) << at;
  }
  EXPECT_EQ(open(sound + "x"), RAWHAL_MALFORMED);
  EXPECT_EQ(error.offset, sound.size());
  EXPECT_EQ(open(packed_at(9, some_library() + "x")), RAWHAL_MALFORMED);
}

// Blocks of nothing, 200,000 of them; and, where there is time, 1 GiB and a byte of what costs next to nothing.
TEST_F(Tensile, BombsAreRefused)
{
  const std::string start = some_library();
  const size_t zeros = is_lengthened() ? (size_t{1} << 30) + 1 - start.size() : 0;
  z_stream stream = {};
  ASSERT_EQ(deflateInit(&stream, 1), Z_OK);
  std::string packed;
  std::vector<char> room(1 << 20);
  const auto put = [&](const std::string &bytes, int flush) {
    stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    do {
      stream.next_out = reinterpret_cast<Bytef *>(room.data());
      stream.avail_out = static_cast<uInt>(room.size());
      (void)deflate(&stream, flush);
      packed.append(room.data(), room.size() - stream.avail_out);
    } while (stream.avail_out == 0);
  };
  put(start, Z_FULL_FLUSH);
  for (int i = 0; i < 200000 && !zeros; ++i)
    packed += std::string("\0\0\0\xff\xff", 5); // a stored block of no bytes
  const std::string piece(1 << 20, '\0');
  for (size_t left = zeros; left; left -= std::min(left, piece.size()))
    put(piece.substr(0, std::min(left, piece.size())), Z_NO_FLUSH);
  put("", Z_FINISH);
  deflateEnd(&stream);
  EXPECT_EQ(open(packed), RAWHAL_CAP_EXCEEDED) << error.message;
  EXPECT_EQ(strstr(error.message, "1073741824") != nullptr, zeros != 0) << error.message;
}

TEST_F(Tensile, MemoryToUnpackMayEndAnywhere)
{
  const std::string packed = packed_at(9, some_library(200)); // which takes room several times
  open_with_less_and_less(packed, 6);
}

TEST_F(Tensile, KnowsItsOwn)
{
  const std::string sound = build::tensile({});
  EXPECT_TRUE(rawhal_tensile_recognise(sound.data(), sound.size()));
  EXPECT_FALSE(rawhal_tensile_recognise(sound.data(), 5));
  EXPECT_FALSE(rawhal_tensile_recognise(nullptr, 0));
  EXPECT_FALSE(rawhal_tensile_recognise("\x7f"
                                        "ELF",
                                        4));
  const std::string wide = std::string("\xdf\0\0\0\2", 5) + sound.substr(1);
  EXPECT_TRUE(rawhal_tensile_recognise(wide.data(), wide.size()));
}

} // namespace
