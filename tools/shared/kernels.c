#include "tools/shared/kernels.h"

#include <stdlib.h>
#include <string.h>

#include "base/escape.h"

enum { MOST = 1 << 14, SLOTS = 2 * MOST, NAME_BYTES = 512 };

typedef struct known {
  uint64_t kernel_object, module;
  char *name; /* NULL: it has been unloaded */
  size_t size;
  const char *instead;
} known_t;

static uint32_t *slot_of(const kernels_t *kernels, uint64_t kernel_object)
{
  const known_t *known = kernels->names.items;
  size_t at = (size_t)((kernel_object >> 6) * UINT64_C(0x9e3779b97f4a7c15) >> 32) % SLOTS;
  while (kernels->slots[at] && known[kernels->slots[at] - 1].kernel_object != kernel_object)
    at = (at + 1) % SLOTS;
  return &kernels->slots[at];
}

/* Where its name stands or will stand; NULL: no room. */
static known_t *place_of(kernels_t *kernels, uint64_t kernel_object)
{
  if (!kernels->slots && !(kernels->slots = calloc(SLOTS, sizeof(*kernels->slots))))
    return NULL;
  uint32_t *slot = slot_of(kernels, kernel_object);
  if (!*slot) {
    const known_t known = {.kernel_object = kernel_object};
    if (kernels->names.count == MOST || !list_add(&kernels->names, &known, sizeof(known)))
      return NULL;
    *slot = (uint32_t)kernels->names.count;
  }
  return (known_t *)kernels->names.items + *slot - 1;
}

const char *kernels_instead_of(const rawhal_event_t *event)
{
  static const char *const names[] = {
      [RAWHAL_EVENT_INSTEAD_PROBED] = "probed", [RAWHAL_EVENT_INSTEAD_SUBSTITUTE] = "substitute"};
  return event->kind < sizeof(names) / sizeof(*names) ? names[event->kind] : NULL;
}

/* Of what stands for several kernels: the names that it has; empty: none. */
static rawhal_string_t others_of(const known_t *known, const rawhal_event_t *event)
{
  const char *instead = kernels_instead_of(event);
  return known->name && instead && known->instead == instead &&
                 event->kind == RAWHAL_EVENT_INSTEAD_SUBSTITUTE
             ? (rawhal_string_t){known->name, known->size}
             : (rawhal_string_t){0};
}

static void learn(kernels_t *kernels, const rawhal_event_t *event)
{
  known_t *known = place_of(kernels, event->kernel_object);
  const size_t size = escape_cut(event->text, NAME_BYTES);
  if (!known || !size)
    return;
  const rawhal_string_t others = others_of(known, event);
  if (others.size && memmem(others.data, others.size, event->text.data, size))
    return;
  const size_t kept = others.size && others.size + 2 + size <= NAME_BYTES ? others.size + 2 : 0;
  char *name = malloc(kept + size);
  if (!name)
    return;
  if (kept) {
    memcpy(name, others.data, others.size);
    memcpy(name + others.size, ", ", 2);
  }
  memcpy(name + kept, event->text.data, size);
  free(known->name);
  *known = (known_t){event->kernel_object, event->id, name, kept + size, kernels_instead_of(event)};
}

/* Another may be loaded where it was. */
static void forget(kernels_t *kernels, uint64_t module)
{
  known_t *known = kernels->names.items;
  for (size_t i = 0; i < kernels->names.count; ++i)
    if (known[i].module == module) {
      free(known[i].name);
      known[i].name = NULL;
    }
}

void kernels_learn(kernels_t *kernels, const rawhal_event_t *event)
{
  if (event->type == RAWHAL_EVENT_KERNEL)
    learn(kernels, event);
  else if (event->type == RAWHAL_EVENT_MODULE_UNLOAD)
    forget(kernels, event->id);
}

/* NULL: it has no name. */
static const known_t *find(const kernels_t *kernels, uint64_t kernel_object)
{
  const uint32_t at = kernels->slots ? *slot_of(kernels, kernel_object) : 0;
  const known_t *known = at ? (const known_t *)kernels->names.items + at - 1 : NULL;
  return known && known->name ? known : NULL;
}

rawhal_string_t kernels_find(const kernels_t *kernels, uint64_t kernel_object)
{
  const known_t *known = find(kernels, kernel_object);
  return known ? (rawhal_string_t){known->name, known->size} : (rawhal_string_t){0};
}

const char *kernels_instead(const kernels_t *kernels, uint64_t kernel_object)
{
  const known_t *known = find(kernels, kernel_object);
  return known ? known->instead : NULL;
}

void kernels_free(kernels_t *kernels)
{
  known_t *known = kernels->names.items;
  for (size_t i = 0; i < kernels->names.count; ++i)
    free(known[i].name);
  list_free(&kernels->names);
  free(kernels->slots);
  kernels->slots = NULL;
}
