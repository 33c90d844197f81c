// Every allocation fails once. The linker sends this program's malloc, calloc and realloc here;
// libelf's own are out of reach.
#include <functional>

#include "archive.h"
#include "carriers.h"
#include "compressed.h"
#include "host.h"
#include "hsaco_test.h"
#include "tests/harness/allocation_failure.h"

using build::Object;
using build::Pack;
using build::plain_kernel;

// An object that needs every kind of record: many names, diagnostics, printf, unknown keys, bare
// kernels, long lists.
static std::string rich_object()
{
  Object object;
  for (int i = 0; i < 300; ++i)
    object.kernels.push_back(plain_kernel("kernel_with_a_long_name_" + std::to_string(i)));
  std::vector<build::Kernel> described(object.kernels.begin(), object.kernels.end() - 50);
  for (size_t i = 0; i < described.size(); i += 3)
    described[i].kernarg_align = 3;
  Pack root;
  root.map(3).str("amdhsa.kernels").array(static_cast<uint32_t>(described.size()));
  for (const build::Kernel &kernel : described)
    root.raw(build::pack_kernel(kernel));
  root.str("amdhsa.printf").array(100);
  for (int i = 0; i < 100; ++i)
    root.str("1:0:x");
  root.str("custom.config").map(1).str("a").number(1);
  object.notes = {root.bytes, build::pack_metadata({})};
  return object.build();
}

static int sweep(const std::function<rawhal_status_t(rawhal_error_t *)> &open)
{
  for (long allowed = 0; allowed < 1000; ++allowed) {
    rawhal_error_t error = {};
    allocations_left = allowed;
    rawhal_status_t status = open(&error);
    allocations_left = -1;
    if (status == RAWHAL_OK)
      return static_cast<int>(allowed);
    EXPECT_EQ(RAWHAL_OUT_OF_MEMORY, status) << error.message;
    EXPECT_EQ(RAWHAL_OUT_OF_MEMORY, error.status);
  }
  return -1;
}

TEST(Allocation, EveryFailureOfOpenIsReported)
{
  std::string bytes = rich_object();
  int allocations = sweep([&](rawhal_error_t *error) {
    rawhal_hsaco_options_t options = {};
    options.flags = RAWHAL_HSACO_COPY;
    rawhal_hsaco_t *hsaco = reinterpret_cast<rawhal_hsaco_t *>(1);
    rawhal_status_t status = rawhal_hsaco_open(bytes.data(), bytes.size(), &options, &hsaco, error);
    EXPECT_EQ(status == RAWHAL_OK, hsaco != nullptr);
    EXPECT_EQ(hsaco ? 300u : 0u, hsaco ? rawhal_hsaco_info(hsaco)->kernel_count : 0u);
    rawhal_hsaco_close(hsaco);
    return status;
  });
  EXPECT_GT(allocations, 3);
  EXPECT_LT(allocations, 30); // few, whatever the number of kernels
}

TEST(Allocation, EveryFailureOfContainersIsReported)
{
  std::string bytes;
  for (int i = 0; i < 100; ++i)
    bytes += build::plain_object().bytes;
  int allocations = sweep([&](rawhal_error_t *error) {
    rawhal_container_t *container = reinterpret_cast<rawhal_container_t *>(1);
    rawhal_container_options_t options = {};
    options.flags = RAWHAL_CONTAINER_COPY;
    rawhal_status_t status =
        rawhal_container_open(bytes.data(), bytes.size(), &options, &container, error);
    EXPECT_EQ(status == RAWHAL_OK, container != nullptr);
    rawhal_container_close(container);
    return status;
  });
  EXPECT_GT(allocations, 2);
}

// Archives with an own allocation for each frame, and with lists that grow; what is refused, too.
TEST(Allocation, EveryFailureOfArchivesIsReported)
{
  const std::string object = build::plain_object().bytes;
  std::vector<build::ArchiveEntry> entries;
  for (int i = 0; i < 100; ++i)
    entries.push_back({"lib/libmany.so#" + std::to_string(i), i % 2 ? "gfx90a" : "gfx942", object});
  for (bool zstd : {false, true}) {
    std::string bytes = build::archive(entries, zstd);
    int allocations = sweep([&](rawhal_error_t *error) {
      rawhal_container_t *container = reinterpret_cast<rawhal_container_t *>(1);
      rawhal_status_t status =
          rawhal_container_open(bytes.data(), bytes.size(), nullptr, &container, error);
      EXPECT_EQ(status == RAWHAL_OK, container != nullptr);
      EXPECT_EQ(container ? 100u : 0u, rawhal_container_count(container));
      rawhal_container_close(container);
      return status;
    });
    EXPECT_GT(allocations, zstd ? 103 : 3);
  }
}

// What is unpacked again, and texts that are copied because what they stood in goes.
TEST(Allocation, EveryFailureOfReadingOneAtATimeIsReported)
{
  const std::string object = build::plain_object().bytes;
  const std::string packed = build::ccob(
                        2, 0, build::bundle({{"hip-amdgcn-amd-amdhsa--gfx90a", object}})),
                    binary = build::offload_binary_of(
                        3, {{"amdgcn", "gfx90a", object}, {"spirv", "", "?"}}, build::zlib_packed);
  const std::string bytes =
      build::host_object({{".rodata", packed + "x" + binary + object, SHT_PROGBITS, SHF_ALLOC}});
  int allocations = sweep([&](rawhal_error_t *error) {
    rawhal_container_t *container = reinterpret_cast<rawhal_container_t *>(1);
    rawhal_container_options_t options = {};
    options.flags = RAWHAL_CONTAINER_HOLD_ONE;
    rawhal_status_t status =
        rawhal_container_open(bytes.data(), bytes.size(), &options, &container, error);
    EXPECT_EQ(status == RAWHAL_OK, container != nullptr);
    EXPECT_EQ(container ? 4u : 0u, rawhal_container_count(container));
    for (size_t i : {0, 1, 3}) {
      rawhal_bytes_t read = {};
      if (status == RAWHAL_OK)
        status = rawhal_container_read(container, i, &read, error);
      EXPECT_EQ(status == RAWHAL_OK, read.data != nullptr);
    }
    rawhal_container_close(container);
    return status;
  });
  EXPECT_GT(allocations, 8);
}

TEST(Allocation, EveryFailureOfHostFilesThatPointToArchivesIsReported)
{
  Pack reference;
  reference.map(2).str("kernel_name").str("lib/a.so").str("kpack_search_paths").array(1).str("p");
  const std::string bytes = split_host(reference.bytes);
  rawhal_status_t status = RAWHAL_OUT_OF_MEMORY;
  long allowed = 0;
  for (; allowed < 100 && status == RAWHAL_OUT_OF_MEMORY; ++allowed) {
    rawhal_error_t error = {};
    rawhal_container_t *container = nullptr;
    allocations_left = allowed;
    status = rawhal_container_open(bytes.data(), bytes.size(), nullptr, &container, &error);
    allocations_left = -1;
    EXPECT_EQ(nullptr, container);
    EXPECT_EQ(status, error.status);
  }
  EXPECT_EQ(RAWHAL_UNSUPPORTED, status);
  EXPECT_GT(allowed, 2);
}
