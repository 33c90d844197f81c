/* What rules look at: the words of a dispatch's arguments that are pointers, or may be, each with
 * the memory that it leads to; and the memory around the address that failed. Internal. */
#ifndef RAWHAL_DEBUG_CAUSE_EVIDENCE_H
#define RAWHAL_DEBUG_CAUSE_EVIDENCE_H

#include "debug/cause.h"

enum {
  CAUSE_WORDS = 96,       /* of one dispatch that are looked at */
  CAUSE_IMAGE_WORDS = 64, /* of them, from the image's beginning, whatever they are */
  CAUSE_PAGE = 4096,
  CAUSE_ARGUMENT_BYTES = 64 << 10, /* of memory that an argument points to */
  CAUSE_ALL_BYTES = 1 << 20,
};

/* What a word of the arguments is. */
typedef enum cause_role {
  CAUSE_RAW,     /* part of arguments of which only the bytes are known */
  CAUSE_POINTER, /* a pointer, so the metadata say */
  CAUSE_HIDDEN,  /* a pointer that the launcher writes */
  CAUSE_VALUE,   /* an argument of eight bytes by value */
  CAUSE_FIELD,   /* part of a larger structure by value */
  CAUSE_MEMORY,  /* part of memory that an argument points to */
  CAUSE_SCALAR,  /* something smaller, or padding: no pointer, unless something is wrong */
} cause_role_t;

typedef struct cause_word {
  uint64_t value;
  uint32_t at;       /* offset in the image, bytes; in the memory, where that is its role */
  uint32_t argument; /* index, or RAWHAL_NO_ARGUMENT */
  cause_role_t role;
  bool has_live, has_dead;
  debug_allocation_t live, dead; /* what it points into: what lives, what was freed latest */
  bool has_index;                /* from it to the address there are whole elements */
  bool index_found;              /* and so many stand in memory that an argument points to */
  int64_t index;
  uint32_t index_argument; /* index of that argument, or RAWHAL_NO_ARGUMENT */
  uint32_t index_at;       /* bytes from where it points to */
} cause_word_t;

/* Allocations at the address: what holds it, and the nearest that end before and begin after. */
typedef enum cause_place {
  CAUSE_HOLDS,
  CAUSE_BELOW,
  CAUSE_ABOVE,
  CAUSE_DEAD_HOLDS,
  CAUSE_DEAD_BELOW,
  CAUSE_DEAD_ABOVE,
  CAUSE_PLACES
} cause_place_t;

typedef struct cause_evidence {
  const debug_scene_t *scene;
  const rawhal_fault_t *fault;
  bool has_address;
  uint64_t address; /* that failed; of a fetch, pc */
  bool has_place[CAUSE_PLACES];
  debug_allocation_t places[CAUSE_PLACES];

  /* Of one dispatch. */
  const debug_dispatch_t *dispatch;         /* NULL: none is known */
  const rawhal_kernarg_layout_t *layout;    /* whose arguments are known; else NULL */
  bool certain;                             /* that the dispatch is the one that failed */
  size_t word_count, image_count, followed; /* words; those of the image; first of memory's */
  cause_word_t words[CAUSE_WORDS];
  size_t readable;            /* bytes that may still be read */
  const cause_word_t *unread; /* whose memory was not read, or not to its end */
} cause_evidence_t;

/* Fills in what does not depend on a dispatch. */
void cause_look_around(cause_evidence_t *evidence, const debug_scene_t *scene,
                       const rawhal_fault_t *fault);
/* Fills in the words of a dispatch's arguments. */
void cause_look_at(cause_evidence_t *evidence, const debug_dispatch_t *dispatch, bool certain);
/* Adds words of the memory that arguments point to, which lead to the address, and looks there for
 * the numbers by which arguments would. */
void cause_follow(cause_evidence_t *evidence);

/* ---- Helpers of rules ---- */

/* The kernel's argument that a word belongs to; NULL: none is known. */
const rawhal_kernarg_argument_t *cause_argument(const cause_evidence_t *evidence,
                                                const cause_word_t *word);

static inline bool cause_holds(const debug_allocation_t *allocation, uint64_t address)
{
  return address >= allocation->base && address - allocation->base < allocation->size;
}

/* Bytes from the allocation's last to the address, or from the address to its first; 0 within. */
uint64_t cause_distance(const debug_allocation_t *allocation, uint64_t address);

/* Whether a number of so many bytes, with or without a sign, is this index. */
static inline bool cause_is_index(int64_t index, uint64_t number, uint32_t bytes)
{
  return bytes == 8 ? number == (uint64_t)index
                    : index == (int64_t)(uint32_t)number || index == (int32_t)(uint32_t)number;
}

/* Bytes between a pointer and the address. */
static inline uint64_t cause_gap(const cause_evidence_t *evidence, uint64_t pointer)
{
  return evidence->address > pointer ? evidence->address - pointer : pointer - evidence->address;
}

/* Of one work-item's access; a guess where nobody says. */
static inline uint32_t cause_access_bytes(const rawhal_fault_t *fault)
{
  return fault->bytes ? fault->bytes : 4;
}

/* Work-items of the grid; UINT64_MAX when that is more, 0 where it is not known. */
uint64_t cause_work_items(const debug_dispatch_t *dispatch);
/* How much memory they access, if each of them has its own element. */
uint64_t cause_grid_bytes(const cause_evidence_t *evidence);

/* Whether an index added to `pointer`, which points to no memory, can have led to the address. True
 * when that is not known. */
bool cause_reaches(const cause_evidence_t *evidence, uint64_t pointer);

#endif
