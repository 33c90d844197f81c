/* rawhal inspect: what its two output forms share. */
#ifndef TOOLS_INSPECT_H
#define TOOLS_INSPECT_H

#include <rawhal/container.h>
#include <rawhal/kernarg.h>

typedef struct inspect_options {
  const char *path;
  const char *kernel;            /* only kernels whose name contains this; NULL = all */
  const rawhal_target_t *target; /* only objects that run on it; NULL = all */
  bool brief;                    /* one line a kernel */
} inspect_options_t;

/* One object, opened, with the layouts of its kernels to be made on demand. */
typedef struct inspect_object {
  size_t index; /* in the container */
  const rawhal_container_object_t *entry;
  const rawhal_hsaco_t *hsaco;
} inspect_object_t;

/* Is this kernel among those asked for? */
bool inspect_wants(const inspect_options_t *options, const rawhal_kernel_t *kernel);

/* Each form: begin, one call for each object, end (with NULL error when all went well). The return
 * value of an object call is false when its text could not be made (error says why). */
typedef struct inspect_form {
  bool (*begin)(const inspect_options_t *options);
  bool (*object)(const inspect_options_t *options, const inspect_object_t *object,
                 rawhal_error_t *error);
  void (*end)(const rawhal_error_t *error);
} inspect_form_t;

extern const inspect_form_t inspect_text_form;
extern const inspect_form_t inspect_json_form;

#endif
