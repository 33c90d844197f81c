#include "runtime.h"

#include "newer.h"

#include <dirent.h>
#include <execinfo.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <fstream>

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// The runtime is not instrumented: ThreadSanitizer sees neither its locks nor its stores, so what
// it calls is ignored.
#define SANITIZER_HOOK extern "C" __attribute__((visibility("default"))) const char *
SANITIZER_HOOK __tsan_default_options();
SANITIZER_HOOK __lsan_default_suppressions();
SANITIZER_HOOK __tsan_default_options()
{
  return "ignore_noninstrumented_modules=1";
}

// The runtime 5.2.3 forgets objects of its own when queues go, and keeps all of them without
// hsa_shut_down().
SANITIZER_HOOK __lsan_default_suppressions()
{
  return "leak:libhsa-runtime64\n";
}

static bool thunk_inside = false, virtual_memory = false;

bool runtime_knows_gfx942()
{
  return functions() && virtual_memory;
}

bool runtime_has_no_interrupts()
{
  return functions() && thunk_inside;
}

static Functions *load()
{
  void *thunk = dlopen(SOFTGPU_LIBRARY, RTLD_NOW | RTLD_GLOBAL);
  if (!thunk) {
    ADD_FAILURE() << dlerror();
    return nullptr;
  }
  const char *named = getenv("RAWHAL_RUNTIME_LIBRARY");
  void *runtime = dlopen(named ? named : "libhsa-runtime64.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!runtime)
    return nullptr;
  // Runtimes from ROCm 7 on have a thunk inside and load the other library, which sees to that.
  thunk_inside = !dlsym(runtime, "hsaKmtOpenKFD");
  virtual_memory = dlsym(runtime, "hsa_amd_vmem_address_reserve") != nullptr;
  if (thunk_inside)
    thunk = dlopen(DTIF_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (!thunk) {
    ADD_FAILURE() << dlerror();
    return nullptr;
  }
  static Functions found;
#define HSA_RESOLVE(name) found.name = (decltype(found.name))dlsym(runtime, #name);
  HSA_FUNCTIONS(HSA_RESOLVE)
#undef HSA_RESOLVE
  found.option_set = (softgpu_option_set_fn *)dlsym(thunk, "softgpu_option_set");
  found.option_get = (softgpu_option_get_fn *)dlsym(thunk, "softgpu_option_get");
  found.pause = (softgpu_pause_fn *)dlsym(thunk, "softgpu_pause");
  found.resume = (softgpu_resume_fn *)dlsym(thunk, "softgpu_resume");
  found.inject = (softgpu_inject_fn *)dlsym(thunk, "softgpu_inject");
  found.kernarg_missing = (softgpu_kernarg_missing_fn *)dlsym(thunk, "softgpu_kernarg_missing");
  found.counters = (softgpu_counters_fn *)dlsym(thunk, "softgpu_counters");
  found.queue_fault = (softgpu_queue_fault_fn *)dlsym(thunk, "softgpu_queue_fault");
  found.queue_fault_info = (softgpu_queue_fault_info_fn *)dlsym(thunk, "softgpu_queue_fault_info");
  found.waves = (softgpu_waves_fn *)dlsym(thunk, "softgpu_waves");
  found.waves_take = (softgpu_waves_take_fn *)dlsym(thunk, "softgpu_waves_take");
  found.memory_bound = (softgpu_memory_bound_fn *)dlsym(thunk, "softgpu_memory_bound");
  found.probe = (softgpu_probe_fn *)dlsym(thunk, "softgpu_probe");
  return &found;
}

const Functions *functions()
{
  static const Functions *loaded = load();
  return loaded;
}

static void say_where(int)
{
  void *frames[32];
  backtrace_symbols_fd(frames, backtrace(frames, 32), STDERR_FILENO);
}

// What every thread waits in, and where the program is; the device's own threads take no signals.
static void say_where_threads_stand()
{
  signal(SIGUSR2, say_where);
  DIR *tasks = opendir("/proc/self/task");
  while (dirent *task = tasks ? readdir(tasks) : nullptr) {
    const std::string folder = std::string("/proc/self/task/") + task->d_name + "/";
    std::string name, where;
    std::getline(std::ifstream(folder + "comm"), name);
    std::getline(std::ifstream(folder + "wchan"), where);
    fprintf(stderr, "thread %s, %s: in %s\n", task->d_name, name.c_str(), where.c_str());
    if (atoi(task->d_name) == getpid()) {
      syscall(SYS_tgkill, getpid(), getpid(), SIGUSR2);
      std::this_thread::sleep_for(milliseconds(200));
    }
  }
  if (tasks)
    closedir(tasks);
}

Watchdog::Watchdog(std::function<void()> last_words)
    : thread_([this, last_words] {
        std::unique_lock<std::mutex> lock(mutex_);
        if (changed_.wait_for(lock, std::chrono::minutes(2), [this] { return over_; }))
          return;
        last_words();
        abort();
      })
{
}

Watchdog::~Watchdog()
{
  {
    std::lock_guard<std::mutex> lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Runtime::say_where_queues_stand()
{
  fprintf(stderr, "the test runs for two minutes already\n");
  say_where_threads_stand();
  for (const hsa_queue_t *q : queues_) {
    const auto *shared = (const amd_queue_t *)q;
    const uint64_t read = __atomic_load_n(&shared->read_dispatch_id, __ATOMIC_ACQUIRE);
    const auto *slot = (const uint16_t *)q->base_address + read % q->size * 32;
    fprintf(stderr, "queue %" PRIu64 ": packets %" PRIu64 " to %" PRIu64 ", header %04x, %s\n",
            q->id, read, (uint64_t)shared->write_dispatch_id,
            __atomic_load_n(slot, __ATOMIC_ACQUIRE),
            fault_text(const_cast<hsa_queue_t *>(q)).c_str());
  }
}

void Runtime::option(const char *name, uint64_t value)
{
  uint64_t before = 0;
  ASSERT_TRUE(functions()->option_get(name, &before));
  ASSERT_TRUE(functions()->option_set(name, value));
  options_.emplace_back(name, before);
}

static hsa_status_t find_pools(hsa_amd_memory_pool_t pool, void *data)
{
  const Functions *hsa = functions();
  hsa_amd_segment_t segment;
  uint32_t flags = 0;
  hsa->hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment);
  hsa->hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags);
  auto *pools = static_cast<hsa_amd_memory_pool_t *>(data);
  if (segment == HSA_AMD_SEGMENT_GLOBAL && (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED))
    pools[0] = pool;
  if (segment == HSA_AMD_SEGMENT_GLOBAL && (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED) &&
      !(flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT))
    pools[1] = pool;
  return HSA_STATUS_SUCCESS;
}

void Runtime::SetUp()
{
  hsa = functions();
  if (!hsa)
    GTEST_SKIP() << "no libhsa-runtime64.so.1 here";
  configure();
  ASSERT_EQ(hsa->hsa_init(), HSA_STATUS_SUCCESS);
  initialized_ = true;
  std::vector<hsa_agent_t> agents;
  hsa->hsa_iterate_agents(
      [](hsa_agent_t agent, void *data) {
        static_cast<std::vector<hsa_agent_t> *>(data)->push_back(agent);
        return HSA_STATUS_SUCCESS;
      },
      &agents);
  for (hsa_agent_t agent : agents) {
    hsa_device_type_t type;
    hsa->hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
    if (type == HSA_DEVICE_TYPE_GPU)
      gpus.push_back(agent);
    else
      cpu = agent;
  }
  ASSERT_FALSE(gpus.empty());
  gpu = gpus[0];
  hsa_amd_memory_pool_t pools[2] = {};
  hsa->hsa_amd_agent_iterate_memory_pools(gpu, find_pools, pools);
  device_pool = pools[0];
  hsa->hsa_amd_agent_iterate_memory_pools(cpu, find_pools, pools);
  host_pool = pools[1];
}

void Runtime::TearDown()
{
  if (initialized_) {
    while (!queues_.empty())
      queue_destroy(queues_.back());
    for (hsa_signal_t made : signals_)
      hsa->hsa_signal_destroy(made);
    for (void *made : memory_)
      hsa->hsa_amd_memory_pool_free(made);
    signals_.clear();
    memory_.clear();
    EXPECT_EQ(hsa->hsa_shut_down(), HSA_STATUS_SUCCESS);
  }
  for (auto &[name, value] : options_)
    EXPECT_TRUE(functions()->option_set(name.c_str(), value));
}

void *Runtime::device_memory(size_t size)
{
  void *memory = nullptr;
  if (hsa->hsa_amd_memory_pool_allocate(device_pool, size, 0, &memory) != HSA_STATUS_SUCCESS)
    return nullptr;
  memory_.push_back(memory);
  return memory;
}

void *Runtime::host_memory(size_t size)
{
  void *memory = nullptr;
  if (hsa->hsa_amd_memory_pool_allocate(host_pool, size, 0, &memory) != HSA_STATUS_SUCCESS)
    return nullptr;
  memory_.push_back(memory);
  EXPECT_EQ(hsa->hsa_amd_agents_allow_access((uint32_t)gpus.size(), gpus.data(), nullptr, memory),
            HSA_STATUS_SUCCESS);
  return memory;
}

void Runtime::release(void *memory)
{
  memory_.erase(std::remove(memory_.begin(), memory_.end(), memory), memory_.end());
  EXPECT_EQ(hsa->hsa_amd_memory_pool_free(memory), HSA_STATUS_SUCCESS);
}

hsa_signal_t Runtime::signal(hsa_signal_value_t value)
{
  hsa_signal_t made{};
  EXPECT_EQ(hsa->hsa_signal_create(value, 0, nullptr, &made), HSA_STATUS_SUCCESS);
  signals_.push_back(made);
  return made;
}

bool Runtime::reaches(hsa_signal_t awaited, hsa_signal_value_t value)
{
  uint64_t frequency = 0;
  hsa->hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &frequency);
  bool reached = hsa->hsa_signal_wait_scacquire(awaited, HSA_SIGNAL_CONDITION_EQ, value,
                                                10 * frequency, HSA_WAIT_STATE_BLOCKED) == value;
  // Once more where sanitizers see it; see above.
  __atomic_load_n(&((const amd_signal_t *)awaited.handle)->value, __ATOMIC_ACQUIRE);
  return reached;
}

bool Runtime::pending(hsa_signal_t awaited)
{
  return hsa->hsa_signal_load_scacquire(awaited) == 1;
}

hsa_queue_t *Runtime::queue(uint32_t packets)
{
  hsa_queue_t *made = nullptr;
  auto note = [](hsa_status_t status, hsa_queue_t *, void *data) {
    static_cast<std::atomic<int> *>(data)->store(status);
  };
  EXPECT_EQ(hsa->hsa_queue_create(gpu, packets, HSA_QUEUE_TYPE_MULTI, note, &error_, UINT32_MAX,
                                  UINT32_MAX, &made),
            HSA_STATUS_SUCCESS);
  if (made)
    queues_.push_back(made);
  return made;
}

void Runtime::queue_destroy(hsa_queue_t *gone)
{
  queues_.erase(std::remove(queues_.begin(), queues_.end(), gone), queues_.end());
  EXPECT_EQ(hsa->hsa_queue_destroy(gone), HSA_STATUS_SUCCESS);
}

hsa_status_t Runtime::queue_error()
{
  for (int i = 0; i < 10000 && error_.load() == 0; ++i)
    std::this_thread::sleep_for(milliseconds(1));
  return (hsa_status_t)error_.exchange(0);
}

std::string Runtime::fault_text(hsa_queue_t *failed)
{
  std::string text(hsa->queue_fault(failed, nullptr, 0) + 1, '\0');
  hsa->queue_fault(failed, text.data(), text.size());
  text.pop_back();
  return text;
}

uint64_t Runtime::publish(hsa_queue_t *to, const void *packet, uint32_t header)
{
  uint64_t index = hsa->hsa_queue_add_write_index_relaxed(to, 1);
  const auto deadline = steady_clock::now() + std::chrono::seconds(10);
  while (!full_ && index - hsa->hsa_queue_load_read_index_scacquire(to) >= to->size) {
    std::this_thread::yield();
    if (steady_clock::now() < deadline)
      continue;
    ADD_FAILURE() << "no room for packet " << index;
    full_ = true; // nor do the others wait
  }
  char *slot = (char *)to->base_address + (index % to->size) * 64;
  memcpy(slot + 4, (const char *)packet + 4, 60);
  __atomic_store_n((uint32_t *)(void *)slot, header, __ATOMIC_RELEASE);
  return index;
}

void Runtime::ring(hsa_queue_t *to, uint64_t index)
{
  hsa->hsa_signal_store_screlease(to->doorbell_signal, (hsa_signal_value_t)index);
}

uint64_t Runtime::submit(hsa_queue_t *to, const void *packet, uint32_t header)
{
  uint64_t index = publish(to, packet, header);
  ring(to, index);
  return index;
}

hsa_signal_t Runtime::submit_barrier(hsa_queue_t *to)
{
  hsa_barrier_and_packet_t packet{};
  packet.completion_signal = signal(1);
  submit(to, &packet, packet_header(HSA_PACKET_TYPE_BARRIER_AND));
  return packet.completion_signal;
}

void Runtime::notice(MemoryFault *fault)
{
  ASSERT_EQ(hsa->hsa_amd_register_system_event_handler(
                [](const hsa_amd_event_t *event, void *data) {
                  auto *noted = static_cast<MemoryFault *>(data);
                  noted->address = event->memory_fault.virtual_address;
                  noted->is_seen = event->event_type == HSA_AMD_GPU_MEMORY_FAULT_EVENT;
                  return HSA_STATUS_SUCCESS;
                },
                fault),
            HSA_STATUS_SUCCESS);
}

uint32_t packet_header(hsa_packet_type_t type, bool barrier)
{
  return (uint32_t)type << HSA_PACKET_HEADER_TYPE | (uint32_t)barrier << HSA_PACKET_HEADER_BARRIER |
         HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
         HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
}

uint32_t vendor_header(uint8_t format)
{
  return packet_header(HSA_PACKET_TYPE_VENDOR_SPECIFIC) | (uint32_t)format << 16;
}

uint32_t dispatch_header(uint16_t dimensions)
{
  return packet_header(HSA_PACKET_TYPE_KERNEL_DISPATCH) |
         (uint32_t)dimensions << (16 + HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS);
}

hsa_kernel_dispatch_packet_t dispatch_packet(uint64_t kernel_object, void *kernarg, uint32_t grid,
                                             uint16_t workgroup, hsa_signal_t completion)
{
  hsa_kernel_dispatch_packet_t packet{};
  packet.setup = 1 << HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS;
  packet.workgroup_size_x = workgroup;
  packet.workgroup_size_y = packet.workgroup_size_z = 1;
  packet.grid_size_x = grid;
  packet.grid_size_y = packet.grid_size_z = 1;
  packet.kernel_object = kernel_object;
  packet.kernarg_address = kernarg;
  packet.completion_signal = completion;
  return packet;
}
