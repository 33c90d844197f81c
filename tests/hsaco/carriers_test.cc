// ar archives, offload binaries and host objects: what is found in them, and that nothing of them is trusted.
#include "carriers.h"

#include "compressed.h"
#include "container_test.h"

using build::ar_archive;
using build::ar_header;
using build::ar_member;
using build::ArStyle;
using build::bundle;
using build::host_object;
using build::kOffloading;
using build::offload_binary;

namespace {

const char kLongName[] = "a_member_with_a_rather_long_name.o";

std::string host_with(const std::string &object)
{
  return host_object(
      {{".text", "code"}, {".hip_fatbin", bundle({{"hipv4-amdgcn-amd-amdhsa--gfx90a", object}})}});
}

// ---- ar ----

TEST(Ar, MembersOfEveryKind)
{
  const std::string a = object_for(0x53f), b = object_for(0x54c);
  for (ArStyle style : {ArStyle::kGnu, ArStyle::kBsd}) {
    const std::string bytes =
        ar_archive({{"text", "of odd length"},
                    {"a.co", a},
                    {kLongName, host_with(b)},
                    {"c.hipfb", bundle({{"hip-amdgcn-amd-amdhsa--gfx90a", a}}, 8)},
                    {"empty.o", ""},
                    {"host.o", host_object({{".text", "code"}})},
                    {"inner.a", ar_archive({{"d.co", b}}, style)}},
                   style);
    Container container(bytes);
    ASSERT_EQ(RAWHAL_OK, container.status) << container.error.message;
    ASSERT_EQ(4u, container.count());
    const struct {
      const char *member, *id;
      const std::string &object;
    } expected[] = {{"a.co", "", a},
                    {kLongName, "hipv4-amdgcn-amd-amdhsa--gfx90a", b},
                    {"c.hipfb", "hip-amdgcn-amd-amdhsa--gfx90a", a},
                    {"d.co", "", b}};
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_TRUE(container.at(i).readable) << i;
      EXPECT_EQ(expected[i].member, text_of(container.at(i).member)) << i;
      EXPECT_EQ(expected[i].id, text_of(container.at(i).id)) << i;
      EXPECT_EQ(expected[i].object, container.content(i)) << i;
      EXPECT_EQ(
          0, bytes.compare(container.at(i).offset, expected[i].object.size(), expected[i].object))
          << i;
    }
  }
}

TEST(Ar, OneBadMemberLeavesTheOthers)
{
  const std::string good = object_for(0x53f);
  std::string cut = bundle({{"hip-amdgcn-amd-amdhsa--gfx90a", good}}, 8);
  cut.resize(cut.size() - 100);
  Container container(
      ar_archive({{"cut.hipfb", cut}, {"good.co", good}, {"a.bc", "BC\xc0\xde..."}}));
  ASSERT_EQ(RAWHAL_OK, container.status) << container.error.message;
  ASSERT_EQ(3u, container.count());
  EXPECT_FALSE(container.at(0).readable);
  EXPECT_EQ("cut.hipfb", text_of(container.at(0).member));
  EXPECT_TRUE(contains(text_of(container.at(0).why_not), "ends after the bundle's"))
      << text_of(container.at(0).why_not);
  EXPECT_TRUE(container.at(1).readable);
  EXPECT_EQ(good, container.content(1));
  EXPECT_TRUE(contains(text_of(container.at(2).why_not), "bitcode"));
}

TEST(Ar, WhatHoldsNoneIsNotFound)
{
  EXPECT_EQ(RAWHAL_NOT_FOUND, Container("!<arch>\n").status);
  EXPECT_EQ(RAWHAL_NOT_FOUND,
            Container(ar_archive({{"a.o", host_object({})}, {"b", "text"}})).status);
  Container thin("!<thin>\n" + ar_header("a.o/", 100));
  EXPECT_EQ(RAWHAL_UNSUPPORTED, thin.status);
  EXPECT_TRUE(contains(thin.error.message, "thin archive")) << thin.error.message;
}

