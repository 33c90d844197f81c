#include "base/edits.h"

#include <stdbool.h>

static unsigned least(unsigned a, unsigned b)
{
  return a < b ? a : b;
}

/* In whatever case. */
static bool same(char a, char b)
{
  const char low = 'a' - 'A';
  return a == b || (a >= 'a' && a <= 'z' && a - low == b) || (b >= 'a' && b <= 'z' && b - low == a);
}

/* Only what is at most `most` beside the diagonal is computed: farther away nothing is less. */
unsigned edits_between(const char *a, size_t a_size, const char *b, size_t b_size, unsigned most)
{
  unsigned rows[3][EDITS_LONGEST + 1]; /* of the last three characters of `a` */
  a_size = a_size < EDITS_LONGEST ? a_size : EDITS_LONGEST;
  b_size = b_size < EDITS_LONGEST ? b_size : EDITS_LONGEST;
  for (size_t j = 0; j <= b_size; ++j)
    rows[0][j] = (unsigned)j;
  unsigned least_before = 0;
  for (size_t i = 1; i <= a_size; ++i) {
    unsigned *now = rows[i % 3], *before = rows[(i + 2) % 3], *two_before = rows[(i + 1) % 3];
    const size_t first = i > most ? i - most : 1, last = b_size < i + most ? b_size : i + most;
    now[first - 1] = first == 1 ? (unsigned)i : most + 1;
    if (last == i + most)
      before[last] = most + 1; /* it was beyond */
    unsigned least_now = now[first - 1];
    for (size_t j = first; j <= last; ++j) {
      now[j] = least(least(now[j - 1], before[j]) + 1, before[j - 1] + !same(a[i - 1], b[j - 1]));
      if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
        now[j] = least(now[j], two_before[j - 2] + 1);
      least_now = least(least_now, now[j]);
    }
    if (least_now > most && least_before > most) /* swaps look two rows back */
      return most + 1;
    least_before = least_now;
  }
  const unsigned far =
      a_size + most < b_size || b_size + most < a_size ? most + 1 : rows[a_size % 3][b_size];
  return least(far, most + 1);
}
