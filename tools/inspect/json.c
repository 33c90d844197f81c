/* rawhal inspect --json: schema "rawhal-inspect-1", described in docs/inspect.schema.json. Written
 * as it is read: nothing is kept of what has been written. */
#include <stdio.h>
#include <string.h>

#include "tools/inspect/inspect.h"
#include "tools/shared/escape.h"
#include "tools/shared/json.h"
#include "tools/shared/kernel_json.h"
#include "tools/shared/page/page.h"
#include "tools/shared/tool.h"
#include "tools/shared/uri.h"

static json_writer_t document;

/* One object on its way out. */
typedef struct view {
  json_writer_t *out;
  const inspect_options_t *options;
  const rawhal_hsaco_t *hsaco;
  const rawhal_hsaco_info_t *info;
  inspect_places_t places;
  inspect_names_t names;
} view_t;

/* ---- Names ---- */

/* A name that is too long to be written once more: its start, its bytes, and where they are. */
static void put_start(view_t *view, const char *key, rawhal_string_t name)
{
  json_writer_t *out = view->out;
  char sibling[32];
  const char *object = view->info->bytes.data;
  json_open(out, key);
  putc('"', out->out);
  escape_json(out->out, (rawhal_string_t){name.data, escape_cut(name, TOOL_NAME_START)});
  fputs("...\"", out->out);
  snprintf(sibling, sizeof(sibling), "%s_size", key);
  json_put_unsigned(out, sibling, name.size);
  snprintf(sibling, sizeof(sibling), "%s_offset", key);
  uintptr_t from = (uintptr_t)name.data - (uintptr_t)object;
  bool inside = from < view->info->bytes.size && name.size <= view->info->bytes.size - from;
  json_put_offset(out, sibling, inside ? from : RAWHAL_NO_OFFSET);
}

static void put_name(view_t *view, const char *key, rawhal_string_t name)
{
  if (inspect_names_take(&view->names, name))
    json_put_string(view->out, key, name);
  else
    put_start(view, key, name);
}

static void put_name_or_null(view_t *view, const char *key, rawhal_string_t name)
{
  if (name.size)
    put_name(view, key, name);
  else
    json_put_null(view->out, key);
}

/* ---- Kernels ---- */

static void put_kernels(view_t *view)
{
  json_writer_t *out = view->out;
  json_begin_array(out, "kernels");
  for (size_t i = 0; i < view->info->kernel_count; ++i) {
    const rawhal_kernel_t *kernel = rawhal_hsaco_kernel(view->hsaco, i);
    if (!inspect_wants(view->options, kernel->name))
      continue;
    json_begin_object(out, NULL);
    put_name(view, "name", kernel->name);
    put_name(view, "symbol", kernel->symbol);
    if (view->options->page)
      json_put_demangled(out, kernel->name, view->options->demangle);
    json_put_kernel(out, kernel, view->options->page);
    json_end(out);
  }
  json_end(out);
}

/* ---- The tables ---- */

static void put_segments(view_t *view)
{
  json_writer_t *out = view->out;
  json_begin_array(out, "segments");
  for (size_t i = 0; i < view->info->segment_count; ++i) {
    const rawhal_segment_t *s = rawhal_hsaco_segment(view->hsaco, i);
    json_begin_object(out, NULL);
    json_put_unsigned(out, "type", s->type);
    json_put_unsigned(out, "flags", s->flags);
    json_put_unsigned(out, "offset", s->offset);
    json_put_unsigned(out, "address", s->address);
    json_put_unsigned(out, "file_size", s->file_size);
    json_put_unsigned(out, "memory_size", s->memory_size);
    json_put_unsigned(out, "alignment", s->alignment);
    json_end(out);
  }
  json_end(out);
}

static void put_symbols(view_t *view)
{
  static const char *const kinds[] = {"kernel", "function", "variable", "other"};
  json_writer_t *out = view->out;
  json_begin_array(out, "symbols");
  for (size_t i = 0; i < view->info->symbol_count && !ferror(out->out); ++i) {
    const rawhal_symbol_t *s = rawhal_hsaco_symbol(view->hsaco, i);
    if (!inspect_places_have(&view->places, s->address))
      continue;
    json_begin_object(out, NULL);
    put_name(view, "name", s->name);
    json_put_unsigned(out, "address", s->address);
    json_put_unsigned(out, "size", s->size);
    json_put_text(out, "kind", kinds[s->kind]);
    json_put_bool(out, "defined", s->defined);
    json_end(out);
  }
  json_end(out);
}

static void put_relocations(view_t *view)
{
  json_writer_t *out = view->out;
  json_begin_array(out, "relocations");
  for (size_t i = 0; i < view->info->relocation_count && !ferror(out->out); ++i) {
    const rawhal_relocation_t *r = rawhal_hsaco_relocation(view->hsaco, i);
    if (!inspect_places_have(&view->places, r->address))
      continue;
    json_begin_object(out, NULL);
    json_put_unsigned(out, "address", r->address);
    json_put_unsigned(out, "type", r->type);
    put_name_or_null(view, "symbol", r->symbol);
    json_put_signed(out, "addend", r->addend);
    json_end(out);
  }
  json_end(out);
}

static void put_diagnostics(view_t *view)
{
  static const char *const names[] = {"note", "warning", "error"};
  json_writer_t *out = view->out;
  const rawhal_diagnostic_t *d;
  json_begin_array(out, "diagnostics");
  for (size_t i = 0; (d = rawhal_hsaco_diagnostic(view->hsaco, i)); ++i) {
    if (!inspect_wants(view->options, d->kernel))
      continue;
    json_begin_object(out, NULL);
    json_put_text(out, "severity", names[d->severity]);
    put_name_or_null(view, "kernel", d->kernel);
    json_put_offset(out, "offset", d->offset);
    json_put_string(out, "message", d->message);
    json_end(out);
  }
  json_end(out);
}

