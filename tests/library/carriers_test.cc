// Files that carry many objects, and images that come from no file: fat libraries, compressed ones, this process's own.
#include "cache_test.h"

#include "process_test.h"
#include "tests/hsaco/builder.h"
#include "tests/hsaco/carriers.h"
#include "tests/hsaco/compressed.h"
#include "tests/hsaco/host.h"

// A fat binary of this program's own, as HIP's compiler leaves it: a code object, and who points to it.
__asm__(".pushsection .hip_fatbin,\"a\",@progbits\n.p2align 12\n.globl library_fatbin\n"
        ".hidden library_fatbin\nlibrary_fatbin:\n"
        ".incbin \"" RAWHAL_SOURCE_DIR "/tests/fixtures/vector_add-gfx90a-v5.co\"\n.popsection\n");
extern "C" __attribute__((visibility("hidden"))) const char library_fatbin[];
struct Wrapper {
  uint32_t magic, version;
  const void *binary;
  void *unused;
};
__attribute__((section(".hipFatBinSegment"), used)) static Wrapper wrapper = {
    0x48495046, 1, library_fatbin, nullptr};

namespace {

class LibraryCarriers : public LibraryCache {
protected:
  static constexpr size_t units = 240;

  std::string unit(size_t number) const
  {
    const std::vector<char> bytes = renamed(vector_add, "vector_add", numbered(number));
    return {bytes.begin(), bytes.end()};
  }

  // One file with kern_00000 and so on, an object each: from the second library on, its index says where.
  void expect_an_index(const fs::path &file, bool unpacked)
  {
    rawhal_library_t *library = create_with(file);
    expect_answers(library, units);
    EXPECT_EQ(stats(library).indexes_written, 1u);
    EXPECT_EQ(stats(library).kernels, units);
    destroy(library);

    library = create_with(file);
    const std::vector<rawhal_library_match_t> found = find(library, named(numbered(150)));
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].unpacked, unpacked);
    EXPECT_EQ(found[0].bytes, vector_add.size());
    const std::string object = unit(150);
    EXPECT_TRUE(content_equal_to(found[0].content, object));
    if (!unpacked) { // in the outermost file
      EXPECT_TRUE(slurp(file).substr(found[0].offset, found[0].bytes) == object);
    }
    expect_found(library, numbered(7));
    expect_found(library, numbered(units - 1));
    EXPECT_EQ(stats(library).indexes_read, 1u);
    EXPECT_EQ(stats(library).files_read, 0u);
    destroy(library);
    expect_answers(create_with(file), units);

    // Written anew, it may be another.
    std::string bytes = slurp(file);
    spit(file, bytes.data(), bytes.size());
    library = create_with(file);
    expect_answers(library, units);
    EXPECT_EQ(stats(library).indexes_read, 0u);
  }

  static bool content_equal_to(const rawhal_content_hash_t &hash, const std::string &bytes)
  {
    const rawhal_content_hash_t other = rawhal_content_hash(bytes.data(), bytes.size());
    return hash.high == other.high && hash.low == other.low;
  }
};

// A unit's bundle after the other, as linkers put them.
TEST_F(LibraryCarriers, AFatLibraryHasAnIndex)
{
  std::string fatbin;
  for (size_t i = 0; i < units; ++i) {
    fatbin.resize((fatbin.size() + 4095) / 4096 * 4096);
    fatbin += build::bundle(
        {{"host-x86_64-unknown-linux--", ""}, {"hipv4-amdgcn-amd-amdhsa--gfx90a", unit(i)}});
  }
  const std::string bytes = host_file(fatbin);
  ASSERT_GE(bytes.size(), 1u << 20);
  spit(folder / "libfat.so", bytes.data(), bytes.size());
  expect_an_index(folder / "libfat.so", false);
}

