/* rawhal inspect --json: schema "rawhal-inspect-1", described in docs/inspect.schema.json. */
#include <stdlib.h>
#include <string.h>

#include "tools/inspect.h"
#include "tools/json.h"
#include "tools/tool.h"

/* Objects are written one by one: a library's together would take gigabytes. */
static size_t objects_written;

static json_t *u32x3(const uint32_t v[3])
{
  return json_pack("[III]", (json_int_t)v[0], (json_int_t)v[1], (json_int_t)v[2]);
}

static json_t *descriptor_json(const rawhal_descriptor_t *d)
{
  if (!d)
    return json_null();
  return json_pack("{s:I s:I s:I s:I s:I s:I s:I s:I s:I s:i s:i s:I s:I s:I s:b s:b}", "address",
                   (json_int_t)d->address, "entry", (json_int_t)d->entry, "group_segment_size",
                   (json_int_t)d->group_segment_size, "private_segment_size",
                   (json_int_t)d->private_segment_size, "kernarg_size", (json_int_t)d->kernarg_size,
                   "compute_pgm_rsrc1", (json_int_t)d->pgm_rsrc1, "compute_pgm_rsrc2",
                   (json_int_t)d->pgm_rsrc2, "compute_pgm_rsrc3", (json_int_t)d->pgm_rsrc3,
                   "kernel_code_properties", (json_int_t)d->code_properties,
                   "kernarg_preload_length", d->preload_length, "kernarg_preload_offset",
                   d->preload_offset, "vgpr_count", (json_int_t)d->vgpr_count, "sgpr_count",
                   (json_int_t)d->sgpr_count, "accum_offset", (json_int_t)d->accum_offset, "wave32",
                   d->wave32, "uses_dynamic_stack", d->uses_dynamic_stack);
}

static json_t *layout_argument_json(const rawhal_kernarg_argument_t *argument, const char *kind,
                                    size_t kind_size)
{
  return json_pack("{s:o s:I s:I s:s% s:b s:b}", "name", json_text_or_null(argument->name),
                   "offset", (json_int_t)argument->offset, "size", (json_int_t)argument->size,
                   "value_kind", kind ? kind : "", kind_size, "hidden", argument->hidden,
                   "optional", argument->optional);
}

static json_t *layout_json(const rawhal_kernel_t *kernel)
{
  rawhal_kernarg_layout_t *layout = NULL;
  rawhal_error_t error;
  if (rawhal_kernarg_layout_create(kernel, 0, &layout, &error))
    return json_pack("{s:s s:o}", "status", rawhal_status_name(error.status), "message",
                     json_text((rawhal_string_t){error.message, strlen(error.message)}));
  const rawhal_kernarg_info_t *info = rawhal_kernarg_layout_info(layout);
  char signature[17];
  snprintf(signature, sizeof(signature), "%016llx", (unsigned long long)info->signature);
  json_t *value = json_pack(
      "{s:s s:I s:I s:I s:I s:I s:s}", "knowledge",
      info->knowledge == RAWHAL_KERNARG_ARGUMENTS ? "arguments" : "size", "segment_size",
      (json_int_t)info->segment_size, "effective_size", (json_int_t)info->effective_size,
      "alignment", (json_int_t)info->alignment, "explicit_end", (json_int_t)info->explicit_end,
      "block_count", (json_int_t)info->block_count, "signature", signature);
  json_t *arguments = json_array();
  for (uint32_t i = 0; i < info->visible_count + info->hidden_count; ++i) {
    rawhal_string_t kind = {"", 0};
    if (i < kernel->argument_count)
      kind = kernel->arguments[i].detail->value_kind_text;
    json_array_append_new(arguments, layout_argument_json(rawhal_kernarg_layout_argument(layout, i),
                                                          kind.data, kind.size));
  }
  json_object_set_new(value, "arguments", arguments);
  rawhal_kernarg_layout_destroy(layout);
  return value;
}

static json_t *kernel_json(const rawhal_kernel_t *kernel)
{
  return json_pack("{s:o s:o s:b s:b s:o s:o s:o s:o}", "name", json_text(kernel->name), "symbol",
                   json_text(kernel->symbol), "has_metadata", kernel->has_metadata, "usable",
                   kernel->usable, "unusable_reason", json_text_or_null(kernel->unusable_reason),
                   "reqd_workgroup_size", u32x3(kernel->reqd_workgroup_size), "descriptor",
                   descriptor_json(kernel->descriptor), "kernarg", layout_json(kernel));
}

