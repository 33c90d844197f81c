/* Rules for one pointer of the arguments: what is wrong with where it leads. */
#include "debug/cause_rules.h"

#include <stdio.h>

enum { NULL_REACH = 64 << 10, MEMBERS = 64 }; /* bytes: offsets of members of most structures */

/* ---- Null, or nothing at all ---- */

uint32_t cause_null(const cause_evidence_t *evidence, const cause_word_t *word,
                    rawhal_cause_t *cause)
{
  const cause_phrase_t pointer = cause_pointer(evidence, word);
  const int64_t offset = (int64_t)evidence->address;
  if (word->value || word->role == CAUSE_RAW)
    return 0;
  if (!evidence->has_address) { /* many kernels take a null pointer for "none" */
    cause_say(cause, RAWHAL_CAUSE_NULL, evidence, word, NULL, "%s is null", pointer.text);
    return word->role == CAUSE_POINTER ? 50 : 0;
  }
  const bool near = offset > -NULL_REACH && offset < NULL_REACH;
  if (!near && (offset < 0 || !cause_reaches(evidence, 0)))
    return 0;
  cause_say(cause, RAWHAL_CAUSE_NULL, evidence, word, NULL,
            "%s is null, and null %c %llu is accessed", pointer.text, offset < 0 ? '-' : '+',
            (unsigned long long)(offset < 0 ? -evidence->address : evidence->address));
  cause->offset = offset;
  const bool may_be_zero = word->role == CAUSE_FIELD || word->role == CAUSE_VALUE;
  return (near ? 93u : 80u) - (may_be_zero ? 30u : 0u);
}

/* How likely a number that is no address was taken for a pointer; `is_said`: it is one. */
static uint32_t number_score(const cause_evidence_t *evidence, const cause_word_t *word,
                             bool is_said)
{
  if (!evidence->has_address)
    return 40;
  const bool is_exact = word->role != CAUSE_MEMORY && word->value == evidence->address;
  return is_said ? 85 : is_exact && word->value >= MEMBERS ? 72 : 40;
}

/* What lives right before or behind where the pointer leads; NULL: nothing. */
static const debug_allocation_t *next_to(const cause_evidence_t *evidence, uint64_t value)
{
  const debug_allocation_t *below = &evidence->places[CAUSE_BELOW],
                           *above = &evidence->places[CAUSE_ABOVE];
  if (evidence->has_place[CAUSE_BELOW] && below->reachable && value > below->base &&
      cause_distance(below, value) < CAUSE_PAGE)
    return below;
  return evidence->has_place[CAUSE_ABOVE] && above->reachable && value < above->base &&
                 cause_distance(above, value) < CAUSE_PAGE
             ? above
             : NULL;
}

static cause_phrase_t outside_text(const debug_allocation_t *allocation, uint64_t value)
{
  const uint64_t distance = cause_distance(allocation, value);
  const char *where = value > allocation->base ? "past the end of" : "before the start of";
  cause_phrase_t phrase;
  if (distance)
    snprintf(phrase.text, sizeof(phrase.text), "%llu byte%s %s", (unsigned long long)distance,
             distance == 1 ? "" : "s", where);
  else
    snprintf(phrase.text, sizeof(phrase.text), "just %s", where);
  return phrase;
}

uint32_t cause_wild(const cause_evidence_t *evidence, const cause_word_t *word,
                    rawhal_cause_t *cause)
{
  const bool is_said = word->role == CAUSE_POINTER || word->role == CAUSE_HIDDEN;
  if (!word->value || word->has_live || word->has_dead || !cause_reaches(evidence, word->value) ||
      (!is_said && (!evidence->has_address || cause_gap(evidence, word->value) >= CAUSE_PAGE)))
    return 0;
  if (word->value < NULL_REACH) {
    cause_say(cause, RAWHAL_CAUSE_NULL, evidence, word, NULL,
              "%s is %llu, no address: null with an offset, or a number in place of a pointer",
              cause_pointer(evidence, word).text, (unsigned long long)word->value);
    return number_score(evidence, word, is_said);
  }
  const debug_allocation_t *near = is_said ? next_to(evidence, word->value) : NULL;
  if (near)
    cause_say(cause, RAWHAL_CAUSE_OUT_OF_BOUNDS, evidence, word, near,
              "%s itself points %s memory that it may have been meant to point into (%s)",
              cause_pointer(evidence, word).text, outside_text(near, word->value).text,
              cause_where(evidence, near).text);
  else
    cause_say(cause, RAWHAL_CAUSE_WILD, evidence, word, NULL,
              "%s is 0x%llx, where no known memory is, nor was lately: the host's, or never set",
              cause_pointer(evidence, word).text, (unsigned long long)word->value);
  if (evidence->has_address && !near)
    cause->offset = (int64_t)(evidence->address - word->value);
  return evidence->has_address ? cause_nearness(cause_gap(evidence, word->value), 90, 60) : 75;
}

