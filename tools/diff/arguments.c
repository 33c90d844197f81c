/* rawhal diff: the arguments of one kernel in two files. */
#include <stdlib.h>
#include <string.h>

#include "tools/diff/diff.h"
#include "tools/shared/tool.h"
#include "tools/shared/value_type.h"

/* ---- Arguments ---- */

typedef struct pair {
  size_t index[2]; /* DIFF_NO_ARGUMENT where it is not */
} pair_t;

const rawhal_kernarg_argument_t *diff_argument(const diff_kernel_t *kernel, size_t index)
{
  return index == DIFF_NO_ARGUMENT ? NULL : rawhal_kernarg_layout_argument(kernel->layout, index);
}

static size_t argument_count(const diff_kernel_t *kernel)
{
  const rawhal_kernarg_info_t *info = rawhal_kernarg_layout_info(kernel->layout);
  return (size_t)info->visible_count + info->hidden_count;
}

static diff_value_t type_name(const diff_kernel_t *kernel, size_t index)
{
  const rawhal_argument_detail_t *detail = kernel->facts->arguments[index].detail;
  return diff_text(detail->type_name.size ? detail->type_name : detail->value_type);
}

/* Two types that are both known and are not the same kind of number. */
static bool other_type(const diff_kernel_t *const kernels[2], const pair_t *pair)
{
  value_type_t a = value_type_of(&kernels[0]->facts->arguments[pair->index[0]]);
  value_type_t b = value_type_of(&kernels[1]->facts->arguments[pair->index[1]]);
  return a.of && b.of && (a.of != b.of || a.element != b.element || a.count != b.count);
}

static bool compare_pair(diff_entry_t *entry, const pair_t *pair)
{
  const diff_kernel_t *const *kernels = entry->kernels;
  const rawhal_kernarg_argument_t *a = diff_argument(kernels[0], pair->index[0]);
  const rawhal_kernarg_argument_t *b = diff_argument(kernels[1], pair->index[1]);
  diff_change_t change = {.category = DIFF_ABI, .argument = {pair->index[0], pair->index[1]}};
  if (!a || !b) {
    change.property = a ? "removed" : "added";
    change.values[a ? 0 : 1] = diff_text((a ? a : b)->value_kind_text);
    return diff_record(entry, change);
  }
  diff_category_t type = other_type(kernels, pair) ? DIFF_ABI : DIFF_NOTE;
  const struct {
    diff_category_t category;
    const char *property;
    diff_value_t a, b;
  } rows[] = {
      {DIFF_NOTE, "name", diff_text(a->name), diff_text(b->name)},
      {DIFF_ABI, "offset", diff_number(a->offset), diff_number(b->offset)},
      {DIFF_ABI, "size", diff_number(a->size), diff_number(b->size)},
      {DIFF_ABI, "value_kind", diff_text(a->value_kind_text), diff_text(b->value_kind_text)},
      {type, "type", type_name(kernels[0], pair->index[0]), type_name(kernels[1], pair->index[1])},
      {DIFF_ABI, "pointee_align",
       diff_number(kernels[0]->facts->arguments[pair->index[0]].detail->pointee_align),
       diff_number(kernels[1]->facts->arguments[pair->index[1]].detail->pointee_align)},
      {DIFF_ABI, "optional", diff_number(a->optional), diff_number(b->optional)},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); ++i) {
    change.category = rows[i].category;
    change.property = rows[i].property;
    change.values[0] = rows[i].a;
    change.values[1] = rows[i].b;
    if (!diff_record(entry, change))
      return false;
  }
  return true;
}

/* ---- Which argument is which ---- */

/* An argument in search of its like: first by name (hidden ones by kind), then by offset. */
typedef struct seeker {
  const rawhal_kernarg_argument_t *argument;
  size_t index;
  bool by_offset;
} seeker_t;

static int compare_keys(const seeker_t *a, const seeker_t *b)
{
  const rawhal_kernarg_argument_t *first = a->argument, *second = b->argument;
  if (first->hidden != second->hidden)
    return first->hidden ? 1 : -1;
  if (a->by_offset)
    return first->offset < second->offset ? -1 : first->offset > second->offset;
  return first->hidden ? tool_compare_text(first->value_kind_text, second->value_kind_text)
                       : tool_compare_text(first->name, second->name);
}

