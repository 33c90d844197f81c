// Lanes on both sides of 4 GiB, which 32 bits of offset bring back to the start.
#include <sys/mman.h>

#include "tests/softgpu/isa/vmem_model.h"

extern "C" {
#include "softgpu/isa/exec/vector/valu.h"
}

using namespace vmem;

namespace {

constexpr uint64_t SIZE = 1ull << 32, WINDOW = 4096;

// An allocation of 4 GiB, of which only both ends are ever touched, and what lies behind it.
class Far {
public:
  Far()
  {
    map = mmap(nullptr, SIZE + WINDOW, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
      return;
    softgpu_allocation_t allocation = {address(), SIZE, SOFTGPU_MEMORY_WRITE, 1, 0, 0, nullptr};
    EXPECT_TRUE(softgpu_memory_add(&allocation));
  }
  ~Far()
  {
    if (map == MAP_FAILED)
      return;
    softgpu_memory_remove(address());
    munmap(map, SIZE + WINDOW);
  }
  bool exists() const { return map != MAP_FAILED; }
  uint64_t address() const { return reinterpret_cast<uint64_t>(map); }
  uint8_t *at(uint64_t offset) { return static_cast<uint8_t *>(map) + offset; }

  void fill()
  {
    for (uint64_t i = 0; i < WINDOW; ++i)
      for (uint64_t begin : {uint64_t{0}, SIZE - WINDOW, SIZE})
        *at(begin + i) = uint8_t(i * 7 + (begin >> 8));
  }
  std::string ends() // what the device has, and what it has not
  {
    std::string all(reinterpret_cast<char *>(at(0)), WINDOW);
    return all.append(reinterpret_cast<char *>(at(SIZE - WINDOW)), 2 * WINDOW);
  }

private:
  void *map;
};

struct Seen {
  std::string memory;
  std::vector<Output> lanes;
};

// Dword by dword, as each lane alone has it.
Seen model(const std::string &instruction, const State &state, const std::vector<uint64_t> &offsets,
           uint64_t records, Far &far)
{
  const std::string name = operation_of(instruction);
  Seen expected = {{}, std::vector<Output>(64)};
  far.fill();
  for (unsigned i = 0; i < 64; ++i) {
    memcpy(expected.lanes[i].result, state.lanes[i].result, sizeof(state.lanes[i].result));
    if (!(state.exec >> i & 1))
      continue;
    for (unsigned n = 0; n < width_of(name) / 4; ++n) {
      const uint64_t offset = offsets[i] + 4 * n;
      const bool is_there = offset + 4 <= records;
      if (name.find("load") == 0)
        is_there ? memcpy(&expected.lanes[i].result[n], far.at(offset), 4)
                 : memset(&expected.lanes[i].result[n], 0, 4);
      else if (is_there)
        memcpy(far.at(offset), &state.lanes[i].data[n], 4);
    }
  }
  expected.memory = far.ends();
  return expected;
}

void expect_each_its_own(const std::string &instruction, uint64_t exec, Far &far)
{
  const bool is_buffer = instruction.find("buffer") == 0;
  const uint64_t records = is_buffer ? UINT32_MAX : SIZE;
  const unsigned bytes = width_of(operation_of(instruction));
  State state = random_state(11, 0);
  state.exec = exec;
  std::vector<uint64_t> offsets(64);
  for (unsigned i = 0; i < 64; ++i) {
    const uint32_t offset = i * bytes - 8 * bytes; // of 32 bits
    const int more = immediate_offset(instruction);
    state.lanes[i].address = is_buffer ? offset : far.address() + offset - uint64_t(int64_t(more));
    offsets[i] = is_buffer ? offset + uint32_t(more) : offset;
  }
  const uint32_t descriptor[4] = {uint32_t(far.address()), uint32_t(far.address() >> 32),
                                  uint32_t(records), 0x00020000};
  const Seen expected = model(instruction, state, offsets, records, far);
  for (int host = -1; host < ISA_VALU_HOSTS; ++host) {
    const valu_build_t *build = host < 0 ? nullptr : isa_valu_build_of(isa_valu_host_t(host));
    if (host >= 0 && !build)
      continue;
    SCOPED_TRACE(instruction + " on build " + std::to_string(host) + ", the reference being -1");
    isa_valu_use(build);
    softgpu_engine_reference(host < 0);
    far.fill();
    const std::vector<Output> lanes =
        run(instruction, state, descriptor, 2); // the second knows what the first found
    softgpu_engine_reference(false);
    isa_valu_use(nullptr);
    EXPECT_TRUE(far.ends() == expected.memory);
    for (unsigned i = 0; i < 64; ++i)
      EXPECT_EQ(0, memcmp(lanes[i].result, expected.lanes[i].result, 16)) << "lane " << i;
  }
}

TEST(Far, LanesAroundFourGibibytesHaveEachItsOwn)
{
  Far far;
  if (!far.exists())
    GTEST_SKIP() << "no 4 GiB of addresses";
  unsigned tested = 0;
  for (const char *prefix : {"global_load_dword", "global_store_dword", "flat_load_dword",
                             "flat_store_dword", "buffer_load_dword", "buffer_store_dword"})
    for (const std::string &instruction : kernels::instructions(prefix)) {
      if (instruction.find("s[12:13]") != std::string::npos ||
          instruction.find("lds") != std::string::npos)
        continue;
      for (uint64_t exec : {~0ull, 0x4001ull, 0xff00ull, 0x8180ull})
        expect_each_its_own(instruction, exec, far);
      ++tested;
    }
  EXPECT_EQ(tested, 24u);
}

} // namespace
