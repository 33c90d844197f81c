/* Floating-point numbers as exact values, for the reference engine. Internal to softgpu.
 *
 * Slow and plain on purpose: integers only, nothing of the host's arithmetic or its modes, one
 * rounding at the end. */
#ifndef SOFTGPU_ISA_BASE_REAL_H
#define SOFTGPU_ISA_BASE_REAL_H

#include <stdbool.h>
#include <stdint.h>

__extension__ typedef unsigned __int128 real_digits_t;

/* Zero is finite with digits 0. Bits lost below the digits have been or'ed into the last one, which
 * is at least two places below any that a format keeps. */
typedef struct real {
  enum { REAL_FINITE, REAL_INFINITE, REAL_NAN } kind;
  bool negative;
  int exponent; /* of the last digit, a power of two */
  real_digits_t digits;
} real_t;

typedef struct real_format {
  uint8_t exponent_bits, fraction_bits;
  uint16_t bias;
  uint8_t specials; /* real_specials_t */
} real_format_t;

typedef enum real_specials {
  REAL_IEEE,
  REAL_FNUZ,    /* the 8-bit formats of gfx942: no infinities, one NaN, no negative zero */
  REAL_FN,      /* OCP's E4M3: no infinities, NaNs are all ones */
  REAL_NUMBERS, /* OCP's formats of 6 and 4 bits: neither infinities nor NaNs */
} real_specials_t;

extern const real_format_t real_f16, real_bf16, real_f32, real_f64, real_fp8, real_bf8;
extern const real_format_t real_e4m3, real_e5m2, real_e2m3, real_e3m2, real_e2m1;

/* Encodings of the MODE register. */
enum { REAL_NEAREST, REAL_UP, REAL_DOWN, REAL_TO_ZERO };

real_t real_of(uint64_t bits, const real_format_t *format);
real_t real_of_integer(int64_t value);
real_t real_nan(void);
real_t real_infinity(bool negative);

/* Rounded once. A NaN is the positive quiet one without payload. Beyond the largest number of a
 * format without infinities: its NaN; of one without NaNs: that number, which its NaN is too. */
uint64_t real_bits(real_t x, const real_format_t *format, unsigned rounding);

/* The same with a random 32-bit fraction of the last place added before cutting off. */
uint64_t real_bits_stochastic(real_t x, const real_format_t *format, uint32_t noise);

/* The 64-bit integer after rounding, saturated to [low, high]; 0 for NaN. */
int64_t real_integer(real_t x, unsigned rounding, int64_t low, int64_t high);

/* Exact, for operands of at most 64 digits; rounding only decides the sign of 0. */
real_t real_product(real_t a, real_t b);
/* Exact but for digits that no rounding of the result can see. */
real_t real_sum(real_t a, real_t b, unsigned rounding);
real_t real_negated(real_t x);
real_t real_scaled(real_t x, int exponent);
/* To an integer, as a number; keeps the sign of zero. */
real_t real_rounded(real_t x, unsigned rounding);

/* -1, 0, 1; 2 when one is a NaN. */
int real_compare(real_t a, real_t b);
bool real_is_zero(real_t x);
/* Of a finite number other than zero: x = 2^n * [1, 2). */
int real_exponent(real_t x);

#endif
