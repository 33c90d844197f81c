/* rawhal replay: a core file, from its opening on. */
#include <stdlib.h>

#include "tools/replay/core.h"

int replay_core(const replay_request_t *request, const char *wanted)
{
  static replay_core_t core; /* large */
  core_input_t input;
  rawhal_error_t error;
  (void)unsetenv("RAWHAL_CORE"); /* what fails here would write a core file, over that one even */
  const bool done = core_input_open(&input, request->path, &error) &&
                    replay_core_read(&input.file, wanted, &core, &error);
  const int status =
      done ? replay_source(request, &core.source, NULL) : replay_cannot(request, false, &error);
  replay_core_free(&core);
  core_input_close(&input);
  return status;
}
