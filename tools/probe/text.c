/* rawhal probe show, as text. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tools/probe/show.h"
#include "tools/shared/terminal.h"

enum { INDENT = 6, MOST_CELLS = 10 };

/* ---- Pieces ---- */

/* A row, cell by cell. */
typedef struct row {
  terminal_row_t line;
} row_t;

__attribute__((format(printf, 3, 4))) static void put(row_t *row, size_t width, const char *format,
                                                      ...)
{
  char text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  if (!row->line.used)
    row->line.gap = row->line.gap ? row->line.gap : 4;
  terminal_row_put(&row->line, text, width, INDENT);
}

static void end_row(row_t *row)
{
  putchar('\n');
  *row = (row_t){0};
}

/* The head of a table: cells with their widths. */
static void heads(const char *const *cells, const unsigned char *widths)
{
  terminal_style(STYLE_QUIET);
  terminal_row_print(cells, widths, 4, INDENT);
  terminal_style(STYLE_NONE);
}

static double ratio(uint64_t part, uint64_t all)
{
  return all ? (double)part / (double)all : 0;
}

static double percent(uint64_t part, uint64_t all)
{
  return 100 * ratio(part, all);
}

/* "12 waves", and how many were lost. */
static void put_counts(const char *word, uint32_t recorded, uint32_t were)
{
  printf("%" PRIu32 " %s", recorded, word);
  if (were > recorded)
    printf(", %" PRIu32 " more are lost", were - recorded);
}

static void put_rest(size_t count, size_t shown, const char *word)
{
  if (count > shown)
    printf("    and %zu more %s: --top %zu shows all\n", count - shown, word, count);
}

static size_t lesser(size_t a, size_t b)
{
  return a < b ? a : b;
}

/* ---- Waves ---- */

static void put_unit(const unit_t *unit)
{
  row_t row = {0};
  put(&row, 4, "%u", unit_xcc(unit));
  put(&row, 7, "%u", unit_engine(unit));
  put(&row, 6, "%u", unit_array(unit));
  put(&row, 4, "%u", unit_number(unit));
  put(&row, 10, "%" PRIu64, unit->waves);
  for (int i = 0; i < 4; ++i)
    put(&row, 8, "%" PRIu64, unit->simds[i]);
  put(&row, 10, "%" PRIu32, unit->most);
  put(&row, 0, "%" PRIu64, unit->busy);
  end_row(&row);
}

static void put_waves(const show_t *show, const show_item_t *item)
{
  static const char *const cells[] = {"XCC",    "engine", "array",  "CU",      "waves", "SIMD 0",
                                      "SIMD 1", "SIMD 2", "SIMD 3", "at once", "ticks", NULL};
  static const unsigned char widths[] = {4, 7, 6, 4, 10, 8, 8, 8, 8, 10, 0};
  const wave_figures_t *waves = item->waves;
  uint64_t most = 0;
  if (!item->records.waves && !item->figures->header.waves)
    return;
  for (size_t i = 0; i < waves->unit_count; ++i)
    most = waves->units[i].waves > most ? waves->units[i].waves : most;
  fputs("  waves: ", stdout);
  put_counts("waves", item->records.waves, item->figures->header.waves);
  if (waves->unfinished)
    printf(", %" PRIu64 " had not ended", waves->unfinished);
  printf("; %" PRIu32 " at once, on %zu CUs; the CU with most has %.2f times the mean\n",
         waves->most, waves->unit_count, ratio(most * waves->unit_count, item->records.waves));
  if (waves->end)
    printf("    %" PRIu64 " ticks from the first start to the last end%s\n",
           waves->end - waves->begin,
           item->records.flags & RECORD_PROBED_HOST_TIME ? ", of the host's time" : "");
  heads(cells, widths);
  const size_t shown = lesser(waves->unit_count, show->request->top);
  for (size_t i = 0; i < shown; ++i)
    put_unit(&waves->units[i]);
  put_rest(waves->unit_count, shown, "CUs");
}

/* ---- Code ---- */

