/* How values are written, in our variables and in those of other limiters; any case:
 *   bytes     [0-9]+(\.[0-9]+)?(\s*[KMGT]i?B?)?   K M G T are powers of 1024
 *             [0-9]+(\.[0-9]+)?%                  of the device's memory
 *   share     [0-9]+(\.[0-9]+)?%
 *   duration  [0-9]+(\.[0-9]+)?\s*(ns|us|ms|s)
 *   count     [0-9]+
 *   charging  fair|wall
 *   priority  low|normal|high
 * bytes, share and count may also be "unlimited". */
#include "queue/limit/parse.h"

#include "base/error.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* A decimal number, exactly: digits / scale. */
typedef struct decimal {
  uint64_t digits, scale;
} decimal_t;

enum { MAX_DIGITS = 19 }; /* what always fits into 64 bits */

typedef struct unit_name {
  const char *name;
  uint64_t factor;
} unit_name_t;

static const unit_name_t duration_names[] = {
    {"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
static const unit_name_t charging_names[] = {{"fair", RAWHAL_CHARGING_FAIR},
                                             {"wall", RAWHAL_CHARGING_WALL}};
static const unit_name_t priority_names[] = {{"low", RAWHAL_PRIORITY_LOW},
                                             {"normal", RAWHAL_PRIORITY_NORMAL},
                                             {"high", RAWHAL_PRIORITY_HIGH}};

#define COUNT(table) (sizeof(table) / sizeof(*(table)))

static const char *const expected[] = {
    [RAWHAL_UNIT_BYTES] = "bytes such as 512m, 4Gi, 4GB, 1.5G or 50%, or unlimited",
    [RAWHAL_UNIT_SHARE] = "a percentage such as 30% or 12.5%, or unlimited",
    [RAWHAL_UNIT_DURATION] = "a duration such as 20ms, 500us or 1s",
    [RAWHAL_UNIT_COUNT] = "a number such as 1000, or unlimited",
    [RAWHAL_UNIT_CHARGING] = "fair or wall",
    [RAWHAL_UNIT_PRIORITY] = "low, normal or high",
};

static bool is_digit(char c)
{
  return c >= '0' && c <= '9';
}

/* Reads a decimal number and moves on. False: there is none, or it has too many digits. */
static bool read_decimal(const char **text, decimal_t *number)
{
  *number = (decimal_t){0, 1};
  const char *at = *text;
  int digits = 0;
  bool fraction = false;
  if (!is_digit(*at))
    return false;
  for (;; ++at) {
    if (*at == '.' && !fraction && is_digit(at[1])) {
      fraction = true;
      continue;
    }
    if (!is_digit(*at))
      break;
    if (number->digits || *at != '0')
      ++digits;
    if (digits > MAX_DIGITS - (fraction ? 1 : 0) || number->scale > UINT64_MAX / 100)
      return false;
    number->digits = number->digits * 10 + (uint64_t)(*at - '0');
    if (fraction)
      number->scale *= 10;
  }
  *text = at;
  return true;
}

/* number * factor / divisor, rounded down. False beyond 64 bits. */
static bool scale(decimal_t number, uint64_t factor, uint64_t divisor, uint64_t *value)
{
  /* Below 2^64 * 2^64: exact. */
  unsigned __int128 product = (unsigned __int128)number.digits * factor / number.scale / divisor;
  *value = (uint64_t)product;
  return product < RAWHAL_UNLIMITED;
}

static const char *skip_space(const char *text)
{
  while (isspace((unsigned char)*text))
    ++text;
  return text;
}

/* The factor of "", "K", "Ki", "KB", "KiB" and the like; 0 when it is something else. */
static uint64_t bytes_factor(const char *suffix)
{
  static const char letters[] = "KMGT";
  if (!*suffix)
    return 1;
  const char *letter = strchr(letters, toupper((unsigned char)*suffix));
  if (!letter)
    return 0;
  ++suffix;
  if (*suffix == 'i' || *suffix == 'I')
    ++suffix;
  if (*suffix == 'b' || *suffix == 'B')
    ++suffix;
  return *suffix ? 0 : 1024ull << 10 * (letter - letters);
}

static const unit_name_t *find_name(const unit_name_t *names, size_t count, const char *text)
{
  for (size_t i = 0; i < count; ++i)
    if (!strcasecmp(names[i].name, text))
      return &names[i];
  return NULL;
}

static rawhal_status_t refuse(const char *text, rawhal_limit_unit_t unit, rawhal_error_t *error)
{
  return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "'%.100s' is not understood; expected %s",
                     text, expected[unit]);
}

static rawhal_status_t too_large(const char *text, rawhal_error_t *error)
{
  return rawhal_fail(error, RAWHAL_OUT_OF_RANGE, "'%.100s' does not fit into 64 bits", text);
}

static rawhal_status_t parse_name(const char *text, rawhal_limit_unit_t unit, uint64_t *value,
                                  rawhal_error_t *error)
{
  const unit_name_t *found = unit == RAWHAL_UNIT_CHARGING
                                 ? find_name(charging_names, COUNT(charging_names), text)
                                 : find_name(priority_names, COUNT(priority_names), text);
  if (!found)
    return refuse(text, unit, error);
  *value = found->factor;
  return RAWHAL_OK;
}

static rawhal_status_t parse_number(const char *text, rawhal_limit_unit_t unit, uint64_t whole,
                                    uint64_t *value, rawhal_error_t *error)
{
  decimal_t number;
  const char *rest = text;
  uint64_t factor = 0, divisor = 1;
  if (!read_decimal(&rest, &number))
    return refuse(text, unit, error);
  bool percent = !strcmp(rest, "%");
  if (percent && unit == RAWHAL_UNIT_BYTES) {
    if (!whole)
      return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                         "'%.100s' is a part of a device whose size is not known", text);
    factor = whole;
    divisor = 100;
  } else if (percent && unit == RAWHAL_UNIT_SHARE) {
    factor = 10000; /* parts per million */
  } else if (unit == RAWHAL_UNIT_BYTES) {
    /* Space only before a suffix: "4 G" but not "4 ". */
    const char *suffix = skip_space(rest);
    factor = suffix == rest || *suffix ? bytes_factor(suffix) : 0;
  } else if (unit == RAWHAL_UNIT_DURATION) {
    const unit_name_t *name = find_name(duration_names, COUNT(duration_names), skip_space(rest));
    factor = name ? name->factor : 0;
  }
  if (!factor)
    return refuse(text, unit, error);
  return scale(number, factor, divisor, value) ? RAWHAL_OK : too_large(text, error);
}

