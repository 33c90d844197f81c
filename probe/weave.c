#include "probe/weave.h"

#include "base/error.h"

#include <string.h>

enum {
  REACH = 0x7fff,     /* dwords that a branch goes, either way */
  HOP_AFTER = 0x6000, /* dwords from a branch to the hop that it goes by, roughly */
  NOWHERE = -1,
};

/* An s_branch on the way of others: before an instruction. */
typedef struct hop {
  uint32_t target; /* number of the instruction that it leads to */
  int32_t next;    /* the hop that it leads to instead; NOWHERE: it reaches */
  int32_t beside;  /* another before the same instruction; NOWHERE: there is none */
  uint32_t at;     /* dword */
} hop_t;

typedef struct weaving {
  const weave_t *weave;
  emit_t *code;
  size_t first;     /* dword of the code where the kernel begins */
  uint32_t *labels; /* of each instruction: where a branch to it goes */
  uint32_t *places; /* of each instruction: where it is */
  int32_t *ways;    /* of each instruction: the hop that it goes by, */
  int32_t *before;  /* and the first of those before it; NOWHERE: none */
  hop_t *hops;
  uint32_t hop_count, hop_room;
} weaving_t;

static rawhal_status_t no_memory(rawhal_error_t *error)
{
  return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for the probed code");
}

static uint32_t here(const weaving_t *weaving)
{
  return (uint32_t)(weaving->code->count - weaving->first);
}

/* ---- One pass ---- */

/* Hops before an instruction; what comes from above goes round them. */
static void put_hops(weaving_t *weaving, uint32_t number)
{
  uint32_t count = 0;
  for (int32_t i = weaving->before[number]; i != NOWHERE; i = weaving->hops[i].beside)
    ++count;
  if (!count)
    return;
  emit_sopp(weaving->code, EMIT_s_branch, count);
  for (int32_t i = weaving->before[number]; i != NOWHERE; i = weaving->hops[i].beside) {
    weaving->hops[i].at = here(weaving);
    emit_sopp(weaving->code, EMIT_s_branch, 0);
  }
}

/* PC as it is behind the original s_getpc_b64. */
static void put_pc(weaving_t *weaving, const walk_instruction_t *instruction, const code_t *code)
{
  const uint32_t to = code->dword[0] >> 16 & 0x7f;
  const uint64_t pc = weaving->weave->original + (instruction->at + 1) * UINT64_C(4);
  emit_sop1(weaving->code, EMIT_s_mov_b32, to, EMIT_LITERAL, (uint32_t)pc);
  emit_sop1(weaving->code, EMIT_s_mov_b32, to + 1, EMIT_LITERAL, (uint32_t)(pc >> 32));
}

static void put_instruction(weaving_t *weaving, uint32_t number)
{
  const walk_instruction_t *instruction = &weaving->weave->walk->instructions[number];
  const code_t code = walk_code(weaving->weave->walk, instruction);
  if (instruction->flow == CODE_ENDS)
    stub_exit(weaving->weave->stubs, weaving->code);
  weaving->places[number] = here(weaving);
  if (instruction->flow == CODE_READS_PC)
    put_pc(weaving, instruction, &code);
  else if (instruction->is_far) /* by way of hops, where it has to be */
    emit_sopp(weaving->code, EMIT_s_branch, 0);
  else
    emit_dwords(weaving->code, code.dword, code.dwords);
}

static bool is_at(const weave_t *weave, size_t point, uint32_t offset)
{
  return point < weave->point_count && weave->points[point].offset == offset;
}

/* Accesses from a point on whose numbers can be taken together: one follows the other, whatever
 * lanes are active stay so, and nothing else takes numbers. */
static uint8_t together(const weave_t *weave, uint32_t number, size_t point)
{
  const walk_t *walk = weave->walk;
  uint8_t count = 0;
  if (weave->stubs->in_lanes || weave->stubs->lends || walk->registers.has_modes)
    return 1;
  for (uint32_t i = number; i < walk->count; ++i) {
    const walk_instruction_t *one = &walk->instructions[i];
    if (i > number && one->is_head)
      break;
    for (; is_at(weave, point, one->at * 4); ++point) {
      if (weave->points[point].action != RAWHAL_PROBE_ACCESS || count == STUB_TOGETHER)
        return count;
      ++count;
    }
    const code_t code = walk_code(walk, one);
    if (!code_keeps_lanes(&code))
      break;
  }
  return count;
}

