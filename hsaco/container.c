#include "hsaco/container.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/sized.h"
#include "hsaco/file_bytes.h"
#include "hsaco/mapped.h"
#include "hsaco/scan.h"
#include "hsaco/target_rating.h"

struct rawhal_container {
  scan_t scan;
  file_bytes_t file; /* when it was opened by path, or copied */
};

static rawhal_status_t take_options(scan_t *scan, const rawhal_container_options_t *options,
                                    rawhal_error_t *error)
{
  rawhal_container_options_t taken;
  rawhal_status_t status = SIZED_TAKE(&taken, options, allocator, error);
  if (status == RAWHAL_OK)
    status = allocator_take(taken.allocator, &scan->allocator, error);
  if (status != RAWHAL_OK)
    return status;
  if (taken.flags & ~(uint32_t)(RAWHAL_CONTAINER_COPY | RAWHAL_CONTAINER_HOLD_ONE))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "unknown flags 0x%x", taken.flags);
  taken.max_objects = taken.max_objects ? taken.max_objects : 65536;
  taken.max_bundle_entries = taken.max_bundle_entries ? taken.max_bundle_entries : 256;
  taken.max_file_bytes = taken.max_file_bytes ? taken.max_file_bytes : (uint64_t)4 << 30;
  taken.max_unpacked_bytes =
      taken.max_unpacked_bytes ? taken.max_unpacked_bytes : (uint64_t)1 << 30;
  taken.max_unpacked_total =
      taken.max_unpacked_total ? taken.max_unpacked_total : (uint64_t)16 << 30;
  scan->options = taken;
  return RAWHAL_OK;
}

static rawhal_status_t read_container(scan_t *scan, const void *bytes, size_t size,
                                      rawhal_error_t *error)
{
  const uint64_t budget = (uint64_t)64 << 20; /* for the list alone: the bytes are not copied */
  if (size > scan->options.max_file_bytes)
    return rawhal_fail(error, RAWHAL_CAP_EXCEEDED, "%zu bytes: more than max_file_bytes (%llu)",
                       size, (unsigned long long)scan->options.max_file_bytes);
  if (!size)
    return rawhal_fail_at(error, RAWHAL_MALFORMED, 0, "the file is empty");
  arena_init(&scan->arena, budget, &scan->allocator);
  scan->container = scan->space.bytes = bytes;
  work_start(&scan->work, size);
  rawhal_status_t status = scan_range(scan, (scan_part_t){.size = size, .is_file = true}, error);
  if (status != RAWHAL_OK)
    return status;
  if (scan->arena.status) /* some text is missing */
    return arena_fail(&scan->arena, error);
  bool readable = false;
  for (size_t i = 0; i < scan->count && !readable; ++i)
    readable = scan->objects[i].readable;
  if (!readable && scan->refused.size)
    return rawhal_fail_at(error, scan->refused_status, scan->refused_at, "%.*s",
                          (int)scan->refused.size, scan->refused.data);
  if (!scan->count)
    return rawhal_fail(error, RAWHAL_NOT_FOUND,
                       "no AMDGPU code objects: a host file, a bundle or an archive without any");
  return RAWHAL_OK;
}

/* Copies what may be read; the rest is refused by its size. */
static rawhal_status_t keep_copy(rawhal_container_t *container, const void **bytes, size_t size,
                                 rawhal_error_t *error)
{
  if (!size || size > container->scan.options.max_file_bytes)
    return RAWHAL_OK;
  void *copy = allocate(&container->scan.allocator, size);
  if (!copy)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a copy of %zu bytes", size);
  container->file = (file_bytes_t){.data = copy, .size = size};
  *bytes = memcpy(copy, *bytes, size);
  return RAWHAL_OK;
}

rawhal_status_t rawhal_container_open(const void *bytes, size_t size,
                                      const rawhal_container_options_t *options,
                                      rawhal_container_t **container, rawhal_error_t *error)
{
  if (!container)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "container is NULL");
  *container = NULL;
  if (!bytes && size)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "bytes is NULL, and size is %zu", size);
  scan_t settings;
  rawhal_status_t status = take_options(&settings, options, error);
  if (status != RAWHAL_OK)
    return status;
  rawhal_container_t *opened = allocate_zeroed(&settings.allocator, 1, sizeof(*opened));
  if (!opened)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "out of host memory");
  opened->scan.allocator = settings.allocator;
  opened->scan.options = settings.options;
  opened->scan.options.allocator = NULL; /* the caller's, who may have changed it since */
  if (opened->scan.options.flags & RAWHAL_CONTAINER_COPY)
    status = keep_copy(opened, &bytes, size, error);
  if (status == RAWHAL_OK)
    status = read_container(&opened->scan, bytes, size, error);
  scan_end_unpacking(&opened->scan);
  if (status != RAWHAL_OK) {
    rawhal_container_close(opened);
    return status;
  }
  *container = opened;
  return RAWHAL_OK;
}

/* ---- Images without a size ---- */

