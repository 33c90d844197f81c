/* JSON that others made, in the writer's form: indented like the rest, code points that must not be
 * shown escaped, and without the elements that were not asked for. */
#include <string.h>

#include "tools/shared/escape.h"
#include "tools/shared/json.h"

/* ---- The filter ---- */

/* Before a value in the text: is it an element of the filter's list that is not wanted? */
static void begin_value(json_copy_t *copy)
{
  if (copy->muted || !copy->in_list || copy->depth != 2)
    return;
  if (!copy->filter->wants(copy->filter->context, copy->index++))
    copy->muted = copy->depth + 1; /* as if it were a container around the value */
}

/* After a value, or what closes one: `depth` is that of what is around it. */
static void end_value(json_copy_t *copy)
{
  if (copy->muted == copy->depth + 1)
    copy->muted = 0;
}

/* The first list of that name: unknown keys may repeat it. */
static void note_container(json_copy_t *copy, char c)
{
  const json_filter_t *filter = copy->filter;
  if (!filter || copy->depth != 1 || copy->was_list || c != '[' ||
      copy->key_length != strlen(filter->key) || memcmp(copy->key, filter->key, copy->key_length))
    return;
  copy->in_list = copy->was_list = true;
}

/* ---- Strings ---- */

static void put_byte(json_copy_t *copy, char c)
{
  if (copy->is_key && copy->depth == 1 && copy->key_length++ < sizeof(copy->key))
    copy->key[copy->key_length - 1] = c;
  if (!copy->muted)
    putc(c, copy->writer->out);
}

static void put_sequence(json_copy_t *copy)
{
  rawhal_string_t sequence = {copy->sequence, copy->sequence_length};
  copy->sequence_length = 0;
  if (copy->is_key && copy->depth == 1)
    copy->key_length += sizeof(copy->key); /* no key of ours */
  if (sequence.size && !copy->muted)
    escape_json(copy->writer->out, sequence);
}

/* Bytes of a sequence are collected until another one begins: escape_json() judges them. */
static void take_string(json_copy_t *copy, char c)
{
  bool follows = ((unsigned char)c & 0xc0) == 0x80;
  if (copy->sequence_length && (!follows || copy->sequence_length == sizeof(copy->sequence)))
    put_sequence(copy);
  if ((unsigned char)c >= 0x80) {
    copy->sequence[copy->sequence_length++] = c;
    return;
  }
  if (copy->state == JSON_COPY_ESCAPE || c != '"') {
    bool escape = copy->state == JSON_COPY_STRING && c == '\\';
    copy->state = escape ? JSON_COPY_ESCAPE : JSON_COPY_STRING;
    put_byte(copy, c);
    return;
  }
  copy->state = JSON_COPY_BETWEEN;
  if (copy->is_key) {
    if (!copy->muted)
      json_close_key(copy->writer);
    copy->is_key = false;
    return;
  }
  if (!copy->muted)
    putc('"', copy->writer->out);
  end_value(copy);
}

static void begin_string(json_copy_t *copy)
{
  copy->state = JSON_COPY_STRING;
  copy->is_key = !copy->muted && copy->depth && json_expects_key(copy->writer);
  if (copy->is_key && copy->depth == 1)
    copy->key_length = 0;
  if (!copy->is_key)
    begin_value(copy);
  if (copy->muted)
    return;
  if (copy->is_key) {
    json_open_key(copy->writer);
  } else {
    json_open_value(copy->writer);
    putc('"', copy->writer->out);
  }
}

/* ---- Everything else ---- */

static void begin_container(json_copy_t *copy, char c)
{
  begin_value(copy);
  note_container(copy, c);
  ++copy->depth;
  if (copy->muted)
    return;
  if (c == '{')
    json_begin_object(copy->writer, NULL);
  else
    json_begin_array(copy->writer, NULL);
}

static void end_container(json_copy_t *copy)
{
  --copy->depth;
  copy->in_list = copy->in_list && copy->depth != 1;
  if (!copy->muted)
    json_end(copy->writer);
  end_value(copy);
}

static void take(json_copy_t *copy, char c)
{
  if (copy->state == JSON_COPY_STRING || copy->state == JSON_COPY_ESCAPE) {
    take_string(copy, c);
    return;
  }
  bool structural = strchr("{}[]\",: \n\t\r", c) != NULL;
  if (structural && copy->state == JSON_COPY_SCALAR) {
    copy->state = JSON_COPY_BETWEEN;
    end_value(copy);
  }
  if (!structural && copy->state == JSON_COPY_BETWEEN) {
    copy->state = JSON_COPY_SCALAR;
    begin_value(copy);
    if (!copy->muted)
      json_open_value(copy->writer);
  }
  if (!structural)
    put_byte(copy, c);
  else if (c == '"')
    begin_string(copy);
  else if (c == '{' || c == '[')
    begin_container(copy, c);
  else if (c == '}' || c == ']')
    end_container(copy);
}

bool json_copy_text(void *copy, const char *text, size_t size)
{
  for (size_t i = 0; i < size; ++i)
    take(copy, text[i]);
  return !ferror(((json_copy_t *)copy)->writer->out);
}
