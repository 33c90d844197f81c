/* Making an index: every file is opened, and every object in it that the device can run. */
#include "library/index.h"

#include "base/error.h"
#include "hsaco/content.h"
#include "hsaco/scan.h"
#include "hsaco/target_rating.h"
#include "kernarg/kernarg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct builder {
  const index_source_t *source;
  library_index_t *index;
  list_t objects, entries, kernels;
  uint32_t file; /* the one that is being read */
  char *names;   /* of the arguments of a kernel, as they stand in the image */
  size_t names_size, names_capacity;
  index_kernel_t last; /* whose names they were, which many kernels share with their neighbour */
} builder_t;

static rawhal_status_t no_memory(rawhal_error_t *error)
{
  return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for the index of a library");
}

/* ---- What is passed over ---- */

static void count_unreadable(builder_t *builder, const char *file, uint32_t ordinal,
                             rawhal_string_t reason)
{
  index_header_t *header = &builder->index->header;
  if (header->unreadable++ == 0)
    snprintf(header->unreadable_reason, sizeof(header->unreadable_reason),
             "%.180s, object %u: %.*s", file, ordinal, reason.size < 180 ? (int)reason.size : 180,
             reason.data);
}

static void count_other(builder_t *builder, const rawhal_target_t *target)
{
  index_header_t *header = &builder->index->header;
  char text[sizeof(header->others->target)];
  rawhal_target_format(target, text, sizeof(text));
  for (size_t i = 0; i < INDEX_OTHER_TARGETS; ++i) {
    index_other_t *other = &header->others[i];
    if (other->objects && strcmp(other->target, text) != 0)
      continue;
    memcpy(other->target, text, sizeof(text));
    ++other->objects;
    return;
  }
  ++header->more_others;
}

/* ---- Objects ---- */

/* With its text, whose place it says. */
static bool add_entry(builder_t *builder, rawhal_string_t name, uint32_t flags, uint64_t *text)
{
  image_t *image = &builder->index->image;
  const index_entry_t entry = {
      .hash = index_hash(name),
      .text = image->size,
      .size = (uint32_t)name.size,
      .object = (uint32_t)builder->objects.count,
      .flags = flags,
  };
  *text = entry.text;
  return image_append(image, name.data, name.size) &&
         list_add(&builder->entries, &entry, sizeof(entry));
}

static bool collect_name(builder_t *builder, rawhal_string_t name)
{
  const uint32_t size = (uint32_t)name.size;
  const size_t before = builder->names_size, after = before + sizeof(size) + size;
  if (!array_reserve(builder->source->allocator, &builder->names, &builder->names_capacity, after,
                     1))
    return false;
  memcpy(builder->names + before, &size, sizeof(size));
  memcpy(builder->names + before + sizeof(size), name.data, size);
  builder->names_size = after;
  return true;
}

/* The names of the arguments that callers pass. */
static bool add_arguments(builder_t *builder, const rawhal_kernel_t *kernel, index_kernel_t *added)
{
  image_t *image = &builder->index->image;
  builder->names_size = 0;
  for (uint32_t i = 0; i < kernel->argument_count; ++i) {
    const rawhal_argument_t *argument = &kernel->arguments[i];
    if (argument->name.size && !rawhal_argument_is_hidden(argument) &&
        !collect_name(builder, argument->name))
      return false;
  }
  added->arguments_size = builder->names_size;
  added->arguments = builder->last.arguments;
  const bool same =
      builder->names_size == builder->last.arguments_size &&
      image_compare(image, added->arguments, builder->names, builder->names_size) == IMAGE_EQUAL;
  if (!same)
    added->arguments = image->size;
  return same || image_append(image, builder->names, builder->names_size);
}

static rawhal_status_t sign(const rawhal_kernel_t *kernel, uint64_t *signature)
{
  rawhal_kernarg_layout_t *layout;
  const rawhal_status_t status = rawhal_kernarg_layout_create(kernel, 0, &layout, NULL);
  *signature = status == RAWHAL_OK ? rawhal_kernarg_layout_info(layout)->signature : 0;
  rawhal_kernarg_layout_destroy(layout);
  return status == RAWHAL_OUT_OF_MEMORY ? status : RAWHAL_OK;
}

static bool add_listed(builder_t *builder, const rawhal_kernel_t *kernel, index_kernel_t *added)
{
  if (!added->name_size) {
    added->name = added->symbol;
    added->name_size = added->symbol_size;
  }
  if (!added->name_size)
    return true;
  if (sign(kernel, &added->signature) != RAWHAL_OK || !add_arguments(builder, kernel, added))
    return false;
  builder->last = *added;
  return list_add(&builder->kernels, added, sizeof(*added));
}

