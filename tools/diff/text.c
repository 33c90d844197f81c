/* rawhal diff as text for people. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools/diff/diff.h"
#include "tools/shared/demangle.h"
#include "tools/shared/terminal.h"
#include "tools/shared/tool.h"

static void print_file(const char *mark, const char *path, const diff_file_t *file)
{
  printf("%s ", mark);
  tool_print_string(path);
  printf(": %zu kernel%s in %zu object%s", file->kernel_count, file->kernel_count == 1 ? "" : "s",
         file->object_count, file->object_count == 1 ? "" : "s");
  printf(file->only_target ? " for %s\n" : "\n", file->only_target);
}

static void print_value(const diff_value_t *value)
{
  switch (value->kind) {
  case DIFF_NUMBER:
    printf("%" PRIu64, value->number);
    break;
  case DIFF_SIGNATURE:
    printf("%016" PRIx64, value->number);
    break;
  case DIFF_TEXT:
    putchar('\'');
    tool_print_text(value->text);
    putchar('\'');
    break;
  case DIFF_ABSENT:
    fputs("none", stdout);
  }
}

static void print_place(const rawhal_kernarg_argument_t *argument)
{
  printf(" at %" PRIu32 "..%" PRIu64, argument->offset,
         (uint64_t)argument->offset + argument->size);
}

/* "argument 3 'n': " by its number in A, or in B where only B has it. */
static void print_subject(const diff_entry_t *entry, const diff_change_t *change)
{
  int side = change->argument[0] == DIFF_NO_ARGUMENT;
  const rawhal_kernarg_argument_t *argument =
      diff_argument(entry->kernels[side], change->argument[side]);
  if (!argument)
    return;
  printf("argument %zu ", change->argument[side]);
  if (argument->name.size) {
    putchar('\'');
    tool_print_text(argument->name);
    fputs("': ", stdout);
  } else {
    putchar('(');
    tool_print_text(argument->value_kind_text);
    fputs("): ", stdout);
  }
}

static void print_change(const diff_entry_t *entry, const diff_change_t *change)
{
  const rawhal_kernarg_argument_t *a = diff_argument(entry->kernels[0], change->argument[0]);
  const rawhal_kernarg_argument_t *b = diff_argument(entry->kernels[1], change->argument[1]);
  printf("    %-9s", diff_category_name(change->category));
  print_subject(entry, change);
  if (strcmp(change->property, DIFF_SWAPPED) == 0) {
    fputs("swapped with ", stdout);
    print_value(&change->values[1]);
    putchar('\n');
    return;
  }
  fputs(change->property, stdout);
  if (!a != !b) {
    print_place(a ? a : b);
  } else {
    putchar(' ');
    print_value(&change->values[0]);
    fputs(" -> ", stdout);
    print_value(&change->values[1]);
  }
  putchar('\n');
}

static void print_entry(const diff_entry_t *entry, bool demangled)
{
  const diff_kernel_t *a = entry->kernels[0], *b = entry->kernels[1];
  terminal_style(!b ? STYLE_BAD : !a ? STYLE_GOOD : entry->same_abi ? STYLE_QUIET : STYLE_ODD);
  printf("%c kernel ", !b ? '-' : !a ? '+' : entry->same_abi ? ' ' : '!');
  tool_print_text(demangle_if(demangled, (a ? a : b)->facts->name));
  printf(" (%s", (a ? a : b)->target);
  printf(a && b && strcmp(a->target, b->target) ? " -> %s)" : ")", b ? b->target : "");
  terminal_style(STYLE_NONE);
  if (!a || !b)
    puts(a ? ": removed" : ": added");
  else if (entry->same_abi)
    puts(": the same ABI");
  else
    puts(entry->same_blobs ? ": another ABI; blobs of callers fit both"
                           : ": another ABI; blobs of callers fit one only");
  for (size_t i = 0; i < entry->change_count; ++i)
    print_change(entry, &entry->changes[i]);
}

void diff_print_text(const diff_result_t *result)
{
  print_file("---", result->paths[0], &result->files[0]);
  print_file("+++", result->paths[1], &result->files[1]);
  for (size_t i = 0; i < result->entry_count; ++i)
    print_entry(&result->entries[i], result->demangle);
  printf("%s: %zu removed, %zu added, %zu changed, %zu the same%s\n",
         result->same_abi ? "the same ABI" : "another ABI", result->removed, result->added,
         result->changed, result->same, result->same_resources ? "" : "; resources changed");
  if (result->blind)
    printf("not seen: whether arguments were swapped that look alike and have no names, in %zu "
           "kernel%s\n",
           result->blind, result->blind == 1 ? "" : "s");
}
