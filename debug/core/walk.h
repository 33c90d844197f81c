/* A core file read by the rules of ROCm's debugger library (ROCdbgapi 0.77, tried with the real
 * one): what it would show, and what it would find wrong. Bounded by the view's bytes, whatever
 * these are. Nothing is allocated. Internal. */
#ifndef RAWHAL_DEBUG_CORE_WALK_H
#define RAWHAL_DEBUG_CORE_WALK_H

#include "debug/core/chip.h"
#include "debug/core/format.h"
#include "debug/core/mistake.h"
#include "debug/core/view.h"

typedef struct walk_agent {
  size_t index;
  const core_chip_t *chip; /* NULL: not supported */
  core_format_agent_t entry;
} walk_agent_t;

typedef struct walk_object {
  uint64_t delta, address, size; /* of its bytes in the file */
} walk_object_t;

typedef struct walk_queue {
  size_t index, agent;
  core_format_queue_t entry;
  uint64_t read_id, write_id; /* packets */
  uint64_t scratch, slice_bytes;
  uint32_t slots, per_engine; /* of the scratch */
} walk_queue_t;

/* As the debugger library names them, AMD_DBGAPI_WAVE_STOP_REASON_*. */
enum {
  WALK_BREAKPOINT = 1,
  WALK_DEBUG_TRAP = 0x400,
  WALK_ASSERT_TRAP = 0x800,
  WALK_TRAP = 0x1000,
  WALK_MEMORY_VIOLATION = 0x2000,
  WALK_ADDRESS_ERROR = 0x4000,
  WALK_ILLEGAL_INSTRUCTION = 0x8000,
};

typedef struct walk_wave {
  const core_chip_t *chip;
  size_t queue;
  uint32_t xcc, group[3], index;
  bool placed;                /* whether its dispatch and position are known */
  bool first;                 /* of its work-group */
  uint64_t packet;            /* id */
  uint64_t kernel, kernargs;  /* the packet's */
  uint64_t pc, exec, scratch; /* scratch 0: none */
  uint32_t reason;            /* a set of WALK_*; 0: it was running */
  uint32_t trap;
  uint32_t vgprs, agprs, lds_bytes;
  uint64_t vgprs_at, agprs_at, lds_at; /* addresses in the save area; LDS of its work-group */
  uint64_t special_at;                 /* of the words that follow */
  uint32_t sgpr_count;                 /* that are saved; the first FORMAT_SGPRS are here: */
  uint32_t sgprs[FORMAT_SGPRS], hwregs[FORMAT_HWREGS], ttmps[FORMAT_TTMPS];
} walk_wave_t;

/* Called in this order: agents, code objects, of each queue itself and then its waves. False ends
 * the walk. Each may be NULL. */
typedef struct walk_visitor {
  bool (*agent)(void *context, const walk_agent_t *agent);
  bool (*object)(void *context, const walk_object_t *object);
  bool (*queue)(void *context, const walk_queue_t *queue);
  bool (*wave)(void *context, const walk_wave_t *wave);
  /* A mistake that hides something, but lets the rest be read. */
  bool (*partial)(void *context, core_mistake_t mistake, uint64_t address);
  void *context;
} walk_visitor_t;

enum { WALK_NO_QUEUE = -1 };

typedef struct walk_finding {
  core_mistake_t mistake; /* that ended the walk; MISTAKE_NONE: none */
  int64_t queue;          /* whose it is, or WALK_NO_QUEUE */
  uint64_t address;       /* where it was seen, as far as that has a place */
  uint32_t r_version;
  uint64_t r_debug;
  uint64_t seen; /* a set: bit n for each core_mistake_t n that was partial */
} walk_finding_t;

/* True: the debugger would attach. */
bool core_walk(const core_view_t *view, const walk_visitor_t *visitor, walk_finding_t *finding);

#endif
