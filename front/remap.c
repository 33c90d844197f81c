#include "front/remap.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

/* A hidden argument that both have. */
typedef struct hidden_copy {
  uint32_t from, to, size;
} hidden_copy_t;

struct remap {
  const rawhal_kernarg_layout_t *layout; /* the other's */
  uint32_t bytes, room;
  bool identity;
  uint32_t visible, own; /* the other's visible arguments; of which the one has them too */
  uint32_t *offsets;     /* in the one's kernargs, of each it has */
  hidden_copy_t *copies;
  uint32_t copy_count;
};

/* ---- Arguments ---- */

/* The next visible, or hidden, argument from `*at` on; NULL: there is none. */
static const rawhal_kernarg_argument_t *next_of(const rawhal_kernarg_layout_t *layout, uint32_t *at,
                                                bool hidden)
{
  const rawhal_kernarg_argument_t *argument;
  while ((argument = rawhal_kernarg_layout_argument(layout, (*at)++)))
    if (argument->hidden == hidden)
      return argument;
  return NULL;
}

static const rawhal_kernarg_argument_t *find_hidden(const rawhal_kernarg_layout_t *layout,
                                                    const rawhal_kernarg_argument_t *like)
{
  const rawhal_kernarg_argument_t *argument;
  for (uint32_t at = 0; (argument = next_of(layout, &at, true));)
    if (argument->value_kind == like->value_kind && argument->size == like->size)
      return argument;
  return NULL;
}

/* Decided by the dispatch, or zeros without harm. */
static bool is_computed(uint8_t kind)
{
  return kind <= RAWHAL_VALUE_HIDDEN_GRID_DIMS || kind == RAWHAL_VALUE_HIDDEN_DYNAMIC_LDS_SIZE;
}

static rawhal_status_t check_same(uint32_t index, const rawhal_kernarg_argument_t *one,
                                  const rawhal_kernarg_argument_t *other, rawhal_error_t *error)
{
  if (one->size == other->size && one->value_kind == other->value_kind &&
      (one->address_space == other->address_space || !one->address_space || !other->address_space))
    return RAWHAL_OK;
  if (one->size == other->size && one->value_kind == other->value_kind)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "argument %u points into address space %u, the replacement's into %u", index,
                       one->address_space, other->address_space);
  return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                     "argument %u has %u bytes (%.*s), the replacement's %u (%.*s)", index,
                     one->size, (int)one->value_kind_text.size, one->value_kind_text.data,
                     other->size, (int)other->value_kind_text.size, other->value_kind_text.data);
}

static rawhal_status_t check_extra(uint32_t index, const rawhal_kernarg_argument_t *argument,
                                   const remap_extra_t *extra, rawhal_error_t *error)
{
  const bool by_value = argument->value_kind == RAWHAL_VALUE_BY_VALUE;
  const uint32_t size = argument->size;
  bool fits = false;
  if (extra->kind == REMAP_BUFFER)
    fits = argument->value_kind == RAWHAL_VALUE_GLOBAL_BUFFER && size == 8;
  else if (extra->kind == REMAP_NUMBER)
    fits = by_value && (size == 4 || size == 8);
  else
    fits = by_value && (size == 1 || size == 2 || size == 4 || size == 8) &&
           (size == 8 || extra->value >> 8 * size == 0);
  static const char *const names[] = {"a buffer", "the dispatch's number", "that value"};
  return fits ? RAWHAL_OK
              : rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                            "the replacement's argument %u, of %u bytes (%.*s), cannot be %s",
                            index, size, (int)argument->value_kind_text.size,
                            argument->value_kind_text.data, names[extra->kind]);
}

static rawhal_status_t match_visible(remap_t *remap, const rawhal_kernarg_layout_t *one,
                                     const remap_extra_t *extras, size_t count,
                                     rawhal_error_t *error)
{
  uint32_t at_one = 0, at = 0;
  rawhal_status_t status = RAWHAL_OK;
  for (uint32_t i = 0; i < remap->visible && status == RAWHAL_OK; ++i) {
    const rawhal_kernarg_argument_t *other = next_of(remap->layout, &at, false);
    if (i >= remap->own) {
      status = check_extra(i, other, &extras[i - remap->own], error);
      continue;
    }
    const rawhal_kernarg_argument_t *argument = next_of(one, &at_one, false);
    status = check_same(i, argument, other, error);
    remap->offsets[i] = argument->offset;
    remap->identity &= argument->offset == other->offset;
  }
  remap->identity &= count == 0;
  return status;
}

static rawhal_status_t match_hidden(remap_t *remap, const rawhal_kernarg_layout_t *one,
                                    rawhal_error_t *error)
{
  const rawhal_kernarg_argument_t *other;
  for (uint32_t at = 0; (other = next_of(remap->layout, &at, true));) {
    if (other->value_kind == RAWHAL_VALUE_HIDDEN_NONE)
      continue;
    const rawhal_kernarg_argument_t *argument = find_hidden(one, other);
    if (!argument && !is_computed(other->value_kind))
      return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                         "the replacement takes %.*s, which the original does not have",
                         (int)other->value_kind_text.size, other->value_kind_text.data);
    remap->identity &= argument && argument->offset == other->offset;
    if (argument)
      remap->copies[remap->copy_count++] =
          (hidden_copy_t){argument->offset, other->offset, other->size};
  }
  return RAWHAL_OK;
}

