/* What softgpu tells of a queue that failed or hangs: the fault, the waves and their registers; and
 * what it records of dispatches.
 *
 * A plain header, which includes nothing of softgpu's: who stands above the HSA runtime uses it
 * without linking softgpu, by the names of functions (dlsym()) as softgpu.h says. */
#ifndef SOFTGPU_WAVES_H
#define SOFTGPU_WAVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Why a dispatch, or the packet itself, failed. Values are not given to others later. */
typedef enum softgpu_fault_kind {
  SOFTGPU_FAULT_NONE = 0,
  SOFTGPU_FAULT_ILLEGAL_INSTRUCTION = 1, /* one the engine does not know, in `instruction` */
  SOFTGPU_FAULT_FETCH = 2,               /* pc outside executable memory */
  SOFTGPU_FAULT_MEMORY = 3,    /* global, flat or scalar access outside live allocations */
  SOFTGPU_FAULT_READ_ONLY = 4, /* a store to memory that kernels may not write */
  SOFTGPU_FAULT_LDS = 5,       /* check_lds: beyond the group segment */
  SOFTGPU_FAULT_SCRATCH = 6,   /* beyond the work-item's private segment */
  SOFTGPU_FAULT_KERNARG = 7,   /* the kernarg segment is not in live memory */
  SOFTGPU_FAULT_MISALIGNED = 8,
  SOFTGPU_FAULT_TIMEOUT = 9,          /* ran longer than the settable limit */
  SOFTGPU_FAULT_STOPPED = 10,         /* the queue was destroyed while the kernel ran */
  SOFTGPU_FAULT_DISPATCH = 11,        /* the packet or the descriptor makes no sense */
  SOFTGPU_FAULT_LDS_UNWRITTEN = 12,   /* check_lds */
  SOFTGPU_FAULT_LDS_RACE = 13,        /* check_races */
  SOFTGPU_FAULT_KERNARG_MISSING = 14, /* check_kernarg */
  SOFTGPU_FAULT_FOREIGN = 15,         /* live memory that the device was not given */
  SOFTGPU_FAULT_TRAP = 16, /* the kernel ended itself by s_trap; its number in `address` */
  SOFTGPU_FAULT_STORE_UNWRITTEN = 17, /* check_stores */
  SOFTGPU_FAULT_GWS = 18,             /* global wave sync that the queue has not, or for too much */
  SOFTGPU_FAULT_IMAGE = 19,           /* an image or a sampler that cannot be used */
  SOFTGPU_FAULT_REGISTERS = 20,       /* a work-group's waves need more than a compute unit has */
  SOFTGPU_FAULT_MEMORY_UNWRITTEN = 21, /* check_memory */
  SOFTGPU_FAULT_MOMENT = 22,           /* it came to where softgpu_back() was to stop it */
} softgpu_fault_kind_t;

typedef struct softgpu_fault_info {
  uint32_t kind;          /* softgpu_fault_kind_t; 0 when the packet was at fault */
  uint32_t queue_code;    /* as written to queue_inactive_signal */
  uint64_t packet_index;  /* of the packet in its queue */
  uint64_t kernel_object; /* from the packet; 0 when it was not a kernel dispatch */
  uint64_t pc;            /* 0 when no instruction was reached */
  uint64_t pc_offset;     /* from the kernel's entry point */
  uint64_t address;       /* the offending address; of a trap, its number */
  uint32_t access_bytes;
  uint32_t instruction[2]; /* the first dwords at pc */
  uint32_t workgroup[3], wave, lane;
  uint32_t nearest_node; /* owner of the live allocation nearest to `address`; 0: the host */
  uint64_t nearest_base; /* 0 and 0 when there is none */
  uint64_t nearest_size;
  uint32_t access; /* softgpu_access_t */
  uint32_t lanes_known;
  uint64_t lanes; /* a bit for each lane of the wave whose access fails; with lanes_known 1 */
  char instruction_text[160]; /* "s_trap 0x2"; empty when it is none */
} softgpu_fault_info_t;

