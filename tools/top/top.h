/* rawhal top: what its parts share. */
#ifndef TOOLS_TOP_TOP_H
#define TOOLS_TOP_TOP_H

#include <rawhal/limit.h>

typedef struct top_table {
  rawhal_limit_row_t *rows;
  size_t count, room;
} top_table_t;

/* The table in the text exposition format of Prometheus, version 0.0.4. False: out of memory, and
 * nothing is printed. */
bool top_print_prometheus(const top_table_t *table);

/* One line for each refusal: those that the region remembers, then, unless `once`, new ones as they
 * come and standard output takes them; `tenant`: of that one only, NULL: of all. False: out of
 * memory. */
bool top_follow_denials(const rawhal_limit_view_t *view, bool once, const char *tenant);

#endif
