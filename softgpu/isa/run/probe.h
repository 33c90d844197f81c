/* Probed dispatches: the records of probe/probe_records.h, made by the engine of a kernel whose
 * code is as it was. Internal to softgpu.
 *
 * Somebody says what the next dispatch with certain arguments is to record (asked.c). That dispatch
 * has a program of its own, in which the instructions at points of the code do what the point says
 * and then what they do (probe.c). */
#ifndef SOFTGPU_ISA_RUN_PROBE_H
#define SOFTGPU_ISA_RUN_PROBE_H

#include "probe/probe_records.h"
#include "softgpu/isa/run/launch.h"
#include "softgpu/isa/run/program.h"

enum { ISA_PROBE_NO_SGPR = 0xff }; /* as rawhal_probe_point_t.scalar */

struct isa_probe {
  isa_probe_t *next; /* of those that wait for their dispatch */
  /* As asked for. */
  uint64_t address; /* of its dispatch's kernargs, or kernel object */
  rawhal_probe_argument_t argument;
  uint32_t kinds; /* with WAVES where others include it */
  uint32_t event_bytes, counters;
  size_t count; /* of points */
  /* Of its dispatch. */
  uint64_t first, entry; /* addresses of the kernel's first byte, and of where waves begin */
  uint32_t node;
  bool is_host; /* the argument's addresses are the host's, where the memory is to the end */
  int8_t group_sgpr[3];     /* as in isa_launch_t */
  uint8_t *buffer, *events; /* where the host has the memory */
  uint64_t generation;      /* of the registry when it was last there */
  bool is_gone;             /* it is not there, or was not at some time: nothing more is written */
  rawhal_probe_point_t points[];
};

/* What one probed instruction does. */
typedef struct isa_probed {
  isa_probe_t *probe;
  isa_run_t run, run_on; /* as they were */
  uint32_t first, count; /* of the points */
  bool begins, ends;     /* the wave's record */
} isa_probed_t;

extern uint32_t isa_probes_asked; /* that wait for their dispatch: asked.c's */

/* Whether any dispatch is to be probed. */
static inline bool isa_probe_is_asked(void)
{
  return __atomic_load_n(&isa_probes_asked, __ATOMIC_RELAXED) != 0;
}

/* What a dispatch is to record, as softgpu_probe() has it, with a copy of the points. NULL: it
 * makes no sense, or there is no memory. */
isa_probe_t *isa_probe_make(const rawhal_probe_argument_t *argument, uint32_t kinds,
                            uint32_t event_bytes, uint32_t counters,
                            const rawhal_probe_point_t *points, size_t count);
/* See softgpu_probe(). A copy of what it is given waits. */
bool isa_probe_ask(uint64_t address, const rawhal_probe_argument_t *argument, uint32_t kinds,
                   uint32_t event_bytes, uint32_t counters, const rawhal_probe_point_t *points,
                   size_t count);
/* Forgets what waits for a dispatch with this address; 0: for any. */
void isa_probe_withdraw(uint64_t address);

/* Whether anything waits for this dispatch. */
bool isa_probe_waits(const softgpu_dispatch_t *dispatch);
/* What waits longest for this dispatch, which the caller frees; or NULL. */
isa_probe_t *isa_probe_take(const softgpu_dispatch_t *dispatch);

/* The program of a dispatch that has a probe, which it takes over, or for which one may wait; NULL
 * when out of memory. */
isa_program_t *isa_probe_open(const isa_launch_t *launch);

/* Whether both ask for the same at the same places of the same code: what differs then is in front
 * of the points. */
bool isa_probe_is_same(const isa_probe_t *a, const isa_probe_t *b);

/* Puts what the probe asks for before those of the instructions, which follow each other from
 * `base`, that it names. `probed` has room for so many. */
void isa_probe_attach(isa_probe_t *probe, uint64_t base, isa_inst_t *inst, uint32_t count,
                      isa_probed_t *probed);

/* Does the same of a vector instruction that s_setvskip skips, but for its accesses. */
void isa_probe_skipped(isa_wave_t *wave, const isa_inst_t *inst);

#endif
