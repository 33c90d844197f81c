#include "heap_parts.h"

#include "hal/pool/index.h"

#define TEXT(line) #line
#define AT(line)   TEXT(line)
#define CHECK(what)                                                                                \
  do {                                                                                             \
    if (!(what))                                                                                   \
      return "line " AT(__LINE__) ": " #what;                                                      \
  } while (0)

const char *heap_check_classes(void)
{
  const uint64_t most = UINT64_C(1) << POOL_SIZE_BITS;
  uint64_t before = 0;
  for (uint64_t size = POOL_UNIT; size <= most; size = pool_round(size + 1)) {
    CHECK(pool_round(size) == size);
    CHECK(pool_class(size) == (before ? pool_class(before) + 1 : 1));
    CHECK(!before || pool_round(before + 1) == size);
    CHECK(pool_class_above(size) == pool_class(size));
    CHECK(pool_class_above(size + 1) == pool_class(size) + 1);
    CHECK(pool_class(pool_round(size + 1) - POOL_UNIT) == pool_class(size));
    CHECK(size <= 16 * POOL_UNIT || (size - before) * 8 <= before);
    before = size;
  }
  CHECK(before == most);
  CHECK(pool_class(2 * most - POOL_UNIT) < POOL_CLASSES);
  return NULL;
}

const char *heap_check_index(void)
{
  static pool_index_t index;
  const uint64_t tera = UINT64_C(1) << 40;
  pool_block_t small = {.size = 256}, large = {.size = tera}, equal = {.size = 256};
  CHECK(!pool_index_find(&index, 256));
  pool_index_add(&index, &large);
  pool_index_add(&index, &small);
  pool_index_add(&index, &equal);
  CHECK(index.bytes == 512 + tera);
  CHECK(pool_index_find(&index, 256) == &equal);
  CHECK(pool_index_find(&index, 512) == &large);
  CHECK(pool_index_find(&index, tera) == &large);
  CHECK(!pool_index_find(&index, pool_round(tera + 1)));
  pool_index_remove(&small);
  CHECK(pool_index_find(&index, 256) == &equal);
  pool_index_remove(&equal);
  CHECK(pool_index_find(&index, 256) == &large);
  pool_index_remove(&large);
  CHECK(!pool_index_find(&index, 256));
  CHECK(index.bytes == 0);
  return NULL;
}

const char *heap_check_blocks(void)
{
  static pool_blocks_t blocks;
  pool_block_t *taken[1000];
  for (uint64_t i = 0; i < 1000; ++i) {
    CHECK(pool_blocks_reserve(&blocks, 1, NULL));
    taken[i] = pool_blocks_take(&blocks);
    CHECK(taken[i]->last && taken[i]->last == taken[i]->number);
    CHECK(i == 0 || taken[i]->number > taken[i - 1]->number);
  }
  for (uint64_t i = 0; i < 1000; ++i) {
    CHECK(pool_blocks_at(&blocks, taken[i]->number) == taken[i]);
    CHECK(pool_blocks_at(&blocks, taken[i]->number | UINT64_C(77) << BLOCK_NUMBER_BITS) ==
          taken[i]);
  }
  CHECK(!pool_blocks_at(&blocks, BLOCK_FIRST_CHUNK));
  CHECK(!pool_blocks_at(&blocks, (uint64_t)5 << BLOCK_PLACE_BITS)); /* 64, 128 .. 1024 */
  CHECK(!pool_blocks_at(&blocks, (1u << BLOCK_NUMBER_BITS) - 1));
  CHECK(!pool_blocks_at(&blocks, 0) || pool_blocks_at(&blocks, 0)->last == 0);
  pool_blocks_give(&blocks, taken[5]);
  CHECK(pool_blocks_take(&blocks) == taken[5]);
  pool_blocks_free(&blocks, NULL);
  return NULL;
}
