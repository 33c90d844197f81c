/* The machine state of one wave and what its instructions may reach. Internal to softgpu. */
#ifndef SOFTGPU_ISA_BASE_WAVE_H
#define SOFTGPU_ISA_BASE_WAVE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "softgpu/execute.h"
#include "softgpu/isa/base/width.h"
#include "softgpu/isa/describe/inst.h"

typedef struct isa_chunk isa_chunk_t;
typedef struct isa_lds_load isa_lds_load_t;
typedef struct isa_shadow isa_shadow_t;

/* MODE register bits, hwreg layout: 0-1 round f32, 2-3 round f16/f64, 4-5 denorm f32, 6-7 denorm
 * f16/f64 (0 flush both, 1 flush sources.., 3 keep), 8 dx10_clamp, 9 ieee, 23 fp16_ovfl. */
enum {
  ISA_MODE_ROUND_F32 = 0x3,
  ISA_MODE_ROUND_F64 = 0xc,
  ISA_MODE_DENORM_F32 = 0x30,
  ISA_MODE_DENORM_F64 = 0xc0,
  ISA_MODE_DX10_CLAMP = 0x100,
  ISA_MODE_IEEE = 0x200,
  ISA_MODE_FP16_OVFL = 1 << 23,
};

/* One VGPR of a wave. Where the number of lanes is not known, rows have no size: isa_row(). */
#ifdef ISA_LANES
typedef uint32_t isa_row_t[ISA_LANES];
#else
typedef uint32_t isa_row_t[];
#endif

typedef enum isa_wave_state {
  ISA_WAVE_READY,
  ISA_WAVE_AT_BARRIER,
  ISA_WAVE_ENDED
} isa_wave_state_t;

/* The last allocation an instruction touched, so that most accesses need no search. */
typedef struct isa_range {
  uint64_t base, size, generation, shift; /* shift: as in softgpu_allocation_t */
  uint32_t flags;
} isa_range_t;

enum { ISA_RANGES = 256 };

/* What a thread has for the waves that it runs. */
typedef struct isa_thread {
  /* Sources of an instruction, as rows: of one or two registers. */
  uint32_t scalar_rows[3][2 * ISA_LANES_MOST] __attribute__((aligned(64)));
  isa_range_t ranges[ISA_RANGES]; /* isa_inst_t.range */
  uint64_t tried_again;           /* instructions run that did not get on and come once more */
} isa_thread_t;

/* Where results go whose destination is ISA_NULL: behind the registers that have codes. */
enum { ISA_NOWHERE = ISA_SGPRS, ISA_NOWHERE_DWORDS = 16 };

enum { ISA_CHUNK = 1024 }; /* dwords of code that are kept together: a page */

/* How many lanes are moved together between registers and memory: exec/memory/move.h. */
enum { ISA_MOVED = 16, ISA_MOVES_KEPT = 8 };

/* EQUAL and CONSECUTIVE are lanes that are all active; of GAPPED ones those that are active lie as
 * if all did. */
typedef enum isa_moved_kind {
  ISA_MOVED_SCATTERED,
  ISA_MOVED_EQUAL,
  ISA_MOVED_CONSECUTIVE,
  ISA_MOVED_GAPPED
} isa_moved_kind_t;

/* Where each lane's bytes are, and how they lie. */
typedef struct isa_moves {
  uint32_t at[ISA_LANES_MOST] __attribute__((aligned(64)));
  uint8_t kind[ISA_LANES_MOST / ISA_MOVED];
  uint32_t bytes;       /* of a lane */
  uint32_t first, last; /* the smallest and the largest of `at` of active lanes */
  uint64_t exec;
} isa_moves_t;

