/* Words for errno without allocating, as strerror() may. Internal to debug/; header only. */
#ifndef RAWHAL_DEBUG_CORE_ERRNO_TEXT_H
#define RAWHAL_DEBUG_CORE_ERRNO_TEXT_H

#include <stdio.h>
#include <string.h>

static inline const char *errno_text(int code)
{
#if __GLIBC_PREREQ(2, 32)
  const char *text = strerrordesc_np(code);
#else /* which took this away */
  const char *text = code >= 0 && code < sys_nerr ? sys_errlist[code] : NULL;
#endif
  return text ? text : "unknown error";
}

#endif
