/* rawhal check: the rows, one range of the segment after the other. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/check/check.h"
#include "tools/shared/terminal.h"
#include "tools/shared/tool.h"
#include "tools/shared/value_type.h"

enum { ROW = 8 /* bytes per row */, MEANING = 35 /* its column */ };

typedef struct explainer {
  const check_blob_t *blob;
  const rawhal_kernarg_info_t *info;
  FILE *meaning; /* of the row that is begun, in memory: */
  char *const *text;
  const size_t *size;
} explainer_t;

/* ---- Bytes ---- */

static void print_hex(const unsigned char *bytes, uint64_t count)
{
  for (uint64_t i = 0; i < ROW; ++i)
    printf(i < count ? "%02x " : "   ", i < count ? bytes[i] : 0);
}

/* The start of a row: a mark, the offset, and the range's first bytes as far as the blob has them;
 * the meaning is written to e->meaning. */
static void begin_row(const explainer_t *e, bool wrong, uint64_t from, uint64_t to)
{
  uint64_t end = to < e->blob->length ? to : e->blob->length;
  uint64_t shown = from < end ? end - from : 0;
  printf("%c %6" PRIu64 "  ", wrong ? '!' : ' ', from);
  print_hex(shown ? e->blob->bytes + from : NULL, shown < ROW ? shown : ROW);
  putchar(' ');
}

static void put(const explainer_t *e, rawhal_string_t text)
{
  fwrite(text.data, 1, text.size, e->meaning);
}

/* In the columns that a terminal has. */
static void print_meaning(const explainer_t *e)
{
  terminal_row_t row = {.used = MEANING};
  if (!fflush(e->meaning))
    terminal_row_put_wrapped(&row, (rawhal_string_t){*e->text, *e->size}, MEANING);
  rewind(e->meaning);
  putchar('\n');
}

/* Ends the row and adds the bytes that had no room in it; rows that repeat are one '*'. */
static void end_row(const explainer_t *e, uint64_t from, uint64_t to)
{
  const unsigned char *bytes = e->blob->bytes;
  uint64_t end = to < e->blob->length ? to : e->blob->length;
  bool starred = false;
  print_meaning(e);
  for (uint64_t at = from + ROW; at < end; at += ROW) {
    bool repeats = end - at >= ROW && !memcmp(bytes + at, bytes + at - ROW, ROW);
    if (repeats && !starred)
      puts("       *");
    starred = repeats;
    if (repeats)
      continue;
    printf("  %6" PRIu64 "  ", at);
    print_hex(bytes + at, end - at < ROW ? end - at : ROW);
    putchar('\n');
  }
}

/* ---- Values ---- */

static double float_at(const unsigned char *bytes, uint32_t size)
{
  float single;
  double number;
  if (size == sizeof(single)) {
    memcpy(&single, bytes, sizeof(single));
    return (double)single;
  }
  memcpy(&number, bytes, sizeof(number));
  return number;
}

/* Sign-extends a little-endian integer. */
static int64_t signed_at(const unsigned char *bytes, uint32_t size)
{
  uint64_t value = 0;
  for (uint32_t i = 0; i < size; ++i)
    value |= (uint64_t)bytes[i] << (8 * i);
  unsigned unused = 64 - 8 * size;
  return (int64_t)(value << unused) >> unused;
}

static void print_element(const explainer_t *e, const unsigned char *bytes, value_type_t type)
{
  if (type.of == VALUE_FLOAT && type.element >= 4)
    fprintf(e->meaning, "%.9g", float_at(bytes, type.element));
  else if (type.of == VALUE_SIGNED)
    fprintf(e->meaning, "%" PRId64, signed_at(bytes, type.element));
  else
    fprintf(e->meaning, "0x%" PRIx64,
            (uint64_t)signed_at(bytes, type.element) & UINT64_MAX >> (64 - 8 * type.element));
}

