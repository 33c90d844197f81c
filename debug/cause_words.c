/* The words of a dispatch's arguments, and of the memory that they point to. */
#include "debug/cause_evidence.h"

#include "base/checked.h"

#include <string.h>

enum { WORD = 8, NEAR = CAUSE_PAGE, NEIGHBOUR = 1 << 20 };

/* Arguments that are a pointer of the device's, whatever it points to. */
static bool is_pointer(const rawhal_kernarg_argument_t *argument)
{
  static const uint8_t kinds[] = {
      RAWHAL_VALUE_GLOBAL_BUFFER,
      RAWHAL_VALUE_SAMPLER,
      RAWHAL_VALUE_IMAGE,
      RAWHAL_VALUE_PIPE,
      RAWHAL_VALUE_QUEUE,
      RAWHAL_VALUE_HIDDEN_PRINTF_BUFFER,
      RAWHAL_VALUE_HIDDEN_HOSTCALL_BUFFER,
      RAWHAL_VALUE_HIDDEN_MULTIGRID_SYNC_ARG,
      RAWHAL_VALUE_HIDDEN_HEAP_V1,
      RAWHAL_VALUE_HIDDEN_DEFAULT_QUEUE,
      RAWHAL_VALUE_HIDDEN_COMPLETION_ACTION,
      RAWHAL_VALUE_HIDDEN_QUEUE_PTR,
  };
  return argument->size == WORD && memchr(kinds, argument->value_kind, sizeof(kinds));
}

static cause_role_t role_of(const rawhal_kernarg_argument_t *argument)
{
  if (is_pointer(argument))
    return argument->hidden ? CAUSE_HIDDEN : CAUSE_POINTER;
  if (argument->hidden || argument->size < WORD ||
      (argument->value_kind != RAWHAL_VALUE_BY_VALUE &&
       argument->value_kind != RAWHAL_VALUE_UNKNOWN))
    return CAUSE_SCALAR;
  return argument->size == WORD ? CAUSE_VALUE : CAUSE_FIELD;
}

static uint64_t word_at(const cause_evidence_t *evidence, uint32_t at)
{
  uint64_t value; /* little-endian, as hosts of these devices are */
  memcpy(&value, (const unsigned char *)evidence->dispatch->kernargs.data + at, sizeof(value));
  return value;
}

static cause_word_t *word_add(cause_evidence_t *evidence, cause_role_t role, uint32_t argument,
                              uint32_t at, uint64_t value)
{
  cause_word_t *word = &evidence->words[evidence->word_count++];
  word->value = value;
  word->at = at;
  word->argument = argument;
  word->role = role;
  word->has_live = word->has_dead = word->has_index = word->index_found = false;
  return word;
}

/* Whether a value that is not the kernel's pointer for certain is worth keeping. */
static bool leads_there(const cause_evidence_t *evidence, uint64_t value)
{
  if (!evidence->has_address || !value)
    return false;
  for (int i = 0; i < CAUSE_PLACES; ++i)
    if (evidence->has_place[i] && cause_holds(&evidence->places[i], value) &&
        cause_distance(&evidence->places[i], evidence->address) <= NEIGHBOUR)
      return true;
  return evidence->address >= value && evidence->address - value < NEAR;
}

/* ---- The image ---- */

/* The first words, whose roles arguments tell then. */
static void image_begin(cause_evidence_t *evidence, size_t size)
{
  const cause_role_t role = evidence->layout ? CAUSE_SCALAR : CAUSE_RAW;
  for (uint32_t at = 0; at < CAUSE_IMAGE_WORDS * WORD && range_within(at, WORD, size); at += WORD)
    (void)word_add(evidence, role, RAWHAL_NO_ARGUMENT, at, word_at(evidence, at));
  evidence->image_count = evidence->word_count;
}

/* A word of an argument: what it is said to be, or one more behind the first. */
static void word_claim(cause_evidence_t *evidence, cause_role_t role, uint32_t argument,
                       uint32_t at)
{
  if (at % WORD == 0 && at / WORD < evidence->image_count) {
    cause_word_t *word = &evidence->words[at / WORD];
    if (word->argument == RAWHAL_NO_ARGUMENT) {
      word->role = role;
      word->argument = argument;
    }
    return;
  }
  const uint64_t value = word_at(evidence, at);
  if (role != CAUSE_SCALAR && evidence->word_count < CAUSE_WORDS &&
      (role == CAUSE_POINTER || leads_there(evidence, value)))
    (void)word_add(evidence, role, argument, at, value);
}

