/* rawhal attach: looks into a process that runs. */
#include "tools/attach/attach.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "tools/shared/demangle.h"

/* ---- The command line ---- */

/* "ADDRESS:REST"; `*rest` is NULL without one. */
static bool read_place(const char *text, uint64_t *address, const char **rest)
{
  char number[32];
  const size_t size = strcspn(text, ":");
  if (size >= sizeof(number))
    return false;
  memcpy(number, text, size);
  number[size] = '\0';
  *rest = text[size] ? text + size + 1 : NULL;
  return tool_parse_number(number, UINT64_MAX, address);
}

static bool read_peek(const char *command, const tool_option_t *option, const char *text,
                      void *place)
{
  attach_place_t *peek = place;
  const char *bytes;
  (void)command, (void)option;
  *peek = (attach_place_t){.given = true, .bytes = 64};
  return read_place(text, &peek->address, &bytes) &&
         (!bytes || tool_parse_number(bytes, UINT64_MAX, &peek->bytes)) && peek->bytes &&
         peek->bytes - 1 <= UINT64_MAX - peek->address;
}

static bool read_poke(const char *command, const tool_option_t *option, const char *text,
                      void *place)
{
  attach_place_t *poke = place;
  (void)command, (void)option;
  *poke = (attach_place_t){.given = true};
  if (!read_place(text, &poke->address, &poke->hex) || !poke->hex)
    return false;
  const size_t size = strlen(poke->hex);
  poke->bytes = size / 2;
  for (size_t i = 0; i < size; ++i)
    if (!isxdigit((unsigned char)poke->hex[i]))
      return false;
  return size && size % 2 == 0 && poke->bytes <= DOOR_POKE_BYTES;
}

static const tool_option_t options[] = {
    {TOOL_OPTION("core", TEXT, attach_request_t, core)},
    DEMANGLE_OPTIONS(attach_request_t, demangle),
    {TOOL_OPTION("force", FLAG, attach_request_t, force)},
    {TOOL_OPTION("json", FLAG, attach_request_t, json)},
    {DOORS_OPTION(attach_request_t, of)},
    {TOOL_OPTION("output", TEXT, attach_request_t, output)},
    {TOOL_OPTION("peek", READ, attach_request_t, peek), .read = read_peek,
     .wrong = "--peek: '%s' is not ADDRESS[:BYTES], such as 0x7f0000000000:256"},
    {TOOL_OPTION("poke", READ, attach_request_t, poke), .read = read_poke,
     .wrong = "--poke: '%.100s' is not ADDRESS:HEX, of at most 4096 bytes, such as "
              "0x7f0000000000:0a0b"},
    {TOOL_OPTION("why", FLAG, attach_request_t, why)},
    {0},
};

/* ---- What is done ---- */

/* What the process says has lines of its own. */
static void print_lines(const char *text)
{
  for (const char *at = text; *at;) {
    const size_t size = strcspn(at, "\n");
    (void)tool_print_text((rawhal_string_t){at, size});
    putchar('\n');
    at += size + (at[size] == '\n');
  }
}

static bool show_why(const doors_t *doors, rawhal_error_t *error)
{
  bool done = true;
  for (size_t i = 0; done && i < doors->count; ++i) {
    attach_why_t why;
    done = attach_why(&why, doors->list[i], error);
    if (!done)
      break;
    if (doors->count > 1)
      printf("%s:\n", doors_name(observer_kind(doors->list[i])));
    print_lines(why.text);
    if (!why.answered)
      printf("seen from outside, as it did not answer: %s\n",
             observer_answers(doors->list[i]) ? error->message
                                              : "RAWHAL_DOOR=answers lets it say more");
  }
  return done;
}

