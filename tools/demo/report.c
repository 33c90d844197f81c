/* Aligned plain text. */
#include "tools/demo/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { LABEL_COLUMNS = 10 };

static const char *const kind_names[] = {
    [RAWHAL_VALUE_BY_VALUE] = "by_value",
    [RAWHAL_VALUE_GLOBAL_BUFFER] = "global_buffer",
    [RAWHAL_VALUE_DYNAMIC_SHARED_POINTER] = "dynamic_shared_pointer",
};

void report_title(const char *title)
{
  int used = printf("\n== %s ", title);
  for (int column = used - 1; column < REPORT_COLUMNS; ++column)
    putchar('=');
  putchar('\n');
}

static void print_labelled(const char *label, const char *format, va_list args)
{
  printf("%-*s", LABEL_COLUMNS, label);
  vprintf(format, args);
  putchar('\n');
}

void report_line(const char *label, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  print_labelled(label, format, args);
  va_end(args);
}

void report_more(const char *format, ...)
{
  va_list args;
  va_start(args, format);
  print_labelled("", format, args);
  va_end(args);
}

static const char *kind_name(uint8_t value_kind)
{
  const char *name =
      value_kind < sizeof(kind_names) / sizeof(*kind_names) ? kind_names[value_kind] : NULL;
  return name ? name : "other";
}

void report_layout(const rawhal_kernarg_layout_t *layout, const char *const *meanings,
                   size_t meaning_count, size_t blob_size)
{
  const rawhal_kernarg_info_t *info = rawhal_kernarg_layout_info(layout);
  report_line("kernarg", "%3s %7s %6s  %-14s %s", "#", "offset", "size", "kind", "what we pass");
  const rawhal_kernarg_argument_t *argument;
  for (size_t i = 0; (argument = rawhal_kernarg_layout_argument(layout, i)); ++i)
    if (!argument->hidden)
      report_more("%3zu %7u %6u  %-14s %s", i, argument->offset, argument->size,
                  kind_name(argument->value_kind), i < meaning_count ? meanings[i] : "");
  if (info->hidden_count)
    report_more("and %u hidden arguments, which rawhal fills in", info->hidden_count);
  report_more("segment of %u bytes, arguments end at %u, our blob has %zu bytes",
              info->segment_size, info->explicit_end, blob_size);
}

void report_dispatch(const char *label, uint32_t workgroups, uint32_t workgroup_size)
{
  report_count_t groups, items;
  report_line(label, "%s work-groups of %u work-items = %s work-items",
              report_count(workgroups, &groups), workgroup_size,
              report_count((uint64_t)workgroups * workgroup_size, &items));
}

const char *report_count(uint64_t value, report_count_t *buffer)
{
  char digits[24];
  size_t length = (size_t)snprintf(digits, sizeof(digits), "%llu", (unsigned long long)value);
  char *end = buffer->text;
  for (size_t i = 0; i < length; ++i) {
    if (i > 0 && (length - i) % 3 == 0)
      *end++ = ',';
    *end++ = digits[i];
  }
  *end = '\0';
  return buffer->text;
}
