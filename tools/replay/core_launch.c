/* rawhal replay: a core file, from its opening on. */
#include "tools/replay/core.h"

int replay_core(const replay_request_t *request, const char *wanted)
{
  static replay_core_t core; /* large */
  core_input_t input;
  rawhal_error_t error;
  const bool done = core_input_open(&input, request->path, &error) &&
                    replay_core_read(&input.file, wanted, &core, &error);
  const int status =
      done ? replay_source(request, &core.source, NULL) : replay_cannot(request, false, &error);
  replay_core_free(&core);
  core_input_close(&input);
  return status;
}
