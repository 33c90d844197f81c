// Images: what was written is read, and anything else is noticed.
extern "C" {
#include "library/image.h"
}

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <vector>

namespace {

std::string bytes_of(size_t size)
{
  std::string bytes;
  for (size_t i = 0; i < size; ++i)
    bytes += static_cast<char>(i * 31 + i / 251);
  return bytes;
}

class Image : public testing::Test {
protected:
  void SetUp() override
  {
    char name[] = "/tmp/rawhal-image-XXXXXX";
    file = mkostemp(name, O_CLOEXEC);
    ASSERT_GE(file, 0);
    unlink(name);
  }
  void TearDown() override { close(file); }

  void make(const std::string &content)
  {
    image_t made;
    image_begin(&made, 7, nullptr);
    for (size_t at = 0; at < content.size(); at += 1000)
      ASSERT_TRUE(
          image_append(&made, content.data() + at, std::min<size_t>(1000, content.size() - at)));
    image_seal(&made);
    const rawhal_bytes_t bytes = image_bytes(&made);
    ASSERT_EQ(pwrite(file, bytes.data, bytes.size, 0), static_cast<ssize_t>(bytes.size));
    pages = bytes.size / IMAGE_PAGE;
    image_free(&made);
  }

  image_t open(uint64_t seed = 7)
  {
    image_t opened;
    image_of_file(&opened, dup(file), pages, seed, nullptr);
    return opened;
  }

  int file = -1;
  uint64_t pages = 0;
};

TEST_F(Image, WhatWasWrittenIsRead)
{
  const std::string content = bytes_of(20000);
  make(content);
  image_t image = open();
  for (size_t offset : {0, 1, 4087, 4088, 4089, 8176, 15000})
    for (size_t size : {0, 1, 7, 4088, 5000}) {
      std::string read(size, '?');
      ASSERT_TRUE(image_read(&image, offset, read.data(), size));
      EXPECT_EQ(read, content.substr(offset, size)) << offset << ' ' << size;
      EXPECT_EQ(image_compare(&image, offset, read.data(), size), IMAGE_EQUAL);
      if (size) {
        read.back() ^= 1;
        EXPECT_EQ(image_compare(&image, offset, read.data(), size), IMAGE_DIFFERENT);
      }
    }
  char byte;
  EXPECT_FALSE(image_read(&image, pages * IMAGE_CONTENT, &byte, 1));
  EXPECT_FALSE(image_read(&image, UINT64_MAX, &byte, 1));
  EXPECT_EQ(image_compare(&image, UINT64_MAX, &byte, 1), IMAGE_DAMAGED);
  ASSERT_TRUE(image_load(&image, nullptr));
  std::string all(content.size(), '?');
  ASSERT_TRUE(image_read(&image, 0, all.data(), all.size()));
  EXPECT_EQ(all, content);
  image_free(&image);
}

TEST_F(Image, EveryDamagedByteIsNoticed)
{
  make(bytes_of(5000));
  for (uint64_t at = 0; at < pages * IMAGE_PAGE; ++at) {
    unsigned char byte, other;
    ASSERT_EQ(pread(file, &byte, 1, static_cast<off_t>(at)), 1);
    other = static_cast<unsigned char>(byte ^ (1 + at % 255));
    ASSERT_EQ(pwrite(file, &other, 1, static_cast<off_t>(at)), 1);
    image_t image = open();
    EXPECT_FALSE(image_read(&image, at / IMAGE_PAGE * IMAGE_CONTENT, &other, 1)) << at;
    EXPECT_FALSE(image_load(&image, nullptr)) << at;
    image_free(&image);
    ASSERT_EQ(pwrite(file, &byte, 1, static_cast<off_t>(at)), 1);
  }
}

TEST_F(Image, PagesOfOtherPlacesAndImagesAreNoticed)
{
  make(std::string(3 * IMAGE_CONTENT, 'x')); // all pages have the same content
  std::vector<char> page(IMAGE_PAGE);
  char byte;
  ASSERT_EQ(pread(file, page.data(), page.size(), 0), IMAGE_PAGE);
  ASSERT_EQ(pwrite(file, page.data(), page.size(), IMAGE_PAGE), IMAGE_PAGE);
  image_t image = open();
  EXPECT_TRUE(image_read(&image, 0, &byte, 1));
  EXPECT_FALSE(image_read(&image, IMAGE_CONTENT, &byte, 1));
  EXPECT_TRUE(image_read(&image, 2 * IMAGE_CONTENT, &byte, 1));
  image_free(&image);
  image = open(8);
  EXPECT_FALSE(image_read(&image, 0, &byte, 1));
  image_free(&image);
}

TEST_F(Image, AFileThatIsCutIsNoticed)
{
  make(bytes_of(20000));
  image_t image = open();
  char byte;
  EXPECT_TRUE(image_read(&image, 16000, &byte, 1));
  ASSERT_EQ(ftruncate(file, 10000), 0);
  EXPECT_FALSE(image_read(&image, 16000, &byte, 1));
  EXPECT_TRUE(image_read(&image, 0, &byte, 1));
  image_free(&image);
}

} // namespace
