// What a program tries to have more than its share, where the share is the toy runtime's to give.
#include "tests/front/looks.h"
#include "tests/front/proxy_test.h"

#include <hsa/hsa_ext_image.h>
#include <rawhal/limit.h>

#include <thread>

extern "C" uint64_t copies_patience; // of queue/gate/copies.h

namespace {

// ---- Copies and fills for whose ends threads wait ----

class FrontBlocking : public FrontProxy {
protected:
  void SetUp() override
  {
    FrontProxy::SetUp();
    copies_patience = 1; // all that it would do after ten seconds it may do at once
    Set("RAWHAL_LIMIT_REGION", region_ = scratch_ / "region");
  }
  void TearDown() override
  {
    FrontProxy::TearDown();
    copies_patience = before_;
  }

  static void Copy()
  {
    char to[64], from[64] = {};
    EXPECT_EQ(HSA_STATUS_SUCCESS, Core<decltype(hsa_memory_copy)>(296)(to, from, sizeof(to)));
  }
  template <typename Function> static Function *Image(size_t offset)
  {
    return reinterpret_cast<Function *>(toy_image(offset));
  }
  static void Clear()
  {
    const hsa_ext_image_region_t region = {{0, 0, 0}, {4, 4, 1}};
    EXPECT_EQ(HSA_STATUS_SUCCESS,
              Image<decltype(hsa_ext_image_clear)>(64)(toy_agent(), {1}, nullptr, &region));
  }
  static void CopyImage()
  {
    const hsa_dim3_t zero = {0, 0, 0}, range = {4, 4, 1};
    EXPECT_EQ(HSA_STATUS_SUCCESS,
              Image<decltype(hsa_ext_image_copy)>(56)(toy_agent(), {1}, &zero, {2}, &zero, &range));
  }
  static void Import()
  {
    const hsa_ext_image_region_t region = {{0, 0, 0}, {4, 4, 1}};
    EXPECT_EQ(HSA_STATUS_SUCCESS,
              Image<decltype(hsa_ext_image_import)>(40)(toy_agent(), nullptr, 0, 0, {1}, &region));
  }
  static void Export()
  {
    const hsa_ext_image_region_t region = {{0, 0, 0}, {4, 4, 1}};
    EXPECT_EQ(HSA_STATUS_SUCCESS,
              Image<decltype(hsa_ext_image_export)>(48)(toy_agent(), {1}, nullptr, 0, 0, &region));
  }
  static void Fill()
  {
    uint32_t words[16];
    EXPECT_EQ(HSA_STATUS_SUCCESS, Amd<decltype(hsa_amd_memory_fill)>(192)(words, 1, 16));
  }

  static constexpr void (*kinds[])() = {Copy, Fill, Clear, CopyImage, Import, Export};

  rawhal_limit_row_t Row() const
  {
    rawhal_limit_view_t *view = nullptr;
    rawhal_limit_row_t rows[8] = {}, tenant = {};
    EXPECT_EQ(RAWHAL_OK, rawhal_limit_view_open(region_.c_str(), &view, nullptr));
    const size_t found = rawhal_limit_view_read(view, rows, sizeof(*rows), 8);
    for (size_t i = 0; i < found && i < 8; ++i)
      if (rows[i].level == RAWHAL_LIMIT_LEVEL_TENANT)
        tenant = rows[i];
    rawhal_limit_view_close(view);
    return tenant;
  }

