/* The debug operations of AMD's kernel driver as ROCdbgapi asks for them, by ioctl() on /dev/kfd:
 * numbers and structures. A plain header, for softgpu, for what stands between a debugger and it,
 * and for tests. The layouts are the driver's, from interface 1.13 on. */
#ifndef SOFTGPU_DEBUG_KFD_H
#define SOFTGPU_DEBUG_KFD_H

#include <assert.h>
#include <stdint.h>

enum { KFD_MAJOR = 1, KFD_MINOR = 18 };

/* AMDKFD_IOC_GET_VERSION, AMDKFD_IOC_DBG_TRAP. */
#define KFD_IOCTL_VERSION 0x80084b01ul
#define KFD_IOCTL_DEBUG   0xc0204b26ul

typedef struct kfd_version {
  uint32_t major, minor;
} kfd_version_t;

typedef enum kfd_op {
  KFD_ENABLE = 0,
  KFD_DISABLE = 1,
  KFD_SEND_RUNTIME_EVENT = 2,
  KFD_SET_EXCEPTIONS_ENABLED = 3,
  KFD_SET_WAVE_LAUNCH_OVERRIDE = 4,
  KFD_SET_WAVE_LAUNCH_MODE = 5,
  KFD_SUSPEND_QUEUES = 6,
  KFD_RESUME_QUEUES = 7,
  KFD_SET_ADDRESS_WATCH = 8,
  KFD_CLEAR_ADDRESS_WATCH = 9,
  KFD_SET_FLAGS = 10,
  KFD_QUERY_DEBUG_EVENT = 11,
  KFD_QUERY_EXCEPTION_INFO = 12,
  KFD_GET_QUEUE_SNAPSHOT = 13,
  KFD_GET_DEVICE_SNAPSHOT = 14,
  KFD_OPS
} kfd_op_t;

/* Pointers are the debugger's. "in/out" is read, then written. */
typedef struct kfd_debug {
  uint32_t pid, op;
  union {
    struct {
      uint64_t exceptions, info;
      uint32_t info_bytes; /* in/out */
      uint32_t event_fd;
    } enable;
    struct {
      uint64_t exceptions;
      uint32_t gpu_id, queue_id;
    } send; /* and query_event, whose exceptions are in/out and the rest out */
    struct {
      uint64_t exceptions;
    } enabled;
    struct {
      uint32_t mode, enable; /* in/out: the mask before */
      uint32_t mask;         /* in/out: what is supported */
      uint32_t pad;
    } launch_override;
    struct {
      uint32_t mode, pad;
    } launch;
    struct {
      uint64_t exceptions, queues; /* to clear; uint32_t each, in/out */
      uint32_t count, grace;
    } suspend;
    struct {
      uint64_t queues;
      uint32_t count, pad;
    } resume;
    struct {
      uint64_t address;
      uint32_t mode, mask, gpu_id, id; /* id: out */
    } watch;
    struct {
      uint32_t gpu_id, id;
    } clear_watch;
    struct {
      uint32_t flags, pad;
    } flags;
    struct {
      uint64_t info;
      uint32_t info_bytes; /* in/out */
      uint32_t source, code, clear;
    } exception_info;
    struct {
      uint64_t exceptions, entries;
      uint32_t count, entry_bytes; /* in/out */
    } snapshot;                    /* of queues and of devices */
  };
} kfd_debug_t;

typedef struct kfd_runtime {
  uint64_t r_debug;
  uint32_t state, ttmp_setup;
} kfd_runtime_t;

typedef struct kfd_queue {
  uint64_t exceptions, ring, write_pointer, read_pointer, save_area;
  uint32_t id, gpu_id, ring_bytes, type, save_area_bytes, reserved;
} kfd_queue_t;

typedef struct kfd_device {
  uint64_t exceptions, lds_base, lds_limit, scratch_base, scratch_limit, memory_base, memory_limit;
  uint32_t gpu_id, location, vendor, device, revision, subsystem_vendor, subsystem_device, firmware,
      gfx_target_version, simds, waves_per_simd, arrays, arrays_per_engine, xccs, capability,
      debug_prop;
} kfd_device_t;

static_assert(sizeof(kfd_debug_t) == 32, "as the request's number says");
static_assert(sizeof(kfd_runtime_t) == 16 && sizeof(kfd_queue_t) == 64 &&
                  sizeof(kfd_device_t) == 120,
              "the driver's");

/* Exceptions, each a bit of masks. */
#define KFD_EXCEPTION(code) (1ull << ((code)-1))
typedef enum kfd_code {
  KFD_WAVE_ABORT = 1,
  KFD_WAVE_TRAP = 2,
  KFD_WAVE_ILLEGAL = 4,
  KFD_WAVE_MEMORY = 5,
  KFD_WAVE_ADDRESS = 6,
  KFD_QUEUE_NEW = 31,
  KFD_DEVICE_MEMORY = 33,
  KFD_RUNTIME = 48,
} kfd_code_t;
#define KFD_QUEUE_EXCEPTIONS  0x7fffffffull
#define KFD_DEVICE_EXCEPTIONS 0x1f80000000ull

enum {
  KFD_RUNTIME_DISABLED = 0,
  KFD_RUNTIME_ENABLED = 1,
  KFD_LAUNCH_NORMAL = 0,
  KFD_LAUNCH_HALT = 1,
  KFD_LAUNCH_STEP = 3,
  KFD_WATCH_READ = 0,
  KFD_WATCH_NONREAD = 1,
  KFD_WATCH_ATOMIC = 2,
  KFD_WATCH_ALL = 3,
  KFD_WATCHES = 4,             /* of a device */
  KFD_OVERRIDE_WATCH = 1 << 7, /* launch_override: bit 12 of MODE and up */
  KFD_QUEUE_AQL = 2,           /* kfd_queue_t.type */
  KFD_QUEUE_ERROR = 1 << 30,   /* beside an id that was suspended or resumed */
  KFD_QUEUE_INVALID = (int)(1u << 31),
  /* kfd_device_t.capability: watchpoints, so many bits of their number, debugging, its parts. */
  KFD_CAN_WATCH = 1 << 7 | 2 << 8,
  KFD_CAN_DEBUG = 1 << 15 | 1 << 16 | 1 << 17 | 1 << 29,
  KFD_CAN_BE_PRECISE = 1 << 18 | 1 << 30,
  /* kfd_device_t.debug_prop: bits of an address that a watchpoint compares; TTMPs are always set
   * up; watchpoints are this process's alone. */
  KFD_WATCH_BITS = 58 << 4,
  KFD_ALWAYS_TTMPS = 1 << 10,
  KFD_WATCHES_EXCLUSIVE = 1 << 11,
};

#endif
