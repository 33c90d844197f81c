#include "tools/probe/show.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/probe/page.h"
#include "tools/shared/escape.h"
#include "tools/shared/program.h"

/* Points that are gone through beyond what a dispatch has counters for, of all dispatches together:
 * a small file may name a large kernel any number of times. */
static const uint64_t most_points = 4 << 20;

/* ---- Words ---- */

const char *show_access(const rawhal_probe_point_t *point)
{
  static const char *const words[] = {"access", "load", "store", "atomic"};
  return words[point->flags & (RAWHAL_PROBE_READS | RAWHAL_PROBE_WRITES)];
}

void show_register(const rawhal_probe_point_t *point, char *text, size_t size)
{
  if (point->source == RAWHAL_PROBE_SGPR)
    snprintf(text, size, "s%u", point->scalar);
  else if (point->lane_bytes > 4)
    snprintf(text, size, "v[%u:%u]", point->vector, point->vector + 1u);
  else
    snprintf(text, size, "v%u", point->vector);
}

const char *show_instruction(const code_t *code, uint32_t offset)
{
  const size_t at = code_line_at(code, offset);
  return at < code->line_count && code->lines[at].offset == offset
             ? code->text + code->lines[at].text
             : NULL;
}

/* ---- What is asked for ---- */

static bool is_wanted(const show_t *show, uint64_t dispatch, rawhal_string_t kernel)
{
  const char *pattern = show->request->kernel;
  if (show->request->dispatch && show->request->dispatch != dispatch)
    return false;
  return !pattern || probe_name_matches(pattern, kernel) ||
         probe_name_matches(pattern, demangle(kernel));
}

/* ---- One dispatch ---- */

static const code_figures_t *sorted_blocks; /* qsort() passes nothing on */

static int compare_blocks(const void *a, const void *b)
{
  const uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;
  const block_t *first = &sorted_blocks->blocks[one], *second = &sorted_blocks->blocks[other];
  if (first->executed != second->executed)
    return first->executed > second->executed ? -1 : 1;
  return one < other ? -1 : one > other;
}

static uint32_t *sort_blocks(const code_figures_t *code, rawhal_error_t *error)
{
  uint32_t *order = malloc((code->block_count + 1) * sizeof(*order));
  if (!order) {
    (void)tool_refuse(error, RAWHAL_OUT_OF_MEMORY, "no memory for blocks of a kernel");
    return NULL;
  }
  for (size_t i = 0; i < code->block_count; ++i)
    order[i] = (uint32_t)i;
  sorted_blocks = code;
  qsort(order, code->block_count, sizeof(*order), compare_blocks);
  return order;
}

/* What all dispatches of a run share. */
typedef struct shared {
  kernel_t kernel;
  code_t code;
  const char *disassembler;
  uint64_t points;
} shared_t;

static bool show_figures(show_t *show, shared_t *shared, show_item_t *item, rawhal_error_t *error)
{
  figures_t figures;
  code_figures_t blocks = {0};
  wave_figures_t waves = {0};
  uint32_t *order = NULL;
  bool done = figures_read(&figures, show->reader, item->number, &item->records, &shared->kernel,
                           &item->dispatch, error) &&
              code_figures(&figures, &blocks, error) && wave_figures(&figures, &waves, error) &&
              (order = sort_blocks(&blocks, error));
  if (done) {
    item->kernel = &shared->kernel;
    item->figures = &figures;
    item->blocks = &blocks;
    item->waves = &waves;
    item->code = &shared->code;
    item->hottest = order;
    show->form->item(show, item);
  }
  free(order);
  wave_figures_free(&waves);
  code_figures_free(&blocks);
  figures_free(&figures);
  return done;
}

