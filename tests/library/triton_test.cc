// Entries of Triton's cache: a fixture's object with JSON of the tests' own beside it.
#include <rawhal/triton.h>

#include <sys/stat.h>

#include <filesystem>
#include <map>

#include "tests/hal/device_test.h"

namespace fs = std::filesystem;

namespace {

// vector_add(c, a, b, n), up to 256 work-items, wave64.
const char *const object = "vector_add-gfx90a-v5.co";

using Members = std::map<std::string, std::string>;

Members usual()
{
  return {{"name", "\"vector_add\""},
          {"target", R"({"backend": "hip", "arch": "gfx90a", "warp_size": 64})"},
          {"num_warps", "4"},
          {"num_stages", "2"},
          {"num_ctas", "1"},
          {"shared", "512"},
          {"warp_size", "64"},
          {"hash", "\"5a\""},
          {"arch", "\"gfx90a\""},
          {"launch_cooperative_grid", "false"}};
}

// With some members changed; "" takes one away.
std::string json(const Members &changes = {})
{
  Members members = usual();
  for (const auto &[name, value] : changes)
    members[name] = value;
  std::string text;
  for (const auto &[name, value] : members)
    if (!value.empty())
      text.append(text.empty() ? "{" : ", ").append("\"").append(name).append("\": ").append(value);
  return text + "}";
}

std::string text_of(rawhal_string_t string)
{
  EXPECT_EQ('\0', string.data ? string.data[string.size] : '\0');
  return {string.data, string.size};
}

class Triton : public testing::Test {
protected:
  void SetUp() override
  {
    char name[] = "/tmp/rawhal-triton-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder = name;
  }
  void TearDown() override
  {
    close();
    fs::remove_all(folder);
  }
  void close()
  {
    rawhal_triton_close(triton);
    triton = nullptr;
  }

  static void write(const fs::path &path, const std::string &bytes)
  {
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
  }

  // NAME.hsaco and NAME.json.
  fs::path entry(const std::string &stem, const std::string &metadata)
  {
    const std::vector<char> bytes = fixture_bytes(object);
    write(folder / (stem + ".hsaco"), {bytes.begin(), bytes.end()});
    write(folder / (stem + ".json"), metadata);
    return folder / (stem + ".json");
  }

  rawhal_status_t open(const fs::path &path, rawhal_triton_options_t options = {})
  {
    close();
    error = {};
    return rawhal_triton_open_file(path.c_str(), &options, &triton, &error);
  }

  // The entry of this metadata is refused with words of this kind.
  void expect_refused(rawhal_status_t status, const std::string &metadata, const std::string &words)
  {
    EXPECT_EQ(status, open(entry("one", metadata))) << metadata << error.message;
    EXPECT_EQ(nullptr, triton);
    EXPECT_NE(std::string::npos, std::string(error.message).find(words)) << error.message;
    EXPECT_NE(std::string::npos, std::string(error.message).find("one.json")) << error.message;
  }

  const rawhal_triton_kernel_t &at(size_t index)
  {
    const rawhal_triton_kernel_t *kernel = rawhal_triton_kernel(triton, index);
    static const rawhal_triton_kernel_t none = {};
    EXPECT_NE(nullptr, kernel);
    return kernel ? *kernel : none;
  }

