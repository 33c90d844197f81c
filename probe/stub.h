/* What is put between a kernel's instructions. Internal to this folder.
 *
 * What probes keep through a kernel is in SGPRs that the kernel's code does not name; where there
 * are not enough of them, in lanes of a VGPR of its own. v_writelane_b32 and v_readlane_b32 move
 * between both whatever EXEC is. Then a probe in the middle borrows SGPRs of the kernel's, whose
 * values it puts into other lanes meanwhile. Where the kernel names all VGPRs, too, such a VGPR is
 * in scratch memory between the entry and the exit, and there are no probes in the middle.
 *
 * The offsets of an event's lanes need a VGPR. Where the kernel names all, an event is lent one:
 * its value goes to an AGPR of the probes' own, or to scratch memory, and comes back.
 *
 * Where vector instructions may be skipped, so may those of a probe. What records an access is then
 * left out as that is; whatever else uses lanes has nothing skipped meanwhile.
 *
 * At a kernel's first instruction all SGPRs behind the initial ones are free, and at s_endpgm all
 * are. In between VCC and EXEC stay as they are, and so does SCC where it may be read. */
#ifndef RAWHAL_PROBE_STUB_H
#define RAWHAL_PROBE_STUB_H

#include "probe/emit.h"
#include "probe/probe_records.h"

/* Numbers of SGPRs. Without events or waves their registers are CODE_NONE. */
typedef struct stub_registers {
  code_set_t all;
  uint8_t buffer;          /* a pair: rawhal_probe_argument_t */
  uint8_t record, scalars; /* four each: the halves of an event, whose number of the wave is
                                  kept in the first's last */
  uint8_t events;          /* four: the resource of a buffer of them */
  uint8_t wave;            /* the first's last, or one of its own where there are no events */
  uint8_t one;             /* a pair: 1, what counters are increased by */
  uint8_t active;          /* a pair whose second is 0 */
  uint8_t number, scc;     /* of an event: where it begins; SCC meanwhile */
} stub_registers_t;

/* Kinds that record events. */
enum { STUB_EVENTS = RAWHAL_PROBE_MEMORY | RAWHAL_PROBE_VALUES | RAWHAL_PROBE_BARRIERS };

enum {
  STUB_ENTRY_REGISTERS = 20,
  STUB_TOGETHER = 8, /* events whose numbers are taken together: an offset has 12 bits */
  STUB_SCRATCH = 4,  /* bytes of scratch that a work-item has, where it is used */
  STUB_SETTLED = 20, /* wait states after which no matrix instruction reads or writes its VGPRs, the
                        longest of gfx950's: LLVM, GCNHazardRecognizer.cpp */
  STUB_RETURNED = 2, /* and from a VALU's write of a VGPR to what may need the most: DPP */
};

/* Where the value of a VGPR is that is lent. */
typedef enum stub_lending {
  STUB_LENDS_NONE,
  STUB_LENDS_TO_AGPR,
  STUB_LENDS_TO_SCRATCH,
} stub_lending_t;

typedef struct stubs {
  uint32_t kinds;
  stub_registers_t kept; /* where they are, if they are in SGPRs */
  bool in_lanes;         /* they are in `lanes_vgpr`, a lane each, from STUB_KEPT on */
  uint8_t guards[2];     /* then, where vector instructions may be skipped: SGPRs for a probe in the
                        middle, or CODE_NONE */
  bool in_scratch;       /* and that is in scratch meanwhile */
  uint32_t lanes_vgpr, offsets_vgpr; /* the latter: where each lane's part of an event is, */
  uint8_t lends;                     /* stub_lending_t: if not in one that is lent */
  uint32_t lends_agpr;
  bool has_lanes; /* some events have */
  uint32_t event_bytes, waves_offset;
  uint32_t argument_offset;
  uint32_t kernarg_sgpr; /* of the pair, at the first instruction */
  uint32_t initial_sgprs;
  int8_t workgroup_sgpr[3]; /* -1: none */
  bool is_gfx942;           /* or gfx950: there is XCC_ID, and waves begin with FLAT_SCRATCH */
  bool has_modes; /* vector instructions may be skipped, or indexed, where the kernel ends */
} stubs_t;

/* Lays out what the kinds need in SGPRs that are not taken. False: there are not enough. */
bool stub_registers(uint32_t kinds, const code_set_t *taken, stub_registers_t *registers);

/* SGPRs that the stubs use, one more than the highest. */
uint32_t stub_sgprs(const stubs_t *stubs);

void stub_entry(const stubs_t *stubs, emit_t *emit);
void stub_exit(const stubs_t *stubs, emit_t *emit); /* s_endpgm comes after it */
/* What is around an instruction. Neighbours within a basic block take their numbers together. */
typedef struct stub_place {
  bool keeps_scc;         /* SCC stays as it is, if it would not anyway */
  uint8_t mode;           /* code_mode() */
  uint8_t takes, follows; /* of an event: numbers to take, 0 where that has been done; and how many
                             of those are before it */
} stub_place_t;
void stub_point(const stubs_t *stubs, const rawhal_probe_point_t *point, stub_place_t place,
                emit_t *emit);

#endif
