// Packets that are mistaken, and memory that is not there.
#include "tests/front/toy_check.h"

#include "base/own_memory.h"
#include "front/host_view.h"

#include "tests/assert_ok.h"

#include <gtest/gtest.h>
#include <hsa/hsa_ext_amd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <thread>
#include <vector>

namespace {

struct Ranges : testing::Test {
  void TearDown() override { ranges_forget(); }
};

TEST_F(Ranges, AnAddressIsInTheOneThatCoversIt)
{
  range_t found = {};
  ASSERT_TRUE(ranges_add(0x1000, 0x1000, 7));
  ASSERT_TRUE(ranges_add(0x3000, 1, 0));
  EXPECT_EQ(ranges_find(0xfff, &found), RANGE_NONE);
  ASSERT_EQ(ranges_find(0x1000, &found), RANGE_LIVE);
  EXPECT_EQ(found.base, 0x1000u);
  EXPECT_EQ(found.size, 0x1000u);
  EXPECT_EQ(found.owner, 7u);
  EXPECT_EQ(ranges_find(0x1fff, nullptr), RANGE_LIVE);
  EXPECT_EQ(ranges_find(0x2000, nullptr), RANGE_NONE);
  EXPECT_TRUE(ranges_ending(0x2000, &found));
  EXPECT_EQ(found.base, 0x1000u);
  EXPECT_FALSE(ranges_ending(0x1fff, nullptr));
  EXPECT_EQ(ranges_find(0x3000, nullptr), RANGE_LIVE);
  EXPECT_EQ(ranges_find(0x3001, nullptr), RANGE_NONE);
}

TEST_F(Ranges, WhatIsFreedIsRememberedUntilItIsAllocatedAgain)
{
  range_t found = {};
  ASSERT_TRUE(ranges_add(0x1000, 0x1000, 7));
  ranges_remove(0x1800); // nothing begins there
  EXPECT_EQ(ranges_find(0x1800, nullptr), RANGE_LIVE);
  ranges_remove(0x1000);
  ASSERT_EQ(ranges_find(0x1800, &found), RANGE_FREED);
  EXPECT_EQ(found.size, 0x1000u);
  ASSERT_TRUE(ranges_add(0x1f00, 0x1000, 7)); // of it the end alone is there again
  EXPECT_EQ(ranges_find(0x1800, &found), RANGE_FREED);
  EXPECT_EQ(found.base, 0x1000u);
  EXPECT_EQ(ranges_find(0x1f00, &found), RANGE_LIVE);
  EXPECT_EQ(found.base, 0x1f00u);
}

TEST_F(Ranges, OfSeveralThatWereFreedThereTheLatestIsNamed)
{
  range_t first = {}, second = {};
  ASSERT_TRUE(ranges_add(0x1000, 0x100, 1));
  ASSERT_EQ(ranges_find(0x1000, &first), RANGE_LIVE);
  ranges_remove(0x1000);
  ASSERT_TRUE(ranges_add(0x1000, 0x200, 2));
  ranges_remove(0x1000);
  ASSERT_EQ(ranges_find(0x1080, &second), RANGE_FREED);
  EXPECT_EQ(second.owner, 2u);
  EXPECT_GT(second.number, first.number);
}

TEST_F(Ranges, WhatWasFreedUnseenMakesRoom)
{
  ASSERT_TRUE(ranges_add(0x1000, 0x1000, 0));
  ASSERT_TRUE(ranges_add(0x2000, 0x1000, 0));
  ASSERT_TRUE(ranges_add(0x1800, 0x1000, 0)); // over both
  EXPECT_EQ(ranges_find(0x1000, nullptr), RANGE_NONE);
  EXPECT_EQ(ranges_find(0x2fff, nullptr), RANGE_NONE);
  EXPECT_EQ(ranges_find(0x2000, nullptr), RANGE_LIVE);
}

TEST_F(Ranges, TheEdgeOfTheAddressSpace)
{
  EXPECT_FALSE(ranges_add(0x1000, 0, 0));
  EXPECT_FALSE(ranges_add(UINT64_MAX - 1, 3, 0));
  ASSERT_TRUE(ranges_add(UINT64_MAX - 1, 2, 0));
  EXPECT_EQ(ranges_find(UINT64_MAX, nullptr), RANGE_LIVE);
  EXPECT_EQ(ranges_find(0, nullptr), RANGE_NONE);
  EXPECT_FALSE(ranges_ending(0, nullptr));
}

TEST_F(Ranges, ManyAreFoundAndTheOldestOfTheFreedForgotten)
{
  const uint64_t many = 2 * RANGES_REMEMBERED;
  for (uint64_t i = 1; i <= many; ++i)
    ASSERT_TRUE(ranges_add(i << 12, 0x800, i));
  for (uint64_t i = 1; i <= many; ++i) {
    range_t found = {};
    ASSERT_EQ(ranges_find((i << 12) + 0x7ff, &found), RANGE_LIVE);
    ASSERT_EQ(found.owner, i);
    ASSERT_EQ(ranges_find((i << 12) + 0x800, nullptr), RANGE_NONE);
  }
  for (uint64_t i = 1; i <= many; ++i)
    ranges_remove(i << 12);
  EXPECT_EQ(ranges_find(1 << 12, nullptr), RANGE_NONE);
  EXPECT_EQ(ranges_find((many - RANGES_REMEMBERED + 1) << 12, nullptr), RANGE_FREED);
}

class Check : public testing::Test {
protected:
  void Open(const char *fixture)
  {
    std::ifstream file(std::string(RAWHAL_SOURCE_DIR "/tests/fixtures/") + fixture,
                       std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(file), {});
    ASSERT_OK(rawhal_hsaco_open(bytes_.data(), bytes_.size(), nullptr, &hsaco_, &error));
    kernel_ = rawhal_hsaco_kernel(hsaco_, 0);
    ASSERT_OK(rawhal_kernarg_layout_create(kernel_, 0, &layout_, &error));
    packet_ = {};
    packet_.setup = 2;
    packet_.grid_size_x = 200, packet_.grid_size_y = 7, packet_.grid_size_z = 1;
    packet_.workgroup_size_x = 64, packet_.workgroup_size_y = 2, packet_.workgroup_size_z = 1;
    packet_.private_segment_size = kernel_->descriptor->private_segment_size;
    packet_.group_segment_size = kernel_->descriptor->group_segment_size;
    packet_.kernarg_address = image_;
    ASSERT_TRUE(ranges_add(reinterpret_cast<uint64_t>(image_), sizeof(image_), 0));
    ASSERT_TRUE(ranges_add(buffer, 4096, TOY_CHECK_AGENT));
    Fill();
  }

