// Which object of several is for a device, or why none is. What is expected comes from LLVM's AMDGPUUsage ("Target ID",
// "ELF header e_flags", "Generic processors") and from the ranking that container.h promises; objects are written as
// e_flags, so that nothing here goes through the library's own tables.
#include "archive.h"
#include "container_test.h"

namespace {

// EI_ABIVERSION
constexpr uint8_t v3 = 1, v4 = 2, v5 = 3, v6 = 4;

constexpr int refused = -1;

struct Made {
  uint32_t
      flags; // bits 0..7 the processor; from V4 on 8..9 xnack and 10..11 sramecc: 1 any, 2 off, 3 on; 24..31 version
  uint8_t abi;
};

struct Row {
  const char *what, *device;
  std::vector<Made> objects;
  int index;
  const char *why = ""; // in the refusal
};

const Row rows[] = {
    // ---- One object: features of V4 and later. A setting it insists on must be the device's ----
    {"xnack any, sramecc any", "gfx90a:sramecc+:xnack-", {{0x53f, v5}}, 0},
    {"xnack any, sramecc off", "gfx90a:sramecc+:xnack-", {{0x93f, v5}}, refused, "sramecc: object"},
    {"xnack any, sramecc on", "gfx90a:sramecc+:xnack-", {{0xd3f, v5}}, 0},
    {"xnack off, sramecc any", "gfx90a:sramecc+:xnack-", {{0x63f, v5}}, 0},
    {"xnack off, sramecc off", "gfx90a:sramecc+:xnack-", {{0xa3f, v5}}, refused, "sramecc: object"},
    {"xnack off, sramecc on", "gfx90a:sramecc+:xnack-", {{0xe3f, v5}}, 0},
    {"xnack on, sramecc any", "gfx90a:sramecc+:xnack-", {{0x73f, v5}}, refused, "xnack: object"},
    {"xnack on, sramecc off", "gfx90a:sramecc+:xnack-", {{0xb3f, v5}}, refused, "xnack: object"},
    {"xnack on, sramecc on", "gfx90a:sramecc+:xnack-", {{0xf3f, v5}}, refused, "xnack: object"},
    {"xnack any, sramecc any", "gfx90a:sramecc-:xnack+", {{0x53f, v5}}, 0},
    {"xnack any, sramecc off", "gfx90a:sramecc-:xnack+", {{0x93f, v5}}, 0},
    {"xnack any, sramecc on", "gfx90a:sramecc-:xnack+", {{0xd3f, v5}}, refused, "sramecc: object"},
    {"xnack off, sramecc any", "gfx90a:sramecc-:xnack+", {{0x63f, v5}}, refused, "xnack: object"},
    {"xnack off, sramecc off", "gfx90a:sramecc-:xnack+", {{0xa3f, v5}}, refused, "xnack: object"},
    {"xnack off, sramecc on", "gfx90a:sramecc-:xnack+", {{0xe3f, v5}}, refused, "xnack: object"},
    {"xnack on, sramecc any", "gfx90a:sramecc-:xnack+", {{0x73f, v5}}, 0},
    {"xnack on, sramecc off", "gfx90a:sramecc-:xnack+", {{0xb3f, v5}}, 0},
    {"xnack on, sramecc on", "gfx90a:sramecc-:xnack+", {{0xf3f, v5}}, refused, "sramecc: object"},
    {"xnack off, any sramecc, V4", "gfx908:sramecc+:xnack-", {{0x630, v4}}, 0},
    {"xnack on, any sramecc, V4",
     "gfx908:sramecc+:xnack-",
     {{0x730, v4}},
     refused,
     "xnack: object"},
    // ---- V3 knows on and off only ----
    {"V3, both off", "gfx90a:sramecc+:xnack-", {{0x03f, v3}}, refused, "sramecc: object"},
    {"V3, xnack on", "gfx90a:sramecc+:xnack-", {{0x13f, v3}}, refused, "xnack: object"},
    {"V3, sramecc on", "gfx90a:sramecc+:xnack-", {{0x23f, v3}}, 0},
    {"V3, both on", "gfx90a:sramecc+:xnack-", {{0x33f, v3}}, refused, "xnack: object"},
    {"V3, xnack on", "gfx90a:sramecc-:xnack+", {{0x13f, v3}}, 0},
    {"V3, both on", "gfx90a:sramecc-:xnack+", {{0x33f, v3}}, refused, "sramecc: object"},
    {"V3, xnack off", "gfx900:xnack-", {{0x02c, v3}}, 0},
    {"V3, xnack on", "gfx900:xnack-", {{0x12c, v3}}, refused, "xnack: object"},
    {"V3, nothing to set", "gfx1030", {{0x036, v3}}, 0},
    // ---- The version decides nothing else ----
    {"V4", "gfx942:sramecc+:xnack-", {{0x54c, v4}}, 0},
    {"V5", "gfx942:sramecc+:xnack-", {{0x54c, v5}}, 0},
    {"V6", "gfx942:sramecc+:xnack-", {{0x54c, v6}}, 0},
    {"V4, V5 and V6 of one target",
     "gfx942:sramecc+:xnack-",
     {{0x54c, v4}, {0x54c, v5}, {0x54c, v6}},
     0},
    // ---- Processors ----
    {"another one",
     "gfx942:sramecc+:xnack-",
     {{0x53f, v5}},
     refused,
     "processor: object gfx90a, device gfx942"},
    {"a later one", "gfx950:sramecc+:xnack-", {{0x54c, v5}}, refused, "processor: object gfx942"},
    {"a sibling", "gfx1031", {{0x036, v5}}, refused, "processor: object gfx1030"},
    {"one that nobody knows", "gfx90a:sramecc+:xnack-", {{0x0fe, v5}}, refused, "0xfe"},
    {"of wave 32", "gfx1100", {{0x041, v5}}, 0},
    // ---- Generic processors and their members ----
    {"gfx9", "gfx900:xnack-", {{0x01000151, v6}}, 0},
    {"gfx9", "gfx906:sramecc+:xnack-", {{0x01000151, v6}}, 0},
    {"gfx9", "gfx90c:xnack+", {{0x01000151, v6}}, 0},
    {"gfx9", "gfx908:sramecc+:xnack-", {{0x01000151, v6}}, refused, "generic family"},
    {"gfx9", "gfx90a:sramecc+:xnack-", {{0x01000151, v6}}, refused, "generic family"},
    {"gfx9, xnack off", "gfx900:xnack-", {{0x01000251, v6}}, 0},
    {"gfx9, xnack off", "gfx900:xnack+", {{0x01000251, v6}}, refused, "xnack: object"},
    {"gfx9-4", "gfx942:sramecc+:xnack-", {{0x0100055f, v6}}, 0},
    {"gfx9-4", "gfx950:sramecc+:xnack+", {{0x0100055f, v6}}, 0},
    {"gfx9-4", "gfx90a:sramecc+:xnack-", {{0x0100055f, v6}}, refused, "generic family"},
    {"gfx9-4, sramecc off",
     "gfx942:sramecc+:xnack-",
     {{0x0100095f, v6}},
     refused,
     "sramecc: object"},
    {"gfx10-1", "gfx1010:xnack-", {{0x01000152, v6}}, 0},
    {"gfx10-1", "gfx1013:xnack+", {{0x01000152, v6}}, 0},
    {"gfx10-1", "gfx1030", {{0x01000152, v6}}, refused, "generic family"},
    {"gfx10-3", "gfx1036", {{0x01000053, v6}}, 0},
    {"gfx10-3", "gfx1100", {{0x01000053, v6}}, refused, "generic family"},
    {"gfx11", "gfx1103", {{0x01000054, v6}}, 0},
    {"gfx11", "gfx1151", {{0x01000054, v6}}, 0},
    {"gfx11", "gfx1200", {{0x01000054, v6}}, refused, "generic family"},
    {"gfx12", "gfx1201", {{0x01000059, v6}}, 0},
    {"gfx12", "gfx1100", {{0x01000059, v6}}, refused, "generic family"},
    {"without a version", "gfx1100", {{0x00000054, v6}}, refused, "generic version"},
    {"of a later version", "gfx1100", {{0x02000054, v6}}, 0},
    // ---- Several that fit: settings it insists on, then the processor itself, then generic; the first of equals ----
    {"two equal", "gfx90a:sramecc+:xnack-", {{0x53f, v5}, {0x53f, v5}}, 0},
    {"two equal behind another",
     "gfx90a:sramecc+:xnack-",
     {{0x54c, v5}, {0x53f, v5}, {0x53f, v5}},
     1},
    {"any, off, on", "gfx942:sramecc+:xnack-", {{0x54c, v5}, {0x64c, v5}, {0x74c, v5}}, 1},
    {"any, off, on", "gfx942:sramecc+:xnack+", {{0x54c, v5}, {0x64c, v5}, {0x74c, v5}}, 2},
    {"on, off, any", "gfx942:sramecc+:xnack-", {{0x74c, v5}, {0x64c, v5}, {0x54c, v5}}, 1},
    {"on, any", "gfx942:sramecc+:xnack-", {{0x74c, v5}, {0x54c, v5}}, 1},
    {"one setting, two", "gfx942:sramecc+:xnack-", {{0x64c, v5}, {0xe4c, v5}}, 1},
    {"one setting, another one", "gfx942:sramecc+:xnack-", {{0xd4c, v5}, {0x64c, v5}}, 0},
    {"on and off of both, none fits",
     "gfx942:sramecc+:xnack-",
     {{0xf4c, v5}, {0xa4c, v5}},
     refused,
     "sramecc: object"},
    {"generic, exact", "gfx942:sramecc+:xnack-", {{0x0100055f, v6}, {0x54c, v5}}, 1},
    {"exact, generic", "gfx942:sramecc+:xnack-", {{0x54c, v5}, {0x0100055f, v6}}, 0},
    {"generic that insists, exact that does not",
     "gfx942:sramecc+:xnack-",
     {{0x01000e5f, v6}, {0x54c, v5}},
     1},
    {"exact that does not fit, generic",
     "gfx942:sramecc+:xnack-",
     {{0x74c, v5}, {0x0100055f, v6}},
     1},
    {"generic, generic that insists",
     "gfx950:sramecc+:xnack-",
     {{0x0100055f, v6}, {0x0100065f, v6}},
     1},
    {"generic without a version, with one", "gfx1100", {{0x00000054, v6}, {0x01000054, v6}}, 1},
    {"a fat one",
     "gfx1030",
     {{0x53f, v5}, {0x54c, v5}, {0x041, v5}, {0x036, v5}, {0x01000053, v6}},
     3},
    {"a fat one without it",
     "gfx1201",
     {{0x53f, v5}, {0x54c, v5}, {0x041, v5}},
     refused,
     "among 3"},
};

void expect_row(const Row &row, const std::string &bytes, const char *carrier)
{
  SCOPED_TRACE(std::string(row.what) + " on " + row.device + ", " + carrier);
  Container container(bytes);
  ASSERT_EQ(RAWHAL_OK, container.status) << container.error.message;
  ASSERT_EQ(row.objects.size(), container.count());
  size_t index = 99;
  if (row.index == refused) {
    EXPECT_EQ(RAWHAL_TARGET_MISMATCH, container.select(row.device, &index));
    EXPECT_TRUE(contains(container.error.message, row.why)) << container.error.message;
    EXPECT_EQ(0u, index);
  } else {
    EXPECT_EQ(RAWHAL_OK, container.select(row.device, &index)) << container.error.message;
    EXPECT_EQ(static_cast<size_t>(row.index), index);
  }
}

// Back to back, in a bundle whose ids say nothing of use, and in a kpack archive that lists them as what nobody knows:
// the object's own flags decide.
TEST(Selection, FollowsTheTableInEveryCarrier)
{
  EXPECT_GE(std::size(rows), 60u);
  for (const Row &row : rows) {
    std::string together;
    std::vector<build::BundleEntry> bundled;
    std::vector<build::ArchiveEntry> archived;
    for (const Made &made : row.objects) {
      const std::string object = object_for(made.flags, made.abi),
                        number = std::to_string(bundled.size());
      together += object;
      bundled.push_back({"hip-amdgcn-amd-amdhsa--x" + number, object});
      archived.push_back({"lib#0", "x" + number, object});
    }
    expect_row(row, together, "back to back");
    expect_row(row, build::bundle(bundled), "bundle");
    for (bool zstd : {false, true})
      expect_row(row, build::archive(archived, zstd), "kpack");
  }
}

// What is no code object is a candidate with a reason, and never chosen.
TEST(Selection, PassesOverWhatIsNoCodeObject)
{
  const std::string spirv = "\x03\x02\x23\x07", gfx942 = object_for(0x54c);
  size_t index = 99;
  Container mixed(build::bundle({{"hip-spirv64-amd-amdhsa--amdgcnspirv", spirv},
                                 {"hipv4-amdgcn-amd-amdhsa--gfx942", gfx942}}));
  EXPECT_EQ(RAWHAL_OK, mixed.select("gfx942:sramecc+:xnack-", &index)) << mixed.error.message;
  EXPECT_EQ(1u, index);
  EXPECT_EQ(RAWHAL_TARGET_MISMATCH, mixed.select("gfx1100", &index));
  EXPECT_TRUE(contains(mixed.error.message, "SPIR-V")) << mixed.error.message;
  EXPECT_TRUE(contains(mixed.error.message, "gfx942")) << mixed.error.message;
  // Listed for something else than it is.
  Container archive(build::archive({{"lib#0", "gfx90a", gfx942}}, false));
  EXPECT_EQ(RAWHAL_TARGET_MISMATCH, archive.select("gfx942:sramecc+:xnack-", &index));
  EXPECT_TRUE(contains(archive.error.message, "lists it for gfx90a")) << archive.error.message;
}

} // namespace
