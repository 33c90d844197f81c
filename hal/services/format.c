#include "hal/services/format.h"

#include <stdio.h>
#include <string.h>

typedef enum conversion_kind {
  CONVERT_NOTHING, /* not a conversion */
  CONVERT_SIGNED,
  CONVERT_UNSIGNED,
  CONVERT_CHARACTER,
  CONVERT_FLOAT,
  CONVERT_STRING,
  CONVERT_POINTER,
  CONVERT_COUNT, /* %n, which is not written to */
} conversion_kind_t;

static const uint8_t conversions[128] = {
    ['d'] = CONVERT_SIGNED,    ['i'] = CONVERT_SIGNED,   ['o'] = CONVERT_UNSIGNED,
    ['u'] = CONVERT_UNSIGNED,  ['x'] = CONVERT_UNSIGNED, ['X'] = CONVERT_UNSIGNED,
    ['c'] = CONVERT_CHARACTER, ['s'] = CONVERT_STRING,   ['p'] = CONVERT_POINTER,
    ['n'] = CONVERT_COUNT,     ['f'] = CONVERT_FLOAT,    ['F'] = CONVERT_FLOAT,
    ['e'] = CONVERT_FLOAT,     ['E'] = CONVERT_FLOAT,    ['g'] = CONVERT_FLOAT,
    ['G'] = CONVERT_FLOAT,     ['a'] = CONVERT_FLOAT,    ['A'] = CONVERT_FLOAT,
};

/* Longer ones first. "hl" is OpenCL C's, of vectors of 32-bit elements. */
static const struct {
  char name[3];
  uint8_t bytes;
} lengths[] = {{"hh", 1}, {"hl", 4}, {"h", 2}, {"ll", 8}, {"l", 8},
               {"j", 8},  {"z", 8},  {"t", 8}, {"L", 8}};

static const char flag_names[] = "-+ #0";
enum { FLAG_LEFT = 1 << 0, FLAGS = 5, ANY = -1, MAX_FIELD = SERVICES_TEXT_BYTES };

typedef struct directive {
  unsigned flags;       /* bit i: flag_names[i] */
  int width, precision; /* ANY: not given */
  bool width_argument, precision_argument;
  unsigned elements; /* of a vector; 0: a scalar */
  unsigned bytes;    /* of an integer, by its length modifier; 0: none was given */
  conversion_kind_t kind;
  char letter;
} directive_t;

/* ---- Reading a directive ---- */

/* A number that is too large for any text is as good as any other. */
static const char *read_number(const char *at, const char *end, int *number)
{
  *number = 0;
  for (; at < end && *at >= '0' && *at <= '9'; ++at)
    if (*number <= MAX_FIELD)
      *number = *number * 10 + (*at - '0');
  if (*number > MAX_FIELD)
    *number = MAX_FIELD;
  return at;
}

static const char *read_flags(const char *at, const char *end, unsigned *flags)
{
  for (; at < end; ++at) {
    const char *flag = *at ? strchr(flag_names, *at) : NULL;
    if (!flag)
      break;
    *flags |= 1u << (flag - flag_names);
  }
  return at;
}

static const char *read_field(const char *at, const char *end, int *number, bool *argument)
{
  if (at < end && *at == '*') {
    *argument = true;
    return at + 1;
  }
  return read_number(at, end, number);
}

static const char *read_length(const char *at, const char *end, unsigned *bytes)
{
  for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); ++i) {
    size_t size = strlen(lengths[i].name);
    if ((size_t)(end - at) >= size && memcmp(at, lengths[i].name, size) == 0) {
      *bytes = lengths[i].bytes;
      return at + size;
    }
  }
  return at;
}

static bool vector_size(int elements)
{
  return elements == 2 || elements == 3 || elements == 4 || elements == 8 || elements == 16;
}

/* What follows a '%'. NULL: no directive. */
static const char *read_directive(const char *at, const char *end, bool opencl,
                                  directive_t *directive)
{
  *directive = (directive_t){.width = ANY, .precision = ANY};
  at = read_flags(at, end, &directive->flags);
  if (at < end && (*at == '*' || (*at >= '0' && *at <= '9')))
    at = read_field(at, end, &directive->width, &directive->width_argument);
  if (at < end && *at == '.')
    at = read_field(at + 1, end, &directive->precision, &directive->precision_argument);
  if (opencl && at < end && *at == 'v') {
    int elements = 0;
    at = read_number(at + 1, end, &elements);
    if (!vector_size(elements))
      return NULL;
    directive->elements = (unsigned)elements;
  }
  at = read_length(at, end, &directive->bytes);
  if (at == end || (unsigned char)*at >= sizeof(conversions))
    return NULL;
  directive->letter = *at;
  directive->kind = (conversion_kind_t)conversions[(unsigned char)*at];
  /* OpenCL C has no '*', and the compiler takes no argument for it, nor for %n. */
  bool taken = directive->width_argument || directive->precision_argument;
  return directive->kind == CONVERT_NOTHING || (opencl && taken) ? NULL : at + 1;
}

