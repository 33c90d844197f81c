/* rawhal diff: one kernel in two files. */
#include <stdlib.h>
#include <string.h>

#include "tools/diff.h"
#include "tools/tool.h"
#include "tools/value_type.h"

/* ---- Recording ---- */

static diff_value_t number(uint64_t value)
{
  return (diff_value_t){.kind = DIFF_NUMBER, .number = value};
}

static diff_value_t signature(uint64_t value)
{
  return (diff_value_t){.kind = DIFF_SIGNATURE, .number = value};
}

static diff_value_t text(rawhal_string_t value)
{
  return (diff_value_t){.kind = DIFF_TEXT, .text = value};
}

static bool equal(const diff_value_t *a, const diff_value_t *b)
{
  return a->kind == b->kind && a->number == b->number && !tool_compare_text(a->text, b->text);
}

static bool record(diff_entry_t *entry, diff_change_t change)
{
  if (equal(&change.values[0], &change.values[1]))
    return true;
  if (!tool_grow((void **)&entry->changes, entry->change_count, sizeof(*entry->changes)))
    return false;
  entry->changes[entry->change_count++] = change;
  entry->same_abi &= change.category != DIFF_ABI;
  entry->same_resources &= change.category != DIFF_RESOURCE;
  return true;
}

static bool record_kernel(diff_entry_t *entry, diff_category_t category, const char *property,
                          diff_value_t a, diff_value_t b)
{
  return record(entry, (diff_change_t){.category = category,
                                       .property = property,
                                       .argument = {DIFF_NO_ARGUMENT, DIFF_NO_ARGUMENT},
                                       .values = {a, b}});
}

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
  return text(detail->type_name.size ? detail->type_name : detail->value_type);
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
    change.values[a ? 0 : 1] = text((a ? a : b)->value_kind_text);
    return record(entry, change);
  }
  diff_category_t type = other_type(kernels, pair) ? DIFF_ABI : DIFF_NOTE;
  const struct {
    diff_category_t category;
    const char *property;
    diff_value_t a, b;
  } rows[] = {
      {DIFF_NOTE, "name", text(a->name), text(b->name)},
      {DIFF_ABI, "offset", number(a->offset), number(b->offset)},
      {DIFF_ABI, "size", number(a->size), number(b->size)},
      {DIFF_ABI, "value_kind", text(a->value_kind_text), text(b->value_kind_text)},
      {type, "type", type_name(kernels[0], pair->index[0]), type_name(kernels[1], pair->index[1])},
      {DIFF_ABI, "pointee_align",
       number(kernels[0]->facts->arguments[pair->index[0]].detail->pointee_align),
       number(kernels[1]->facts->arguments[pair->index[1]].detail->pointee_align)},
      {DIFF_ABI, "optional", number(a->optional), number(b->optional)},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); ++i) {
    change.category = rows[i].category;
    change.property = rows[i].property;
    change.values[0] = rows[i].a;
    change.values[1] = rows[i].b;
    if (!record(entry, change))
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

static bool compare_arguments(diff_entry_t *entry)
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
    match(seekers, counts, true, partner);
    qsort(seekers[1], counts[1], sizeof(**seekers), compare_indices);
  }
  for (size_t i = 0; done && i < total; ++i)
    done = compare_pair(entry, &(pair_t){{i, partner[i]}});
  for (size_t i = 0; done && i < counts[1]; ++i)
    done = compare_pair(entry, &(pair_t){{DIFF_NO_ARGUMENT, seekers[1][i].index}});
  free(partner);
  free(seekers[0]);
  free(seekers[1]);
  return done;
}

/* ---- The kernel as a whole ---- */

static bool compare_layouts(diff_entry_t *entry)
{
  const rawhal_kernarg_info_t *a = rawhal_kernarg_layout_info(entry->kernels[0]->layout);
  const rawhal_kernarg_info_t *b = rawhal_kernarg_layout_info(entry->kernels[1]->layout);
  static const rawhal_string_t knowledge[] = {{"arguments", 9}, {"size", 4}};
  const struct {
    const char *property;
    diff_value_t a, b;
  } rows[] = {
      {"knowledge", text(knowledge[a->knowledge]), text(knowledge[b->knowledge])},
      {"segment_size", number(a->segment_size), number(b->segment_size)},
      {"effective_size", number(a->effective_size), number(b->effective_size)},
      {"alignment", number(a->alignment), number(b->alignment)},
      {"explicit_end", number(a->explicit_end), number(b->explicit_end)},
      {"signature", signature(a->signature), signature(b->signature)},
      {"blob_signature", signature(a->blob_signature), signature(b->blob_signature)},
  };
  entry->same_blobs = a->blob_signature == b->blob_signature;
  for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); ++i)
    if (!record_kernel(entry, DIFF_ABI, rows[i].property, rows[i].a, rows[i].b))
      return false;
  return true;
}