typedef struct isa_wave {
  /* By operand encoding, see ISA_OPERAND_SGPR. */
  uint32_t s[ISA_SGPRS + ISA_NOWHERE_DWORDS];
  uint32_t lanes;
  isa_row_t *v;                 /* architectural VGPRs, `vgprs` rows */
  isa_row_t *a;                 /* accumulation VGPRs, `agprs` rows, also of v's; NULL when none */
  uint32_t sgprs, vgprs, agprs; /* allocated; the decoder's users must not reach beyond */
  uint64_t pc;
  uint32_t scc; /* 0 or 1 */
  /* Where it is a hardware register, and no pair of SGPRs: isa_chip_t.has_flat_scratch. */
  uint64_t flat_scratch;
  uint32_t mode;
  bool vskip;
  uint8_t gpr_index_mode; /* s_set_gpr_idx: bits 0-3 src0, src1, src2, dst; index is m0[7:0] */
  softgpu_fault_t *fault; /* filled in by the instruction that faults (kind, lane, address, ...) */

  /* The engine's and the memory instructions' side. */
  int32_t budget;         /* instructions left of this turn; 0 hands over to the next wave */
  const isa_inst_t *stop; /* where isa_inst_t.run_on ends */
  uint32_t room;          /* instructions of later blocks that may be run before: isa_go_to() */
  uint8_t state;          /* isa_wave_state_t */
  uint32_t index;         /* in its work-group */
  uint64_t gws_ticket;    /* of the barrier or semaphore, while gws_waits */
  bool gws_waits;
  uint64_t vmem_issued;  /* vector memory instructions, as vmcnt counts them */
  uint64_t vmem_awaited; /* when it goes on, those up to this one are complete; 0: it goes on */
  uint64_t vmem_old;     /* those of the slices before this one */
  isa_lds_load_t *lds_loads, *lds_loads_last; /* on their way, in order: lds_load.h */
  uint64_t stored_at; /* SOFTGPU_CHECK_STORES: the first scalar store since s_dcache_wb; 0: none */
  uint32_t hw_id, xcc_id;
  const softgpu_dispatch_t *dispatch;
  uint64_t entry; /* of the kernel */
  uint8_t *lds;
  uint32_t lds_bytes;
  uint32_t recorded;      /* the number of its record and 1, of a probed dispatch's; 0: none yet */
  isa_shadow_t *shadow;   /* of LDS, for checks.h; NULL without */
  uint64_t scratch;       /* this wave's slice of the scratch memory: dwords interleaved by lane */
  uint32_t private_bytes; /* of the slice, per lane */
  isa_chunk_t *chunk;     /* of the program, where the wave was last */
  const isa_inst_t *next; /* of the chunk, where the turn ended within a block, or NULL */
  const isa_inst_t *const *code; /* ISA_CHUNK of them, the chunk's, by dword; NULL until decoded */
  isa_thread_t *thread;          /* that runs the wave */
  /* All ones in the lanes of `exec_row_of`, which is EXEC when the row was last looked at. */
  uint64_t exec_row_of;
  uint32_t exec_row[ISA_LANES_MOST] __attribute__((aligned(64)));
  isa_moves_t moves[ISA_MOVES_KEPT]; /* the last ones; whether they are good is looked at */
} isa_wave_t;

static inline uint64_t isa_read_s64(const isa_wave_t *wave, unsigned index)
{
  return wave->s[index] | (uint64_t)wave->s[index + 1] << 32;
}

/* (In one piece: a processor that reads it so soon after would have to wait for two.) */
static inline void isa_write_s64(isa_wave_t *wave, unsigned index, uint64_t value)
{
  memcpy(&wave->s[index], &value, sizeof value);
}

static inline unsigned isa_lanes(const isa_wave_t *wave)
{
#ifdef ISA_LANES
  (void)wave;
  return ISA_LANES;
#else
  return wave->lanes;
#endif
}

/* Row `index` of those that begin with `rows`. */
static inline uint32_t *isa_row(const isa_wave_t *wave, const isa_row_t *rows, unsigned index)
{
  return (uint32_t *)(uintptr_t)rows + (size_t)index * isa_lanes(wave);
}

/* A mask of lanes is a pair of registers in waves of 64, and one in waves of 32, where EXEC_HI and
 * VCC_HI are registers like others: nothing else takes registers for masks (tests/lint.py). Bits of
 * lanes that there are not are 0. */
static inline uint64_t isa_read_mask(const isa_wave_t *wave, unsigned index)
{
  return isa_lanes(wave) == 64 ? isa_read_s64(wave, index) : wave->s[index];
}

static inline void isa_write_mask(isa_wave_t *wave, unsigned index, uint64_t mask)
{
  if (isa_lanes(wave) == 64)
    isa_write_s64(wave, index, mask);
  else
    wave->s[index] = (uint32_t)mask;
}

static inline uint64_t isa_exec(const isa_wave_t *wave)
{
  return isa_read_mask(wave, ISA_EXEC);
}

static inline void isa_set_exec(isa_wave_t *wave, uint64_t mask)
{
  isa_write_mask(wave, ISA_EXEC, mask);
}

/* EXEC_LO and EXEC_HI, for instructions that take them for registers in waves of either width. */
static inline uint32_t *isa_exec_halves(isa_wave_t *wave)
{
  return &wave->s[ISA_EXEC];
}

static inline uint64_t isa_vcc(const isa_wave_t *wave)
{
  return isa_read_mask(wave, ISA_VCC);
}

static inline uint64_t isa_all_lanes(unsigned lanes)
{
  return UINT64_MAX >> (64 - lanes);
}

#ifdef ISA_LANES
static const uint64_t ISA_ALL_LANES = UINT64_MAX >> (64 - ISA_LANES);
#endif

