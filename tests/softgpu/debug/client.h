// A debugger of softgpu's waves, as ROCdbgapi does it: by the driver's operations, and by the save
// areas in the other process's memory, taken apart here by what the driver's users rely on.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "softgpu/debug/kfd.h"
#include "tests/softgpu/debug/target.h"

// A child that obeys lines of its input, each with a line of its output.
class Obedient {
public:
  using Variables = std::map<std::string, std::string>;
  // `held`: stopped before it begins, until it is seized.
  Obedient(std::vector<std::string> words, const Variables &variables, bool held = false);
  ~Obedient();
  Obedient(const Obedient &) = delete;

  std::string say(const std::string &line); // and its answer
  void tell(const std::string &line);
  std::string answer(); // empty: it has ended, or says nothing for 20 s
  bool read(void *to, size_t size);
  int end();           // by itself; as waitpid() says
  pid_t child() const; // of any of its threads; 0: none
  // As a debugger begins a program: traced from now on, and stopped where it is another program
  // already. Then it goes on, and nobody looks at its calls and signals.
  void seize();
  void go();

  pid_t pid = -1;

private:
  int in_ = -1, out_ = -1;
};

// The program that is debugged: target.c.
class Target : public Obedient {
public:
  // With SOFTGPU_DEBUG unless `debug` is empty.
  explicit Target(const std::string &chips, const std::string &debug = "1", bool held = false,
                  bool reference = false);
  bool begin(); // reads `places`

  target_places_t places{};
};

// A wave in a save area.
struct Wave {
  uint32_t rows = 0, vgprs = 0, lds_bytes = 0;
  bool first = false, last = false, scratch = false;
  uint64_t at = 0; // its lowest byte, of v0
  uint64_t lds = 0;
  uint64_t registers() const { return at + 256ull * rows; }
  uint64_t sgpr(unsigned i) const { return registers() + 4 * i; }
  uint64_t hwreg(unsigned i) const { return registers() + 4 * (112 + i); }
  uint64_t ttmp(unsigned i) const { return registers() + 4 * (128 + i); }
  uint64_t vgpr(unsigned i, unsigned lane) const { return at + 256ull * i + 4 * lane; }
};
enum { kM0 = 0, kPc = 1, kExec = 3, kStatus = 5, kTrapsts = 6, kMode = 9 };

class Debugger {
public:
  explicit Debugger(const Target &target);
  ~Debugger();
  Debugger(const Debugger &) = delete;

  int connection = -1;
  uint32_t gfx = 90010; // of the device whose waves are looked at

  // Result, or -errno. `fd`: comes along.
  int ask(kfd_debug_t &debug, std::vector<uint8_t> *behind = nullptr, int fd = -1);
  int ask(kfd_op_t op, const std::function<void(kfd_debug_t &)> &fill = {});
  int enable(kfd_runtime_t *info, uint64_t exceptions = KFD_EXCEPTION(KFD_RUNTIME));
  int attach(); // all that ROCdbgapi says at first
  std::vector<kfd_queue_t> queues(uint64_t cleared = 0);
  std::vector<kfd_device_t> devices();
  // The ids as they come back.
  std::vector<uint32_t> suspend(std::vector<uint32_t> ids);
  std::vector<uint32_t> resume(std::vector<uint32_t> ids);
  // Waits for a byte in the pipe, ten seconds at most, and takes all there are; then the event.
  bool event(kfd_debug_t *event);

  // Of the other process.
  template <typename Value = uint32_t> Value read(uint64_t address)
  {
    Value value{};
    get(address, &value, sizeof(value));
    return value;
  }
  template <typename Value> void write(uint64_t address, Value value)
  {
    put(address, &value, sizeof(value));
  }
  void get(uint64_t address, void *to, size_t size);
  void put(uint64_t address, const void *from, size_t size);

  // The waves of a queue that is suspended. Everything that a reader insists on is checked.
  std::vector<Wave> waves(const kfd_queue_t &queue);

  // As ROCdbgapi does each. The queue is suspended.
  uint64_t pc(const Wave &wave);
  void set_pc(const Wave &wave, uint64_t pc);
  bool is_stopped(const Wave &wave);
  void go_on(const Wave &wave, bool step = false);
  unsigned trap(const Wave &wave);
  bool parks() const { return gfx == 90010; }

  // Suspends the queue, and resumes it at the end.
  struct Still {
    Still(Debugger &debugger, const kfd_queue_t &queue);
    ~Still();
    Debugger &debugger;
    uint32_t id;
  };

private:
  pid_t pid_;
  int memory_ = -1, pipe_[2] = {-1, -1};
};
