#include "tools/shared/lines.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

enum {
  MOST_ROWS = 1 << 22, /* of all tables */
  MOST_FORMATS = 16,
  /* DWARF 5, 6.2 and 7.5.6 */
  STANDARD_OPCODES = 9,
  LNS_COPY = 1,
  LNS_ADVANCE_PC = 2,
  LNS_ADVANCE_LINE = 3,
  LNS_SET_FILE = 4,
  LNS_CONST_ADD_PC = 8,
  LNS_FIXED_ADVANCE_PC = 9,
  LNE_END_SEQUENCE = 1,
  LNE_SET_ADDRESS = 2,
  LNCT_PATH = 1,
  LNCT_DIRECTORY = 2,
  FORM_DATA2 = 0x05,
  FORM_DATA4 = 0x06,
  FORM_DATA8 = 0x07,
  FORM_STRING = 0x08,
  FORM_BLOCK = 0x09,
  FORM_DATA1 = 0x0b,
  FORM_STRP = 0x0e,
  FORM_UDATA = 0x0f,
  FORM_DATA16 = 0x1e,
  FORM_LINE_STRP = 0x1f,
};

/* ---- Bytes ---- */

/* What is behind the end is zeros, and `bad`. */
typedef struct cursor {
  const unsigned char *at, *end;
  bool bad;
} cursor_t;

static cursor_t cursor_of(rawhal_bytes_t bytes)
{
  const unsigned char *data = bytes.data;
  return (cursor_t){data, data + bytes.size, false};
}

static const unsigned char *take(cursor_t *cursor, uint64_t size)
{
  const unsigned char *at = cursor->at;
  if (size > (uint64_t)(cursor->end - at)) {
    cursor->bad = true;
    cursor->at = cursor->end;
    return NULL;
  }
  cursor->at += size;
  return at;
}

static uint64_t number(cursor_t *cursor, unsigned size)
{
  uint64_t value = 0;
  const unsigned char *at = take(cursor, size);
  if (at)
    memcpy(&value, at, size); /* both are little-endian */
  return value;
}

static uint64_t leb(cursor_t *cursor, bool is_signed)
{
  uint64_t value = 0;
  unsigned shift = 0;
  uint8_t byte;
  do {
    byte = (uint8_t)number(cursor, 1);
    value |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
    shift += 7;
  } while (byte & 0x80 && !cursor->bad);
  if (is_signed && byte & 0x40 && shift < 64)
    value |= UINT64_MAX << shift;
  return value;
}

/* Up to its NUL, which has to be there. */
static rawhal_string_t text(cursor_t *cursor)
{
  const char *at = (const char *)cursor->at;
  const size_t size = strnlen(at, (size_t)(cursor->end - cursor->at));
  return take(cursor, size + 1) ? (rawhal_string_t){at, size} : (rawhal_string_t){0};
}

static rawhal_string_t text_at(rawhal_bytes_t section, uint64_t offset)
{
  cursor_t cursor = cursor_of(section);
  (void)take(&cursor, offset);
  return cursor.bad || !section.size ? (rawhal_string_t){0} : text(&cursor);
}

/* ---- Sections ---- */

typedef struct sections {
  rawhal_bytes_t lines, strings, line_strings;
} sections_t;

static rawhal_bytes_t part(rawhal_bytes_t object, uint64_t offset, uint64_t size)
{
  if (offset > object.size || size > object.size - offset)
    return (rawhal_bytes_t){0};
  return (rawhal_bytes_t){(const char *)object.data + offset, (size_t)size};
}

static bool section_at(rawhal_bytes_t object, const Elf64_Ehdr *header, unsigned index,
                       Elf64_Shdr *section)
{
  const uint64_t at = (uint64_t)index * sizeof(*section);
  const rawhal_bytes_t table =
      part(object, header->e_shoff, (uint64_t)header->e_shnum * sizeof(*section));
  if (!table.size || index >= header->e_shnum)
    return false;
  memcpy(section, (const char *)table.data + at, sizeof(*section));
  return true;
}

static bool find_sections(rawhal_bytes_t object, sections_t *found)
{
  const struct {
    const char *name;
    rawhal_bytes_t *to;
  } wanted[] = {{".debug_line", &found->lines},
                {".debug_str", &found->strings},
                {".debug_line_str", &found->line_strings}};
  Elf64_Ehdr header;
  Elf64_Shdr names, section;
  if (object.size < sizeof(header))
    return false;
  memcpy(&header, object.data, sizeof(header));
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_shentsize != sizeof(section) ||
      !section_at(object, &header, header.e_shstrndx, &names))
    return false;
  const rawhal_bytes_t texts = part(object, names.sh_offset, names.sh_size);
  for (unsigned i = 0; section_at(object, &header, i, &section); ++i) {
    const rawhal_string_t name = text_at(texts, section.sh_name);
    for (size_t w = 0; w < sizeof(wanted) / sizeof(*wanted); ++w)
      if (name.size == strlen(wanted[w].name) && !memcmp(name.data, wanted[w].name, name.size) &&
          section.sh_type != SHT_NOBITS && !(section.sh_flags & SHF_COMPRESSED))
        *wanted[w].to = part(object, section.sh_offset, section.sh_size);
  }
  return found->lines.size;
}

