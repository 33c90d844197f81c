/* Rules for the arguments as a whole: another kernel's, or too few bytes. */
#include "debug/cause_rules.h"

#include "base/checked.h"

#include <string.h>

/* ---- Another kernel's ---- */

/* What a word is by another layout: how well it does there. */
typedef struct likeness {
  uint32_t right, wrong;
  const cause_word_t *first_wrong;
} likeness_t;

static const cause_word_t *word_of_image(const cause_evidence_t *evidence, uint32_t offset)
{
  return offset % 8 == 0 && offset / 8 < evidence->image_count ? &evidence->words[offset / 8]
                                                               : NULL;
}

static void likeness_add(likeness_t *of, const cause_word_t *word, bool is_pointer)
{
  const bool leads = word->has_live || word->has_dead;
  const bool is_wrong = is_pointer ? !leads && word->value : leads;
  of->right += is_pointer && leads;
  of->wrong += is_wrong;
  if (is_wrong && !of->first_wrong)
    of->first_wrong = word;
}

/* Launchers that copy one argument after the other leave out what is between them. */
static bool was_copied(const cause_evidence_t *evidence, uint32_t at)
{
  uint32_t bytes = 0;
  const rawhal_kernarg_argument_t *argument;
  for (size_t i = 0; (argument = rawhal_kernarg_layout_argument(evidence->layout, i)) != NULL;
       ++i) {
    const uint32_t begin = argument->offset > at ? argument->offset : at;
    const uint32_t end = argument->offset + argument->size;
    bytes += end > begin && begin < at + 8 ? (end < at + 8 ? end : at + 8) - begin : 0;
  }
  return bytes >= 8;
}

static likeness_t likeness(const cause_evidence_t *evidence, const rawhal_kernarg_layout_t *layout)
{
  likeness_t of = {0};
  const rawhal_kernarg_argument_t *argument;
  for (size_t i = 0; (argument = rawhal_kernarg_layout_argument(layout, i)) != NULL; ++i) {
    const bool is_pointer = argument->value_kind == RAWHAL_VALUE_GLOBAL_BUFFER;
    const cause_word_t *word = word_of_image(evidence, argument->offset / 8 * 8);
    if (argument->hidden || (!is_pointer && argument->size > 8))
      continue; /* a structure may hold both */
    if (word && (layout == evidence->layout || !is_pointer || was_copied(evidence, word->at)))
      likeness_add(&of, word, is_pointer);
    else if (!word)
      of.wrong +=
          argument->offset / 8 < CAUSE_IMAGE_WORDS &&
          !range_within(argument->offset, argument->size, evidence->dispatch->kernargs.size);
  }
  return of;
}

uint32_t cause_misfits(const cause_evidence_t *evidence)
{
  return evidence->layout ? likeness(evidence, evidence->layout).wrong : 0;
}

/* The same bytes, as far as the caller gave them, were that kernel's own arguments. */
static bool is_copy(const cause_evidence_t *evidence, const debug_dispatch_t *other)
{
  const size_t given = evidence->dispatch->supplied;
  const size_t all = rawhal_kernarg_layout_info(other->layout)->explicit_end;
  const size_t end = given && given < all ? given : all;
  const rawhal_bytes_t a = evidence->dispatch->kernargs, b = other->kernargs;
  return b.data && end >= 8 && a.size >= end && b.size >= end && !memcmp(a.data, b.data, end);
}

uint32_t cause_other_kernel(const cause_evidence_t *evidence, const cause_word_t *word,
                            rawhal_cause_t *cause)
{
  (void)word;
  uint32_t best = 0;
  const debug_scene_t *scene = evidence->scene;
  if (!evidence->layout || !evidence->image_count)
    return 0;
  const uint64_t signature = rawhal_kernarg_layout_info(evidence->layout)->blob_signature;
  const likeness_t own = likeness(evidence, evidence->layout);
  if (!own.wrong)
    return 0;
  for (size_t i = 0; i < scene->dispatch_count; ++i) {
    const debug_dispatch_t *other = &scene->dispatches[i];
    if (!other->layout || other->layout == evidence->layout ||
        rawhal_kernarg_layout_info(other->layout)->blob_signature == signature)
      continue;
    const likeness_t with = likeness(evidence, other->layout);
    const uint32_t score = with.wrong || !with.right     ? 0
                           : is_copy(evidence, other)    ? 98
                           : with.right > own.right + 1u ? 95
                                                         : 90;
    if (score <= best)
      continue;
    best = score;
    cause_say(cause, RAWHAL_CAUSE_ARGUMENTS, evidence, own.first_wrong, NULL,
              "the arguments are those of %s: %u of them cannot be this kernel\'s, and all can be "
              "that one\'s",
              cause_whose(other).text, own.wrong);
  }
  return best;
}

/* ---- Too few bytes ---- */

static uint64_t missing_bytes(const cause_evidence_t *evidence)
{
  const debug_dispatch_t *dispatch = evidence->dispatch;
  if (!dispatch || !evidence->layout || !dispatch->supplied)
    return 0;
  const uint32_t end = rawhal_kernarg_layout_info(evidence->layout)->explicit_end;
  return dispatch->supplied < end ? end - dispatch->supplied : 0;
}

