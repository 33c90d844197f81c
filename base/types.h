/* rawhal/types.h: how the public headers spell linkage, byte ranges and text. */
#ifndef RAWHAL_TYPES_H
#define RAWHAL_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__cplusplus)
#define RAWHAL_BEGIN extern "C" {
#define RAWHAL_END   }
#else
#define RAWHAL_BEGIN
#define RAWHAL_END
#endif

/* Everything else in the shared library has hidden visibility. */
#define RAWHAL_API __attribute__((visibility("default")))

/* The result must be looked at. */
#define RAWHAL_CHECKED __attribute__((warn_unused_result))

/* Still there, and going away: RAWHAL_DEPRECATED("use rawhal_...") before a declaration. */
#define RAWHAL_DEPRECATED(instead) __attribute__((deprecated(instead)))

/* Structures whose first member is `size` grow: sizeof() of the structure there tells the library
 * which header its caller was compiled with; 0 stands for version 0.2. So members that came later
 * count only where `size` is set. UNSUPPORTED where one is set that an older library does not know.
 * Structures that the library owns and shows by a pointer grow at their end. Elements of arrays
 * have no `size`: functions that end in _sized take it for all of them, and have a wrapper that
 * knows the header's. */

/* Text as it stands in a file: bytes with a length, NOT NUL-terminated, any byte value possible.
 * `data` may be NULL when `size` is 0. Who owns the bytes is said where a string is returned. */
typedef struct rawhal_string {
  const char *data;
  size_t size;
} rawhal_string_t;

/* Of a literal: RAWHAL_STRING("vector_add"). */
#if defined(__cplusplus)
#define RAWHAL_STRING(literal) (rawhal_string_t{"" literal, sizeof(literal) - 1})
#else
#define RAWHAL_STRING(literal) ((rawhal_string_t){"" literal, sizeof(literal) - 1})
#endif

/* Of text that ends with a NUL, which stays the caller's; NULL is empty. */
static inline rawhal_string_t rawhal_string(const char *text)
{
  rawhal_string_t string = {text, text ? strlen(text) : 0};
  return string;
}

/* A read-only range of bytes; the same rules. */
typedef struct rawhal_bytes {
  const void *data;
  size_t size;
} rawhal_bytes_t;

#endif
