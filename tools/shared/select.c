/* Which code objects of a file a command is about. */
#include "tools/shared/select.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/shared/file.h"
#include "tools/shared/near.h"
#include "tools/shared/progress.h"
#include "tools/shared/tool.h"

bool select_read_target(const char *command, const tool_option_t *option, const char *text,
                        void *place)
{
  static rawhal_target_t target; /* the last that the command line names */
  rawhal_error_t error;
  (void)option;
  *(const rawhal_target_t **)place = &target;
  if (rawhal_target_parse(rawhal_string(text), &target, &error) == RAWHAL_OK)
    return true;
  (void)tool_usage(command, "--target: %s", error.message);
  return false;
}

bool select_read_object(const char *command, const tool_option_t *option, const char *text,
                        void *place)
{
  uint64_t *object = place;
  (void)command, (void)option;
  return tool_parse_number(text, UINT32_MAX, object) && ++*object;
}

/* ---- The carrier ---- */

static bool open_stream(int stream, const char *path, rawhal_container_t **container,
                        unsigned char **data, rawhal_error_t *error)
{
  static bool was_read; /* standard input: then it is empty, which says nothing about a file */
  const size_t most = SIZE_MAX < (1ull << 32) ? SIZE_MAX : (size_t)(1ull << 32); /* as of files */
  const rawhal_container_options_t one = {.flags = RAWHAL_CONTAINER_HOLD_ONE};
  size_t size;
  if (stream == STDIN_FILENO && was_read)
    return tool_refuse(error, RAWHAL_INVALID_ARGUMENT,
                       "only one of the files can be standard input");
  was_read |= stream == STDIN_FILENO;
  if (tool_read_stream(stream, path, most, data, &size, error) &&
      rawhal_container_open(*data, size, &one, container, error) == RAWHAL_OK)
    return true;
  free(*data);
  *data = NULL;
  return false;
}

bool select_open_container(const char *path, rawhal_container_t **container, unsigned char **data,
                           rawhal_error_t *error)
{
  /* A copy: cutting the file meanwhile must not end the command. */
  const rawhal_container_options_t copy = {.flags =
                                               RAWHAL_CONTAINER_COPY | RAWHAL_CONTAINER_HOLD_ONE};
  const int stream = tool_stream_of(path);
  *container = NULL;
  *data = NULL;
  return stream >= 0 ? open_stream(stream, path, container, data, error)
                     : rawhal_container_open_file(path, &copy, container, error) == RAWHAL_OK;
}

/* ---- Its objects ---- */

bool select_open(select_t *select, const select_options_t *options, rawhal_error_t *error)
{
  *select = (select_t){.options = options, .keep = options->keep};
  return select_open_container(options->path, &select->container, &select->data, error);
}

bool select_runs_on(const rawhal_target_t *object, const rawhal_target_t *wanted)
{
  rawhal_target_t device = *wanted;
  if (device.xnack == RAWHAL_FEATURE_ANY)
    device.xnack = object->xnack;
  if (device.sramecc == RAWHAL_FEATURE_ANY)
    device.sramecc = object->sramecc;
  return rawhal_target_match(object, &device) == 0;
}

/* Of files with one object there is nothing to say. */
static void show_progress(const select_t *select)
{
  const size_t count = rawhal_container_count(select->container);
  if (select->options->progress && count > 1)
    progress_show(select->options->progress, "object", select->next + 1, count,
                  select->options->path);
}

static bool open_object(select_t *select, rawhal_error_t *error)
{
  const select_options_t *options = select->options;
  const bool own = select->keep && select->object->unpacked;
  const rawhal_hsaco_options_t hsaco_options = {.flags = options->hsaco_flags |
                                                         (own ? RAWHAL_HSACO_COPY : 0)};
  rawhal_bytes_t bytes;
  return rawhal_container_read(select->container, select->index, &bytes, error) == RAWHAL_OK &&
         rawhal_hsaco_open(bytes.data, bytes.size, &hsaco_options, &select->hsaco, error) ==
             RAWHAL_OK;
}

