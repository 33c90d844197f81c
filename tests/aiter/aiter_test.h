// Kernels of AMD's aiter project for gfx942 and gfx950 on softgpu, through a runtime that does not
// know the chips: hand-written assembly that ships with vLLM and SGLang. The objects are not
// part of this repository. They are looked for in RAWHAL_AITER_DIR, or else in
// the corpus' folder aiter: in a tree like the project's own folder hsa, or all
// in one folder, with __ for each /.
//
// Blobs are made by the names that the objects' metadata give their arguments. What the arguments
// mean is nowhere in an object: it was found in the project's host code, csrc/py_itfs_cu/asm_*.cu,
// csrc/cpp_itfs/mha_fwd.cu, aiter/ops/shuffle.py and op_tests.
#ifndef RAWHAL_TESTS_AITER_AITER_TEST_H
#define RAWHAL_TESTS_AITER_AITER_TEST_H

#include "tests/hal/arguments.h"
#include "tests/hal/device_test.h"
#include "tests/values.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>

struct Groups {
  uint32_t x, y = 1, z = 1;
};

// The bytes of hsa/PATH; empty when it is not there.
inline std::vector<char> aiter_object(const std::string &path)
{
  const char *given = getenv("RAWHAL_AITER_DIR");
  const std::string folder = given ? given : RAWHAL_CORPUS "/aiter";
  std::string flat = path;
  for (size_t at; (at = flat.find('/')) != std::string::npos;)
    flat.replace(at, 1, "__");
  for (const std::string &name : {path, flat}) {
    std::ifstream file(folder + '/' + name, std::ios::binary);
    if (file)
      return {std::istreambuf_iterator<char>(file), {}};
  }
  return {};
}

// Of a chip, by name.
class AiterTest : public DeviceTest, public testing::WithParamInterface<const char *> {
protected:
  const char *softgpu_options() override
  {
    options = std::string("gpus=1,vram_mib=1024,timeout_ms=120000,listed=gfx90a,chip=") + chip() +
              ",check_races=" + (checks_races() ? "refuse" : "off");
    return options.c_str();
  }
  virtual bool checks_races() const { return false; }

  static const char *chip() { return GetParam(); }
  static bool is_gfx950() { return !strcmp(chip(), "gfx950"); }

  // The only kernel of hsa/CHIP/PATH; NULL when there is no such file.
  const rawhal_device_kernel_t *kernel_of(const std::string &path)
  {
    return kernel_in(aiter_object(std::string(chip()) + '/' + path));
  }
  const rawhal_device_kernel_t *kernel_in(const std::vector<char> &bytes)
  {
    if (bytes.empty())
      return nullptr;
    rawhal_executable_t *executable = load(bytes);
    rawhal_hsaco_t *hsaco = nullptr;
    const rawhal_device_kernel_t *found = nullptr;
    EXPECT_OK(rawhal_hsaco_open(bytes.data(), bytes.size(), nullptr, &hsaco, &error));
    if (executable && hsaco)
      EXPECT_OK(rawhal_executable_kernel(executable, rawhal_hsaco_kernel(hsaco, 0)->name, 0, &found,
                                         &error));
    rawhal_hsaco_close(hsaco);
    return found;
  }

  // Runs `groups` work-groups of the size that the kernel asks for.
  bool launch(const Arguments &arguments, const Groups &groups)
  {
    const rawhal_status_t status = run_groups(arguments, groups);
    EXPECT_EQ(status, RAWHAL_OK) << name << ": " << error.message;
    wrong += status != RAWHAL_OK;
    return status == RAWHAL_OK;
  }
  rawhal_status_t run_groups(const Arguments &arguments, const Groups &groups)
  {
    EXPECT_EQ(arguments.missing(), "");
    const rawhal_kernel_t *facts = rawhal_device_kernel_info(arguments.kernel)->kernel;
    rawhal_dispatch_t dispatch = {};
    dispatch.kernel = arguments.kernel;
    const uint32_t counts[] = {groups.x, groups.y, groups.z};
    for (int i = 0; i < 3; ++i) {
      dispatch.workgroup[i] = static_cast<uint16_t>(facts->reqd_workgroup_size[i]);
      dispatch.work_items[i] = counts[i] * facts->reqd_workgroup_size[i];
    }
    dispatch.blob = arguments.blob.data();
    dispatch.blob_size = arguments.blob.size();
    return run_to_the_end(dispatch);
  }

  // ---- What became of the cases of a test ----

  void begin(const std::string &what)
  {
    name = what;
    largest = 0;
    wrong = 0;
  }
  // One number of the case; `tolerance` 0: it must be equal.
  void expect(double got, double expected, double tolerance, size_t at)
  {
    const double difference = std::fabs(got - expected);
    if (tolerance > 0 && difference <= tolerance) {
      largest = std::max(largest, difference / tolerance);
      return;
    }
    if (difference == 0)
      return;
    if (++wrong <= 3)
      ADD_FAILURE() << name << " at " << at << ": " << got << ", not " << expected << " +- "
                    << tolerance;
  }
  // Whatever must keep its bits.
  void expect_bits(uint64_t got, uint64_t expected, size_t at)
  {
    if (got != expected && ++wrong <= 3)
      ADD_FAILURE() << name << " at " << at << ": bits " << got << ", not " << expected;
  }
  void end()
  {
    EXPECT_EQ(wrong, 0u) << name;
    ++cases;
    right += wrong == 0;
    overall = std::max(overall, largest);
  }
  // A skip where no object was there.
  void summary(const char *family)
  {
    if (cases == 0)
      GTEST_SKIP() << chip() << ": "
                   << "none of aiter's objects: RAWHAL_AITER_DIR is the folder that has them";
    printf("%s, %s: %zu of %zu cases right, largest error %.2g of the tolerance\n", family, chip(),
           right, cases, overall);
  }

  std::string options, name;
  double largest = 0, overall = 0;
  size_t wrong = 0, cases = 0, right = 0;
};

// The tests of class Family, for each chip.
#define AITER_CHIPS(Family)                                                                        \
  INSTANTIATE_TEST_SUITE_P(Aiter, Family, testing::Values("gfx942", "gfx950"),                     \
                           [](const auto &each) { return std::string(each.param); })

#endif
