/* Device results against the CPU reference. */
#ifndef TOOLS_DEMO_COMPARE_H
#define TOOLS_DEMO_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct comparison {
  size_t count, different;
  size_t first;   /* index of the first difference */
  double error;   /* the largest absolute error; infinite when a NaN stands against a number */
  char wrong[64]; /* the first difference: "0x00000001 instead of 0x00000002" */
} comparison_t;

/* Bit for bit: differing NaN payloads and signs of zero count as different. */
void compare_integers(const uint32_t *got, const uint32_t *expected, size_t count,
                      comparison_t *comparison);
void compare_floats(const float *got, const float *expected, size_t count,
                    comparison_t *comparison);

/* Prints the verdict line (`what` is counted: "numbers") and returns whether all are equal. */
bool compare_report(const comparison_t *comparison, const char *what);

#endif
