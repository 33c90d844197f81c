#include "hsaco/scan.h"

#include <ar.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"

/* Archives of `ar`: static libraries, whose members are host objects with code objects inside, or
 * code objects. A member is a header of text and its bytes, at even offsets; a name that is too
 * long for the header stands in the member "//" (System V, GNU: "/N" is its place there) or before
 * the member's bytes (BSD: "#1/N", of N bytes). Facts: ar(5), <ar.h>. */

typedef struct archive {
  scan_t *scan;
  scan_part_t part;
  scan_part_t long_names; /* size 0: none yet */
} archive_t;

typedef struct member {
  rawhal_string_t name;
  uint64_t offset, size; /* of its bytes, in the space */
} member_t;

/* Decimal digits, then spaces; at least one digit, and at most what fits a header's fields. */
static bool read_number(const char *text, size_t size, uint64_t *number)
{
  size_t i = 0;
  *number = 0;
  for (; i < size && text[i] >= '0' && text[i] <= '9'; ++i)
    *number = *number * 10 + (uint64_t)(text[i] - '0');
  size_t digits = i;
  while (i < size && text[i] == ' ')
    ++i;
  return digits > 0 && i == size;
}

static bool starts_with(const char *text, const char *start)
{
  return memcmp(text, start, strlen(start)) == 0;
}

/* The text up to `end`, or all of it, without GNU's slash. */
static rawhal_string_t cut_name(const char *text, size_t size, char end)
{
  const char *found = memchr(text, end, size);
  size_t length = found ? (size_t)(found - text) : size;
  return (rawhal_string_t){text, length && text[length - 1] == '/' ? length - 1 : length};
}

/* "/N": ends there with a line. */
static rawhal_status_t long_name(const archive_t *archive, const char *digits, size_t size,
                                 uint64_t at, rawhal_string_t *name, rawhal_error_t *error)
{
  const scan_part_t *names = &archive->long_names;
  uint64_t place;
  if (!read_number(digits, size, &place) || place >= names->size)
    return rawhal_fail_at(error, RAWHAL_MALFORMED, at,
                          "an archive member's name is not in the archive's table of %llu bytes",
                          (unsigned long long)names->size);
  const char *text = (const char *)archive->scan->space.bytes + names->offset + place;
  *name = cut_name(text, (size_t)(names->size - place), '\n');
  return scan_work(archive->scan, at, name->size, error);
}

/* "#1/N" */
static rawhal_status_t name_before(const archive_t *archive, const char *digits, size_t size,
                                   member_t *member, rawhal_error_t *error)
{
  uint64_t length;
  if (!read_number(digits, size, &length) || length > member->size)
    return rawhal_fail_at(error, RAWHAL_MALFORMED, member->offset,
                          "an archive member of %llu bytes does not begin with its name",
                          (unsigned long long)member->size);
  const char *text = (const char *)archive->scan->space.bytes + member->offset;
  size_t most = (size_t)length;
  member->name = (rawhal_string_t){text, strnlen(text, most)};
  member->offset += length;
  member->size -= length;
  return scan_work(archive->scan, member->offset, member->name.size, error);
}

static rawhal_status_t read_name(const archive_t *archive, const struct ar_hdr *header, uint64_t at,
                                 member_t *member, rawhal_error_t *error)
{
  /* The header's own bytes: names point into the container. */
  const char *text = (const char *)archive->scan->space.bytes + at;
  const size_t size = sizeof(header->ar_name);
  if (starts_with(text, "#1/"))
    return name_before(archive, text + 3, size - 3, member, error);
  if (text[0] == '/' && text[1] >= '0' && text[1] <= '9')
    return long_name(archive, text + 1, size - 1, at, &member->name, error);
  member->name = cut_name(text, size, ' ');
  return RAWHAL_OK;
}

/* Tables of the archive's own have no name, or one that no file has. */
static bool is_table(const member_t *member)
{
  static const char bsd[] = "__.SYMDEF";
  return member->name.size == 0 || (member->name.size >= sizeof(bsd) - 1 &&
                                    memcmp(member->name.data, bsd, sizeof(bsd) - 1) == 0);
}

static rawhal_status_t scan_member(const archive_t *archive, const member_t *member,
                                   rawhal_error_t *error)
{
  scan_t *scan = archive->scan;
  scan_part_t part = {.offset = member->offset,
                      .size = member->size,
                      .depth = archive->part.depth + 1,
                      .is_file = true};
  size_t before = scan->count;
  if (!scan_knows(scan, &part))
    return RAWHAL_OK;
  rawhal_status_t status = scan_apart(scan, part, error);
  for (size_t i = before; i < scan->count; ++i)
    if (!scan->objects[i].member.size) /* the innermost archive's */
      scan->objects[i].member = scan_keep(scan, member->name);
  return status;
}

/* Reads the member at `*at`, relative to the archive, and moves past it. */
static rawhal_status_t read_member(archive_t *archive, uint64_t *at, rawhal_error_t *error)
{
  struct ar_hdr header;
  member_t member = {0};
  const uint64_t start = archive->part.offset + *at;
  rawhal_status_t status = scan_work(archive->scan, start, WORK_PART, error);
  if (status != RAWHAL_OK)
    return status;
  if (archive->part.size - *at < sizeof(header))
    return rawhal_fail_at(error, RAWHAL_MALFORMED, start,
                          "the header of an archive member is truncated");
  memcpy(&header, archive->scan->space.bytes + start, sizeof(header));
  if (memcmp(header.ar_fmag, ARFMAG, sizeof(header.ar_fmag)) != 0 ||
      !read_number(header.ar_size, sizeof(header.ar_size), &member.size))
    return rawhal_fail_at(error, RAWHAL_MALFORMED, start,
                          "there is no header of an archive member where one is expected");
  *at += sizeof(header);
  if (member.size > archive->part.size - *at)
    return rawhal_fail_at(error, RAWHAL_MALFORMED, start,
                          "an archive member of %llu bytes ends after the archive's %llu",
                          (unsigned long long)member.size, (unsigned long long)archive->part.size);
  member.offset = archive->part.offset + *at;
  *at += member.size + (member.size & 1);
  if (starts_with(header.ar_name, "// ")) {
    archive->long_names = (scan_part_t){.offset = member.offset, .size = member.size};
    return RAWHAL_OK;
  }
  if (starts_with(header.ar_name, "/SYM64/ "))
    return RAWHAL_OK;
  status = read_name(archive, &header, start, &member, error);
  return status != RAWHAL_OK || is_table(&member) ? status : scan_member(archive, &member, error);
}

rawhal_status_t scan_archive(scan_t *scan, scan_part_t part, uint64_t *end, rawhal_error_t *error)
{
  archive_t archive = {.scan = scan, .part = part};
  *end = part.offset + part.size;
  for (uint64_t at = SARMAG; at < part.size;) {
    rawhal_status_t status = read_member(&archive, &at, error);
    if (status != RAWHAL_OK)
      return status;
  }
  return RAWHAL_OK;
}
