/* Files with kernels that replace others, and where they are loaded. Internal.
 *
 * Thread-safety: one thread at a time. */
#ifndef RAWHAL_FRONT_REPLACEMENT_H
#define RAWHAL_FRONT_REPLACEMENT_H

#include "front/front.h"

#include "kernarg/kernarg.h"

typedef struct replacement_file replacement_file_t;

/* Of a file, the object for a device. */
typedef struct replacement_object replacement_object_t;

typedef struct replacement {
  const rawhal_kernel_t *facts;
  rawhal_kernarg_layout_t *layout; /* NULL: what it takes is not known */
  uint64_t kernel_object;          /* 0: not loaded */
} replacement_t;

/* Reads all of it, once. Fails as rawhal_container_open_file(). */
RAWHAL_CHECKED rawhal_status_t replacement_open(const char *path, replacement_file_t **file,
                                                rawhal_error_t *error);
void replacement_close(replacement_file_t *file); /* NULL is allowed; nothing of it runs */

/* TARGET_MISMATCH: it has none for that device; UNSUPPORTED: the runtime cannot be given it; and
 * what rawhal_hsaco_open() says. */
RAWHAL_CHECKED rawhal_status_t replacement_select(replacement_file_t *file,
                                                  const front_device_t *device,
                                                  replacement_object_t **object,
                                                  rawhal_error_t *error);
rawhal_content_hash_t replacement_hash(const replacement_object_t *object);

/* NOT_FOUND; UNSUPPORTED: it cannot be used. It lives as long as the file. */
RAWHAL_CHECKED rawhal_status_t replacement_find(replacement_object_t *object, rawhal_string_t name,
                                                replacement_t **replacement, rawhal_error_t *error);
/* Loads it onto its device. RUNTIME: the runtime refuses it. */
RAWHAL_CHECKED rawhal_status_t replacement_load(replacement_object_t *object,
                                                replacement_t *replacement, rawhal_error_t *error);

#endif