rawhal_status_t limit_parse_count(const char *text, uint64_t *value, rawhal_error_t *error)
{
  *value = 0;
  uint64_t sum = 0;
  if (!*text)
    return refuse(text, RAWHAL_UNIT_COUNT, error);
  for (const char *at = text; *at; ++at) {
    if (!is_digit(*at))
      return refuse(text, RAWHAL_UNIT_COUNT, error);
    if (__builtin_mul_overflow(sum, 10u, &sum) ||
        __builtin_add_overflow(sum, (uint64_t)(*at - '0'), &sum) || sum == RAWHAL_UNLIMITED)
      return too_large(text, error);
  }
  *value = sum;
  return RAWHAL_OK;
}

rawhal_status_t limit_parse(const char *text, rawhal_limit_unit_t unit, uint64_t whole,
                            uint64_t *value, rawhal_error_t *error)
{
  *value = 0;
  if (unit == RAWHAL_UNIT_CHARGING || unit == RAWHAL_UNIT_PRIORITY)
    return parse_name(text, unit, value, error);
  if (unit != RAWHAL_UNIT_DURATION && !strcasecmp(text, "unlimited")) {
    *value = RAWHAL_UNLIMITED;
    return RAWHAL_OK;
  }
  if (unit == RAWHAL_UNIT_COUNT)
    return limit_parse_count(text, value, error);
  return parse_number(text, unit, whole, value, error);
}

/* ---- Back to text ---- */

/* The largest unit that divides the value, so that nothing is lost. */
static void format_bytes(uint64_t value, char *text, size_t size)
{
  static const char *const suffixes[] = {"", "KiB", "MiB", "GiB", "TiB"};
  size_t i = 0;
  while (i + 1 < COUNT(suffixes) && value && value % 1024 == 0) {
    value /= 1024;
    ++i;
  }
  snprintf(text, size, "%" PRIu64 "%s", value, suffixes[i]);
}

static void format_share(uint64_t ppm, char *text, size_t size)
{
  char fraction[8];
  snprintf(fraction, sizeof(fraction), ".%04" PRIu64, ppm % 10000);
  for (size_t end = strlen(fraction); end && strchr(".0", fraction[end - 1]); --end)
    fraction[end - 1] = '\0';
  snprintf(text, size, "%" PRIu64 "%s%%", ppm / 10000, fraction);
}

static void format_duration(uint64_t value, char *text, size_t size)
{
  size_t i = 0;
  while (i + 1 < COUNT(duration_names) && value && value % duration_names[i + 1].factor == 0)
    ++i;
  snprintf(text, size, "%" PRIu64 "%s", value / duration_names[i].factor, duration_names[i].name);
}

static void format_name(const unit_name_t *names, size_t count, uint64_t value, char *text,
                        size_t size)
{
  snprintf(text, size, "%s", value < count ? names[value].name : "?");
}

void rawhal_limit_format(rawhal_limit_t limit, uint64_t value, char *text, size_t size)
{
  const rawhal_limit_info_t *info = rawhal_limit_info(limit);
  if (!text || !size)
    return;
  if (!info) {
    *text = '\0';
    return;
  }
  if (value == RAWHAL_UNLIMITED) {
    snprintf(text, size, "unlimited");
    return;
  }
  switch (info->unit) {
  case RAWHAL_UNIT_BYTES:
    format_bytes(value, text, size);
    break;
  case RAWHAL_UNIT_SHARE:
    format_share(value, text, size);
    break;
  case RAWHAL_UNIT_DURATION:
    format_duration(value, text, size);
    break;
  case RAWHAL_UNIT_CHARGING:
    format_name(charging_names, COUNT(charging_names), value, text, size);
    break;
  case RAWHAL_UNIT_PRIORITY:
    format_name(priority_names, COUNT(priority_names), value, text, size);
    break;
  case RAWHAL_UNIT_COUNT:
    snprintf(text, size, "%" PRIu64, value);
    break;
  }
}
