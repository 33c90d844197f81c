/* kpack archives: the format's own records. Internal.
 *
 * Facts: ROCm's rocm-systems, shared/kpack (its Python writer and C++ reader), and the readers of
 * HRX and TheRock. An archive is a 16-byte header ("KPAK", u32 version 1, u64 offset of the table),
 * the code objects, and a table of contents in msgpack:
 *
 *   {format_version: 1, group_name, gfx_arch_family, gfx_arches: [...],
 *    compression_scheme: "none" or "zstd-per-kernel",
 *    blobs: [{offset, size}...]            of "none": where ordinal 0, 1, ... stand
 *    zstd_offset, zstd_size                of the other: where u32 count, {u32 size, frame}... is
 *    toc: {binary: {arch: {type: "hsaco", ordinal, original_size}}}}
 *
 * A binary is a host file and the number of a translation unit in it ("lib/librocrand.so.1#0"), an
 * arch a target id ("gfx90a:xnack+"). Offsets count from the start of the archive. ROCm's writer
 * starts the code objects at offset 64, composable_kernel's at 16, and no reader asks for either.
 * `original_size` is optional for the writer, needed by ROCm's readers of frames; here a frame that
 * says its own size is enough. */
#ifndef RAWHAL_HSACO_KPACK_H
#define RAWHAL_HSACO_KPACK_H

#include "hsaco/scan.h"

enum { KPACK_HEADER = 16 };

typedef struct kpack_range {
  uint64_t offset, size;
} kpack_range_t;

typedef struct kpack_entry {
  rawhal_string_t binary, arch;
  bool has_type;
  rawhal_string_t type;
  uint64_t ordinal;
  uint64_t original_size; /* SCAN_SIZE_UNKNOWN when it is not said */
  uint64_t place;         /* of its arch in the container */
} kpack_entry_t;

typedef struct kpack_table {
  arena_t arena; /* of the lists */
  uint64_t version;
  rawhal_string_t scheme;
  kpack_entry_t *entries; /* in the order of the table */
  size_t entry_count, entry_capacity;
  kpack_range_t *blobs;
  size_t blob_count, blob_capacity;
  kpack_range_t zstd;
  bool has_blobs, has_zstd;
  kpack_range_t extent; /* of the table itself */
} kpack_table_t;

/* Reads the table at `offset` of the archive. Whatever it returns, kpack_table_free() comes after.
 */
RAWHAL_CHECKED rawhal_status_t kpack_table_read(scan_t *scan, const scan_part_t *archive,
                                                uint64_t offset, kpack_table_t *table,
                                                rawhal_error_t *error);
void kpack_table_free(kpack_table_t *table);

/* A host file whose code objects are in archives says so in a section of msgpack: what that means
 * for a caller that looks for code objects, as a line of text in scan->refused. Damage is text
 * there, too: this fails with CAP_EXCEEDED alone. */
RAWHAL_CHECKED rawhal_status_t kpack_reference_note(scan_t *scan, scan_part_t section,
                                                    rawhal_error_t *error);

#endif
