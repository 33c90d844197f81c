/* rawhal header: one kernel's struct. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/header/header.h"
#include "tools/shared/escape.h"
#include "tools/shared/value_type.h"

/* ---- Text from files in C source ---- */

void header_print_comment(FILE *out, rawhal_string_t text)
{
  char previous = '*'; /* after an opening mark */
  for (size_t i = 0, from = 0; i < text.size; ++i) {
    char c = text.data[i];
    bool mark = (previous == '*' && c == '/') || (previous == '/' && c == '*');
    previous = c;
    if (mark) {
      (void)escape_text(out, (rawhal_string_t){text.data + from, i - from}, SIZE_MAX);
      fputc(' ', out);
      from = i;
    }
    if (i + 1 == text.size)
      (void)escape_text(out, (rawhal_string_t){text.data + from, text.size - from}, SIZE_MAX);
  }
}

void header_print_literal(FILE *out, rawhal_string_t text)
{
  fputc('"', out);
  for (size_t i = 0; i < text.size; ++i) {
    unsigned char c = (unsigned char)text.data[i];
    if (c < 0x20 || c >= 0x7f)
      fprintf(out, "\\%03o", c);
    else
      fprintf(out, strchr("\"\\?", c) ? "\\%c" : "%c", c); /* '?': no trigraphs */
  }
  fputc('"', out);
}

/* ---- Members ---- */

typedef struct member_type {
  const char *name;
  uint64_t count; /* of an array; 0 = no array */
} member_type_t;

static member_type_t member_type(const rawhal_argument_t *argument)
{
  /* By class, then by log2 of the bytes. Half-precision numbers have no type in C: their bits. */
  static const char *const names[][4] = {
      [VALUE_UNKNOWN] = {"uint8_t", "rawhal_value16", "rawhal_value32", "rawhal_value64"},
      [VALUE_UNSIGNED] = {"uint8_t", "uint16_t", "uint32_t", "uint64_t"},
      [VALUE_SIGNED] = {"int8_t", "int16_t", "int32_t", "int64_t"},
      [VALUE_FLOAT] = {"uint8_t", "uint16_t", "float", "double"},
      [VALUE_ADDRESS] = {"uint8_t", "uint16_t", "uint32_t", "uint64_t"},
  };
  value_type_t type = value_type_of(argument);
  uint32_t element = type.of ? type.element : argument->size;
  for (unsigned log = 0; log < 4; ++log)
    if (element == 1u << log)
      return (member_type_t){names[type.of][log], type.count > 1 ? type.count : 0};
  return (member_type_t){"unsigned char", argument->size};
}

static void print_member(FILE *out, const rawhal_argument_t *argument, const char *name,
                         bool optional)
{
  member_type_t type = member_type(argument);
  fprintf(out, "  %s %s", type.name, name);
  if (type.count)
    fprintf(out, "[%" PRIu64 "]", type.count);
  fprintf(out, "; /* %" PRIu32 "..%" PRIu64 " ", argument->offset,
          (uint64_t)argument->offset + argument->size);
  header_print_comment(out, argument->detail->value_kind_text);
  if (argument->detail->type_name.size) {
    fputs(", ", out);
    header_print_comment(out, argument->detail->type_name);
  }
  fputs(optional ? ", may be left out */\n" : " */\n", out);
}

static void print_offset(FILE *out, const char *name, uint64_t offset)
{
  fprintf(out, "static_assert(offsetof(%c, %s) == %" PRIu64 ", \"%s\");\n", HEADER_TYPE, name,
          offset, name);
}

static bool print_padding(FILE *out, const header_names_t *names, uint64_t from, uint64_t to)
{
  char *name = from < to ? header_names_padding(names, from) : NULL;
  if (name)
    fprintf(out, "  unsigned char %s[%" PRIu64 "];\n", name, to - from);
  free(name);
  return name || from >= to;
}

static int compare_offsets(const void *a, const void *b, void *layout)
{
  uint32_t first = rawhal_kernarg_layout_argument(layout, *(const size_t *)a)->offset;
  uint32_t second = rawhal_kernarg_layout_argument(layout, *(const size_t *)b)->offset;
  return first < second ? -1 : first > second;
}

/* Indices of the members, by offset; the caller frees them. */
static size_t *sort_members(const rawhal_kernarg_layout_t *layout, const header_names_t *names,
                            size_t *count)
{
  size_t *order = malloc((names->count + 1) * sizeof(*order));
  *count = 0;
  for (size_t i = 0; order && i < names->count; ++i)
    if (names->arguments[i])
      order[(*count)++] = i;
  if (order)
    qsort_r(order, *count, sizeof(*order), compare_offsets, (void *)(uintptr_t)layout);
  return order;
}

static bool print_arguments(FILE *out, const rawhal_kernel_t *kernel,
                            const rawhal_kernarg_layout_t *layout, const header_names_t *names,
                            uint64_t *size)
{
  size_t count;
  size_t *order = sort_members(layout, names, &count);
  bool done = order != NULL;
  *size = 0;
  if (count)
    fprintf(out, "typedef struct %c {\n", HEADER_TYPE);
  for (size_t i = 0; done && i < count; ++i) {
    const rawhal_argument_t *argument = &kernel->arguments[order[i]];
    done = print_padding(out, names, *size, argument->offset);
    print_member(out, argument, names->arguments[order[i]],
                 rawhal_kernarg_layout_argument(layout, order[i])->optional);
    *size = (uint64_t)argument->offset + argument->size;
  }
  if (count)
    fprintf(out, "} %c;\n", HEADER_TYPE);
  for (size_t i = 0; done && i < count; ++i)
    print_offset(out, names->arguments[order[i]], kernel->arguments[order[i]].offset);
  free(order);
  return done;
}

static bool print_struct(FILE *out, const rawhal_kernel_t *kernel,
                         const rawhal_kernarg_layout_t *layout, uint64_t *size)
{
  const rawhal_kernarg_info_t *info = rawhal_kernarg_layout_info(layout);
  header_names_t names;
  bool done = true;
  if (info->knowledge == RAWHAL_KERNARG_ARGUMENTS) {
    done = header_names_make(layout, &names) && print_arguments(out, kernel, layout, &names, size);
    header_names_release(&names);
  } else {
    *size = info->segment_size;
    if (*size)
      fprintf(out,
              "typedef struct %c {\n  unsigned char bytes[%" PRIu64
              "]; /* the arguments are not known */\n} %c;\n",
              HEADER_TYPE, *size, HEADER_TYPE);
  }
  if (*size)
    fprintf(out, "static_assert(sizeof(%c) == %" PRIu64 ", \"size\");\n", HEADER_TYPE, *size);
  return done;
}

char *header_struct(const rawhal_kernel_t *kernel, const rawhal_kernarg_layout_t *layout,
                    uint64_t *size)
{
  char *text = NULL;
  size_t length;
  FILE *out = open_memstream(&text, &length);
  if (!out)
    return NULL;
  bool done = print_struct(out, kernel, layout, size);
  done = !ferror(out) && done;
  if (!fclose(out) && done)
    return text;
  free(text);
  return NULL;
}
