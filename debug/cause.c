/* All rules in one table, and the order of what they find. */
#include "debug/cause_rules.h"

#define BIT(kind)     (1u << (kind))
#define AS_ROLE(role) (1u << (role))

enum {
  MEMORY = BIT(RAWHAL_FAULT_UNKNOWN) | BIT(RAWHAL_FAULT_MEMORY) | BIT(RAWHAL_FAULT_READ_ONLY) |
           BIT(RAWHAL_FAULT_NO_ACCESS),
  READ_ONLY = BIT(RAWHAL_FAULT_UNKNOWN) | BIT(RAWHAL_FAULT_MEMORY) | BIT(RAWHAL_FAULT_READ_ONLY),
  NOWHERE = BIT(RAWHAL_FAULT_UNKNOWN) | BIT(RAWHAL_FAULT_MEMORY),

  OWN = AS_ROLE(CAUSE_POINTER),
  DIRECT = OWN | AS_ROLE(CAUSE_RAW) | AS_ROLE(CAUSE_VALUE),
  POINTERS = DIRECT | AS_ROLE(CAUSE_HIDDEN) | AS_ROLE(CAUSE_FIELD) | AS_ROLE(CAUSE_MEMORY),
};

/* Below SURE memory that arguments point to is read, and what no argument leads to is looked at. */
enum { SURE = 66, ENDED = 20, LATER = 5 };

typedef struct cause_row {
  uint32_t kinds; /* faults that it is about, a bit each */
  uint32_t roles; /* words that it is asked about, a bit each; 0: once a dispatch */
  cause_rule_fn *rule;
} cause_row_t;

static const cause_row_t rows[] = {
    {NOWHERE, POINTERS, cause_null},
    {NOWHERE, POINTERS, cause_wild},
    {NOWHERE, POINTERS, cause_bounds},
    {NOWHERE | BIT(RAWHAL_FAULT_NO_ACCESS), POINTERS, cause_freed},
    {MEMORY, POINTERS, cause_no_access},
    {READ_ONLY, POINTERS, cause_read_only},
    {BIT(RAWHAL_FAULT_MISALIGNED), POINTERS, cause_misaligned},
    {BIT(RAWHAL_FAULT_UNWRITTEN), POINTERS, cause_unwritten},
    {NOWHERE, OWN, cause_swapped},
    {MEMORY, OWN, cause_scalar},
    {NOWHERE, DIRECT, cause_grid},
    {NOWHERE, DIRECT, cause_count},
    {NOWHERE, POINTERS, cause_short},
    {NOWHERE, 0, cause_short},
    {MEMORY, 0, cause_other_kernel},
    {BIT(RAWHAL_FAULT_KERNARG), 0, cause_kernarg},
    {NOWHERE, 0, cause_kernarg_freed},
    {BIT(RAWHAL_FAULT_LDS), 0, cause_lds},
    {BIT(RAWHAL_FAULT_LDS_UNWRITTEN), 0, cause_lds_unwritten},
    {BIT(RAWHAL_FAULT_LDS_RACE), 0, cause_lds_race},
    {BIT(RAWHAL_FAULT_SCRATCH), 0, cause_scratch},
    {BIT(RAWHAL_FAULT_TRAP), 0, cause_trap},
    {BIT(RAWHAL_FAULT_TIME_LIMIT), 0, cause_barrier},
    {BIT(RAWHAL_FAULT_TIME_LIMIT), 0, cause_time},
    {BIT(RAWHAL_FAULT_INSTRUCTION), 0, cause_instruction},
    {NOWHERE | BIT(RAWHAL_FAULT_FETCH) | BIT(RAWHAL_FAULT_PACKET), 0, cause_unloaded},
    {BIT(RAWHAL_FAULT_FETCH), 0, cause_fetch},
    {BIT(RAWHAL_FAULT_PACKET), 0, cause_packet},
    {BIT(RAWHAL_FAULT_RESOURCES), 0, cause_resources},
    {BIT(RAWHAL_FAULT_DEVICE_LOST), 0, cause_device_lost},
    {BIT(RAWHAL_FAULT_DESTROYED), 0, cause_destroyed},
};

