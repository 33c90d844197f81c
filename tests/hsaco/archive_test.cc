// kpack archives: both schemes, what is listed of them, and everything that may be wrong with them.
#include "archive.h"
#include "carriers.h"
#include "container_test.h"

using build::archive;
using build::archive_entry;
using build::archive_of;
using build::ArchiveEntry;
using build::little;
using build::Pack;
using build::Store;

static const std::string gfx90a = object_for(0x53f), gfx942 = object_for(0x54c),
                         xnack_off = object_for(0x64c), xnack_on = object_for(0x74c);

static std::vector<ArchiveEntry> some_entries()
{
  return {{"lib/librocrand.so.1#0", "gfx90a", gfx90a},
          {"lib/librocrand.so.1#0", "gfx942:xnack-", xnack_off},
          {"lib/librocrand.so.1#0", "gfx942:xnack+", xnack_on},
          {"lib/librocrand.so.1#1", "gfx90a", gfx90a},
          {"lib/libhiprand.so.1#0", "gfx942", gfx942}};
}

static void expect_refusal(const std::string &bytes, rawhal_status_t status, const char *text)
{
  Container container(bytes);
  EXPECT_EQ(status, container.status) << text;
  EXPECT_TRUE(contains(container.error.message, text)) << container.error.message;
  if (status == RAWHAL_MALFORMED) {
    EXPECT_LE(container.error.offset, bytes.size()) << text;
  }
}

static void expect_entry(const Container &container, size_t i, const ArchiveEntry &entry)
{
  const rawhal_container_object_t &object = container.at(i);
  EXPECT_TRUE(object.readable) << text_of(object.why_not);
  EXPECT_EQ(entry.object, container.content(i));
  EXPECT_EQ(entry.binary, text_of(object.binary));
  EXPECT_EQ(entry.arch, text_of(object.id));
}

TEST(Archive, ListsWhatWentIn)
{
  const std::vector<ArchiveEntry> entries = some_entries();
  for (bool zstd : {false, true}) {
    SCOPED_TRACE(zstd);
    std::string bytes = archive(entries, zstd);
    Container container(bytes);
    ASSERT_EQ(RAWHAL_OK, container.status) << container.error.message;
    ASSERT_EQ(entries.size(), container.count());
    for (size_t i = 0; i < entries.size(); ++i) {
      const rawhal_container_object_t &object = container.at(i);
      expect_entry(container, i, entries[i]);
      EXPECT_EQ(i, object.ordinal);
      EXPECT_EQ(zstd, object.unpacked);
      // What is stored as it is can be found in the file; of a frame, where it starts.
      std::string there = bytes.substr(object.offset, zstd ? 4 : entries[i].object.size());
      EXPECT_EQ(zstd ? "\x28\xb5\x2f\xfd" : entries[i].object, there);
      rawhal_hsaco_t *hsaco = nullptr;
      EXPECT_EQ(RAWHAL_OK, rawhal_hsaco_open(object.bytes.data, object.bytes.size, nullptr, &hsaco,
                                             &container.error));
      rawhal_hsaco_close(hsaco);
    }
    size_t index;
    EXPECT_EQ(RAWHAL_OK, container.select("gfx90a:sramecc+:xnack+", &index));
    EXPECT_EQ(0u, index);
    EXPECT_EQ(RAWHAL_OK, container.select("gfx942:sramecc+:xnack+", &index));
    EXPECT_EQ(2u, index); // made for the setting, before the one that runs with either
    EXPECT_EQ(RAWHAL_TARGET_MISMATCH, container.select("gfx1100", &index));
    EXPECT_TRUE(contains(container.error.message, "gfx942:xnack+")) << container.error.message;
  }
}

