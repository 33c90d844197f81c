/* From a file or bytes to an executable: the container is opened, the object chosen and loaded, and
 * what was only needed for it is closed. */
#include "hal/executable.h"
#include "hal/runtime.h"

#include "base/cancel.h"
#include "base/error.h"
#include "base/near.h"
#include "base/sized.h"

#include <string.h>

/* What is being opened. */
typedef struct opening {
  rawhal_device_t *device;
  const rawhal_open_options_t *options;
  const char *path; /* NULL: bytes */
  rawhal_container_t *container;
} opening_t;

/* What an object is, for those that are not there at once: of bundles, one is held unpacked. */
typedef struct content {
  size_t size;
  rawhal_content_hash_t hash;
} content_t;

static rawhal_status_t content_of(const opening_t *opening, size_t index, content_t *content,
                                  rawhal_error_t *error)
{
  rawhal_bytes_t bytes;
  rawhal_status_t status = rawhal_container_read(opening->container, index, &bytes, error);
  *content = (content_t){bytes.size, {0, 0}};
  if (status == RAWHAL_OK)
    content->hash = rawhal_content_hash(bytes.data, bytes.size);
  return status;
}

static bool same_target(const rawhal_target_t *a, const rawhal_target_t *b)
{
  char left[96], right[96];
  rawhal_target_format(a, left, sizeof(left));
  rawhal_target_format(b, right, sizeof(right));
  return strcmp(left, right) == 0;
}

/* The next object from *index on that is as good for the device as the best one, and other code;
 * *index is their number when there is none. */
static rawhal_status_t next_rival(const opening_t *opening, size_t best, const content_t *content,
                                  size_t *index, rawhal_error_t *error)
{
  const rawhal_container_object_t *chosen = rawhal_container_object(opening->container, best), *one;
  for (; (one = rawhal_container_object(opening->container, *index)); ++*index) {
    if (!one->readable || !same_target(&one->target, &chosen->target))
      continue;
    if (one->bytes.size != content->size)
      break;
    content_t other;
    rawhal_status_t status = content_of(opening, *index, &other, error);
    if (status != RAWHAL_OK || other.hash.high != content->hash.high ||
        other.hash.low != content->hash.low)
      return status;
  }
  return RAWHAL_OK;
}

static rawhal_status_t load(const opening_t *opening, const rawhal_hsaco_t *hsaco,
                            const rawhal_container_object_t *object,
                            rawhal_executable_t **executable, rawhal_error_t *error)
{
  const rawhal_executable_options_t options = {
      .size = sizeof(options),
      .path = object->unpacked ? NULL : opening->path,
      .offset = object->offset,
      .externals = opening->options->externals,
      .external_count = opening->options->external_count,
      .external_size = opening->options->external_size,
  };
  return rawhal_executable_load_with(opening->device, hsaco, &options, executable, error);
}

static rawhal_string_t kernel_name(const void *hsaco, size_t number)
{
  return rawhal_hsaco_kernel(hsaco, number)->name;
}

/* Loads the object, unless it lacks the kernel that is asked for: NULL, and OK; `near` gets those
 * that it has. */
static rawhal_status_t load_if(const opening_t *opening, size_t index,
                               rawhal_executable_t **executable, near_names_t *near,
                               rawhal_error_t *error)
{
  const rawhal_container_object_t *object = rawhal_container_object(opening->container, index);
  rawhal_string_t kernel = opening->options->kernel;
  rawhal_hsaco_t *hsaco = NULL;
  rawhal_bytes_t bytes;
  rawhal_status_t status = rawhal_container_read(opening->container, index, &bytes, error);
  if (status == RAWHAL_OK)
    status = rawhal_hsaco_open(bytes.data, bytes.size, opening->options->hsaco, &hsaco, error);
  if (status == RAWHAL_OK && (!kernel.size || rawhal_hsaco_find_kernel(hsaco, kernel)))
    status = load(opening, hsaco, object, executable, error);
  else if (status == RAWHAL_OK && error)
    near_look_at_most(near, kernel_name, hsaco, rawhal_hsaco_info(hsaco)->kernel_count);
  rawhal_hsaco_close(hsaco);
  return status;
}

