/* A core file of the host and one of its GPUs as one. */
#include <stdlib.h>

#include "base/checked.h"
#include "base/error.h"
#include "debug/core/change.h"
#include "debug/core/plan.h"

/* A segment of the new file. */
typedef struct piece {
  Elf64_Phdr header; /* as it will be */
  const unsigned char *bytes;
} piece_t;

typedef struct merge {
  const core_file_t *host, *gpus;
  piece_t *pieces;
  size_t count, room;
  uint64_t notes, memory; /* bytes */
  core_put_fn *put;
  void *context;
  uint64_t offset;
  core_merged_t *merged;
} merge_t;

/* ---- Memory ---- */

static bool add(merge_t *merge, const Elf64_Phdr *header, const unsigned char *bytes)
{
  if (merge->count == merge->room)
    return false;
  merge->pieces[merge->count] = (piece_t){*header, bytes};
  merge->pieces[merge->count].header.p_align = PLAN_ALIGN;
  merge->memory += header->p_filesz;
  ++merge->count;
  return true;
}

/* Does the file of the GPUs have a byte of [from, end)? */
static bool gpus_have(const merge_t *merge, uint64_t from, uint64_t end)
{
  const core_view_t *view = &merge->gpus->view;
  const size_t i = core_range_behind(view->ranges, view->count, from);
  return i < view->count && view->ranges[i].address < end;
}

/* All of the host's, but for places without bytes which the other file fills: a header for them
 * would hide that there are any. */
static bool add_host(merge_t *merge)
{
  Elf64_Phdr header;
  for (size_t i = 0; core_file_header(merge->host, i, &header); ++i) {
    if (header.p_type != PT_LOAD)
      continue;
    const unsigned char *bytes = (const unsigned char *)merge->host->bytes.data;
    const uint64_t from = header.p_vaddr + header.p_filesz, end = header.p_vaddr + header.p_memsz;
    if (header.p_filesz < header.p_memsz && end > from && gpus_have(merge, from, end))
      header.p_memsz = header.p_filesz;
    if (!header.p_memsz)
      continue;
    if (!add(merge, &header, header.p_filesz ? bytes + header.p_offset : NULL))
      return false;
    ++merge->merged->host_ranges;
  }
  return true;
}

/* What the host's file has not of a range. */
static bool add_range(merge_t *merge, const core_range_t *range)
{
  const core_view_t *view = &merge->host->view;
  uint64_t from = range->address;
  const uint64_t end = range->address + range->size;
  for (size_t i = core_range_behind(view->ranges, view->count, from); from < end; ++i) {
    const bool any = i < view->count && view->ranges[i].address < end;
    const uint64_t stop = any ? view->ranges[i].address : end;
    if (stop > from) {
      const Elf64_Phdr header = {.p_type = PT_LOAD,
                                 .p_flags = range->flags,
                                 .p_vaddr = from,
                                 .p_filesz = stop - from,
                                 .p_memsz = stop - from};
      if (!add(merge, &header, range->bytes + (from - range->address)))
        return false;
      ++merge->merged->added;
    }
    if (!any)
      break;
    from = view->ranges[i].address + view->ranges[i].size;
  }
  return true;
}

static int compare(const void *a, const void *b)
{
  const piece_t *one = a, *other = b;
  return one->header.p_vaddr < other->header.p_vaddr ? -1
                                                     : one->header.p_vaddr > other->header.p_vaddr;
}

static bool collect(merge_t *merge)
{
  if (!add_host(merge))
    return false;
  for (size_t i = 0; i < merge->gpus->view.count; ++i)
    if (!add_range(merge, &merge->gpus->view.ranges[i]))
      return false;
  qsort(merge->pieces, merge->count, sizeof(*merge->pieces), compare);
  return true;
}

/* ---- Writing ---- */

static bool put(merge_t *merge, const void *bytes, uint64_t size)
{
  if (size && !merge->put(merge->context, bytes, (size_t)size))
    return false;
  merge->offset += size;
  return true;
}

/* Threads are those of the host's file. */
static bool is_kept(const core_file_note_t *note, bool of_host)
{
  return of_host || core_note_is_of(note, "AMDGPU") || core_note_is_of(note, "RAWHAL");
}

