/* The bytes of a core file of GPUs: the AMDGPU note (the driver's structures; the reader is
 * ROCdbgapi's os_driver.cpp), and what it points to. Our own notes: notes.h. All is little endian,
 * as is x86-64. Internal to this folder and to who shows such files. */
#ifndef RAWHAL_DEBUG_CORE_FORMAT_H
#define RAWHAL_DEBUG_CORE_FORMAT_H

#include <assert.h>
#include <stdint.h>

enum {
  FORMAT_AMDGPU_NOTE = 33, /* NT_AMDGPU_KFD_CORE_STATE, of owner "AMDGPU" */
  FORMAT_KFD_MAJOR = 1,
  FORMAT_KFD_MINOR = 18,
  FORMAT_RUNTIME_ENABLED = 1,
  FORMAT_QUEUE_AQL = 2,
  FORMAT_DEBUG = 1 << 15,          /* of core_format_agent_t.capability */
  FORMAT_DEBUG_FIRMWARE = 1 << 29, /* both, or its queues are passed over */
  FORMAT_ALWAYS_TTMPS = 1 << 10,   /* of debug_prop, from gfx942 on */
  FORMAT_OLDEST_ABI = 8,
  FORMAT_NEWEST_ABI = 12,
  FORMAT_AT_TRAP_ABI = 12, /* from here on a wave halts at its s_trap, not behind it */
  /* Offsets in amd_queue_t (amd_hsa_queue.h). */
  FORMAT_WRITE_ID = 56,
  FORMAT_READ_ID = 128,
  FORMAT_TMPRING = 140,
  FORMAT_SCRATCH_BASE = 160,
  FORMAT_SCRATCH_BYTES = 168,
  FORMAT_PACKET = 64, /* bytes; in it the kernel's descriptor, of as many: */
  FORMAT_PACKET_KERNEL = 32,
  FORMAT_MOST_PACKETS = 1 << 25,
};

typedef struct core_format_note {
  uint64_t version;
  uint32_t kfd_major, kfd_minor;
  uint64_t runtime_bytes;
  uint32_t agents, agent_bytes, queues, queue_bytes; /* of one */
} core_format_note_t;

typedef struct core_format_runtime {
  uint64_t r_debug;
  uint32_t state, ttmp_setup;
} core_format_runtime_t;

typedef struct core_format_agent {
  uint64_t exceptions, lds_base, lds_limit, scratch_base, scratch_limit, memory_base, memory_limit;
  uint32_t gpu_id, location, vendor, device, revision, subsystem_vendor, subsystem_device, firmware,
      gfx_target_version, simds, waves_per_simd, arrays, arrays_per_engine, xccs, capability,
      debug_prop;
} core_format_agent_t;

typedef struct core_format_queue {
  uint64_t exceptions, ring, write_pointer, read_pointer, save_area;
  uint32_t id, gpu_id, ring_bytes, type, save_area_bytes, reserved; /* area: of one XCC */
} core_format_queue_t;

typedef struct core_format_save {
  uint32_t stack_offset, stack_bytes, waves_end, waves_bytes, debug_offset, debug_bytes;
  uint64_t payload;
  uint32_t event, reserved;
} core_format_save_t;

typedef struct core_format_r_debug {
  uint32_t version, gap;
  uint64_t map, brk;
  uint32_t state, gap2;
  uint64_t base;
} core_format_r_debug_t;

typedef struct core_format_link {
  uint64_t delta, name, dynamic, next, previous;
} core_format_link_t;

static_assert(sizeof(core_format_note_t) == 40 && sizeof(core_format_runtime_t) == 16, "no gaps");
static_assert(sizeof(core_format_agent_t) == 120 && sizeof(core_format_queue_t) == 64, "no gaps");
static_assert(sizeof(core_format_save_t) == 40 && sizeof(core_format_link_t) == 40, "no gaps");
static_assert(sizeof(core_format_r_debug_t) == 40, "no gaps");

/* Words of a control stack. */
enum {
  FORMAT_STACK_HEAD = 2,          /* words that are skipped */
  FORMAT_STATE = (int)(1u << 31), /* of the waves that follow; else */
  FORMAT_EVENT = 1 << 30,         /* is skipped; else it is a wave: */
  FORMAT_SCOREBOARD = 511,
  FORMAT_ENGINE_SHIFT = 9,
  FORMAT_SCRATCH_ENABLED = 1 << 15,
  FORMAT_LAST = 1 << 16, /* of its work-group */
  FORMAT_FIRST = 1 << 17,
};

/* One wave in a save area, from its VGPRs up. */
enum {
  FORMAT_ROW = 256,
  FORMAT_SGPRS = 112, /* that are saved */
  FORMAT_HWREGS = 16,
  FORMAT_TTMPS = 16,
  FORMAT_GAP = 64, /* above every wave */
};
typedef enum core_hwreg {
  HWREG_M0 = 0,
  HWREG_PC = 1, /* and 2 */
  HWREG_EXEC = 3,
  HWREG_STATUS = 5,
  HWREG_TRAPSTS = 6,
  HWREG_XNACK_MASK = 7,
  HWREG_MODE = 9,
} core_hwreg_t;

enum {
  STATUS_SCC = 1,
  STATUS_TRAP_EN = 1 << 6,
  STATUS_EXECZ = 1 << 9,
  STATUS_VCCZ = 1 << 10,
  STATUS_HALT = 1 << 13,
  STATUS_VALID = 1 << 16,
  STATUS_SKIP_EXPORT = 1 << 18,
  TRAPSTS_MEM_VIOL = 1 << 8,
  TRAPSTS_ILLEGAL = 1 << 11,
  TRAPSTS_XNACK_ERROR = 1 << 28,
  TTMP6_TRAP_SHIFT = 25, /* four bits */
  TTMP6_STOPPED = 1 << 30,
  TTMP6_NOT_VALID = (int)(1u << 31),
  TTMP11_VALID = (int)(1u << 31), /* gfx942 on: else the stop reason is lost */
};

/* Why memory, or a queue, is not in the file: core_left_out_entry_t.reason (notes.h). */
typedef enum core_reason {
  CORE_REASON_BUDGET = 1,
  CORE_REASON_POLICY = 2, /* its class was not asked for */
  CORE_REASON_UNREADABLE = 3,
  CORE_REASON_MISTAKE = 256, /* and more: 256 plus the core_mistake_t of a queue */
} core_reason_t;
enum { CORE_MOST_LISTED = 256 };

#endif
