/* What code objects are loaded from, and how much of a device each would take. Internal. */
#ifndef RAWHAL_FRONT_SOURCES_H
#define RAWHAL_FRONT_SOURCES_H

#include "front/front.h"

#include "queue/hsa_table.h"

#include <rawhal/target.h>

typedef enum source_kind {
  SOURCE_READER, /* hsa_code_object_reader_t */
  SOURCE_OBJECT, /* hsa_code_object_t, of the older calls */
  SOURCE_COPY,   /* the address of bytes that are a copy: what they are a copy of */
} source_kind_t;

/* False: it is not known. */
bool source_bytes(source_kind_t kind, uint64_t handle, uint64_t *bytes);
/* What chip it is for. False: it is not known. */
bool source_target(source_kind_t kind, uint64_t handle, rawhal_target_t *target);
/* The program loads a copy, or is about to give it up. */
void source_tell_copy(const code_copy_t *copy);
/* What `loaded` is a copy of; itself, if it is not known to be one. */
rawhal_bytes_t source_original(rawhal_bytes_t loaded);
void sources_hooks(front_calls_t *hooks);
/* As memory_forget() and memory_abandon(). */
void sources_forget(void);
void sources_abandon(void);

#endif
