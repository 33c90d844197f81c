/* rawhal top --prometheus: gauges of devices, tenants and processes. Counters only grow; those of
 * what the region does not keep beyond a process are of processes only: a sum over the live ones
 * falls when one of them ends, and would be taken for a counter that began afresh. */
#include "tools/top/top.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/shared/escape.h"

typedef enum unit { UNIT_ONE, UNIT_SECONDS, UNIT_RATIO } unit_t;

/* Levels a metric is of. */
enum {
  DEVICE = 1 << RAWHAL_LIMIT_LEVEL_DEVICE,
  TENANT = 1 << RAWHAL_LIMIT_LEVEL_TENANT,
  PROCESS = 1 << RAWHAL_LIMIT_LEVEL_PROCESS,
  SHARED = DEVICE | TENANT,
  ALL = SHARED | PROCESS,
};

typedef struct metric {
  const char *name, *type, *help;
  size_t offset; /* of a uint64_t in the row */
  unit_t unit;
  int levels;
} metric_t;

#define FIELD(member) offsetof(rawhal_limit_row_t, member)

static const metric_t metrics[] = {
    {"share_limit_ratio", "gauge", "Device time that is allowed; absent: all.", FIELD(share_ppm),
     UNIT_RATIO, ALL},
    {"burst_seconds", "gauge", "How far the clock may be ahead before admission stops.",
     FIELD(burst_ns), UNIT_SECONDS, ALL},
    {"ahead_seconds", "gauge", "How far the clock is ahead.", FIELD(ahead_ns), UNIT_SECONDS, ALL},
    {"open_seconds", "gauge", "Device time in flight, by estimate.", FIELD(open_ns), UNIT_SECONDS,
     ALL},
    {"dispatch_rate_limit", "gauge", "Dispatches a second that are allowed; absent: any.",
     FIELD(dispatch_rate), UNIT_ONE, TENANT},
    {"memory_limit_bytes", "gauge", "Device memory that is allowed; absent: any.",
     FIELD(memory_limit), UNIT_ONE, TENANT | PROCESS},
    {"memory_used_bytes", "gauge", "Device memory in use.", FIELD(memory_used), UNIT_ONE, ALL},
    {"memory_peak_bytes", "gauge", "The most device memory that was in use.", FIELD(memory_peak),
     UNIT_ONE, TENANT | PROCESS},
    {"weight", "gauge", "Weight among the tenant's processes.", FIELD(weight), UNIT_ONE, PROCESS},
    {"dispatches_total", "counter", "Dispatches that have finished.", FIELD(launches), UNIT_ONE,
     PROCESS},
    {"device_seconds_total", "counter", "Device time charged.", FIELD(charged_ns), UNIT_SECONDS,
     ALL},
    {"returned_seconds_total", "counter", "What of it was given back, as others used it, too.",
     FIELD(returned_ns), UNIT_SECONDS, ALL},
    {"would_block_total", "counter", "Admissions that were told to come again.", FIELD(would_block),
     UNIT_ONE, PROCESS},
    {"denials_total", "counter", "Refusals of memory, and of dispatches that could never fit.",
     FIELD(denials), UNIT_ONE, PROCESS},
    {"estimated_seconds_total", "counter", "Estimates of what has finished.", FIELD(estimated_ns),
     UNIT_SECONDS, PROCESS},
    {"estimate_error_seconds_total", "counter", "Differences between estimate and cost.",
     FIELD(estimate_error_ns), UNIT_SECONDS, PROCESS},
    {"no_timestamps_total", "counter", "Dispatches charged by the host's clock.",
     FIELD(no_timestamps), UNIT_ONE, PROCESS},
};

static const char *const levels[] = {[RAWHAL_LIMIT_LEVEL_DEVICE] = "device",
                                     [RAWHAL_LIMIT_LEVEL_TENANT] = "tenant",
                                     [RAWHAL_LIMIT_LEVEL_PROCESS] = "process"};

/* ---- Rows and their labels ---- */

enum {
  NAME_BYTES = sizeof(((rawhal_limit_row_t *)NULL)->name),
  SHOWN_BYTES = 4 * NAME_BYTES, /* "\xff" for a byte is the most there is */
  LABEL_BYTES = 5 * NAME_BYTES, /* "\\xff" */
};

typedef struct source {
  const rawhal_limit_row_t *row;
  const struct source *device; /* the device's row before it, or itself */
  bool repeated;               /* a row of its level and names is before it */
  char name[LABEL_BYTES];      /* as a label's value */
} source_t;

