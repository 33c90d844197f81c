/* rawhal: looks into AMDGPU code objects and runs their kernels. */
#include <stdio.h>
#include <string.h>

#include "tools/tool.h"

static const tool_command_t *const commands[] = {
    &inspect_command, &check_command,    &header_command, &diff_command,
    &run_command,     &coverage_command, &limits_command, &top_command};

static void print_help(FILE *out)
{
  fputs(
      "usage: rawhal COMMAND [OPTIONS]\n\n"
      "Looks into raw AMDGPU code objects (HSACO files, fat libraries) and runs their kernels.\n\n"
      "commands:\n",
      out);
  for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); ++i)
    fprintf(out, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
  fputs("\n"
        "  rawhal COMMAND --help   all options of a command\n"
        "  rawhal --version        the version\n\n"
        "exit status:\n"
        "  0   done\n"
        "  1   the file, the kernel, the blob or the device refused; one line on standard error\n"
        "      says why. Of 'rawhal diff': the files differ\n"
        "  2   the command line is wrong\n"
        "  3   of 'rawhal diff': a file was refused\n",
        out);
}

int main(int argc, char **argv)
{
  if (argc < 2) {
    print_help(stderr);
    return TOOL_USAGE;
  }
  if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
    print_help(stdout);
    return TOOL_OK;
  }
  if (!strcmp(argv[1], "--version")) {
    puts("rawhal " RAWHAL_VERSION);
    return TOOL_OK;
  }
  for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); ++i) {
    if (strcmp(argv[1], commands[i]->name))
      continue;
    for (int a = 2; a < argc && strcmp(argv[a], "--"); ++a)
      if (!strcmp(argv[a], "--help") || !strcmp(argv[a], "-h")) {
        fputs(commands[i]->help(), stdout);
        return TOOL_OK;
      }
    int status = commands[i]->run(argc - 1, argv + 1);
    if (fflush(stdout)) {
      perror("rawhal: standard output");
      return TOOL_FAILED;
    }
    return status;
  }
  fprintf(stderr, "rawhal: unknown command '%s'\nTry 'rawhal --help'.\n", argv[1]);
  return TOOL_USAGE;
}
