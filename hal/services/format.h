/* printf() formats of kernels, directive by directive. Internal.
 *
 * Format and arguments come from the device: nothing of them reaches the C library but numbers,
 * with a directive of our own that has the same flags, width and precision. */
#ifndef RAWHAL_HAL_SERVICES_FORMAT_H
#define RAWHAL_HAL_SERVICES_FORMAT_H

#include "hal/services/text.h"

/* The bytes of a call's arguments, and how they lie there. */
typedef struct printf_arguments {
  const unsigned char *at, *end;
  /* HIP: eight bytes for each, but for strings, which end with a NUL and are padded to a multiple
   * of eight. OpenCL C, whose vectors' elements may be as small as a byte: as `sizes` says,
   * "4:16:", for `count` arguments, each padded to a multiple of four. */
  bool opencl;
  rawhal_string_t sizes;
  uint32_t count;
} printf_arguments_t;

/* Appends the text. It ends early where an argument is missing. What is not a directive, or does
 * not fit its argument, is text. */
void format_text(services_text_t *text, rawhal_string_t format, printf_arguments_t *arguments);

/* The next number of "4:16:", which it takes off; UINT32_MAX where there is none. */
uint32_t format_take_size(rawhal_string_t *sizes);

#endif
