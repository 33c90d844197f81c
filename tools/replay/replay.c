/* rawhal replay: launches a dispatch again, and holds what comes of it against what was. */
#include "tools/replay/past.h"

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
  replay_past_t past = {.order = request->back.order};
  replay_t replay = {
      .request = request, .source = source, .past = request->back.order ? &past : NULL};
  if (request->back.stop_at || request->back.last_write)
    return replay_go_back(request, source);
  const bool done = replay_prepare(&replay) && past_follow(&replay) &&
                    (reader ? replay_launch(&replay) && replay_compare(&replay, reader)
                            : replay_fault(&replay)) &&
                    (!replay.past || past_told(&replay, &past));
  replay_report(&replay, done);
  const int status = !done ? TOOL_FAILED : replay.different || replay.other ? TOOL_NO : TOOL_OK;
  replay_release(&replay);
  list_free(&past.writers);
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

static option_read_fn read_order;

static const tool_option_t options[] = {
    {TOOL_OPTION("kernel", TEXT, replay_words_t, kernel)},
    {TOOL_OPTION("stop-at", TEXT, replay_words_t, request.back.stop_at)},
    {TOOL_OPTION("last-write", TEXT, replay_words_t, request.back.last_write)},
    {TOOL_OPTION("core", TEXT, replay_words_t, request.back.core)},
    {TOOL_OPTION("order", READ, replay_words_t, request.back.order), .read = read_order,
     .wrong = "--order: expected a number from 1 on, got '%s'"},
    {TOOL_OPTION("list", FLAG, replay_words_t, list)},
    {TOOL_OPTION("json", FLAG, replay_words_t, request.json)},
    {DEVICE_OPTION(replay_words_t, request.backend)},
    {TOOL_OPTION("timeout", NUMBER, replay_words_t, request.timeout_seconds), .most = 1000000,
     .wrong = "--timeout: expected 0 to 1000000 seconds, got '%s'"},
    DEMANGLE_OPTIONS(replay_words_t, demangle),
    {0},
};

static bool read_order(const char *command, const tool_option_t *option, const char *text,
                       void *place)
{
  (void)command, (void)option;
  return tool_parse_number(text, UINT64_MAX, place) && *(const uint64_t *)place;
}

/* Everything that goes back needs softgpu, and an order: the one that is said, that of the
 * environment, or the usual one. False: the usage error was printed. */
static bool settle_back(replay_request_t *request)
{
  past_moment_t moment;
  past_bytes_t bytes;
  replay_back_t *back = &request->back;
  const char *environment = getenv("SOFTGPU_ORDER");
  const bool goes_back = back->stop_at || back->last_write;
  if (back->core && !goes_back)
    (void)tool_usage("replay", "--core needs --stop-at or --last-write");
  else if (request->backend == RAWHAL_BACKEND_HSA && (goes_back || back->order))
    (void)tool_usage("replay", "--stop-at, --last-write and --order need softgpu, not hardware");
  else if (back->stop_at && !past_read_moment(back->stop_at, &moment))
    (void)tool_usage("replay",
                     "--stop-at: expected X,Y,Z/WAVE:INSTRUCTIONS, WAVE:INSTRUCTIONS, "
                     "SYMBOL+OFFSET[:N] or 0xADDRESS[:N], got '%s'",
                     back->stop_at);
  else if (back->last_write && !past_read_bytes(back->last_write, &bytes))
    (void)tool_usage("replay",
                     "--last-write: expected ADDRESS[:BYTES], ARGUMENT+OFFSET[:BYTES] or "
                     "lds@X,Y,Z+OFFSET[:BYTES], of at most %d bytes, got '%s'",
                     SOFTGPU_BACK_BYTES, back->last_write);
  else {
    if (goes_back && !back->order &&
        (!environment || !tool_parse_number(environment, UINT64_MAX, &back->order) || !back->order))
      back->order = 1;
    if (back->order)
      request->backend = RAWHAL_BACKEND_SOFTGPU;
    return true;
  }
  return false;
}

static int run(int argc, char **argv)
{
  replay_words_t words = {.request.timeout_seconds = DEFAULT_TIMEOUT_SECONDS};
  if (!option_read_all("replay", options, false, &argc, &argv, &words))
    return TOOL_USAGE;
  if (argc != 1)
    return tool_usage("replay", "expected a FILE");
  if (!settle_back(&words.request))
    return TOOL_USAGE;
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
            "       rawhal replay FILE|CORE --stop-at MOMENT|--last-write BYTES [--core OUT]\n"
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
            "With --stop-at or --last-write, runs it on softgpu in an order that is the same\n"
            "each time, stops there, and names the instruction, line, wave and lane that\n"
            "wrote bytes last.\n\n"
            "options:\n"
            "  --kernel N|NAME    the number of the dispatch, or the first dispatch of this\n"
            "                     kernel; required if there are several and none failed\n"
            "  --stop-at MOMENT   X,Y,Z/WAVE:COUNT or WAVE:COUNT, when that wave has executed\n"
            "                     so many instructions; or SYMBOL+OFFSET[:N] or\n"
            "                     0xADDRESS[:N], before the N-th time that any wave does\n"
            "  --last-write BYTES ADDRESS[:COUNT] as recorded, ARGUMENT[+OFFSET][:COUNT] of a\n"
            "                     name or %0, %1, ..., or lds@X,Y,Z+OFFSET[:COUNT]; COUNT is\n"
            "                     4 unless said. Who wrote them last, up to the MOMENT?\n"
            "  --core OUT         write a core file there, for gdb and 'rawhal core show';\n"
            "                     with --last-write of the moment before that write\n"
            "  --order NUMBER     the order of turns of waves: 1, the usual one, or another\n"
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
