#include "library/internal.h"

#include "base/checked.h"
#include "base/error.h"

static rawhal_status_t fail_stale(const candidate_t *candidate, rawhal_error_t *error)
{
  return rawhal_fail(error, RAWHAL_NOT_FOUND, "'%s' is not the file that was indexed",
                     candidate->file->text);
}

/* Where the object's bytes are, in a file or in bytes that the caller has added. */
static rawhal_status_t find_bytes(const rawhal_library_t *library, const candidate_t *candidate,
                                  opened_object_t *opened, rawhal_bytes_t *bytes,
                                  rawhal_error_t *error)
{
  const index_object_t *object = &candidate->object;
  const rawhal_container_options_t *options = &library->container_options;
  const char *path = candidate->file->text;
  rawhal_container_t *container = candidate->source->container;
  rawhal_status_t status;
  if (!container && !object->unpacked) {
    status = file_bytes_open(path, options->max_file_bytes ? options->max_file_bytes : UINT64_MAX,
                             options->flags & RAWHAL_CONTAINER_COPY, &library->allocator,
                             &opened->file, error);
    if (status != RAWHAL_OK)
      return status;
    if (!range_within(object->offset, object->size, opened->file.size))
      return fail_stale(candidate, error);
    *bytes =
        (rawhal_bytes_t){(const char *)opened->file.data + object->offset, (size_t)object->size};
    return RAWHAL_OK;
  }
  if (!container) {
    status = rawhal_container_open_file(path, options, &opened->container, error);
    if (status != RAWHAL_OK)
      return status;
    container = opened->container;
  }
  const rawhal_container_object_t *found = rawhal_container_object(container, object->ordinal);
  if (!found || found->bytes.size != object->size)
    return fail_stale(candidate, error);
  return rawhal_container_read(container, object->ordinal, bytes, error);
}

bool object_is_as_indexed(const candidate_t *candidate)
{
  file_stamp_t now;
  const library_source_t *source = candidate->source;
  return source->container ||
         (file_stamp_of(candidate->file->text, &now) &&
          file_stamp_equal(&now, &files_at(&source->files, candidate->object.file)->stamp));
}

rawhal_status_t object_open(const rawhal_library_t *library, const candidate_t *candidate,
                            rawhal_string_t kernel, opened_object_t *opened, rawhal_error_t *error)
{
  rawhal_bytes_t bytes = {0};
  *opened = (opened_object_t){0};
  rawhal_status_t status = find_bytes(library, candidate, opened, &bytes, error);
  if (status == RAWHAL_OK && !object_is_as_indexed(candidate)) /* now that it is open */
    status = fail_stale(candidate, error);
  if (status == RAWHAL_OK)
    status =
        rawhal_hsaco_open(bytes.data, bytes.size, &library->hsaco_options, &opened->hsaco, error);
  if (status == RAWHAL_OK && !(opened->kernel = rawhal_hsaco_find_kernel(opened->hsaco, kernel)))
    status = fail_stale(candidate, error);
  if (status == RAWHAL_OK)
    return RAWHAL_OK;
  object_close(library, opened);
  return status == RAWHAL_OUT_OF_MEMORY || object_is_as_indexed(candidate)
             ? status
             : fail_stale(candidate, error);
}

void object_close(const rawhal_library_t *library, opened_object_t *opened)
{
  rawhal_hsaco_close(opened->hsaco);
  rawhal_container_close(opened->container);
  file_bytes_close(&opened->file, &library->allocator);
  *opened = (opened_object_t){0};
}

rawhal_status_t object_examine(const rawhal_library_t *library, const rawhal_library_query_t *query,
                               candidate_t *candidate, rawhal_error_t *error)
{
  opened_object_t opened;
  if (candidate->examined)
    return RAWHAL_OK;
  rawhal_status_t status = object_open(library, candidate, query->name, &opened, error);
  if (status != RAWHAL_OK)
    return status;
  rawhal_bytes_t bytes = rawhal_hsaco_info(opened.hsaco)->bytes;
  candidate->content = rawhal_content_hash(bytes.data, bytes.size);
  rawhal_kernarg_layout_t *layout;
  status = rawhal_kernarg_layout_create(opened.kernel, query->kernarg_size, &layout, error);
  candidate->signature = status == RAWHAL_OK ? rawhal_kernarg_layout_info(layout)->signature : 0;
  candidate->examined = true;
  rawhal_kernarg_layout_destroy(layout);
  object_close(library, &opened);
  return status == RAWHAL_OUT_OF_MEMORY ? status : RAWHAL_OK; /* unusable: the index says so */
}