static void put_points(weaving_t *weaving, uint32_t number, size_t *next, uint8_t *taken,
                       uint8_t *follows)
{
  const weave_t *weave = weaving->weave;
  const walk_instruction_t *one = &weave->walk->instructions[number];
  for (; is_at(weave, *next, one->at * 4) && weave->points[*next].action != RAWHAL_PROBE_PASSED;
       ++*next) {
    const rawhal_probe_point_t *point = &weave->points[*next];
    stub_place_t place = {one->needs_scc, one->mode, 1, 0};
    if (point->action == RAWHAL_PROBE_ACCESS) {
      place.takes = *taken ? 0 : together(weave, number, *next);
      *follows = *taken ? (uint8_t)(*follows + 1) : 0;
      *taken = (uint8_t)((*taken ? *taken : place.takes) - 1);
      place.follows = *follows;
    }
    stub_point(weave->stubs, point, place, weaving->code);
  }
}

static void pass(weaving_t *weaving)
{
  const weave_t *weave = weaving->weave;
  size_t next = 0;                /* of the points */
  uint8_t taken = 0, follows = 0; /* numbers of events, and how many were */
  weaving->code->count = weaving->first;
  stub_entry(weave->stubs, weaving->code);
  for (uint32_t i = 0; i < weave->walk->count; ++i) {
    const uint32_t offset = weave->walk->instructions[i].at * 4;
    put_hops(weaving, i);
    weaving->labels[i] = here(weaving);
    const walk_instruction_t *one = &weave->walk->instructions[i];
    const stub_place_t behind = {true, one->mode, 1, 0};
    put_points(weaving, i, &next, &taken, &follows);
    put_instruction(weaving, i);
    for (; is_at(weave, next, offset); ++next)
      stub_point(weave->stubs, &weave->points[next], behind, weaving->code);
  }
}

/* ---- Branches ---- */

static bool reaches(uint32_t from, uint32_t to)
{
  const int64_t distance = (int64_t)to - (from + INT64_C(1));
  return distance >= -REACH - 1 && distance <= REACH;
}

static void aim(weaving_t *weaving, uint32_t from, uint32_t to)
{
  uint32_t *dword = &weaving->code->dwords[weaving->first + from];
  *dword = (*dword & 0xffff0000) | ((to - (from + 1)) & 0xffff);
}

/* A hop that leads to the target, at most HOP_AFTER dwords on the way from `from` to it; one that
 * is there already, where it is in reach. */
static rawhal_status_t add_hop(weaving_t *weaving, uint32_t from, uint32_t target, int32_t *way,
                               rawhal_error_t *error)
{
  const uint32_t to = weaving->labels[target], count = weaving->weave->walk->count;
  for (uint32_t i = 0; i < weaving->hop_count; ++i) {
    const uint32_t at = weaving->hops[i].at;
    const bool nearer = from < to ? at > from && at < to : at < from && at > to;
    if (weaving->hops[i].target == target && at && nearer && reaches(from, at)) {
      *way = (int32_t)i;
      return RAWHAL_OK;
    }
  }
  const uint32_t wanted = from < to ? from + HOP_AFTER : from - HOP_AFTER;
  uint32_t low = 0, high = count - 1;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (weaving->labels[middle] < wanted)
      low = middle + 1;
    else
      high = middle;
  }
  /* Where it is fallen into: what goes round hops then tells them from the kernel's own. */
  const walk_instruction_t *instructions = weaving->weave->walk->instructions;
  while (low && low + 1 < count && !walk_goes_on(&instructions[low - 1]))
    ++low;
  if (weaving->hop_count == weaving->hop_room) {
    const uint32_t room = weaving->hop_room ? weaving->hop_room * 2 : 16;
    hop_t *more = allocate_more(weaving->code->allocator, weaving->hops,
                                weaving->hop_room * sizeof(*more), room * sizeof(*more));
    if (!more)
      return no_memory(error);
    weaving->hops = more;
    weaving->hop_room = room;
  }
  *way = (int32_t)weaving->hop_count;
  weaving->hops[weaving->hop_count++] =
      (hop_t){.target = target, .next = NOWHERE, .beside = weaving->before[low], .at = 0};
  weaving->before[low] = *way;
  return RAWHAL_OK;
}

/* Aims a branch, if it reaches; else has it go by a hop, for which there is another pass. */
static rawhal_status_t settle(weaving_t *weaving, uint32_t from, uint32_t target, int32_t *way,
                              bool *again, rawhal_error_t *error)
{
  const uint32_t to = *way == NOWHERE ? weaving->labels[target] : weaving->hops[*way].at;
  if (reaches(from, to)) {
    aim(weaving, from, to);
    return RAWHAL_OK;
  }
  if (*way != NOWHERE)
    return rawhal_fail(error, RAWHAL_CAP_EXCEEDED, "its branches do not reach with probes between");
  *again = true;
  return add_hop(weaving, from, target, way, error);
}