  // As whoever launches does.
  void Fill()
  {
    rawhal_launch_t launch = {};
    launch.work_items[0] = packet_.grid_size_x, launch.work_items[1] = packet_.grid_size_y;
    launch.work_items[2] = packet_.grid_size_z;
    launch.workgroup[0] = packet_.workgroup_size_x, launch.workgroup[1] = packet_.workgroup_size_y;
    launch.workgroup[2] = packet_.workgroup_size_z;
    const rawhal_kernarg_info_t *info = rawhal_kernarg_layout_info(layout_);
    std::vector<char> blob(info->explicit_end);
    if (info->explicit_end >= sizeof(buffer))
      memcpy(blob.data(), &buffer, sizeof(buffer));
    if (info->visible_count == 2 && info->explicit_end == 16)
      memcpy(blob.data() + 8, &buffer, sizeof(buffer));
    ASSERT_OK(rawhal_kernarg_write_blob(layout_, blob.data(), blob.size(), 0, &launch, image_,
                                        sizeof(image_), &error));
  }

  // The runtime gave no such memory.
  void Remove() { ranges_remove(reinterpret_cast<uint64_t>(image_)), ranges_forget(); }

  void TearDown() override
  {
    const toy_check_memory_t nothing = {};
    ranges_forget();
    toy_check_knows(&nothing);
    toy_check_reaches(false);
    rawhal_kernarg_layout_destroy(layout_);
    rawhal_hsaco_close(hsaco_);
  }

  std::string Say()
  {
    char text[4096];
    size_t count = toy_check(kernel_, &packet_, text, sizeof(text));
    std::string said = text;
    EXPECT_EQ(static_cast<size_t>(std::count(said.begin(), said.end(), '\n')), count);
    return said;
  }

  template <typename Value> void Put(size_t offset, Value value)
  {
    memcpy(image_ + offset, &value, sizeof(value));
  }

