#include <stdlib.h>
#include <string.h>

#include "hiplaunch/device/stream.h"
#include "hiplaunch/module/registry.h"

typedef struct image_variable {
  struct image_variable *next;
  allocation_t allocation;
} image_variable_t;

static image_t *images;

/* ---- Opening ---- */

static rawhal_status_t load(device_t *device, rawhal_container_t *container,
                            rawhal_executable_t **executable, rawhal_error_t *error)
{
  size_t index;
  rawhal_hsaco_t *hsaco = NULL;
  rawhal_status_t status = rawhal_container_select(container, &device->info->target, &index, error);
  rawhal_bytes_t bytes;
  if (status == RAWHAL_OK)
    status = rawhal_container_read(container, index, &bytes, error);
  if (status == RAWHAL_OK)
    status = rawhal_hsaco_open(bytes.data, bytes.size, NULL, &hsaco, error);
  if (status == RAWHAL_OK)
    status = rawhal_executable_load(device->device, hsaco, executable, error);
  rawhal_hsaco_close(hsaco);
  return status;
}

static image_t *image_of(device_t *device, rawhal_executable_t *executable)
{
  image_t *image = images;
  while (image && image->executable != executable)
    image = image->next;
  if (!image && (image = calloc(1, sizeof(*image)))) {
    *image = (image_t){.next = images, .device = device, .executable = executable};
    images = image;
  }
  return image;
}

hipError_t image_open(device_t *device, const void *bytes, const char *path, image_t **image)
{
  const rawhal_container_options_t options = {.flags = RAWHAL_CONTAINER_HOLD_ONE};
  rawhal_container_t *container = NULL;
  rawhal_executable_t *executable = NULL;
  rawhal_error_t error;
  *image = NULL;
  rawhal_status_t status = path ? rawhal_container_open_file(path, &options, &container, &error)
                                : rawhal_container_open_image(bytes, &options, &container, &error);
  if (status == RAWHAL_OK)
    status = load(device, container, &executable, &error);
  rawhal_container_close(container);
  if (status != RAWHAL_OK)
    return fail_rawhal(&error, "code for device %d", device->ordinal);
  *image = image_of(device, executable);
  if (!*image) {
    rawhal_executable_destroy(executable);
    return fail(hipErrorOutOfMemory, "out of host memory");
  }
  ++(*image)->users;
  return hipSuccess;
}

static void unload(image_t *image)
{
  while (image->variables) {
    image_variable_t *next = image->variables->next;
    memory_release(&image->variables->allocation);
    free(image->variables);
    image->variables = next;
  }
}

/* An executable is opened as often as its image has users. */
void image_close(image_t *image)
{
  rawhal_executable_t *executable = image->executable;
  if (!--image->users) {
    unload(image);
    image_t **at = &images;
    while (*at != image)
      at = &(*at)->next;
    *at = image->next;
    free(image);
  }
  rawhal_executable_destroy(executable);
}

/* ---- What is in it ---- */

hipError_t image_kernel(image_t *image, const char *name, const rawhal_device_kernel_t **kernel)
{
  rawhal_error_t error;
  rawhal_status_t status =
      rawhal_executable_kernel(image->executable, rawhal_string(name), 0, kernel, &error);
  return status != RAWHAL_OK ? fail_rawhal(&error, "kernel %s", name) : hipSuccess;
}

hipError_t image_variable(image_t *image, const char *name, allocation_t *variable)
{
  rawhal_error_t error;
  uint64_t address, size;
  if (rawhal_executable_variable(image->executable, rawhal_string(name), &address, &size, &error))
    return fail_rawhal(&error, "variable %s", name);
  if (memory_find(address, variable) && variable->address == address)
    return hipSuccess;
  image_variable_t *added = calloc(1, sizeof(*added));
  if (!added)
    return fail(hipErrorOutOfMemory, "out of host memory");
  added->allocation =
      (allocation_t){.address = address, .size = (size_t)size, .device = image->device};
  hipError_t status = memory_add_variable(&added->allocation);
  if (status != hipSuccess) {
    free(added);
    return status;
  }
  added->next = image->variables;
  image->variables = added;
  *variable = added->allocation;
  return hipSuccess;
}