/* ---- Metadata ---- */

static bool put_text(void *out, const char *text, size_t size)
{
  return fwrite(text, 1, size, out) == size;
}

typedef struct rest {
  FILE *out;
  size_t lines; /* to be passed over */
} rest_t;

static bool put_rest(void *context, const char *text, size_t size)
{
  rest_t *rest = context;
  for (; rest->lines && size; ++text, --size)
    rest->lines -= *text == '\n';
  return put_text(rest->out, text, size);
}

/* As the library writes it, one source of its spelling: the kernels that are wanted, and what
 * stands behind the lines that all of them have. */
static bool put_metadata(view_t *view, rawhal_error_t *error)
{
  FILE *out = view->out->out;
  rest_t rest = {out, 1};
  rawhal_status_t status = RAWHAL_OK;
  const rawhal_kernel_t *kernel;
  const char *between = "\n";
  json_open(view->out, "metadata");
  fputs("{\"kernels\":[", out);
  for (size_t i = 0; (kernel = rawhal_hsaco_kernel(view->hsaco, i)) && kernel->has_metadata; ++i) {
    ++rest.lines;
    if (status != RAWHAL_OK || !inspect_wants(view->options, kernel->name))
      continue;
    fputs(between, out);
    between = ",\n";
    status = rawhal_metadata_to_json(kernel->metadata, put_text, out, error);
  }
  fputs("],\n", out);
  return status == RAWHAL_OK &&
         rawhal_hsaco_metadata_json(view->hsaco, put_rest, &rest, error) == RAWHAL_OK;
}

/* ---- The object ---- */

static void put_elf(json_writer_t *out, const rawhal_hsaco_info_t *info)
{
  json_begin_object(out, "elf");
  json_put_unsigned(out, "osabi", info->elf_osabi);
  json_put_unsigned(out, "abi_version", info->elf_abi_version);
  json_put_unsigned(out, "machine", info->elf_machine);
  json_put_unsigned(out, "flags", info->elf_flags);
  json_put_unsigned(out, "type", info->elf_type);
  json_end(out);
}

static void put_origin(json_writer_t *out, const rawhal_container_object_t *object)
{
  json_put_string_or_null(out, "member", object->member);
  if (!object->binary.size) {
    json_put_string_or_null(out, "bundle_id", object->id);
    json_put_null(out, "archive");
    return;
  }
  json_put_null(out, "bundle_id");
  json_begin_object(out, "archive");
  json_put_string(out, "binary", object->binary);
  json_put_string(out, "target", object->id);
  json_put_unsigned(out, "ordinal", object->ordinal);
  json_end(out);
}

static bool put_object(view_t *view, const select_t *object, rawhal_error_t *error)
{
  json_writer_t *out = view->out;
  const rawhal_hsaco_info_t *info = view->info;
  char target[64];
  rawhal_target_format(&info->target, target, sizeof(target));
  json_begin_object(out, NULL);
  json_put_unsigned(out, "index", object->index);
  json_put_unsigned(out, "offset", object->object->offset);
  json_put_bool(out, "unpacked", object->object->unpacked);
  json_put_unsigned(out, "size", info->bytes.size);
  uri_put(out, view->options->path, object->object);
  put_origin(out, object->object);
  json_put_text(out, "target", target);
  json_put_unsigned(out, "code_object_version", info->code_object_version);
  json_put_bool(out, "loadable", info->loadable);
  json_put_string_or_null(out, "not_loadable_reason", info->not_loadable_reason);
  put_elf(out, info);
  json_put_unsigned(out, "notes", info->note_count);
  if (!view->options->page && !put_metadata(view, error))
    return false;
  put_kernels(view);
  if (!view->options->page) {
    put_segments(view);
    put_symbols(view);
    put_relocations(view);
  }
  put_diagnostics(view);
  json_end(out);
  return true;
}

/* ---- The document ---- */

static void begin(const inspect_options_t *options)
{
  document = (json_writer_t){.out = options->page ? options->page->data : stdout};
  json_begin_object(&document, NULL);
  json_put_text(&document, "schema", options->page ? "rawhal-page-1" : "rawhal-inspect-1");
  if (options->page)
    json_put_text(&document, "view", "inspect");
  json_put_text(&document, "file", options->path);
  json_begin_array(&document, "objects");
}

static bool object(const inspect_options_t *options, const select_t *object, rawhal_error_t *error)
{
  const rawhal_hsaco_info_t *info = rawhal_hsaco_info(object->hsaco);
  view_t view = {.out = &document,
                 .options = options,
                 .hsaco = object->hsaco,
                 .info = info,
                 .names = inspect_names_of(info)};
  bool done = inspect_places_make(&view.places, options, object->hsaco) ||
              tool_refuse(error, RAWHAL_OUT_OF_MEMORY, "out of memory");
  done = done && put_object(&view, object, error);
  inspect_places_release(&view.places);
  return done;
}

static void end(const rawhal_error_t *error)
{
  /* Of an object that could not be written to its end, what there is becomes whole. */
  while (document.depth > 1)
    json_end(&document);
  json_put_text(&document, "status", error ? rawhal_status_name(error->status) : "OK");
  if (error) {
    json_put_text(&document, "message", error->message);
    json_put_offset(&document, "offset", error->offset);
  }
  json_end(&document);
}

const inspect_form_t inspect_json_form = {begin, object, end};
