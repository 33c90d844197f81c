/* From a fault to its likely causes: what was launched, what it pointed to, what lives and what was
 * freed. Pure functions: they read what they are given and touch nothing else. Internal. */
#ifndef RAWHAL_DEBUG_CAUSE_H
#define RAWHAL_DEBUG_CAUSE_H

#include "debug/fault.h"
#include "kernarg/kernarg.h"

/* Memory of the program's, alive or freed lately. */
typedef struct debug_allocation {
  uint64_t base, size;        /* device address; bytes that the program asked for */
  uint64_t number;            /* in the order in which they were made */
  uint64_t made_at, freed_at; /* CLOCK_MONOTONIC ns; freed_at 0: it lives */
  uint64_t owner;             /* agent's handle; 0: the host's memory */
  bool reachable;             /* by the device that failed */
  bool read_only;
  bool code; /* was loaded, not allocated */
  char label[32];
} debug_allocation_t;

/* A dispatch. What is not known is zero. */
typedef struct debug_dispatch {
  uint64_t queue_id, ticket, packet;
  uint32_t index; /* in its submission */
  rawhal_string_t kernel, label;
  rawhal_string_t queue_label;
  const rawhal_kernarg_layout_t *layout; /* NULL: not known */
  rawhal_bytes_t kernargs;               /* its image, as the device reads it */
  uint64_t kernarg_address;              /* where the device reads it */
  size_t supplied;                       /* bytes of it that came from the caller; 0: not known */
  uint32_t grid[3];                      /* work-items */
  uint16_t workgroup[3];
  uint32_t group_bytes, private_bytes;
  uint64_t kernel_object, submitted_at;
  bool running; /* it had not ended */
} debug_dispatch_t;

/* A work-group of a dispatch that does not end, some of whose waves are at s_barrier and wait for
 * others. Waves are bits, by their index in the work-group. */
typedef struct debug_stand {
  uint32_t group[3];
  uint32_t waiting, elsewhere, ended;
  uint64_t barrier, pc; /* where the first is that waits, and the first that is elsewhere */
  uint32_t groups;      /* that stand like this */
} debug_stand_t;

/* Where a walk over allocations is; zeros: before the first. */
typedef struct debug_cursor {
  size_t index;
  const void *at; /* whose walk it is decides what */
} debug_cursor_t;

/* What surrounds a fault. */
typedef struct debug_scene {
  uint64_t now;                       /* CLOCK_MONOTONIC ns */
  const debug_dispatch_t *dispatches; /* the one that failed first where that is known; then those
                                         in flight, then those that ended, the latest first */
  size_t dispatch_count;
  uint64_t device;   /* agent's handle */
  const char *waits; /* for what the barrier waits at which the queue hangs; NULL: it is at none */
  const debug_stand_t *stand; /* where waves wait for others of their work-group; NULL: that is not
                                 known, or none do */
  void *context;
  /* The next allocation, the live ones and the freed ones in any order; false: there are no more.
   * NULL: none is known. */
  bool (*allocation)(void *context, debug_cursor_t *cursor, debug_allocation_t *allocation);
  /* Copies bytes of device memory, all or none; false: they cannot be had. NULL: never. It is
   * asked for 4096 bytes or fewer, 64 KiB of an argument and 1 MiB in all, and only when no
   * argument leads to the address by itself. */
  bool (*read)(void *context, uint64_t address, void *to, size_t size);
} debug_scene_t;

/* Fills in `causes` and `cause_count` of a fault whose other members stand: the most likely first.
 * With KNOWS_DISPATCH the first dispatch of the scene is the one that failed. Without, each that
 * runs is asked where it is about memory, or else each that ended; the first, where it is not. No
 * byte of it all is trusted. No allocation, lock or I/O but by the scene's functions; 32 KiB of
 * stack. Time: dispatches times allocations, 96 words of arguments each. */
void cause_find(const debug_scene_t *scene, rawhal_fault_t *fault);

#endif
