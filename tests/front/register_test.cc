// The door of rocprofiler-sdk, with a toy of it: the table arrives at the front, once.
#include "tests/front/front_test.h"

#include <dlfcn.h>

namespace {

constexpr char variable[] = "HSA_TOOLS_ROCPROFILER_V1_TOOLS";

class FrontRegister : public FrontTest {
protected:
  void SetUp() override
  {
    FrontTest::SetUp();
    Set("RAWHAL_MEMORY_LIMIT", "64M");
    unsetenv(variable);
    sdk_ = dlopen(RAWHAL_TOY_SDK, RTLD_NOW | RTLD_GLOBAL);
    ASSERT_NE(nullptr, sdk_) << dlerror();
    door_ = dlopen(RAWHAL_REGISTER, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(nullptr, door_) << dlerror();
    front_ = dlopen("librawhal-front.so", RTLD_NOW | RTLD_NOLOAD);
    ASSERT_NE(nullptr, front_) << "the front comes with it";
    toy_make(1, 0, 0);
  }

  void TearDown() override
  {
    *Of<int *>(sdk_, "toy_sdk_status") = 0;
    Of<void (*)()>(front_, "OnUnload")();
    EXPECT_EQ(0u, toy_replaced());
    unsetenv(variable);
    FrontTest::TearDown();
  }

  template <typename Type> static Type Of(void *library, const char *name)
  {
    return reinterpret_cast<Type>(dlsym(library, name));
  }
  void *Configure()
  {
    uint64_t client[3] = {24, 0, 1};
    void *answer = Of<void *(*)(uint32_t, const char *, uint32_t, void *)>(
        door_, "rocprofiler_configure")(10000, "1.0.0", 0, client);
    EXPECT_EQ(24u, client[0]);
    EXPECT_EQ(0u, client[1]);
    return answer;
  }
  void Deliver(int kind) { Of<void (*)(int, void *)>(sdk_, "toy_sdk_deliver")(kind, toy_root()); }

  void *sdk_ = nullptr, *door_ = nullptr, *front_ = nullptr;
};

} // namespace

TEST_F(FrontRegister, TheTableArrives)
{
  EXPECT_EQ(nullptr, Configure());
  EXPECT_EQ(0u, toy_replaced());
  Deliver(2); // HIP's is not asked for
  EXPECT_EQ(0u, toy_replaced());
  Deliver(1);
  const size_t replaced = toy_replaced();
  EXPECT_EQ(26u, replaced);
  EXPECT_EQ(nullptr, getenv(variable));
  void *memory = nullptr;
  auto *allocate = Amd<decltype(hsa_amd_memory_pool_allocate)>(120);
  EXPECT_EQ(HSA_STATUS_ERROR_OUT_OF_RESOURCES, allocate(toy_pool(), 65 * mi, 0, &memory));
  ASSERT_EQ(HSA_STATUS_SUCCESS, allocate(toy_pool(), 64 * mi, 0, &memory));
  // The other door, and this one again.
  Of<bool (*)(void *, uint64_t, uint64_t, const char *const *)>(front_, "OnLoad")(toy_root(), 1, 0,
                                                                                  nullptr);
  Deliver(1);
  EXPECT_EQ(replaced, toy_replaced());
  Amd<decltype(hsa_amd_memory_pool_free)>(128)(memory);
  EXPECT_EQ("", Report());
}

TEST_F(FrontRegister, WhoIsTooLateLeavesTheOtherDoorOpen)
{
  *Of<int *>(sdk_, "toy_sdk_status") = 1;
  setenv(variable, "0", 1);
  EXPECT_EQ(nullptr, Configure());
  Deliver(1);
  EXPECT_EQ(0u, toy_replaced());
  EXPECT_STREQ("1", getenv(variable));
}

// The symbol alone would end programs where there is no rocprofiler-sdk.
TEST_F(FrontRegister, TheFrontItselfIsNoTool)
{
  EXPECT_EQ(nullptr, dlsym(front_, "rocprofiler_configure"));
}
