/* rawhal completion: a script for a shell that knows every command and option. */
#include "tools/completion/completion.h"

#include <stdio.h>
#include <string.h>

/* In single quotes: `special` are the characters that get `escape` before them. */
static void put_text(const char *text, const char *special, const char *quote)
{
  for (; *text; ++text)
    if (*text == '\'')
      fputs(quote, stdout);
    else
      printf("%s%c", strchr(special, *text) ? "\\" : "", *text);
}

/* ---- bash ---- */

static void put_names(const char *before)
{
  for (size_t i = 0; i < tool_command_count; ++i)
    printf("%s%s", i ? " " : before, tool_commands[i]->name);
}

static void put_bash_value(const tool_command_t *command, const completion_option_t *option)
{
  static const char *const actions[] = {[COMPLETION_FREE] = "return",
                                        [COMPLETION_FILE] = "_rawhal_files -f; return",
                                        [COMPLETION_FOLDER] = "_rawhal_files -d; return"};
  if (option->value == COMPLETION_NONE)
    return;
  printf("    %s:--%s", command->name, option->name);
  if (option->letter)
    printf(" | %s:-%c", command->name, option->letter);
  if (option->value == COMPLETION_WORDS)
    printf(") _rawhal_words '%s'; return ;;\n", option->words);
  else
    printf(") %s ;;\n", actions[option->value]);
}

static void put_bash_options(const tool_command_t *command)
{
  completion_option_t option;
  printf("    %s) options='", command->name);
  for (size_t i = 0; completion_option(command, i, &option); ++i) {
    printf("%s--%s%s", i ? " " : "", option.name, option.optional ? " --" : "");
    if (option.optional)
      printf("%s=", option.name);
    if (option.letter)
      printf(" -%c", option.letter);
  }
  printf("' words='%s' program=%s ;;\n", command->first_words ? command->first_words : "",
         command->runs_program ? "yes" : "");
}

static void print_bash(void)
{
  completion_option_t option;
  fputs(
      "# rawhal's completions for bash, as `rawhal completion bash` prints them.\n\n"
      "_rawhal_words() {\n"
      "  COMPREPLY=($(compgen -W \"$1\" -- \"$cur\"))\n"
      "}\n\n"
      "_rawhal_files() {\n"
      "  compopt -o filenames 2>/dev/null\n"
      "  local name # any: it is no pattern\n"
      "  while IFS= read -r name; do COMPREPLY+=(\"$name\"); done < <(compgen \"$1\" -- \"$cur\")\n"
      "}\n\n"
      "_rawhal() {\n"
      "  local cur=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[1]-} options= words= program= i\n"
      "  local prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
      "  COMPREPLY=()\n"
      "  if ((COMP_CWORD == 1)); then\n"
      "    _rawhal_words '",
      stdout);
  put_names("");
  fputs(" help --help --version'\n"
        "    return\n"
        "  fi\n"
        "  # \"=\" and \":\" are words of their own\n"
        "  case $cur in = | :) cur= prev=${COMP_WORDS[COMP_CWORD - 1]} ;; esac\n"
        "  if [[ $prev == = ]] && ((COMP_CWORD > 2)); then\n"
        "    prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
        "  fi\n"
        "  case $verb in\n",
        stdout);
  for (size_t i = 0; i < tool_command_count; ++i)
    put_bash_options(tool_commands[i]);
  fputs("    help) _rawhal_words '", stdout);
  put_names("");
  fputs("'; return ;;\n"
        "  esac\n"
        "  # a program and its arguments\n"
        "  for ((i = 2; i < COMP_CWORD; ++i)); do\n"
        "    if [[ -n $program && ${COMP_WORDS[i]} == -- ]]; then\n"
        "      if ((COMP_CWORD == i + 1)); then COMPREPLY=($(compgen -c -- \"$cur\")); fi\n"
        "      _rawhal_files -f\n"
        "      return\n"
        "    fi\n"
        "  done\n"
        "  case $verb:$prev in\n",
        stdout);
  for (size_t i = 0; i < tool_command_count; ++i)
    for (size_t k = 0; completion_option(tool_commands[i], k, &option); ++k)
      put_bash_value(tool_commands[i], &option);
  fputs("  esac\n"
        "  if [[ $cur == -* ]]; then\n"
        "    _rawhal_words \"$options\"\n"
        "    if [[ ${COMPREPLY-} == *= ]]; then compopt -o nospace 2>/dev/null; fi\n"
        "    return\n"
        "  fi\n"
        "  if ((COMP_CWORD == 2)) && [[ -n $words ]]; then _rawhal_words \"$words\"; fi\n"
        "  _rawhal_files -f\n"
        "}\n\n"
        "complete -F _rawhal rawhal\n",
        stdout);
}

