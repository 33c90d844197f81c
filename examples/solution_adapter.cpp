// Matrix products by kernels that are found by name in a folder of code objects, in the way in which libraries of
// solutions launch theirs: an adapter that has the objects, and invocations that say which kernel, with what arguments.
//
// usage: solution_adapter FOLDER [NUMBER]   (NUMBER: the last five digits of the solutions' names, 0 unless given)
#include <array>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <rawhal/rawhal.h>

namespace {

rawhal_error_t error;
void check(rawhal_status_t status)
{
  if (status)
    throw std::runtime_error(std::string(rawhal_status_name(status)) + ": " + error.message);
}
// Values by name and type, for a kernel that is not known yet.
class KernelArguments {
public:
  template <typename T> void append(const char *name, T value)
  {
    arguments.push_back([=](rawhal_builder_t *builder) { RAWHAL_APPEND_NAMED(builder, name, value); });
  }

  // Each value is held against the kernel's next argument: its name, size, offset and kind.
  rawhal_bytes_t build(rawhal_builder_t *builder) const
  {
    rawhal_bytes_t blob;
    for (const auto &argument : arguments)
      argument(builder);
    check(rawhal_builder_finish(builder, &blob, &error));
    return blob;
  }

private:
  std::vector<std::function<void(rawhal_builder_t *)>> arguments;
};

struct KernelInvocation {
  std::string kernelName;
  std::array<uint16_t, 3> workGroupSize;
  std::array<uint32_t, 3> numWorkGroups;
  uint32_t sharedMemBytes;
  KernelArguments arguments;
};

// Loads kernels when they are launched first.
class SolutionAdapter {
public:
  explicit SolutionAdapter(rawhal_device_t *device) { check(rawhal_library_create(device, nullptr, &library, &error)); }
  ~SolutionAdapter() { rawhal_library_destroy(library); } // what runs may go on

  // A folder, or a file of any kind that carries code objects.
  void loadCodeObjects(const char *path) { check(rawhal_library_add(library, path, &error)); }

  // With an event before it and one behind it, where that is wanted: markers in the order of the queue, with times.
  rawhal_ticket_t launchKernel(const KernelInvocation &invocation, rawhal_queue_t *stream,
                               rawhal_ticket_t *startEvent = nullptr, rawhal_ticket_t *stopEvent = nullptr)
  {
    const rawhal_device_kernel_t *kernel = nullptr;
    rawhal_builder_t *builder = nullptr;
    rawhal_ticket_t ticket = 0;
    rawhal_library_query_t query = {};
    query.name = rawhal_string(invocation.kernelName.c_str());
    check(rawhal_library_kernel(library, &query, &kernel, &error));
    // It stays loaded as long as there is room, and while it runs.
    const auto release = [this](const rawhal_device_kernel_t *held) { rawhal_library_release(library, held); };
    const std::unique_ptr<const rawhal_device_kernel_t, decltype(release)> held(kernel, release);
    check(rawhal_builder_create(rawhal_device_kernel_info(kernel)->layout, nullptr, &builder, &error));
    const std::unique_ptr<rawhal_builder_t, void (*)(rawhal_builder_t *)> own(builder, rawhal_builder_destroy);
    const rawhal_bytes_t blob = invocation.arguments.build(builder);
    rawhal_dispatch_t dispatch = {kernel, {}, {}, invocation.sharedMemBytes, blob.data, blob.size, nullptr, 0, 0, {}, nullptr};
    for (size_t d = 0; d < 3; ++d) {
      dispatch.workgroup[d] = invocation.workGroupSize[d];
      dispatch.work_items[d] = invocation.numWorkGroups[d] * invocation.workGroupSize[d];
    }
    if (startEvent)
      check(rawhal_queue_barrier(stream, nullptr, 0, RAWHAL_FOREVER, startEvent, &error));
    check(rawhal_queue_submit(stream, &dispatch, 1, RAWHAL_FOREVER, &ticket, &error));
    if (stopEvent)
      check(rawhal_queue_barrier(stream, nullptr, 0, RAWHAL_FOREVER, stopEvent, &error));
    return ticket;
  }

private:
  rawhal_library_t *library = nullptr;
};

// ---- D = alpha * A * transpose(B) + beta * C, of small integers, so that all types are exact ----

constexpr uint32_t M = 70, N = 45, K = 64;

uint32_t bits(int value)
{
  const float number = static_cast<float>(value);
  uint32_t result = 0;
  memcpy(&result, &number, sizeof(result));
  return result;
}
float toFloat(int value) { return static_cast<float>(value); }
uint16_t toBfloat(int value) { return static_cast<uint16_t>(bits(value) >> 16); }
uint16_t toHalf(int value) // of whole numbers
{
  const uint32_t b = bits(value), half = (b >> 16 & 0x8000) + (((b >> 23 & 255) - 112) << 10) + (b >> 13 & 0x3ff);
  return static_cast<uint16_t>(value ? half : 0);
}
int8_t toByte(int value) { return static_cast<int8_t>(value); }

int elementOfA(uint32_t row, uint32_t k) { return static_cast<int>((row * 5 + k * 3) % 7) - 3; }
int elementOfB(uint32_t row, uint32_t k) { return static_cast<int>((row * 2 + k * k) % 7) - 3; }

class Problem {
public:
  Problem(rawhal_device_t *device, SolutionAdapter &adapter) : device(device), adapter(adapter)
  {
    check(rawhal_queue_create(device, nullptr, &stream, &error));
  }
  ~Problem()
  {
    rawhal_queue_destroy(stream);
    for (rawhal_buffer_t *buffer : buffers)
      rawhal_buffer_free(buffer);
  }

