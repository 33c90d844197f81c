// Kernels made by hand: the facts a layout is compiled from, without a code object.
#ifndef RAWHAL_TESTS_KERNARG_KERNEL_BUILDER_H
#define RAWHAL_TESTS_KERNARG_KERNEL_BUILDER_H

#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

extern "C" {
#include "kernarg/kernarg.h"
}

namespace kernarg_test {

inline rawhal_string_t Text(const std::string &text)
{
  return {text.data(), text.size()};
}

inline const char *KindText(int kind)
{
  static const char *const names[] = {"",
                                      "by_value",
                                      "global_buffer",
                                      "dynamic_shared_pointer",
                                      "sampler",
                                      "image",
                                      "pipe",
                                      "queue",
                                      "hidden_none",
                                      "hidden_global_offset_x",
                                      "hidden_global_offset_y",
                                      "hidden_global_offset_z",
                                      "hidden_block_count_x",
                                      "hidden_block_count_y",
                                      "hidden_block_count_z",
                                      "hidden_group_size_x",
                                      "hidden_group_size_y",
                                      "hidden_group_size_z",
                                      "hidden_remainder_x",
                                      "hidden_remainder_y",
                                      "hidden_remainder_z",
                                      "hidden_grid_dims",
                                      "hidden_printf_buffer",
                                      "hidden_hostcall_buffer",
                                      "hidden_multigrid_sync_arg",
                                      "hidden_heap_v1",
                                      "hidden_default_queue",
                                      "hidden_completion_action",
                                      "hidden_dynamic_lds_size",
                                      "hidden_private_base",
                                      "hidden_shared_base",
                                      "hidden_queue_ptr",
                                      "hidden_of_tomorrow"};
  constexpr int plain = RAWHAL_VALUE_QUEUE + 1, all = sizeof(names) / sizeof(*names);
  static_assert(all == plain + RAWHAL_VALUE_HIDDEN_QUEUE_PTR - RAWHAL_VALUE_HIDDEN_FIRST + 2,
                "a kind has no text");
  if (kind == RAWHAL_VALUE_HIDDEN_UNKNOWN)
    return names[all - 1];
  const int index =
      kind < RAWHAL_VALUE_HIDDEN_FIRST ? kind : plain + kind - RAWHAL_VALUE_HIDDEN_FIRST;
  return kind > RAWHAL_VALUE_HIDDEN_QUEUE_PTR || (kind >= plain && kind < RAWHAL_VALUE_HIDDEN_FIRST)
             ? "?"
             : names[index];
}

// Kernel(28).Arg("n", 24, 4) ...; facts() is valid as long as the builder lives and is unchanged.
class Kernel {
public:
  explicit Kernel(uint32_t segment_size = 0, uint32_t alignment = 8)
  {
    facts_.name = Text(name_);
    facts_.has_metadata = facts_.has_arguments = facts_.usable = true;
    facts_.kernarg_segment_size = segment_size;
    facts_.kernarg_segment_align = alignment;
  }
  Kernel(const Kernel &) = delete;