TEST(Archive, TheEmptyOneAndSeveral)
{
  for (bool zstd : {false, true}) {
    std::string one = archive({{"a#0", "gfx90a", gfx90a}}, zstd);
    EXPECT_EQ(RAWHAL_NOT_FOUND, Container(archive({}, zstd)).status);
    Container several(one + one + std::string(100, '\0') + gfx942 + one);
    ASSERT_EQ(RAWHAL_OK, several.status) << several.error.message;
    ASSERT_EQ(4u, several.count());
    EXPECT_EQ(gfx90a, several.content(1));
    EXPECT_EQ(one.size() + several.at(0).offset, several.at(1).offset);
    EXPECT_EQ(gfx942, several.content(2));
    EXPECT_EQ(0u, several.at(2).binary.size);
    EXPECT_EQ(gfx90a, several.content(3));
    expect_refusal(one + "junk", RAWHAL_MALFORMED, "neither a code object nor a known container");
  }
}

// A table may stand before what it lists, and needs no more than `toc` and where things are.
TEST(Archive, TheLeastATableHas)
{
  Pack table, entry;
  table.map(2).str("blobs").array(1).map(2).str("size").number(gfx90a.size()).str("offset");
  std::string rest =
      Pack().str("toc").map(1).str("k").map(1).str("gfx90a").map(1).str("ordinal").number(0).bytes;
  std::string header = "KPAK" + little(1, 4) + little(16, 8);
  uint8_t at = static_cast<uint8_t>(16 + table.bytes.size() + 1 + rest.size());
  ASSERT_LT(at, 0x80);
  Container container(header + table.number(at).bytes + rest + gfx90a + std::string(8, '\0'));
  ASSERT_EQ(RAWHAL_OK, container.status) << container.error.message;
  ASSERT_EQ(1u, container.count());
  EXPECT_EQ(gfx90a, container.content(0));
  EXPECT_EQ("k", text_of(container.at(0).binary));
  EXPECT_EQ(at, container.at(0).offset);
}

// Several names for one ordinal: read once, listed for each.
TEST(Archive, OrdinalsMayHaveSeveralNames)
{
  for (bool zstd : {false, true}) {
    Store store(zstd);
    store.add(gfx90a);
    Pack root;
    root.map(1 + Store::keys(zstd)).str("toc").map(2);
    for (const char *name : {"a#0", "b#0"})
      root.str(name)
          .map(2)
          .str("gfx90a")
          .raw(archive_entry(0, gfx90a.size()).bytes)
          .str("gfx942")
          .raw(archive_entry(0, gfx90a.size()).bytes);
    store.describe(root);
    Container container(archive_of(store.bytes(), root.bytes));
    ASSERT_EQ(RAWHAL_OK, container.status) << container.error.message;
    ASSERT_EQ(4u, container.count());
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(container.at(0).bytes.data, container.at(i).bytes.data);
      EXPECT_EQ(i < 2 ? "a#0" : "b#0", text_of(container.at(i).binary));
      EXPECT_EQ(i % 2 == 0, container.at(i).readable); // it is not for gfx942
    }
  }
}

TEST(Archive, TargetsAreCheckedAgainstTheElf)
{
  const struct {
    const char *arch;
    const std::string &object;
    bool readable;
  } cases[] = {
      {"gfx90a", gfx90a, true},
      {"gfx90a:xnack+", gfx90a, true}, // runs with either setting
      {"amdgcn-amd-amdhsa--gfx942:xnack-", xnack_off, true},
      {"gfx942", xnack_off, true},
      {"gfx942:xnack+", xnack_off, false},
      {"gfx942", gfx90a, false},
      {"gfx90a", gfx942, false},
      {"gfx9999", gfx90a, true}, // says nothing that could be checked
      {"", gfx90a, true},
  };
  for (const auto &one : cases) {
    Container container(archive({{"a#0", one.arch, one.object}}, false));
    ASSERT_EQ(RAWHAL_OK, container.status) << container.error.message;
    EXPECT_EQ(one.readable, container.at(0).readable) << one.arch;
    if (!one.readable) {
      EXPECT_TRUE(contains(text_of(container.at(0).why_not), one.arch));
    }
  }
}

