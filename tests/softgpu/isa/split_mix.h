// Sebastiano Vigna's SplitMix64: the same numbers everywhere, from any seed.
#ifndef TESTS_SOFTGPU_ISA_SPLIT_MIX_H
#define TESTS_SOFTGPU_ISA_SPLIT_MIX_H

#include <cstdint>

struct SplitMix {
  uint64_t state;
  uint64_t operator()()
  {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
};

#endif
