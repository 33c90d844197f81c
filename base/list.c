#include "base/list.h"

size_t array_grown(size_t capacity, size_t wanted, size_t size)
{
  size_t grown, bytes;
  if (__builtin_mul_overflow(capacity, 2, &grown) || grown < wanted)
    grown = wanted;
  return __builtin_mul_overflow(grown, size, &bytes) ? 0 : grown;
}

bool array_reserve(const allocator_t *allocator, void *array, size_t *capacity, size_t wanted,
                   size_t size)
{
  const size_t first = size <= 256 ? 16 : 1; /* at most a page for one that is needed */
  if (wanted <= *capacity)
    return true;
  const size_t grown = array_grown(*capacity, wanted < first ? first : wanted, size);
  void *items;
  memcpy(&items, array, sizeof(items));
  items = grown ? allocate_more(allocator, items, *capacity * size, grown * size) : NULL;
  if (!items)
    return false;
  memcpy(array, &items, sizeof(items));
  *capacity = grown;
  return true;
}

void *list_add(list_t *list, const void *item, size_t size)
{
  if (!array_reserve(list->allocator, &list->items, &list->capacity, list->count + 1, size))
    return NULL;
  void *added = (char *)list->items + list->count++ * size;
  return item ? memcpy(added, item, size) : memset(added, 0, size);
}

void list_free(list_t *list)
{
  allocate_free(list->allocator, list->items);
  list->items = NULL;
  list->count = list->capacity = 0;
}
