/* rawhal inspect of a solution library of Tensile: its solutions, and the libraries it names. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <rawhal/tensile.h>

#include "tools/inspect/inspect.h"
#include "tools/shared/json.h"
#include "tools/shared/tool.h"

bool inspect_is_tensile(const char *path)
{
  char start[1024];   /* of compressed ones, too */
  struct stat status; /* a pipe would wait for its writer, and lose what was read */
  FILE *file = stat(path, &status) == 0 && S_ISREG(status.st_mode) ? fopen(path, "rbe") : NULL;
  size_t size = file ? fread(start, 1, sizeof(start), file) : 0;
  if (file)
    fclose(file);
  return rawhal_tensile_recognise(start, size);
}

/* ---- Text ---- */

static void print_line(const char *what, rawhal_string_t text)
{
  printf("  %-14s", what);
  if (text.size)
    tool_print_text(text);
  else
    fputs("not known", stdout);
  putchar('\n');
}

static void print_dimensions(const char *what, const int64_t numbers[3])
{
  printf("  %-14s%lld", what, (long long)numbers[0]);
  for (int i = 1; i < 3 && numbers[i]; ++i) /* 0: not said */
    printf(" x %lld", (long long)numbers[i]);
  putchar('\n');
}

static void print_solution(const rawhal_tensile_solution_t *solution)
{
  const rawhal_tensile_sizes_t *sizes = &solution->sizes;
  const rawhal_tensile_arguments_t *arguments = &solution->arguments;
  printf("\nsolution %lld\n", (long long)solution->index);
  if (solution->name.data != solution->kernel.data)
    print_line("name", solution->name);
  print_line("kernel", solution->kernel);
  print_line("code object", solution->code_object);
  print_line("operation", solution->operation);
  print_dimensions("work-group", sizes->workgroup);
  print_dimensions("macro tile", sizes->macro_tile);
  print_dimensions("thread tile", sizes->thread_tile);
  printf("  %-14s%lld, split %lld, stagger %lld, mapping %lld, accumulation %lld\n", "depth",
         (long long)sizes->depth_u, (long long)sizes->global_split_u, (long long)sizes->stagger_u,
         (long long)sizes->workgroup_mapping, (long long)sizes->global_accumulation);
  if (arguments->known)
    printf("  %-14sversion %lld%s%s%s%s\n", "arguments", (long long)arguments->version,
           arguments->universal ? ", universal" : "", arguments->global_split_u ? ", split" : "",
           arguments->workgroup_mapping ? ", mapping" : "",
           arguments->stagger_u ? ", stagger" : "");
}

static void print_head(const char *path, const rawhal_tensile_t *tensile)
{
  const size_t count = rawhal_tensile_count(tensile);
  const size_t libraries = rawhal_tensile_library_count(tensile);
  const rawhal_string_t version = rawhal_tensile_version(tensile);
  tool_print_string(path);
  printf(": a solution library of Tensile");
  if (version.size) {
    putchar(' ');
    tool_print_text(version);
  }
  printf(", %zu solution%s, %zu librar%s", count, count == 1 ? "" : "s", libraries,
         libraries == 1 ? "y" : "ies");
}

static void print_text(const inspect_options_t *options, const rawhal_tensile_t *tensile)
{
  const size_t count = rawhal_tensile_count(tensile);
  const size_t libraries = rawhal_tensile_library_count(tensile);
  print_head(options->path, tensile);
  putchar('\n');
  for (size_t i = 0; i < libraries; ++i)
    print_line("library", rawhal_tensile_library(tensile, i));
  for (size_t i = 0; i < count; ++i) {
    const rawhal_tensile_solution_t *solution = rawhal_tensile_solution(tensile, i);
    if (!inspect_wants(options, solution->kernel))
      continue;
    if (options->brief) {
      tool_print_text(solution->kernel);
      putchar('\n');
    } else {
      print_solution(solution);
    }
  }
}

/* ---- JSON ---- */

