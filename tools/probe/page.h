/* rawhal probe show --html: a page for browsers. */
#ifndef TOOLS_PROBE_PAGE_H
#define TOOLS_PROBE_PAGE_H

#include "tools/probe/show.h"

bool probe_page(show_t *show, rawhal_error_t *error);

#endif
