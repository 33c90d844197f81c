/* Collecting what is odd about an object. Internal.
 *
 * Oddities that shipping libraries have by the ten thousand ("quirks") are counted and become one
 * diagnostic each when the object is complete; everything else is recorded as it is found. */
#ifndef RAWHAL_HSACO_DIAGNOSTICS_H
#define RAWHAL_HSACO_DIAGNOSTICS_H

#include "hsaco/arena.h"
#include "hsaco/hsaco.h"

typedef enum quirk {
  QUIRK_UNNAMED_ARGUMENTS,
  QUIRK_SEGMENT_SIZE_UNALIGNED,
  QUIRK_POINTER_UNALIGNED,
  QUIRK_UNKNOWN_KERNEL_KEY,
  QUIRK_UNKNOWN_ARGUMENT_KEY,
  QUIRK_UNKNOWN_VALUE_KIND,
  QUIRK_ARGUMENTS_UNORDERED,
  QUIRK_REGISTER_COUNT,
  QUIRK_DESCRIPTOR_RESERVED,
  QUIRK_NO_DESCRIPTOR_SYMBOL,
  QUIRK_NAME_TWICE,
  QUIRK_COUNT
} quirk_t;

typedef struct quirk_count {
  size_t kernels;
  rawhal_string_t first; /* kernel */
} quirk_count_t;

typedef struct diagnostics {
  arena_t *arena;
  rawhal_diagnostic_t *items;
  size_t count, capacity, most;
  size_t unrecorded;
  quirk_count_t quirks[QUIRK_COUNT];
} diagnostics_t;

void diagnostics_init(diagnostics_t *diagnostics, arena_t *arena, size_t most);

/* `message` is not copied: it is static, or in the arena. What finds no memory shows in the arena
 * status, for the end of opening. */
void diagnose(diagnostics_t *diagnostics, rawhal_severity_t severity, rawhal_string_t kernel,
              uint64_t offset, rawhal_string_t message);

/* Formats, unless the list is full. */
__attribute__((format(printf, 5, 6))) void diagnose_print(diagnostics_t *diagnostics,
                                                          rawhal_severity_t severity,
                                                          rawhal_string_t kernel, uint64_t offset,
                                                          const char *format, ...);

/* Counts a quirk of `kernel`; call once per kernel. */
void diagnose_quirk(diagnostics_t *diagnostics, quirk_t quirk, rawhal_string_t kernel);

/* Turns the counted quirks and the unrecorded rest into diagnostics. */
void diagnostics_finish(diagnostics_t *diagnostics);

#endif