static void put_sizes(json_writer_t *out, const rawhal_tensile_sizes_t *sizes)
{
  const struct {
    const char *key;
    int64_t value;
  } numbers[] = {
      {"depth_u", sizes->depth_u},
      {"global_split_u", sizes->global_split_u},
      {"stagger_u", sizes->stagger_u},
      {"stagger_stride_shift", sizes->stagger_stride_shift},
      {"workgroup_mapping", sizes->workgroup_mapping},
      {"global_accumulation", sizes->global_accumulation},
      {"workspace_per_c", sizes->workspace_per_c},
      {"stream_k", sizes->stream_k},
      {"persistent", sizes->persistent},
      {"stagger_mapping", sizes->stagger_mapping},
      {"xcc", sizes->xcc},
      {"xcc_group", sizes->xcc_group},
      {"split_coalesced", sizes->split_coalesced},
      {"split_round_robin", sizes->split_round_robin},
  };
  json_begin_object(out, "sizes");
  json_put_three(out, "workgroup", sizes->workgroup[0], sizes->workgroup[1], sizes->workgroup[2]);
  json_put_three(out, "thread_tile", sizes->thread_tile[0], sizes->thread_tile[1],
                 sizes->thread_tile[2]);
  json_put_three(out, "macro_tile", sizes->macro_tile[0], sizes->macro_tile[1],
                 sizes->macro_tile[2]);
  for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); ++i)
    json_put_signed(out, numbers[i].key, numbers[i].value);
  json_end(out);
}

static void put_arguments(json_writer_t *out, const rawhal_tensile_arguments_t *arguments)
{
  if (!arguments->known) {
    json_put_null(out, "arguments");
    return;
  }
  json_begin_object(out, "arguments");
  json_put_signed(out, "version", arguments->version);
  json_put_bool(out, "global_split_u", arguments->global_split_u);
  json_put_bool(out, "workgroup_mapping", arguments->workgroup_mapping);
  json_put_bool(out, "stagger_u", arguments->stagger_u);
  json_put_bool(out, "universal", arguments->universal);
  json_end(out);
}

static void put_solution(json_writer_t *out, const rawhal_tensile_solution_t *solution)
{
  json_begin_object(out, NULL);
  json_put_signed(out, "index", solution->index);
  json_put_string(out, "name", solution->name);
  json_put_string(out, "kernel", solution->kernel);
  json_put_string_or_null(out, "code_object", solution->code_object);
  json_put_bool(out, "source_kernel", solution->source_kernel);
  json_put_string_or_null(out, "operation", solution->operation);
  put_sizes(out, &solution->sizes);
  put_arguments(out, &solution->arguments);
  json_end(out);
}

/* `tensile` is NULL when `error` says why. */
static void print_json(const inspect_options_t *options, const rawhal_tensile_t *tensile,
                       const rawhal_error_t *error)
{
  json_writer_t out = {.out = stdout};
  const rawhal_string_t version =
      tensile ? rawhal_tensile_version(tensile) : (rawhal_string_t){NULL, 0};
  const size_t libraries = tensile ? rawhal_tensile_library_count(tensile) : 0;
  const rawhal_tensile_solution_t *solution;
  json_begin_object(&out, NULL);
  json_put_text(&out, "schema", "rawhal-tensile-1");
  json_put_text(&out, "file", options->path);
  json_put_string_or_null(&out, "version", version);
  json_begin_array(&out, "libraries");
  for (size_t i = 0; i < libraries; ++i)
    json_put_string(&out, NULL, rawhal_tensile_library(tensile, i));
  json_end(&out);
  json_begin_array(&out, "solutions");
  for (size_t i = 0; tensile && (solution = rawhal_tensile_solution(tensile, i)); ++i)
    if (inspect_wants(options, solution->kernel))
      put_solution(&out, solution);
  json_end(&out);
  json_put_text(&out, "status", tensile ? "OK" : rawhal_status_name(error->status));
  if (!tensile) {
    json_put_text(&out, "message", error->message);
    json_put_offset(&out, "offset", error->offset);
  }
  json_end(&out);
}