TEST(Ar, HeadersAreNotTrusted)
{
  const std::string object = object_for(0x53f), start = "!<arch>\n";
  const std::string digits(9, '9');
  const struct {
    const char *what;
    std::string bytes;
  } cases[] = {
      {"no header", start + "junk"},
      {"no end of a header", start + std::string(60, ' ')},
      {"no size", start + ar_header("a.co/", 0).replace(48, 10, std::string(10, ' '))},
      {"a size with a sign", start + ar_header("a.co/", 0).replace(48, 10, "-1        ")},
      {"a size of letters", start + ar_header("a.co/", 0).replace(48, 10, "12a       ")},
      {"too large a size", start + ar_header("a.co/", object.size() + 1) + object},
      {"the largest size", start + ar_header("a.co/", 9999999999) + object},
      {"a name in no table", start + ar_member("/0", object)},
      {"a name behind its table", start + ar_member("//", "a/\n") + ar_member("/4", object)},
      {"a place with letters", start + ar_member("//", "a/\n") + ar_member("/1x", object)},
      {"a place of all nines",
       start + ar_member("//", "a/\n") + ar_member("/99999999999999", object)},
      {"a name longer than its member", start + ar_member("#1/5", "abcd")},
      {"a name without length", start + ar_member("#1/", object)},
  };
  for (const auto &one : cases) {
    Container container(one.bytes);
    EXPECT_EQ(RAWHAL_MALFORMED, container.status) << one.what;
    EXPECT_TRUE(contains(container.error.message, "archive"))
        << one.what << ": " << container.error.message;
    EXPECT_LE(container.error.offset, one.bytes.size()) << one.what;
  }
  const std::string sound = ar_archive({{"a.co", object}, {kLongName, object}});
  for (size_t size = 8; size < sound.size(); ++size) {
    Container container(sound.substr(0, size));
    if (container.status == RAWHAL_OK) { // between two members
      EXPECT_EQ(1u, container.count()) << size;
    }
  }
}

TEST(Ar, NestingEnds)
{
  std::string bytes = object_for(0x53f);
  for (int depth = 1; depth < 5; ++depth) {
    bytes = ar_archive({{"a", bytes}});
    EXPECT_EQ(RAWHAL_OK, Container(bytes).status) << depth;
  }
  Container deep(ar_archive({{"a", bytes}}));
  EXPECT_EQ(RAWHAL_CAP_EXCEEDED, deep.status);
  EXPECT_TRUE(contains(deep.error.message, "nest")) << deep.error.message;
}

// Offsets count from the start of the outermost file, however deep an object lies in it.
TEST(Ar, OffsetsAreTheOutermostFiles)
{
  const std::string first = object_for(0x53f), second = object_for(0x54c),
                    third = object_for(0x64c), foreign = "\x03\x02\x23\x07 SPIR-V";
  const std::string both = build::bundle({{"host-x86_64-unknown-linux-gnu", ""},
                                          {"hipv4-amdgcn-amd-amdhsa--gfx90a", first},
                                          {"hip-spirv64-amd-amdhsa--amdgcnspirv", foreign},
                                          {"hipv4-amdgcn-amd-amdhsa--gfx942", second}});
  const std::string bytes = ar_archive({
      {"a.o", build::host_object({{".text", "no code"}, {".hip_fatbin", both}})},
      {"b.o",
       build::host_object({{".llvm.offloading", build::offload_binary(third, "gfx942:xnack-"),
                            build::kOffloading}})},
      {"c.o", build::host_object({{".hip_fatbin", build::ccob(2, 1, both)}})},
      {"in.a", ar_archive({{"d.so", host_file(both)}, {"e.co", second}})},
  });
  Container container(bytes);
  ASSERT_EQ(RAWHAL_OK, container.status) << container.error.message;
  const struct {
    const char *member;
    const std::string *content;
    bool unpacked;
  } expected[] = {{"a.o", &first, false},   {"a.o", &foreign, false}, {"a.o", &second, false},
                  {"b.o", &third, false},   {"c.o", &first, true},    {"c.o", &foreign, true},
                  {"c.o", &second, true},   {"d.so", &first, false},  {"d.so", &foreign, false},
                  {"d.so", &second, false}, {"e.co", &second, false}};
  ASSERT_EQ(std::size(expected), container.count());
  for (size_t i = 0; i < std::size(expected); ++i) {
    SCOPED_TRACE(i);
    const rawhal_container_object_t &object = container.at(i);
    EXPECT_EQ(expected[i].member, text_of(object.member));
    EXPECT_EQ(*expected[i].content, container.content(i));
    EXPECT_EQ(expected[i].unpacked, object.unpacked);
    const std::string at = object.unpacked ? "CCOB" : *expected[i].content;
    EXPECT_EQ(at, bytes.substr(object.offset, at.size()));
    EXPECT_EQ(expected[i].content != &foreign, object.readable);
    EXPECT_EQ(!object.readable, contains(text_of(object.why_not), "SPIR-V"));
  }
}

