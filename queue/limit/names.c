/* Every variable this project reads, so that a misspelt one is found, and what is known of other
 * limiters' variables. */
#include "queue/limit/names.h"

#include "base/error.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

const limit_text_info_t limit_texts[LIMIT_NAME_COUNT] = {
    [RAWHAL_LIMIT_NAME_TENANT] = {"tenant", "RAWHAL_TENANT"},
    [RAWHAL_LIMIT_NAME_REGION] = {"region", "RAWHAL_LIMIT_REGION"},
    [RAWHAL_LIMIT_NAME_CU_MASK] = {"cu-mask", "RAWHAL_CU_MASK"},
};

static const char prefix[] = "RAWHAL_";

/* Those that are not limits and not of one device. */
static const char *const others[] = {
    "RAWHAL_LIMITS_FILE",
    "RAWHAL_LIMITS_PINNED",
    "RAWHAL_DEVICE",
    "RAWHAL_SOFTGPU_LIBRARY",
    "RAWHAL_TEST_EXTENDED",
    "RAWHAL_KEEP_MUTANTS",
    "RAWHAL_WRITE_STATUS",
    "RAWHAL_MUTANTS",
    "RAWHAL_MUTANT_SEED",
    "RAWHAL_TEST_AS_SOMEBODY_ELSE",
    "RAWHAL_RUNTIME_LIBRARY",
    "RAWHAL_AITER_DIR",
    "RAWHAL_CORPUS",
    "RAWHAL_GFX950_ASSEMBLER",
    "RAWHAL_TRITON_PYTHON",
    "RAWHAL_TENSILE_DIR",
    "RAWHAL_GOLDEN",
    "RAWHAL_OBJDUMP",
    "RAWHAL_LOG",
    "RAWHAL_CACHE",
    "RAWHAL_HIPLAUNCH_POINTERS",
    "RAWHAL_FRONT_LIBRARY",
    "RAWHAL_FRONT_REPORT",
    "RAWHAL_CHECK",
    "RAWHAL_TRACE",
    "RAWHAL_RECORD",
    "RAWHAL_RECORD_BUFFERS",
    "RAWHAL_RECORD_BYTES",
    "RAWHAL_SUBSTITUTE",
    "RAWHAL_POLICY",
    "RAWHAL_SUBSTITUTE_CACHE",
};

/* Of those, what must hold, too. */
static const char *const enforced[] = {"RAWHAL_LIMITS_FILE", "RAWHAL_LIMITS_PINNED", "RAWHAL_CHECK",
                                       "RAWHAL_POLICY"};

enum {
  OTHERS = sizeof(others) / sizeof(*others),
  PER_DEVICE = LIMIT_COUNT + LIMIT_NAME_COUNT,
  MAX_COMPARED = 64, /* characters of a name that are looked at */
};

/* What may be set for each device: limits first, then texts. */
static const char *variable_at(int index)
{
  return index < LIMIT_COUNT ? rawhal_limit_info((rawhal_limit_t)index)->variable
                             : limit_texts[index - LIMIT_COUNT].variable;
}

static const char *name_at(int index)
{
  return index < LIMIT_COUNT ? rawhal_limit_info((rawhal_limit_t)index)->name
                             : limit_texts[index - LIMIT_COUNT].name;
}

/* ---- Likeness ---- */

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

/* How many characters must be put in, left out, replaced, or swapped with their neighbour. */
static unsigned distance(const char *a, size_t a_size, const char *b)
{
  unsigned rows[3][MAX_COMPARED + 1]; /* of the last three characters of `a` */
  size_t b_size = strnlen(b, MAX_COMPARED);
  a_size = a_size < MAX_COMPARED ? a_size : MAX_COMPARED;
  for (size_t j = 0; j <= b_size; ++j)
    rows[0][j] = (unsigned)j;
  for (size_t i = 1; i <= a_size; ++i) {
    unsigned *now = rows[i % 3], *before = rows[(i + 2) % 3], *two_before = rows[(i + 1) % 3];
    now[0] = (unsigned)i;
    for (size_t j = 1; j <= b_size; ++j) {
      now[j] = least(least(now[j - 1], before[j]) + 1, before[j - 1] + !same(a[i - 1], b[j - 1]));
      if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
        now[j] = least(now[j], two_before[j - 2] + 1);
    }
  }
  return rows[a_size % 3][b_size];
}