/* The first pointer beyond what was given, of which there is no word. */
static uint32_t pointer_behind(const cause_evidence_t *evidence)
{
  const debug_dispatch_t *dispatch = evidence->dispatch;
  const rawhal_kernarg_argument_t *argument;
  for (uint32_t i = 0; (argument = rawhal_kernarg_layout_argument(evidence->layout, i)) != NULL;
       ++i)
    if (!argument->hidden && argument->value_kind == RAWHAL_VALUE_GLOBAL_BUFFER &&
        !range_within(argument->offset, argument->size, dispatch->supplied) &&
        !range_within(argument->offset, argument->size, dispatch->kernargs.size))
      return i;
  return RAWHAL_NO_ARGUMENT;
}

uint32_t cause_short(const cause_evidence_t *evidence, const cause_word_t *word,
                     rawhal_cause_t *cause)
{
  if (!missing_bytes(evidence))
    return 0;
  if (!word) {
    const uint32_t index = pointer_behind(evidence);
    const cause_word_t missing = {.argument = index, .role = CAUSE_POINTER};
    cause_say(cause, RAWHAL_CAUSE_SHORT_BLOB, evidence, &missing, NULL,
              "the caller gave %zu bytes of arguments, the kernel declares %u",
              evidence->dispatch->supplied,
              rawhal_kernarg_layout_info(evidence->layout)->explicit_end);
    return index == RAWHAL_NO_ARGUMENT ? 60 : 92;
  }
  if (word->has_live || word->has_dead || word->role == CAUSE_MEMORY ||
      range_within(word->at, 8, evidence->dispatch->supplied) ||
      !cause_reaches(evidence, word->value))
    return 0;
  cause_say(cause, RAWHAL_CAUSE_SHORT_BLOB, evidence, word, NULL,
            "%s was not supplied: the caller gave %zu bytes of arguments, it is at byte %u",
            cause_pointer(evidence, word).text, evidence->dispatch->supplied, word->at);
  return 98;
}

/* The argument that holds a byte of the segment. */
static uint32_t argument_at(const cause_evidence_t *evidence, uint64_t offset)
{
  const rawhal_kernarg_argument_t *argument;
  for (uint32_t i = 0;
       evidence->layout && (argument = rawhal_kernarg_layout_argument(evidence->layout, i)) != NULL;
       ++i)
    if (offset >= argument->offset && offset - argument->offset < argument->size)
      return i;
  return RAWHAL_NO_ARGUMENT;
}

uint32_t cause_kernarg(const cause_evidence_t *evidence, const cause_word_t *word,
                       rawhal_cause_t *cause)
{
  (void)word;
  const debug_dispatch_t *dispatch = evidence->dispatch;
  const uint64_t start = dispatch ? dispatch->kernarg_address : 0;
  const uint64_t offset = evidence->address - start;
  const bool within = start && evidence->has_address && offset < CAUSE_ARGUMENT_BYTES;
  const debug_allocation_t *dead =
      evidence->has_place[CAUSE_DEAD_HOLDS] ? &evidence->places[CAUSE_DEAD_HOLDS] : NULL;
  if (dead && !evidence->has_place[CAUSE_HOLDS]) {
    cause_say(cause, RAWHAL_CAUSE_FREED, evidence, NULL, dead,
              "the memory of the kernel's arguments was freed (%s)",
              cause_where(evidence, dead).text);
    return 92;
  }
  const uint32_t index = within ? argument_at(evidence, offset) : RAWHAL_NO_ARGUMENT;
  const cause_word_t missing = {.at = (uint32_t)offset, .argument = index, .role = CAUSE_RAW};
  if (index != RAWHAL_NO_ARGUMENT)
    cause_say(cause, RAWHAL_CAUSE_SHORT_BLOB, evidence, &missing, NULL,
              "%s, at byte %u of the arguments, was not supplied%s",
              cause_argument_text(evidence, index).text, missing.at,
              missing_bytes(evidence) ? ": the caller gave fewer bytes than the kernel declares"
                                      : "");
  else if (within)
    cause_say(
        cause, RAWHAL_CAUSE_SHORT_BLOB, evidence, NULL, NULL,
        "byte %u of the arguments was not supplied: the caller gave fewer than the kernel reads",
        missing.at);
  else
    cause_say(cause, RAWHAL_CAUSE_SHORT_BLOB, evidence, NULL, NULL,
              "arguments that were not supplied, or whose memory is gone");
  return within ? 96 : 80;
}

/* What reads them names no segment, where only an address is told. */
uint32_t cause_kernarg_freed(const cause_evidence_t *evidence, const cause_word_t *word,
                             rawhal_cause_t *cause)
{
  return evidence->dispatch && evidence->has_place[CAUSE_DEAD_HOLDS] &&
                 !evidence->has_place[CAUSE_HOLDS] &&
                 cause_holds(&evidence->places[CAUSE_DEAD_HOLDS],
                             evidence->dispatch->kernarg_address)
             ? cause_kernarg(evidence, word, cause)
             : 0;
}
