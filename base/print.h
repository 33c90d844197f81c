/* Text that is printed piece by piece into the caller's bytes. Internal. */
#ifndef RAWHAL_BASE_PRINT_H
#define RAWHAL_BASE_PRINT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Like snprintf: what does not fit is cut, `length` is that of the whole text. */
typedef struct print {
  char *text; /* NUL-terminated, unless size is 0 */
  size_t size, length;
} print_t;

/* `text` may be NULL: then it only counts. */
print_t print_into(char *text, size_t size);

__attribute__((format(printf, 2, 3))) void print(print_t *to, const char *format, ...);

#ifdef __cplusplus
}
#endif

#endif
