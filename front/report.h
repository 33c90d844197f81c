/* Lines for the user who runs the program, and for who started it. Internal. */
#ifndef RAWHAL_FRONT_REPORT_H
#define RAWHAL_FRONT_REPORT_H

#include "front/front.h"

/* One line for the user who runs the program, to the file or descriptor that
 * RAWHAL_FRONT_REPORT names (2 without; empty: none). */
__attribute__((format(printf, 1, 2))) void front_report(const char *format, ...);

/* The same of text as it is, which ends with a newline. */
void front_report_text(const char *text, size_t size);

/* marker.c: true when the marker exists, from now or before. False: errno says why it cannot be. */
bool marker_create(void);

#endif
