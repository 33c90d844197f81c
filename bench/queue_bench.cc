// What a submission costs the host, beside a bare HSA packet write, in one process on softgpu with
// the packet processors paused. Times are per dispatch; 512 dispatches are timed at a go, warm.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <hsa/hsa.h>
#include <rawhal/rawhal.h>

namespace {

constexpr size_t round = 512;

template <typename Function> Function *symbol(const char *name)
{
  return reinterpret_cast<Function *>(dlsym(RTLD_DEFAULT, name));
}

struct Bench {
  Bench()
  {
    rawhal_instance_options_t options = {};
    options.backend = RAWHAL_BACKEND_SOFTGPU;
    if (rawhal_instance_create(&options, &instance, &error) != RAWHAL_OK)
      return;
    rawhal_device_t *device = rawhal_instance_device(instance, 0);
    empty = load(device, "empty-gfx90a-v5.co", "empty");
    add = load(device, "vector_add-gfx90a-v4.co", "vector_add");
    add_hidden = load(device, "vector_add-gfx90a-v5.co", "vector_add");
    rawhal_queue_options_t sizes = {};
    sizes.submissions = 1024;
    (void)!rawhal_queue_create(device, &sizes, &queue, &error);
    ready = empty && add && add_hidden && queue;
  }
  ~Bench()
  {
    rawhal_queue_destroy(queue);
    for (rawhal_executable_t *executable : executables)
      rawhal_executable_destroy(executable);
    rawhal_instance_destroy(instance);
  }

  const rawhal_device_kernel_t *load(rawhal_device_t *device, const char *file, const char *name)
  {
    std::ifstream stream(std::string(RAWHAL_SOURCE_DIR "/tests/fixtures/") + file,
                         std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(stream), {}};
    rawhal_hsaco_t *hsaco = nullptr;
    rawhal_executable_t *executable = nullptr;
    const rawhal_device_kernel_t *kernel = nullptr;
    if (rawhal_hsaco_open(bytes.data(), bytes.size(), nullptr, &hsaco, &error) == RAWHAL_OK &&
        rawhal_executable_load(device, hsaco, &executable, &error) == RAWHAL_OK)
      (void)!rawhal_executable_kernel(executable, {name, strlen(name)}, 0, &kernel, &error);
    rawhal_hsaco_close(hsaco);
    executables.push_back(executable);
    return kernel;
  }

