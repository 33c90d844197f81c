#include "base/error.h"
#include "hsaco/json.h"
#include "hsaco/object.h"

/* The text of a key as it appears in the JSON: without "amdhsa.". */
static rawhal_string_t root_name(rawhal_string_t key)
{
  static const char prefix[] = "amdhsa.";
  size_t size = sizeof(prefix) - 1;
  if (key.size > size && memcmp(key.data, prefix, size) == 0)
    return (rawhal_string_t){key.data + size, key.size - size};
  return key;
}

static void write_formats(json_sink_t *sink, const rawhal_hsaco_t *hsaco)
{
  json_text(sink, "[");
  for (size_t i = 0; i < hsaco->info.printf_count; ++i) {
    json_text(sink, i ? "," : "");
    json_quote(sink, hsaco->formats[i]);
  }
  json_text(sink, "]");
}

/* Of all notes. */
static bool write_kernels(json_sink_t *sink, const rawhal_hsaco_t *hsaco)
{
  bool fine = true;
  json_text(sink, "[");
  for (size_t i = 0; i < hsaco->info.kernel_count && fine && !sink->stopped; ++i) {
    if (!hsaco->kernels[i].has_metadata)
      break; /* they come first */
    json_text(sink, i ? ",\n" : "\n");
    fine = json_value(sink, hsaco->kernels[i].metadata);
  }
  json_text(sink, "]");
  return fine;
}

static rawhal_status_t finish(json_sink_t *sink, bool fine, rawhal_error_t *error)
{
  json_flush(sink);
  if (sink->stopped)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "the write function stopped the output");
  if (!fine)
    return rawhal_fail(error, RAWHAL_MALFORMED, "the value is not msgpack, or nests too deeply");
  return RAWHAL_OK;
}

rawhal_status_t rawhal_hsaco_metadata_json(const rawhal_hsaco_t *hsaco, rawhal_write_fn *write,
                                           void *context, rawhal_error_t *error)
{
  if (!hsaco || !write)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "hsaco or write is NULL");
  json_sink_t sink;
  sink.write = write;
  sink.context = context;
  sink.stopped = false;
  sink.used = 0;
  json_text(&sink, "{\"kernels\":");
  bool fine = write_kernels(&sink, hsaco);
  json_text(&sink, ",\n\"printf\":");
  write_formats(&sink, hsaco);
  for (size_t i = 0; i < hsaco->root_count && fine && !sink.stopped; ++i) {
    const root_entry_t *root = &hsaco->roots[i];
    json_text(&sink, ",\n");
    json_quote(&sink, root_name(root->key));
    json_text(&sink, ":");
    fine = json_value(&sink, root->value);
  }
  json_text(&sink, "}");
  return finish(&sink, fine, error);
}

rawhal_status_t rawhal_metadata_to_json(rawhal_bytes_t value, rawhal_write_fn *write, void *context,
                                        rawhal_error_t *error)
{
  if (!write)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "write is NULL");
  if (!value.data && value.size)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "value.data is NULL, and value.size is %zu",
                       value.size);
  json_sink_t sink;
  sink.write = write;
  sink.context = context;
  sink.stopped = false;
  sink.used = 0;
  bool fine = json_value(&sink, value);
  return finish(&sink, fine, error);
}