typedef struct nearest {
  const char *name;
  unsigned mistakes, edits; /* of this name */
  unsigned least_edits;     /* of any */
} nearest_t;

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
  char text[MAX_COMPARED + 1];
  if (b_size > MAX_COMPARED || a_size > b_size + slips || b_size > a_size + slips)
    return false;
  memcpy(text, b, b_size);
  text[b_size] = '\0';
  return distance(a, a_size, text) <= slips;
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

/* Has a name any word of one whose value is enforced? Those that stand in any name do not count. */
static bool shares_word(words_t given, words_t known)
{
  static const char *const common[] = {"DEVICE", "FILE", "IN", "PROCESS"};
  const char *word;
  for (size_t size; next_word(&known, &word, &size);) {
    bool counts = true;
    for (size_t i = 0; i < sizeof(common) / sizeof(*common); ++i)
      counts &= strlen(common[i]) != size || memcmp(common[i], word, size) != 0;
    if (counts && has_word(given, word, size))
      return true;
  }
  return false;
}

/* A word that is missing or too many is one mistake, each further one two; another order is one. */
static void compare(nearest_t *nearest, const char *given, size_t size, const char *known)
{
  const size_t known_size = strlen(known);
  const unsigned apart = words_apart(words_of(given, size), words_of(known, known_size));
  const unsigned edits = distance(given, size, known);
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

/* ---- Names ---- */

/* Is that how a device's number is written? Exactly so it is looked for: no sign, no zero before
 * it, at most 2^32 - 1. */
static bool is_index(const char *text, size_t size)
{
  uint64_t value = 0;
  if (size == 0 || size > 10 || (size > 1 && *text == '0'))
    return false;
  for (size_t i = 0; i < size; ++i) {
    if (text[i] < '0' || text[i] > '9')
      return false;
    value = value * 10 + (uint64_t)(text[i] - '0');
  }
  return value <= UINT32_MAX;
}

/* The size of the name without a device's number at its end. */
static size_t without_index(const char *name, size_t size)
{
  for (size_t at = size; at-- > 0;)
    if (name[at] == '_')
      return is_index(name + at + 1, size - at - 1) ? at : size;
  return size;
}

static bool is(const char *given, size_t size, const char *known)
{
  return strlen(known) == size && memcmp(given, known, size) == 0;
}

static bool is_known(const char *name, size_t size)
{
  size_t stem = without_index(name, size);
  for (int i = 0; i < PER_DEVICE; ++i)
    if (is(name, size, variable_at(i)) || is(name, stem, variable_at(i)))
      return true;
  for (int i = 0; i < OTHERS; ++i)
    if (is(name, size, others[i]))
      return true;
  return false;
}

static nearest_t nearest_variable(const char *name, size_t size)
{
  nearest_t found = {0};
  for (int i = 0; i < PER_DEVICE; ++i)
    compare(&found, name, without_index(name, size), variable_at(i));
  for (int i = 0; i < OTHERS; ++i)
    compare(&found, name, without_index(name, size), others[i]);
  return found;
}

/* Might it have been meant to say what must hold? A third of it may be wrong. What is like no name
 * is other people's: RAWHAL_BUILD, RAWHAL_SOURCE. */
static bool is_meant(const char *name, size_t size, const nearest_t *nearest)
{
  const size_t looked_at = size < MAX_COMPARED ? size : MAX_COMPARED;
  const size_t own = looked_at - (sizeof(prefix) - 1);
  const words_t words = words_of(name, without_index(name, size));
  bool meant = nearest->least_edits <= own / 3;
  for (int i = 0; i < PER_DEVICE && !meant; ++i)
    meant = shares_word(words, words_of(variable_at(i), strlen(variable_at(i))));
  for (size_t i = 0; i < sizeof(enforced) / sizeof(*enforced) && !meant; ++i)
    meant = shares_word(words, words_of(enforced[i], strlen(enforced[i])));
  return meant;
}

rawhal_status_t limit_check_names(rawhal_error_t *error)
{
  for (char **entry = environ; entry && *entry; ++entry) {
    size_t size = strcspn(*entry, "=");
    if (strncmp(*entry, prefix, sizeof(prefix) - 1) != 0 || is_known(*entry, size))
      continue;
    const nearest_t nearest = nearest_variable(*entry, size);
    if (is_meant(*entry, size, &nearest))
      return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                         "%.*s: rawhal knows no variable of that name; the nearest is %s",
                         (int)(size < 200 ? size : 200), *entry, nearest.name);
  }
  return RAWHAL_OK;
}

