/* rawhal: looks into AMDGPU code objects and runs their kernels. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rawhal/version.h>

#include "base/whole.h"
#include "tools/shared/escape.h"
#include "tools/shared/progress.h"
#include "tools/shared/tool.h"

const tool_command_t *const tool_commands[] = {
    &inspect_command, &find_command,   &check_command,     &header_command,   &diff_command,
    &run_command,     &replay_command, &probe_command,     &coverage_command, &devices_command,
    &limits_command,  &top_command,    &exec_command,      &record_command,   &core_command,
    &gdb_command,     &attach_command, &events_command,    &unpack_command,   &doctor_command,
    &cdi_command,     &broker_command, &completion_command};
const size_t tool_command_count = sizeof(tool_commands) / sizeof(*tool_commands);

static void print_help(FILE *out)
{
  fputs("usage: rawhal COMMAND [OPTIONS]\n\n"
        "Inspects AMDGPU code objects (HSACO, fat binaries) and runs their kernels.\n\n"
        "commands:\n",
        out);
  for (size_t i = 0; i < tool_command_count; ++i)
    fprintf(out, "  %-10s %s\n", tool_commands[i]->name, tool_commands[i]->summary);
  fputs("\n"
        "  rawhal COMMAND --help   show the options of a command\n"
        "  rawhal --version        show the version\n"
        "\n"
        "exit status:\n"
        "  0   success\n"
        "  1   the answer is no: diff or replay found a difference, find no such kernel,\n"
        "      coverage an instruction that softgpu cannot execute, doctor a problem,\n"
        "      probe plan a kernel that cannot be probed, cdi --check a wrong\n"
        "      specification, or check a blob that a launch refuses\n"
        "  2   the command line is wrong\n"
        "  3   failure, such as a damaged file, a missing device, a kernel that faulted,\n"
        "      or output that cannot be written; standard error says why\n"
        "exec and record return the exit status of the program that they run.\n",
        out);
}

/* A standard stream that is closed would be the next file that is opened, which gets what is
 * printed: something that cannot be written stands in its place. */
static void hold_streams(void)
{
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream)
    if (fcntl(stream, F_GETFD) < 0 && open("/dev/null", O_RDONLY) != stream)
      _exit(TOOL_FAILED);
}

/* Why the first write failed: by the end errno says something else. */
static int output_failure;

static ssize_t write_output(void *cookie, const char *text, size_t size)
{
  (void)cookie;
  if (write_whole(STDOUT_FILENO, text, size))
    return (ssize_t)size;
  output_failure = output_failure ? output_failure : errno;
  return 0;
}

/* Standard output, but that it keeps why it failed. */
static void watch_output(void)
{
  FILE *watched = fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_output});
  if (!watched || setvbuf(watched, NULL, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF, BUFSIZ))
    _exit(TOOL_FAILED);
  stdout = watched;
}

/* What was printed is whole, or the exit status says that it is not. */
static int finish(int status)
{
  progress_clear();
  (void)fflush(stdout);
  if (!ferror(stdout))
    return status;
  fprintf(stderr, "rawhal: standard output: %s\n", strerror(output_failure));
  return TOOL_FAILED;
}

static char help_option[] = "--help";

int main(int argc, char **argv)
{
  hold_streams();
  watch_output();
  if (argc == 3 && !strcmp(argv[1], "help")) { /* rawhal help COMMAND: COMMAND --help */
    argv[1] = argv[2];
    argv[2] = help_option;
  }
  if (argc < 2) {
    print_help(stderr);
    return TOOL_USAGE;
  }
  if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
    print_help(stdout);
    return finish(TOOL_OK);
  }
  if (!strcmp(argv[1], "--version")) {
    printf("rawhal %s\n", rawhal_version_text());
    return finish(TOOL_OK);
  }
  for (size_t i = 0; i < tool_command_count; ++i) {
    if (strcmp(argv[1], tool_commands[i]->name))
      continue;
    for (int a = 2; a < argc && strcmp(argv[a], "--"); ++a)
      if (!strcmp(argv[a], "--help") || !strcmp(argv[a], "-h")) {
        fputs(tool_commands[i]->help, stdout);
        return finish(TOOL_OK);
      }
    if (!tool_commands[i]->runs_program) /* a file that may not grow is an error like any other */
      (void)signal(SIGXFSZ, SIG_IGN);
    return finish(tool_commands[i]->run(argc - 1, argv + 1));
  }
  fputs("rawhal: unknown command '", stderr);
  (void)escape_text(stderr, rawhal_string(argv[1]), SIZE_MAX);
  fputs("'\nTry 'rawhal --help'.\n", stderr);
  return TOOL_USAGE;
}
