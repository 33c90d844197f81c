/* rawhal diff: the kernels of one file, in an order that both files share. */
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "tools/diff/diff.h"
#include "tools/shared/tool.h"

static bool add_kernel(diff_file_t *file, const diff_object_t *object,
                       const rawhal_kernel_t *kernel)
{
  if (!array_reserve(NULL, &file->kernels, &file->kernel_room, file->kernel_count + 1,
                     sizeof(*file->kernels)))
    return false;
  diff_kernel_t *added = &file->kernels[file->kernel_count++];
  rawhal_error_t error;
  *added = (diff_kernel_t){.facts = kernel, .target = object->target};
  if (rawhal_kernarg_layout_create(kernel, 0, &added->layout, &error) == RAWHAL_OK)
    return true;
  added->why_not = strdup(error.message);
  return added->why_not != NULL;
}

static bool add_object(diff_file_t *file)
{
  if (!array_reserve(NULL, &file->objects, &file->object_room, file->object_count + 1,
                     sizeof(*file->objects)))
    return false;
  diff_object_t *object = calloc(1, sizeof(*object));
  if (!object)
    return false;
  file->objects[file->object_count++] = object;
  rawhal_target_format(&file->select.object->target, object->target, sizeof(object->target));
  object->hsaco = select_take(&file->select);

  const char *wanted = file->options.kernel;
  const rawhal_kernel_t *kernel;
  if (wanted) {
    kernel = rawhal_hsaco_find_kernel(object->hsaco, rawhal_string(wanted));
    return !kernel || add_kernel(file, object, kernel);
  }
  for (size_t i = 0; (kernel = rawhal_hsaco_kernel(object->hsaco, i)); ++i)
    if (!add_kernel(file, object, kernel))
      return false;
  return true;
}

static uint64_t signature(const diff_kernel_t *kernel)
{
  return kernel->layout ? rawhal_kernarg_layout_info(kernel->layout)->signature : 0;
}

static int compare_kernels(const void *a, const void *b)
{
  const diff_kernel_t *first = a, *second = b;
  int order = strcmp(first->target, second->target);
  if (!order)
    order = tool_compare_text(first->facts->name, second->facts->name);
  if (order || signature(first) == signature(second))
    return order;
  return signature(first) < signature(second) ? -1 : 1;
}

static void release_kernel(diff_kernel_t *kernel)
{
  rawhal_kernarg_layout_destroy(kernel->layout);
  free(kernel->why_not);
}

/* A library has a kernel once for each of its translation units that use it: one is enough. */
static void sort_kernels(diff_file_t *file)
{
  size_t kept = 0;
  if (file->kernel_count)
    qsort(file->kernels, file->kernel_count, sizeof(*file->kernels), compare_kernels);
  for (size_t i = 0; i < file->kernel_count; ++i) {
    if (kept && !compare_kernels(&file->kernels[kept - 1], &file->kernels[i]))
      release_kernel(&file->kernels[i]);
    else
      file->kernels[kept++] = file->kernels[i];
  }
  file->kernel_count = kept;
}

bool diff_file_open(diff_file_t *file, const select_options_t *options, rawhal_error_t *error)
{
  file->options = *options;
  file->options.keep = true;
  if (!select_open(&file->select, &file->options, error))
    return false;
  bool opened;
  while ((opened = select_next(&file->select, error)) && file->select.hsaco)
    if (!add_object(file))
      return tool_refuse(error, RAWHAL_OUT_OF_MEMORY, "out of memory");
  if (!opened)
    return false;
  sort_kernels(file);
  file->only_target = file->object_count ? file->objects[0]->target : NULL;
  for (size_t i = 0; file->only_target && i < file->object_count; ++i)
    if (strcmp(file->only_target, file->objects[i]->target))
      file->only_target = NULL;
  return true;
}

void diff_file_close(diff_file_t *file)
{
  for (size_t i = 0; i < file->kernel_count; ++i)
    release_kernel(&file->kernels[i]);
  for (size_t i = 0; i < file->object_count; ++i) {
    rawhal_hsaco_close(file->objects[i]->hsaco);
    free(file->objects[i]);
  }
  free(file->kernels);
  free(file->objects);
  select_close(&file->select);
}
