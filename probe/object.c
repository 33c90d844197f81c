#include "probe/object.h"

#include "base/error.h"
#include "hsaco/descriptor.h"
#include "hsaco/memory.h"
#include "hsaco/note.h"

#include <string.h>

enum {
  DESCRIPTOR_ENTRY = 16,
  PAGE = 4096,
  MOST_BYTES = 1 << 30,
};

enum {
  SECTION_NONE,
  SECTION_NOTE,
  SECTION_RODATA,
  SECTION_TEXT,
  SECTION_SYMTAB,
  SECTION_STRTAB,
  SECTION_SHSTRTAB,
  SECTIONS
};
enum { SEGMENT_READ, SEGMENT_CODE, SEGMENT_NOTE, SEGMENTS };
enum { SYMBOL_NONE, SYMBOL_CODE, SYMBOL_DESCRIPTOR, SYMBOLS };

/* The note's name is by what plans know it again. */
static const char probed_name[] = ".note.rawhal.probe";
static const char section_names[] =
    "\0.note.rawhal.probe\0.rodata\0.text\0.symtab\0.strtab\0.shstrtab";

/* ---- Bytes one after the other, twice: first their number, then themselves ---- */

typedef struct output {
  unsigned char *bytes; /* NULL: they are only counted */
  size_t at;
} output_t;

static void put(output_t *output, const void *bytes, size_t size)
{
  if (output->bytes && size)
    memcpy(output->bytes + output->at, bytes, size);
  output->at += size;
}

static void put_u8(output_t *output, unsigned value)
{
  const unsigned char byte = (unsigned char)value;
  put(output, &byte, 1);
}

static void put_big_endian(output_t *output, uint32_t value)
{
  for (int shift = 24; shift >= 0; shift -= 8)
    put_u8(output, value >> shift & 0xff);
}

static void align(output_t *output, size_t alignment)
{
  output->at = (output->at + alignment - 1) & ~(alignment - 1); /* the bytes are zeros */
}

/* ---- Metadata: msgpack ---- */

static void put_text(output_t *output, rawhal_string_t text)
{
  put_u8(output, 0xdb); /* str 32 */
  put_big_endian(output, (uint32_t)text.size);
  put(output, text.data, text.size);
}

static void put_metadata(output_t *output, const rawhal_kernel_t *kernel)
{
  const rawhal_hsaco_info_t *info = &kernel->object->info;
  put_u8(output, 0x80 + (info->metadata_target.size ? 3 : 2)); /* map */
  put_text(output, RAWHAL_STRING("amdhsa.version"));
  put_u8(output, 0x92); /* array */
  for (int i = 0; i < 2; ++i) {
    put_u8(output, 0xce); /* uint 32 */
    put_big_endian(output, info->metadata_version[i]);
  }
  if (info->metadata_target.size) {
    put_text(output, RAWHAL_STRING("amdhsa.target"));
    put_text(output, info->metadata_target);
  }
  put_text(output, RAWHAL_STRING("amdhsa.kernels"));
  put_u8(output, 0x90 + (kernel->has_metadata ? 1 : 0));
  if (kernel->has_metadata)
    put(output, kernel->metadata.data, kernel->metadata.size);
}

static void put_note(output_t *output, const rawhal_kernel_t *kernel)
{
  static const char name[8] = "AMDGPU";
  output_t counted = {0};
  put_metadata(&counted, kernel);
  const uint32_t header[3] = {7, (uint32_t)counted.at, NOTE_AMDGPU_METADATA};
  put(output, header, sizeof(header));
  put(output, name, sizeof(name));
  put_metadata(output, kernel);
  align(output, 4);
}

/* ---- The object ---- */

typedef struct sections {
  Elf64_Shdr headers[SECTIONS];
} sections_t;

