/* Blobs appended argument by argument, and blocks of them. */
#include "kernarg/builder.h"

#include "base/checked.h"
#include "base/error.h"
#include "base/list.h"
#include "base/sized.h"
#include "kernarg/layout.h"

#include <stdio.h>
#include <string.h>

struct rawhal_builder {
  const rawhal_kernarg_layout_t *layout; /* or NULL */
  uint32_t *order;                       /* its arguments by offset, hidden ones too */
  uint32_t order_count, next;            /* the one that is to be appended, unless hidden */
  bool place;

  unsigned char *bytes;
  size_t capacity, length;
  bool own;

  size_t begin;     /* of the block at hand */
  size_t appended;  /* in it */
  size_t skipped;   /* bytes after `length` that are to be zeros */
  size_t alignment; /* the largest in it */
  size_t blocks, block_size, stride;
  size_t wanted_alignment, wanted_stride;

  rawhal_error_t failure; /* the first */
  allocator_t allocator;
};

/* ---- Making one ---- */

static rawhal_status_t check_options(const rawhal_kernarg_layout_t *layout,
                                     const rawhal_builder_options_t *options, rawhal_error_t *error)
{
  if (options->flags & ~(uint32_t)RAWHAL_BUILDER_PLACE)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "unknown builder flags 0x%x",
                       options->flags);
  if (options->flags && (!layout || layout->info.knowledge != RAWHAL_KERNARG_ARGUMENTS))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "RAWHAL_BUILDER_PLACE needs a layout that knows the arguments");
  if (!options->memory && options->memory_size)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "memory is NULL but has %zu bytes",
                       options->memory_size);
  if (options->alignment && !is_power_of_two(options->alignment))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "block alignment %zu is not a power of two",
                       options->alignment);
  if (options->alignment && options->stride % options->alignment)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "stride %zu is not a multiple of the block alignment %zu", options->stride,
                       options->alignment);
  return RAWHAL_OK;
}

rawhal_status_t rawhal_builder_create(const rawhal_kernarg_layout_t *layout,
                                      const rawhal_builder_options_t *options,
                                      rawhal_builder_t **builder, rawhal_error_t *error)
{
  if (!builder)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "builder is NULL");
  *builder = NULL;
  rawhal_builder_options_t taken;
  rawhal_status_t status = SIZED_TAKE(&taken, options, allocator, error);
  if (status == RAWHAL_OK)
    status = check_options(layout, &taken, error);
  allocator_t allocator = {0};
  if (status == RAWHAL_OK)
    status = allocator_take(taken.allocator || !layout ? taken.allocator
                                                       : allocator_option(&layout->allocator),
                            &allocator, error);
  if (status != RAWHAL_OK)
    return status;

  bool known = layout && layout->info.knowledge == RAWHAL_KERNARG_ARGUMENTS;
  size_t count = known ? (size_t)layout->info.visible_count + layout->info.hidden_count : 0;
  rawhal_builder_t *made =
      allocate_zeroed(&allocator, 1, sizeof(*made) + count * sizeof(*made->order));
  if (!made)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a builder");
  made->layout = layout;
  made->order = (uint32_t *)(made + 1);
  made->order_count = (uint32_t)count;
  if (known)
    layout_order(layout, made->order, made->order_count);
  made->place = taken.flags & RAWHAL_BUILDER_PLACE;
  made->bytes = taken.memory;
  made->capacity = taken.memory_size;
  made->own = !taken.memory;
  made->wanted_alignment = taken.alignment;
  made->wanted_stride = taken.stride;
  made->allocator = allocator;
  rawhal_builder_reset(made);
  *builder = made;
  return RAWHAL_OK;
}

void rawhal_builder_destroy(rawhal_builder_t *builder)
{
  if (!builder)
    return;
  if (builder->own)
    allocate_free(&builder->allocator, builder->bytes);
  allocator_t allocator = builder->allocator;
  allocate_free(&allocator, builder);
}

static void begin_block(rawhal_builder_t *builder)
{
  builder->begin = builder->length;
  builder->appended = builder->skipped = 0;
  builder->alignment = 1;
  builder->next = 0;
}

void rawhal_builder_reset(rawhal_builder_t *builder)
{
  builder->length = builder->blocks = builder->block_size = 0;
  builder->stride = builder->wanted_stride;
  builder->failure.status = RAWHAL_OK;
  begin_block(builder);
}

/* ---- Room ---- */

