#include "hal/services/printf.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

enum { DWORD = 4, QWORD = 8 };

/* ---- Formats ---- */

/* "\n" and the like, and "\72" for ':'. Other backslashes stand for themselves. */
static size_t unescape(rawhal_string_t from, char *to)
{
  static const char letters[] = "abfnrv", characters[] = "\a\b\f\n\r\v";
  size_t size = 0;
  for (size_t i = 0; i < from.size; ++i) {
    size_t left = from.size - i;
    char next = left > 1 ? from.data[i + 1] : 0;
    const char *letter = from.data[i] == '\\' && next ? strchr(letters, next) : NULL;
    if (letter) {
      to[size++] = characters[letter - letters];
      ++i;
    } else if (left > 2 && memcmp(from.data + i, "\\72", 3) == 0) {
      to[size++] = ':';
      i += 2;
    } else {
      to[size++] = from.data[i];
    }
  }
  return size;
}

/* The digits before a ',', which is taken off with them. */
static bool take_hash(rawhal_string_t *text, uint64_t *hash)
{
  size_t i = 0;
  *hash = 0;
  for (; i < text->size && text->data[i] != ','; ++i) {
    char c = text->data[i];
    int digit = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
    if (digit < 0 || i == 16)
      return false;
    *hash = *hash << 4 | (uint64_t)digit;
  }
  if (i == 0 || i == text->size)
    return false;
  text->data += i + 1;
  text->size -= i + 1;
  return true;
}

/* Where there are fewer sizes than arguments, the compiler has stored no more. */
static bool entry_read(rawhal_string_t text, printf_entry_t *entry)
{
  uint32_t number = format_take_size(&text), count = format_take_size(&text), found = 0;
  if (number == UINT32_MAX || count == UINT32_MAX)
    return false;
  *entry = (printf_entry_t){.key = number, .sizes = text, .format = text, .hashed = number == 0};
  if (entry->hashed)
    return take_hash(&entry->format, &entry->key);
  while (found < count && format_take_size(&entry->format) != UINT32_MAX)
    ++found;
  entry->count = found;
  entry->sizes.size -= entry->format.size;
  return true;
}

static int compare_entries(const void *a, const void *b)
{
  uint64_t x = ((const printf_entry_t *)a)->key, y = ((const printf_entry_t *)b)->key;
  return x < y ? -1 : x > y;
}

static bool equal(rawhal_string_t a, rawhal_string_t b)
{
  return a.size == b.size && (!a.size || memcmp(a.data, b.data, a.size) == 0);
}

/* Units that a linker put into one object each count their formats from 1: nobody can tell then
 * which one a record means. One entry of each key stays, and says so. */
static void merge_keys(printf_table_t *table)
{
  size_t kept = 0;
  for (size_t i = 0; i < table->count; ++i) {
    const printf_entry_t *next = &table->entries[i];
    printf_entry_t *last = kept ? &table->entries[kept - 1] : NULL;
    if (last && last->key == next->key)
      last->clashes |= !equal(last->format, next->format) || !equal(last->sizes, next->sizes);
    else
      table->entries[kept++] = *next;
  }
  table->count = kept;
}

rawhal_status_t printf_table_make(printf_table_t *table, const rawhal_string_t *formats,
                                  size_t count, const allocator_t *allocator, rawhal_error_t *error)
{
  *table = (printf_table_t){.allocator = allocator};
  size_t size = 0;
  for (size_t i = 0; i < count; ++i)
    size += formats[i].size; /* views of one file */
  table->entries = allocate_zeroed(allocator, count + 1, sizeof(*table->entries));
  table->characters = allocate(allocator, size + 1);
  if (!table->entries || !table->characters) {
    printf_table_free(table);
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for %zu printf formats", count);
  }
  char *to = table->characters;
  for (size_t i = 0; i < count; ++i) {
    printf_entry_t *entry = &table->entries[table->count];
    if (!entry_read(formats[i], entry))
      continue;
    ++table->count;
    if (entry->hashed) /* HIP's formats are as they were written */
      continue;
    table->opencl = true;
    entry->format = (rawhal_string_t){to, unescape(entry->format, to)};
    to += entry->format.size;
  }
  qsort(table->entries, table->count, sizeof(*table->entries), compare_entries);
  merge_keys(table);
  return RAWHAL_OK;
}

