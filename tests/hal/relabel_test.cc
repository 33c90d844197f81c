// Code of chips, and of a version, that the runtime does not know.
#include "tensile_test.h"

#include <elf.h>

namespace {

class Relabelled : public TensileTest {
protected:
  const char *softgpu_options() override
  {
    return "gpus=1,vram_mib=256,timeout_ms=8000,chip=gfx942,listed=gfx90a,compute_units=0";
  }

  void expect_sums(const char *fixture, rawhal_executable_t *executable)
  {
    constexpr uint32_t n = 1000;
    std::vector<float> a(n), b(n);
    for (uint32_t i = 0; i < n; ++i) {
      a[i] = 0.5f * static_cast<float>(i);
      b[i] = 3.0f - static_cast<float>(i % 77);
    }
    const rawhal_device_kernel_t *add = nullptr;
    ASSERT_OK(rawhal_executable_kernel(executable, {"vector_add", 10}, 0, &add, &error));
    rawhal_buffer_t *in_a = upload(a), *in_b = upload(b), *out = buffer(n * 4);
    Blob blob;
    blob.add(rawhal_buffer_address(out)).add(rawhal_buffer_address(in_a));
    blob.add(rawhal_buffer_address(in_b)).add(n);
    ASSERT_OK(run(queue(), dispatch_of(add, 1024, 256, blob)));
    std::vector<float> sums = download<float>(out, n);
    for (uint32_t i = 0; i < n; ++i)
      ASSERT_EQ(sums[i], a[i] + b[i]) << fixture << ' ' << i;
  }
};

TEST_F(Relabelled, TheDeviceSaysWhatItIs)
{
  const rawhal_device_info_t *info = rawhal_device_info(device);
  EXPECT_STREQ(info->name, "gfx90a");
  EXPECT_STREQ(info->target.processor, "gfx942");
  EXPECT_EQ(info->target.machine, 0x4cu);
  EXPECT_NE(std::string(info->description).find("a gfx942 in software"), std::string::npos);
  EXPECT_NE(std::string(info->description).find("listed as gfx90a"), std::string::npos);
  EXPECT_EQ(info->compute_units, 304u);
}

TEST_F(Relabelled, CodeOfTheChipRuns)
{
  const struct {
    const char *fixture;
    uint32_t version;
  } cases[] = {{"vector_add-gfx942-v5.co", 5}, {"vector_add-gfx942-v6.co", 5}};
  for (const auto &c : cases) {
    rawhal_executable_t *executable = load(c.fixture);
    ASSERT_NE(executable, nullptr);
    const rawhal_executable_info_t *info = rawhal_executable_info(executable);
    EXPECT_TRUE(info->relabelled);
    EXPECT_STREQ(info->target.processor, "gfx90a");
    EXPECT_EQ(info->code_object_version, c.version);
    expect_sums(c.fixture, executable);
  }
}

// By instructions that gfx90a does not have.
TEST_F(Relabelled, EightBitProductsOfTheChip)
{
  static const uint8_t codes[] = {0xcc, 0xc8, 0xc0, 0, 0x40, 0x48, 0x4c}; // -3 to 3
  expect_product<uint8_t>("tensile-gfx942-v5.co", "tensile_fp8", codes, 0x7f, {40, 36, 50, 52, 16});
}

// What the runtime would take, the chip would not execute.
TEST_F(Relabelled, CodeOfTheListedChipIsRefused)
{
  std::vector<char> bytes = fixture_bytes("vector_add-gfx90a-v5.co");
  rawhal_hsaco_t *hsaco = nullptr;
  rawhal_executable_t *executable = nullptr;
  ASSERT_OK(rawhal_hsaco_open(bytes.data(), bytes.size(), nullptr, &hsaco, &error));
  EXPECT_EQ(rawhal_executable_load(device, hsaco, &executable, &error), RAWHAL_TARGET_MISMATCH);
  EXPECT_EQ(executable, nullptr);
  EXPECT_NE(std::string(error.message).find("the device is gfx942"), std::string::npos)
      << error.message;
  rawhal_hsaco_close(hsaco);
}

// Several chips in one process, of which the runtime knows none.
class SeveralChips : public TensileTest {
protected:
  const char *softgpu_options() override
  {
    return "vram_mib=256,timeout_ms=8000,chips=gfx942,gfx950,listed=gfx90a,compute_units=0";
  }

