/* The events of an open device: hsaKmtOpenKFD() and hsaKmtCloseKFD() call these. */
#ifndef SOFTGPU_THUNK_EVENT_H
#define SOFTGPU_THUNK_EVENT_H

#include <stdbool.h>

bool softgpu_events_open(void);
void softgpu_events_close(void);

#endif
