/* rawhal inspect: what its two output forms share. */
#ifndef TOOLS_INSPECT_H
#define TOOLS_INSPECT_H

#include "tools/select.h"

typedef struct inspect_options {
  const char *path;
  const char *kernel;            /* only kernels whose name contains this; NULL = all */
  const rawhal_target_t *target; /* only objects that run on it; NULL = all */
  bool brief;                    /* one line a kernel */
} inspect_options_t;

/* Is this kernel among those asked for? */
bool inspect_wants(const inspect_options_t *options, const rawhal_kernel_t *kernel);

/* Each form: begin, one call for each object (the selection's current one), end (with NULL error
 * when all went well). The return value of an object call is false when its text could not be made
 * (error says why). */
typedef struct inspect_form {
  bool (*begin)(const inspect_options_t *options);
  bool (*object)(const inspect_options_t *options, const select_t *object, rawhal_error_t *error);
  void (*end)(const rawhal_error_t *error);
} inspect_form_t;

extern const inspect_form_t inspect_text_form;
extern const inspect_form_t inspect_json_form;

#endif
