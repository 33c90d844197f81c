/* Memory of work-groups and threads, which the next dispatch has use for. Internal to softgpu. */
#ifndef SOFTGPU_ISA_RUN_KEEP_H
#define SOFTGPU_ISA_RUN_KEEP_H

#include <stddef.h>

/* `size` bytes, a multiple of 256, aligned to 256 and with any content; NULL when out of memory. */
void *isa_keep_take(size_t size);

/* Gives them back; NULL is allowed. */
void isa_keep_give(void *memory, size_t size);

#endif
