// Arrays that grow.
#include <gtest/gtest.h>

extern "C" {
#include "base/list.h"
}
#include "tests/harness/allocator.h"

TEST(List, GrowsByHalvesOfWhatItHas)
{
  EXPECT_EQ(16u, array_grown(8, 9, 4));
  EXPECT_EQ(100u, array_grown(8, 100, 4));
  EXPECT_EQ(SIZE_MAX, array_grown(SIZE_MAX / 2 + 1, SIZE_MAX, 1)) << "twice as many cannot be";
  EXPECT_EQ(0u, array_grown(0, SIZE_MAX / 4 + 1, 4)) << "more bytes than can be";
  EXPECT_EQ(0u, array_grown(SIZE_MAX / 8, SIZE_MAX / 8 + 1, 8));
}

TEST(List, KeepsItsItemsWhileItMoves)
{
  Allocator own;
  const allocator_t zero = {};
  for (const allocator_t *from : {static_cast<const allocator_t *>(nullptr), &zero, own.hook()}) {
    list_t list = {from, nullptr, 0, 0};
    for (uint64_t i = 0; i < 1000; ++i) {
      auto *added = static_cast<uint64_t *>(list_add(&list, i % 3 ? &i : nullptr, sizeof(i)));
      ASSERT_NE(nullptr, added);
      EXPECT_EQ(i % 3 ? i : 0, *added);
    }
    ASSERT_EQ(1000u, list.count);
    EXPECT_LE(list.count, list.capacity);
    EXPECT_LT(list.capacity, 2 * list.count);
    for (uint64_t i = 0; i < 1000; ++i)
      EXPECT_EQ(i % 3 ? i : 0, static_cast<uint64_t *>(list.items)[i]);
    list_free(&list);
    EXPECT_EQ(nullptr, list.items);
    EXPECT_EQ(0u, list.count + list.capacity);
  }
}

TEST(List, StaysAsItWasWithoutMemory)
{
  Allocator own;
  uint64_t *items = nullptr;
  size_t capacity = 0;
  ASSERT_TRUE(array_reserve(own.hook(), &items, &capacity, 1, sizeof(*items)));
  items[0] = 7;
  uint64_t *const before = items;
  const size_t room = capacity;
  EXPECT_TRUE(array_reserve(own.hook(), &items, &capacity, room, sizeof(*items)));
  EXPECT_EQ(before, items) << "there was room";
  own.left = 0;
  for (size_t wanted : {SIZE_MAX, SIZE_MAX / sizeof(*items) + 1, room + 1}) {
    EXPECT_FALSE(array_reserve(own.hook(), &items, &capacity, wanted, sizeof(*items)));
    EXPECT_EQ(wanted == room + 1, own.refused) << "more than can be is not asked for";
    EXPECT_EQ(before, items);
    EXPECT_EQ(room, capacity);
    EXPECT_EQ(7u, items[0]);
  }
  allocate_free(own.hook(), items);
}
