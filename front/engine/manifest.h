/* What an engine says of the kernel that it has made: the maps that it takes as additional
 * arguments. Internal. docs/probe-engine.md has the form.
 *
 * Thread-safety: a value. */
#ifndef RAWHAL_FRONT_ENGINE_MANIFEST_H
#define RAWHAL_FRONT_ENGINE_MANIFEST_H

#include "front/remap.h"

#include <hsa/hsa.h>

enum { ENGINE_MAPS = REMAP_EXTRAS, ENGINE_MAP_NAME = 64, ENGINE_MANIFEST_BYTES = 65536 };

/* Of what a map has a row for each. */
typedef enum engine_level {
  ENGINE_DISPATCH = 0,
  ENGINE_GROUP = 1,
  ENGINE_WAVE = 2,
  ENGINE_ITEM = 3,
} engine_level_t;

typedef struct engine_map {
  char name[ENGINE_MAP_NAME];
  engine_level_t level;
  uint32_t record_bytes;
  uint64_t capacity; /* records of a row */
} engine_map_t;

typedef struct engine_maps {
  engine_map_t maps[ENGINE_MAPS];
  uint32_t count;
  bool no_variables; /* the kernel uses none of its code object's: so the engine says */
} engine_maps_t;

/* INVALID_ARGUMENT, with what is wrong; UNSUPPORTED: there is no jansson. */
RAWHAL_CHECKED rawhal_status_t engine_manifest_read(const void *text, size_t size,
                                                    engine_maps_t *maps, rawhal_error_t *error);

/* Where the maps of a dispatch are, from the first byte of their memory on, each aligned to 64. */
typedef struct engine_places {
  uint64_t rows[ENGINE_MAPS], offsets[ENGINE_MAPS], sizes[ENGINE_MAPS];
  uint64_t size; /* of all */
} engine_places_t;

/* False: so many there are that they cannot be counted, or there is no work-group. */
bool engine_rows(engine_level_t level, const hsa_kernel_dispatch_packet_t *packet,
                 uint32_t wave_lanes, uint64_t *rows);
/* False: that, or of all maps together. */
bool engine_lay_out(const engine_maps_t *maps, const hsa_kernel_dispatch_packet_t *packet,
                    uint32_t wave_lanes, engine_places_t *places);

#endif
