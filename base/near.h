/* The names nearest to one that is not there, some of them, for users who mistyped it or know a
 * part of it: of kernels and of arguments. (Which one of ours is meant, as of variables and limits:
 * meant.h.) Internal. */
#ifndef RAWHAL_BASE_NEAR_H
#define RAWHAL_BASE_NEAR_H

#include "base/types.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  NEAR_NAMES = 3,       /* that are kept */
  NEAR_BYTES = 256,     /* of each; longer ones are not near to anything */
  NEAR_EDITS = 16,      /* at most, however long the names */
  NEAR_COMPARED = 1024, /* names, where an error has to be cheap */
};

/* Zero-initialise, then set `wanted`. */
typedef struct near_names {
  rawhal_string_t wanted;
  size_t count;
  struct {
    unsigned distance;
    char name[NEAR_BYTES];
  } best[NEAR_NAMES]; /* nearest first; equals as they came */
} near_names_t;

/* A kernel's name, where its symbol, NAME.kd, is given. */
rawhal_string_t near_stem(rawhal_string_t name);

/* So many insertions, removals, replacements and swaps of neighbours still make a name near; no
 * fewer than the lengths differ by. */
unsigned near_edits(const near_names_t *names);

/* Keeps a name if it is near: if it contains the one wanted, in whatever case, or is made of it by
 * few edits. The cost is that of the shorter length times NEAR_EDITS, both bounded. */
void near_look(near_names_t *names, rawhal_string_t name);

/* Looks at NEAR_COMPARED of `count` names, those whose lengths may be near before the others. */
typedef rawhal_string_t near_name_fn(const void *context, size_t number);
void near_look_at_most(near_names_t *names, near_name_fn *name, const void *context, size_t count);

/* "; nearest: 'a', 'b'", or "" if none is. */
enum { NEAR_TEXT = NEAR_NAMES * (NEAR_BYTES + 4) + 16 };
void near_text(const near_names_t *names, char text[NEAR_TEXT]);

/* The same of `count` names at once; "", and nothing is compared, where the caller wants no error
 * (NULL). Empty names are none, and do not count towards NEAR_COMPARED. */
typedef struct near_phrase {
  char text[NEAR_TEXT];
} near_phrase_t;
near_phrase_t near_phrase(rawhal_string_t wanted, near_name_fn *name, const void *context,
                          size_t count, const void *error);

#ifdef __cplusplus
}
#endif

#endif