/* Room for all bytes up to `end`. */
static rawhal_status_t make_room(rawhal_builder_t *builder, size_t end)
{
  enum { LEAST = 256 };
  if (end <= builder->capacity)
    return RAWHAL_OK;
  if (!builder->own)
    return rawhal_fail_at(&builder->failure, RAWHAL_OUT_OF_RANGE, builder->length,
                          "value %zu ends at %zu, the memory at %zu", builder->appended, end,
                          builder->capacity);
  if (!array_reserve(&builder->allocator, &builder->bytes, &builder->capacity,
                     end < LEAST ? LEAST : end, 1))
    return rawhal_fail(&builder->failure, RAWHAL_OUT_OF_MEMORY, "no memory for %zu bytes", end);
  return RAWHAL_OK;
}

/* Writes `size` bytes, or zeros, `at` bytes from the block's beginning, and zeros before them. */
static rawhal_status_t write_at(rawhal_builder_t *builder, uint64_t at, const void *value,
                                size_t size)
{
  uint64_t begin, end;
  if (!checked_add_u64(builder->begin, at, &begin) || !checked_add_u64(begin, size, &end) ||
      end > SIZE_MAX)
    return rawhal_fail(&builder->failure, RAWHAL_OUT_OF_RANGE,
                       "value %zu of %zu bytes ends past the address space", builder->appended,
                       size);
  if (builder->stride && end - builder->begin > builder->stride)
    return rawhal_fail_at(&builder->failure, RAWHAL_OUT_OF_RANGE, at,
                          "value %zu of block %zu occupies %llu..%llu, blocks are %zu bytes apart",
                          builder->appended, builder->blocks, (unsigned long long)at,
                          (unsigned long long)(end - builder->begin), builder->stride);
  rawhal_status_t status = make_room(builder, (size_t)end);
  if (status != RAWHAL_OK)
    return status;
  memset(builder->bytes + builder->length, 0, (size_t)begin - builder->length);
  if (value)
    memcpy(builder->bytes + begin, value, size);
  else
    memset(builder->bytes + begin, 0, size);
  builder->length = (size_t)end;
  return RAWHAL_OK;
}

/* ---- Against the layout ---- */

/* What is appended, with its number and name for messages. */
typedef struct appended {
  rawhal_string_t name;
  size_t size, alignment;
  rawhal_builder_kind_t kind;
} appended_t;

enum { CALLED = 256 };

/* "value 3" or "value 3 'n'" */
static const char *called(const rawhal_builder_t *builder, const appended_t *value,
                          char text[CALLED])
{
  const char *quote = value->name.size ? "'" : "";
  (void)snprintf(text, CALLED, "value %zu%s%s%.*s%s", builder->appended, *quote ? " " : "", quote,
                 RAWHAL_STRING_ARGS(value->name), quote);
  return text;
}

static bool is_address(uint8_t kind)
{
  return kind == RAWHAL_VALUE_GLOBAL_BUFFER || kind == RAWHAL_VALUE_SAMPLER ||
         kind == RAWHAL_VALUE_IMAGE || kind == RAWHAL_VALUE_PIPE || kind == RAWHAL_VALUE_QUEUE;
}

static bool is_no_address(uint8_t kind)
{
  return kind == RAWHAL_VALUE_BY_VALUE || kind == RAWHAL_VALUE_DYNAMIC_SHARED_POINTER;
}

static bool names_equal(rawhal_string_t a, rawhal_string_t b)
{
  return a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
}

/* Is it the argument, wherever it lies? */
static rawhal_status_t check_argument(rawhal_builder_t *builder, const appended_t *value,
                                      uint32_t index)
{
  const rawhal_kernarg_argument_t *argument = &builder->layout->arguments[index];
  const char *what = NULL;
  char text[CALLED];
  if (value->name.size && argument->name.size && !names_equal(value->name, argument->name))
    what = "has another name";
  else if (value->kind == RAWHAL_BUILDER_POINTER && is_no_address(argument->value_kind))
    what = "is a pointer";
  else if (value->kind == RAWHAL_BUILDER_VALUE && is_address(argument->value_kind))
    what = "is not a pointer";
  if (what)
    return rawhal_fail_at(&builder->failure, RAWHAL_INVALID_ARGUMENT, argument->offset,
                          "%s %s: the next is argument " ARGUMENT_FORMAT " at %u..%u",
                          called(builder, value, text), what, ARGUMENT_ARGS(index, argument),
                          argument->offset, argument->offset + argument->size);
  if (value->size != argument->size)
    return rawhal_fail_at(&builder->failure, RAWHAL_INVALID_ARGUMENT, argument->offset,
                          "%s has %zu bytes, argument " ARGUMENT_FORMAT " has %u",
                          called(builder, value, text), value->size, ARGUMENT_ARGS(index, argument),
                          argument->size);
  return RAWHAL_OK;
}

