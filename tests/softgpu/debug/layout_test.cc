// The driver's structures byte by byte, as its users have them: the offsets here are those of what is
// known of the interface, and not of softgpu/debug/kfd.h.
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include "session.h"

namespace {

using Bytes = std::vector<uint8_t>;

template <typename Value> Value at(const Bytes &bytes, size_t offset)
{
  Value value{};
  EXPECT_LE(offset + sizeof(value), bytes.size());
  if (offset + sizeof(value) <= bytes.size())
    memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}
uint32_t u32(const Bytes &bytes, size_t offset)
{
  return at<uint32_t>(bytes, offset);
}
uint64_t u64(const Bytes &bytes, size_t offset)
{
  return at<uint64_t>(bytes, offset);
}

// The 32 bytes of ioctl(AMDKFD_IOC_DBG_TRAP): pid, operation, and from byte 8 on what it is asked.
struct Question {
  explicit Question(uint32_t op) { put(4, op); }
  template <typename Value> Question &put(size_t offset, Value value)
  {
    memcpy(bytes.data() + offset, &value, sizeof(value));
    return *this;
  }
  Bytes bytes = Bytes(32);
};

struct Answered {
  int result;
  Bytes bytes, behind;
};

Answered ask(Debugger &gdb, const Question &question, Bytes behind = {}, int fd = -1)
{
  kfd_debug_t debug;
  static_assert(sizeof(debug) == 32, "of the request's number");
  memcpy((void *)&debug, question.bytes.data(), sizeof(debug));
  const int result = gdb.ask(debug, &behind, fd);
  Bytes bytes(sizeof(debug));
  memcpy(bytes.data(), (const void *)&debug, sizeof(debug));
  return {result, bytes, behind};
}

TEST(Layout, OfRequests)
{
  EXPECT_EQ(KFD_IOCTL_VERSION, 0x80084b01ul); // _IOR('K', 1, 8 bytes)
  EXPECT_EQ(KFD_IOCTL_DEBUG, 0xc0204b26ul);   // _IOWR('K', 0x26, 32 bytes)
  Session s("gfx942");
  int pipes[2];
  ASSERT_EQ(pipe2(pipes, O_CLOEXEC | O_NONBLOCK), 0);
  // 0, enable: mask @8, where runtime_info goes @16, its size @24, descriptor @28.
  Answered got = ask(s.gdb, Question(0).put(8, ~0ull).put(24, 16u), {}, pipes[1]);
  close(pipes[1]);
  EXPECT_EQ(got.result, 0);
  EXPECT_EQ(u32(got.bytes, 24), 16u);
  ASSERT_EQ(got.behind.size(), 16u); // r_debug @0, state @8, ttmp_setup @12
  EXPECT_EQ(u64(got.behind, 0), s.target.places.r_debug);
  EXPECT_EQ(u32(got.behind, 8), 1u);
  EXPECT_EQ(u32(got.behind, 12), 1u);
  // 3, exceptions enabled: mask @8.
  EXPECT_EQ(ask(s.gdb, Question(3).put(8, 2ull | 1ull << 30)).result, 0); // of waves, new queues
  // 11, event: mask @8 in and out, gpu_id @16, queue_id @20.
  got = ask(s.gdb, Question(11).put(8, ~0ull));
  EXPECT_EQ(got.result, 0);
  EXPECT_EQ(u64(got.bytes, 8), 1ull << 30);
  EXPECT_EQ(u32(got.bytes, 20), 1u);
  const uint32_t gpu = u32(got.bytes, 16);
  EXPECT_EQ(gpu, s.gdb.devices().at(0).gpu_id);
  // 4, launch override: mode @8, enabled before @12, supported @16.
  got = ask(s.gdb, Question(4).put(12, 1u << 7).put(16, 1u << 7));
  EXPECT_EQ(got.result, 0);
  EXPECT_EQ(u32(got.bytes, 12), 0u);
  got = ask(s.gdb, Question(4));
  EXPECT_EQ(u32(got.bytes, 12), 1u << 7);
  EXPECT_EQ(u32(got.bytes, 16), 1u << 7);
  // 5, launch mode: @8. 10, flags: @8.
  EXPECT_EQ(ask(s.gdb, Question(5).put(8, 1u)).result, 0);
  EXPECT_EQ(ask(s.gdb, Question(5).put(8, 2u)).result, -EINVAL);
  EXPECT_EQ(ask(s.gdb, Question(5)).result, 0);
  EXPECT_EQ(ask(s.gdb, Question(10).put(8, 1u)).result, 0);
  EXPECT_EQ(ask(s.gdb, Question(10).put(8, 4u)).result, -EINVAL);
  // 8, watch: address @8, mode @16, mask @20, gpu_id @24, id @28. 9: gpu_id @8, id @12.
  got = ask(s.gdb, Question(8).put(8, s.target.places.out[0]).put(20, ~3u).put(24, gpu));
  EXPECT_EQ(got.result, 0);
  EXPECT_EQ(u32(got.bytes, 28), 0u);
  got = ask(s.gdb, Question(8).put(8, 4096ull).put(16, 3u).put(20, ~3u).put(24, gpu));
  EXPECT_EQ(u32(got.bytes, 28), 1u);
  EXPECT_EQ(ask(s.gdb, Question(8).put(16, 4u).put(24, gpu)).result, -EINVAL);
  EXPECT_EQ(ask(s.gdb, Question(8).put(24, gpu + 1)).result, -ENODEV);
  EXPECT_EQ(ask(s.gdb, Question(9).put(8, gpu).put(12, 1u)).result, 0);
  EXPECT_EQ(ask(s.gdb, Question(9).put(8, gpu).put(12, 1u)).result, -EINVAL);
  // 6, suspend: mask @8, ids @16, count @24, grace @28. 7, resume: ids @8, count @16.
  got = ask(s.gdb, Question(6).put(8, ~0ull).put(24, 2u), {1, 0, 0, 0, 9, 0, 0, 0});
  EXPECT_EQ(got.result, 1);
  EXPECT_EQ(u32(got.behind, 0), 1u);
  EXPECT_EQ(u32(got.behind, 4), 9u | 1u << 31); // there is none
  got = ask(s.gdb, Question(7).put(16, 1u), {1, 0, 0, 0});
  EXPECT_EQ(got.result, 1);
  EXPECT_EQ(u32(got.behind, 0), 1u);
  // 2, send: mask @8, gpu_id @16, queue_id @20.
  EXPECT_EQ(ask(s.gdb, Question(2).put(8, 2ull).put(16, gpu).put(20, 1u)).result, 0);
  // 12, information: where it goes @8, size @16, source @20, code @24, clear @28.
  EXPECT_EQ(ask(s.gdb, Question(12).put(16, 16u).put(24, 48u)).result, -ENODATA);
  EXPECT_EQ(ask(s.gdb, Question(12).put(16, 16u).put(24, 33u)).result, -EINVAL);
  EXPECT_EQ(ask(s.gdb, Question(1)).result, 0);
  EXPECT_EQ(ask(s.gdb, Question(1)).result, -EINVAL);
  close(pipes[0]);
}

// 13 and 14: mask @8, where entries go @16, count @24, size of one @28.
Bytes snapshot(Debugger &gdb, uint32_t op, uint32_t room, uint32_t size, uint32_t *count)
{
  const Answered got = ask(gdb, Question(op).put(24, room).put(28, size));
  EXPECT_EQ(got.result, 0);
  *count = u32(got.bytes, 24);
  EXPECT_EQ(u32(got.bytes, 28), std::min(size, op == 13 ? 64u : 120u));
  return got.behind;
}

TEST(Layout, OfQueues)
{
  Session s("gfx90a");
  ASSERT_EQ(s.gdb.attach(), 0);
  uint32_t count = 0;
  const Bytes both = snapshot(s.gdb, 13, 16, 64, &count);
  ASSERT_EQ(count, 2u);
  ASSERT_EQ(both.size(), 128u);
  for (size_t base : {0u, 64u}) {
    EXPECT_EQ(u64(both, base + 0), 0u); // exceptions: cleared
    const uint64_t ring = u64(both, base + 8);
    EXPECT_EQ(s.gdb.read<uint16_t>(ring), 1u); // an invalid packet
    EXPECT_EQ(s.gdb.read<uint64_t>(u64(both, base + 16)), 0u);
    EXPECT_EQ(u64(both, base + 24) - u64(both, base + 16), 128u - 56);
    EXPECT_EQ(s.gdb.read(u64(both, base + 32) + 8) - s.gdb.read(u64(both, base + 32) + 12),
              s.gdb.read(u64(both, base + 32)) + s.gdb.read(u64(both, base + 32) + 4));
    EXPECT_EQ(u32(both, base + 40), base / 64 + 1);
    EXPECT_EQ(u32(both, base + 44), s.gdb.devices()[0].gpu_id);
    EXPECT_EQ(u32(both, base + 48), 64u * 64);
    EXPECT_EQ(u32(both, base + 52), 2u);
    EXPECT_GE(u32(both, base + 56), 1u << 20);
    EXPECT_EQ(u32(both, base + 60), 0u);
  }
  // Who has room for one gets one, and hears of both; who knows less, or more, gets so much.
  EXPECT_EQ(snapshot(s.gdb, 13, 1, 64, &count).size(), 64u);
  EXPECT_EQ(count, 2u);
  const Bytes brief = snapshot(s.gdb, 13, 2, 48, &count);
  EXPECT_EQ(brief.size(), 96u);
  EXPECT_EQ(u32(brief, 48 + 40), 2u);
  const Bytes wide = snapshot(s.gdb, 13, 2, 80, &count);
  EXPECT_EQ(wide.size(), 160u);
  EXPECT_EQ(u32(wide, 80 + 40), 2u);
  EXPECT_EQ(u64(wide, 64), 0u);
}

TEST(Layout, OfDevices)
{
  Session s("gfx942,gfx950");
  ASSERT_EQ(s.gdb.attach(), 0);
  uint32_t count = 0;
  const Bytes both = snapshot(s.gdb, 14, 16, 120, &count);
  ASSERT_EQ(count, 2u);
  ASSERT_EQ(both.size(), 240u);
  for (size_t base : {0u, 120u}) {
    EXPECT_EQ(u64(both, base + 8), 1ull << 48); // LDS
    EXPECT_EQ(u64(both, base + 16), (1ull << 48) | 0xffffffff);
    EXPECT_EQ(u64(both, base + 24), 2ull << 48); // private memory
    EXPECT_EQ(u64(both, base + 32), (2ull << 48) | 0xffffffff);
    EXPECT_LE(u64(both, base + 40), s.target.places.out[0]); // addresses
    EXPECT_GE(u64(both, base + 48), s.target.places.out[0]);
    EXPECT_NE(u32(both, base + 56), 0u);      // gpu_id
    EXPECT_EQ(u32(both, base + 64), 0x1002u); // vendor
    EXPECT_NE(u32(both, base + 68), 0u);
    EXPECT_EQ(u32(both, base + 88), base ? 90500u : 90402u);
    EXPECT_GT(u32(both, base + 92), 0u); // SIMDs, waves, arrays
    EXPECT_GT(u32(both, base + 96), 0u);
    EXPECT_GT(u32(both, base + 100), 0u);
    EXPECT_GT(u32(both, base + 104), 0u);
    EXPECT_EQ(u32(both, base + 108), 1u); // XCCs
    const uint32_t can = u32(both, base + 112), how = u32(both, base + 116);
    EXPECT_EQ(can & (1u << 15 | 1u << 29), 1u << 15 | 1u << 29);
    EXPECT_EQ(how >> 4 & 63, 58u); // of an address
    EXPECT_EQ(how >> 10 & 1, 1u);  // TTMPs are there
  }
  EXPECT_NE(u32(both, 56), u32(both, 120 + 56));
}

} // namespace
