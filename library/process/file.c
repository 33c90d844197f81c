/* The files that modules are loaded from. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/whole.h"
#include "library/process/parts.h"

bool elf_file_read(const elf_file_t *file, uint64_t offset, void *bytes, size_t size)
{
  return range_within(offset, size, file->size) &&
         pread_whole(file->descriptor, bytes, size, offset) == (ssize_t)size;
}

void *elf_file_load(const elf_file_t *file, const Elf64_Shdr *section, arena_t *arena)
{
  if (section->sh_type == SHT_NOBITS ||
      !range_within(section->sh_offset, section->sh_size, file->size))
    return NULL;
  char *bytes = arena_alloc(arena, (size_t)section->sh_size + 1);
  if (!bytes || !elf_file_read(file, section->sh_offset, bytes, (size_t)section->sh_size))
    return NULL;
  bytes[section->sh_size] = 0;
  return bytes;
}

/* A file without a table, or with one that is not in it, has no sections. */
static void read_sections(elf_file_t *file, arena_t *arena)
{
  const Elf64_Ehdr *header = &file->header;
  Elf64_Shdr first;
  if (!header->e_shoff || header->e_shentsize != sizeof(first) ||
      !elf_file_read(file, header->e_shoff, &first, sizeof(first)))
    return;
  uint64_t count = header->e_shnum ? header->e_shnum : first.sh_size, size;
  uint64_t names = header->e_shstrndx == SHN_XINDEX ? first.sh_link : header->e_shstrndx;
  if (names >= count || !checked_mul_u64(count, sizeof(first), &size) ||
      !range_within(header->e_shoff, size, file->size))
    return;
  Elf64_Shdr *sections = arena_alloc(arena, (size_t)size);
  if (!sections || !elf_file_read(file, header->e_shoff, sections, (size_t)size))
    return;
  file->names = elf_file_load(file, &sections[names], arena);
  file->names_size = (size_t)sections[names].sh_size;
  file->sections = file->names ? sections : NULL;
  file->section_count = file->names ? (size_t)count : 0;
}

bool elf_file_open(elf_file_t *file, const char *path, arena_t *arena)
{
  /* Nothing that is opened may block or become a terminal. */
  *file = (elf_file_t){
      .descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY),
  };
  struct stat facts;
  if (file->descriptor < 0 || fstat(file->descriptor, &facts) || !S_ISREG(facts.st_mode))
    return false;
  file->size = (uint64_t)facts.st_size;
  file->device = facts.st_dev;
  file->inode = facts.st_ino;
  const Elf64_Ehdr *header = &file->header;
  if (!elf_file_read(file, 0, &file->header, sizeof(file->header)) ||
      memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
      header->e_ident[EI_DATA] != ELFDATA2LSB)
    return false;
  read_sections(file, arena);
  return arena->status == RAWHAL_OK;
}

void elf_file_close(elf_file_t *file)
{
  if (file->descriptor >= 0)
    close(file->descriptor);
}

const Elf64_Shdr *elf_file_section(const elf_file_t *file, const char *name, uint32_t type)
{
  for (size_t i = 1; i < file->section_count; ++i) {
    const Elf64_Shdr *section = &file->sections[i];
    if (section->sh_type == type && (!name || (section->sh_name < file->names_size &&
                                               strcmp(file->names + section->sh_name, name) == 0)))
      return section;
  }
  return NULL;
}

/* ---- Is it what was loaded? ---- */

static bool same_segments(const elf_file_t *file, const module_t *module, arena_t *arena)
{
  size_t size = module->segment_count * sizeof(*module->segments);
  if (file->header.e_phentsize != sizeof(*module->segments) ||
      file->header.e_phnum != module->segment_count)
    return false;
  void *segments = arena_alloc(arena, size + 1);
  return segments && elf_file_read(file, file->header.e_phoff, segments, size) &&
         memcmp(segments, module->segments, size) == 0;
}

/* Does a segment of notes hold a build id? (gABI, "Note Section") */
static bool has_build_id(const unsigned char *notes, size_t size)
{
  for (size_t at = 0; at + sizeof(Elf64_Nhdr) <= size;) {
    Elf64_Nhdr note;
    memcpy(&note, notes + at, sizeof(note));
    at += sizeof(note);
    uint64_t name = ((uint64_t)note.n_namesz + 3) & ~UINT64_C(3);
    uint64_t rest = ((uint64_t)note.n_descsz + 3) & ~UINT64_C(3);
    if (!range_within(at, name + rest, size))
      return false;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(ELF_NOTE_GNU) &&
        memcmp(notes + at, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == 0)
      return true;
    at += (size_t)(name + rest);
  }
  return false;
}

enum { MOST_NOTES = 65536 };

/* 1: the notes with a build id are equal; 0: they differ; -1: there is none. */
static int same_build_id(const elf_file_t *file, const module_t *module, const space_t *space,
                         arena_t *arena)
{
  for (size_t i = 0; i < module->segment_count; ++i) {
    const Elf64_Phdr *segment = &module->segments[i];
    uint64_t address = module->base + segment->p_vaddr;
    if (segment->p_type != PT_NOTE || segment->p_filesz > MOST_NOTES ||
        segment->p_filesz > space_readable(space, address))
      continue;
    size_t size = (size_t)segment->p_filesz;
    const unsigned char *loaded = (const unsigned char *)(uintptr_t)address;
    if (!has_build_id(loaded, size))
      continue;
    void *stored = arena_alloc(arena, size + 1);
    return stored && elf_file_read(file, segment->p_offset, stored, size) &&
           memcmp(stored, loaded, size) == 0;
  }
  return -1;
}

static bool same_inode(const elf_file_t *file, const module_t *module, const space_t *space)
{
  for (size_t i = 0; i < module->segment_count; ++i)
    if (module->segments[i].p_type == PT_LOAD && module->segments[i].p_filesz) {
      const space_range_t *range = space_at(space, module->base + module->segments[i].p_vaddr);
      return range && range->inode && range->inode == file->inode && range->device == file->device;
    }
  return false;
}

bool elf_file_is_loaded(const elf_file_t *file, const module_t *module, const space_t *space,
                        arena_t *arena)
{
  if (!same_segments(file, module, arena))
    return false;
  int same = same_build_id(file, module, space, arena);
  return same < 0 ? same_inode(file, module, space) : same;
}
