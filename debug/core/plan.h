/* What of a description has room in the file, and where. Internal to this folder. */
#ifndef RAWHAL_DEBUG_CORE_PLAN_H
#define RAWHAL_DEBUG_CORE_PLAN_H

#include "debug/core/core.h"
#include "debug/core/format.h"
#include "debug/core/mistake.h"
#include "debug/core/records.h"
#include "debug/core/view.h"

enum {
  PLAN_MOST_RANGES = 60000, /* e_phnum has 16 bits, of which the last values mean others */
  PLAN_ALIGN = 64,          /* of file offsets, modulo which they are the addresses: a line */
};

/* Memory that is handed out and never given back. */
typedef struct plan_arena {
  unsigned char *bytes;
  size_t size, used;
} plan_arena_t;
/* Zeros, at a multiple of 64; NULL: no room. */
void *plan_take(plan_arena_t *arena, uint64_t count, size_t size);

typedef struct plan {
  const core_description_t *from;
  const core_options_t *options;
  uint32_t abi;
  plan_arena_t arena;
  unsigned char *chosen; /* of each wave, whether it is in the file */
  uint32_t *refused;     /* of each queue: 0, or the core_mistake_t for which it is left out */
  core_range_t *ranges;  /* by address */
  size_t range_count, range_room;
  uint64_t file_bytes; /* so far, at most */
  uint64_t own_next;   /* free address */
  uint64_t r_debug;
  core_format_queue_t *queues; /* entries of the note, for those that are in the file */
  size_t queue_count;
  core_left_out_t left_out;
  core_left_out_entry_t *listed; /* at most CORE_MOST_LISTED */
  size_t listed_count;
  unsigned char *notes;
  size_t notes_size, notes_room;
  rawhal_bytes_t amdgpu; /* within the notes */
} plan_t;

/* Where and with which room; nothing is laid out yet. */
RAWHAL_CHECKED rawhal_status_t plan_init(plan_t *plan, const core_description_t *description,
                                         const core_options_t *options, rawhal_error_t *error);
/* Lays all out anew, without the queues that are refused. */
RAWHAL_CHECKED rawhal_status_t plan_build(plan_t *plan, rawhal_error_t *error);
core_view_t plan_view(const plan_t *plan);

/* ---- Between the parts ---- */

/* How many bytes a range may still have; 0: none. */
uint64_t plan_room(const plan_t *plan);
/* Adds what no other range has yet of it, all or, where `partly`, what there is room for. False: it
 * is not there as a whole; nothing was done unless `partly`. */
bool plan_add(plan_t *plan, const core_range_t *range, bool partly);
void plan_leave_out(plan_t *plan, uint64_t address, uint64_t size, uint32_t class, uint32_t reason);
/* Addresses for something of ours, a multiple of `alignment`. False: there are no more. */
bool plan_own(plan_t *plan, uint64_t size, uint64_t alignment, uint64_t *address);

/* Code objects with r_debug and its list, without which there is no file, and the queues:
 * amd_queue_t and save areas. */
uint64_t plan_list_bytes(const plan_t *plan);
RAWHAL_CHECKED rawhal_status_t plan_objects(plan_t *plan, rawhal_error_t *error);
RAWHAL_CHECKED rawhal_status_t plan_queues(plan_t *plan, rawhal_error_t *error);
void plan_waves(plan_t *plan);

/* Most bytes of the notes; the notes themselves, into plan->notes. */
uint64_t plan_notes_bytes(const plan_t *plan);
void plan_notes(plan_t *plan);

#endif