static int compare_seekers(const void *a, const void *b)
{
  const seeker_t *first = a, *second = b;
  int order = compare_keys(first, second);
  return order ? order : first->index < second->index ? -1 : first->index > second->index;
}

static size_t run_length(const seeker_t *from, const seeker_t *end)
{
  size_t length = 1;
  while (from + length < end && !compare_keys(from, from + length))
    ++length;
  return length;
}

/* Pairs what has one key on both sides, and is alone with it or, by offset, in the same order.
 * `partner[i]` becomes B's index for A's argument i. What found none stays in `seekers`. */
static void match(seeker_t *const seekers[2], size_t counts[2], bool by_offset, size_t *partner)
{
  size_t kept[2] = {0, 0}, at[2] = {0, 0};
  for (int side = 0; side < 2; ++side) {
    for (size_t i = 0; i < counts[side]; ++i)
      seekers[side][i].by_offset = by_offset;
    qsort(seekers[side], counts[side], sizeof(**seekers), compare_seekers);
  }
  while (at[0] < counts[0] || at[1] < counts[1]) {
    seeker_t *a = seekers[0] + at[0], *b = seekers[1] + at[1];
    int order = at[0] == counts[0] ? 1 : at[1] == counts[1] ? -1 : compare_keys(a, b);
    size_t in_a = order <= 0 ? run_length(a, seekers[0] + counts[0]) : 0;
    size_t in_b = order >= 0 ? run_length(b, seekers[1] + counts[1]) : 0;
    bool named = by_offset || (order == 0 && (a->argument->hidden || a->argument->name.size));
    size_t pairs = 0;
    if (order == 0 && named && (by_offset || (in_a == 1 && in_b == 1)))
      pairs = in_a < in_b ? in_a : in_b;
    for (size_t i = 0; i < pairs; ++i)
      partner[a[i].index] = b[i].index;
    memmove(seekers[0] + kept[0], a + pairs, (in_a - pairs) * sizeof(*a));
    memmove(seekers[1] + kept[1], b + pairs, (in_b - pairs) * sizeof(*b));
    kept[0] += in_a - pairs;
    kept[1] += in_b - pairs;
    at[0] += in_a;
    at[1] += in_b;
  }
  counts[0] = kept[0];
  counts[1] = kept[1];
}

static int compare_indices(const void *a, const void *b)
{
  size_t first = ((const seeker_t *)a)->index, second = ((const seeker_t *)b)->index;
  return first < second ? -1 : first > second;
}

/* ---- The order of arguments ---- */

/* Of one size and one kind, and of one type as far as that is known: a caller who passes one in the
 * place of another is not told by the bytes. */
static int compare_looks(const void *a, const void *b)
{
  const seeker_t *first = a, *second = b;
  const rawhal_kernarg_argument_t *x = first->argument, *y = second->argument;
  if (x->size != y->size)
    return x->size < y->size ? -1 : 1;
  return tool_compare_text(x->value_kind_text, y->value_kind_text);
}

/* Those that names have matched: where one has moved, blobs of callers do not fit both, although
 * the signatures may be the same, which know of no names. */
static void see_moves(diff_entry_t *entry, const size_t *partner, size_t count)
{
  for (size_t i = 0; i < count; ++i) {
    const rawhal_kernarg_argument_t *a = diff_argument(entry->kernels[0], i);
    const rawhal_kernarg_argument_t *b = diff_argument(entry->kernels[1], partner[i]);
    if (b && !a->hidden && a->offset != b->offset)
      entry->same_blobs = false;
  }
}

/* The visible argument of A at an offset; they are sorted by that. */
static const seeker_t *at_offset(const seeker_t *sorted, size_t count, uint32_t offset)
{
  size_t from = 0, to = count;
  while (from < to) {
    const size_t middle = from + (to - from) / 2;
    if (sorted[middle].argument->offset < offset)
      from = middle + 1;
    else
      to = middle;
  }
  return from < count && sorted[from].argument->offset == offset ? &sorted[from] : NULL;
}

