// A scene made by hand: buffers, dispatches with their arguments, and a fault.
#ifndef TESTS_DEBUG_WORLD_H
#define TESTS_DEBUG_WORLD_H

#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "tests/kernarg/kernel_builder.h"

extern "C" {
#include "debug/cause.h"
}

namespace debug_test {

using kernarg_test::Kernel;
using kernarg_test::Layout;

constexpr uint64_t kMicrosecond = 1000, kNow = 10'000'000 * kMicrosecond, kDevice = 7;
constexpr uint64_t kFar = 0x7f0000000000; // where buffers are
constexpr uint64_t kGap = 0x1000000;      // from one to the next

struct World {
  World()
  {
    kernarg_test::AddVectorAdd(*NewKernel()); // c, a, b, n
    for (const char *label : {"", "", ""})
      Buffer(4096, label);
    Launch(0, {At(0), At(1), At(2), 1024});
    fault.kind = RAWHAL_FAULT_MEMORY;
    fault.known = RAWHAL_FAULT_KNOWS_DISPATCH | RAWHAL_FAULT_KNOWS_PC | RAWHAL_FAULT_KNOWS_ADDRESS |
                  RAWHAL_FAULT_KNOWS_LANE;
    fault.bytes = 4;
    fault.access = RAWHAL_FAULT_ACCESS_WRITE;
    fault.wave = 3;
    fault.group[0] = 7;
  }
  World(const World &) = delete;

  Kernel *NewKernel()
  {
    kernels.emplace_back();
    return &kernels.back();
  }
  debug_allocation_t &Buffer(uint64_t size, const char *label = "")
  {
    debug_allocation_t made = {};
    made.base = kFar + kGap * (allocations.size() + 1);
    made.size = size;
    made.number = allocations.size() + 1;
    made.made_at = kNow - 1'000'000 * kMicrosecond;
    made.owner = kDevice;
    made.reachable = true;
    snprintf(made.label, sizeof(made.label), "%s", label);
    allocations.push_back(made);
    return allocations.back();
  }
  // Address of a byte of the index-th buffer.
  uint64_t At(size_t index, int64_t offset = 0) const
  {
    return allocations[index].base + static_cast<uint64_t>(offset);
  }
  // Words of the arguments, in place of the ones before. Tickets are 41, 42, ...
  debug_dispatch_t &Launch(size_t dispatch, const std::vector<uint64_t> &words, size_t kernel = 0)
  {
    if (dispatches.size() <= dispatch) {
      dispatches.resize(dispatch + 1);
      blobs.resize(dispatch + 1);
      layouts.resize(dispatch + 1);
    }
    std::vector<uint64_t>(words).swap(blobs[dispatch]); // with no byte behind it
    layouts[dispatch] = kernarg_test::Compile(kernels[kernel]);
    EXPECT_TRUE(layouts[dispatch]);
    debug_dispatch_t &of = dispatches[dispatch];
    of = {};
    names.push_back("kernel" + std::to_string(kernel));
    of.ticket = 41 + dispatch;
    of.packet = 40 + dispatch;
    of.kernel = {names.back().data(), names.back().size()};
    of.layout = layouts[dispatch].get();
    of.kernargs = {blobs[dispatch].data(), blobs[dispatch].size() * 8};
    of.grid[0] = 1024, of.grid[1] = of.grid[2] = 1;
    of.workgroup[0] = 64, of.workgroup[1] = of.workgroup[2] = 1;
    of.submitted_at = kNow - 200 * kMicrosecond;
    of.running = true;
    return of;
  }
  void Free(size_t index, uint64_t microseconds_ago)
  {
    allocations[index].freed_at = kNow - microseconds_ago * kMicrosecond;
  }
  // What is at the start of the index-th buffer.
  void Write(size_t index, const std::vector<uint64_t> &words)
  {
    if (memory.size() <= index)
      memory.resize(index + 1);
    memory[index] = words;
  }
  // As hardware tells a fault, through an event of the runtime: the address, maybe of the page.
  void OnlyAddress()
  {
    fault.known = RAWHAL_FAULT_KNOWS_ADDRESS;
    fault.bytes = 0;
    fault.access = RAWHAL_FAULT_ACCESS_UNKNOWN;
    fault.wave = 0;
    fault.group[0] = 0;
  }

  bool HasMemory(uint64_t page) const
  {
    for (const debug_allocation_t &buffer : allocations)
      if (!buffer.freed_at && buffer.reachable && buffer.base < page + 4096 &&
          page - buffer.base < buffer.size)
        return true;
    return false;
  }

  void Find()
  {
    debug_scene_t scene = {};
    scene.now = kNow;
    scene.dispatches = dispatches.data();
    scene.dispatch_count = dispatches.size();
    scene.device = kDevice;
    scene.stand = stand.groups ? &stand : nullptr;
    scene.context = this;
    scene.allocation = Allocation;
    scene.read = Read;
    cause_find(&scene, &fault);
  }

  static bool Allocation(void *context, debug_cursor_t *cursor, debug_allocation_t *allocation)
  {
    const World &world = *static_cast<World *>(context);
    if (cursor->index >= world.allocations.size())
      return false;
    *allocation = world.allocations[cursor->index++];
    return true;
  }
  static bool Read(void *context, uint64_t address, void *to, size_t size)
  {
    World &world = *static_cast<World *>(context);
    EXPECT_TRUE(size && size <= 4096) << size;
    world.bytes_read += size;
    for (size_t i = 0; i < world.allocations.size(); ++i) {
      const debug_allocation_t &buffer = world.allocations[i];
      if (buffer.freed_at || address < buffer.base || address - buffer.base >= buffer.size)
        continue;
      if (!world.readable || size > buffer.size - (address - buffer.base))
        return false;
      memset(to, 0, size);
      const std::vector<uint64_t> words =
          i < world.memory.size() ? world.memory[i] : std::vector<uint64_t>();
      for (size_t at = 0; at < size; at += 8)
        if ((address - buffer.base + at) / 8 < words.size())
          memcpy(static_cast<char *>(to) + at, &words[(address - buffer.base + at) / 8], 8);
      return true;
    }
    return false;
  }

  std::deque<Kernel> kernels;
  std::deque<std::string> names;
  std::vector<Layout> layouts;
  std::vector<std::vector<uint64_t>> blobs, memory;
  std::vector<debug_allocation_t> allocations;
  std::vector<debug_dispatch_t> dispatches;
  rawhal_fault_t fault = {};
  debug_stand_t stand = {};
  bool readable = true;
  size_t bytes_read = 0;
};

} // namespace debug_test

#endif
