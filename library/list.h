/* An array that grows. Internal. */
#ifndef RAWHAL_LIBRARY_LIST_H
#define RAWHAL_LIBRARY_LIST_H

#include "base/allocate.h"

typedef struct list {
  const allocator_t *allocator; /* stays where it is as long as the list */
  void *items;
  size_t count, capacity;
} list_t;

/* A copy of `item` at the end, which may move all of them; every item has the same `size`. NULL: no
 * memory. */
static inline void *list_add(list_t *list, const void *item, size_t size)
{
  if (list->count == list->capacity) {
    size_t capacity = list->capacity ? list->capacity * 2 : 16;
    void *items = capacity > SIZE_MAX / size ? NULL
                                             : allocate_more(list->allocator, list->items,
                                                             list->count * size, capacity * size);
    if (!items)
      return NULL;
    list->items = items;
    list->capacity = capacity;
  }
  return memcpy((char *)list->items + list->count++ * size, item, size);
}

static inline void list_free(list_t *list)
{
  allocate_free(list->allocator, list->items);
  list->items = NULL;
  list->count = list->capacity = 0;
}

#endif
