/* What is known of a probed kernel while it is judged. Internal to this folder. */
#ifndef RAWHAL_PROBE_VERIFY_H
#define RAWHAL_PROBE_VERIFY_H

#include "probe/emit.h"
#include "probe/walk.h"

/* Where a stretch is. */
typedef enum between {
  BETWEEN_ENTRY, /* before the kernel's first instruction: what it is not given is free */
  BETWEEN_TWO,
  BETWEEN_END,   /* before s_endpgm: everything is free */
  BETWEEN_WHOLE, /* both: the kernel has no other instruction */
} between_t;

/* What the kernel has. */
typedef struct owned {
  code_set_t sgprs, vgprs; /* that it names, or begins with */
  uint32_t initial_sgprs;
  uint32_t sgprs_end, vgprs_end; /* that the probed kernel's waves have */
  uint32_t kernarg_sgpr, argument_offset;
  uint32_t counters;  /* that the probes add to, each at one place */
  bool has_scratch;   /* waves have scratch memory that is not the kernel's */
  code_set_t agprs;   /* that it names, whether its waves have them or not */
  uint32_t agprs_end; /* that the probed kernel's waves have */
} owned_t;

/* SGPRs, a bit each. */
typedef struct sgpr_set {
  uint64_t bits[2];
} sgpr_set_t;

/* What is known of a register, SCC or a lane: whose value it has. */
typedef enum value {
  VALUE_ITS_OWN, /* what the kernel left in it */
  VALUE_OTHER,   /* anything */
  VALUE_SCC,     /* SCC's own, as 1 or 0 */
  VALUE_EXEC,    /* halves of EXEC's own */
  VALUE_EXEC_HIGH,
  VALUE_ZERO,
  VALUE_ONE,
  VALUE_FEW,      /* 2 to as many as numbers are taken together */
  VALUE_ACTIVE,   /* how many bits EXEC has */
  VALUE_ARGUMENT, /* its first dword; the others follow, of which these are capacities */
  VALUE_WAVES = VALUE_ARGUMENT + 4,
  VALUE_EVENTS,
  VALUE_WAVE = VALUE_ARGUMENT + 8, /* number of a record, */
  VALUE_EVENT_BYTES,               /* and of all events that there is room for: bytes, */
  VALUE_RESOURCE,                  /* and the resource's last dword */
  VALUE_WAVE_PLACE,                /* in bytes, */
  VALUE_WAVE_ADDRESS,              /* and where it is */
  VALUE_WAVE_ADDRESS_HIGH,
  VALUE_WAVE_LOST,  /* of SCC: there is no room for a record, */
  VALUE_WAVE_CARRY, /* or what an address carries */
  VALUE_ALL,        /* of EXEC */
  VALUE_SKIPS,      /* whether vector instructions are skipped; and of SCC, that they are */
  VALUE_SKIPPED,
  VALUE_SGPR = 64, /* and from there on: that of an SGPR of that number, less this */
} value_t;

/* What lasts through the kernel in what is not its: as the entry leaves it. */
typedef struct lasting {
  uint8_t sgprs[CODE_SGPRS], lanes[64]; /* value_t */
  uint8_t scratch[64];                  /* likewise: lanes of a VGPR that is there */
  uint32_t lanes_vgpr;                  /* UINT32_MAX: none */
  uint32_t event_bytes;                 /* 0: none yet */
  sgpr_set_t read;                      /* that stores may still read where the kernel goes on */
  sgpr_set_t changed;     /* that do not last after all: other stretches are theirs, */
  uint64_t changed_lanes; /* and lanes, */
  bool changed_scratch;   /* and what is in scratch */
} lasting_t;
#define LASTING_NOTHING ((lasting_t){.lanes_vgpr = UINT32_MAX})

#endif
