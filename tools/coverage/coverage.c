/* rawhal coverage: the instructions of a file's kernels that the software GPU cannot run. */
#include <dlfcn.h>
#include <elf.h>
#include <inttypes.h>
#include <limits.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rawhal/hal.h>

#include "base/list.h"
#include "tools/shared/json.h"
#include "tools/shared/progress.h"
#include "tools/shared/select.h"
#include "tools/shared/terminal.h"
#include "tools/shared/tool.h"

/* As softgpu/softgpu.h describes them: softgpu is opened at run time, like the runtime it is below
 * of. */
typedef void missing_fn(void *context, uint64_t offset, const char *mnemonic, const char *text,
                        const uint32_t words[3]);
typedef uint64_t coverage_fn(uint32_t chip, const void *code, size_t bytes, missing_fn *missing,
                             void *context);

/* One mnemonic, or the unknown instructions that share their upper 16 bits, which hold every
 * encoding's opcode or most of it. */
typedef struct row {
  char mnemonic[40]; /* empty: unknown */
  uint32_t word;     /* of the first */
  char text[160];    /* of the first, empty when unknown */
  uint64_t count;
  uint64_t object, offset; /* of the first, in the file's list and in the object's bytes */
} row_t;

typedef struct report {
  select_options_t select;
  coverage_fn *coverage;
  bool json;
  void *tree; /* tsearch() by mnemonic or word */
  row_t **rows;
  size_t count, room;
  uint64_t objects, other_objects, instructions, missing;
  uint64_t object, base; /* where the code being looked at lies */
  bool out_of_memory;
} report_t;

static int compare_rows(const void *a, const void *b)
{
  const row_t *first = a, *second = b;
  int order = strcmp(first->mnemonic, second->mnemonic);
  if (order || *first->mnemonic)
    return order;
  return (first->word >> 16 > second->word >> 16) - (first->word >> 16 < second->word >> 16);
}

static int compare_counts(const void *a, const void *b)
{
  const row_t *first = *(row_t *const *)a, *second = *(row_t *const *)b;
  if (first->count != second->count)
    return first->count < second->count ? 1 : -1;
  return compare_rows(first, second);
}

static row_t *append_row(report_t *report, const row_t *key)
{
  if (!array_reserve(NULL, &report->rows, &report->room, report->count + 1, sizeof(*report->rows)))
    return NULL;
  row_t *row = malloc(sizeof(*row));
  if (!row)
    return NULL;
  *row = *key;
  if (!tsearch(row, &report->tree, compare_rows)) {
    free(row);
    return NULL;
  }
  return report->rows[report->count++] = row;
}

static void note_missing(void *context, uint64_t offset, const char *mnemonic, const char *text,
                         const uint32_t words[3])
{
  report_t *report = context;
  row_t key = {.word = words[0], .object = report->object, .offset = report->base + offset};
  snprintf(key.mnemonic, sizeof(key.mnemonic), "%s", mnemonic ? mnemonic : "");
  snprintf(key.text, sizeof(key.text), "%s", text);
  row_t *const *found = tfind(&key, &report->tree, compare_rows);
  row_t *row = found ? *found : append_row(report, &key);
  ++report->missing;
  if (row)
    ++row->count;
  else
    report->out_of_memory = true;
}

/* In one s_nop, softgpu sees an instruction for the chips it executes and none for others. */
static bool executes(const report_t *report, uint32_t chip)
{
  static const uint32_t s_nop = 0xbf800000;
  return report->coverage(chip, &s_nop, sizeof(s_nop), note_missing, NULL) == 1;
}

/* "gfx90a" is chip 0x90a: the processor's name is its number. */
static uint32_t chip_number(const rawhal_target_t *target)
{
  return strncmp(target->processor, "gfx", 3) ? 0
                                              : (uint32_t)strtoul(target->processor + 3, NULL, 16);
}

static void look_at(report_t *report, const rawhal_hsaco_t *hsaco)
{
  const rawhal_hsaco_info_t *info = rawhal_hsaco_info(hsaco);
  uint32_t chip = chip_number(&info->target);
  if (!executes(report, chip)) {
    ++report->other_objects;
    return;
  }
  ++report->objects;
  for (size_t i = 0; i < info->segment_count; ++i) {
    const rawhal_segment_t *segment = rawhal_hsaco_segment(hsaco, i);
    if (segment->type != PT_LOAD || !(segment->flags & PF_X) ||
        segment->offset > info->bytes.size ||
        segment->file_size > info->bytes.size - segment->offset)
      continue;
    report->base = segment->offset;
    report->instructions += report->coverage(chip, (const char *)info->bytes.data + segment->offset,
                                             (size_t)segment->file_size, note_missing, report);
  }
}

static void print_text(const report_t *report)
{
  enum { INDENT = 12 };
  printf("objects: %" PRIu64 " for processors softgpu executes, %" PRIu64 " for others\n"
         "instructions: %" PRIu64 ", missing: %" PRIu64 "\n",
         report->objects, report->other_objects, report->instructions, report->missing);
  for (size_t i = 0; i < report->count; ++i) {
    const row_t *row = report->rows[i];
    terminal_row_t line = {0};
    char count[24], unknown[24], first[256];
    snprintf(count, sizeof(count), "  %8" PRIu64, row->count);
    snprintf(unknown, sizeof(unknown), "0x%04x....", row->word >> 16);
    snprintf(first, sizeof(first), "first: object %" PRIu64 " at 0x%" PRIx64 "%s%s", row->object,
             row->offset, *row->text ? ": " : "", row->text);
    terminal_row_put(&line, count, 11, INDENT);
    terminal_row_put(&line, *row->mnemonic ? "not executed" : "unknown", 13, INDENT);
    terminal_row_put(&line, *row->mnemonic ? row->mnemonic : unknown, 29, INDENT);
    terminal_row_put(&line, first, 0, INDENT);
    putchar('\n');
  }
}