// ---- Offload binaries ----

TEST(OffloadBinary, SeveralInAFileAndInASection)
{
  const std::string a = object_for(0x53f), b = object_for(0x54c);
  const std::string both = offload_binary(a, "gfx90a:xnack-") + offload_binary(b, "gfx942");
  const std::string files[] = {
      both, host_object({{".llvm.offloading", both, kOffloading}}),
      ar_archive({{"h.o", host_object({{".llvm.offloading", both, kOffloading}})}})};
  for (const std::string &file : files) {
    Container container(file);
    ASSERT_EQ(RAWHAL_OK, container.status) << container.error.message;
    ASSERT_EQ(2u, container.count());
    EXPECT_EQ("amdgcn-amd-amdhsa--gfx90a:xnack-", text_of(container.at(0).id));
    EXPECT_EQ(a, container.content(0));
    EXPECT_EQ("amdgcn-amd-amdhsa--gfx942", text_of(container.at(1).id));
    EXPECT_EQ(b, container.content(1));
  }
}

TEST(OffloadBinary, WhatIsNoCodeObjectIsListed)
{
  Container container(
      offload_binary("ptx", {{"triple", "nvptx64-nvidia-cuda"}, {"arch", "sm_90"}}) +
      offload_binary("BC\xc0\xde\1\2\3\4", "gfx90a") + offload_binary(object_for(0x53f), "gfx90a"));
  ASSERT_EQ(RAWHAL_OK, container.status) << container.error.message;
  ASSERT_EQ(3u, container.count());
  EXPECT_TRUE(contains(text_of(container.at(0).why_not), "another vendor"));
  EXPECT_TRUE(contains(text_of(container.at(1).why_not), "bitcode"));
  EXPECT_TRUE(container.at(2).readable);
  std::string later = offload_binary(object_for(0x53f), "gfx90a");
  for (char number : {0, 4}) {
    later[4] = number;
    Container version(later);
    EXPECT_EQ(RAWHAL_UNSUPPORTED, version.status);
    EXPECT_TRUE(contains(version.error.message, "version after 3")) << version.error.message;
  }
  EXPECT_EQ(RAWHAL_NOT_FOUND, Container(offload_binary("", "gfx90a")).status);
}

TEST(OffloadBinary, FieldsAreNotTrusted)
{
  const std::string sound = offload_binary(object_for(0x53f), "gfx90a");
  const struct {
    const char *what;
    size_t offset;
  } fields[] = {{"size", 8},        {"entry", 16},        {"entry size", 24},
                {"strings", 40},    {"string count", 48}, {"image", 56},
                {"image size", 64}, {"key", 72},          {"value", 80}};
  for (const auto &field : fields)
    for (uint64_t value :
         {UINT64_MAX, UINT64_MAX - 7, UINT64_MAX / 2, static_cast<uint64_t>(sound.size() + 1)}) {
      std::string bytes = sound;
      memcpy(&bytes[field.offset], &value, sizeof(value));
      Container container(bytes);
      EXPECT_EQ(RAWHAL_MALFORMED, container.status) << field.what << " " << value;
      EXPECT_TRUE(contains(container.error.message, "offload binary"))
          << field.what << ": " << container.error.message;
    }
  std::string none = sound;
  memset(&none[8], 0, 8); // a size of 0 would never end
  EXPECT_EQ(RAWHAL_MALFORMED, Container(none).status);
  for (size_t size = 4; size < sound.size(); size += size < 300 ? 1 : 97)
    EXPECT_EQ(RAWHAL_MALFORMED, Container(sound.substr(0, size)).status) << size;
}

