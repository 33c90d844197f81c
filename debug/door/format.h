/* The memory that a process shares with those who watch it: what exists in it, and what happened
 * last. Internal to both sides. Includes nothing of rawhal's.
 *
 * It is a memfd of this name, found in /proc/PID/fd and taken by pidfd_getfd(2): the kernel decides
 * who may, as it decides on ptrace. It can neither shrink nor grow (F_SEAL_SHRINK, F_SEAL_GROW), so
 * nobody who has it mapped is hit by SIGBUS.
 *
 * Whoever has it can write to it: the process itself believes nothing in it. It reads two
 * words, `types` and `until`, of which every value is harmless. Observers believe nothing either.
 *
 * Events stand in a ring of slots. Each has the number of the event in the order of the ring, plus
 * one, and seven words of a record (debug/core/notes.h): first its type and bytes, then its time,
 * in ticks (ticks.h). A record that is longer goes on in the slots that follow. A slot whose number
 * changes while it is read, or is not the one expected, was lost. What exists stands in entries, as
 * the record of the event by which it came; the text may be shortened. An entry's version is odd
 * while it is written, and its type 0 where there is none.
 */
#ifndef RAWHAL_DEBUG_DOOR_FORMAT_H
#define RAWHAL_DEBUG_DOOR_FORMAT_H

#include <stdalign.h>
#include <stdint.h>

#define DOOR_NAME  "rawhal-door"
#define DOOR_MAGIC UINT64_C(0x726f6f645f676872) /* "rhg_door" */

#define DOOR_WANTED_NS UINT64_C(2000000000) /* so long counts what an observer has said it wants */

enum {
  DOOR_VERSION = 1,
  DOOR_SLOT_WORDS = 7,
  DOOR_SLOTS = 1 << 14, /* a power of two */
  DOOR_ENTRY_WORDS = 31,
  DOOR_ENTRIES = 4096,
  DOOR_RECORD_BYTES = 18 * 8 * DOOR_SLOT_WORDS, /* the longest of an event; 18 slots */
};

typedef enum door_kind {
  DOOR_OF_LIBRARY = 1, /* librawhal in the process */
  DOOR_OF_FRONT = 2,   /* `rawhal exec` round it */
} door_kind_t;

typedef struct door_head {
  uint64_t magic;
  uint32_t version, kind; /* door_kind_t */
  uint32_t slots, slot_words, entries, entry_words;
  int32_t process; /* as it knows itself */
  int32_t socket;  /* descriptor of the end for requests, requests.h; -1: nobody answers */
  uint64_t opened_ticks, opened_ns; /* when it was opened: ticks.h */
  /* The process writes: */
  alignas(64) uint64_t next; /* number of the event that comes next, about */
  uint64_t dropped;          /* events that found their slot being written */
  uint64_t unlisted;         /* what exists and found no entry */
  /* Observers write, again and again: */
  alignas(64) uint64_t types; /* which are wanted, RAWHAL_EVENT_BIT(); */
  uint64_t until;             /* as long as this is to come, in ticks */
} door_head_t;

typedef struct door_slot {
  uint64_t number;
  uint64_t words[DOOR_SLOT_WORDS];
} door_slot_t;

typedef struct door_entry {
  uint64_t version;
  uint64_t words[DOOR_ENTRY_WORDS];
} door_entry_t;

typedef struct door_memory {
  alignas(4096) door_head_t head;
  alignas(4096) door_slot_t slots[DOOR_SLOTS];
  alignas(4096) door_entry_t entries[DOOR_ENTRIES];
} door_memory_t;

#endif
