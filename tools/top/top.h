/* rawhal top: what its parts share. */
#ifndef TOOLS_TOP_TOP_H
#define TOOLS_TOP_TOP_H

#include <rawhal/events.h>
#include <rawhal/limit.h>

#include "base/list.h"

typedef struct top_table {
  rawhal_limit_row_t *rows;
  size_t count, room;
  rawhal_limit_damage_t damage;
} top_table_t;

/* A queue of a process. */
typedef struct top_queue {
  uint64_t id, agent; /* hsa_queue_t.id; hsa_agent_t.handle in the process */
  bool readable;
  uint64_t in_flight; /* dispatches that have not been taken, or may be running */
  char label[RAWHAL_LABEL_BYTES];
} top_queue_t;

/* Adds those of a row's process, a top_queue_t each. `*shown`: it lets this process look. False: no
 * memory. */
bool top_read_queues(const rawhal_limit_row_t *row, list_t *queues, bool *shown);

/* The table in the text exposition format of Prometheus, version 0.0.4. False: out of memory, and
 * nothing is printed. */
bool top_print_prometheus(const top_table_t *table);

/* One line for each refusal: those that the region remembers, then, unless `once`, new ones as they
 * come and standard output takes them; `tenant`: of that one only, NULL: of all. False: out of
 * memory. */
bool top_follow_denials(const rawhal_limit_view_t *view, bool once, const char *tenant);

#endif
