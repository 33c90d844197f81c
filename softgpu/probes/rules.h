/* Which dispatches are recorded, and how, as SOFTGPU_PROBE says: rules as of RAWHAL_PROBE, but for
 * what only a front knows. Internal.
 *
 *     KIND[+KIND...][,ITEM...]     one per line; the first that is for a kernel counts
 *
 * An ITEM is kernel=NAME, queue=N, grid>=N, grid<=N, sample=1/N, skip=N, first=N, buffer=BYTES or
 * value=REGISTER@OFFSET: docs/probe.md. */
#ifndef SOFTGPU_PROBES_RULES_H
#define SOFTGPU_PROBES_RULES_H

#include "probe/probe.h"

enum { RULE_VALUES = 16 };

typedef struct rule {
  char *text;           /* as it was given */
  char *kernel;         /* NULL: any but HIP's own, of copies and fills */
  uint32_t kinds;       /* rawhal_probe_kind_t */
  uint64_t queue;       /* RULE_ANY */
  uint64_t least, most; /* work-items */
  uint64_t each, skip, first;
  uint64_t buffer;
  rawhal_probe_value_t values[RULE_VALUES];
  size_t value_count;
  uint64_t probed, kept, lost; /* dispatches that were, and were not; records */
  struct rule *next;
} rule_t;
#define RULE_ANY UINT64_MAX

/* INVALID_ARGUMENT: one is not understood, or there is none; OUT_OF_MEMORY. Then there are none. */
RAWHAL_CHECKED rawhal_status_t rules_open(const char *lines, rule_t **rules, rawhal_error_t *error);

/* The first that is for a kernel of that name; NULL: none is. */
rule_t *rules_find(rule_t *rules, const char *kernel);

#endif