  Scratch scratch_;
  std::string region_;

private:
  const uint64_t before_ = copies_patience;
};

// Each of the two ways an operator stops a tenant.
class FrontBlockingStopped : public FrontBlocking, public testing::WithParamInterface<bool> {};

TEST_P(FrontBlockingStopped, NoneGoesUntilOneMay)
{
  Start("90%");
  rawhal_limit_control_t *control = nullptr;
  ASSERT_EQ(RAWHAL_OK, rawhal_limit_control_open(region_.c_str(), &control, nullptr));
  const bool suspend = GetParam();
  ASSERT_EQ(RAWHAL_OK,
            suspend ? rawhal_limit_control_suspend(control, nullptr, "default", true, nullptr)
                    : rawhal_limit_control_set(control, nullptr, "default", RAWHAL_LIMIT_GPU_SHARE,
                                               0, nullptr));
  std::vector<std::thread> threads;
  for (auto *kind : kinds)
    threads.emplace_back(kind);
  AwaitLooks(region_, 60);
  EXPECT_EQ(0u, toy_copies(nullptr));
  EXPECT_EQ(RAWHAL_OK, rawhal_limit_control_release(control, nullptr, "default", nullptr));
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(6u, toy_copies(nullptr));
  rawhal_limit_control_close(control);
}

INSTANTIATE_TEST_SUITE_P(Ways, FrontBlockingStopped, testing::Bool(),
                         [](const testing::TestParamInfo<bool> &suspended) {
                           return suspended.param ? "Suspended" : "AtNothing";
                         });

// A kernel that runs may wait for any of them: one at a time goes beside it.
TEST_F(FrontBlocking, OneAtATimeGoesBesideAKernel)
{
  Start("50%");
  toy_hold(true);
  Submit(Kernel(1));
  std::vector<std::thread> threads;
  for (int i = 0; i < 12; ++i)
    threads.emplace_back(kinds[i % 6]);
  for (std::thread &thread : threads)
    thread.join();
  size_t at_once;
  EXPECT_EQ(12u, toy_copies(&at_once));
  EXPECT_EQ(1u, at_once);
  toy_hold(false);
}

// What the driver moves waits like what an engine does: whole pages, whether anybody is told or not.
TEST_F(FrontBlocking, APrefetchIsHeldBack)
{
  Start("90%");
  rawhal_limit_control_t *control = nullptr;
  ASSERT_EQ(RAWHAL_OK, rawhal_limit_control_open(region_.c_str(), &control, nullptr));
  hsa_signal_t mine = Signal();
  char pages[2];
  auto *odd = reinterpret_cast<void *>(reinterpret_cast<uintptr_t>(pages) | 1);
  const std::pair<hsa_signal_t, size_t> ways[] = {{mine, 1}, {hsa_signal_t{}, 1}, {mine, 0}};
  for (const auto &[count, size] : ways) {
    ASSERT_EQ(RAWHAL_OK, rawhal_limit_control_suspend(control, nullptr, "default", true, nullptr));
    EXPECT_EQ(HSA_STATUS_SUCCESS, Amd<decltype(hsa_amd_svm_prefetch_async)>(384)(
                                      odd, size, toy_agent(), 0, nullptr, count));
    ASSERT_FALSE(toy_prefetch_may_go());
    AwaitLooks(region_, 3);
    EXPECT_FALSE(toy_prefetch_may_go());
    EXPECT_EQ(RAWHAL_OK, rawhal_limit_control_release(control, nullptr, "default", nullptr));
    while (!toy_prefetch_may_go())
      usleep(1000);
    toy_prefetch_ends();
    while (count.handle && Core<decltype(hsa_signal_load_scacquire)>(336)(count))
      usleep(1000);
    if (count.handle)
      Core<decltype(hsa_signal_store_relaxed)>(344)(count, 1);
  }
  Drop(mine);
  rawhal_limit_control_close(control);
  Destroy();
  Unload(); // what copies have of signals goes then
}

// ---- What waits on the device ----

// By the region: what its only process has been charged.
class FrontBehind : public FrontBlocking {
protected:
  // A barrier that is not open, and a kernel with the program's own signal after it.
  void SubmitBoth(hsa_signal_t opens, hsa_signal_t mine)
  {
    hsa_barrier_and_packet_t barrier = {};
    barrier.header = HSA_PACKET_TYPE_BARRIER_AND;
    barrier.dep_signal[0] = opens;
    Submit(barrier);
    Submit(Kernel(1, each, mine));
  }
  uint64_t Charged() const { return Row().gpu_ns; }
  static constexpr uint64_t each = 1000000, waits = 100 * each;
};

TEST_F(FrontBehind, ABarrierIsNoTimeOfTheKernel)
{
  Start("50%");
  hsa_signal_t opens = Signal(), mine = Signal();
  toy_hold(true);
  SubmitBoth(opens, mine);
  usleep(waits / 1000);
  toy_hold(false);
  while (Row().launches < 1)
    usleep(1000);
  EXPECT_GE(Charged(), each);
  EXPECT_LT(Charged(), waits / 2);
  Drop(opens);
  Drop(mine);
}

TEST_F(FrontBehind, NorWhenItNeverOpened)
{
  Start("50%");
  hsa_signal_t opens = Signal(), mine = Signal();
  toy_hold(true);
  SubmitBoth(opens, mine);
  usleep(waits / 1000);
  Destroy();
  EXPECT_LT(Charged(), waits / 2);
  Drop(opens);
  Drop(mine);
}

// What began is paid, up to the end of its queue.
TEST_F(FrontBehind, WhatBeganAfterItIsPaid)
{
  Start("50%");
  hsa_signal_t opens = Signal(), mine = Signal();
  toy_hold(true);
  SubmitBoth(opens, mine);
  EXPECT_TRUE(toy_step() && toy_step()); // the barrier, and ours after it
  usleep(waits / 1000);
  Destroy();
  EXPECT_GE(Charged(), waits / 2);
  Drop(opens);
  Drop(mine);
}

// ---- Packets of a vendor's ----

// What PM4 has the device do is a submission like any other.
TEST_F(FrontBlocking, CommandsAreHeldBackAndCharged)
{
  Start("50%");
  const uint32_t pm4[16] = {HSA_PACKET_TYPE_VENDOR_SPECIFIC | 1 << 16};
  toy_hold(true);
  Submit(pm4);
  Submit(pm4);
  AwaitLooks(region_, 3); // the second waits for the first one's end
  EXPECT_EQ(0u, Row().launches);
  toy_hold(false);
  while (Row().launches < 2) {
    toy_hold(false); // what comes later is run by who looks
    usleep(1000);
  }
  EXPECT_GT(Row().gpu_ns, 0u);
  std::vector<uint16_t> types;
  for (const toy_packet_t &packet : Ran(4))
    types.push_back(packet.header & 0xff);
  EXPECT_EQ((std::vector<uint16_t>{0, HSA_PACKET_TYPE_BARRIER_AND, 0, HSA_PACKET_TYPE_BARRIER_AND}),
            types);
}

// ---- Batches ----

// Kernels that were short go as one submission. Each may be long from now on, so the smaller the
// share, the fewer they are.
struct FrontBatchCase {
  const char *share;
  uint64_t dispatches;
};
class FrontBatch : public FrontBlocking, public testing::WithParamInterface<FrontBatchCase> {
protected:
  // Packets that the device was told of.
  static uint64_t Told()
  {
    return reinterpret_cast<const amd_queue_t *>(toy_queue())->write_dispatch_id;
  }
};

TEST_P(FrontBatch, IsTheSmallerTheSmallerTheShare)
{
  constexpr uint64_t count = 60;
  const hsa_kernel_dispatch_packet_t known = Kernel(7, 1000);
  Start(GetParam().share);
  Submit(known);
  while (Row().launches < 1)
    usleep(1000);
  toy_hold(true);
  const uint64_t before = Told();
  for (uint64_t i = 0; i < count; ++i)
    Write(Reserve(), known);
  Ring(count);
  while (Told() == before)
    usleep(100);
  EXPECT_EQ(GetParam().dispatches, Told() - before);
  while (Row().launches < 1 + count) {
    toy_hold(false); // what comes later is run by who looks
    usleep(1000);
  }
}

INSTANTIATE_TEST_SUITE_P(Shares, FrontBatch,
                         testing::Values(FrontBatchCase{"1%", 1}, FrontBatchCase{"10%", 6},
                                         FrontBatchCase{"40%", 25}),
                         [](const auto &each) {
                           return "Of" + std::to_string(atoi(each.param.share)) + "Percent";
                         });

// ---- Packets that change while they are looked at ----

// What runs is what the front looked at: another thread of the program writes the packet again while
// it is forwarded, which is when the front makes its signal for it, or while it is held back.
class FrontSwapped : public FrontBlocking {
protected:
  void Prepare() override
  {
    make_ = Amd<decltype(hsa_amd_signal_create)>(264);
    toy_replace_amd(264, reinterpret_cast<void *>(Make));
  }
  void TearDown() override
  {
    swap_ = nullptr;
    FrontBlocking::TearDown();
  }

