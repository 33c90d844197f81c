/* Looking for code objects in a range of bytes. Internal to the container.
 *
 * Every format that can carry code objects is one row of a table: how it starts, and what reads it.
 * A reader may hand ranges inside its own to scan_range() again, down to a fixed depth. */
#ifndef RAWHAL_HSACO_SCAN_H
#define RAWHAL_HSACO_SCAN_H

#include "hsaco/arena.h"
#include "hsaco/container.h"
#include "hsaco/work.h"

enum { SCAN_MOST_DEPTH = 5 }; /* archive, host file, bundle, compressed bundle, object */

/* What the offsets of parts count in: the container, or bytes that were unpacked from it. */
typedef struct scan_space {
  const unsigned char *bytes;
  struct unpacked *unpacked; /* that they are of; NULL: the container's */
  uint64_t offset;           /* of the outermost compressed bytes, when unpacked */
} scan_space_t;

/* Where the bytes of an object are. */
typedef struct scan_origin {
  struct unpacked *unpacked; /* or NULL */
  uint64_t offset;           /* in those */
} scan_origin_t;

typedef struct scan {
  allocator_t allocator;
  arena_t arena;
  rawhal_container_options_t options; /* with the defaults filled in */
  const unsigned char *container;     /* its bytes */
  scan_space_t space;
  struct unpacked *unpacked; /* what was unpacked, newest first */
  struct ZSTD_DCtx_s *zstd;  /* until scan_end_unpacking() */
  uint64_t held;             /* of options.max_unpacked_bytes */
  uint64_t spent;            /* of options.max_unpacked_total */
  work_t work;               /* that may still be done: scan_work() */
  rawhal_container_object_t *objects;
  scan_origin_t *origins; /* of each */
  size_t count, capacity, origin_capacity;
  rawhal_string_t refused; /* the last thing that cannot be read, or empty */
  rawhal_status_t refused_status;
  uint64_t refused_at;
} scan_t;

/* Of what is unpacked, only what is in use is kept. */
static inline bool scan_holds_one(const scan_t *scan)
{
  return scan->options.flags & RAWHAL_CONTAINER_HOLD_ONE;
}

/* Part of the space at hand. */
typedef struct scan_part {
  uint64_t offset, size;
  rawhal_string_t id; /* of the bundle entry it is, or empty */
  unsigned depth;
  bool is_file; /* by itself: an ELF file there may be the host's */
} scan_part_t;

typedef rawhal_status_t scan_reader(scan_t *scan, scan_part_t part, uint64_t *end,
                                    rawhal_error_t *error);

/* Reads what starts at part.offset; *end is where it ends. MALFORMED when nothing known starts
 * there. */
RAWHAL_CHECKED rawhal_status_t scan_one(scan_t *scan, scan_part_t part, uint64_t *end,
                                        rawhal_error_t *error);

/* Reads a range that holds one carrier or several, back to back with zeros between. */
RAWHAL_CHECKED rawhal_status_t scan_range(scan_t *scan, scan_part_t part, rawhal_error_t *error);

/* The same of one part of several: when it is damaged, or not read, it is listed with why, and the
 * others are read all the same. */
RAWHAL_CHECKED rawhal_status_t scan_apart(scan_t *scan, scan_part_t part, rawhal_error_t *error);

/* Reads a range where code objects and bundles may stand anywhere, such as the constants of a
 * program: those that are whole, by their own headers. Finding nothing is not a failure. */
RAWHAL_CHECKED rawhal_status_t scan_embedded(scan_t *scan, scan_part_t part, rawhal_error_t *error);

/* Reads a range where carriers start at multiples of 4096 or directly after each other, with
 * anything else between them. Finding nothing is not a failure. */
RAWHAL_CHECKED rawhal_status_t scan_pages(scan_t *scan, scan_part_t part, rawhal_error_t *error);

/* Every reader takes steps before it does what they are for, or right after it has learned how
 * much that was. CAP_EXCEEDED when there are none left. */
RAWHAL_CHECKED rawhal_status_t scan_work(scan_t *scan, uint64_t offset, uint64_t steps,
                                         rawhal_error_t *error);

/* What scan_work() fails with, for readers that take steps by themselves. */
RAWHAL_CHECKED rawhal_status_t scan_fail_work(uint64_t offset, rawhal_error_t *error);

/* Where what starts at part.offset ends by its own headers, of which nothing but those is read, or
 * unpacked where there is no other way. part.size is how much may be read. UNSUPPORTED: a carrier
 * that does not say where it ends. */
