#include "library/internal.h"

#include "base/error.h"

#include <unistd.h>

rawhal_status_t source_list(rawhal_library_t *library, library_source_t *source,
                            rawhal_error_t *error)
{
  list_t files = {.allocator = &library->allocator};
  rawhal_status_t status = files_list(source->name->text, &library->names, &files, error);
  if (status != RAWHAL_OK)
    return status;
  list_free(&source->files);
  source->files = files;
  return RAWHAL_OK;
}

static index_source_t description_of(rawhal_library_t *library, library_source_t *source)
{
  return (index_source_t){
      .device = &library->device->info.target,
      .container_options = &library->container_options,
      .hsaco_options = &library->hsaco_options,
      .allocator = &library->allocator,
      .files = source->container ? NULL : &source->files,
      .container = source->container,
      .name = source->name->text,
  };
}

/* ---- From disk ---- */

/* An index is read where it is as long as there may be one more open file; small ones are not worth
 * it. */
static bool keep_open(rawhal_library_t *library, image_t *image, uint64_t pages)
{
  enum { SMALL = 16 };
  if (pages <= SMALL || library->open_files >= library->max_open_files)
    return image_load(image, &library->allocator);
  ++library->open_files;
  return true;
}

static void close_image(rawhal_library_t *library, library_index_t *index)
{
  library->open_files -= index->image.in_file;
  index_free(index);
}

static bool take_from_disk(rawhal_library_t *library, library_source_t *source,
                           const index_source_t *description)
{
  uint64_t pages;
  const rawhal_target_t *target = description->device;
  int file = cache_open(&library->cache, source->name->text, target, &pages);
  if (file < 0)
    return false;
  image_t image;
  rawhal_content_hash_t hash = index_source_hash(description);
  image_of_file(&image, file, pages, INDEX_SEED, &library->counters.index_bytes);
  if (!index_take(&source->index, &image, pages, &hash)) {
    image_free(&image);
    return false;
  }
  if (!keep_open(library, &source->index.image, pages)) {
    index_free(&source->index);
    return false;
  }
  ++library->counters.indexes_read;
  return true;
}

/* What is read as quickly as its index is not worth one. */
static bool is_worth_it(const library_source_t *source)
{
  enum { FILES = 16, BYTES = 1 << 20 };
  return source->files.count >= FILES || source->index.header.bytes >= BYTES;
}

/* ---- Indexing ---- */

rawhal_status_t source_index(rawhal_library_t *library, library_source_t *source, bool from_disk,
                             rawhal_error_t *error)
{
  struct timespec now;
  if (source->indexed)
    return RAWHAL_OK;
  index_source_t description = description_of(library, source);
  source->indexed =
      from_disk && !source->container && take_from_disk(library, source, &description);
  if (source->indexed)
    return RAWHAL_OK;
  rawhal_status_t status = index_build(&description, &source->index, error);
  if (status != RAWHAL_OK)
    return status;
  source->indexed = true;
  library->counters.files_read += source->files.count;
  (void)clock_gettime(CLOCK_REALTIME, &now);
  if (!source->container && is_worth_it(source) && !files_are_fresh(&source->files, &now) &&
      cache_write(&library->cache, source->name->text, description.device, &source->index.image))
    ++library->counters.indexes_written;
  return RAWHAL_OK;
}

void source_forget_index(rawhal_library_t *library, library_source_t *source)
{
  if (source->indexed) {
    close_image(library, &source->index);
    ++library->forgotten;
  }
  source->indexed = false;
  ++source->generation;
}

rawhal_status_t source_refresh(rawhal_library_t *library, library_source_t *source,
                               rawhal_error_t *error)
{
  if (source->container)
    return RAWHAL_OK;
  rawhal_status_t status = source_list(library, source, error);
  if (status != RAWHAL_OK)
    return status;
  index_source_t description = description_of(library, source);
  rawhal_content_hash_t now = index_source_hash(&description);
  if (!source->indexed || !content_equal(now, source->index.header.source))
    source_forget_index(library, source);
  return RAWHAL_OK;
}

void source_free(rawhal_library_t *library, library_source_t *source)
{
  source_forget_index(library, source);
  list_free(&source->files);
  rawhal_container_close(source->container);
  allocate_free(&library->allocator, source);
}