typedef enum softgpu_access {
  SOFTGPU_ACCESS_UNKNOWN = 0,
  SOFTGPU_ACCESS_READ = 1,
  SOFTGPU_ACCESS_WRITE = 2,
  SOFTGPU_ACCESS_ATOMIC = 3, /* reads and writes */
} softgpu_access_t;

/* Where a wave was. */
typedef enum softgpu_wave_state {
  SOFTGPU_WAVE_RUNNING = 0,
  SOFTGPU_WAVE_BARRIER = 1, /* waits at s_barrier for others of its work-group */
  SOFTGPU_WAVE_ENDED = 2,   /* its registers are those that it ended with */
  SOFTGPU_WAVE_FAULTED = 3, /* at the instruction that failed */
  SOFTGPU_WAVE_WAITING = 4, /* for what is beyond its work-group: s_sleep, global wave sync */
} softgpu_wave_state_t;

/* A wave of a work-group that had begun and not ended, when its dispatch failed or when
 * softgpu_waves_take() was called. Pointers are valid during the call that hands it over. */
typedef struct softgpu_wave {
  uint64_t packet_index, kernel_object;
  uint32_t workgroup[3], index; /* in the work-group */
  uint32_t waves;               /* of the work-group */
  uint32_t state;               /* softgpu_wave_state_t */
  uint64_t pc;                  /* of the instruction that failed, or that comes next */
  uint64_t exec;
  uint32_t scc, m0, mode;
  /* As allocated. Vector registers are one file, in which a0 follows the last that is counted as a
   * VGPR (ACCUM_OFFSET); code that names higher ones names these. */
  uint32_t sgpr_count, vgpr_count, agpr_count, lds_bytes;
  const uint32_t *sgprs; /* 108: s0 to s101, FLAT_SCRATCH, XNACK_MASK, VCC, by their encoding */
  const uint32_t (*vgprs)[64]; /* rows: v0 first, lane 0 first */
  const uint32_t (*agprs)[64];
  const void *lds; /* of the work-group, lds_bytes */
  /* The wave's slice of private memory: its device address, which is scratch_base of the queue plus
   * a multiple of scratch_bytes, lanes interleaved dword by dword; 0: none. */
  uint64_t scratch, scratch_bytes;
  uint32_t lanes; /* 32 or 64; with 32 the rows' other lanes are 0 */
} softgpu_wave_t;

/* Called for each wave, those of a work-group one after the other; false ends the walk. It must not
 * call softgpu. `size` is that of softgpu's structure, whose beginning is this one. */
typedef bool softgpu_wave_fn(void *context, const softgpu_wave_t *wave, size_t size);

/* The waves of the dispatch that stopped the queue at an instruction (or by a time limit), or that
 * softgpu_waves_take() noted last: which are kept from then until the queue is destroyed, or taken
 * anew. The queue's error callback sees them. Those of the work-group that failed come first; of
 * the others, so many are kept as there is memory for and 32 MiB a queue have room for. How many
 * there are, also where the walk ends earlier; 0 for an unknown queue. Allocates nothing.
 * `hsa_queue` is the hsa_queue_t that the runtime handed out. */
size_t softgpu_waves(const void *hsa_queue, softgpu_wave_fn *function, void *context);

/* Notes the waves of the dispatch that is running on the queue, which goes on: each is between two
 * instructions, at one of the places where the time limit is looked at; of several threads that run
 * the dispatch, each stands where it happened to be. Results and the order of turns are as without.
 * False, and what was noted before stays: none runs or it ended meanwhile, it did not get to it
 * within `milliseconds`, or no memory. */
bool softgpu_waves_take(const void *hsa_queue, uint32_t milliseconds);

/* The exact bytes, at least one, of the allocation of a memory pool that begins at the device
 * address: the runtime rounds sizes up before a device sees them. From then on an access beyond
 * `bytes` of it is a fault, but for the rest of a dword of which a byte is within, when aligned
 * dwords are loaded or one is exchanged atomically: compilers do so for smaller elements. May be
 * said again, up to the rounded size.
 * False, and nothing changed, when no allocation begins there or it has fewer bytes. */
