/* How causes say what they say: whole sentences, fit to be shown, whatever names are made of.
 * Internal. */
#ifndef RAWHAL_DEBUG_CAUSE_TEXT_H
#define RAWHAL_DEBUG_CAUSE_TEXT_H

#include "debug/cause_evidence.h"

enum { CAUSE_PHRASE = 176 }; /* bytes that any phrase fits in */
typedef struct cause_phrase {
  char text[CAUSE_PHRASE];
} cause_phrase_t;

/* Text from outside: 'name', escaped and cut; "" when it is empty. */
cause_phrase_t cause_quoted(rawhal_string_t name);
/* "argument 2 'b'", "the pointer at byte 16 of argument 1 'list'", ... */
cause_phrase_t cause_pointer(const cause_evidence_t *evidence, const cause_word_t *word);
/* "argument 2 'b'" */
cause_phrase_t cause_argument_text(const cause_evidence_t *evidence, uint32_t index);
/* "120 us" */
cause_phrase_t cause_duration(uint64_t ns);
/* "buffer 'x', 4096 bytes, offset 4096" */
cause_phrase_t cause_where(const cause_evidence_t *evidence, const debug_allocation_t *allocation);
/* Where the access lies beside it: "one element past the end of"; "" when it lies within. */
cause_phrase_t cause_beside(const cause_evidence_t *evidence, const debug_allocation_t *allocation);
/* " (dispatch 'layer 3', queue 'decode')"; "" without labels */
cause_phrase_t cause_labels(const rawhal_fault_t *fault);
/* "kernel 'copy' of ticket 41", and its label */
cause_phrase_t cause_whose(const debug_dispatch_t *dispatch);

/* Fills in kind and text, and what the word (NULL: none) and the allocation (NULL: none) tell. */
__attribute__((format(printf, 6, 7))) void
cause_say(rawhal_cause_t *cause, rawhal_cause_kind_t kind, const cause_evidence_t *evidence,
          const cause_word_t *word, const debug_allocation_t *allocation, const char *format, ...);

#endif
