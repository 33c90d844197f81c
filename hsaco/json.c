#include "hsaco/json.h"

#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "hsaco/unpack.h"

#define MSGPACK_EMBED_STACK_SIZE 128
#include <msgpack/unpack.h>
#include <msgpack/unpack_define.h>

/* ---- Text ---- */

static void put(json_sink_t *sink, const char *text, size_t size)
{
  if (sink->used + size > sizeof(sink->buffer))
    json_flush(sink);
  if (size > sizeof(sink->buffer)) {
    sink->stopped = sink->stopped || !sink->write(sink->context, text, size);
    return;
  }
  memcpy(sink->buffer + sink->used, text, size);
  sink->used += size;
}

void json_flush(json_sink_t *sink)
{
  if (sink->used && !sink->stopped)
    sink->stopped = !sink->write(sink->context, sink->buffer, sink->used);
  sink->used = 0;
}

void json_text(json_sink_t *sink, const char *text)
{
  put(sink, text, strlen(text));
}

static void put_piece(void *sink, const char *piece, size_t size)
{
  put(sink, piece, size);
}

void json_quote(json_sink_t *sink, rawhal_string_t text)
{
  put(sink, "\"", 1);
  (void)escape(text, ESCAPE_JSON, SIZE_MAX, put_piece, sink);
  put(sink, "\"", 1);
}

/* ---- The parser: every token writes at once; a stack of open containers knows the commas ---- */

typedef enum frame_kind { FRAME_ARRAY, FRAME_KEY, FRAME_VALUE } frame_kind_t;

typedef struct writer {
  json_sink_t *sink;
  size_t depth;
  size_t muted; /* depth inside a container that stands as a key: its text is left out; else 0 */
  struct {
    uint32_t left; /* items, or pairs */
    uint8_t kind;  /* frame_kind_t: what comes next */
    bool first;
  } frames[UNPACK_MOST_NESTING];
} writer_t;

typedef struct writer *user_t;
typedef char value_t; /* tokens are written when they come: nothing to remember */

static void emit(writer_t *writer, const char *text)
{
  if (!writer->muted)
    json_text(writer->sink, text);
}

static bool is_key(const writer_t *writer)
{
  return writer->depth && writer->frames[writer->depth - 1].kind == FRAME_KEY;
}

/* Before a token: the comma, and the quote of a key that is not a string. */
static void before(writer_t *writer, bool string)
{
  if (!writer->depth)
    return;
  size_t top = writer->depth - 1;
  if (writer->frames[top].kind != FRAME_VALUE && !writer->frames[top].first)
    emit(writer, ",");
  writer->frames[top].first = false;
  if (is_key(writer) && !string)
    emit(writer, "\"");
}

/* After a whole value; closes what it completes. */
static void after(writer_t *writer, bool string)
{
  while (writer->depth) {
    size_t top = writer->depth - 1;
    if (is_key(writer)) {
      emit(writer, string ? ":" : "\":");
      writer->frames[top].kind = FRAME_VALUE;
      return;
    }
    bool map = writer->frames[top].kind == FRAME_VALUE;
    if (map)
      writer->frames[top].kind = FRAME_KEY;
    if (--writer->frames[top].left)
      return;
    emit(writer, map ? "}" : "]");
    --writer->depth;
    string = false;
    if (writer->depth < writer->muted)
      writer->muted = 0;
  }
}

static int scalar(writer_t *writer, const char *text)
{
  before(writer, false);
  emit(writer, text);
  after(writer, false);
  return 0;
}

static int on_string(writer_t *writer, rawhal_string_t text)
{
  /* AMDGPUUsage's keys lose their dot. */
  if (is_key(writer) && text.size > 1 && text.data[0] == '.')
    text = (rawhal_string_t){text.data + 1, text.size - 1};
  before(writer, true);
  if (!writer->muted)
    json_quote(writer->sink, text);
  after(writer, true);
  return 0;
}

static int on_unsigned(writer_t *writer, uint64_t number)
{
  char text[24];
  snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
  return scalar(writer, text);
}