/* Two that have each other's place, by their names. */
static bool compare_places(diff_entry_t *entry, const size_t *partner, const seeker_t *sorted,
                           size_t count)
{
  for (size_t i = 0; i < count; ++i) {
    const seeker_t *one = &sorted[i];
    const rawhal_kernarg_argument_t *moved = diff_argument(entry->kernels[1], partner[one->index]);
    if (!moved || moved->offset <= one->argument->offset || !one->argument->name.size)
      continue;
    const seeker_t *two = at_offset(sorted, count, moved->offset);
    const rawhal_kernarg_argument_t *back =
        two ? diff_argument(entry->kernels[1], partner[two->index]) : NULL;
    if (!back || back->offset != one->argument->offset || compare_looks(one, two))
      continue;
    const diff_change_t change = {
        .category = DIFF_ABI,
        .property = DIFF_SWAPPED,
        .argument = {one->index, partner[one->index]},
        .values = {{.kind = DIFF_ABSENT}, diff_text(two->argument->name)}};
    if (!diff_record(entry, change))
      return false;
  }
  return true;
}

/* Two that look alike, and lack a name in one of the files, may have been swapped: that cannot be
 * seen. `sorted` is another order afterwards. */
static bool is_blind(const diff_entry_t *entry, const size_t *partner, seeker_t *sorted,
                     size_t count)
{
  size_t nameless = 0;
  for (size_t i = 0; i < count; ++i) {
    const rawhal_kernarg_argument_t *a = sorted[i].argument;
    const rawhal_kernarg_argument_t *b = diff_argument(entry->kernels[1], partner[sorted[i].index]);
    if (b && (!a->name.size || !b->name.size))
      sorted[nameless++] = sorted[i];
  }
  if (nameless)
    qsort(sorted, nameless, sizeof(*sorted), compare_looks);
  for (size_t i = 1; i < nameless; ++i)
    if (!compare_looks(&sorted[i - 1], &sorted[i]))
      return true;
  return false;
}

static bool compare_order(diff_entry_t *entry, const size_t *partner, size_t total)
{
  seeker_t *sorted = calloc(total + 1, sizeof(*sorted));
  size_t count = 0;
  for (size_t i = 0; sorted && i < total; ++i) {
    const rawhal_kernarg_argument_t *argument = diff_argument(entry->kernels[0], i);
    if (!argument->hidden && argument->size)
      sorted[count++] = (seeker_t){argument, i, true};
  }
  if (count)
    qsort(sorted, count, sizeof(*sorted), compare_seekers);
  bool done = sorted && compare_places(entry, partner, sorted, count);
  entry->blind = done && is_blind(entry, partner, sorted, count);
  free(sorted);
  return done;
}

bool diff_arguments(diff_entry_t *entry)
{
  size_t total = argument_count(entry->kernels[0]);
  size_t counts[2] = {total, argument_count(entry->kernels[1])};
  size_t *partner = malloc((total + 1) * sizeof(*partner));
  seeker_t *seekers[2] = {calloc(counts[0] + 1, sizeof(seeker_t)),
                          calloc(counts[1] + 1, sizeof(seeker_t))};
  bool done = partner && seekers[0] && seekers[1];
  for (int side = 0; done && side < 2; ++side)
    for (size_t i = 0; i < counts[side]; ++i)
      seekers[side][i] = (seeker_t){diff_argument(entry->kernels[side], i), i, false};
  for (size_t i = 0; done && i < total; ++i)
    partner[i] = DIFF_NO_ARGUMENT;
  if (done) {
    match(seekers, counts, false, partner);
    see_moves(entry, partner, total);
    match(seekers, counts, true, partner);
    qsort(seekers[1], counts[1], sizeof(**seekers), compare_indices);
  }
  for (size_t i = 0; done && i < total; ++i)
    done = compare_pair(entry, &(pair_t){{i, partner[i]}});
  done = done && compare_order(entry, partner, total);
  for (size_t i = 0; done && i < counts[1]; ++i)
    done = compare_pair(entry, &(pair_t){{DIFF_NO_ARGUMENT, seekers[1][i].index}});
  free(partner);
  free(seekers[0]);
  free(seekers[1]);
  return done;
}
