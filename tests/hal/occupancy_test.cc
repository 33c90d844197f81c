// How many waves a compute unit holds: by what is documented, by what clang says, and of a loaded
// kernel.
#include "device_test.h"

extern "C" {
#include "queue/occupancy.h"
}

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace {

rawhal_occupancy_t of(const char *processor, uint32_t vgprs, uint32_t sgprs, uint32_t lds,
                      uint32_t waves)
{
  const occupancy_chip_t *chip = occupancy_chip(processor);
  EXPECT_NE(chip, nullptr) << processor;
  const occupancy_need_t need = {vgprs, sgprs, lds, waves};
  return chip ? occupancy_of(chip, &need) : rawhal_occupancy_t{};
}

// LLVM review D138443, the table of its unit test for gfx90a and gfx940: the most VGPRs (with
// AGPRs) of each number of waves. The same are in AMD's "Register pressure in AMD CDNA2 GPUs".
TEST(Occupancy, ByRegistersAsDocumented)
{
  const struct {
    uint32_t waves, most;
  } documented[] = {{8, 64}, {7, 72}, {6, 80}, {5, 96}, {4, 128}, {3, 168}, {2, 256}, {1, 512}};
  for (const char *processor : {"gfx90a", "gfx942", "gfx950"}) {
    uint32_t vgprs = 1;
    for (const auto &row : documented)
      for (; vgprs <= row.most; ++vgprs) {
        rawhal_occupancy_t found = of(processor, vgprs, 16, 0, 4);
        ASSERT_EQ(found.waves_per_simd, row.waves) << processor << ", " << vgprs << " VGPRs";
        ASSERT_EQ(found.waves_per_cu, 4 * row.waves);
        ASSERT_EQ(found.workgroups_per_cu, row.waves);
        ASSERT_EQ(found.limited_by,
                  row.waves == 8 ? RAWHAL_OCCUPANCY_WAVES : RAWHAL_OCCUPANCY_VGPRS);
      }
    EXPECT_EQ(of(processor, 513, 16, 0, 4).workgroups_per_cu, 0u);
  }
  // The same table, gfx906 and gfx908: 10 waves with up to 24.
  EXPECT_EQ(of("gfx908", 24, 16, 0, 4).waves_per_simd, 10u);
  EXPECT_EQ(of("gfx908", 25, 16, 0, 4).waves_per_simd, 9u);
  EXPECT_EQ(of("gfx906", 256, 16, 0, 4).waves_per_simd, 1u);
}

// LLVM's getOccupancyWithNumSGPRs() and HIP's query: a file of 800, in granules of 16.
TEST(Occupancy, ByScalarRegisters)
{
  EXPECT_EQ(of("gfx90a", 64, 96, 0, 4).waves_per_simd, 8u);
  EXPECT_EQ(of("gfx90a", 64, 112, 0, 4).waves_per_simd, 7u);
  EXPECT_EQ(of("gfx90a", 64, 112, 0, 4).limited_by, RAWHAL_OCCUPANCY_SGPRS);
  EXPECT_EQ(of("gfx906", 24, 80, 0, 4).waves_per_simd, 10u);
  EXPECT_EQ(of("gfx906", 24, 88, 0, 4).waves_per_simd, 8u);
}

// 64 KiB in granules of 512 bytes (AMDGPUUsage, GRANULATED_LDS_SIZE); gfx950: 160 KiB (CDNA 4
// instruction set guide) in granules of 1280 (LLVM, getLdsDwGranularity()).
TEST(Occupancy, ByLds)
{
  const struct {
    const char *processor;
    uint32_t lds, groups;
  } cases[] = {
      {"gfx90a", 16384, 4}, {"gfx942", 32768, 2},  {"gfx942", 32769, 1},  {"gfx942", 65536, 1},
      {"gfx942", 65537, 0}, {"gfx942", 16385, 3},  {"gfx950", 65536, 2},  {"gfx950", 81920, 2},
      {"gfx950", 81921, 1}, {"gfx950", 163840, 1}, {"gfx950", 163841, 0}, {"gfx950", 16384, 8},
      {"gfx950", 20480, 8}, {"gfx950", 20481, 7},
  };
  for (const auto &one : cases) {
    rawhal_occupancy_t found = of(one.processor, 64, 16, one.lds, 4);
    EXPECT_EQ(found.workgroups_per_cu, one.groups) << one.processor << ", " << one.lds;
    EXPECT_EQ(found.waves_per_simd, one.groups);
    EXPECT_EQ(found.limited_by, one.groups < 8 ? RAWHAL_OCCUPANCY_LDS : RAWHAL_OCCUPANCY_WAVES);
  }
  EXPECT_EQ(of("gfx950", 64, 16, 16384, 2).workgroups_per_cu, 9u); // 10 if it were not in granules
}

// At most 16 work-groups that can wait at a barrier; those of one wave cannot.
TEST(Occupancy, ByPlaces)
{
  EXPECT_EQ(of("gfx90a", 32, 16, 0, 1).workgroups_per_cu, 32u);
  EXPECT_EQ(of("gfx90a", 32, 16, 0, 2).workgroups_per_cu, 16u);
  EXPECT_EQ(of("gfx90a", 32, 16, 0, 2).limited_by, RAWHAL_OCCUPANCY_WAVES);
  EXPECT_EQ(of("gfx906", 16, 16, 0, 2).workgroups_per_cu, 16u);
  EXPECT_EQ(of("gfx906", 16, 16, 0, 2).waves_per_simd, 8u);
  EXPECT_EQ(of("gfx906", 16, 16, 0, 2).limited_by, RAWHAL_OCCUPANCY_WORKGROUPS);
  EXPECT_EQ(of("gfx90a", 32, 16, 0, 16).workgroups_per_cu, 2u);
  EXPECT_EQ(of("gfx90a", 128, 16, 0, 3).workgroups_per_cu, 5u); // of 16 waves
  EXPECT_EQ(of("gfx90a", 128, 16, 0, 3).waves_per_simd, 4u);    // 15, one SIMD has one less
  EXPECT_EQ(occupancy_chip("gfx1030"), nullptr);
}

// ---- clang ----

std::string slurp(const std::string &path)
{
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Kernels k0, k1, ... that take these registers and bytes of LDS.
std::string source(const std::vector<std::string> &registers, const std::vector<int> &lds)
{
  std::string text;
  int count = 0;
  auto begin = [&] {
    text += "kernel __attribute__((reqd_work_group_size(256, 1, 1))) void k" +
            std::to_string(count++) + "(global uint *out, uint i)\n{\n";
  };
  for (const std::string &one : registers) {
    begin();
    text += "  __asm volatile(\"\" ::: \"" + one + "\");\n  out[i] = i;\n}\n";
  }
  for (int bytes : lds) {
    begin();
    text += "  volatile local uint kept[" + std::to_string(bytes / 4) + "];\n";
    text += "  kept[i] = i;\n  out[i] = kept[i + 1];\n}\n";
  }
  return text;
}

// What clang says of each kernel in its assembly.
std::vector<uint32_t> occupancies(const std::string &assembly)
{
  std::vector<uint32_t> all;
  const std::string key = "; Occupancy: ";
  for (size_t at = 0; (at = assembly.find(key, at)) != std::string::npos; at += key.size())
    all.push_back(static_cast<uint32_t>(std::stoul(assembly.substr(at + key.size()))));
  return all;
}

void compare(const std::string &processor, const std::string &folder, size_t count)
{
  std::string command = "clang-19 -x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -nogpulib -O2 "
                        "-mcpu=" +
                        processor + " " + folder + "/k.cl -o " + folder;
  ASSERT_EQ(0, system((command + "/k.s -S").c_str()));
  ASSERT_EQ(0, system((command + "/k.co").c_str()));
  std::vector<uint32_t> expected = occupancies(slurp(folder + "/k.s"));
  ASSERT_EQ(expected.size(), count);
  rawhal_error_t error = {};
  rawhal_hsaco_t *hsaco = nullptr;
  ASSERT_OK(rawhal_hsaco_open_file((folder + "/k.co").c_str(), nullptr, &hsaco, &error));
  for (size_t i = 0; i < count; ++i) {
    std::string name = "k" + std::to_string(i);
    const rawhal_kernel_t *kernel = rawhal_hsaco_find_kernel(hsaco, rawhal_string(name.c_str()));
    ASSERT_NE(kernel, nullptr) << name;
    rawhal_occupancy_t found =
        of(processor.c_str(), kernel->descriptor->vgpr_count, kernel->descriptor->sgpr_count,
           kernel->descriptor->group_segment_size, 4);
    EXPECT_EQ(found.waves_per_simd, expected[i])
        << processor << ' ' << name << ": " << kernel->descriptor->vgpr_count << " VGPRs, "
        << kernel->descriptor->sgpr_count << " SGPRs, " << kernel->group_segment_fixed_size;
  }
  rawhal_hsaco_close(hsaco);
}

// (A wave of 97 to 100 SGPRs takes 112, of which 7 go into the file; LLVM says 8. Not asked here.)
TEST(Occupancy, AsClangSays)
{
  if (system("clang-19 --version > /dev/null 2>&1 && command -v ld.lld-19 > /dev/null"))
    GTEST_SKIP() << "clang 19 and its linker are not installed";
  const std::vector<std::string> registers = {"v10",  "v23", "v24", "v31", "v47", "v63", "v64",
                                              "v71",  "v72", "v79", "v80", "v95", "v96", "v127",
                                              "v128", "s40", "s75", "s88", "s97", "s101"};
  const std::vector<int> lds = {4096, 8192, 9000, 10000, 12000, 16384, 20000, 32768, 33000, 65536};
  char folder[] = "/tmp/rawhal-occupancy-XXXXXX";
  ASSERT_NE(nullptr, mkdtemp(folder));
  for (std::string processor : {"gfx900", "gfx906", "gfx908", "gfx90a", "gfx942"}) {
    std::vector<std::string> all = registers;
    if (processor == "gfx90a" || processor == "gfx942")
      all.insert(all.end(), {"v167", "v168", "v255", "a0", "a20", "a63", "a127", "a255"});
    std::ofstream(std::string(folder) + "/k.cl") << source(all, lds);
    compare(processor, folder, all.size() + lds.size());
  }
  std::filesystem::remove_all(folder);
}

// ---- A device ----

class OccupancyOfKernel : public DeviceTest {};

TEST_F(OccupancyOfKernel, OnADevice)
{
  const rawhal_device_kernel_t *reduce = kernel("reduce-gfx90a-v5.co", "reduce");
  ASSERT_NE(reduce, nullptr);
  rawhal_occupancy_t found = {};
  found.size = sizeof(found);
  ASSERT_OK(rawhal_device_kernel_occupancy(reduce, 256, 0, &found, &error));
  EXPECT_EQ(found.waves_per_simd, 8u);
  EXPECT_EQ(found.workgroups_per_cu, 8u);
  uint32_t fixed = rawhal_device_kernel_info(reduce)->group_segment_size;
  ASSERT_OK(rawhal_device_kernel_occupancy(reduce, 256, 32768 - fixed, &found, &error));
  EXPECT_EQ(found.workgroups_per_cu, 2u);
  EXPECT_EQ(found.waves_per_cu, 8u);
  EXPECT_EQ(found.limited_by, RAWHAL_OCCUPANCY_LDS);
  ASSERT_OK(rawhal_device_kernel_occupancy(reduce, 256, UINT32_MAX, &found, &error));
  EXPECT_EQ(found.workgroups_per_cu, 0u);
  EXPECT_EQ(rawhal_device_kernel_occupancy(reduce, 512, 0, &found, &error), RAWHAL_OUT_OF_RANGE);
  EXPECT_NE(std::string(error.message).find("512"), std::string::npos) << error.message;
  EXPECT_EQ(rawhal_device_kernel_occupancy(reduce, 0, 0, &found, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_device_kernel_occupancy(nullptr, 1, 0, &found, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_device_kernel_occupancy(reduce, 1, 0, nullptr, &error), RAWHAL_INVALID_ARGUMENT);
}

// 512 VGPRs of a SIMD hold three waves of 132 and four of 128, and sixteen waves need four.
TEST_F(OccupancyOfKernel, WorkGroupsThatNeverRun)
{
  std::vector<char> bytes = fixture_bytes("vector_add-gfx90a-v5.co");
  const rawhal_device_kernel_t *small = kernel("vector_add-gfx90a-v5.co", "vector_add");
  ASSERT_NE(small, nullptr);
  const uint64_t at = rawhal_device_kernel_info(small)->kernel->descriptor->address;
  const std::string most = ".max_flat_workgroup_size\xcd\x01";
  const auto found_at = std::search(bytes.begin(), bytes.end(), most.begin(), most.end());
  ASSERT_NE(found_at, bytes.end());
  found_at[static_cast<long>(most.size()) - 1] = 4; // 256 work-items; now 1,024
  rawhal_queue_t *q = queue();
  rawhal_buffer_t *data = buffer(1 << 16);
  const uint64_t address = rawhal_buffer_address(data);
  const struct {
    uint32_t vgprs, most;
  } rows[] = {{128, 1024}, {132, 768}, {256, 512}, {512, 256}};
  for (const auto &row : rows) {
    bytes.at(at + 48) = static_cast<char>((bytes.at(at + 48) & ~63) | ((row.vgprs + 7) / 8 - 1));
    rawhal_executable_t *executable = load(bytes);
    ASSERT_NE(executable, nullptr);
    const rawhal_device_kernel_t *wide = nullptr;
    ASSERT_OK(rawhal_executable_kernel(executable, RAWHAL_STRING("vector_add"), 0, &wide, &error));
    const uint64_t blob[] = {address, address, address, 0};
    rawhal_dispatch_t dispatch = {};
    dispatch.kernel = wide;
    dispatch.blob = blob;
    dispatch.blob_size = sizeof(blob);
    dispatch.workgroup[1] = dispatch.workgroup[2] = 1;
    dispatch.work_items[1] = dispatch.work_items[2] = 1;
    for (uint32_t items : {row.most, row.most + 1, 1024u}) {
      if (items > 1024)
        continue;
      rawhal_occupancy_t found = {};
      dispatch.workgroup[0] = static_cast<uint16_t>(items);
      dispatch.work_items[0] = items;
      ASSERT_OK(rawhal_device_kernel_occupancy(wide, items, 0, &found, &error));
      const bool fits = items <= row.most;
      EXPECT_EQ(found.workgroups_per_cu > 0, fits) << row.vgprs << ", " << items;
      EXPECT_EQ(run(q, dispatch), fits ? RAWHAL_OK : RAWHAL_OUT_OF_RANGE)
          << row.vgprs << ", " << items << ": " << error.message;
      EXPECT_TRUE(fits || strstr(error.message, "room for")) << error.message;
    }
  }
}

} // namespace
