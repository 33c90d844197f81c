/* What thunks after 5.2 export beyond it and this device has not, as in stubs_table.c: not to be
 * compiled with any header that declares these functions. */
#include <hsakmttypes.h>

#define REFUSE(name)                                                                               \
  __attribute__((visibility("default"))) HSAKMT_STATUS name(void);                                 \
  HSAKMT_STATUS name(void)                                                                         \
  {                                                                                                \
    return HSAKMT_STATUS_NOT_SUPPORTED;                                                            \
  }

/* Debugger, counters, samples, events of the driver. */
REFUSE(hsaKmtCheckRuntimeDebugSupport)
REFUSE(hsaKmtDebugTrapIoctl)
REFUSE(hsaKmtDbgEnable)
REFUSE(hsaKmtDbgDisable)
REFUSE(hsaKmtDbgGetDeviceData)
REFUSE(hsaKmtDbgGetQueueData)
REFUSE(hsaKmtGetCoreRuntimeInfo)
REFUSE(hsaKmtGetCoreDeviceInfo)
REFUSE(hsaKmtGetKernelQueueId)
REFUSE(hsaKmtOpenSMI)
REFUSE(hsaKmtPcSamplingSupport)
REFUSE(hsaKmtPcSamplingQueryCapabilities)
REFUSE(hsaKmtPcSamplingCreate)
REFUSE(hsaKmtPcSamplingDestroy)
REFUSE(hsaKmtPcSamplingStart)
REFUSE(hsaKmtPcSamplingStop)
REFUSE(hsaKmtSetSigbusDelay)

/* Memory by file descriptors and by handles without an address. */
REFUSE(hsaKmtExportDMABufHandle)
REFUSE(hsaKmtRegisterGraphicsHandleToNodesExt)
REFUSE(hsaKmtGetMemoryHandle)
REFUSE(hsaKmtGetAmdGPUDeviceFd)
REFUSE(hsaKmtHandleImport)
REFUSE(hsaKmtHandleExport)
REFUSE(hsaKmtMemHandleFree)
REFUSE(hsaKmtMemHandleFreePreserveMetadata)
REFUSE(hsaKmtMemoryVaMap)
REFUSE(hsaKmtMemoryVaUnmap)
REFUSE(hsaKmtMemoryCpuMap)
REFUSE(hsaKmtMemoryGetCpuAddr)

/* Semaphores of graphics drivers, files read by the device, pages of AddressSanitizer. */
REFUSE(hsaKmtImportExternalSemaphore)
REFUSE(hsaKmtDestroyExternalSemaphore)
REFUSE(hsaKmtQueueSignalExternalSemaphore)
REFUSE(hsaKmtQueueWaitExternalSemaphore)
REFUSE(hsaKmtAisReadWriteFile)
REFUSE(hsaKmtReplaceAsanHeaderPage)
REFUSE(hsaKmtReturnAsanHeaderPage)