TEST(Archive, OtherTypesAndDamagedObjectsAreListed)
{
  for (bool zstd : {false, true}) {
    Store store(zstd);
    store.add("SPIR-V, say");
    store.add("no ELF");
    store.add(gfx90a + std::string(60, '\0'));
    Pack root;
    root.map(1 + Store::keys(zstd)).str("toc").map(1).str("a#0").map(3).str("amdgcnspirv").map(2);
    root.str("type").str("spirv").str("ordinal").number(0);
    root.str("gfx942").raw(archive_entry(1, 6).bytes);
    root.str("gfx90a").raw(archive_entry(2, gfx90a.size() + 60).bytes);
    store.describe(root);
    Container container(archive_of(store.bytes(), root.bytes));
    ASSERT_EQ(RAWHAL_OK, container.status) << container.error.message;
    ASSERT_EQ(3u, container.count());
    EXPECT_FALSE(container.at(0).readable);
    EXPECT_TRUE(contains(text_of(container.at(0).why_not), "'spirv'"));
    EXPECT_FALSE(container.at(1).readable);
    EXPECT_EQ("no ELF", container.content(1));
    EXPECT_TRUE(container.at(2).readable);
    EXPECT_EQ(gfx90a, container.content(2)); // without what fills it up
  }
}

TEST(Archive, WhatIsNotReadHereIsRefused)
{
  std::string sound = archive(some_entries(), false), later = sound, table = sound, scheme = sound;
  later[4] = 2;
  expect_refusal(later, RAWHAL_UNSUPPORTED, "KPAK");
  table[sound.find("format_version") + 14] = 2;
  expect_refusal(table, RAWHAL_UNSUPPORTED, "version");
  scheme.replace(sound.find("none"), 4, "zlib");
  expect_refusal(scheme, RAWHAL_UNSUPPORTED, "scheme");
  // An archive's own entries are code objects, and nothing else.
  Container nested(archive({{"a#0", "gfx90a", sound}}, true));
  ASSERT_EQ(RAWHAL_OK, nested.status);
  EXPECT_FALSE(nested.at(0).readable);
}

// Inside of other carriers, offsets are the outermost file's: of the object itself, or of the
// outermost compressed bytes that it was unpacked from.
TEST(Archive, InOtherCarriers)
{
  using namespace build;
  const auto entries = some_entries();
  for (bool zstd : {false, true}) {
    const std::string sound = archive(entries, zstd), frame = "\x28\xb5\x2f\xfd";
    const std::string bundled = bundle({{"hip-amdgcn-amd-amdhsa--gfx90a", sound}});
    const struct {
      const char *what;
      std::string bytes, member, start; // what is at the offset; empty: the object
    } cases[] = {
        {"ar", ar_archive({{"odd", "x"}, {"librocrand.kpack", sound}}), "librocrand.kpack",
         zstd ? frame : ""},
        {"ar in ar", ar_archive({{"out.a", ar_archive({{"in.kpack", sound}})}}), "in.kpack",
         zstd ? frame : ""},
        {"bundle", bundled, "", zstd ? frame : ""},
        {"host file", host_file(sound), "", zstd ? frame : ""},
        {"section of an object in ar",
         ar_archive({{"host.o", host_object({{".hip_fatbin", sound}})}}), "host.o",
         zstd ? frame : ""},
        {"CCOB", ccob(2, 1, sound), "", "CCOB"},
        {"CCOB in an object in ar",
         ar_archive({{"host.o", host_object({{".hip_fatbin", ccob(3, 1, bundled)}})}}), "host.o",
         "CCOB"},
    };
    for (const auto &one : cases) {
      SCOPED_TRACE(std::string(one.what) + (zstd ? ", zstd" : ""));
      Container container(one.bytes);
      ASSERT_EQ(RAWHAL_OK, container.status) << container.error.message;
      ASSERT_EQ(entries.size(), container.count());
      for (size_t i = 0; i < entries.size(); ++i) {
        const rawhal_container_object_t &object = container.at(i);
        expect_entry(container, i, entries[i]);
        EXPECT_EQ(one.member, text_of(object.member));
        EXPECT_EQ(!one.start.empty(), object.unpacked);
        const std::string &at = one.start.empty() ? entries[i].object : one.start;
        EXPECT_EQ(at, one.bytes.substr(object.offset, at.size()));
      }
    }
  }
}

