/* Arrays that grow. Internal to softgpu. */
#ifndef SOFTGPU_DEVICE_ARRAY_H
#define SOFTGPU_DEVICE_ARRAY_H

#include <stdint.h>
#include <stdlib.h>

/* `items`, which has room for `*capacity` of `size` bytes, or what it became to have room for
 * `count`. NULL, and nothing changed, when memory is out. */
static inline void *softgpu_array_grown(void *items, size_t *capacity, size_t count, size_t size)
{
  if (count <= *capacity)
    return items;
  const size_t wanted = count > 8 ? 2 * count : 16;
  void *grown = count > SIZE_MAX / 2 / size ? NULL : realloc(items, wanted * size);
  if (grown)
    *capacity = wanted;
  return grown;
}

#endif