/* Pointers stand where they are said to; those of structures at multiples of eight; scalars share a
 * word. */
static void argument_add(cause_evidence_t *evidence, uint32_t index,
                         const rawhal_kernarg_argument_t *argument, size_t size)
{
  const cause_role_t role = role_of(argument);
  const uint64_t end = (uint64_t)argument->offset + argument->size;
  const uint64_t least = role == CAUSE_SCALAR ? 1 : WORD; /* bytes of a word that it must have */
  uint64_t at = argument->offset;
  if (role == CAUSE_SCALAR)
    at -= at % WORD;
  else if (role == CAUSE_FIELD)
    (void)checked_align_u64(at, WORD, &at);
  for (; at + least <= end && range_within(at, WORD, size); at += WORD)
    word_claim(evidence, role, index, (uint32_t)at);
}

/* Words behind the first of arguments of which nothing is known. */
static void raw_add(cause_evidence_t *evidence, size_t size)
{
  for (uint32_t at = CAUSE_IMAGE_WORDS * WORD;
       at < CAUSE_ARGUMENT_BYTES && range_within(at, WORD, size) &&
       evidence->word_count < CAUSE_WORDS;
       at += WORD)
    if (leads_there(evidence, word_at(evidence, at)))
      (void)word_add(evidence, CAUSE_RAW, RAWHAL_NO_ARGUMENT, at, word_at(evidence, at));
}

/* Notes what it points into: what lives there, and what was freed there last. */
static void word_meets(cause_word_t *word, const debug_allocation_t *allocation)
{
  if (!cause_holds(allocation, word->value))
    return;
  if (!allocation->freed_at) {
    word->has_live = true;
    word->live = *allocation;
  } else if (!word->has_dead || allocation->freed_at > word->dead.freed_at) {
    word->has_dead = true;
    word->dead = *allocation;
  }
}

/* One walk over all allocations for all words. */
static void words_resolve(cause_evidence_t *evidence)
{
  const debug_scene_t *scene = evidence->scene;
  debug_allocation_t allocation;
  if (!evidence->word_count)
    return;
  debug_cursor_t cursor = {0};
  while (scene->allocation && scene->allocation(scene->context, &cursor, &allocation))
    for (cause_word_t *word = evidence->words; word < evidence->words + evidence->word_count;
         ++word)
      word_meets(word, &allocation);
}

void cause_look_at(cause_evidence_t *evidence, const debug_dispatch_t *dispatch, bool certain)
{
  evidence->dispatch = dispatch;
  evidence->certain = certain;
  evidence->layout = dispatch ? dispatch->layout : NULL;
  evidence->word_count = evidence->image_count = evidence->followed = 0;
  evidence->unread = NULL;
  if (!dispatch || !dispatch->kernargs.data)
    return;
  const rawhal_kernarg_info_t *info =
      evidence->layout ? rawhal_kernarg_layout_info(evidence->layout) : NULL;
  if (info && info->knowledge != RAWHAL_KERNARG_ARGUMENTS)
    evidence->layout = NULL;
  const size_t size = dispatch->kernargs.size;
  image_begin(evidence, size);
  const rawhal_kernarg_argument_t *argument;
  for (uint32_t i = 0;
       evidence->layout && (argument = rawhal_kernarg_layout_argument(evidence->layout, i)) != NULL;
       ++i)
    argument_add(evidence, i, argument, size);
  if (!evidence->layout)
    raw_add(evidence, size);
  evidence->followed = evidence->word_count;
  words_resolve(evidence);
}

/* ---- Memory that arguments point to ---- */

/* What is around the address is what a word is kept for: no other allocation matters. */
static void memory_resolve(const cause_evidence_t *evidence, cause_word_t *word)
{
  for (int i = 0; i < CAUSE_PLACES; ++i)
    if (evidence->has_place[i])
      word_meets(word, &evidence->places[i]);
}

