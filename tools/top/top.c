/* rawhal top: who uses the device, of a region that processes share. */
#include "tools/top/top.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "debug/label.h"
#include "tools/shared/json.h"
#include "tools/shared/labels.h"
#include "tools/shared/terminal.h"
#include "tools/shared/tool.h"

/* Without the rows of other tenants, and devices of which none is left. */
static void keep_tenant(top_table_t *table, const char *tenant)
{
  const rawhal_limit_row_t *device = NULL;
  size_t kept = 0;
  for (size_t i = 0; i < table->count; ++i) {
    const rawhal_limit_row_t row = table->rows[i];
    if (row.level == RAWHAL_LIMIT_LEVEL_DEVICE) {
      device = &table->rows[i];
      continue;
    }
    if (strcmp(row.name, tenant))
      continue;
    if (device) {
      const rawhal_limit_row_t above = *device; /* its place may be the one written to */
      table->rows[kept++] = above;
    }
    device = NULL;
    table->rows[kept++] = row;
  }
  table->count = kept;
}

/* A few more rows than there are, should some be added meanwhile. False: out of memory. */
static bool read_table(const rawhal_limit_view_t *view, const char *tenant, top_table_t *table)
{
  size_t count = rawhal_limit_view_read(view, NULL, sizeof(rawhal_limit_row_t), 0);
  if (!array_reserve(NULL, &table->rows, &table->room, count + 16, sizeof(*table->rows)))
    return false;
  count = rawhal_limit_view_read(view, table->rows, sizeof(*table->rows), table->room);
  table->count = count < table->room ? count : table->room;
  (void)rawhal_limit_view_damage(view, &table->damage, sizeof(table->damage));
  if (tenant)
    keep_tenant(table, tenant);
  return true;
}

/* ---- Text ---- */

static const char *bytes_text(uint64_t bytes, char text[16])
{
  static const char units[] = "KMGTP";
  if (bytes == RAWHAL_UNLIMITED)
    return "-";
  double value = (double)bytes / 1024;
  size_t unit = 0;
  for (; value >= 1024 && units[unit + 1]; ++unit)
    value /= 1024;
  snprintf(text, 16, "%.1f%c", value, units[unit]);
  return text;
}

static const char *share_text(uint64_t ppm, char text[16])
{
  if (ppm == RAWHAL_UNLIMITED)
    return "-";
  snprintf(text, 16, "%.1f", (double)ppm / 10000);
  return text;
}

enum { NAME = 25, STATE = sizeof(" suspended") - 1, COLUMNS = 10 };

/* In the order in which they stand. */
static const struct column {
  const char *head;
  int width;
  size_t rank; /* a narrow terminal has those of the least */
} columns[COLUMNS] = {
    {"LIMIT%", 6, 0},   {"1s%", 6, 1},   {"10s%", 6, 7},   {"60s%", 6, 8},   {"AHEADms", 7, 9},
    {"LAUNCHES", 9, 4}, {"WAITS", 7, 5}, {"DENIED", 6, 6}, {"MEMORY", 8, 2}, {"LIMIT", 8, 3},
};

static size_t width_of(size_t rank)
{
  size_t i = 0;
  while (columns[i].rank != rank)
    ++i;
  return (size_t)columns[i].width + 1;
}

/* How many of them, from the least rank on, a line has room for. */
static size_t count_columns(void)
{
  size_t used = NAME + STATE, count = 0;
  while (count < COLUMNS && (used += width_of(count)) <= terminal_columns())
    ++count;
  return count;
}

/* What does not fit all the same, as numbers may be long, is cut. */
static void print_line(const char *name, const char *const texts[COLUMNS], const char *state)
{
  char line[256] = "";
  size_t used = 0;
  const size_t shown = count_columns(), width = terminal_columns();
  tool_print_column(name, NAME);
  for (size_t i = 0; i < COLUMNS; ++i)
    if (columns[i].rank < shown)
      used +=
          (size_t)snprintf(line + used, sizeof(line) - used, " %*s", columns[i].width, texts[i]);
  snprintf(line + used, sizeof(line) - used, "%s%s", *state ? " " : "", state);
  (void)terminal_print_within(rawhal_string(line), width == SIZE_MAX ? width
                                                   : width > NAME    ? width - NAME
                                                                     : 0);
  putchar('\n');
}

