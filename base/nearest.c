#include "base/nearest.h"

#include <limits.h>
#include <string.h>

enum { MAX_COMPARED = NEAREST_COMPARED };

static const char prefix[] = NEAREST_PREFIX;

static unsigned least(unsigned a, unsigned b)
{
  return a < b ? a : b;
}

static size_t least_size(size_t size)
{
  return size < MAX_COMPARED ? size : MAX_COMPARED;
}

/* In whatever case. */
static bool same(char a, char b)
{
  const char low = 'a' - 'A';
  return a == b || (a >= 'a' && a <= 'z' && a - low == b) || (b >= 'a' && b <= 'z' && b - low == a);
}

/* Only what is at most `most` beside the diagonal is computed: farther away nothing is less. */
unsigned nearest_distance(const char *a, size_t a_size, const char *b, size_t b_size, unsigned most)
{
  unsigned rows[3][NEAREST_LONGEST + 1]; /* of the last three characters of `a` */
  a_size = a_size < NEAREST_LONGEST ? a_size : NEAREST_LONGEST;
  b_size = b_size < NEAREST_LONGEST ? b_size : NEAREST_LONGEST;
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

/* Of as much as is compared. */
static unsigned distance(const char *a, size_t a_size, const char *b, size_t b_size)
{
  return nearest_distance(a, least_size(a_size), b, least_size(b_size), MAX_COMPARED);
}

/* ---- Words ---- */

/* Of a name, without the prefix. */
typedef struct words {
  const char *at, *end;
} words_t;

static words_t words_of(const char *name, size_t size)
{
  const size_t begin = sizeof(prefix) - 1;
  const bool has = size > begin && memcmp(name, prefix, begin) == 0;
  return (words_t){name + (has ? begin : 0), name + size};
}

/* False: there are no more. */
static bool next_word(words_t *words, const char **word, size_t *size)
{
  while (words->at < words->end && (*words->at == '_' || *words->at == '-'))
    ++words->at;
  *word = words->at;
  while (words->at < words->end && *words->at != '_' && *words->at != '-')
    ++words->at;
  *size = (size_t)(words->at - *word);
  return *size != 0;
}

/* The same, or misspelt: by one character of five, two of eight. */
static bool is_like(const char *a, size_t a_size, const char *b, size_t b_size)
{
  const size_t slips = a_size < 5 ? 0 : a_size < 8 ? 1 : 2;
  if (b_size > MAX_COMPARED || a_size > b_size + slips || b_size > a_size + slips)
    return false;
  return distance(a, a_size, b, b_size) <= slips;
}

static bool has_word(words_t words, const char *word, size_t size)
{
  const char *other;
  for (size_t other_size; next_word(&words, &other, &other_size);)
    if (is_like(word, size, other, other_size))
      return true;
  return false;
}

/* How many words each has that the other has not; UINT_MAX: all of them. RAWHAL_SHARE lacks one of
 * RAWHAL_GPU_SHARE, and RAWHAL_LIMIT_TENANT has one more than RAWHAL_TENANT. */
static unsigned words_apart(words_t given, words_t known)
{
  unsigned apart = 0, common = 0;
  const char *word;
  size_t size;
  for (words_t rest = given; next_word(&rest, &word, &size);)
    has_word(known, word, size) ? ++common : ++apart;
  for (words_t rest = known; next_word(&rest, &word, &size);)
    apart += !has_word(given, word, size);
  return common ? apart : UINT_MAX;
}

bool nearest_shares_word(const char *given, size_t given_size, const char *known_name)
{
  words_t known = words_of(known_name, strlen(known_name));
  static const char *const common[] = {"DEVICE", "FILE", "IN", "PROCESS"};
  const char *word;
  for (size_t size; next_word(&known, &word, &size);) {
    bool counts = true;
    for (size_t i = 0; i < sizeof(common) / sizeof(*common); ++i)
      counts &= strlen(common[i]) != size || memcmp(common[i], word, size) != 0;
    if (counts && has_word(words_of(given, given_size), word, size))
      return true;
  }
  return false;
}

/* A word that is missing or too many is one mistake, each further one two; another order is one. */
void nearest_compare(nearest_t *nearest, const char *given, size_t size, const char *known)
{
  const size_t known_size = strlen(known);
  const unsigned apart = words_apart(words_of(given, size), words_of(known, known_size));
  const unsigned edits = distance(given, size, known, known_size);
  const unsigned by_words = apart == UINT_MAX ? edits : apart ? 2 * apart - 1 : 1;
  const unsigned mistakes = least(edits, by_words);
  nearest->least_edits = nearest->name ? least(nearest->least_edits, edits) : edits;
  if (nearest->name &&
      (mistakes > nearest->mistakes || (mistakes == nearest->mistakes && edits >= nearest->edits)))
    return;
  nearest->name = known;
  nearest->mistakes = mistakes;
  nearest->edits = edits;
}