bool softgpu_memory_bound(uint64_t address, uint64_t bytes);

/* For check_freed, what an allocator knows that gives out parts of allocations in the order of
 * queues: no packet that is written to `hsa_queue` from now on may use these bytes, which were what
 * `freed` says, in words that a fault ends with ("allocation \"a\" of 64 bytes, freed .."); or,
 * with `freed` NULL, packets that are written from now on may again, of whichever queue. What was
 * written before may go on, and other queues are not looked at: of them the allocator knows no
 * order. False, and nothing noted: there is no such queue, a tool has handed out another instead of
 * it, or no memory. */
bool softgpu_memory_order(uint64_t address, uint64_t bytes, const void *hsa_queue,
                          const char *freed);

/* Wave-instructions that the queue had executed when it began the packet that a completion signal
 * was last subtracted from by, and when it ended that: one for each instruction of a wave, whatever
 * lanes are active; one that waits at a barrier counts once. The first of a queue begins at 0, and
 * packets in between are counted, whether they have signals or not. A device writes them where it
 * writes the times. `signal` is hsa_signal_t.handle. False, and nothing said: it is no signal of
 * the runtime's. */
bool softgpu_signal_instructions(uint64_t signal, uint64_t *start, uint64_t *end);

/* Says that the calling thread's next lock, of exactly these bytes, is to have the host's address
 * for devices, too. It has not where they overlap what is locked, or has attributes of managed
 * memory, and where they are locked already. 0 bytes take the wish back. */
void softgpu_memory_in_place(uint64_t address, uint64_t bytes);

struct rawhal_probe_argument; /* of probe/probe_records.h */
struct rawhal_probe_point;

/* Asks that the next dispatch whose packet has this address, which is not 0, of its kernargs or as
 * its kernel object, makes the records of probe/probe_records.h in the memory that `argument`
 * names, though its code has no probes and its arguments not that one. There is room for so many
 * counters, and for an event in so many bytes; points' offsets count from the kernel's first byte.
 * What is given is copied. Said again before that dispatch, it is for the one after it; with
 * `argument` NULL, all that waits for the address is taken back.
 *
 * The addresses are the device's, and only what it may write to is written: where that is not all
 * there when the dispatch begins, or not any more, nothing is recorded, and the dispatch is as
 * without. False, and nothing changed: it makes no sense (points out of their order, counters or
 * events that there is no room for, a kind that is not known), or there is no room, as too much
 * waits. */
bool softgpu_probe(uint64_t address, const struct rawhal_probe_argument *argument, uint32_t kinds,
                   uint32_t event_bytes, uint32_t counters, const struct rawhal_probe_point *points,
                   size_t count);

typedef bool softgpu_probe_fn(uint64_t address, const struct rawhal_probe_argument *argument,
                              uint32_t kinds, uint32_t event_bytes, uint32_t counters,
                              const struct rawhal_probe_point *points, size_t count);
typedef bool softgpu_queue_fault_info_fn(const void *hsa_queue, softgpu_fault_info_t *info,
                                         size_t size);
typedef size_t softgpu_waves_fn(const void *hsa_queue, softgpu_wave_fn *function, void *context);
typedef bool softgpu_waves_take_fn(const void *hsa_queue, uint32_t milliseconds);
typedef bool softgpu_memory_bound_fn(uint64_t address, uint64_t bytes);
typedef bool softgpu_memory_order_fn(uint64_t address, uint64_t bytes, const void *hsa_queue,
                                     const char *freed);
typedef bool softgpu_signal_instructions_fn(uint64_t signal, uint64_t *start, uint64_t *end);
typedef void softgpu_memory_in_place_fn(uint64_t address, uint64_t bytes);

#ifdef __cplusplus
}
#endif

#endif
