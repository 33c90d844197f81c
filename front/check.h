/* Whether a dispatch is what its kernel takes: kernargs against the layout, segments against the
 * descriptor, the grid against the kernel's bounds, pointers against the memory that there is.
 *
 * What counts as a mistake follows from what the code object says and the program allocated, not
 * from what the kernel does: an index out of bounds is not seen, nor a pointer inside of a
 * structure that is passed by value, nor one in memory. A NULL pointer is not a mistake, nor one of
 * all ones.
 *
 * Thread-safety: everything may be called from any thread. */
#ifndef RAWHAL_FRONT_CHECK_H
#define RAWHAL_FRONT_CHECK_H

#include "front/objects.h"
#include "front/ranges.h"

typedef struct check_subject {
  const front_kernel_t *kernel;
  const hsa_kernel_dispatch_packet_t *packet;
  const front_device_t *device;
  uint64_t queue_id;
  hsa_agent_t code_agent; /* for which the kernel was loaded; 0: not known */
} check_subject_t;

enum { CHECK_TEXT = 512 };
/* `about`: what tells one mistake of a kernel's from another, such as an argument's index. */
typedef void check_report_fn(void *context, const check_subject_t *subject, uint32_t about,
                             const char *message);

/* How many mistakes it has; each is reported. `*unread`: the kernargs are in a device's memory that
 * the host cannot read, and what is in them was not looked at. */
size_t check_dispatch(const check_subject_t *subject, check_report_fn *report, void *context,
                      bool *unread);

/* Has the device been given the memory that lies at the address? */
bool check_given(const front_device_t *device, const range_t *range, uint64_t address);

#endif
