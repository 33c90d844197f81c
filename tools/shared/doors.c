#include "tools/shared/doors.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "tools/shared/tool.h"

static const char *const names[] = {[DOOR_OF_LIBRARY] = "library", [DOOR_OF_FRONT] = "front"};

const char *doors_name(unsigned kind)
{
  return names[kind == DOOR_OF_FRONT ? DOOR_OF_FRONT : DOOR_OF_LIBRARY];
}

bool doors_read_kind(const char *command, const tool_option_t *option, const char *text,
                     void *place)
{
  unsigned *kind = place;
  (void)command, (void)option;
  *kind = !strcmp(text, names[DOOR_OF_LIBRARY]) ? DOOR_OF_LIBRARY
          : !strcmp(text, names[DOOR_OF_FRONT]) ? DOOR_OF_FRONT
                                                : 0;
  return *kind != 0;
}

bool doors_read_process(const char *text, pid_t *process)
{
  uint64_t number;
  const bool read = tool_parse_number(text, INT_MAX, &number) && number;
  *process = read ? (pid_t)number : 0;
  return read;
}

/* One of each kind: a process that has more of one tells of two of its lives, or lies. */
static bool is_new(const doors_t *doors, door_kind_t kind)
{
  bool fresh = !doors->of || kind == doors->of;
  for (size_t i = 0; i < doors->count; ++i)
    fresh = fresh && observer_kind(doors->list[i]) != kind;
  return fresh;
}

bool doors_look(doors_t *doors, rawhal_error_t *error)
{
  const size_t before = doors->count;
  observer_t *observer;
  rawhal_error_t none;
  for (size_t i = 0; doors->count < DOORS_MOST; ++i) {
    const rawhal_status_t status = observer_open(doors->process, i, &observer, i ? &none : error);
    if (status != RAWHAL_OK)
      break;
    if (is_new(doors, observer_kind(observer)))
      doors->list[doors->count++] = observer;
    else
      observer_close(observer);
  }
  return doors->count > before;
}

bool doors_open(doors_t *doors, pid_t process, unsigned of, rawhal_error_t *error)
{
  *doors = (doors_t){.process = process, .of = of};
  *error = (rawhal_error_t){.status = RAWHAL_OK};
  if (doors_look(doors, error))
    return true;
  if (error->status == RAWHAL_OK)
    (void)tool_refuse(error, RAWHAL_NOT_FOUND, "process %d has no door of the %s", (int)process,
                      doors_name(of));
  return false;
}

/* Those of its first thread; `most` is how many may be looked at. */
static bool open_below(doors_t *doors, pid_t process, unsigned of, unsigned *most)
{
  char path[64];
  rawhal_error_t none;
  int child;
  (void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)process, (int)process);
  FILE *children = fopen(path, "re");
  bool found = false;
  while (!found && children && *most && fscanf(children, "%d", &child) == 1) {
    --*most;
    found = doors_open(doors, child, of, &none) || open_below(doors, child, of, most);
  }
  if (children)
    (void)fclose(children);
  return found;
}

bool doors_open_below(doors_t *doors, pid_t process, unsigned of, rawhal_error_t *error)
{
  unsigned most = 64;
  return doors_open(doors, process, of, error) || open_below(doors, process, of, &most);
}

void doors_close(doors_t *doors)
{
  for (size_t i = 0; i < doors->count; ++i)
    observer_close(doors->list[i]);
  doors->count = 0;
}
