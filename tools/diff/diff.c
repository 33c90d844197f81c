/* rawhal diff: the ABI of two files. */
#include "tools/diff/diff.h"
#include "base/list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/shared/demangle.h"
#include "tools/shared/page/page.h"
#include "tools/shared/tool.h"

const char *diff_category_name(diff_category_t category)
{
  static const char *const names[] = {"abi", "resource", "note"};
  return names[category];
}

/* ---- Comparing ---- */

/* Kernels meet by target and name. Two files for one target each, whatever it is, meet by name. */
static int compare_kernels(const diff_result_t *result, const diff_kernel_t *a,
                           const diff_kernel_t *b)
{
  bool one_each = result->files[0].only_target && result->files[1].only_target;
  int order = one_each ? 0 : strcmp(a->target, b->target);
  return order ? order : tool_compare_text(a->facts->name, b->facts->name);
}

static bool add_entry(diff_result_t *result, const diff_kernel_t *a, const diff_kernel_t *b)
{
  diff_entry_t entry = {.kernels = {a, b}};
  if (a && b && !diff_compare(&entry)) {
    free(entry.changes);
    return false;
  }
  result->removed += !b;
  result->added += !a;
  result->changed += a && b && !entry.same_abi;
  result->same += a && b && entry.same_abi;
  result->blind += entry.blind;
  result->same_abi &= entry.same_abi;
  result->same_resources &= !a || !b || entry.same_resources;
  if (a && b && !entry.change_count)
    return true;
  if (!array_reserve(NULL, &result->entries, &result->room, result->entry_count + 1,
                     sizeof(*result->entries))) {
    free(entry.changes);
    return false;
  }
  result->entries[result->entry_count++] = entry;
  return true;
}

static bool compare_files(diff_result_t *result)
{
  const diff_file_t *a = &result->files[0], *b = &result->files[1];
  bool done = true;
  result->same_abi = result->same_resources = true;
  for (size_t i = 0, k = 0; done && (i < a->kernel_count || k < b->kernel_count);) {
    const diff_kernel_t *first = i < a->kernel_count ? &a->kernels[i] : NULL;
    const diff_kernel_t *second = k < b->kernel_count ? &b->kernels[k] : NULL;
    int order = !first ? 1 : !second ? -1 : compare_kernels(result, first, second);
    done = add_entry(result, order <= 0 ? first : NULL, order >= 0 ? second : NULL);
    i += order <= 0;
    k += order >= 0;
  }
  return done || tool_refuse(&result->error, RAWHAL_OUT_OF_MEMORY, "out of memory");
}

static bool make_result(diff_result_t *result, const select_options_t *options)
{
  for (int side = 0; side < 2; ++side) {
    select_options_t of_side = *options;
    of_side.path = result->paths[side];
    if (!diff_file_open(&result->files[side], &of_side, &result->error)) {
      result->refused = side + 1;
      return false;
    }
  }
  /* Nothing compared with nothing does not count as "the same". */
  if (!result->files[0].object_count && !result->files[1].object_count)
    return tool_refuse(&result->error, RAWHAL_NOT_FOUND,
                       "neither file has an object for that target");
  if (options->kernel && !result->files[0].kernel_count && !result->files[1].kernel_count)
    return tool_refuse(&result->error, RAWHAL_NOT_FOUND, "neither file has a kernel '%s'",
                       options->kernel);
  return compare_files(result);
}

static void release_result(diff_result_t *result)
{
  for (size_t i = 0; i < result->entry_count; ++i)
    free(result->entries[i].changes);
  free(result->entries);
  diff_file_close(&result->files[0]);
  diff_file_close(&result->files[1]);
}

static int fail(const diff_result_t *result)
{
  rawhal_error_t error = result->error;
  if (result->refused)
    snprintf(error.message, sizeof(error.message), "%s: %.900s", result->paths[result->refused - 1],
             result->error.message);
  return tool_fail("diff", &error);
}

/* ---- The command ---- */

typedef struct diff_request {
  select_options_t options;
  const char *paths[2];
  const char *output; /* of --html */
  bool json, html, resources;
  demangle_when_t demangle;
} diff_request_t;

