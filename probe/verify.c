#include "probe/verify_between.h"

#include "probe/plan.h"

#include "base/error.h"

#include <string.h>

typedef struct verification {
  const rawhal_kernel_t *kernel, *probed;
  walk_t original, walk; /* of the probed kernel */
  uint32_t preamble, probed_preamble;
  uint64_t pc;       /* of the original's first instruction */
  uint32_t *matches; /* of each of the original's instructions: the probed one */
  uint32_t *before;  /* of each that is not neutral: the one before that is not */
  uint32_t previous; /* the last that has its place; the count of the original's: none */
  owned_t owned;
  lasting_t lasting;
  uint32_t wrong; /* an instruction of the probed kernel, and what is wrong with it */
  const char *text;
  uint64_t budget; /* instructions that may still be looked at */
} verification_t;

enum { LOOKED_AT = 32 }; /* times that each instruction may be, on average */

static rawhal_status_t fail(const verification_t *v, rawhal_error_t *error)
{
  const walk_t *walk = &v->walk;
  const uint32_t at = v->wrong < walk->count ? walk->instructions[v->wrong].at : walk->end;
  return rawhal_fail_at(error, RAWHAL_MALFORMED, walk->offset + at * UINT64_C(4),
                        "the probed kernel's instruction at +0x%x %s", at * 4, v->text);
}

/* For fail(), which says the furthest: where others were tried, that is what is wrong. */
static bool refuse(verification_t *v, uint32_t number, const char *text)
{
  if (v->text && number < v->wrong)
    return false;
  v->wrong = number;
  v->text = text;
  return false;
}

/* ---- Stretches ---- */

static bool look_at(verification_t *v, uint32_t number)
{
  if (!v->budget) {
    v->text = NULL;
    return refuse(v, number, "is looked at too often: too much is between the original's");
  }
  --v->budget;
  return true;
}

static bool step(verification_t *v, stretch_t *stretch)
{
  return look_at(v, stretch->at) &&
         (stretch_step(stretch) || refuse(v, stretch->at, stretch->judge.text));
}

static bool ends(verification_t *v, stretch_t *stretch, uint32_t next)
{
  return stretch_ends(stretch, v->original.instructions[next].needs_scc, &v->lasting) ||
         refuse(v, stretch->at, stretch->judge.text);
}

/* What comes behind instruction number `previous`, or at the first, begins in this mode: in that
 * of what is there, where only branches lead to it. */
static uint8_t mode_behind(const verification_t *v, uint32_t previous)
{
  if (previous == v->original.count)
    return 0;
  const walk_instruction_t *one = &v->original.instructions[previous];
  if (!walk_goes_on(one))
    return v->original.instructions[previous + 1].mode;
  const code_t code = walk_code(&v->original, one);
  return code_mode(&code, one->mode);
}

static uint32_t width(const verification_t *v, uint32_t i)
{
  return v->original.instructions[i].flow == CODE_READS_PC ? 2 : 1;
}

/* The first behind the instruction that `previous` is. */
static uint32_t first_behind(const verification_t *v, uint32_t previous)
{
  return previous == v->original.count ? 0 : v->matches[previous] + width(v, previous);
}

/* From there to the instruction that `next` is. */
static stretch_t behind(const verification_t *v, uint32_t previous, uint32_t next)
{
  const bool is_first = previous == v->original.count,
             is_last = v->original.instructions[next].flow == CODE_ENDS;
  const between_t where = is_first && is_last ? BETWEEN_WHOLE
                          : is_first          ? BETWEEN_ENTRY
                          : is_last           ? BETWEEN_END
                                              : BETWEEN_TWO;
  return stretch_begin(&v->walk, first_behind(v, previous), where, mode_behind(v, previous),
                       &v->owned, &v->lasting);
}

/* The whole of it. */
static bool holds(verification_t *v, stretch_t *stretch, uint32_t next)
{
  while (stretch->at < v->matches[next])
    if (!step(v, stretch))
      return false;
  return ends(v, stretch, next);
}

/* ---- Which instruction is which ---- */

