/* Functions of the softgpu that this process runs on, found by their names. */
#ifndef TOOLS_SHARED_SOFTGPU_H
#define TOOLS_SHARED_SOFTGPU_H

#include <stddef.h>

/* The libraries that softgpu is, of which the runtime has one. */
enum { SOFTGPU_LIBRARIES = 2 };

/* A function's address; NULL: that library is not loaded, is a real thunk, or an older one. */
void *softgpu_function(size_t library, const char *name);

#endif
