/* Stopping every processor between two packets: softgpu_pause() and softgpu_resume(). */
#ifndef SOFTGPU_CP_PAUSE_H
#define SOFTGPU_CP_PAUSE_H

#include <stdbool.h>

bool softgpu_pausing(void);

/* softgpu_pause() that gives up: false, and no pause, when a processor is still busy after that
 * many milliseconds. */
bool softgpu_pause_within(unsigned milliseconds);

/* A processor's thread counts from join to leave. Between, it calls park when it is pausing; park
 * returns when the pause is over or `stop` is set. */
void softgpu_pause_join(void);
void softgpu_pause_leave(void);
void softgpu_pause_park(const bool *stop);

/* Makes parked processors look at their `stop` again. */
void softgpu_pause_nudge(void);

#endif