/* ---- Arguments ---- */

uint32_t format_take_size(rawhal_string_t *sizes)
{
  uint64_t number = 0;
  size_t i = 0;
  for (; i < sizes->size && sizes->data[i] >= '0' && sizes->data[i] <= '9'; ++i)
    if (number < UINT32_MAX)
      number = number * 10 + (uint64_t)(sizes->data[i] - '0');
  if (i == 0 || i == sizes->size || sizes->data[i] != ':' || number >= UINT32_MAX)
    return UINT32_MAX;
  sizes->data += i + 1;
  sizes->size -= i + 1;
  return (uint32_t)number;
}

/* The next argument and its bytes; NULL where there is none. */
static const unsigned char *take(printf_arguments_t *arguments, size_t *size)
{
  size_t left = (size_t)(arguments->end - arguments->at);
  *size = 8;
  size_t padded = 8;
  if (arguments->opencl) {
    if (arguments->count == 0)
      return NULL;
    --arguments->count;
    *size = format_take_size(&arguments->sizes);
    padded = (*size + 3) & ~(size_t)3;
  }
  if (padded > left)
    return NULL;
  const unsigned char *taken = arguments->at;
  arguments->at += padded;
  return taken;
}

/* A string of HIP's. Without a NUL it ends with the arguments. */
static rawhal_string_t take_string(printf_arguments_t *arguments)
{
  size_t left = (size_t)(arguments->end - arguments->at);
  const char *data = (const char *)arguments->at;
  size_t size = strnlen(data, left), padded = (size + 8) & ~(size_t)7;
  arguments->at += padded < left ? padded : left;
  return (rawhal_string_t){data, size};
}

static uint64_t load(const unsigned char *bytes, size_t size)
{
  uint64_t value = 0;
  memcpy(&value, bytes, size);
  return value;
}

/* A width or precision that is an argument. False: there is none. */
static bool take_field(printf_arguments_t *arguments, int *field)
{
  size_t size;
  const unsigned char *bytes = take(arguments, &size);
  if (!bytes)
    return false;
  int32_t value = (int32_t)load(bytes, 4);
  *field = value > MAX_FIELD ? MAX_FIELD : value < -MAX_FIELD ? -MAX_FIELD : value;
  return true;
}

static bool take_fields(printf_arguments_t *arguments, directive_t *directive)
{
  if (directive->width_argument && !take_field(arguments, &directive->width))
    return false;
  if (directive->width_argument && directive->width < 0) {
    directive->flags |= FLAG_LEFT;
    directive->width = -directive->width;
  }
  if (directive->precision_argument && !take_field(arguments, &directive->precision))
    return false;
  if (directive->precision < 0)
    directive->precision = ANY;
  return true;
}

/* ---- Converting ---- */

enum { SPEC_BYTES = 16 };

/* "%-0*.*lld": the flags that were given, and always a width and a precision. */
static void spec_of(const directive_t *directive, const char *tail, char spec[SPEC_BYTES])
{
  size_t size = 0;
  spec[size++] = '%';
  for (unsigned i = 0; i < FLAGS; ++i)
    if (directive->flags & 1u << i)
      spec[size++] = flag_names[i];
  snprintf(spec + size, SPEC_BYTES - size, "*.*%s%c", tail, directive->letter);
}

static int width_of(const directive_t *directive)
{
  return directive->width == ANY ? 0 : directive->width;
}

/* Where snprintf() writes, and what it would have written. */
static void took(services_text_t *text, int written)
{
  size_t room = text->capacity - text->size;
  if (written >= 0 && (size_t)written < room) {
    text->size += (size_t)written;
  } else {
    text->size = written < 0 ? text->size : text->capacity - 1;
    text->cut = true;
  }
}

static void put_bytes(services_text_t *text, const directive_t *directive, const char *data,
                      size_t size)
{
  size_t width = (size_t)width_of(directive), pad = width > size ? width - size : 0;
  bool left = directive->flags & FLAG_LEFT;
  text_pad(text, ' ', left ? 0 : pad);
  text_append(text, data, size);
  text_pad(text, ' ', left ? pad : 0);
}

static void put_string(services_text_t *text, const directive_t *directive, rawhal_string_t string)
{
  size_t size = strnlen(string.data, string.size);
  if (directive->precision != ANY && (size_t)directive->precision < size)
    size = (size_t)directive->precision;
  put_bytes(text, directive, string.data, size);
}