// With the triple as LLVM spells it since 2026-07, and one that is another vendor's.
std::vector<build::OffloadImage> three_images()
{
  return {{"amdgpu9.0a-amd-amdhsa", "gfx90a:xnack-", object_for(0x53f)},
          {"spirv64-intel", "", "\x03\x02\x23\x07...."},
          {"amdgcn-amd-amdhsa", "gfx942", object_for(0x54c)}};
}

TEST(OffloadBinary, LaterVersions)
{
  const std::vector<build::OffloadImage> images = three_images();
  const std::string files[] = {build::offload_binary_of(2, images, build::not_packed),
                               build::offload_binary_of(3, images, build::not_packed),
                               build::offload_binary_of(3, images, build::zstd_packed),
                               build::offload_binary_of(3, images, build::zlib_packed)};
  for (const std::string &file : files) {
    const bool unpacked = &file >= &files[2];
    for (uint32_t flags : {0u, uint32_t{RAWHAL_CONTAINER_HOLD_ONE}}) {
      rawhal_container_options_t options = {};
      options.flags = flags;
      Container container(file + file, options);
      ASSERT_EQ(RAWHAL_OK, container.status) << container.error.message;
      ASSERT_EQ(6u, container.count());
      for (size_t i : {3, 0, 5, 2}) { // also against their order
        const build::OffloadImage &image = images[i % 3];
        EXPECT_EQ(image.triple + "--" + image.processor, text_of(container.at(i).id));
        EXPECT_EQ(unpacked, container.at(i).unpacked);
        EXPECT_EQ(image.bytes, container.read(i));
      }
      EXPECT_TRUE(contains(text_of(container.at(1).why_not), "SPIR-V"));
    }
    for (size_t size = 4; size < file.size(); size += size < 400 ? 1 : 97)
      EXPECT_EQ(RAWHAL_MALFORMED, Container(file.substr(0, size)).status) << size;
    for (size_t at = 4; at < 400; ++at) // nothing outside is read, whatever it is then
      for (int bit = 0; bit < 8; ++bit) {
        std::string damaged = file;
        damaged[at] = static_cast<char>(damaged[at] ^ 1 << bit);
        Container container(damaged);
        EXPECT_TRUE(container.status == RAWHAL_OK || container.error.message[0]) << at;
      }
  }
}

TEST(OffloadBinary, WhatIsCompressedMeetsTheLimit)
{
  std::string binary = build::offload_binary_of(3, three_images(), build::zstd_packed);
  for (uint64_t claim : {uint64_t{1}, uint64_t{39}, uint64_t{40}, uint64_t{1} << 40, UINT64_MAX}) {
    memcpy(&binary[32], &claim, sizeof(claim));
    EXPECT_EQ(claim > 40 ? RAWHAL_CAP_EXCEEDED : RAWHAL_MALFORMED, Container(binary).status)
        << claim;
  }
}

// ---- Parts ----

