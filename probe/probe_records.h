/* rawhal/probe_records.h: what a probed kernel leaves in memory, and where in its code it does so.
 *
 * Plain data, of fixed sizes and in the device's byte order (little-endian), for whoever makes it
 * and whoever reads it: a code object with probes in it, softgpu, which makes
 * the same records without a change to the code, and the files that keep them.
 *
 * A probed dispatch gets memory for counters, for a record per wave, and for a record per event. A
 * device appends: it takes the next number, and where that is beyond the capacity it drops the
 * record and goes on. So `waves` and `events` of the header say how many there were, and what is
 * beyond the capacities is lost. Nothing here waits for the host.
 *
 * Times are s_memrealtime's: on hardware 10 ns each, one clock for a device. softgpu models no time
 * and gives the host's: there they order nothing and rank nothing.
 *
 * Facts: MI200 and MI300 ISA documents (HW_ID, XCC_ID, s_memrealtime). */
#ifndef RAWHAL_PROBE_RECORDS_H
#define RAWHAL_PROBE_RECORDS_H

#include <stdint.h>

/* What is asked of a probe; several at a time. EXEC includes BLOCKS; MEMORY, VALUES and BARRIERS
 * include WAVES, whose numbers their events have. */
typedef enum rawhal_probe_kind {
  RAWHAL_PROBE_WAVES = 1u << 0,    /* a record for each wave */
  RAWHAL_PROBE_BLOCKS = 1u << 1,   /* how often waves have entered each basic block */
  RAWHAL_PROBE_EDGES = 1u << 2,    /* how often each conditional branch was not taken */
  RAWHAL_PROBE_EXEC = 1u << 3,     /* lanes that were active when blocks were entered, summed up */
  RAWHAL_PROBE_MEMORY = 1u << 4,   /* an event for each access of vector memory or LDS */
  RAWHAL_PROBE_VALUES = 1u << 5,   /* an event with a register, at an instruction */
  RAWHAL_PROBE_BARRIERS = 1u << 6, /* an event where a wave comes to s_barrier */
} rawhal_probe_kind_t;

/* The last argument of a probed kernel, behind all of the original's. */
typedef struct rawhal_probe_argument {
  uint64_t buffer; /* device address of the header, aligned to 64 */
  uint64_t events; /* device address of the first event, aligned to 64; 0 without events. All that
                      there is room for is less than 4 GiB, by 16 events */
  uint32_t wave_capacity, event_capacity; /* records that there is memory for */
  uint64_t zero;
} rawhal_probe_argument_t;

/* What the memory begins with: zeros, but for the capacities. Counters follow, each a uint64_t, and
 * from the next multiple of 64 bytes on the waves. */
typedef struct rawhal_probe_header {
  uint32_t waves, events;                 /* that there were, also those that were lost */
  uint32_t wave_capacity, event_capacity; /* as in the argument */
  uint64_t zero[6];
} rawhal_probe_header_t;

/* A wave: 64 bytes, zeros at first. It has not ended, as where the dispatch was stopped, if `end`
 * is 0. */
typedef struct rawhal_probe_wave {
  uint64_t start;        /* time at its first instruction */
  uint32_t hw_id;        /* HW_ID: slot 3:0, SIMD 5:4, CU 11:8, array 12, engine 15:13, ... */
  uint32_t xcc_id;       /* XCC_ID; 0 before gfx942 */
  uint32_t workgroup[3]; /* its id in the grid; 0 where the kernel is not given it */
  uint32_t first_item;   /* v0 of its first lane: work-item ids, x 9:0, y 19:10, z 29:20 */
  uint64_t end;          /* time before s_endpgm; its last stores may be on their way */
  uint64_t zero[3];
} rawhal_probe_wave_t;

/* An event. Those of accesses in a basic block may have their numbers from the first of them on.
 * 32 bytes, and where any event of the kernel has lanes, 512 more for each event. Zeros
 * at first. Lanes that EXEC does not name stay zeros. */
