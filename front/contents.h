/* Code objects by their bytes, which are kept once. Internal to objects.c, whose lock its callers
 * hold for writing. */
#ifndef RAWHAL_FRONT_CONTENTS_H
#define RAWHAL_FRONT_CONTENTS_H

#include "front/objects.h"

#include "base/hash_table.h"

/* Different copies of one object are objects of their own, as are equal copies of several. */
typedef struct content_key {
  rawhal_content_hash_t loaded, given;
} content_key_t;

typedef struct content {
  content_key_t key;
  rawhal_bytes_t loaded, given; /* of one size; object_bytes() and object_given() */
} content_t;

struct front_object {
  content_key_t key;
  void *bytes, *given; /* one and the same, where nobody changed it */
  size_t size;
  char *uri;           /* where it came from when it was first loaded; NULL: not known */
  atomic_size_t users; /* places where it is loaded, and kernels that were given out */
  bool read;           /* whether its kernels can be read is known */
  char *unreadable;    /* why they cannot; NULL: they can, or there was no memory for that */
  rawhal_hsaco_t *hsaco;
  front_kernel_t *kernels; /* by address */
  size_t kernel_count;
  UT_hash_handle hh;
};

/* Needs no lock. */
content_t content_of(rawhal_bytes_t loaded);
/* NULL: no memory, or others have its hashes. */
front_object_t *contents_get(const content_t *content);
/* By one user. */
void contents_drop(front_object_t *object);
void contents_abandon(void);

#endif
