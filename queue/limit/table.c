/* What can be limited, one row for each limit: how it is set, where it is stored, who asks for it. */
#include "queue/limit/table.h"

#include <stddef.h>

enum {
  MILLION = 1000000,
  DEFAULT_BURST_NS = 20 * MILLION,
  MIN_BURST_NS = MILLION / 10, /* below a timer's slack the share could not be reached */
  DEFAULT_WEIGHT = 100,
  MAX_WEIGHT = 1000,
};

#define MAX_BURST_NS 60000000000ull

/* ---- Values ---- */

static uint64_t to_share(uint64_t ppm)
{
  return ppm == RAWHAL_UNLIMITED || ppm >= 1000000 ? REGION_NO_SHARE : (ppm << 32) / 1000000;
}

uint64_t limit_share_value(uint64_t word)
{
  return word >= REGION_SHARE_ONE ? RAWHAL_UNLIMITED
                                  : (word * 1000000 + REGION_SHARE_ONE - 1) >> 32;
}

static uint64_t to_units(uint64_t bytes)
{
  return bytes == RAWHAL_UNLIMITED ? REGION_NO_MEMORY : bytes / REGION_UNIT_BYTES;
}

uint64_t limit_memory_value(uint64_t units)
{
  return units > UINT64_MAX / REGION_UNIT_BYTES ? RAWHAL_UNLIMITED : units * REGION_UNIT_BYTES;
}

static uint64_t same(uint64_t value)
{
  return value;
}

/* ---- Rows ---- */

#define OF_DEVICE(member)  .place = PLACE_DEVICE, .offset = offsetof(region_device_t, member)
#define OF_TENANT(member)  .place = PLACE_TENANT, .offset = offsetof(region_tenant_t, member)
#define OF_PROCESS(member) .place = PLACE_PROCESS, .offset = offsetof(region_member_t, member)
#define CAP(limit)         .place = PLACE_CAPS, .offset = (limit) * sizeof(uint64_t)
#define NO_MAXIMUM         (RAWHAL_UNLIMITED - 1)

