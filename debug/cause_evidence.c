#include "debug/cause_evidence.h"

#include "base/checked.h"

uint64_t cause_distance(const debug_allocation_t *allocation, uint64_t address)
{
  if (address < allocation->base)
    return allocation->base - address;
  const uint64_t offset = address - allocation->base;
  return offset < allocation->size ? 0 : offset - allocation->size;
}

const rawhal_kernarg_argument_t *cause_argument(const cause_evidence_t *evidence,
                                                const cause_word_t *word)
{
  return evidence->layout && word && word->argument != RAWHAL_NO_ARGUMENT
             ? rawhal_kernarg_layout_argument(evidence->layout, word->argument)
             : NULL;
}

uint64_t cause_work_items(const debug_dispatch_t *dispatch)
{
  uint64_t items = dispatch ? dispatch->grid[0] : 0;
  for (int d = 1; d < 3 && items; ++d)
    if (!checked_mul_u64(items, dispatch->grid[d] ? dispatch->grid[d] : 1, &items))
      return UINT64_MAX;
  return items;
}

uint64_t cause_grid_bytes(const cause_evidence_t *evidence)
{
  uint64_t bytes;
  return checked_mul_u64(cause_work_items(evidence->dispatch), cause_access_bytes(evidence->fault),
                         &bytes)
             ? bytes
             : UINT64_MAX;
}

bool cause_reaches(const cause_evidence_t *evidence, uint64_t pointer)
{
  enum { BEHIND = 64 << 10, LEAST = 1 << 20, A_WORK_ITEM = 16 };
  uint64_t ahead = cause_grid_bytes(evidence);
  if (!checked_mul_u64(ahead, A_WORK_ITEM, &ahead))
    ahead = UINT64_MAX;
  ahead = ahead < LEAST ? LEAST : ahead;
  const uint64_t forth = evidence->address - pointer, back = pointer - evidence->address;
  return !evidence->has_address || (evidence->address >= pointer ? forth <= ahead : back <= BEHIND);
}

/* ---- Around the address ---- */

static void place_put(cause_evidence_t *evidence, cause_place_t place,
                      const debug_allocation_t *allocation)
{
  evidence->has_place[place] = true;
  evidence->places[place] = *allocation;
}

/* Of several that hold it the one that was freed latest, of several beside it the nearest. */
static bool is_better(const cause_evidence_t *evidence, cause_place_t place,
                      const debug_allocation_t *allocation)
{
  const debug_allocation_t *known = &evidence->places[place];
  if (!evidence->has_place[place])
    return true;
  if (place == CAUSE_HOLDS || place == CAUSE_DEAD_HOLDS)
    return allocation->freed_at > known->freed_at;
  return cause_distance(allocation, evidence->address) < cause_distance(known, evidence->address);
}

static void place_find(cause_evidence_t *evidence)
{
  const debug_scene_t *scene = evidence->scene;
  debug_allocation_t allocation;
  for (int i = 0; i < CAUSE_PLACES; ++i)
    evidence->has_place[i] = false;
  debug_cursor_t cursor = {0};
  while (scene->allocation && scene->allocation(scene->context, &cursor, &allocation)) {
    const cause_place_t place = cause_holds(&allocation, evidence->address) ? CAUSE_HOLDS
                                : evidence->address < allocation.base       ? CAUSE_ABOVE
                                                                            : CAUSE_BELOW;
    const cause_place_t of = allocation.freed_at ? place + CAUSE_DEAD_HOLDS : place;
    if (is_better(evidence, of, &allocation))
      place_put(evidence, of, &allocation);
  }
}

/* Hardware names the page. What was in it is what was accessed, though it begins further on. */
static bool page_moves(cause_evidence_t *evidence)
{
  static const cause_place_t above[] = {CAUSE_DEAD_ABOVE, CAUSE_ABOVE};
  if (evidence->fault->known & RAWHAL_FAULT_KNOWS_PC || evidence->fault->bytes ||
      evidence->address % CAUSE_PAGE || evidence->has_place[CAUSE_HOLDS] ||
      evidence->has_place[CAUSE_DEAD_HOLDS])
    return false;
  for (size_t i = 0; i < sizeof(above) / sizeof(*above); ++i) {
    const debug_allocation_t *allocation = &evidence->places[above[i]];
    if (evidence->has_place[above[i]] && allocation->base - evidence->address < CAUSE_PAGE &&
        (allocation->freed_at || !allocation->reachable)) {
      evidence->address = allocation->base;
      return true;
    }
  }
  return false;
}

void cause_look_around(cause_evidence_t *evidence, const debug_scene_t *scene,
                       const rawhal_fault_t *fault)
{
  const bool fetches = fault->kind == RAWHAL_FAULT_FETCH && fault->known & RAWHAL_FAULT_KNOWS_PC;
  evidence->scene = scene;
  evidence->fault = fault;
  evidence->has_address = fetches || fault->known & RAWHAL_FAULT_KNOWS_ADDRESS;
  evidence->address = fetches ? fault->pc : fault->address;
  evidence->dispatch = NULL;
  evidence->layout = NULL;
  evidence->certain = false;
  evidence->word_count = evidence->image_count = evidence->followed = 0;
  evidence->readable = CAUSE_ALL_BYTES;
  evidence->unread = NULL;
  for (int i = 0; i < CAUSE_PLACES; ++i)
    evidence->has_place[i] = false;
  if (!evidence->has_address)
    return;
  place_find(evidence);
  if (page_moves(evidence))
    place_find(evidence);
}