// Two that stand back to back in a member, and one that is damaged beside one that is not.
TEST(Archive, SeveralInAnArArchive)
{
  const auto entries = some_entries();
  const std::string sound = archive(entries, false);
  Container two(build::ar_archive({{"two", sound + archive(entries, true)}, {"c.co", gfx942}}));
  ASSERT_EQ(RAWHAL_OK, two.status) << two.error.message;
  EXPECT_EQ(2 * entries.size() + 1, two.count());
  Container cut(build::ar_archive({{"cut", sound.substr(0, sound.size() - 9)}, {"whole", sound}}));
  ASSERT_EQ(RAWHAL_OK, cut.status) << cut.error.message;
  ASSERT_EQ(entries.size() + 1, cut.count());
  EXPECT_FALSE(cut.at(0).readable);
  EXPECT_TRUE(contains(text_of(cut.at(0).why_not), "table of contents"))
      << text_of(cut.at(0).why_not);
  EXPECT_EQ(entries[0].object, cut.content(1));
}

/* ---- Damage ---- */

TEST(Archive, EveryPrefixIsRefused)
{
  for (bool zstd : {false, true}) {
    std::string sound = archive(some_entries(), zstd);
    for (size_t size = 0; size < sound.size(); ++size) {
      Container container(sound.substr(0, size));
      ASSERT_EQ(RAWHAL_MALFORMED, container.status) << size;
      ASSERT_LE(container.error.offset, size);
    }
  }
}

// Whatever one byte becomes: no crash, and what is listed lies where it may.
TEST(Archive, EveryByteMayBeWrong)
{
  for (bool zstd : {false, true}) {
    std::string sound = archive({{"a#0", "gfx90a", gfx90a}, {"a#0", "gfx942", gfx942}}, zstd);
    for (size_t at = 0; at < sound.size(); ++at) {
      for (unsigned flip : {0x01u, 0x80u, 0x55u, 0xffu}) {
        std::string bytes = sound;
        bytes[at] = static_cast<char>(static_cast<unsigned char>(bytes[at]) ^ flip);
        Container container(bytes);
        const char *start = container.bytes.data.get();
        ASSERT_EQ(container.status == RAWHAL_OK, container.container != nullptr);
        for (size_t i = 0; i < container.count(); ++i) {
          const rawhal_container_object_t &object = container.at(i);
          ASSERT_EQ(object.readable, object.why_not.size == 0) << at;
          if (!object.unpacked) {
            ASSERT_EQ(start + object.offset, object.bytes.data) << at;
            ASSERT_LE(object.offset + object.bytes.size, bytes.size()) << at;
          }
        }
      }
    }
  }
}

TEST(Archive, HeaderFieldsAreNotTrusted)
{
  std::string sound = archive(some_entries(), true);
  for (uint64_t offset : {uint64_t{0}, uint64_t{15}, uint64_t{sound.size()},
                          uint64_t{sound.size() + 1}, UINT64_MAX}) {
    std::string bytes = sound;
    memcpy(&bytes[8], &offset, sizeof(offset));
    expect_refusal(bytes, RAWHAL_MALFORMED, "table of contents at offset");
  }
}

namespace {
// An archive of one object whose table is sound but for what a test changes.
struct Damaged {
  bool zstd = false;
  std::string stored = zstd ? "" : gfx90a; // before the table
  Pack blob = Pack().map(2).str("offset").number(64).str("size").number(gfx90a.size());
  Pack entry = archive_entry(0, gfx90a.size());
  Pack toc = Pack().map(1).str("a#0").map(1).str("gfx90a");
  Pack where;         // instead of `blobs`
  uint32_t extra = 0; // keys in `more`
  Pack more;
  uint32_t where_keys = 0;