static void print_row(const rawhal_limit_row_t *row)
{
  char name[80], share[16], used[16], limit[16], achieved[3][16], ahead[24], counts[3][24];
  const uint64_t numbers[] = {row->launches, row->waits, row->denials};
  if (row->level == RAWHAL_LIMIT_LEVEL_PROCESS)
    snprintf(name, sizeof(name), "    %" PRIu64, row->pid);
  else
    snprintf(name, sizeof(name), "%s%s", row->level == RAWHAL_LIMIT_LEVEL_TENANT ? "  " : "",
             row->name);
  snprintf(ahead, sizeof(ahead), "%.1f", (double)row->ahead_ns / 1e6);
  for (int i = 0; i < 3; ++i)
    snprintf(counts[i], sizeof(counts[i]), "%" PRIu64, numbers[i]);
  const char *const texts[COLUMNS] = {share_text(row->share_ppm, share),
                                      share_text(row->achieved_ppm[0], achieved[0]),
                                      share_text(row->achieved_ppm[1], achieved[1]),
                                      share_text(row->achieved_ppm[2], achieved[2]),
                                      ahead,
                                      counts[0],
                                      counts[1],
                                      counts[2],
                                      bytes_text(row->memory_used, used),
                                      bytes_text(row->memory_limit, limit)};
  print_line(name, texts, row->suspended ? "suspended" : row->waiting ? "waits" : "");
}

/* A process has a row of each device that it uses: its queues are in the first. */
static bool is_first(const top_table_t *table, size_t at)
{
  const rawhal_limit_row_t *row = &table->rows[at];
  for (size_t i = 0; i < at; ++i)
    if (table->rows[i].level == RAWHAL_LIMIT_LEVEL_PROCESS && table->rows[i].pid == row->pid &&
        table->rows[i].pid_namespace == row->pid_namespace)
      return false;
  return row->level == RAWHAL_LIMIT_LEVEL_PROCESS;
}

static void print_queue(const top_queue_t *queue)
{
  printf("      queue %" PRIu64, queue->id);
  label_print(label_text(queue->label));
  if (queue->readable)
    printf(": %" PRIu64 " in flight\n", queue->in_flight);
  else
    puts(": cannot be read");
}

/* False: out of memory. */
static bool print_queues(const rawhal_limit_row_t *row)
{
  list_t queues = {0};
  bool shown;
  const bool read = top_read_queues(row, &queues, &shown);
  const top_queue_t *all = queues.items;
  for (size_t i = 0; i < queues.count; ++i)
    print_queue(&all[i]);
  list_free(&queues);
  return read;
}

static bool print_text(const top_table_t *table, bool queues)
{
  bool done = true;
  const char *heads[COLUMNS];
  for (size_t i = 0; i < COLUMNS; ++i)
    heads[i] = columns[i].head;
  print_line("DEVICE / TENANT / PROCESS", heads, "");
  for (size_t i = 0; i < table->count && done; ++i) {
    print_row(&table->rows[i]);
    if (queues && is_first(table, i))
      done = print_queues(&table->rows[i]);
  }
  if (table->damage.at_ns)
    printf("damaged: %s. Each process that has noticed keeps to its part alone\n",
           table->damage.what);
  return done;
}

/* ---- JSON ---- */

/* null for RAWHAL_UNLIMITED. */
static void put_limit(json_writer_t *out, const char *key, uint64_t value)
{
  json_put_known(out, key, value != RAWHAL_UNLIMITED, value);
}