RAWHAL_CHECKED rawhal_status_t scan_measure(scan_t *scan, scan_part_t part, uint64_t *end,
                                            rawhal_error_t *error);

/* Where the zeros end that start at `from`: `to` at most. */
uint64_t scan_zeros_end(const unsigned char *bytes, uint64_t from, uint64_t to);

/* Lists one object or, with `why_not`, something in its place that is not one. Takes an eighth of a
 * step for each of its bytes, too: opening what is listed reads it, and all of it comes to at most
 * 64 times the bytes there are. */
RAWHAL_CHECKED rawhal_status_t scan_add(scan_t *scan, scan_part_t part, rawhal_string_t why_not,
                                        rawhal_error_t *error);

/* Lists, with why, what was recognised and is not read. */
RAWHAL_CHECKED rawhal_status_t scan_refuse(scan_t *scan, scan_part_t part, const char *why,
                                           rawhal_error_t *error);

/* True when the bytes of the part start with `magic`. */
bool scan_starts(const scan_t *scan, const scan_part_t *part, const char *magic, size_t size);

/* Does something start there that is a code object or a carrier? */
bool scan_knows(const scan_t *scan, const scan_part_t *part);
/* The same of the first bytes of a file, of which SCAN_START are enough. */
enum { SCAN_START = 24 };
bool scan_knows_start(const void *bytes, size_t size);

/* What the bundle entry of that id is for, when it is known not to be for AMDGPU; else NULL. The
 * second of a triple, which starts with the architecture. bundle.c */
bool scan_is_host(rawhal_string_t id);
const char *scan_foreign(rawhal_string_t id);
const char *scan_foreign_triple(rawhal_string_t triple);

/* Readers that live in files of their own. */
scan_reader scan_archive, scan_bundle, scan_compressed, scan_elf, scan_kpack, scan_offload_binary,
    scan_pe, scan_coff;
scan_reader measure_bundle, measure_compressed, measure_elf, measure_offload_binary;

/* Compressed bytes: zlib, or one zstd frame. */
typedef struct scan_packed {
  const char *what; /* they are, and their offset, for errors */
  uint64_t at;
  const unsigned char *bytes;
  uint64_t size;
  uint64_t unpacked_size; /* exactly */
  bool zlib;
  uint64_t
      header; /* bytes that stand in the place of a header, in front of those: `header_bytes` */
  unsigned char header_bytes[40];
} scan_packed_t;

/* Unpacks into memory that lives until scan_free_unpacked() or, where only one is held, until the
 * next is unpacked, and says how many of the packed bytes that took. CAP_EXCEEDED beyond
 * max_unpacked_bytes, before anything is allocated. `*space` is what was unpacked. */
RAWHAL_CHECKED rawhal_status_t scan_unpack(scan_t *scan, const scan_packed_t *packed,
                                           scan_space_t *space, uint64_t *used,
                                           rawhal_error_t *error);

/* Makes sure that its bytes are there, unpacking them again if they are not. */
RAWHAL_CHECKED rawhal_status_t scan_hold(scan_t *scan, scan_space_t *space, rawhal_error_t *error);

/* Reads unpacked bytes in the place of the container's: offsets count in them meanwhile. `part` is
 * a range of them, `at` where their packed bytes are, which `what` says. */
RAWHAL_CHECKED rawhal_status_t scan_inside(scan_t *scan, const scan_space_t *space,
                                           scan_part_t part, const char *what, uint64_t at,
                                           rawhal_error_t *error);

/* The bytes of an object that is listed, unpacked once more if need be. After everything is read.
 */
RAWHAL_CHECKED rawhal_status_t scan_object_bytes(scan_t *scan, size_t index, rawhal_bytes_t *bytes,
                                                 rawhal_error_t *error);

/* A text that lives as long as the list. Where unpacked bytes go, texts in them are copied. */
rawhal_string_t scan_keep(scan_t *scan, rawhal_string_t text);

#define SCAN_SIZE_UNKNOWN UINT64_MAX

/* The length of the zstd frame that starts there, 0 when there is none. *unpacked_size is what its
 * header says, or SCAN_SIZE_UNKNOWN. */
uint64_t scan_zstd_frame(const unsigned char *bytes, uint64_t size, uint64_t *unpacked_size);

/* When everything is read; the second when it is not used any more. */
void scan_end_unpacking(scan_t *scan);
void scan_free_unpacked(scan_t *scan);

#endif