static bool add_kernel(builder_t *builder, const rawhal_kernel_t *kernel, bool loadable)
{
  uint32_t usable = kernel->usable && loadable ? INDEX_USABLE : 0;
  rawhal_string_t name = kernel->name, symbol = kernel->symbol;
  if (symbol.size >= 3 && memcmp(symbol.data + symbol.size - 3, ".kd", 3) == 0)
    symbol.size -= 3;
  bool same = name.size == symbol.size && memcmp(name.data, symbol.data, name.size) == 0;
  ++builder->index->header.kernels;
  index_kernel_t added = {
      .name_size = (uint32_t)name.size,
      .symbol_size = (uint32_t)symbol.size,
      .object = (uint32_t)builder->objects.count,
      .flags = usable,
  };
  bool room;
  if (same) {
    room = add_entry(builder, name, usable | INDEX_BY_NAME | INDEX_BY_SYMBOL, &added.name);
    added.symbol = added.name;
  } else
    room = (!name.size || add_entry(builder, name, usable | INDEX_BY_NAME, &added.name)) &&
           (!symbol.size || add_entry(builder, symbol, usable | INDEX_BY_SYMBOL, &added.symbol));
  return room && add_listed(builder, kernel, &added);
}

static rawhal_status_t add_object(builder_t *builder, const char *file, uint32_t ordinal,
                                  rawhal_container_t *container, rawhal_error_t *error)
{
  const rawhal_container_object_t *object = rawhal_container_object(container, ordinal);
  rawhal_hsaco_t *hsaco = NULL;
  rawhal_bytes_t bytes;
  rawhal_error_t why;
  rawhal_status_t status = rawhal_container_read(container, ordinal, &bytes, &why);
  if (status == RAWHAL_OK)
    status =
        rawhal_hsaco_open(bytes.data, bytes.size, builder->source->hsaco_options, &hsaco, &why);
  if (status == RAWHAL_OUT_OF_MEMORY)
    return no_memory(error);
  if (status != RAWHAL_OK) {
    count_unreadable(builder, file, ordinal, rawhal_string(why.message));
    return RAWHAL_OK;
  }
  bool loadable = rawhal_hsaco_info(hsaco)->loadable, room = true;
  const size_t first = builder->kernels.count;
  const rawhal_kernel_t *kernel;
  for (size_t i = 0; room && (kernel = rawhal_hsaco_kernel(hsaco, i)); ++i)
    room = add_kernel(builder, kernel, loadable);
  rawhal_hsaco_close(hsaco);
  const index_object_t added = {
      .offset = object->offset,
      .size = object->bytes.size,
      .file = builder->file,
      .ordinal = ordinal,
      .target = object->target,
      .rating = target_rating(&object->target, builder->source->device),
      .unpacked = object->unpacked,
      .first_kernel = (uint32_t)first,
      .kernels = (uint32_t)(builder->kernels.count - first),
  };
  if (builder->objects.count == UINT32_MAX || builder->kernels.count > UINT32_MAX)
    return rawhal_fail(error, RAWHAL_CAP_EXCEEDED, "a library of more than %u %s", UINT32_MAX,
                       builder->objects.count == UINT32_MAX ? "code objects" : "kernels");
  return room && list_add(&builder->objects, &added, sizeof(added)) ? RAWHAL_OK : no_memory(error);
}

static rawhal_status_t add_container(builder_t *builder, const char *file,
                                     rawhal_container_t *container, rawhal_error_t *error)
{
  rawhal_status_t status = RAWHAL_OK;
  const rawhal_container_object_t *object;
  for (uint32_t i = 0; status == RAWHAL_OK && (object = rawhal_container_object(container, i));
       ++i) {
    builder->index->header.bytes += object->unpacked ? object->bytes.size : 0;
    if (!object->readable)
      count_unreadable(builder, file, i, object->why_not);
    else if (rawhal_target_match(&object->target, builder->source->device))
      count_other(builder, &object->target);
    else
      status = add_object(builder, file, i, container, error);
  }
  return status;
}

/* ---- Files ---- */

/* A folder may hold anything else. */
static bool looks_like_carrier(const char *path)
{
  char start[SCAN_START];
  return scan_knows_start(start, file_start(path, start, sizeof(start)));
}

/* The file, read between two looks at it that agree. */
static rawhal_status_t add_file(builder_t *builder, listed_file_t *file, rawhal_error_t *error)
{
  enum { ATTEMPTS = 3 };
  const index_source_t *source = builder->source;
  const char *path = file->path->text;
  rawhal_error_t why;
  file_stamp_t after = {0}; /* if it has gone */
  rawhal_container_t *container = NULL;
  rawhal_status_t status = RAWHAL_OK;
  bool same = false;
  for (int i = 0; !same && i < ATTEMPTS; ++i) {
    rawhal_container_close(container);
    status = rawhal_container_open_file(path, source->container_options, &container, &why);
    same = file_stamp_of(path, &after) && file_stamp_equal(&after, &file->stamp);
    if (!same)
      file->stamp = after;
  }
  if (status == RAWHAL_OK && same)
    status = add_container(builder, path, container, error);
  else if (status == RAWHAL_OUT_OF_MEMORY)
    status = no_memory(error);
  else {
    if (!same)
      count_unreadable(builder, path, 0, RAWHAL_STRING("changes while it is read"));
    else if (status != RAWHAL_NOT_FOUND && looks_like_carrier(path))
      count_unreadable(builder, path, 0, rawhal_string(why.message));
    status = RAWHAL_OK;
  }
  rawhal_container_close(container);
  builder->index->header.bytes += file->stamp.size;
  return status;
}