typedef struct sources {
  source_t *list;
  size_t count;
} sources_t;

/* Another tenant's text as all of it is shown, quoted by the rules of the format. False: out of
 * memory. */
static bool quote_name(const char *name, char label[LABEL_BYTES])
{
  char shown[SHOWN_BYTES] = "";
  FILE *out = fmemopen(shown, sizeof(shown), "w");
  if (!out)
    return false;
  (void)escape_text(out, rawhal_string(name), SIZE_MAX);
  fclose(out);
  for (const char *at = shown; *at; ++at) {
    if (*at == '\\' || *at == '"')
      *label++ = '\\';
    *label++ = *at;
  }
  *label = '\0';
  return true;
}

/* A damaged region may have two tenants of one name: one series each is all there may be. */
static bool is_repeated(const sources_t *sources, const source_t *source)
{
  const rawhal_limit_level_t level = source->row->level;
  if (level == RAWHAL_LIMIT_LEVEL_PROCESS)
    return false; /* by its slot there is one */
  for (const source_t *other = sources->list; other < source; ++other)
    if (other->row->level == level && !strcmp(other->name, source->name) &&
        !strcmp(other->device->name, source->device->name))
      return true;
  return false;
}

/* False: out of memory. */
static bool find_sources(const top_table_t *table, sources_t *sources)
{
  const source_t *device = NULL;
  sources->list = calloc(table->count + 1, sizeof(*sources->list));
  for (size_t i = 0; sources->list && i < table->count; ++i) {
    source_t *source = &sources->list[sources->count];
    source->row = &table->rows[i];
    if (source->row->level == RAWHAL_LIMIT_LEVEL_DEVICE)
      device = source;
    if (!device) /* so damaged a region has rows of none */
      continue;
    source->device = device;
    if (!quote_name(source->row->name, source->name))
      return false;
    source->repeated = is_repeated(sources, source);
    ++sources->count;
  }
  return sources->list != NULL;
}

/* `{device="...",tenant="..."` without the closing brace. */
static void print_labels(const source_t *source)
{
  const rawhal_limit_row_t *row = source->row;
  printf("{device=\"%s\"", source->device->name);
  if (row->level != RAWHAL_LIMIT_LEVEL_DEVICE)
    printf(",tenant=\"%s\"", source->name);
  if (row->level == RAWHAL_LIMIT_LEVEL_PROCESS)
    printf(",slot=\"%" PRIu32 "\",pid=\"%" PRIu64 "\",pid_namespace=\"%" PRIu64 "\"", row->slot,
           row->pid, row->pid_namespace);
}

/* ---- Samples ---- */

static void print_value(uint64_t value, unit_t unit)
{
  const uint64_t second_ns = 1000000000u, million = 1000000u;
  if (unit == UNIT_SECONDS)
    printf(" %" PRIu64 ".%09" PRIu64 "\n", value / second_ns, value % second_ns);
  else if (unit == UNIT_RATIO)
    printf(" %" PRIu64 ".%06" PRIu64 "\n", value / million, value % million);
  else
    printf(" %" PRIu64 "\n", value);
}

static void print_head(rawhal_limit_level_t level, const char *name, const char *type,
                       const char *help)
{
  printf("# HELP rawhal_%s_%s %s\n# TYPE rawhal_%s_%s %s\n", levels[level], name, help,
         levels[level], name, type);
}

/* Calls `print` for each row of the level. */
static void for_each(const sources_t *sources, rawhal_limit_level_t level,
                     void (*print)(const source_t *source, const void *context),
                     const void *context)
{
  for (size_t i = 0; i < sources->count; ++i)
    if (sources->list[i].row->level == level && !sources->list[i].repeated)
      print(&sources->list[i], context);
}

static void print_metric(const source_t *source, const void *context)
{
  const metric_t *metric = context;
  uint64_t value;
  memcpy(&value, (const char *)source->row + metric->offset, sizeof(value));
  if (value == RAWHAL_UNLIMITED)
    return;
  printf("rawhal_%s_%s", levels[source->row->level], metric->name);
  print_labels(source);
  putchar('}');
  print_value(value, metric->unit);
}

static void print_achieved(const source_t *source, const void *context)
{
  static const char *const windows[RAWHAL_LIMIT_WINDOWS] = {"1s", "10s", "60s"};
  (void)context;
  for (int i = 0; i < RAWHAL_LIMIT_WINDOWS; ++i) {
    printf("rawhal_%s_share_achieved_ratio", levels[source->row->level]);
    print_labels(source);
    printf(",window=\"%s\"}", windows[i]);
    print_value(source->row->achieved_ppm[i], UNIT_RATIO);
  }
}

