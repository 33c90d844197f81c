// ROCr's own loader on softgpu, reached as a program without rawhal reaches it: no check of ours
// stands before it.
#ifndef TESTS_ORACLE_ROCR_H
#define TESTS_ORACLE_ROCR_H

#include <hsa/hsa.h>

#include <string>
#include <vector>

// Starts the runtime in this process and keeps it: for child processes only.
class Rocr {
public:
  static Rocr &get();
  bool started() const { return started_; }
  const std::string &isa() const { return isa_; } // the device's target id

  // An executable with one code object, loaded and frozen; `step` is the one that failed.
  enum Step { kReader, kCreate, kLoad, kFreeze, kDone };
  struct Loaded {
    Step step = kReader;
    hsa_status_t status = HSA_STATUS_ERROR;
    hsa_code_object_reader_t reader{};
    hsa_executable_t executable{};
  };
  Loaded load(const void *bytes, size_t size);
  void unload(Loaded &loaded);

  struct Symbol {
    bool found = false; // and all that can be asked of it is answered
    hsa_symbol_kind_t kind{};
    uint64_t address = 0; // kernel object, or the variable's address
    uint32_t kernarg_size = 0, group_size = 0, private_size = 0, variable_size = 0;
  };
  Symbol symbol(const Loaded &loaded, const std::string &name);

private:
  Rocr();
  bool started_ = false;
  hsa_agent_t gpu_{};
  std::string isa_;
};

// A copy of bytes that ends where memory ends: reading one byte more is a crash.
class Guarded {
public:
  explicit Guarded(const std::string &bytes);
  ~Guarded();
  Guarded(const Guarded &) = delete;
  Guarded &operator=(const Guarded &) = delete;
  const void *data() const { return data_; }

private:
  void *memory_ = nullptr, *data_ = nullptr;
  size_t room_ = 0;
};

#endif
