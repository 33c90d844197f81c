/* What a plan is made of. Internal to this folder. */
#ifndef RAWHAL_PROBE_PLAN_H
#define RAWHAL_PROBE_PLAN_H

#include "hsaco/descriptor.h"
#include "hsaco/object.h"
#include "probe/probe.h"
#include "probe/stub.h"
#include "probe/walk.h"

enum {
  PLAN_SPECIAL_SGPRS = 6, /* VCC, FLAT_SCRATCH, XNACK_MASK: counted with the others */
  PLAN_RSRC2_HAS_SCRATCH = 1,
};

struct rawhal_probe_plan {
  rawhal_probe_plan_info_t info;
  const allocator_t *allocator; /* the object's */
  walk_t walk;
  stubs_t stubs; /* not set where there are only points */
  bool has_only_points;
  rawhal_probe_point_t *points;
  size_t point_room;
  uint32_t
      preamble; /* bytes before the first instruction, for older firmware: preloaded arguments */
  unsigned char descriptor[DESCRIPTOR_SIZE]; /* the probed kernel's, but for its entry */
};

/* Whether there can be probes in code of its kind, before any of it is read. UNSUPPORTED,
 * INVALID_ARGUMENT. */
RAWHAL_CHECKED rawhal_status_t plan_check(const rawhal_kernel_t *kernel, rawhal_error_t *error);

/* A kernel's code, as hardware enters it; and what stands before. UNSUPPORTED, MALFORMED. */
RAWHAL_CHECKED rawhal_status_t plan_code(const rawhal_kernel_t *kernel, walk_t *walk,
                                         uint32_t *preamble, rawhal_error_t *error);

/* What its waves begin with. UNSUPPORTED: no kernargs. */
RAWHAL_CHECKED rawhal_status_t plan_entry(const rawhal_kernel_t *kernel, stubs_t *stubs,
                                          rawhal_error_t *error);

/* Where the probe's argument goes: behind all that the kernel takes. UNSUPPORTED. */
RAWHAL_CHECKED rawhal_status_t plan_argument(const rawhal_kernel_t *kernel, uint32_t *offset,
                                             rawhal_error_t *error);

/* Registers that are the kernel's. */
typedef struct plan_named {
  code_set_t sgprs, vgprs, agprs;
} plan_named_t;

/* Of what its code names. Tuples may be taken for wider than they are, and a wave does not have
 * what is beyond its last register: that bounds them. Code by hand does name VGPRs beyond the accum
 * offset, which are there where it is wrong and no AGPRs are used. UNSUPPORTED: there are. */
RAWHAL_CHECKED rawhal_status_t plan_named(const rawhal_descriptor_t *descriptor,
                                          const code_registers_t *named, plan_named_t *bounded,
                                          rawhal_error_t *error);

/* Whether waves have room in scratch memory: on gfx942 and gfx950, which give it to them without
 * SGPRs, where the kernel, which names `named`, has none of its own. */
bool plan_has_scratch(const rawhal_descriptor_t *descriptor, const code_registers_t *named,
                      const stubs_t *stubs);

/* Registers for the probes, and the descriptor that has them. UNSUPPORTED: there are not enough. */
RAWHAL_CHECKED rawhal_status_t plan_registers(rawhal_probe_plan_t *plan, uint32_t flags,
                                              rawhal_error_t *error);

/* The points, and how many counters they have. */
RAWHAL_CHECKED rawhal_status_t plan_points(rawhal_probe_plan_t *plan,
                                           const rawhal_probe_spec_t *spec, rawhal_error_t *error);

#endif
