/* rawhal replay: launches a dispatch again, and holds what comes of it against what was. */
#include "tools/replay/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/shared/core_file.h"
#include "tools/shared/demangle.h"
#include "tools/shared/device.h"
#include "tools/shared/tool.h"

enum { DEFAULT_TIMEOUT_SECONDS = 60 };

int replay_source(const replay_request_t *request, const replay_source_t *source,
                  record_reader_t *reader)
{
  replay_t replay = {.request = request, .source = source};
  const bool done =
      replay_prepare(&replay) &&
      (reader ? replay_launch(&replay) && replay_compare(&replay, reader) : replay_fault(&replay));
  replay_report(&replay, done);
  const int status = !done ? TOOL_FAILED : replay.different || replay.other ? TOOL_NO : TOOL_OK;
  replay_release(&replay);
  return status;
}

int replay_cannot(const replay_request_t *request, bool list, const rawhal_error_t *error)
{
  const replay_t none = {.request = request, .error = *error};
  if (request->json && !list)
    replay_report(&none, false);
  else
    (void)tool_fail("replay", error);
  return TOOL_FAILED;
}

/* ---- The command line ---- */

typedef struct replay_words {
  replay_request_t request;
  const char *kernel;
  demangle_when_t demangle;
  bool list;
} replay_words_t;

static const tool_option_t options[] = {
    {TOOL_OPTION("kernel", TEXT, replay_words_t, kernel)},
    {TOOL_OPTION("list", FLAG, replay_words_t, list)},
    {TOOL_OPTION("json", FLAG, replay_words_t, request.json)},
    {DEVICE_OPTION(replay_words_t, request.backend)},
    {TOOL_OPTION("timeout", NUMBER, replay_words_t, request.timeout_seconds), .most = 1000000,
     .wrong = "--timeout: expected 0 to 1000000 seconds, got '%s'"},
    DEMANGLE_OPTIONS(replay_words_t, demangle),
    {0},
};

static int run(int argc, char **argv)
{
  replay_words_t words = {.request.timeout_seconds = DEFAULT_TIMEOUT_SECONDS};
  if (!option_read_all("replay", options, false, &argc, &argv, &words))
    return TOOL_USAGE;
  if (argc != 1)
    return tool_usage("replay", "expected a FILE");
  words.request.path = *argv;
  words.request.demangle = demangle_text(words.demangle);
  if (!core_input_is(*argv))
    return replay_recording(&words.request, words.kernel, words.list);
  if (words.list)
    return tool_usage("replay", "--list is for recordings; 'rawhal core show' shows a core file");
  return replay_core(&words.request, words.kernel);
}

const tool_command_t replay_command = {
    .name = "replay",
    .summary = "launch a dispatch of a recording or a core file again, and compare",
    .help = "usage: rawhal replay FILE|CORE [--kernel N|NAME] [OPTIONS]\n"
            "       rawhal replay FILE --list [--json]\n\n"
            "Launches a dispatch of a recording again, with the recorded code object, grid,\n"
            "arguments, and contents of buffers and variables. Pointers into recorded buffers\n"
            "are relocated, including those in arguments by value and in buffers. Hidden\n"
            "arguments are as recorded. Then compares buffers and variables with what was\n"
            "recorded after the dispatch, and shows the first byte that differs. Says what is\n"
            "missing from the recording and what had to be guessed.\n\n"
            "Of a CORE file that rawhal wrote with RAWHAL_CORE_CONTENTS=kernargs or =all,\n"
            "launches the dispatch that failed, and says whether it fails again in the same\n"
            "way: kind, kernel, pc, access, and address relative to its buffer. Memory that\n"
            "was freed is not there; what the file has no contents of is zeros.\n\n"
            "options:\n"
            "  --kernel N|NAME    the number of the dispatch, or the first dispatch of this\n"
            "                     kernel; required if there are several and none failed\n"
            "  --list             list the contents of FILE, and whether it is complete\n"
            "  --json             print one JSON document (schema \"rawhal-replay-1\", of\n"
            "                     --list \"rawhal-recording-1\") instead of text\n"
            "  --device KIND      softgpu or hsa (hardware); default: hardware if present\n"
            "  --timeout SECONDS  stop a kernel that runs longer; default: 60; 0: never\n"
            "  --demangle         print C++ names of kernels as in the source, which is the\n"
            "                     default on a terminal; --no-demangle: never. JSON always\n"
            "                     has the mangled names\n"
            "  --help             show this text\n\n"
            "exit status:\n"
            "  0   the dispatch produced the recorded bytes, or failed in the same way\n"
            "  1   the dispatch produced other bytes, or did not fail in the same way\n"
            "  2   the command line is wrong\n"
            "  3   FILE cannot be read, or the dispatch cannot be replayed or compared;\n"
            "      standard error says why\n",
    .run = run,
    .options = options,
};
