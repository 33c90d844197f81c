/* Every other function the real library exports. What the device has no notion of is accepted where
 * the runtime insists, and refused otherwise. The definitions take no arguments, which the calling
 * convention of x86-64 lets a caller not notice; so this file must not see hsakmt.h. */
#include <hsakmttypes.h>

#define ANSWER(name, status)                                                                       \
  __attribute__((visibility("default"))) HSAKMT_STATUS name(void);                                 \
  HSAKMT_STATUS name(void)                                                                         \
  {                                                                                                \
    return status;                                                                                 \
  }

/* No effect on this device, which is what they ask for. */
ANSWER(hsaKmtSetTrapHandler, HSAKMT_STATUS_SUCCESS)
ANSWER(hsaKmtSetMemoryPolicy, HSAKMT_STATUS_SUCCESS)

/* Page migration. */
ANSWER(hsaKmtSetXNACKMode, HSAKMT_STATUS_NOT_SUPPORTED)

/* Other processes and other drivers. */
ANSWER(hsaKmtRegisterGraphicsHandleToNodes, HSAKMT_STATUS_NOT_SUPPORTED)
ANSWER(hsaKmtMapGraphicHandle, HSAKMT_STATUS_NOT_SUPPORTED)
ANSWER(hsaKmtUnmapGraphicHandle, HSAKMT_STATUS_NOT_SUPPORTED)
ANSWER(hsaKmtProcessVMRead, HSAKMT_STATUS_NOT_SUPPORTED)
ANSWER(hsaKmtProcessVMWrite, HSAKMT_STATUS_NOT_SUPPORTED)

/* Hardware of queues that is not there. */
ANSWER(hsaKmtGetQueueInfo, HSAKMT_STATUS_NOT_SUPPORTED)

/* Debugger, counters and traces. */
ANSWER(hsaKmtGetKernelDebugTrapVersionInfo, HSAKMT_STATUS_NOT_SUPPORTED)
ANSWER(hsaKmtDbgRegister, HSAKMT_STATUS_NOT_SUPPORTED)
ANSWER(hsaKmtDbgUnregister, HSAKMT_STATUS_NOT_SUPPORTED)
ANSWER(hsaKmtDbgWavefrontControl, HSAKMT_STATUS_NOT_SUPPORTED)
ANSWER(hsaKmtDbgAddressWatch, HSAKMT_STATUS_NOT_SUPPORTED)
ANSWER(hsaKmtPmcGetCounterProperties, HSAKMT_STATUS_NOT_SUPPORTED)
ANSWER(hsaKmtPmcRegisterTrace, HSAKMT_STATUS_NOT_SUPPORTED)
ANSWER(hsaKmtPmcUnregisterTrace, HSAKMT_STATUS_NOT_SUPPORTED)
ANSWER(hsaKmtPmcAcquireTraceAccess, HSAKMT_STATUS_NOT_SUPPORTED)
ANSWER(hsaKmtPmcReleaseTraceAccess, HSAKMT_STATUS_NOT_SUPPORTED)
ANSWER(hsaKmtPmcStartTrace, HSAKMT_STATUS_NOT_SUPPORTED)
ANSWER(hsaKmtPmcQueryTrace, HSAKMT_STATUS_NOT_SUPPORTED)
ANSWER(hsaKmtPmcStopTrace, HSAKMT_STATUS_NOT_SUPPORTED)
ANSWER(hsaKmtSPMAcquire, HSAKMT_STATUS_NOT_SUPPORTED)
ANSWER(hsaKmtSPMRelease, HSAKMT_STATUS_NOT_SUPPORTED)
ANSWER(hsaKmtSPMSetDestBuffer, HSAKMT_STATUS_NOT_SUPPORTED)