/* What rawhal_kernarg_format() cannot know: signs, floating point, vectors. Values of an unknown
 * type are shown as floating point too where that makes a number of everyday size. */
static void print_typed(const explainer_t *e, const rawhal_argument_t *argument,
                        const unsigned char *bytes)
{
  value_type_t type = value_type_of(argument);
  if (argument->detail->type_name.size) {
    fputs(", ", e->meaning);
    put(e, argument->detail->type_name);
  }
  if (type.of == VALUE_UNKNOWN && (argument->size == 4 || argument->size == 8)) {
    double number = float_at(bytes, argument->size);
    double size = number < 0 ? -number : number;
    if (argument->value_kind == RAWHAL_VALUE_BY_VALUE && size > 1e-9 && size < 1e9)
      fprintf(e->meaning, ", or %.9g as %s", number, argument->size == 4 ? "float" : "double");
    return;
  }
  bool plain = type.of != VALUE_FLOAT && type.of != VALUE_SIGNED;
  if (type.of == VALUE_UNKNOWN || (type.count == 1 && plain))
    return;
  for (uint32_t i = 0; i < type.count; ++i) {
    fputs(i ? ", " : " ", e->meaning);
    print_element(e, bytes + i * type.element, type);
  }
}

/* ---- Ranges ---- */

static void explain_gap(const explainer_t *e, uint64_t from, uint64_t to, const char *what)
{
  bool zeros = true;
  for (uint64_t i = from; i < to && i < e->blob->length; ++i)
    zeros = zeros && !e->blob->bytes[i];
  if (from >= to)
    return;
  begin_row(e, false, from, to);
  fprintf(e->meaning, "%s %" PRIu64 "..%" PRIu64, what, from, to);
  if (from >= e->blob->length)
    fputs(", zeros: the blob has ended", e->meaning);
  else if (!zeros)
    fputs(", not zero: copied as it is", e->meaning);
  end_row(e, from, to);
}

static void explain_hidden(const explainer_t *e, size_t index,
                           const rawhal_kernarg_argument_t *argument)
{
  uint64_t from = argument->offset, to = from + argument->size, length = e->blob->length;
  bool kept = e->blob->flags & RAWHAL_KERNARG_KEEP_HIDDEN && to <= length;
  bool no_value = argument->value_kind == RAWHAL_VALUE_HIDDEN_NONE ||
                  argument->value_kind == RAWHAL_VALUE_HIDDEN_UNKNOWN;
  begin_row(e, false, from, to);
  fprintf(e->meaning, "%zu ", index);
  put(e, argument->value_kind_text);
  fprintf(e->meaning, " %" PRIu64 "..%" PRIu64 ", %s", from, to,
          kept       ? "kept as the blob has it"
          : no_value ? "hidden: the launch writes zeros"
                     : "hidden: the launch writes it");
  if (!kept && from < length)
    fputs(", not these bytes", e->meaning);
  end_row(e, from, to);
}

/* The sizes that rawhal_kernarg_format() shows as numbers. */
static bool is_number(uint32_t size)
{
  return size == 1 || size == 2 || size == 4 || size == 8;
}

static void explain_visible(const explainer_t *e, size_t index,
                            const rawhal_kernarg_argument_t *argument)
{
  const check_blob_t *blob = e->blob;
  uint64_t from = argument->offset, to = from + argument->size;
  rawhal_bytes_t value;
  bool whole = !rawhal_kernarg_get(blob->layout, index, blob->bytes, blob->length, &value, NULL);
  char text[1024];
  rawhal_kernarg_format(blob->layout, index, blob->bytes, blob->length, text, sizeof(text));
  char *bytes = whole && !is_number(argument->size) ? strstr(text, ") ") : NULL;
  if (bytes && (bytes = strstr(bytes, " = ")))
    *bytes = '\0'; /* the rows show them */
  begin_row(e, !whole && !argument->optional, from, to);
  put(e, rawhal_string(text));
  if (whole)
    print_typed(e, &blob->kernel->arguments[index], value.data);
  else if (blob->length > from)
    fprintf(e->meaning, ": the blob ends after %" PRIu64 " of %" PRIu32 " bytes",
            blob->length - from, argument->size);
  if (!whole && argument->optional)
    fputs(", zeros instead: it is optional, past the declared segment", e->meaning);
  end_row(e, from, to);
}

