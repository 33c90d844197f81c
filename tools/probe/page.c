#include "tools/probe/page.h"

bool probe_page(show_t *show, rawhal_error_t *error)
{
  (void)show;
  return tool_refuse(error, RAWHAL_UNSUPPORTED, "--html is not there yet");
}