  fs::path folder;
  rawhal_triton_t *triton = nullptr;
  rawhal_error_t error = {};
};

// ---- One entry ----

TEST_F(Triton, BothFilesOfAnEntryOpenItAndSayTheSame)
{
  const fs::path path = entry("add", json({{"triton_version", "\"3.2.0\""},
                                           {"global_scratch_size", "4096"},
                                           {"global_scratch_align", "128"},
                                           {"profile_scratch_size", "null"},
                                           {"profile_scratch_align", "16"}}));
  fs::path other = path;
  other.replace_extension(".hsaco");
  for (const fs::path &given : {path, other, folder}) {
    SCOPED_TRACE(given);
    ASSERT_OK(open(given));
    ASSERT_EQ(1u, rawhal_triton_kernel_count(triton));
    const rawhal_triton_kernel_t &one = at(0);
    EXPECT_EQ("vector_add", text_of(one.name));
    EXPECT_EQ(path, text_of(one.json_path));
    EXPECT_EQ(other, text_of(one.hsaco_path));
    EXPECT_EQ("5a", text_of(one.hash));
    EXPECT_EQ("3.2.0", text_of(one.triton_version));
    EXPECT_EQ("hip", text_of(one.backend));
    EXPECT_EQ("gfx90a", text_of(one.arch));
    EXPECT_EQ(512u, one.shared);
    EXPECT_EQ(4u, one.num_warps);
    EXPECT_EQ(64u, one.warp_size);
    EXPECT_EQ(256u, one.workgroup);
    EXPECT_EQ(2u, one.num_stages);
    EXPECT_EQ(1u, one.num_ctas);
    EXPECT_FALSE(one.launch_cooperative_grid);
    EXPECT_EQ(4096u, one.global_scratch_size);
    EXPECT_EQ(128u, one.global_scratch_align);
    EXPECT_EQ(0u, one.profile_scratch_size);
    EXPECT_EQ(16u, one.profile_scratch_align);
    EXPECT_EQ(0u, one.scratch_pointers);
    EXPECT_EQ(RAWHAL_OK, one.status);
    EXPECT_EQ(0u, one.why_not.size);
    EXPECT_EQ(nullptr, rawhal_triton_kernel(triton, 1));
  }
}

TEST_F(Triton, WhatAnEarlierVersionDoesNotSayIsTheObjects)
{
  ASSERT_OK(open(entry("one", R"({"name": "vector_add", "shared": 0, "num_warps": 2})")));
  EXPECT_EQ(64u, at(0).warp_size);
  EXPECT_EQ(128u, at(0).workgroup);
  EXPECT_EQ(1u, at(0).num_ctas);
  EXPECT_EQ(0u, at(0).arch.size);
  ASSERT_OK(open(entry(
      "one", json({{"target", R"(["hip", "gfx90a", 64])"}, {"warp_size", ""}, {"arch", ""}}))));
  EXPECT_EQ("gfx90a", text_of(at(0).arch));
  ASSERT_OK(open(
      entry("one", json({{"target", R"(["hip", "gfx90a:sramecc+:xnack-"])"}, {"arch", "null"}}))));
  ASSERT_OK(open(entry("one", json({{"target", "null"}}))));
}

TEST_F(Triton, TheOtherFileMustBeThere)
{
  const fs::path path = entry("one", json());
  fs::path other = path;
  other.replace_extension(".hsaco");
  fs::rename(other, folder / "kept");
  EXPECT_EQ(RAWHAL_NOT_FOUND, open(path));
  EXPECT_NE(nullptr, strstr(error.message, "no .hsaco next to it")) << error.message;
  fs::rename(folder / "kept", other);
  fs::remove(path);
  EXPECT_EQ(RAWHAL_NOT_FOUND, open(other));
  EXPECT_NE(nullptr, strstr(error.message, "no .json next to it")) << error.message;
  // What is there and is no file is not opened: this would wait for ever.
  ASSERT_EQ(0, mkfifo(path.c_str(), 0600));
  EXPECT_EQ(RAWHAL_NOT_FOUND, open(other));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, open(path));
  fs::remove(path);
  fs::create_directory(path);
  EXPECT_EQ(RAWHAL_NOT_FOUND, open(other));
}

TEST_F(Triton, PathsThatAreNone)
{
  EXPECT_EQ(RAWHAL_NOT_FOUND, open(folder / "nothing"));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, open("/dev/null"));
  EXPECT_EQ(RAWHAL_NOT_FOUND, open(folder));
  write(folder / "a.txt", json());
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, open(folder / "a.txt"));
  write(folder / ".json", json());
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, open(folder / ".json"));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, rawhal_triton_open_file(nullptr, nullptr, &triton, &error));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, rawhal_triton_open_file("/", nullptr, nullptr, &error));
  EXPECT_EQ(0u, rawhal_triton_kernel_count(nullptr));
  EXPECT_EQ(nullptr, rawhal_triton_kernel(nullptr, 0));
  rawhal_triton_close(nullptr);
}

// ---- JSON that somebody has made ----