// What one part is says nothing of the others.
TEST(Parts, OneThatIsNotOursLeavesTheOthers)
{
  const std::string a = object_for(0x53f), cut = a.substr(0, 40);
  const std::string prefix = "__CLANG_OFFLOAD_BUNDLE__";
  const std::vector<build::BundleEntry> entries = {{"sycl-spir64-unknown-unknown", "SPIR"},
                                                   {"sycl-native_cpu", "host"},
                                                   {"x", "of a kind to come"},
                                                   {"hip-amdgcn-amd-amdhsa--gfx90c", "CCOB cut"},
                                                   {"hip-amdgpu-amd-amdhsa--gfx90a", a}};
  std::vector<build::HostSection> sections;
  for (const build::BundleEntry &entry : entries)
    sections.push_back({prefix + entry.id, entry.payload});
  for (const std::string &file : {bundle(entries), host_object(sections)}) {
    Container container(file);
    ASSERT_EQ(RAWHAL_OK, container.status) << container.error.message;
    ASSERT_EQ(5u, container.count());
    for (size_t i = 0; i < 4; ++i)
      EXPECT_FALSE(container.at(i).readable) << i;
    EXPECT_TRUE(contains(text_of(container.at(0).why_not), "SPIR-V"));
    EXPECT_TRUE(contains(text_of(container.at(2).why_not), "neither a code object nor"));
    EXPECT_TRUE(contains(text_of(container.at(3).why_not), "CCOB"))
        << text_of(container.at(3).why_not);
    EXPECT_EQ(a, container.content(4));
  }
  // Where nothing can be read, it is the file's failure.
  EXPECT_EQ(RAWHAL_MALFORMED, Container(bundle({entries[3]})).status);
  EXPECT_EQ(RAWHAL_OK, Container(bundle({entries[0]})).status);
  EXPECT_EQ(RAWHAL_UNSUPPORTED, Container("\x03\x02\x23\x07 alone").status);
}

// ---- Constants ----

TEST(Embedded, FoundAnywhereByTheirOwnHeaders)
{
  const std::string a = object_for(0x53f), b = object_for(0x54c);
  const std::vector<std::string> carried = {
      a,
      bundle({{"hip-amdgcn-amd-amdhsa--gfx90a", a}}),
      build::ccob(2, 1, a),
      build::ccob(3, 0, a),
      offload_binary(a, "gfx90a"),
      build::offload_binary_of(3, {{"amdgcn", "gfx90a", a}}, build::zstd_packed)};
  // Programs that read these formats have their magics; what is cut is not whole.
  const std::string decoys = std::string("__CLANG_OFFLOAD_BUNDLE__") + '\0' + "CCOB" + '\0' +
                             "\x10\xff\x10\xad\1" + a.substr(0, 64) + "\177ELF";
  for (const std::string &one : carried)
    for (size_t place : {0, 1, 8, 4096}) {
      const std::string constants = decoys + std::string(place, 'x') + one + "after" + b + decoys;
      const std::string files[] = {
          host_object({{".rodata", constants, SHT_PROGBITS, SHF_ALLOC}}),
          host_object({{".data.rel.ro", constants, SHT_PROGBITS, SHF_ALLOC | SHF_WRITE}}),
          host_file("x" + constants, false),
          ar_archive({{"a.o", host_object({{".rodata", constants, SHT_PROGBITS, SHF_ALLOC}})}}),
          build::windows_file(false, constants),
          build::windows_file(true, constants)};
      for (const std::string &file : files) {
        Container container(file);
        ASSERT_EQ(RAWHAL_OK, container.status) << container.error.message;
        ASSERT_EQ(2u, container.count()) << place;
        EXPECT_EQ(a, container.content(0));
        EXPECT_EQ(b, container.content(1));
        EXPECT_TRUE(container.at(0).readable && container.at(1).readable);
      }
    }
  for (const char *name : {".comment", ".text"}) {
    const uint64_t flags = *name == '.' && name[1] == 't' ? SHF_ALLOC | SHF_EXECINSTR : 0;
    EXPECT_EQ(RAWHAL_NOT_FOUND, Container(host_object({{name, a, SHT_PROGBITS, flags}})).status);
  }
  EXPECT_EQ(RAWHAL_NOT_FOUND, Container(build::windows_file(false, decoys)).status);
}

TEST(Embedded, HeadersOfWindowsFilesAreNotTrusted)
{
  for (bool object : {false, true}) {
    const std::string sound = build::windows_file(object, object_for(0x53f));
    for (size_t at = 2; at < 64; ++at) {
      std::string damaged = sound;
      damaged[at] = '\xff';
      Container container(damaged);
      EXPECT_TRUE(container.status == RAWHAL_OK || container.status == RAWHAL_MALFORMED) << at;
    }
    for (size_t size = 0; size < 4200; size += size < 200 ? 1 : 97)
      EXPECT_NE(RAWHAL_OK, Container(sound.substr(0, size)).status) << size;
  }
}

