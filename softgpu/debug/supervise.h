/* Waves under a debugger: what stops them, and what it is told of it. Internal to softgpu. */
#ifndef SOFTGPU_DEBUG_SUPERVISE_H
#define SOFTGPU_DEBUG_SUPERVISE_H

/* From the next dispatch on, which there is to be none of before. */
void supervise_start(void);

/* Likewise: as before. */
void supervise_forget(void);

#endif
