/* Options as completions have them: from the tables that read them and the text of --help. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "tools/completion/completion.h"

/* ---- Values ---- */

/* What is not here is free: numbers, names, sizes. */
static const struct value {
  const char *command; /* NULL: of all that have it */
  const char *option;
  completion_value_t value;
  const char *words;
} values[] = {
    {NULL, "device", COMPLETION_WORDS, "softgpu hsa"},
    {NULL, "check", COMPLETION_WORDS, "off warn report refuse"},
    {NULL, "guard", COMPLETION_WORDS, "off warn report refuse"},
    {NULL, "blob", COMPLETION_FILE, NULL},
    {"unpack", "output", COMPLETION_FOLDER, NULL},
    {"attach", "core", COMPLETION_FILE, NULL},
    {NULL, "of", COMPLETION_WORDS, "library front"},
    {NULL, "output", COMPLETION_FILE, NULL},
    {"probe", "html", COMPLETION_FILE, NULL},
    {"probe", "disassembler", COMPLETION_FILE, NULL},
    {NULL, "policy", COMPLETION_FILE, NULL},
    {"events", "read", COMPLETION_FILE, NULL},
    {NULL, "record", COMPLETION_FILE, NULL},
    {"events", "save", COMPLETION_FILE, NULL},
    {NULL, "substitute-cache", COMPLETION_FOLDER, NULL},
    {NULL, "trace", COMPLETION_FILE, NULL},
};

static void find_value(const tool_command_t *command, completion_option_t *option)
{
  option->value = COMPLETION_FREE;
  for (size_t i = 0; i < sizeof(values) / sizeof(*values); ++i) {
    if ((values[i].command && strcmp(values[i].command, command->name) != 0) ||
        strcmp(values[i].option, option->name) != 0)
      continue;
    option->value = values[i].value;
    option->words = values[i].words;
    return;
  }
}

/* ---- Text ---- */

/* Where the help's line about an option has it: "  --name", or "  -n, --name". */
static const char *find_line(const char *help, const char *name)
{
  const size_t size = strlen(name);
  for (const char *line = help; line && *line; line = strchr(line, '\n')) {
    line += *line == '\n';
    const char *at = line + strspn(line, " ");
    if (at - line != 2 || *at != '-')
      continue; /* else it is a text's that names the option */
    if (at[1] != '-' && at[2] == ',')
      at += 4;
    if (strncmp(at, "--", 2) == 0 && strncmp(at + 2, name, size) == 0 &&
        !isalnum((unsigned char)at[2 + size]) && at[2 + size] != '-')
      return at + 2 + size;
  }
  return NULL;
}

/* It follows the value, or is on the line below. */
static void find_text(const tool_command_t *command, completion_option_t *option)
{
  const char *at = find_line(command->help, option->name);
  const char *end = at ? at + strcspn(at, "\n") : NULL;
  if (!at)
    return;
  const char *gap = strstr(at, "  ");
  const char *word = at + (*at == ' ' && at[1] != ' ') + strcspn(at + (*at == ' '), " \n");
  if (gap && gap < end)
    at = gap;
  else if (word < end)
    at = word; /* the value is so long that one blank follows it */
  else
    at = end;
  at += strspn(at, " \n");
  snprintf(option->text, sizeof(option->text), "%.*s", (int)strcspn(at, "\n"), at);
}

/* ---- The option ---- */

static size_t count_of(const tool_option_t *options)
{
  size_t count = 0;
  while (options && options[count].name)
    ++count;
  return count;
}

/* One that two tables of a command have is told once. */
static bool is_twice(const tool_command_t *command, const char *name)
{
  for (size_t i = 0; i < count_of(command->options); ++i)
    if (strcmp(command->options[i].name, name) == 0)
      return true;
  return false;
}

bool completion_option(const tool_command_t *command, size_t index, completion_option_t *option)
{
  static const tool_option_t help_row = {.name = "help"};
  const tool_option_t *rows[64];
  const size_t most = sizeof(rows) / sizeof(*rows) - 1;
  size_t count = 0;
  for (size_t i = 0; i < count_of(command->options) && count < most; ++i)
    if (command->options[i].kind != OPTION_NOT)
      rows[count++] = &command->options[i];
  for (size_t i = 0; i < count_of(command->more_options) && count < most; ++i)
    if (!is_twice(command, command->more_options[i].name))
      rows[count++] = &command->more_options[i];
  rows[count++] = &help_row;
  if (index >= count)
    return false;
  const tool_option_t *row = rows[index];
  *option = (completion_option_t){
      .name = row->name, .letter = row->letter, .optional = row->kind == OPTION_MAY};
  if (option_takes_value(row))
    find_value(command, option);
  find_text(command, option);
  return true;
}
