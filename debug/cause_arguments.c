/* Rules that compare arguments with each other and with the grid: swapped ones, and buffers that
 * are too small for it, or for a count. */
#include "debug/cause_rules.h"

#include "base/checked.h"
#include "debug/label.h"

#include <string.h>

/* A pointer as the kernel's metadata say; of these, rules compare one with the others. */
static bool is_own(const cause_word_t *word)
{
  return word->role == CAUSE_POINTER;
}

/* Bytes from the pointer to the end of what it points into. */
static uint64_t bytes_behind(const cause_word_t *word)
{
  return word->has_live ? word->live.size - (word->value - word->live.base) : 0;
}

/* An access beyond the end of what a pointer points into, by work-items that each have an element
 * of their own. */
static bool is_beyond(const cause_evidence_t *evidence, const cause_word_t *word)
{
  const uint64_t offset = evidence->address - word->value;
  return word->has_live && evidence->has_address && evidence->address >= word->value &&
         offset < cause_grid_bytes(evidence) &&
         !range_within(offset, cause_access_bytes(evidence->fault), bytes_behind(word));
}

/* ---- Swapped ---- */

static bool is_called(const debug_allocation_t *allocation, rawhal_string_t name)
{
  const rawhal_string_t label = label_text(allocation->label);
  return name.size && name.data && label.size == name.size &&
         !memcmp(label.data, name.data, label.size);
}

/* A buffer that bears the other's name. */
static bool names_cross(const cause_evidence_t *evidence, const cause_word_t *a,
                        const cause_word_t *b)
{
  const rawhal_kernarg_argument_t *first = cause_argument(evidence, a),
                                  *second = cause_argument(evidence, b);
  return first && second && is_called(&a->live, second->name) && is_called(&b->live, first->name);
}

/* The others whose memory would have done, and one of them. */
static size_t others_that_fit(const cause_evidence_t *evidence, const cause_word_t *word,
                              uint64_t need, const cause_word_t **one)
{
  size_t count = 0;
  for (size_t i = 0; i < evidence->followed; ++i) {
    const cause_word_t *other = &evidence->words[i];
    if (other == word || !is_own(other) || !other->has_live || bytes_behind(other) < need ||
        other->live.base == word->live.base)
      continue;
    if (!count++ || names_cross(evidence, word, other))
      *one = other;
  }
  return count;
}

/* An element for each work-item, of 1 to 16 bytes. */
static bool is_made_for_the_grid(const cause_evidence_t *evidence, uint64_t bytes)
{
  enum { LARGEST = 16 };
  const uint64_t items = cause_work_items(evidence->dispatch);
  return items && bytes % items == 0 && is_power_of_two(bytes / items) && bytes / items <= LARGEST;
}

/* Of two buffers, of which the second would do: how likely it is that they are swapped. */
static uint32_t swapped_score(const cause_evidence_t *evidence, const cause_word_t *word,
                              const cause_word_t *other, uint64_t need)
{
  enum { SMALL = 256, TIMES = 4 };
  const uint64_t bytes = bytes_behind(word), others = bytes_behind(other);
  const bool by_grid = is_beyond(evidence, word);
  const bool made = is_made_for_the_grid(evidence, bytes) && is_made_for_the_grid(evidence, others);
  if (!evidence->fault->bytes)
    return made ? 78 : 50;
  return by_grid && ((bytes <= SMALL && bytes <= need / TIMES) || (made && others == need)) ? 88
                                                                                            : 50;
}

uint32_t cause_swapped(const cause_evidence_t *evidence, const cause_word_t *word,
                       rawhal_cause_t *cause)
{
  const cause_word_t *other = NULL;
  const uint64_t grid = cause_grid_bytes(evidence);
  if (!word->has_live || !evidence->has_address || evidence->address < word->value ||
      evidence->address - word->value < bytes_behind(word))
    return 0;
  uint64_t need = evidence->address - word->value + cause_access_bytes(evidence->fault);
  need = is_beyond(evidence, word) && grid > need ? grid : need;
  const size_t fitting = others_that_fit(evidence, word, need, &other);
  if (!fitting)
    return 0;
  cause_say(cause, RAWHAL_CAUSE_ARGUMENTS, evidence, word, &word->live,
            "%s and %s may be swapped: the first has %llu bytes, and the kernel uses %llu or more, "
            "as the second has",
            cause_pointer(evidence, word).text, cause_pointer(evidence, other).text,
            (unsigned long long)word->live.size, (unsigned long long)need);
  if (names_cross(evidence, word, other))
    return 96;
  return fitting > 1 ? 50 : swapped_score(evidence, word, other, need);
}

/* A number where a pointer belongs, and a pointer where a number does. */
uint32_t cause_scalar(const cause_evidence_t *evidence, const cause_word_t *word,
                      rawhal_cause_t *cause)
{
  if (!is_own(word) || word->has_live || word->has_dead || !cause_reaches(evidence, word->value))
    return 0;
  for (size_t i = 0; i < evidence->followed; ++i) {
    const cause_word_t *other = &evidence->words[i];
    if ((other->role != CAUSE_SCALAR && other->role != CAUSE_VALUE) ||
        other->argument == RAWHAL_NO_ARGUMENT || !(other->has_live || other->has_dead))
      continue;
    cause_say(cause, RAWHAL_CAUSE_ARGUMENTS, evidence, word, NULL,
              "%s is 0x%llx, and %s, which is no pointer, points to memory: they are swapped",
              cause_pointer(evidence, word).text, (unsigned long long)word->value,
              cause_argument_text(evidence, other->argument).text);
    return cause_misfits(evidence) <= 2 ? 96 : 86; /* these two alone */
  }
  return 0;
}