/* ---- Names ---- */

/* A table of a compilation unit's. */
typedef struct unit {
  const sections_t *sections;
  unsigned version, offset_size;
  uint8_t least_length, operations, line_range, opcode_base;
  int8_t line_base;
  const unsigned char *lengths; /* of standard opcodes' operands, from 1 on */
  cursor_t names, program;
} unit_t;

typedef struct name {
  rawhal_string_t path;
  uint64_t folder;
} name_t;

static void read_form(const unit_t *unit, cursor_t *at, uint64_t form, rawhal_string_t *path,
                      uint64_t *value)
{
  switch (form) {
  case FORM_STRING:
    *path = text(at);
    break;
  case FORM_STRP:
    *path = text_at(unit->sections->strings, number(at, unit->offset_size));
    break;
  case FORM_LINE_STRP:
    *path = text_at(unit->sections->line_strings, number(at, unit->offset_size));
    break;
  case FORM_UDATA:
    *value = leb(at, false);
    break;
  case FORM_DATA1:
  case FORM_DATA2:
    *value = number(at, form == FORM_DATA1 ? 1 : 2);
    break;
  case FORM_DATA4:
  case FORM_DATA8:
    *value = number(at, form == FORM_DATA4 ? 4 : 8);
    break;
  case FORM_DATA16:
    (void)take(at, 16);
    break;
  case FORM_BLOCK:
    (void)take(at, leb(at, false));
    break;
  default:
    at->bad = true;
  }
}

/* The wanted entry of a list of version 5, behind which the cursor then stands. */
static name_t entry_of(const unit_t *unit, cursor_t *at, uint64_t wanted)
{
  uint64_t formats[MOST_FORMATS][2];
  name_t found = {0};
  const unsigned count = (unsigned)number(at, 1);
  if (count > MOST_FORMATS) {
    at->bad = true;
    return found;
  }
  for (unsigned i = 0; i < count; ++i) {
    formats[i][0] = leb(at, false);
    formats[i][1] = leb(at, false);
  }
  const uint64_t listed = leb(at, false), entries = count ? listed : 0;
  for (uint64_t n = 0; n < entries && !at->bad; ++n) {
    name_t name = {0};
    for (unsigned i = 0; i < count; ++i) {
      uint64_t value = 0;
      rawhal_string_t path = {0};
      read_form(unit, at, formats[i][1], &path, &value);
      if (formats[i][0] == LNCT_PATH)
        name.path = path;
      if (formats[i][0] == LNCT_DIRECTORY)
        name.folder = value;
    }
    if (n == wanted)
      found = name;
  }
  return found;
}

/* The same of versions 2 to 4, which count from 1: folders without, files with what is behind. */
static name_t entry_before(cursor_t *at, uint64_t wanted, bool is_file)
{
  name_t found = {0};
  for (uint64_t n = 1; !at->bad; ++n) {
    name_t name = {.path = text(at)};
    if (!name.path.size)
      break;
    name.folder = is_file ? leb(at, false) : 0;
    if (is_file) {
      (void)leb(at, false);
      (void)leb(at, false);
    }
    if (n == wanted)
      found = name;
  }
  return found;
}

static name_t name_of(const unit_t *unit, uint64_t number, bool is_file)
{
  cursor_t at = unit->names;
  const bool is_new = unit->version >= 5;
  name_t folder = is_new ? entry_of(unit, &at, number) : entry_before(&at, number, false);
  if (!is_file)
    return folder;
  return is_new ? entry_of(unit, &at, number) : entry_before(&at, number, true);
}

static void put_name(const unit_t *unit, uint64_t file, lines_place_t *place)
{
  const name_t name = name_of(unit, file, true);
  const bool is_whole = name.path.size && *name.path.data == '/';
  const rawhal_string_t folder =
      is_whole ? (rawhal_string_t){0} : name_of(unit, name.folder, false).path;
  (void)snprintf(
      place->file, sizeof(place->file), "%.*s%s%.*s", folder.size < 256 ? (int)folder.size : 256,
      folder.size ? folder.data : "", folder.size && folder.data[folder.size - 1] != '/' ? "/" : "",
      name.path.size < 255 ? (int)name.path.size : 255, name.path.size ? name.path.data : "");
}

/* ---- Rows ---- */

typedef struct row {
  uint64_t address, file, line;
  bool is_there; /* of the same sequence */
} row_t;

typedef struct search {
  uint64_t address;
  uint32_t rows;
  row_t before; /* the row before the one at hand */
  bool found;
} search_t;

