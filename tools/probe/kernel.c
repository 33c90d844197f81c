/* A probed kernel out of a recording. */
#include <stdlib.h>
#include <string.h>

#include "tools/probe/figures.h"
#include "tools/shared/tool.h"

static bool makes_events(const rawhal_probe_point_t *point)
{
  return point->action == RAWHAL_PROBE_ACCESS || point->action == RAWHAL_PROBE_VALUE ||
         point->action == RAWHAL_PROBE_ARRIVE;
}

static bool make_sites(kernel_t *kernel)
{
  size_t count = 0;
  for (uint32_t i = 0; i < kernel->probe.point_count; ++i)
    count += makes_events(&kernel->points[i]);
  kernel->sites = calloc(count + 1, sizeof(*kernel->sites));
  if (!kernel->sites)
    return false;
  for (uint32_t i = 0; i < kernel->probe.point_count; ++i)
    if (makes_events(&kernel->points[i]))
      kernel->sites[kernel->site_count++].point = i;
  return true;
}

/* Its points have been found whole before. */
static bool read_points(kernel_t *kernel, record_reader_t *reader, uint64_t number,
                        rawhal_error_t *error)
{
  const rawhal_string_t name = kernel->probe.kernel;
  kernel->name = malloc(name.size + 1);
  if (kernel->name)
    memcpy(kernel->name, name.data, name.size);
  kernel->probe.kernel = (rawhal_string_t){kernel->name, name.size};
  return kernel->name && !record_reader_points(reader, number, kernel->points, error);
}

bool kernel_read(kernel_t *kernel, record_reader_t *reader, uint64_t number, rawhal_error_t *error)
{
  if (kernel->number == number)
    return true;
  kernel_free(kernel);
  *error = (rawhal_error_t){0};
  if (record_reader_probe(reader, number, &kernel->probe, error))
    return false;
  /* as many as the file has: the reader is asked for all of them, or has none */
  kernel->points = malloc((size_t)kernel->probe.point_count * sizeof(*kernel->points) + 1);
  const bool done =
      kernel->points && read_points(kernel, reader, number, error) && make_sites(kernel);
  if (done)
    kernel->number = number;
  else if (!error->status)
    (void)tool_refuse(error, RAWHAL_OUT_OF_MEMORY, "no memory for a kernel's %u points",
                      kernel->probe.point_count);
  if (!done)
    kernel_free(kernel);
  return done;
}

void kernel_free(kernel_t *kernel)
{
  for (size_t i = 0; i < kernel->site_count; ++i)
    free(kernel->sites[i].last);
  free(kernel->name);
  free(kernel->points);
  free(kernel->sites);
  *kernel = (kernel_t){0};
}
