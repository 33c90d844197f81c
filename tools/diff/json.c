/* rawhal diff --json: schema "rawhal-diff-1", described in docs/diff.schema.json. */
#include <stdio.h>
#include <string.h>

#include "tools/diff/diff.h"
#include "tools/shared/escape.h"
#include "tools/shared/json.h"
#include "tools/shared/kernel_json.h"
#include "tools/shared/page/page.h"
#include "tools/shared/tool.h"

static void put_value(json_writer_t *out, const char *key, const diff_value_t *value)
{
  char hex[17];
  switch (value->kind) {
  case DIFF_NUMBER:
    json_put_unsigned(out, key, value->number);
    break;
  case DIFF_SIGNATURE:
    snprintf(hex, sizeof(hex), "%016llx", (unsigned long long)value->number);
    json_put_text(out, key, hex);
    break;
  case DIFF_TEXT:
    json_put_string(out, key, value->text);
    break;
  default:
    json_put_null(out, key);
  }
}

static void put_place(json_writer_t *out, const char *key, const diff_kernel_t *kernel,
                      size_t index)
{
  const rawhal_kernarg_argument_t *argument = diff_argument(kernel, index);
  if (!argument) {
    json_put_null(out, key);
    return;
  }
  json_begin_object(out, key);
  json_put_unsigned(out, "index", index);
  json_put_string_or_null(out, "name", argument->name);
  json_put_unsigned(out, "offset", argument->offset);
  json_put_unsigned(out, "size", argument->size);
  json_put_string(out, "value_kind", argument->value_kind_text);
  json_put_bool(out, "hidden", argument->hidden);
  json_end(out);
}

/* A change of an argument has its place in both files; of the kernel, null. */
static void put_change(json_writer_t *out, const diff_entry_t *entry, const diff_change_t *change)
{
  json_begin_object(out, NULL);
  json_put_text(out, "category", diff_category_name(change->category));
  json_put_text(out, "property", change->property);
  if (change->argument[0] != DIFF_NO_ARGUMENT || change->argument[1] != DIFF_NO_ARGUMENT) {
    json_begin_object(out, "argument");
    put_place(out, "a", entry->kernels[0], change->argument[0]);
    put_place(out, "b", entry->kernels[1], change->argument[1]);
    json_end(out);
  } else {
    json_put_null(out, "argument");
  }
  put_value(out, "a", &change->values[0]);
  put_value(out, "b", &change->values[1]);
  json_end(out);
}

/* The entry has the name in full. Without metadata names are parts of a table of strings, and many
 * may be the end of one: see tool.h. */
static void put_name(json_writer_t *out, const char *key, rawhal_string_t name)
{
  char start[TOOL_NAME_START + 4];
  if (name.size <= TOOL_SHORT_NAME) {
    json_put_string(out, key, name);
    return;
  }
  const size_t size = escape_cut(name, TOOL_NAME_START);
  memcpy(start, name.data, size);
  memcpy(start + size, "...", 3);
  json_put_string(out, key, (rawhal_string_t){start, size + 3});
}

static void put_kernel(json_writer_t *out, const char *key, const diff_kernel_t *kernel,
                       bool demangled)
{
  if (!kernel) {
    json_put_null(out, key);
    return;
  }
  json_begin_object(out, key);
  put_name(out, "name", kernel->facts->name);
  put_name(out, "symbol", kernel->facts->symbol);
  json_put_demangled(out, kernel->facts->name, demangled);
  json_put_kernel(out, kernel->facts, true);
  json_end(out);
}

/* `page`: the result, if it is for one. */
static void put_entry(json_writer_t *out, const diff_entry_t *entry, const diff_result_t *page)
{
  const diff_kernel_t *a = entry->kernels[0], *b = entry->kernels[1];
  json_begin_object(out, NULL);
  json_put_string(out, "name", (a ? a : b)->facts->name);
  json_put_text(out, "target_a", a ? a->target : NULL);
  json_put_text(out, "target_b", b ? b->target : NULL);
  json_put_text(out, "change", !b ? "removed" : !a ? "added" : "changed");
  json_put_bool(out, "same_abi", entry->same_abi);
  json_put_bool(out, "same_blobs", entry->same_blobs);
  json_put_bool(out, "same_resources", entry->same_resources);
  json_put_bool(out, "swaps_seen", !entry->blind);
  json_begin_array(out, "changes");
  for (size_t i = 0; i < entry->change_count; ++i)
    put_change(out, entry, &entry->changes[i]);
  json_end(out);
  if (page) {
    put_kernel(out, "kernel_a", a, page->demangle);
    put_kernel(out, "kernel_b", b, page->demangle);
  }
  json_end(out);
}

static void put_file(json_writer_t *out, const char *key, const char *path, const diff_file_t *file)
{
  json_begin_object(out, key);
  json_put_text(out, "file", path);
  json_put_unsigned(out, "objects", file->object_count);
  json_put_unsigned(out, "kernels", file->kernel_count);
  json_end(out);
}

static void put_refusal(json_writer_t *out, const diff_result_t *result)
{
  const rawhal_error_t *error = &result->error;
  json_put_text(out, "status", rawhal_status_name(error->status));
  json_put_text(out, "refused", !result->refused ? NULL : result->refused == 1 ? "a" : "b");
  json_put_text(out, "message", error->message);
  json_put_offset(out, "offset", error->offset);
}

static void put_result(json_writer_t *out, const diff_result_t *result, bool page)
{
  json_put_text(out, "status", "OK");
  put_file(out, "a", result->paths[0], &result->files[0]);
  put_file(out, "b", result->paths[1], &result->files[1]);
  json_put_bool(out, "same_abi", result->same_abi);
  json_put_bool(out, "same_resources", result->same_resources);
  json_put_unsigned(out, "removed", result->removed);
  json_put_unsigned(out, "added", result->added);
  json_put_unsigned(out, "changed", result->changed);
  json_put_unsigned(out, "same", result->same);
  json_put_unsigned(out, "swaps_not_seen", result->blind);
  json_begin_array(out, "kernels");
  for (size_t i = 0; i < result->entry_count && !ferror(out->out); ++i)
    put_entry(out, &result->entries[i], page ? result : NULL);
  json_end(out);
}

void diff_print_json(const diff_result_t *result, page_t *page)
{
  json_writer_t out = {.out = page ? page->data : stdout};
  json_begin_object(&out, NULL);
  json_put_text(&out, "schema", page ? "rawhal-page-1" : "rawhal-diff-1");
  if (page) {
    json_put_text(&out, "view", "diff");
    json_put_text(&out, "file_a", result->paths[0]);
    json_put_text(&out, "file_b", result->paths[1]);
  }
  if (result->error.status)
    put_refusal(&out, result);
  else
    put_result(&out, result, page);
  json_end(&out);
  fflush(out.out); /* before what standard error says */
}