// Small on disk, and unpacked at a cost.
TEST_F(LibraryCarriers, ACompressedOneHasAnIndex)
{
  for (unsigned method : {0u, 1u}) {
    SCOPED_TRACE(method ? "zstd" : "zlib");
    std::string objects;
    for (size_t i = 0; i < units; ++i) {
      objects.resize((objects.size() + 7) / 8 * 8);
      objects += unit(i);
    }
    const std::string bytes = build::ccob(2, method, objects);
    ASSERT_LT(bytes.size(), 1u << 20);
    ASSERT_GE(objects.size(), 1u << 20);
    const fs::path file = folder / ("packed" + std::to_string(method) + ".hipfb");
    spit(file, bytes.data(), bytes.size());
    expect_an_index(file, true);
  }
}

TEST_F(LibraryCarriers, WhatIsNoCodeObjectIsSaidToBeWhatItIs)
{
  const std::string bytes =
      build::bundle({{"hip-spirv64-amd-amdhsa--amdgcnspirv", "\x03\x02\x23\x07"},
                     {"hipv4-amdgcn-amd-amdhsa--gfx90a", unit(0)}});
  spit(folder / "both.bundle", bytes.data(), bytes.size());
  rawhal_library_t *library = create_with(folder);
  expect_found(library, numbered(0));
  const rawhal_device_kernel_t *kernel = nullptr;
  EXPECT_EQ(get(library, "other", &kernel), RAWHAL_NOT_FOUND);
  EXPECT_NE(strstr(error.message, "1 cannot be read"), nullptr) << error.message;
  EXPECT_NE(strstr(error.message, "both.bundle, object 0: "), nullptr) << error.message;
  EXPECT_NE(strstr(error.message, "SPIR-V"), nullptr) << error.message;
}

// What this process and a library that it has loaded carry, found without HIP, by name, and launched.
TEST_F(LibraryCarriers, ImagesOfThisProcess)
{
  std::vector<std::string> files;
  for (size_t i = 0; i < 2; ++i) {
    const std::string bytes =
        build::bundle({{"host-x86_64-unknown-linux--", ""},
                       {"hipv4-amdgcn-amd-amdhsa--gfx942",
                        slurp(RAWHAL_SOURCE_DIR "/tests/fixtures/vector_add-gfx942-v6.co")},
                       {"hipv4-amdgcn-amd-amdhsa--gfx90a", unit(i)}});
    files.push_back(folder / ("unit" + std::to_string(i)));
    spit(files.back(), bytes.data(), bytes.size());
  }
  const std::string path = folder / "libunits.so";
  ASSERT_NO_FATAL_FAILURE(build_library(wrapper_source(files), path));
  Loaded loaded(path);
  Process process = look();
  rawhal_library_t *library = create();
  for (size_t i = 0; i < rawhal_process_fatbin_count(process.get()); ++i) {
    const rawhal_process_fatbin_t *fatbin = rawhal_process_fatbin(process.get(), i);
    const rawhal_string_t module = rawhal_process_module(process.get(), fatbin->module)->path;
    ASSERT_EQ(text(fatbin->why_not), "");
    ASSERT_OK(
        rawhal_library_add_bytes(library, fatbin->image.data, fatbin->image.size, module, &error));
  }
  for (const std::string &name : {std::string("vector_add"), numbered(0), numbered(1)}) {
    const std::vector<rawhal_library_match_t> found = find(library, named(name));
    ASSERT_EQ(found.size(), 1u) << name;
    EXPECT_EQ(text(found[0].file), name == "vector_add" ? path_of_this_program() : path);
    expect_found(library, name);
  }
  rawhal_library_query_t query = named(numbered(1));
  query.file = RAWHAL_STRING("libunits.so");
  size_t count = 0;
  EXPECT_OK(rawhal_library_find(library, &query, nullptr, 0, 0, &count, &error));
  EXPECT_EQ(count, 1u);
  destroy(library); // before what it was told of goes
}

} // namespace
