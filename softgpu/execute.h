/* From a kernel dispatch packet to executed instructions: the seam between the packet processor
 * (cp/) and the interpreter (isa/). Internal to softgpu. */
#ifndef SOFTGPU_EXECUTE_H
#define SOFTGPU_EXECUTE_H

#include <stdbool.h>
#include <stdint.h>

#include "softgpu/waves.h"

/* Chips whose instructions the interpreter knows, as in HsaNodeProperties.EngineId. From
 * SOFTGPU_CHIP_OTHER on they can be listed, and refuse every dispatch. */
typedef enum softgpu_chip {
  SOFTGPU_GFX90A,
  SOFTGPU_GFX942,
  SOFTGPU_GFX950,
  SOFTGPU_GFX9_COUNT, /* of chips of that family, which are the first */
  SOFTGPU_GFX1030 = SOFTGPU_GFX9_COUNT,
  SOFTGPU_GFX1100,
  SOFTGPU_GFX1151,
  SOFTGPU_CHIP_OTHER /* its instructions are not known */
} softgpu_chip_t;

/* The device's clocks: its engine's, which s_memtime and HIP's clock64() read and whose rate the
 * runtime is told, and that of timestamps, which s_memrealtime and HIP's wall_clock64() read. Both
 * count from when the host was started. Of the memory's there is but the rate. */
enum { SOFTGPU_ENGINE_MHZ = 1700, SOFTGPU_TIMESTAMP_MHZ = 100, SOFTGPU_MEMORY_MHZ = 1600 };

/* The register GB_ADDR_CONFIG, by which the runtime lays out images and the engine finds texels. */
enum { SOFTGPU_GB_ADDR_CONFIG = 0x2a114042 };

/* LDS of a compute unit, which is the most that a work-group can have: LLVM's
 * AddressableLocalMemorySize. */
static inline uint32_t softgpu_lds_bytes(softgpu_chip_t chip)
{
  return chip == SOFTGPU_GFX950 ? 160u << 10 : 64u << 10;
}

/* Checks that dispatches ask for, beyond those that are always done. What they find is a fault. */
enum {
  SOFTGPU_CHECK_LDS = 1 << 0,   /* reads of LDS that was not written, and use of what is not LDS */
  SOFTGPU_CHECK_RACES = 1 << 1, /* waves of a work-group that use LDS without a barrier between */
  SOFTGPU_CHECK_KERNARG = 1 << 2, /* reads of kernel arguments that were not supplied */
  SOFTGPU_CHECK_STORES = 1 << 3,  /* scalar stores that stay in the scalar cache */
  SOFTGPU_CHECK_MEMORY = 1 << 4,  /* reads of memory that nothing has written */
  SOFTGPU_CHECK_FREED = 1 << 5,   /* use of memory that was freed in the queue's order */
};

typedef struct softgpu_gws softgpu_gws_t;     /* resources of global wave sync: isa/memory/gws.h */
typedef struct softgpu_notes softgpu_notes_t; /* copies of waves: isa/run/notes.h */

/* One dispatch, already read out of its packet. Addresses are host addresses and NOT yet checked.
 */
typedef struct softgpu_dispatch {
  softgpu_chip_t chip;
  bool sram_ecc;          /* the target id's sramecc+: D16 loads clear the half they do not load */
  uint32_t node;          /* whose memory rights it has; 0: the host's, which has all */
  uint16_t workgroup[3];  /* work-items; 1 for unused dimensions */
  uint32_t grid[3];       /* work-items; partial work-groups at the end are allowed */
  uint32_t private_bytes; /* per work-item */
  uint32_t group_bytes;   /* LDS per work-group, static + dynamic */
  uint64_t kernel_object; /* address of the 64-byte kernel descriptor */
  uint64_t kernarg;       /* address of the kernarg segment */
  uint64_t packet;        /* address of the AQL packet: dispatch_ptr */
  uint64_t queue;         /* address of the amd_queue_t: queue_ptr */
  uint64_t dispatch_id;   /* the packet's index in its queue */
  uint64_t scratch_base;  /* the queue's scratch backing store, 0 when it has none */
  uint64_t scratch_bytes;
  uint32_t
      shared_aperture_hi; /* upper halves of the LDS and scratch apertures of generic addresses */
  uint32_t private_aperture_hi;
  uint32_t checks;                   /* SOFTGPU_CHECK_* */
  uint32_t missing_from, missing_to; /* bytes of the kernarg segment that were not supplied */
  softgpu_gws_t *gws; /* the queue's, for one dispatch at a time; NULL: it has none */
  void (*interrupt)(uint32_t event_id); /* on any thread; NULL: not called */
  /* What it records, which softgpu_execute() takes over; NULL: what softgpu_probe() was told. */
  struct isa_probe *probe;
} softgpu_dispatch_t;

typedef struct softgpu_fault {
  softgpu_fault_kind_t kind;
  uint64_t pc;             /* device address of the instruction; 0 when none was reached */
  uint64_t pc_offset;      /* pc relative to the kernel's entry point */
  uint64_t address;        /* the offending address or offset */
  uint32_t access_bytes;   /* size of the offending access, 0 when there was none */
  uint32_t instruction[2]; /* first dwords at pc */
  char instruction_text[160];
  uint32_t workgroup[3], wave, lane;
  softgpu_access_t access;
  bool lanes_known;
  uint64_t lanes; /* all lanes of the wave whose access fails; `lane` is the first */
  uint32_t other_wave, other_pc_offset; /* of a race; wave 255 is several. Of a scalar store */
  char text[512]; /* one line that says all of it, without the kernel's name */
} softgpu_fault_t;

typedef struct softgpu_limits {
  uint64_t timeout_ns;       /* per dispatch, wall time; 0 = none */
  const volatile bool *stop; /* checked at the same places as the timeout; may be NULL */
  uint32_t units, all_units; /* part of the threads it may use, at least one; units 0: all */
  softgpu_notes_t *notes;    /* where its waves are noted when it fails, or on request; NULL: no */
  uint64_t *executed;        /* grows by its wave-instructions, atomically; NULL: does not */
} softgpu_limits_t;

/* Runs a dispatch to its end on the calling thread and on the engine's helper threads, if any. True
 * on success. On failure `fault` says why; work-groups that had not started are not run.
 * Thread-safe. */
bool softgpu_execute(const softgpu_dispatch_t *dispatch, const softgpu_limits_t *limits,
                     softgpu_fault_t *fault);

/* Lanes of the waves that it runs in, by its kernel's descriptor, which is there to be read. */
uint32_t softgpu_lanes(const softgpu_dispatch_t *dispatch);

/* Drops decoded instructions, as the packet processor's cache invalidation asks for. Safe while
 * dispatches run: they keep what they decoded. */
void softgpu_invalidate_code(void);

/* Wave-instructions executed by this process so far: one for each instruction of a wave, whatever
 * lanes are active; one that waits, for a barrier or global wave sync, counts once. */
uint64_t softgpu_instruction_count(void);

#endif
