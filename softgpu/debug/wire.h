/* How a debugger's side and softgpu talk: a plain header for both.
 *
 * The process that is debugged has a sealed memfd named softgpu-debug with a softgpu_wire_door_t in
 * it. Who may trace the process takes the socket that it names, by pidfd_getfd(2), and sends one
 * end of a SOCK_SEQPACKET pair of its own through it. On that pair each message is a request, and
 * each is answered by one. */
#ifndef SOFTGPU_DEBUG_WIRE_H
#define SOFTGPU_DEBUG_WIRE_H

#include "softgpu/debug/kfd.h"

#define SOFTGPU_WIRE_NAME  "softgpu-debug"
#define SOFTGPU_WIRE_MAGIC 0x67626475706774ull
enum {
  SOFTGPU_WIRE_VERSION = 1,
  SOFTGPU_WIRE_BYTES = 64 << 10, /* of a message, at most */
};

typedef struct softgpu_wire_door {
  uint64_t magic;
  uint32_t version, pid; /* of the process that made it: a child has it, too */
  uint32_t socket, pad;
} softgpu_wire_door_t;

/* With `enable`, the descriptor that events are to be written to comes along. Behind it are ids of
 * queues, for those that are about them. */
typedef struct softgpu_wire_request {
  kfd_debug_t debug;
} softgpu_wire_request_t;

/* Behind it is what the debugger's pointer in `debug` is to get. */
typedef struct softgpu_wire_answer {
  int32_t result; /* as of ioctl(), or -errno */
  uint32_t bytes; /* of what is behind */
  kfd_debug_t debug;
} softgpu_wire_answer_t;

#endif