  std::string build() const
  {
    Pack root;
    root.map(2 + (where_keys ? where_keys : 1) + extra).str("compression_scheme");
    root.str(zstd ? "zstd-per-kernel" : "none").str("toc").raw(toc.bytes).raw(entry.bytes);
    if (where_keys)
      root.raw(where.bytes);
    else
      root.str("blobs").array(1).raw(blob.bytes);
    return archive_of(stored, root.raw(more.bytes).bytes);
  }
};

// The same with one frame, in a part of `size` bytes of which the table speaks.
Damaged frames(const std::string &stored, uint64_t size)
{
  Damaged damaged;
  damaged.zstd = true;
  damaged.stored = stored;
  damaged.where.str("zstd_offset").number(64).str("zstd_size").number(size);
  damaged.where_keys = 2;
  return damaged;
}
Damaged frames(const std::string &stored)
{
  return frames(stored, stored.size());
}
std::string framed(const std::string &frame)
{
  return little(frame.size(), 4) + frame;
}
std::string without_size(const std::string &plain)
{
  std::string packed(ZSTD_compressBound(plain.size()), '\0');
  ZSTD_CCtx *context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
  packed.resize(ZSTD_compress2(context, &packed[0], packed.size(), plain.data(), plain.size()));
  ZSTD_freeCCtx(context);
  return packed;
}
} // namespace

TEST(Archive, BlobsLieInTheArchive)
{
  ASSERT_EQ(RAWHAL_OK, Container(Damaged().build()).status);
  const uint64_t size = gfx90a.size();
  const struct {
    uint64_t offset, size;
    const char *text;
  } cases[] = {
      {64, size + (1 << 20), "ends after"},
      {UINT64_MAX, 1, "ends after"},
      {64, UINT64_MAX, "ends after"},
      {UINT64_MAX, UINT64_MAX, "ends after"},
      {64, 0, "empty"},
      {0, size, "overlap"},
      {15, size, "overlap"},
      {64, size + 1, "overlap"}, // with the table
      {65 + size, 4, "overlap"},
  };
  for (const auto &one : cases) {
    Damaged damaged;
    damaged.blob = Pack().map(2).str("offset").number(one.offset).str("size").number(one.size);
    expect_refusal(damaged.build(), RAWHAL_MALFORMED, one.text);
  }
  for (int64_t off : {-1, 1, 64}) {
    Damaged damaged;
    damaged.entry = archive_entry(0, size + static_cast<uint64_t>(off));
    expect_refusal(damaged.build(), RAWHAL_MALFORMED, "for ordinal 0, which has");
  }
  Damaged behind;
  behind.stored += "x";
  behind.blob = Pack().map(2).str("offset").number(64).str("size").number(size + 1);
  behind.entry = archive_entry(0, size + 1);
  expect_refusal(behind.build(), RAWHAL_MALFORMED, "something else follows");
  Damaged overlap; // of two blobs
  overlap.where_keys = 1;
  overlap.where.str("blobs").array(2).raw(overlap.blob.bytes);
  overlap.where.map(2).str("offset").number(63 + size).str("size").number(1);
  expect_refusal(overlap.build(), RAWHAL_MALFORMED, "overlap");
}

