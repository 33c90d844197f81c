#include "probe/walk.h"

#include "base/error.h"
#include "probe/jump.h"

#include <string.h>

/* What is known of a dword. */
enum {
  MARK_FIRST = 1,  /* an instruction begins */
  MARK_INSIDE = 2, /* of one that began before */
  MARK_HEAD = 4,
  MARK_BOUND = 8, /* it must be reached from the instruction before: of a far jump */
};

typedef struct marks {
  walk_t *walk;
  uint8_t *marks; /* of each dword up to `known` */
  uint64_t known;
  uint32_t *pending; /* heads that are to be followed; each is in it at most once */
  size_t pending_count, pending_room;
} marks_t;

static rawhal_status_t fail_at(const walk_t *walk, rawhal_error_t *error, rawhal_status_t status,
                               uint64_t at, const char *what)
{
  return rawhal_fail_at(error, status, walk->offset + at * 4, "its code at +0x%llx %s",
                        (unsigned long long)at * 4, what);
}

static rawhal_status_t no_memory(rawhal_error_t *error)
{
  return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for the kernel's code");
}

/* Marks are there up to `end`; there are as many as the furthest place that was reached, twice. */
static bool reach(marks_t *marks, uint64_t end)
{
  if (end <= marks->known)
    return true;
  uint64_t known = end < 1024 ? 2048 : end * 2;
  if (known > marks->walk->available)
    known = marks->walk->available;
  uint8_t *more = allocate_more(marks->walk->allocator, marks->marks, marks->known, known);
  if (!more)
    return false;
  memset(more + marks->known, 0, known - marks->known);
  marks->marks = more;
  marks->known = known;
  return true;
}

static rawhal_status_t add_head(marks_t *marks, uint64_t at, rawhal_error_t *error)
{
  if (!reach(marks, at + 1))
    return no_memory(error);
  if (marks->marks[at] & MARK_HEAD)
    return RAWHAL_OK;
  if (marks->marks[at] & MARK_BOUND)
    return fail_at(marks->walk, error, RAWHAL_UNSUPPORTED, at, "is reached in two ways, and jumps");
  marks->marks[at] |= MARK_HEAD;
  if (marks->marks[at] & MARK_FIRST) /* it has been followed */
    return RAWHAL_OK;
  if (marks->pending_count == marks->pending_room) {
    const size_t room = marks->pending_room ? marks->pending_room * 2 : 64;
    uint32_t *more = allocate_more(marks->walk->allocator, marks->pending,
                                   marks->pending_room * sizeof(*more), room * sizeof(*more));
    if (!more)
      return no_memory(error);
    marks->pending = more;
    marks->pending_room = room;
  }
  marks->pending[marks->pending_count++] = (uint32_t)at;
  return RAWHAL_OK;
}

static rawhal_status_t add_target(marks_t *marks, uint64_t at, int64_t target,
                                  rawhal_error_t *error)
{
  if (target < 0 || (uint64_t)target >= marks->walk->available)
    return fail_at(marks->walk, error, RAWHAL_UNSUPPORTED, at,
                   target < 0 ? "branches to before the kernel" : "branches to beyond the code");
  return add_head(marks, (uint64_t)target, error);
}

static int64_t target_of(const code_t *code, uint64_t at)
{
  return (int64_t)at + 1 + code_distance(code);
}

/* Where the registers say that it goes is known if only the instructions before lead to it. */
static rawhal_status_t follow_far(marks_t *marks, uint64_t at, rawhal_error_t *error)
{
  uint64_t first;
  int64_t target;
  bool is_known =
      jump_is_far(marks->walk->code, at, &first, &target) && marks->marks[first] & MARK_FIRST;
  for (uint64_t i = is_known ? first + 1 : at; is_known && i <= at; ++i) {
    is_known = !(marks->marks[i] & MARK_HEAD);
    marks->marks[i] |= MARK_BOUND;
  }
  if (!is_known)
    return fail_at(marks->walk, error, RAWHAL_UNSUPPORTED, at,
                   "calls, or goes where a register says");
  return add_target(marks, at, target, error);
}

