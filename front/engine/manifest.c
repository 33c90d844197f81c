#include "front/engine/manifest.h"

#include "base/checked.h"
#include "base/error.h"
#include "base/jansson.h"

#include <string.h>

static const char *const levels[] = {[ENGINE_DISPATCH] = "dispatch",
                                     [ENGINE_GROUP] = "work-group",
                                     [ENGINE_WAVE] = "wave",
                                     [ENGINE_ITEM] = "item"};

/* ---- Reading ---- */

static bool read_number(const json_t *value, uint64_t most, uint64_t *number)
{
  const json_int_t given = json_is_integer(value) ? jansson.integer_value(value) : 0;
  *number = (uint64_t)given;
  return given > 0 && *number <= most;
}

static bool read_name(const json_t *value, char name[ENGINE_MAP_NAME])
{
  const char *text = jansson.string_value(value);
  const size_t length = text ? jansson.string_length(value) : 0;
  if (!length || length >= ENGINE_MAP_NAME || strlen(text) != length)
    return false;
  memcpy(name, text, length);
  return true;
}

static bool read_level(const json_t *value, engine_level_t *level)
{
  const char *text = jansson.string_value(value);
  for (size_t i = 0; text && i < sizeof(levels) / sizeof(*levels); ++i)
    if (strcmp(text, levels[i]) == 0) {
      *level = (engine_level_t)i;
      return true;
    }
  return false;
}

static bool read_map(const json_t *object, engine_map_t *map)
{
  enum { MEMBERS = 4 };
  uint64_t bytes;
  if (jansson.object_size(object) != MEMBERS ||
      !read_name(jansson.object_get(object, "name"), map->name) ||
      !read_level(jansson.object_get(object, "level"), &map->level) ||
      !read_number(jansson.object_get(object, "record_bytes"), UINT32_MAX, &bytes) ||
      !read_number(jansson.object_get(object, "capacity"), INT64_MAX, &map->capacity))
    return false;
  map->record_bytes = (uint32_t)bytes;
  return true;
}

static rawhal_status_t read_maps(const json_t *root, engine_maps_t *maps, rawhal_error_t *error)
{
  const json_t *version = jansson.object_get(root, "version"),
               *list = jansson.object_get(root, "maps"),
               *variables = jansson.object_get(root, "variables");
  const size_t count = json_is_array(list) ? jansson.array_size(list) : 0;
  if (!json_is_integer(version) || jansson.integer_value(version) != 1)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "the manifest's \"version\" is not 1");
  if (!count || count > ENGINE_MAPS || (variables && !json_is_boolean(variables)) ||
      jansson.object_size(root) != (variables ? 3 : 2))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "the manifest is not a \"version\", 1 to %d \"maps\" and, true or false, "
                       "\"variables\" alone",
                       ENGINE_MAPS);
  maps->no_variables = json_is_false(variables);
  for (; maps->count < count; ++maps->count)
    if (!read_map(jansson.array_get(list, maps->count), &maps->maps[maps->count]))
      return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                         "the manifest's map %u: expected a \"name\" of 1 to %d bytes, a \"level\" "
                         "(item, wave, work-group or dispatch), \"record_bytes\" and \"capacity\", "
                         "numbers above 0, alone",
                         maps->count, ENGINE_MAP_NAME - 1);
  return RAWHAL_OK;
}

rawhal_status_t engine_manifest_read(const void *text, size_t size, engine_maps_t *maps,
                                     rawhal_error_t *error)
{
  json_error_t where;
  *maps = (engine_maps_t){0};
  rawhal_status_t status = jansson_open(error);
  if (status != RAWHAL_OK)
    return status;
  json_t *root = jansson.loadb(size ? text : "", size, JSON_REJECT_DUPLICATES, &where);
  if (!root)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "the manifest's line %d, column %d: %s",
                       where.line, where.column, where.text);
  status = read_maps(root, maps, error);
  jansson.delete(root);
  return status;
}

/* ---- Using ---- */

bool engine_rows(engine_level_t level, const hsa_kernel_dispatch_packet_t *packet,
                 uint32_t wave_lanes, uint64_t *rows)
{
  const uint32_t items[] = {packet->grid_size_x, packet->grid_size_y, packet->grid_size_z};
  const uint16_t group[] = {packet->workgroup_size_x, packet->workgroup_size_y,
                            packet->workgroup_size_z};
  const uint64_t size = (uint64_t)group[0] * group[1] * group[2];
  if (!size || !wave_lanes)
    return false;
  *rows = level == ENGINE_ITEM ? size : level == ENGINE_WAVE ? (size - 1) / wave_lanes + 1 : 1;
  for (size_t i = 0; level != ENGINE_DISPATCH && i < 3; ++i)
    if (!checked_mul_u64(*rows, (items[i] + (uint64_t)group[i] - 1) / group[i], rows))
      return false;
  return true;
}

bool engine_lay_out(const engine_maps_t *maps, const hsa_kernel_dispatch_packet_t *packet,
                    uint32_t wave_lanes, engine_places_t *places)
{
  enum { ALIGNMENT = 64 };
  places->size = 0;
  for (uint32_t i = 0; i < maps->count; ++i) {
    const engine_map_t *map = &maps->maps[i];
    if (!checked_align_u64(places->size, ALIGNMENT, &places->offsets[i]) ||
        !engine_rows(map->level, packet, wave_lanes, &places->rows[i]) ||
        !checked_mul_u64(places->rows[i], map->capacity, &places->sizes[i]) ||
        !checked_mul_u64(places->sizes[i], map->record_bytes, &places->sizes[i]) ||
        !checked_add_u64(places->offsets[i], places->sizes[i], &places->size))
      return false;
  }
  return true;
}
