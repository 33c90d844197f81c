/* rawhal find: in which code objects of files and folders a kernel is. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "tools/shared/demangle.h"
#include "tools/shared/json.h"
#include "tools/shared/near.h"
#include "tools/shared/progress.h"
#include "tools/shared/select.h"
#include "tools/shared/terminal.h"
#include "tools/shared/tool.h"
#include "tools/shared/uri.h"
#include "tools/shared/walk.h"

typedef struct find {
  select_options_t select; /* of the file at hand */
  rawhal_string_t pattern; /* empty: the name itself, select.kernel */
  json_writer_t *json;     /* NULL: text */
  bool demangle;           /* of text */
  uint64_t files, objects, kernels;
  near_names_t others; /* while none was found */
  walk_t walk;
} find_t;

/* ---- What was found ---- */

/* "" where the kernel has no layout. */
static void write_signature(const rawhal_kernel_t *kernel, char text[17], uint32_t *bytes)
{
  rawhal_kernarg_layout_t *layout = NULL;
  *text = 0;
  *bytes = 0;
  if (rawhal_kernarg_layout_create(kernel, 0, &layout, NULL))
    return;
  const rawhal_kernarg_info_t *info = rawhal_kernarg_layout_info(layout);
  snprintf(text, 17, "%016" PRIx64, info->signature);
  *bytes = info->segment_size;
  rawhal_kernarg_layout_destroy(layout);
}

static void print_json(const find_t *find, const select_t *select, const rawhal_kernel_t *kernel,
                       const char *target, const char *signature)
{
  json_writer_t *out = find->json;
  json_begin_object(out, NULL);
  json_put_text(out, "file", find->select.path);
  json_put_unsigned(out, "object", select->index);
  json_put_unsigned(out, "offset", select->object->offset);
  json_put_unsigned(out, "size", select->object->bytes.size);
  json_put_bool(out, "unpacked", select->object->unpacked);
  uri_put(out, find->select.path, select->object);
  json_put_string_or_null(out, "member", select->object->member);
  json_put_string_or_null(out, "bundle_id", select->object->id);
  json_put_text(out, "target", target);
  json_put_string(out, "name", kernel->name);
  json_put_string(out, "symbol", kernel->symbol);
  json_put_text(out, "signature", *signature ? signature : NULL);
  json_put_bool(out, "usable", kernel->usable);
  json_end(out);
}

static void print_text(const find_t *find, const select_t *select, const rawhal_kernel_t *kernel,
                       const char *target, const char *signature, uint32_t bytes)
{
  (void)tool_print_string(find->select.path);
  printf(": object %zu, %s", select->index, target);
  if (select->object->member.size) {
    fputs(", member ", stdout);
    (void)tool_print_text(select->object->member);
  }
  fputs(": ", stdout);
  terminal_style(STYLE_NAME);
  (void)tool_print_text(demangle_if(find->demangle, kernel->name));
  terminal_style(STYLE_NONE);
  if (*signature)
    printf(", %" PRIu32 " bytes of kernargs, signature %s", bytes, signature);
  puts(kernel->usable ? "" : ", unusable");
}

static void report(find_t *find, const select_t *select, const rawhal_kernel_t *kernel)
{
  char target[64], signature[17];
  uint32_t bytes;
  rawhal_target_format(&select->object->target, target, sizeof(target));
  write_signature(kernel, signature, &bytes);
  ++find->kernels;
  progress_clear();
  if (find->json)
    print_json(find, select, kernel, target, signature);
  else
    print_text(find, select, kernel, target, signature, bytes);
}

/* ---- Looking ---- */

static bool is_text(rawhal_string_t text, rawhal_string_t other)
{
  return text.size == other.size && memcmp(text.data, other.data, text.size) == 0;
}

static void look_into(find_t *find, const select_t *select)
{
  const rawhal_kernel_t *kernel;
  ++find->objects;
  if (!find->pattern.size) {
    const rawhal_string_t name = rawhal_string(find->select.kernel);
    const rawhal_kernel_t *first = rawhal_hsaco_find_kernel(select->hsaco, name);
    for (size_t i = 0; first && (kernel = rawhal_hsaco_kernel(select->hsaco, i)); ++i)
      if (kernel == first || is_text(kernel->name, name)) /* several may have one name */
        report(find, select, kernel);
    if (first)
      return;
    if (!find->kernels)
      near_look_at(&find->others, select->hsaco);
    return;
  }
  for (size_t i = 0; (kernel = rawhal_hsaco_kernel(select->hsaco, i)); ++i)
    if (glob_fits(find->pattern, kernel->name) || glob_fits(find->pattern, kernel->symbol))
      report(find, select, kernel);
}

