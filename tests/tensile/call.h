// The arguments of a launch of a kernel of Tensile, which mean what Tensile's host code
// (ContractionSolution.cpp) gives them.
#ifndef RAWHAL_TESTS_TENSILE_CALL_H
#define RAWHAL_TESTS_TENSILE_CALL_H

#include "tests/hal/arguments.h"
#include "tests/tensile/problem.h"

struct Groups {
  uint32_t x, y, z;
};

struct Call {
  const Kernel &kernel;
  const Shape &shape;
  const Matrices &a, &b, &c, &d, &work;
  const rawhal_buffer_t *counters; // zeros, for work-groups that wait for each other

  uint32_t rows() const { return (shape.m + kernel.tile_m - 1) / kernel.tile_m; }
  uint32_t columns() const { return (shape.n + kernel.tile_n - 1) / kernel.tile_n; }
};

// Of one of hipBLASLt's. The others are rocBLAS'.
bool is_hipblaslt(const Arguments &arguments);

// Sets what a kernel of either kind takes, and says how many work-groups that is for.
Groups set_rocblas(Arguments &arguments, const Call &call);
Groups set_hipblaslt(Arguments &arguments, const Call &call);

#endif
