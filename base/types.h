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

/* Compilers warn where the result is not used. */
#define RAWHAL_CHECKED __attribute__((warn_unused_result))

/* Still there, to be removed in a later version: RAWHAL_DEPRECATED("use rawhal_...") before a
 * declaration. */
#define RAWHAL_DEPRECATED(instead) __attribute__((deprecated(instead)))

/* Structures whose first member is `size` may grow. The caller sets it to sizeof() of the
 * structure, which tells the library which header the caller was compiled with; 0 stands for
 * version 0.2, so members that came later count only where `size` is set. UNSUPPORTED where a
 * member is set that an older library does not know. Structures that the library owns and returns a
 * pointer to grow at their end. Elements of arrays have no `size`: functions that end in _sized
 * take it once for all of them, and have an inline wrapper that passes the header's. */

/* Text as it stands in a file: bytes with a length, NOT NUL-terminated, any byte value possible.
 * `data` may be NULL when `size` is 0. Who owns the bytes is said where a string is returned. */
typedef struct rawhal_string {
  const char *data;
  size_t size;
} rawhal_string_t;

/* The rawhal_string_t of a string literal: RAWHAL_STRING("vector_add"). */
#if defined(__cplusplus)
#define RAWHAL_STRING(literal) (rawhal_string_t{"" literal, sizeof(literal) - 1})
#else
#define RAWHAL_STRING(literal) ((rawhal_string_t){"" literal, sizeof(literal) - 1})
#endif

/* The rawhal_string_t of text that ends with a NUL. It points to the text, which stays the
 * caller's; NULL is empty. */
static inline rawhal_string_t rawhal_string(const char *text)
{
  rawhal_string_t string = {text, text ? strlen(text) : 0};
  return string;
}

/* A read-only range of bytes; the same rules as for rawhal_string_t. */
typedef struct rawhal_bytes {
  const void *data;
  size_t size;
} rawhal_bytes_t;

#endif
