/* The names of limits. Internal. */
#ifndef RAWHAL_QUEUE_LIMIT_NAMES_H
#define RAWHAL_QUEUE_LIMIT_NAMES_H

#include "queue/limit/config.h"

enum { LIMIT_NAME_BYTES = 48 }; /* of a variable of ours with its device's number, and a NUL */

typedef struct limit_text_info {
  const char *name;     /* "tenant" */
  const char *variable; /* "RAWHAL_TENANT" */
} limit_text_info_t;

extern const limit_text_info_t limit_texts[LIMIT_NAME_COUNT];

/* The variables of limits and of texts, for variables_check(). */
const char *limit_variable(int index);

/* The variable, such as RAWHAL_GPU_SHARE or RAWHAL_GPU_SHARE_1, that a name from an operator's
 * file means: itself, or gpu-share and gpu-share_1. False: none; `*nearest` is what may be
 * meant. */
bool limit_resolve_name(const char *name, char variable[LIMIT_NAME_BYTES], const char **nearest);

/* Which limit or text has that name ("gpu-share", "tenant"): a rawhal_limit_t, or
 * LIMIT_COUNT + a rawhal_limit_name_t. -1: none; `*nearest` is what may be meant. */
int limit_find_name(const char *name, size_t size, const char **nearest);

#endif
