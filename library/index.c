#include "library/index.h"

#include "base/error.h"
#include "base/version.h"
#include "hsaco/content.h"

#include <assert.h>
#include <string.h>

static_assert(sizeof(index_header_t) <= IMAGE_CONTENT, "the header is in the first page");

uint64_t index_hash(rawhal_string_t name)
{
  return content_sum(name.data, name.size, 0);
}

/* ---- Of what it is ---- */

static void describe(rawhal_content_hash_t *hash, const void *bytes, size_t size)
{
  hash->high = content_sum(bytes, size, hash->high);
  hash->low = content_sum(bytes, size, hash->low);
}

static void describe_options(rawhal_content_hash_t *hash, const index_source_t *source)
{
  const rawhal_container_options_t *container = source->container_options;
  const rawhal_hsaco_options_t *hsaco = source->hsaco_options;
  const uint64_t numbers[] = {
      INDEX_FORMAT,
      RAWHAL_VERSION_MAJOR,
      RAWHAL_VERSION_MINOR,
      RAWHAL_VERSION_PATCH,
      container->max_objects,
      container->max_bundle_entries,
      container->max_file_bytes,
      container->max_unpacked_bytes,
      container->max_unpacked_total,
      hsaco->flags & RAWHAL_HSACO_DESCRIPTOR_KERNELS,
      hsaco->max_kernels,
      hsaco->max_arguments,
      hsaco->max_nesting,
      hsaco->max_metadata_bytes,
  };
  describe(hash, numbers, sizeof(numbers));
}

static void describe_file(rawhal_content_hash_t *hash, const listed_file_t *file)
{
  const file_stamp_t *stamp = &file->stamp;
  const uint64_t numbers[] = {
      file->path->size,           stamp->size,       stamp->inode,
      (uint64_t)stamp->changed_s, stamp->changed_ns, (uint64_t)stamp->modified_s,
      stamp->modified_ns,
  };
  describe(hash, numbers, sizeof(numbers));
  describe(hash, file->path->text, file->path->size);
}

rawhal_content_hash_t index_source_hash(const index_source_t *source)
{
  rawhal_content_hash_t hash = {INDEX_SEED, ~INDEX_SEED};
  char target[96] = {0};
  rawhal_target_format(source->device, target, sizeof(target));
  describe(&hash, target, sizeof(target));
  describe_options(&hash, source);
  for (size_t i = 0; source->files && i < source->files->count; ++i)
    describe_file(&hash, files_at(source->files, i));
  return hash;
}

/* ---- Taking one that is there ---- */

bool index_take(library_index_t *index, const image_t *image, uint64_t pages,
                const rawhal_content_hash_t *source)
{
  index_header_t header;
  static const char magic[8] = INDEX_MAGIC;
  if (!image_read(image, 0, &header, sizeof(header)) ||
      memcmp(header.magic, magic, sizeof(magic)) != 0 || header.format != INDEX_FORMAT ||
      header.byte_order != INDEX_BYTE_ORDER || header.pages != pages ||
      !content_equal(header.source, *source))
    return false;
  index->image = *image;
  index->header = header;
  return true;
}

void index_free(library_index_t *index)
{
  image_free(&index->image);
  index->header = (index_header_t){0};
}

/* ---- Looking up ---- */

static bool entry_at(const library_index_t *index, image_window_t *window, uint64_t number,
                     index_entry_t *entry)
{
  return image_read_by(&index->image, window, index->header.entries_at + number * sizeof(*entry),
                       entry, sizeof(*entry));
}

/* Of so many that stand in the order of a key, the first whose key is not less. */
typedef bool key_fn(const library_index_t *index, image_window_t *window, uint64_t number,
                    uint64_t *key);

static bool lower_bound(const library_index_t *index, image_window_t *window, key_fn *key_at,
                        uint64_t count, uint64_t wanted, uint64_t *first)
{
  uint64_t low = 0, high = count;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    uint64_t key;
    if (!key_at(index, window, middle, &key))
      return false;
    if (key < wanted)
      low = middle + 1;
    else
      high = middle;
  }
  *first = low;
  return true;
}

static bool hash_at(const library_index_t *index, image_window_t *window, uint64_t number,
                    uint64_t *hash)
{
  index_entry_t entry;
  const bool done = entry_at(index, window, number, &entry);
  *hash = done ? entry.hash : 0;
  return done;
}

bool index_find(const library_index_t *index, rawhal_string_t name, index_found_fn *found,
                void *context)
{
  uint64_t hash = index_hash(name), number;
  image_window_t window;
  image_window_begin(&window);
  if (!lower_bound(index, &window, hash_at, index->header.entry_count, hash, &number))
    return false;
  for (index_entry_t entry; number < index->header.entry_count; ++number) {
    if (!entry_at(index, &window, number, &entry))
      return false;
    if (entry.hash != hash)
      break;
    if (entry.size != name.size)
      continue;
    image_answer_t answer = image_compare(&index->image, entry.text, name.data, name.size);
    if (answer == IMAGE_DAMAGED || entry.object >= index->header.object_count)
      return false;
    if (answer == IMAGE_EQUAL && !found(context, entry.object, entry.flags))
      break;
  }
  return true;
}

bool index_kernel_at(const library_index_t *index, image_window_t *window, uint32_t number,
                     index_kernel_t *kernel)
{
  return number < index->header.kernel_count &&
         image_read_by(&index->image, window, index->header.kernels_at + number * sizeof(*kernel),
                       kernel, sizeof(*kernel)) &&
         kernel->object < index->header.object_count;
}

bool index_length_at(const library_index_t *index, image_window_t *window, uint32_t number,
                     index_length_t *length)
{
  return number < index->header.kernel_count &&
         image_read_by(&index->image, window, index->header.lengths_at + number * sizeof(*length),
                       length, sizeof(*length));
}

static bool length_at(const library_index_t *index, image_window_t *window, uint64_t number,
                      uint64_t *size)
{
  index_length_t length;
  const bool done = index_length_at(index, window, (uint32_t)number, &length);
  *size = done ? length.size : 0;
  return done;
}

bool index_first_length(const library_index_t *index, image_window_t *window, size_t size,
                        uint32_t *number)
{
  uint64_t first = 0;
  const bool done =
      lower_bound(index, window, length_at, (uint32_t)index->header.kernel_count, size, &first);
  *number = (uint32_t)first;
  return done;
}

image_answer_t index_has_argument(const library_index_t *index, image_window_t *window,
                                  const index_kernel_t *kernel, rawhal_string_t name)
{
  uint32_t size;
  for (uint64_t at = 0; at < kernel->arguments_size; at += size) {
    if (!image_read_by(&index->image, window, kernel->arguments + at, &size, sizeof(size)))
      return IMAGE_DAMAGED;
    at += sizeof(size);
    if (size != name.size)
      continue;
    image_answer_t answer =
        image_compare_by(&index->image, window, kernel->arguments + at, name.data, name.size);
    if (answer != IMAGE_DIFFERENT)
      return answer;
  }
  return IMAGE_DIFFERENT;
}

bool index_object_at(const library_index_t *index, uint32_t number, index_object_t *object)
{
  if (number >= index->header.object_count ||
      !image_read(&index->image, index->header.objects_at + number * sizeof(*object), object,
                  sizeof(*object)))
    return false;
  object->target.processor[sizeof(object->target.processor) - 1] =
      '\0'; /* whichever process wrote it */
  return true;
}
