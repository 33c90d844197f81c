#include "tools/shared/json.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "hsaco/content.h"
#include "tools/shared/escape.h"

/* ---- Where the next thing goes ---- */

static void new_line(const json_writer_t *writer)
{
  if (writer->line)
    fputs(writer->filled ? " " : "", writer->out);
  else
    fprintf(writer->out, "\n%*s", (int)writer->depth, "");
}

static void open_item(json_writer_t *writer)
{
  if (writer->filled)
    putc(',', writer->out);
  if (writer->depth)
    new_line(writer);
  writer->filled = true;
}

void json_open(json_writer_t *writer, const char *key)
{
  assert(!key == !(writer->depth && writer->object[writer->depth - 1]));
  open_item(writer);
  if (key)
    fprintf(writer->out, "\"%s\": ", key); /* ours: letters, digits, '_', '-' */
}

/* ---- Containers ---- */

static void begin(json_writer_t *writer, const char *key, bool object)
{
  json_open(writer, key);
  assert(writer->depth < JSON_MOST_NESTING);
  writer->object[writer->depth++] = object;
  writer->filled = false;
  putc(object ? '{' : '[', writer->out);
}

void json_begin_object(json_writer_t *writer, const char *key)
{
  begin(writer, key, true);
}

void json_begin_array(json_writer_t *writer, const char *key)
{
  begin(writer, key, false);
}

void json_end(json_writer_t *writer)
{
  assert(writer->depth);
  bool object = writer->object[--writer->depth];
  if (writer->filled && !writer->line)
    new_line(writer);
  putc(object ? '}' : ']', writer->out);
  writer->filled = true; /* with the one that ends here */
  if (!writer->depth)
    putc('\n', writer->out);
}

/* ---- Values ---- */

void json_put_unsigned(json_writer_t *writer, const char *key, uint64_t value)
{
  json_open(writer, key);
  fprintf(writer->out, "%" PRIu64, value);
}

void json_put_signed(json_writer_t *writer, const char *key, int64_t value)
{
  json_open(writer, key);
  fprintf(writer->out, "%" PRId64, value);
}

void json_put_three(json_writer_t *writer, const char *key, int64_t x, int64_t y, int64_t z)
{
  json_begin_array(writer, key);
  json_put_signed(writer, NULL, x);
  json_put_signed(writer, NULL, y);
  json_put_signed(writer, NULL, z);
  json_end(writer);
}

void json_put_bool(json_writer_t *writer, const char *key, bool value)
{
  json_open(writer, key);
  fputs(value ? "true" : "false", writer->out);
}

void json_put_null(json_writer_t *writer, const char *key)
{
  json_open(writer, key);
  fputs("null", writer->out);
}

void json_put_string(json_writer_t *writer, const char *key, rawhal_string_t value)
{
  json_open(writer, key);
  putc('"', writer->out);
  escape_json(writer->out, value);
  putc('"', writer->out);
}

void json_put_text(json_writer_t *writer, const char *key, const char *value)
{
  if (value)
    json_put_string(writer, key, rawhal_string(value));
  else
    json_put_null(writer, key);
}

void json_put_string_or_null(json_writer_t *writer, const char *key, rawhal_string_t value)
{
  if (value.size)
    json_put_string(writer, key, value);
  else
    json_put_null(writer, key);
}

void json_put_known(json_writer_t *writer, const char *key, bool known, uint64_t value)
{
  if (known)
    json_put_unsigned(writer, key, value);
  else
    json_put_null(writer, key);
}

void json_put_hash(json_writer_t *writer, const char *key, rawhal_content_hash_t value)
{
  char text[CONTENT_TEXT];
  content_text(value, text);
  json_put_text(writer, key, text);
}

void json_put_address(json_writer_t *writer, const char *key, uint64_t value)
{
  char text[24];
  (void)snprintf(text, sizeof(text), "0x%" PRIx64, value);
  json_put_text(writer, key, text);
}

void json_put_offset(json_writer_t *writer, const char *key, uint64_t value)
{
  json_put_known(writer, key, value != RAWHAL_NO_OFFSET, value);
}
