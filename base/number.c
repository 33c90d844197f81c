#include "base/number.h"

#include <ctype.h>
#include <string.h>

enum { MAX_DIGITS = 19 }; /* what always fits into 64 bits */

static bool is_digit(char c)
{
  return c >= '0' && c <= '9';
}

number_found_t number_count(const char *text, uint64_t *value)
{
  uint64_t sum = 0;
  *value = 0;
  if (!*text)
    return NUMBER_NONE;
  for (; *text; ++text) {
    if (!is_digit(*text))
      return NUMBER_NONE;
    if (__builtin_mul_overflow(sum, 10u, &sum) ||
        __builtin_add_overflow(sum, (uint64_t)(*text - '0'), &sum) || sum == UINT64_MAX)
      return NUMBER_TOO_LARGE;
  }
  *value = sum;
  return NUMBER_FOUND;
}

bool number_decimal(const char **text, number_decimal_t *number)
{
  *number = (number_decimal_t){0, 1};
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

number_found_t number_scale(number_decimal_t number, uint64_t factor, uint64_t divisor,
                            uint64_t *value)
{
  /* Below 2^64 * 2^64: exact. */
  unsigned __int128 product = (unsigned __int128)number.digits * factor / number.scale / divisor;
  *value = (uint64_t)product;
  return product < UINT64_MAX ? NUMBER_FOUND : NUMBER_TOO_LARGE;
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

number_found_t number_bytes(const char *text, uint64_t *value)
{
  number_decimal_t number;
  *value = 0;
  if (!number_decimal(&text, &number))
    return NUMBER_NONE;
  const char *suffix = text + strspn(text, " \t\n\v\f\r");
  /* Space only before a suffix: "4 G" but not "4 ". */
  const uint64_t factor = suffix == text || *suffix ? bytes_factor(suffix) : 0;
  return factor ? number_scale(number, factor, 1, value) : NUMBER_NONE;
}
