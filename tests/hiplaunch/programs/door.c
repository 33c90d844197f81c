/* What programs for HIP 6 and 7 find in libamdhip64, by these types: names and versions, what HIP 6 has changed, what is
 * refused, and what HIP 5.2's library cannot be compared in. Argument 1 is modules.co. Prints what is wrong. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rawhal/hiplaunch.h>

#include "hiplaunch/hip/hip_calls.h"

typedef hipError_t get_address_t(const char *, void **, int, uint64_t,
                                 hipDriverProcAddressQueryResult *);
typedef hipError_t any_t(void);

static int wrong;
static void *library;

#define EXPECT(what) expect(what, #what, __LINE__)

static void expect(int holds, const char *what, int line)
{
  if (holds)
    return;
  printf("%d: %s; %s\n", line, what, hipRawhalLastMessage());
  wrong = 1;
}

/* ---- Names ---- */

static void names(void)
{
  get_address_t *get = (get_address_t *)dlsym(library, "hipGetProcAddress");
  hipDriverProcAddressQueryResult result = HIP_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  void *function = NULL;
  EXPECT(dlvsym(library, "hipMallocAsync", "hip_4.2") == dlsym(library, "hipMallocAsync"));
  EXPECT(dlvsym(library, "hipMallocAsync", "hip_5.1") != NULL);
  EXPECT(dlvsym(library, "hipMallocAsync", "hip_6.0") == NULL);
  if (!get) {
    EXPECT(get != NULL);
    return;
  }
  EXPECT(get("hipMalloc", &function, 700, 0, &result) == hipSuccess &&
         function == dlsym(library, "hipMalloc"));
  EXPECT(result == HIP_GET_PROC_ADDRESS_SUCCESS);
  EXPECT(get("hipGetDeviceProperties", &function, 600, 0, NULL) == hipSuccess);
  EXPECT(function == dlsym(library, "hipGetDevicePropertiesR0600"));
  EXPECT(get("hipGetDeviceProperties", &function, 500, 0, NULL) == hipSuccess);
  EXPECT(function == dlsym(library, "hipGetDeviceProperties"));
  EXPECT(get("hipNoSuchThing", &function, 700, 0, &result) == hipErrorNotFound && !function);
  EXPECT(result == HIP_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  EXPECT(get("malloc", &function, 700, 0, &result) == hipErrorNotFound); /* another library's */
  EXPECT(get("hipMalloc", &function, 700, 2, NULL) == hipErrorNotSupported);
  EXPECT(get(NULL, &function, 700, 0, NULL) == hipErrorInvalidValue);
}

static void refused(void)
{
  static const char *const calls[] = {"hipGraphCreate", "hipGraphLaunch_spt", "hipMalloc3DArray",
                                      "hipLibraryLoadData"};
  for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); ++i) {
    any_t *call = (any_t *)dlsym(library, calls[i]);
    EXPECT(call && call() == hipErrorNotSupported);
    EXPECT(!strncmp(hipRawhalLastMessage(), calls[i], strlen(calls[i])));
    EXPECT(hipGetLastError() == hipErrorNotSupported && hipGetLastError() == hipSuccess);
  }
}

/* ---- Devices ---- */

static void devices(void)
{
  hipDeviceProp_t old = {0};
  hipDeviceProp_tR0600 all;
  hipUUID uuid = {{0}};
  int value = 0, version = 0;
  char name[256] = "", small[4] = "", target[256];
  memset(&all, 0xff, sizeof(all));
  EXPECT(hipGetDevicePropertiesR0600(&all, 0) == hipSuccess &&
         hipGetDeviceProperties(&old, 0) == hipSuccess);
  EXPECT(!strcmp(all.name, old.name) && strlen(all.name) > 5 && strlen(all.name) < 40);
  EXPECT(!strncmp(all.gcnArchName, "gfx", 3) && !strcmp(all.gcnArchName, old.gcnArchName));
  EXPECT(all.totalGlobalMem == old.totalGlobalMem &&
         all.sharedMemPerBlock == old.sharedMemPerBlock);
  EXPECT(all.warpSize == 64 && all.multiProcessorCount == old.multiProcessorCount &&
         all.major == old.major);
  EXPECT(all.hostRegisterSupported == 1 && all.memoryPoolsSupported == 1 && !all.cooperativeLaunch);
  EXPECT(all.reserved[0] == 0 && all.asicRevision == 0); /* all of it is filled */
  EXPECT(hipDeviceGetName(name, sizeof(name), 0) == hipSuccess && !strcmp(name, all.name));
  EXPECT(hipDeviceGetName(small, sizeof(small), 0) == hipSuccess && strlen(small) == 3);
  EXPECT(hipDeviceGetUuid(&uuid, 0) == hipSuccess && !memcmp(&uuid, &all.uuid, sizeof(uuid)) &&
         uuid.bytes[0]);
  snprintf(target, sizeof(target), "%s", all.gcnArchName);
  EXPECT(hipDeviceGetAttribute(&value, hipDeviceAttributeMultiprocessorCount, 0) == hipSuccess &&
         value == all.multiProcessorCount);
  EXPECT(hipDeviceGetAttribute(&value, hipDeviceAttributeTotalGlobalMem, 0) == hipSuccess &&
         value > 0);
  EXPECT(hipDeviceGetAttribute(&value, hipDeviceAttributeVirtualMemoryManagementSupported, 0) ==
             hipSuccess &&
         !value);
  EXPECT(hipDriverGetVersion(&version) == hipSuccess && version >= 60000000);
}