/* ---- zsh ---- */

static const char zsh_quote[] = "'\\''";

static void put_zsh_option(const completion_option_t *option)
{
  static const char *const actions[] = {[COMPLETION_FREE] = "value: ",
                                        [COMPLETION_FILE] = "file:_files",
                                        [COMPLETION_FOLDER] = "folder:_files -/"};
  const bool valued = option->value != COMPLETION_NONE;
  fputs("        '", stdout);
  if (option->letter)
    printf("(-%c --%s)'{-%c+,--%s=}'", option->letter, option->name, option->letter, option->name);
  else
    printf("--%s%s", option->name, !valued ? "" : option->optional ? "=-" : "=");
  putchar('[');
  put_text(option->text, "[]\\:", zsh_quote);
  putchar(']');
  if (valued)
    fputs(option->optional ? "::" : ":", stdout);
  if (option->value == COMPLETION_WORDS)
    printf("value:(%s)", option->words);
  else if (valued)
    fputs(actions[option->value], stdout);
  fputs("' \\\n", stdout);
}

static void print_zsh(void)
{
  completion_option_t option;
  fputs("#compdef rawhal\n"
        "# rawhal's completions for zsh, as `rawhal completion zsh` prints them.\n\n"
        "_rawhal() {\n"
        "  local -a verbs\n"
        "  verbs=(\n",
        stdout);
  for (size_t i = 0; i < tool_command_count; ++i) {
    printf("    '%s:", tool_commands[i]->name);
    put_text(tool_commands[i]->summary, "\\:", zsh_quote);
    fputs("'\n", stdout);
  }
  fputs("    'help:all options of a command'\n"
        "  )\n"
        "  if (( CURRENT == 2 )); then\n"
        "    if [[ $PREFIX == -* ]]; then compadd -- --help --version; return; fi\n"
        "    _describe -t commands 'rawhal command' verbs\n"
        "    return\n"
        "  fi\n"
        "  local verb=$words[2]\n"
        "  shift words\n"
        "  (( CURRENT-- ))\n"
        "  local -i program=${words[(ie)--]} # behind it is a command line of its own\n"
        "  case $verb in\n"
        "    help) _describe -t commands 'rawhal command' verbs ;;\n",
        stdout);
  for (size_t i = 0; i < tool_command_count; ++i) {
    const tool_command_t *command = tool_commands[i];
    printf("    %s)\n", command->name);
    if (command->runs_program)
      fputs("      if (( program < CURRENT )); then\n"
            "        shift $program words\n"
            "        (( CURRENT -= program ))\n"
            "        _normal\n"
            "        return\n"
            "      fi\n",
            stdout);
    fputs("      _arguments -S \\\n", stdout);
    for (size_t k = 0; completion_option(command, k, &option); ++k)
      put_zsh_option(&option);
    if (command->first_words)
      printf(
          "        '1:word or file:{_alternative \"words:word:(%s)\" \"files:file:_files\"}' \\\n",
          command->first_words);
    printf("        '*%s' ;;\n", command->runs_program  ? "::program:_normal"
                                 : command->typed_files ? ":file:{compset -P \"*:\"; _files}"
                                                        : ":file:_files");
  }
  fputs("  esac\n"
        "}\n\n"
        "_rawhal \"$@\"\n",
        stdout);
}

/* ---- fish ---- */

static void put_fish_option(const tool_command_t *command, const completion_option_t *option)
{
  printf("complete -c rawhal -n '__rawhal_is %s' -l %s", command->name, option->name);
  if (option->letter)
    printf(" -s %c", option->letter);
  if (option->value == COMPLETION_WORDS)
    printf("%s -f -a '%s'", option->optional ? "" : " -r", option->words);
  else if (option->value == COMPLETION_FOLDER)
    fputs(" -x -a '(__fish_complete_directories)'", stdout);
  else if (option->value == COMPLETION_FILE)
    fputs(" -r -F", stdout);
  else if (option->value == COMPLETION_FREE)
    fputs(" -x", stdout);
  fputs(" -d '", stdout);
  put_text(option->text, "\\", "\\'");
  fputs("'\n", stdout);
}

