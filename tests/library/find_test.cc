// Kernels are found by name over everything that was added, and the right one is meant.
#include "library_test.h"
#include "tests/extended.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace {

class LibraryFind : public LibraryTest {
protected:
  // A kernel that was found: file, object, offset and bytes, content, signature, and whether it can be used.
  using Found =
      std::tuple<std::string, uint32_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, bool>;
  using FoundByName = std::map<std::string, std::multiset<Found>>;

  static uint64_t signature_of(const rawhal_kernel_t *kernel)
  {
    rawhal_kernarg_layout_t *layout = nullptr;
    if (rawhal_kernarg_layout_create(kernel, 0, &layout, nullptr) != RAWHAL_OK)
      return 0;
    const uint64_t signature = rawhal_kernarg_layout_info(layout)->signature;
    rawhal_kernarg_layout_destroy(layout);
    return signature;
  }

  // An object's kernels by what they are asked for by: the name, or else the symbol without ".kd".
  static std::map<std::string, const rawhal_kernel_t *> names_of(const rawhal_hsaco_t *hsaco)
  {
    std::map<std::string, const rawhal_kernel_t *> names;
    const rawhal_kernel_t *kernel;
    for (size_t k = 0; (kernel = rawhal_hsaco_kernel(hsaco, k)); ++k)
      names.emplace(std::string(kernel->name.data, kernel->name.size), kernel);
    for (size_t k = 0; (kernel = rawhal_hsaco_kernel(hsaco, k)); ++k)
      if (kernel->symbol.size > 3)
        names.emplace(std::string(kernel->symbol.data, kernel->symbol.size - 3), kernel);
    return names;
  }

  void look_through(const std::string &path, const rawhal_container_object_t *object,
                    uint32_t ordinal, FoundByName *found)
  {
    rawhal_hsaco_t *hsaco = nullptr;
    if (!object->readable ||
        rawhal_target_match(&object->target, &rawhal_device_info(device)->target) ||
        rawhal_hsaco_open(object->bytes.data, object->bytes.size, nullptr, &hsaco, nullptr) !=
            RAWHAL_OK)
      return;
    const rawhal_content_hash_t content =
        rawhal_content_hash(object->bytes.data, object->bytes.size);
    const bool loadable = rawhal_hsaco_info(hsaco)->loadable;
    for (const auto &[name, kernel] : names_of(hsaco))
      (*found)[name].emplace(path, ordinal, object->offset, object->bytes.size, content.high,
                             content.low, signature_of(kernel), loadable && kernel->usable);
    rawhal_hsaco_close(hsaco);
  }

  // All there is below a path that the device can run: by opening everything.
  FoundByName everything(const fs::path &path)
  {
    FoundByName found;
    for (const fs::directory_entry &entry : fs::recursive_directory_iterator(fs::canonical(path))) {
      rawhal_container_t *container = nullptr;
      if (!entry.is_regular_file() || rawhal_container_open_file(entry.path().c_str(), nullptr,
                                                                 &container, nullptr) != RAWHAL_OK)
        continue;
      const rawhal_container_object_t *object;
      for (uint32_t i = 0; (object = rawhal_container_object(container, i)); ++i)
        look_through(entry.path(), object, i, &found);
      rawhal_container_close(container);
    }
    return found;
  }

  std::multiset<Found> found_by(rawhal_library_t *library, const std::string &name)
  {
    const rawhal_library_query_t query = named(name);
    size_t count = 0;
    EXPECT_OK(rawhal_library_find(library, &query, nullptr, 0, 0, &count, &error));
    std::vector<rawhal_library_match_t> matches(count);
    EXPECT_OK(rawhal_library_find(library, &query, matches.data(), count, sizeof(matches[0]),
                                  &count, &error));
    EXPECT_EQ(count, matches.size());
    std::multiset<Found> found;
    for (const rawhal_library_match_t &one : matches)
      found.emplace(std::string(one.file.data, one.file.size), one.ordinal, one.offset, one.bytes,
                    one.content.high, one.content.low, one.signature, one.usable);
    return found;
  }

