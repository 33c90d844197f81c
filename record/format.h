/* The bytes of a recording: docs/recording.md says what they mean. Internal to this folder.
 *
 * Numbers are in the byte order of the machine that writes, which the header tells. No structure
 * has a gap. */
#ifndef RAWHAL_RECORD_FORMAT_H
#define RAWHAL_RECORD_FORMAT_H

#include <assert.h>

#include "record/probes.h"

#define FORMAT_MAGIC "rawhalRD"

enum {
  FORMAT_VERSION = 3, /* what is written; from 1 on all are read */
  FORMAT_BYTE_ORDER = 0x01020304,
  FORMAT_OTHER_ORDER = 0x04030201,
  FORMAT_MOST_PAYLOAD = 512 << 10,
  /* format_buffer_t.flags */
  FORMAT_LEFT_OUT = 1u << 0, /* it has no contents here, it is too large */
  FORMAT_SEGMENT = 1u << 1,  /* it is memory of the dispatch's code object, as it was loaded */
};

typedef struct format_header {
  char magic[8];
  uint32_t byte_order, version;
  uint64_t bound; /* bytes that the file may have */
  uint64_t salt;  /* what the checks of all frames begin with */
  uint64_t process;
  uint64_t check; /* of all before it, from 0 */
} format_header_t;

typedef enum format_type {
  FORMAT_OBJECT = 1,
  FORMAT_DISPATCH = 2,
  FORMAT_BUFFER = 3,
  FORMAT_PIECE = 4,
  FORMAT_CAPTURED = 5,
  FORMAT_END = 6,
  FORMAT_AGAIN = 7, /* this and what follows: from version 2 on */
  FORMAT_PLACE = 8,
  FORMAT_NOTE = 9,
  FORMAT_PROBE = 10, /* this and what follows: from version 3 on */
  FORMAT_PROBED = 11,
  FORMAT_TYPES, /* one more than the last */
} format_type_t;

typedef struct format_frame {
  uint32_t type, size;    /* format_type_t; bytes of the payload, which follows */
  uint64_t payload_check; /* of the payload, from the salt */
  uint64_t check;         /* of all before it, from the salt plus the frame's offset in the file */
} format_frame_t;

typedef struct format_object {
  uint64_t object, content; /* its number, and that of its contents; both from 1 */
  uint64_t hash_high, hash_low;
  uint64_t size;
} format_object_t;

/* The device's name, the kernel's and the kernarg segment follow. */
typedef struct format_dispatch {
  uint64_t dispatch, object, queue;
  uint32_t work_items[3];
  uint16_t workgroup[3], zero;
  uint32_t dynamic_group_bytes, private_bytes;
  uint32_t device_size, kernel_size, kernargs_size;
} format_dispatch_t;

typedef struct format_buffer {
  uint64_t content, dispatch;
  uint64_t address, size; /* of the whole allocation */
  uint32_t when, flags;   /* record_when_t, FORMAT_LEFT_OUT */
} format_buffer_t;

/* Contents follow, at least a byte. */
typedef struct format_piece {
  uint64_t content, offset;
} format_piece_t;

/* The bytes of an earlier piece, of the same buffer and at the same offset in it. */
typedef struct format_again {
  uint64_t content, offset;
  uint64_t piece; /* its number: of all pieces, from 1, with those that are again */
} format_again_t;

/* Where the code object of a dispatch was loaded. */
typedef struct format_place {
  uint64_t dispatch;
  uint64_t base, size; /* of all of it, in the device's address space */
  uint64_t delta;      /* from the object's own addresses to those */
} format_place_t;

/* What a replay of a dispatch may lack. */
typedef struct format_note {
  uint64_t dispatch;
  uint32_t kind, zero; /* record_note_kind_t */
  uint64_t count, at, value;
} format_note_t;

/* How a kernel is probed; its name follows. */
typedef struct format_probe {
  uint64_t probe, object; /* its number, from 1; that of its code object */
  uint64_t content;       /* its points, each a rawhal_probe_point_t; 0: there are none */
  uint64_t entry;
  uint32_t code_bytes, kinds, maker;
  uint32_t counters, event_bytes, points, name_size, zero;
} format_probe_t;

/* What a dispatch of one left. Its content is
 *   a format_allocation_t for each allocation, and their names, to a multiple of 64 bytes;
 *   a rawhal_probe_header_t, and a uint64_t for each counter, to a multiple of 64 bytes;
 *   a rawhal_probe_wave_t for each wave;
 *   the events, of format_probe_t.event_bytes each. */
typedef struct format_probed {
  uint64_t dispatch, probe, content, size; /* numbers, but for the size of the content */
  uint64_t frequency;
  uint32_t flags;         /* record_probed_flags_t */
  uint32_t waves, events; /* records that are in the content */
  uint32_t allocations, names_size;
  uint32_t zero;
} format_probed_t;

typedef struct format_allocation {
  uint64_t address, size;
  uint32_t argument;  /* offset of the kernarg, or RECORD_NO_ARGUMENT */
  uint32_t name_size; /* of its part of the names, which are in the same order */
} format_allocation_t;

/* All buffers of a dispatch are there. */
typedef struct format_captured {
  uint64_t dispatch;
  uint32_t when, buffers;
} format_captured_t;

typedef struct format_end {
  uint32_t reason, code; /* record_end_t; errno where it could not be written */
  uint64_t objects, dispatches;
} format_end_t;

static_assert(sizeof(format_header_t) == 48 && sizeof(format_frame_t) == 24, "no gaps");
static_assert(sizeof(format_object_t) == 40 && sizeof(format_dispatch_t) == 64, "no gaps");
static_assert(sizeof(format_buffer_t) == 40 && sizeof(format_piece_t) == 16, "no gaps");
static_assert(sizeof(format_again_t) == 24 && sizeof(format_place_t) == 32 &&
                  sizeof(format_note_t) == 40,
              "no gaps");
static_assert(sizeof(format_probe_t) == 64 && sizeof(format_probed_t) == 64 &&
                  sizeof(format_allocation_t) == 24,
              "no gaps");
static_assert(sizeof(rawhal_probe_point_t) == 40 && sizeof(rawhal_probe_header_t) == 64 &&
                  sizeof(rawhal_probe_wave_t) == 64 && sizeof(rawhal_probe_event_t) == 32,
              "no gaps");
static_assert(sizeof(format_captured_t) == 16 && sizeof(format_end_t) == 24, "no gaps");
static_assert(sizeof(format_dispatch_t) + 2 * RECORD_MOST_NAME + RECORD_MOST_KERNARGS <=
                      FORMAT_MOST_PAYLOAD &&
                  sizeof(format_piece_t) + RECORD_PIECE <= FORMAT_MOST_PAYLOAD,
              "every frame that is written can be read");

#define FORMAT_END_BYTES (sizeof(format_frame_t) + sizeof(format_end_t))

#endif