  // Those of gfx942 run on gfx950, when they say so.
  std::vector<char> object(const char *fixture, size_t of)
  {
    enum { FLAGS = 0x30, GFX950 = 0x4f };
    std::vector<char> bytes = fixture_bytes(fixture);
    if (of == 1)
      bytes.at(FLAGS) = GFX950;
    return bytes;
  }
};

TEST_F(SeveralChips, EachIsADeviceAndRunsItsOwnCode)
{
  static const struct {
    const char *processor, *product, *sentence;
    uint32_t lds, compute_units;
    uint8_t codes[7]; // -3 to 3: the exponents' bias is 8 on the one, as of OCP on the other
  } chips[] = {
      {"gfx942",
       "AMD Instinct MI300X (softgpu)",
       "a gfx942 in software, listed as gfx90a",
       65536,
       304,
       {0xcc, 0xc8, 0xc0, 0, 0x40, 0x48, 0x4c}},
      {"gfx950",
       "AMD Instinct MI350X (softgpu)",
       "a gfx950 in software, listed as gfx90a",
       163840,
       256,
       {0xc4, 0xc0, 0xb8, 0, 0x38, 0x40, 0x44}},
  };
  ASSERT_EQ(rawhal_instance_device_count(instance), 2u);
  for (size_t i = 0; i < 2; ++i) {
    device = rawhal_instance_device(instance, i);
    const rawhal_device_info_t *info = rawhal_device_info(device);
    EXPECT_STREQ(info->name, "gfx90a");
    EXPECT_STREQ(info->target.processor, chips[i].processor);
    EXPECT_STREQ(info->product, chips[i].product);
    EXPECT_NE(std::string(info->description).find(chips[i].sentence), std::string::npos)
        << info->description;
    EXPECT_EQ(info->lds_bytes, chips[i].lds);
    EXPECT_EQ(info->compute_units, chips[i].compute_units);
    for (const char *fixture : {"vector_add-gfx942-v5.co", "tensile-gfx942-v5.co"}) {
      const std::vector<char> others = object(fixture, 1 - i);
      rawhal_hsaco_t *hsaco = nullptr;
      rawhal_executable_t *executable = nullptr;
      ASSERT_OK(rawhal_hsaco_open(others.data(), others.size(), nullptr, &hsaco, &error));
      EXPECT_EQ(rawhal_executable_load(device, hsaco, &executable, &error), RAWHAL_TARGET_MISMATCH);
      rawhal_hsaco_close(hsaco);
    }
    expect_product<uint8_t>(object("tensile-gfx942-v5.co", i), "tensile_fp8", chips[i].codes, 0x7f,
                            {40, 36, 50, 52, 16});
  }
}

// The runtime knows one of them, as which both are listed; and each device has the other's memory.
class TwoNames : public Relabelled {
protected:
  const char *softgpu_options() override
  {
    return "vram_mib=256,timeout_ms=8000,gpus=2,chips=gfx90a,gfx942,listed=gfx90a,gfx90a";
  }
};

TEST_F(TwoNames, TheSameKernelRunsOnBoth)
{
  static const char *const fixtures[] = {"vector_add-gfx90a-v5.co", "vector_add-gfx942-v5.co"};
  for (size_t i = 0; i < 2; ++i) {
    device = rawhal_instance_device(instance, i);
    rawhal_executable_t *executable = load(fixtures[i]);
    ASSERT_NE(executable, nullptr);
    EXPECT_EQ(rawhal_executable_info(executable)->relabelled, i == 1);
    expect_sums(fixtures[i], executable);
  }
}

// An object of version 6 for a chip that the runtime knows.
using Versions = DeviceTest;

TEST_F(Versions, SixIsRelabelledForAnOlderRuntime)
{
  std::vector<char> bytes = fixture_bytes("vector_add-gfx90a-v5.co");
  rawhal_executable_t *known = load("vector_add-gfx90a-v5.co");
  ASSERT_NE(known, nullptr);
  EXPECT_FALSE(rawhal_executable_info(known)->relabelled);
  EXPECT_EQ(rawhal_executable_info(known)->code_object_version, 5u);
  bytes[8] = 4; // EI_ABIVERSION: the rest is the same in both
  rawhal_hsaco_t *hsaco = nullptr;
  rawhal_executable_t *executable = nullptr;
  ASSERT_OK(rawhal_hsaco_open(bytes.data(), bytes.size(), nullptr, &hsaco, &error));
  ASSERT_EQ(rawhal_hsaco_info(hsaco)->code_object_version, 6u);
  ASSERT_OK(rawhal_executable_load(device, hsaco, &executable, &error));
  executables.push_back(executable);
  rawhal_hsaco_close(hsaco);
  const rawhal_executable_info_t *info = rawhal_executable_info(executable);
  EXPECT_STREQ(info->target.processor, "gfx90a");
  EXPECT_EQ(info->code_object_version, info->relabelled ? 5u : 6u); // by what the runtime is
  const rawhal_device_kernel_t *add = nullptr;
  EXPECT_OK(rawhal_executable_kernel(executable, {"vector_add", 10}, 0, &add, &error));
}

// ROCr before 6.2 would apply relocations that a linker kept (--emit-relocs), or refuse them.
TEST_F(Versions, RelocationsOfTheLinkerAreLeftOut)
{
  std::vector<char> bytes = fixture_bytes("vector_add-gfx90a-v5.co");
  auto put = [&](const auto &value) {
    const char *from = reinterpret_cast<const char *>(&value);
    bytes.insert(bytes.end(), from, from + sizeof(value));
  };
  Elf64_Ehdr header;
  memcpy(&header, bytes.data(), sizeof(header));
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  memcpy(sections.data(), bytes.data() + header.e_shoff, sections.size() * sizeof(Elf64_Shdr));
  Elf64_Shdr kept = {0, SHT_RELA,          0, 0, bytes.size(), sizeof(Elf64_Rela), 0, 0,
                     8, sizeof(Elf64_Rela)};
  for (uint32_t i = 0; i < header.e_shnum; ++i) {
    kept.sh_link = sections[i].sh_type == SHT_SYMTAB ? i : kept.sh_link;
    if (sections[i].sh_flags & SHF_EXECINSTR) {
      kept.sh_info = i;
      kept.sh_name = sections[i].sh_name + 1; // "text"
    }
  }
  ASSERT_TRUE(kept.sh_link && kept.sh_info);
  sections.push_back(kept);
  put(Elf64_Rela{uint64_t{1} << 40, ELF64_R_INFO(uint64_t{1}, 5), 0}); // R_AMDGPU_REL64
  header.e_shoff = bytes.size();
  ++header.e_shnum;
  for (const Elf64_Shdr &section : sections)
    put(section);
  memcpy(bytes.data(), &header, sizeof(header));
  rawhal_hsaco_t *hsaco = nullptr;
  rawhal_executable_t *executable = nullptr;
  ASSERT_OK(rawhal_hsaco_open(bytes.data(), bytes.size(), nullptr, &hsaco, &error));
  EXPECT_OK(rawhal_executable_load(device, hsaco, &executable, &error));
  rawhal_hsaco_close(hsaco);
  if (!executable)
    return;
  executables.push_back(executable);
  EXPECT_FALSE(rawhal_executable_info(executable)->relabelled);
  const rawhal_device_kernel_t *add = nullptr;
  EXPECT_OK(rawhal_executable_kernel(executable, {"vector_add", 10}, 0, &add, &error));
}

} // namespace
