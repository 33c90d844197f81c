// The doors by which a runtime comes in: which number is ours, more than one at once, other tools
// before and after.
#include "tests/child.h"
#include "tests/front/front_test.h"

#include <dlfcn.h>

namespace {

class FrontDoors : public FrontTest {
protected:
  Scratch region_;

  hsa_queue_t *Queue()
  {
    hsa_queue_t *queue = nullptr;
    EXPECT_EQ(HSA_STATUS_SUCCESS,
              Core<decltype(hsa_queue_create)>(72)(toy_agent(), 64, HSA_QUEUE_TYPE_MULTI, nullptr,
                                                   nullptr, 0, 0, &queue));
    return queue;
  }

  void Destroy(hsa_queue_t *queue)
  {
    EXPECT_EQ(HSA_STATUS_SUCCESS, Core<decltype(hsa_queue_destroy)>(88)(queue));
  }

  // One barrier, as programs put it in.
  void Submit(hsa_queue_t *queue)
  {
    uint64_t index = Core<decltype(hsa_queue_add_write_index_relaxed)>(200)(queue, 1);
    auto *ring = static_cast<hsa_barrier_and_packet_t *>(queue->base_address);
    __atomic_store_n(&ring[index % queue->size].header, uint16_t{HSA_PACKET_TYPE_BARRIER_AND},
                     __ATOMIC_RELEASE);
    Core<decltype(hsa_signal_store_screlease)>(352)(queue->doorbell_signal,
                                                    static_cast<hsa_signal_value_t>(index));
  }

  hsa_status_t Allocate(size_t size, void **memory)
  {
    return Amd<decltype(hsa_amd_memory_pool_allocate)>(120)(toy_pool(), size, 0, memory);
  }

  void Free(void *memory) { Amd<decltype(hsa_amd_memory_pool_free)>(128)(memory); }

  hsa_status_t Agents()
  {
    auto *nobody = +[](hsa_agent_t, void *) { return HSA_STATUS_SUCCESS; };
    return Core<decltype(hsa_iterate_agents)>(56)(nobody, nullptr);
  }
};

} // namespace

