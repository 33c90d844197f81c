#include "debug/core/file.h"

#include <stdlib.h>

#include "base/checked.h"
#include "base/error.h"
#include "debug/core/format.h"

enum { MACHINE_AMDGPU = 224, PRSTATUS_ID = 32, PRPSINFO_ID = 24 };

static const unsigned char *at(const core_file_t *file, uint64_t offset)
{
  return (const unsigned char *)file->bytes.data + offset;
}

static Elf64_Ehdr header_of(const core_file_t *file)
{
  Elf64_Ehdr header;
  memcpy(&header, file->bytes.data, sizeof(header));
  return header;
}

bool core_file_header(const core_file_t *file, size_t index, Elf64_Phdr *header)
{
  const Elf64_Ehdr elf = header_of(file);
  if (index >= elf.e_phnum)
    return false;
  memcpy(header, at(file, elf.e_phoff + index * sizeof(*header)), sizeof(*header));
  return true;
}

/* ---- Notes ---- */

static bool parse_note(const core_file_t *file, uint64_t offset, uint64_t end,
                       core_file_note_t *note, uint64_t *next)
{
  Elf64_Nhdr head;
  if (!range_within(offset, sizeof(head), end))
    return false;
  memcpy(&head, at(file, offset), sizeof(head));
  const uint64_t name = offset + sizeof(head);
  const uint64_t contents = name + (((uint64_t)head.n_namesz + 3) & ~(uint64_t)3);
  if (!range_within(contents, head.n_descsz, end))
    return false;
  note->owner = (rawhal_string_t){(const char *)at(file, name),
                                  strnlen((const char *)at(file, name), head.n_namesz)};
  note->type = head.n_type;
  note->bytes = (rawhal_bytes_t){at(file, contents), head.n_descsz};
  *next = contents + (((uint64_t)head.n_descsz + 3) & ~(uint64_t)3);
  return true;
}

bool core_file_note(const core_file_t *file, core_note_cursor_t *cursor, core_file_note_t *note)
{
  Elf64_Phdr header;
  for (; core_file_header(file, cursor->header, &header); ++cursor->header, cursor->offset = 0) {
    if (header.p_type != PT_NOTE ||
        !range_within(header.p_offset, header.p_filesz, file->bytes.size))
      continue;
    const uint64_t end = header.p_offset + header.p_filesz;
    uint64_t offset = header.p_offset + cursor->offset, next;
    if (offset < end && parse_note(file, offset, end, note, &next)) {
      cursor->offset = next - header.p_offset;
      return true;
    }
  }
  return false;
}

bool core_note_is_of(const core_file_note_t *note, const char *owner)
{
  return note->owner.size == strlen(owner) && !memcmp(note->owner.data, owner, note->owner.size);
}

static void take_id(core_file_t *file, const core_file_note_t *note, size_t offset)
{
  int32_t id;
  if (file->view.process || note->bytes.size < offset + sizeof(id))
    return;
  memcpy(&id, (const unsigned char *)note->bytes.data + offset, sizeof(id));
  file->view.process = id;
}

static void take_notes(core_file_t *file)
{
  core_file_note_t note;
  for (core_note_cursor_t cursor = {0}; core_file_note(file, &cursor, &note);)
    if (core_note_is_of(&note, "AMDGPU") && note.type == FORMAT_AMDGPU_NOTE &&
        !file->view.note.size)
      file->view.note = note.bytes;
    else if (core_note_is_of(&note, "CORE") && note.type == NT_PRPSINFO)
      take_id(file, &note, PRPSINFO_ID);
  for (core_note_cursor_t cursor = {0}; core_file_note(file, &cursor, &note);)
    if (core_note_is_of(&note, "CORE") && note.type == NT_PRSTATUS)
      take_id(file, &note, PRSTATUS_ID);
}

/* ---- Memory ---- */

static int compare(const void *a, const void *b)
{
  const core_range_t *one = a, *other = b;
  return one->address < other->address ? -1 : one->address > other->address;
}

static rawhal_status_t take_ranges(core_file_t *file, rawhal_error_t *error)
{
  Elf64_Phdr header;
  core_view_t *view = &file->view;
  for (size_t i = 0; core_file_header(file, i, &header); ++i) {
    if (header.p_type != PT_LOAD || !header.p_filesz)
      continue;
    if (!range_within(header.p_offset, header.p_filesz, file->bytes.size) ||
        header.p_filesz > UINT64_MAX - header.p_vaddr)
      return rawhal_fail_at(error, RAWHAL_MALFORMED, header.p_offset,
                            "segment %zu has %llu bytes, of which the file ends before the last", i,
                            (unsigned long long)header.p_filesz);
    file->ranges[view->count++] =
        (core_range_t){header.p_vaddr, header.p_filesz, at(file, header.p_offset), header.p_flags};
  }
  qsort(file->ranges, view->count, sizeof(*file->ranges), compare);
  for (size_t i = 1; i < view->count; ++i)
    if (view->ranges[i].address - view->ranges[i - 1].address < view->ranges[i - 1].size)
      return rawhal_fail(error, RAWHAL_MALFORMED, "segments overlap at 0x%llx",
                         (unsigned long long)view->ranges[i].address);
  return RAWHAL_OK;
}

rawhal_status_t core_file_open(core_file_t *file, rawhal_bytes_t bytes, rawhal_error_t *error)
{
  *file = (core_file_t){.bytes = bytes, .view.bytes = bytes.size};
  if (bytes.size < sizeof(Elf64_Ehdr) || memcmp(bytes.data, ELFMAG, SELFMAG) != 0)
    return rawhal_fail_at(error, RAWHAL_MALFORMED, 0, "not an ELF file");
  const Elf64_Ehdr header = header_of(file);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      (header.e_machine != EM_X86_64 && header.e_machine != MACHINE_AMDGPU))
    return rawhal_fail_at(error, RAWHAL_UNSUPPORTED, EI_CLASS, "not of x86-64 or AMDGPU, 64 bits");
  if (header.e_type != ET_CORE || header.e_phentsize != sizeof(Elf64_Phdr) ||
      header.e_phnum == PN_XNUM ||
      !range_within(header.e_phoff, (uint64_t)header.e_phnum * sizeof(Elf64_Phdr), bytes.size))
    return rawhal_fail_at(error, RAWHAL_MALFORMED, 16, "not a core file with program headers");
  file->ranges = calloc((size_t)header.e_phnum + 1, sizeof(*file->ranges));
  if (!file->ranges)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for %u segments", header.e_phnum);
  file->view.ranges = file->ranges;
  take_notes(file);
  return take_ranges(file, error);
}

void core_file_close(core_file_t *file)
{
  free(file->ranges);
  *file = (core_file_t){0};
}
