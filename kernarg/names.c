/* Finding visible arguments by name: a table sorted by length, then bytes, then index. A sorted
 * table has no bad case that a hostile object could choose. */
#include "kernarg/layout.h"

#include "base/error.h"
#include "base/near.h"

#include <stdlib.h>
#include <string.h>

static int compare_strings(rawhal_string_t a, rawhal_string_t b)
{
  if (a.size != b.size)
    return a.size < b.size ? -1 : 1;
  return a.size ? memcmp(a.data, b.data, a.size) : 0;
}

static int compare_names(const void *a, const void *b, void *context)
{
  const rawhal_kernarg_argument_t *arguments = context;
  uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
  int order = compare_strings(arguments[i].name, arguments[j].name);
  return order ? order : i < j ? -1 : 1;
}

void layout_sort_names(rawhal_kernarg_layout_t *layout)
{
  for (uint32_t i = 0; i < layout->info.visible_count; ++i)
    if (layout->arguments[layout->visible[i]].name.size)
      layout->by_name[layout->named_count++] = layout->visible[i];
  qsort_r(layout->by_name, layout->named_count, sizeof(*layout->by_name), compare_names,
          layout->arguments);
}

static rawhal_string_t argument_name(const void *context, size_t number)
{
  const rawhal_kernarg_layout_t *layout = context;
  return layout->arguments[layout->by_name[number]].name;
}

static rawhal_status_t not_an_argument(const rawhal_kernarg_layout_t *layout, rawhal_string_t name,
                                       rawhal_error_t *error)
{
  const near_phrase_t nearest =
      near_phrase(name, argument_name, layout, layout->named_count, error);
  return rawhal_fail(error, RAWHAL_NOT_FOUND, "the kernel has no argument '%.*s'%s",
                     RAWHAL_STRING_ARGS(name), nearest.text);
}

rawhal_status_t rawhal_kernarg_layout_find(const rawhal_kernarg_layout_t *layout,
                                           rawhal_string_t name, size_t *index,
                                           rawhal_error_t *error)
{
  if (!index)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "index is NULL");
  *index = 0;
  if (!layout || (!name.data && name.size))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s is NULL", layout ? "name" : "layout");

  uint32_t low = 0, high = layout->named_count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (compare_strings(layout->arguments[layout->by_name[middle]].name, name) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  const uint32_t *found = layout->by_name + low;
  if (low == layout->named_count || compare_strings(layout->arguments[*found].name, name) != 0)
    return not_an_argument(layout, name, error);
  if (low + 1 < layout->named_count && compare_strings(layout->arguments[found[1]].name, name) == 0)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "several arguments are called '%.*s', such as %u and %u: use an index",
                       RAWHAL_STRING_ARGS(name), found[0], found[1]);
  *index = *found;
  return RAWHAL_OK;
}
