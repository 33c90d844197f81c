// Code objects loaded by HIP, and both ways to hand over arguments.
#include "hip.h"

#include <fstream>
#include <iterator>

namespace {

std::string fixture(const char *name)
{
  return std::string(RAWHAL_SOURCE_DIR "/tests/fixtures/") + name;
}

std::string contents(const char *name)
{
  std::ifstream stream(fixture(name), std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
}

// A clang offload bundle with nothing for the host and one object for a GPU. HIP ends the process
// when the object is for another one.
std::string bundle(const std::string &chip, const std::string &object)
{
  const std::string ids[] = {"host-x86_64-unknown-linux", "hipv4-amdgcn-amd-amdhsa--" + chip};
  const uint64_t start = 4096;
  std::string made = "__CLANG_OFFLOAD_BUNDLE__";
  auto put = [&](uint64_t value) { made.append((const char *)&value, sizeof(value)); };
  put(2);
  for (int i = 0; i < 2; ++i) {
    put(start);
    put(i == 0 ? 0 : object.size());
    put(ids[i].size());
    made += ids[i];
  }
  made.resize(start);
  return made + object;
}

class HipModules : public ::testing::Test {
protected:
  void SetUp() override
  {
    for (float **buffer : {&a, &b, &c})
      HIP_OK(hipHostMalloc((void **)buffer, n * 4, 0));
    for (uint32_t i = 0; i < n; ++i) {
      a[i] = (float)i * 0.25f;
      b[i] = 1.0f / (float)(i + 1);
      c[i] = -1;
    }
  }

  void TearDown() override
  {
    for (float *buffer : {a, b, c})
      EXPECT_EQ(hipHostFree(buffer), hipSuccess);
  }

  void expect_sums()
  {
    for (uint32_t i = 0; i < n; ++i)
      ASSERT_EQ(c[i], a[i] + b[i]) << i;
  }

  void expect_sums_of(const std::string &image)
  {
    hipModule_t module;
    hipFunction_t function;
    HIP_OK(hipModuleLoadData(&module, image.data()));
    HIP_OK(hipModuleGetFunction(&function, module, "vector_add"));
    uint32_t count = n;
    void *arguments[] = {&c, &a, &b, &count};
    HIP_OK(hipModuleLaunchKernel(function, (n + 255) / 256, 1, 1, 256, 1, 1, 0, nullptr, arguments,
                                 nullptr));
    HIP_OK(hipDeviceSynchronize());
    expect_sums();
    HIP_OK(hipModuleUnload(module));
  }

  static constexpr uint32_t n = 10000;
  float *a = nullptr, *b = nullptr, *c = nullptr;
};

TEST_F(HipModules, arguments_as_an_array_of_pointers)
{
  std::string image = contents("vector_add-gfx90a-v4.co"); // HIP 5.2.3 takes no V5
  expect_sums_of(image);
}

TEST_F(HipModules, arguments_as_one_prepacked_buffer)
{
  hipModule_t module;
  hipFunction_t function;
  HIP_OK(hipModuleLoad(&module, fixture("vector_add-gfx90a-v4.co").c_str()));
  HIP_OK(hipModuleGetFunction(&function, module, "vector_add"));
  struct {
    float *c, *a, *b;
    uint32_t n;
  } packed = {c, a, b, n};
  size_t size = 28;
  void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &packed, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   HIP_LAUNCH_PARAM_END};
  hipStream_t stream;
  HIP_OK(hipStreamCreate(&stream));
  HIP_OK(hipModuleLaunchKernel(function, (n + 63) / 64, 1, 1, 64, 1, 1, 0, stream, nullptr, extra));
  HIP_OK(hipStreamSynchronize(stream));
  expect_sums();
  HIP_OK(hipStreamDestroy(stream));
  HIP_OK(hipModuleUnload(module));
}

TEST_F(HipModules, a_bundle_is_searched_for_the_device)
{
  std::string image = bundle("gfx90a", contents("vector_add-gfx90a-v4.co"));
  expect_sums_of(image);
}

TEST_F(HipModules, what_is_not_there)
{
  hipModule_t module;
  hipFunction_t function;
  EXPECT_NE(hipModuleLoad(&module, fixture("no_such_file").c_str()), hipSuccess);
  HIP_OK(hipModuleLoad(&module, fixture("vector_add-gfx90a-v4.co").c_str()));
  EXPECT_EQ(hipModuleGetFunction(&function, module, "vector_sub"), hipErrorNotFound);
  HIP_OK(hipModuleUnload(module));
}

} // namespace
