#include "tools/probe/page.h"

#include "tools/shared/page/page.h"

extern const page_parts_t page_of_probes;

bool probe_page(show_t *show, rawhal_error_t *error)
{
  page_t page;
  rawhal_error_t failure = {.offset = RAWHAL_NO_OFFSET};
  if (!page_begin(&page, &page_of_probes, show->request->html, &show->path, 1, error))
    return false;
  show->json.out = page.data;
  show->json.line = true;
  show->form = &show_json;
  show->most = SHOW_PAGE_DISPATCHES;
  const bool done = show_all(show, error);
  return page_end(&page, done ? error : &failure) && done;
}