TEST_F(FrontDoors, TheLibraryExportsItsPlace)
{
  void *library = dlopen(RAWHAL_FRONT, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(nullptr, library) << dlerror();
  auto *priority = static_cast<const uint32_t *>(dlsym(library, "HSA_AMD_TOOL_PRIORITY"));
  ASSERT_NE(nullptr, priority);
  EXPECT_EQ(0u, *priority);
  EXPECT_NE(nullptr, dlsym(library, "OnLoad"));
  EXPECT_NE(nullptr, dlsym(library, "OnUnload"));
  dlclose(library);
}

TEST_F(FrontDoors, TheSecondDoorLeadsToTheSameRoom)
{
  Set("RAWHAL_GPU_SHARE", "90%");
  Set("RAWHAL_MEMORY_LIMIT", "64M");
  Load();
  const size_t replaced = toy_replaced();
  hsa_queue_t *queue = Queue();
  void *memory = nullptr, *more = nullptr;
  ASSERT_EQ(HSA_STATUS_SUCCESS, Allocate(40 * mi, &memory));
  toy_enter();
  EXPECT_EQ(replaced, toy_replaced());
  EXPECT_EQ("", Report());
  EXPECT_EQ(HSA_STATUS_ERROR_OUT_OF_RESOURCES, Allocate(40 * mi, &more));
  Submit(queue);
  toy_packet_t ran;
  EXPECT_EQ(1u, toy_ran(&ran, 1));
  Destroy(queue);
  Free(memory);
  Unload();
  EXPECT_EQ(0u, toy_replaced());
  EXPECT_EQ(0u, toy_live_queues());
}

TEST_F(FrontDoors, ARefusalIsOneBehindTwoDoors)
{
  Set("RAWHAL_GPU_SHARE", "30 percent");
  Load();
  const std::string once = Report();
  EXPECT_NE("", once);
  toy_enter();
  EXPECT_EQ(once, Report());
  EXPECT_NE(HSA_STATUS_SUCCESS, Agents());
}

// Nobody knows then what is still charged: in a process of its own, where it stays so.
TEST_F(FrontDoors, ARuntimeThatBeginsAnewUnannouncedIsRefused)
{
  Set("RAWHAL_GPU_SHARE", "90%");
  EXPECT_EQ(0, in_child([&] {
              Load();
              for (int i = 0; i < 3; ++i) {
                toy_reset();
                toy_enter();
                if (Agents() == HSA_STATUS_SUCCESS)
                  return 1;
              }
              return 0;
            }));
  EXPECT_NE(std::string::npos, Report().find("restarted without notifying"));
}

// Each copy of its library has tables of its own. The first stays limited.
TEST_F(FrontDoors, OtherRuntimesAreRefusedForAsLongAsTheFirstIsThere)
{
  struct {
    alignas(8) unsigned char core[1016], amd[744];
    struct {
      uint32_t version[4];
      void *core, *amd, *finalizer, *image;
    } root;
  } copies[3];
  Set("RAWHAL_MEMORY_LIMIT", "64M");
  Set("RAWHAL_GPU_SHARE", "90%");
  toy_make(1, 0, 0);
  for (auto &copy : copies) {
    memcpy(&copy.root, toy_root(), sizeof(copy.root));
    memcpy(copy.core, copy.root.core, sizeof(copy.core));
    memcpy(copy.amd, copy.root.amd, 400);
    copy.root.core = copy.core, copy.root.amd = copy.amd;
  }
  Load();
  hsa_queue_t *queue = Queue();
  void *memory = nullptr, *more = nullptr;
  ASSERT_EQ(HSA_STATUS_SUCCESS, Allocate(40 * mi, &memory));
  for (auto &copy : copies) {
    toy_enter_by(&copy.root);
    hsa_status_t (*iterate)(hsa_status_t(*)(hsa_agent_t, void *), void *);
    memcpy(&iterate, copy.core + 56, sizeof(iterate));
    EXPECT_NE(HSA_STATUS_SUCCESS,
              iterate([](hsa_agent_t, void *) { return HSA_STATUS_SUCCESS; }, nullptr));
    EXPECT_EQ(HSA_STATUS_ERROR_OUT_OF_RESOURCES, Allocate(40 * mi, &more));
  }
  EXPECT_EQ(HSA_STATUS_SUCCESS, Agents());
  Submit(queue);
  toy_packet_t ran;
  EXPECT_EQ(1u, toy_ran(&ran, 1));
  Destroy(queue);
  Free(memory);
  Unload();
  EXPECT_EQ(0u, toy_replaced());
  Load();
  EXPECT_EQ(HSA_STATUS_SUCCESS, Agents());
}

TEST_F(FrontDoors, ARuntimeThatEndedMayBeginAnew)
{
  Set("RAWHAL_GPU_SHARE", "90%");
  for (int i = 0; i < 3; ++i) {
    Load();
    hsa_queue_t *queue = Queue();
    Submit(queue);
    Destroy(queue);
    Unload();
    EXPECT_EQ(0u, toy_replaced());
    EXPECT_EQ("", Report());
  }
}

// dlmopen() loads a second runtime with a second front, which knows nothing of the first.
TEST_F(FrontDoors, ASecondCopyIsRefusedUnlessBothHaveARegion)
{
  void *library = dlopen(RAWHAL_FRONT, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(nullptr, library) << dlerror();
  using load_t = bool(void *, uint64_t, uint64_t, const char *const *);
  auto *enter = reinterpret_cast<load_t *>(dlsym(library, "OnLoad"));
  auto *leave = reinterpret_cast<void (*)()>(dlsym(library, "OnUnload"));
  const auto second = [&] {
    toy_reset(); // to it the tables are as the runtime made them
    EXPECT_TRUE(enter(toy_root(), 1, 0, nullptr));
    const bool refused = Agents() != HSA_STATUS_SUCCESS;
    leave();
    toy_reset();
    return refused;
  };
  for (const char *variable : {"RAWHAL_MEMORY_LIMIT", "RAWHAL_GPU_SHARE"}) {
    SCOPED_TRACE(variable);
    Set(variable, "50%");
    Load();
    EXPECT_TRUE(second());
    EXPECT_NE(std::string::npos, Report().find("another copy of rawhal in this process"));
    Unload();
    EXPECT_FALSE(second()); // which is then the only one
    unsetenv(variable);
  }
  Set("RAWHAL_MEMORY_LIMIT", "64M");
  Set("RAWHAL_LIMIT_REGION", region_ / "region");
  Load();
  EXPECT_FALSE(second());
  dlclose(library);
}

// Its parent's sign is no other copy's.
TEST_F(FrontDoors, AChildIsAProcessOfItsOwn)
{
  Set("RAWHAL_MEMORY_LIMIT", "64M");
  Load();
  EXPECT_EQ(0, in_child([&] {
              toy_reset();
              toy_enter();
              return Agents() == HSA_STATUS_SUCCESS ? 0 : 1;
            }));
}

namespace {

// Where the other tool is in HSA_TOOLS_LIB, and which of both is unloaded first.
struct Order {
  bool before, unloaded_first;
};

class FrontTool : public FrontDoors {
protected:
  void SetUp() override
  {
    FrontDoors::SetUp();
    library_ = dlopen(RAWHAL_TOY_TOOL, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(nullptr, library_) << dlerror();
  }

  template <typename Type> Type Symbol(const char *name)
  {
    return reinterpret_cast<Type>(dlsym(library_, name));
  }
  size_t Count(const char *name) { return *Symbol<size_t *>(name); }

  void LoadOther()
  {
    Symbol<bool (*)(void *, uint64_t, uint64_t, const char *const *)>("OnLoad")(toy_root(), 1, 0,
                                                                                nullptr);
  }
  void UnloadOther() { Symbol<void (*)()>("OnUnload")(); }

  void LoadBoth(bool before)
  {
    Set("RAWHAL_GPU_SHARE", "90%");
    Set("RAWHAL_MEMORY_LIMIT", "64M");
    toy_make(1, 0, 0);
    if (before)
      LoadOther();
    toy_enter();
    if (!before)
      LoadOther();
  }

  void *library_ = nullptr;
};

class FrontChain : public FrontTool, public testing::WithParamInterface<Order> {};

} // namespace

TEST_P(FrontChain, BothSeeWhatIsCalled)
{
  LoadBoth(GetParam().before);
  const size_t before = Count("toy_tool_queues"), rung = Count("toy_tool_stores"),
               allocated = Count("toy_tool_allocations"), written = Count("toy_tool_writes");
  hsa_queue_t *queue = Queue();
  void *memory = nullptr, *more = nullptr;
  ASSERT_EQ(HSA_STATUS_SUCCESS, Allocate(40 * mi, &memory));
  EXPECT_NE(HSA_STATUS_SUCCESS, Allocate(40 * mi, &more));
  Submit(queue);
  toy_packet_t ran;
  EXPECT_EQ(1u, toy_ran(&ran, 1));
  EXPECT_EQ(1u, Count("toy_tool_queues") - before);
  // Before ours it sees the program's doorbell and the device's, and no allocation that we refuse.
  EXPECT_EQ(GetParam().before ? 2u : 1u, Count("toy_tool_stores") - rung);
  EXPECT_GE(Count("toy_tool_allocations") - allocated, 1u);
  Destroy(queue);
  Free(memory);
  if (GetParam()
          .before) { // it is told of indices, which we write ourselves where nobody is between
    EXPECT_GT(Count("toy_tool_writes"), written);
  }

  if (GetParam().unloaded_first)
    UnloadOther();
  toy_unload();
  if (!GetParam().unloaded_first)
    UnloadOther();
  EXPECT_EQ(0u, toy_live_queues());
  EXPECT_EQ(0u, toy_live_signals());
  // The runtime unloads who came last first, and resets its tables before it closes libraries. In
  // the other order who came first cannot take its functions out of what the other has saved.
  if (GetParam().before == GetParam().unloaded_first)
    toy_reset();
  else
    EXPECT_EQ(0u, toy_replaced());
  EXPECT_EQ(0, dlclose(library_));
  EXPECT_EQ(nullptr, dlopen(RAWHAL_TOY_TOOL, RTLD_NOW | RTLD_NOLOAD));

  ASSERT_EQ(HSA_STATUS_SUCCESS, Allocate(80 * mi, &memory));
  Free(memory);
  queue = Queue();
  Destroy(queue);
  Load();
  queue = Queue();
  Submit(queue);
  EXPECT_EQ(1u, toy_ran(&ran, 1));
  Destroy(queue);
}

// Who came later keeps our hooks, which are no more than a way to what is below.
TEST_F(FrontTool, ThatStaysCallsThroughUs)
{
  LoadBoth(false);
  toy_unload();
  void *memory = nullptr;
  ASSERT_EQ(HSA_STATUS_SUCCESS, Allocate(80 * mi, &memory));
  Free(memory);
  hsa_queue_t *queue = Queue();
  Destroy(queue);
  UnloadOther();
  ASSERT_EQ(HSA_STATUS_SUCCESS, Allocate(80 * mi, &memory));
  Free(memory);
  // Without the runtime's reset we find ourselves there.
  toy_enter();
  EXPECT_NE(HSA_STATUS_SUCCESS, Agents());
  EXPECT_NE(std::string::npos, Report().find("contain the hooks"));
  toy_reset();
  EXPECT_EQ(0, dlclose(library_));
}

INSTANTIATE_TEST_SUITE_P(Orders, FrontChain,
                         testing::Values(Order{true, false}, Order{true, true}, Order{false, false},
                                         Order{false, true}),
                         [](const auto &order) {
                           return std::string(order.param.before ? "Before" : "After") +
                                  (order.param.unloaded_first ? "UnloadedFirst" : "UnloadedLast");
                         });