static rawhal_status_t add_all(builder_t *builder, rawhal_error_t *error)
{
  const index_source_t *source = builder->source;
  if (source->container)
    return add_container(builder, source->name, source->container, error);
  rawhal_status_t status = RAWHAL_OK;
  for (size_t i = 0; status == RAWHAL_OK && i < source->files->count; ++i) {
    builder->file = (uint32_t)i;
    status = add_file(builder, files_at(source->files, i), error);
  }
  return status;
}

/* ---- The whole ---- */

static int by_hash(const void *left, const void *right)
{
  const index_entry_t *a = left, *b = right;
  if (a->hash != b->hash)
    return a->hash < b->hash ? -1 : 1;
  if (a->object != b->object)
    return a->object < b->object ? -1 : 1;
  return a->text < b->text ? -1 : a->text > b->text;
}

static int by_size(const void *left, const void *right)
{
  const index_length_t *a = left, *b = right;
  if (a->size != b->size)
    return a->size < b->size ? -1 : 1;
  return a->kernel < b->kernel ? -1 : 1;
}

/* The kernels, and their numbers by the lengths of their names. */
static bool add_kernels(builder_t *builder)
{
  image_t *image = &builder->index->image;
  index_header_t *header = &builder->index->header;
  list_t lengths = {.allocator = builder->source->allocator};
  const index_kernel_t *kernels = builder->kernels.items;
  const size_t count = builder->kernels.count;
  bool room = true;
  for (size_t i = 0; room && i < count; ++i) {
    const index_length_t length = {kernels[i].name_size, (uint32_t)i};
    room = list_add(&lengths, &length, sizeof(length));
  }
  if (room && count)
    qsort(lengths.items, count, sizeof(index_length_t), by_size);
  header->kernel_count = count;
  header->kernels_at = image->size;
  header->lengths_at = image->size + count * sizeof(index_kernel_t);
  room = room && image_append(image, kernels, count * sizeof(index_kernel_t)) &&
         image_append(image, lengths.items, count * sizeof(index_length_t));
  list_free(&lengths);
  return room;
}

static rawhal_status_t finish(builder_t *builder, rawhal_error_t *error)
{
  library_index_t *index = builder->index;
  index_header_t *header = &index->header;
  image_t *image = &index->image;
  if (!add_kernels(builder))
    return no_memory(error);
  if (builder->entries.count)
    qsort(builder->entries.items, builder->entries.count, sizeof(index_entry_t), by_hash);
  header->objects_at = image->size;
  header->object_count = builder->objects.count;
  header->entries_at = image->size + builder->objects.count * sizeof(index_object_t);
  header->entry_count = builder->entries.count;
  header->source = index_source_hash(builder->source);
  if (!image_append(image, builder->objects.items,
                    builder->objects.count * sizeof(index_object_t)) ||
      !image_append(image, builder->entries.items, builder->entries.count * sizeof(index_entry_t)))
    return no_memory(error);
  header->pages = image_bytes(image).size / IMAGE_PAGE;
  image_put(image, 0, header, sizeof(*header));
  image_seal(image);
  return RAWHAL_OK;
}

rawhal_status_t index_build(const index_source_t *source, library_index_t *index,
                            rawhal_error_t *error)
{
  builder_t builder = {.source = source,
                       .index = index,
                       .objects.allocator = source->allocator,
                       .entries.allocator = source->allocator,
                       .kernels.allocator = source->allocator};
  *index = (library_index_t){
      .header = {.magic = INDEX_MAGIC, .format = INDEX_FORMAT, .byte_order = INDEX_BYTE_ORDER}};
  image_begin(&index->image, INDEX_SEED, source->allocator);
  rawhal_status_t status = RAWHAL_OK;
  if (source->files && source->files->count > UINT32_MAX)
    status = rawhal_fail(error, RAWHAL_CAP_EXCEEDED, "a library of %zu files, at most %u",
                         source->files->count, UINT32_MAX);
  else if (!image_append(&index->image, &index->header, sizeof(index->header)))
    status = no_memory(error);
  if (status == RAWHAL_OK)
    status = add_all(&builder, error);
  if (status == RAWHAL_OK)
    status = finish(&builder, error);
  list_free(&builder.objects);
  list_free(&builder.entries);
  list_free(&builder.kernels);
  allocate_free(source->allocator, builder.names);
  if (status != RAWHAL_OK)
    index_free(index);
  return status;
}