  void expect_everything(const fs::path &path)
  {
    const FoundByName all = everything(path);
    ASSERT_FALSE(all.empty());
    RecordProperty("kernels", static_cast<int>(all.size()));
    rawhal_library_t *library = create_with(path);
    for (const auto &[name, wanted] : all)
      ASSERT_TRUE(found_by(library, name) == wanted) << name;
    EXPECT_TRUE(find(library, named("no such kernel")).empty());
  }

  // AMD's aiter, Debian's rocRAND and, where there are minutes, rocSPARSE as one library, one of which has objects for
  // the device.
  void expect_real_libraries_as_one(const fs::path &the_devices, const char *else_why)
  {
    if (!fs::exists(the_devices))
      GTEST_SKIP() << else_why;
    const std::pair<const char *, fs::path> sources[] = {
        {"aiter", RAWHAL_CORPUS "/aiter"},
        {"rocrand", RAWHAL_BUILD_DIR "/rocrand"},
        {is_extended_to_all() ? "rocsparse" : "", RAWHAL_BUILD_DIR "/rocsparse"},
    };
    std::string there;
    for (const auto &[name, path] : sources) {
      if (!*name || !fs::exists(path))
        continue;
      fs::copy(fs::canonical(path), folder / name,
               fs::copy_options::recursive | fs::copy_options::copy_symlinks);
      there += std::string(name) + " ";
    }
    RecordProperty("there", there);
    expect_everything(folder);
  }
};

TEST_F(LibraryFind, AddingOpensNoFile)
{
  fill(200);
  Opens opens(folder);
  rawhal_library_t *library = create_with(folder);
  EXPECT_EQ(opens.count(), 0u);
  EXPECT_EQ(stats(library).files, 200u);
  const rawhal_device_kernel_t *kernel = nullptr;
  ASSERT_OK(get(library, numbered(17), &kernel));
  const size_t opened = opens.count(); // each for its names, one to load; so does the runtime
  EXPECT_GE(opened, 201u);
  EXPECT_LE(opened, 203u);
  expect_adds(kernel);
  rawhal_library_release(library, kernel);
  ASSERT_OK(get(library, numbered(17), &kernel));
  EXPECT_EQ(opens.count(), 0u);
  rawhal_library_release(library, kernel);
  const rawhal_library_stats_t now = stats(library);
  EXPECT_EQ(now.files_read, 200u);
  EXPECT_EQ(now.kernels, 200u);
  EXPECT_EQ(now.loads, 1u);
}

TEST_F(LibraryFind, FixturesAreFoundAsByALinearSearch)
{
  expect_everything(RAWHAL_SOURCE_DIR "/tests/fixtures");
}

TEST_F(LibraryFind, CorpusIsFoundAsByALinearSearch)
{
  if (!fs::exists(RAWHAL_CORPUS))
    GTEST_SKIP() << "no corpus at " RAWHAL_CORPUS;
  expect_everything(RAWHAL_CORPUS);
}

TEST_F(LibraryFind, RealLibrariesAreSearchedAsOne)
{
  expect_real_libraries_as_one(RAWHAL_BUILD_DIR "/rocrand", "librocrand1 is not there");
}

class LibraryFindGfx942 : public LibraryFind {
protected:
  const char *softgpu_options() override { return "gpus=1,vram_mib=256,chip=gfx942,listed=gfx90a"; }
};

TEST_F(LibraryFindGfx942, RealLibrariesAreSearchedAsOne)
{
  expect_real_libraries_as_one(RAWHAL_CORPUS "/aiter", "no corpus at " RAWHAL_CORPUS);
}

TEST_F(LibraryFind, ByNameAndBySymbol)
{
  fill(3);
  rawhal_library_t *library = create_with(folder);
  const rawhal_device_kernel_t *one = nullptr, *two = nullptr;
  ASSERT_OK(get(library, numbered(1), &one));
  ASSERT_OK(get(library, numbered(1) + ".kd", &two));
  EXPECT_EQ(one, two);
  for (const char *wrong :
       {"kern_0000", "kern_000001", "kern_00003", ".kd", "kern_00001.kd.kd", "kern_00001."})
    EXPECT_EQ(get(library, wrong, &two), RAWHAL_NOT_FOUND) << wrong;
  EXPECT_EQ(two, nullptr);
}