const limit_row_t limit_rows[LIMIT_COUNT] = {
    [RAWHAL_LIMIT_MEMORY] = {.info = {"memory", "RAWHAL_MEMORY_LIMIT",
                                      "device memory of the tenant", RAWHAL_UNIT_BYTES, 0,
                                      NO_MAXIMUM, RAWHAL_LIMIT_LEVEL_TENANT},
                             .initial = RAWHAL_UNLIMITED,
                             .encode = to_units,
                             .decode = limit_memory_value,
                             OF_TENANT(memory_limit),
                             .ask = ASK_MEMORY},
    [RAWHAL_LIMIT_GPU_SHARE] = {.info = {"gpu-share", "RAWHAL_GPU_SHARE",
                                         "device time of the tenant", RAWHAL_UNIT_SHARE, 0, MILLION,
                                         RAWHAL_LIMIT_LEVEL_TENANT},
                                .initial = RAWHAL_UNLIMITED,
                                .encode = to_share,
                                .decode = limit_share_value,
                                OF_TENANT(node.share),
                                .ask = ASK_SHARE},
    [RAWHAL_LIMIT_DISPATCH_RATE] = {.info = {"dispatch-rate", "RAWHAL_DISPATCH_RATE",
                                             "dispatches a second of the tenant", RAWHAL_UNIT_COUNT,
                                             0, 1000ull * MILLION, RAWHAL_LIMIT_LEVEL_TENANT},
                                    .initial = RAWHAL_UNLIMITED,
                                    .encode = same,
                                    .decode = same,
                                    OF_TENANT(node.rate),
                                    .ask = ASK_RATE},
    [RAWHAL_LIMIT_BURST] = {.info = {"burst", "RAWHAL_GPU_BURST",
                                     "how far device time may run ahead", RAWHAL_UNIT_DURATION,
                                     MIN_BURST_NS, MAX_BURST_NS, RAWHAL_LIMIT_LEVEL_TENANT},
                            .initial = DEFAULT_BURST_NS,
                            .encode = same,
                            .decode = same,
                            OF_TENANT(node.burst),
                            .ask = ASK_BURST},
    [RAWHAL_LIMIT_CHARGING] = {.info = {"charging", "RAWHAL_GPU_CHARGING",
                                        "what is paid while others run", RAWHAL_UNIT_CHARGING, 0,
                                        RAWHAL_CHARGING_WALL, RAWHAL_LIMIT_LEVEL_TENANT},
                               .initial = RAWHAL_CHARGING_FAIR,
                               .encode = same,
                               .decode = same,
                               OF_TENANT(charging),
                               .ask = ASK_CHARGING},
    [RAWHAL_LIMIT_DEVICE_SHARE] = {.info = {"device-share", "RAWHAL_DEVICE_SHARE",
                                            "device time of all tenants together",
                                            RAWHAL_UNIT_SHARE, 0, MILLION,
                                            RAWHAL_LIMIT_LEVEL_DEVICE},
                                   .initial = RAWHAL_UNLIMITED,
                                   .encode = to_share,
                                   .decode = limit_share_value,
                                   OF_DEVICE(node.share),
                                   .ask = ASK_DEVICE_SHARE},
    [RAWHAL_LIMIT_PROCESS_MEMORY] = {.info = {"process-memory", "RAWHAL_PROCESS_MEMORY_LIMIT",
                                              "device memory of this process", RAWHAL_UNIT_BYTES, 0,
                                              NO_MAXIMUM, RAWHAL_LIMIT_LEVEL_PROCESS},
                                     .initial = RAWHAL_UNLIMITED,
                                     .encode = to_units,
                                     .decode = limit_memory_value,
                                     OF_PROCESS(ledger.limit),
                                     .ask = REGION_ASKS},
    [RAWHAL_LIMIT_PROCESS_SHARE] = {.info = {"process-share", "RAWHAL_PROCESS_SHARE",
                                             "device time of this process", RAWHAL_UNIT_SHARE, 0,
                                             MILLION, RAWHAL_LIMIT_LEVEL_PROCESS},
                                    .initial = RAWHAL_UNLIMITED,
                                    .encode = to_share,
                                    .decode = limit_share_value,
                                    OF_PROCESS(node.share),
                                    .ask = REGION_ASKS},
    [RAWHAL_LIMIT_DISPATCHES_IN_FLIGHT] = {.info = {"dispatches-in-flight",
                                                    "RAWHAL_DISPATCHES_IN_FLIGHT",
                                                    "dispatches in flight of this process",
                                                    RAWHAL_UNIT_COUNT, 0, NO_MAXIMUM,
                                                    RAWHAL_LIMIT_LEVEL_PROCESS},
                                           .initial = RAWHAL_UNLIMITED,
                                           .encode = same,
                                           .decode = same,
                                           CAP(RAWHAL_LIMIT_DISPATCHES_IN_FLIGHT),
                                           .ask = REGION_ASKS},
    [RAWHAL_LIMIT_WORKGROUPS_IN_FLIGHT] = {.info = {"workgroups-in-flight",
                                                    "RAWHAL_WORKGROUPS_IN_FLIGHT",
                                                    "work-groups in flight of this process",
                                                    RAWHAL_UNIT_COUNT, 0, NO_MAXIMUM,
                                                    RAWHAL_LIMIT_LEVEL_PROCESS},
                                           .initial = RAWHAL_UNLIMITED,
                                           .encode = same,
                                           .decode = same,
                                           CAP(RAWHAL_LIMIT_WORKGROUPS_IN_FLIGHT),
                                           .ask = REGION_ASKS},
    [RAWHAL_LIMIT_KERNARG_IN_FLIGHT] = {.info = {"kernarg-in-flight", "RAWHAL_KERNARG_IN_FLIGHT",
                                                 "kernarg bytes in flight of this process",
                                                 RAWHAL_UNIT_BYTES, 0, NO_MAXIMUM,
                                                 RAWHAL_LIMIT_LEVEL_PROCESS},
                                        .initial = RAWHAL_UNLIMITED,
                                        .encode = same,
                                        .decode = same,
                                        CAP(RAWHAL_LIMIT_KERNARG_IN_FLIGHT),
                                        .ask = REGION_ASKS},
    [RAWHAL_LIMIT_GRID_WORKGROUPS] = {.info = {"grid-workgroups", "RAWHAL_GRID_WORKGROUPS",
                                               "work-groups of one dispatch", RAWHAL_UNIT_COUNT, 0,
                                               NO_MAXIMUM, RAWHAL_LIMIT_LEVEL_PROCESS},
                                      .initial = RAWHAL_UNLIMITED,
                                      .encode = same,
                                      .decode = same,
                                      CAP(RAWHAL_LIMIT_GRID_WORKGROUPS),
                                      .ask = REGION_ASKS},
    [RAWHAL_LIMIT_WEIGHT] = {.info = {"weight", "RAWHAL_WEIGHT", "of this process in its tenant",
                                      RAWHAL_UNIT_COUNT, 1, MAX_WEIGHT, RAWHAL_LIMIT_LEVEL_PROCESS},
                             .initial = DEFAULT_WEIGHT,
                             .encode = same,
                             .decode = same,
                             OF_PROCESS(weight),
                             .ask = REGION_ASKS},
    [RAWHAL_LIMIT_PRIORITY] = {.info = {"priority", "RAWHAL_PRIORITY",
                                        "of this process among those who wait",
                                        RAWHAL_UNIT_PRIORITY, 0, RAWHAL_PRIORITY_HIGH,
                                        RAWHAL_LIMIT_LEVEL_PROCESS},
                               .initial = RAWHAL_PRIORITY_NORMAL,
                               .encode = same,
                               .decode = same,
                               OF_PROCESS(priority),
                               .ask = REGION_ASKS},
};

const rawhal_limit_info_t *rawhal_limit_info(rawhal_limit_t limit)
{
  return (size_t)limit < LIMIT_COUNT ? &limit_rows[limit].info : NULL;
}
