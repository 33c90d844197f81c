// Images in memory without a size: each is put right before a page that cannot be touched, so that a byte read behind
// what is readable ends the test.
#include <sys/mman.h>
#include <unistd.h>

#include <random>

#include "carriers.h"
#include "compressed.h"
#include "container_test.h"

namespace {

class Guarded {
public:
  explicit Guarded(const std::string &bytes) : size_(bytes.size())
  {
    const size_t page = 4096;
    length_ = (size_ + page - 1) / page * page + page;
    base_ = static_cast<char *>(
        mmap(nullptr, length_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_NE(base_, MAP_FAILED);
    start_ = base_ + length_ - page - size_;
    memcpy(start_, bytes.data(), size_);
    EXPECT_EQ(0, mprotect(base_ + length_ - page, page, PROT_NONE));
  }
  ~Guarded() { munmap(base_, length_); }
  Guarded(const Guarded &) = delete;
  Guarded &operator=(const Guarded &) = delete;
  char *data() { return start_; }
  size_t size() const { return size_; }

private:
  size_t size_, length_;
  char *base_, *start_;
};

struct Measured {
  rawhal_status_t status;
  size_t size;
  rawhal_error_t error;
};

Measured measure(const std::string &bytes, const rawhal_container_options_t *options = nullptr)
{
  Guarded image(bytes);
  Measured got = {RAWHAL_OK, ~size_t{0}, {}};
  got.status = rawhal_container_measure(image.data(), image.size(), options, &got.size, &got.error);
  if (got.status) {
    EXPECT_EQ(got.size, 0u);
    EXPECT_NE(got.error.message[0], 0);
  }
  return got;
}

std::string bundle_of(const std::vector<std::string> &objects)
{
  std::vector<build::BundleEntry> entries = {{"host-x86_64-unknown-linux", ""}};
  for (const std::string &object : objects)
    entries.push_back({"hipv4-amdgcn-amd-amdhsa--gfx90a", object});
  return build::bundle(entries);
}

struct Named {
  const char *name;
  std::string bytes;
};

std::vector<Named> images()
{
  const std::string object = object_for(0x3f), other = object_for(0x4c);
  std::vector<Named> all = {
      {"object", object},
      {"bundle", bundle_of({object, other})},
      {"empty bundle", bundle_of({})},
      {"offload binary", build::offload_binary(object, "gfx90a")},
      {"host file", host_file(bundle_of({object}))},
  };
  for (unsigned version = 1; version <= 3; ++version)
    for (unsigned method = 0; method < 2; ++method)
      all.push_back({method ? "CCOB, zstd" : "CCOB, zlib",
                     build::ccob(version, method, bundle_of({object, other}))});
  return all;
}

} // namespace

TEST(Measure, IsTheSizeWhateverFollows)
{
  std::string noise(10000, '\0');
  std::mt19937 random(1);
  for (char &byte : noise)
    byte = static_cast<char>(random());
  for (const Named &image : images()) {
    for (const std::string &behind :
         {std::string(), std::string(1, 'x'), std::string(5000, '\0'), noise, image.bytes}) {
      Measured got = measure(image.bytes + behind);
      EXPECT_EQ(got.status, RAWHAL_OK) << image.name << ": " << got.error.message;
      EXPECT_EQ(got.size, image.bytes.size()) << image.name << " and " << behind.size();
    }
  }
}

TEST(Measure, OfWhatIsCutFails)
{
  for (const Named &image : images())
    for (size_t size = 0; size < image.bytes.size(); ++size) {
      Measured got = measure(image.bytes.substr(0, size));
      ASSERT_EQ(got.status, RAWHAL_MALFORMED) << image.name << " cut to " << size;
    }
}

// Whatever is claimed: nothing behind what is readable is read or counted, and the bytes that were counted are enough
// to count them again.
TEST(Measure, OfHostileHeadersStaysWithinWhatIsReadable)
{
  std::mt19937_64 random(7);
  const uint64_t odd[] = {0, 1, ~uint64_t{0}, ~uint64_t{0} >> 1, uint64_t{1} << 32, 0xfff, 24, 64};
  size_t good = 0;
  for (const Named &image : images()) {
    for (int round = 0; round < 3000; ++round) {
      std::string bytes = image.bytes;
      const size_t head = std::min<size_t>(bytes.size() - 8, round % 2 ? 128 : bytes.size());
      for (unsigned change = 0; change <= random() % 3; ++change) {
        const uint64_t value = random() % 2 ? odd[random() % 8] : random() % (2 * bytes.size());
        memcpy(&bytes[random() % head], &value, size_t{1} << random() % 4);
      }
      Measured got = measure(bytes);
      ASSERT_LE(got.size, bytes.size()) << image.name;
      if (got.status)
        continue;
      ++good;
      Measured again = measure(bytes.substr(0, got.size));
      ASSERT_EQ(again.size, got.size) << image.name << ": " << again.error.message;
    }
  }
  EXPECT_GT(good, 1000u);
}

TEST(Measure, SaysWhatHasNoEndOfItsOwn)
{
  const std::string padding(64, '\0');
  for (const std::string &bytes :
       {build::ar_archive({{"a.o", object_for(0x3f)}}), "KPAK" + padding, "BC\xc0\xde" + padding,
        "FPIH" + padding, "!<thin>\n" + padding, "CCOB\x09" + padding}) {
    Measured got = measure(bytes);
    EXPECT_EQ(got.status, RAWHAL_UNSUPPORTED) << bytes.substr(0, 4) << got.error.message;
  }
  EXPECT_EQ(measure("nothing known").status, RAWHAL_MALFORMED);
}

TEST(Measure, HasTheCapsOfReading)
{
  rawhal_container_options_t options = {};
  options.max_bundle_entries = 2;
  const std::string object = object_for(0x3f);
  EXPECT_EQ(measure(bundle_of({object, object}), &options).status, RAWHAL_CAP_EXCEEDED);
  options = {};
  options.max_unpacked_bytes = 100;
  EXPECT_EQ(measure(build::ccob(1, 0, bundle_of({object})), &options).status, RAWHAL_CAP_EXCEEDED);
  options.flags = 1u << 31;
  EXPECT_EQ(measure(object, &options).status, RAWHAL_INVALID_ARGUMENT);
  size_t size = 1;
  EXPECT_EQ(rawhal_container_measure(nullptr, 8, nullptr, &size, nullptr), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(size, 0u);
  EXPECT_EQ(rawhal_container_measure("x", 1, nullptr, nullptr, nullptr), RAWHAL_INVALID_ARGUMENT);
}

TEST(OpenImage, FindsWhatStandsBeforeAHole)
{
  for (const Named &image : images()) {
    if (strcmp(image.name, "empty bundle") == 0)
      continue;
    Container known(image.bytes);
    Guarded guarded(image.bytes);
    rawhal_container_t *container = nullptr;
    rawhal_error_t error = {};
    ASSERT_EQ(rawhal_container_open_image(guarded.data(), nullptr, &container, &error), RAWHAL_OK)
        << image.name << ": " << error.message;
    ASSERT_EQ(rawhal_container_count(container), known.count()) << image.name;
    for (size_t i = 0; i < known.count(); ++i) {
      rawhal_bytes_t bytes = rawhal_container_object(container, i)->bytes;
      EXPECT_EQ(std::string(static_cast<const char *>(bytes.data), bytes.size), known.content(i));
    }
    rawhal_container_close(container);
  }
}

// Mappings that touch each other are one range; what cannot be read ends it.
TEST(OpenImage, GoesOverTheBordersOfMappings)
{
  const size_t page = 4096;
  const std::string object = object_for(0x3f) + std::string(3 * page, '\0');
  const std::string image = build::offload_binary(object, "gfx90a");
  Guarded guarded(image);
  char *border = reinterpret_cast<char *>((reinterpret_cast<uintptr_t>(guarded.data()) + 2 * page) /
                                          page * page);
  rawhal_container_t *container = nullptr;
  rawhal_error_t error = {};
  ASSERT_EQ(mprotect(border, page, PROT_READ), 0); // another mapping from here on
  EXPECT_EQ(rawhal_container_open_image(guarded.data(), nullptr, &container, &error), RAWHAL_OK)
      << error.message;
  rawhal_container_close(container);
  ASSERT_EQ(mprotect(border, page, PROT_NONE), 0);
  EXPECT_EQ(rawhal_container_open_image(guarded.data(), nullptr, &container, &error),
            RAWHAL_MALFORMED);
  EXPECT_EQ(container, nullptr);
  EXPECT_EQ(rawhal_container_open_image(border, nullptr, &container, &error),
            RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_container_open_image(nullptr, nullptr, &container, &error),
            RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_container_open_image(border, nullptr, nullptr, &error), RAWHAL_INVALID_ARGUMENT);
  const uintptr_t nowhere = 0x10;
  EXPECT_EQ(rawhal_container_open_image(reinterpret_cast<const void *>(nowhere), nullptr,
                                        &container, &error),
            RAWHAL_INVALID_ARGUMENT);
}