static float half_to_float(uint16_t half)
{
  enum { EXPONENT = 31, BIAS_CHANGE = 127 - 15 };
  uint32_t sign = (uint32_t)(half >> 15) << 31, exponent = half >> 10 & EXPONENT;
  uint32_t fraction = half & 0x3ff, bits;
  float value;
  if (exponent == 0) { /* zeros and subnormals: fraction / 2^24 */
    value = (float)fraction * 0x1p-24f;
    return sign ? -value : value;
  }
  bits = sign | (exponent == EXPONENT ? 255u : exponent + BIAS_CHANGE) << 23 | fraction << 13;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

static bool put_float(services_text_t *text, const directive_t *directive,
                      const unsigned char *bytes, size_t size)
{
  double value;
  float single;
  if (size == 8)
    memcpy(&value, bytes, 8);
  else if (size == 4)
    memcpy(&single, bytes, 4), value = (double)single;
  else if (size == 2)
    value = (double)half_to_float((uint16_t)load(bytes, 2));
  else
    return false;
  char spec[SPEC_BYTES];
  spec_of(directive, "", spec);
  took(text, snprintf(text->data + text->size, text->capacity - text->size, spec,
                      width_of(directive), directive->precision, value));
  return true;
}

static bool put_integer(services_text_t *text, const directive_t *directive,
                        const unsigned char *bytes, size_t size)
{
  if (directive->bytes && directive->bytes < size)
    size = directive->bytes;
  if (size != 1 && size != 2 && size != 4 && size != 8)
    return false;
  uint64_t value = load(bytes, size);
  unsigned unused = (unsigned)(64 - 8 * size);
  if (directive->kind == CONVERT_SIGNED)
    value = (uint64_t)((int64_t)(value << unused) >> unused);
  char spec[SPEC_BYTES];
  spec_of(directive, "ll", spec);
  took(text, snprintf(text->data + text->size, text->capacity - text->size, spec,
                      width_of(directive), directive->precision, (unsigned long long)value));
  return true;
}

static void put_pointer(services_text_t *text, const directive_t *directive, uint64_t value)
{
  char digits[32];
  int size =
      snprintf(digits, sizeof(digits), value ? "0x%llx" : "(nil)", (unsigned long long)value);
  put_bytes(text, directive, digits, (size_t)size);
}

/* One scalar. False: no value of this kind has the argument's size. */
static bool put_scalar(services_text_t *text, const directive_t *directive,
                       const unsigned char *bytes, size_t size)
{
  switch (directive->kind) {
  case CONVERT_SIGNED:
  case CONVERT_UNSIGNED:
    return put_integer(text, directive, bytes, size);
  case CONVERT_FLOAT:
    return put_float(text, directive, bytes, size);
  case CONVERT_CHARACTER:
    put_bytes(text, directive, (const char *)bytes, size ? 1 : 0);
    return true;
  case CONVERT_POINTER:
    put_pointer(text, directive, load(bytes, size < 8 ? size : 8));
    return true;
  case CONVERT_STRING:
    put_string(text, directive, (rawhal_string_t){(const char *)bytes, size});
    return true;
  default:
    return true;
  }
}

/* A vector of three has room for four. */
static bool put_vector(services_text_t *text, const directive_t *directive,
                       const unsigned char *bytes, size_t size)
{
  size_t element = size / (directive->elements == 3 ? 4 : directive->elements);
  if (directive->kind != CONVERT_FLOAT && directive->kind != CONVERT_SIGNED &&
      directive->kind != CONVERT_UNSIGNED)
    return false;
  for (unsigned i = 0; i < directive->elements; ++i) {
    text_append(text, ",", i ? 1 : 0);
    if (!put_scalar(text, directive, bytes + i * element, element))
      return false;
  }
  return true;
}

typedef enum put_result { PUT_DONE, PUT_TEXT, PUT_END } put_result_t;

static put_result_t put(services_text_t *text, directive_t *directive,
                        printf_arguments_t *arguments)
{
  if (directive->kind == CONVERT_COUNT && arguments->opencl)
    return PUT_DONE;
  if (!take_fields(arguments, directive))
    return PUT_END;
  if (directive->kind == CONVERT_STRING && !arguments->opencl) {
    if (arguments->at == arguments->end)
      return PUT_END;
    put_string(text, directive, take_string(arguments));
    return PUT_DONE;
  }
  size_t size;
  const unsigned char *bytes = take(arguments, &size);
  if (!bytes)
    return PUT_END;
  if (!arguments->opencl && directive->bytes == 0)
    directive->bytes = 4; /* of an int: the other four are of no argument */
  bool fits = directive->elements ? put_vector(text, directive, bytes, size)
                                  : put_scalar(text, directive, bytes, size);
  return fits ? PUT_DONE : PUT_TEXT;
}

void format_text(services_text_t *text, rawhal_string_t format, printf_arguments_t *arguments)
{
  const char *at = format.data, *end = format.data + format.size;
  while (at < end && !text->cut) {
    const char *percent = memchr(at, '%', (size_t)(end - at));
    text_append(text, at, (size_t)((percent ? percent : end) - at));
    if (!percent)
      return;
    directive_t directive;
    put_result_t result = PUT_DONE;
    const char *next = percent + 1;
    if (next < end && *next == '%')
      text_append(text, next++, 1);
    else if (!(next = read_directive(next, end, arguments->opencl, &directive)))
      next = percent + 1, result = PUT_TEXT;
    else
      result = put(text, &directive, arguments);
    if (result == PUT_TEXT)
      text_append(text, percent, (size_t)(next - percent));
    if (result == PUT_END)
      return;
    at = next;
  }
}
