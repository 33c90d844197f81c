/* Numbers as people write them. Internal. Strict: a whole text is understood, or it is none. */
#ifndef RAWHAL_BASE_NUMBER_H
#define RAWHAL_BASE_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

typedef enum number_found {
  NUMBER_FOUND = 0,
  NUMBER_NONE = 1,
  NUMBER_TOO_LARGE = 2, /* UINT64_MAX is: it means something else everywhere */
} number_found_t;

/* Digits only, of base 10. */
number_found_t number_count(const char *text, uint64_t *value);
/* [0-9]+(\.[0-9]+)?(\s*[KMGT]i?B?)?, in any case; K M G T are powers of 1024. */
number_found_t number_bytes(const char *text, uint64_t *value);

/* A decimal number, exactly: digits / scale. */
typedef struct number_decimal {
  uint64_t digits, scale;
} number_decimal_t;
/* Reads one and moves on. False: there is none, or it has too many digits. */
bool number_decimal(const char **text, number_decimal_t *number);
/* number * factor / divisor, rounded down. */
number_found_t number_scale(number_decimal_t number, uint64_t factor, uint64_t divisor,
                            uint64_t *value);

#endif