void printf_table_free(printf_table_t *table)
{
  allocate_free(table->allocator, table->entries);
  allocate_free(table->allocator, table->characters);
  *table = (printf_table_t){0};
}

static const char clash[] =
    "has a number that several formats have: each linked translation unit counts from the start";

static const printf_entry_t *entry_find(const printf_table_t *table, uint64_t key)
{
  printf_entry_t wanted = {.key = key};
  return bsearch(&wanted, table->entries, table->count, sizeof(wanted), compare_entries);
}

/* ---- Records: each gives its size; 0 and a message when it makes no sense ---- */

static uint64_t load(const unsigned char *bytes, size_t size)
{
  uint64_t value = 0;
  memcpy(&value, bytes, size);
  return value;
}

static size_t record_opencl(const printf_table_t *table, const unsigned char *bytes, size_t size,
                            services_output_t *output, const char **why)
{
  const printf_entry_t *entry = size < DWORD ? NULL : entry_find(table, load(bytes, DWORD));
  *why = "has a number that no format has";
  if (!entry)
    return 0;
  *why = clash;
  if (entry->clashes)
    return 0;
  rawhal_string_t sizes = entry->sizes;
  uint64_t record = DWORD;
  for (uint32_t i = 0; i < entry->count && record <= size; ++i)
    record += ((uint64_t)format_take_size(&sizes) + 3) & ~(uint64_t)3;
  *why = "ends beyond what was written";
  if (record > size)
    return 0;
  printf_arguments_t arguments = {.at = bytes + DWORD,
                                  .end = bytes + record,
                                  .opencl = true,
                                  .sizes = entry->sizes,
                                  .count = entry->count};
  format_text(output_begin(output), entry->format, &arguments);
  (void)output_end(output, RAWHAL_SERVICES_STDOUT);
  return record;
}

static size_t record_hip(const printf_table_t *table, const unsigned char *bytes, size_t size,
                         services_output_t *output, const char **why)
{
  enum { STDERR = 1, HASHED = 2 };
  *why = "ends beyond what was written";
  uint64_t control = size < DWORD ? 0 : load(bytes, DWORD);
  size_t record = control >> 2, head = DWORD + (control & HASHED ? QWORD : 0);
  if (record < head || record > size)
    return 0;
  rawhal_services_stream_t stream =
      control & STDERR ? RAWHAL_SERVICES_STDERR : RAWHAL_SERVICES_STDOUT;
  if (!(control & HASHED)) {
    (void)printf_message(bytes + head, record - head, output, stream);
    return record;
  }
  const printf_entry_t *entry = entry_find(table, load(bytes + DWORD, QWORD));
  *why = "has a hash that no format has";
  if (!entry)
    return 0;
  *why = "has a hash that several formats have";
  if (entry->clashes)
    return 0;
  printf_arguments_t arguments = {.at = bytes + head, .end = bytes + record};
  format_text(output_begin(output), entry->format, &arguments);
  (void)output_end(output, stream);
  return record;
}

rawhal_status_t printf_records(const printf_table_t *table, const unsigned char *bytes, size_t size,
                               services_output_t *output, rawhal_error_t *error)
{
  for (size_t offset = 0, record; offset < size; offset += record) {
    const char *why;
    record = (table->opencl ? record_opencl : record_hip)(table, bytes + offset, size - offset,
                                                          output, &why);
    if (record == 0)
      return rawhal_fail_at(error, RAWHAL_MALFORMED, offset,
                            "printf record at byte %zu of %zu %s%s", offset, size, why,
                            why == clash ? "" : ": were these kernels of another code object?");
  }
  return RAWHAL_OK;
}

size_t printf_message(const unsigned char *bytes, size_t size, services_output_t *output,
                      rawhal_services_stream_t stream)
{
  rawhal_string_t format = {(const char *)bytes, strnlen((const char *)bytes, size)};
  size_t padded = (format.size + QWORD) & ~(size_t)(QWORD - 1);
  printf_arguments_t arguments = {.at = bytes + (padded < size ? padded : size),
                                  .end = bytes + size};
  format_text(output_begin(output), format, &arguments);
  return output_end(output, stream);
}
