/* What programs that load code themselves call, in C: contexts, attributes, host memory, memory in a stream's order,
 * the program's own functions, fills. Argument 1 is modules.co. It prints what it sees: two runtimes have to agree. */
#include <hip/hip_runtime_api.h>

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HIP(call) said(#call, call)

static void said(const char *call, hipError_t status)
{
  if (status != hipSuccess)
    printf("%s: %s\n", call, hipGetErrorName(status));
}

static void *image;

static void read_image(const char *path)
{
  FILE *file = fopen(path, "rb");
  fseek(file, 0, SEEK_END);
  size_t size = (size_t)ftell(file);
  rewind(file);
  image = malloc(size);
  if (fread(image, 1, size, file) != size)
    exit(1);
  fclose(file);
}

/* ---- Devices and contexts ---- */

static void devices(void)
{
  static const int attributes[] = {hipDeviceAttributeComputeCapabilityMajor,
                                   hipDeviceAttributeComputeCapabilityMinor,
                                   hipDeviceAttributeWarpSize,
                                   hipDeviceAttributeMaxThreadsPerBlock,
                                   hipDeviceAttributeMaxBlockDimX,
                                   hipDeviceAttributeMaxBlockDimY,
                                   hipDeviceAttributeMaxBlockDimZ,
                                   hipDeviceAttributeMaxGridDimX,
                                   hipDeviceAttributeMaxSharedMemoryPerBlock,
                                   hipDeviceAttributeMaxSharedMemoryPerMultiprocessor,
                                   hipDeviceAttributeMultiprocessorCount,
                                   hipDeviceAttributeMaxThreadsPerMultiProcessor,
                                   hipDeviceAttributeClockRate,
                                   hipDeviceAttributeMemoryClockRate,
                                   hipDeviceAttributeMemoryBusWidth,
                                   hipDeviceAttributeL2CacheSize,
                                   hipDeviceAttributeMaxRegistersPerBlock,
                                   hipDeviceAttributePciBusId,
                                   hipDeviceAttributePciDeviceId,
                                   hipDeviceAttributeConcurrentKernels,
                                   hipDeviceAttributeCanMapHostMemory,
                                   hipDeviceAttributeManagedMemory,
                                   hipDeviceAttributeKernelExecTimeout,
                                   hipDeviceAttributeComputeMode,
                                   hipDeviceAttributeIntegrated,
                                   hipDeviceAttributeTotalConstantMemory};
  for (size_t i = 0; i < sizeof(attributes) / sizeof(*attributes); ++i) {
    int value = -1;
    HIP(hipDeviceGetAttribute(&value, attributes[i], 0));
    printf("attribute %d: %d\n", attributes[i], value);
  }
  int value, other = -1, can = -1, major = 0, minor = 0;
  size_t size = 0;
  char name[32] = "";
  HIP(hipDeviceGetAttribute(&value, 9998, 0));
  HIP(hipDeviceGetAttribute(NULL, hipDeviceAttributeWarpSize, 0));
  HIP(hipDeviceGetAttribute(&value, hipDeviceAttributeWarpSize, 7));
  HIP(hipDeviceTotalMem(&size, 0));
  HIP(hipDeviceComputeCapability(&major, &minor, 0));
  HIP(hipDeviceGetPCIBusId(name, sizeof(name), 0));
  HIP(hipDeviceGetByPCIBusId(&other, name));
  HIP(hipDeviceCanAccessPeer(&can, 0, 0));
  printf("%zu bytes, %d.%d, %s is %d, peer of itself: %d\n", size, major, minor, name, other, can);

  hipCtx_t context = NULL, current = NULL;
  hipDevice_t device = -1;
  HIP(hipDevicePrimaryCtxRetain(&context, 0));
  HIP(hipCtxPushCurrent(context));
  HIP(hipCtxGetCurrent(&current));
  HIP(hipCtxGetDevice(&device));
  printf("context: %d, device %d\n", context == current, device);
  HIP(hipCtxSetCurrent(context));
  HIP(hipCtxPopCurrent(&current));
  printf("popped: %d\n", context == current);
  HIP(hipDevicePrimaryCtxRelease(0));
}

/* ---- Kernels ---- */

static hipFunction_t scale;

static void kernels(void)
{
  hipModule_t module = NULL;
  HIP(hipModuleLoadDataEx(&module, image, 0, NULL, NULL));
  HIP(hipModuleGetFunction(&scale, module, "scale"));
  for (int i = HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK; i <= HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES;
       ++i) {
    int value = -1;
    HIP(hipFuncGetAttribute(&value, (hipFunction_attribute)i, scale));
    printf("function attribute %d: %d\n", i, value);
  }
  int blocks = 0;
  HIP(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, scale, 256, 0));
  printf("%d blocks\n", blocks);
  HIP(hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, scale, 256, 32768, 0));
  printf("%d blocks with LDS\n", blocks);
}

