/* Records of dispatches that nobody has asked for one by one: what SOFTGPU_PROBE says. Internal to
 * softgpu.
 *
 * Who decides which those are, plans their probes and writes a file is a library beside softgpu's,
 * libsoftgpu-probe.so, which is loaded where that is set, and is made of other parts of this
 * project (probes/). This is all that the two know of each other. */
#ifndef SOFTGPU_PROBER_H
#define SOFTGPU_PROBER_H

#include <stdbool.h>
#include <stddef.h>

#include "probe/probe_records.h"

/* What a prober may ask of the device. */
typedef struct softgpu_prober_device {
  /* Where the host has so many bytes of a device's memory; NULL: they are not all there. */
  void *(*reach)(uint32_t node, uint64_t address, uint64_t size, bool write);
  /* The first allocation that ends above an address, and which of its bytes are. */
  bool (*allocation)(uint64_t address, uint64_t *base, uint64_t *size);
  bool (*chip)(uint32_t node, uint32_t *chip, uint32_t *listed); /* softgpu_device_chip() */
  uint64_t (*generation)(void);     /* it differs when memory has been freed meanwhile */
  void (*report)(const char *text); /* a line for SOFTGPU_REPORT */
} softgpu_prober_device_t;

/* A dispatch that is about to run, as its packet has it. */
typedef struct softgpu_prober_dispatch {
  uint32_t node;
  bool sram_ecc;  /* of the target id */
  uint64_t queue; /* the runtime's number for it */
  uint64_t kernel_object, kernarg;
  uint32_t grid[3], group_bytes, private_bytes;
  uint16_t workgroup[3];
} softgpu_prober_dispatch_t;

/* What it is to record, as softgpu_probe() has it; the argument's addresses are the host's. */
typedef struct softgpu_prober_wish {
  rawhal_probe_argument_t argument;
  uint32_t kinds, event_bytes, counters;
  const rawhal_probe_point_t *points;
  size_t count;
} softgpu_prober_wish_t;

typedef struct softgpu_prober {
  /* The device is opened, perhaps not for the first time: makes the file, once. False, and why: it
   * cannot be made, or is another device's of this process; nothing else is called then. */
  bool (*open)(const softgpu_prober_device_t *device, char *why, size_t size);
  /* NULL: nothing is recorded of it. Else it runs, and then _end() is called. */
  void *(*begin)(const softgpu_prober_dispatch_t *dispatch, softgpu_prober_wish_t *wish);
  void (*end)(void *run, bool completed);
} softgpu_prober_t;

/* The library's one function, softgpu_prober(), with what the environment has. NULL, and why: it
 * makes no sense. What it gives is called by any thread, and stays to the process's end. */
typedef const softgpu_prober_t *softgpu_prober_fn(const char *rules, const char *path,
                                                  const char *bytes, char *why, size_t size);

#endif
