/* The rules: each a small function from evidence to a cause and a score. Internal. */
#ifndef RAWHAL_DEBUG_CAUSE_RULES_H
#define RAWHAL_DEBUG_CAUSE_RULES_H

#include "debug/cause_text.h"

/* How likely it is, 0 to 100, where five more are twice as likely; 0: it is not so, and what
 * `cause` says does not count. `word` is NULL for rules that are asked once a dispatch. */
typedef uint32_t cause_rule_fn(const cause_evidence_t *evidence, const cause_word_t *word,
                               rawhal_cause_t *cause);

/* From `most`, two less each time that the distance doubles beyond 64 bytes; `least` or more. */
static inline uint32_t cause_nearness(uint64_t distance, uint32_t most, uint32_t least)
{
  uint32_t less = 0;
  for (uint64_t steps = distance / 64; steps && most > least + less; steps >>= 1)
    less += 2;
  return most > least + less ? most - less : least;
}

/* cause_memory.c: where a pointer leads. Of a word. */
cause_rule_fn cause_null, cause_wild, cause_bounds, cause_freed, cause_no_access, cause_read_only,
    cause_misaligned, cause_unwritten;
/* cause_lost.c: what no argument leads to. Once, and only while nothing better is known. */
cause_rule_fn cause_null_alone, cause_freed_alone, cause_here_alone, cause_before_alone,
    cause_behind_alone, cause_indirect, cause_nothing;

/* cause_arguments.c: arguments beside each other. Of a word. */
cause_rule_fn cause_swapped, cause_scalar, cause_grid, cause_count;

/* cause_index.c: the number by which a pointer led to the address. Of a word, when memory that
 * arguments point to has been looked at. */
cause_rule_fn cause_index;

/* cause_blob.c: the arguments as a whole. How many are no pointers and should be, or are and
 * should not. */
uint32_t cause_misfits(const cause_evidence_t *evidence);
/* Of a word, and of a dispatch. */
cause_rule_fn cause_short;
/* Of a dispatch. */
cause_rule_fn cause_other_kernel, cause_kernarg, cause_kernarg_freed;

/* cause_kind.c: what the kind of the fault says. Of a dispatch. */
cause_rule_fn cause_lds, cause_lds_unwritten, cause_lds_race, cause_scratch, cause_trap,
    cause_barrier, cause_time, cause_instruction, cause_unloaded, cause_fetch, cause_packet,
    cause_resources, cause_device_lost, cause_destroyed;

#endif
