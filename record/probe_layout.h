/* What has to hold of probes, and where what is in the content of a probed dispatch. Internal to
 * this folder. */
#ifndef RAWHAL_RECORD_PROBE_LAYOUT_H
#define RAWHAL_RECORD_PROBE_LAYOUT_H

#include "record/format.h"

/* Its numbers, without object, name and points. */
bool probe_is_sound(const record_probe_t *probe);
/* Fails with `status` where points are not sorted, lie beyond the code, or count what there is no
 * counter for. */
RAWHAL_CHECKED rawhal_status_t probe_check_points(const record_probe_t *probe,
                                                  const rawhal_probe_point_t *points,
                                                  rawhal_status_t status, rawhal_error_t *error);

/* Offsets in the content. */
typedef struct probe_layout {
  uint64_t names, header, counters, waves, events, size;
} probe_layout_t;

/* False: it is more than can be said. */
bool probe_layout(const format_probed_t *probed, uint32_t counters, uint32_t event_bytes,
                  probe_layout_t *layout);

#endif