// Headers by the million: reading ends, however far each claims to reach.
TEST(Embedded, LookingIsLinear)
{
  std::string headers;
  const std::string header = object_for(0x53f).substr(0, 64);
  while (headers.size() < 1 << 20)
    headers += header;
  Container container(host_object({{".rodata", headers, SHT_PROGBITS, SHF_ALLOC}}));
  EXPECT_TRUE(container.status == RAWHAL_CAP_EXCEEDED || container.status == RAWHAL_NOT_FOUND);
}

// ---- Host objects ----

TEST(HostObject, TheBundlersSections)
{
  const std::string a = object_for(0x53f);
  const std::string prefix = "__CLANG_OFFLOAD_BUNDLE__";
  Container container(
      host_object({{prefix + "host-x86_64-unknown-linux-gnu-", std::string(1, '\0')},
                   {prefix + "hip-amdgcn-amd-amdhsa--gfx90a", a},
                   {prefix + "openmp-nvptx64-nvidia-cuda", "ptx"},
                   {prefix + "hip-amdgcn-amd-amdhsa--gfx942", ""},
                   {prefix + std::string(200, 'x'), "?"}, // no id is so long
                   {".hip_fatbin_", "?"}}));
  ASSERT_EQ(RAWHAL_OK, container.status) << container.error.message;
  ASSERT_EQ(2u, container.count());
  EXPECT_EQ("hip-amdgcn-amd-amdhsa--gfx90a", text_of(container.at(0).id));
  EXPECT_EQ(a, container.content(0));
  EXPECT_FALSE(container.at(1).readable);
}

TEST(HostObject, SectionsCountByTheirType)
{
  const std::string binary = offload_binary(object_for(0x53f), "gfx90a");
  EXPECT_EQ(RAWHAL_NOT_FOUND, Container(host_object({{".llvm.offloading", binary}})).status);
  EXPECT_EQ(RAWHAL_NOT_FOUND,
            Container(host_object({{".llvm.offloading", binary, SHT_NOBITS}})).status);
  EXPECT_EQ(RAWHAL_OK, Container(host_object({{".llvm.offloading", binary, kOffloading}})).status);
  EXPECT_EQ(RAWHAL_OK,
            Container(host_object({{".llvm.offloading.relocatable", binary, kOffloading}})).status);
  EXPECT_EQ(RAWHAL_OK, Container(host_object({{"", binary, kOffloading}})).status);
  EXPECT_EQ(RAWHAL_MALFORMED,
            Container(host_object({{".llvm.offloading", "junk", kOffloading}})).status);
  EXPECT_EQ(RAWHAL_NOT_FOUND,
            Container(host_object({{".llvm.offloading", "", kOffloading}})).status);
}

// ---- Made by others ----

class ByOthers : public testing::Test {
protected:
  void SetUp() override
  {
    char folder[] = "/tmp/rawhal-carriers-XXXXXX";
    ASSERT_NE(nullptr, mkdtemp(folder));
    folder_ = folder;
    write("a.co", a);
    write("b.co", b);
    write("host.o", host_object({{".text", "code"}}));
    write(kLongName, host_with(b));
  }
  void TearDown() override { (void)!system(("rm -rf " + folder_).c_str()); }
  void write(const std::string &name, const std::string &bytes)
  {
    FILE *file = fopen((folder_ + "/" + name).c_str(), "wb");
    ASSERT_NE(nullptr, file);
    EXPECT_EQ(bytes.size(), fwrite(bytes.data(), 1, bytes.size(), file));
    fclose(file);
  }
  bool run(const std::string &command)
  {
    return system(("cd " + folder_ + " && " + command + " > /dev/null 2>&1").c_str()) == 0;
  }
  // What is in the file: members, ids and objects.
  std::vector<std::string> found(const std::string &name)
  {
    std::vector<std::string> all;
    rawhal_container_t *container = nullptr;
    rawhal_error_t error = {};
    EXPECT_EQ(RAWHAL_OK, rawhal_container_open_file((folder_ + "/" + name).c_str(), nullptr,
                                                    &container, &error))
        << name << ": " << error.message;
    for (size_t i = 0; i < rawhal_container_count(container); ++i) {
      const rawhal_container_object_t *object = rawhal_container_object(container, i);
      const std::string bytes(static_cast<const char *>(object->bytes.data), object->bytes.size);
      all.push_back(text_of(object->member) + "|" + text_of(object->id) + "|" +
                    (bytes == a   ? "a"
                     : bytes == b ? "b"
                                  : "other"));
    }
    rawhal_container_close(container);
    return all;
  }
  const std::string a = object_for(0x53f), b = object_for(0x54c);
  std::string folder_;
};

