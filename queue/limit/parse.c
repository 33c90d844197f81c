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
#include "base/number.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

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

static const char *skip_space(const char *text)
{
  while (isspace((unsigned char)*text))
    ++text;
  return text;
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

static rawhal_status_t answer(number_found_t found, const char *text, rawhal_limit_unit_t unit,
                              rawhal_error_t *error)
{
  return found == NUMBER_FOUND  ? RAWHAL_OK
         : found == NUMBER_NONE ? refuse(text, unit, error)
                                : too_large(text, error);
}

static rawhal_status_t parse_number(const char *text, rawhal_limit_unit_t unit, uint64_t whole,
                                    uint64_t *value, rawhal_error_t *error)
{
  number_decimal_t number;
  const char *rest = text;
  uint64_t factor = 0, divisor = 1;
  if (!number_decimal(&rest, &number))
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
    return answer(number_bytes(text, value), text, unit, error);
  } else if (unit == RAWHAL_UNIT_DURATION) {
    const unit_name_t *name = find_name(duration_names, COUNT(duration_names), skip_space(rest));
    factor = name ? name->factor : 0;
  }
  return answer(factor ? number_scale(number, factor, divisor, value) : NUMBER_NONE, text, unit,
                error);
}

rawhal_status_t limit_parse_count(const char *text, uint64_t *value, rawhal_error_t *error)
{
  return answer(number_count(text, value), text, RAWHAL_UNIT_COUNT, error);
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