bool select_next(select_t *select, rawhal_error_t *error)
{
  const select_options_t *options = select->options;
  rawhal_hsaco_close(select->hsaco);
  select->hsaco = NULL;
  while ((select->object = rawhal_container_object(select->container, select->next))) {
    const rawhal_container_object_t *object = select->object;
    show_progress(select);
    select->index = select->next++;
    if (options->object && options->object != select->index + 1)
      continue;
    if (!object->readable && options->skip_unreadable)
      continue;
    if (!object->readable) {
      tool_refuse(error, RAWHAL_UNSUPPORTED, "object %zu: %.*s", select->index,
                  (int)object->why_not.size, object->why_not.data);
      error->offset = object->offset;
      return false;
    }
    if (options->target && !select_runs_on(&object->target, options->target))
      continue;
    return open_object(select, error);
  }
  return true;
}

rawhal_hsaco_t *select_take(select_t *select)
{
  rawhal_hsaco_t *hsaco = select->hsaco;
  select->hsaco = NULL;
  return hsaco;
}

void select_close(select_t *select)
{
  rawhal_hsaco_close(select->hsaco);
  rawhal_container_close(select->container);
  free(select->data);
  *select = (select_t){0};
}

/* ---- One kernel ---- */

static bool find_first(select_t *select, const rawhal_kernel_t **kernel, rawhal_error_t *error)
{
  const char *name = select->options->kernel;
  size_t looked_at = 0;
  near_names_t others = {.wanted = rawhal_string(name)};
  char nearest[NEAR_TEXT];
  for (; select_next(select, error); ++looked_at) {
    if (!select->hsaco) {
      near_text(&others, nearest);
      return tool_refuse(error, RAWHAL_NOT_FOUND,
                         "no kernel '%s' in %zu object%s%s%s (rawhal inspect --brief lists the "
                         "names)",
                         name, looked_at, looked_at == 1 ? "" : "s",
                         select->options->target ? " for that target" : "", nearest);
    }
    *kernel = rawhal_hsaco_find_kernel(select->hsaco, rawhal_string(name));
    if (*kernel)
      return true;
    near_look_at(&others, select->hsaco);
  }
  return false;
}

static bool same_layout(const select_t *first, const select_t *other,
                        const rawhal_kernarg_layout_t *layout, uint32_t stated_size,
                        rawhal_error_t *error)
{
  const char *name = first->options->kernel;
  const rawhal_kernel_t *kernel = rawhal_hsaco_find_kernel(other->hsaco, rawhal_string(name));
  rawhal_kernarg_layout_t *other_layout = NULL;
  if (!kernel)
    return true;
  if (rawhal_kernarg_layout_create(kernel, stated_size, &other_layout, error))
    return false;
  bool same = rawhal_kernarg_layout_info(layout)->signature ==
              rawhal_kernarg_layout_info(other_layout)->signature;
  rawhal_kernarg_layout_destroy(other_layout);
  if (same)
    return true;
  char first_target[64], other_target[64];
  rawhal_target_format(&first->object->target, first_target, sizeof(first_target));
  rawhal_target_format(&other->object->target, other_target, sizeof(other_target));
  return tool_refuse(error, RAWHAL_INVALID_ARGUMENT,
                     "'%s' has one layout in object %zu (%s) and another in object %zu (%s): "
                     "choose with --target or --object",
                     name, first->index, first_target, other->index, other_target);
}

bool select_kernel(select_t *select, const select_options_t *options, uint32_t stated_size,
                   const rawhal_kernel_t **kernel, rawhal_kernarg_layout_t **layout,
                   rawhal_error_t *error)
{
  *kernel = NULL;
  *layout = NULL;
  if (!select_open(select, options, error))
    return false;
  select->keep = true; /* others are opened beside it */
  if (!find_first(select, kernel, error) ||
      rawhal_kernarg_layout_create(*kernel, stated_size, layout, error))
    return false;
  /* The others are opened in addition: what was found stays open. */
  select_t other = *select;
  other.hsaco = NULL;
  bool same = true;
  while (same && (same = select_next(&other, error)) && other.hsaco)
    same = same_layout(select, &other, *layout, stated_size, error);
  rawhal_hsaco_close(other.hsaco);
  return same;
}