/* ---- Out of bounds ---- */

uint32_t cause_bounds(const cause_evidence_t *evidence, const cause_word_t *word,
                      rawhal_cause_t *cause)
{
  if (!evidence->has_address || !word->has_live)
    return 0;
  const cause_phrase_t beside = cause_beside(evidence, &word->live);
  if (!*beside.text)
    return 0;
  const bool is_argument = word->role != CAUSE_FIELD && word->role != CAUSE_MEMORY;
  cause_say(cause, RAWHAL_CAUSE_OUT_OF_BOUNDS, evidence, word, &word->live, "%s %s%s%s (%s)",
            beside.text, is_argument ? "" : "what ", cause_pointer(evidence, word).text,
            is_argument ? "" : " points to", cause_where(evidence, &word->live).text);
  const uint64_t distance = cause_distance(&word->live, evidence->address);
  const debug_allocation_t *there = &evidence->places[CAUSE_HOLDS];
  if (evidence->has_place[CAUSE_HOLDS] && there->reachable && there->base != word->live.base)
    return 15; /* that would not have failed */
  if (evidence->address >= word->live.base)
    return cause_nearness(distance, 84, 20);
  return cause_nearness(distance, distance > CAUSE_PAGE ? 74 : 82,
                        20); /* few indices go far back */
}

/* ---- Freed ---- */

/* ", after ticket 41 was submitted" */
static cause_phrase_t order_text(const cause_evidence_t *evidence, uint64_t freed_at)
{
  const debug_dispatch_t *dispatch = evidence->dispatch;
  cause_phrase_t phrase = {""};
  if (dispatch && dispatch->submitted_at && dispatch->ticket)
    snprintf(phrase.text, sizeof(phrase.text), ", %s ticket %llu was submitted",
             freed_at >= dispatch->submitted_at ? "after" : "before",
             (unsigned long long)dispatch->ticket);
  return phrase;
}

/* The address was given away again: was that the pointer that the dispatch took? */
static uint32_t again_score(const cause_evidence_t *evidence, const cause_word_t *word)
{
  const uint64_t submitted = evidence->dispatch ? evidence->dispatch->submitted_at : 0;
  return submitted && submitted < word->live.made_at ? 96 : 60;
}

uint32_t cause_freed(const cause_evidence_t *evidence, const cause_word_t *word,
                     rawhal_cause_t *cause)
{
  const uint64_t now = evidence->scene->now;
  const debug_allocation_t *dead = &word->dead;
  if (!word->has_dead ||
      (word->has_live && (!evidence->has_address ||
                          (word->live.reachable && cause_holds(&word->live, evidence->address)))))
    return 0;
  const uint64_t distance = evidence->has_address ? cause_distance(dead, evidence->address) : 0;
  const uint64_t ago = now > dead->freed_at ? now - dead->freed_at : 0;
  cause_say(cause, RAWHAL_CAUSE_FREED, evidence, word, dead,
            "%s points to memory that was freed %s ago%s (%s)%s",
            cause_pointer(evidence, word).text, cause_duration(ago).text,
            order_text(evidence, dead->freed_at).text, cause_where(evidence, dead).text,
            word->has_live ? "; its address has been given to other memory since" : "");
  const uint32_t score = word->has_live ? again_score(evidence, word) : 95;
  return distance || !evidence->has_address ? cause_nearness(distance, score - 10, 25) : score;
}

/* ---- What may not be accessed so ---- */

/* The device says so of memory that is none of the scene's: the pointer right before it. */
static bool is_of_unknown(const cause_evidence_t *evidence, const cause_word_t *word,
                          rawhal_fault_kind_t kind)
{
  return evidence->fault->kind == kind && evidence->has_address && word->value && !word->has_live &&
         !word->has_dead && evidence->address >= word->value &&
         cause_reaches(evidence, word->value) && !evidence->has_place[CAUSE_HOLDS];
}