/* An s_branch past others, which lead elsewhere. */
static bool leads_round_hops(const walk_t *walk, uint32_t number)
{
  const uint32_t target = walk->instructions[number].target;
  if (walk->instructions[number].flow != CODE_JUMPS || target <= number + 1)
    return false;
  for (uint32_t i = number + 1; i < target; ++i)
    if (walk->instructions[i].flow != CODE_JUMPS)
      return false;
  return true;
}

/* s_mov_b32 of half of the original's PC. */
static bool is_half_pc(const verification_t *v, uint32_t number, uint32_t to, uint32_t value)
{
  if (number >= v->walk.count)
    return false;
  const code_t code = walk_code(&v->walk, &v->walk.instructions[number]);
  return code.dwords == 2 && code.dword[1] == value &&
         code.dword[0] == (0xbe800000 | to << 16 | EMIT_LITERAL);
}

enum { S_BRANCH = 0xbf82 }; /* its upper half */

/* How many of the probed kernel's are the original's; 0: it is another. */
static uint32_t same(const verification_t *v, uint32_t number, uint32_t probed)
{
  const walk_instruction_t *a = &v->original.instructions[number],
                           *b = &v->walk.instructions[probed];
  const code_t code = walk_code(&v->original, a), other = walk_code(&v->walk, b);
  if (a->flow == CODE_READS_PC) {
    const uint64_t pc = v->pc + (a->at + 1) * UINT64_C(4);
    const uint32_t to = code.dword[0] >> 16 & 0x7f;
    return is_half_pc(v, probed, to, (uint32_t)pc) &&
                   is_half_pc(v, probed + 1, to + 1, (uint32_t)(pc >> 32))
               ? 2
               : 0;
  }
  if (a->flow == CODE_JUMPS || a->flow == CODE_BRANCHES)
    return (a->is_far ? S_BRANCH : code.dword[0] >> 16) == other.dword[0] >> 16 &&
           (!leads_round_hops(&v->walk, probed) || a->target == number + 1 ||
            leads_round_hops(&v->original, number));
  return code.dwords == other.dwords &&
         !memcmp(code.dword, other.dword, code.dwords * sizeof(code.dword[0]));
}

/* An s_branch may be a hop or a way round hops: the original's leads to the original's target. */
static uint32_t landing(const verification_t *v, uint32_t number)
{
  uint32_t target = v->walk.instructions[number].target;
  const uint32_t last = v->matches[v->original.count];
  for (uint32_t left = last; left && target < v->walk.count; --left) {
    const walk_instruction_t *one = &v->walk.instructions[target];
    uint32_t low = 0, high = v->original.count; /* is it an instruction of the original's? */
    while (low < high) {
      const uint32_t middle = low + (high - low) / 2;
      if (v->matches[middle] < target)
        low = middle + 1;
      else
        high = middle;
    }
    if (one->flow != CODE_JUMPS || (low < v->original.count && v->matches[low] == target))
      return target;
    target = one->target;
  }
  return target;
}

/* What changes nothing that is tracked, and may be the probe's as well as the original's. */
static bool is_neutral(const walk_t *walk, uint32_t number)
{
  const code_t code = walk_code(walk, &walk->instructions[number]);
  const uint32_t op = (uint32_t)code.format << 12 | code.op;
  return op == EMIT_s_waitcnt || op == EMIT_s_nop;
}

/* The next that is not, or `count`. */
static uint32_t anchor(const verification_t *v, uint32_t number)
{
  while (number < v->original.count && is_neutral(&v->original, number))
    ++number;
  return number;
}

/* Neutral ones from `first` to `end` - 1 are the last that are the same before the instruction that
 * `end` is. */
static bool match_neutral(verification_t *v, uint32_t first, uint32_t end, uint32_t from)
{
  uint32_t probed = v->matches[end];
  for (uint32_t i = end; i-- > first;) {
    do {
      if (probed == from)
        return refuse(v, probed, "is not followed by all waits of the original's");
      --probed;
    } while (!same(v, i, probed));
    v->matches[i] = probed;
  }
  return true;
}