/* ---- Too large a grid ---- */

/* The first work-item of the work-group, counted through the whole grid. */
static uint64_t first_item(const cause_evidence_t *evidence)
{
  const debug_dispatch_t *dispatch = evidence->dispatch;
  uint64_t first = 0;
  for (int d = 2; d >= 0; --d) {
    const uint64_t wide = dispatch->grid[d] ? dispatch->grid[d] : 1;
    if (!checked_mul_u64(first, wide, &first) ||
        !checked_add_u64(first, (uint64_t)evidence->fault->group[d] * dispatch->workgroup[d],
                         &first))
      return UINT64_MAX;
  }
  return first;
}

/* The access is one that a work-item of its own group does when each has an element. */
static bool is_of_its_group(const cause_evidence_t *evidence, const cause_word_t *word)
{
  const debug_dispatch_t *dispatch = evidence->dispatch;
  const uint64_t first = first_item(evidence);
  const uint64_t item = (evidence->address - word->value) / cause_access_bytes(evidence->fault);
  const uint64_t lines = (uint64_t)(dispatch->workgroup[1] ? dispatch->workgroup[1] : 1) *
                         (dispatch->workgroup[2] ? dispatch->workgroup[2] : 1);
  return item >= first && (item - first < dispatch->workgroup[0] || lines > 1);
}

uint32_t cause_grid(const cause_evidence_t *evidence, const cause_word_t *word,
                    rawhal_cause_t *cause)
{
  const uint64_t need = cause_grid_bytes(evidence);
  const bool knows_group = evidence->fault->known & RAWHAL_FAULT_KNOWS_PC;
  const cause_word_t *other;
  if (!evidence->dispatch || !is_beyond(evidence, word))
    return 0;
  const uint64_t elements = bytes_behind(word) / cause_access_bytes(evidence->fault);
  const size_t fitting = others_that_fit(evidence, word, need, &other);
  cause_say(cause, RAWHAL_CAUSE_GRID, evidence, word, &word->live,
            "the grid\'s %llu work-items of %u bytes each need %llu bytes, and %s has %llu (%s)",
            (unsigned long long)cause_work_items(evidence->dispatch),
            cause_access_bytes(evidence->fault), (unsigned long long)need,
            cause_pointer(evidence, word).text, (unsigned long long)bytes_behind(word),
            cause_where(evidence, &word->live).text);
  if (!knows_group)
    return fitting ? 40 : 60;
  if (!is_of_its_group(evidence, word) || first_item(evidence) < elements)
    return 40; /* its group has work to do: the grid is rounded up, no more */
  return fitting ? 70 : 92;
}

/* ---- Too large a count ---- */

/* A number of 4 or 8 bytes by value; 0: it is none, or is not there. */
static uint64_t number_of(const cause_evidence_t *evidence,
                          const rawhal_kernarg_argument_t *argument)
{
  const rawhal_bytes_t image = evidence->dispatch->kernargs;
  uint64_t number = 0;
  if (argument->hidden || argument->value_kind != RAWHAL_VALUE_BY_VALUE ||
      (argument->size != 4 && argument->size != 8) ||
      !range_within(argument->offset, argument->size, image.size))
    return 0;
  memcpy(&number, (const unsigned char *)image.data + argument->offset, argument->size);
  return number;
}

/* The argument that says how many elements there are, and lets the kernel go as far as it went. */
static uint32_t count_find(const cause_evidence_t *evidence, uint64_t elements, uint64_t index,
                           uint64_t *count)
{
  enum { TIMES = 4 }; /* beyond that it is another kind of number */
  const uint64_t items = cause_work_items(evidence->dispatch);
  uint64_t most;
  if (!checked_mul_u64(elements, TIMES, &most))
    most = UINT64_MAX;
  most = items > most ? items : most;
  const rawhal_kernarg_argument_t *argument;
  for (uint32_t i = 0; (argument = rawhal_kernarg_layout_argument(evidence->layout, i)) != NULL;
       ++i) {
    *count = number_of(evidence, argument);
    if (*count > elements && *count > index && *count <= most)
      return i;
  }
  return RAWHAL_NO_ARGUMENT;
}

uint32_t cause_count(const cause_evidence_t *evidence, const cause_word_t *word,
                     rawhal_cause_t *cause)
{
  const uint64_t bytes = evidence->fault->bytes, offset = evidence->address - word->value;
  uint64_t count;
  if (!evidence->layout || !evidence->has_address || !bytes || !word->has_live ||
      evidence->has_place[CAUSE_HOLDS] || evidence->address < word->value ||
      offset < bytes_behind(word))
    return 0;
  const uint64_t elements = bytes_behind(word) / bytes;
  const uint32_t index = count_find(evidence, elements, offset / bytes, &count);
  if (index == RAWHAL_NO_ARGUMENT)
    return 0;
  cause_say(cause, RAWHAL_CAUSE_OUT_OF_BOUNDS, evidence, word, &word->live,
            "%s %s (%s): %s is %llu, and it has %llu elements of %llu bytes",
            cause_beside(evidence, &word->live).text, cause_pointer(evidence, word).text,
            cause_where(evidence, &word->live).text, cause_argument_text(evidence, index).text,
            (unsigned long long)count, (unsigned long long)elements, (unsigned long long)bytes);
  return 94;
}