/* Numbers and truth values of the metadata. */
typedef struct fact {
  diff_category_t category;
  const char *property;
  size_t offset; /* in rawhal_kernel_t */
  bool is_bool;
} fact_t;

#define FACT(category, member)                                                                     \
  {                                                                                                \
    category, #member, offsetof(rawhal_kernel_t, member), false                                    \
  }
#define FACT_BOOL(category, member)                                                                \
  {                                                                                                \
    category, #member, offsetof(rawhal_kernel_t, member), true                                     \
  }
#define FACT_XYZ(category, member)                                                                 \
  {category, #member "_x", offsetof(rawhal_kernel_t, member), false},                              \
      {category, #member "_y", offsetof(rawhal_kernel_t, member) + 4, false},                      \
  {                                                                                                \
    category, #member "_z", offsetof(rawhal_kernel_t, member) + 8, false                           \
  }

static const fact_t facts[] = {
    FACT_BOOL(DIFF_ABI, usable),
    FACT(DIFF_ABI, wavefront_size),
    FACT(DIFF_ABI, max_flat_workgroup_size),
    FACT_XYZ(DIFF_ABI, reqd_workgroup_size),
    FACT_XYZ(DIFF_ABI, max_num_workgroups),
    FACT_XYZ(DIFF_ABI, cluster_dims),
    FACT_BOOL(DIFF_ABI, uniform_work_group_size),
    FACT(DIFF_RESOURCE, group_segment_fixed_size),
    FACT(DIFF_RESOURCE, private_segment_fixed_size),
    FACT_BOOL(DIFF_RESOURCE, uses_dynamic_stack),
    FACT(DIFF_RESOURCE, sgpr_count),
    FACT(DIFF_RESOURCE, vgpr_count),
    FACT(DIFF_RESOURCE, agpr_count),
    FACT(DIFF_RESOURCE, sgpr_spill_count),
    FACT(DIFF_RESOURCE, vgpr_spill_count),
    FACT_BOOL(DIFF_RESOURCE, workgroup_processor_mode),
    FACT_XYZ(DIFF_NOTE, workgroup_size_hint),
};

static uint64_t fact_of(const rawhal_kernel_t *kernel, const fact_t *fact)
{
  const char *at = (const char *)kernel + fact->offset;
  uint32_t value;
  if (fact->is_bool)
    return *(const bool *)at;
  memcpy(&value, at, sizeof(value));
  return value;
}

/* Without metadata the descriptor knows some of it. */
static rawhal_kernel_t known_facts(const diff_kernel_t *kernel)
{
  rawhal_kernel_t known = *kernel->facts;
  if (!known.has_metadata && known.descriptor) {
    known.group_segment_fixed_size = known.descriptor->group_segment_size;
    known.private_segment_fixed_size = known.descriptor->private_segment_size;
    known.sgpr_count = known.descriptor->sgpr_count;
    known.vgpr_count = known.descriptor->vgpr_count;
  }
  return known;
}

static bool compare_facts(diff_entry_t *entry)
{
  rawhal_kernel_t a = known_facts(entry->kernels[0]), b = known_facts(entry->kernels[1]);
  for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); ++i)
    if (!record_kernel(entry, facts[i].category, facts[i].property, number(fact_of(&a, &facts[i])),
                       number(fact_of(&b, &facts[i]))))
      return false;
  rawhal_string_t targets[2] = {{entry->kernels[0]->target, strlen(entry->kernels[0]->target)},
                                {entry->kernels[1]->target, strlen(entry->kernels[1]->target)}};
  return record_kernel(entry, DIFF_NOTE, "target", text(targets[0]), text(targets[1]));
}

static diff_value_t missing_layout(const diff_kernel_t *kernel)
{
  if (kernel->layout)
    return (diff_value_t){.kind = DIFF_ABSENT};
  return text(rawhal_string(kernel->why_not));
}

bool diff_compare(diff_entry_t *entry)
{
  const diff_kernel_t *a = entry->kernels[0], *b = entry->kernels[1];
  entry->same_abi = entry->same_resources = true;
  entry->same_blobs = !a->layout && !b->layout;
  if (a->layout && b->layout)
    return compare_arguments(entry) && compare_layouts(entry) && compare_facts(entry);
  return record_kernel(entry, DIFF_ABI, "no_layout", missing_layout(a), missing_layout(b)) &&
         compare_facts(entry);
}