static json_t *segments_json(const rawhal_hsaco_t *hsaco, size_t count)
{
  json_t *list = json_array();
  for (size_t i = 0; i < count; ++i) {
    const rawhal_segment_t *s = rawhal_hsaco_segment(hsaco, i);
    json_array_append_new(
        list,
        json_pack("{s:I s:I s:I s:I s:I s:I s:I}", "type", (json_int_t)s->type, "flags",
                  (json_int_t)s->flags, "offset", (json_int_t)s->offset, "address",
                  (json_int_t)s->address, "file_size", (json_int_t)s->file_size, "memory_size",
                  (json_int_t)s->memory_size, "alignment", (json_int_t)s->alignment));
  }
  return list;
}

static json_t *symbols_json(const rawhal_hsaco_t *hsaco, size_t count)
{
  static const char *const kinds[] = {"kernel", "function", "variable", "other"};
  json_t *list = json_array();
  for (size_t i = 0; i < count; ++i) {
    const rawhal_symbol_t *s = rawhal_hsaco_symbol(hsaco, i);
    json_array_append_new(list,
                          json_pack("{s:o s:I s:I s:s s:b}", "name", json_text(s->name), "address",
                                    (json_int_t)s->address, "size", (json_int_t)s->size, "kind",
                                    kinds[s->kind], "defined", s->defined));
  }
  return list;
}

static json_t *relocations_json(const rawhal_hsaco_t *hsaco, size_t count)
{
  json_t *list = json_array();
  for (size_t i = 0; i < count; ++i) {
    const rawhal_relocation_t *r = rawhal_hsaco_relocation(hsaco, i);
    json_array_append_new(list,
                          json_pack("{s:I s:I s:o s:I}", "address", (json_int_t)r->address, "type",
                                    (json_int_t)r->type, "symbol", json_text_or_null(r->symbol),
                                    "addend", (json_int_t)r->addend));
  }
  return list;
}

static json_t *diagnostics_json(const rawhal_hsaco_t *hsaco, size_t count)
{
  static const char *const names[] = {"note", "warning", "error"};
  json_t *list = json_array();
  for (size_t i = 0; i < count; ++i) {
    const rawhal_diagnostic_t *d = rawhal_hsaco_diagnostic(hsaco, i);
    if (!d)
      break;
    json_array_append_new(
        list,
        json_pack("{s:s s:o s:o s:o}", "severity", names[d->severity], "kernel",
                  json_text_or_null(d->kernel), "offset",
                  d->offset == RAWHAL_NO_OFFSET ? json_null() : json_integer((json_int_t)d->offset),
                  "message", json_text(d->message)));
  }
  return list;
}

/* The metadata as the library writes it, read back: one source of its spelling. */
typedef struct buffer {
  char *text;
  size_t size, room;
} buffer_t;

static bool append(void *context, const char *text, size_t size)
{
  buffer_t *buffer = context;
  if (size > buffer->room - buffer->size) {
    size_t room = 2 * (buffer->size + size) + 4096;
    char *grown = realloc(buffer->text, room);
    if (!grown)
      return false;
    buffer->text = grown;
    buffer->room = room;
  }
  memcpy(buffer->text + buffer->size, text, size);
  buffer->size += size;
  return true;
}

static json_t *metadata_json(const rawhal_hsaco_t *hsaco, rawhal_error_t *error)
{
  buffer_t buffer = {0};
  json_t *value = NULL;
  json_error_t why;
  if (rawhal_hsaco_metadata_json(hsaco, append, &buffer, error) == RAWHAL_OK) {
    value = json_loadb(buffer.text, buffer.size, JSON_DECODE_ANY | JSON_ALLOW_NUL, &why);
    if (!value) {
      *error = (rawhal_error_t){.status = RAWHAL_UNSUPPORTED, .offset = RAWHAL_NO_OFFSET};
      snprintf(error->message, sizeof(error->message), "metadata has no JSON form: %s", why.text);
    }
  }
  free(buffer.text);
  return value;
}

static json_t *elf_json(const rawhal_hsaco_info_t *info)
{
  return json_pack("{s:i s:i s:i s:I s:i}", "osabi", info->elf_osabi, "abi_version",
                   info->elf_abi_version, "machine", info->elf_machine, "flags",
                   (json_int_t)info->elf_flags, "type", info->elf_type);
}