static void run(hipStream_t stream, float *out, const float *in, float by)
{
  unsigned char add = 0;
  unsigned n = 64;
  void *arguments[] = {&out, &in, &by, &add, &n};
  HIP(hipModuleLaunchKernel(scale, 1, 1, 1, 64, 1, 1, 0, stream, arguments, NULL));
}

/* ---- Fills and copies ---- */

static void fills(hipStream_t stream)
{
  unsigned char bytes[64];
  hipDeviceptr_t memory = NULL;
  HIP(hipMalloc(&memory, sizeof(bytes)));
  HIP(hipMemsetD8(memory, 0xee, sizeof(bytes)));
  HIP(hipMemsetD8Async((char *)memory + 16, 0x11, 16,
                       stream)); /* aligned: HIP 5.2 fills on and on otherwise */
  HIP(hipMemsetD16Async((char *)memory + 32, 0x2233, 8, stream));
  HIP(hipMemsetD32Async((char *)memory + 48, 0x44556677, 4, stream));
  HIP(hipStreamSynchronize(stream));
  HIP(hipMemsetD16((char *)memory + 32, (short)0x8899, 4));
  HIP(hipMemsetD32((char *)memory + 48, (int)0xaabbccdd, 2));
  HIP(hipMemcpyDtoHAsync(bytes, memory, sizeof(bytes), stream));
  HIP(hipStreamSynchronize(stream));
  for (size_t i = 0; i < sizeof(bytes); ++i)
    printf("%02x%s", bytes[i], i % 16 == 15 ? "\n" : "");
  hipDeviceptr_t second = NULL, start = NULL;
  size_t size = 0;
  HIP(hipMalloc(&second, sizeof(bytes)));
  HIP(hipMemcpyDtoDAsync(second, memory, sizeof(bytes), stream));
  HIP(hipMemcpyHtoDAsync((char *)second + 60, bytes, 4, stream));
  HIP(hipMemcpyDtoHAsync(bytes, second, sizeof(bytes), stream));
  HIP(hipStreamSynchronize(stream));
  printf("%02x %02x\n", bytes[0], bytes[60]);
  HIP(hipMemGetAddressRange(&start, &size, (char *)second + 20));
  printf("start %d, size %zu\n", start == second, size);
  HIP(hipFree(memory));
  HIP(hipFree(second));
}

/* ---- Host memory ---- */

static void host_memory(hipStream_t stream)
{
  float *pinned = NULL, *seen = NULL;
  unsigned flags = 9;
  HIP(hipHostMalloc((void **)&pinned, 512, hipHostMallocMapped));
  HIP(hipHostGetDevicePointer((void **)&seen, pinned + 4, 0));
  HIP(hipHostGetFlags(&flags, pinned));
  printf("mapped in place: %d, flags %u\n", seen == pinned + 4, flags);
  HIP(hipHostGetDevicePointer((void **)&seen, &flags, 0));
  HIP(hipHostFree(pinned));

  float *own = aligned_alloc(4096, 8192);
  for (int i = 0; i < 2048; ++i)
    own[i] = (float)i;
  HIP(hipHostRegister(own, 8192, hipHostRegisterDefault));
  HIP(hipHostGetDevicePointer((void **)&seen, own + 1024, 0));
  run(stream, seen, seen - 1024, 2.0f);
  HIP(hipStreamSynchronize(stream));
  printf("registered: %g %g\n", (double)own[1024], (double)own[1087]);
  HIP(hipHostRegister(NULL, 8192, 0));
  HIP(hipHostUnregister(own));
  free(own);
}

