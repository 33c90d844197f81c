// A program of all.cl on the host: the work-items of a group take turns, until each waits for others or has ended.
#pragma once

#include <array>
#include <cstdint>

struct Extents {
  std::array<uint32_t, 3> groups, items; // as many as there are in a group
};

using HostProgram = void(const void *in, void *out, uint32_t n);

// False: work-items wait for some that will not come.
bool run_on_host(HostProgram *program, const Extents &extents, uint32_t wave, bool is_rdna,
                 const void *in, void *out, uint32_t n);
