// Objects and containers in memory of an allocator of the caller's.
#include <functional>

#include "archive.h"
#include "compressed.h"
#include "host.h"
#include "hsaco_test.h"
#include "tests/harness/allocator.h"
#include "tests/tools/process.h"

using build::plain_kernel;

namespace {

using Attempt = std::function<rawhal_status_t(const rawhal_allocator_t *, rawhal_error_t *)>;

// One that has 0, 1, 2.. blocks and then no more, until that is enough; nothing of it is kept.
// `refused`: what the attempt comes to with enough.
size_t sweep(const Attempt &attempt, rawhal_status_t in_the_end = RAWHAL_OK)
{
  for (long allowed = 0; allowed < 1000; ++allowed) {
    Allocator own;
    rawhal_error_t error = {};
    own.left = allowed;
    rawhal_status_t status = attempt(own.hook(), &error);
    EXPECT_EQ(0u, own.live());
    if (!own.refused) {
      EXPECT_EQ(in_the_end, status) << error.message;
      EXPECT_EQ(static_cast<size_t>(allowed), own.taken());
      return own.taken();
    }
    EXPECT_EQ(RAWHAL_OUT_OF_MEMORY, status) << allowed << ": " << error.message;
    EXPECT_EQ(status, error.status);
  }
  ADD_FAILURE() << "no end";
  return 0;
}

std::string sound_object()
{
  build::Object object;
  for (int i = 0; i < 300; ++i)
    object.kernels.push_back(plain_kernel("kernel_with_a_long_name_" + std::to_string(i)));
  return object.build();
}

std::string archive(bool zstd)
{
  std::vector<build::ArchiveEntry> entries;
  for (int i = 0; i < 20; ++i)
    entries.push_back({"lib/many.so#" + std::to_string(i), i % 2 ? "gfx90a" : "gfx942",
                       build::plain_object().bytes});
  return build::archive(entries, zstd);
}

rawhal_hsaco_options_t object_options(const rawhal_allocator_t *from, uint32_t flags = 0)
{
  rawhal_hsaco_options_t options = {};
  options.size = sizeof(options);
  options.flags = flags;
  options.allocator = from;
  return options;
}

rawhal_container_options_t container_options(const rawhal_allocator_t *from, uint32_t flags = 0)
{
  rawhal_container_options_t options = {};
  options.size = sizeof(options);
  options.flags = flags;
  options.allocator = from;
  return options;
}

rawhal_status_t read_container(const std::string &bytes, const rawhal_allocator_t *from,
                               uint32_t flags, rawhal_error_t *error)
{
  rawhal_container_options_t options = container_options(from, flags);
  rawhal_container_t *container = reinterpret_cast<rawhal_container_t *>(1);
  rawhal_status_t status =
      rawhal_container_open(bytes.data(), bytes.size(), &options, &container, error);
  EXPECT_EQ(status == RAWHAL_OK, container != nullptr);
  rawhal_container_close(container);
  return status;
}

} // namespace

TEST(OwnAllocator, OfObjectsInBytesAndFiles)
{
  const std::string bytes = sound_object();
  Scratch scratch;
  const std::string path = scratch / "object";
  spit(path, bytes.data(), bytes.size());
  for (bool file : {false, true})
    for (uint32_t flags : {0u, uint32_t{RAWHAL_HSACO_COPY}}) {
      size_t taken = sweep([&](const rawhal_allocator_t *from, rawhal_error_t *error) {
        rawhal_hsaco_options_t options = object_options(from, flags);
        rawhal_hsaco_t *hsaco = reinterpret_cast<rawhal_hsaco_t *>(1);
        rawhal_status_t status =
            file ? rawhal_hsaco_open_file(path.c_str(), &options, &hsaco, error)
                 : rawhal_hsaco_open(bytes.data(), bytes.size(), &options, &hsaco, error);
        EXPECT_EQ(status == RAWHAL_OK, hsaco != nullptr);
        for (size_t i = 0; hsaco && i < rawhal_hsaco_info(hsaco)->kernel_count; ++i)
          EXPECT_EQ(hsaco, rawhal_hsaco_kernel(hsaco, i)->object);
        rawhal_hsaco_close(hsaco);
        return status;
      });
      EXPECT_GT(taken, flags ? 3u : 2u);
    }
}

