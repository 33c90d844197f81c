/* Text that kernels print, and where it goes. Internal. */
#ifndef RAWHAL_HAL_SERVICES_TEXT_H
#define RAWHAL_HAL_SERVICES_TEXT_H

#include "base/allocate.h"
#include "hal/services/services.h"

#include <pthread.h>

enum { SERVICES_TEXT_BYTES = 65536 }; /* of one printf(), with a NUL at the end */

typedef struct services_text {
  char *data;
  size_t size, capacity;
  bool cut; /* there was more */
} services_text_t;

/* Appends, as far as there is room. */
void text_append(services_text_t *text, const char *data, size_t size);
void text_pad(services_text_t *text, char character, size_t count);

/* One text at a time, and one call of the program's function. */
typedef struct services_output {
  rawhal_services_output_fn *function;
  void *context;
  pthread_mutex_t lock; /* of `text` and of the calls */
  services_text_t text;
  const allocator_t *allocator;
} services_output_t;

RAWHAL_CHECKED rawhal_status_t output_open(services_output_t *output,
                                           rawhal_services_output_fn *function, void *context,
                                           const allocator_t *allocator, rawhal_error_t *error);
void output_close(services_output_t *output);

/* The empty text, to be written to until output_end(), which gives its size. */
services_text_t *output_begin(services_output_t *output);
size_t output_end(services_output_t *output, rawhal_services_stream_t stream);

#endif