using Strings = std::vector<std::string>;

TEST_F(ByOthers, Archivers)
{
  const std::string files = std::string("a.co host.o ") + kLongName + " b.co";
  const Strings expected = {
      "a.co||a", std::string(kLongName) + "|hipv4-amdgcn-amd-amdhsa--gfx90a|b", "b.co||b"};
  int made = 0;
  for (const char *command : {"ar rcS", "ar rcs", "ar rcD", "llvm-ar-19 --format=gnu rc",
                              "llvm-ar-19 --format=bsd rc", "llvm-ar-19 --format=darwin rc"}) {
    (void)run("rm -f lib.a");
    if (!run(command + std::string(" lib.a ") + files))
      continue;
    EXPECT_EQ(expected, found("lib.a")) << command;
    ++made;
  }
  EXPECT_GE(made, 3); // GNU's belongs to the compiler
  ASSERT_TRUE(run("ar rcT thin.a a.co"));
  rawhal_container_t *container = nullptr;
  EXPECT_EQ(RAWHAL_UNSUPPORTED, rawhal_container_open_file((folder_ + "/thin.a").c_str(), nullptr,
                                                           &container, nullptr));
}

TEST_F(ByOthers, ObjectTools)
{
  const std::string prefix = "__CLANG_OFFLOAD_BUNDLE__hip-amdgcn-amd-amdhsa--gfx90a";
  ASSERT_TRUE(run("echo 'int x;' > x.c && cc -c x.c -o x.o && objcopy --add-section " + prefix +
                  "=a.co x.o y.o"));
  EXPECT_EQ(Strings({"|hip-amdgcn-amd-amdhsa--gfx90a|a"}), found("y.o"));
}

TEST_F(ByOthers, ClangsOffloadTools)
{
  if (!run("clang-offload-bundler-19 --version"))
    GTEST_SKIP() << "no clang-tools-19";
  const std::string triple = "amdgcn-amd-amdhsa";
  ASSERT_TRUE(run("PATH=$PATH:/usr/lib/llvm-19/bin && clang-offload-packager -o p.bin "
                  "--image=file=a.co,triple=" +
                  triple + ",arch=gfx90a,kind=hip --image=file=b.co,triple=" + triple +
                  ",arch=gfx942,kind=openmp"));
  EXPECT_EQ(Strings({"|amdgcn-amd-amdhsa--gfx90a|a", "|amdgcn-amd-amdhsa--gfx942|b"}),
            found("p.bin"));
  for (const char *type : {"bc", "o"}) { // a file of its own, and sections of a host object
    ASSERT_TRUE(run("echo 'int x;' > x.c && cc -c x.c -o x.o && PATH=$PATH:/usr/lib/llvm-19/bin && "
                    "clang-offload-bundler --type=" +
                    std::string(type) + " --targets=host-x86_64-unknown-linux-gnu,hip-" + triple +
                    "--gfx90a,hip-" + triple +
                    "--gfx942 --input=x.o --input=a.co --input=b.co --output=bundled"))
        << type;
    EXPECT_EQ(Strings({"|hip-amdgcn-amd-amdhsa--gfx90a|a", "|hip-amdgcn-amd-amdhsa--gfx942|b"}),
              found("bundled"))
        << type;
  }
  ASSERT_TRUE(run("ar rc lib.a bundled"));
  EXPECT_EQ(Strings({"bundled|hip-amdgcn-amd-amdhsa--gfx90a|a",
                     "bundled|hip-amdgcn-amd-amdhsa--gfx942|b"}),
            found("lib.a"));
}

} // namespace