static bool show(const doors_t *doors, const attach_request_t *request, rawhal_error_t *error)
{
  attach_status_t statuses[DOORS_MOST] = {{0}};
  attach_why_t *whys = request->why ? calloc(DOORS_MOST, sizeof(*whys)) : NULL;
  bool done = whys || !request->why;
  for (size_t i = 0; done && i < doors->count; ++i)
    done = attach_status_read(&statuses[i], doors->list[i]) &&
           (!whys || attach_why(&whys[i], doors->list[i], error));
  if (!done)
    (void)tool_refuse(error, RAWHAL_OUT_OF_MEMORY, "no memory for what the process shows");
  else if (request->json)
    attach_show_json(doors, statuses, whys);
  else
    attach_show_text(doors, statuses, request);
  for (size_t i = 0; i < doors->count; ++i)
    attach_status_free(&statuses[i]);
  free(whys);
  return done;
}

static bool act(const doors_t *doors, const attach_request_t *request, rawhal_error_t *error)
{
  return request->core                    ? attach_core(doors, request, error)
         : request->peek.given            ? attach_peek(doors, request, error)
         : request->poke.given            ? attach_poke(doors, request, error)
         : request->why && !request->json ? show_why(doors, error)
                                          : show(doors, request, error);
}

static int attach(pid_t process, const attach_request_t *request)
{
  rawhal_error_t error = {.offset = RAWHAL_NO_OFFSET};
  doors_t doors;
  const bool done =
      doors_open(&doors, process, request->of, &error) && act(&doors, request, &error);
  doors_close(&doors);
  return done ? TOOL_OK : tool_fail("attach", &error);
}

static int run(int argc, char **argv)
{
  attach_request_t request = {0};
  pid_t process;
  if (!option_read_all("attach", options, false, &argc, &argv, &request))
    return TOOL_USAGE;
  const int asked = (request.core != NULL) + request.peek.given + request.poke.given + request.why;
  if (asked > 1)
    return tool_usage("attach", "--core, --peek, --poke and --why cannot be combined");
  if (request.json && asked > request.why)
    return tool_usage("attach", "--json is for what a process shows, and --why");
  if (request.output && !request.peek.given)
    return tool_usage("attach", "--output requires --peek");
  if (argc != 1)
    return tool_usage("attach", "expected one PID, got %d", argc);
  if (!doors_read_process(*argv, &process))
    return tool_usage("attach", "'%s' is not the number of a process", *argv);
  return attach(process, &request);
}

const tool_command_t attach_command = {
    .name = "attach",
    .summary = "look into a process that uses GPUs",
    .help = "usage: rawhal attach PID [OPTIONS]\n\n"
            "Shows what a process has on GPUs: devices, code, queues and how far they are,\n"
            "dispatches in flight and the last that ended, allocations. The process uses\n"
            "librawhal, or is run by 'rawhal exec'. It is not stopped.\n\n"
            "What it must answer needs a process that was started with RAWHAL_DOOR=answers,\n"
            "as 'rawhal exec' can also set it, and --poke one with RAWHAL_DOOR=poke.\n\n"
            "options:\n"
            "  --core FILE      have it write a core file of what is there now, and copy it\n"
            "                   to FILE; it must answer\n"
            "  --demangle       show C++ names of kernels as in source; the default on a\n"
            "                   terminal\n"
            "  --force          replace an existing FILE\n"
            "  --json           print one JSON document (schema \"rawhal-attach-1\") instead\n"
            "                   of text\n"
            "  --no-demangle    show the names of symbols\n"
            "  --of DOOR        only what librawhal in the process shows (library), or what\n"
            "                   'rawhal exec' does (front); default: both\n"
            "  --output FILE    write what --peek reads to FILE, as it is\n"
            "  --peek ADDRESS[:BYTES]\n"
            "                   show BYTES (default: 64) of an allocation. If it does not\n"
            "                   answer, they are read from outside, where the host has them\n"
            "  --poke ADDRESS:HEX  write these bytes, two digits each, to an allocation; it\n"
            "                   must answer\n"
            "  --why            show what does not end, and where it stands, as the process\n"
            "                   says; if it does not answer, which queues stand still\n"
            "  --help           show this text\n\n"
            "exit status:\n"
            "  0   success\n"
            "  2   the command line is wrong\n"
            "  3   there is no such process, it shows nothing, may not be looked at or does\n"
            "      not answer, has no such memory, or FILE cannot be written; standard error\n"
            "      says why\n",
    .run = run,
    .options = options,
};
