/* What a probe has to know of a GFX9 instruction: its length, where it goes on, which registers it
 * names, and what memory it accesses. Internal to this folder.
 *
 * Facts: MI200 and MI300 ISA documents, chapters "Instruction formats"; LLVM's tables for gfx950.
 * Lengths were compared with llvm-objdump's: tests/probe/. */
#ifndef RAWHAL_PROBE_CODE_H
#define RAWHAL_PROBE_CODE_H

#include <stdbool.h>
#include <stdint.h>

enum {
  CODE_MOST_DWORDS = 4,
  CODE_SGPRS = 102, /* with a number of their own: s0 to s101 */
  CODE_FLAT_SCRATCH = 102,
  CODE_VCC = 106,
  CODE_M0 = 124,
  CODE_EXEC = 126,
  CODE_SCC = 253,
  CODE_NONE = 0xff,

  CODE_LITERAL = 255, /* operands that say what the next dword is */
  CODE_SDWA = 249,
  CODE_DPP = 250,

  CODE_SEGMENT_FLAT = 0, /* of CODE_FLAT */
  CODE_SEGMENT_SCRATCH = 1,
  CODE_SEGMENT_GLOBAL = 2,

  CODE_VOP3P_SCALE = 0x2c,   /* opcodes: the first half of an instruction of 16 bytes, */
  CODE_SOPC_SETVSKIP = 0x10, /* and what changes code_mode() */
  CODE_SOPC_SET_GPR_IDX_ON = 0x11,
};

/* Bits of a dword. */
static inline uint32_t code_field(uint32_t dword, unsigned low, unsigned bits)
{
  return dword >> low & ((1u << bits) - 1);
}

typedef enum code_format {
  CODE_SOP1,
  CODE_SOP2,
  CODE_SOPK,
  CODE_SOPC,
  CODE_SOPP,
  CODE_SMEM,
  CODE_VOP1,
  CODE_VOP2,
  CODE_VOPC,
  CODE_VOP3,
  CODE_VOP3P,
  CODE_DS,
  CODE_FLAT, /* and global and scratch */
  CODE_MUBUF,
  CODE_MTBUF,
  CODE_MIMG,
  CODE_UNKNOWN,
  CODE_FORMATS,
} code_format_t;

/* What is special about an instruction for whoever moves it. */
typedef enum code_flow {
  CODE_STRAIGHT,
  CODE_ENDS,  /* s_endpgm */
  CODE_JUMPS, /* s_branch */
  CODE_BRANCHES /* s_cbranch_* with a target of its own */,
  CODE_READS_PC /* s_getpc_b64 */,
  CODE_CALLS /* s_swappc, s_setpc, s_call, s_rfe and their like: refused, but for jump.h's */,
} code_flow_t;

typedef struct code {
  uint32_t dword[CODE_MOST_DWORDS]; /* what is beyond the end of the code is 0 */
  uint8_t format;                   /* code_format_t */
  uint8_t dwords;
  uint8_t flow; /* code_flow_t */
  uint16_t op;
} code_t;

/* Registers of one kind, a bit each. */
typedef struct code_set {
  uint64_t bits[4];
} code_set_t;
enum { CODE_SET_END = 256 };

static inline bool code_set_has(const code_set_t *set, uint32_t number)
{
  return number < CODE_SET_END && set->bits[number / 64] >> (number % 64) & 1;
}
/* Those beyond CODE_SET_END are left out. */
static inline void code_set_add(code_set_t *set, uint32_t first, uint32_t count)
{
  for (uint32_t i = first; i < first + count && i < CODE_SET_END; ++i)
    set->bits[i / 64] |= UINT64_C(1) << (i % 64);
}
static inline void code_set_add_all(code_set_t *set, const code_set_t *other)
{
  for (unsigned i = 0; i < CODE_SET_END / 64; ++i)
    set->bits[i] |= other->bits[i];
}
/* Without those from `end` on. */
code_set_t code_set_below(const code_set_t *set, uint32_t end);
/* One more than the highest; 0: there is none. */
uint32_t code_set_end(const code_set_t *set);
/* The lowest, or CODE_SET_END; and how many there are. */
uint32_t code_set_first(const code_set_t *set);
uint32_t code_set_count(const code_set_t *set);
/* The first of `width` that are not in it, from `from` on, at a multiple of `aligned`, before
 * `end`; `end`: there are none. */
uint32_t code_set_room(const code_set_t *set, uint32_t from, uint32_t end, uint32_t width,
                       uint32_t aligned);

/* Registers that code names. */
typedef struct code_registers {
  code_set_t sgprs, vgprs, agprs;
  uint32_t first_vgprs;    /* of tuples only the first, which is named whatever their width */
  bool any_sgpr, any_vgpr; /* relative to M0: any that the wave has */
  bool has_modes;          /* s_set_gpr_idx_on, s_setvskip: see code_mode() */
  bool has_scratch;        /* it accesses scratch, or names FLAT_SCRATCH */
  bool has_scc;            /* as an operand */
} code_registers_t;

/* `available`: dwords to the end of the code, at least 1. False: it is cut off, or not an
 * instruction of GFX9 by its first bits. */
bool code_decode(const void *bytes, uint64_t available, code_t *code);

/* From the instruction after it, in dwords, of JUMPS and BRANCHES. */
int32_t code_distance(const code_t *code);

/* Adds what it names. Of tuples whose width is not known here, as many as there may be: that an
 * instruction cannot name more than its wave has bounds that. */
void code_add_registers(const code_t *code, code_registers_t *registers);

/* How an instruction accesses memory; `bytes` 0: it does not, or only scratch. */
typedef struct code_access {
  uint8_t source, flags, bytes; /* as in rawhal_probe_point_t */
  uint8_t scalar, soffset, vector, lane_bytes;
  int32_t immediate[2];
} code_access_t;
void code_access(const code_t *code, code_access_t *access);
/* Registers of its data; where that is not known, of the widest. */
uint32_t code_data_width(const code_t *code);

/* Whether vector instructions may be skipped, or name other registers than they say, after an
 * instruction: from what was before it. */
enum { CODE_SKIPPING = 1u << 0, CODE_INDEXING = 1u << 1 };
uint8_t code_mode(const code_t *code, uint8_t before);

bool code_is_barrier(const code_t *code);
/* Does it go on with the same lanes active, and without others of the work-group? What is not known
 * does not. */
bool code_keeps_lanes(const code_t *code);

/* What an instruction does with SCC. */
enum { CODE_READS_SCC = 1u << 0, CODE_WRITES_SCC = 1u << 1 };
uint8_t code_scc(const code_t *code);

#endif