/* The words of the instructions, or what they are called. */
static void put_code(const show_item_t *item, const block_t *block)
{
  enum { MOST = 16 };
  const code_t *code = item->code;
  const char *instruction = show_instruction(code, block->offset);
  char text[2 * MOST + MOST / 4 + 8] = "";
  size_t used = 0;
  const size_t size = lesser(block->bytes, MOST);
  if (!code->bytes.data || block->offset > code->bytes.size ||
      size > code->bytes.size - block->offset) {
    fputs("?\n", stdout);
    return;
  }
  for (size_t i = 0; i + 4 <= size; i += 4) {
    uint32_t word;
    memcpy(&word, (const char *)code->bytes.data + block->offset + i, sizeof(word));
    used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%08x", i ? " " : "", word);
  }
  printf("%s%s", text, block->bytes > MOST ? " ..." : "");
  if (instruction) {
    fputs("  ", stdout);
    (void)tool_print_string(instruction);
  }
  putchar('\n');
}

static void put_block(const show_item_t *item, const block_t *block)
{
  row_t row = {0};
  put(&row, 10, "0x%" PRIx32, block->offset);
  put(&row, 12, "%" PRIu64, block->count);
  put(&row, 13, "%" PRIu32, block->instructions);
  put(&row, 8, "%.1f%%", percent(block->executed, item->blocks->executed));
  if (block->has_lanes)
    put(&row, 7, "%.1f", ratio(block->lanes, block->count));
  else
    put(&row, 7, "-");
  put(&row, 0, "%s", "");
  put_code(item, block);
}

static void put_blocks(const show_t *show, const show_item_t *item)
{
  static const char *const cells[] = {"offset", "entered", "instructions", "share", "lanes",
                                      "code",   NULL};
  static const unsigned char widths[] = {10, 12, 13, 8, 7, 0};
  const code_figures_t *blocks = item->blocks;
  if (!blocks->block_count)
    return;
  printf("  blocks: %zu, %" PRIu64 " instructions of waves in all\n", blocks->block_count,
         blocks->executed);
  heads(cells, widths);
  const size_t shown = lesser(blocks->block_count, show->request->top);
  for (size_t i = 0; i < shown; ++i)
    put_block(item, &blocks->blocks[item->hottest[i]]);
  put_rest(blocks->block_count, shown, "blocks");
}

static void put_edge(const show_item_t *item, const edge_t *edge)
{
  row_t row = {0};
  const char *instruction = show_instruction(item->code, edge->offset);
  put(&row, 10, "0x%" PRIx32, edge->offset);
  put(&row, 10, "0x%" PRIx32, edge->target);
  if (edge->is_told && edge->reached >= edge->not_taken) {
    put(&row, 12, "%" PRIu64, edge->reached - edge->not_taken);
    put(&row, 12, "%" PRIu64, edge->not_taken);
    put(&row, 8, "%.1f%%", percent(edge->reached - edge->not_taken, edge->reached));
  } else {
    put(&row, 12, "?");
    put(&row, 12, "%" PRIu64, edge->not_taken);
    put(&row, 8, "?");
  }
  put(&row, 0, "%s", instruction ? instruction : "");
  end_row(&row);
}

static void put_edges(const show_t *show, const show_item_t *item)
{
  static const char *const cells[] = {"offset",    "target",      "taken",
                                      "not taken", "share taken", NULL};
  static const unsigned char widths[] = {10, 10, 12, 12, 0};
  const code_figures_t *blocks = item->blocks;
  if (!blocks->edge_count)
    return;
  printf("  branches: %zu\n", blocks->edge_count);
  heads(cells, widths);
  const size_t shown = lesser(blocks->edge_count, show->request->top);
  for (size_t i = 0; i < shown; ++i)
    put_edge(item, &blocks->edges[i]);
  put_rest(blocks->edge_count, shown, "branches");
}

/* ---- Memory ---- */

static const rawhal_probe_point_t *point_of(const show_item_t *item, const site_t *site)
{
  return &item->kernel->points[site->point];
}

static bool is_memory(const show_item_t *item, const site_t *site)
{
  return point_of(item, site)->action == RAWHAL_PROBE_ACCESS && site->events;
}

