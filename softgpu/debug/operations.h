/* What each of the driver's debug operations does. Internal to softgpu. */
#ifndef SOFTGPU_DEBUG_OPERATIONS_H
#define SOFTGPU_DEBUG_OPERATIONS_H

#include <stdatomic.h>
#include <stddef.h>

#include "softgpu/debug/service.h"

/* The service's thread alone uses what is not atomic. */
typedef struct operations {
  service_devices_fn *devices;
  _Atomic bool has_debugger;
  int event_fd;     /* the debugger's */
  uint64_t enabled; /* exceptions that it wants to hear of */
  _Atomic uint64_t r_debug;
  _Atomic uint32_t runtime_next; /* the runtime's thread asks for this state and 1; 0: for none */
  uint32_t runtime_state;
  bool runtime_changed;   /* the debugger has not asked yet */
  _Atomic uint32_t heard; /* grows with each time that it lets the runtime go on */
  _Atomic uint32_t came;  /* and with each debugger that comes or goes */
} operations_t;
extern operations_t operations;

/* `ids` come with the request and are changed where they lie; `fd`, too, or -1, and is the callee's
 * then. What goes back behind `debug` is at `out`, of `*bytes`, which has room for as many. */
int32_t operation_do(kfd_debug_t *debug, uint32_t *ids, size_t count, int fd, void *out,
                     uint32_t *bytes);

/* The debugger has gone, or says so. */
void operation_disable(void);

/* In a child of the program: there is no debugger. */
void operation_forget(void);

/* What has happened on other threads: takes notice of it, and tells the debugger. */
void operation_tell(void);

#endif
