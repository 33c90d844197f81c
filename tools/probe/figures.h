/* What the records of one dispatch say, in numbers. */
#ifndef TOOLS_PROBE_FIGURES_H
#define TOOLS_PROBE_FIGURES_H

#include "record/reader.h"
#include "tools/probe/access.h"
#include "tools/probe/places.h"

enum {
  FIGURES_VALUES = 8,         /* first values of a site that are kept */
  FIGURES_MOST_VALUES = 4096, /* of all sites */
  FIGURES_SITE_PLACES = 4,    /* allocations of a site that are told apart */
  FIGURES_GROUP_WAVES = 64,   /* waves of a work-group that are told apart */
};

/* The first values at a place. */
typedef struct site_value {
  uint32_t wave;
  uint64_t exec;
  uint64_t lanes[RAWHAL_PROBE_LANES]; /* of a scalar register, the first */
} site_value_t;

/* A point that makes events. */
typedef struct site {
  uint32_t point;         /* its number in kernel_t.points */
  uint64_t events, lanes; /* instructions of waves, and their lanes */
  uint64_t untold;        /* instructions whose addresses the records do not tell */
  uint64_t bytes;         /* of lanes, of memory and LDS */
  /* of memory: instructions, lanes, and lines of 64 and 128 bytes, as access_lines_t */
  uint64_t global, global_lanes, touched[2], ideal[2];
  /* of LDS: instructions, as access_banks_t, and the offsets */
  uint64_t lds, groups, passes;
  uint32_t worst, lds_first, lds_last;
  uint64_t scratch, outside; /* lanes */
  struct {
    size_t place; /* + 1; 0: none */
    uint64_t accesses;
  } places[FIGURES_SITE_PLACES];
  uint64_t other_places; /* accesses to further allocations, */
  uint64_t elsewhere;    /* and to none */
  uint32_t value_count;  /* in values[] */
  size_t first_value;    /* of figures_t.values */
  uint64_t *last; /* of a barrier: how often each wave of its group came last; NULL: not told */
} site_t;

/* A probed kernel, which several dispatches may share. */
typedef struct kernel {
  uint64_t number; /* 0: none */
  record_probe_t probe;
  char *name;    /* the probe's, which is the reader's else */
  bool is_named; /* it was shown, in full */
  rawhal_probe_point_t *points;
  site_t *sites; /* by offset, in the order of the points */
  size_t site_count;
} kernel_t;

typedef struct figures {
  const record_records_t *records;
  kernel_t *kernel;
  uint32_t grid_items[3], group_items[3]; /* of a work-group */
  rawhal_probe_header_t header;
  uint64_t *counters;
  rawhal_probe_wave_t *waves;
  places_t places;
  site_value_t *values;
  size_t value_count;
  uint8_t *turns;   /* of waves, at places with several events */
  uint64_t unknown; /* events at no place that makes any */
  list_t arrivals;  /* of waves at barriers */
} figures_t;

/* Reads the probed kernel, unless it is that already. */
bool kernel_read(kernel_t *kernel, record_reader_t *reader, uint64_t number, rawhal_error_t *error);
void kernel_free(kernel_t *kernel);

/* Of records that are whole. The kernel's sites are the figures' until the next call. */
bool figures_read(figures_t *figures, record_reader_t *reader, uint64_t number,
                  const record_records_t *records, kernel_t *kernel,
                  const record_dispatch_t *dispatch, rawhal_error_t *error);
void figures_free(figures_t *figures);

/* Work-items of a group, and so waves; of none as many as the records can tell. */
uint64_t figures_group_waves(const figures_t *figures);
/* The wave's number in its group. */
uint64_t figures_wave_in_group(const figures_t *figures, const rawhal_probe_wave_t *wave);

/* ---- Blocks ---- */

typedef struct block {
  uint32_t offset, bytes, instructions;
  uint64_t count, executed; /* times it was entered; times its instructions */
  bool has_lanes;
  uint64_t lanes; /* active ones, of all times */
} block_t;

typedef struct edge {
  uint32_t offset, target; /* of the branch, and where it leads */
  uint64_t not_taken, reached;
  bool is_told; /* the block that it ends is counted, too */
} edge_t;

typedef struct code_figures {
  block_t *blocks; /* by offset */
  edge_t *edges;
  size_t block_count, edge_count;
  uint64_t executed; /* instructions of waves, all blocks together */
} code_figures_t;

bool code_figures(const figures_t *figures, code_figures_t *code, rawhal_error_t *error);
void code_figures_free(code_figures_t *code);
/* The block that an instruction is in; NULL: none that is counted. */
const block_t *code_block_at(const code_figures_t *code, uint32_t offset);

/* ---- Waves ---- */

/* Where waves run: a compute unit. */
typedef struct unit {
  uint16_t place; /* XCC 12:9... see unit_of() */
  uint64_t waves, simds[4];
  uint64_t busy; /* ticks of all waves that have ended */
  uint32_t most; /* at a time */
} unit_t;

static inline unsigned unit_xcc(const unit_t *unit)
{
  return unit->place >> 8;
}
static inline unsigned unit_engine(const unit_t *unit)
{
  return unit->place >> 5 & 7;
}
static inline unsigned unit_array(const unit_t *unit)
{
  return unit->place >> 4 & 1;
}
static inline unsigned unit_number(const unit_t *unit)
{
  return unit->place & 15;
}

enum { UNITS = 1 << 12 };

typedef struct wave_figures {
  unit_t *units; /* that had waves, by their places */
  size_t unit_count;
  uint64_t unfinished;
  uint64_t begin, end; /* of all that have ended */
  uint64_t busy;
  uint32_t most; /* waves at a time, of all */
} wave_figures_t;

/* The place of a wave's unit. */
uint16_t unit_of(const rawhal_probe_wave_t *wave);
bool wave_figures(const figures_t *figures, wave_figures_t *waves, rawhal_error_t *error);
void wave_figures_free(wave_figures_t *waves);

#endif
