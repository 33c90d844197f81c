/* Where the lanes of one access go, and what that costs memory and LDS by simple models. */
#ifndef TOOLS_PROBE_ACCESS_H
#define TOOLS_PROBE_ACCESS_H

#include "record/probes.h"

enum {
  ACCESS_MOST = 2 * RAWHAL_PROBE_LANES, /* of LDS, two offsets each */
  ACCESS_SECOND = RAWHAL_PROBE_LANES,
  ACCESS_SHORT_LINE = 64,
  ACCESS_LONG_LINE = 128, /* bytes that memory is fetched by: of L1, and of L2 */
  ACCESS_BANKS = 32,      /* of LDS, of 4 bytes each */
};

/* Upper halves of the addresses by which flat instructions reach LDS and scratch. */
enum { ACCESS_LDS_APERTURE = 0x10000, ACCESS_SCRATCH_APERTURE = 0x20000 };

typedef struct access {
  bool is_told;   /* the records have all that addresses follow from */
  unsigned bytes; /* of each */
  unsigned global_count, lds_count;
  unsigned scratch, outside; /* lanes: scratch; beyond the buffer, where nothing is accessed */
  uint64_t global[RAWHAL_PROBE_LANES]; /* addresses, by lane */
  uint32_t lds[ACCESS_MOST];           /* offsets, by lane, the first offset of all lanes first */
  uint8_t lds_lane[ACCESS_MOST];       /* whose; of second offsets, ACCESS_SECOND more */
} access_t;

/* `lanes` NULL: they were not kept. */
void access_resolve(const rawhal_probe_point_t *point, const rawhal_probe_event_t *event,
                    const uint64_t *lanes, access_t *access);

/* What one instruction's addresses in memory touch. */
typedef struct access_lines {
  unsigned touched[2]; /* lines of ACCESS_SHORT_LINE and of ACCESS_LONG_LINE bytes */
  unsigned ideal[2];   /* as many as its bytes, each counted once, would fill */
} access_lines_t;

/* Sorts the addresses. */
void access_count_lines(access_t *access, access_lines_t *lines);

/* Groups of lanes of 128 bytes together are served one after the other, each in as many passes as
 * its busiest bank has different words. */
typedef struct access_banks {
  unsigned groups, passes, worst; /* the passes of the group that takes most */
} access_banks_t;
void access_count_banks(const access_t *access, access_banks_t *banks);

#endif