TEST(Archive, KeysAreThereOnce)
{
  const struct {
    void (*damage)(Damaged *damaged);
    const char *text;
  } cases[] = {
      {[](Damaged *d) { d->where.str("other").nil(), d->where_keys = 1; }, "no `blobs`"},
      {[](Damaged *d) { d->zstd = true; }, "no `zstd_offset`"},
      {[](Damaged *d) { d->blob = Pack().map(1).str("offset").number(64); }, "has no size"},
      {[](Damaged *d) { d->blob = Pack().map(1).str("size").number(64); }, "has no offset"},
      {[](Damaged *d) { d->blob = Pack().number(1); }, "not a map"},
      {[](Damaged *d) { d->entry = Pack().map(1).str("type").str("hsaco"); }, "no ordinal"},
      {[](Damaged *d) { d->entry = Pack().array(0); }, "not a map"},
      {[](Damaged *d) { d->entry = Pack().map(1).str("ordinal").str("0"); }, "not a number"},
      {[](Damaged *d) { d->entry = Pack().map(1).str("ordinal").negative(-1); }, "negative"},
      {[](Damaged *d) { d->entry = archive_entry(1, 1); }, "names ordinal 1, and there are 1"},
      {[](Damaged *d) { d->entry = archive_entry(UINT32_MAX + uint64_t{1}, 1); }, "names ordinal"},
      {[](Damaged *d) { d->entry = Pack().map(1).str("type").number(1); }, "not text"},
      {[](Damaged *d) { d->toc = Pack().map(1).number(1).map(1).str("gfx90a"); }, "not text"},
      {[](Damaged *d) { d->toc = Pack().map(1).str("").map(1).str("gfx90a"); }, "empty"},
      {[](Damaged *d) { d->toc = Pack().map(1).str(std::string(4097, 'a')).map(0); }, "4097 bytes"},
      {[](Damaged *d) { d->toc = Pack().map(1).str("a").map(1).str(std::string(4097, 'a')); },
       "4097 bytes"},
      {[](Damaged *d) { d->toc = Pack().array(1); }, "not a map"},
      {[](Damaged *d) { d->extra = 1, d->more.str("toc").map(0); }, "'toc' twice"},
      {[](Damaged *d) { d->extra = 1, d->more.str("blobs").array(0); }, "'blobs' twice"},
      {[](Damaged *d) { d->extra = 1, d->more.str("compression_scheme").str("none"); }, "twice"},
      {[](Damaged *d) {
         d->entry.raw(Pack().str("gfx90a").raw(d->entry.bytes).bytes);
         d->toc = Pack().map(1).str("a#0").map(2).str("gfx90a");
       },
       "'a#0' has 'gfx90a' twice"},
      {[](Damaged *d) {
         d->entry.raw(Pack().str("a#0").map(0).bytes);
         d->toc = Pack().map(2).str("a#0").map(1).str("gfx90a");
       },
       "has 'a#0' twice"},
      {[](Damaged *d) {
         d->entry = Pack().map(2).str("ordinal").number(0).str("ordinal").number(0);
       },
       "twice"},
      {[](Damaged *d) {
         d->blob = Pack().map(3).str("size").number(1).str("size").number(1).str("offset");
         d->blob.number(1);
       },
       "twice"},
  };
  for (const auto &one : cases) {
    Damaged damaged;
    one.damage(&damaged);
    expect_refusal(damaged.build(), RAWHAL_MALFORMED, one.text);
  }
  Damaged unknown; // keys, of any kind and as often as they like
  unknown.extra = 3;
  unknown.more.str("x").nil().str("x").array(2).nil().map(0).numbers({1}).real(0.5);
  EXPECT_EQ(RAWHAL_OK, Container(unknown.build()).status);
}

