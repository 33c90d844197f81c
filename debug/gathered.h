/* A scene put together piece by piece, of what was found when something had failed. Internal. */
#ifndef RAWHAL_DEBUG_GATHERED_H
#define RAWHAL_DEBUG_GATHERED_H

#include "debug/cause.h"
#include "debug/packets.h"

enum { GATHERED_DISPATCHES = 32, GATHERED_WORDS = 64 };

typedef struct debug_gathered {
  uint64_t device;   /* agent's handle */
  const char *waits; /* of cause.h */
  debug_dispatch_t dispatches[GATHERED_DISPATCHES];
  const rawhal_descriptor_t
      *descriptors[GATHERED_DISPATCHES]; /* as in the object; NULL: not known */
  size_t count;
  debug_stand_t stand;        /* of the first; groups 0: not known */
  debug_allocation_t *memory; /* with room for memory_room; what is more is left out */
  size_t memory_count, memory_room;
} debug_gathered_t;

/* What a packet tells of a dispatch that runs; it must not be full. Kernel, layout and kernargs are
 * the caller's to add. */
debug_dispatch_t *gathered_packet(debug_gathered_t *gathered, const hsa_queue_t *queue,
                                  uint64_t index, const hsa_kernel_dispatch_packet_t *packet);
void gathered_memory(debug_gathered_t *gathered, const debug_allocation_t *allocation);
/* Is there live memory that begins there? */
bool gathered_has(const debug_gathered_t *gathered, uint64_t base);
/* Calls with each of the first words of the dispatches' kernargs: any may be a pointer. */
void gathered_words(const debug_gathered_t *gathered, void (*visit)(void *context, uint64_t word),
                    void *context);
/* What is known, for cause.h and dump.h: it refers to `gathered`. */
debug_scene_t gathered_scene(debug_gathered_t *gathered,
                             bool (*read)(void *context, uint64_t address, void *to, size_t size));
/* Completes a fault of which `kind`, and what the device has told, stand: with KNOWS_DISPATCH
 * the first dispatch, which must be the one that failed, and the causes. */
void gathered_explain(debug_gathered_t *gathered,
                      bool (*read)(void *context, uint64_t address, void *to, size_t size),
                      rawhal_fault_t *fault);

#endif
