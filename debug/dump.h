/* From the death of a queue to a core file (core/): what is known is gathered and written. Nothing
 * is allocated but pages, no lock is taken. Internal.
 *
 *     RAWHAL_CORE            the file's name, with %p %h %e %t: core/output.h; none is written
 *                            without
 *     RAWHAL_CORE_BYTES      the most that it may have, "64M" without; 0: no bound
 *     RAWHAL_CORE_CONTENTS   none: no bytes of arguments, memory or stacks of the program's, as
 *                            without; kernargs: those of dispatches in flight; all
 *     RAWHAL_CORE_PER_HOUR   how many a program may write into a folder in an hour: 1 without; 0:
 *                            any number
 */
#ifndef RAWHAL_DEBUG_DUMP_H
#define RAWHAL_DEBUG_DUMP_H

#include "debug/cause.h"
#include "debug/core/core.h"
#include "debug/core/output.h"
#include "debug/softgpu.h"

typedef struct dump_settings {
  char pattern[CORE_PATH_BYTES]; /* "": none */
  uint64_t budget;
  uint32_t classes, per_hour;
} dump_settings_t;

/* INVALID_ARGUMENT: it says which variable is not understood. */
RAWHAL_CHECKED rawhal_status_t dump_settings_read(dump_settings_t *settings, rawhal_error_t *error);

/* Code that is loaded on the device. */
typedef struct dump_code {
  uint64_t address, size; /* its image; 0, 0: not known */
  uint64_t delta;         /* from the object's addresses to the device's */
  rawhal_bytes_t object;  /* as it was given to be loaded */
} dump_code_t;

typedef struct dump_scene {
  const rawhal_fault_t *fault;
  const debug_scene_t *around;
  const debug_softgpu_t *softgpu; /* NULL: no waves */
  const core_agent_t *agent;
  const void *hsa_queue; /* hsa_queue_t, the beginning of an amd_queue_t; NULL: not known */
  void *context;
  /* The index-th; false: there are no more. */
  bool (*code)(void *context, size_t index, dump_code_t *code);
} dump_scene_t;

/* Writes one, where one is wanted and may be. True: `said` has the path and what is in it, or why
 * it could not be written; false: none was wanted. */
bool dump_write(const dump_settings_t *settings, const dump_scene_t *scene, char *said,
                size_t size);

#endif