static int print_page(const diff_result_t *result, const char *output)
{
  rawhal_error_t error;
  page_t page;
  bool done = page_begin(&page, &page_of_kernels, output, result->paths, 2, &error);
  if (done) {
    diff_print_json(result, &page);
    done = page_end(&page, &error);
  }
  return done ? TOOL_OK : tool_fail("diff", &error);
}

static int compare(const diff_request_t *request)
{
  diff_result_t result = {.paths = {request->paths[0], request->paths[1]}};
  bool done = make_result(&result, &request->options);
  int page = TOOL_OK;
  result.demangle = request->html ? request->demangle != DEMANGLE_NEVER /* pages have both */
                                  : demangle_text(request->demangle);
  if (request->html)
    page = print_page(&result, request->output);
  else if (request->json)
    diff_print_json(&result, NULL);
  else if (done)
    diff_print_text(&result);
  bool same = result.same_abi && (result.same_resources || !request->resources);
  int status = !done ? fail(&result) : page ? page : same ? TOOL_OK : TOOL_NO;
  release_result(&result);
  return status;
}

enum { OPTION_RESOURCES = 1 };

static const tool_option_t options[] = {
    {TOOL_OPTION("json", FLAG, diff_request_t, json)},
    {TOOL_OPTION("html", FLAG, diff_request_t, html)},
    {TOOL_OPTION("output", TEXT, diff_request_t, output), .letter = 'o'},
    {TOOL_OPTION("kernel", TEXT, diff_request_t, options.kernel)},
    {SELECT_TARGET_OPTION(diff_request_t, options.target)},
    {TOOL_OPTION("resources", FLAG, diff_request_t, resources)},
    DEMANGLE_OPTIONS(diff_request_t, demangle),
    {0},
};

static int run(int argc, char **argv)
{
  diff_request_t request = {.options = {.hsaco_flags = RAWHAL_HSACO_DESCRIPTOR_KERNELS}};
  if (!option_read_all("diff", options, false, &argc, &argv, &request))
    return TOOL_USAGE;
  if (argc != 2)
    return tool_usage("diff", "expected two files, A and B, got %d", argc);
  if (request.output && !request.html)
    return tool_usage("diff", "--output requires --html");
  if (request.html && request.json)
    return tool_usage("diff", "--html and --json cannot be combined");
  request.paths[0] = argv[0];
  request.paths[1] = argv[1];
  return compare(&request);
}

const tool_command_t diff_command = {
    .name = "diff",
    .summary = "compare the kernel ABI of two files",
    .help = "usage: rawhal diff A B [OPTIONS]\n\n"
            "Compares the ABI of the kernels in two files, as far as callers and launches\n"
            "depend on it: kernels removed and added, the offset, size, kind and type of each\n"
            "argument, the segment, hidden arguments, the required and the largest\n"
            "work-group, the wavefront size. Also lists changes of resources (registers, LDS,\n"
            "scratch) and notes (names, hints), which do not change the ABI. Swapped\n"
            "arguments are detected by their names; if they have none and look alike, a note\n"
            "says that a swap cannot be detected. A and B can be anything that 'rawhal\n"
            "inspect' reads; one of them can be - for standard input. Kernels are compared by\n"
            "target. Two files with one target each are compared even if the targets differ.\n\n"
            "options:\n"
            "  --demangle         print C++ names of kernels as in the source, which is the\n"
            "                     default on a terminal; --no-demangle: never. JSON always\n"
            "                     has the mangled names\n"
            "  --html             write one HTML page instead of text, with both segments of\n"
            "                     each changed kernel as maps of bytes\n"
            "  --json             print one JSON document (schema \"rawhal-diff-1\") instead of\n"
            "                     text\n"
            "  --kernel NAME      only the kernel with this exact name or symbol\n"
            "  -o, --output FILE  write the page of --html to FILE, not to standard output\n"
            "  --target ID        only objects that run on ID, such as gfx90a or\n"
            "                     gfx90a:xnack-\n"
            "  --resources        exit with 1 if resources changed, even if the ABIs are\n"
            "                     equal\n"
            "  --help             show this text\n\n"
            "exit status:\n"
            "  0   the ABIs are equal\n"
            "  1   the ABIs differ\n"
            "  2   the command line is wrong\n"
            "  3   a file cannot be read, or neither has the kernel or the target; standard\n"
            "      error says why, and so do \"status\", \"message\" and \"offset\" of the\n"
            "      document of --json\n",
    .run = run,
    .options = options,
};
