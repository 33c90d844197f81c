/* What a replay of a dispatch may lack, or do otherwise. Internal.
 *
 * A recorder adds such notes to a dispatch; they are shown when they are made, when a recording is
 * listed, and when the dispatch is replayed, in the same words. */
#ifndef RAWHAL_RECORD_NOTES_H
#define RAWHAL_RECORD_NOTES_H

#include "record/record.h"

/* Values are in files: they stay. Where nothing else is said, `count` is how many, `at` and `value`
 * the offset in the kernarg segment, or the address, of the first and what it is. */
typedef enum record_note_kind {
  RECORD_NOTE_KERNARGS = 1, /* value: address; they are in memory that cannot be read */
  RECORD_NOTE_LAYOUT = 2,   /* what it takes is not known */
  RECORD_NOTE_VARIABLES = 3,
  RECORD_NOTE_OBJECTS = 4, /* pointers into other code objects */
  RECORD_NOTE_DEEP = 5,    /* pointers in what a pointer in a buffer leads to */
  RECORD_NOTE_LARGE = 6,   /* value: bytes of the first that was left out */
  RECORD_NOTE_MANY = 7,    /* more buffers than are recorded */
  RECORD_NOTE_UNREADABLE = 8,
  RECORD_NOTE_SHARED = 9, /* with other processes or drivers */
  RECORD_NOTE_NOWHERE = 10,
  RECORD_NOTE_RUNTIME = 11, /* signals, queues: what the runtime has for itself */
  RECORD_NOTE_SERVICE = 12, /* count: rawhal_value_kind_t of the hidden argument */
  RECORD_NOTE_IMAGE = 13,
  RECORD_NOTE_GROUP = 14, /* count: bytes it had; value: bytes it takes */
  RECORD_NOTE_STACK = 15, /* likewise, of private memory */
  RECORD_NOTE_CLOCK = 16,
  RECORD_NOTE_ATOMICS = 17,
  RECORD_NOTE_CONCURRENT = 18,
  RECORD_NOTE_FREED = 19,
  RECORD_NOTE_VALUES = 20,   /* words of arguments by value that are taken for pointers */
  RECORD_NOTE_POINTERS = 21, /* words of buffers, likewise; at: the address of the first */
  RECORD_NOTE_QUEUE = 22,    /* the kernel is given its queue, or the number of its packet */
  RECORD_NOTE_SYNC = 23, /* the code waits for all waves of the grid by the device's own means */
  RECORD_NOTE_KINDS,     /* one more than the last */
} record_note_kind_t;

typedef struct record_note {
  uint32_t kind; /* record_note_kind_t, or one of a later version */
  uint64_t count, at, value;
} record_note_t;

#ifdef __cplusplus
extern "C" {
#endif

/* What it is about, in one word: "variables". Of a kind that is not known: "unknown". */
const char *record_note_name(uint32_t kind);
/* In words, cut to the size. */
void record_note_text(const record_note_t *note, char *text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
