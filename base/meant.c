#include "base/meant.h"

#include "base/edits.h"

#include <limits.h>
#include <string.h>

enum { MAX_COMPARED = MEANT_COMPARED };

static const char prefix[] = MEANT_PREFIX;

static unsigned least(unsigned a, unsigned b)
{
  return a < b ? a : b;
}

static size_t least_size(size_t size)
{
  return size < MAX_COMPARED ? size : MAX_COMPARED;
}

/* Of as much as is compared. */
static unsigned distance(const char *a, size_t a_size, const char *b, size_t b_size)
{
  return edits_between(a, least_size(a_size), b, least_size(b_size), MAX_COMPARED);
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

bool meant_shares_word(const char *given, size_t given_size, const char *known_name)
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
void meant_compare(meant_t *meant, const char *given, size_t size, const char *known)
{
  const size_t known_size = strlen(known);
  const unsigned apart = words_apart(words_of(given, size), words_of(known, known_size));
  const unsigned edits = distance(given, size, known, known_size);
  const unsigned by_words = apart == UINT_MAX ? edits : apart ? 2 * apart - 1 : 1;
  const unsigned mistakes = least(edits, by_words);
  meant->least_edits = meant->name ? least(meant->least_edits, edits) : edits;
  if (meant->name &&
      (mistakes > meant->mistakes || (mistakes == meant->mistakes && edits >= meant->edits)))
    return;
  meant->name = known;
  meant->mistakes = mistakes;
  meant->edits = edits;
}