/* Instruction number `i` has a place from `least` on, the next after the previous one's at which
 * all between is as it should be. */
static bool match_one(verification_t *v, uint32_t i, uint32_t least)
{
  const bool is_first = v->previous == v->original.count;
  const uint32_t neutral = is_first ? 0 : v->previous + 1, first = first_behind(v, v->previous);
  /* Most have nothing between, which changes nothing. */
  v->matches[i] = first;
  if (!look_at(v, first))
    return false;
  if (!is_first && neutral == i && first >= least && first < v->walk.count && same(v, i, first))
    return true;
  stretch_t stretch = behind(v, v->previous, i);
  while (stretch.at < v->walk.count) {
    v->matches[i] = stretch.at;
    if (stretch.at >= least && same(v, i, stretch.at) && ends(v, &stretch, i) &&
        match_neutral(v, neutral, i, first))
      return true;
    if (!step(v, &stretch))
      return false;
  }
  return refuse(v, stretch.at, "is not followed by all of the original's");
}

/* Each of the original's that is not neutral has its place. What looks the same may be the probe's:
 * then the next is tried, and the one before. */
static rawhal_status_t match(verification_t *v, rawhal_error_t *error)
{
  const uint32_t none = v->original.count;
  uint32_t least = 0, i = anchor(v, 0);
  v->previous = none;
  v->lasting = LASTING_NOTHING;
  while (i < none) {
    if (match_one(v, i, least)) {
      v->before[i] = v->previous;
      v->previous = i;
      least = 0;
      i = anchor(v, i + 1);
    } else if (v->previous == none || !v->budget) {
      return fail(v, error);
    } else { /* the one before, from the next place on; and what was seen on the way is not so */
      i = v->previous;
      v->previous = v->before[i];
      least = v->matches[i] + 1;
      v->lasting.read = v->lasting.changed = (sgpr_set_t){{0, 0}};
      v->lasting.changed_lanes = 0;
      v->lasting.changed_scratch = false;
    }
  }
  v->matches[none] = first_behind(v, v->previous);
  return v->previous == none
             ? rawhal_fail(error, RAWHAL_MALFORMED, "the original's code does not end")
             : RAWHAL_OK;
}

/* ---- What is between ---- */

static rawhal_status_t check_stretches(verification_t *v, rawhal_error_t *error)
{
  uint32_t previous = v->original.count;
  for (uint32_t i = anchor(v, 0); i < v->original.count; i = anchor(v, i + 1)) {
    if (previous == v->original.count || first_behind(v, previous) != v->matches[i]) {
      stretch_t stretch = behind(v, previous, i);
      if (!holds(v, &stretch, i))
        return fail(v, error);
    }
    previous = i;
  }
  return RAWHAL_OK;
}

/* Branches of the original's lead to the same, or to what is between it and the one before. */
static rawhal_status_t check_branches(verification_t *v, rawhal_error_t *error)
{
  for (uint32_t i = 0; i < v->original.count; ++i) {
    const walk_instruction_t *one = &v->original.instructions[i];
    if (one->flow != CODE_JUMPS && one->flow != CODE_BRANCHES)
      continue;
    const uint32_t lands = landing(v, v->matches[i]), wanted = one->target,
                   next = anchor(v, wanted);
    uint32_t last = wanted; /* waits before it may have their places among the probe's */
    while (last && is_neutral(&v->original, last - 1))
      --last;
    if (next == v->original.count || lands > v->matches[wanted] ||
        (last && lands < v->matches[last - 1] + width(v, last - 1))) {
      refuse(v, v->matches[i], "leads elsewhere than the original's");
      return fail(v, error);
    }
    const between_t where =
        v->original.instructions[next].flow == CODE_ENDS ? BETWEEN_END : BETWEEN_TWO;
    stretch_t stretch = stretch_begin(&v->walk, lands, where, one->mode, &v->owned, &v->lasting);
    if (!holds(v, &stretch, next))
      return fail(v, error);
  }
  return RAWHAL_OK;
}

/* ---- The descriptor ---- */