/* Asked once, after all dispatches, and only when those have not led to anything sure. */
static const cause_row_t lost_rows[] = {
    {NOWHERE, 0, cause_null_alone},   {MEMORY, 0, cause_freed_alone},
    {MEMORY, 0, cause_here_alone},    {NOWHERE, 0, cause_behind_alone},
    {NOWHERE, 0, cause_before_alone}, {NOWHERE, 0, cause_nothing},
};
static const cause_row_t indirect_row = {NOWHERE, 0, cause_indirect};
static const cause_row_t index_row = {NOWHERE, DIRECT, cause_index};

/* What is less usual as a pointer that fails. */
static const uint8_t less_likely[] = {
    [CAUSE_RAW] = 4,   [CAUSE_POINTER] = 0, [CAUSE_HIDDEN] = 12,
    [CAUSE_VALUE] = 1, [CAUSE_FIELD] = 2,   [CAUSE_MEMORY] = 5,
};

/* ---- The order ---- */

typedef struct found {
  rawhal_fault_t *fault;
  uint32_t scores[RAWHAL_FAULT_CAUSES]; /* of its causes, the highest first */
  uint64_t gaps[RAWHAL_FAULT_CAUSES];   /* bytes from the pointer to the address */
} found_t;

static uint32_t best_score(const found_t *found)
{
  return found->fault->cause_count ? found->scores[0] : 0;
}

static void found_move(found_t *found, uint32_t from, uint32_t to)
{
  found->fault->causes[to] = found->fault->causes[from];
  found->scores[to] = found->scores[from];
  found->gaps[to] = found->gaps[from];
}

static bool is_same(const rawhal_cause_t *a, const rawhal_cause_t *b)
{
  return a->kind == b->kind && a->argument == b->argument && a->levels == b->levels &&
         a->queue_id == b->queue_id && a->packet == b->packet && a->ticket == b->ticket &&
         a->dispatch == b->dispatch &&
         (a->argument != RAWHAL_NO_ARGUMENT || a->allocation == b->allocation);
}

static bool is_before(const found_t *found, uint32_t i, uint32_t score, uint64_t gap)
{
  return found->scores[i] > score || (found->scores[i] == score && found->gaps[i] <= gap);
}

/* Puts it where it belongs; of the same cause the likelier stays. */
static void found_add(found_t *found, const rawhal_cause_t *cause, uint32_t score, uint64_t gap)
{
  rawhal_fault_t *fault = found->fault;
  uint32_t last = fault->cause_count;
  for (uint32_t i = 0; i < fault->cause_count; ++i)
    if (is_same(&fault->causes[i], cause)) {
      if (is_before(found, i, score, gap))
        return;
      last = i;
    }
  if (last == fault->cause_count && last < RAWHAL_FAULT_CAUSES)
    ++fault->cause_count;
  else if (last == fault->cause_count && is_before(found, --last, score, gap))
    return;
  uint32_t at = last;
  for (; at && !is_before(found, at - 1, score, gap); --at)
    found_move(found, at - 1, at);
  fault->causes[at] = *cause;
  found->scores[at] = score;
  found->gaps[at] = gap;
}

/* Five more are twice as likely, and that it is none of them is as likely as one of 45. What is not
 * worth a percent is not said. */
static void found_weigh(found_t *found)
{
  enum { OF_NONE = 45, TWICE = 5 };
  uint64_t weights[RAWHAL_FAULT_CAUSES] = {0}, all = (uint64_t)TWICE << OF_NONE / TWICE;
  for (uint32_t i = 0; i < found->fault->cause_count; ++i) {
    weights[i] = (uint64_t)(TWICE + found->scores[i] % TWICE) << found->scores[i] / TWICE;
    all += weights[i];
  }
  uint32_t kept = 0;
  for (uint32_t i = 0; i < found->fault->cause_count; ++i) {
    found->fault->causes[i].confidence = (uint32_t)(weights[i] * 100 / all);
    if (!i || found->fault->causes[i].confidence)
      kept = i + 1;
  }
  found->fault->cause_count = kept;
}

/* ---- Asking ---- */

static bool is_of(const cause_row_t *row, const cause_evidence_t *evidence)
{
  const uint32_t kind = (uint32_t)evidence->fault->kind;
  return kind < 32 && row->kinds & BIT(kind);
}