TEST_F(Triton, AMemberThatCannotBeIsNamed)
{
  const struct {
    const char *name, *value, *words;
  } wrong[] = {
      {"name", "", "no 'name'"},
      {"name", "\"\"", "'name' is empty"},
      {"name", "null", "'name' is null, not a string"},
      {"name", "7", "'name' is an integer"},
      {"name", R"("vector\nadd")", "'name' has a control character at 6"},
      {"name", R"("vector\u007fadd")", "'name' has a control character at 6"},
      {"hash", R"("\u001b[2J")", "'hash' has a control character at 0"},
      {"hash", "[]", "'hash' is a list"},
      {"shared", "", "no 'shared'"},
      {"shared", "-1", "'shared' is -1, not 0 to 2147483647"},
      {"shared", "2147483648", "'shared' is 2147483648"},
      {"shared", "1.5", "'shared' is a real, not a number"},
      {"shared", "true", "'shared' is true"},
      {"shared", "null", "'shared' is null"},
      {"num_warps", "", "no 'num_warps'"},
      {"num_warps", "0", "'num_warps' is 0, not 1 to 1024"},
      {"num_warps", "1025", "'num_warps' is 1025"},
      {"num_warps", "\"4\"", "'num_warps' is a string"},
      {"warp_size", "0", "'warp_size' is 0"},
      {"warp_size", "128", "'warp_size' is 128"},
      {"num_ctas", "0", "'num_ctas' is 0"},
      {"num_ctas", "{}", "'num_ctas' is an object"},
      {"num_stages", "-3", "'num_stages' is -3"},
      {"launch_cooperative_grid", "1",
       "'launch_cooperative_grid' is an integer, not true or false"},
      {"global_scratch_size", "-1", "'global_scratch_size' is -1"},
      {"global_scratch_align", "3", "'global_scratch_align' is 3, not a power of two"},
      {"profile_scratch_align", "0", "'profile_scratch_align' is 0"},
      {"target", "7", "'target' is an integer"},
      {"target", "{}", "in 'target': there is no 'backend'"},
      {"target", "[]", "in 'target': there is no 'backend'"},
      {"target", R"(["hip", 90])", "in 'target': 'arch' is an integer"},
      {"target", R"({"backend": "hip", "arch": ""})", "in 'target': 'arch' is empty"},
      {"target", R"({"backend": "hip", "arch": "gfx90a", "warp_size": 65})",
       "in 'target': 'warp_size' is 65"},
  };
  for (const auto &[name, value, words] : wrong)
    expect_refused(RAWHAL_MALFORMED, json({{name, value}}), words);
}

TEST_F(Triton, WhatIsNoObjectOfJsonIsRefused)
{
  const std::string deep(1000000, '[');
  for (const std::string &text :
       {std::string(), std::string("{"), std::string("\xff\xfe"), deep,
        deep + "{\"a\":", std::string("{\"name\": \"a\0b\"}", 15), json() + "x",
        std::string(R"({"shared": 99999999999999999999999})"),
        std::string(R"({"name": "a", "name": "b"})"), std::string(R"({"shared": NaN})")})
    expect_refused(RAWHAL_MALFORMED, text, "no JSON: ");
  expect_refused(RAWHAL_MALFORMED, "[]", "the JSON is a list, not an object");
}

TEST_F(Triton, AFileThatIsTooLongIsNotRead)
{
  const fs::path path = entry("one", json() + std::string(1 << 20, ' '));
  EXPECT_EQ(RAWHAL_CAP_EXCEEDED, open(path)) << error.message;
  rawhal_triton_options_t options = {};
  options.max_json_bytes = 2 << 20;
  EXPECT_OK(open(path, options));
}

// ---- Against the object ----

TEST_F(Triton, WhatContradictsTheObjectIsRefusedWithBothNumbers)
{
  expect_refused(RAWHAL_NOT_FOUND, json({{"name", "\"other\""}}),
                 "no kernel 'other' in the object, which has 1");
  expect_refused(RAWHAL_NOT_FOUND, json({{"name", "\"vector_dad\""}}),
                 "which has 1; nearest: 'vector_add'");
  expect_refused(RAWHAL_TARGET_MISMATCH, json({{"arch", "\"gfx942\""}}),
                 "the JSON is for 'gfx942', the object for 'gfx90a'");
  expect_refused(RAWHAL_TARGET_MISMATCH, json({{"arch", "\"gfx90\""}}),
                 "'gfx90', the object for 'gfx90a'");
  expect_refused(RAWHAL_MALFORMED, json({{"warp_size", "32"}}),
                 "'warp_size' is 32, the kernel's waves have 64");
  expect_refused(RAWHAL_MALFORMED, json({{"num_warps", "8"}}),
                 "'num_warps' is 8: 512 work-items, the kernel is for at most 256");
  expect_refused(RAWHAL_UNSUPPORTED,
                 json({{"target", R"({"backend": "cuda", "arch": 90, "warp_size": 32})"}}),
                 "compiled for 'cuda', not for 'hip'");
  // vector_add() ends in a number, which no pointer of Triton's is.
  expect_refused(RAWHAL_MALFORMED, json({{"triton_version", "\"3.5.0\""}}),
                 "Triton '3.5.0' puts 2 pointers after the arguments, the kernel ends in 0");
  expect_refused(RAWHAL_MALFORMED, json({{"triton_version", "\"3.4.0\""}}), "puts 1 pointers");
  expect_refused(RAWHAL_MALFORMED, json({{"triton_version", "\"3.3.1+git12\""}}),
                 "puts 1 pointers");
  expect_refused(RAWHAL_MALFORMED, json({{"triton_version", "\"4.0\""}}), "puts 2 pointers");
  expect_refused(RAWHAL_MALFORMED, json({{"profile_scratch_size", "0"}}), "puts 2 pointers");
  write(folder / "one.hsaco", "\177ELF");
  EXPECT_EQ(RAWHAL_MALFORMED, open(folder / "one.json"));
}

// ---- Folders ----

TEST_F(Triton, AFolderIsListedInOrderWithWhatIsWrong)
{
  entry("b/add", json({{"num_warps", "1"}}));
  entry("a/add", json({{"num_warps", "2"}}));
  entry("a/bad", json({{"num_warps", "\"x\""}}));
  entry("a/cut", json());
  fs::remove(folder / "a/cut.json");
  entry("c/gone", json());
  fs::remove(folder / "c/gone.hsaco");
  write(folder / "a/__grp__add.json", R"({"child_paths": {"add.json": "/nowhere"}})");
  write(folder / "a/add.ttir", "module {}");
  write(folder / "a/list.json", "[1, 2]");
  ASSERT_EQ(0, mkfifo((folder / "a/pipe.json").c_str(), 0600));
  ASSERT_EQ(0, mkfifo((folder / "a/pipe.hsaco").c_str(), 0600));
  fs::create_directory(folder / "a/folder.json");
  fs::create_directory_symlink("..", folder / "a/round");
  fs::create_symlink("/nowhere", folder / "a/lost.json");
  fs::create_symlink("../b/add.hsaco", folder / "c/linked.hsaco");
  fs::create_symlink("../b/add.json", folder / "c/linked.json");
  ASSERT_OK(open(folder));
  const struct {
    const char *name;
    rawhal_status_t status;
    uint32_t warps;
    const char *words;
  } expected[] = {
      {"vector_add", RAWHAL_OK, 2, ""},
      {"bad", RAWHAL_MALFORMED, 0, "a/bad.json: 'num_warps' is a string, not a number"},
      {"cut", RAWHAL_NOT_FOUND, 0, "a/cut.hsaco: no .json next to it"},
      {"vector_add", RAWHAL_OK, 1, ""},
      {"vector_add", RAWHAL_NOT_FOUND, 4, "c/gone.json: no .hsaco next to it"},
      {"vector_add", RAWHAL_OK, 1, ""},
  };
  ASSERT_EQ(std::size(expected), rawhal_triton_kernel_count(triton));
  for (size_t i = 0; i < std::size(expected); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(expected[i].name, text_of(at(i).name));
    EXPECT_EQ(expected[i].status, at(i).status);
    EXPECT_EQ(expected[i].warps, at(i).num_warps);
    EXPECT_EQ(*expected[i].words ? (folder / expected[i].words).string() : "",
              text_of(at(i).why_not));
  }
  EXPECT_EQ(folder / "c/linked.json", text_of(at(5).json_path));
}

TEST_F(Triton, MoreKernelsThanWantedAreRefused)
{
  for (const char *name : {"a", "b", "c"})
    entry(name, json());
  rawhal_triton_options_t options = {};
  options.max_kernels = 2;
  EXPECT_EQ(RAWHAL_CAP_EXCEEDED, open(folder, options));
  EXPECT_NE(nullptr, strstr(error.message, "max_kernels (2)")) << error.message;
  options.max_kernels = 3;
  EXPECT_OK(open(folder, options));
}

// Fails for the allocation number `left`; counts what is not given back.
struct Memory {
  rawhal_allocator_t allocator = {};
  size_t left = SIZE_MAX, live = 0;
  Memory()
  {
    allocator.context = this;
    allocator.allocate = [](void *context, size_t size, size_t alignment) -> void * {
      Memory *self = static_cast<Memory *>(context);
      if (!self->left)
        return nullptr;
      --self->left;
      ++self->live;
      return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    };
    allocator.free = [](void *context, void *memory) {
      --static_cast<Memory *>(context)->live;
      ::free(memory);
    };
  }
};

TEST_F(Triton, WhereMemoryEndsNothingIsLeftBehind)
{
  entry("a/one", json());
  entry("b/one", json({{"name", "7"}}));
  write(folder / "list.json", "[]");
  bool done = false;
  for (size_t most = 0; most < 1000 && !done; ++most) {
    Memory memory;
    memory.left = most;
    rawhal_triton_options_t options = {};
    options.allocator = &memory.allocator;
    const rawhal_status_t status = open(folder, options);
    done = status == RAWHAL_OK;
    if (done) {
      EXPECT_EQ(2u, rawhal_triton_kernel_count(triton));
      EXPECT_EQ(RAWHAL_OK, at(0).status);
    } else {
      EXPECT_EQ(RAWHAL_OUT_OF_MEMORY, status) << most << error.message;
    }
    close();
    EXPECT_EQ(0u, memory.live) << most;
  }
  EXPECT_TRUE(done);
}

// ---- Launching ----

class TritonLaunch : public DeviceTest {
protected:
  void SetUp() override
  {
    DeviceTest::SetUp();
    entry.name = RAWHAL_STRING("reduce_sum");
    entry.num_warps = 4;
    entry.warp_size = 64;
    entry.workgroup = 256;
    entry.num_ctas = 1;
  }

  rawhal_status_t fill(uint32_t x = 3, uint32_t y = 1, uint32_t z = 1)
  {
    const uint32_t programs[3] = {x, y, z};
    return rawhal_triton_dispatch(&entry, device, added, programs, &dispatch, &error);
  }

  void expect_refused(rawhal_status_t status, const std::string &words)
  {
    const rawhal_dispatch_t before = dispatch;
    EXPECT_EQ(status, fill());
    EXPECT_NE(std::string::npos, std::string(error.message).find(words)) << error.message;
    EXPECT_EQ(before.kernel, dispatch.kernel);
  }

  rawhal_triton_kernel_t entry = {};
  const rawhal_device_kernel_t *added = nullptr;
  rawhal_dispatch_t dispatch = {};
};

TEST_F(TritonLaunch, ADispatchHasTheWorkGroupsOfItsPrograms)
{
  added = kernel(object, "vector_add");
  entry.name = RAWHAL_STRING("vector_add");
  entry.shared = 1024;
  dispatch.blob_size = 7;
  dispatch.flags = RAWHAL_DISPATCH_COOPERATIVE << 1;
  ASSERT_OK(fill(5, 6, 7));
  EXPECT_EQ(added, dispatch.kernel);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(i ? 1u : 256u, dispatch.workgroup[i]);
    EXPECT_EQ(i ? 5u + static_cast<uint32_t>(i) : 5u * 256, dispatch.work_items[i]);
  }
  EXPECT_EQ(1024u, dispatch.dynamic_lds);
  EXPECT_EQ(7u, dispatch.blob_size);
  EXPECT_EQ(RAWHAL_DISPATCH_COOPERATIVE << 1, dispatch.flags);
  entry.launch_cooperative_grid = true;
  ASSERT_OK(fill());
  EXPECT_EQ(RAWHAL_DISPATCH_COOPERATIVE | RAWHAL_DISPATCH_COOPERATIVE << 1, dispatch.flags);
}