static void print_json(const report_t *report)
{
  json_writer_t out = {.out = stdout};
  json_begin_object(&out, NULL);
  json_put_text(&out, "schema", "rawhal-coverage-1");
  json_put_text(&out, "file", report->select.path);
  json_put_unsigned(&out, "objects", report->objects);
  json_put_unsigned(&out, "other_objects", report->other_objects);
  json_put_unsigned(&out, "instructions", report->instructions);
  json_put_unsigned(&out, "missing", report->missing);
  json_begin_array(&out, "rows");
  for (size_t i = 0; i < report->count; ++i) {
    const row_t *row = report->rows[i];
    json_begin_object(&out, NULL);
    json_put_text(&out, "mnemonic", *row->mnemonic ? row->mnemonic : NULL);
    json_put_bool(&out, "known", *row->mnemonic != '\0');
    json_put_unsigned(&out, "count", row->count);
    json_put_unsigned(&out, "object", row->object);
    json_put_unsigned(&out, "offset", row->offset);
    json_put_unsigned(&out, "word", row->word);
    json_put_text(&out, "text", *row->text ? row->text : NULL);
    json_end(&out);
  }
  json_end(&out);
  json_end(&out);
}

static void report_close(report_t *report)
{
  for (size_t i = 0; i < report->count; ++i) {
    tdelete(report->rows[i], &report->tree, compare_rows);
    free(report->rows[i]);
  }
  free(report->rows);
}

static bool open_softgpu(report_t *report, rawhal_error_t *error)
{
  char path[PATH_MAX];
  if (rawhal_softgpu_library_path(NULL, path, sizeof(path), error))
    return false;
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL); /* stays: threads of its own may run */
  if (!library)
    return tool_refuse(error, RAWHAL_NOT_FOUND, "softgpu cannot be loaded: %s", dlerror());
  *(void **)&report->coverage = dlsym(library, "softgpu_coverage");
  return report->coverage ||
         tool_refuse(error, RAWHAL_UNSUPPORTED, "'%s' has no softgpu_coverage", path);
}

static int run_report(report_t *report)
{
  rawhal_error_t error;
  select_t select = {0};
  bool done = open_softgpu(report, &error) && select_open(&select, &report->select, &error);
  while (done && (done = select_next(&select, &error)) && select.hsaco) {
    report->object = select.index;
    look_at(report, select.hsaco);
  }
  select_close(&select);
  if (done && report->out_of_memory)
    done = tool_refuse(&error, RAWHAL_OUT_OF_MEMORY, "no memory for the report");
  if (done && !report->objects)
    done = tool_refuse(&error, RAWHAL_NOT_FOUND,
                       "none of the %" PRIu64 " objects is for a processor that softgpu executes",
                       report->other_objects);
  if (!done)
    return tool_fail("coverage", &error);
  if (report->count)
    qsort(report->rows, report->count, sizeof(*report->rows), compare_counts);
  progress_clear();
  (report->json ? print_json : print_text)(report);
  return report->missing ? TOOL_NO : TOOL_OK;
}

static const tool_option_t options[] = {
    {TOOL_OPTION("json", FLAG, report_t, json)},
    {SELECT_TARGET_OPTION(report_t, select.target)},
    {0},
};

static int run(int argc, char **argv)
{
  report_t report = {.select = {.skip_unreadable = true, .progress = "coverage"}};
  if (!option_read_all("coverage", options, false, &argc, &argv, &report))
    return TOOL_USAGE;
  if (argc != 1)
    return tool_usage("coverage", "expected one FILE, got %d", argc);
  report.select.path = *argv;
  int status = run_report(&report);
  report_close(&report);
  return status;
}

const tool_command_t coverage_command = {
    .name = "coverage",
    .summary = "list the instructions that softgpu cannot execute",
    .help = "usage: rawhal coverage FILE [OPTIONS]\n\n"
            "Lists the instructions in FILE that softgpu, the GPU in software, cannot\n"
            "execute: by mnemonic, with their number and the place of the first. Runs\n"
            "nothing. Code is decoded from its first byte to its last, so data between\n"
            "functions appears as unknown instructions. Objects for processors that softgpu\n"
            "does not execute are only counted. A FILE of - is standard input.\n\n"
            "options:\n"
            "  --json           print one JSON document (schema \"rawhal-coverage-1\") instead\n"
            "                   of text\n"
            "  --target ID      only objects that run on ID, such as gfx90a or gfx90a:xnack-\n"
            "  --help           show this text\n\n"
            "exit status:\n"
            "  0   softgpu executes every instruction\n"
            "  1   it does not; standard output lists those it cannot execute\n"
            "  2   the command line is wrong\n"
            "  3   FILE cannot be read, or has no object for a processor that softgpu\n"
            "      executes; standard error says why\n",
    .run = run,
    .options = options,
};