static void look_at_file(void *context, const char *path, bool named)
{
  find_t *find = context;
  select_t select = {0};
  rawhal_error_t error;
  find->select.path = path;
  if (!select_open(&select, &find->select, &error)) {
    if (!walk_passes_over(named, &error))
      walk_refuse(&find->walk, path, &error);
    return;
  }
  ++find->files;
  for (;;) {
    if (!select_next(&select, &error))
      walk_refuse(&find->walk, path, &error); /* one object; the others are looked at */
    else if (select.hsaco)
      look_into(find, &select);
    else
      break;
  }
  select_close(&select);
}

static int look(find_t *find, char **paths, int count)
{
  json_writer_t *json = find->json;
  rawhal_error_t error;
  if (json) {
    json_begin_object(json, NULL);
    json_put_text(json, "schema", "rawhal-find-1");
    json_begin_array(json, "kernels");
  }
  find->walk = (walk_t){.command = "find", .context = find, .file = look_at_file};
  if (!walk_paths(&find->walk, paths, count, &error))
    return tool_fail("find", &error);
  if (json) {
    json_end(json);
    json_put_unsigned(json, "files", find->files);
    json_put_unsigned(json, "objects", find->objects);
    json_put_unsigned(json, "refused", find->walk.refused);
    json_end(json);
  }
  if (find->walk.refused)
    return TOOL_FAILED;
  if (!find->kernels) {
    char nearest[NEAR_TEXT];
    near_text(&find->others, nearest);
    (void)tool_refuse(&error, RAWHAL_NOT_FOUND,
                      "no kernel '%s' in %" PRIu64 " code objects of %" PRIu64 " files%s",
                      find->select.kernel, find->objects, find->files, nearest);
    (void)tool_fail("find", &error);
  }
  return find->kernels ? TOOL_OK : TOOL_NO;
}

/* ---- The command line ---- */

typedef struct find_request {
  find_t find;
  demangle_when_t demangle;
  bool json;
} find_request_t;

static const tool_option_t options[] = {
    {TOOL_OPTION("json", FLAG, find_request_t, json)},
    {SELECT_TARGET_OPTION(find_request_t, find.select.target)},
    DEMANGLE_OPTIONS(find_request_t, demangle),
    {0},
};

static int run(int argc, char **argv)
{
  find_request_t request = {.find.select = {.progress = "find",
                                            .skip_unreadable = true,
                                            .hsaco_flags = RAWHAL_HSACO_DESCRIPTOR_KERNELS}};
  find_t *find = &request.find;
  json_writer_t json = {.out = stdout};
  if (!option_read_all("find", options, false, &argc, &argv, &request))
    return TOOL_USAGE;
  if (argc < 2)
    return tool_usage("find", "expected KERNEL and at least one PATH");
  find->json = request.json ? &json : NULL;
  find->demangle = demangle_text(request.demangle);
  find->select.kernel = *argv;
  find->others.wanted = rawhal_string(*argv);
  if (glob_is_pattern(find->others.wanted))
    find->pattern = find->others.wanted;
  return look(find, argv + 1, argc - 1);
}

const tool_command_t find_command = {
    .name = "find",
    .summary = "list the code objects that contain a kernel",
    .help = "usage: rawhal find KERNEL PATH... [OPTIONS]\n\n"
            "Lists the code objects that contain KERNEL, one per line: the file, the number\n"
            "of the object, its target and the signature of the kernel's arguments. Kernels\n"
            "with equal signatures accept the same blobs. KERNEL is the name or the symbol\n"
            "(NAME.kd) of a kernel, or a pattern with *, ? and [...] as in the shell. A PATH\n"
            "is a file, - for standard input, or a folder, which is searched recursively;\n"
            "files without code objects are skipped there.\n\n"
            "options:\n"
            "  --demangle   print C++ names of kernels as in the source, which is the default\n"
            "               on a terminal; --no-demangle: never. JSON always has the mangled\n"
            "               names\n"
            "  --json       print one JSON document (schema \"rawhal-find-1\") instead of text\n"
            "  --target ID  only objects that run on ID, such as gfx90a or gfx90a:xnack-\n"
            "  --help       show this text\n\n"
            "exit status:\n"
            "  0   the kernel was found\n"
            "  1   the kernel was not found\n"
            "  2   the command line is wrong\n"
            "  3   a file or folder cannot be read; standard error says why, and the others\n"
            "      are searched\n",
    .run = run,
    .options = options,
};
