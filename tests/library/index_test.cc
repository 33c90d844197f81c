// An index that is damaged in its file, byte by byte: it says so, or answers as if it were not. No device is needed.
#include <gtest/gtest.h>

#include <rawhal/container.h>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "tests/extended.h"
#include "tests/hsaco/builder.h"
#include "tests/hsaco/carriers.h"

extern "C" {
#include "library/index.h"
}

namespace {

constexpr size_t objects = 60, kernels = 20;

std::string name_of(size_t number)
{
  return "Cijk_Ailk_Bljk_SB_MT64x64x8_" + std::to_string(number);
}

// An index of 1,200 kernels, in a file of its own.
class Index : public testing::Test {
protected:
  void SetUp() override
  {
    std::vector<std::pair<std::string, std::string>> members;
    for (size_t i = 0; i < objects; ++i) {
      build::Object object;
      for (size_t k = 0; k < kernels; ++k)
        object.kernels.push_back(build::plain_kernel(name_of(i * kernels + k)));
      members.emplace_back(std::to_string(i) + ".co", object.build());
    }
    const std::string bytes = build::ar_archive(members);
    rawhal_container_t *container = nullptr;
    rawhal_error_t error;
    rawhal_target_t target;
    ASSERT_EQ(rawhal_target_parse(RAWHAL_STRING("gfx90a:sramecc+:xnack-"), &target, &error),
              RAWHAL_OK);
    ASSERT_EQ(rawhal_container_open(bytes.data(), bytes.size(), nullptr, &container, &error),
              RAWHAL_OK);
    const rawhal_container_options_t container_options = {};
    const rawhal_hsaco_options_t hsaco_options = {};
    index_source_t source = {};
    source.device = &target;
    source.container_options = &container_options;
    source.hsaco_options = &hsaco_options;
    source.container = container;
    source.name = "bytes";
    library_index_t made;
    ASSERT_EQ(index_build(&source, &made, &error), RAWHAL_OK) << error.message;
    rawhal_container_close(container);
    ASSERT_EQ(made.header.kernels, objects * kernels);
    identity = made.header.source;
    const rawhal_bytes_t image = image_bytes(&made.image);
    size = image.size;
    file = memfd_create("index", MFD_CLOEXEC);
    ASSERT_EQ(pwrite(file, image.data, size, 0), static_cast<ssize_t>(size));
    index_free(&made);
    for (size_t i = 0; i < objects * kernels; ++i) {
      good.push_back({});
      ASSERT_TRUE(look_up(name_of(i), &good.back()));
      ASSERT_EQ(good.back().size(), 1u);
      ASSERT_EQ(good.back()[0].ordinal, i / kernels);
    }
  }
  void TearDown() override { close(file); }

  using Objects = std::vector<index_object_t>;

  struct Search {
    library_index_t *index;
    Objects found;
    bool whole;
  };

  static bool note(void *context, uint32_t number, uint32_t)
  {
    auto *search = static_cast<Search *>(context);
    index_object_t object;
    memset(&object, 0, sizeof(object));
    search->whole = search->whole && index_object_at(search->index, number, &object);
    search->found.push_back(object);
    return true;
  }

  // What the file has of it; false: nothing that can be believed.
  bool look_up(const std::string &name, Objects *found)
  {
    image_t image;
    library_index_t index;
    image_of_file(&image, dup(file), size / IMAGE_PAGE, INDEX_SEED, nullptr);
    if (!index_take(&index, &image, size / IMAGE_PAGE, &identity)) {
      image_free(&image);
      return false;
    }
    Search search = {&index, {}, true};
    const bool whole = index_find(&index, {name.data(), name.size()}, note, &search);
    index_free(&index);
    *found = search.found;
    return whole && search.whole;
  }

  static bool are_equal(const Objects &a, const Objects &b)
  {
    return a.size() == b.size() &&
           (a.empty() || memcmp(a.data(), b.data(), a.size() * sizeof(a[0])) == 0);
  }

  int file = -1;
  size_t size = 0;
  rawhal_content_hash_t identity = {};
  std::vector<Objects> good; // by number
};

TEST_F(Index, EveryFlippedByte)
{
  ASSERT_GE(size, 17u * IMAGE_PAGE); // it would stay in its file
  const size_t step = by_length<size_t>(23, 5, 1);
  size_t damaged = 0, right = 0;
  for (size_t at = 0; at < size; at += step) {
    char byte;
    ASSERT_EQ(pread(file, &byte, 1, static_cast<off_t>(at)), 1);
    const char bad = static_cast<char>(byte ^ (1 << at % 8));
    ASSERT_EQ(pwrite(file, &bad, 1, static_cast<off_t>(at)), 1);
    for (size_t number : {size_t{0}, at % good.size(), good.size() - 1}) {
      Objects found;
      if (!look_up(name_of(number), &found)) {
        ++damaged;
        continue;
      }
      ++right;
      ASSERT_TRUE(are_equal(found, good[number])) << at << ", " << number;
    }
    Objects none;
    ASSERT_TRUE(!look_up("no such kernel", &none) || none.empty()) << at;
    ASSERT_EQ(pwrite(file, &byte, 1, static_cast<off_t>(at)), 1);
  }
  EXPECT_GT(damaged, size / step / 10);
  EXPECT_GT(right, size / step);
  Objects found;
  EXPECT_TRUE(look_up(name_of(7), &found) && are_equal(found, good[7]));
}

} // namespace
