/* One instruction of a probe, judged: what it makes of what is known. Internal to this folder. */
#ifndef RAWHAL_PROBE_VERIFY_STATE_H
#define RAWHAL_PROBE_VERIFY_STATE_H

#include "probe/verify.h"

/* A VGPR of the kernel's that a probe uses meanwhile. */
enum { LENT_NONE = UINT8_MAX + 1, LENT_UNKNOWN, LENT_TO_SCRATCH };
typedef struct lent {
  uint16_t vgpr;  /* or LENT_NONE; LENT_UNKNOWN: another one on each way */
  uint16_t to;    /* the AGPR with its value, LENT_TO_SCRATCH, or LENT_NONE: none is lent */
  bool returns;   /* that is loaded, and has not been waited for */
  bool waits;     /* vector memory of the kernel's may not be done */
  uint8_t passed; /* wait states since anything of the kernel's, */
  uint8_t needed; /* and that have to pass before anything of it again */
} lent_t;

/* What is known at a place. */
typedef struct state {
  bool reached;
  uint8_t sgprs[CODE_SGPRS], lanes[64]; /* value_t */
  uint8_t scratch[64], scc, exec;       /* likewise */
  uint32_t lanes_vgpr;                  /* UINT32_MAX: none */
  uint8_t mode;                         /* code_mode() */
  bool skips_nothing;                   /* for now: what was is in an SGPR */
  bool wave_inside;                     /* there is room for the record of the number */
  sgpr_set_t loaded, read;              /* by scalar memory that has not been waited for: */
  bool waits;                           /* there may be some of the kernel's, too */
  bool fills;                           /* of scratch memory, into lanes_vgpr */
  lent_t lent;
} state_t;

typedef struct judge {
  const owned_t *owned;
  between_t where;
  lasting_t lasting; /* a copy, which grows */
  const char *text;  /* what is wrong, if anything is */
} judge_t;

bool state_refuse(judge_t *judge, const char *text);
bool state_step(judge_t *judge, const code_t *code, state_t *state);

bool state_is_entry(const judge_t *judge);
bool state_is(const code_t *code, emit_op_t op);

#endif
