#include "hsaco/metadata.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "hsaco/note.h"
#include "hsaco/quick.h"
#include "hsaco/symbols.h"

/* Containers around a value of the root map, and around a kernel. */
enum { DEPTH_ROOT_VALUE = 1, DEPTH_KERNEL = 2 };

typedef struct reader {
  rawhal_hsaco_t *hsaco;
  unpacker_t unpacker;
  uint32_t seen_roots;    /* of this note, by root_key_t */
  uint32_t kept_roots;    /* of all notes: the first of each is kept for JSON */
  name_table_t unknown;   /* root keys, of all notes; the slots hold the note's number */
  uint64_t total;         /* bytes of metadata notes so far */
  uint64_t left;          /* bytes of all notes that may still come */
  uint64_t around, alike; /* bytes of the notes at hand; how many like this one fill them */
} reader_t;

static uint64_t place(const reader_t *reader, size_t offset)
{
  return offset_in(reader->hsaco, reader->unpacker.bytes) + offset;
}

/* Fails with what the unpacker stopped for. */
RAWHAL_CHECKED static rawhal_status_t unpack_fail(const reader_t *reader, size_t offset,
                                                  rawhal_error_t *error)
{
  const unpacker_t *unpacker = &reader->unpacker;
  if (unpacker->failure == RAWHAL_OUT_OF_MEMORY)
    return arena_fail(unpacker->arena, error);
  return rawhal_fail_at(error, unpacker->failure, place(reader, offset), "%s", unpacker->why);
}

static bool take_value(unpacker_t *unpacker, unpack_shape_t shape, uint32_t depth, size_t *offset,
                       unpack_value_t *value)
{
  return quick_value(unpacker, shape, depth, offset, value) ||
         unpack_value(unpacker, shape, depth, offset, value);
}

/* ---- One kernel ---- */

void kernel_mark_unusable(rawhal_hsaco_t *hsaco, rawhal_kernel_t *kernel, uint64_t offset,
                          rawhal_string_t reason)
{
  kernel->usable = false;
  if (!kernel->unusable_reason.size)
    kernel->unusable_reason = reason;
  diagnose(&hsaco->diagnostics, RAWHAL_SEVERITY_ERROR, kernel->name, offset, reason);
}

static void report_problem(reader_t *reader, rawhal_kernel_t *kernel, uint64_t offset,
                           const unpack_problem_t *problem)
{
  static const char *const texts[] = {
      [PROBLEM_TYPE] = "has a value of the wrong type",
      [PROBLEM_RANGE] = "does not fit 32 bits",
      [PROBLEM_TWICE] = "is given twice",
      [PROBLEM_MISSING] = "is missing",
      [PROBLEM_NOT_A_MAP] = "the argument is not a map",
  };
  rawhal_hsaco_t *hsaco = reader->hsaco;
  const metadata_key_t *key = problem->key;
  char where[32] = "";
  if (problem->argument != PROBLEM_OF_KERNEL)
    snprintf(where, sizeof(where), "argument %u: ", problem->argument);
  rawhal_string_t text = arena_print(&hsaco->arena, "%s%.*s%s%s", where, key ? key->size : 0,
                                     key ? key->text : "", key ? " " : "", texts[problem->kind]);
  if (!key || key->flags & KEY_ABI)
    kernel_mark_unusable(hsaco, kernel, offset, text);
  else
    diagnose(&hsaco->diagnostics, RAWHAL_SEVERITY_WARNING, kernel->name, offset, text);
}

