/* A number of the arguments, or of memory that they point to, which is the index of the element
 * that failed: of several pointers, and however far it is, the one with such an index is it. */
#include "debug/cause_rules.h"

#include "base/checked.h"

#include <stdio.h>
#include <string.h>

/* Below that a number is no evidence: many are as small. */
enum { LEAST = 256 };

/* An argument by value that is the index; RAWHAL_NO_ARGUMENT: none. */
static uint32_t argument_that_is(const cause_evidence_t *evidence, int64_t index)
{
  const rawhal_bytes_t image = evidence->dispatch->kernargs;
  const rawhal_kernarg_argument_t *argument;
  for (uint32_t i = 0; (argument = rawhal_kernarg_layout_argument(evidence->layout, i)) != NULL;
       ++i) {
    uint64_t number = 0;
    if (argument->hidden || argument->value_kind != RAWHAL_VALUE_BY_VALUE ||
        (argument->size != 4 && argument->size != 8) ||
        !range_within(argument->offset, argument->size, image.size))
      continue;
    memcpy(&number, (const unsigned char *)image.data + argument->offset, argument->size);
    if (cause_is_index(index, number, argument->size))
      return i;
  }
  return RAWHAL_NO_ARGUMENT;
}

static cause_phrase_t source(const cause_evidence_t *evidence, const cause_word_t *word)
{
  cause_phrase_t phrase = {""};
  const uint32_t argument =
      evidence->layout ? argument_that_is(evidence, word->index) : RAWHAL_NO_ARGUMENT;
  if (argument != RAWHAL_NO_ARGUMENT)
    snprintf(phrase.text, sizeof(phrase.text), "is %.100s",
             cause_argument_text(evidence, argument).text);
  else if (word->index_found && word->index_argument != RAWHAL_NO_ARGUMENT)
    snprintf(phrase.text, sizeof(phrase.text), "stands at byte %u of the memory of %.90s",
             word->index_at, cause_argument_text(evidence, word->index_argument).text);
  else if (word->index_found)
    snprintf(phrase.text, sizeof(phrase.text), "stands in memory that the arguments point to");
  return phrase;
}

uint32_t cause_index(const cause_evidence_t *evidence, const cause_word_t *word,
                     rawhal_cause_t *cause)
{
  if (!word->has_index || evidence->has_place[CAUSE_HOLDS] ||
      (word->index >= 0 && word->index < LEAST))
    return 0;
  const cause_phrase_t from = source(evidence, word);
  if (!*from.text)
    return 0;
  cause_say(cause, RAWHAL_CAUSE_OUT_OF_BOUNDS, evidence, word, &word->live,
            "%s %s (%s): its index %lld %s", cause_beside(evidence, &word->live).text,
            cause_pointer(evidence, word).text, cause_where(evidence, &word->live).text,
            (long long)word->index, from.text);
  return 92;
}
