// What engines say of their kernels, and how large that makes the memory of a dispatch.
#include <hsa/hsa.h>

extern "C" {
#include "front/engine/manifest.h"
}

#include <gtest/gtest.h>

#include <string>

namespace {

hsa_kernel_dispatch_packet_t packet(uint32_t x, uint32_t y, uint32_t z, uint16_t group_x,
                                    uint16_t group_y, uint16_t group_z)
{
  hsa_kernel_dispatch_packet_t made = {};
  made.grid_size_x = x, made.grid_size_y = y, made.grid_size_z = z;
  made.workgroup_size_x = group_x, made.workgroup_size_y = group_y, made.workgroup_size_z = group_z;
  return made;
}

TEST(EngineMaps, HaveARowForEachOfALevel)
{
  const auto rows = [](engine_level_t level, const hsa_kernel_dispatch_packet_t &of,
                       uint32_t lanes = 64) {
    uint64_t count = 0;
    return engine_rows(level, &of, lanes, &count) ? static_cast<long>(count) : -1;
  };
  const auto odd =
      packet(1000, 7, 3, 60, 4, 2); // 17 x 2 x 2 groups of 480 items, which are 8 waves
  EXPECT_EQ(1, rows(ENGINE_DISPATCH, odd));
  EXPECT_EQ(68, rows(ENGINE_GROUP, odd));
  EXPECT_EQ(68 * 8, rows(ENGINE_WAVE, odd));
  EXPECT_EQ(68 * 15, rows(ENGINE_WAVE, odd, 32));
  EXPECT_EQ(68 * 480, rows(ENGINE_ITEM, odd));
  EXPECT_EQ(-1, rows(ENGINE_DISPATCH, packet(1, 1, 1, 0, 1, 1)));
  EXPECT_EQ(-1, rows(ENGINE_WAVE, odd, 0));
  EXPECT_EQ(-1, rows(ENGINE_GROUP, packet(UINT32_MAX, UINT32_MAX, 2, 1, 1, 1)));
  EXPECT_EQ(1, rows(ENGINE_DISPATCH, packet(UINT32_MAX, UINT32_MAX, 2, 1, 1, 1)));
}

TEST(EngineMaps, LieOneAfterTheOtherOrAreTooMany)
{
  engine_maps_t maps = {{{"a", ENGINE_DISPATCH, 3, 5}, {"b", ENGINE_ITEM, 4, 2}}, 2, false};
  const auto small = packet(100, 1, 1, 64, 1, 1);
  engine_places_t places;
  ASSERT_TRUE(engine_lay_out(&maps, &small, 64, &places));
  EXPECT_EQ(15u, places.sizes[0]);
  EXPECT_EQ(64u, places.offsets[1]);
  EXPECT_EQ(128u, places.rows[1]);
  EXPECT_EQ(64u + 128 * 8, places.size);
  maps.maps[0] = {"a", ENGINE_DISPATCH, 1, UINT64_MAX - 62}; // what is aligned behind it would be 0
  EXPECT_FALSE(engine_lay_out(&maps, &small, 64, &places));
  maps.maps[0] = {"a", ENGINE_DISPATCH, UINT32_MAX, UINT64_C(1) << 33};
  EXPECT_FALSE(engine_lay_out(&maps, &small, 64, &places));
  maps.maps[0] = {"a", ENGINE_ITEM, 1, UINT64_C(1) << 57};
  EXPECT_FALSE(engine_lay_out(&maps, &small, 64, &places));
  maps.maps[0] = {"a", ENGINE_DISPATCH, 1, UINT64_MAX - 127}; // the two together
  EXPECT_FALSE(engine_lay_out(&maps, &small, 64, &places));
}

// Everything that a manifest may say, and each byte of it changed or missing: it is read or not.
TEST(EngineManifest, IsReadWholeOrNotAtAll)
{
  const std::string whole = R"({"version": 1, "maps": [)"
                            R"({"name": "n", "level": "wave", "record_bytes": 8, "capacity": 9}]})";
  engine_maps_t maps;
  rawhal_error_t error;
  ASSERT_EQ(RAWHAL_OK, engine_manifest_read(whole.data(), whole.size(), &maps, &error));
  EXPECT_EQ(1u, maps.count);
  EXPECT_STREQ("n", maps.maps[0].name);
  EXPECT_EQ(ENGINE_WAVE, maps.maps[0].level);
  EXPECT_EQ(8u, maps.maps[0].record_bytes);
  EXPECT_EQ(9u, maps.maps[0].capacity);
  EXPECT_FALSE(maps.no_variables);
  const std::string none = R"({"variables": false, )" + whole.substr(1);
  ASSERT_EQ(RAWHAL_OK, engine_manifest_read(none.data(), none.size(), &maps, &error));
  EXPECT_TRUE(maps.no_variables);
  for (size_t i = 0; i < whole.size(); ++i) {
    EXPECT_NE(RAWHAL_OK, engine_manifest_read(whole.data(), i, &maps, &error)) << i;
    for (const char other : {'\0', '"', '}', '[', '9', '-', '\xff'}) {
      std::string changed = whole;
      changed[i] = other;
      if (engine_manifest_read(changed.data(), changed.size(), &maps, &error) == RAWHAL_OK) {
        EXPECT_EQ(1u, maps.count) << changed;
        EXPECT_TRUE(maps.maps[0].record_bytes && maps.maps[0].capacity && maps.maps[0].name[0]);
      }
    }
  }
}

} // namespace
