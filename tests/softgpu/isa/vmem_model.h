// Vector memory and LDS instructions on the engine, and what the tests expect of them: a model of
// bytes.
#ifndef TESTS_SOFTGPU_ISA_VMEM_MODEL_H
#define TESTS_SOFTGPU_ISA_VMEM_MODEL_H

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <map>

#include "tests/softgpu/isa/device.h"
#include "tests/softgpu/isa/kernels.h"

namespace vmem {

// The registers around the instruction under test: see vmem_begin in kernels.s.
struct Lane {
  uint64_t address, unused;
  uint32_t data[4], result[4], lds[4];
};
static_assert(sizeof(Lane) == 64, "a record is 64 bytes");
struct Output {
  uint32_t result[4], lds[4], unused[8];
};

struct Arguments {
  uint64_t in, out, exec;
  uint32_t m0, unused;
  uint32_t descriptor[4];
};

struct State {
  std::vector<Lane> lanes{64};
  std::vector<uint8_t> memory; // of the buffer under test
  uint64_t exec = ~0ull;
  uint32_t m0 = 0;
  bool sram_ecc = true;
  uint32_t group_bytes = 1024; // of LDS that the dispatch asks for
};

const uint32_t LDS = 1024;

// Runs the instruction on the engine in use, by so many work-groups of one thread; the caller's memory is what it finds
// and changes, not `state.memory`. What each lane has afterwards.
std::vector<Output> run(const std::string &instruction, const State &state,
                        const uint32_t *descriptor, uint32_t groups = 1, uint32_t float_mode = 0xf0,
                        bool on_gfx942 = false);

// Runs the instruction with `state`, whose addresses are offsets in `memory` plus `base`, on both
// engines, which must agree; the state afterwards.
State execute(const std::string &instruction, const State &state, device::Memory &memory,
              const uint32_t *descriptor, uint32_t float_mode = 0xf0, bool on_gfx942 = false);

// The mnemonic after its family's prefix.
std::string operation_of(const std::string &instruction);

// Bytes that one lane loads or stores.
unsigned width_of(const std::string &name);

// One lane, bytes in little-endian order.
void model_load(const std::string &name, Lane &lane, const uint8_t *at, bool sram_ecc = true);
void model_store(const std::string &name, const Lane &lane, uint8_t *at);

template <typename T> using Operation = std::function<T(T old, T data, T second)>;

// Names as in global_atomic_* and ds_*; `second` is the value compared with, in DS the second
// data operand.
template <typename T, typename S> std::map<std::string, Operation<T>> operations()
{
  std::map<std::string, Operation<T>> m;
  m["swap"] = m["wrxchg"] = [](T, T d, T) { return d; };
  m["cmpswap"] = [](T o, T d, T c) { return o == c ? d : o; };
  m["cmpst"] = [](T o, T c, T d) { return o == c ? d : o; };
  m["mskor"] = [](T o, T mask, T d) { return T((o & ~mask) | d); };
  m["add"] = [](T o, T d, T) { return o + d; };
  m["sub"] = [](T o, T d, T) { return o - d; };
  m["rsub"] = [](T o, T d, T) { return d - o; };
  m["smin"] = m["min_i"] = [](T o, T d, T) { return S(o) < S(d) ? o : d; };
  m["smax"] = m["max_i"] = [](T o, T d, T) { return S(o) > S(d) ? o : d; };
  m["umin"] = m["min_u"] = [](T o, T d, T) { return o < d ? o : d; };
  m["umax"] = m["max_u"] = [](T o, T d, T) { return o > d ? o : d; };
  m["and"] = [](T o, T d, T) { return o & d; };
  m["or"] = [](T o, T d, T) { return o | d; };
  m["xor"] = [](T o, T d, T) { return o ^ d; };
  m["inc"] = [](T o, T d, T) { return o >= d ? 0 : o + 1; };
  m["dec"] = [](T o, T d, T) { return o == 0 || o > d ? d : o - 1; };
  return m;
}

template <typename T>
void exchange(const Operation<T> &operation, Lane &lane, uint8_t *at, bool returns)
{
  T old, data[2];
  memcpy(&old, at, sizeof old);
  memcpy(data, lane.data, sizeof data);
  T now = operation(old, data[0], data[1]);
  memcpy(at, &now, sizeof now);
  if (returns)
    memcpy(lane.result, &old, sizeof old);
}

State random_state(unsigned seed, size_t bytes);

// A raw buffer of the whole memory.
void describe(const device::Memory &memory, uint32_t descriptor[4]);

int immediate_offset(const std::string &instruction);

void expect_same(const std::string &instruction, const State &actual, const State &expected);

} // namespace vmem

#endif