TEST(OwnAllocator, OfContainersOfEveryKind)
{
  const std::string object = build::plain_object().bytes;
  const std::string kinds[] = {object + object, archive(false), archive(true),
                               build::ccob(2, 0, object), build::ccob(3, 1, object)};
  for (const std::string &bytes : kinds)
    for (uint32_t flags : {0u, uint32_t{RAWHAL_CONTAINER_COPY}})
      EXPECT_GT(sweep([&](const rawhal_allocator_t *from, rawhal_error_t *error) {
                  return read_container(bytes, from, flags, error);
                }),
                1u);
  Scratch scratch;
  const std::string path = scratch / "container";
  spit(path, kinds[0].data(), kinds[0].size());
  for (uint32_t flags : {0u, uint32_t{RAWHAL_CONTAINER_COPY}})
    EXPECT_GT(sweep([&](const rawhal_allocator_t *from, rawhal_error_t *error) {
                rawhal_container_options_t options = container_options(from, flags);
                rawhal_container_t *container = nullptr;
                rawhal_status_t status =
                    rawhal_container_open_file(path.c_str(), &options, &container, error);
                rawhal_container_close(container);
                return status;
              }),
              1u);
}

// zlib's own memory is the caller's as well.
TEST(OwnAllocator, OfZlib)
{
  const std::string object = build::plain_object().bytes;
  auto taken = [&](const std::string &bytes) {
    return sweep([&](const rawhal_allocator_t *from, rawhal_error_t *error) {
      return read_container(bytes, from, 0, error);
    });
  };
  EXPECT_GT(taken(build::ccob(2, 0, object)), taken(build::ccob(2, 1, object)));
}

// Whatever the bytes are, all memory comes back and nothing is written beyond it.
TEST(OwnAllocator, OfDamagedBytes)
{
  Allocator own;
  for (const std::string &sound :
       {sound_object(), archive(true), build::ccob(2, 0, sound_object())})
    for (size_t i = 0; i < 400; ++i) {
      std::string bytes = sound;
      if (i % 4 == 0)
        bytes.resize(bytes.size() * i / 400);
      else
        bytes[i * 7919 % bytes.size()] =
            static_cast<char>(bytes[i * 7919 % bytes.size()] ^ (1 << i % 8));
      rawhal_hsaco_options_t options = object_options(own.hook(), i & 1 ? RAWHAL_HSACO_COPY : 0);
      rawhal_hsaco_t *hsaco = nullptr;
      rawhal_error_t error = {};
      (void)!rawhal_hsaco_open(bytes.data(), bytes.size(), &options, &hsaco, &error);
      rawhal_hsaco_close(hsaco);
      (void)!read_container(bytes, own.hook(), 0, &error);
      ASSERT_EQ(0u, own.live()) << i;
      ASSERT_EQ(0, own.wrong) << i;
    }
  EXPECT_GT(own.taken(), 1000u);
}

TEST(OwnAllocator, HasBothFunctionsOrNeither)
{
  const std::string bytes = build::plain_object().bytes;
  rawhal_error_t error = {};
  Allocator own;
  rawhal_allocator_t half = *own.hook();
  half.free = nullptr;
  rawhal_hsaco_options_t options = object_options(&half);
  rawhal_hsaco_t *hsaco = nullptr;
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT,
            rawhal_hsaco_open(bytes.data(), bytes.size(), &options, &hsaco, &error));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, rawhal_hsaco_open_file("/", &options, &hsaco, &error));
  EXPECT_STREQ("an allocator without free()", error.message);
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, read_container(bytes, &half, 0, &error));
  EXPECT_EQ(0u, own.taken());
}

// The structure is copied; and a caller whose header had none does not have one by accident.
TEST(OwnAllocator, IsReadDuringTheCallOnly)
{
  const std::string bytes = build::plain_object().bytes;
  rawhal_error_t error = {};
  Allocator own;
  rawhal_allocator_t mine = *own.hook();
  rawhal_hsaco_options_t options = object_options(&mine);
  rawhal_hsaco_t *hsaco = nullptr;
  ASSERT_EQ(RAWHAL_OK, rawhal_hsaco_open(bytes.data(), bytes.size(), &options, &hsaco, &error));
  memset(&mine, 0xee, sizeof(mine));
  rawhal_hsaco_close(hsaco);
  size_t taken = own.taken();
  EXPECT_GT(taken, 0u);
  options = object_options(own.hook());
  options.size = 0; // all that 0.2 has
  ASSERT_EQ(RAWHAL_OK, rawhal_hsaco_open(bytes.data(), bytes.size(), &options, &hsaco, &error));
  rawhal_hsaco_close(hsaco);
  EXPECT_GT(own.taken(), taken);
}
