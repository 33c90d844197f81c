#include "tools/probe/code.h"

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rawhal/hsaco.h>

#include "base/whole.h"
#include "tools/probe/listing.h"
#include "tools/shared/tool.h"

/* ---- Bytes ---- */

/* Where the file has what is loaded at an address. */
static bool find_code(const rawhal_hsaco_t *hsaco, uint64_t address, uint64_t size,
                      rawhal_bytes_t *bytes)
{
  const rawhal_segment_t *segment;
  const rawhal_bytes_t all = rawhal_hsaco_info(hsaco)->bytes;
  for (size_t i = 0; (segment = rawhal_hsaco_segment(hsaco, i)); ++i) {
    if (segment->type != PT_LOAD || address < segment->address ||
        address - segment->address >= segment->file_size ||
        size > segment->file_size - (address - segment->address) || segment->offset > all.size ||
        segment->file_size > all.size - segment->offset)
      continue;
    *bytes = (rawhal_bytes_t){
        (const char *)all.data + segment->offset + (address - segment->address), (size_t)size};
    return true;
  }
  return false;
}

static void read_bytes(code_t *code, uint64_t size, const kernel_t *kernel)
{
  rawhal_error_t error;
  rawhal_hsaco_t *hsaco = NULL;
  if (rawhal_hsaco_open(code->object, (size_t)size, NULL, &hsaco, &error))
    snprintf(code->why, sizeof(code->why), "its code object is not read: %.150s", error.message);
  else if (!find_code(hsaco, kernel->probe.entry, kernel->probe.code_bytes, &code->bytes))
    snprintf(code->why, sizeof(code->why), "its code object has no such code");
  rawhal_hsaco_close(hsaco);
}

/* ---- Lines ---- */

/* The object as a file that has no name: the program that is run inherits it. */
static int make_file(const void *bytes, size_t size)
{
  const int file = memfd_create("rawhal-object", 0);
  if (file < 0 || write_whole(file, bytes, size))
    return file;
  close(file);
  return -1;
}

static void read_lines(code_t *code, uint64_t size, const kernel_t *kernel,
                       const char *disassembler)
{
  char path[32], start[48], stop[48];
  const char *words[] = {disassembler, "-d", path, start, stop, NULL};
  const uint64_t entry = kernel->probe.entry;
  const int file = make_file(code->object, (size_t)size);
  if (file < 0) {
    snprintf(code->why, sizeof(code->why), "there is no room for a copy of the object");
    return;
  }
  snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
  snprintf(start, sizeof(start), "--start-address=0x%" PRIx64, entry);
  snprintf(stop, sizeof(stop), "--stop-address=0x%" PRIx64, entry + kernel->probe.code_bytes);
  listing_t listing = {.entry = entry, .bytes = kernel->probe.code_bytes};
  if (listing_read(&listing, words, code->why, sizeof(code->why))) {
    code->lines = listing.lines.items;
    code->line_count = listing.lines.count;
    code->text = listing.text.items;
  }
  close(file);
}

/* ---- Both ---- */

bool code_read(code_t *code, record_reader_t *reader, const kernel_t *kernel,
               const char *disassembler, rawhal_error_t *error)
{
  if (code->number == kernel->number)
    return true;
  code_free(code);
  const record_object_t *object = record_reader_object(reader, kernel->probe.object);
  code->number = kernel->number;
  if (!object || !object->content.whole) {
    snprintf(code->why, sizeof(code->why), "its code object is not whole");
    return true;
  }
  code->object = malloc((size_t)object->content.size); /* as many as the file has */
  if (!code->object)
    return tool_refuse(error, RAWHAL_OUT_OF_MEMORY, "no memory for a code object");
  if (record_reader_object_bytes(reader, kernel->probe.object, code->object, error))
    snprintf(code->why, sizeof(code->why), "its code object is damaged");
  else
    read_bytes(code, object->content.size, kernel);
  if (code->bytes.data && disassembler)
    read_lines(code, object->content.size, kernel, disassembler);
  return true;
}

void code_free(code_t *code)
{
  free(code->object);
  free(code->lines);
  free(code->text);
  *code = (code_t){0};
}

size_t code_line_at(const code_t *code, uint32_t offset)
{
  size_t from = 0, to = code->line_count;
  while (from < to) {
    const size_t middle = from + (to - from) / 2;
    if (code->lines[middle].offset < offset)
      from = middle + 1;
    else
      to = middle;
  }
  return from;
}