  // How many elements of the result are right; and milliseconds, between the events and of the kernel alone.
  template <typename Output, typename Input>
  size_t solve(const std::string &kernelName, Input (*convert)(int), double *elapsed, double *alone)
  {
    std::vector<Input> a, b;
    for (uint32_t i = 0; i < M * K; ++i)
      a.push_back(convert(elementOfA(i / K, i % K)));
    for (uint32_t i = 0; i < N * K; ++i)
      b.push_back(convert(elementOfB(i / K, i % K)));
    rawhal_buffer_t *onA = upload(a), *onB = upload(b), *onC = upload(std::vector<Output>(M * N, 5));
    rawhal_buffer_t *workspace = allocate(RAWHAL_MEMORY_DEVICE, M * N * sizeof(Output));
    rawhal_buffer_t *result = allocate(RAWHAL_MEMORY_HOST, M * N * sizeof(Output));

    KernelInvocation invocation = {kernelName, {256, 1, 1}, {(M + 63) / 64, (N + 63) / 64, 1}, 0, {}};
    KernelArguments &arguments = invocation.arguments;
    arguments.append("size_c", uint64_t{M * N});
    arguments.append("size_a", uint64_t{M * K});
    arguments.append("size_b", uint64_t{N * K});
    arguments.append("d", rawhal_buffer_address(workspace));
    arguments.append("c", rawhal_buffer_address(onC));
    arguments.append("a", rawhal_buffer_address(onA));
    arguments.append("b", rawhal_buffer_address(onB));
    arguments.append("alpha", Output{2});
    arguments.append("beta", Output{3});
    const std::pair<const char *, uint32_t> sizes[] = {
        {"stride_d0", N}, {"stride_d1", M * N}, {"stride_c0", N}, {"stride_c1", M * N}, {"stride_a0", K}, {"stride_a1", M * K},
        {"stride_b0", K}, {"stride_b1", N * K}, {"m", M},         {"n", N},             {"batch", 1},     {"k", K}};
    for (const auto &[name, value] : sizes)
      arguments.append(name, value);

    // The kernel, and the copy of what it has left in the workspace, in the order of the queue.
    rawhal_ticket_t startEvent = 0, stopEvent = 0, copied = 0;
    const rawhal_ticket_t product = adapter.launchKernel(invocation, stream, &startEvent, &stopEvent);
    rawhal_copy_t copy = {sizeof(copy), result, 0, workspace, 0, M * N * sizeof(Output)};
    check(rawhal_queue_copy(stream, &copy, RAWHAL_FOREVER, &copied, &error));
    check(rawhal_queue_wait(stream, copied, RAWHAL_FOREVER, &error));
    *elapsed = static_cast<double>(timing(stopEvent)[1] - timing(startEvent)[1]) / 1e6;
    *alone = static_cast<double>(timing(product)[1] - timing(product)[0]) / 1e6;
    return count(static_cast<const Output *>(rawhal_buffer_host(result)));
  }

private:
  std::array<uint64_t, 2> timing(rawhal_ticket_t ticket) // start and end, nanoseconds
  {
    std::array<uint64_t, 2> times = {};
    check(rawhal_queue_timing(stream, ticket, &times[0], &times[1], &error));
    return times;
  }
  rawhal_buffer_t *allocate(rawhal_memory_kind_t kind, size_t size)
  {
    rawhal_buffer_t *buffer = nullptr;
    check(rawhal_buffer_allocate(device, kind, size, &buffer, &error));
    buffers.push_back(buffer);
    return buffer;
  }

