/* What this library gives programs, in HIP's own words. Internal; `exports.txt` lists the same
 * names. A test compiles these declarations after HIP's own, where those are installed. */
#ifndef RAWHAL_HIPLAUNCH_HIP_CALLS_H
#define RAWHAL_HIPLAUNCH_HIP_CALLS_H

#ifndef RAWHAL_HIPLAUNCH_OTHER_TYPES
#include "hiplaunch/hip_types.h"
#endif

#pragma GCC visibility push(default)

/* What hipcc's code calls by itself (clang, lib/CodeGen/CGCUDANV.cpp). */
void **__hipRegisterFatBinary(const void *wrapper);
void __hipUnregisterFatBinary(void **handle);
void __hipRegisterFunction(void **handle, const void *host, char *device, const char *name,
                           unsigned thread_limit, void *tid, void *bid, void *block, void *grid,
                           int *wave_size);
void __hipRegisterVar(void **handle, void *host, char *host_name, char *name, int external,
                      size_t size, int constant, int global);
void __hipRegisterManagedVar(void *handle, void **pointer, void *initial, const char *name,
                             size_t size, unsigned alignment);
hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t shared, hipStream_t stream);
hipError_t __hipPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, hipStream_t *stream);

/* Kernels */
hipError_t hipLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments,
                           size_t shared, hipStream_t stream);
hipError_t hipFuncGetAttributes(hipFuncAttributes *attributes, const void *function);
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function,
                                                        int block_size, size_t shared);
hipError_t hipOccupancyMaxPotentialBlockSize(int *grid_size, int *block_size, const void *function,
                                             size_t shared, int limit);

/* Modules */
hipError_t hipModuleLoad(hipModule_t *module, const char *path);
hipError_t hipModuleLoadData(hipModule_t *module, const void *image);
hipError_t hipModuleUnload(hipModule_t module);
hipError_t hipModuleGetFunction(hipFunction_t *function, hipModule_t module, const char *name);
hipError_t hipModuleGetGlobal(hipDeviceptr_t *address, size_t *size, hipModule_t module,
                              const char *name);
hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned grid_x, unsigned grid_y,
                                 unsigned grid_z, unsigned block_x, unsigned block_y,
                                 unsigned block_z, unsigned shared, hipStream_t stream,
                                 void **arguments, void **extra);

/* Memory */
hipError_t hipMalloc(void **pointer, size_t size);
hipError_t hipFree(void *pointer);
hipError_t hipHostMalloc(void **pointer, size_t size, unsigned flags);
hipError_t hipHostFree(void *pointer);
hipError_t hipMallocManaged(void **pointer, size_t size, unsigned flags);
hipError_t hipMemGetInfo(size_t *available, size_t *total);
hipError_t hipMemcpy(void *to, const void *from, size_t size, hipMemcpyKind kind);
hipError_t hipMemcpyAsync(void *to, const void *from, size_t size, hipMemcpyKind kind,
                          hipStream_t stream);
hipError_t hipMemcpyWithStream(void *to, const void *from, size_t size, hipMemcpyKind kind,
                               hipStream_t stream);
hipError_t hipMemcpyHtoD(hipDeviceptr_t to, void *from, size_t size);
hipError_t hipMemcpyDtoH(void *to, hipDeviceptr_t from, size_t size);
hipError_t hipMemcpyDtoD(hipDeviceptr_t to, hipDeviceptr_t from, size_t size);
hipError_t hipMemset(void *to, int value, size_t size);
hipError_t hipMemsetAsync(void *to, int value, size_t size, hipStream_t stream);

/* Variables */
hipError_t hipGetSymbolAddress(void **address, const void *symbol);
hipError_t hipGetSymbolSize(size_t *size, const void *symbol);
hipError_t hipMemcpyToSymbol(const void *symbol, const void *from, size_t size, size_t offset,
                             hipMemcpyKind kind);
hipError_t hipMemcpyToSymbolAsync(const void *symbol, const void *from, size_t size, size_t offset,
                                  hipMemcpyKind kind, hipStream_t stream);
hipError_t hipMemcpyFromSymbol(void *to, const void *symbol, size_t size, size_t offset,
                               hipMemcpyKind kind);
hipError_t hipMemcpyFromSymbolAsync(void *to, const void *symbol, size_t size, size_t offset,
                                    hipMemcpyKind kind, hipStream_t stream);

/* Streams and events */
hipError_t hipStreamCreate(hipStream_t *stream);
hipError_t hipStreamCreateWithFlags(hipStream_t *stream, unsigned flags);
hipError_t hipStreamCreateWithPriority(hipStream_t *stream, unsigned flags, int priority);
hipError_t hipDeviceGetStreamPriorityRange(int *least, int *greatest);
hipError_t hipStreamDestroy(hipStream_t stream);
hipError_t hipStreamQuery(hipStream_t stream);
hipError_t hipStreamSynchronize(hipStream_t stream);
hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags);
hipError_t hipEventCreate(hipEvent_t *event);
hipError_t hipEventCreateWithFlags(hipEvent_t *event, unsigned flags);
hipError_t hipEventDestroy(hipEvent_t event);
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream);
hipError_t hipEventQuery(hipEvent_t event);
hipError_t hipEventSynchronize(hipEvent_t event);
hipError_t hipEventElapsedTime(float *milliseconds, hipEvent_t start, hipEvent_t stop);

/* Devices and errors */
hipError_t hipInit(unsigned flags);
hipError_t hipGetDeviceCount(int *count);
hipError_t hipGetDevice(int *device);
hipError_t hipSetDevice(int device);
hipError_t hipDeviceGet(hipDevice_t *device, int ordinal);
hipError_t hipDeviceGetName(char *name, int size, hipDevice_t device);
hipError_t hipGetDeviceProperties(hipDeviceProp_t *properties, int device);
hipError_t hipDeviceSynchronize(void);
hipError_t hipRuntimeGetVersion(int *version);
hipError_t hipDriverGetVersion(int *version);
hipError_t hipGetLastError(void);
hipError_t hipPeekAtLastError(void);
const char *hipGetErrorName(hipError_t error);
const char *hipGetErrorString(hipError_t error);

#pragma GCC visibility pop

#endif