TEST_F(TritonLaunch, WhatTheDeviceCannotIsRefused)
{
  added = kernel(object, "vector_add");
  expect_refused(RAWHAL_INVALID_ARGUMENT,
                 "the entry is of 'reduce_sum', the kernel is 'vector_add'");
  entry.name = RAWHAL_STRING("vector_add");
  entry.shared = 65537;
  expect_refused(RAWHAL_OUT_OF_RANGE, "65537 bytes of LDS ('shared' is 65537, the kernel's own are "
                                      "0), a work-group has at most 65536");
  entry.shared = 65536;
  EXPECT_OK(fill());
  entry.workgroup = 2048;
  expect_refused(RAWHAL_OUT_OF_RANGE,
                 "a work-group has 2048 work-items, on the device at most 1024");
  entry.workgroup = 256;
  entry.num_ctas = 2;
  expect_refused(RAWHAL_UNSUPPORTED, "clusters of 2");
  entry.num_ctas = 1;
  entry.status = RAWHAL_NOT_FOUND;
  entry.why_not = RAWHAL_STRING("the reason");
  expect_refused(RAWHAL_NOT_FOUND, "the reason");
  entry.status = RAWHAL_OK;
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, fill(0));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, fill(1, 1, 0));
  EXPECT_EQ(RAWHAL_OUT_OF_RANGE, fill(1u << 24));
  EXPECT_OK(fill((1u << 24) - 1));
  EXPECT_OK(fill(1, UINT32_MAX));
  const uint32_t one[3] = {1, 1, 1};
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT,
            rawhal_triton_dispatch(nullptr, device, added, one, &dispatch, &error));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT,
            rawhal_triton_dispatch(&entry, nullptr, added, one, &dispatch, &error));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT,
            rawhal_triton_dispatch(&entry, device, nullptr, one, &dispatch, &error));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT,
            rawhal_triton_dispatch(&entry, device, added, nullptr, &dispatch, &error));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT,
            rawhal_triton_dispatch(&entry, device, added, one, nullptr, &error));
}

