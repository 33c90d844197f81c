/* rawhal doctor: what works here, and what to do about the rest. */
#include "tools/doctor/doctor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rawhal/version.h>

#include "tools/shared/device.h"
#include "tools/shared/json.h"
#include "tools/shared/terminal.h"
#include "tools/shared/tool.h"

enum { DEFAULT_SECONDS = 20 };

static const struct {
  const char *name;
  doctor_check_fn *run;
} checks[] = {
    {"libraries", doctor_libraries},
    {"driver", doctor_driver},
    {"render nodes", doctor_nodes},
    {"runtime", doctor_runtime},
    {"softgpu", doctor_softgpu},
    {"devices", doctor_devices},
    {"front", doctor_front},
    {"disassembler", doctor_disassembler},
    {"debuggers", doctor_debuggers},
    {"core files", doctor_core},
    {"shared memory", doctor_memory},
    {"limits of processes", doctor_resources},
    {"environment", doctor_environment},
};

static const char *const state_names[] = {"ok", "note", "problem"};

/* ---- What is asked for ---- */

/* What programs get, as the library decides it. */
static void choose(doctor_t *doctor)
{
  const char *variable = secure_getenv("RAWHAL_DEVICE");
  if (doctor->backend == RAWHAL_BACKEND_DEFAULT && variable)
    (void)device_kind(variable, &doctor->backend);
  doctor->expected = doctor->backend;
  if (doctor->backend == RAWHAL_BACKEND_DEFAULT)
    doctor->expected = access("/dev/kfd", F_OK) == 0 ? RAWHAL_BACKEND_HSA : RAWHAL_BACKEND_SOFTGPU;
}

static bool run_checks(doctor_t *doctor, unsigned seconds, doctor_rows_t *rows)
{
  for (size_t i = 0; i < sizeof(checks) / sizeof(*checks); ++i) {
    doctor->check = checks[i].name;
    if (!doctor_run(doctor, checks[i].run, seconds, rows))
      return false;
  }
  return true;
}

static size_t count_of(const doctor_rows_t *rows, doctor_state_t state)
{
  size_t count = 0;
  for (size_t i = 0; i < rows->count; ++i)
    count += rows->rows[i].state == state;
  return count;
}

/* ---- Text ---- */

static void print_row(const doctor_row_t *row, bool named)
{
  static const terminal_style_t styles[] = {STYLE_GOOD, STYLE_ODD, STYLE_BAD};
  terminal_style(styles[row->state]);
  printf("%-8s ", state_names[row->state]);
  terminal_style(STYLE_NONE);
  tool_print_column(named ? row->check : "", 20);
  putchar(' ');
  tool_print_string(row->found);
  putchar('\n');
  if (!*row->fix)
    return;
  printf("%-30sfix: ", "");
  tool_print_string(row->fix);
  putchar('\n');
}

static void print_text(const doctor_rows_t *rows)
{
  const size_t problems = count_of(rows, DOCTOR_PROBLEM), notes = count_of(rows, DOCTOR_NOTE);
  for (size_t i = 0; i < rows->count; ++i)
    print_row(&rows->rows[i], !i || strcmp(rows->rows[i].check, rows->rows[i - 1].check) != 0);
  if (problems)
    printf("\n%zu problem%s", problems, problems == 1 ? "" : "s");
  else
    fputs("\nno problems", stdout);
  printf("; %zu note%s\n", notes, notes == 1 ? "" : "s");
}

/* ---- JSON ---- */

/* Schema "rawhal-doctor-1", described in docs/doctor.schema.json. */
static void print_json(const doctor_rows_t *rows)
{
  json_writer_t out = {.out = stdout};
  json_begin_object(&out, NULL);
  json_put_text(&out, "schema", "rawhal-doctor-1");
  json_put_text(&out, "version", rawhal_version_text());
  json_put_unsigned(&out, "problems", count_of(rows, DOCTOR_PROBLEM));
  json_put_unsigned(&out, "notes", count_of(rows, DOCTOR_NOTE));
  json_begin_array(&out, "rows");
  for (size_t i = 0; i < rows->count; ++i) {
    const doctor_row_t *row = &rows->rows[i];
    json_begin_object(&out, NULL);
    json_put_text(&out, "check", row->check);
    json_put_text(&out, "state", state_names[row->state]);
    json_put_text(&out, "found", row->found);
    json_put_text(&out, "fix", *row->fix ? row->fix : NULL);
    json_end(&out);
  }
  json_end(&out);
  json_end(&out);
}

/* ---- The command ---- */

typedef struct doctor_request {
  doctor_t doctor;
  uint32_t seconds;
  bool json;
} doctor_request_t;

static const tool_option_t options[] = {
    {TOOL_OPTION("json", FLAG, doctor_request_t, json)},
    {DEVICE_OPTION(doctor_request_t, doctor.backend)},
    {TOOL_OPTION("timeout", NUMBER, doctor_request_t, seconds), .least = 1, .most = 3600,
     .wrong = "--timeout: expected 1 to 3600 seconds, got '%s'"},
    {0},
};

static int run(int argc, char **argv)
{
  doctor_request_t request = {.seconds = DEFAULT_SECONDS};
  if (!option_read_all("doctor", options, false, &argc, &argv, &request))
    return TOOL_USAGE;
  if (argc)
    return tool_usage("doctor", "unexpected argument '%s'", *argv);
  choose(&request.doctor);
  doctor_rows_t rows = {0};
  rawhal_error_t error;
  const bool done = run_checks(&request.doctor, request.seconds, &rows);
  if (done)
    (request.json ? print_json : print_text)(&rows);
  const bool good = done && !count_of(&rows, DOCTOR_PROBLEM);
  free(rows.rows);
  if (done)
    return good ? TOOL_OK : TOOL_NO;
  (void)tool_refuse(&error, RAWHAL_OUT_OF_MEMORY, "no memory, processes or pipes for the checks");
  return tool_fail("doctor", &error);
}

const tool_command_t doctor_command = {
    .name = "doctor",
    .summary = "check what works here, and how to fix the rest",
    .help = "usage: rawhal doctor [--device KIND] [--timeout SECONDS] [--json]\n\n"
            "Checks what works on this machine, and says how to fix what does not: the driver\n"
            "and access to it, the HSA runtime, devices, softgpu, the library of 'rawhal\n"
            "exec', llvm-objdump, what debuggers may do and will see, core files, shared\n"
            "memory, process limits, and environment variables that affect programs. Each\n"
            "check runs in its own process, so that a driver or runtime that hangs or crashes\n"
            "is reported like any other problem.\n\n"
            "options:\n"
            "  --device KIND      the kind of device to check for: softgpu or hsa (hardware);\n"
            "                     default: hardware if present\n"
            "  --timeout SECONDS  time limit of each check; default: 20\n"
            "  --json             print one JSON document (schema \"rawhal-doctor-1\")\n"
            "  --help             show this text\n\n"
            "Each line begins with ok, note (worth knowing) or problem.\n\n"
            "exit status:\n"
            "  0   there is no problem\n"
            "  1   there is a problem\n"
            "  2   the command line is wrong\n"
            "  3   the checks could not be run; standard error says why\n",
    .run = run,
    .options = options,
};