static void print_classes(const source_t *source, const void *context)
{
  (void)context;
  for (size_t i = 0; i < RAWHAL_LIMIT_CLASSES; ++i) {
    printf("rawhal_%s_memory_class_bytes", levels[source->row->level]);
    print_labels(source);
    printf(",class=\"%s\"}", rawhal_limit_class_name(i));
    print_value(source->row->memory_by_class[i], UNIT_ONE);
  }
}

/* The last bucket has no upper end. The count is the buckets' own, which were read together. */
static void print_waits(const source_t *source, const void *context)
{
  (void)context;
  uint64_t sum = 0;
  for (int i = 0; i < RAWHAL_LIMIT_WAIT_BUCKETS; ++i) {
    sum += source->row->wait_histogram[i];
    printf("rawhal_process_wait_seconds_bucket");
    print_labels(source);
    if (i + 1 < RAWHAL_LIMIT_WAIT_BUCKETS)
      printf(",le=\"%" PRIu64 ".%06" PRIu64 "\"}", (UINT64_C(1) << i) / 1000000,
             (UINT64_C(1) << i) % 1000000);
    else
      printf(",le=\"+Inf\"}");
    print_value(sum, UNIT_ONE);
  }
  printf("rawhal_process_wait_seconds_sum");
  print_labels(source);
  putchar('}');
  print_value(source->row->wait_ns, UNIT_SECONDS);
  printf("rawhal_process_wait_seconds_count");
  print_labels(source);
  putchar('}');
  print_value(sum, UNIT_ONE);
}

static void print_state(const source_t *source, const void *context)
{
  const rawhal_limit_row_t *row = source->row;
  bool process = row->level == RAWHAL_LIMIT_LEVEL_PROCESS;
  (void)context;
  printf("rawhal_%s_%s", levels[row->level], process ? "waiting" : "suspended");
  print_labels(source);
  putchar('}');
  print_value(process ? row->waiting : row->suspended, UNIT_ONE);
}

static void print_processes(const source_t *source, const void *context)
{
  (void)context;
  printf("rawhal_%s_processes", levels[source->row->level]);
  print_labels(source);
  putchar('}');
  print_value(source->row->processes, UNIT_ONE);
}

/* Those that are not a single number of a row. */
static const struct {
  const char *name, *type, *help;
  void (*print)(const source_t *source, const void *context);
  int levels;
} others[] = {
    {"share_achieved_ratio", "gauge", "Device time in the last window.", print_achieved, ALL},
    {"memory_class_bytes", "gauge", "Device memory in use, by class.", print_classes, PROCESS},
    {"wait_seconds", "histogram", "Admissions that had to wait.", print_waits, PROCESS},
    {"processes", "gauge", "Live processes.", print_processes, SHARED},
    {"suspended", "gauge", "1 while an operator has suspended it.", print_state, TENANT},
    {"waiting", "gauge", "1 while a shared limit holds it back.", print_state, PROCESS},
};

static void print_levels(const sources_t *sources)
{
  for (int i = 0; i <= RAWHAL_LIMIT_LEVEL_PROCESS; ++i) {
    rawhal_limit_level_t level = (rawhal_limit_level_t)i;
    for (size_t m = 0; m < sizeof(metrics) / sizeof(*metrics); ++m) {
      if (!(metrics[m].levels & 1 << i))
        continue;
      print_head(level, metrics[m].name, metrics[m].type, metrics[m].help);
      for_each(sources, level, print_metric, &metrics[m]);
    }
    for (size_t m = 0; m < sizeof(others) / sizeof(*others); ++m) {
      if (!(others[m].levels & 1 << i))
        continue;
      print_head(level, others[m].name, others[m].type, others[m].help);
      for_each(sources, level, others[m].print, NULL);
    }
  }
}

bool top_print_prometheus(const top_table_t *table)
{
  sources_t sources = {0};
  bool done = find_sources(table, &sources);
  if (done)
    printf("# HELP rawhal_region_damaged 1 since damage to the region was found.\n"
           "# TYPE rawhal_region_damaged gauge\nrawhal_region_damaged %d\n",
           table->damage.at_ns != 0);
  if (done)
    print_levels(&sources);
  free(sources.list);
  return done;
}