/* ---- Making ---- */

static rawhal_status_t check_known(const remap_kernel_t *one, const remap_kernel_t *other,
                                   rawhal_error_t *error)
{
  const remap_kernel_t *const both[] = {one, other};
  static const char *const whose[] = {"the original", "the replacement"};
  for (int i = 0; i < 2; ++i) {
    const rawhal_kernarg_info_t *info =
        both[i]->layout ? rawhal_kernarg_layout_info(both[i]->layout) : NULL;
    if (!info || info->knowledge != RAWHAL_KERNARG_ARGUMENTS)
      return rawhal_fail(error, RAWHAL_UNSUPPORTED, "the arguments of %s are not known", whose[i]);
    if (info->visible_count > REMAP_ARGUMENTS || info->effective_size > REMAP_BYTES)
      return rawhal_fail(error, RAWHAL_UNSUPPORTED,
                         "%s takes %u arguments in %u bytes; the limit is %d in %d", whose[i],
                         info->visible_count, info->effective_size, REMAP_ARGUMENTS, REMAP_BYTES);
    if (info->effective_size > info->segment_size)
      return rawhal_fail(error, RAWHAL_UNSUPPORTED,
                         "%s takes arguments up to byte %u of a segment of %u", whose[i],
                         info->effective_size, info->segment_size);
  }
  return RAWHAL_OK;
}

static rawhal_status_t check_counts(uint32_t one, uint32_t other, size_t extras,
                                    rawhal_error_t *error)
{
  if (other == one + extras)
    return RAWHAL_OK;
  if (!extras)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "the original takes %u arguments, the replacement %u", one, other);
  return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                     "the original takes %u arguments, and %zu are appended, the replacement takes "
                     "%u",
                     one, extras, other);
}

rawhal_status_t remap_create(const remap_kernel_t *one, const remap_kernel_t *other,
                             const remap_extra_t *extras, size_t count, remap_t **remap,
                             rawhal_error_t *error)
{
  *remap = NULL;
  rawhal_status_t status = check_known(one, other, error);
  if (status != RAWHAL_OK)
    return status;
  const rawhal_kernarg_info_t *from = rawhal_kernarg_layout_info(one->layout),
                              *to = rawhal_kernarg_layout_info(other->layout);
  status = check_counts(from->visible_count, to->visible_count, count, error);
  if (status != RAWHAL_OK)
    return status;
  remap_t *made = calloc(1, sizeof(*made));
  if (made) {
    *made = (remap_t){.layout = other->layout,
                      .bytes = from->segment_size,
                      .room = to->block_count * 64,
                      .identity = to->effective_size <= from->segment_size,
                      .visible = to->visible_count,
                      .own = from->visible_count,
                      .offsets = calloc(from->visible_count + 1, sizeof(*made->offsets)),
                      .copies = calloc(to->hidden_count + 1, sizeof(*made->copies))};
    if (!made->offsets || !made->copies) {
      remap_destroy(made);
      made = NULL;
    }
  }
  if (!made)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for the arguments' places");
  status = match_visible(made, one->layout, extras, count, error);
  if (status == RAWHAL_OK)
    status = match_hidden(made, one->layout, error);
  if (status == RAWHAL_OK)
    *remap = made;
  else
    remap_destroy(made);
  return status;
}

void remap_destroy(remap_t *remap)
{
  if (!remap)
    return;
  free(remap->offsets);
  free(remap->copies);
  free(remap);
}

bool remap_is_identity(const remap_t *remap)
{
  return remap->identity;
}

uint32_t remap_bytes(const remap_t *remap)
{
  return remap->bytes;
}

uint32_t remap_room(const remap_t *remap)
{
  return remap->room;
}

/* ---- Using ---- */

rawhal_status_t remap_write(const remap_t *remap, const void *kernargs,
                            const rawhal_launch_t *launch, const uint64_t *extras, void *image,
                            rawhal_error_t *error)
{
  const void *values[REMAP_ARGUMENTS + 1];
  const char *from = kernargs;
  for (uint32_t i = 0; i < remap->own; ++i)
    values[i] = from + remap->offsets[i];
  for (uint32_t i = remap->own; i < remap->visible; ++i)
    values[i] = &extras[i - remap->own]; /* little-endian: its low bytes come first */
  rawhal_status_t status = rawhal_kernarg_write_pointers(remap->layout, values, remap->visible,
                                                         launch, image, remap->room, error);
  for (uint32_t i = 0; i < remap->copy_count && status == RAWHAL_OK; ++i)
    memcpy((char *)image + remap->copies[i].to, from + remap->copies[i].from,
           remap->copies[i].size);
  return status;
}