static void put_numbers(json_writer_t *out, const rawhal_limit_row_t *row)
{
  const struct {
    const char *key;
    uint64_t value;
    bool limit;
  } numbers[] = {
      {"processes", row->processes, false},
      {"share_ppm", row->share_ppm, true},
      {"burst_ns", row->burst_ns, true},
      {"ahead_ns", row->ahead_ns, false},
      {"open_ns", row->open_ns, false},
      {"dispatch_rate", row->dispatch_rate, true},
      {"launches", row->launches, false},
      {"gpu_ns", row->gpu_ns, false},
      {"waits", row->waits, false},
      {"wait_ns", row->wait_ns, false},
      {"would_block", row->would_block, false},
      {"denials", row->denials, false},
      {"estimated_ns", row->estimated_ns, false},
      {"estimate_error_ns", row->estimate_error_ns, false},
      {"no_timestamps", row->no_timestamps, false},
      {"memory_limit", row->memory_limit, true},
      {"memory_used", row->memory_used, false},
      {"memory_peak", row->memory_peak, false},
      {"pid", row->pid, false},
      {"pid_namespace", row->pid_namespace, false},
      {"weight", row->weight, false},
  };
  for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); ++i)
    (numbers[i].limit ? put_limit : json_put_unsigned)(out, numbers[i].key, numbers[i].value);
}

/* Names of the limits an operator has set. */
static void put_held(json_writer_t *out, const char *key, uint64_t held)
{
  json_begin_array(out, key);
  for (rawhal_limit_t i = 0; rawhal_limit_info(i); ++i)
    if (held >> i & 1)
      json_put_text(out, NULL, rawhal_limit_info((rawhal_limit_t)i)->name);
  json_end(out);
}

/* Amounts in the unit of the limit. */
static void put_denial(json_writer_t *out, const char *key, const rawhal_limit_denial_t *denial)
{
  if (!denial->number) {
    json_put_null(out, key);
    return;
  }
  json_begin_object(out, key);
  json_put_unsigned(out, "number", denial->number);
  json_put_text(out, "limit", rawhal_limit_info(denial->limit)->name);
  put_limit(out, "asked", denial->asked);
  json_put_unsigned(out, "used", denial->used);
  json_put_unsigned(out, "allowed", denial->allowed);
  json_put_unsigned(out, "at_ns", denial->at_ns);
  json_end(out);
}

/* null: it does not let this process look. False: out of memory. */
static bool put_queues(json_writer_t *out, const rawhal_limit_row_t *row)
{
  list_t queues = {0};
  bool shown;
  const bool read = top_read_queues(row, &queues, &shown);
  const top_queue_t *all = queues.items;
  if (shown)
    json_begin_array(out, "queues");
  else
    json_put_null(out, "queues");
  for (size_t i = 0; i < queues.count; ++i) {
    json_begin_object(out, NULL);
    json_put_unsigned(out, "id", all[i].id);
    json_put_address(out, "agent", all[i].agent);
    json_put_string_or_null(out, "label", label_text(all[i].label));
    json_put_known(out, "in_flight", all[i].readable, all[i].in_flight);
    json_end(out);
  }
  if (shown)
    json_end(out);
  list_free(&queues);
  return read;
}

static void put_damage(json_writer_t *out, const char *key, const rawhal_limit_damage_t *damage)
{
  if (!damage->at_ns) {
    json_put_null(out, key);
    return;
  }
  json_begin_object(out, key);
  json_put_text(out, "what", damage->what);
  json_put_unsigned(out, "at_ns", damage->at_ns);
  json_put_unsigned(out, "slot", damage->slot);
  json_end(out);
}

