/* What the subcommands of `rawhal` share. They use the public headers only. */
#ifndef TOOLS_SHARED_TOOL_H
#define TOOLS_SHARED_TOOL_H

#include <rawhal/status.h>

#include "tools/shared/option.h"

/* Exit statuses of all commands but exec and record, as `rawhal --help` documents them. */
enum {
  TOOL_OK = 0,
  TOOL_NO = 1,     /* the answer is no: different, not found, not accepted, a problem */
  TOOL_USAGE = 2,  /* the command line is wrong */
  TOOL_FAILED = 3, /* there is no answer; one line on standard error says why */
};

typedef struct tool_command {
  const char *name;
  const char *summary;
  const char *help; /* the whole --help text */
  int (*run)(int argc, char **argv);
  /* For completions: what it takes besides --help. */
  const tool_option_t *options, *more_options; /* the second may be NULL */
  const char *first_words;                     /* that may stand for a file, or NULL */
  bool runs_program;                           /* after its options and -- */
  bool typed_files;                            /* its words may be TYPE:FILE */
} tool_command_t;

/* All of them, in the order of --help. */
extern const tool_command_t *const tool_commands[];
extern const size_t tool_command_count;

extern const tool_command_t attach_command;
extern const tool_command_t broker_command;
extern const tool_command_t cdi_command;
extern const tool_command_t completion_command;
extern const tool_command_t inspect_command;
extern const tool_command_t probe_command;
extern const tool_command_t run_command;
extern const tool_command_t check_command;
extern const tool_command_t header_command;
extern const tool_command_t core_command;
extern const tool_command_t coverage_command;
extern const tool_command_t devices_command;
extern const tool_command_t diff_command;
extern const tool_command_t doctor_command;
extern const tool_command_t find_command;
extern const tool_command_t gdb_command;
extern const tool_command_t limits_command;
extern const tool_command_t top_command;
extern const tool_command_t unpack_command;
extern const tool_command_t events_command;
extern const tool_command_t exec_command;
extern const tool_command_t record_command;
extern const tool_command_t replay_command;

/* "rawhal inspect: MALFORMED: ... (at offset 64)" on standard error; returns TOOL_FAILED. */
int tool_fail(const char *command, const rawhal_error_t *error);

/* "rawhal inspect: ..." and where to read more; returns TOOL_USAGE. Both escape what they print. */
__attribute__((format(printf, 2, 3))) int tool_usage(const char *command, const char *format, ...);

/* Fills the record (without an offset) and returns false, for callers that pass a refusal on. */
__attribute__((format(printf, 3, 4))) bool
tool_refuse(rawhal_error_t *error, rawhal_status_t status, const char *format, ...);

/* A number from 0 to `top`, decimal or 0x...; false when `text` is not one. */
bool tool_parse_number(const char *text, uint64_t top, uint64_t *value);

/* Prints on standard output text from outside, escaped (escape.h). Returns the columns. */
int tool_print_text(rawhal_string_t text);
int tool_print_string(const char *text);
/* The same in exactly `width` columns: cut, or followed by blanks. */
void tool_print_column(const char *text, int width);

/* Of names of kernels. Any number of symbols may share one name, or the end of one: written in full
 * each, 1 MB would be gigabytes. Names of up to TOOL_SHORT_NAME bytes always are; of longer ones
 * there may be but the first TOOL_NAME_START bytes. */
enum { TOOL_SHORT_NAME = 256, TOOL_NAME_START = 200 };

/* Orders texts by their bytes. */
int tool_compare_text(rawhal_string_t a, rawhal_string_t b);

static inline bool tool_text_is(rawhal_string_t text, const char *word)
{
  size_t size = __builtin_strlen(word);
  return text.size == size && __builtin_memcmp(text.data, word, size) == 0;
}

#endif
