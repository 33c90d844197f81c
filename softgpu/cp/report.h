/* Queue errors: what goes to the runtime, and what softgpu_queue_fault() says about it. */
#ifndef SOFTGPU_CP_REPORT_H
#define SOFTGPU_CP_REPORT_H

#include <stdint.h>

#include "softgpu/cp/processor.h"

/* Values of queue_inactive_signal, each with the status that the runtime's callback gets. */
enum {
  SOFTGPU_QUEUE_WANTS_SCRATCH = 1,        /* not an error; the runtime stores 0 when it is there */
  SOFTGPU_QUEUE_WANTS_SCRATCH_32 = 0x400, /* likewise, for waves of 32 lanes */
  SOFTGPU_QUEUE_RETURNS_SCRATCH = 512,    /* likewise */
  SOFTGPU_QUEUE_BAD_DIMENSIONS = 2,       /* INCOMPATIBLE_ARGUMENTS */
  SOFTGPU_QUEUE_BAD_GROUP_SEGMENT = 4,    /* INVALID_ALLOCATION */
  SOFTGPU_QUEUE_BAD_CODE = 8,             /* INVALID_CODE_OBJECT */
  SOFTGPU_QUEUE_BAD_PACKET = 32,          /* INVALID_PACKET_FORMAT */
  SOFTGPU_QUEUE_BAD_WORKGROUP = 64,       /* INVALID_ARGUMENT */
  SOFTGPU_QUEUE_NO_REGISTERS = 128,       /* INVALID_ISA */
  SOFTGPU_QUEUE_BAD_VENDOR_PACKET = 256,  /* INVALID_PACKET_FORMAT */
  SOFTGPU_QUEUE_MEMORY = 0x20000000,      /* MEMORY_APERTURE_VIOLATION */
  SOFTGPU_QUEUE_INSTRUCTION = 0x40000000, /* ILLEGAL_INSTRUCTION */
};
#define SOFTGPU_QUEUE_EXCEPTION 0x80000000u /* EXCEPTION */

/* Stops an AQL queue for good: notes why, then tells the runtime. `fault` is NULL when the packet
 * itself is wrong, which `text` then explains. Where the queue's own signal is none, that is a
 * memory fault of the whole device. */
softgpu_step_t softgpu_report(softgpu_queue_t *queue, uint32_t code, uint64_t kernel_object,
                              const softgpu_fault_t *fault, const char *text);

/* The same without telling the runtime, which knows already. */
void softgpu_report_note(softgpu_queue_t *queue, uint32_t code, uint64_t kernel_object,
                         const softgpu_fault_t *fault, const char *text);

/* Appends a line to what SOFTGPU_REPORT names, if it does; less than 1000 bytes. */
void softgpu_report_line(const char *text);

uint32_t softgpu_report_code(softgpu_fault_kind_t kind);

#endif