bool limit_resolve_name(const char *name, char variable[LIMIT_NAME_BYTES], const char **nearest)
{
  size_t size = strlen(name), stem = without_index(name, size);
  for (int i = 0; i < PER_DEVICE; ++i) {
    const char *known = variable_at(i);
    if (!is(name, stem, known) && !is(name, stem, name_at(i)))
      continue;
    size_t length = strlen(known);
    memcpy(variable, known, length);
    memcpy(variable + length, name + stem, size - stem + 1);
    return true;
  }
  nearest_t found = {0};
  for (int i = 0; i < PER_DEVICE; ++i) {
    compare(&found, name, stem, variable_at(i));
    compare(&found, name, stem, name_at(i));
  }
  *nearest = found.name;
  return false;
}

int limit_find_name(const char *name, size_t size, const char **nearest)
{
  for (int i = 0; i < PER_DEVICE; ++i)
    if (is(name, size, name_at(i)))
      return i;
  nearest_t found = {0};
  for (int i = 0; i < PER_DEVICE; ++i)
    compare(&found, name, size, name_at(i));
  *nearest = found.name;
  return -1;
}

/* ---- Other limiters' ---- */

static const rawhal_limit_foreign_t foreign[] = {
    {"GPU_CORE_UTILIZATION_POLICY",
     "a share that is set holds, whatever the policy; CUDA_DEVICE_SM_LIMIT of 0 sets none"},
    {"CUDA_OVERSUBSCRIBE", "memory beyond the limit is refused; nothing moves to the host"},
    {"HIP_OVERSUBSCRIBE", "memory beyond the limit is refused; nothing moves to the host"},
    {"ACTIVE_OOM_KILLER", "no process is killed: the allocation that does not fit is refused"},
    {"CUDA_DISABLE_CONTROL", "limits hold; they end with the variables that set them"},
    {"RECORD_KERNEL_INTERVAL", "the region is always up to date"},
    {"LIBCUDA_LOG_LEVEL", "the library prints nothing; see rawhal top --log"},
    {"LIBHIP_LOG_LEVEL", "the library prints nothing; see rawhal top --log"},
    {"CUDA_REDIRECT", "no library is redirected: limits are part of submission"},
    {"CUDA_VISIBLE_DEVICES", "the HSA runtime's ROCR_VISIBLE_DEVICES selects devices"},
    {"HIP_VISIBLE_DEVICES", "the HSA runtime's ROCR_VISIBLE_DEVICES selects devices"},
    {"HSA_CU_MASK", "the HSA runtime's own: it makes any mask of rawhal's smaller"},
    {"/overrideEnv", "not read; RAWHAL_LIMITS_FILE names a file that is"},
};

const rawhal_limit_foreign_t *rawhal_limit_foreign(size_t index)
{
  return index < sizeof(foreign) / sizeof(*foreign) ? &foreign[index] : NULL;
}