static rawhal_status_t check_descriptor(const verification_t *v, rawhal_error_t *error)
{
  const rawhal_descriptor_t *a = v->kernel->descriptor, *b = v->probed->descriptor;
  const uint32_t registers1 = 0x3ff, registers3 = 0x3f;
  const uint32_t scratch = v->owned.has_scratch ? STUB_SCRATCH : a->private_segment_size,
                 rsrc2 = a->pgm_rsrc2 | (v->owned.has_scratch ? PLAN_RSRC2_HAS_SCRATCH : 0);
  const bool same_else = a->group_segment_size == b->group_segment_size &&
                         b->private_segment_size == scratch && a->kernarg_size <= b->kernarg_size &&
                         b->pgm_rsrc2 == rsrc2 && a->code_properties == b->code_properties &&
                         a->preload_length == b->preload_length &&
                         a->preload_offset == b->preload_offset &&
                         (a->pgm_rsrc1 | registers1) == (b->pgm_rsrc1 | registers1) &&
                         (a->pgm_rsrc3 | registers3) == (b->pgm_rsrc3 | registers3);
  /* AGPRs begin behind the others: so many are left. */
  const bool enough =
      a->sgpr_count <= b->sgpr_count && a->accum_offset <= b->accum_offset &&
      b->accum_offset <= b->vgpr_count && a->vgpr_count <= b->vgpr_count &&
      (!code_set_end(&v->original.registers.agprs) || a->vgpr_count <= a->accum_offset ||
       a->vgpr_count - a->accum_offset <= b->vgpr_count - b->accum_offset);
  if (same_else && enough)
    return RAWHAL_OK;
  return rawhal_fail(error, RAWHAL_MALFORMED, "the probed kernel's descriptor %s",
                     same_else ? "has fewer registers than the original's"
                               : "differs from the original's in more than registers, kernargs, "
                                 "and scratch where that has none");
}

/* ---- The whole ---- */

/* What stores may still read where the kernel goes on, and what does not last, is found on the way,
 * and holds everywhere: again with it, until there is no more. */
static rawhal_status_t judge(verification_t *v, rawhal_error_t *error)
{
  lasting_t before;
  v->budget = ((uint64_t)v->original.count + v->walk.count) * LOOKED_AT;
  rawhal_status_t status = match(v, error);
  v->lasting = LASTING_NOTHING;
  v->text = NULL;
  if (status == RAWHAL_OK)
    do {
      before = v->lasting;
      status = check_stretches(v, error);
      if (status == RAWHAL_OK)
        status = check_branches(v, error);
    } while (status == RAWHAL_OK &&
             (memcmp(&before.read, &v->lasting.read, sizeof(before.read)) != 0 ||
              memcmp(&before.changed, &v->lasting.changed, sizeof(before.changed)) != 0 ||
              before.changed_lanes != v->lasting.changed_lanes ||
              before.changed_scratch != v->lasting.changed_scratch));
  return status;
}

/* Atomics that add 8 bytes, as counters need. */
static uint32_t additions(const walk_t *walk)
{
  uint32_t count = 0;
  for (uint32_t i = 0; i < walk->count; ++i) {
    const code_t code = walk_code(walk, &walk->instructions[i]);
    count += ((uint32_t)code.format << 12 | code.op) == EMIT_s_atomic_add_x2;
  }
  return count;
}

static uint32_t least(uint32_t a, uint32_t b)
{
  return a < b ? a : b;
}