/* The row is at hand; whether the one before it has the address. */
static bool see(search_t *search, const row_t *row, bool is_end)
{
  search->found = search->before.is_there && search->before.address <= search->address &&
                  search->address < row->address;
  if (!search->found)
    search->before = *row;
  if (!search->found && is_end)
    search->before.is_there = false;
  return search->found || ++search->rows >= MOST_ROWS;
}

static void begin_row(row_t *row)
{
  *row = (row_t){.file = 1, .line = 1, .is_there = true};
}

/* True: it is found, or enough was looked at. */
static bool run_extended(cursor_t *at, search_t *search, row_t *row)
{
  const uint64_t size = leb(at, false);
  const unsigned char *bytes = take(at, size);
  if (!bytes || !size)
    return false;
  if (*bytes == LNE_SET_ADDRESS && size == 1 + sizeof(row->address))
    memcpy(&row->address, bytes + 1, sizeof(row->address));
  if (*bytes != LNE_END_SEQUENCE)
    return false;
  if (see(search, row, true))
    return true;
  begin_row(row);
  return false;
}

static bool run_standard(const unit_t *unit, cursor_t *at, uint8_t opcode, search_t *search,
                         row_t *row)
{
  switch (opcode) {
  case LNS_COPY:
    return see(search, row, false);
  case LNS_ADVANCE_PC:
    row->address += unit->least_length * leb(at, false);
    return false;
  case LNS_ADVANCE_LINE:
    row->line += leb(at, true);
    return false;
  case LNS_SET_FILE:
    row->file = leb(at, false);
    return false;
  case LNS_CONST_ADD_PC:
    row->address += (uint64_t)unit->least_length * ((255u - unit->opcode_base) / unit->line_range);
    return false;
  case LNS_FIXED_ADVANCE_PC:
    row->address += number(at, 2);
    return false;
  default:
    for (unsigned i = 0; i < unit->lengths[opcode - 1]; ++i)
      (void)leb(at, false);
    return false;
  }
}

static bool search_unit(const unit_t *unit, search_t *search)
{
  cursor_t at = unit->program;
  row_t row;
  begin_row(&row);
  search->before = (row_t){0};
  while (at.at < at.end && !at.bad) {
    const uint8_t opcode = (uint8_t)number(&at, 1);
    if (opcode == 0) {
      if (run_extended(&at, search, &row))
        return true;
    } else if (opcode < unit->opcode_base) {
      if (run_standard(unit, &at, opcode, search, &row))
        return true;
    } else {
      const unsigned moved = (unsigned)opcode - unit->opcode_base;
      row.address += (uint64_t)unit->least_length * (moved / unit->line_range);
      row.line += (uint64_t)(int64_t)(unit->line_base + (int)(moved % unit->line_range));
      if (see(search, &row, false))
        return true;
    }
  }
  return false;
}

/* ---- Units ---- */

/* Takes a unit. False: it makes no sense, and there are no more. */
static bool next_unit(cursor_t *all, unit_t *unit)
{
  uint64_t length = number(all, 4);
  unit->offset_size = length == UINT32_MAX ? 8 : 4;
  length = length == UINT32_MAX ? number(all, 8) : length;
  const unsigned char *bytes = take(all, length);
  if (!bytes)
    return false;
  cursor_t at = {bytes, bytes + length, false};
  unit->version = (unsigned)number(&at, 2);
  if (unit->version >= 5)
    (void)take(&at, 2); /* sizes of addresses and segments */
  const uint64_t header = number(&at, unit->offset_size);
  cursor_t rest = at;
  (void)take(&rest, header);
  unit->program = rest;
  unit->least_length = (uint8_t)number(&at, 1);
  unit->operations = unit->version >= 4 ? (uint8_t)number(&at, 1) : 1;
  (void)number(&at, 1); /* whether rows are statements at first */
  unit->line_base = (int8_t)number(&at, 1);
  unit->line_range = (uint8_t)number(&at, 1);
  unit->opcode_base = (uint8_t)number(&at, 1);
  unit->lengths = take(&at, unit->opcode_base ? unit->opcode_base - 1u : 0);
  unit->names = at;
  return !at.bad && !rest.bad;
}

static bool is_known(const unit_t *unit)
{
  return unit->version >= 2 && unit->version <= 5 && unit->line_range &&
         unit->opcode_base > STANDARD_OPCODES;
}

bool lines_find(rawhal_bytes_t object, uint64_t address, lines_place_t *place)
{
  sections_t sections = {0};
  search_t search = {.address = address};
  if (!find_sections(object, &sections))
    return false;
  cursor_t all = cursor_of(sections.lines);
  unit_t unit = {.sections = &sections};
  while (all.at < all.end && search.rows < MOST_ROWS && next_unit(&all, &unit)) {
    if (!is_known(&unit) || !search_unit(&unit, &search) || !search.found)
      continue;
    place->line = (uint32_t)search.before.line;
    put_name(&unit, search.before.file, place);
    return *place->file;
  }
  return false;
}