/* Keys the ABI hangs on make the kernel unusable when they are missing; others have a rule. */
static void check_required(reader_t *reader, rawhal_kernel_t *kernel, uint64_t offset)
{
  enum {
    VITAL = 1 << KERNEL_BIT_NAME | 1 << KERNEL_BIT_SYMBOL | 1 << KERNEL_BIT_KERNARG_SIZE,
    EXPECTED = 1 << KERNEL_BIT_KERNARG_ALIGN | 1 << KERNEL_BIT_GROUP_SIZE |
               1 << KERNEL_BIT_PRIVATE_SIZE | 1 << KERNEL_BIT_WAVEFRONT_SIZE |
               1 << KERNEL_BIT_MAX_FLAT,
  };
  uint64_t missing = (VITAL | EXPECTED) & ~reader->unpacker.seen;
  if (!missing)
    return;
  size_t count;
  const metadata_key_t *keys = kernel_keys(&count);
  for (size_t i = 0; i < count; ++i) {
    if (!keys[i].size || !(missing >> keys[i].bit & 1))
      continue;
    unpack_problem_t problem = {&keys[i], PROBLEM_OF_KERNEL, PROBLEM_MISSING};
    if (VITAL >> keys[i].bit & 1)
      report_problem(reader, kernel, offset, &problem);
    else
      diagnose_print(&reader->hsaco->diagnostics, RAWHAL_SEVERITY_WARNING, kernel->name, offset,
                     "%s is missing; the descriptor's value or the default is used", keys[i].text);
  }
}

static void check_sizes(reader_t *reader, rawhal_kernel_t *kernel, uint64_t offset)
{
  rawhal_hsaco_t *hsaco = reader->hsaco;
  const unpacker_t *unpacker = &reader->unpacker;
  uint32_t align = kernel->kernarg_segment_align, size = kernel->kernarg_segment_size;
  if (align & (align - 1)) {
    kernel_mark_unusable(
        hsaco, kernel, offset,
        arena_print(&hsaco->arena, ".kernarg_segment_align %u is not a power of two", align));
  } else if (align && size & (align - 1)) {
    diagnose_quirk(&hsaco->diagnostics, QUIRK_SEGMENT_SIZE_UNALIGNED, kernel->name);
  }
  bool has_wavefront = unpacker->seen >> KERNEL_BIT_WAVEFRONT_SIZE & 1;
  if (has_wavefront && kernel->wavefront_size != 32 && kernel->wavefront_size != 64)
    kernel_mark_unusable(hsaco, kernel, offset,
                         arena_print(&hsaco->arena, ".wavefront_size %u is neither 32 nor 64",
                                     kernel->wavefront_size));
  if (unpacker->arguments_end <= size || !kernel->argument_count)
    return;
  const rawhal_argument_t *last = &kernel->arguments[unpacker->furthest];
  if (unpacker->arguments_end > UINT32_MAX)
    kernel_mark_unusable(hsaco, kernel, offset,
                         arena_print(&hsaco->arena,
                                     "argument %u (offset %u, size %u) ends beyond 32 bits",
                                     unpacker->furthest, last->offset, last->size));
  else if (unpacker->seen >> KERNEL_BIT_KERNARG_SIZE & 1)
    diagnose_print(&hsaco->diagnostics, RAWHAL_SEVERITY_WARNING, kernel->name, offset,
                   "argument %u '%.*s' ends at %llu, the declared kernarg segment at %u; the "
                   "segment is taken to be as long as the arguments",
                   unpacker->furthest, RAWHAL_STRING_ARGS(last->name),
                   (unsigned long long)unpacker->arguments_end, size);
}

static void finish_kernel(reader_t *reader, rawhal_kernel_t *kernel)
{
  static const struct {
    uint32_t odd;
    quirk_t quirk;
  } quirks[] = {
      {ODD_UNNAMED, QUIRK_UNNAMED_ARGUMENTS},
      {ODD_POINTER_UNALIGNED, QUIRK_POINTER_UNALIGNED},
      {ODD_UNORDERED, QUIRK_ARGUMENTS_UNORDERED},
      {ODD_UNKNOWN_KIND, QUIRK_UNKNOWN_VALUE_KIND},
      {ODD_UNKNOWN_ARGUMENT_KEY, QUIRK_UNKNOWN_ARGUMENT_KEY},
      {ODD_UNKNOWN_KERNEL_KEY, QUIRK_UNKNOWN_KERNEL_KEY},
  };
  const unpacker_t *unpacker = &reader->unpacker;
  uint64_t offset = offset_in(reader->hsaco, kernel->metadata.data);
  kernel->has_metadata = kernel->usable = true;
  check_required(reader, kernel, offset);
  for (uint32_t i = 0; i < unpacker->problem_count; ++i)
    report_problem(reader, kernel, offset, &unpacker->problems[i]);
  check_sizes(reader, kernel, offset);
  if (unpacker->odd)
    for (size_t i = 0; i < sizeof(quirks) / sizeof(*quirks); ++i)
      if (unpacker->odd & quirks[i].odd)
        diagnose_quirk(&reader->hsaco->diagnostics, quirks[i].quirk, kernel->name);
}

