/* The other side of the debug service: finding it in a process, and asking it. Internal to what
 * stands in a debugger's process. */
#ifndef SOFTGPU_SYSTEM_REACH_H
#define SOFTGPU_SYSTEM_REACH_H

#include <stddef.h>

#include "softgpu/debug/wire.h"

/* A connection to the softgpu of a process, or -1. */
int reach_open(uint32_t pid);

/* Sends the operation, with what is behind it and a descriptor (or -1), and waits for the answer,
 * at most ten seconds. 0, or -errno: ESRCH when nobody is there any more. */
int reach_ask(int connection, const kfd_debug_t *debug, const void *behind, size_t size, int fd,
              void *answer, size_t room);

#endif
