/* What probes saw of recorded dispatches. Internal.
 *
 * A probed kernel is written once: how its code is probed, with its points. What it left of each
 * dispatch is written when that has ended: the counters, the waves and the events that there was
 * room for, and the allocations that there were then, so that addresses can be named.
 *
 * A front does, for a program of which nothing else needs to be recorded:
 *
 *     record_writer_object(writer, bytes, &object, error);        the original's code object
 *     record_writer_probe(writer, &probe, &number, error);        once for each probed kernel
 *     record_writer_dispatch(writer, &dispatch, &count, error);   the original's; as it is launched
 *     record_writer_place(writer, count, &place, error);          where the original is loaded
 *     record_writer_probed(writer, &probed, &memory, &lost, error);   when it has ended
 *
 * from any thread, each for itself; the memory of a dispatch can be used again when the last has
 * returned. The numbers are the writer's: keep `number` with the probed kernel, and `count` with
 * the dispatch in flight. */
#ifndef RAWHAL_RECORD_PROBES_H
#define RAWHAL_RECORD_PROBES_H

#include "probe/probe_records.h"
#include "record/record.h"

enum {
  RECORD_MOST_POINTS = 1 << 20,      /* of a kernel */
  RECORD_MOST_COUNTERS = 1 << 20,    /* likewise */
  RECORD_MOST_ALLOCATIONS = 1 << 16, /* of a dispatch */
  RECORD_MOST_ARGUMENT_NAME = 256,   /* bytes; what is longer is cut */
  RECORD_EVENT_BYTES = sizeof(rawhal_probe_event_t),
  RECORD_EVENT_LANES_BYTES = RECORD_EVENT_BYTES + RAWHAL_PROBE_LANES_BYTES,
};

/* Who made the records. */
typedef enum record_probe_maker {
  RECORD_MADE_BY_CODE = 0,   /* probes in the kernel's code */
  RECORD_MADE_BY_DEVICE = 1, /* softgpu, from the code as it is */
} record_probe_maker_t;

/* A kernel with probes. */
typedef struct record_probe {
  uint64_t object;        /* the number of its code object, without probes */
  rawhal_string_t kernel; /* its name, or its symbol */
  record_probe_maker_t maker;
  uint32_t kinds;       /* rawhal_probe_kind_t */
  uint64_t entry;       /* its first instruction, by the object's own addresses */
  uint32_t code_bytes;  /* from there to the end of its last */
  uint32_t counters;    /* what made the plan has these three, and the points */
  uint32_t event_bytes; /* 0, RECORD_EVENT_BYTES or RECORD_EVENT_LANES_BYTES */
  uint32_t point_count;
  const rawhal_probe_point_t *points; /* sorted; a reader has them elsewhere: NULL */
} record_probe_t;

/* Memory that there was when the dispatch ran. */
typedef struct record_allocation {
  uint64_t address, size; /* of all of it */
  uint32_t argument;      /* offset of the kernarg that led to it; RECORD_NO_ARGUMENT */
  rawhal_string_t name;   /* that argument's; of none there is none */
} record_allocation_t;
#define RECORD_NO_ARGUMENT UINT32_MAX

/* Flags of record_probed_t. */
typedef enum record_probed_flags {
  RECORD_PROBED_STOPPED = 1u << 0,   /* it was stopped before it ended: waves may have no end */
  RECORD_PROBED_HOST_TIME = 1u << 1, /* times are the host's: they rank nothing */
  RECORD_PROBED_FLAGS = RECORD_PROBED_STOPPED | RECORD_PROBED_HOST_TIME,
} record_probed_flags_t;

/* What one dispatch of a probed kernel left. */
typedef struct record_probed {
  uint64_t dispatch, probe; /* their numbers */
  uint32_t flags;           /* record_probed_flags_t */
  uint64_t frequency;       /* of its times, in Hz; 0: not known */
  uint32_t allocation_count;
  const record_allocation_t *allocations; /* in any order */
} record_probed_t;

#endif