/* Loops over the lanes of a mask, the lowest first. */
#define ISA_EACH_LANE(lane, mask)                                                                  \
  for (uint64_t left = (mask); left; left &= left - 1)                                             \
    for (unsigned lane = (unsigned)__builtin_ctzll(left), once = 1; once; once = 0)

#ifdef ISA_LANES
/* The register rows of a vector operand. */
static inline isa_row_t *isa_rows(const isa_wave_t *wave, const isa_operand_t *operand)
{
  return (operand->kind == ISA_OPERAND_AGPR ? wave->a : wave->v) + operand->index;
}
#endif

/* Each executor claims the instructions it runs when a program is decoded: sets inst->run (and
 * plan) and returns true, or returns false when it does not know the op. After
 * preparation `run` returns false only for a fault, which it has described in wave->fault. `run`
 * never touches wave->pc unless the instruction does; the engine has already advanced it past the
 * instruction.
 *
 * Register bounds are checked here, once: prepare refuses operands beyond wave limits given in
 * `limits`. */
typedef struct isa_limits {
  uint32_t checks;              /* SOFTGPU_CHECK_* */
  unsigned chip;                /* softgpu_chip_t */
  uint32_t lanes;               /* of a wave */
  uint32_t node;                /* as in softgpu_dispatch_t: code is memory, too */
  uint32_t sgprs, vgprs, agprs; /* what a wave of the kernel may use */
  /* Vector registers allocated to it, and which of them is a0: wave->a is wave->v + first_agpr. */
  uint32_t rows, first_agpr;
  bool reference; /* run by the reference engine */
} isa_limits_t;

/* What a `run_on` ends with: each instruction calls the next one, so that the host's processor
 * learns for each what mostly follows it. (Compilers make a jump of it. Where they do not, as under
 * sanitizers, the engine's ISA_RUN_ON instructions at a time bound the stack.) After a fault
 * wave->stop is where it was. */
enum { ISA_RUN_ON = 64 };

static inline bool isa_go_on(isa_wave_t *wave, const isa_inst_t *inst, bool ok)
{
  if (__builtin_expect(!ok, 0)) {
    wave->stop = inst;
    return false;
  }
  return ++inst == wave->stop || inst->run_on(wave, inst);
}

/* What the `run_on` of a branch ends with, which is at the end of its block: it calls the first
 * instruction of the next block, which is `distance` dwords after this one. Where that is alone, in
 * another chunk or not decoded yet, or where there is no room, the engine goes on. */
static inline bool isa_go_to(isa_wave_t *wave, const isa_inst_t *inst, int32_t distance)
{
  const uint32_t slot = inst->end + (uint32_t)distance;
  const isa_inst_t *next =
      slot < ISA_CHUNK ? __atomic_load_n(&wave->code[slot], __ATOMIC_ACQUIRE) : NULL;
  if (!next || !next->block || next->block > wave->room) {
    wave->pc += (uint64_t)(int64_t)distance * 4;
    return true;
  }
  wave->room -= next->block;
  wave->budget -= next->block;
  wave->pc += (uint64_t)((int64_t)next->end - inst->end) * 4;
  wave->stop = next + next->block;
  return next->run_on(wave, next);
}

/* Makes a `run_on` of a `run`, and stands before it. Both stay functions of their own: one that
 * calls the next from within would keep its arrays for it, or registers for what it seldom does. */
#define ISA_GOES_ON(name)                                                                          \
  __attribute__((noinline)) static bool name(isa_wave_t *wave, const isa_inst_t *inst);            \
  __attribute__((noinline)) static bool name##_on(isa_wave_t *wave, const isa_inst_t *inst)        \
  {                                                                                                \
    return isa_go_on(wave, inst, name(wave, inst));                                                \
  }

#define ISA_RUNS(inst, name) ((inst)->run = (name), (inst)->run_on = name##_on)

/* Run an instruction that changes nothing, alone and with those after it. */
bool isa_run_nothing(isa_wave_t *wave, const isa_inst_t *inst);
bool isa_run_nothing_on(isa_wave_t *wave, const isa_inst_t *inst);

/* What is said to run an instruction and to go on does both. True, as an executor says then. */
bool isa_runs_on(isa_inst_t *inst, isa_run_t run_on);
/* What runs one alone is made to go on. */
void isa_runs_alone(isa_inst_t *inst, isa_run_t run);

/* Puts functions, each of which calls the one that was there, before what runs an instruction.
 * Where one of the two comes by the other, that one stays. */
void isa_runs_before(isa_inst_t *inst, isa_run_t run, isa_run_t run_on);

/* There is a debugger: s_trap 3 is a trap as well. */
extern bool isa_debug_traps;

/* Describes a fault in wave->fault; returns false, which is what `run` then returns. */
bool isa_wave_fault(isa_wave_t *wave, softgpu_fault_kind_t kind, unsigned lane, uint64_t address,
                    uint32_t bytes);

#endif
