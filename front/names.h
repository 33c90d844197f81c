/* Which programs and kernels a rule is for: by their names, and by the hash of a kernel's code
 * object. Internal. */
#ifndef RAWHAL_FRONT_NAMES_H
#define RAWHAL_FRONT_NAMES_H

#include "front/objects.h"

#include <limits.h>

/* Of a longer name no more is held against patterns. */
enum { KERNEL_NAME_LONGEST = 4096 };

typedef struct kernel_names {
  char name[KERNEL_NAME_LONGEST], object[OBJECT_HASH_TEXT];
  bool cut; /* the name is longer */
} kernel_names_t;

void kernel_names(kernel_names_t *names, rawhal_string_t kernel, rawhal_content_hash_t object);
/* `pattern`: the name itself, or a pattern (base/glob.h); `object`: the beginning of the hash.
 * NULL: any. */
bool kernel_names_match(const kernel_names_t *names, const char *pattern, const char *object);
bool name_matches(const char *pattern, const char *name);
/* `program`: its file; a pattern may be of the last part of that. */
bool program_matches(const char *pattern, const char *program);
/* The process's own, which goes into `own` and is empty where it is not known, unless there is a
 * `program` already. */
const char *program_or_own(const char *program, char own[PATH_MAX]);

#endif