/* How many kernels there will be, going by the `count` of this note: room to start with. */
static size_t guess_kernels(const reader_t *reader, uint32_t count)
{
  enum { LEAST_KERNEL_BYTES = 128 }; /* of a real one */
  uint64_t plausible = reader->around / LEAST_KERNEL_BYTES + 1;
  uint64_t guess = count * (reader->alike ? reader->alike : 1);
  return (size_t)(guess < plausible ? guess : plausible);
}

RAWHAL_CHECKED static rawhal_status_t read_kernels(reader_t *reader, size_t *offset,
                                                   rawhal_error_t *error)
{
  rawhal_hsaco_t *hsaco = reader->hsaco;
  unpacker_t *unpacker = &reader->unpacker;
  uint32_t count;
  switch (unpack_header(unpacker, offset, &count)) {
  case HEADER_ARRAY:
    break;
  case HEADER_CUT:
    return rawhal_fail_at(error, RAWHAL_MALFORMED, place(reader, *offset),
                          "metadata ends where `amdhsa.kernels` starts");
  default:
    return rawhal_fail_at(error, RAWHAL_MALFORMED, place(reader, *offset),
                          "`amdhsa.kernels` is not an array");
  }
  size_t hint = guess_kernels(reader, count);
  if (!hsaco->info.kernel_count)
    name_table_init(&hsaco->names, &hsaco->arena, hint);
  for (uint32_t i = 0; i < count; ++i) {
    if (hsaco->info.kernel_count >= hsaco->options.max_kernels)
      return rawhal_fail_at(error, RAWHAL_CAP_EXCEEDED, place(reader, *offset),
                            "more kernels than max_kernels (%u)", hsaco->options.max_kernels);
    if (!arena_reserve(&hsaco->arena, &hsaco->kernels, &hsaco->kernel_capacity,
                       hsaco->info.kernel_count, sizeof(rawhal_kernel_t), hint))
      return arena_fail(&hsaco->arena, error);
    rawhal_kernel_t *kernel = &hsaco->kernels[hsaco->info.kernel_count];
    if (!quick_kernel(unpacker, DEPTH_KERNEL, offset, kernel) &&
        !unpack_kernel(unpacker, DEPTH_KERNEL, offset, kernel))
      return unpack_fail(reader, *offset, error);
    finish_kernel(reader, kernel);
    kernel->object = hsaco;
    /* Now, while its name is at hand: of a large object it will be far away later. */
    rawhal_status_t status = name_kernel(hsaco, (uint32_t)hsaco->info.kernel_count++, error);
    if (status != RAWHAL_OK)
      return status;
  }
  return RAWHAL_OK;
}

/* ---- The root map ---- */