static void print_fish(void)
{
  completion_option_t option;
  fputs("# rawhal's completions for fish, as `rawhal completion fish` prints them.\n\n"
        "function __rawhal_is -d 'Is that the command?'\n"
        "    set -l words (commandline -opc)\n"
        "    set -q words[2]; and test $words[2] = $argv[1]\n"
        "end\n\n"
        "function __rawhal_begins -d 'Is it, and is its first word wanted?'\n"
        "    set -l words (commandline -opc)\n"
        "    test (count $words) -eq 2; and __rawhal_is $argv\n"
        "end\n\n"
        "function __rawhal_runs -d 'Is it, and is the rest another command line?'\n"
        "    contains -- -- (commandline -opc); and __rawhal_is $argv\n"
        "end\n\n"
        "function __rawhal_program -d 'What is offered for that one'\n"
        "    set -l words (commandline -opc)\n"
        "    set -l rest $words[(math 1 + (contains -i -- -- $words))..-1]\n"
        "    test (contains -i -- -- $words) -eq (count $words); and set rest\n"
        "    complete -C (string join ' ' -- (string escape -- $rest) (commandline -ct))\n"
        "end\n\n"
        "complete -c rawhal -n __fish_use_subcommand -f\n"
        "complete -c rawhal -n __fish_use_subcommand -l help -d 'the commands'\n"
        "complete -c rawhal -n __fish_use_subcommand -l version -d 'the version'\n"
        "complete -c rawhal -n __fish_use_subcommand -a help -d 'all options of a command'\n"
        "complete -c rawhal -n '__rawhal_is help' -f\n"
        "complete -c rawhal -n '__rawhal_begins help' -a '",
        stdout);
  put_names("");
  puts("'");
  for (size_t i = 0; i < tool_command_count; ++i) {
    printf("complete -c rawhal -n __fish_use_subcommand -a %s -d '", tool_commands[i]->name);
    put_text(tool_commands[i]->summary, "\\", "\\'");
    fputs("'\n", stdout);
  }
  for (size_t i = 0; i < tool_command_count; ++i) {
    const tool_command_t *command = tool_commands[i];
    for (size_t k = 0; completion_option(command, k, &option); ++k)
      put_fish_option(command, &option);
    if (command->first_words)
      printf("complete -c rawhal -n '__rawhal_begins %s' -a '%s'\n", command->name,
             command->first_words);
    if (command->runs_program)
      printf("complete -c rawhal -n '__rawhal_runs %s' -f -a '(__rawhal_program)'\n",
             command->name);
  }
}

/* ---- The command ---- */

static const struct {
  const char *name;
  void (*print)(void);
} shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};

static const tool_option_t no_options[] = {{0}};

static int run(int argc, char **argv)
{
  if (!option_read_all("completion", no_options, false, &argc, &argv, NULL))
    return TOOL_USAGE;
  if (argc != 1)
    return tool_usage("completion", "expected one SHELL: bash, zsh or fish");
  for (size_t i = 0; i < sizeof(shells) / sizeof(*shells); ++i)
    if (strcmp(*argv, shells[i].name) == 0) {
      shells[i].print();
      return TOOL_OK;
    }
  return tool_usage("completion", "'%s' is not one of bash, zsh and fish", *argv);
}

const tool_command_t completion_command = {
    .name = "completion",
    .summary = "print shell completions",
    .help = "usage: rawhal completion SHELL\n\n"
            "Prints a script that makes SHELL (bash, zsh or fish) complete rawhal's commands,\n"
            "options, values and files. An installed rawhal has put the scripts where shells\n"
            "look for them. Without installation, for one user:\n\n"
            "  bash   rawhal completion bash \\\n"
            "           >~/.local/share/bash-completion/completions/rawhal\n"
            "  zsh    rawhal completion zsh >FOLDER/_rawhal, in a FOLDER of $fpath\n"
            "  fish   rawhal completion fish >~/.config/fish/completions/rawhal.fish\n\n"
            "options:\n"
            "  --help    show this text\n\n"
            "exit status:\n"
            "  0   success\n"
            "  2   the command line is wrong\n"
            "  3   the output cannot be written\n",
    .run = run,
    .options = no_options,
    .first_words = "bash zsh fish",
};