static bool open_library(const inspect_options_t *options, const char *path,
                         rawhal_tensile_t **tensile, rawhal_error_t *error)
{
  rawhal_tensile_options_t given = {.size = sizeof(given)};
  if (options->target)
    given.target = rawhal_string(options->target->processor);
  return rawhal_tensile_open_file(path, &given, tensile, error) == RAWHAL_OK;
}

int inspect_tensile(const inspect_options_t *options, bool json)
{
  rawhal_error_t error = {.status = RAWHAL_OUT_OF_MEMORY, .offset = RAWHAL_NO_OFFSET};
  rawhal_tensile_t *tensile = NULL;
  bool opened = open_library(options, options->path, &tensile, &error);
  if (json)
    print_json(options, tensile, &error);
  else if (opened)
    print_text(options, tensile);
  rawhal_tensile_close(tensile);
  fflush(stdout); /* before what standard error says */
  if (ferror(stdout))
    return TOOL_FAILED; /* main() says so */
  return opened ? TOOL_OK : tool_fail("inspect", &error);
}

/* ---- A line of a list ---- */

/* Tensile's names of files end in the processor that they are for, if it is one. */
static bool is_for_other(const inspect_options_t *options, const char *path)
{
  const char *last = strrchr(path, '_'), *end = last ? strchr(last, '.') : NULL;
  if (!options->target || !end || strncmp(++last, "gfx", 3) != 0)
    return false;
  const size_t size = (size_t)(end - last);
  const char *processor = options->target->processor;
  return strlen(processor) != size || memcmp(processor, last, size) != 0;
}

/* The code objects of the kernels asked for, each once: of assembled and of compiled ones. */
typedef struct objects {
  rawhal_string_t names[2];
  size_t count;
  bool wanted; /* there are such kernels, or all are asked for */
} objects_t;

static objects_t find_objects(const inspect_options_t *options, const rawhal_tensile_t *tensile)
{
  objects_t found = {.wanted = !options->kernel};
  const rawhal_tensile_solution_t *solution;
  for (size_t i = 0; (solution = rawhal_tensile_solution(tensile, i)); ++i) {
    const rawhal_string_t name = solution->code_object;
    if (!inspect_wants(options, solution->kernel))
      continue;
    found.wanted = true;
    /* One library's names of a kind are one text. */
    if (name.size && found.count < 2 && (!found.count || found.names[0].data != name.data))
      found.names[found.count++] = name;
  }
  return found;
}

static void put_line(json_writer_t *out, const char *path, const rawhal_tensile_t *tensile,
                     const objects_t *objects)
{
  json_begin_object(out, NULL);
  json_put_text(out, "file", path);
  json_put_string_or_null(out, "version", rawhal_tensile_version(tensile));
  json_put_unsigned(out, "solutions", rawhal_tensile_count(tensile));
  json_put_unsigned(out, "libraries", rawhal_tensile_library_count(tensile));
  json_begin_array(out, "code_objects");
  for (size_t i = 0; i < objects->count; ++i)
    json_put_string(out, NULL, objects->names[i]);
  json_end(out);
  json_end(out);
}

static void print_short(const char *path, const rawhal_tensile_t *tensile, const objects_t *objects)
{
  print_head(path, tensile);
  for (size_t i = 0; i < objects->count; ++i) {
    fputs(i ? ", " : ", kernels in ", stdout);
    tool_print_text(objects->names[i]);
  }
  putchar('\n');
}

bool inspect_tensile_line(const inspect_options_t *options, const char *path, json_writer_t *out,
                          bool *listed, rawhal_error_t *error)
{
  rawhal_tensile_t *tensile;
  *listed = false;
  if (is_for_other(options, path))
    return true;
  if (!open_library(options, path, &tensile, error))
    return false;
  const objects_t objects = find_objects(options, tensile);
  *listed = objects.wanted;
  if (objects.wanted && out)
    put_line(out, path, tensile, &objects);
  else if (objects.wanted)
    print_short(path, tensile, &objects);
  rawhal_tensile_close(tensile);
  return true;
}