/* ---- Memory in a stream's order ---- */

static void pools(hipStream_t stream)
{
  float *in = NULL, *out = NULL, results[64], ones[64];
  hipMemPool_t pool = NULL, current = NULL;
  uint64_t threshold = 77, used = 0;
  for (int i = 0; i < 64; ++i)
    ones[i] = 1.0f;
  HIP(hipMallocAsync((void **)&in, sizeof(ones), stream));
  HIP(hipMallocAsync((void **)&out, sizeof(ones), stream));
  HIP(hipMemcpyHtoDAsync(in, ones, sizeof(ones), stream));
  run(stream, out, in, 4.0f);
  HIP(hipFreeAsync(in, stream));
  HIP(hipMemcpyDtoHAsync(results, out, sizeof(results), stream));
  HIP(hipFreeAsync(out, stream));
  HIP(hipStreamSynchronize(stream));
  printf("%g %g\n", (double)results[0], (double)results[63]);
  HIP(hipDeviceGetDefaultMemPool(&pool, 0));
  HIP(hipDeviceGetMemPool(&current, 0));
  HIP(hipMemPoolSetAttribute(pool, hipMemPoolAttrReleaseThreshold, &threshold));
  threshold = 0;
  HIP(hipMemPoolGetAttribute(pool, hipMemPoolAttrReleaseThreshold, &threshold));
  printf("default: %d, threshold %llu\n", pool == current, (unsigned long long)threshold);
  hipMemPoolProps properties = {.allocType = hipMemAllocationTypePinned,
                                .location = {.type = hipMemLocationTypeDevice, .id = 0}};
  HIP(hipMemPoolCreate(&pool, &properties));
  HIP(hipMallocFromPoolAsync((void **)&in, 4096, pool, stream));
  HIP(hipMemPoolGetAttribute(pool, hipMemPoolAttrUsedMemCurrent, &used));
  printf("used: %llu\n", (unsigned long long)used);
  HIP(hipFreeAsync(in, stream));
  HIP(hipStreamSynchronize(stream));
  HIP(hipMemPoolTrimTo(pool, 0));
  HIP(hipMemPoolDestroy(pool));
}

/* ---- The program's functions ---- */

static _Atomic int count;

static void counted(hipStream_t stream, hipError_t status, void *data)
{
  (void)stream;
  float *result = data;
  printf("called: %s, %g\n", hipGetErrorName(status), (double)*result);
  *result = -5.0f;
  ++count;
}

static void functions(hipStream_t stream)
{
  float *memory = NULL;
  unsigned flags = 9;
  int priority = 9;
  HIP(hipHostMalloc((void **)&memory, 4096, 0));
  for (int i = 0; i < 64; ++i)
    memory[i] = 3.0f;
  run(stream, memory + 64, memory, 5.0f);
  HIP(hipStreamAddCallback(stream, counted, memory + 64, 0));
  run(stream, memory + 128, memory + 64, 2.0f); /* sees what the callback wrote */
  HIP(hipStreamSynchronize(stream));
  printf("%d calls, %g\n", count, (double)memory[128]);
  HIP(hipStreamGetFlags(stream, &flags));
  HIP(hipStreamGetPriority(stream, &priority));
  printf("flags %u, priority %d\n", flags, priority);
  HIP(hipHostFree(memory));
}

int main(int argc, char **argv)
{
  (void)argc;
  hipStream_t stream = NULL;
  setvbuf(stdout, NULL, _IOLBF, 0);
  read_image(argv[1]);
  HIP(hipInit(0));
  devices();
  kernels();
  HIP(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  fills(stream);
  host_memory(stream);
  pools(stream);
  functions(stream);
  free(
      image); /* the stream stays: HIP 5.2 does not return from destroying one that has had a callback */
}