static rawhal_status_t hold(verification_t *v, rawhal_error_t *error)
{
  stubs_t entry = {0};
  rawhal_status_t status = plan_entry(v->kernel, &entry, error);
  if (status != RAWHAL_OK)
    return status;
  v->owned.has_scratch = v->probed->descriptor->private_segment_size &&
                         plan_has_scratch(v->kernel->descriptor, &v->original.registers, &entry);
  status = check_descriptor(v, error);
  if (status != RAWHAL_OK)
    return status;
  if (v->preamble != v->probed_preamble ||
      memcmp(v->original.code - v->preamble, v->walk.code - v->preamble, v->preamble) != 0)
    return rawhal_fail(error, RAWHAL_MALFORMED,
                       "what stands before the probed kernel's first instruction differs");
  plan_named_t named;
  uint32_t argument;
  status = plan_named(v->kernel->descriptor, &v->original.registers, &named, error);
  if (status == RAWHAL_OK)
    status = plan_argument(v->kernel, &argument, error);
  if (status != RAWHAL_OK)
    return status;
  const rawhal_descriptor_t *d = v->probed->descriptor;
  const uint32_t sgprs = d->sgpr_count - least(d->sgpr_count, PLAN_SPECIAL_SGPRS);
  v->owned = (owned_t){.sgprs = named.sgprs,
                       .vgprs = named.vgprs,
                       .initial_sgprs = entry.initial_sgprs,
                       .sgprs_end = least(sgprs, CODE_SGPRS),
                       .vgprs_end = d->accum_offset,
                       .kernarg_sgpr = entry.kernarg_sgpr,
                       .argument_offset = argument,
                       .counters = additions(&v->walk) - additions(&v->original),
                       .has_scratch = v->owned.has_scratch,
                       .agprs = v->original.registers.agprs,
                       .agprs_end = d->vgpr_count - least(d->vgpr_count, d->accum_offset)};
  if (d->kernarg_size < argument + sizeof(rawhal_probe_argument_t))
    return rawhal_fail(error, RAWHAL_MALFORMED,
                       "the probed kernel's arguments end before the probe's");
  code_set_add(&v->owned.sgprs, 0, entry.initial_sgprs);
  code_set_add(&v->owned.vgprs, 0, 1);
  const size_t entries = (size_t)v->original.count + 1;
  v->matches = allocate(v->original.allocator, entries * sizeof(*v->matches));
  v->before = allocate(v->original.allocator, entries * sizeof(*v->before));
  if (!v->matches || !v->before)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory to compare a kernel's code");
  return judge(v, error);
}

rawhal_status_t rawhal_probe_verify(const rawhal_kernel_t *original, const void *bytes, size_t size,
                                    uint64_t load_delta, rawhal_error_t *error)
{
  rawhal_hsaco_t *hsaco = NULL;
  if (!original || !original->object || !original->usable || !original->descriptor)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "no kernel that can be used");
  const allocator_t *allocator = hsaco_allocator(original->object);
  const rawhal_hsaco_options_t options = {.allocator = allocator_option(allocator)};
  rawhal_status_t status = rawhal_hsaco_open(bytes, size, &options, &hsaco, error);
  if (status != RAWHAL_OK)
    return status;
  verification_t v = {.kernel = original,
                      .probed = rawhal_hsaco_find_kernel(hsaco, original->symbol)};
  if (!hsaco->info.loadable)
    status = rawhal_fail(error, RAWHAL_MALFORMED, "the probed object cannot be loaded: %.*s",
                         RAWHAL_STRING_ARGS(hsaco->info.not_loadable_reason));
  else if (hsaco->info.kernel_count != 1 || !v.probed || !v.probed->usable)
    status = rawhal_fail(error, RAWHAL_MALFORMED, "the probed object has %zu kernels, or another",
                         hsaco->info.kernel_count);
  if (status == RAWHAL_OK)
    status = plan_code(original, &v.original, &v.preamble, error);
  if (status == RAWHAL_OK)
    status = plan_code(v.probed, &v.walk, &v.probed_preamble, error);
  if (status == RAWHAL_OK)
    status = walk_open(&v.original, error);
  if (status == RAWHAL_OK)
    status = walk_open(&v.walk, error);
  if (status == RAWHAL_OK && v.original.reads_pc && load_delta == RAWHAL_PROBE_NOWHERE)
    status = rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                         "the kernel reads its PC: where the original is loaded has to be known");
  if (status == RAWHAL_OK) {
    v.pc = load_delta + original->descriptor->entry + v.preamble;
    status = hold(&v, error);
  }
  allocate_free(v.original.allocator, v.matches);
  allocate_free(v.original.allocator, v.before);
  walk_close(&v.original);
  walk_close(&v.walk);
  rawhal_hsaco_close(hsaco);
  return status;
}
