/* Someone else's engine: a program that puts probes into kernels, by whatever means. Internal.
 *
 *     manifest  which maps its kernel writes, and where they are in a dispatch's memory
 *     program   how it is run
 *     engine    from a kernel to the engine's, in a folder for each; a dispatch of it
 *     trace     the file of what maps had in them; who is told when it is finished
 *
 * docs/probe-engine.md has what an engine gets and gives. Who decides which kernels and dispatches
 * is front/probe/; nothing here trusts what the engine has made further than a program that loads
 * it would.
 *
 * Thread-safety: engines are made by one thread at a time and then immutable. */
#ifndef RAWHAL_FRONT_ENGINE_ENGINE_H
#define RAWHAL_FRONT_ENGINE_ENGINE_H

#include "front/engine/manifest.h"
#include "front/instead.h"

/* A kernel that an engine has put probes into, loaded. */
typedef struct engine {
  replacement_file_t *file;
  instead_t instead;
  engine_maps_t maps;
  uint32_t lanes; /* of a wave */
} engine_t;

/* The folder for all of them, which is made if its parent is there. Fails as file_failure(). */
RAWHAL_CHECKED rawhal_status_t engine_folder_open(const char *path, rawhal_error_t *error);
const char *engine_folder(void);

typedef struct engine_subject {
  const front_device_t *device;
  const front_kernel_t *kernel;
  uint64_t kernel_object;
  const char *program; /* the engine */
  const char *about;   /* all that its work depends on */
  uint64_t limit;      /* ns that it may take */
  uint64_t buffer;     /* bytes that a dispatch's maps may have */
  bool (*stop)(void);
} engine_subject_t;

/* What was made of the same before is used again. Errors of engine_program_run(), TIMED_OUT and
 * RUNTIME, may not come again; others will: UNSUPPORTED, MALFORMED, INVALID_ARGUMENT, NOT_FOUND and
 * OUT_OF_RANGE for what it cannot be used for, and why. */
RAWHAL_CHECKED rawhal_status_t engine_create(const engine_subject_t *subject, engine_t **engine,
                                             rawhal_error_t *error);
void engine_destroy(engine_t *engine); /* NULL is allowed; nothing of it runs */

/* Changes the packet, whose maps are at `memory`, zeros. Fails as instead_dispatch(). */
RAWHAL_CHECKED rawhal_status_t engine_dispatch(const engine_t *engine, const front_device_t *device,
                                               const engine_places_t *places, const char *memory,
                                               hsa_kernel_dispatch_packet_t *packet, void **block,
                                               rawhal_error_t *error);

#endif
