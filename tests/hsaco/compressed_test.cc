// Compressed bundles: every version and method, wherever bundles may be, and what is wrong with them.
#include "archive.h"
#include "compressed.h"
#include "container_test.h"

using build::bundle;
using build::ccob;
using build::ccob_of;

static const char *const entry = "hipv4-amdgcn-amd-amdhsa--gfx90a";

static std::string two_objects()
{
  return bundle(
      {{entry, object_for(0x53f)}, {"hipv4-amdgcn-amd-amdhsa--gfx942", object_for(0x54c)}});
}

TEST(Compressed, EveryVersionAndMethod)
{
  for (unsigned version : {1, 2, 3}) {
    for (unsigned method : {0, 1}) {
      SCOPED_TRACE(testing::Message() << "version " << version << ", method " << method);
      std::string before = object_for(0x53f), packed = ccob(version, method, two_objects());
      Container container(before + packed + std::string(16, '\0') + packed + before);
      ASSERT_EQ(RAWHAL_OK, container.status) << container.error.message;
      ASSERT_EQ(6u, container.count());
      EXPECT_EQ(object_for(0x53f), container.content(1));
      EXPECT_EQ(object_for(0x54c), container.content(2));
      EXPECT_EQ(entry, text_of(container.at(1).id));
      EXPECT_STREQ("gfx942", container.at(2).target.processor);
      EXPECT_TRUE(container.at(2).unpacked);
      EXPECT_EQ(before.size(), container.at(2).offset);
      EXPECT_EQ(before.size() + packed.size() + 16, container.at(4).offset);
      EXPECT_EQ(before, container.content(5));
      EXPECT_FALSE(container.at(5).unpacked);
      size_t index;
      EXPECT_EQ(RAWHAL_OK, container.select("gfx942", &index));
      EXPECT_EQ(2u, index);
    }
  }
}

TEST(Compressed, HoldsObjectsWithoutABundleAndBundlesHoldIt)
{
  std::string a = object_for(0x53f), b = object_for(0x54c), padding(100, '\0');
  std::string objects = ccob(2, 1, a + padding + b + padding);
  for (const std::string &bytes : {objects, bundle({{entry, objects}}), host_file(objects),
                                   host_file(objects, false), ccob(3, 0, objects)}) {
    Container container(bytes);
    ASSERT_EQ(RAWHAL_OK, container.status) << container.error.message;
    ASSERT_EQ(2u, container.count());
    EXPECT_EQ(a, container.content(0));
    EXPECT_EQ(b, container.content(1));
  }
}

TEST(Compressed, NestingEnds)
{
  std::string bytes = object_for(0x53f);
  for (int i = 0; i < 4; ++i)
    bytes = ccob(2, 1, bytes);
  EXPECT_EQ(RAWHAL_OK, Container(bytes).status);
  EXPECT_EQ(RAWHAL_CAP_EXCEEDED, Container(ccob(2, 1, bytes)).status);
}

TEST(Compressed, DamageIsReported)
{
  for (unsigned version : {1, 2, 3}) {
    for (unsigned method : {0, 1}) {
      std::string sound = ccob(version, method, two_objects());
      for (size_t size = 0; size < sound.size(); ++size)
        ASSERT_NE(RAWHAL_OK, Container(sound.substr(0, size)).status) << size;
      for (int64_t off : {-1, 1}) { // claims less, more than there is
        std::string packed =
            method == 0 ? build::zlib_packed(two_objects()) : build::zstd_packed(two_objects());
        Container container(
            ccob_of(version, method, packed, two_objects().size() + static_cast<uint64_t>(off)));
        EXPECT_EQ(RAWHAL_MALFORMED, container.status);
        EXPECT_TRUE(contains(container.error.message, "damaged")) << container.error.message;
      }
    }
  }
  std::string packed = ccob(2, 0, two_objects());
  packed[packed.size() / 2] ^= 0x55; // zlib's checksum at least
  EXPECT_EQ(RAWHAL_MALFORMED, Container(packed).status);
  packed = ccob(2, 1, two_objects());
  packed[8] = static_cast<char>(packed[8] + 1); // longer than what is there
  EXPECT_EQ(RAWHAL_MALFORMED, Container(packed).status);
  EXPECT_EQ(RAWHAL_MALFORMED, Container(ccob(2, 1, "")).status);
  Container junk(ccob(2, 1, "neither one nor the other"));
  EXPECT_EQ(RAWHAL_MALFORMED, junk.status);
  EXPECT_TRUE(contains(junk.error.message, "inside a compressed bundle")) << junk.error.message;
}