  static hsa_status_t Make(hsa_signal_value_t value, uint32_t count, const hsa_agent_t *agents,
                           uint64_t attributes, hsa_signal_t *signal)
  {
    if (swap_)
      swap_();
    return make_(value, count, agents, attributes, signal);
  }

  // Of another type, of another kernel, with more work-groups and scratch than was charged.
  void Swap(uint64_t index)
  {
    hsa_kernel_dispatch_packet_t other = Kernel(9, 1);
    other.header = HSA_PACKET_TYPE_VENDOR_SPECIFIC;
    other.setup = 1;
    other.grid_size_x = other.private_segment_size = 1 << 20;
    other.kernarg_address = this;
    Write(index, other);
  }

  // But for the signal, which is the front's.
  static void ExpectTheSame(const hsa_kernel_dispatch_packet_t &packet, const toy_packet_t &ran)
  {
    EXPECT_EQ(
        0, memcmp(&packet, ran.words, offsetof(hsa_kernel_dispatch_packet_t, completion_signal)));
  }

  static decltype(hsa_amd_signal_create) *make_;
  static std::function<void()> swap_;
};
decltype(hsa_amd_signal_create) *FrontSwapped::make_;
std::function<void()> FrontSwapped::swap_;

TEST_F(FrontSwapped, IsWhatItWasSeenAs)
{
  Start();
  size_t swapped = 0;
  swap_ = [&] {
    Swap(0);
    ++swapped;
  };
  const hsa_kernel_dispatch_packet_t packet = Kernel(7, 1000);
  Submit(packet);
  EXPECT_GT(swapped, 0u);
  const auto ran = Ran(1);
  ASSERT_EQ(1u, ran.size());
  ExpectTheSame(packet, ran[0]);
}

// With what watches dispatches, which has looked at it when it is held back.
TEST_F(FrontSwapped, NorWhileItIsHeldBack)
{
  Set("RAWHAL_TRACE", scratch_ / "trace");
  Start("50%");
  toy_hold(true);
  const hsa_kernel_dispatch_packet_t first = Kernel(7, 1000), second = Kernel(8, 1000);
  Submit(first);
  Submit(second); // waits for the first one's end
  AwaitLooks(region_, 1);
  Swap(1);
  while (Row().launches < 2) {
    toy_hold(false); // what comes later is run by who looks
    usleep(1000);
  }
  const auto ran = Ran(2);
  ASSERT_EQ(2u, ran.size());
  ExpectTheSame(first, ran[0]);
  ExpectTheSame(second, ran[1]);
}

// ---- The device's own queue ----

// A kernel knows it (__builtin_amdgcn_queue_ptr()) and tells the program, which calls HSA's
// functions with it: each does with it what it does with the program's queue.
class FrontRealQueue : public FrontProxy, public testing::WithParamInterface<uint32_t> {
protected:
  static bool TakesAQueue(const std::string &name)
  {
    for (const char *kind : {"load_read", "load_write", "store_write", "store_read", "cas_write",
                             "add_write", "cu_set_mask", "cu_get_mask", "set_profiler", "queue_",
                             "intercept_register", "counted_release"})
      if (name.find(kind) == 0)
        return name != "queue_create";
    return false;
  }
  // Those that end it come last, and the toy has them.
  static bool Ends(const std::string &name)
  {
    return name == "queue_destroy" || name == "queue_inactivate" || name == "counted_release";
  }

