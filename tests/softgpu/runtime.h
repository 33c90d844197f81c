// The real HSA runtime on the softgpu that was just built, as a program without a GPU opens it.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "softgpu/softgpu.h"

// Every function the tests use, by its C name.
#define HSA_FUNCTIONS(F)                                                                           \
  F(hsa_init)                                                                                      \
  F(hsa_shut_down)                                                                                 \
  F(hsa_iterate_agents)                                                                            \
  F(hsa_agent_get_info)                                                                            \
  F(hsa_system_get_info)                                                                           \
  F(hsa_queue_create)                                                                              \
  F(hsa_queue_destroy)                                                                             \
  F(hsa_amd_queue_cu_set_mask)                                                                     \
  F(hsa_amd_queue_set_priority)                                                                    \
  F(hsa_queue_add_write_index_relaxed)                                                             \
  F(hsa_queue_load_read_index_scacquire)                                                           \
  F(hsa_signal_create)                                                                             \
  F(hsa_signal_destroy)                                                                            \
  F(hsa_signal_store_screlease)                                                                    \
  F(hsa_signal_load_scacquire)                                                                     \
  F(hsa_signal_wait_scacquire)                                                                     \
  F(hsa_amd_signal_create)                                                                         \
  F(hsa_amd_agent_iterate_memory_pools)                                                            \
  F(hsa_amd_memory_pool_get_info)                                                                  \
  F(hsa_amd_memory_pool_allocate)                                                                  \
  F(hsa_amd_memory_pool_free)                                                                      \
  F(hsa_amd_agents_allow_access)                                                                   \
  F(hsa_amd_memory_lock)                                                                           \
  F(hsa_amd_memory_unlock)                                                                         \
  F(hsa_amd_memory_async_copy)                                                                     \
  F(hsa_amd_memory_async_copy_rect)                                                                \
  F(hsa_amd_memory_fill)                                                                           \
  F(hsa_memory_copy)                                                                               \
  F(hsa_amd_pointer_info)                                                                          \
  F(hsa_amd_profiling_set_profiler_enabled)                                                        \
  F(hsa_amd_profiling_get_dispatch_time)                                                           \
  F(hsa_amd_profiling_async_copy_enable)                                                           \
  F(hsa_amd_profiling_get_async_copy_time)                                                         \
  F(hsa_isa_get_info_alt)                                                                          \
  F(hsa_amd_register_system_event_handler)                                                         \
  F(hsa_code_object_reader_create_from_memory)                                                     \
  F(hsa_code_object_reader_destroy)                                                                \
  F(hsa_executable_create_alt)                                                                     \
  F(hsa_executable_load_agent_code_object)                                                         \
  F(hsa_executable_freeze)                                                                         \
  F(hsa_executable_get_symbol_by_name)                                                             \
  F(hsa_executable_symbol_get_info)                                                                \
  F(hsa_executable_destroy)

struct Functions {
#define HSA_MEMBER(name) decltype(&::name) name = nullptr;
  HSA_FUNCTIONS(HSA_MEMBER)
#undef HSA_MEMBER
  softgpu_option_set_fn *option_set = nullptr;
  softgpu_option_get_fn *option_get = nullptr;
  softgpu_pause_fn *pause = nullptr;
  softgpu_resume_fn *resume = nullptr;
  softgpu_inject_fn *inject = nullptr;
  softgpu_kernarg_missing_fn *kernarg_missing = nullptr;
  softgpu_counters_fn *counters = nullptr;
  softgpu_queue_fault_fn *queue_fault = nullptr;
  softgpu_queue_fault_info_fn *queue_fault_info = nullptr;
  softgpu_waves_fn *waves = nullptr;
  softgpu_waves_take_fn *waves_take = nullptr;
  softgpu_memory_bound_fn *memory_bound = nullptr;
  softgpu_probe_fn *probe = nullptr;
};

// Opens both libraries once; NULL when the machine has no HSA runtime.
const Functions *functions();

// Ends the program when a test has run for two minutes: the runtime waits without limit for what it
// trusts the device to do, and a test that misses something must fail, not hang.
class Watchdog {
public:
  explicit Watchdog(std::function<void()> last_words);
  ~Watchdog();

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;
};

// A test between hsa_init() and hsa_shut_down(), with the first GPU and its pools at hand.
class Runtime : public ::testing::Test {
protected:
  void SetUp() override;
  void TearDown() override;
  virtual void configure() {} // sets options before hsa_init()

  // What must be set while the device is closed; TearDown() puts the old value back.
  void option(const char *name, uint64_t value);

  void *device_memory(size_t size);
  void *host_memory(size_t size); // fine-grained, which the GPU can reach
  void release(void *memory);

  hsa_signal_t signal(hsa_signal_value_t value);
  // Waits for `value`, at most ten seconds.
  bool reaches(hsa_signal_t signal, hsa_signal_value_t value);
  bool pending(hsa_signal_t signal); // is at 1

  // A queue whose error callback notes the status; destroyed by TearDown().
  hsa_queue_t *queue(uint32_t packets = 64);
  void queue_destroy(hsa_queue_t *queue);
  hsa_status_t queue_error(); // waits at most ten seconds for the callback
  std::string fault_text(hsa_queue_t *queue);

  // Puts a 64-byte packet whose first four bytes are in `header` on the queue. Fails when there is
  // no room for it within ten seconds.
  uint64_t publish(hsa_queue_t *queue, const void *packet, uint32_t header);
  void ring(hsa_queue_t *queue, uint64_t index);
  uint64_t submit(hsa_queue_t *queue, const void *packet, uint32_t header);
  // A barrier packet, the cheapest one that completes.
  hsa_signal_t submit_barrier(hsa_queue_t *queue);

  struct MemoryFault {
    std::atomic<bool> is_seen{false};
    uint64_t address = 0;
  };
  void notice(MemoryFault *fault); // of the whole runtime

  const Functions *hsa = nullptr;
  std::vector<hsa_agent_t> gpus;
  hsa_agent_t cpu{}, gpu{};
  hsa_amd_memory_pool_t device_pool{}, host_pool{};

private:
  std::vector<std::pair<std::string, uint64_t>> options_;
  std::vector<void *> memory_;
  std::vector<hsa_signal_t> signals_;
  std::vector<hsa_queue_t *> queues_;
  std::atomic<int> error_{0};
  std::atomic<bool> full_{false}; // a ring has had no room for ten seconds
  bool initialized_ = false;
  Watchdog watchdog_{[this] { say_where_queues_stand(); }};

  void say_where_queues_stand();
};

// Headers of the packets the tests use, with system scope fences.
uint32_t packet_header(hsa_packet_type_t type, bool barrier = false);
uint32_t vendor_header(uint8_t format);
uint32_t dispatch_header(uint16_t dimensions = 1);

hsa_kernel_dispatch_packet_t dispatch_packet(uint64_t kernel_object, void *kernarg, uint32_t grid,
                                             uint16_t workgroup, hsa_signal_t completion);