/* "out +0x40", or where its address is. */
static void name_of(const place_t *place, char *text, size_t size)
{
  if (place->name.size)
    snprintf(text, size, "%.*s", (int)lesser(place->name.size, size), place->name.data);
  else if (place->argument != RECORD_NO_ARGUMENT)
    snprintf(text, size, "(argument at %" PRIu32 ")", place->argument);
  else
    snprintf(text, size, "(0x%" PRIx64 ")", place->address);
}

/* The allocations of a site, which has them in the order in which they were first accessed. */
static void put_site_places(const show_item_t *item, const site_t *site)
{
  char name[300];
  const char *comma = "";
  for (int i = 0; i < FIGURES_SITE_PLACES && site->places[i].place; ++i, comma = ", ") {
    name_of(places_at(&item->figures->places, site->places[i].place - 1), name, sizeof(name));
    fputs(comma, stdout);
    (void)tool_print_string(name);
  }
  if (site->other_places)
    printf("%sothers", comma), comma = ", ";
  if (site->elsewhere)
    printf("%sno allocation", comma);
}

static void put_site_head(row_t *row, const show_item_t *item, const site_t *site)
{
  const rawhal_probe_point_t *point = point_of(item, site);
  char text[32];
  snprintf(text, sizeof(text), "%s %u B", show_access(point), point->bytes);
  put(row, 10, "0x%" PRIx32, point->offset);
  put(row, 12, "%s", text);
}

static void put_global_site(const show_item_t *item, const site_t *site)
{
  row_t row = {0};
  put_site_head(&row, item, site);
  put(&row, 12, "%" PRIu64, site->global);
  put(&row, 7, "%.1f", ratio(site->global_lanes, site->global));
  put(&row, 7, "%.2f", ratio(site->touched[0], site->global));
  put(&row, 8, "%.2f", ratio(site->ideal[0], site->global));
  put(&row, 7, "%.0f%%", percent(site->ideal[0], site->touched[0]));
  put(&row, 8, "%.2f", ratio(site->touched[1], site->global));
  put(&row, 7, "%.0f%%", percent(site->ideal[1], site->touched[1]));
  put(&row, 0, "%s", "");
  put_site_places(item, site);
  end_row(&row);
}

static void put_lds_site(const show_item_t *item, const site_t *site)
{
  row_t row = {0};
  put_site_head(&row, item, site);
  put(&row, 12, "%" PRIu64, site->lds);
  put(&row, 9, "%.2f", ratio(site->passes, site->groups));
  put(&row, 7, "%" PRIu32, site->worst);
  put(&row, 0, "%" PRIu32 " to %" PRIu32, site->lds_first, site->lds_last);
  end_row(&row);
}

/* The sites that have something of a kind. */
static void put_sites(const show_t *show, const show_item_t *item,
                      bool (*has)(const show_item_t *, const site_t *),
                      void (*put_site)(const show_item_t *, const site_t *), const char *word)
{
  size_t count = 0;
  for (size_t i = 0; i < item->kernel->site_count; ++i)
    if (has(item, &item->kernel->sites[i]) && count++ < show->request->top)
      put_site(item, &item->kernel->sites[i]);
  put_rest(count, lesser(count, show->request->top), word);
}

static bool has_global(const show_item_t *item, const site_t *site)
{
  return is_memory(item, site) && site->global;
}

static bool has_lds(const show_item_t *item, const site_t *site)
{
  return is_memory(item, site) && site->lds;
}

static bool any(const show_item_t *item, bool (*has)(const show_item_t *, const site_t *))
{
  for (size_t i = 0; i < item->kernel->site_count; ++i)
    if (has(item, &item->kernel->sites[i]))
      return true;
  return false;
}

static void put_place(const place_t *place)
{
  char name[300];
  row_t row = {0};
  name_of(place, name, sizeof(name));
  put(&row, 16, "%s", name);
  put(&row, 18, "0x%" PRIx64, place->address);
  put(&row, 12, "%" PRIu64, place->size);
  put(&row, 12, "%" PRIu64, place->reads);
  put(&row, 12, "%" PRIu64, place->writes);
  put(&row, 12, "%" PRIu64, place->bytes);
  if (place->picture)
    put(&row, 12, "%" PRIu64, places_footprint(place));
  else
    put(&row, 12, "?");
  put(&row, 0, "+%" PRIu64 " to +%" PRIu64, place->first, place->last);
  end_row(&row);
}

