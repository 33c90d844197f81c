/* Which kernel replaces which, as RAWHAL_SUBSTITUTE says. Internal.
 *
 *     NAME[@OBJECT]=FILE[:KERNEL][,EXTRA...]
 *
 * One per line; the first that is for a kernel counts. NAME is a kernel's as its code object has
 * it, or a pattern (base/glob.h), and OBJECT, where it matters, the beginning of the hash of that.
 * FILE is whatever carries code objects, and may be empty: then the kernel stays. KERNEL is the
 * replacement's name, the original's without it. An EXTRA is an argument that is appended to the
 * original's:
 *
 *     buffer=BYTES[:FILE]  the address of memory that is zeros at first, and goes to FILE when the
 *                          process ends; all that the rule replaces share it
 *     dispatch             a number that no other dispatch of the rule's has, from 0: 4 or 8 bytes
 *     value=N              an integer
 *
 * Thread-safety: rules are made by one thread, before others use them. */
#ifndef RAWHAL_FRONT_SUBSTITUTE_RULES_H
#define RAWHAL_FRONT_SUBSTITUTE_RULES_H

#include "front/remap.h"
#include "front/replacement.h"

#include <stdatomic.h>

typedef struct rule_extra {
  remap_extra_t argument;
  size_t bytes; /* of a buffer */
  void *memory; /* made when it is first needed */
  char *save;   /* NULL: nowhere */
} rule_extra_t;

typedef struct substitute_rule {
  char *name, *object;      /* NULL: of any */
  replacement_file_t *file; /* NULL: it stays what it is */
  char *kernel;             /* NULL: the original's name */
  rule_extra_t extras[REMAP_EXTRAS];
  size_t extra_count;
  atomic_ullong numbers, replaced, kept; /* of dispatches */
  struct substitute_rule *next;
} substitute_rule_t;

/* Adds a rule for each line, if there are any. INVALID_ARGUMENT: one is not understood; errors of
 * replacement_open() for its file; OUT_OF_MEMORY: then those that were there are gone, too. */
RAWHAL_CHECKED rawhal_status_t rules_open(const char *lines, substitute_rule_t **rules,
                                          rawhal_error_t *error);
void rules_close(substitute_rule_t *rules); /* NULL is allowed */

/* The first that is for that kernel; NULL: none is. */
substitute_rule_t *rules_find(substitute_rule_t *rules, rawhal_string_t kernel,
                              rawhal_content_hash_t object);

/* Makes the memory of its buffers. False: there is none. */
bool rule_prepare(substitute_rule_t *rule);
/* What is appended, as text of at most `size` bytes: what an outcome depends on. */
void rule_extras_text(const substitute_rule_t *rule, char *text, size_t size);
/* The value of each that is appended, for one more dispatch. */
void rule_values(substitute_rule_t *rule, uint64_t *values);
/* Can those files be made? INVALID_ARGUMENT. */
RAWHAL_CHECKED rawhal_status_t rules_check(const substitute_rule_t *rules, rawhal_error_t *error);
/* Writes buffers to their files, and says what became of dispatches. */
void rules_summary(const substitute_rule_t *rules);

#endif