TEST_F(LibraryFind, EqualNamesOfDifferentCodeAreAmbiguous)
{
  // The same name, with other code and another signature.
  write_file(folder / "a" / "add.co", renamed(vector_add, "vector_add", "same_name_"));
  write_file(folder / "b" / "ids.co",
             renamed(fixture_bytes("mandelbrot-gfx90a-v5.co"), "mandelbrot", "same_name_"));
  write_file(folder / "c" / "copy_of_add.co", renamed(vector_add, "vector_add", "same_name_"));
  rawhal_library_t *library = create_with(folder);
  const rawhal_device_kernel_t *kernel = nullptr;
  EXPECT_EQ(get(library, "same_name_", &kernel), RAWHAL_AMBIGUOUS);
  EXPECT_EQ(kernel, nullptr);
  EXPECT_NE(strstr(error.message, "a/add.co"), nullptr) << error.message;
  EXPECT_NE(strstr(error.message, "b/ids.co"), nullptr) << error.message;
  EXPECT_EQ(strstr(error.message, "c/copy"), nullptr) << error.message; // is no other code

  const std::vector<rawhal_library_match_t> matches = find(library, named("same_name_"));
  ASSERT_EQ(matches.size(), 3u);
  EXPECT_NE(matches[0].signature, matches[1].signature);
  EXPECT_EQ(matches[0].signature, matches[2].signature);
  EXPECT_EQ(matches[0].content.high, matches[2].content.high);

  for (const char *file : {"add.co", "a/add.co"}) {
    rawhal_library_query_t query = named("same_name_");
    query.file = rawhal_string(file);
    ASSERT_OK(rawhal_library_kernel(library, &query, &kernel, &error));
    expect_adds(kernel);
    rawhal_library_release(library, kernel);
  }
  rawhal_library_query_t query = named("same_name_");
  query.file = RAWHAL_STRING("dd.co"); // no part of a path
  EXPECT_EQ(rawhal_library_kernel(library, &query, &kernel, &error), RAWHAL_NOT_FOUND);
  query.file = matches[0].file;
  EXPECT_OK(rawhal_library_kernel(library, &query, &kernel, &error));
  expect_adds(kernel);

  query = named("same_name_");
  query.signature = matches[0].signature;
  EXPECT_OK(rawhal_library_kernel(library, &query, &kernel, &error));
  expect_adds(kernel);
  query.signature ^= 1;
  EXPECT_EQ(rawhal_library_kernel(library, &query, &kernel, &error), RAWHAL_NOT_FOUND);
  EXPECT_NE(strstr(error.message, "3 code objects have"), nullptr) << error.message;

  query = named("same_name_");
  query.content = matches[0].content;
  EXPECT_OK(rawhal_library_kernel(library, &query, &kernel, &error));
  expect_adds(kernel);
}

TEST_F(LibraryFind, TheBestForTheDeviceIsMeant)
{
  // Of three that fit, one insists on more; one is for another chip.
  for (const char *name :
       {"vector_add-gfx90a-v5.co", "vector_add-gfx942-v5.co", "vector_add-gfx1030-v5.co"})
    write_file(folder / name, fixture_bytes(name));
  for (const char *name :
       {"halves-gfx90a_ecc-v5.co", "halves-gfx90a_noecc-v5.co", "halves-gfx942_noecc-v5.co"})
    write_file(folder / name, fixture_bytes(name));
  rawhal_library_t *library = create_with(folder);
  EXPECT_EQ(find(library, named("vector_add")).size(), 1u);
  const std::vector<rawhal_library_match_t> halves = find(library, named("halves"));
  for (const rawhal_library_match_t &match : halves)
    EXPECT_EQ(rawhal_target_match(&match.target, &rawhal_device_info(device)->target), 0u);
  const rawhal_device_kernel_t *kernel = nullptr;
  ASSERT_OK(get(library, "vector_add", &kernel));
  expect_adds(kernel);
  EXPECT_EQ(get(library, "none", &kernel), RAWHAL_NOT_FOUND);
  EXPECT_NE(strstr(error.message, "for gfx942"), nullptr) << error.message;
  EXPECT_NE(strstr(error.message, "1 objects are for gfx1030"), nullptr) << error.message;
}