static void put_places(const show_t *show, const show_item_t *item)
{
  static const char *const cells[] = {"argument", "address",   "size",  "read", "written",
                                      "bytes",    "footprint", "range", NULL};
  static const unsigned char widths[] = {16, 18, 12, 12, 12, 12, 12, 0};
  const places_t *places = &item->figures->places;
  size_t count = 0;
  printf("  allocations: %zu; accesses of lanes, and bytes\n", places->places.count);
  heads(cells, widths);
  for (size_t i = 0; i < places->places.count; ++i)
    if (places_at(places, i)->accesses && count++ < show->request->top)
      put_place(places_at(places, i));
  put_rest(count, lesser(count, show->request->top), "allocations");
  if (places->elsewhere)
    printf("    %" PRIu64 " accesses led to no allocation, from 0x%" PRIx64 " to 0x%" PRIx64 "\n",
           places->elsewhere, places->least, places->most);
}

static void put_rest_of_memory(const show_item_t *item)
{
  uint64_t untold = 0, scratch = 0, outside = 0;
  for (size_t i = 0; i < item->kernel->site_count; ++i) {
    untold += item->kernel->sites[i].untold;
    scratch += item->kernel->sites[i].scratch;
    outside += item->kernel->sites[i].outside;
  }
  if (untold)
    printf("    %" PRIu64 " instructions have addresses that their records do not tell\n", untold);
  if (scratch)
    printf("    %" PRIu64 " accesses of lanes to scratch\n", scratch);
  if (outside)
    printf("    %" PRIu64 " accesses of lanes beyond their buffer, which do nothing\n", outside);
}

static void put_memory(const show_t *show, const show_item_t *item)
{
  static const char *const memory[] = {"offset", "access",   "times", "lanes", "lines", "at least",
                                       "share",  "of 128 B", "share", "to",    NULL};
  static const unsigned char memory_widths[] = {10, 12, 12, 7, 7, 8, 7, 8, 7, 0};
  static const char *const lds[] = {"offset", "access", "times", "degree", "worst", "range", NULL};
  static const unsigned char lds_widths[] = {10, 12, 12, 9, 7, 0};
  if (any(item, has_global)) {
    puts("  memory: lines of 64 and 128 bytes that one instruction touches");
    heads(memory, memory_widths);
    put_sites(show, item, has_global, put_global_site, "accesses");
  }
  if (any(item, has_lds)) {
    puts("  LDS: how often a group of lanes, 128 bytes wide, is served; 1: without conflicts\n"
         "    (model: 32 banks of 4 bytes; LDS with 64 banks, as in gfx950, differs for wide "
         "reads)");
    heads(lds, lds_widths);
    put_sites(show, item, has_lds, put_lds_site, "accesses");
  }
  if (any(item, is_memory)) {
    put_places(show, item);
    put_rest_of_memory(item);
  }
}

/* ---- Values and barriers ---- */

static bool is_value(const show_item_t *item, const site_t *site)
{
  return point_of(item, site)->action == RAWHAL_PROBE_VALUE && site->events;
}

static bool is_barrier(const show_item_t *item, const site_t *site)
{
  return point_of(item, site)->action == RAWHAL_PROBE_ARRIVE && site->events;
}

static void put_lanes(const site_value_t *value)
{
  enum { MOST = 4 };
  unsigned shown = 0;
  for (unsigned i = 0; i < RAWHAL_PROBE_LANES && shown < MOST; ++i)
    if (value->exec >> i & 1)
      printf("%s%u: 0x%" PRIx64, shown++ ? ", " : "", i, value->lanes[i]);
  if ((unsigned)__builtin_popcountll(value->exec) > MOST)
    fputs(", ...", stdout);
}

