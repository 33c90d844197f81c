/* Comparing and telling. */
#include "tools/demo/compare.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tools/demo/report.h"

/* Counts a difference at `i`; the first one is to be described by the caller. */
static bool note_difference(comparison_t *comparison, size_t i, double error)
{
  if (isnan(error))
    error = INFINITY;
  if (error > comparison->error)
    comparison->error = error;
  if (comparison->different++)
    return false;
  comparison->first = i;
  return true;
}

void compare_integers(const uint32_t *got, const uint32_t *expected, size_t count,
                      comparison_t *comparison)
{
  *comparison = (comparison_t){.count = count};
  for (size_t i = 0; i < count; ++i) {
    if (got[i] != expected[i] &&
        note_difference(comparison, i, fabs((double)got[i] - (double)expected[i])))
      snprintf(comparison->wrong, sizeof(comparison->wrong), "0x%08x instead of 0x%08x", got[i],
               expected[i]);
  }
}

void compare_floats(const float *got, const float *expected, size_t count, comparison_t *comparison)
{
  *comparison = (comparison_t){.count = count};
  for (size_t i = 0; i < count; ++i) {
    if (memcmp(&got[i], &expected[i], sizeof(*got)) != 0 &&
        note_difference(comparison, i, fabs((double)got[i] - (double)expected[i])))
      snprintf(comparison->wrong, sizeof(comparison->wrong), "%.9g instead of %.9g", (double)got[i],
               (double)expected[i]);
  }
}

bool compare_report(const comparison_t *comparison, const char *what)
{
  report_count_t equal, count;
  report_line("verdict", "%s: %s of %s %s equal the CPU reference bit for bit",
              comparison->different ? "WRONG" : "CORRECT",
              report_count(comparison->count - comparison->different, &equal),
              report_count(comparison->count, &count), what);
  report_more("largest error %g", comparison->error);
  if (comparison->different)
    report_more("first at %s: %s", report_count(comparison->first, &count), comparison->wrong);
  return comparison->different == 0;
}
