#include "base/version.h"

#define TEXT(number)  #number
#define VALUE(number) TEXT(number)

uint32_t rawhal_version(void)
{
  return RAWHAL_VERSION;
}

const char *rawhal_version_text(void)
{
  return VALUE(RAWHAL_VERSION_MAJOR) "." VALUE(RAWHAL_VERSION_MINOR) "." VALUE(
      RAWHAL_VERSION_PATCH);
}
