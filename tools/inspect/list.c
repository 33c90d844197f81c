/* rawhal inspect of several files, or of folders: a line for each code object. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/inspect/inspect.h"
#include "tools/shared/json.h"
#include "tools/shared/progress.h"
#include "tools/shared/tool.h"
#include "tools/shared/triton.h"
#include "tools/shared/uri.h"
#include "tools/shared/walk.h"

typedef struct list {
  const inspect_options_t *options;
  json_writer_t *json; /* NULL: text */
  walk_t walk;
  uint64_t files, objects, refused; /* the last of objects */
  uint64_t libraries;               /* of Tensile */
  struct found {
    struct found *next;
    bool named;
    char path[];
  } * found, **last; /* libraries, of JSON: what is written as it is read is the objects */
  bool failed;       /* no memory */
} list_t;

/* What there is to say of an object. */
typedef struct line {
  const char *path;
  size_t index;
  const rawhal_container_object_t *object;
  const rawhal_hsaco_info_t *info;       /* NULL: it was not opened, */
  rawhal_string_t reason;                /* for this reason; else why it is not loadable */
  const rawhal_diagnostic_t *diagnostic; /* the first, or NULL */
} line_t;

static const char *severity_name(rawhal_severity_t severity)
{
  static const char *const names[] = {"note", "warning", "error"};
  return severity <= RAWHAL_SEVERITY_ERROR ? names[severity] : "?";
}

/* ---- Forms ---- */

static void print_json(json_writer_t *out, const line_t *line)
{
  const rawhal_container_object_t *object = line->object;
  char target[64];
  json_begin_object(out, NULL);
  json_put_text(out, "file", line->path);
  json_put_unsigned(out, "object", line->index);
  json_put_unsigned(out, "offset", object->offset);
  json_put_unsigned(out, "size", object->bytes.size);
  json_put_bool(out, "unpacked", object->unpacked);
  uri_put(out, line->path, object);
  json_put_string_or_null(out, "member", object->member);
  json_put_string_or_null(out, "bundle_id", object->id);
  json_put_string_or_null(out, "binary", object->binary);
  if (object->readable)
    rawhal_target_format(&object->target, target, sizeof(target));
  json_put_text(out, "target", object->readable ? target : NULL);
  json_put_bool(out, "opened", line->info);
  json_put_unsigned(out, "kernels", line->info ? line->info->kernel_count : 0);
  json_put_bool(out, "loadable", line->info && line->info->loadable);
  json_put_string_or_null(out, "reason", line->reason);
  if (line->diagnostic) {
    json_begin_object(out, "diagnostic");
    json_put_text(out, "severity", severity_name(line->diagnostic->severity));
    json_put_string(out, "message", line->diagnostic->message);
    json_end(out);
  } else {
    json_put_null(out, "diagnostic");
  }
  inspect_triton_json(out, line->path);
  json_end(out);
}

static void print_behind(const char *before, rawhal_string_t text)
{
  if (!text.size)
    return;
  fputs(before, stdout);
  (void)tool_print_text(text);
}

static void print_text(const line_t *line)
{
  const rawhal_container_object_t *object = line->object;
  char target[64];
  (void)tool_print_string(line->path);
  printf(": object %zu, offset %" PRIu64 ", %s%zu bytes", line->index, object->offset,
         object->unpacked ? "unpacked, " : "", object->bytes.size);
  if (object->readable) {
    rawhal_target_format(&object->target, target, sizeof(target));
    printf(", %s", target);
  } else {
    print_behind(", ", object->id);
  }
  print_behind(", member ", object->member);
  if (line->info) {
    printf(", %zu kernel%s, %sloadable", line->info->kernel_count,
           line->info->kernel_count == 1 ? "" : "s", line->info->loadable ? "" : "not ");
    print_behind(": ", line->reason);
  } else {
    print_behind(", not read: ", line->reason);
  }
  if (line->diagnostic) {
    printf("; %s: ", severity_name(line->diagnostic->severity));
    (void)tool_print_text(line->diagnostic->message);
  }
  inspect_triton_text(line->path);
  putchar('\n');
}

static void report(list_t *list, const line_t *line)
{
  ++list->objects;
  progress_clear();
  if (list->json)
    print_json(list->json, line);
  else
    print_text(line);
}

/* ---- Looking ---- */

static void list_object(list_t *list, const select_t *select)
{
  line_t line = {.path = select->options->path,
                 .index = select->index,
                 .object = select->object,
                 .info = rawhal_hsaco_info(select->hsaco),
                 .diagnostic = rawhal_hsaco_diagnostic(select->hsaco, 0)};
  if (!inspect_wants_object(list->options, select->hsaco))
    return;
  line.reason = line.info->not_loadable_reason;
  report(list, &line);
}

