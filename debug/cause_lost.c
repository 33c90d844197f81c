/* Rules for an address to which no pointer of the arguments leads: what is there, or beside it. */
#include "debug/cause_rules.h"

enum { NULL_REACH = 64 << 10, NEIGHBOUR = 1 << 20 };

static const debug_allocation_t *place(const cause_evidence_t *evidence, cause_place_t which)
{
  return evidence->has_address && evidence->has_place[which] ? &evidence->places[which] : NULL;
}

uint32_t cause_null_alone(const cause_evidence_t *evidence, const cause_word_t *word,
                          rawhal_cause_t *cause)
{
  const int64_t offset = (int64_t)evidence->address;
  if (!evidence->has_address || offset >= NULL_REACH || offset <= -NULL_REACH)
    return 0;
  cause_say(
      cause, RAWHAL_CAUSE_NULL, evidence, word, NULL,
      "null %c %llu is accessed: a pointer in memory, or one that the kernel computes; no pointer "
      "argument is null",
      offset < 0 ? '-' : '+',
      (unsigned long long)(offset < 0 ? -evidence->address : evidence->address));
  cause->offset = offset;
  return 60;
}

uint32_t cause_freed_alone(const cause_evidence_t *evidence, const cause_word_t *word,
                           rawhal_cause_t *cause)
{
  const debug_allocation_t *dead = place(evidence, CAUSE_DEAD_HOLDS);
  if (!dead || place(evidence, CAUSE_HOLDS))
    return 0;
  const uint64_t now = evidence->scene->now;
  cause_say(cause, RAWHAL_CAUSE_FREED, evidence, word, dead,
            "memory that was freed %s ago (%s), to which no argument points",
            cause_duration(now > dead->freed_at ? now - dead->freed_at : 0).text,
            cause_where(evidence, dead).text);
  return 65;
}

/* What lives there all the same. */
uint32_t cause_here_alone(const cause_evidence_t *evidence, const cause_word_t *word,
                          rawhal_cause_t *cause)
{
  const debug_allocation_t *live = place(evidence, CAUSE_HOLDS);
  if (!live)
    return 0;
  if (!live->reachable) {
    cause_say(
        cause, RAWHAL_CAUSE_NO_ACCESS, evidence, word, live,
        "memory of %s, which this device was not given access to (%s); no argument points to it",
        live->owner ? "another device" : "the host", cause_where(evidence, live).text);
    return 80;
  }
  if (live->read_only || evidence->fault->kind == RAWHAL_FAULT_READ_ONLY) {
    cause_say(cause, RAWHAL_CAUSE_READ_ONLY, evidence, word, live,
              "memory that kernels may only read (%s), to which no argument points",
              cause_where(evidence, live).text);
    return 75;
  }
  cause_say(cause, RAWHAL_CAUSE_UNKNOWN, evidence, word, live,
            "memory is there now (%s): it may have been another's, or none, when it was accessed",
            cause_where(evidence, live).text);
  return 20;
}

static uint32_t beside(const cause_evidence_t *evidence, const cause_word_t *word,
                       rawhal_cause_t *cause, cause_place_t which)
{
  const debug_allocation_t *near = place(evidence, which);
  if (!near || place(evidence, CAUSE_HOLDS))
    return 0;
  const uint64_t distance = cause_distance(near, evidence->address);
  if (distance > NEIGHBOUR)
    return 0;
  cause_say(cause, RAWHAL_CAUSE_OUT_OF_BOUNDS, evidence, word, near,
            "%s memory to which no argument points (%s)", cause_beside(evidence, near).text,
            cause_where(evidence, near).text);
  return cause_nearness(distance, which == CAUSE_BELOW ? 45 : 42, 15);
}

uint32_t cause_behind_alone(const cause_evidence_t *evidence, const cause_word_t *word,
                            rawhal_cause_t *cause)
{
  return beside(evidence, word, cause, CAUSE_BELOW);
}

uint32_t cause_before_alone(const cause_evidence_t *evidence, const cause_word_t *word,
                            rawhal_cause_t *cause)
{
  return beside(evidence, word, cause, CAUSE_ABOVE);
}

/* Memory was followed one level, and not all of it could be. */
uint32_t cause_indirect(const cause_evidence_t *evidence, const cause_word_t *word,
                        rawhal_cause_t *cause)
{
  (void)word;
  if (!evidence->unread)
    return 0;
  cause_say(cause, RAWHAL_CAUSE_INDIRECT, evidence, evidence->unread, &evidence->unread->live,
            "perhaps a pointer in memory that %s points to, which was not read, or not all of it",
            cause_pointer(evidence, evidence->unread).text);
  cause->levels = 1;
  return 30;
}

uint32_t cause_nothing(const cause_evidence_t *evidence, const cause_word_t *word,
                       rawhal_cause_t *cause)
{
  if (!evidence->has_address || place(evidence, CAUSE_HOLDS) || place(evidence, CAUSE_DEAD_HOLDS))
    return 0;
  cause_say(cause, RAWHAL_CAUSE_UNKNOWN, evidence, word, NULL,
            "no memory is there, nor was lately, and no argument leads there: an address that the "
            "kernel computed wrongly, or a pointer further than one level away");
  return 22; /* more than for what is out of bounds by any distance */
}