static rawhal_status_t choose(const opening_t *opening, rawhal_executable_t **executable,
                              rawhal_error_t *error)
{
  size_t count = rawhal_container_count(opening->container), best, rivals = 0;
  rawhal_string_t kernel = opening->options->kernel;
  content_t content = {0};
  rawhal_status_t status =
      rawhal_container_select(opening->container, &opening->device->info.target, &best, error);
  if (status == RAWHAL_OK && best + 1 < count)
    status = content_of(opening, best, &content, error);
  size_t next = status == RAWHAL_OK ? best + 1 : count;
  for (; status == RAWHAL_OK; ++next, ++rivals) {
    status = next_rival(opening, best, &content, &next, error);
    if (next >= count)
      break;
  }
  if (status != RAWHAL_OK)
    return status;
  char target[96];
  rawhal_target_format(&rawhal_container_object(opening->container, best)->target, target,
                       sizeof(target));
  if (rivals && !kernel.size)
    return rawhal_fail(error, RAWHAL_AMBIGUOUS,
                       "%zu different code objects are for %s: set `kernel` of the options to a "
                       "kernel of one of them",
                       rivals + 1, target);
  near_names_t near = {.wanted = near_stem(kernel)};
  char nearest[NEAR_TEXT];
  status = load_if(opening, best, executable, &near, error);
  for (next = best + 1; status == RAWHAL_OK && !*executable && rivals; ++next) {
    status = next_rival(opening, best, &content, &next, error);
    if (status != RAWHAL_OK || next >= count)
      break;
    status = load_if(opening, next, executable, &near, error);
  }
  near_text(&near, nearest);
  if (status == RAWHAL_OK && !*executable)
    status =
        rawhal_fail(error, RAWHAL_NOT_FOUND, "no code object for %s among %zu has kernel '%.*s'%s",
                    target, rivals + 1, RAWHAL_STRING_ARGS(kernel), nearest);
  return status;
}

/* How the container and the object in it are read: with the runtime's memory, unless the options
 * name other. */
typedef struct reading {
  rawhal_container_options_t container;
  rawhal_hsaco_options_t hsaco;
} reading_t;

static rawhal_status_t take_reading(const rawhal_device_t *device, rawhal_open_options_t *options,
                                    reading_t *reading, rawhal_error_t *error)
{
  const rawhal_allocator_t *ours = allocator_option(&device->runtime->allocator);
  rawhal_status_t status = SIZED_TAKE(&reading->container, options->container, allocator, error);
  if (status == RAWHAL_OK)
    status = SIZED_TAKE(&reading->hsaco, options->hsaco, allocator, error);
  if (!reading->container.allocator)
    reading->container.allocator = ours;
  if (!reading->hsaco.allocator)
    reading->hsaco.allocator = ours;
  reading->container.flags |= RAWHAL_CONTAINER_HOLD_ONE;
  options->container = &reading->container;
  options->hsaco = &reading->hsaco;
  return status;
}

static rawhal_status_t check(const rawhal_device_t *device, rawhal_executable_t **executable,
                             const rawhal_open_options_t *options, rawhal_open_options_t *taken,
                             reading_t *reading, rawhal_error_t *error)
{
  if (!executable)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "executable is NULL");
  *executable = NULL;
  if (!device)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "device is NULL");
  rawhal_status_t status = SIZED_TAKE(taken, options, external_size, error);
  if (status == RAWHAL_OK)
    status = runtime_check(error);
  return status == RAWHAL_OK ? take_reading(device, taken, reading, error) : status;
}

rawhal_status_t rawhal_executable_open(rawhal_device_t *device, const void *bytes, size_t size,
                                       const rawhal_open_options_t *options,
                                       rawhal_executable_t **executable, rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  rawhal_open_options_t taken;
  reading_t reading;
  rawhal_container_t *container;
  rawhal_status_t status = check(device, executable, options, &taken, &reading, error);
  if (status != RAWHAL_OK)
    return status;
  status = rawhal_container_open(bytes, size, taken.container, &container, error);
  const opening_t opening = {device, &taken, NULL, container};
  if (status == RAWHAL_OK)
    status = choose(&opening, executable, error);
  rawhal_container_close(container);
  return status;
}

rawhal_status_t rawhal_executable_open_file(rawhal_device_t *device, const char *path,
                                            const rawhal_open_options_t *options,
                                            rawhal_executable_t **executable, rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  rawhal_open_options_t taken;
  reading_t reading;
  rawhal_container_t *container;
  rawhal_status_t status = check(device, executable, options, &taken, &reading, error);
  if (status != RAWHAL_OK)
    return status;
  if (!path)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "path is NULL");
  status = rawhal_container_open_file(path, taken.container, &container, error);
  const opening_t opening = {device, &taken, path, container};
  if (status == RAWHAL_OK)
    status = choose(&opening, executable, error);
  rawhal_container_close(container);
  return status;
}

const rawhal_hsaco_t *rawhal_executable_hsaco(const rawhal_executable_t *executable)
{
  return executable ? executable->source->hsaco : NULL;
}