/* One that is not a code object is listed as what it is; one that cannot be opened is damaged. */
static void list_refusal(list_t *list, const select_t *select, const rawhal_error_t *error)
{
  line_t line = {.path = select->options->path, .index = select->index, .object = select->object};
  list->refused += select->object->readable;
  line.reason = select->object->readable ? (rawhal_string_t){error->message, strlen(error->message)}
                                         : select->object->why_not;
  report(list, &line);
}

/* An entry of Triton's cache that is named by its JSON is listed by its object. */
static void list_triton(list_t *list, const char *path, void (*file)(void *, const char *, bool))
{
  rawhal_triton_t *triton;
  rawhal_error_t error;
  if (rawhal_triton_open_file(path, NULL, &triton, &error))
    walk_refuse(&list->walk, path, &error);
  else
    file(list, rawhal_triton_kernel(triton, 0)->hsaco_path.data, true);
  rawhal_triton_close(triton);
}

/* Others write tables that start likewise; one in a folder that is damaged is Tensile's if its name
 * says so. */
static void list_tensile(list_t *list, const char *path, bool named)
{
  const char *ending = strrchr(path, '.');
  rawhal_error_t error;
  bool listed;
  named |= ending && (strcmp(ending, ".dat") == 0 || strcmp(ending, ".zlib") == 0);
  if (inspect_tensile_line(list->options, path, list->json, &listed, &error))
    list->libraries += listed;
  else if (!walk_passes_over(named, &error))
    walk_refuse(&list->walk, path, &error);
}

static void keep_tensile(list_t *list, const char *path, bool named)
{
  const size_t size = strlen(path) + 1;
  struct found *found = malloc(sizeof(*found) + size);
  if (!found) {
    list->failed = true;
    return;
  }
  *found = (struct found){.named = named};
  memcpy(found->path, path, size);
  *list->last = found;
  list->last = &found->next;
}

static void list_kept(list_t *list)
{
  json_begin_array(list->json, "solution_libraries");
  for (struct found *found; (found = list->found);) {
    list_tensile(list, found->path, found->named);
    list->found = found->next;
    free(found);
  }
  json_end(list->json);
}

static void list_file(void *context, const char *path, bool named)
{
  if (named && tool_is_triton_json(path)) {
    list_triton(context, path, list_file);
    return;
  }
  list_t *list = context;
  if (inspect_is_tensile(path)) {
    (list->json ? keep_tensile : list_tensile)(list, path, named);
    return;
  }
  const inspect_options_t *options = list->options;
  const select_options_t wanted = {.path = path,
                                   .progress = "inspect",
                                   .target = options->target,
                                   .skip_unreadable = options->target || options->kernel};
  select_t select = {0};
  rawhal_error_t error;
  if (!select_open(&select, &wanted, &error)) {
    if (!walk_passes_over(named, &error))
      walk_refuse(&list->walk, path, &error);
    select_close(&select);
    return;
  }
  ++list->files;
  while (!ferror(stdout)) {
    if (!select_next(&select, &error))
      list_refusal(list, &select, &error);
    else if (select.hsaco)
      list_object(list, &select);
    else
      break;
  }
  select_close(&select);
}

int inspect_list(const inspect_options_t *options, bool json, char **paths, int count)
{
  json_writer_t writer = {.out = stdout};
  rawhal_error_t error;
  list_t list = {.options = options, .json = json ? &writer : NULL};
  list.last = &list.found;
  list.walk = (walk_t){.command = "inspect", .context = &list, .file = list_file};
  if (json) {
    json_begin_object(&writer, NULL);
    json_put_text(&writer, "schema", "rawhal-list-1");
    json_begin_array(&writer, "objects");
  }
  bool done = walk_paths(&list.walk, paths, count, &error);
  if (json) {
    json_end(&writer);
    list_kept(&list);
    json_put_unsigned(&writer, "files", list.files);
    json_put_unsigned(&writer, "refused", list.refused + list.walk.refused);
    json_end(&writer);
  }
  fflush(stdout); /* before what standard error says */
  if (list.failed)
    done = tool_refuse(&error, RAWHAL_OUT_OF_MEMORY, "no memory for the list");
  if (!done)
    return tool_fail("inspect", &error);
  if (!list.objects && !list.libraries && !list.walk.refused) {
    (void)tool_refuse(&error, RAWHAL_NOT_FOUND,
                      "no matching code object in %" PRIu64 " files of %.200s%s", list.files,
                      paths[0], count > 1 ? " and others" : "");
    return tool_fail("inspect", &error);
  }
  return list.refused || list.walk.refused ? TOOL_FAILED : TOOL_OK;
}