  static constexpr uint64_t buffer = 0x7f0000000000;
  std::vector<char> bytes_;
  rawhal_hsaco_t *hsaco_ = nullptr;
  const rawhal_kernel_t *kernel_ = nullptr;
  rawhal_kernarg_layout_t *layout_ = nullptr;
  hsa_kernel_dispatch_packet_t packet_;
  alignas(64) char image_[1024] = {};
  rawhal_error_t error;
};

TEST_F(Check, NothingIsSaidOfWhatIsRight)
{
  for (const char *fixture : {"write_ids-gfx90a-v5.co", "scratch-gfx90a-v5.co",
                              "write_ids-gfx90a-v4.co", "empty-gfx90a-v5.co"}) {
    Open(fixture);
    EXPECT_EQ(Say(), "") << fixture;
    for (uint64_t none : {UINT64_C(0), UINT64_MAX}) { // may be meant
      Put<uint64_t>(0, none);
      EXPECT_EQ(Say(), "") << fixture;
    }
    TearDown();
    layout_ = nullptr;
    hsaco_ = nullptr;
  }
}

TEST_F(Check, HiddenArgumentsAreTheDispatchs)
{
  Open("write_ids-gfx90a-v5.co");
  Put<uint32_t>(24, 4); // full ones only
  EXPECT_EQ(Say(), "hidden_block_count_x is 4, by the dispatch 3\n");
  Put<uint32_t>(24, 3);
  Put<uint16_t>(38, 64);
  EXPECT_EQ(Say(), "hidden_group_size_y is 64, by the dispatch 2\n");
  Put<uint16_t>(38, 2);
  Put<uint16_t>(42, 0);
  EXPECT_EQ(Say(), "hidden_remainder_x is 0, by the dispatch 8\n");
  Put<uint16_t>(42, 8);
  for (uint16_t dimensions : {2, 3}) {
    Put<uint16_t>(88, dimensions);
    EXPECT_EQ(Say(), "");
  }
  Put<uint16_t>(88, 1);
  EXPECT_EQ(Say(), "hidden_grid_dims is 1, by the dispatch 2\n");
  packet_.grid_size_x = 256; // and the image is of another grid
  EXPECT_EQ(Say(), "hidden_block_count_x is 3, by the dispatch 4\n"
                   "hidden_remainder_x is 8, by the dispatch 0\n"
                   "hidden_grid_dims is 1, by the dispatch 2\n");
}

TEST_F(Check, GridsAreWhatTheKernelAllows)
{
  Open("reduce-gfx90a-v5.co");
  EXPECT_EQ(Say(), "work-group size x is 64, the kernel requires 256\n");
  packet_.workgroup_size_x = 256, packet_.workgroup_size_y = 1;
  EXPECT_EQ(Say(), "");
  packet_.grid_size_y = 0;
  EXPECT_EQ(Say(), "grid size y is 0\n");
  packet_.grid_size_y = 7;
  packet_.workgroup_size_z = 0; // what hidden arguments would be divided by
  EXPECT_EQ(Say(), "work-group size z is 0\n");
  packet_.workgroup_size_z = 1;
  packet_.grid_size_z = 2;
  EXPECT_EQ(Say(), "grid 2 and work-group 1 in unused dimension z, must be 1\n");
}

TEST_F(Check, WorkGroupsAreNotTooLarge)
{
  Open("write_ids-gfx90a-v5.co");
  packet_.workgroup_size_y = 8;
  Fill();
  EXPECT_EQ(Say(), "a work-group of 64x8x1 is 512 work-items, the kernel allows 256\n");
}

TEST_F(Check, AllWavesOfAWorkGroupHaveRoom)
{
  Open("vector_add-gfx90a-v4.co");
  rawhal_kernel_t kernel = *kernel_;
  rawhal_descriptor_t descriptor = *kernel.descriptor;
  kernel.descriptor = &descriptor;
  kernel.max_flat_workgroup_size = 1024;
  kernel_ = &kernel;
  packet_.workgroup_size_x = 1024, packet_.workgroup_size_y = 1;
  descriptor.vgpr_count = 128;
  EXPECT_EQ(Say(), "");
  descriptor.vgpr_count = 132;
  EXPECT_EQ(Say(), "a work-group of 1024 work-items that cannot run: with the 132 VGPRs and " +
                       std::to_string(descriptor.sgpr_count) +
                       " SGPRs of each wave a compute unit has room for 768\n");
  packet_.workgroup_size_x = 768;
  EXPECT_EQ(Say(), "");
}

TEST_F(Check, SegmentsAreAsLargeAsTheKernels)
{
  Open("reduce-gfx90a-v5.co");
  packet_.workgroup_size_x = 256, packet_.workgroup_size_y = 1;
  packet_.group_segment_size = 1023;
  EXPECT_EQ(Say(), "1023 bytes of group memory; it takes 1024\n");
  packet_.group_segment_size = 65536;
  EXPECT_EQ(Say(), "");
  packet_.group_segment_size = 65537;
  EXPECT_EQ(Say(), "65537 bytes of group memory; the device has 65536\n");
}

TEST_F(Check, ScratchIsAsLargeAsTheKernels)
{
  Open("scratch-gfx90a-v5.co");
  packet_.private_segment_size = 256;
  EXPECT_EQ(Say(), "256 bytes of scratch for a work-item; it takes 260\n");
}

TEST_F(Check, KernargsAreThere)
{
  Open("write_ids-gfx90a-v5.co");
  packet_.kernarg_address = nullptr;
  EXPECT_EQ(Say(), "there are no kernargs; it takes 280 bytes\n");
  packet_.kernarg_address = reinterpret_cast<void *>(0x40);
  EXPECT_EQ(Say(), "kernargs at 0x40 are in no memory\n");
  packet_.kernarg_address = image_ + sizeof(image_) - 192;
  EXPECT_EQ(Say().find("kernargs have 192 bytes to the end of their memory; it takes 280\n"
                       "hidden_block_count_x is 0, by the dispatch 3\n"),
            0u);
  packet_.kernarg_address = image_ + 8;
  EXPECT_NE(Say().find("are not aligned to 16\n"), std::string::npos);
  packet_.kernarg_address = image_;
  ranges_remove(reinterpret_cast<uint64_t>(image_));
  EXPECT_NE(Say().find("are in memory that was freed (allocation "), std::string::npos);
}

// The host's addresses are other ones, and it may have none.
TEST_F(Check, KernargsAreReadWhereTheHostHasThem)
{
  const uint64_t there = 0x7e9000001000, image = reinterpret_cast<uint64_t>(image_);
  Open("write_ids-gfx90a-v5.co");
  packet_.kernarg_address = reinterpret_cast<void *>(buffer);
  EXPECT_EQ(Say(), "unread\n"); // nobody says where the host has them
  Remove();
  packet_.kernarg_address = reinterpret_cast<void *>(there);
  const toy_check_memory_t ways[] = {
      {there, image, sizeof(image_), 1, HSA_EXT_POINTER_TYPE_LOCKED},
      {there, image, sizeof(image_), TOY_CHECK_AGENT, HSA_EXT_POINTER_TYPE_HSA},
      {there, image, sizeof(image_), TOY_CHECK_AGENT, HSA_EXT_POINTER_TYPE_IPC}};
  for (const toy_check_memory_t &way : ways) {
    toy_check_knows(&way);
    Put<uint64_t>(0, 0);
    EXPECT_EQ(Say(), "");
    Put<uint64_t>(0, 0x40);
    EXPECT_EQ(Say(), "argument 0 'out' is 0x40, in no memory\n");
  }
  const toy_check_memory_t without = {there, 0, sizeof(image_), TOY_CHECK_AGENT,
                                      HSA_EXT_POINTER_TYPE_HSA};
  toy_check_knows(&without);
  EXPECT_EQ(Say(), "unread\n");
  const toy_check_memory_t reserved = {there, 0, sizeof(image_), TOY_CHECK_AGENT, 5};
  toy_check_knows(&reserved);
  EXPECT_EQ(Say(), "kernargs at 0x7e9000001000 are in no memory\n");
  const toy_check_memory_t small = {there, image, 279, 1, HSA_EXT_POINTER_TYPE_LOCKED};
  toy_check_knows(&small);
  EXPECT_NE(Say().find("kernargs have 279 bytes to the end of their memory; it takes 280\n"),
            std::string::npos);
}

TEST_F(Check, TheHostsAddressOfLockedMemoryIsNotTheDevices)
{
  const uint64_t there = 0x7e9000001000;
  Open("write_ids-gfx90a-v5.co");
  const toy_check_memory_t locked = {there, reinterpret_cast<uint64_t>(&locked), sizeof(locked), 1,
                                     HSA_EXT_POINTER_TYPE_LOCKED};
  toy_check_knows(&locked);
  Put<uint64_t>(0, there + 8);
  EXPECT_EQ(Say(), "");
  Put<uint64_t>(0, locked.host + 8);
  EXPECT_NE(Say().find(", in host memory, which the device maps at 0x7e9000001008\n"),
            std::string::npos);
}

TEST_F(Check, WhatAProgramLockedItMayUnmap)
{
  const uint64_t there = 0x7e9000001000;
  Open("write_ids-gfx90a-v5.co");
  Remove();
  char *host = static_cast<char *>(
      mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_TRUE(ranges_add_mapped(there, 8192, reinterpret_cast<uint64_t>(host), 1));
  packet_.kernarg_address = reinterpret_cast<void *>(there + 4096 - 32);
  Put<uint64_t>(0, 0);
  memcpy(host + 4096 - 32, image_, 280);
  EXPECT_EQ(Say(), "");
  ASSERT_EQ(munmap(host + 4096, 4096), 0);
  EXPECT_EQ(Say(), "kernargs at 0x7e9000001fe0, of 280 bytes, were unmapped\n");
  munmap(host, 4096);
}

// As in containers, where other processes' memory may not be read, nor one's own by that call.
TEST_F(Check, MemoryIsReadWhereACallForThatIsForbidden)
{
  std::vector<char> from(3 * 65536, 7), to(from.size());
  bool forbidden = false, copied = false, nowhere = true;
  std::thread([&] {
    sock_filter steps[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                           BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
                           BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                           BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const sock_fprog filter = {4, steps};
    forbidden = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
    copied = own_memory_copy(to.data(), reinterpret_cast<uint64_t>(from.data()), from.size());
    nowhere = own_memory_copy(to.data(), 0x40, 8);
  }).join();
  if (!forbidden)
    GTEST_SKIP() << "no seccomp";
  EXPECT_TRUE(copied);
  EXPECT_EQ(to, from);
  EXPECT_FALSE(nowhere);
}

TEST_F(Check, AllOfTheHostsMemoryWhereTheDeviceReachesIt)
{
  Open("write_ids-gfx90a-v5.co");
  Remove();
  toy_check_reaches(true);
  EXPECT_EQ(Say(), "");
  Put<uint16_t>(38, 64);
  EXPECT_EQ(Say(), "hidden_group_size_y is 64, by the dispatch 2\n");
  packet_.kernarg_address = reinterpret_cast<void *>(0x40);
  EXPECT_EQ(Say(), "kernargs at 0x40, of 280 bytes, were unmapped\n");
}

TEST_F(Check, PointersLeadToMemory)
{
  Open("write_ids-gfx90a-v5.co");
  Put<uint64_t>(0, buffer + 4095);
  EXPECT_EQ(Say(), "");
  Put<uint64_t>(0, buffer + 4096);
  EXPECT_NE(Say().find("argument 0 'out' is 0x7f0000001000, at the end of allocation "),
            std::string::npos);
  Put<uint64_t>(0, 0x40);
  EXPECT_EQ(Say(), "argument 0 'out' is 0x40, in no memory\n");
  Put<uint64_t>(0, reinterpret_cast<uint64_t>(bytes_.data()));
  EXPECT_NE(Say().find(", in host memory that the device cannot access\n"), std::string::npos);
  Put<uint64_t>(0, buffer + 8);
  ranges_remove(buffer);
  EXPECT_NE(Say().find("4096 bytes of device memory, at +8)\n"), std::string::npos);
}

TEST_F(Check, AnotherDevicesMemoryIsWhereItWasGiven)
{
  Open("write_ids-gfx90a-v5.co");
  ASSERT_TRUE(ranges_add(buffer + 8192, 4096, TOY_CHECK_OTHER));
  Put<uint64_t>(0, buffer + 8192);
  ranges_give(reinterpret_cast<uint64_t>(image_), 1, false);
  toy_check_access(TOY_CHECK_OTHER);
  EXPECT_EQ(Say(), "argument 0 'out' is 0x7f0000002000, in another device's memory that this one "
                   "was not given\n");
  toy_check_loaded_for(TOY_CHECK_AGENT);
  Put<uint64_t>(0, 0);
  EXPECT_EQ(Say(), "");
  toy_check_loaded_for(TOY_CHECK_OTHER);
  EXPECT_EQ(Say(), "its code was loaded for another device\n");
  toy_check_loaded_for(0);
  Put<uint64_t>(0, buffer + 8192);
  toy_check_access(TOY_CHECK_AGENT);
  EXPECT_EQ(Say(), "");
}

// What the runtime allocates of the host's memory no device has at first.
TEST_F(Check, TheHostsMemoryIsWhereItWasGiven)
{
  Open("write_ids-gfx90a-v5.co");
  ASSERT_TRUE(ranges_add(buffer + 8192, 4096, 0));
  ranges_give(reinterpret_cast<uint64_t>(image_), 1, false);
  Put<uint64_t>(0, buffer + 8192);
  toy_check_access(TOY_CHECK_OTHER);
  EXPECT_EQ(Say(),
            "argument 0 'out' is 0x7f0000002000, in host memory that the device cannot access\n");
  ranges_give(buffer + 8192 + 100, 2 | 1, true);
  EXPECT_EQ(Say(), "");
  ranges_give(buffer + 8192, 2, true);
  EXPECT_NE(Say(), "");
  toy_check_access(TOY_CHECK_AGENT); // as regions give it to all
  EXPECT_EQ(Say(), "");
  toy_check_access(TOY_CHECK_OTHER); // which is not asked again
  EXPECT_EQ(Say(), "");
  toy_check_access(TOY_CHECK_AGENT);
}

} // namespace