  rawhal_error_t error = {};
  rawhal_instance_t *instance = nullptr;
  rawhal_queue_t *queue = nullptr;
  std::vector<rawhal_executable_t *> executables;
  const rawhal_device_kernel_t *empty = nullptr, *add = nullptr, *add_hidden = nullptr;
  bool ready = false;
};

Bench &bench()
{
  static Bench one;
  return one;
}

// Times `work`, which submits `count` dispatches, while nobody reads the queue.
template <typename Work, typename Drain>
void measure(benchmark::State &state, Work work, Drain drain, size_t count = round)
{
  auto pause = symbol<void()>("softgpu_pause"), resume = symbol<void()>("softgpu_resume");
  for (auto _ : state) {
    pause();
    auto start = std::chrono::steady_clock::now();
    bool good = work();
    std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    resume();
    if (!good || !drain()) {
      state.SkipWithError(bench().error.message);
      return;
    }
    state.SetIterationTime(elapsed.count() / static_cast<double>(count));
  }
}

rawhal_dispatch_t one_item(const rawhal_device_kernel_t *kernel)
{
  rawhal_dispatch_t dispatch = {};
  dispatch.kernel = kernel;
  for (int d = 0; d < 3; ++d)
    dispatch.grid[d] = dispatch.workgroup[d] = 1;
  return dispatch;
}

void submit(benchmark::State &state, const rawhal_dispatch_t &dispatch, size_t batch)
{
  Bench &b = bench();
  if (!b.ready)
    return state.SkipWithError(b.error.message);
  std::vector<rawhal_dispatch_t> dispatches(batch, dispatch);
  rawhal_ticket_t ticket = 0;
  measure(
      state,
      [&] {
        bool good = true;
        for (size_t i = 0; i < round / batch; ++i)
          good &= rawhal_queue_submit(b.queue, dispatches.data(), batch, 0, &ticket, &b.error) ==
                  RAWHAL_OK;
        return good;
      },
      [&] {
        bool good = rawhal_queue_wait(b.queue, ticket, RAWHAL_FOREVER, &b.error) == RAWHAL_OK;
        rawhal_queue_info(b.queue); // gives the room back, so that no submit has to
        return good;
      });
}

void SubmitEmpty(benchmark::State &state)
{
  submit(state, one_item(bench().empty), 1);
}

void SubmitBlob28(benchmark::State &state)
{
  static const char blob[28] = {}; // one work-item of n = 0 touches nothing
  rawhal_dispatch_t dispatch = one_item(bench().add);
  dispatch.blob = blob;
  dispatch.blob_size = sizeof(blob);
  submit(state, dispatch, 1);
}

// The same with the 256 bytes of hidden arguments of code object V5.
void SubmitBlob28Hidden(benchmark::State &state)
{
  static const char blob[28] = {};
  rawhal_dispatch_t dispatch = one_item(bench().add_hidden);
  dispatch.blob = blob;
  dispatch.blob_size = sizeof(blob);
  submit(state, dispatch, 1);
}

void SubmitBatch32(benchmark::State &state)
{
  submit(state, one_item(bench().empty), 32);
}

// A recording of 1,000 dispatches with blobs of 28 bytes.
void Replay1000(benchmark::State &state)
{
  constexpr size_t count = 1000;
  static const char blob[28] = {};
  Bench &b = bench();
  if (!b.ready)
    return state.SkipWithError(b.error.message);
  rawhal_dispatch_t dispatch = one_item(b.add);
  dispatch.blob = blob;
  dispatch.blob_size = sizeof(blob);
  std::vector<rawhal_dispatch_t> dispatches(count, dispatch);
  rawhal_recording_t *recording = nullptr;
  if (rawhal_recording_create(b.queue, dispatches.data(), count, &recording, &b.error) != RAWHAL_OK)
    return state.SkipWithError(b.error.message);
  rawhal_ticket_t ticket = 0;
  measure(
      state,
      [&] { return rawhal_queue_replay(b.queue, recording, 0, &ticket, &b.error) == RAWHAL_OK; },
      [&] {
        bool good = rawhal_queue_wait(b.queue, ticket, RAWHAL_FOREVER, &b.error) == RAWHAL_OK;
        rawhal_queue_info(b.queue);
        return good;
      },
      count);
  rawhal_recording_destroy(recording);
}

// The least the HSA API allows: index, full-ring check, packet, header, doorbell; no kernargs, no
// signal but the last, no checks.
void RawHsaWrite(benchmark::State &state)
{
  Bench &b = bench();
  if (!b.ready)
    return state.SkipWithError(b.error.message);
  auto add =
      symbol<decltype(hsa_queue_add_write_index_screlease)>("hsa_queue_add_write_index_screlease");
  auto read =
      symbol<decltype(hsa_queue_load_read_index_scacquire)>("hsa_queue_load_read_index_scacquire");
  auto store = symbol<decltype(hsa_signal_store_screlease)>("hsa_signal_store_screlease");
  auto wait = symbol<decltype(hsa_signal_wait_scacquire)>("hsa_signal_wait_scacquire");
  auto create = symbol<decltype(hsa_queue_create)>("hsa_queue_create");
  auto destroy = symbol<decltype(hsa_queue_destroy)>("hsa_queue_destroy");
  auto signal_create = symbol<decltype(hsa_signal_create)>("hsa_signal_create");
  auto signal_destroy = symbol<decltype(hsa_signal_destroy)>("hsa_signal_destroy");
  static hsa_agent_t gpu;
  symbol<decltype(hsa_iterate_agents)>("hsa_iterate_agents")(
      [](hsa_agent_t agent, void *) {
        hsa_device_type_t type;
        symbol<decltype(hsa_agent_get_info)>("hsa_agent_get_info")(agent, HSA_AGENT_INFO_DEVICE,
                                                                   &type);
        if (type == HSA_DEVICE_TYPE_GPU)
          gpu = agent;
        return HSA_STATUS_SUCCESS;
      },
      nullptr);
  hsa_queue_t *queue = nullptr;
  hsa_signal_t done = {};
  if (create(gpu, 1024, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, UINT32_MAX, UINT32_MAX, &queue) !=
          HSA_STATUS_SUCCESS ||
      signal_create(0, 0, nullptr, &done) != HSA_STATUS_SUCCESS)
    return state.SkipWithError("no queue");
  uint64_t object = rawhal_device_kernel_info(b.empty)->kernel_object;
  int64_t finished = 0;
  measure(
      state,
      [&] {
        for (size_t i = 0; i < round; ++i) {
          uint64_t index = add(queue, 1);
          while (index - read(queue) >= queue->size)
            ;
          auto *packet = static_cast<hsa_kernel_dispatch_packet_t *>(queue->base_address) +
                         (index & (queue->size - 1));
          hsa_kernel_dispatch_packet_t body = {};
          body.workgroup_size_x = body.workgroup_size_y = body.workgroup_size_z = 1;
          body.grid_size_x = body.grid_size_y = body.grid_size_z = 1;
          body.kernel_object = object;
          body.completion_signal.handle = i + 1 == round ? done.handle : 0;
          memcpy(reinterpret_cast<char *>(packet) + 4, reinterpret_cast<char *>(&body) + 4, 60);
          __atomic_store_n(reinterpret_cast<uint32_t *>(packet), 0x00031502u, __ATOMIC_RELEASE);
          store(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
        }
        return true;
      },
      [&] {
        --finished;
        return wait(done, HSA_SIGNAL_CONDITION_LT, finished + 1, UINT64_MAX,
                    HSA_WAIT_STATE_BLOCKED) <= finished;
      });
  destroy(queue);
  signal_destroy(done);
}

// Submit, execute and wait, one dispatch at a time.
void RoundTripEmpty(benchmark::State &state)
{
  Bench &b = bench();
  if (!b.ready)
    return state.SkipWithError(b.error.message);
  rawhal_dispatch_t dispatch = one_item(b.empty);
  for (auto _ : state) {
    rawhal_ticket_t ticket = 0;
    if (rawhal_queue_submit(b.queue, &dispatch, 1, RAWHAL_FOREVER, &ticket, &b.error) !=
            RAWHAL_OK ||
        rawhal_queue_wait(b.queue, ticket, RAWHAL_FOREVER, &b.error) != RAWHAL_OK)
      return state.SkipWithError(b.error.message);
  }
}

BENCHMARK(RawHsaWrite)->UseManualTime()->Iterations(200);
BENCHMARK(SubmitEmpty)->UseManualTime()->Iterations(200);
BENCHMARK(SubmitBlob28)->UseManualTime()->Iterations(200);
BENCHMARK(SubmitBlob28Hidden)->UseManualTime()->Iterations(200);
BENCHMARK(SubmitBatch32)->UseManualTime()->Iterations(200);
BENCHMARK(Replay1000)->UseManualTime()->Iterations(200);
BENCHMARK(RoundTripEmpty)->UseRealTime()->Unit(benchmark::kMicrosecond);

} // namespace
