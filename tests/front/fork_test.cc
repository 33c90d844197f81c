// A child that does not start another program: it has the hooks, and neither threads nor a runtime.
#include "tests/child.h"
#include "tests/extended.h"
#include "tests/front/front_test.h"
#include "tests/front/toy_memory.h"

#include <rawhal/limit.h>

#include <atomic>
#include <thread>

#include <unistd.h>

namespace {

class FrontFork : public FrontTest {
protected:
  void Start()
  {
    Set("RAWHAL_GPU_SHARE", "50%");
    Set("RAWHAL_MEMORY_LIMIT", "64M");
    Set("RAWHAL_LIMIT_REGION", region_ = scratch_ / "region");
    Load();
    ASSERT_EQ(HSA_STATUS_SUCCESS, Create(&queue_));
  }

  hsa_status_t Create(hsa_queue_t **queue)
  {
    return Core<decltype(hsa_queue_create)>(72)(toy_agent(), 64, HSA_QUEUE_TYPE_MULTI, nullptr,
                                                nullptr, 0, 0, queue);
  }
  hsa_status_t Destroy() { return Core<decltype(hsa_queue_destroy)>(88)(queue_); }
  hsa_status_t Allocate(size_t size, void **memory)
  {
    return Amd<decltype(hsa_amd_memory_pool_allocate)>(120)(toy_pool(), size, 0, memory);
  }
  hsa_status_t Free(void *memory) { return Amd<decltype(hsa_amd_memory_pool_free)>(128)(memory); }
  void Submit()
  {
    uint64_t index = Core<decltype(hsa_queue_add_write_index_relaxed)>(200)(queue_, 1);
    while (index - Core<decltype(hsa_queue_load_read_index_scacquire)>(104)(queue_) >= queue_->size)
      usleep(100);
    hsa_kernel_dispatch_packet_t packet = {};
    packet.workgroup_size_x = packet.workgroup_size_y = packet.workgroup_size_z = 1;
    packet.grid_size_x = packet.grid_size_y = packet.grid_size_z = 1;
    packet.reserved2 = 1000;
    char *slot = static_cast<char *>(queue_->base_address) + index % queue_->size * 64;
    memcpy(slot + 4, reinterpret_cast<char *>(&packet) + 4, 60);
    uint32_t first = HSA_PACKET_TYPE_KERNEL_DISPATCH;
    __atomic_store_n(reinterpret_cast<uint32_t *>(slot), first, __ATOMIC_RELEASE);
    Ring(index);
  }
  void Ring(uint64_t index)
  {
    Core<decltype(hsa_signal_store_screlease)>(352)(queue_->doorbell_signal,
                                                    static_cast<hsa_signal_value_t>(index));
  }

  // What the region says that the tenant holds.
  uint64_t Used()
  {
    rawhal_limit_view_t *view = nullptr;
    rawhal_limit_row_t rows[8];
    uint64_t used = UINT64_MAX;
    EXPECT_EQ(RAWHAL_OK, rawhal_limit_view_open(region_.c_str(), &view, nullptr));
    size_t count = rawhal_limit_view_read(view, rows, sizeof(*rows), 8);
    for (size_t i = 0; i < count && i < 8; ++i)
      if (rows[i].level == RAWHAL_LIMIT_LEVEL_TENANT)
        used = rows[i].memory_used;
    rawhal_limit_view_close(view);
    return used;
  }

  // All that a program may do with what it has from its parent. The first that surprises, or 0.
  int Child(void *memory)
  {
    void *more = nullptr;
    hsa_queue_t *queue = nullptr;
    if (Allocate(mi, &more) == HSA_STATUS_SUCCESS || more)
      return 1;
    if (Create(&queue) == HSA_STATUS_SUCCESS || queue)
      return 2;
    Ring(100);
    (void)Core<decltype(hsa_queue_load_read_index_scacquire)>(104)(queue_);
    if (Core<decltype(hsa_queue_inactivate)>(96)(queue_) == HSA_STATUS_SUCCESS)
      return 3;
    if (Destroy() == HSA_STATUS_SUCCESS)
      return 4;
    (void)Free(memory);
    toy_unload();
    return 0;
  }

  Scratch scratch_;
  std::string region_;
  hsa_queue_t *queue_ = nullptr;
};

} // namespace

TEST_F(FrontFork, AChildTouchesNothingAndEnds)
{
  Start();
  void *memory = nullptr;
  ASSERT_EQ(HSA_STATUS_SUCCESS, Allocate(8 * mi, &memory));
  const uint64_t used = Used();
  EXPECT_EQ(8 * mi + toy_queue_bytes, used);
  std::atomic<bool> over{false};
  // Locks are held by others whenever a child is made.
  std::thread submits([&] {
    while (!over)
      Submit();
  });
  std::thread allocates([&] {
    while (!over) {
      void *passing = nullptr;
      if (Allocate(mi, &passing) == HSA_STATUS_SUCCESS)
        Free(passing);
    }
  });
  const int children = by_length(100, 500, 2000);
  for (int i = 0; i < children && !HasFailure(); ++i)
    EXPECT_EQ(0, in_child([&] { return Child(memory); })) << "child " << i;
  over = true;
  submits.join();
  allocates.join();
  EXPECT_EQ(used, Used());
  EXPECT_EQ(HSA_STATUS_SUCCESS, Free(memory));
  EXPECT_EQ(toy_queue_bytes, Used());
  Submit();
  EXPECT_EQ(HSA_STATUS_SUCCESS, Destroy());
  Unload();
  EXPECT_EQ(0u, toy_live_queues());
  EXPECT_EQ("", Report());
}

// As a program ends, with all handlers.
TEST_F(FrontFork, AChildEndsAsProgramsDo)
{
  Start();
  Submit();
  EXPECT_EQ(0, in_exiting_child([] {}));
  Submit();
  EXPECT_EQ(HSA_STATUS_SUCCESS, Destroy());
}

// It may have a runtime of its own, with limits of its own.
TEST_F(FrontFork, AChildMayBeginAnew)
{
  Start();
  EXPECT_EQ(0, in_child([&] {
              toy_load(1, 0, 0);
              void *memory = nullptr;
              return Allocate(mi, &memory) != HSA_STATUS_SUCCESS ||
                     Free(memory) != HSA_STATUS_SUCCESS;
            }));
  EXPECT_EQ(toy_queue_bytes, Used());
  EXPECT_EQ(HSA_STATUS_SUCCESS, Destroy());
  EXPECT_EQ(0u, Used());
}
