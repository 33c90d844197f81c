/* ARG words: "u32:5", "f32:1.5", "ptr:zero:4096", "out:result.bin:4096", "blob:args.bin" ... */
#include "tools/run/argument.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/shared/file.h"
#include "tools/shared/tool.h"

#define refuse(error, ...) tool_refuse(error, RAWHAL_INVALID_ARGUMENT, __VA_ARGS__)

/* A byte count: decimal or 0x..., with an optional K, M or G. */
static bool parse_size(const char *text, size_t *size)
{
  char *end;
  errno = 0;
  unsigned long long value = strtoull(text, &end, 0);
  static const char suffixes[] = "KMG";
  const char *suffix = *end ? strchr(suffixes, *end) : NULL;
  unsigned shift = suffix ? 10 * (unsigned)(suffix - suffixes + 1) : 0;
  if (suffix)
    ++end;
  if (errno || end == text || *end || strchr(text, '-') || value > (1ull << 40) >> shift)
    return false;
  *size = (size_t)value << shift;
  return true;
}

static bool read_file(const char *path, run_argument_t *argument, rawhal_error_t *error)
{
  size_t most = argument->kind == RUN_BUFFER ? TOOL_FILE_BYTES : TOOL_BLOB_BYTES;
  argument->unread = !tool_read_file(path, most, &argument->data, &argument->size, error);
  return !argument->unread;
}

/* ---- One function for each form. `text` is what follows the first colon. ---- */

typedef bool (*parse_fn)(const char *text, unsigned bits, run_argument_t *argument,
                         rawhal_error_t *error);

static bool parse_unsigned(const char *text, unsigned bits, run_argument_t *argument,
                           rawhal_error_t *error)
{
  char *end;
  errno = 0;
  uint64_t value = strtoull(text, &end, 0);
  if (errno || end == text || *end || strchr(text, '-') || (bits < 64 && value >> bits))
    return refuse(error, "'%s' is not an unsigned integer of %u bits", text, bits);
  *argument = (run_argument_t){.kind = RUN_SCALAR, .value = value, .size = bits / 8};
  return true;
}

static bool parse_signed(const char *text, unsigned bits, run_argument_t *argument,
                         rawhal_error_t *error)
{
  char *end;
  errno = 0;
  int64_t value = strtoll(text, &end, 0);
  int64_t top = (int64_t)(UINT64_MAX >> (65 - bits));
  if (errno || end == text || *end || value > top || value < -top - 1)
    return refuse(error, "'%s' is not a signed integer of %u bits", text, bits);
  *argument = (run_argument_t){.kind = RUN_SCALAR, .value = (uint64_t)value, .size = bits / 8};
  return true;
}

static bool parse_float(const char *text, unsigned bits, run_argument_t *argument,
                        rawhal_error_t *error)
{
  char *end;
  bool beyond; /* what is too small becomes 0 or the nearest */
  *argument = (run_argument_t){.kind = RUN_SCALAR, .size = bits / 8};
  errno = 0;
  if (bits == 32) {
    float value = strtof(text, &end);
    memcpy(&argument->value, &value, sizeof(value));
    beyond = errno == ERANGE && isinf(value);
  } else {
    double value = strtod(text, &end);
    memcpy(&argument->value, &value, sizeof(value));
    beyond = errno == ERANGE && isinf(value);
  }
  if (end == text || *end)
    return refuse(error, "'%s' is not a number", text);
  return !beyond || refuse(error, "'%s' does not fit a number of %u bits", text, bits);
}

static bool parse_hex(const char *text, unsigned bits, run_argument_t *argument,
                      rawhal_error_t *error)
{
  (void)bits;
  size_t digits = strlen(text);
  *argument = (run_argument_t){.kind = RUN_BYTES, .size = digits / 2};
  if (!digits || digits % 2 || strspn(text, "0123456789abcdefABCDEF") != digits)
    return refuse(error, "'%s' is not a sequence of bytes of two hexadecimal digits", text);
  argument->data = malloc(argument->size);
  if (!argument->data)
    return refuse(error, "out of memory");
  for (size_t i = 0; i < argument->size; ++i) {
    char pair[3] = {text[2 * i], text[2 * i + 1], 0};
    argument->data[i] = (unsigned char)strtoul(pair, NULL, 16);
  }
  return true;
}