static Elf64_Word section_name(unsigned section)
{
  const char *name = section_names;
  for (unsigned i = 0; i < section; ++i)
    name += strlen(name) + 1;
  return (Elf64_Word)(name - section_names);
}

static void begin(output_t *output, sections_t *sections, unsigned section, Elf64_Word type,
                  Elf64_Xword flags, size_t alignment)
{
  align(output, alignment);
  sections->headers[section] = (Elf64_Shdr){.sh_name = section_name(section),
                                            .sh_type = type,
                                            .sh_flags = flags,
                                            .sh_addr = flags & SHF_ALLOC ? output->at : 0,
                                            .sh_offset = output->at,
                                            .sh_addralign = alignment};
}

static void end(const output_t *output, sections_t *sections, unsigned section)
{
  sections->headers[section].sh_size = output->at - sections->headers[section].sh_offset;
}

static rawhal_string_t function_name(const rawhal_kernel_t *kernel)
{
  enum { SUFFIX = 3 }; /* .kd */
  return (rawhal_string_t){kernel->symbol.data,
                           kernel->symbol.size - (kernel->symbol.size > SUFFIX ? SUFFIX : 0)};
}

static void put_symbols(output_t *output, sections_t *sections, const rawhal_kernel_t *kernel)
{
  const Elf64_Shdr *text = &sections->headers[SECTION_TEXT],
                   *rodata = &sections->headers[SECTION_RODATA];
  const rawhal_string_t function = function_name(kernel);
  Elf64_Sym symbols[SYMBOLS] = {{0}};
  symbols[SYMBOL_CODE] = (Elf64_Sym){.st_name = 1,
                                     .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                                     .st_other = STV_PROTECTED,
                                     .st_shndx = SECTION_TEXT,
                                     .st_value = text->sh_addr,
                                     .st_size = text->sh_size};
  symbols[SYMBOL_DESCRIPTOR] = (Elf64_Sym){.st_name = (Elf64_Word)(function.size + 2),
                                           .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
                                           .st_other = STV_PROTECTED,
                                           .st_shndx = SECTION_RODATA,
                                           .st_value = rodata->sh_addr,
                                           .st_size = DESCRIPTOR_SIZE};
  begin(output, sections, SECTION_SYMTAB, SHT_SYMTAB, 0, 8);
  sections->headers[SECTION_SYMTAB].sh_link = SECTION_STRTAB;
  sections->headers[SECTION_SYMTAB].sh_info = 1; /* the first that is global */
  sections->headers[SECTION_SYMTAB].sh_entsize = sizeof(symbols[0]);
  put(output, symbols, sizeof(symbols));
  end(output, sections, SECTION_SYMTAB);
  begin(output, sections, SECTION_STRTAB, SHT_STRTAB, 0, 1);
  put_u8(output, 0);
  put(output, function.data, function.size);
  put_u8(output, 0);
  put(output, kernel->symbol.data, kernel->symbol.size);
  put_u8(output, 0);
  end(output, sections, SECTION_STRTAB);
}