TEST(Archive, ClaimedCountsEndWithTheBytes)
{
  const std::string many32 = "\xdf\xff\xff\xff\xff", list32 = "\xdd\xff\xff\xff\xff";
  Damaged list, map, root;
  list.where_keys = map.where_keys = 1;
  list.where.str("blobs").raw(list32).raw(list.blob.bytes);
  map.toc = Pack().raw(many32).str("a#0").map(1).str("gfx90a");
  for (const Damaged &damaged : {list, map})
    EXPECT_EQ(RAWHAL_MALFORMED, Container(damaged.build()).status);
  expect_refusal(archive_of(gfx90a, many32), RAWHAL_MALFORMED, "truncated");
  expect_refusal(archive_of(gfx90a, many32.substr(0, 3)), RAWHAL_MALFORMED,
                 "truncated where it starts");
  expect_refusal(archive_of(gfx90a, "\x01"), RAWHAL_MALFORMED, "it is not a map");
  expect_refusal(archive_of(gfx90a, Pack().map(0).bytes), RAWHAL_MALFORMED, "no `toc`");
  expect_refusal(archive_of(gfx90a, Pack().map(1).raw("\xc1").bytes), RAWHAL_MALFORMED,
                 "not msgpack");
  Damaged deep;
  deep.extra = 1;
  deep.more.str("deep").raw(std::string(31, '\x91')).nil();
  EXPECT_EQ(RAWHAL_OK, Container(deep.build()).status);
  deep.more = Pack().str("deep").raw(std::string(100000, '\x91')).nil();
  expect_refusal(deep.build(), RAWHAL_CAP_EXCEEDED, "nests too deep");
}

TEST(Archive, FramesAreWhatTheySay)
{
  const std::string frame = build::zstd_packed(gfx90a), one = little(1, 4) + framed(frame);
  ASSERT_EQ(RAWHAL_OK, Container(frames(one).build()).status);
  EXPECT_EQ(RAWHAL_OK, Container(frames(one + std::string(9, '\0')).build()).status);
  const struct {
    std::string stored;
    uint64_t size;
    const char *text;
  } cases[] = {
      {one, UINT64_MAX, "ends after"},
      {one, one.size() + 1, "overlap"}, // with the table
      {one, one.size() - 1, "frame 0 of a kpack archive is truncated"},
      {one, 3, "no room"},
      {one, 0, "no room"},
      {little(UINT32_MAX, 4) + framed(frame), one.size(), "no room"},
      {little(2, 4) + framed(frame), one.size(), "frame 1 of a kpack archive is truncated"},
      {little(0, 4), 4, "names ordinal 0, and there are 0"},
      {little(1, 4) + little(UINT32_MAX, 4) + frame, one.size(), "is truncated"},
      {one + "x", one.size() + 1, "after its last frame"},
      {little(1, 4) + framed(frame + "x"), one.size() + 1, "ends after"},
      {little(1, 4) + framed(frame + frame), one.size() + frame.size(), "ends after"},
      {little(1, 4) + framed(frame.substr(0, frame.size() - 1)), one.size() - 1,
       "not zstd, or is truncated"},
      {little(1, 4) + framed(""), 8, "not zstd, or is truncated"},
      {little(1, 4) + framed(gfx90a), 8 + gfx90a.size(), "not zstd, or is truncated"},
      {little(1, 4) + framed(std::string("\x50\x2a\x4d\x18\x00\x00\x00\x00", 8)), 16,
       "not zstd, or is truncated"}, // a frame to skip
  };
  for (const auto &damage : cases)
    expect_refusal(frames(damage.stored, damage.size).build(), RAWHAL_MALFORMED, damage.text);
}

TEST(Archive, SizesOfFramesAgree)
{
  for (bool stated : {true, false}) {
    std::string frame = stated ? build::zstd_packed(gfx90a) : without_size(gfx90a);
    Damaged sound = frames(little(1, 4) + framed(frame));
    Container container(sound.build());
    ASSERT_EQ(RAWHAL_OK, container.status) << container.error.message;
    EXPECT_EQ(gfx90a, container.content(0));
    for (int64_t off : {-1, 1, 4096}) {
      Damaged damaged = sound;
      damaged.entry = archive_entry(0, gfx90a.size() + static_cast<uint64_t>(off));
      expect_refusal(damaged.build(), RAWHAL_MALFORMED, stated ? "which has" : "damaged");
    }
    Damaged silent = sound;
    silent.entry = Pack().map(1).str("ordinal").number(0);
    if (stated)
      EXPECT_EQ(RAWHAL_OK, Container(silent.build()).status);
    else
      expect_refusal(silent.build(), RAWHAL_MALFORMED, "neither");
  }
}

