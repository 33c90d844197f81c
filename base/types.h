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

/* A function in a header, whose compiled code is the program's own: it passes the sizes that the
 * program was compiled with. The library has each as a symbol, too, for languages that cannot
 * compile C; there the sizes are the library's. */
#if !defined(RAWHAL_INLINE)
#define RAWHAL_INLINE static inline
#endif

/* Available, but to be removed in a later version: RAWHAL_DEPRECATED("use rawhal_...") before a
 * declaration. */
#define RAWHAL_DEPRECATED(instead) __attribute__((deprecated(instead)))

/* Structures whose first member is `size` may grow. The caller sets it to sizeof() of the
 * structure, which tells the library which header the caller was compiled with; 0 stands for
 * version 0.2, so later members count only if `size` is set. A call fails with UNSUPPORTED if a
 * member is set that the library is too old to know. Structures that the library owns, and returns
 * pointers to, grow at their end. Elements of arrays have no `size`: functions whose names end in
 * _sized take it once for all elements, and have inline wrappers that pass the header's. */

/* Text as it stands in a file: bytes with a length, NOT NUL-terminated, with any byte values.
 * `data` may be NULL when `size` is 0. Each function that returns one says who owns the bytes. */
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
 * caller's; NULL gives an empty string. */
RAWHAL_INLINE rawhal_string_t rawhal_string(const char *text)
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
