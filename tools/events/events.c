/* rawhal events: what a process does, as it does it. */
#include "tools/events/events.h"

#include <stdlib.h>
#include <string.h>

#include "tools/shared/demangle.h"

/* "submit,complete" */
static bool read_types(const char *command, const tool_option_t *option, const char *text,
                       void *place)
{
  uint64_t *types = place;
  (void)command, (void)option;
  for (const char *at = text;; ++at) {
    const size_t size = strcspn(at, ",");
    unsigned type = 1;
    while (type < RAWHAL_EVENT_TYPES &&
           !(strlen(rawhal_event_type_name((rawhal_event_type_t)type)) == size &&
             !memcmp(at, rawhal_event_type_name((rawhal_event_type_t)type), size)))
      ++type;
    if (type == RAWHAL_EVENT_TYPES)
      return false;
    *types |= RAWHAL_EVENT_BIT(type);
    at += size;
    if (!*at)
      return true;
  }
}

static const tool_option_t options[] = {
    DEMANGLE_OPTIONS(events_request_t, demangle),
    {TOOL_OPTION("json", FLAG, events_request_t, json)},
    {TOOL_OPTION("list", FLAG, events_request_t, list)},
    {DOORS_OPTION(events_request_t, of)},
    {TOOL_OPTION("read", TEXT, events_request_t, read)},
    {TOOL_OPTION("save", TEXT, events_request_t, save)},
    {TOOL_OPTION("types", READ, events_request_t, types), .read = read_types,
     .wrong = "--types: '%s' is no list of types, such as submit,complete,fault"},
    {0},
};

static int watch_process(events_output_t *output, pid_t process)
{
  const events_request_t *request = output->request;
  rawhal_error_t error = {.offset = RAWHAL_NO_OFFSET}, second;
  doors_t doors;
  bool done = doors_open(&doors, process, request->of, &error) &&
              (!request->save || events_file_open(&output->file, request->save, process, &error)) &&
              events_watch(output, &doors, false, &error);
  done = events_file_close(&output->file, done ? &error : &second) && done;
  doors_close(&doors);
  return done ? TOOL_OK : tool_fail("events", &error);
}

static int show_file(events_output_t *output)
{
  rawhal_error_t error = {.offset = RAWHAL_NO_OFFSET};
  return events_read(output, &error) ? TOOL_OK : tool_fail("events", &error);
}

static int act(events_output_t *output, int argc, char **argv, bool program)
{
  const events_request_t *request = output->request;
  pid_t process;
  if (request->save && (request->read || request->list))
    return tool_usage("events", "--save is of what happens, without --%s",
                      request->read ? "read" : "list");
  if (request->read && (argc || program))
    return tool_usage("events", "--read FILE takes no process and no program");
  if (request->read)
    return show_file(output);
  if (program && (request->list || !argc))
    return tool_usage("events", argc ? "--list needs a process that runs" : "expected PROGRAM");
  if (program)
    return events_run(output, argv);
  if (argc != 1)
    return tool_usage("events", "expected one PID, --read FILE, or -- PROGRAM");
  if (!doors_read_process(*argv, &process))
    return tool_usage("events", "'%s' is not the number of a process", *argv);
  return watch_process(output, process);
}

static bool has_program(int argc, char *const *argv)
{
  for (int i = 1; i < argc; ++i)
    if (!strcmp(argv[i], "--"))
      return true;
  return false;
}

static int run(int argc, char **argv)
{
  const bool program = has_program(argc, argv);
  events_request_t request = {0};
  events_output_t output = {.request = &request, .exists = -1};
  if (!option_read_all("events", options, program, &argc, &argv, &request))
    return TOOL_USAGE;
  if (program && argv[-1] && strcmp(argv[-1], "--") != 0)
    return tool_usage("events", "expected a PID or -- PROGRAM, not both");
  const int status = act(&output, argc, argv, program);
  kernels_free(&output.kernels);
  list_free(&output.labels);
  return status;
}

const tool_command_t events_command = {
    .name = "events",
    .summary = "show what a process does on GPUs, as it does it",
    .help = "usage: rawhal events PID [OPTIONS]\n"
            "       rawhal events [OPTIONS] -- PROGRAM [ARGUMENTS...]\n"
            "       rawhal events --read FILE [OPTIONS]\n\n"
            "Shows what exists in a process, and then what happens in it: code is loaded,\n"
            "queues and memory come and go, submissions begin and end, limits hold them\n"
            "back, kernels fail. The process uses librawhal, or is run by 'rawhal exec'. It\n"
            "is not stopped and does not wait: events that are not read in time are lost,\n"
            "and counted. Until the process ends or this command is interrupted.\n\n"
            "With PROGRAM, starts it and shows all of its events. They are printed on\n"
            "standard output, as is what the program prints.\n\n"
            "options:\n"
            "  --demangle       show C++ names of kernels as in source; the default on a\n"
            "                   terminal\n"
            "  --json           print one JSON object per line (schema \"rawhal-events-1\")\n"
            "  --list           show what exists, and end\n"
            "  --no-demangle    show the names of symbols\n"
            "  --of DOOR        only what librawhal in the process tells (library), or what\n"
            "                   'rawhal exec' does (front); default: both\n"
            "  --read FILE      show the events that --save has saved; a FILE of - is\n"
            "                   standard input\n"
            "  --save FILE      save all events in FILE, too, which must not exist\n"
            "  --types LIST     show only these, of module-load, module-unload, kernel,\n"
            "                   queue-create, queue-destroy, allocate, free, submit,\n"
            "                   complete, throttle, fault, dump and label\n"
            "  --help           show this text\n\n"
            "environment:\n"
            "  RAWHAL_DOOR  of the process: off, and it shows nothing\n\n"
            "exit status: that of PROGRAM, or\n"
            "  0    success\n"
            "  2    the command line is wrong\n"
            "  3    there is no such process, it shows nothing or may not be looked at, or a\n"
            "       file cannot be read or written; standard error says why\n"
            "  126  PROGRAM cannot be run\n"
            "  127  PROGRAM does not exist\n",
    .run = run,
    .options = options,
    .runs_program = true,
};
