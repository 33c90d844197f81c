/* What the parts of the walk share. */
#ifndef RAWHAL_DEBUG_CORE_WALK_INTERNAL_H
#define RAWHAL_DEBUG_CORE_WALK_INTERNAL_H

#include "debug/core/walk.h"

typedef struct walk {
  const core_view_t *view;
  const walk_visitor_t *visitor;
  walk_finding_t *finding;
  core_format_note_t head;
  core_format_runtime_t runtime;
  uint64_t left; /* bytes that may still be looked at */
} walk_t;

/* Each returns false where the walk ends. */
bool walk_fail(walk_t *walk, core_mistake_t mistake, uint64_t address);
bool walk_partial(walk_t *walk, core_mistake_t mistake, uint64_t address);
bool walk_pay(walk_t *walk, uint64_t cost, uint64_t address);
/* Reads, and pays for it. */
bool walk_read(walk_t *walk, uint64_t address, void *bytes, size_t size, core_mistake_t mistake);
core_format_agent_t walk_agent_at(const walk_t *walk, size_t index);

bool walk_objects(walk_t *walk);
bool walk_waves(walk_t *walk, const walk_queue_t *queue, const core_format_agent_t *agent,
                const core_chip_t *chip);

#endif