static bool parse_pointer(const char *text, unsigned bits, run_argument_t *argument,
                          rawhal_error_t *error)
{
  (void)bits;
  *argument = (run_argument_t){.kind = RUN_BUFFER};
  if (!strcmp(text, "null")) {
    argument->kind = RUN_NULL;
    return true;
  }
  if (strncmp(text, "zero:", 5))
    return read_file(text, argument, error);
  return (parse_size(text + 5, &argument->size) && argument->size) ||
         refuse(error, "'%s' is not a size of at least one byte", text + 5);
}

/* "PATH:SIZE" (zeros in) or, for inout, "IN:OUT": split at the last colon, as paths may hold
 * colons. */
static bool parse_out(const char *text, unsigned bits, run_argument_t *argument,
                      rawhal_error_t *error)
{
  bool has_input = bits == 1;
  *argument = (run_argument_t){.kind = RUN_BUFFER};
  const char *colon = strrchr(text, ':');
  if (!colon || colon == text || !colon[1])
    return refuse(error, has_input ? "expected IN:OUT, got '%s'" : "expected FILE:SIZE, got '%s'",
                  text);
  argument->out_copy = strdup(text);
  if (!argument->out_copy)
    return refuse(error, "out of memory");
  char *first = argument->out_copy, *second = first + (colon - text) + 1;
  second[-1] = 0;
  argument->out_path = has_input ? second : first;
  if (has_input)
    return read_file(first, argument, error);
  return (parse_size(second, &argument->size) && argument->size) ||
         refuse(error, "'%s' is not a size of at least one byte", second);
}

static bool parse_lds(const char *text, unsigned bits, run_argument_t *argument,
                      rawhal_error_t *error)
{
  (void)bits;
  *argument = (run_argument_t){.kind = RUN_LDS};
  return (parse_size(text, &argument->size) && argument->size <= UINT32_MAX) ||
         refuse(error, "'%s' is not a size in bytes", text);
}

static bool parse_blob(const char *text, unsigned bits, run_argument_t *argument,
                       rawhal_error_t *error)
{
  *argument = (run_argument_t){.kind = bits ? RUN_BYTES : RUN_BLOB};
  return read_file(text, argument, error);
}

static const struct form {
  const char *prefix;
  parse_fn parse;
  unsigned bits; /* width of a number; selects a variant of the others */
} forms[] = {
    {"u8", parse_unsigned, 8},   {"u16", parse_unsigned, 16}, {"u32", parse_unsigned, 32},
    {"u64", parse_unsigned, 64}, {"i8", parse_signed, 8},     {"i16", parse_signed, 16},
    {"i32", parse_signed, 32},   {"i64", parse_signed, 64},   {"f32", parse_float, 32},
    {"f64", parse_float, 64},    {"hex", parse_hex, 0},       {"bytes", parse_blob, 1},
    {"ptr", parse_pointer, 0},   {"out", parse_out, 0},       {"inout", parse_out, 1},
    {"lds", parse_lds, 0},       {"blob", parse_blob, 0},
};

bool run_argument_parse(const char *word, run_argument_t *argument, rawhal_error_t *error)
{
  *argument = (run_argument_t){0};
  const char *colon = strchr(word, ':');
  size_t length = colon ? (size_t)(colon - word) : 0;
  for (size_t i = 0; colon && i < sizeof(forms) / sizeof(*forms); ++i) {
    if (strlen(forms[i].prefix) != length || memcmp(forms[i].prefix, word, length))
      continue;
    bool done = forms[i].parse(colon + 1, forms[i].bits, argument, error);
    argument->word = word;
    return done;
  }
  return refuse(error, "'%s' is not an ARG: expected TYPE:VALUE such as u32:5 or ptr:in.bin", word);
}

void run_argument_release(run_argument_t *argument)
{
  free(argument->data);
  free(argument->out_copy);
  *argument = (run_argument_t){0};
}