/* `*at`, from the block's beginning, is where the value would lie after what is there. */
static rawhal_status_t place_argument(rawhal_builder_t *builder, const appended_t *value,
                                      uint64_t *at)
{
  const rawhal_kernarg_layout_t *layout = builder->layout;
  uint64_t end = builder->length - builder->begin + builder->skipped;
  uint32_t next = builder->next;
  char text[CALLED];
  for (; next < builder->order_count; ++next) {
    const rawhal_kernarg_argument_t *argument = &layout->arguments[builder->order[next]];
    if (!argument->hidden && argument->size)
      break;
    if (argument->size && argument_end(argument) > end)
      end = argument_end(argument); /* the launch writes it */
  }
  if (next == builder->order_count)
    return rawhal_fail_at(&builder->failure, RAWHAL_OUT_OF_RANGE, end,
                          "%s is one too many: the kernel takes %zu, up to byte %u",
                          called(builder, value, text), builder->appended,
                          layout->info.explicit_end);
  uint32_t index = builder->order[next];
  const rawhal_kernarg_argument_t *argument = &layout->arguments[index];
  rawhal_status_t status = check_argument(builder, value, index);
  if (status != RAWHAL_OK)
    return status;
  if (!checked_align_u64(end, value->alignment, at) || *at != argument->offset) {
    if (!builder->place || argument->offset < end)
      return rawhal_fail_at(&builder->failure, RAWHAL_OUT_OF_RANGE, *at,
                            "%s, aligned to %zu, would lie at %llu, argument " ARGUMENT_FORMAT
                            " at %u",
                            called(builder, value, text), value->alignment, (unsigned long long)*at,
                            ARGUMENT_ARGS(index, argument), argument->offset);
    *at = argument->offset;
  }
  builder->next = next + 1;
  return RAWHAL_OK;
}

static rawhal_status_t place_bytes(rawhal_builder_t *builder, const appended_t *value, uint64_t *at)
{
  uint64_t end = builder->length - builder->begin + builder->skipped;
  char text[CALLED];
  if (!checked_align_u64(end, value->alignment, at))
    return rawhal_fail(&builder->failure, RAWHAL_OUT_OF_RANGE, "%s lies past the address space",
                       called(builder, value, text));
  if (builder->layout && !range_within(*at, value->size, builder->layout->info.effective_size))
    return rawhal_fail_at(&builder->failure, RAWHAL_OUT_OF_RANGE, *at,
                          "%s of %zu bytes would lie at %llu, the kernarg segment ends at %u",
                          called(builder, value, text), value->size, (unsigned long long)*at,
                          builder->layout->info.effective_size);
  return RAWHAL_OK;
}

/* ---- Appending ---- */

static rawhal_status_t check_append(rawhal_builder_t *builder, const void *value,
                                    const appended_t *given)
{
  if (!value || !given->size)
    return rawhal_fail(&builder->failure, RAWHAL_INVALID_ARGUMENT, "value %zu %s",
                       builder->appended, value ? "has no bytes" : "is NULL");
  if (!is_power_of_two(given->alignment))
    return rawhal_fail(&builder->failure, RAWHAL_INVALID_ARGUMENT,
                       "value %zu: alignment %zu is not a power of two", builder->appended,
                       given->alignment);
  if ((unsigned)given->kind > RAWHAL_BUILDER_POINTER)
    return rawhal_fail(&builder->failure, RAWHAL_INVALID_ARGUMENT, "value %zu: unknown kind %d",
                       builder->appended, (int)given->kind);
  return RAWHAL_OK;
}

