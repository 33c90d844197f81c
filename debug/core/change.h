/* What is done to core files that are there. Internal. */
#ifndef RAWHAL_DEBUG_CORE_CHANGE_H
#define RAWHAL_DEBUG_CORE_CHANGE_H

#include "debug/core/core.h"
#include "debug/core/file.h"

typedef struct core_abi_change {
  uint32_t was;
  size_t moved;  /* waves whose PC now stands at their s_trap, or behind it */
  size_t unsure; /* that stand at some trap, but the file does not have its instruction */
} core_abi_change_t;

/* Another r_version, in a file's bytes: debuggers of ROCm 6.2 to 7.2 take 10, builds of 2026 take
 * 12 alone, for which a wave stands at its s_trap instead of behind it. MALFORMED: a debugger would
 * refuse the file anyway, and its bytes may be changed in part; INVALID_ARGUMENT: no such abi. */
RAWHAL_CHECKED rawhal_status_t core_change_abi(unsigned char *bytes, size_t size, uint32_t abi,
                                               core_abi_change_t *change, rawhal_error_t *error);

typedef struct core_merged {
  uint64_t bytes;            /* of the file */
  size_t host_ranges, added; /* segments of the host's file, and of the GPUs' */
} core_merged_t;

/* One file of two: all that a core file of the host has, and of a file of its GPUs the note,
 * rawhal's notes, and the memory that the host's has not. INVALID_ARGUMENT: the one is of another
 * process than the other, or has what the other is for; MALFORMED: segments of more bytes than the
 * files have; CAP_EXCEEDED: more of them than a file can have; RUNTIME: it could not be written. */
RAWHAL_CHECKED rawhal_status_t core_merge(const core_file_t *host, const core_file_t *gpus,
                                          core_put_fn *put, void *context, core_merged_t *merged,
                                          rawhal_error_t *error);

#endif
