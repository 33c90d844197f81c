/* What the files of the thunk share. The thunk answers the hsaKmt calls of the HSA runtime. */
#ifndef SOFTGPU_THUNK_THUNK_H
#define SOFTGPU_THUNK_THUNK_H

#include <stdbool.h>
#include <stdint.h>

#include "softgpu/debug/service.h"
#include "softgpu/device/hsakmt.h"
#include "softgpu/device/opened.h"
#include "softgpu/execute.h"

enum {
  SOFTGPU_MAX_GPUS = 16,
  SOFTGPU_MAX_NODES = SOFTGPU_MAX_GPUS + 1, /* node 0 is the CPU */
  /* Upper halves of the addresses by which FLAT instructions reach LDS and scratch memory. */
  SOFTGPU_LDS_APERTURE_HI = 0x10000,
  SOFTGPU_SCRATCH_APERTURE_HI = 0x20000,
};

#define SOFTGPU_NEED(condition, status)                                                            \
  do {                                                                                             \
    if (!(condition))                                                                              \
      return HSAKMT_STATUS_##status;                                                               \
  } while (0)
#define SOFTGPU_NEED_OPEN() SOFTGPU_NEED(softgpu_opened(), KERNEL_IO_CHANNEL_NOT_OPENED)

/* topology.c. GPUs are nodes 1 to softgpu_gpu_count(). */
void softgpu_topology_open(void);
uint32_t softgpu_gpu_count(void);
uint32_t softgpu_nodes_of_all(void); /* every GPU, as in softgpu_allocation_t.access */
uint64_t softgpu_vram_bytes(void);
/* Of the GPU that is node `node`. */
uint32_t softgpu_compute_units(uint32_t node);
softgpu_chip_t softgpu_chip(uint32_t node);
/* The one that the runtime knows, if its instructions are known. */
softgpu_chip_t softgpu_listed_chip(uint32_t node);
uint32_t softgpu_family(uint32_t node);    /* as libdrm numbers them */
uint32_t softgpu_gws_count(uint32_t node); /* resources of global wave sync */
bool softgpu_sram_ecc(uint32_t node);      /* of the target id that it is listed with */

/* service_devices_fn of this device, as the options are; for who stands in a debugger's process,
 * too. */
uint32_t softgpu_debug_devices(kfd_device_t *devices, uint32_t room);

/* What tells GPUs apart, to newer thunks' callers and in the kernel driver's files: any numbers, of
 * which 0 is the CPU's. */
static inline uint32_t softgpu_gpu_id(uint32_t node)
{
  return node == 0 ? 0 : 0x5f670000u + node;
}

/* The number of a GPU's render node, /dev/dri/renderD*. */
static inline int32_t softgpu_render_minor(uint32_t node)
{
  return 127 + (int32_t)node;
}

/* allocate.c, register.c: release what the runtime has left. */
void softgpu_allocations_close(void);
void softgpu_registrations_close(void);

#endif