RAWHAL_CHECKED static rawhal_status_t read_printf(reader_t *reader, size_t *offset,
                                                  rawhal_error_t *error)
{
  rawhal_hsaco_t *hsaco = reader->hsaco;
  uint32_t count;
  if (unpack_header(&reader->unpacker, offset, &count) != HEADER_ARRAY)
    return rawhal_fail_at(error, RAWHAL_MALFORMED, place(reader, *offset),
                          "`amdhsa.printf` is not an array");
  for (uint32_t i = 0; i < count; ++i) {
    unpack_value_t value;
    size_t start = *offset;
    if (!take_value(&reader->unpacker, SHAPE_ANY, DEPTH_KERNEL, offset, &value))
      return unpack_fail(reader, *offset, error);
    if (!arena_reserve(&hsaco->arena, &hsaco->formats, &hsaco->format_capacity,
                       hsaco->info.printf_count, sizeof(rawhal_string_t), 8))
      return arena_fail(&hsaco->arena, error);
    rawhal_string_t format = {0}; /* keeps its place, so that indices stay those of the file */
    if (value.type == VALUE_STRING)
      format = (rawhal_string_t){value.text, value.size};
    else
      diagnose_print(&hsaco->diagnostics, RAWHAL_SEVERITY_WARNING, (rawhal_string_t){0},
                     place(reader, start), "`amdhsa.printf` entry %u is not a string", i);
    hsaco->formats[hsaco->info.printf_count++] = format;
  }
  return RAWHAL_OK;
}

static void take_version(reader_t *reader, unpack_value_t value, size_t start)
{
  rawhal_hsaco_t *hsaco = reader->hsaco;
  const unpacker_t *unpacker = &reader->unpacker;
  const uint32_t *version = unpacker->numbers, *first = hsaco->info.metadata_version;
  if (value.type != VALUE_CONTAINER || value.shape != SHAPE_NUMBERS || !unpacker->numbers_fit ||
      unpacker->number_count != 2)
    diagnose_print(&hsaco->diagnostics, RAWHAL_SEVERITY_WARNING, (rawhal_string_t){0},
                   place(reader, start), "`amdhsa.version` is not two numbers");
  else if (!first[0] && !first[1])
    memcpy(hsaco->info.metadata_version, version, sizeof(hsaco->info.metadata_version));
  else if (first[0] != version[0] || first[1] != version[1])
    diagnose_print(&hsaco->diagnostics, RAWHAL_SEVERITY_WARNING, (rawhal_string_t){0},
                   place(reader, start),
                   "note %u has metadata version %u.%u, the first %u.%u; the first counts",
                   hsaco->info.note_count, version[0], version[1], first[0], first[1]);
}

static void take_target(reader_t *reader, unpack_value_t value, size_t start)
{
  rawhal_hsaco_t *hsaco = reader->hsaco;
  rawhal_string_t *first = &hsaco->info.metadata_target;
  if (value.type != VALUE_STRING)
    diagnose_print(&hsaco->diagnostics, RAWHAL_SEVERITY_WARNING, (rawhal_string_t){0},
                   place(reader, start), "`amdhsa.target` is not a string");
  else if (!first->size)
    *first = (rawhal_string_t){value.text, value.size};
  else if (first->size != value.size || memcmp(first->data, value.text, value.size) != 0)
    diagnose_print(&hsaco->diagnostics, RAWHAL_SEVERITY_NOTE, (rawhal_string_t){0},
                   place(reader, start),
                   "note %u is for target '%.*s', the first for '%.*s'; the ELF flags decide",
                   hsaco->info.note_count, (int)(value.size < 100 ? value.size : 100), value.text,
                   RAWHAL_STRING_ARGS(*first));
}

RAWHAL_CHECKED static bool keep_root(rawhal_hsaco_t *hsaco, const root_entry_t *entry)
{
  if (!arena_reserve(&hsaco->arena, &hsaco->roots, &hsaco->root_capacity, hsaco->root_count,
                     sizeof(*hsaco->roots), 4))
    return false;
  hsaco->roots[hsaco->root_count++] = *entry;
  return true;
}

/* Keeps an entry rawhal does not interpret. A key that an earlier note has too is dropped: the
 * first one counts. False when there is no memory. */
RAWHAL_CHECKED static bool take_unknown(reader_t *reader, const root_entry_t *entry, bool *twice)
{
  rawhal_hsaco_t *hsaco = reader->hsaco;
  *twice = false;
  if (entry->key.size) {
    name_slots_t *slots = name_table_at(&reader->unknown, entry->key);
    if (!slots)
      return false;
    *twice = slots->by_name == hsaco->info.note_count;
    if (slots->by_name != NAME_NONE)
      return true;
    slots->by_name = hsaco->info.note_count;
  }
  return keep_root(hsaco, entry);
}