rawhal_status_t rawhal_container_measure(const void *image, size_t readable,
                                         const rawhal_container_options_t *options, size_t *size,
                                         rawhal_error_t *error)
{
  if (size)
    *size = 0;
  if (!image || !size)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "image or size is NULL");
  scan_t scan = {0};
  rawhal_status_t status = take_options(&scan, options, error);
  if (status != RAWHAL_OK)
    return status;
  scan.container = scan.space.bytes = image;
  work_start(&scan.work, readable);
  uint64_t end;
  status = scan_measure(&scan, (scan_part_t){.size = readable}, &end, error);
  scan_end_unpacking(&scan);
  scan_free_unpacked(&scan);
  if (status == RAWHAL_OK)
    *size = (size_t)end;
  return status;
}

rawhal_status_t rawhal_container_open_image(const void *image,
                                            const rawhal_container_options_t *options,
                                            rawhal_container_t **container, rawhal_error_t *error)
{
  if (!container)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "container is NULL");
  *container = NULL;
  size_t readable, size;
  rawhal_status_t status = mapped_readable(image, &readable, error);
  if (status == RAWHAL_OK)
    status = rawhal_container_measure(image, readable, options, &size, error);
  return status != RAWHAL_OK ? status
                             : rawhal_container_open(image, size, options, container, error);
}

/* ---- Files ---- */

rawhal_status_t rawhal_container_open_file(const char *path,
                                           const rawhal_container_options_t *options,
                                           rawhal_container_t **container, rawhal_error_t *error)
{
  if (!container)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "container is NULL");
  *container = NULL;
  scan_t settings;
  rawhal_status_t status = take_options(&settings, options, error);
  if (status != RAWHAL_OK)
    return status;
  rawhal_container_options_t *taken = &settings.options;
  const bool copy = taken->flags & RAWHAL_CONTAINER_COPY;
  taken->flags &= ~(uint32_t)RAWHAL_CONTAINER_COPY; /* what is read is a copy already */
  file_bytes_t file;
  status = file_bytes_open(path, taken->max_file_bytes, copy, &settings.allocator, &file, error);
  if (status == RAWHAL_OK)
    status = rawhal_container_open(file.data, file.size, taken, container, error);
  if (status != RAWHAL_OK)
    file_bytes_close(&file, &settings.allocator);
  else
    (*container)->file = file;
  return status;
}

void rawhal_container_close(rawhal_container_t *container)
{
  if (!container)
    return;
  const allocator_t *allocator = &container->scan.allocator;
  arena_free(&container->scan.arena);
  scan_free_unpacked(&container->scan);
  file_bytes_close(&container->file, allocator);
  allocate_free(allocator, container);
}

/* ---- Reading ---- */

size_t rawhal_container_count(const rawhal_container_t *container)
{
  return container ? container->scan.count : 0;
}

const rawhal_container_object_t *rawhal_container_object(const rawhal_container_t *container,
                                                         size_t index)
{
  return container && index < container->scan.count ? &container->scan.objects[index] : NULL;
}

rawhal_status_t rawhal_container_read(rawhal_container_t *container, size_t index,
                                      rawhal_bytes_t *bytes, rawhal_error_t *error)
{
  if (bytes)
    *bytes = (rawhal_bytes_t){0};
  if (!container || !bytes)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s is NULL",
                       container ? "bytes" : "container");
  if (index >= container->scan.count)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "there is no object %zu: there are %zu",
                       index, container->scan.count);
  rawhal_status_t status = scan_object_bytes(&container->scan, index, bytes, error);
  if (status != RAWHAL_OK)
    *bytes = (rawhal_bytes_t){0};
  return status;
}

/* Every candidate with what stands against it. */
static rawhal_status_t fail_selection(const rawhal_container_t *container,
                                      const rawhal_target_t *device, rawhal_error_t *error)
{
  char text[900], target[64];
  size_t used = 0;
  text[0] = 0;
  for (size_t i = 0; i < container->scan.count && used < sizeof(text); ++i) {
    const rawhal_container_object_t *object = &container->scan.objects[i];
    char why[200];
    if (object->readable) {
      rawhal_target_format(&object->target, target, sizeof(target));
      rawhal_target_explain(rawhal_target_match(&object->target, device), &object->target, device,
                            why, sizeof(why));
    } else {
      snprintf(target, sizeof(target), "%.*s", RAWHAL_STRING_ARGS(object->id));
      snprintf(why, sizeof(why), "%.*s", RAWHAL_STRING_ARGS(object->why_not));
    }
    int length =
        snprintf(text + used, sizeof(text) - used, "%s%zu %s (%s)", i ? ", " : "", i, target, why);
    used += length > 0 ? (size_t)length : 0;
  }
  rawhal_target_format(device, target, sizeof(target));
  return rawhal_fail(error, RAWHAL_TARGET_MISMATCH, "no code object for %s among %zu: %s", target,
                     container->scan.count, text);
}

rawhal_status_t rawhal_container_select(const rawhal_container_t *container,
                                        const rawhal_target_t *device, size_t *index,
                                        rawhal_error_t *error)
{
  if (index)
    *index = 0;
  if (!container || !device || !index)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "container, device or index is NULL");
  unsigned best = 0;
  for (size_t i = 0; i < container->scan.count; ++i) {
    const rawhal_container_object_t *object = &container->scan.objects[i];
    unsigned rating = object->readable ? target_rating(&object->target, device) : 0;
    if (rating > best) {
      best = rating;
      *index = i;
    }
  }
  return best ? RAWHAL_OK : fail_selection(container, device, error);
}
