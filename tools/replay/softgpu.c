/* rawhal replay: what softgpu is asked of the dispatch, and tells. */
#include "tools/shared/softgpu.h"
#include "tools/replay/past.h"
#include "tools/shared/tool.h"

typedef struct functions {
  softgpu_back_ask_fn *ask;
  softgpu_back_told_fn *told;
} functions_t;

static bool functions_of(size_t library, functions_t *found)
{
  /* POSIX promises that an object pointer from dlsym() holds a function's address. */
  *(void **)&found->ask = softgpu_function(library, "softgpu_back");
  *(void **)&found->told = softgpu_function(library, "softgpu_back_told");
  return found->ask && found->told;
}

bool past_ask(replay_t *replay, const softgpu_back_t *asked)
{
  functions_t found;
  bool done = false;
  for (size_t i = 0; i < SOFTGPU_LIBRARIES && !done;
       ++i) /* of one that has no order it is refused */
    done = functions_of(i, &found) && found.ask(asked, sizeof(*asked));
  return done || tool_refuse(&replay->error, RAWHAL_UNSUPPORTED,
                             "softgpu cannot be asked: it is older than the command, has no order "
                             "(SOFTGPU_DEBUG), or has no memory for that");
}

typedef struct taking {
  replay_past_t *past;
  bool failed;
} taking_t;

static void take_writer(void *context, const softgpu_back_writer_t *writer)
{
  taking_t *taking = context;
  taking->failed |= !list_add(&taking->past->writers, writer, sizeof(*writer));
}

bool past_told(replay_t *replay, replay_past_t *past)
{
  functions_t found;
  taking_t taking = {past, false};
  bool done = false;
  list_free(&past->writers);
  for (size_t i = 0; i < SOFTGPU_LIBRARIES && !done; ++i)
    done = functions_of(i, &found) &&
           found.told(&past->told, sizeof(past->told), take_writer, &taking);
  if (!done)
    return tool_refuse(&replay->error, RAWHAL_RUNTIME, "softgpu does not say what came of it");
  return !taking.failed || tool_refuse(&replay->error, RAWHAL_OUT_OF_MEMORY, "out of memory");
}

bool past_follow(replay_t *replay)
{
  if (!replay->past)
    return true;
  const softgpu_back_t asked = {.kernel_object =
                                    rawhal_device_kernel_info(replay->kernel)->kernel_object};
  return past_ask(replay, &asked);
}
