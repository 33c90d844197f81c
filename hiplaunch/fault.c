#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hiplaunch/memory.h"
#include "hiplaunch/stream.h"

/* A queue died of a fault. Its message has the device's words, where the device has any; a software
 * GPU says which address it was, and which allocation that is nearest to. What it cannot know is
 * which argument led there: that is looked up in what was launched. */

/* The launch that failed: the oldest that has not finished. */
static const launch_note_t *failed_launch(lane_t *lane)
{
  const launch_note_t *oldest = NULL;
  for (int i = 0; i < LANE_SUBMISSIONS; ++i) {
    const launch_note_t *launch = &lane->notes[i];
    if (launch->ticket && (!oldest || launch->ticket < oldest->ticket) &&
        rawhal_queue_wait(lane->queue, launch->ticket, 0, NULL))
      oldest = launch;
  }
  return oldest && oldest->kernel ? oldest : NULL;
}

/* "[0x7f0000001000, +4096)": the allocation that the device names, if it names one. */
static bool named_allocation(const char *text, allocation_t *allocation)
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

void argument_say(char *text, size_t size, const rawhal_kernarg_layout_t *layout, uint32_t index,
                  uint64_t value)
{
  rawhal_string_t name = rawhal_kernarg_layout_argument(layout, index)->name;
  const char *quote = name.size ? "'" : "";
  snprintf(text, size, "argument %u%s%s%.*s%s is 0x%llx", index, name.size ? " " : "", quote,
           (int)name.size, name.data ? name.data : "", quote, (unsigned long long)value);
}

/* Arguments that point into the allocation or to its end, and those that point nowhere. */
static void name_arguments(const launch_note_t *launch, const allocation_t *nearest,
                           rawhal_error_t *error)
{
  const rawhal_kernarg_layout_t *layout = rawhal_device_kernel_info(launch->kernel)->layout;
  size_t used = strlen(error->message);
  for (uint32_t i = 0; i < launch->pointer_count; ++i) {
    const uint64_t value = launch->pointers[i].value;
    allocation_t allocation;
    char text[200], more[300];
    argument_say(text, sizeof(text), layout, launch->pointers[i].argument, value);
    if (nearest && value >= nearest->address && value - nearest->address <= nearest->size)
      snprintf(more, sizeof(more), "; %s, at %llu of that allocation of %zu bytes", text,
               (unsigned long long)(value - nearest->address), nearest->size);
    else if (value && !memory_find(value, &allocation) && !memory_find(value - 1, &allocation))
      snprintf(more, sizeof(more), "; %s, in no live allocation", text);
    else
      continue;
    used = append(error, used, more);
  }
}

void fault_explain(lane_t *lane, rawhal_error_t *error)
{
  allocation_t nearest;
  pthread_mutex_lock(&lane->device->lock); /* the kernel could be unloaded meanwhile */
  const launch_note_t *launch = failed_launch(lane);
  bool named = launch && named_allocation(error->message, &nearest);
  if (launch)
    name_arguments(launch, named ? &nearest : NULL, error);
  pthread_mutex_unlock(&lane->device->lock);
}