/* From a head to where it does not go on, or to what has been followed. */
static rawhal_status_t follow(marks_t *marks, uint64_t at, rawhal_error_t *error)
{
  walk_t *walk = marks->walk;
  for (;;) {
    code_t code;
    if (at >= walk->available)
      return fail_at(walk, error, RAWHAL_MALFORMED, at, "runs out of the object's code");
    if (!reach(marks,
               at + CODE_MOST_DWORDS < walk->available ? at + CODE_MOST_DWORDS : walk->available))
      return no_memory(error);
    if (marks->marks[at] & MARK_FIRST)
      return RAWHAL_OK;
    if (!code_decode(walk->code + at * UINT64_C(4), walk->available - at, &code))
      return fail_at(walk, error, RAWHAL_MALFORMED, at, "is no instruction");
    for (unsigned i = 0; i < code.dwords; ++i) {
      if (marks->marks[at + i] & (MARK_FIRST | MARK_INSIDE) ||
          (i && marks->marks[at + i] & MARK_HEAD))
        return fail_at(walk, error, RAWHAL_UNSUPPORTED, at + i,
                       "is reached in two ways that overlap");
      marks->marks[at + i] |= i ? MARK_INSIDE : MARK_FIRST;
    }
    ++walk->count;
    if (at + code.dwords > walk->end)
      walk->end = (uint32_t)(at + code.dwords);
    code_add_registers(&code, &walk->registers);
    walk->reads_pc |= code.flow == CODE_READS_PC;
    if (code.flow == CODE_CALLS)
      return follow_far(marks, at, error);
    if (code.flow == CODE_ENDS)
      return RAWHAL_OK;
    if (code.flow == CODE_JUMPS)
      return add_target(marks, at, target_of(&code, at), error);
    rawhal_status_t status = RAWHAL_OK;
    if (code.flow == CODE_BRANCHES) {
      status = add_target(marks, at, target_of(&code, at), error);
      if (status == RAWHAL_OK && at + 1 < walk->available)
        status = reach(marks, at + 2) ? RAWHAL_OK : no_memory(error);
      if (status == RAWHAL_OK && at + 1 < walk->available)
        marks->marks[at + 1] |= MARK_HEAD;
    }
    if (status != RAWHAL_OK)
      return status;
    at += code.dwords;
  }
}

/* What is marked, in order. A head within an instruction was reached in two ways. */
static rawhal_status_t list(marks_t *marks, rawhal_error_t *error)
{
  walk_t *walk = marks->walk;
  uint32_t count = 0;
  walk->instructions = allocate(walk->allocator, walk->count * sizeof(*walk->instructions));
  if (!walk->instructions)
    return no_memory(error);
  for (uint32_t at = 0; at < walk->end; ++at) {
    const uint8_t mark = marks->marks[at];
    if ((mark & (MARK_HEAD | MARK_INSIDE)) == (MARK_HEAD | MARK_INSIDE))
      return fail_at(walk, error, RAWHAL_UNSUPPORTED, at, "is reached in two ways that overlap");
    if (!(mark & MARK_FIRST))
      continue;
    code_t code;
    if (!code_decode(walk->code + at * UINT64_C(4), walk->available - at, &code))
      return fail_at(walk, error, RAWHAL_MALFORMED, at, "is no instruction");
    const bool is_far = code.flow == CODE_CALLS; /* or it would have been refused */
    walk->instructions[count++] = (walk_instruction_t){.at = at,
                                                       .dwords = code.dwords,
                                                       .flow = is_far ? CODE_JUMPS : code.flow,
                                                       .is_far = is_far,
                                                       .scc = code_scc(&code),
                                                       .needs_scc = true,
                                                       .is_head = mark & MARK_HEAD};
    walk->blocks += (mark & MARK_HEAD) != 0;
  }
  for (uint32_t i = 0; i < count; ++i) {
    walk_instruction_t *one = &walk->instructions[i];
    if (one->flow == CODE_JUMPS || one->flow == CODE_BRANCHES) {
      const code_t code = walk_code(walk, one);
      int64_t target = target_of(&code, one->at);
      uint64_t first;
      if (one->is_far && !jump_is_far(walk->code, one->at, &first, &target))
        return fail_at(walk, error, RAWHAL_UNSUPPORTED, one->at, "goes where a register says");
      one->target = walk_find(walk, (uint64_t)target);
    }
  }
  return RAWHAL_OK;
}