  template <typename Visit> void EachThatTakesAQueue(Visit visit) const
  {
    toy_entry_t entry;
    for (size_t i = 0; toy_entry(i, &entry); ++i) {
      const size_t at = GetParam() == 1 ? entry.first : entry.second;
      if (at && TakesAQueue(entry.name) && !Ends(entry.name))
        visit(entry, at);
    }
  }

  static uint64_t Asked(const hsa_queue_t *queue, uint64_t, uint64_t)
  {
    seen_ = queue;
    return 0;
  }

  void Prepare() override
  {
    EachThatTakesAQueue([](const toy_entry_t &entry, size_t at) {
      (entry.amd ? toy_replace_amd : toy_replace_core)(at, reinterpret_cast<void *>(Asked));
    });
  }

  struct Effect {
    uint64_t result, write;
    const hsa_queue_t *seen;
    bool operator==(const Effect &other) const
    {
      return result == other.result && write == other.write && seen == other.seen;
    }
  };
  Effect Call(const toy_entry_t &entry, size_t at, hsa_queue_t *queue) const
  {
    using Function = uint64_t(const hsa_queue_t *, uint64_t, uint64_t);
    uint64_t value[4] = {};
    auto *face = reinterpret_cast<amd_queue_t *>(queue_);
    face->write_dispatch_id = 32;
    seen_ = nullptr;
    auto *function = entry.amd ? Amd<Function>(at) : Core<Function>(at);
    const uint64_t result = function(queue, 32, reinterpret_cast<uint64_t>(value));
    return {result, face->write_dispatch_id, seen_};
  }

