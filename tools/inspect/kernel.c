/* rawhal inspect: what belongs to the kernels that were asked for, and which names are too long. */
#include <stdlib.h>
#include <string.h>

#include "tools/inspect/inspect.h"
#include "tools/shared/tool.h"

enum { DESCRIPTOR_BYTES = 64 };

bool inspect_wants(const inspect_options_t *options, rawhal_string_t kernel)
{
  return !options->kernel || (kernel.size && memmem(kernel.data, kernel.size, options->kernel,
                                                    strlen(options->kernel)));
}

bool inspect_wants_object(const inspect_options_t *options, const rawhal_hsaco_t *hsaco)
{
  const rawhal_kernel_t *kernel;
  bool wanted = !options->kernel;
  for (size_t i = 0; !wanted && (kernel = rawhal_hsaco_kernel(hsaco, i)); ++i)
    wanted = inspect_wants(options, kernel->name);
  return wanted;
}

/* ---- Addresses ---- */

static int compare_places(const void *a, const void *b)
{
  const struct inspect_place *first = a, *second = b;
  return first->start < second->start ? -1 : first->start > second->start;
}

/* The place that starts last at or before `address`; NULL when none does. */
static struct inspect_place *place_before(const inspect_places_t *places, uint64_t address)
{
  size_t from = 0, to = places->count;
  while (from < to) {
    size_t middle = from + (to - from) / 2;
    if (places->places[middle].start <= address)
      from = middle + 1;
    else
      to = middle;
  }
  return from ? &places->places[from - 1] : NULL;
}

/* Sorts the places and makes one of those that start together or overlap. */
static void join(inspect_places_t *places)
{
  size_t kept = 0;
  if (places->count)
    qsort(places->places, places->count, sizeof(*places->places), compare_places);
  for (size_t i = 0; i < places->count; ++i) {
    struct inspect_place next = places->places[i];
    struct inspect_place *last = kept ? &places->places[kept - 1] : NULL;
    if (!last || next.start - last->start >= last->size) {
      places->places[kept++] = next;
      continue;
    }
    uint64_t end = next.start - last->start + next.size;
    if (end > last->size && end >= next.size)
      last->size = end;
  }
  places->count = kept;
}

bool inspect_places_make(inspect_places_t *places, const inspect_options_t *options,
                         const rawhal_hsaco_t *hsaco)
{
  const rawhal_hsaco_info_t *info = rawhal_hsaco_info(hsaco);
  *places = (inspect_places_t){.everything = !options->kernel};
  if (places->everything)
    return true;
  places->places = calloc(2 * info->kernel_count + 1, sizeof(*places->places));
  if (!places->places)
    return false;
  for (size_t i = 0; i < info->kernel_count; ++i) {
    const rawhal_kernel_t *kernel = rawhal_hsaco_kernel(hsaco, i);
    if (!kernel->descriptor || !inspect_wants(options, kernel->name))
      continue;
    places->places[places->count++] =
        (struct inspect_place){kernel->descriptor->address, DESCRIPTOR_BYTES};
    places->places[places->count++] = (struct inspect_place){kernel->descriptor->entry, 1};
  }
  join(places);
  /* How long the code is, its symbol tells. */
  for (size_t i = 0; i < info->symbol_count; ++i) {
    const rawhal_symbol_t *symbol = rawhal_hsaco_symbol(hsaco, i);
    struct inspect_place *place = symbol->kind == RAWHAL_SYMBOL_FUNCTION && symbol->defined
                                      ? place_before(places, symbol->address)
                                      : NULL;
    if (place && place->start == symbol->address && place->size < symbol->size)
      place->size = symbol->size;
  }
  join(places);
  return true;
}

bool inspect_places_have(const inspect_places_t *places, uint64_t address)
{
  if (places->everything)
    return true;
  const struct inspect_place *place = place_before(places, address);
  return place && address - place->start < place->size;
}

void inspect_places_release(inspect_places_t *places)
{
  free(places->places);
  *places = (inspect_places_t){0};
}

/* ---- Names ---- */

bool inspect_names_take(inspect_names_t *names, rawhal_string_t name)
{
  if (name.size <= TOOL_SHORT_NAME)
    return true;
  if (name.size > names->left)
    return false;
  names->left -= name.size;
  return true;
}
