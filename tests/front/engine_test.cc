// What engines say of their kernels, and how large that makes the memory of a dispatch.
#include <hsa/hsa.h>

extern "C" {
#include "front/engine/manifest.h"
}

#include "tests/limit/schema.h"

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <sstream>
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

struct JsonFree {
  void operator()(json_t *value) const { json_decref(value); }
};
using Json = std::unique_ptr<json_t, JsonFree>;

std::string TextOf(const char *name)
{
  std::ifstream file(std::string(RAWHAL_SOURCE_DIR "/docs/") + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// What is read is what the schema describes, and the example in the guide is.
TEST(EngineManifest, IsWhatItsSchemaDescribes)
{
  const Json schema(
      json_load_file(RAWHAL_SOURCE_DIR "/docs/probe-manifest.schema.json", 0, nullptr));
  ASSERT_TRUE(schema);
  const auto is_read = [](const std::string &text) {
    engine_maps_t maps;
    return engine_manifest_read(text.data(), text.size(), &maps, nullptr) == RAWHAL_OK;
  };
  const auto is_described = [&](const std::string &text) {
    const Json document(json_loadb(text.data(), text.size(), 0, nullptr));
    return document && Violation(schema.get(), document.get()).empty();
  };
  const std::string guide = TextOf("probe-engine.md");
  const size_t begin = guide.find("    {\"version\""), end = guide.find("]}\n", begin);
  ASSERT_NE(std::string::npos, end);
  const std::string example = guide.substr(begin, end + 2 - begin);
  EXPECT_TRUE(is_read(example) && is_described(example)) << example;
  const std::string name63(63, 'n'), name = R"("name": "n")", level = R"("level": "item")",
                                     bytes = R"("record_bytes": 8)", capacity = R"("capacity": 1)";
  const auto map = [](const std::string &a, const std::string &b, const std::string &c,
                      const std::string &d) { return "{" + a + "," + b + "," + c + "," + d + "}"; };
  const std::string good = map(name, level, bytes, capacity);
  const auto whole = [](const std::string &maps, const std::string &more = R"("version": 1)") {
    return "{" + more + R"(, "maps": [)" + maps + "]}";
  };
  std::string sixteen = good;
  for (int i = 1; i < 16; ++i)
    sixteen += "," + good;
  for (const std::string &text :
       {whole(good), whole(sixteen), whole(good, R"("version": 1, "variables": true)"),
        whole(map(R"("name": ")" + name63 + "\"", level, bytes, capacity)),
        whole(map(name, R"("level": "wave")", bytes, capacity)),
        whole(map(name, R"("level": "work-group")", bytes, capacity)),
        whole(map(name, R"("level": "dispatch")", bytes, capacity)),
        whole(map(name, level, R"("record_bytes": 4294967295)", capacity)),
        whole(map(name, level, bytes, R"("capacity": 9223372036854775807)"))})
    EXPECT_TRUE(is_read(text) && is_described(text)) << text;
  for (const std::string &text :
       {whole(""), whole(sixteen + "," + good), whole(good, R"("version": 2)"),
        whole(good, R"("version": 1, "variables": 0)"), whole(good, R"("version": 1, "more": 0)"),
        whole(R"({"name": "n"})"), whole("1"), std::string("[]"), std::string("{\"version\": 1}"),
        whole(map(R"("name": "")", level, bytes, capacity)),
        whole(map(R"("name": ")" + name63 + "n\"", level, bytes, capacity)),
        whole(map(R"("name": 1)", level, bytes, capacity)),
        whole(map(name, R"("level": "lane")", bytes, capacity)),
        whole(map(name, level, R"("record_bytes": 0)", capacity)),
        whole(map(name, level, R"("record_bytes": 4294967296)", capacity)),
        whole(map(name, level, R"("record_bytes": 8.0)", capacity)),
        whole(map(name, level, bytes, R"("capacity": 0)")),
        whole(map(name, level, bytes, R"("capacity": 1, "more": 1)"))})
    EXPECT_FALSE(is_read(text) || is_described(text)) << text;
}

} // namespace
