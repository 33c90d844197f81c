#include "hal/services/text.h"

#include "base/error.h"

#include <string.h>

/* What is left of `size`. */
static size_t text_room(services_text_t *text, size_t size)
{
  size_t room = text->capacity - 1 - text->size;
  text->cut |= size > room;
  return size > room ? room : size;
}

void text_append(services_text_t *text, const char *data, size_t size)
{
  size_t fits = text_room(text, size);
  if (fits)
    memcpy(text->data + text->size, data, fits);
  text->size += fits;
}

void text_pad(services_text_t *text, char character, size_t count)
{
  size_t fits = text_room(text, count);
  memset(text->data + text->size, character, fits);
  text->size += fits;
}

rawhal_status_t output_open(services_output_t *output, rawhal_services_output_fn *function,
                            void *context, const allocator_t *allocator, rawhal_error_t *error)
{
  char *data = allocate(allocator, SERVICES_TEXT_BYTES);
  if (!data)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for kernels' text");
  *output = (services_output_t){.function = function,
                                .context = context,
                                .allocator = allocator,
                                .text = {.data = data, .capacity = SERVICES_TEXT_BYTES}};
  pthread_mutex_init(&output->lock, NULL);
  return RAWHAL_OK;
}

void output_close(services_output_t *output)
{
  if (!output->text.data)
    return;
  pthread_mutex_destroy(&output->lock);
  allocate_free(output->allocator, output->text.data);
}

services_text_t *output_begin(services_output_t *output)
{
  pthread_mutex_lock(&output->lock);
  output->text.size = 0;
  output->text.cut = false;
  return &output->text;
}

size_t output_end(services_output_t *output, rawhal_services_stream_t stream)
{
  size_t size = output->text.size;
  if (output->function && size)
    output->function(output->context, stream, output->text.data, size);
  pthread_mutex_unlock(&output->lock);
  return size;
}
