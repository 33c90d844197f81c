/* rawhal diff: one kernel in two files. */
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "tools/diff/diff.h"
#include "tools/shared/tool.h"

/* ---- Recording ---- */

diff_value_t diff_number(uint64_t value)
{
  return (diff_value_t){.kind = DIFF_NUMBER, .number = value};
}

static diff_value_t signature(uint64_t value)
{
  return (diff_value_t){.kind = DIFF_SIGNATURE, .number = value};
}

diff_value_t diff_text(rawhal_string_t value)
{
  return (diff_value_t){.kind = DIFF_TEXT, .text = value};
}

static bool equal(const diff_value_t *a, const diff_value_t *b)
{
  return a->kind == b->kind && a->number == b->number && !tool_compare_text(a->text, b->text);
}

bool diff_record(diff_entry_t *entry, diff_change_t change)
{
  if (equal(&change.values[0], &change.values[1]))
    return true;
  if (!array_reserve(NULL, &entry->changes, &entry->room, entry->change_count + 1,
                     sizeof(*entry->changes)))
    return false;
  entry->changes[entry->change_count++] = change;
  entry->same_abi &= change.category != DIFF_ABI;
  entry->same_resources &= change.category != DIFF_RESOURCE;
  return true;
}

static bool record_kernel(diff_entry_t *entry, diff_category_t category, const char *property,
                          diff_value_t a, diff_value_t b)
{
  return diff_record(entry, (diff_change_t){.category = category,
                                            .property = property,
                                            .argument = {DIFF_NO_ARGUMENT, DIFF_NO_ARGUMENT},
                                            .values = {a, b}});
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
      {"knowledge", diff_text(knowledge[a->knowledge]), diff_text(knowledge[b->knowledge])},
      {"segment_size", diff_number(a->segment_size), diff_number(b->segment_size)},
      {"effective_size", diff_number(a->effective_size), diff_number(b->effective_size)},
      {"alignment", diff_number(a->alignment), diff_number(b->alignment)},
      {"explicit_end", diff_number(a->explicit_end), diff_number(b->explicit_end)},
      {"signature", signature(a->signature), signature(b->signature)},
      {"blob_signature", signature(a->blob_signature), signature(b->blob_signature)},
  };
  entry->same_blobs &= a->blob_signature == b->blob_signature;
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
    if (!record_kernel(entry, facts[i].category, facts[i].property,
                       diff_number(fact_of(&a, &facts[i])), diff_number(fact_of(&b, &facts[i]))))
      return false;
  rawhal_string_t targets[2] = {{entry->kernels[0]->target, strlen(entry->kernels[0]->target)},
                                {entry->kernels[1]->target, strlen(entry->kernels[1]->target)}};
  return record_kernel(entry, DIFF_NOTE, "target", diff_text(targets[0]), diff_text(targets[1]));
}

static diff_value_t missing_layout(const diff_kernel_t *kernel)
{
  if (kernel->layout)
    return (diff_value_t){.kind = DIFF_ABSENT};
  return diff_text(rawhal_string(kernel->why_not));
}

bool diff_compare(diff_entry_t *entry)
{
  const diff_kernel_t *a = entry->kernels[0], *b = entry->kernels[1];
  entry->same_abi = entry->same_resources = true;
  entry->same_blobs = !a->layout == !b->layout;
  if (a->layout && b->layout)
    return diff_arguments(entry) && compare_layouts(entry) && compare_facts(entry);
  return record_kernel(entry, DIFF_ABI, "no_layout", missing_layout(a), missing_layout(b)) &&
         compare_facts(entry);
}
