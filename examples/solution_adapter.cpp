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

  rawhal_ticket_t launchKernel(const KernelInvocation &invocation, rawhal_queue_t *stream)
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
    rawhal_dispatch_t dispatch = {};
    dispatch.kernel = kernel;
    for (size_t d = 0; d < 3; ++d) {
      dispatch.workgroup[d] = invocation.workGroupSize[d];
      dispatch.work_items[d] = invocation.numWorkGroups[d] * invocation.workGroupSize[d];
    }
    dispatch.dynamic_lds = invocation.sharedMemBytes;
    dispatch.blob = blob.data;
    dispatch.blob_size = blob.size;
    check(rawhal_queue_submit(stream, &dispatch, 1, RAWHAL_FOREVER, &ticket, &error));
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
  const uint32_t all = bits(value);
  return static_cast<uint16_t>(value ? (all >> 16 & 0x8000) + (((all >> 23 & 255) - 112) << 10) + (all >> 13 & 0x3ff)
                                     : 0);
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

  // How many elements of the result are right.
  template <typename Input, typename Output>
  size_t solve(const std::string &kernelName, Input (*convert)(int), double *milliseconds)
  {
    std::vector<Input> a(M * K), b(N * K);
    for (uint32_t i = 0; i < M * K; ++i)
      a[i] = convert(elementOfA(i / K, i % K));
    for (uint32_t i = 0; i < N * K; ++i)
      b[i] = convert(elementOfB(i / K, i % K));
    const std::vector<Output> c(M * N, 5);
    rawhal_buffer_t *onA = upload(a), *onB = upload(b), *onC = upload(c);
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
    const rawhal_ticket_t product = adapter.launchKernel(invocation, stream);
    rawhal_ticket_t copied = 0;
    rawhal_copy_t copy = {sizeof(copy), result, 0, workspace, 0, M * N * sizeof(Output)};
    check(rawhal_queue_copy(stream, &copy, RAWHAL_FOREVER, &copied, &error));
    check(rawhal_queue_wait(stream, copied, RAWHAL_FOREVER, &error));
    uint64_t start = 0, stop = 0;
    check(rawhal_queue_timing(stream, product, &start, &stop, &error));
    *milliseconds = static_cast<double>(stop - start) / 1e6;
    return count(static_cast<const Output *>(rawhal_buffer_host(result)));
  }

private:
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
  const auto name = [&](const char *types, const char *rest) {
    char text[160];
    snprintf(text, sizeof(text), "Cijk_Alik_Bljk_%s_MT64x64x%s_NLCA1_PGR1_SU0_VW1_WG64_4_1_%05u", types, rest, number);
    return std::string(text);
  };
  bool exact = true;
  double ms = 0;
  const auto report = [&](const std::string &solution, size_t right) {
    printf("%s: %zu of %u elements are exact, %.3f ms\n", solution.c_str(), right, M * N, ms);
    exact = exact && right == size_t{M} * N;
  };
  const std::string f32 = name("SB", "8_MI32x32x2x1_SN_K1_GRVW2"), f16 = name("HSS_BH", "16_MI32x32x8x1_SN_K1_GRVW4");
  const std::string bf16 = name("BSS_BH", "16_MI32x32x8x1_SN_K1_GRVW4"), i8 = name("I8II_BH", "32_MI32x32x8x1_SN_K1_GRVW8");
  report(f32, problem.solve<float, float>(f32, toFloat, &ms));
  report(f16, problem.solve<uint16_t, float>(f16, toHalf, &ms));
  report(bf16, problem.solve<uint16_t, float>(bf16, toBfloat, &ms));
  report(i8, problem.solve<int8_t, int32_t>(i8, toByte, &ms));
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