uint32_t cause_no_access(const cause_evidence_t *evidence, const cause_word_t *word,
                         rawhal_cause_t *cause)
{
  const debug_allocation_t *live = &word->live;
  if (is_of_unknown(evidence, word, RAWHAL_FAULT_NO_ACCESS)) {
    cause_say(cause, RAWHAL_CAUSE_NO_ACCESS, evidence, word, NULL,
              "%s is 0x%llx, which is in memory that this device was not given access to",
              cause_pointer(evidence, word).text, (unsigned long long)word->value);
    return cause_nearness(cause_gap(evidence, word->value), 88, 60);
  }
  if (!word->has_live || live->reachable ||
      (evidence->has_address && !cause_holds(live, evidence->address)))
    return 0;
  cause_say(cause, RAWHAL_CAUSE_NO_ACCESS, evidence, word, live,
            "%s points to memory of %s, which this device was not given access to (%s)",
            cause_pointer(evidence, word).text, live->owner ? "another device" : "the host",
            cause_where(evidence, live).text);
  return evidence->has_address ? 96 : 80;
}

uint32_t cause_read_only(const cause_evidence_t *evidence, const cause_word_t *word,
                         rawhal_cause_t *cause)
{
  const debug_allocation_t *live = &word->live;
  const bool is_told = evidence->fault->kind == RAWHAL_FAULT_READ_ONLY;
  if (is_of_unknown(evidence, word, RAWHAL_FAULT_READ_ONLY)) {
    cause_say(cause, RAWHAL_CAUSE_READ_ONLY, evidence, word, NULL,
              "%s is 0x%llx, which is in memory that kernels may only read, as code is",
              cause_pointer(evidence, word).text, (unsigned long long)word->value);
    return cause_nearness(cause_gap(evidence, word->value), 88, 60);
  }
  if (!word->has_live || !(live->read_only || (is_told && evidence->has_address)) ||
      evidence->fault->access == RAWHAL_FAULT_ACCESS_READ ||
      (evidence->has_address && !cause_holds(live, evidence->address)))
    return 0;
  cause_say(cause, RAWHAL_CAUSE_READ_ONLY, evidence, word, live,
            "%s points to memory that kernels may only read (%s)",
            cause_pointer(evidence, word).text, cause_where(evidence, live).text);
  return is_told ? 96 : 80;
}

uint32_t cause_unwritten(const cause_evidence_t *evidence, const cause_word_t *word,
                         rawhal_cause_t *cause)
{
  const debug_allocation_t *live = &word->live;
  if (!evidence->has_address || !word->has_live || !cause_holds(live, evidence->address))
    return 0;
  cause_say(cause, RAWHAL_CAUSE_UNWRITTEN, evidence, word, live,
            "%s points to memory of which byte %llu has not been written since it was allocated, "
            "by a kernel, a copy or a fill (%s)",
            cause_pointer(evidence, word).text,
            (unsigned long long)(evidence->address - live->base), cause_where(evidence, live).text);
  return 96;
}

uint32_t cause_misaligned(const cause_evidence_t *evidence, const cause_word_t *word,
                          rawhal_cause_t *cause)
{
  const uint32_t bytes = cause_access_bytes(evidence->fault);
  if (!word->value || (!word->has_live && word->role != CAUSE_POINTER) ||
      (word->has_live && evidence->has_address && !cause_holds(&word->live, evidence->address)))
    return 0;
  if (word->value % bytes)
    cause_say(cause, RAWHAL_CAUSE_MISALIGNED, evidence, word, word->has_live ? &word->live : NULL,
              "%s is 0x%llx, no multiple of the access's %u", cause_pointer(evidence, word).text,
              (unsigned long long)word->value, bytes);
  else
    cause_say(cause, RAWHAL_CAUSE_MISALIGNED, evidence, word, word->has_live ? &word->live : NULL,
              "%s is aligned, but the kernel accesses %u bytes at an offset of %llu from it",
              cause_pointer(evidence, word).text, bytes,
              (unsigned long long)(evidence->address - word->value));
  return word->value % bytes ? 92 : evidence->has_address && word->has_live ? 84 : 0;
}
