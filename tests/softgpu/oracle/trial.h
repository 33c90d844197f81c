// One instruction on the model, on the engine and on the reference engine.
#pragma once

#include "tests/softgpu/isa/device.h"
#include "tests/softgpu/oracle/cases.h"

extern "C" {
#include "softgpu/isa/memory/lds_load.h"
#include "softgpu/isa/reference/reference.h"
}

namespace oracle {

class Trial {
public:
  Trial();

  // Before an instruction; the next ones are run on copies.
  Machine before;

  // Why the answers differ; empty when they agree. `outcome` is the model's: for FAULT both
  // engines must fault, UNDECIDED is not compared.
  std::string run(const Row &row, const Case &c, Outcome &outcome);
  unsigned facts() const { return model.facts; } // of the last case
  // The instruction's text, the difference, and what it read.
  std::string describe(const Row &row, const Case &c, const std::string &difference) const;

private:
  enum Answer { RAN, FAULTED, REFUSED };
  Answer execute(Machine &m, const Case &c, bool by_reference);
  void duplicate(Machine &to, bool with_vectors, bool with_memory) const;

  device::Memory memory;
  std::vector<uint8_t> lds;
  isa_thread_t thread = {};
  softgpu_dispatch_t dispatch = {};
  softgpu_fault_t fault = {}; // of the last run
  Machine model, engine, reference;
};

} // namespace oracle
