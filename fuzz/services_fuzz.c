/* What kernels leave for the host: printf records, a format's text, hostcall packets and the memory they ask
 * for. The first byte says which. Everything is in memory of its own size, so that a sanitizer sees what is
 * read beside it. */
#include <stdlib.h>
#include <string.h>

#include "fuzz/budget.h"
#include "fuzz/services_checks.h"
#include "hal/services/format.h"
#include "hal/services/printf.h"

enum { MAX_FORMATS = 16, MAX_RECORDS = 512, MAX_TEXT = 4096 };

/* Steps: those of 64 KiB of text, and for each byte of formats. */
enum { STEPS_A_TEXT = 1 << 15, STEPS_A_BYTE = 256 };

/* The C library takes several times a text's size for a number of as many digits. */
enum { TEXT_MEMORY = 1 << 20 };

/* ---- Text that was printed ---- */

typedef struct printed {
  uint64_t calls, hash;
} printed_t;

static void note(uint64_t *hash, uint64_t value)
{
  *hash = (*hash ^ value) * UINT64_C(0x100000001b3);
}

/* Of a long text, what it begins and ends with. */
static void print(void *context, rawhal_services_stream_t stream, const char *text, size_t size)
{
  printed_t *printed = context;
  size_t some = size < 64 ? size : 64;
  CHECK(stream == RAWHAL_SERVICES_STDOUT || stream == RAWHAL_SERVICES_STDERR);
  CHECK(size > 0 && size < SERVICES_TEXT_BYTES);
  ++printed->calls;
  note(&printed->hash, stream + 2 * size);
  for (size_t i = 0; i < some; ++i) {
    note(&printed->hash, (unsigned char)text[i]);
    note(&printed->hash, (unsigned char)text[size - 1 - i]);
  }
}

/* ---- Records: formats, each with a NUL behind it and the last one empty; then the buffer ---- */

typedef struct formats {
  rawhal_string_t views[MAX_FORMATS];
  size_t count, bytes;
} formats_t;

static void take_formats(input_t *input, formats_t *formats)
{
  *formats = (formats_t){0};
  while (formats->count < MAX_FORMATS && input->size) {
    const uint8_t *end = memchr(input->data, 0, input->size);
    size_t size = end ? (size_t)(end - input->data) : input->size;
    char *copy = size ? copy_exactly(input->data, size) : NULL;
    (void)take_bytes(input, size + 1);
    if (!copy)
      return;
    formats->views[formats->count++] = (rawhal_string_t){copy, size};
    formats->bytes += size;
  }
}

static rawhal_status_t print_records(const printf_table_t *table, const uint8_t *bytes, size_t size,
                                     printed_t *printed, size_t *offset)
{
  services_output_t output;
  rawhal_error_t error = {0};
  *printed = (printed_t){0};
  CHECK(output_open(&output, print, printed, NULL, &error) == RAWHAL_OK);
  unsigned char *records = copy_exactly(bytes, size);
  rawhal_status_t status = printf_records(table, records, size, &output, &error);
  *offset = status == RAWHAL_OK ? size : (size_t)error.offset;
  free(records);
  output_close(&output);
  return status;
}

/* What stands before a record that makes no sense is printed, and that alone. */
static void check_records(input_t *input)
{
  formats_t formats;
  take_formats(input, &formats);
  size_t size = input->size < MAX_RECORDS ? input->size : MAX_RECORDS, offset, again;
  budget_t budget =
      budget_begin((1 + size / 2) * (STEPS_A_TEXT + STEPS_A_BYTE * (formats.bytes + size)),
                   TEXT_MEMORY + 128 * (uint64_t)input->size);
  printf_table_t table;
  printed_t first, second;
  CHECK(printf_table_make(&table, formats.views, formats.count, NULL, NULL) == RAWHAL_OK);
  CHECK(table.count <= formats.count);
  rawhal_status_t status = print_records(&table, input->data, size, &first, &offset);
  CHECK(first.calls <= offset / 4);
  CHECK(status == RAWHAL_OK ? offset == size : status == RAWHAL_MALFORMED && offset < size);
  CHECK(print_records(&table, input->data, offset, &second, &again) == RAWHAL_OK);
  CHECK(first.calls == second.calls && first.hash == second.hash);
  printf_table_free(&table);
  budget_end(&budget);
  for (size_t i = 0; i < formats.count; ++i)
    free((char *)formats.views[i].data);
}

/* ---- A format and its arguments, into room of any size ---- */

typedef struct call {
  rawhal_string_t format, sizes;
  const unsigned char *arguments;
  size_t size;
  uint32_t count;
  bool opencl;
} call_t;

static services_text_t text_of(const call_t *call, size_t capacity)
{
  services_text_t text = {.data = malloc(capacity), .capacity = capacity};
  printf_arguments_t arguments = {.at = call->arguments,
                                  .end = call->arguments + call->size,
                                  .opencl = call->opencl,
                                  .sizes = call->sizes,
                                  .count = call->count};
  CHECK(text.data);
  format_text(&text, call->format, &arguments);
  CHECK(text.size < capacity && text.capacity == capacity);
  CHECK(arguments.at >= call->arguments && arguments.at <= call->arguments + call->size);
  return text;
}

static rawhal_string_t take_string(input_t *input, size_t size)
{
  size = size < input->size ? size : input->size;
  char *copy = copy_exactly(input->data, size);
  (void)take_bytes(input, size);
  return (rawhal_string_t){copy, size};
}

/* Less room gives the beginning of the same text, and it is known whether that is all. */
static void check_format(input_t *input)
{
  call_t call = {.opencl = take(input) & 1, .count = take(input)};
  size_t capacity = 1 + take_number(input, 2) % MAX_TEXT;
  call.format = take_string(input, take(input));
  call.sizes = take_string(input, call.opencl ? take(input) : 0);
  rawhal_string_t arguments = take_string(input, input->size);
  call.arguments = (const unsigned char *)arguments.data;
  call.size = arguments.size;
  budget_t budget = budget_begin(
      2 * (STEPS_A_TEXT + STEPS_A_BYTE * (call.format.size + call.sizes.size)), TEXT_MEMORY);
  services_text_t all = text_of(&call, SERVICES_TEXT_BYTES), some = text_of(&call, capacity);
  CHECK(some.cut == (all.cut || all.size >= capacity));
  CHECK(some.size == (some.cut ? capacity - 1 : all.size));
  CHECK(!memcmp(all.data, some.data, some.size));
  free(all.data);
  free(some.data);
  budget_end(&budget);
  free((char *)call.format.data);
  free((char *)call.sizes.data);
  free((char *)arguments.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static void (*const checks[])(input_t *) = {check_records, check_format, check_hostcalls,
                                              check_heap};
  input_t input = {data, size};
  checks[take(&input) % 4](&input);
  return 0;
}