/* Of records that are whole, as is the kernel's part of the file. */
static bool show_item(show_t *show, shared_t *shared, uint64_t number, rawhal_error_t *error)
{
  show_item_t item = {.number = number};
  (void)record_reader_records(show->reader, number, &item.records);
  if (!kernel_read(&shared->kernel, show->reader, item.records.probe, error) ||
      !code_read(&shared->code, show->reader, &shared->kernel, shared->disassembler, error) ||
      record_reader_dispatch(show->reader, item.records.dispatch, &item.dispatch, error))
    return false;
  snprintf(item.device, sizeof(item.device), "%.*s",
           (int)(item.dispatch.device.size < sizeof(item.device) ? item.dispatch.device.size
                                                                 : sizeof(item.device)),
           item.dispatch.device.data);
  item.dispatch.device = rawhal_string(item.device);
  item.dispatch.kernel = shared->kernel.probe.kernel;
  item.is_cut = item.dispatch.kernel.size > TOOL_SHORT_NAME && shared->kernel.is_named;
  if (item.is_cut)
    item.dispatch.kernel.size = escape_cut(item.dispatch.kernel, TOOL_NAME_START);
  shared->kernel.is_named = true;
  item.dispatch.kernargs = (rawhal_bytes_t){0};
  return show_figures(show, shared, &item, error);
}

/* ---- All of them ---- */

static bool show_next(show_t *show, shared_t *shared, uint64_t number, rawhal_error_t *error)
{
  record_records_t records;
  record_probe_t probe;
  (void)record_reader_records(show->reader, number, &records);
  if (record_reader_probe(show->reader, records.probe, &probe, error))
    return false;
  if (!is_wanted(show, records.dispatch, probe.kernel))
    return true;
  if (show->shown == show->most || shared->points > most_points) {
    ++show->passed;
    return true;
  }
  if (!show->shown++)
    show->form->begin(show);
  const uint64_t counted = records.content.size / sizeof(uint64_t);
  shared->points += probe.point_count > counted ? probe.point_count - counted : 0;
  if (records.content.whole)
    return show_item(show, shared, number, error);
  ++show->incomplete;
  show->form->incomplete(show, records.dispatch);
  return true;
}

bool show_all(show_t *show, rawhal_error_t *error)
{
  char program[PATH_MAX];
  rawhal_error_t none;
  const char *wanted = show->request->disassembler;
  shared_t shared = {.disassembler = wanted ? wanted : NULL};
  if (wanted && !strchr(wanted, '/')) {
    if (!program_in_path(wanted, program))
      return tool_refuse(error, RAWHAL_NOT_FOUND, "--disassembler: there is no '%.400s' in PATH",
                         wanted);
    shared.disassembler = program;
  } else if (!wanted && program_find_objdump(program, &none)) {
    shared.disassembler = program;
  }
  bool done = true;
  const size_t count = record_reader_info(show->reader)->probed;
  for (uint64_t i = 1; done && i <= count; ++i)
    done = show_next(show, &shared, i, error);
  if (show->shown)
    show->form->end(show);
  kernel_free(&shared.kernel);
  code_free(&shared.code);
  if (!done || show->shown)
    return done;
  return tool_refuse(error, RAWHAL_NOT_FOUND, "%s",
                     count ? "probes saw no such dispatch" : "the file has nothing of probes");
}

static int run(char **files, probe_request_t *request)
{
  rawhal_error_t error = {.offset = RAWHAL_NO_OFFSET};
  show_t show = {.request = request,
                 .path = files[0],
                 .form = request->json ? &show_json : &show_text,
                 .demangle = request->json || demangle_text(request->demangle),
                 .json.out = stdout,
                 .most = UINT64_MAX};
  if (request->json && request->html)
    return tool_usage("probe", "either --json or --html");
  if (record_reader_open(files[0], &show.reader, &error))
    return tool_fail("probe", &error);
  const bool done = request->html ? probe_page(&show, &error) : show_all(&show, &error);
  record_reader_close(show.reader);
  return done ? TOOL_OK : tool_fail("probe", &error);
}

static const tool_option_t options[] = {PROBE_OPTION_DISASSEMBLER,
                                        PROBE_OPTION_DISPATCH,
                                        PROBE_OPTION_HTML,
                                        PROBE_OPTION_JSON,
                                        PROBE_OPTION_KERNEL,
                                        PROBE_OPTION_TOP,
                                        DEMANGLE_OPTIONS(probe_request_t, demangle),
                                        {0}};

const probe_verb_t probe_show = {
    .word = "show", .usage = "show FILE", .files = 1, .options = options, .run = run};
