#include "tools/probe/places.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_PART = 64 };

/* ---- Allocations ---- */

bool places_add(places_t *places, const record_allocation_t *allocation)
{
  place_t place = {
      .address = allocation->address, .size = allocation->size, .argument = allocation->argument};
  if (allocation->name.size) {
    char *name = malloc(allocation->name.size);
    if (!name)
      return false;
    memcpy(name, allocation->name.data, allocation->name.size);
    place.name = (rawhal_string_t){name, allocation->name.size};
  }
  if (list_add(&places->places, &place, sizeof(place)))
    return true;
  free((void *)(uintptr_t)place.name.data);
  return false;
}

static int compare(const void *a, const void *b)
{
  const place_t *first = a, *second = b;
  if (first->address != second->address)
    return first->address < second->address ? -1 : 1;
  if (first->size != second->size)
    return first->size < second->size ? -1 : 1;
  return (first->argument > second->argument) - (first->argument < second->argument);
}

/* "in, out" of one to which several arguments lead. */
static bool join_names(place_t *to, const place_t *from)
{
  if (!from->name.size)
    return true;
  const size_t before = to->name.size ? to->name.size + 2 : 0;
  char *name = malloc(before + from->name.size);
  if (!name)
    return false;
  if (before) {
    memcpy(name, to->name.data, to->name.size);
    memcpy(name + to->name.size, ", ", 2);
  }
  memcpy(name + before, from->name.data, from->name.size);
  free((void *)(uintptr_t)to->name.data);
  to->name = (rawhal_string_t){name, before + from->name.size};
  return true;
}

bool places_sort(places_t *places)
{
  place_t *all = places->places.items;
  size_t count = 0;
  bool done = true;
  if (!places->places.count)
    return true;
  qsort(all, places->places.count, sizeof(*all), compare);
  for (size_t i = 1; i < places->places.count; ++i) {
    place_t *last = &all[count];
    if (all[i].address != last->address || all[i].size != last->size) {
      all[++count] = all[i];
      continue;
    }
    done &= last->name.size > RECORD_MOST_ARGUMENT_NAME || join_names(last, &all[i]);
    free((void *)(uintptr_t)all[i].name.data);
  }
  places->places.count = count + 1;
  return done;
}

void places_free(places_t *places)
{
  place_t *all = places->places.items;
  for (size_t i = 0; i < places->places.count; ++i) {
    free((void *)(uintptr_t)all[i].name.data);
    free(all[i].picture);
  }
  list_free(&places->places);
  *places = (places_t){0};
}

/* ---- Accesses ---- */

/* The one that begins last at or before it, if it reaches that far. */
static place_t *find(const places_t *places, uint64_t address)
{
  place_t *all = places->places.items;
  size_t from = 0, to = places->places.count;
  while (from < to) {
    const size_t middle = from + (to - from) / 2;
    if (all[middle].address <= address)
      from = middle + 1;
    else
      to = middle;
  }
  return from && address - all[from - 1].address < all[from - 1].size ? &all[from - 1] : NULL;
}

static place_picture_t *picture_of(places_t *places, place_t *place)
{
  if (place->picture || places->pictures == PLACES_PICTURES)
    return place->picture;
  place->picture = calloc(1, sizeof(*place->picture));
  places->out_of_memory |= !place->picture;
  if (!place->picture)
    return NULL;
  ++places->pictures;
  place->picture->part = LEAST_PART;
  while ((place->size - 1) / place->picture->part >= PLACES_PARTS)
    place->picture->part *= 2;
  return place->picture;
}

/* `value` of `of`, as one of `to` parts. */
static uint64_t scaled(uint64_t value, uint64_t of, uint64_t to)
{
  const uint64_t at = of <= UINT64_MAX / to ? value * to / (of ? of : 1) : value / (of / to);
  return at < to ? at : to - 1;
}

static void draw(place_picture_t *picture, const place_t *place, uint64_t first, uint64_t last,
                 uint64_t column)
{
  for (uint64_t part = first / picture->part; part <= last / picture->part; ++part)
    picture->touched[part / 64] |= UINT64_C(1) << part % 64;
  uint32_t *cell = &picture->density[scaled(first, place->size, PLACES_ROWS)][column];
  *cell += *cell != UINT32_MAX;
}

size_t places_note(places_t *places, uint64_t address, unsigned bytes, uint8_t flags,
                   uint64_t event)
{
  place_t *place = find(places, address);
  if (!place) {
    places->least = !places->elsewhere || address < places->least ? address : places->least;
    places->most = !places->elsewhere || address > places->most ? address : places->most;
    ++places->elsewhere;
    return 0;
  }
  const uint64_t first = address - place->address, room = place->size - first;
  const uint64_t last = first + (bytes < room ? bytes : room) - 1;
  const bool fresh = !place->accesses++;
  place->first = fresh || first < place->first ? first : place->first;
  place->last = fresh || last > place->last ? last : place->last;
  place->reads += (flags & RAWHAL_PROBE_READS) != 0;
  place->writes += (flags & RAWHAL_PROBE_WRITES) != 0;
  place->bytes += bytes;
  place_picture_t *picture = picture_of(places, place);
  if (picture)
    draw(picture, place, first, last, scaled(event, places->events, PLACES_COLUMNS));
  return (size_t)(place - (place_t *)places->places.items) + 1;
}

uint64_t places_footprint(const place_t *place)
{
  uint64_t parts = 0;
  if (!place->picture)
    return 0;
  for (size_t i = 0; i < PLACES_PARTS / 64; ++i)
    parts += (uint64_t)__builtin_popcountll(place->picture->touched[i]);
  const uint64_t bytes = parts * place->picture->part;
  return bytes < place->size ? bytes : place->size;
}