  static const hsa_queue_t *seen_;
};
const hsa_queue_t *FrontRealQueue::seen_;

TEST_P(FrontRealQueue, IsTheProgramsQueueToEveryFunction)
{
  Start("90%", 64, GetParam(), GetParam() == 2 ? 0x12 : 0);
  hsa_queue_t *real = toy_queue();
  ASSERT_NE(nullptr, real);
  ASSERT_NE(queue_, real);
  size_t count = 0;
  EachThatTakesAQueue([&](const toy_entry_t &entry, size_t at) {
    SCOPED_TRACE(entry.name);
    const Effect by_face = Call(entry, at, queue_), by_real = Call(entry, at, real);
    EXPECT_EQ(by_face, by_real);
    EXPECT_TRUE(by_real.seen == nullptr || by_real.seen == real);
    EXPECT_EQ(0u, reinterpret_cast<amd_queue_t *>(real)->write_dispatch_id);
    ++count;
  });
  EXPECT_EQ(GetParam() == 1 ? 21u : 24u, count);
  reinterpret_cast<amd_queue_t *>(queue_)->write_dispatch_id = 0;
  // Its doorbell tells of what is in the program's ring, whoever rings it.
  Write(Reserve(), Kernel(1));
  const size_t rung = toy_doorbells();
  Core<decltype(hsa_signal_store_screlease)>(352)(real->doorbell_signal, 0);
  EXPECT_EQ(1u, Ran(1).size());
  EXPECT_EQ(rung + 1, toy_doorbells());
  EXPECT_EQ(HSA_STATUS_SUCCESS, Core<decltype(hsa_queue_inactivate)>(96)(real));
  EXPECT_EQ(HSA_STATUS_SUCCESS, Core<decltype(hsa_queue_destroy)>(88)(real));
  queue_ = nullptr;
  EXPECT_EQ(0u, toy_live_queues());
}

INSTANTIATE_TEST_SUITE_P(Majors, FrontRealQueue, testing::Values(1, 2),
                         [](const testing::TestParamInfo<uint32_t> &major) {
                           return std::to_string(major.param);
                         });

} // namespace
