#include "softgpu/probes/kernels.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static kernel_t *kernels;
static code_object_t *objects;

/* ---- Code objects ---- */

static void object_free(code_object_t *object)
{
  rawhal_hsaco_close(object->hsaco);
  free(object->image.bytes);
  free(object);
}

static void object_release(code_object_t *object)
{
  if (!object || --object->users)
    return;
  code_object_t **at = &objects;
  while (*at && *at != object)
    at = &(*at)->next;
  if (*at)
    *at = object->next;
  object_free(object);
}

/* That around a kernel, if there is one; it may be of what was there before. */
static code_object_t *object_known(uint64_t kernel_object)
{
  code_object_t *object = objects;
  while (object && kernel_object - object->image.base >= object->image.size)
    object = object->next;
  if (object)
    ++object->users;
  return object;
}

static code_object_t *object_new(const softgpu_prober_device_t *device,
                                 const softgpu_prober_dispatch_t *dispatch, rawhal_status_t *status,
                                 rawhal_error_t *error)
{
  const char *why;
  code_object_t *object = calloc(1, sizeof(*object));
  if (!object ||
      !image_take(device, dispatch->node, dispatch->kernel_object, &object->image, &why)) {
    free(object);
    *status = rawhal_fail(error, RAWHAL_UNSUPPORTED, "%s", object ? why : "no memory");
    return NULL;
  }
  *status =
      rawhal_hsaco_open(object->image.bytes, object->image.count, NULL, &object->hsaco, error);
  if (*status != RAWHAL_OK) {
    object_free(object);
    return NULL;
  }
  object->hash = rawhal_content_hash(object->image.bytes, object->image.count);
  object->users = 1;
  object->next = objects;
  return objects = object;
}

/* Its bytes by its own addresses, and how many follow each other in the file; NULL: none. */
static const unsigned char *object_at(const code_object_t *object, uint64_t address, uint64_t *size)
{
  const rawhal_segment_t *segment;
  for (size_t i = 0; (segment = rawhal_hsaco_segment(object->hsaco, i)); ++i)
    if (segment->type == PT_LOAD && address - segment->address < segment->file_size) {
      *size = segment->file_size - (address - segment->address);
      return object->image.bytes + segment->offset + (address - segment->address);
    }
  return NULL;
}

/* ---- Planning ---- */

static const rawhal_kernel_t *kernel_at(const code_object_t *object, uint64_t address)
{
  const rawhal_kernel_t *kernel;
  for (size_t i = 0; (kernel = rawhal_hsaco_kernel(object->hsaco, i)); ++i)
    if (kernel->descriptor && kernel->descriptor->address == address)
      return kernel;
  return NULL;
}

static rule_t *find_rule(const kernel_t *kernel, rule_t *rules)
{
  char name[4096]; /* of a longer one no more is held against patterns */
  const rawhal_string_t own = kernel->facts->name;
  (void)snprintf(name, sizeof(name), "%.*s", own.size < sizeof(name) ? (int)own.size : 4095,
                 own.data);
  return rules_find(rules, name);
}

static rawhal_status_t plan(kernel_t *kernel, rawhal_error_t *error)
{
  const rule_t *rule = kernel->rule;
  const rawhal_probe_spec_t spec = {.size = sizeof(spec),
                                    .kinds = rule->kinds,
                                    .flags = RAWHAL_PROBE_POINTS_ONLY,
                                    .values = rule->values,
                                    .value_count = rule->value_count};
  rawhal_status_t status = rawhal_kernarg_layout_create(kernel->facts, 0, &kernel->layout, error);
  if (status == RAWHAL_OK)
    status = rawhal_probe_plan(kernel->facts, &spec, &kernel->plan, error);
  if (status != RAWHAL_OK)
    return status;
  const uint64_t least = rawhal_probe_buffer_bytes(kernel->plan, 1);
  return least <= rule->buffer
             ? RAWHAL_OK
             : rawhal_fail(error, RAWHAL_OUT_OF_RANGE,
                           "its records take at least %llu bytes; the buffer has %llu",
                           (unsigned long long)least, (unsigned long long)rule->buffer);
}

static void tell(const kernel_t *kernel, const softgpu_prober_device_t *device,
                 const rawhal_error_t *error)
{
  char text[512];
  if (kernel->facts)
    (void)snprintf(text, sizeof(text), "probe: %.*s is not probed: %.200s",
                   (int)(kernel->facts->name.size < 200 ? kernel->facts->name.size : 200),
                   kernel->facts->name.data, error->message);
  else
    (void)snprintf(text, sizeof(text), "probe: a kernel at 0x%llx is not probed: %.200s",
                   (unsigned long long)kernel->kernel_object, error->message);
  device->report(text);
}

