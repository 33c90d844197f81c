// Bundles, fat objects and archives that others' tools make: each opens to the objects, byte for byte, that the tools
// themselves take out of it again. Skipped where LLVM 19's tools are missing.
#include "container_test.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>

namespace {

using Objects = std::multimap<std::string, std::string>; // bytes by id

const char kTriple[] = "amdgcn-amd-amdhsa";
const char *const kFiles[][2] = {{"vector_add-gfx90a-v5.co", "gfx90a"},
                                 {"vector_add-gfx942-v5.co", "gfx942:sramecc+:xnack-"},
                                 {"vector_add-gfx1030-v5.co", "gfx1030"}};

class ToolsMade : public testing::Test {
protected:
  void SetUp() override
  {
    char name[] = "/tmp/rawhal-tools-XXXXXX";
    ASSERT_NE(nullptr, mkdtemp(name));
    folder_ = name;
    if (!run("clang-offload-bundler --version") || !run("clang-offload-packager --help") ||
        !run("clang --version"))
      GTEST_SKIP() << "no clang-19, or no clang-tools-19";
    for (size_t i = 0; i < std::size(kFiles); ++i)
      ASSERT_TRUE(run("cp " RAWHAL_SOURCE_DIR "/tests/fixtures/" + std::string(kFiles[i][0]) + " " +
                      input(i)));
    ASSERT_TRUE(run("echo 'int x;' > x.c && cc -fPIC -c x.c -o x.o && : > empty"));
  }
  void TearDown() override { (void)!system(("rm -rf " + folder_).c_str()); }

