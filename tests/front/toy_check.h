// The front's checks of one packet, without a runtime: all memory there is are its ranges.
#ifndef RAWHAL_TESTS_FRONT_TOY_CHECK_H
#define RAWHAL_TESTS_FRONT_TOY_CHECK_H

#include "front/ranges.h"

#include <hsa/hsa.h>
#include <rawhal/kernarg.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TOY_CHECK_AGENT = 2, TOY_CHECK_OTHER = 3 };

// How many mistakes the packet has, and what is said of each, a line a mistake.
size_t toy_check(const rawhal_kernel_t *kernel, const hsa_kernel_dispatch_packet_t *packet,
                 char *text, size_t room);
// Which agents reach all of the runtime's memory.
void toy_check_access(uint64_t agent);

// For which agent the kernel was loaded; 0: it is not known.
void toy_check_loaded_for(uint64_t agent);
// What the runtime knows of one piece of memory, by either address; size 0: nothing.
typedef struct toy_check_memory {
  uint64_t device, host, size, owner;
  int type; // hsa_amd_pointer_type_t
} toy_check_memory_t;
void toy_check_knows(const toy_check_memory_t *memory);
// Whether devices reach all of the host's memory.
void toy_check_reaches(bool reaches);

#ifdef __cplusplus
}
#endif

#endif