/* ---- Pointers: HIP 6 counts kinds of memory otherwise, and knows pointers that it does not know ---- */

static void pointers(void)
{
  static int plain;
  hipPointerAttribute_t attributes;
  char *device = NULL;
  void *managed = NULL, *host = NULL, *answer = NULL, *start = NULL;
  unsigned size = 0;
  int ordinal = 5;
  EXPECT(hipMalloc((void **)&device, 4096) == hipSuccess &&
         hipHostMalloc(&host, 100, 0) == hipSuccess &&
         hipMallocManaged(&managed, 64, 1) == hipSuccess);
  EXPECT(hipPointerGetAttributes(&attributes, device + 8) == hipSuccess);
  EXPECT(attributes.memoryType == HIP6_MEMORY_DEVICE && attributes.devicePointer == device + 8 &&
         !attributes.hostPointer);
  EXPECT(hipPointerGetAttributes(&attributes, host) == hipSuccess);
  EXPECT(attributes.memoryType == HIP6_MEMORY_HOST && attributes.hostPointer == host &&
         attributes.devicePointer == host);
  EXPECT(hipPointerGetAttributes(&attributes, managed) == hipSuccess);
  EXPECT(attributes.memoryType == HIP6_MEMORY_MANAGED && attributes.isManaged);
  EXPECT(hipPointerGetAttributes(&attributes, &plain) == hipSuccess);
  EXPECT(attributes.memoryType == HIP6_MEMORY_UNREGISTERED && attributes.device == -2 &&
         !attributes.devicePointer);
  EXPECT(hipPointerGetAttribute(&answer, HIP_POINTER_ATTRIBUTE_DEVICE_POINTER, device + 16) ==
             hipSuccess &&
         answer == device + 16);
  EXPECT(hipPointerGetAttribute(&answer, HIP_POINTER_ATTRIBUTE_DEVICE_POINTER, &plain) ==
         hipErrorInvalidValue);
  EXPECT(hipPointerGetAttribute(&answer, HIP_POINTER_ATTRIBUTE_HOST_POINTER, device) ==
             hipErrorInvalidValue &&
         !answer);
  EXPECT(hipPointerGetAttribute(&answer, (hipPointer_attribute)5, device) == hipErrorNotSupported);
  hipPointer_attribute wanted[] = {HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                   HIP_POINTER_ATTRIBUTE_RANGE_SIZE,
                                   HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  void *values[] = {&start, &size, &ordinal};
  EXPECT(hipDrvPointerGetAttributes(3, wanted, values, device + 100) == hipSuccess);
  EXPECT(start == device && size == 4096 && ordinal == 0);
  EXPECT(hipDrvPointerGetAttributes(3, wanted, values, &plain) == hipSuccess && !start && !size &&
         ordinal == -2);
  EXPECT(hipFree(device) == hipSuccess && hipHostFree(host) == hipSuccess &&
         hipFree(managed) == hipSuccess);
  EXPECT(hipPointerGetAttribute(&answer, HIP_POINTER_ATTRIBUTE_DEVICE_POINTER, device) ==
         hipErrorInvalidValue);
}

/* ---- Kernels ---- */

static hipFunction_t scale;
static float *memory; /* of the host, for kernels */

static void load(const char *path)
{
  hipModule_t module = NULL;
  EXPECT(hipModuleLoad(&module, path) == hipSuccess &&
         hipModuleGetFunction(&scale, module, "scale") == hipSuccess);
  EXPECT(hipHostMalloc((void **)&memory, 4096, 0) == hipSuccess);
}

static void launches(hipStream_t stream)
{
  float *in = memory, *out = memory + 256, by = 2;
  unsigned char add = 0;
  unsigned n = 256;
  void *arguments[] = {&out, &in, &by, &add, &n};
  hipLaunchAttribute attributes[] = {{.id = hipLaunchAttributeCooperative, .val.cooperative = 1}};
  HIP_LAUNCH_CONFIG config = {4, 1, 1, 64, 1, 1, 0, stream, attributes, 1};
  hipEvent_t start = NULL, stop = NULL;
  float time = -1;
  for (int i = 0; i < 256; ++i)
    in[i] = 1;
  EXPECT(hipDrvLaunchKernelEx(&config, scale, arguments, NULL) == hipSuccess);
  EXPECT(hipStreamSynchronize(stream) == hipSuccess && out[0] == 5 && out[255] == 5);
  attributes[0].id = (hipLaunchAttributeID)4;
  EXPECT(hipDrvLaunchKernelEx(&config, scale, arguments, NULL) == hipErrorNotSupported);
  EXPECT(hipModuleLaunchCooperativeKernel(scale, 1u << 20, 1, 1, 64, 1, 1, 0, stream, arguments) ==
         hipErrorCooperativeLaunchTooLarge);
  EXPECT(hipEventCreate(&start) == hipSuccess && hipEventCreate(&stop) == hipSuccess);
  by = 3; /* a grid in work-items */
  EXPECT(hipExtModuleLaunchKernel(scale, 128, 1, 1, 64, 1, 1, 0, stream, arguments, NULL, start,
                                  stop, 0) == hipSuccess);
  EXPECT(hipStreamSynchronize(stream) == hipSuccess && out[127] == 6 && out[128] == 5);
  EXPECT(hipEventElapsedTime(&time, start, stop) == hipSuccess && time >= 0);
  EXPECT(hipExtModuleLaunchKernel(scale, 100, 1, 1, 64, 1, 1, 0, stream, arguments, NULL, NULL,
                                  NULL, 0) == hipErrorInvalidValue);
  EXPECT(hipEventDestroy(start) == hipSuccess && hipEventDestroy(stop) == hipSuccess);
}

/* ---- Memory of the program's own, at its own address ---- */

static void registered(hipStream_t stream)
{
  static float own[1000]; /* of no page's size, and at no page's start */
  float *out = own + 1, *in = own + 500, by = 2, copied[8], *device = NULL;
  unsigned char add = 0;
  unsigned n = 200;
  void *arguments[] = {&out, &in, &by, &add, &n};
  hipPointerAttribute_t attributes;
  for (int i = 0; i < 1000; ++i)
    own[i] = 1;
  EXPECT(hipHostRegister(own, sizeof(own) / 2, 0) == hipSuccess);
  EXPECT(hipHostRegister(own + 1, 64, 0) == hipErrorHostMemoryAlreadyRegistered);
  EXPECT(hipHostRegister(NULL, 64, 0) == hipErrorInvalidValue &&
         hipHostRegister(own, 0, 0) == hipErrorInvalidValue);
  EXPECT(hipPointerGetAttributes(&attributes, own + 3) == hipSuccess &&
         attributes.memoryType == HIP6_MEMORY_HOST);
  EXPECT(attributes.devicePointer == own + 3 && hipFree(own) == hipErrorInvalidDevicePointer);
  /* A copy that goes beyond what is registered is one of plain memory. */
  EXPECT(hipMalloc((void **)&device, sizeof(own)) == hipSuccess);
  EXPECT(hipMemcpy(device, own, sizeof(own), hipMemcpyHostToDevice) == hipSuccess);
  EXPECT(hipMemcpyHtoDAsync(device, own, sizeof(own), stream) == hipSuccess);
  EXPECT(hipMemcpyDtoHAsync(copied, device + 996, 16, stream) == hipSuccess &&
         hipStreamSynchronize(stream) == hipSuccess);
  EXPECT(copied[3] == 1 && hipFree(device) == hipSuccess);
  EXPECT(hipHostUnregister(own + 1) == hipErrorHostMemoryNotRegistered &&
         hipHostUnregister(own) == hipSuccess);
  EXPECT(hipHostUnregister(own) == hipErrorHostMemoryNotRegistered);
  EXPECT(hipHostRegister(own, sizeof(own), 0) == hipSuccess);
  EXPECT(hipModuleLaunchKernel(scale, 4, 1, 1, 64, 1, 1, 0, stream, arguments, NULL) == hipSuccess);
  EXPECT(hipStreamSynchronize(stream) == hipSuccess && own[0] == 1 && own[1] == 5 &&
         own[200] == 5 && own[201] == 1);
  EXPECT(hipHostUnregister(own) == hipSuccess);
}

/* ---- The program's functions ---- */

static atomic_int calls;
static hipStream_t own;

static void function(void *data)
{
  EXPECT(calls > 1 ||
         hipStreamSynchronize(own) == hipErrorNotPermitted); /* it would wait for itself */
  *(float *)data *= 10;
  ++calls;
}

/* What comes later sees what a function wrote, on its stream and, by way of the null stream, on others. */
static void functions(void)
{
  hipStream_t other = NULL;
  float *out = memory + 1, *in = memory, by = 1;
  unsigned char add = 0;
  unsigned n = 1;
  void *arguments[] = {&out, &in, &by, &add, &n};
  EXPECT(hipStreamCreate(&own) == hipSuccess && hipStreamCreate(&other) == hipSuccess);
  memory[0] = 1;
  EXPECT(hipLaunchHostFunc(own, function, memory) == hipSuccess);
  EXPECT(hipLaunchHostFunc(own, function, memory) == hipSuccess);
  EXPECT(hipModuleLaunchKernel(scale, 1, 1, 1, 64, 1, 1, 0, NULL, arguments, NULL) == hipSuccess);
  EXPECT(hipStreamSynchronize(NULL) == hipSuccess && calls == 2 && memory[1] == 103);
  EXPECT(hipLaunchHostFunc(NULL, function, memory + 1) == hipSuccess);
  in = memory + 1, out = memory + 2;
  EXPECT(hipModuleLaunchKernel(scale, 1, 1, 1, 64, 1, 1, 0, other, arguments, NULL) == hipSuccess);
  EXPECT(hipStreamSynchronize(other) == hipSuccess && calls == 3 && memory[2] == 1033);
  EXPECT(hipLaunchHostFunc(own, NULL, memory) == hipErrorInvalidValue);
  EXPECT(hipLaunchHostFunc(own, function, memory) == hipSuccess &&
         hipStreamDestroy(own) == hipSuccess && calls == 4);
  EXPECT(hipStreamDestroy(other) == hipSuccess);
}

/* ---- Fills of every size and place ---- */

static void fills(hipStream_t stream)
{
  unsigned char bytes[32], wanted[32];
  char *device = NULL;
  EXPECT(hipMalloc((void **)&device, sizeof(bytes)) == hipSuccess);
  for (unsigned at = 0; at < 8; ++at)
    for (unsigned count = 0; count < 12; ++count) {
      unsigned unit = 1u << (at % 3); /* a unit's multiple from its start */
      unsigned from = at / 3 * unit, size = unit * (count % 5);
      uint32_t value = 0x44332211;
      memset(wanted, 0xee, sizeof(wanted));
      for (unsigned i = 0; i < size; ++i)
        wanted[from + i] = ((unsigned char *)&value)[i % unit];
      EXPECT(hipMemsetD8(device, 0xee, sizeof(bytes)) == hipSuccess);
      EXPECT((unit == 1 ? hipMemsetD8Async(device + from, 0x11, size, stream)
              : unit == 2
                  ? hipMemsetD16Async(device + from, 0x2211, size / 2, stream)
                  : hipMemsetD32Async(device + from, (int)value, size / 4, stream)) == hipSuccess);
      EXPECT(hipMemcpyDtoHAsync(bytes, device, sizeof(bytes), stream) == hipSuccess &&
             hipStreamSynchronize(stream) == hipSuccess);
      EXPECT(!memcmp(bytes, wanted, sizeof(bytes)));
    }
  EXPECT(hipMemsetD32(device + 2, 0, 1) == hipErrorInvalidValue);
  EXPECT(hipMemsetD32(device, 0, SIZE_MAX / 2) == hipErrorInvalidValue);
  EXPECT(hipFree(device) == hipSuccess);
}

/* ---- Pools ---- */

static uint64_t used_of(hipMemPool_t pool, hipMemPoolAttr attribute)
{
  uint64_t used = 12345;
  EXPECT(hipMemPoolGetAttribute(pool, attribute, &used) == hipSuccess);
  return used;
}

static void pools(hipStream_t stream)
{
  hipMemPoolProps properties = {.allocType = hipMemAllocationTypePinned,
                                .location = {.type = hipMemLocationTypeDevice, .id = 0}};
  hipMemPool_t pool = NULL, standard = NULL, found = NULL;
  void *memory_of_pool = NULL, *plain = NULL;
  uint64_t nothing = 0;
  EXPECT(hipDeviceGetDefaultMemPool(&standard, 0) == hipSuccess &&
         hipMemPoolCreate(&pool, &properties) == hipSuccess);
  EXPECT(hipMallocFromPoolAsync(&memory_of_pool, 1000, pool, stream) == hipSuccess);
  EXPECT(used_of(pool, hipMemPoolAttrUsedMemCurrent) == 1000);
  EXPECT(hipFreeAsync(memory_of_pool, stream) == hipSuccess &&
         hipStreamSynchronize(stream) == hipSuccess);
  EXPECT(hipFreeAsync(memory_of_pool, stream) == hipErrorInvalidValue);
  EXPECT(hipMemcpyHtoD(memory_of_pool, properties.reserved, 4) ==
         hipErrorInvalidValue); /* it is gone */
  EXPECT(used_of(pool, hipMemPoolAttrUsedMemHigh) == 1000);
  EXPECT(hipMemPoolSetAttribute(pool, hipMemPoolAttrUsedMemHigh, &nothing) == hipSuccess);
  EXPECT(hipDeviceSetMemPool(0, pool) == hipSuccess &&
         hipDeviceGetMemPool(&found, 0) == hipSuccess && found == pool);
  EXPECT(hipMallocAsync(&memory_of_pool, 64, stream) == hipSuccess);
  EXPECT(used_of(pool, hipMemPoolAttrUsedMemCurrent) >= 64);
  EXPECT(hipMemPoolDestroy(pool) == hipSuccess); /* its memory stays until it is freed */
  EXPECT(hipMemPoolDestroy(pool) == hipErrorInvalidValue);
  EXPECT(hipDeviceGetMemPool(&found, 0) == hipSuccess && found == standard);
  EXPECT(hipMemsetAsync(memory_of_pool, 0, 64, stream) == hipSuccess &&
         hipFree(memory_of_pool) == hipSuccess);
  EXPECT(hipMalloc(&plain, 64) == hipSuccess && hipFreeAsync(plain, stream) == hipSuccess);
  EXPECT(hipMemPoolDestroy(standard) == hipErrorInvalidValue);
}

/* ---- Where memory ends: at the byte that was asked for ---- */

static void bounds(void)
{
  hipStream_t stream = NULL;
  float *out = NULL, *in = memory, by = 1;
  unsigned char add = 0;
  unsigned n = 3;
  void *arguments[] = {&out, &in, &by, &add, &n};
  EXPECT(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking) == hipSuccess);
  EXPECT(hipMalloc((void **)&out, 12) == hipSuccess &&
         hipMemcpyHtoD(out, memory, 16) == hipErrorInvalidValue);
  EXPECT(hipModuleLaunchKernel(scale, 1, 1, 1, 64, 1, 1, 0, stream, arguments, NULL) == hipSuccess);
  EXPECT(hipStreamSynchronize(stream) == hipSuccess);
  n = 4;
  EXPECT(hipModuleLaunchKernel(scale, 1, 1, 1, 64, 1, 1, 0, stream, arguments, NULL) == hipSuccess);
  EXPECT(hipStreamSynchronize(stream) == hipErrorLaunchFailure);
  EXPECT(hipFree(out) == hipSuccess);
}

int main(int argc, char **argv)
{
  hipStream_t stream = NULL;
  (void)argc;
  library = dlopen("libamdhip64.so.7", RTLD_NOLOAD | RTLD_NOW);
  EXPECT(library != NULL && dlopen("libamdhip64.so.6", RTLD_NOW) == library);
  if (!library)
    return 1;
  names();
  refused();
  devices();
  pointers();
  load(argv[1]);
  EXPECT(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking) == hipSuccess);
  launches(stream);
  registered(stream);
  functions();
  fills(stream);
  pools(stream);
  EXPECT(hipStreamDestroy(stream) == hipSuccess && hipDeviceSynchronize() == hipSuccess);
  bounds();
  puts(wrong ? "wrong" : "as it should be");
  return wrong;
}
