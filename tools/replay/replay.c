/* rawhal replay: launches a dispatch of a recording, and holds what it leaves against what was. */
#include "tools/replay/replay.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/shared/demangle.h"
#include "tools/shared/device.h"
#include "tools/shared/tool.h"

enum { DEFAULT_TIMEOUT_SECONDS = 60 };

void replay_note(replay_t *replay, const char *format, ...)
{
  va_list args;
  if (replay->note_count++ >= REPLAY_NOTES)
    return;
  va_start(args, format);
  vsnprintf(replay->notes[replay->note_count - 1], REPLAY_NOTE, format, args);
  va_end(args);
}

/* ---- Which dispatch ---- */

static bool is_named(const record_dispatch_t *dispatch, const char *name)
{
  const size_t size = strlen(name);
  return tool_text_is(dispatch->kernel, name) ||
         (dispatch->kernel.size == size + 3 && !memcmp(dispatch->kernel.data, name, size) &&
          !memcmp(dispatch->kernel.data + size, ".kd", 3));
}

/* By number, by the kernel's name (the first one), or the only one. */
static bool choose(record_reader_t *reader, const char *wanted, uint64_t *number,
                   rawhal_error_t *error)
{
  record_dispatch_t dispatch;
  const uint64_t count = record_reader_info(reader)->dispatches;
  if (!count)
    return tool_refuse(error, RAWHAL_NOT_FOUND, "the recording has no dispatch");
  if (!wanted) {
    *number = 1;
    return count == 1 || tool_refuse(error, RAWHAL_NOT_FOUND,
                                     "there are %" PRIu64
                                     " dispatches: choose one with --kernel (--list lists them)",
                                     count);
  }
  if (tool_parse_number(wanted, UINT64_MAX, number))
    return (*number && *number <= count) ||
           tool_refuse(error, RAWHAL_NOT_FOUND, "there is no dispatch %s of %" PRIu64, wanted,
                       count);
  for (*number = 1; *number <= count; ++*number) {
    if (record_reader_dispatch(reader, *number, &dispatch, error))
      return false;
    if (is_named(&dispatch, wanted))
      return true;
  }
  return tool_refuse(error, RAWHAL_NOT_FOUND, "none of %" PRIu64 " dispatches is of kernel '%s'",
                     count, wanted);
}

/* ---- One of them ---- */

/* The texts of the dispatch are the reader's: what is wanted longer is copied. */
static bool take_dispatch(replay_t *replay)
{
  const uint64_t number = replay->request->number;
  record_dispatch_t *recorded = &replay->recorded;
  if (record_reader_dispatch(replay->reader, number, recorded, &replay->error))
    return false;
  replay->image_size = recorded->kernargs.size;
  replay->image = malloc(replay->image_size + 1);
  replay->kernel_name = malloc(recorded->kernel.size + 1);
  if (!replay->image || !replay->kernel_name)
    return tool_refuse(&replay->error, RAWHAL_OUT_OF_MEMORY, "out of memory");
  memcpy(replay->image, recorded->kernargs.data, replay->image_size);
  memcpy(replay->kernel_name, recorded->kernel.data, recorded->kernel.size);
  replay->kernel_name[recorded->kernel.size] = 0;
  recorded->kernel.data = replay->kernel_name;
  recorded->kernargs.data = replay->image;
  return true;
}

static void release(replay_t *replay)
{
  rawhal_queue_destroy(replay->queue);
  for (size_t i = 0; i < replay->buffer_count; ++i)
    if (replay->buffers[i].owned)
      rawhal_buffer_free(replay->buffers[i].memory);
  free(replay->buffers);
  rawhal_executable_destroy(replay->executable);
  rawhal_hsaco_close(replay->hsaco);
  free(replay->object);
  free(replay->image);
  free(replay->kernel_name);
  rawhal_instance_destroy(replay->instance);
}

static int replay_one(const replay_request_t *request, record_reader_t *reader)
{
  replay_t replay = {.request = request, .reader = reader};
  const bool done = take_dispatch(&replay) && replay_load(&replay) && replay_fill(&replay) &&
                    replay_relocate(&replay) && replay_launch(&replay) && replay_compare(&replay);
  replay_report(&replay, done);
  const int status = !done ? TOOL_FAILED : replay.different ? TOOL_NO : TOOL_OK;
  release(&replay);
  return status;
}

/* ---- The command line ---- */

/* Before there is anything to report on. */
static int cannot(const replay_request_t *request, bool list, const rawhal_error_t *error)
{
  const replay_t none = {.request = request, .error = *error};
  if (request->json && !list)
    replay_report(&none, false);
  else
    (void)tool_fail("replay", error);
  return TOOL_FAILED;
}

static int replay_file(replay_request_t *request, const char *wanted, bool list)
{
  record_reader_t *reader;
  rawhal_error_t error;
  uint64_t number;
  int status = TOOL_OK;
  if (record_reader_open(request->path, &reader, &error))
    return cannot(request, list, &error);
  if (list ? !replay_list(reader, request, &error) : !choose(reader, wanted, &number, &error)) {
    status = cannot(request, list, &error);
  } else if (!list) {
    request->number = number;
    status = replay_one(request, reader);
  }
  record_reader_close(reader);
  return status;
}

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
  return replay_file(&words.request, words.kernel, words.list);
}

const tool_command_t replay_command = {
    .name = "replay",
    .summary = "launch a recorded dispatch, and compare the results",
    .help = "usage: rawhal replay FILE [--kernel N|NAME] [OPTIONS]\n"
            "       rawhal replay FILE --list [--json]\n\n"
            "Launches a dispatch of a recording again, with the recorded code object, grid,\n"
            "arguments, and contents of buffers and variables. Pointers into recorded buffers\n"
            "are relocated, including those in arguments by value and in buffers. Hidden\n"
            "arguments are as recorded. Then compares buffers and variables with what was\n"
            "recorded after the dispatch, and shows the first byte that differs. Says what is\n"
            "missing from the recording and what had to be guessed.\n\n"
            "options:\n"
            "  --kernel N|NAME    the number of the dispatch, or the first dispatch of this\n"
            "                     kernel; required if there are several\n"
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
            "  0   the dispatch produced the recorded bytes\n"
            "  1   the dispatch produced other bytes\n"
            "  2   the command line is wrong\n"
            "  3   FILE cannot be read, or the dispatch cannot be replayed or compared;\n"
            "      standard error says why\n",
    .run = run,
    .options = options,
};