RAWHAL_CHECKED static rawhal_status_t read_known(reader_t *reader, root_key_t key, size_t *offset,
                                                 rawhal_error_t *error)
{
  if (key == ROOT_KERNELS)
    return read_kernels(reader, offset, error);
  if (key == ROOT_PRINTF)
    return read_printf(reader, offset, error);
  size_t start = *offset;
  unpack_value_t value;
  if (!take_value(&reader->unpacker, key == ROOT_VERSION ? SHAPE_NUMBERS : SHAPE_ANY,
                  DEPTH_ROOT_VALUE, offset, &value))
    return unpack_fail(reader, *offset, error);
  if (key == ROOT_VERSION)
    take_version(reader, value, start);
  else if (key == ROOT_TARGET)
    take_target(reader, value, start);
  return RAWHAL_OK;
}

RAWHAL_CHECKED static rawhal_status_t read_root_entry(reader_t *reader, size_t *offset,
                                                      rawhal_error_t *error)
{
  rawhal_hsaco_t *hsaco = reader->hsaco;
  unpack_value_t key;
  size_t start = *offset;
  if (!take_value(&reader->unpacker, SHAPE_ANY, DEPTH_ROOT_VALUE, offset, &key))
    return unpack_fail(reader, *offset, error);
  root_entry_t entry = {0};
  if (key.type == VALUE_STRING)
    entry.key = (rawhal_string_t){key.text, key.size};
  else
    diagnose_print(&hsaco->diagnostics, RAWHAL_SEVERITY_NOTE, (rawhal_string_t){0},
                   place(reader, start), "a key of the metadata's root map is not a string");
  root_key_t known = root_key_of(entry.key);
  size_t value_start = *offset;
  rawhal_status_t status = read_known(reader, known, offset, error);
  if (status != RAWHAL_OK)
    return status;
  entry.value = (rawhal_bytes_t){reader->unpacker.bytes + value_start, *offset - value_start};
  bool twice = reader->seen_roots >> known & 1, kept = true;
  reader->seen_roots |= 1u << known;
  if (known == ROOT_OTHER)
    kept = take_unknown(reader, &entry, &twice);
  else if ((known == ROOT_VERSION || known == ROOT_TARGET) && !(reader->kept_roots >> known & 1))
    kept = keep_root(hsaco, &entry);
  reader->kept_roots |= 1u << known;
  if (!kept)
    return arena_fail(&hsaco->arena, error);
  if (twice)
    return rawhal_fail_at(error, RAWHAL_MALFORMED, place(reader, start),
                          "the key '%.*s' occurs twice in one metadata map",
                          RAWHAL_STRING_ARGS(entry.key));
  return RAWHAL_OK;
}