static bool leads_to_the_same(const cause_word_t *a, const cause_word_t *b)
{
  return a->has_live == b->has_live && a->has_dead == b->has_dead &&
         (!a->has_live || a->live.base == b->live.base) &&
         (!a->has_dead || a->dead.base == b->dead.base);
}

/* Of the pointers to one allocation, as those to the rows of a table, the nearest counts. False:
 * there is no room for more. */
static bool memory_add(cause_evidence_t *evidence, size_t first, const cause_word_t *word)
{
  enum { AT_MOST = 4 };
  for (size_t i = first; i < evidence->word_count; ++i) {
    cause_word_t *other = &evidence->words[i];
    if (!leads_to_the_same(other, word))
      continue;
    if (cause_gap(evidence, word->value) < cause_gap(evidence, other->value))
      *other = *word;
    return true;
  }
  if (evidence->word_count == CAUSE_WORDS || evidence->word_count - first == AT_MOST)
    return false;
  evidence->words[evidence->word_count++] = *word;
  return true;
}

/* Which element of it was accessed, where the arguments' pointer is to its elements. */
static void index_begin(const cause_evidence_t *evidence, cause_word_t *word)
{
  const int64_t bytes = evidence->fault->bytes;
  const int64_t offset = (int64_t)(evidence->address - word->value);
  word->has_index = evidence->has_address && word->has_live && bytes && offset % bytes == 0 &&
                    !cause_holds(&word->live, evidence->address);
  word->index = word->has_index ? offset / bytes : 0;
}

static void index_compare(cause_evidence_t *evidence, const cause_word_t *from, uint64_t at,
                          uint64_t number, uint32_t bytes)
{
  for (size_t i = 0; i < evidence->followed; ++i) {
    cause_word_t *word = &evidence->words[i];
    if (!word->has_index || word->index_found || !cause_is_index(word->index, number, bytes))
      continue;
    word->index_found = true;
    word->index_argument = from->argument;
    word->index_at = (uint32_t)at;
  }
}

static void index_look(cause_evidence_t *evidence, const cause_word_t *from, uint64_t at,
                       uint64_t word)
{
  index_compare(evidence, from, at, word, WORD);
  index_compare(evidence, from, at, (uint32_t)word, WORD / 2);
  index_compare(evidence, from, at + WORD / 2, word >> 32, WORD / 2);
}

/* Adds what leads to the address, of one argument's memory a few words. False: not all was read. */
static bool memory_scan(cause_evidence_t *evidence, const cause_word_t *from)
{
  uint64_t words[CAUSE_PAGE / WORD];
  const debug_scene_t *scene = evidence->scene;
  const uint64_t left = from->live.size - (from->value - from->live.base);
  const uint64_t most = left < CAUSE_ARGUMENT_BYTES ? left : CAUSE_ARGUMENT_BYTES;
  const size_t first = evidence->word_count;
  for (uint64_t at = -from->value % WORD, piece; at + WORD <= most; at += piece) {
    piece = (most - at < sizeof(words) ? most - at : sizeof(words)) / WORD * WORD;
    if (piece > evidence->readable || !scene->read)
      return false;
    evidence->readable -= (size_t)piece;
    if (!scene->read(scene->context, from->value + at, words, (size_t)piece))
      return false;
    for (size_t i = 0; i < piece / WORD; ++i) {
      index_look(evidence, from, at + i * WORD, words[i]);
      if (!leads_there(evidence, words[i]))
        continue;
      cause_word_t word = {.value = words[i],
                           .at = (uint32_t)(at + i * WORD),
                           .argument = from->argument,
                           .role = CAUSE_MEMORY};
      memory_resolve(evidence, &word);
      if (!memory_add(evidence, first, &word))
        return true;
    }
  }
  return left == most;
}

void cause_follow(cause_evidence_t *evidence)
{
  for (size_t i = 0; i < evidence->followed; ++i)
    index_begin(evidence, &evidence->words[i]);
  for (size_t i = 0; i < evidence->followed; ++i) {
    const cause_word_t *word = &evidence->words[i];
    const bool points =
        word->role == CAUSE_POINTER || word->role == CAUSE_VALUE || word->role == CAUSE_RAW;
    if (points && word->has_live && word->live.reachable && evidence->has_address &&
        !memory_scan(evidence, word) && !evidence->unread)
      evidence->unread = word;
  }
}
