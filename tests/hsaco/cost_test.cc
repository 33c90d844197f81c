// What reading costs, in steps of tests/harness/steps.h: hostile files cost no more than their bytes
// allow, whatever the code says of its own work.
#include "attacks.h"
#include "container_test.h"

extern "C" {
#include "tests/harness/steps.h"
}

namespace {

// The promise is a second for 100 MB: ten nanoseconds a byte. A step takes about one.
enum { STEPS_A_BYTE = 10, LEAST = 2 << 20 };

struct Attack {
  const char *name;
  std::string bytes;
  size_t unpacked; // bytes that may be
  rawhal_status_t status;
};

uint64_t cost_of(const Attack &one)
{
  rawhal_container_options_t options = {};
  options.max_objects = options.max_bundle_entries = UINT32_MAX; // all caps but the work's
  options.max_unpacked_bytes = UINT64_MAX;
  uint64_t before = steps_counted();
  Container container(one.bytes, options);
  uint64_t steps = steps_counted() - before;
  EXPECT_EQ(one.status, container.status) << one.name << ": " << container.error.message;
  bool by_work = contains(container.error.message, "steps for each of its bytes");
  EXPECT_EQ(one.status == RAWHAL_CAP_EXCEEDED, by_work)
      << one.name << ": " << container.error.message;
  return steps;
}

void expect_cheap(const std::vector<Attack> &attacks)
{
  for (const Attack &one : attacks) {
    uint64_t bytes = one.bytes.size() + one.unpacked, steps = cost_of(one);
    EXPECT_LT(steps, STEPS_A_BYTE * bytes + LEAST) << one.name << ": " << bytes << " bytes";
    printf("  %-32s %5.2f steps a byte\n", one.name,
           static_cast<double>(steps) / static_cast<double>(bytes));
  }
}

TEST(Cost, BytesThatManyName)
{
  const std::string zeros = attack::zeros_named_often(32 << 20);
  expect_cheap({
      {"zeros", attack::zeros_named_often(16 << 20), 0, RAWHAL_CAP_EXCEEDED},
      {"zeros, zstd", build::ccob(2, 1, zeros), zeros.size(), RAWHAL_CAP_EXCEEDED},
      {"zeros, zlib", build::ccob(2, 0, zeros), zeros.size(), RAWHAL_CAP_EXCEEDED},
      {"nested bundles", attack::nested_bundles(1 << 20), 0, RAWHAL_CAP_EXCEEDED},
      {"sections", attack::sections_with_one_range(1 << 20), 0, RAWHAL_CAP_EXCEEDED},
      {"references", attack::references_with_one_range(1 << 20), 0, RAWHAL_CAP_EXCEEDED},
      {"segments", attack::segments_with_one_range(1 << 20), 0, RAWHAL_NOT_FOUND},
      {"packed", attack::packed_named_often(1 << 17), 250 << 17, RAWHAL_OK},
      {"archive in a bundle", attack::archive_named_often(1 << 18), 0, RAWHAL_CAP_EXCEEDED},
      {"names of members", attack::members_with_one_name(1 << 18), 0, RAWHAL_CAP_EXCEEDED},
      {"texts", attack::texts_with_one_range(4 << 20), 0, RAWHAL_CAP_EXCEEDED},
  });
}

TEST(Cost, PartsThatHoldNextToNothing)
{
  const size_t scale = 4 << 20;
  expect_cheap({
      {"headers", attack::headers_back_to_back(scale), 0, RAWHAL_CAP_EXCEEDED},
      {"damaged headers", attack::damaged_headers_back_to_back(scale), 0, RAWHAL_CAP_EXCEEDED},
      {"packed, zlib", attack::packed_back_to_back(scale, 0), scale, RAWHAL_CAP_EXCEEDED},
      {"packed, zstd", attack::packed_back_to_back(scale, 1), scale, RAWHAL_CAP_EXCEEDED},
      {"members", attack::members_of_nothing(scale), 0, RAWHAL_NOT_FOUND},
      {"archive", attack::archive_of_bytes(scale, false), 0, RAWHAL_CAP_EXCEEDED},
      {"archive, zstd", attack::archive_of_bytes(scale / 4, true), scale / 4, RAWHAL_CAP_EXCEEDED},
      {"list of nils", attack::archive_of_nils(scale, false), 0, RAWHAL_MALFORMED},
      {"map of nils", attack::archive_of_nils(scale, true), 0, RAWHAL_MALFORMED},
      {"nils for keys", attack::archive_of_no_keys(scale), 0, RAWHAL_CAP_EXCEEDED},
  });
}

TEST(Cost, BlocksThatHoldNextToNothing)
{
  const size_t scale = 4 << 20;
  size_t unpacked;
  std::string small = attack::zstd_of_small_blocks(scale, &unpacked);
  expect_cheap({
      {"zlib, tables only", attack::zlib_of_blocks(scale, true), 0, RAWHAL_CAP_EXCEEDED},
      {"zlib, nothing", attack::zlib_of_blocks(scale, false), 0, RAWHAL_CAP_EXCEEDED},
      {"zstd, nothing", attack::zstd_of_empty_blocks(scale), 0, RAWHAL_CAP_EXCEEDED},
      {"zstd, a few bytes", small, unpacked, RAWHAL_CAP_EXCEEDED},
  });
}

// Those are sound, with fewer of the blocks: nothing else is wrong with them.
TEST(Cost, AFewOddBlocksAreFine)
{
  size_t unpacked;
  for (const std::string &bytes :
       {attack::zlib_of_blocks(1000, true), attack::zlib_of_blocks(500, false),
        attack::zstd_of_empty_blocks(300), attack::zstd_of_small_blocks(4000, &unpacked)}) {
    Container container(bytes);
    ASSERT_EQ(RAWHAL_OK, container.status) << container.error.message;
    EXPECT_EQ(1u, container.count());
  }
}

// What compilers and linkers make stays far from the limit: objects without padding, with much of
// it, and compressed as well as it goes.
TEST(Cost, SoundFilesAreFarFromTheLimit)
{
  std::string dense, sparse;
  while (dense.size() < 4 << 20)
    dense += attack::object();
  while (sparse.size() < 4 << 20)
    sparse += attack::object() + std::string(100000, '\0');
  const Attack sound[] = {
      {"dense", dense, 0, RAWHAL_OK},
      {"sparse", sparse, 0, RAWHAL_OK},
      {"dense, zstd", build::ccob(3, 1, dense), dense.size(), RAWHAL_OK},
      {"dense, zlib", build::ccob(3, 0, dense), dense.size(), RAWHAL_OK},
  };
  for (const Attack &one : sound)
    EXPECT_LT(cost_of(one), 2 * (one.bytes.size() + one.unpacked)) << one.name;
}

} // namespace
