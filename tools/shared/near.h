/* The names nearest to one that is not there, for users who mistyped it or know a part of it. */
#ifndef TOOLS_SHARED_NEAR_H
#define TOOLS_SHARED_NEAR_H

#include <rawhal/hsaco.h>

enum {
  NEAR_NAMES = 3,  /* that are kept */
  NEAR_BYTES = 96, /* of each; longer ones are not near to anything */
};

/* Zero-initialise, then set `wanted`. */
typedef struct near_names {
  const char *wanted;
  size_t count;
  struct {
    unsigned distance;
    char name[NEAR_BYTES];
  } best[NEAR_NAMES]; /* nearest first; equals as they came */
} near_names_t;

/* Keeps a name if it is near: if it contains the one wanted, in whatever case, or is made of it by
 * few insertions, removals and replacements. The cost is that of the two lengths, both bounded. */
void near_look(near_names_t *names, rawhal_string_t name);

/* All of an object's. */
void near_look_at(near_names_t *names, const rawhal_hsaco_t *hsaco);

/* "; nearest: 'a', 'b'", or "" if none is. */
enum { NEAR_TEXT = NEAR_NAMES * (NEAR_BYTES + 4) + 16 };
void near_text(const near_names_t *names, char text[NEAR_TEXT]);

#endif