RAWHAL_CHECKED static rawhal_status_t read_metadata_note(reader_t *reader, rawhal_bytes_t note,
                                                         rawhal_error_t *error)
{
  rawhal_hsaco_t *hsaco = reader->hsaco;
  reader->unpacker.bytes = note.data;
  reader->unpacker.size = note.size;
  reader->seen_roots = 0;
  reader->total += note.size;
  if (reader->total > hsaco->options.max_metadata_bytes)
    return rawhal_fail_at(error, RAWHAL_CAP_EXCEEDED, place(reader, 0),
                          "metadata notes of more than max_metadata_bytes (%llu)",
                          (unsigned long long)hsaco->options.max_metadata_bytes);
  hsaco->info.has_metadata = true;
  size_t offset = 0;
  uint32_t count;
  if (unpack_header(&reader->unpacker, &offset, &count) != HEADER_MAP)
    return rawhal_fail_at(error, RAWHAL_MALFORMED, place(reader, 0),
                          note.size ? "metadata is not a msgpack map" : "a metadata note is empty");
  for (uint32_t i = 0; i < count; ++i) {
    rawhal_status_t status = read_root_entry(reader, &offset, error);
    if (status != RAWHAL_OK)
      return status;
  }
  if (!(reader->seen_roots >> ROOT_KERNELS & 1))
    diagnose_print(&hsaco->diagnostics, RAWHAL_SEVERITY_WARNING, (rawhal_string_t){0},
                   place(reader, 0), "metadata note %u has no `amdhsa.kernels`",
                   hsaco->info.note_count);
  if (!(reader->seen_roots >> ROOT_VERSION & 1))
    diagnose_print(&hsaco->diagnostics, RAWHAL_SEVERITY_WARNING, (rawhal_string_t){0},
                   place(reader, 0), "metadata note %u has no `amdhsa.version`",
                   hsaco->info.note_count);
  if (offset != note.size)
    diagnose_print(&hsaco->diagnostics, RAWHAL_SEVERITY_NOTE, (rawhal_string_t){0},
                   place(reader, offset),
                   "%zu bytes after the metadata map of note %u are not read", note.size - offset,
                   hsaco->info.note_count);
  ++hsaco->info.note_count;
  return RAWHAL_OK;
}

/* ---- Notes ---- */

RAWHAL_CHECKED static rawhal_status_t read_notes(reader_t *reader, uint64_t offset, uint64_t size,
                                                 uint64_t alignment, rawhal_error_t *error)
{
  note_walk_t walk = {.bytes = elf_view_range(&reader->hsaco->elf, offset, size),
                      .size = (size_t)size,
                      .alignment = alignment == 8 ? 8 : 4};
  note_t note;
  const char *wrong = NULL;
  if (!walk.bytes)
    return rawhal_fail_at(error, RAWHAL_MALFORMED, offset,
                          "%llu bytes of notes at offset %llu end after the file",
                          (unsigned long long)size, (unsigned long long)offset);
  if (!elf_view_spend(&reader->left, size))
    return rawhal_fail_at(error, RAWHAL_MALFORMED, offset,
                          "notes overlap: they have more bytes than the file's %zu",
                          reader->hsaco->elf.size);
  while (note_next(&walk, &note, &wrong))
    if (note_is_metadata(&note)) {
      reader->around = size;
      reader->alike = size / (note.description.size + 1);
      rawhal_status_t status = read_metadata_note(reader, note.description, error);
      if (status != RAWHAL_OK)
        return status;
    }
  return wrong ? rawhal_fail_at(error, RAWHAL_MALFORMED, offset + walk.offset, "%s", wrong)
               : RAWHAL_OK;
}

rawhal_status_t metadata_read(rawhal_hsaco_t *hsaco, rawhal_error_t *error)
{
  const elf_view_t *elf = &hsaco->elf;
  reader_t reader = {.hsaco = hsaco,
                     .left = elf->size,
                     .unpacker = {.arena = &hsaco->arena,
                                  .max_arguments = hsaco->options.max_arguments,
                                  .max_nesting = hsaco->options.max_nesting,
                                  .nesting_failure = hsaco->nesting_failure}};
  name_table_init(&reader.unknown, &hsaco->arena, 8);
  name_table_init(&hsaco->names, &hsaco->arena, 8);
  rawhal_status_t status = RAWHAL_OK;
  for (size_t i = 0; i < elf->segment_count && status == RAWHAL_OK; ++i)
    if (elf->segments[i].p_type == PT_NOTE)
      status = read_notes(&reader, elf->segments[i].p_offset, elf->segments[i].p_filesz,
                          elf->segments[i].p_align, error);
  if (hsaco->info.has_metadata)
    return status;
  reader.left = elf->size; /* sections show the same notes again */
  for (size_t i = 0; i < elf->section_count && status == RAWHAL_OK; ++i)
    if (elf->sections[i].sh_type == SHT_NOTE)
      status = read_notes(&reader, elf->sections[i].sh_offset, elf->sections[i].sh_size,
                          elf->sections[i].sh_addralign, error);
  return status;
}