rawhal_status_t rawhal_builder_append(rawhal_builder_t *builder, rawhal_string_t name,
                                      const void *value, size_t size, size_t alignment,
                                      rawhal_builder_kind_t kind)
{
  appended_t given = {name, size, alignment, kind};
  uint64_t at = 0;
  rawhal_status_t status = builder->failure.status;
  if (status == RAWHAL_OK)
    status = check_append(builder, value, &given);
  if (status == RAWHAL_OK)
    status = builder->layout && builder->layout->info.knowledge == RAWHAL_KERNARG_ARGUMENTS
                 ? place_argument(builder, &given, &at)
                 : place_bytes(builder, &given, &at);
  if (status == RAWHAL_OK)
    status = write_at(builder, at, value, size);
  if (status != RAWHAL_OK)
    return status;
  builder->skipped = 0;
  builder->alignment = alignment > builder->alignment ? alignment : builder->alignment;
  ++builder->appended;
  return RAWHAL_OK;
}

/* Trailing zeros are not part of a blob: they are written together with what follows them. */
rawhal_status_t rawhal_builder_skip(rawhal_builder_t *builder, size_t size)
{
  uint64_t skipped, end;
  if (builder->failure.status)
    return builder->failure.status;
  if (!checked_add_u64(builder->skipped, size, &skipped) ||
      !checked_add_u64(builder->length, skipped, &end) || end > SIZE_MAX)
    return rawhal_fail(&builder->failure, RAWHAL_OUT_OF_RANGE,
                       "%zu skipped bytes end past the address space", size);
  builder->skipped = (size_t)skipped;
  return RAWHAL_OK;
}

/* ---- Blocks ---- */

/* Is the block at hand complete? `error` may be the builder's own. */
static rawhal_status_t check_block(const rawhal_builder_t *builder, rawhal_error_t *error)
{
  size_t size = builder->length - builder->begin;
  if (builder->blocks && size != builder->block_size)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "block %zu has %zu bytes, block 0 has %zu",
                       builder->blocks, size, builder->block_size);
  return builder->layout
             ? blob_check(builder->layout, builder->bytes ? builder->bytes + builder->begin : NULL,
                          size, 0, error)
             : RAWHAL_OK;
}

static size_t largest(size_t a, size_t b)
{
  return a > b ? a : b;
}

rawhal_status_t rawhal_builder_next(rawhal_builder_t *builder)
{
  rawhal_status_t status = builder->failure.status;
  if (status != RAWHAL_OK)
    return status;
  if (builder->skipped) /* which are the block's */
    status = write_at(builder, builder->length - builder->begin, NULL, builder->skipped);
  builder->skipped = 0;
  size_t size = builder->length - builder->begin;
  if (status == RAWHAL_OK && !size)
    status = rawhal_fail(&builder->failure, RAWHAL_INVALID_ARGUMENT, "block %zu is empty",
                         builder->blocks);
  if (status == RAWHAL_OK)
    status = check_block(builder, &builder->failure);
  uint64_t stride = builder->stride;
  if (status == RAWHAL_OK && !stride &&
      !checked_align_u64(size, largest(builder->alignment, builder->wanted_alignment), &stride))
    status = rawhal_fail(&builder->failure, RAWHAL_OUT_OF_RANGE,
                         "%zu bytes and their padding end past the address space", size);
  if (status == RAWHAL_OK)
    status = write_at(builder, size, NULL, (size_t)stride - size);
  if (status != RAWHAL_OK)
    return status;
  builder->stride = (size_t)stride;
  builder->block_size = size;
  ++builder->blocks;
  begin_block(builder);
  return RAWHAL_OK;
}

rawhal_status_t rawhal_builder_finish(rawhal_builder_t *builder, rawhal_bytes_t *bytes,
                                      rawhal_error_t *error)
{
  if (!bytes)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "bytes is NULL");
  *bytes = (rawhal_bytes_t){NULL, 0};
  bool open = builder->length != builder->begin || !builder->blocks;
  rawhal_status_t status = builder->failure.status;
  if (status == RAWHAL_OK && open)
    status = check_block(builder, error);
  else if (status != RAWHAL_OK && error)
    *error = builder->failure;
  if (status == RAWHAL_OK && open && builder->blocks &&
      (status = rawhal_builder_next(builder)) != RAWHAL_OK && error)
    *error = builder->failure;
  if (status == RAWHAL_OK)
    *bytes = (rawhal_bytes_t){builder->bytes, builder->length};
  return status;
}

void rawhal_builder_info(const rawhal_builder_t *builder, rawhal_builder_info_t *info)
{
  rawhal_builder_info_t ours = {
      .length = builder->length,
      .appended = builder->appended,
      .blocks = builder->blocks,
      .stride = builder->stride,
  };
  sized_give(info, sizeof(ours), &ours, sizeof(ours));
}
