#include "base/sized.h"

#include <string.h>

#include "base/error.h"

enum { MOST = 4096 }; /* above it a size was not set: the memory was not initialised */

void sized_element(void *to, size_t size, const void *ours, size_t our_size)
{
  size_t taken = size < our_size ? size : our_size;
  memcpy(to, ours, taken);
  memset((unsigned char *)to + taken, 0, size - taken);
}

void sized_give(void *to, size_t first, const void *ours, size_t size)
{
  size_t has;
  memcpy(&has, to, sizeof(has));
  if (has < first || has > MOST)
    has = first;
  if (has > size)
    has = size;
  memcpy(to, ours, has);
  memcpy(to, &has, sizeof(has));
}

/* What this library does not know of a structure of `size` bytes must not be set. */
static rawhal_status_t unknown_are_zero(const unsigned char *bytes, size_t ours, size_t size,
                                        const char *what, rawhal_error_t *error)
{
  for (size_t i = ours; i < size; ++i)
    if (bytes[i])
      return rawhal_fail(error, RAWHAL_UNSUPPORTED,
                         "%s: byte %zu is set, this version of rawhal knows %zu bytes", what, i,
                         ours);
  return RAWHAL_OK;
}

rawhal_status_t sized_array(const void *elements, size_t size, size_t count, size_t ours,
                            const char *what, rawhal_error_t *error)
{
  if (size < ours || size > MOST || size % sizeof(uint64_t))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "%s: elements of %zu bytes, which must be a multiple of 8 of at least %zu "
                       "and at most %d",
                       what, size, ours, MOST);
  rawhal_status_t status = RAWHAL_OK;
  for (size_t i = 0; i < count && size > ours && status == RAWHAL_OK; ++i)
    status = unknown_are_zero((const unsigned char *)elements + i * size, ours, size, what, error);
  return status;
}

rawhal_status_t sized_take(void *taken, size_t ours, size_t first, const void *given,
                           const char *what, rawhal_error_t *error)
{
  memset(taken, 0, ours);
  size_t size = 0;
  if (given)
    memcpy(&size, given, sizeof(size));
  else
    size = first;
  if (size && size < first)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "%s: a size of %zu bytes, at least %zu are needed; 0 is this header's", what,
                       size, first);
  if (size > MOST)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "%s: a size of %zu bytes, at most %d are allowed", what, size, MOST);
  size = size ? size : first;
  rawhal_status_t status = given ? unknown_are_zero(given, ours, size, what, error) : RAWHAL_OK;
  if (status != RAWHAL_OK)
    return status;
  if (given)
    memcpy(taken, given, size < ours ? size : ours);
  memcpy(taken, &ours, sizeof(ours));
  return RAWHAL_OK;
}
