/* Arrays that grow. Internal. */
#ifndef RAWHAL_BASE_LIST_H
#define RAWHAL_BASE_LIST_H

#include "base/allocate.h"

/* How many items of `size` bytes to make room for, where there is room for `capacity` of them and
 * `wanted`, more than that, are needed: at least twice as many. 0: more bytes than can be. */
size_t array_grown(size_t capacity, size_t wanted, size_t size);

/* Makes room for `wanted` items of an array that may move: `array` points to the pointer to them,
 * which is NULL while there is none. False: no memory; all stays as it was. */
bool array_reserve(const allocator_t *allocator, void *array, size_t *capacity, size_t wanted,
                   size_t size);

/* An array of items that all have the same size; zeros: none. */
typedef struct list {
  const allocator_t *allocator; /* stays where it is as long as the list */
  void *items;
  size_t count, capacity;
} list_t;

/* A copy of `item`, or zeros if it is NULL, at the end; this may move all of them. NULL: no
 * memory. */
void *list_add(list_t *list, const void *item, size_t size);
void list_free(list_t *list);

#endif
