/* From a file or bytes to an executable: the container is opened, the object chosen and loaded, and
 * what was only needed for it is closed. */
#include "hal/executable.h"

#include "base/cancel.h"
#include "base/error.h"
#include "base/sized.h"

#include <string.h>

/* What is being opened. */
typedef struct opening {
  rawhal_device_t *device;
  const rawhal_open_options_t *options;
  const char *path; /* NULL: bytes */
  const rawhal_container_t *container;
} opening_t;

static bool same_target(const rawhal_target_t *a, const rawhal_target_t *b)
{
  char left[96], right[96];
  rawhal_target_format(a, left, sizeof(left));
  rawhal_target_format(b, right, sizeof(right));
  return strcmp(left, right) == 0;
}

/* Is this object as good for the device as `best`, and other code? */
static bool is_rival(const opening_t *opening, size_t index, const rawhal_container_object_t *best)
{
  const rawhal_container_object_t *one = rawhal_container_object(opening->container, index);
  bool same = one->bytes.size == best->bytes.size &&
              (one->bytes.data == best->bytes.data ||
               memcmp(one->bytes.data, best->bytes.data, one->bytes.size) == 0);
  return one->readable && same_target(&one->target, &best->target) && !same;
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

/* Loads the object, unless it lacks the kernel that is asked for: NULL, and OK. */
static rawhal_status_t load_if(const opening_t *opening, size_t index,
                               rawhal_executable_t **executable, rawhal_error_t *error)
{
  const rawhal_container_object_t *object = rawhal_container_object(opening->container, index);
  rawhal_string_t kernel = opening->options->kernel;
  rawhal_hsaco_t *hsaco;
  rawhal_status_t status = rawhal_hsaco_open(object->bytes.data, object->bytes.size,
                                             opening->options->hsaco, &hsaco, error);
  if (status == RAWHAL_OK && (!kernel.size || rawhal_hsaco_find_kernel(hsaco, kernel)))
    status = load(opening, hsaco, object, executable, error);
  rawhal_hsaco_close(hsaco);
  return status;
}

static rawhal_status_t choose(const opening_t *opening, rawhal_executable_t **executable,
                              rawhal_error_t *error)
{
  size_t count = rawhal_container_count(opening->container), index, rivals = 0;
  rawhal_string_t kernel = opening->options->kernel;
  rawhal_status_t status =
      rawhal_container_select(opening->container, &opening->device->info.target, &index, error);
  if (status != RAWHAL_OK)
    return status;
  const rawhal_container_object_t *best = rawhal_container_object(opening->container, index);
  for (size_t i = index + 1; i < count; ++i)
    rivals += is_rival(opening, i, best);
  char target[96];
  rawhal_target_format(&best->target, target, sizeof(target));
  if (rivals && !kernel.size)
    return rawhal_fail(error, RAWHAL_AMBIGUOUS,
                       "%zu code objects are for %s and hold other code: `kernel` of the options "
                       "names a kernel of the one that is meant",
                       rivals + 1, target);
  status = load_if(opening, index, executable, error);
  for (size_t i = index + 1; status == RAWHAL_OK && !*executable && i < count; ++i)
    if (is_rival(opening, i, best))
      status = load_if(opening, i, executable, error);
  if (status == RAWHAL_OK && !*executable)
    status =
        rawhal_fail(error, RAWHAL_NOT_FOUND, "no code object for %s among %zu has kernel '%.*s'",
                    target, rivals + 1, RAWHAL_STRING_ARGS(kernel));
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
