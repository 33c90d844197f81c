/* Sets of small numbers as text: hexadecimal digits, with or without 0x before them, of which bit i
 * of the whole stands for i. Internal. */
#ifndef RAWHAL_BASE_HEX_SET_H
#define RAWHAL_BASE_HEX_SET_H

#include <stdbool.h>

/* The digits; NULL: it is not such a text. */
const char *hex_set_digits(const char *text);
unsigned hex_set_digit(char digit);

/* Of texts that are: `both` has room for the shorter of them, and gets digits only, without zeros
 * before them but for "0". */
void hex_set_intersect(const char *a, const char *b, char *both);
bool hex_set_is_same(const char *a, const char *b);

#endif