/* `output` is at 0, and its bytes are zeros. */
static void put_object(output_t *output, const object_parts_t *parts)
{
  sections_t sections = {0};
  const Elf64_Ehdr *original = &parts->kernel->object->elf.header;
  unsigned char *const start = output->bytes;
  output->at = sizeof(Elf64_Ehdr) + SEGMENTS * sizeof(Elf64_Phdr);
  begin(output, &sections, SECTION_NOTE, SHT_NOTE, SHF_ALLOC, 4);
  put_note(output, parts->kernel);
  end(output, &sections, SECTION_NOTE);
  begin(output, &sections, SECTION_RODATA, SHT_PROGBITS, SHF_ALLOC, 64);
  put(output, parts->descriptor, DESCRIPTOR_SIZE);
  end(output, &sections, SECTION_RODATA);
  const size_t read_end = output->at;
  begin(output, &sections, SECTION_TEXT, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, PAGE);
  put(output, parts->code, parts->code_dwords * sizeof(*parts->code));
  end(output, &sections, SECTION_TEXT);
  put_symbols(output, &sections, parts->kernel);
  begin(output, &sections, SECTION_SHSTRTAB, SHT_STRTAB, 0, 1);
  put(output, section_names, sizeof(section_names));
  end(output, &sections, SECTION_SHSTRTAB);
  align(output, 8);
  const size_t table = output->at;
  put(output, sections.headers, sizeof(sections.headers));
  if (!start)
    return;
  const Elf64_Shdr *note = &sections.headers[SECTION_NOTE], *text = &sections.headers[SECTION_TEXT];
  const Elf64_Phdr segments[SEGMENTS] = {{PT_LOAD, PF_R, 0, 0, 0, read_end, read_end, PAGE},
                                         {PT_LOAD, PF_R | PF_X, text->sh_offset, text->sh_addr,
                                          text->sh_addr, text->sh_size, text->sh_size, PAGE},
                                         {PT_NOTE, PF_R, note->sh_offset, note->sh_addr,
                                          note->sh_addr, note->sh_size, note->sh_size, 4}};
  Elf64_Ehdr header = {.e_type = ET_DYN,
                       .e_machine = original->e_machine,
                       .e_version = EV_CURRENT,
                       .e_phoff = sizeof(header),
                       .e_shoff = table,
                       .e_flags = original->e_flags,
                       .e_ehsize = sizeof(header),
                       .e_phentsize = sizeof(Elf64_Phdr),
                       .e_phnum = SEGMENTS,
                       .e_shentsize = sizeof(Elf64_Shdr),
                       .e_shnum = SECTIONS,
                       .e_shstrndx = SECTION_SHSTRTAB};
  memcpy(header.e_ident, original->e_ident, sizeof(header.e_ident));
  memcpy(start, &header, sizeof(header));
  memcpy(start + sizeof(header), segments, sizeof(segments));
  const int64_t entry = (int64_t)(text->sh_addr - sections.headers[SECTION_RODATA].sh_addr);
  memcpy(start + sections.headers[SECTION_RODATA].sh_offset + DESCRIPTOR_ENTRY, &entry,
         sizeof(entry));
}

rawhal_status_t object_write(const object_parts_t *parts, rawhal_bytes_t *bytes,
                             rawhal_error_t *error)
{
  const allocator_t *allocator = hsaco_allocator(parts->kernel->object);
  output_t output = {0};
  *bytes = (rawhal_bytes_t){0};
  if (parts->code_dwords > MOST_BYTES / 8 || parts->kernel->metadata.size > MOST_BYTES / 4 ||
      parts->kernel->symbol.size > MOST_BYTES / 16)
    return rawhal_fail(error, RAWHAL_CAP_EXCEEDED, "the probed kernel would have more than 1 GiB");
  put_object(&output, parts);
  const size_t size = output.at;
  output = (output_t){.bytes = allocate_zeroed(allocator, 1, size)};
  if (!output.bytes)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for the probed kernel");
  put_object(&output, parts);
  *bytes = (rawhal_bytes_t){output.bytes, size};
  return RAWHAL_OK;
}

bool object_is_probed(const rawhal_hsaco_t *hsaco)
{
  const elf_view_t *elf = &hsaco->elf;
  if (elf->names_index >= elf->section_count)
    return false;
  const Elf64_Shdr *names = &elf->sections[elf->names_index];
  const char *text = elf_view_section(elf, names);
  for (size_t i = 0; text && i < elf->section_count; ++i) {
    const Elf64_Shdr *section = &elf->sections[i];
    if (section->sh_type == SHT_NOTE && section->sh_name < names->sh_size &&
        names->sh_size - section->sh_name >= sizeof(probed_name) &&
        !memcmp(text + section->sh_name, probed_name, sizeof(probed_name)))
      return true;
  }
  return false;
}
