/* Opening and closing the device. */
#include <pthread.h>
#include <time.h>

#include "softgpu/cp/processor.h"
#include "softgpu/device/clock.h"
#include "softgpu/isa/run/probe.h"
#include "softgpu/thunk/event.h"
#include "softgpu/thunk/prober.h"
#include "softgpu/thunk/svm.h"
#include "softgpu/thunk/thunk.h"

static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;

HSAKMT_STATUS hsaKmtOpenKFD(void)
{
  if (softgpu_forked())
    return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
  HSAKMT_STATUS status = HSAKMT_STATUS_KERNEL_ALREADY_OPENED;
  pthread_mutex_lock(&open_lock);
  if (softgpu_open_count() == 0) {
    softgpu_topology_open();
    service_start(softgpu_debug_devices);
    softgpu_prober_open();
    status = softgpu_events_open() ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_NO_MEMORY;
  }
  if (status != HSAKMT_STATUS_NO_MEMORY)
    softgpu_open_count_set(softgpu_open_count() + 1);
  pthread_mutex_unlock(&open_lock);
  return status;
}

HSAKMT_STATUS hsaKmtCloseKFD(void)
{
  SOFTGPU_NEED_OPEN();
  pthread_mutex_lock(&open_lock);
  if (softgpu_open_count() == 1) {
    service_runtime(0, false);
    /* Queues first: their threads use all the rest. */
    softgpu_queues_close();
    isa_probe_withdraw(0); /* arguments of other dispatches come to where these are */
    softgpu_events_close();
    softgpu_svm_close();
    softgpu_registrations_close();
    softgpu_allocations_close();
  }
  if (softgpu_open_count() > 0)
    softgpu_open_count_set(softgpu_open_count() - 1);
  pthread_mutex_unlock(&open_lock);
  return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtGetVersion(HsaVersionInfo *info)
{
  SOFTGPU_NEED_OPEN();
  SOFTGPU_NEED(info, INVALID_PARAMETER);
  *info = (HsaVersionInfo){.KernelInterfaceMajorVersion = 1, .KernelInterfaceMinorVersion = 8};
  return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtGetClockCounters(HSAuint32 node, HsaClockCounters *counters)
{
  SOFTGPU_NEED_OPEN();
  SOFTGPU_NEED(counters, INVALID_PARAMETER);
  SOFTGPU_NEED(node <= softgpu_gpu_count(), INVALID_NODE_UNIT);
  struct timespec cpu;
  clock_gettime(CLOCK_MONOTONIC_RAW, &cpu);
  /* One reading for both, so that the runtime's translation of GPU time is exact. */
  uint64_t now = softgpu_clock_ns();
  *counters = (HsaClockCounters){
      .GPUClockCounter = now / 10,
      .CPUClockCounter = (uint64_t)cpu.tv_sec * 1000000000u + (uint64_t)cpu.tv_nsec,
      .SystemClockCounter = now,
      .SystemClockFrequencyHz = 1000000000,
  };
  return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtGetXNACKMode(HSAint32 *enable)
{
  SOFTGPU_NEED_OPEN();
  SOFTGPU_NEED(enable, INVALID_PARAMETER);
  *enable = 0;
  return HSAKMT_STATUS_SUCCESS;
}
