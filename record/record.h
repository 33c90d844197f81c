/* Recordings of dispatches: files of what a program launched. Internal.
 *
 *     format   the file's bytes, which docs/recording.md describes
 *     sum      its checksums; what names code objects is rawhal_content_hash()
 *     probes   what probes saw of dispatches
 *     notes    what a replay of a dispatch may lack, in words
 *     words    which bytes of a kernarg segment are pointers
 *     writer   appends to one, from any number of threads: append.c has the file, known.c the
 *              objects, kept.c what was written last of each buffer
 *     frames   reads one frame
 *     reader   a whole file: objects, dispatches, buffers; index.c has what is where
 *
 * A file is a header and frames one after the other, each with its length and two checksums, so
 * that it can be read up to any moment at which its writer was killed. Nothing here knows a device.
 */
#ifndef RAWHAL_RECORD_RECORD_H
#define RAWHAL_RECORD_RECORD_H

#include "hsaco/hsaco.h"

enum {
  RECORD_MOST_NAME = 64 << 10,      /* bytes of a name, of kernel or device */
  RECORD_MOST_KERNARGS = 256 << 10, /* bytes of a kernarg segment */
  RECORD_PIECE = 256 << 10,         /* contents are written in pieces of this many bytes */
};

typedef struct record_dispatch {
  rawhal_string_t device; /* the target id of its ISA: amdgcn-amd-amdhsa--gfx90a:xnack- */
  rawhal_string_t kernel; /* its name, or its symbol */
  uint64_t object;        /* the number of the code object that it is in, from 1 */
  uint64_t queue;         /* any number of the program's queue */
  uint32_t work_items[3]; /* of the grid */
  uint16_t workgroup[3];
  uint32_t dynamic_group_bytes; /* beyond the kernel's own */
  uint32_t private_bytes;       /* of a work-item */
  rawhal_bytes_t kernargs;      /* the segment, hidden arguments included */
} record_dispatch_t;

/* Where its code object was loaded: all of it, and from the object's own addresses to those. */
typedef struct record_place {
  uint64_t base, size, delta;
} record_place_t;

/* When the contents of buffers are from. */
typedef enum record_when {
  RECORD_BEFORE = 0,
  RECORD_AFTER = 1,
  RECORD_WHENS = 2,
} record_when_t;

/* How a file ends. */
typedef enum record_end {
  RECORD_UNFINISHED =
      0, /* after a whole frame: it is still being written, or its writer was killed */
  RECORD_CLOSED = 1,
  RECORD_FULL = 2,   /* the bound was reached, and nothing was recorded from there on */
  RECORD_FAILED = 3, /* it could not be written any more; likewise */
  RECORD_TORN = 4,   /* in the middle of a frame, of which nothing is taken */
} record_end_t;

#endif