typedef struct rawhal_probe_event {
  uint64_t exec;      /* EXEC before the instruction */
  uint32_t offset;    /* of the instruction, bytes from the kernel's first */
  uint32_t wave;      /* number of the wave's record, from 0 */
  uint32_t scalar[4]; /* as the point's `source` says */
} rawhal_probe_event_t;
enum { RAWHAL_PROBE_LANES = 64, RAWHAL_PROBE_LANES_BYTES = 512 }; /* a uint64_t each */

/* What is done at a point of the code, before its instruction runs unless it says otherwise. */
typedef enum rawhal_probe_action {
  RAWHAL_PROBE_COUNT = 1,  /* adds 1 to its counter: a block is entered */
  RAWHAL_PROBE_PASSED = 2, /* likewise, after a conditional branch that was not taken */
  RAWHAL_PROBE_ACTIVE = 3, /* adds the bits of EXEC to its counter */
  RAWHAL_PROBE_ACCESS = 4, /* an event: memory is accessed */
  RAWHAL_PROBE_VALUE = 5,  /* an event: a register */
  RAWHAL_PROBE_ARRIVE = 6, /* an event: a barrier */
} rawhal_probe_action_t;

/* Where the addresses of an access come from, and what is in rawhal_probe_event_t.scalar. Lanes
 * hold the address register: of 4 bytes, or of 8 where `lane_bytes` says so. To each address
 * `immediate` is added. */
typedef enum rawhal_probe_source {
  RAWHAL_PROBE_NONE = 0,   /* scalar: 0. Of an event of a barrier: the time, in 0 and 1 */
  RAWHAL_PROBE_FLAT = 1,   /* lanes: the address. scalar: 0. LDS and scratch by their apertures */
  RAWHAL_PROBE_GLOBAL = 2, /* lanes: an offset of 4 bytes. scalar 0 and 1: the base */
  RAWHAL_PROBE_BUFFER = 3, /* lanes: offset or index. scalar: the resource's first three dwords and
                              the scalar offset */
  RAWHAL_PROBE_LDS = 4,    /* lanes: the offset in LDS. scalar: 0 */
  RAWHAL_PROBE_SGPR = 5,   /* of a value: scalar 0 is the register. No lanes */
  RAWHAL_PROBE_VGPR = 6,   /* of a value: lanes hold it, of 4 bytes. scalar: 0 */
} rawhal_probe_source_t;

/* Flags of a point. */
typedef enum rawhal_probe_point_flags {
  RAWHAL_PROBE_READS = 1u << 0,
  RAWHAL_PROBE_WRITES = 1u << 1,  /* both: an atomic */
  RAWHAL_PROBE_INDEXED = 1u << 2, /* of a buffer: the lanes' register is an index, */
  RAWHAL_PROBE_OFFSET = 1u << 3,  /* an offset, or with both an index and, behind it, an offset */
  RAWHAL_PROBE_TWICE = 1u << 4,   /* of LDS: `immediate` has two offsets, each accessed */
  RAWHAL_PROBE_TO_LDS = 1u << 5,  /* what is loaded goes to LDS, not to registers */
  RAWHAL_PROBE_GDS = 1u << 6,     /* global data share */
} rawhal_probe_point_flags_t;

/* One place in a kernel: 40 bytes. Points are sorted by `offset`, and at one place in the order in
 * which they are done. */
typedef struct rawhal_probe_point {
  uint32_t offset;       /* of the instruction, bytes from the kernel's first */
  uint8_t action;        /* rawhal_probe_action_t */
  uint8_t source;        /* rawhal_probe_source_t */
  uint8_t flags;         /* rawhal_probe_point_flags_t */
  uint8_t bytes;         /* that one lane accesses at one address */
  uint32_t counter;      /* of an action that counts: which */
  uint32_t block_bytes;  /* of COUNT: the block's */
  uint32_t instructions; /* likewise: how many it has */
  uint32_t target;       /* of PASSED: where the branch leads, as `offset` */
  int32_t immediate[2];  /* bytes */
  uint8_t scalar;        /* first SGPR that is kept, by operand encoding; 0xff: none */
  uint8_t soffset;       /* of a buffer: operand encoding of the scalar offset */
  uint8_t vector;        /* first VGPR whose lanes are kept */
  uint8_t lane_bytes;    /* 0: no lanes; 4, or 8: two VGPRs */
  uint32_t zero;
} rawhal_probe_point_t;

#endif
