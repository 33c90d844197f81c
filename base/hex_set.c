#include "base/hex_set.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static const char *without_prefix(const char *text)
{
  return text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? text + 2 : text;
}

const char *hex_set_digits(const char *text)
{
  const char *digits = without_prefix(text);
  const size_t count = strspn(digits, "0123456789abcdefABCDEF");
  return count && !digits[count] ? digits : NULL;
}

unsigned hex_set_digit(char digit)
{
  return (unsigned)(isdigit((unsigned char)digit) ? digit - '0'
                                                  : tolower((unsigned char)digit) - 'a' + 10);
}

void hex_set_intersect(const char *a, const char *b, char *both)
{
  a = without_prefix(a);
  b = without_prefix(b);
  size_t a_size = strlen(a), b_size = strlen(b), used = 0;
  for (size_t left = a_size < b_size ? a_size : b_size; left; --left) {
    unsigned value = hex_set_digit(a[a_size - left]) & hex_set_digit(b[b_size - left]);
    if (value || used || left == 1)
      both[used++] = "0123456789abcdef"[value];
  }
  both[used] = '\0';
}

bool hex_set_is_same(const char *a, const char *b)
{
  for (a = without_prefix(a); *a == '0' && a[1];)
    ++a;
  for (b = without_prefix(b); *b == '0' && b[1];)
    ++b;
  return !strcasecmp(a, b);
}
