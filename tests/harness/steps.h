/* Counts what code does, in steps: every basic block of what was compiled with
 * -fsanitize-coverage=trace-pc is one, and so are sixteen bytes of what any code of the program
 * hands to those functions of libraries that STEPS_WRAPPED of tests/harness/steps.cmake names.
 *
 * Steps are the same on a busy machine, and know nothing of the counts that the code keeps of
 * itself. Not for several threads. */
#ifndef TESTS_HARNESS_STEPS_H
#define TESTS_HARNESS_STEPS_H

#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* Since the program started. */
uint64_t steps_counted(void);

/* Bytes that came out of decompressors since the program started. */
uint64_t steps_unpacked(void);

#if defined(__cplusplus)
}
#endif

#endif
