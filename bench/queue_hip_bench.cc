// What the same launch costs through HIP on the same softgpu, paused as well:
// hipModuleLaunchKernel() with a prepacked buffer. HIP is opened, not linked, and has this process
// for itself; without it the bench says so.
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

void HipLaunchBuffer28(benchmark::State &state)
{
  static Hip hip;
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

BENCHMARK(HipLaunchBuffer28)->UseManualTime()->Iterations(rounds());

} // namespace
#endif
