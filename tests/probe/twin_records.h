// Records of the same dispatch, whoever made them.
#ifndef RAWHAL_TESTS_PROBE_TWIN_RECORDS_H
#define RAWHAL_TESTS_PROBE_TWIN_RECORDS_H

#include "tests/probe/twin.h"

// Waves of a grid, those of partial work-groups too.
uint32_t waves_of(const rawhal_dispatch_t &dispatch);

// Instructions that all waves ran, by the counters of blocks.
uint64_t counted(const rawhal_probe_plan_info_t *info, const TwinRun &run);

// "": they have the same waves, and the same in the counters and events that both have; else what differs.
std::string differ(const rawhal_probe_plan_info_t *a_info, const TwinRun &a,
                   const rawhal_probe_plan_info_t *b_info, const TwinRun &b);

// Dwords, as addresses over 4, whose contents may depend on the order of the waves, and that on how many instructions each has:
// what is accessed atomically, and what several waves write to.
std::set<uint64_t> contested(const rawhal_probe_plan_info_t *info, const TwinRun &run);

#endif
