/* rawhal diff --json: schema "rawhal-diff-1", described in docs/diff.schema.json. */
#include <stdio.h>
#include <string.h>

#include "tools/diff.h"
#include "tools/json.h"
#include "tools/tool.h"

static json_t *c_text(const char *text)
{
  return json_text((rawhal_string_t){text, strlen(text)});
}

static json_t *value_json(const diff_value_t *value)
{
  char hex[17];
  switch (value->kind) {
  case DIFF_NUMBER:
    return json_integer((json_int_t)value->number);
  case DIFF_SIGNATURE:
    snprintf(hex, sizeof(hex), "%016llx", (unsigned long long)value->number);
    return json_string(hex);
  case DIFF_TEXT:
    return json_text(value->text);
  default:
    return json_null();
  }
}

static json_t *place_json(const diff_kernel_t *kernel, size_t index)
{
  const rawhal_kernarg_argument_t *argument = diff_argument(kernel, index);
  if (!argument)
    return json_null();
  return json_pack("{s:I s:o s:I s:I s:o s:b}", "index", (json_int_t)index, "name",
                   json_text_or_null(argument->name), "offset", (json_int_t)argument->offset,
                   "size", (json_int_t)argument->size, "value_kind",
                   json_text(argument->value_kind_text), "hidden", argument->hidden);
}

/* A change of an argument has its place in both files; of the kernel, null. */
static json_t *change_json(const diff_entry_t *entry, const diff_change_t *change)
{
  json_t *argument = json_null();
  if (change->argument[0] != DIFF_NO_ARGUMENT || change->argument[1] != DIFF_NO_ARGUMENT)
    argument = json_pack("{s:o s:o}", "a", place_json(entry->kernels[0], change->argument[0]), "b",
                         place_json(entry->kernels[1], change->argument[1]));
  return json_pack("{s:s s:s s:o s:o s:o}", "category", diff_category_name(change->category),
                   "property", change->property, "argument", argument, "a",
                   value_json(&change->values[0]), "b", value_json(&change->values[1]));
}

static json_t *target_json(const diff_kernel_t *kernel)
{
  return kernel ? json_string(kernel->target) : json_null();
}

static json_t *entry_json(const diff_entry_t *entry)
{
  const diff_kernel_t *a = entry->kernels[0], *b = entry->kernels[1];
  json_t *changes = json_array();
  for (size_t i = 0; i < entry->change_count; ++i)
    if (json_array_append_new(changes, change_json(entry, &entry->changes[i]))) {
      json_decref(changes);
      return NULL;
    }
  return json_pack("{s:o s:o s:o s:s s:b s:b s:b s:o}", "name", json_text((a ? a : b)->facts->name),
                   "target_a", target_json(a), "target_b", target_json(b), "change",
                   !b   ? "removed"
                   : !a ? "added"
                        : "changed",
                   "same_abi", entry->same_abi, "same_blobs", entry->same_blobs, "same_resources",
                   entry->same_resources, "changes", changes);
}

static json_t *file_json(const char *path, const diff_file_t *file)
{
  return json_pack("{s:o s:I s:I}", "file", c_text(path), "objects", (json_int_t)file->object_count,
                   "kernels", (json_int_t)file->kernel_count);
}

static json_t *refusal_json(const diff_result_t *result)
{
  const rawhal_error_t *error = &result->error;
  json_t *offset =
      error->offset == RAWHAL_NO_OFFSET ? json_null() : json_integer((json_int_t)error->offset);
  json_t *refused = result->refused ? json_string(result->refused == 1 ? "a" : "b") : json_null();
  return json_pack("{s:s s:s s:o s:o s:o}", "schema", "rawhal-diff-1", "status",
                   rawhal_status_name(error->status), "refused", refused, "message",
                   c_text(error->message), "offset", offset);
}

static json_t *result_json(const diff_result_t *result)
{
  json_t *kernels = json_array();
  for (size_t i = 0; i < result->entry_count; ++i)
    if (json_array_append_new(kernels, entry_json(&result->entries[i]))) {
      json_decref(kernels);
      return NULL;
    }
  return json_pack("{s:s s:s s:o s:o s:b s:b s:I s:I s:I s:I s:o}", "schema", "rawhal-diff-1",
                   "status", "OK", "a", file_json(result->paths[0], &result->files[0]), "b",
                   file_json(result->paths[1], &result->files[1]), "same_abi", result->same_abi,
                   "same_resources", result->same_resources, "removed", (json_int_t)result->removed,
                   "added", (json_int_t)result->added, "changed", (json_int_t)result->changed,
                   "same", (json_int_t)result->same, "kernels", kernels);
}

bool diff_print_json(const diff_result_t *result)
{
  json_t *document = result->error.status ? refusal_json(result) : result_json(result);
  if (!document)
    return false;
  json_dumpf(document, stdout, JSON_INDENT(1));
  putchar('\n');
  fflush(stdout); /* before what standard error says */
  json_decref(document);
  return true;
}