TEST_F(TritonLaunch, AnEntryRunsAsItsJsonSays)
{
  char name[] = "/tmp/rawhal-triton-XXXXXX";
  ASSERT_NE(mkdtemp(name), nullptr);
  const fs::path folder = name;
  const std::vector<char> bytes = fixture_bytes(object);
  std::ofstream(folder / "k.hsaco", std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  std::ofstream(folder / "k.json") << json();
  rawhal_triton_t *triton = nullptr;
  ASSERT_OK(rawhal_triton_open_file(folder.c_str(), nullptr, &triton, &error));
  const rawhal_triton_kernel_t *one = rawhal_triton_kernel(triton, 0);
  rawhal_executable_t *executable = nullptr;
  ASSERT_OK(
      rawhal_executable_open_file(device, one->hsaco_path.data, nullptr, &executable, &error));
  executables.push_back(executable);
  ASSERT_OK(rawhal_executable_kernel(executable, one->name, 0, &added, &error));
  entry = *one;
  ASSERT_OK(fill(4));
  std::vector<float> a(1000), b(1000);
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<float>(i);
    b[i] = static_cast<float>(3 * i);
  }
  rawhal_buffer_t *c = buffer(4000);
  Blob blob;
  blob.add(rawhal_buffer_address(c))
      .add(rawhal_buffer_address(upload(a)))
      .add(rawhal_buffer_address(upload(b)))
      .add(uint32_t{1000});
  dispatch.blob = blob.bytes.data();
  dispatch.blob_size = blob.bytes.size();
  ASSERT_OK(run(queue(), dispatch));
  const std::vector<float> sums = download<float>(c, 1000);
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_EQ(a[i] + b[i], sums[i]) << i;
  // A library of the same folder has it, too.
  rawhal_library_options_t options = {};
  options.cache = "off";
  rawhal_library_t *library = nullptr;
  ASSERT_OK(rawhal_library_create(device, &options, &library, &error));
  ASSERT_OK(rawhal_library_add(library, folder.c_str(), &error));
  rawhal_library_query_t query = {};
  query.name = one->name;
  query.file = one->hsaco_path;
  ASSERT_OK(rawhal_library_kernel(library, &query, &added, &error));
  EXPECT_OK(fill(4));
  rawhal_library_release(library, added);
  rawhal_library_destroy(library);
  rawhal_triton_close(triton);
  fs::remove_all(folder);
}

} // namespace