/* Counts them, or writes them. */
static bool put_notes(merge_t *merge, const core_file_t *file, bool writes)
{
  static const unsigned char zeros[4];
  core_file_note_t note;
  for (core_note_cursor_t cursor = {0}; core_file_note(file, &cursor, &note);) {
    const Elf64_Nhdr head = {(uint32_t)note.owner.size + 1, (uint32_t)note.bytes.size, note.type};
    const uint64_t name_pad = -(uint64_t)head.n_namesz & 3, pad = -(uint64_t)head.n_descsz & 3;
    if (!is_kept(&note, file == merge->host))
      continue;
    merge->notes += writes ? 0 : sizeof(head) + head.n_namesz + name_pad + head.n_descsz + pad;
    if (writes &&
        (!put(merge, &head, sizeof(head)) || !put(merge, note.owner.data, note.owner.size) ||
         !put(merge, zeros, 1) || !put(merge, zeros, name_pad) ||
         !put(merge, note.bytes.data, note.bytes.size) || !put(merge, zeros, pad)))
      return false;
  }
  return true;
}

static uint64_t place(uint64_t offset, uint64_t address)
{
  return offset + ((address - offset) & (PLAN_ALIGN - 1));
}

static bool put_headers(merge_t *merge)
{
  Elf64_Ehdr header;
  memcpy(&header, merge->host->bytes.data, sizeof(header));
  header.e_phoff = sizeof(header);
  header.e_phnum = (uint16_t)(merge->count + 1);
  header.e_shoff = header.e_shnum = header.e_shstrndx = 0;
  uint64_t offset = sizeof(header) + (merge->count + 1) * sizeof(Elf64_Phdr);
  const Elf64_Phdr notes = {
      .p_type = PT_NOTE, .p_offset = offset, .p_filesz = merge->notes, .p_align = 4};
  if (!put(merge, &header, sizeof(header)) || !put(merge, &notes, sizeof(notes)))
    return false;
  offset += merge->notes;
  for (size_t i = 0; i < merge->count; ++i) {
    Elf64_Phdr *piece = &merge->pieces[i].header;
    piece->p_offset = offset = place(offset, piece->p_vaddr);
    offset += piece->p_filesz;
    if (!put(merge, piece, sizeof(*piece)))
      return false;
  }
  return true;
}

static bool put_all(merge_t *merge)
{
  static const unsigned char zeros[PLAN_ALIGN];
  (void)put_notes(merge, merge->host, false);
  (void)put_notes(merge, merge->gpus, false);
  if (!put_headers(merge) || !put_notes(merge, merge->host, true) ||
      !put_notes(merge, merge->gpus, true))
    return false;
  for (size_t i = 0; i < merge->count; ++i) {
    const piece_t *piece = &merge->pieces[i];
    if (!put(merge, zeros, piece->header.p_offset - merge->offset) ||
        !put(merge, piece->bytes, piece->header.p_filesz))
      return false;
  }
  return true;
}

static rawhal_status_t check(const core_file_t *host, const core_file_t *gpus,
                             rawhal_error_t *error)
{
  Elf64_Ehdr header;
  memcpy(&header, host->bytes.data, sizeof(header));
  if (header.e_machine != EM_X86_64 || host->view.note.size)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "the first file is no core file of a host%s",
                       host->view.note.size ? " alone: it has GPUs already" : "");
  if (!gpus->view.note.size)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "the second file is no core file of GPUs: it has no AMDGPU note");
  if (host->view.process && gpus->view.process && host->view.process != gpus->view.process)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "they are of processes %lld and %lld",
                       (long long)host->view.process, (long long)gpus->view.process);
  return RAWHAL_OK;
}

rawhal_status_t core_merge(const core_file_t *host, const core_file_t *gpus, core_put_fn *put_bytes,
                           void *context, core_merged_t *merged, rawhal_error_t *error)
{
  merge_t merge = {.host = host,
                   .gpus = gpus,
                   .room = PLAN_MOST_RANGES,
                   .put = put_bytes,
                   .context = context,
                   .merged = merged};
  *merged = (core_merged_t){0};
  rawhal_status_t status = check(host, gpus, error);
  if (status != RAWHAL_OK)
    return status;
  merge.pieces = calloc(merge.room, sizeof(*merge.pieces));
  if (!merge.pieces)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for %zu segments", merge.room);
  if (!collect(&merge))
    status = rawhal_fail(error, RAWHAL_CAP_EXCEEDED, "more than %zu segments", merge.room);
  else if (merge.memory > host->bytes.size + gpus->bytes.size) /* some are the same bytes */
    status = rawhal_fail(error, RAWHAL_MALFORMED, "segments have %llu bytes, more than the files",
                         (unsigned long long)merge.memory);
  else if (!put_all(&merge))
    status = rawhal_fail(error, RAWHAL_RUNTIME, "it could not be written after %llu bytes",
                         (unsigned long long)merge.offset);
  merged->bytes = merge.offset;
  free(merge.pieces);
  return status;
}
