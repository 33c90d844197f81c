#include "tests/tensile/call.h"

namespace {

uint64_t address(const Matrices &matrices)
{
  return matrices.pointers ? rawhal_buffer_address(matrices.pointers)
                           : rawhal_buffer_address(matrices.buffer) + matrices.start;
}

// rocBLAS gives 0 for the second with pointers to matrices. Kernels that load without descriptors add
// it to where a matrix ends, also then: with another number they read beyond.
std::array<uint32_t, 2> strides(const Matrices &matrices)
{
  return {matrices.stride, matrices.pointers ? 0 : matrices.batch_stride};
}

// Alpha or beta, which have the format of sums; of halves there are two.
void set_scalar(Arguments &arguments, const char *name, const Format &format, int value)
{
  const uint64_t bits = encode(format, value);
  if (format.complex && format.bytes == 16)
    arguments.set(name, std::array<uint64_t, 2>{bits, 0});
  else if (format.bytes == 8)
    arguments.set(name, bits);
  else
    arguments.set(name, static_cast<uint32_t>(format.bytes == 2 ? bits << 16 | bits : bits));
}

bool has(const Arguments &arguments, const char *name)
{
  size_t index;
  return rawhal_kernarg_layout_find(arguments.layout, {name, strlen(name)}, &index, nullptr) ==
         RAWHAL_OK;
}

// One argument of several numbers or, in later releases, as many as there are of them.
template <size_t count>
void set_numbers(Arguments &arguments, const std::string &name,
                 const std::array<uint32_t, count> &numbers)
{
  if (has(arguments, name.c_str())) {
    arguments.set(name.c_str(), numbers);
    return;
  }
  for (size_t i = 0; i < count; ++i)
    arguments.set((name + std::to_string(i)).c_str(), numbers[i]);
}

void set_division(Arguments &arguments, const char *number, const char *shift, uint32_t divisor)
{
  const auto [magic, by] = magic_and_shift(divisor);
  arguments.set_if_there(number, magic).set_if_there(shift, by);
}

} // namespace

bool is_hipblaslt(const Arguments &arguments)
{
  return has(arguments, "numWG");
}

Groups set_rocblas(Arguments &arguments, const Call &call)
{
  const Kernel &kernel = call.kernel;
  const Shape &shape = call.shape;
  const uint32_t rows = call.rows(), columns = call.columns(), batch = shape.batch;
  const bool is_newer = has(arguments, "sizeA");
  arguments.set(is_newer ? "sizeA" : "Tensor2dSizeA", call.a.of_one());
  arguments.set(is_newer ? "sizeB" : "Tensor2dSizeB", call.b.of_one());
  arguments.set_if_there("sizeC", call.d.of_one());
  for (const char *offset : {"OffsetD", "OffsetC", "OffsetA", "OffsetB"})
    arguments.set_if_there(offset, uint64_t{0});
  set_scalar(arguments, is_newer ? "alpha" : "Alpha", *kernel.sum, shape.alpha);
  set_scalar(arguments, is_newer ? "beta" : "Beta", *kernel.sum, shape.beta);
  const struct {
    std::string name;
    const Matrices &matrices;
  } each[] = {{"D", call.d}, {"C", call.c}, {"A", call.a}, {"B", call.b}};
  for (const auto &[name, matrices] : each) {
    arguments.set((is_newer ? name : "Address" + name).c_str(), address(matrices));
    set_numbers(arguments, (is_newer ? "stride" : "Strides") + name, strides(matrices));
  }
  set_numbers(arguments, "SizesFree", std::array<uint32_t, 3>{shape.m, shape.n, batch});
  set_numbers(arguments, "SizesSum", std::array<uint32_t, 1>{shape.k});
  arguments.set_if_there("OrigStaggerUIter", stagger_mask(kernel, shape.k));
  arguments.set("NumWorkGroups0", rows).set("NumWorkGroups1", columns);
  const auto [blocks, last, magic] = group_blocks(kernel, rows, columns);
  arguments.set_if_there("NumFullBlocks", blocks).set_if_there("WgmRemainder1", last);
  arguments.set_if_there("MagicNumberWgmRemainder1", magic);
  Groups groups = {rows, columns * kernel.splits, batch};
  if (kernel.stays) { // about two tiles each
    const uint32_t all = groups.x * groups.y * (kernel.stays_in_batch ? batch : 1);
    groups = {(all + 1) / 2, 1, kernel.stays_in_batch ? 1 : batch};
    set_division(arguments, "MagicNumberProblemNumGroupTiles0", "MagicShiftProblemNumGroupTiles0",
                 rows);
    set_division(arguments, "MagicNumProblemNumGroupTiles0By1",
                 "MagicShiftProblemNumGroupTiles0By1", rows * columns);
    arguments.set("GridNumWorkGroups0", groups.x).set_if_there("NumWorkGroups2", batch);
  }
  return groups;
}

Groups set_hipblaslt(Arguments &arguments, const Call &call)
{
  const Kernel &kernel = call.kernel;
  const Shape &shape = call.shape;
  const Groups groups = {call.rows() * call.columns() * kernel.splits * shape.batch, 1, 1};
  // Places to begin the sum at, of two steps each. Mapping by blocks of 5 columns, on one chip.
  const uint32_t stagger = 8 | 1u << 8, blocks = 5, chips = 1, chip_blocks = 0x3ff;
  arguments.set("Gemm info", 1u).set("kernel info0", kernel.splits | stagger << 16);
  arguments.set("kernel info1", blocks | chips << 16 | chip_blocks << 22).set("numWG", groups.x);
  arguments.set("SizesFree0", shape.m).set("SizesFree1", shape.n).set("SizesFree2", shape.batch);
  arguments.set("SizesSum0", shape.k);
  // One pair of strides is for the workspace and for C and D, which have no padding then.
  const struct {
    const char *name, *stride;
    const Matrices &matrices;
  } each[] = {{"D", "strideD", kernel.split == Split::kLast ? call.work : call.d},
              {"C", "strideC", call.c},
              {"A", "strideA", call.a},
              {"B", "strideB", call.b}};
  arguments.set_if_there("dstD", address(call.d)).set_if_there("GSUSync", 0u);
  arguments.set_if_there("Synchronizer", rawhal_buffer_address(call.counters));
  for (const auto &[name, stride, matrices] : each) {
    arguments.set(name, address(matrices));
    arguments.set((std::string(stride) + '0').c_str(), strides(matrices)[0]);
    arguments.set((std::string(stride) + '1').c_str(), strides(matrices)[1]);
  }
  set_scalar(arguments, "alpha", *kernel.sum, shape.alpha);
  set_scalar(arguments, "beta", *kernel.sum, shape.beta);
  // No scales, no bias, no function of the sums.
  for (const char *none : {"AddressScaleA", "AddressScaleB", "AddressScaleC", "AddressScaleD",
                           "AddressScaleAlphaVec", "bias"})
    arguments.set_if_there(none, uint64_t{0});
  for (const char *none : {"biasType", "StrideBias", "factorDim", "activationAlpha",
                           "activationBeta", "activationType"})
    arguments.set_if_there(none, 0u);
  return groups;
}