/* Schema "rawhal-top-1", described in docs/top.schema.json. */
static bool put_row(json_writer_t *out, const rawhal_limit_row_t *row, bool queues)
{
  static const char *const levels[] = {"device", "tenant", "process"};
  char priority[16];
  rawhal_limit_format(RAWHAL_LIMIT_PRIORITY, row->priority, priority, sizeof(priority));
  json_begin_object(out, NULL);
  json_put_text(out, "level", levels[row->level]);
  json_put_text(out, "name", row->name);
  put_numbers(out, row);
  json_put_text(out, "priority", row->level == RAWHAL_LIMIT_LEVEL_PROCESS ? priority : NULL);
  json_begin_array(out, "achieved_ppm");
  for (int i = 0; i < RAWHAL_LIMIT_WINDOWS; ++i)
    json_put_unsigned(out, NULL, row->achieved_ppm[i]);
  json_end(out);
  json_begin_array(out, "wait_histogram");
  for (int i = 0; i < RAWHAL_LIMIT_WAIT_BUCKETS; ++i)
    json_put_unsigned(out, NULL, row->wait_histogram[i]);
  json_end(out);
  json_begin_object(out, "memory_by_class");
  for (size_t i = 0; i < RAWHAL_LIMIT_CLASSES; ++i)
    json_put_unsigned(out, rawhal_limit_class_name(i), row->memory_by_class[i]);
  json_end(out);
  json_put_text(out, "charging", row->charging == RAWHAL_CHARGING_WALL ? "wall" : "fair");
  json_put_bool(out, "waiting", row->waiting);
  json_put_bool(out, "suspended", row->suspended);
  put_held(out, "held", row->held);
  put_denial(out, "denial", &row->denial);
  const bool done = !queues || put_queues(out, row);
  json_end(out);
  return done;
}

static bool print_json(const top_table_t *table, bool queues)
{
  bool done = true;
  json_writer_t out = {.out = stdout};
  json_begin_object(&out, NULL);
  json_put_text(&out, "schema", "rawhal-top-1");
  put_damage(&out, "damage", &table->damage);
  json_begin_array(&out, "rows");
  for (size_t i = 0; i < table->count; ++i)
    done = put_row(&out, &table->rows[i], queues && is_first(table, i)) && done;
  json_end(&out);
  json_end(&out);
  return done;
}

/* ---- */

typedef struct top_request {
  const char *region, *tenant;
  bool json, prometheus, log, once, queues;
} top_request_t;

typedef enum form { FORM_TEXT, FORM_JSON, FORM_PROMETHEUS, FORM_LOG } form_t;

/* False: out of memory. */
static bool print_table(const top_table_t *table, form_t form, bool queues)
{
  return form == FORM_PROMETHEUS ? top_print_prometheus(table)
                                 : (form == FORM_JSON ? print_json : print_text)(table, queues);
}

/* The same. It ends early when standard output is gone, which the caller finds, too. */
static bool show_table(const rawhal_limit_view_t *view, form_t form, bool once,
                       const top_request_t *request)
{
  top_table_t table = {0};
  bool done;
  const char *between = "";
  do {
    done = read_table(view, request->tenant, &table);
    if (done && !once)
      fputs(terminal_is_dumb() ? between : "\033[H\033[2J", stdout); /* an empty screen */
    between = "\n";
    done = done && print_table(&table, form, request->queues);
  } while (done && !fflush(stdout) && !ferror(stdout) && !once &&
           nanosleep(&(struct timespec){.tv_sec = 1}, NULL) == 0);
  free(table.rows);
  return done;
}

static int show(const char *path, form_t form, bool once, const top_request_t *request)
{
  rawhal_error_t error = {.offset = RAWHAL_NO_OFFSET};
  rawhal_limit_view_t *view = NULL;
  if (rawhal_limit_view_open(path, &view, &error))
    return tool_fail("top", &error);
  bool done = form == FORM_LOG ? top_follow_denials(view, once, request->tenant)
                               : show_table(view, form, once, request);
  rawhal_limit_view_close(view);
  if (!done) {
    (void)tool_refuse(&error, RAWHAL_OUT_OF_MEMORY, "no memory for the table");
    return tool_fail("top", &error);
  }
  return TOOL_OK;
}