static void put_value_site(const show_item_t *item, const site_t *site)
{
  char name[32];
  const rawhal_probe_point_t *point = point_of(item, site);
  show_register(point, name, sizeof(name));
  printf("    0x%" PRIx32 ": %s, %" PRIu64 " in all\n", point->offset, name, site->events);
  for (uint32_t i = 0; i < site->value_count; ++i) {
    const site_value_t *value = &item->figures->values[site->first_value + i];
    printf("      wave %" PRIu32 ": ", value->wave);
    if (point->source == RAWHAL_PROBE_SGPR)
      printf("0x%" PRIx64, value->lanes[0]);
    else
      put_lanes(value);
    putchar('\n');
  }
}

static void put_barrier_site(const show_item_t *item, const site_t *site)
{
  printf("    0x%" PRIx32 ": %" PRIu64 " arrivals", point_of(item, site)->offset, site->events);
  if (!site->last) {
    puts("; which wave came last is not told");
    return;
  }
  const char *before = "; last of its work-group came";
  for (int i = 0; i < FIGURES_GROUP_WAVES; ++i)
    if (site->last[i]) {
      printf("%s wave %d%s %" PRIu64 " times", before, i,
             i == FIGURES_GROUP_WAVES - 1 ? " or a later one" : "", site->last[i]);
      before = ",";
    }
  putchar('\n');
}

static void put_values_and_barriers(const show_t *show, const show_item_t *item)
{
  if (any(item, is_value)) {
    puts("  values, the first of each place:");
    put_sites(show, item, is_value, put_value_site, "places");
  }
  if (any(item, is_barrier)) {
    puts("  barriers:");
    put_sites(show, item, is_barrier, put_barrier_site, "barriers");
  }
}

/* ---- A dispatch ---- */

static void put_head(const show_t *show, const show_item_t *item)
{
  const record_dispatch_t *dispatch = &item->dispatch;
  const record_probe_t *probe = &item->kernel->probe;
  terminal_style(STYLE_NAME);
  printf("dispatch %" PRIu64 ": ", item->records.dispatch);
  (void)tool_print_text(demangle_if(show->demangle, dispatch->kernel));
  if (item->is_cut)
    fputs("...", stdout);
  terminal_style(STYLE_NONE);
  printf(": %" PRIu32 "x%" PRIu32 "x%" PRIu32 " work-items in groups of %ux%ux%u, ",
         dispatch->work_items[0], dispatch->work_items[1], dispatch->work_items[2],
         dispatch->workgroup[0], dispatch->workgroup[1], dispatch->workgroup[2]);
  (void)tool_print_text(dispatch->device);
  fputs("\n  probes:", stdout);
  const char *name_of_kind;
  for (uint32_t kind = 1; (name_of_kind = rawhal_probe_kind_name(kind)); kind <<= 1)
    if (probe->kinds & kind)
      printf(" %s", name_of_kind);
  printf(", by %s", probe->maker == RECORD_MADE_BY_DEVICE ? "softgpu" : "the kernel's code");
  if (probe->event_bytes) {
    fputs("; ", stdout);
    put_counts("events", item->records.events, item->figures->header.events);
  }
  if (item->records.flags & RECORD_PROBED_STOPPED)
    fputs("; the dispatch was stopped before it ended", stdout);
  putchar('\n');
  if (item->figures->unknown)
    printf("  %" PRIu64 " events are of no place that is known\n", item->figures->unknown);
  if (*item->code->why) {
    fputs("  instructions have no names: ", stdout);
    (void)tool_print_string(item->code->why);
    putchar('\n');
  }
}

static void item_text(show_t *show, const show_item_t *item)
{
  if (show->shown > 1)
    putchar('\n');
  put_head(show, item);
  put_waves(show, item);
  put_blocks(show, item);
  put_edges(show, item);
  put_memory(show, item);
  put_values_and_barriers(show, item);
}

static void incomplete_text(show_t *show, uint64_t dispatch)
{
  printf("%sdispatch %" PRIu64 ": not all of its records are in the file\n",
         show->shown > 1 ? "\n" : "", dispatch);
}

static void begin_text(show_t *show)
{
  (void)show;
  puts(PROBE_CAVEAT "\n");
}

static void end_text(show_t *show)
{
  if (show->passed)
    printf("\n%" PRIu64 " more dispatches are not shown: --dispatch N shows one\n", show->passed);
}

const show_form_t show_text = {begin_text, item_text, incomplete_text, end_text};
