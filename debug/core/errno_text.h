/* Words for errno without allocating, as strerror() may. Internal to debug/; header only. */
#ifndef RAWHAL_DEBUG_CORE_ERRNO_TEXT_H
#define RAWHAL_DEBUG_CORE_ERRNO_TEXT_H

#include <string.h>

static inline const char *errno_text(int code)
{
  const char *text = strerrordesc_np(code);
  return text ? text : "unknown error";
}

#endif