/* The region that the environment names, when the command line names none. */
static int find_region(rawhal_limit_text_t *region)
{
  rawhal_error_t error = {.offset = RAWHAL_NO_OFFSET};
  rawhal_limit_device_t device = {.memory_bytes = UINT64_MAX / 2};
  rawhal_limit_config_t *config;
  rawhal_status_t status = rawhal_limit_config_create(&config, &error);
  if (status == RAWHAL_OK)
    status = rawhal_limit_config_environment(config, &device, &error);
  if (status == RAWHAL_OK)
    status = rawhal_limit_config_name(config, RAWHAL_LIMIT_NAME_REGION, region, &error);
  rawhal_limit_config_destroy(config);
  if (status != RAWHAL_OK)
    return tool_fail("top", &error);
  return *region->text ? TOOL_OK : tool_usage("top", "expected REGION: the environment names none");
}

static const tool_option_t options[] = {
    {TOOL_OPTION("region", TEXT, top_request_t, region)},
    {TOOL_OPTION("tenant", TEXT, top_request_t, tenant)},
    {TOOL_OPTION("json", FLAG, top_request_t, json)},
    {TOOL_OPTION("prometheus", FLAG, top_request_t, prometheus)},
    {TOOL_OPTION("log", FLAG, top_request_t, log)},
    {TOOL_OPTION("once", FLAG, top_request_t, once)},
    {TOOL_OPTION("queues", FLAG, top_request_t, queues)},
    {0},
};

static int run(int argc, char **argv)
{
  top_request_t request = {0};
  if (!option_read_all("top", options, false, &argc, &argv, &request))
    return TOOL_USAGE;
  if (request.json + request.prometheus + request.log > 1)
    return tool_usage("top", "--json, --prometheus and --log cannot be combined");
  if (request.queues && (request.prometheus || request.log))
    return tool_usage("top", "--queues is for text and --json");
  if (argc + (request.region != NULL) > 1)
    return tool_usage("top", "expected one REGION, got %d", argc + (request.region != NULL));
  const form_t form = request.json         ? FORM_JSON
                      : request.prometheus ? FORM_PROMETHEUS
                      : request.log        ? FORM_LOG
                                           : FORM_TEXT;
  const char *named = argc ? *argv : request.region;
  const bool once = request.once || form == FORM_JSON || form == FORM_PROMETHEUS ||
                    (form == FORM_TEXT && !isatty(STDOUT_FILENO));
  rawhal_limit_text_t region = {.size = sizeof(region)};
  const char *path = named ? named : region.text;
  int result = named ? TOOL_OK : find_region(&region);
  return result == TOOL_OK ? show(path, form, once, &request) : result;
}

const tool_command_t top_command = {
    .name = "top",
    .summary = "show who uses the devices of a region",
    .help = "usage: rawhal top [REGION] [OPTIONS]\n\n"
            "Shows who uses the devices of REGION, a file shared by processes with common\n"
            "limits: the limits and the use of the last 1, 10 and 60 seconds, waits, refusals\n"
            "and memory, by device, tenant and process. Default: the region that the\n"
            "environment names. Only reads, takes no lock, and also shows the files of dead\n"
            "processes.\n\n"
            "On a terminal, refreshes the table every second until interrupted, with as many\n"
            "columns as fit; a dumb terminal gets a new table below the last.\n\n"
            "options:\n"
            "  --region REGION  same as REGION\n"
            "  --tenant NAME    only this tenant, with its devices and processes\n"
            "  --once           show the table once; default unless standard output is a\n"
            "                   terminal\n"
            "  --queues         also show the queues of each process that may be looked at,\n"
            "                   with their labels and what is in flight\n"
            "  --json           print one JSON document (schema \"rawhal-top-1\") instead, once\n"
            "  --prometheus     print metrics in the text format of Prometheus instead, once\n"
            "  --log            print one line per refusal: those that the region remembers,\n"
            "                   then new ones until interrupted; with --once only the former\n"
            "  --help           show this text\n\n"
            "exit status:\n"
            "  0   success\n"
            "  2   the command line is wrong\n"
            "  3   the file cannot be read or is not a region; standard error says why\n",
    .run = run,
    .options = options,
};
