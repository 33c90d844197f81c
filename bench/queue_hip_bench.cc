// What the same launches cost through HIP on the same softgpu, paused as well:
// hipModuleLaunchKernel() with a prepacked buffer, and a graph of 1,000 of them. HIP is opened, not
// linked, and has this process for itself; without it the benches say so.
#include "queue_bench.h"

#if __has_include(<hip/hip_runtime_api.h>)
#define __HIP_PLATFORM_AMD__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-result"
#include <hip/hip_runtime_api.h>
#pragma GCC diagnostic pop

namespace {

class Hip {
public:
  Hip()
  {
    char softgpu[4096];
    rawhal_error_t error = {};
    if (rawhal_softgpu_library_path(nullptr, softgpu, sizeof(softgpu), &error) != RAWHAL_OK ||
        !dlopen(softgpu, RTLD_NOW | RTLD_GLOBAL) ||
        !dlopen("libamdhip64.so.5", RTLD_NOW | RTLD_GLOBAL))
      return;
    image = fixture("vector_add-gfx90a-v4.co");
    hipModule_t module;
    ready = symbol<decltype(hipModuleLoadData)>("hipModuleLoadData")(&module, image.data()) ==
                hipSuccess &&
            symbol<decltype(hipModuleGetFunction)>("hipModuleGetFunction")(
                &function, module, "vector_add") == hipSuccess &&
            symbol<decltype(hipStreamCreate)>("hipStreamCreate")(&stream) == hipSuccess;
  }

  std::string image;
  hipFunction_t function = nullptr;
  hipStream_t stream = nullptr;
  bool ready = false;
};

Hip &hip_here()
{
  static Hip hip;
  return hip;
}

void HipLaunchBuffer28(benchmark::State &state)
{
  Hip &hip = hip_here();
  if (!hip.ready)
    return state.SkipWithError("HIP does not run here");
  auto launch = symbol<decltype(hipModuleLaunchKernel)>("hipModuleLaunchKernel");
  auto synchronize = symbol<decltype(hipStreamSynchronize)>("hipStreamSynchronize");
  char zeros[28] = {}; // one work-item of n = 0 touches nothing
  size_t size = sizeof(zeros);
  void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, zeros, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   HIP_LAUNCH_PARAM_END};
  measure(
      state,
      [&] {
        bool good = true;
        for (size_t i = 0; i < round_size; ++i)
          good &=
              launch(hip.function, 1, 1, 1, 1, 1, 1, 0, hip.stream, nullptr, extra) == hipSuccess;
        return good;
      },
      [&] { return synchronize(hip.stream) == hipSuccess; });
}

// What hipcc puts into programs, of one code object: this HIP captures launches of kernels that are
// registered, but not those of a module's (which it runs at once).
std::string bundle_of(const std::string &object)
{
  constexpr uint64_t at = 4096;
  static const char *const names[] = {"host-x86_64-unknown-linux--",
                                      "hipv4-amdgcn-amd-amdhsa--gfx90a"};
  std::string bundle = "__CLANG_OFFLOAD_BUNDLE__";
  const auto add = [&](uint64_t value) {
    bundle.append(reinterpret_cast<const char *>(&value), sizeof(value));
  };
  add(std::size(names));
  for (const char *name : names) {
    add(at);
    add(name == names[0] ? 0 : object.size());
    add(strlen(name));
    bundle += name;
  }
  bundle.resize(at);
  return bundle + object;
}

// 1,000 launches captured from a stream, one after the other, and launched as one graph.
void HipGraph1000(benchmark::State &state)
{
  constexpr size_t count = 1000;
  Hip &hip = hip_here();
  auto add = symbol<void **(const void *)>("__hipRegisterFatBinary");
  auto add_function = symbol<void(void **, const void *, char *, const char *, unsigned, void *,
                                  void *, void *, void *, int *)>("__hipRegisterFunction");
  if (!hip.ready || !add || !add_function)
    return state.SkipWithError("HIP does not run here");
  static std::string bundle = bundle_of(hip.image);
  static const struct {
    uint32_t magic, version;
    const void *bytes, *unused;
  } wrapper = {0x48495046, 1, bundle.data(), nullptr};
  static char name[] = "vector_add", stub; // whose address stands for the kernel
  static void **const registered = add(&wrapper);
  static const bool once = (add_function(registered, &stub, name, name, UINT32_MAX, nullptr,
                                         nullptr, nullptr, nullptr, nullptr),
                            true);
  (void)once;
  auto launch =
      symbol<hipError_t(const void *, dim3, dim3, void **, size_t, hipStream_t)>("hipLaunchKernel");
  auto launch_graph = symbol<decltype(hipGraphLaunch)>("hipGraphLaunch");
  auto synchronize = symbol<decltype(hipStreamSynchronize)>("hipStreamSynchronize");
  void *pointer = nullptr;
  int zero = 0;
  void *arguments[] = {&pointer, &pointer, &pointer, &zero};
  hipGraph_t graph = nullptr;
  hipGraphExec_t exec = nullptr;
  size_t nodes = 0;
  bool good = symbol<decltype(hipStreamBeginCapture)>("hipStreamBeginCapture")(
                  hip.stream, hipStreamCaptureModeThreadLocal) == hipSuccess;
  for (size_t i = 0; good && i < count; ++i)
    good &= launch(&stub, dim3(1), dim3(1), arguments, 0, hip.stream) == hipSuccess;
  good &= symbol<decltype(hipStreamEndCapture)>("hipStreamEndCapture")(hip.stream, &graph) ==
              hipSuccess &&
          symbol<decltype(hipGraphGetNodes)>("hipGraphGetNodes")(graph, nullptr, &nodes) ==
              hipSuccess &&
          symbol<decltype(hipGraphInstantiate)>("hipGraphInstantiate")(&exec, graph, nullptr,
                                                                       nullptr, 0) == hipSuccess;
  if (!good || nodes != count)
    return state.SkipWithError(("HIP made a graph of " + std::to_string(nodes) + " nodes").c_str());
  measure(
      state, [&] { return launch_graph(exec, hip.stream) == hipSuccess; },
      [&] { return synchronize(hip.stream) == hipSuccess; }, count);
  (void)!symbol<decltype(hipGraphExecDestroy)>("hipGraphExecDestroy")(exec);
  (void)!symbol<decltype(hipGraphDestroy)>("hipGraphDestroy")(graph);
}

BENCHMARK(HipLaunchBuffer28)->UseManualTime()->Iterations(rounds());
BENCHMARK(HipGraph1000)->UseManualTime()->Iterations(rounds());

} // namespace
#endif
