// Any bytes as what a probe engine says of its kernel's maps, laid out for a dispatch of a size that the last bytes say.
// What is read has maps that a trace can describe, and they lie apart.
#include <cstdint>
#include <cstring>
#include <initializer_list>

#include <hsa/hsa.h>

extern "C" {
#include "front/engine/manifest.h"
}

static void check(bool holds)
{
  if (!holds)
    __builtin_trap();
}

static void check_maps(const engine_maps_t &maps)
{
  check(maps.count >= 1 && maps.count <= ENGINE_MAPS);
  for (uint32_t i = 0; i < maps.count; ++i) {
    const engine_map_t &map = maps.maps[i];
    check(map.name[0] && memchr(map.name, 0, sizeof(map.name)) && map.level <= ENGINE_ITEM);
    check(map.record_bytes && map.capacity && map.capacity <= INT64_MAX);
  }
}

static void check_places(const engine_maps_t &maps, const hsa_kernel_dispatch_packet_t &packet)
{
  using wide = unsigned __int128;
  engine_places_t places;
  if (!engine_lay_out(&maps, &packet, 64, &places))
    return;
  uint64_t end = 0;
  for (uint32_t i = 0; i < maps.count; ++i) {
    check(places.offsets[i] % 64 == 0 && places.offsets[i] >= end);
    check(wide{places.rows[i]} * maps.maps[i].capacity * maps.maps[i].record_bytes ==
          places.sizes[i]);
    check(!__builtin_add_overflow(places.offsets[i], places.sizes[i], &end));
  }
  check(end == places.size);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  uint32_t grid[3] = {1000, 7, 1};
  uint16_t group[3] = {64, 2, 1};
  const size_t behind = size > sizeof(grid) + sizeof(group) ? sizeof(grid) + sizeof(group) : 0;
  memcpy(grid, data + size - behind, behind ? sizeof(grid) : 0);
  memcpy(group, data + size - behind + (behind ? sizeof(grid) : 0), behind ? sizeof(group) : 0);
  hsa_kernel_dispatch_packet_t packet = {};
  packet.grid_size_x = grid[0], packet.grid_size_y = grid[1], packet.grid_size_z = grid[2];
  packet.workgroup_size_x = group[0], packet.workgroup_size_y = group[1];
  packet.workgroup_size_z = group[2];
  for (const size_t length : {size, size - behind}) {
    engine_maps_t maps;
    rawhal_error_t error = {};
    const rawhal_status_t status = engine_manifest_read(data, length, &maps, &error);
    check(status == RAWHAL_OK || *error.message);
    if (status != RAWHAL_OK)
      continue;
    check_maps(maps);
    check_places(maps, packet);
  }
  return 0;
}