// Three bundles, each of nearly all that may be held; nested ones, and archives, likewise.
TEST(Compressed, OneIsHeldAtATime)
{
  const std::string zeros(600000, '\0');
  const std::string objects[] = {object_for(0x53f), object_for(0x54c), object_for(0x54f)};
  std::string section;
  for (const std::string &one : objects) {
    section += ccob(2, 1, ccob(2, 0, bundle({{entry, one}}) + zeros)); // one in the other
    section.resize((section.size() + 4095) / 4096 * 4096);
  }
  std::vector<build::ArchiveEntry> entries;
  for (size_t i = 0; i < 4; ++i)
    entries.push_back({"a.so#" + std::to_string(i), "gfx", objects[i % 3] + zeros});
  rawhal_container_options_t options = {};
  options.max_unpacked_bytes = 700000;
  EXPECT_EQ(RAWHAL_CAP_EXCEEDED, Container(host_file(section), options).status);
  options.flags = RAWHAL_CONTAINER_HOLD_ONE;
  {
    Container container(host_file(section), options);
    ASSERT_EQ(RAWHAL_OK, container.status) << container.error.message;
    ASSERT_EQ(3u, container.count());
    for (size_t i : {0, 1, 2, 0, 2, 2, 1}) {
      EXPECT_EQ(nullptr, container.at(i).bytes.data);
      EXPECT_EQ(entry, text_of(container.at(i).id));
      EXPECT_EQ(objects[i], container.read(i));
    }
    rawhal_bytes_t bytes = {"", 1};
    EXPECT_EQ(RAWHAL_INVALID_ARGUMENT,
              rawhal_container_read(container.container, 3, &bytes, nullptr));
    EXPECT_EQ(nullptr, bytes.data);
  }
  {
    Container container(build::archive(entries, true), options);
    ASSERT_EQ(RAWHAL_OK, container.status) << container.error.message;
    ASSERT_EQ(4u, container.count());
    for (size_t i : {0, 2, 3, 1})
      EXPECT_EQ(objects[i % 3], container.read(i));
  }
  options.size = sizeof(options);
  options.max_unpacked_total = 1500000; // two of them
  Container total(host_file(section), options);
  EXPECT_EQ(RAWHAL_CAP_EXCEEDED, total.status);
  EXPECT_TRUE(contains(total.error.message, "max_unpacked_total")) << total.error.message;
}

TEST(Compressed, ClaimsAndBombsMeetTheLimit)
{
  rawhal_container_options_t options = {};
  options.max_unpacked_bytes = 1 << 20;
  std::string bomb = ccob(2, 1, std::string(2 << 20, '\0')); // a few hundred bytes
  EXPECT_LT(bomb.size(), 4096u);
  Container container(bomb, options);
  EXPECT_EQ(RAWHAL_CAP_EXCEEDED, container.status);
  EXPECT_TRUE(contains(container.error.message, "max_unpacked_bytes"));
  for (uint64_t claim : {uint64_t{1} << 40, UINT64_MAX, UINT64_MAX - 8})
    EXPECT_EQ(RAWHAL_CAP_EXCEEDED, Container(ccob_of(3, 1, "x", claim)).status) << claim;
  // A table whose entries all name the same bytes pays for each.
  std::string big = ccob(2, 1, object_for(0x53f) + std::string(200000, '\0'));
  std::string shared =
      bundle({{entry, big}, {entry, ""}, {entry, ""}, {entry, ""}, {entry, ""}}, 8);
  for (size_t i = 1; i < 5; ++i)
    memcpy(&shared[32 + i * (24 + strlen(entry))], &shared[32], 16);
  EXPECT_EQ(RAWHAL_OK, Container(shared).status);
  EXPECT_EQ(5u, Container(shared).count());
  options.max_unpacked_bytes = 900000;
  EXPECT_EQ(RAWHAL_CAP_EXCEEDED, Container(shared, options).status);
}