/* ---- The whole ---- */

static int compare_offsets(const void *a, const void *b, void *layout)
{
  size_t i = *(const size_t *)a, k = *(const size_t *)b;
  uint32_t first = rawhal_kernarg_layout_argument(layout, i)->offset;
  uint32_t second = rawhal_kernarg_layout_argument(layout, k)->offset;
  if (first != second)
    return first < second ? -1 : 1;
  return i < k ? -1 : i > k;
}

/* The arguments and the gaps between them; `*end` becomes the end of the last. */
static bool explain_arguments(const explainer_t *e, uint64_t *end)
{
  const rawhal_kernarg_layout_t *layout = e->blob->layout;
  size_t count = (size_t)e->info->visible_count + e->info->hidden_count;
  size_t *order = malloc((count + 1) * sizeof(*order));
  if (!order)
    return false;
  for (size_t i = 0; i < count; ++i)
    order[i] = i;
  qsort_r(order, count, sizeof(*order), compare_offsets, (void *)(uintptr_t)layout);
  for (size_t i = 0; i < count; ++i) {
    const rawhal_kernarg_argument_t *argument = rawhal_kernarg_layout_argument(layout, order[i]);
    if (argument->size)
      explain_gap(e, *end, argument->offset, "padding");
    if (argument->hidden)
      explain_hidden(e, order[i], argument);
    else
      explain_visible(e, order[i], argument);
    if (argument->size)
      *end = (uint64_t)argument->offset + argument->size;
  }
  free(order);
  return true;
}

/* A segment of which only the size is known. */
static void explain_unknown(const explainer_t *e, uint64_t *end)
{
  uint64_t size = e->info->segment_size, length = e->blob->length;
  bool wrong = (length + 7) / 8 * 8 < size;
  *end = size;
  if (!size)
    return;
  begin_row(e, wrong, 0, size);
  fprintf(e->meaning, "arguments 0..%" PRIu64 ", not known one by one", size);
  if (length < size)
    fprintf(e->meaning,
            wrong ? ": the last %" PRIu64 " bytes are missing"
                  : "; the last %" PRIu64 " bytes, zeros instead, pass as padding",
            size - length);
  end_row(e, 0, size);
}

static bool explain(const explainer_t *e)
{
  const check_blob_t *blob = e->blob;
  uint64_t size = e->info->effective_size, most = (size + 15) / 16 * 16, end = 0;
  printf("  %6s  %-24s meaning\n", "offset", "bytes in the blob");
  if (e->info->knowledge == RAWHAL_KERNARG_SIZE)
    explain_unknown(e, &end);
  else if (!explain_arguments(e, &end))
    return false;
  explain_gap(e, end, size, "padding");
  if (blob->length > size)
    explain_gap(e, size, blob->length < most ? blob->length : most, "rounding to 16");
  if (blob->length > most) {
    bool clamped = blob->flags & RAWHAL_KERNARG_CLAMP;
    begin_row(e, !clamped, most, blob->length);
    fprintf(e->meaning, "%" PRIu64 " bytes beyond the segment%s", blob->length - most,
            clamped ? ": ignored" : "");
    end_row(e, most, blob->length);
  }
  return true;
}

bool check_explain(const check_blob_t *blob)
{
  char *text = NULL;
  size_t size = 0;
  const explainer_t e = {blob, rawhal_kernarg_layout_info(blob->layout),
                         open_memstream(&text, &size), &text, &size};
  bool done = e.meaning && explain(&e);
  if (e.meaning)
    done = !fclose(e.meaning) && done;
  free(text);
  return done;
}
