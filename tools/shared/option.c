/* The options of a command, read by their table. */
#include "tools/shared/option.h"

#include <getopt.h>
#include <string.h>

#include "tools/shared/tool.h"

enum { MOST_OPTIONS = 32 };

/* The tables of getopt_long(3), which returns a row's letter or its number from 1. */
static void describe(const tool_option_t *options, struct option rows[MOST_OPTIONS + 1],
                     char letters[2 * MOST_OPTIONS + 1])
{
  for (int i = 0; i < MOST_OPTIONS && options[i].name; ++i) {
    const tool_option_t *option = &options[i];
    const bool optional = option->kind == OPTION_MAY || option->kind == OPTION_NOT;
    rows[i] = (struct option){.name = option->name,
                              .has_arg = optional                     ? optional_argument
                                         : option_takes_value(option) ? required_argument
                                                                      : no_argument,
                              .val = option->letter ? option->letter : i + 1};
    if (option->letter) {
      *letters++ = option->letter;
      *letters++ = ':';
    }
  }
}

static bool read_number(const tool_option_t *option, const char *text, uint32_t *number)
{
  uint64_t value;
  if (!tool_parse_number(text, option->most, &value) || value < option->least)
    return false;
  *number = (uint32_t)value;
  return true;
}

static bool read_one(const char *command, const tool_option_t *option, const char *text,
                     void *place)
{
  switch (option->kind) {
  case OPTION_FLAG:
    *(bool *)place = true;
    return true;
  case OPTION_SET:
    *(unsigned *)place = option->value;
    return true;
  case OPTION_BIT:
    *(uint32_t *)place |= option->value;
    return true;
  case OPTION_TEXT:
    *(const char **)place = text;
    return true;
  case OPTION_NUMBER:
    return read_number(option, text, place);
  case OPTION_READ:
  case OPTION_MAY:
    return option->read(command, option, text, place);
  case OPTION_NOT:
    break;
  }
  return false;
}

/* The word with an option that does not exist. Of short options in one word getopt_long() is behind
 * that word only after the last of them. */
static const char *unknown_word(char *const *argv)
{
  const char *passed = argv[optind - 1], *word = argv[optind];
  const bool is_passed = *passed == '-' && passed[1] != '-' && strchr(passed, optopt);
  if (optopt && !is_passed && word && *word == '-' && word[1] != '-' && strchr(word, optopt))
    return word;
  return passed;
}

/* What getopt_long() has just answered with '?' or ':'. Of an option with a value too many it gives
 * the number, of one that does not exist 0 or the letter. */
static void refuse(const char *command, int answer, char *const *argv)
{
  const char *passed = argv[optind - 1];
  if (answer == ':')
    (void)tool_usage(command, "option '%s' needs a value", passed);
  else if (optopt && optopt <= MOST_OPTIONS && !strncmp(passed, "--", 2))
    (void)tool_usage(command, "option '%.*s' takes no value", (int)strcspn(passed, "="), passed);
  else
    (void)tool_usage(command, "unknown option '%s'", unknown_word(argv));
}

bool option_read_all(const char *command, const tool_option_t *options, bool program, int *argc,
                     char ***argv, void *filled)
{
  struct option rows[MOST_OPTIONS + 1] = {0};
  char letters[2 * MOST_OPTIONS + 3] = "+:"; /* the words begin with the first */
  describe(options, rows, letters + 2);
  opterr = 0;
  optind = 1;
  for (int found; (found = getopt_long(*argc, *argv, letters + !program, rows, NULL)) != -1;) {
    const tool_option_t *option = options;
    if (found == '?' || found == ':') {
      refuse(command, found, *argv);
      return false;
    }
    while (option->letter != found && option - options != found - 1)
      ++option;
    if (read_one(command, option, optarg, (char *)filled + option->place))
      continue;
    if (option->wrong)
      (void)tool_usage(command, option->wrong, optarg);
    return false;
  }
  *argc -= optind;
  *argv += optind;
  return true;
}
