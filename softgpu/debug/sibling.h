/* Threads of the device that a debugger of the program does not stop. Internal to softgpu.
 *
 * They are those of another process, which has this one's memory and files and which nobody traces.
 * It ends with the program. */
#ifndef SOFTGPU_DEBUG_SIBLING_H
#define SOFTGPU_DEBUG_SIBLING_H

#include <stdbool.h>

/* Makes it, once. From then on softgpu_thread_start() starts threads there. False: it could not be
 * made, and threads are the program's own. */
bool softgpu_sibling_start(void);

/* In a child of the program, which has none: threads are the child's own. */
void softgpu_sibling_forget(void);

#endif