/* Modes reach what comes next and what is branched to; each instruction is followed again at most
 * once for each bit that comes to it. */
static rawhal_status_t spread_modes(walk_t *walk, rawhal_error_t *error)
{
  enum { VISITED = 1u << 7 };
  if (!walk->registers.has_modes)
    return RAWHAL_OK;
  uint32_t *pending = allocate(walk->allocator, (walk->count + 1) * 4 * sizeof(*pending));
  if (!pending)
    return no_memory(error);
  size_t count = 0;
  pending[count++] = 0;
  walk->instructions[0].mode = VISITED;
  while (count) {
    const uint32_t number = pending[--count];
    const walk_instruction_t *one = &walk->instructions[number];
    const code_t code = walk_code(walk, one);
    const uint8_t after = code_mode(&code, one->mode);
    const uint32_t next[2] = {walk_goes_on(one) ? number + 1 : walk->count,
                              one->flow == CODE_BRANCHES || one->flow == CODE_JUMPS ? one->target
                                                                                    : walk->count};
    for (int i = 0; i < 2; ++i)
      if (next[i] < walk->count &&
          (walk->instructions[next[i]].mode | after) != walk->instructions[next[i]].mode) {
        walk->instructions[next[i]].mode |= after;
        pending[count++] = next[i];
      }
  }
  for (uint32_t i = 0; i < walk->count; ++i)
    walk->instructions[i].mode &= (uint8_t)~VISITED;
  allocate_free(walk->allocator, pending);
  return RAWHAL_OK;
}

/* From each instruction to those before it. Whatever is not found in so many rounds stays needed;
 * more than one is for branches back. */
static void spread_scc(walk_t *walk)
{
  enum { ROUNDS = 3 };
  for (int round = 0; round < ROUNDS; ++round)
    for (uint32_t i = walk->count; i--;) {
      walk_instruction_t *one = &walk->instructions[i];
      const bool after = (walk_goes_on(one) && walk->instructions[i + 1].needs_scc) ||
                         ((one->flow == CODE_JUMPS || one->flow == CODE_BRANCHES) &&
                          walk->instructions[one->target].needs_scc);
      one->needs_scc = one->scc & CODE_READS_SCC || (after && !(one->scc & CODE_WRITES_SCC));
    }
}

rawhal_status_t walk_open(walk_t *walk, rawhal_error_t *error)
{
  marks_t marks = {.walk = walk};
  if (walk->available > UINT32_MAX / 4)
    walk->available = UINT32_MAX / 4;
  if (!walk->available)
    return fail_at(walk, error, RAWHAL_MALFORMED, 0, "is not in the object");
  rawhal_status_t status = add_head(&marks, 0, error);
  while (status == RAWHAL_OK && marks.pending_count)
    status = follow(&marks, marks.pending[--marks.pending_count], error);
  if (status == RAWHAL_OK)
    status = list(&marks, error);
  if (status == RAWHAL_OK)
    status = spread_modes(walk, error);
  if (status == RAWHAL_OK)
    spread_scc(walk);
  allocate_free(walk->allocator, marks.marks);
  allocate_free(walk->allocator, marks.pending);
  if (status != RAWHAL_OK)
    walk_close(walk);
  return status;
}

void walk_close(walk_t *walk)
{
  allocate_free(walk->allocator, walk->instructions);
  walk->instructions = NULL;
}

code_t walk_code(const walk_t *walk, const walk_instruction_t *instruction)
{
  code_t code;
  if (!code_decode(walk->code + instruction->at * UINT64_C(4), walk->available - instruction->at,
                   &code))
    code = (code_t){.format = CODE_UNKNOWN};
  return code;
}

uint32_t walk_find(const walk_t *walk, uint64_t at)
{
  uint32_t low = 0, high = walk->count;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (walk->instructions[middle].at < at)
      low = middle + 1;
    else
      high = middle;
  }
  return low < walk->count && walk->instructions[low].at == at ? low : walk->count;
}
