#include "front/replacement.h"

#include "front/code.h"
#include "front/own_code.h"

#include "base/error.h"
#include "hsaco/container.h"

#include <stdlib.h>

typedef struct found {
  replacement_t replacement;
  struct found *next;
} found_t;

struct replacement_object {
  replacement_file_t *file;
  const front_device_t *device;
  rawhal_hsaco_t *hsaco;
  rawhal_content_hash_t hash;
  found_t *found;
  bool tried; /* to load it */
  hsa_status_t result;
  hsa_executable_t executable;
  struct replacement_object *next;
};

struct replacement_file {
  rawhal_container_t *container;
  replacement_object_t *objects;
};

/* ---- Files ---- */

rawhal_status_t replacement_open(const char *path, replacement_file_t **file, rawhal_error_t *error)
{
  *file = NULL;
  replacement_file_t *made = calloc(1, sizeof(*made));
  if (!made)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for '%.200s'", path);
  const rawhal_container_options_t options = {.flags = RAWHAL_CONTAINER_COPY |
                                                       RAWHAL_CONTAINER_HOLD_ONE};
  rawhal_status_t status = rawhal_container_open_file(path, &options, &made->container, error);
  if (status == RAWHAL_OK)
    *file = made;
  else
    free(made);
  return status;
}

static void close_object(replacement_object_t *object)
{
  for (found_t *found; (found = object->found);) {
    object->found = found->next;
    rawhal_kernarg_layout_destroy(found->replacement.layout);
    free(found);
  }
  if (object->executable.handle)
    (void)code_unload(object->executable);
  rawhal_hsaco_close(object->hsaco);
  free(object);
}

void replacement_close(replacement_file_t *file)
{
  if (!file)
    return;
  for (replacement_object_t *object; (object = file->objects);) {
    file->objects = object->next;
    close_object(object);
  }
  rawhal_container_close(file->container);
  free(file);
}

/* ---- Objects ---- */

/* The runtime's loader trusts most of what it reads, and is the program's. */
static rawhal_status_t check_loadable(const rawhal_hsaco_t *hsaco, rawhal_error_t *error)
{
  const rawhal_hsaco_info_t *info = rawhal_hsaco_info(hsaco);
  return info->loadable
             ? RAWHAL_OK
             : rawhal_fail(error, RAWHAL_UNSUPPORTED, "the replacement cannot be loaded: %.*s",
                           RAWHAL_STRING_ARGS(info->not_loadable_reason));
}

static rawhal_status_t open_object(replacement_object_t *object, rawhal_error_t *error)
{
  rawhal_target_t target;
  size_t index = 0;
  rawhal_status_t status = rawhal_target_parse(rawhal_string(object->device->isa), &target, error);
  if (status == RAWHAL_OK)
    status = rawhal_container_select(object->file->container, &target, &index, error);
  if (status != RAWHAL_OK)
    return status;
  const rawhal_hsaco_options_t own = {.flags = RAWHAL_HSACO_COPY}; /* of bundles, one is held */
  rawhal_bytes_t bytes;
  status = rawhal_container_read(object->file->container, index, &bytes, error);
  if (status != RAWHAL_OK)
    return status;
  object->hash = rawhal_content_hash(bytes.data, bytes.size);
  status = rawhal_hsaco_open(bytes.data, bytes.size, &own, &object->hsaco, error);
  return status == RAWHAL_OK ? check_loadable(object->hsaco, error) : status;
}

rawhal_status_t replacement_select(replacement_file_t *file, const front_device_t *device,
                                   replacement_object_t **object, rawhal_error_t *error)
{
  for (*object = file->objects; *object; *object = (*object)->next)
    if ((*object)->device == device)
      return RAWHAL_OK;
  replacement_object_t *made = calloc(1, sizeof(*made));
  if (!made)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a code object");
  made->file = file;
  made->device = device;
  rawhal_status_t status = open_object(made, error);
  if (status != RAWHAL_OK) {
    close_object(made);
    return status;
  }
  made->next = file->objects;
  *object = file->objects = made;
  return RAWHAL_OK;
}

rawhal_content_hash_t replacement_hash(const replacement_object_t *object)
{
  return object->hash;
}

/* ---- Kernels ---- */

rawhal_status_t replacement_find(replacement_object_t *object, rawhal_string_t name,
                                 replacement_t **replacement, rawhal_error_t *error)
{
  *replacement = NULL;
  const int shown = (int)(name.size < 200 ? name.size : 200);
  const rawhal_kernel_t *kernel = rawhal_hsaco_find_kernel(object->hsaco, name);
  if (!kernel)
    return rawhal_fail(error, RAWHAL_NOT_FOUND, "the replacement's file has no kernel '%.*s'",
                       shown, name.data);
  if (!kernel->usable || !kernel->descriptor)
    return rawhal_fail(error, RAWHAL_UNSUPPORTED, "the replacement '%.*s' cannot be used: %.*s",
                       shown, name.data, (int)kernel->unusable_reason.size,
                       kernel->unusable_reason.data);
  for (found_t *found = object->found; found; found = found->next)
    if (found->replacement.facts == kernel) {
      *replacement = &found->replacement;
      return RAWHAL_OK;
    }
  found_t *found = calloc(1, sizeof(*found));
  if (!found)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a kernel");
  found->replacement.facts = kernel;
  if (rawhal_kernarg_layout_create(kernel, 0, &found->replacement.layout, NULL) != RAWHAL_OK)
    found->replacement.layout = NULL;
  found->next = object->found;
  object->found = found;
  *replacement = &found->replacement;
  return RAWHAL_OK;
}

rawhal_status_t replacement_load(replacement_object_t *object, replacement_t *replacement,
                                 rawhal_error_t *error)
{
  if (replacement->kernel_object)
    return RAWHAL_OK;
  if (!object->tried)
    object->result =
        own_code_load(object->device, rawhal_hsaco_info(object->hsaco)->bytes, &object->executable);
  object->tried = true;
  return own_code_kernel(object->device, object->executable, object->result,
                         replacement->facts->symbol, &replacement->kernel_object, error);
}