  Kernel &Arg(const std::string &name, uint32_t offset, uint32_t size,
              int kind = RAWHAL_VALUE_BY_VALUE)
  {
    texts_.push_back(name);
    rawhal_argument_t argument = {};
    argument.name = Text(texts_.back());
    texts_.push_back(KindText(kind));
    details_.push_back({});
    details_.back().value_kind_text = Text(texts_.back());
    argument.detail = &details_.back();
    argument.offset = offset;
    argument.size = size;
    argument.value_kind = static_cast<uint8_t>(kind);
    arguments_.push_back(argument);
    return *this;
  }
  Kernel &Pointer(const std::string &name, uint32_t offset)
  {
    return Arg(name, offset, 8, RAWHAL_VALUE_GLOBAL_BUFFER);
  }
  Kernel &Hidden(int kind, uint32_t offset, uint32_t size) { return Arg("", offset, size, kind); }
  Kernel &Descriptor(uint32_t kernarg_size)
  {
    descriptor_.kernarg_size = kernarg_size;
    facts_.descriptor = &descriptor_;
    return *this;
  }
  // `.args` absent.
  Kernel &NoArguments()
  {
    facts_.has_arguments = false;
    return *this;
  }
  // Known by its symbols and descriptor only.
  Kernel &NoMetadata()
  {
    facts_.has_metadata = facts_.has_arguments = false;
    facts_.kernarg_segment_size = facts_.kernarg_segment_align = 0;
    return *this;
  }
  rawhal_kernel_t *facts()
  {
    facts_.arguments = arguments_.data();
    facts_.argument_count = static_cast<uint32_t>(arguments_.size());
    return &facts_;
  }
  std::vector<rawhal_argument_t> &arguments() { return arguments_; }
  rawhal_argument_detail_t &detail(size_t index) { return details_[index]; }

private:
  std::string name_ = "test_kernel";
  std::deque<std::string> texts_; // deques: what is in them stays where it is
  std::deque<rawhal_argument_detail_t> details_;
  std::vector<rawhal_argument_t> arguments_;
  rawhal_descriptor_t descriptor_ = {};
  rawhal_kernel_t facts_ = {};
};

struct LayoutDeleter {
  void operator()(rawhal_kernarg_layout_t *layout) const { rawhal_kernarg_layout_destroy(layout); }
};
using Layout = std::unique_ptr<rawhal_kernarg_layout_t, LayoutDeleter>;

// NULL and a message in `*error` when the layout is refused.
inline Layout Compile(Kernel &kernel, uint32_t stated_size = 0, rawhal_error_t *error = nullptr,
                      rawhal_status_t *status = nullptr)
{
  rawhal_kernarg_layout_t *layout = nullptr;
  rawhal_status_t result =
      rawhal_kernarg_layout_create(kernel.facts(), stated_size, &layout, error);
  if (status)
    *status = result;
  return Layout(layout);
}

struct BindingsDeleter {
  void operator()(rawhal_bindings_t *layout) const { rawhal_bindings_destroy(layout); }
};
using Bindings = std::unique_ptr<rawhal_bindings_t, BindingsDeleter>;

inline Bindings Project(Kernel &kernel, rawhal_status_t expected = RAWHAL_OK,
                        rawhal_error_t *error = nullptr)
{
  Layout native = Compile(kernel);
  rawhal_bindings_t *layout = nullptr;
  EXPECT_EQ(expected, rawhal_bindings_create(native.get(), &layout, error));
  return Bindings(layout); // outlives the native layout
}

// vector_add(c, a, b, n): 28 bytes.
inline void AddVectorAdd(Kernel &kernel)
{
  kernel.Pointer("c", 0).Pointer("a", 8).Pointer("b", 16).Arg("n", 24, 4);
}

// The whole V5 block at `base`, as clang writes it (AMDGPUUsage, V5 implicit arguments).
inline void AddHiddenV5(Kernel &kernel, uint32_t base)
{
  for (uint32_t d = 0; d < 3; ++d)
    kernel.Hidden(RAWHAL_VALUE_HIDDEN_BLOCK_COUNT_X + static_cast<int>(d), base + 4 * d, 4);
  for (uint32_t d = 0; d < 3; ++d)
    kernel.Hidden(RAWHAL_VALUE_HIDDEN_GROUP_SIZE_X + static_cast<int>(d), base + 12 + 2 * d, 2);
  for (uint32_t d = 0; d < 3; ++d)
    kernel.Hidden(RAWHAL_VALUE_HIDDEN_REMAINDER_X + static_cast<int>(d), base + 18 + 2 * d, 2);
  for (uint32_t d = 0; d < 3; ++d)
    kernel.Hidden(RAWHAL_VALUE_HIDDEN_GLOBAL_OFFSET_X + static_cast<int>(d), base + 40 + 8 * d, 8);
  kernel.Hidden(RAWHAL_VALUE_HIDDEN_GRID_DIMS, base + 64, 2)
      .Hidden(RAWHAL_VALUE_HIDDEN_PRINTF_BUFFER, base + 72, 8)
      .Hidden(RAWHAL_VALUE_HIDDEN_HOSTCALL_BUFFER, base + 80, 8)
      .Hidden(RAWHAL_VALUE_HIDDEN_MULTIGRID_SYNC_ARG, base + 88, 8)
      .Hidden(RAWHAL_VALUE_HIDDEN_HEAP_V1, base + 96, 8)
      .Hidden(RAWHAL_VALUE_HIDDEN_DEFAULT_QUEUE, base + 104, 8)
      .Hidden(RAWHAL_VALUE_HIDDEN_COMPLETION_ACTION, base + 112, 8)
      .Hidden(RAWHAL_VALUE_HIDDEN_DYNAMIC_LDS_SIZE, base + 120, 4)
      .Hidden(RAWHAL_VALUE_HIDDEN_PRIVATE_BASE, base + 192, 4)
      .Hidden(RAWHAL_VALUE_HIDDEN_SHARED_BASE, base + 196, 4)
      .Hidden(RAWHAL_VALUE_HIDDEN_QUEUE_PTR, base + 200, 8);
}

// A launch in which every value is different and none is 0.
inline rawhal_launch_t DistinctLaunch()
{
  rawhal_launch_t launch = {};
  launch.work_items[0] = 1000, launch.work_items[1] = 70, launch.work_items[2] = 23;
  launch.workgroup[0] = 64, launch.workgroup[1] = 8, launch.workgroup[2] = 2;
  launch.dimensions = 2;
  launch.dynamic_lds = 0x4000;
  launch.global_offset[0] = 0x1111111122222222;
  launch.global_offset[1] = 0x3333333344444444;
  launch.global_offset[2] = 0x5555555566666666;
  launch.queue_ptr = 0xa0a1a2a3a4a5a6a7;
  launch.printf_buffer = 0xb0b1b2b3b4b5b6b7;
  launch.hostcall_buffer = 0xc0c1c2c3c4c5c6c7;
  launch.heap = 0xd0d1d2d3d4d5d6d7;
  launch.default_queue = 0xe0e1e2e3e4e5e6e7;
  launch.completion_action = 0xf0f1f2f3f4f5f6f7;
  launch.multigrid_sync = 0x9091929394959697;
  launch.private_base_hi = 0x71727374;
  launch.shared_base_hi = 0x81828384;
  return launch;
}

} // namespace kernarg_test

#endif