TEST(Archive, ClaimsAndBombsMeetTheLimits)
{
  rawhal_container_options_t options = {};
  options.max_unpacked_bytes = 1 << 20;
  for (bool stated : {true, false}) {
    std::string zeros(2 << 20, '\0');
    Damaged bomb =
        frames(little(1, 4) + framed(stated ? build::zstd_packed(zeros) : without_size(zeros)));
    bomb.entry = archive_entry(0, zeros.size());
    EXPECT_LT(bomb.build().size(), 4096u);
    Container container(bomb.build(), options);
    EXPECT_EQ(RAWHAL_CAP_EXCEEDED, container.status);
    EXPECT_TRUE(contains(container.error.message, "max_unpacked_bytes"));
    bomb.entry = archive_entry(0, UINT64_MAX - 1);
    EXPECT_NE(RAWHAL_OK, Container(bomb.build()).status);
  }
  // Each frame pays.
  std::vector<ArchiveEntry> entries;
  for (int i = 0; i < 10; ++i)
    entries.push_back({"a#" + std::to_string(i), "gfx90a", gfx90a + std::string(200000, '\0')});
  EXPECT_EQ(RAWHAL_OK, Container(archive(entries, true)).status);
  EXPECT_EQ(RAWHAL_CAP_EXCEEDED, Container(archive(entries, true), options).status);
  EXPECT_EQ(RAWHAL_OK, Container(archive(entries, false), options).status); // nothing to unpack
  for (bool zstd : {false, true}) {
    options = {};
    options.max_objects = 9;
    Container container(archive(entries, zstd), options);
    EXPECT_EQ(RAWHAL_CAP_EXCEEDED, container.status);
    EXPECT_TRUE(contains(container.error.message, "max_objects")) << container.error.message;
    options.max_objects = 10;
    EXPECT_EQ(RAWHAL_OK, Container(archive(entries, zstd), options).status);
  }
}

TEST(Archive, ManyObjectsTakeLinearTime)
{
  std::vector<ArchiveEntry> entries;
  for (int i = 0; i < 20000; ++i)
    entries.push_back(
        {"lib/libmany.so#" + std::to_string(i), "gfx90a", "not ELF" + std::string(500, '.')});
  Container container(archive(entries, false));
  ASSERT_EQ(RAWHAL_OK, container.status) << container.error.message;
  EXPECT_EQ(entries.size(), container.count());
  EXPECT_EQ("lib/libmany.so#19999", text_of(container.at(19999).binary));
}

/* ---- Host files that point to archives ---- */

TEST(Archive, HostFilesSayWhichArchivesTheyNeed)
{
  Pack reference;
  reference.map(2).str("kpack_search_paths").array(2).str("../.kpack/rand_lib_@GFXARCH@.kpack");
  reference.str("/opt/two.kpack").str("kernel_name").str("lib/librocrand.so.1");
  for (const char *text :
       {"'lib/librocrand.so.1#N'", "'../.kpack/rand_lib_@GFXARCH@.kpack'", "'/opt/two.kpack'"})
    expect_refusal(split_host(reference.bytes), RAWHAL_UNSUPPORTED, text);
  for (size_t size = 0; size < reference.bytes.size(); ++size)
    expect_refusal(split_host(reference.bytes.substr(0, size)), RAWHAL_UNSUPPORTED, "kpack");
  expect_refusal(split_host(Pack().map(1).str("kernel_name").str("x").bytes), RAWHAL_UNSUPPORTED,
                 "lacks a key");
  Pack many;
  many.map(2).str("kernel_name").str(std::string(3000, 'n')).str("kpack_search_paths").array(9);
  for (int i = 0; i < 9; ++i)
    many.str(std::string(500, 'p'));
  expect_refusal(split_host(many.bytes), RAWHAL_UNSUPPORTED, "kpack");
}