static void ask(const cause_evidence_t *evidence, found_t *found, const cause_row_t *row,
                const cause_word_t *word, uint32_t less)
{
  rawhal_cause_t cause;
  const uint32_t score = row->rule(evidence, word, &cause);
  if (word)
    less += less_likely[word->role];
  if (score)
    found_add(found, &cause, score > less ? score - less : 1,
              word && evidence->has_address ? cause_gap(evidence, word->value) : 0);
}

/* What no argument leads to is not what one of them was found to lead to. */
static bool is_told(const found_t *found, const rawhal_cause_t *cause)
{
  for (uint32_t i = 0; cause->allocation_bytes && i < found->fault->cause_count; ++i)
    if (found->fault->causes[i].kind == cause->kind &&
        found->fault->causes[i].allocation == cause->allocation)
      return true;
  return false;
}

static void ask_lost(const cause_evidence_t *evidence, found_t *found)
{
  rawhal_cause_t cause;
  for (size_t i = 0; i < sizeof(lost_rows) / sizeof(*lost_rows) && best_score(found) < SURE; ++i) {
    const uint32_t score =
        is_of(&lost_rows[i], evidence) ? lost_rows[i].rule(evidence, NULL, &cause) : 0;
    if (score && !is_told(found, &cause))
      found_add(found, &cause, score, 0);
  }
}

/* Rules of words, from the `first` word on. */
static void ask_words(const cause_evidence_t *evidence, found_t *found, size_t first, uint32_t less)
{
  for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); ++i)
    for (size_t w = first; rows[i].roles && is_of(&rows[i], evidence) && w < evidence->word_count;
         ++w)
      if (rows[i].roles & AS_ROLE(evidence->words[w].role))
        ask(evidence, found, &rows[i], &evidence->words[w], less);
}

static void ask_dispatch(cause_evidence_t *evidence, found_t *found,
                         const debug_dispatch_t *dispatch, bool certain, uint32_t less)
{
  cause_look_at(evidence, dispatch, certain);
  ask_words(evidence, found, 0, less);
  for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); ++i)
    if (!rows[i].roles && is_of(&rows[i], evidence))
      ask(evidence, found, &rows[i], NULL, less);
  if (best_score(found) >= SURE || !is_of(&indirect_row, evidence))
    return;
  cause_follow(evidence);
  ask_words(evidence, found, evidence->followed, less);
  for (size_t w = 0; w < evidence->followed; ++w)
    if (index_row.roles & AS_ROLE(evidence->words[w].role))
      ask(evidence, found, &index_row, &evidence->words[w], less);
  if (best_score(found) < SURE)
    ask(evidence, found, &indirect_row, NULL, less);
}

/* Which of them failed is not known. Returns how many were asked. */
static size_t ask_those(cause_evidence_t *evidence, found_t *found, bool running)
{
  const debug_scene_t *scene = evidence->scene;
  size_t asked = 0;
  for (size_t i = 0; i < scene->dispatch_count; ++i)
    if (scene->dispatches[i].running == running) {
      const uint32_t later = asked < LATER ? (uint32_t)asked : LATER;
      ask_dispatch(evidence, found, &scene->dispatches[i], false, later + (running ? 0 : ENDED));
      ++asked;
    }
  return asked;
}

void cause_find(const debug_scene_t *scene, rawhal_fault_t *fault)
{
  cause_evidence_t evidence;
  found_t found = {.fault = fault};
  fault->cause_count = 0;
  cause_look_around(&evidence, scene, fault);
  const bool certain = fault->known & RAWHAL_FAULT_KNOWS_DISPATCH;
  const bool any = !certain && evidence.has_address && is_of(&indirect_row, &evidence);
  if (!any)
    ask_dispatch(&evidence, &found, scene->dispatch_count ? &scene->dispatches[0] : NULL, certain,
                 0);
  else if (!ask_those(&evidence, &found, true) || best_score(&found) < SURE)
    (void)ask_those(&evidence, &found, false);
  cause_look_at(&evidence, NULL, false);
  ask_lost(&evidence, &found);
  found_weigh(&found);
}
