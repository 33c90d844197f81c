/* The allocations that there were, and what of them was accessed. */
#ifndef TOOLS_PROBE_PLACES_H
#define TOOLS_PROBE_PLACES_H

#include "base/list.h"
#include "record/probes.h"

enum {
  PLACES_COLUMNS = 96,   /* of a picture, over the events in their order */
  PLACES_ROWS = 48,      /* over the addresses of an allocation */
  PLACES_PARTS = 65536,  /* of an allocation, at most, that are told apart */
  PLACES_PICTURES = 256, /* of so many allocations that were accessed; of others numbers alone */
};

/* Kept of the first PLACES_PICTURES that are accessed. */
typedef struct place_picture {
  uint64_t part; /* bytes of one, a power of two */
  uint64_t touched[PLACES_PARTS / 64];
  uint32_t density[PLACES_ROWS][PLACES_COLUMNS]; /* accesses of lanes */
} place_picture_t;

typedef struct place {
  uint64_t address, size;
  uint32_t argument;                /* the first that led there, or RECORD_NO_ARGUMENT */
  rawhal_string_t name;             /* of those that did, with ", " between; own memory */
  uint64_t accesses, reads, writes; /* of lanes; an atomic is both of the latter */
  uint64_t bytes;
  uint64_t first, last; /* offsets of bytes that were accessed */
  place_picture_t *picture;
} place_t;

typedef struct places {
  list_t places; /* place_t; by address */
  size_t pictures;
  uint64_t events;      /* that there are, for columns */
  uint64_t elsewhere;   /* accesses that lead to none of them, */
  uint64_t least, most; /* their addresses */
  bool out_of_memory;
} places_t;

bool places_add(places_t *places, const record_allocation_t *allocation);
/* When all are there. */
bool places_sort(places_t *places);
/* A lane's access, at an event's number. The place's number + 1; 0: elsewhere. */
size_t places_note(places_t *places, uint64_t address, unsigned bytes, uint8_t flags,
                   uint64_t event);
/* Bytes of the parts that were accessed. */
uint64_t places_footprint(const place_t *place);
void places_free(places_t *places);

static inline const place_t *places_at(const places_t *places, size_t index)
{
  return (const place_t *)places->places.items + index;
}

#endif