static rawhal_status_t settle_all(weaving_t *weaving, bool *again, rawhal_error_t *error)
{
  const walk_t *walk = weaving->weave->walk;
  rawhal_status_t status = RAWHAL_OK;
  *again = false;
  for (uint32_t i = 0; i < walk->count && status == RAWHAL_OK; ++i)
    if (walk->instructions[i].flow == CODE_JUMPS || walk->instructions[i].flow == CODE_BRANCHES)
      status = settle(weaving, weaving->places[i], walk->instructions[i].target, &weaving->ways[i],
                      again, error);
  const uint32_t hops = weaving->hop_count;
  for (uint32_t i = 0; i < hops && status == RAWHAL_OK; ++i)
    if (weaving->hops[i].at) {
      int32_t next = weaving->hops[i].next; /* adding one may move them */
      status = settle(weaving, weaving->hops[i].at, weaving->hops[i].target, &next, again, error);
      weaving->hops[i].next = next;
    }
  return status;
}

/* ---- The whole ---- */

static rawhal_status_t make(weaving_t *weaving, rawhal_error_t *error)
{
  const uint32_t count = weaving->weave->walk->count;
  /* Each pass adds hops only; a chain is as long as the code, and branches share hops. */
  for (uint32_t left = 64; left; --left) {
    bool again;
    for (uint32_t i = 0; i < weaving->hop_count; ++i)
      weaving->hops[i].at = 0;
    pass(weaving);
    if (weaving->code->failed)
      return no_memory(error);
    rawhal_status_t status = settle_all(weaving, &again, error);
    if (status != RAWHAL_OK || !again)
      return status;
    if (weaving->hop_count > count)
      break;
  }
  return rawhal_fail(error, RAWHAL_CAP_EXCEEDED, "its branches do not reach with probes between");
}

/* What stands before an instruction's label is of the one before. */
static rawhal_status_t find_origin(const weaving_t *weaving, weave_origin_t *origin,
                                   rawhal_error_t *error)
{
  enum { PC_DWORDS = 4 }; /* see put_pc() */
  const walk_t *walk = weaving->weave->walk;
  uint32_t at = 0, high = walk->count;
  while (at + 1 < high) {
    const uint32_t middle = at + (high - at) / 2;
    if (weaving->labels[middle] <= origin->dword)
      at = middle;
    else
      high = middle;
  }
  const walk_instruction_t *instruction = &walk->instructions[at];
  const uint32_t place = weaving->places[at];
  const uint32_t dwords = instruction->flow == CODE_READS_PC ? PC_DWORDS : instruction->dwords;
  origin->instruction = at;
  origin->is_probe = origin->dword < place || origin->dword - place >= dwords;
  return origin->dword < here(weaving)
             ? RAWHAL_OK
             : rawhal_fail(error, RAWHAL_NOT_FOUND, "the probed code has %u dwords", here(weaving));
}

rawhal_status_t weave_code(const weave_t *weave, emit_t *code, weave_origin_t *origin,
                           rawhal_error_t *error)
{
  const uint32_t count = weave->walk->count;
  const allocator_t *allocator = code->allocator;
  weaving_t weaving = {.weave = weave, .code = code, .first = code->count};
  weaving.labels = allocate(allocator, count * sizeof(*weaving.labels));
  weaving.places = allocate(allocator, count * sizeof(*weaving.places));
  weaving.ways = allocate(allocator, count * sizeof(*weaving.ways));
  weaving.before = allocate(allocator, count * sizeof(*weaving.before));
  rawhal_status_t status;
  if (weaving.labels && weaving.places && weaving.ways && weaving.before) {
    memset(weaving.ways, 0xff, count * sizeof(*weaving.ways)); /* NOWHERE */
    memset(weaving.before, 0xff, count * sizeof(*weaving.before));
    status = make(&weaving, error);
  } else {
    status = no_memory(error);
  }
  if (status == RAWHAL_OK && origin)
    status = find_origin(&weaving, origin, error);
  allocate_free(allocator, weaving.labels);
  allocate_free(allocator, weaving.places);
  allocate_free(allocator, weaving.ways);
  allocate_free(allocator, weaving.before);
  allocate_free(allocator, weaving.hops);
  return status;
}