static int on_signed(writer_t *writer, int64_t number)
{
  char text[24];
  snprintf(text, sizeof(text), "%lld", (long long)number);
  return scalar(writer, text);
}

static int on_real(writer_t *writer, double number)
{
  char text[40];
  snprintf(text, sizeof(text), "%.17g", number);
  return scalar(writer, __builtin_isfinite(number) ? text : "null"); /* JSON has no infinities */
}

static int on_container(writer_t *writer, unsigned count, frame_kind_t kind)
{
  if (writer->depth == UNPACK_MOST_NESTING)
    return -1;
  bool key = is_key(writer), map = kind == FRAME_KEY;
  before(writer, false);
  emit(writer, key ? "?" : map ? "{" : "["); /* JSON has no containers as keys */
  if (count == 0) {
    emit(writer, key ? "" : map ? "}" : "]");
    after(writer, false);
    return 0;
  }
  writer->frames[writer->depth].left = count;
  writer->frames[writer->depth].kind = (uint8_t)kind;
  writer->frames[writer->depth].first = true;
  ++writer->depth;
  if (key && !writer->muted)
    writer->muted = writer->depth;
  return 0;
}

#define TOKEN(name, parameter, action)                                                             \
  static int on_##name(user_t *user, parameter, value_t *value)                                    \
  {                                                                                                \
    *value = 0;                                                                                    \
    return action;                                                                                 \
  }

TOKEN(uint8, uint8_t number, on_unsigned(*user, number))
TOKEN(uint16, uint16_t number, on_unsigned(*user, number))
TOKEN(uint32, uint32_t number, on_unsigned(*user, number))
TOKEN(uint64, uint64_t number, on_unsigned(*user, number))
TOKEN(int8, int8_t number, on_signed(*user, number))
TOKEN(int16, int16_t number, on_signed(*user, number))
TOKEN(int32, int32_t number, on_signed(*user, number))
TOKEN(int64, int64_t number, on_signed(*user, number))
TOKEN(float, float number, on_real(*user, (double)number))
TOKEN(double, double number, on_real(*user, number))
TOKEN(array, unsigned count, on_container(*user, count, FRAME_ARRAY))
TOKEN(map, unsigned count, on_container(*user, count, FRAME_KEY))

static value_t on_root(user_t *user)
{
  (void)user;
  return 0;
}

static int on_nil(user_t *user, value_t *value)
{
  *value = 0;
  return scalar(*user, "null");
}

static int on_true(user_t *user, value_t *value)
{
  *value = 0;
  return scalar(*user, "true");
}

static int on_false(user_t *user, value_t *value)
{
  *value = 0;
  return scalar(*user, "false");
}

static int on_str(user_t *user, const char *base, const char *text, unsigned size, value_t *value)
{
  (void)base;
  *value = 0;
  return on_string(*user, (rawhal_string_t){size ? text : "", size});
}

/* Raw bytes become a string, like text that is not UTF-8. */
static int on_bin(user_t *user, const char *base, const char *data, unsigned size, value_t *value)
{
  return on_str(user, base, data, size, value);
}

static int on_ext(user_t *user, const char *base, const char *data, unsigned size, value_t *value)
{
  return on_str(user, base, data, size, value);
}

static int on_array_item(user_t *user, value_t *container, value_t item)
{
  (void)user, (void)container, (void)item;
  return 0;
}

static int on_map_item(user_t *user, value_t *container, value_t key, value_t value)
{
  (void)user, (void)container, (void)key, (void)value;
  return 0;
}

#define msgpack_unpack_struct(name)    struct parser##name
#define msgpack_unpack_func(ret, name) static __attribute__((unused)) ret parser##name
#define msgpack_unpack_callback(name)  on##name
#define msgpack_unpack_object          value_t
#define msgpack_unpack_user            user_t
#include <msgpack/unpack_template.h>

bool json_value(json_sink_t *sink, rawhal_bytes_t value)
{
  writer_t writer;
  writer.sink = sink;
  writer.depth = writer.muted = 0;
  struct parser_context context;
  size_t offset = 0;
  context.user = &writer;
  parser_init(&context);
  return parser_execute(&context, value.data, value.size, &offset) == 1;
}