static json_t *bundle_id_json(const rawhal_container_object_t *object)
{
  return object->binary.size ? json_null() : json_text_or_null(object->id);
}

static json_t *archive_json(const rawhal_container_object_t *object)
{
  if (!object->binary.size)
    return json_null();
  return json_pack("{s:o s:o s:I}", "binary", json_text(object->binary), "target",
                   json_text(object->id), "ordinal", (json_int_t)object->ordinal);
}

static json_t *object_json(const inspect_options_t *options, const select_t *object,
                           json_t *metadata)
{
  const rawhal_hsaco_info_t *info = rawhal_hsaco_info(object->hsaco);
  char target[64];
  rawhal_target_format(&info->target, target, sizeof(target));
  json_t *kernels = json_array();
  for (size_t i = 0; i < info->kernel_count; ++i) {
    const rawhal_kernel_t *kernel = rawhal_hsaco_kernel(object->hsaco, i);
    if (inspect_wants(options, kernel))
      json_array_append_new(kernels, kernel_json(kernel));
  }
  return json_pack(
      "{s:I s:I s:b s:I s:o s:o s:s s:I s:b s:o s:o s:I s:o s:o s:o s:o s:o s:o}", "index",
      (json_int_t)object->index, "offset", (json_int_t)object->object->offset, "unpacked",
      (int)object->object->unpacked, "size", (json_int_t)info->bytes.size, "bundle_id",
      bundle_id_json(object->object), "archive", archive_json(object->object), "target", target,
      "code_object_version", (json_int_t)info->code_object_version, "loadable", info->loadable,
      "not_loadable_reason", json_text_or_null(info->not_loadable_reason), "elf", elf_json(info),
      "notes", (json_int_t)info->note_count, "metadata", metadata, "kernels", kernels, "segments",
      segments_json(object->hsaco, info->segment_count), "symbols",
      symbols_json(object->hsaco, info->symbol_count), "relocations",
      relocations_json(object->hsaco, info->relocation_count), "diagnostics",
      diagnostics_json(object->hsaco, info->diagnostic_count));
}

/* ---- The document ---- */

static int put_in_list(const char *text, size_t size, void *context)
{
  (void)context;
  for (const char *end = text + size, *line; text < end; text = line) {
    line = memchr(text, '\n', (size_t)(end - text));
    line = line ? line + 1 : end;
    fwrite(text, 1, (size_t)(line - text), stdout);
    if (line[-1] == '\n')
      fputs("  ", stdout);
  }
  return 0;
}

/* "key": value, of the document. */
static bool put_entry(const char *before, const char *key, json_t *value)
{
  printf("%s \"%s\": ", before, key);
  bool done = json_dumpf(value, stdout, JSON_ENCODE_ANY) == 0;
  json_decref(value);
  return done;
}

static bool begin(const inspect_options_t *options)
{
  objects_written = 0;
  bool done =
      put_entry("{\n", "schema", json_string("rawhal-inspect-1")) &&
      put_entry(",\n", "file", json_text((rawhal_string_t){options->path, strlen(options->path)}));
  fputs(",\n \"objects\": [", stdout);
  return done;
}

static bool object(const inspect_options_t *options, const select_t *object, rawhal_error_t *error)
{
  json_t *metadata = metadata_json(object->hsaco, error);
  if (!metadata)
    return false;
  json_t *value = object_json(options, object, metadata);
  if (!value)
    return tool_refuse(error, RAWHAL_OUT_OF_MEMORY, "out of memory");
  fputs(objects_written++ ? ",\n  " : "\n  ", stdout);
  bool done = json_dump_callback(value, put_in_list, NULL, JSON_INDENT(1)) == 0;
  json_decref(value);
  return done || tool_refuse(error, RAWHAL_OUT_OF_MEMORY, "out of memory");
}

static void end(const rawhal_error_t *error)
{
  fputs(objects_written ? "\n ]" : "]", stdout);
  put_entry(",\n", "status", json_string(error ? rawhal_status_name(error->status) : "OK"));
  if (error) {
    rawhal_string_t message = {error->message, strlen(error->message)};
    put_entry(",\n", "message", json_text(message));
    put_entry(",\n", "offset",
              error->offset == RAWHAL_NO_OFFSET ? json_null()
                                                : json_integer((json_int_t)error->offset));
  }
  fputs("\n}\n", stdout);
}

const inspect_form_t inspect_json_form = {begin, object, end};