  template <typename T> rawhal_buffer_t *upload(const std::vector<T> &values)
  {
    rawhal_buffer_t *buffer = allocate(RAWHAL_MEMORY_DEVICE, values.size() * sizeof(T));
    check(rawhal_buffer_write(buffer, 0, values.data(), values.size() * sizeof(T), &error));
    return buffer;
  }

  template <typename Output> static size_t count(const Output *result)
  {
    size_t right = 0;
    for (uint32_t i = 0; i < M; ++i)
      for (uint32_t j = 0; j < N; ++j) {
        int sum = 0;
        for (uint32_t k = 0; k < K; ++k)
          sum += elementOfA(i, k) * elementOfB(j, k);
        right += result[i * N + j] == static_cast<Output>(2 * sum + 15);
      }
    return right;
  }
  rawhal_device_t *device;
  SolutionAdapter &adapter;
  rawhal_queue_t *stream = nullptr;
  std::vector<rawhal_buffer_t *> buffers;
};

bool run(const char *folder, unsigned number)
{
  rawhal_instance_t *instance = nullptr;
  check(rawhal_instance_create(nullptr, &instance, &error));
  const std::unique_ptr<rawhal_instance_t, void (*)(rawhal_instance_t *)> keep(instance, rawhal_instance_destroy);
  SolutionAdapter adapter(rawhal_instance_device(instance, 0));
  adapter.loadCodeObjects(folder);
  Problem problem(rawhal_instance_device(instance, 0), adapter);
  bool exact = true;
  const auto solve = [&](auto output, auto convert, const char *types, const char *rest) {
    char name[160];
    double elapsed = 0, alone = 0;
    snprintf(name, sizeof(name), "Cijk_Alik_Bljk_%s_MT64x64x%s_NLCA1_PGR1_SU0_VW1_WG64_4_1_%05u", types, rest, number);
    const size_t right = problem.solve<decltype(output)>(name, convert, &elapsed, &alone);
    printf("%s: %zu of %u elements are exact, %.3f ms, the kernel %.3f\n", name, right, M * N, elapsed, alone);
    exact = exact && right == size_t{M} * N;
  };
  solve(float(), toFloat, "SB", "8_MI32x32x2x1_SN_K1_GRVW2");
  solve(float(), toHalf, "HSS_BH", "16_MI32x32x8x1_SN_K1_GRVW4");
  solve(float(), toBfloat, "BSS_BH", "16_MI32x32x8x1_SN_K1_GRVW4");
  solve(int32_t(), toByte, "I8II_BH", "32_MI32x32x8x1_SN_K1_GRVW8");
  return exact;
}

} // namespace

int main(int argc, char **argv)
{
  try {
    if (argc < 2)
      throw std::runtime_error("usage: solution_adapter FOLDER [NUMBER]");
    return run(argv[1], argc > 2 ? static_cast<unsigned>(strtoul(argv[2], nullptr, 10)) : 0) ? 0 : 1;
  } catch (const std::exception &failure) {
    fprintf(stderr, "solution_adapter: %s\n", failure.what());
    return 1;
  }
}
