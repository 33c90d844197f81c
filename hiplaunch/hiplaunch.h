/* rawhal/hiplaunch.h: what librawhal-hiplaunch has besides HIP's own interface.
 *
 * Programs that hipcc compiled are linked with librawhal-hiplaunch in place of libamdhip64, and
 * include HIP's headers; they need this one only to ask for more than an error's number. Programs
 * that use what librawhal-hiplaunch(7) does not list fail to link. */
#ifndef RAWHAL_HIPLAUNCH_H
#define RAWHAL_HIPLAUNCH_H

#include <rawhal/types.h>

RAWHAL_BEGIN

/* Why the last call of this thread that failed did so, in a line: which kernel, which argument,
 * which numbers. Empty when none has failed. Valid until the thread's next call that fails;
 * hipGetLastError() does not clear it. RAWHAL_LOG=error in the environment prints the same lines on
 * stderr. */
RAWHAL_API const char *hipRawhalLastMessage(void);

RAWHAL_END

#endif
