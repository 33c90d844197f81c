// Structures that grew: callers of all ages and libraries of all ages.
extern "C" {
#include "base/sized.h"
}

#include <cstring>

#include <gtest/gtest.h>

namespace {

struct First {
  size_t size;
  uint32_t a, b;
};
struct Second {
  size_t size;
  uint32_t a, b;
  uint64_t c;
};

class Sized : public testing::Test {
protected:
  template <typename T> rawhal_status_t take(T *taken, const void *given)
  {
    memset(static_cast<void *>(taken), 0xee, sizeof(*taken));
    return sized_take(taken, sizeof(*taken), sizeof(First), given, "things", &error);
  }
  First first = {};
  Second second = {};
  rawhal_error_t error = {};
};

TEST_F(Sized, NothingIsZeros)
{
  ASSERT_EQ(RAWHAL_OK, take(&second, nullptr));
  EXPECT_EQ(sizeof(Second), second.size);
  EXPECT_EQ(0u, second.a | second.b | second.c);
}

TEST_F(Sized, AnOlderCallersMembersAreTaken)
{
  for (size_t size : {size_t{0}, sizeof(First)}) {
    const First given = {size, 1, 2};
    ASSERT_EQ(RAWHAL_OK, take(&second, &given));
    EXPECT_EQ(sizeof(Second), second.size);
    EXPECT_EQ(1u, second.a);
    EXPECT_EQ(2u, second.b);
    EXPECT_EQ(0u, second.c);
  }
}

// Who does not say that there are later members does not set them.
TEST_F(Sized, LaterMembersCountWithASizeOnly)
{
  Second given = {0, 1, 2, 3}, taken;
  ASSERT_EQ(RAWHAL_OK, take(&taken, &given));
  EXPECT_EQ(0u, taken.c);
  given.size = sizeof(given);
  ASSERT_EQ(RAWHAL_OK, take(&taken, &given));
  EXPECT_EQ(3u, taken.c);
}

TEST_F(Sized, ANewerCallersMembersAreRefusedUnlessZero)
{
  Second given = {sizeof(Second), 1, 2, 0};
  ASSERT_EQ(RAWHAL_OK, take(&first, &given));
  EXPECT_EQ(sizeof(First), first.size);
  EXPECT_EQ(2u, first.b);
  given.c = uint64_t{1} << 63;
  EXPECT_EQ(RAWHAL_UNSUPPORTED, take(&first, &given));
  EXPECT_STREQ("things: byte 23 is set, this version of rawhal knows 16 bytes", error.message);
}

TEST_F(Sized, ImpossibleSizesAreRefused)
{
  for (size_t size : {size_t{1}, sizeof(First) - 1, size_t{4097}, SIZE_MAX}) {
    const Second given = {size, 1, 2, 3};
    EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, take(&second, &given)) << size;
  }
}

TEST_F(Sized, AsMuchIsGivenAsTheCallerHas)
{
  const Second ours = {0, 1, 2, 3};
  Second place;
  for (size_t size : {size_t{0}, size_t{1}, sizeof(First), SIZE_MAX, size_t{0x7ffc12345678}}) {
    place = {size, 9, 9, 9};
    sized_give(&place, sizeof(First), &ours, sizeof(ours));
    EXPECT_EQ(sizeof(First), place.size);
    EXPECT_EQ(2u, place.b);
    EXPECT_EQ(9u, place.c) << "beyond what the caller said it has";
  }
  for (size_t size : {sizeof(Second), sizeof(Second) + 8, size_t{4096}}) {
    place = {size, 9, 9, 9};
    sized_give(&place, sizeof(First), &ours, sizeof(ours));
    EXPECT_EQ(sizeof(Second), place.size);
    EXPECT_EQ(3u, place.c);
  }
}

TEST_F(Sized, ElementsOfANewerCallersArrayAreReadInPlace)
{
  Second given[3] = {{1, 2, 3, 0}, {4, 5, 6, 0}, {7, 8, 9, 0}};
  auto check = [&](size_t size, size_t count) {
    return sized_array(given, size, count, sizeof(First), "things", &error);
  };
  EXPECT_EQ(RAWHAL_OK, check(sizeof(First), 4));
  EXPECT_EQ(RAWHAL_OK, check(sizeof(Second), 3));
  given[2].c = 1;
  EXPECT_EQ(RAWHAL_OK, check(sizeof(Second), 2)) << "beyond the array";
  EXPECT_EQ(RAWHAL_UNSUPPORTED, check(sizeof(Second), 3));
  EXPECT_STREQ("things: byte 16 is set, this version of rawhal knows 16 bytes", error.message);
  for (size_t size : {size_t{0}, size_t{8}, size_t{15}, size_t{20}, size_t{4104}, SIZE_MAX})
    EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, check(size, 1)) << size;
}

} // namespace