  bool run(const std::string &command)
  {
    return system(("cd " + folder_ + " && PATH=/usr/lib/llvm-19/bin:$PATH && (" + command +
                   ") > log 2>&1")
                      .c_str()) == 0;
  }
  std::string slurp(const std::string &name)
  {
    std::ifstream file(folder_ + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static std::string input(size_t i) { return std::to_string(i) + ".co"; }
  static std::string bundle_id(size_t i)
  {
    return "hipv4-" + std::string(kTriple) + "--" + kFiles[i][1];
  }

  // The first `count` inputs, in a bundle of that type.
  bool bundle(size_t count, const std::string &type, const std::string &more,
              const std::string &out)
  {
    std::string targets = "host-x86_64-unknown-linux-gnu",
                inputs = type == "o" ? " --input=x.o" : " --input=empty";
    for (size_t i = 0; i < count; ++i) {
      targets += "," + bundle_id(i);
      inputs += " --input=" + input(i);
    }
    return run("clang-offload-bundler --type=" + type + " --targets=" + targets + inputs +
               " --output=" + out + more);
  }
  Objects unbundled(size_t count, const std::string &type, const std::string &file)
  {
    Objects all;
    for (size_t i = 0; i < count; ++i) {
      EXPECT_TRUE(run("rm -f one && clang-offload-bundler --unbundle --type=" + type +
                      " --targets=" + bundle_id(i) + " --input=" + file + " --output=one"));
      all.emplace(bundle_id(i), slurp("one"));
    }
    return all;
  }
  bool package(size_t count, const std::string &out)
  {
    std::string images;
    for (size_t i = 0; i < count; ++i)
      images += " --image=file=" + input(i) + ",triple=" + kTriple + ",arch=" + kFiles[i][1] +
                ",kind=hip";
    return run("clang-offload-packager -o " + out + images);
  }
  Objects unpackaged(size_t count, const std::string &file)
  {
    Objects all;
    for (size_t i = 0; i < count; ++i) {
      EXPECT_TRUE(run("rm -f one && clang-offload-packager " + file + " --image=file=one,triple=" +
                      kTriple + ",arch=" + kFiles[i][1] + ",kind=hip"));
      all.emplace(std::string(kTriple) + "--" + kFiles[i][1], slurp("one"));
    }
    return all;
  }
  Objects found(const std::string &name)
  {
    Objects all;
    const std::string bytes = slurp(name);
    Container container(bytes);
    EXPECT_EQ(RAWHAL_OK, container.status) << name << ": " << container.error.message;
    for (size_t i = 0; i < container.count(); ++i)
      if (container.at(i).readable) {
        all.emplace(text_of(container.at(i).id), container.content(i));
        if (!container.at(i).unpacked) {
          EXPECT_EQ(container.content(i),
                    bytes.substr(container.at(i).offset, container.at(i).bytes.size));
        }
      }
    return all;
  }
  void expect_same(const Objects &expected, const std::string &file, const std::string &what)
  {
    const Objects got = found(file);
    ASSERT_EQ(expected.size(), got.size()) << what;
    for (auto one = expected.begin(), other = got.begin(); one != expected.end(); ++one, ++other) {
      EXPECT_EQ(one->first, other->first) << what;
      EXPECT_TRUE(one->second == other->second) << what << ", " << one->first;
      EXPECT_FALSE(one->second.empty()) << what;
    }
    ++made_;
  }

  std::string folder_;
  int made_ = 0;
};

TEST_F(ToolsMade, OpenToWhatTheToolsTakeOut)
{
  // The bundler: plain, compressed, aligned, and sections of a host object.
  for (size_t count = 1; count <= 3; ++count) {
    for (const char *more : {"", " -compress", " -bundle-align=4096",
                             " -compress -bundle-align=4096", " -compress -compression-level=19"}) {
      ASSERT_TRUE(bundle(count, "bc", more, "b")) << slurp("log");
      expect_same(unbundled(count, "bc", "b"), "b", "bundle" + std::string(more));
    }
    ASSERT_TRUE(bundle(count, "o", "", "b.o")) << slurp("log");
    expect_same(unbundled(count, "o", "b.o"), "b.o", "bundle of objects");
    // The packager, and its output in a section of an object.
    ASSERT_TRUE(package(count, "p.bin")) << slurp("log");
    expect_same(unpackaged(count, "p.bin"), "p.bin", "offload binary");
    ASSERT_TRUE(run("clang -c -Xclang -fembed-offload-object=p.bin x.c -o p.o")) << slurp("log");
    expect_same(unpackaged(count, "p.o"), "p.o", "embedded offload binary");
  }
  // Linkers: a fat binary in a section, as HIP has it.
  for (const char *packed : {"", " -compress"}) {
    ASSERT_TRUE(bundle(3, "bc", packed, "fat.bundle")) << slurp("log");
    ASSERT_TRUE(run("printf '.section .hip_fatbin,\"a\",@progbits\\n.p2align 12\\n.incbin "
                    "\"fat.bundle\"\\n' > f.s && "
                    "cc -c f.s -o f.o"));
    const Objects expected = unbundled(3, "bc", "fat.bundle");
    for (const char *link : {"ld -r", "ld -shared", "ld -shared -s", "ld.lld -r", "ld.lld -shared",
                             "ld.lld -shared -s"}) {
      ASSERT_TRUE(run(std::string(link) + " x.o f.o -o linked")) << slurp("log");
      expect_same(expected, "linked", link + std::string(packed));
    }
  }
  // Archivers, of all of these. A member that is a bare object has no id.
  const std::pair<const char *, Objects> members[] = {
      {"fat.bundle", unbundled(3, "bc", "fat.bundle")},
      {"b.o", unbundled(3, "o", "b.o")},
      {"p.bin", unpackaged(3, "p.bin")},
      {"p.o", unpackaged(3, "p.o")},
      {"0.co", Objects({{"", slurp("0.co")}})}};
  for (const char *archiver : {"ar rc", "llvm-ar --format=gnu rc", "llvm-ar --format=bsd rc"})
    for (const auto &member : members) {
      ASSERT_TRUE(run(std::string("rm -f lib.a && ") + archiver + " lib.a x.o " + member.first))
          << slurp("log");
      ASSERT_TRUE(run(std::string("llvm-ar p lib.a ") + member.first + " | cmp - " + member.first))
          << archiver;
      expect_same(member.second, "lib.a", archiver + std::string(" ") + member.first);
    }
  EXPECT_GE(made_, 40);
  RecordProperty("made", made_);
}

// What compilers make of a HIP program; the bundler takes it out of the section's bytes.
TEST_F(ToolsMade, ByHipCompilers)
{
  const std::string options =
      " -nogpulib -nogpuinc -fPIC --offload-arch=gfx90a --offload-arch=gfx1030 -c k.hip -o ";
  ASSERT_TRUE(run(
      "echo 'struct dim3 { unsigned x, y, z; };"
      "extern \"C\" int hipLaunchKernel(const void *, dim3, dim3, void **, unsigned long, void *);"
      "__attribute__((global)) void k(int *p) { *p = 1; }' > k.hip"));
  auto taken = [&](const std::string &file) {
    Objects all;
    for (const char *chip : {"gfx90a", "gfx1030"}) {
      const std::string id = "hipv4-" + std::string(kTriple) + "--" + chip;
      EXPECT_TRUE(run("clang-offload-bundler --unbundle --type=bc --targets=" + id +
                      " --input=" + file + " --output=one"))
          << slurp("log");
      all.emplace(id, slurp("one"));
    }
    return all;
  };
  for (const char *compiler : {"clang -x hip", "clang -x hip --offload-compress", "hipcc"}) {
    if (!run(compiler + options + "k.o"))
      continue; // it is not here, or makes none without ROCm's files
    ASSERT_TRUE(run("objcopy -O binary --only-section=.hip_fatbin --set-section-flags "
                    ".hip_fatbin=alloc k.o fat"));
    const Objects expected = taken("fat");
    expect_same(expected, "k.o", compiler);
    ASSERT_TRUE(run("ld -shared k.o -o k.so && rm -f k.a && ar rc k.a x.o k.o")) << slurp("log");
    expect_same(expected, "k.so", compiler + std::string(", linked"));
    expect_same(expected, "k.a", compiler + std::string(", archived"));
    if (run(compiler + std::string(" --cuda-device-only") + options + "k.bundle"))
      expect_same(taken("k.bundle"), "k.bundle", compiler + std::string(", device only"));
  }
  if (!made_)
    GTEST_SKIP() << "no compiler for HIP programs: " << slurp("log");
  RecordProperty("made", made_);
}

} // namespace
