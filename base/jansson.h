/* JSON, read by jansson through a table of its functions, which are looked up in its own library. A
 * linker would take the first of these names that it finds, and json_object_get() and json_delete()
 * are names in other JSON libraries and in programs, too. jansson's macros on types, as
 * json_is_object(), call nothing. Internal. */
#ifndef RAWHAL_BASE_JANSSON_H
#define RAWHAL_BASE_JANSSON_H

#include <jansson.h>

#include "base/status.h"

/* delete() frees a root that nobody else holds: json_decref() is an inline function, and the linker
 * resolves what it calls. */
#define JANSSON_FUNCTIONS(X)                                                                       \
  X(loadb)                                                                                         \
  X(delete)                                                                                        \
  X(object_get)                                                                                    \
  X(object_size)                                                                                   \
  X(object_iter)                                                                                   \
  X(object_iter_next)                                                                              \
  X(object_iter_key)                                                                               \
  X(object_iter_value)                                                                             \
  X(array_get)                                                                                     \
  X(array_size)                                                                                    \
  X(string_value)                                                                                  \
  X(string_length)                                                                                 \
  X(integer_value)

typedef struct jansson {
#define X(name) __typeof__(json_##name) *name;
  JANSSON_FUNCTIONS(X)
#undef X
} jansson_t;

extern jansson_t jansson;

/* A loop over an object's members: object_iter_key() and object_iter_value() of `member`. */
#define jansson_each(object, member)                                                               \
  for (void *member = jansson.object_iter((json_t *)(object)); member;                             \
       member = jansson.object_iter_next((json_t *)(object), member))

/* To be called, and to succeed, before anything of the table is; what it opens stays open.
 * UNSUPPORTED: there is no libjansson.so.4. Any thread. */
rawhal_status_t jansson_open(rawhal_error_t *error);

#endif
