#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hiplaunch/memory.h"
#include "hiplaunch/stream.h"

/* A queue died of a fault. Its message has the device's words, where the device has any; a software
 * GPU says which address it was, and which allocation that is nearest to. What it cannot know is
 * which argument led there: that is looked up in what was launched. */

/* The launch that failed: the oldest that has not finished. */
static const struct launch_note *failed_launch(struct lane *lane)
{
  const struct launch_note *oldest = NULL;
  for (int i = 0; i < LANE_SUBMISSIONS; ++i) {
    const struct launch_note *launch = &lane->notes[i];
    if (launch->ticket && (!oldest || launch->ticket < oldest->ticket) &&
        rawhal_queue_wait(lane->queue, launch->ticket, 0, NULL))
      oldest = launch;
  }
  return oldest && oldest->kernel ? oldest : NULL;
}

/* "[0x7f0000001000, +4096)": the allocation that the device names, if it names one. */
static bool named_allocation(const char *text, struct allocation *allocation)
{
  for (const char *at = strstr(text, "[0x"); at; at = strstr(at + 1, "[0x")) {
    char *end;
    uint64_t address = strtoull(at + 1, &end, 16);
    if (strncmp(end, ", +", 3) == 0 && memory_find(address, allocation))
      return true;
  }
  return false;
}

static size_t append(rawhal_error_t *error, size_t used, const char *text)
{
  size_t room = sizeof(error->message) - used;
  int length = snprintf(error->message + used, room, "%s", text);
  return used + ((size_t)length < room ? (size_t)length : room - 1);
}

/* Arguments that point into it, or to its end. */
static size_t name_arguments(const struct launch_note *launch, const struct allocation *allocation,
                             rawhal_error_t *error, size_t used)
{
  const rawhal_kernarg_layout_t *layout = rawhal_device_kernel_info(launch->kernel)->layout;
  for (uint32_t i = 0; i < launch->pointer_count; ++i) {
    const uint64_t value = launch->pointers[i].value;
    if (value < allocation->address || value - allocation->address > allocation->size)
      continue;
    const rawhal_kernarg_argument_t *argument =
        rawhal_kernarg_layout_argument(layout, launch->pointers[i].argument);
    char text[200];
    snprintf(text, sizeof(text), "; argument %u '%.*s' is at %llu of that allocation of %zu bytes",
             launch->pointers[i].argument, (int)argument->name.size, argument->name.data,
             (unsigned long long)(value - allocation->address), allocation->size);
    used = append(error, used, text);
  }
  return used;
}

static void name_dead_pointers(const struct launch_note *launch, rawhal_error_t *error, size_t used)
{
  const rawhal_kernarg_layout_t *layout = rawhal_device_kernel_info(launch->kernel)->layout;
  for (uint32_t i = 0; i < launch->pointer_count; ++i) {
    const uint64_t value = launch->pointers[i].value;
    struct allocation allocation;
    if (memory_find(value, &allocation) || (value && memory_find(value - 1, &allocation)))
      continue;
    const rawhal_kernarg_argument_t *argument =
        rawhal_kernarg_layout_argument(layout, launch->pointers[i].argument);
    char text[200];
    snprintf(text, sizeof(text), "; argument %u '%.*s' is 0x%llx, in no live allocation",
             launch->pointers[i].argument, (int)argument->name.size, argument->name.data,
             (unsigned long long)value);
    used = append(error, used, text);
  }
}

void fault_explain(struct lane *lane, rawhal_error_t *error)
{
  struct allocation allocation;
  size_t used = strlen(error->message);
  pthread_mutex_lock(&lane->device->lock); /* the kernel could be unloaded meanwhile */
  const struct launch_note *launch = failed_launch(lane);
  if (launch && named_allocation(error->message, &allocation))
    used = name_arguments(launch, &allocation, error, used);
  if (launch)
    name_dead_pointers(launch, error, used);
  pthread_mutex_unlock(&lane->device->lock);
}