/* What it is, and whether it is to be recorded, by its code object. */
static rawhal_status_t prepare(kernel_t *kernel, rule_t *rules, rawhal_error_t *error)
{
  kernel->facts = kernel_at(kernel->object, kernel->kernel_object - kernel->object->image.base);
  if (!kernel->facts)
    return rawhal_fail(error, RAWHAL_UNSUPPORTED, "its code object does not name it");
  kernel->rule = find_rule(kernel, rules);
  return kernel->rule ? plan(kernel, error) : RAWHAL_OK;
}

static void unprepare(kernel_t *kernel)
{
  rawhal_probe_plan_destroy(kernel->plan);
  rawhal_kernarg_layout_destroy(kernel->layout);
  object_release(kernel->object);
  kernel->plan = NULL;
  kernel->layout = NULL;
  kernel->object = NULL;
  kernel->facts = NULL;
  kernel->rule = NULL;
}

/* Whether memory still has what the object has there. */
static bool is_there(const kernel_t *kernel, const softgpu_prober_device_t *device, uint32_t node,
                     uint64_t address, uint64_t most)
{
  uint64_t size = 0;
  const unsigned char *then = object_at(kernel->object, address, &size);
  size = size < most ? size : most;
  const void *now =
      then ? device->reach(node, kernel->object->image.base + address, size, false) : NULL;
  return now && memcmp(now, then, size) == 0;
}

/* Memory that was freed may be another kernel's now. Held against it: its descriptor and code, and
 * the head of its object behind the ELF header. */
static bool is_same(const kernel_t *kernel, const softgpu_prober_device_t *device, uint32_t node)
{
  enum { HEAD = 4096 };
  const void *descriptor =
      device->reach(node, kernel->kernel_object, sizeof(kernel->descriptor), false);
  return descriptor && memcmp(descriptor, kernel->descriptor, sizeof(kernel->descriptor)) == 0 &&
         (!kernel->object || is_there(kernel, device, node, sizeof(Elf64_Ehdr), HEAD)) &&
         (!kernel->plan || is_there(kernel, device, node, kernel->facts->descriptor->entry,
                                    rawhal_probe_plan_info(kernel->plan)->code_bytes));
}

/* By the code object that other kernels have there, if it is still the same; or by what there is
 * now. */
static void meet(kernel_t *kernel, const softgpu_prober_device_t *device, rule_t *rules,
                 const softgpu_prober_dispatch_t *dispatch)
{
  rawhal_error_t error;
  rawhal_status_t status = RAWHAL_OK;
  kernel->object = object_known(kernel->kernel_object);
  if (kernel->object)
    status = prepare(kernel, rules, &error);
  if (kernel->object && !is_same(kernel, device, dispatch->node))
    unprepare(kernel);
  if (!kernel->object) {
    kernel->object = object_new(device, dispatch, &status, &error);
    status = kernel->object ? prepare(kernel, rules, &error) : status;
  }
  kernel->is_refused = status != RAWHAL_OK;
  if (kernel->is_refused)
    tell(kernel, device, &error);
}

/* ---- The table ---- */

void kernels_give_back(kernel_t *kernel)
{
  if (--kernel->users)
    return;
  unprepare(kernel);
  free(kernel);
}

static kernel_t *make(const softgpu_prober_device_t *device, rule_t *rules,
                      const softgpu_prober_dispatch_t *dispatch, uint64_t generation)
{
  kernel_t *kernel = calloc(1, sizeof(*kernel));
  const void *descriptor =
      device->reach(dispatch->node, dispatch->kernel_object, sizeof(kernel->descriptor), false);
  if (!kernel || !descriptor) {
    free(kernel);
    return NULL;
  }
  kernel->kernel_object = dispatch->kernel_object;
  kernel->generation = generation;
  memcpy(kernel->descriptor, descriptor, sizeof(kernel->descriptor));
  meet(kernel, device, rules, dispatch);
  HASH_ADD(hh, kernels, kernel_object, sizeof(kernel->kernel_object), kernel);
  kernel->users = kernel->hh.tbl ? 1 : 0;
  return kernel;
}

kernel_t *kernels_take(const softgpu_prober_device_t *device, rule_t *rules,
                       const softgpu_prober_dispatch_t *dispatch)
{
  const uint64_t generation = device->generation();
  kernel_t *kernel;
  HASH_FIND(hh, kernels, &dispatch->kernel_object, sizeof(dispatch->kernel_object), kernel);
  if (kernel && kernel->generation != generation && !is_same(kernel, device, dispatch->node)) {
    HASH_DELETE(hh, kernels, kernel);
    kernels_give_back(kernel);
    kernel = NULL;
  }
  if (!kernel)
    kernel = make(device, rules, dispatch, generation);
  if (kernel) {
    kernel->generation = generation;
    ++kernel->users;
  }
  return kernel;
}
