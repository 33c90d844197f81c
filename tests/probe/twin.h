// A dispatch, and the same with probes in its code: from the same memory, both are to leave the same memory, and to record
// the same, by softgpu's engine and by the code of the probes.
//
// A program that is linked with twin_wrap.cc has its dispatches compared, where RAWHAL_TEST_TWINS in the environment says of how
// many dispatches of each kernel: whatever test it is made for, and with the arguments that that gives them. It is a sample
// of its kernels unless more is asked for: extended.h. SOFTGPU_THREADS=1 has waves come in one order.
#ifndef RAWHAL_TESTS_PROBE_TWIN_H
#define RAWHAL_TESTS_PROBE_TWIN_H

#include <rawhal/probe.h>
#include <rawhal/rawhal.h>

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

// What one run left.
struct TwinRun {
  rawhal_status_t status = RAWHAL_OK;
  rawhal_fault_t fault = {};
  uint64_t instructions = 0;
  std::vector<std::vector<char>> memory; // of the program's buffers
  rawhal_probe_header_t header = {};
  std::vector<uint64_t> counters;
  std::vector<rawhal_probe_wave_t> waves;
  std::vector<char> events; // those that there was room for
  uint32_t event_bytes = 0;
};

struct TwinPlan;

class Twins {
public:
  static Twins &all(); // of this process

  // The program's memory: what a dispatch may read and write.
  void add(rawhal_buffer_t *buffer) { buffers_.insert(buffer); }
  void remove(rawhal_buffer_t *buffer) { buffers_.erase(buffer); }

  // Expectations fail where they are not the same. The memory is then as it was before.
  void compare(rawhal_device_t *device, const rawhal_dispatch_t &dispatch);
  void print() const;

  bool is_busy() const { return busy_; } // what is made meanwhile is not the program's
  size_t most = 0;                       // dispatches of a kernel; 0: none are compared
  size_t each = 1;                       // one in so many kernels

private:
  struct Room;
  struct Kind {
    const char *name;
    uint32_t kinds, flags;
  };
  static const Kind kinds[];

  void compare_all(const rawhal_dispatch_t &dispatch);
  void compare_kind(const Kind &kind, const TwinPlan &engine, const TwinRun &expected,
                    const rawhal_dispatch_t &dispatch);
  void compare_memory(const TwinRun &run, const TwinRun &expected, const TwinPlan &engine,
                      const rawhal_dispatch_t &dispatch);
  bool races(const TwinPlan &engine, const rawhal_dispatch_t &dispatch);
  void compare_fault(const TwinRun &run, const TwinRun &expected, const TwinPlan &plan);
  TwinRun run_original(const rawhal_dispatch_t &dispatch, const TwinPlan &plan, uint32_t events);
  TwinRun run_copy(const rawhal_dispatch_t &dispatch, const TwinPlan &plan, uint32_t events,
                   TwinRun *watched);
  void run(const rawhal_dispatch_t &dispatch, const rawhal_probe_argument_t &argument,
           const rawhal_probe_plan_info_t &info, const rawhal_probe_point_t *points, size_t count,
           TwinRun *run);
  void submit(rawhal_queue_t *queue, const rawhal_dispatch_t &dispatch, TwinRun *run);
  std::vector<std::vector<char>> save() const;
  void restore(const std::vector<std::vector<char>> &saved);
  void refused(const char *kind, const rawhal_error_t &error);

  std::set<rawhal_buffer_t *> buffers_;
  std::vector<std::vector<char>> before_;
  rawhal_device_t *device_ = nullptr;
  bool busy_ = false;
  uint64_t is_reference_ = 0;          // the engine
  std::map<std::string, size_t> seen_; // dispatches of each kernel
  // What was compared.
  struct Figures {
    size_t kernels, dispatches, faults, elsewhere, endless, changing;
    uint64_t waves, instructions, events, unseen, clones;
  } figures_ = {};
  std::set<std::string> depending_;        // kernels whose waves depend on each other
  std::set<std::string> reordered_;        // and whose results do
  std::map<std::string, size_t> refusals_; // dispatches, by kind and reason
};

#endif