TEST_F(LibraryFind, ExactTargetsComeBeforeOthers)
{
  // The same kernel for any setting of xnack, and for off: e_flags say which.
  std::vector<char> any = renamed(vector_add, "vector_add", "some_name_"), off = any;
  uint32_t flags;
  memcpy(&flags, &any[48], 4);
  ASSERT_EQ(flags & 0x300, 0x100u); // any
  flags = (flags & ~0x300u) | 0x200;
  memcpy(&off[48], &flags, 4);
  write_file(folder / "1-any.co", any);
  write_file(folder / "2-off.co", off);
  rawhal_library_t *library = create_with(folder);
  const std::vector<rawhal_library_match_t> matches = find(library, named("some_name_"));
  ASSERT_EQ(matches.size(), 2u);
  EXPECT_EQ(matches[0].target.xnack, RAWHAL_FEATURE_OFF);
  EXPECT_EQ(matches[1].target.xnack, RAWHAL_FEATURE_ANY);
  const rawhal_device_kernel_t *kernel = nullptr;
  ASSERT_OK(get(library, "some_name_", &kernel));
  EXPECT_EQ(rawhal_hsaco_info(rawhal_executable_hsaco(rawhal_library_executable(library, kernel)))
                ->target.xnack,
            RAWHAL_FEATURE_OFF);
  expect_adds(kernel);
}

TEST_F(LibraryFind, CarriersOfAllKinds)
{
  write_file(folder / "bundle.bin", fixture_bytes("vector_add.bundle"));
  write_file(folder / "text.txt", {'n', 'o', 't', 'h', 'i', 'n', 'g'});
  write_file(folder / "empty", {});
  write_file(folder / "cut.co", std::vector<char>(vector_add.begin(), vector_add.begin() + 1000));
  rawhal_library_t *library = create_with(folder);
  const rawhal_device_kernel_t *kernel = nullptr;
  ASSERT_OK(get(library, "vector_add", &kernel));
  expect_adds(kernel);
  EXPECT_EQ(get(library, "other", &kernel), RAWHAL_NOT_FOUND);
  EXPECT_NE(strstr(error.message, "1 cannot be read"), nullptr) << error.message;
  EXPECT_NE(strstr(error.message, "cut.co"), nullptr) << error.message;
}

TEST_F(LibraryFind, BytesAndSingleFiles)
{
  rawhal_library_t *library = create();
  write_file(folder / "one.co", renamed(vector_add, "vector_add", "of_a_file_"));
  std::vector<char> bytes = renamed(vector_add, "vector_add", "of_bytes__");
  ASSERT_OK(rawhal_library_add(library, (folder / "one.co").c_str(), &error));
  ASSERT_OK(rawhal_library_add_bytes(library, bytes.data(), bytes.size(),
                                     RAWHAL_STRING("some bytes"), &error));
  for (const char *name : {"of_a_file_", "of_bytes__"}) {
    const rawhal_device_kernel_t *kernel = nullptr;
    ASSERT_OK(get(library, name, &kernel));
    expect_adds(kernel);
  }
  const std::vector<rawhal_library_match_t> matches = find(library, named("of_bytes__"));
  ASSERT_EQ(matches.size(), 1u);
  EXPECT_EQ(std::string(matches[0].file.data, matches[0].file.size), "some bytes");
  EXPECT_EQ(matches[0].bytes, bytes.size());
}

TEST_F(LibraryFind, AddingTwiceAndByOtherNamesAddsOnce)
{
  fill(5);
  rawhal_library_t *library = create_with(folder);
  ASSERT_OK(rawhal_library_add(library, (folder / "." / ".." / "objects").c_str(), &error));
  EXPECT_EQ(stats(library).files, 5u);
  fs::create_symlink(folder / "kern_00003.co",
                     folder / "link.co"); // the same bytes are not ambiguous
  ASSERT_OK(rawhal_library_refresh(library, &error));
  EXPECT_EQ(find(library, named(numbered(3))).size(), 2u);
  const rawhal_device_kernel_t *kernel = nullptr;
  EXPECT_OK(get(library, numbered(3), &kernel));
}

TEST_F(LibraryFind, ContentHashIsXxh128)
{
  // The value that xxh128sum prints for three bytes "abc" (xxHash 0.8, XXH128 with seed 0).
  const rawhal_content_hash_t hash = rawhal_content_hash("abc", 3);
  EXPECT_EQ(hash.high, 0x06b05ab6733a6185ull);
  EXPECT_EQ(hash.low, 0x78af5f94892f3950ull);
}

} // namespace
