/* What reading may cost, counted in steps. Internal.
 *
 * Bytes of a file may be named by many: entries of a bundle and sections of a host file may share
 * what they hold, symbols their names. So that no small file takes hours, readers of carriers take
 * steps for what they do, and fail with CAP_EXCEEDED when none are left; opening one object is
 * bounded by elf_view_spend() and its arena. Given are WORK_A_BYTE steps for each byte of the file
 * and for each that is unpacked, so the cost of reading grows with the bytes and with nothing else.
 * A step stands for a nanosecond at most: 100 MB take less than a second, whatever is in them.
 * Steps are counted, not timed: the same file ends at the same place on every machine.
 *
 * Prices are what the worst of its kind was seen to take, rounded up. */
#ifndef RAWHAL_HSACO_WORK_H
#define RAWHAL_HSACO_WORK_H

#include <stdbool.h>
#include <stdint.h>

enum {
  WORK_A_BYTE = 8,     /* steps given for a byte */
  WORK_LEAST = 1 << 20 /* steps given to every file, so that small ones may be odd */
};

/* What things cost besides their bytes, which cost one step each wherever nothing else is said. */
enum {
  WORK_PART = 128,    /* finding out what starts somewhere; an entry of a table */
  WORK_TOKEN = 64,    /* a value of a table in msgpack */
  WORK_OBJECT = 1024, /* listing a code object, or saying why it is not one */
  WORK_BLOCK = 4096,  /* a block of compressed bytes, which may have tables of its own */
};

typedef struct work {
  uint64_t left;
} work_t;

/* Gives the steps for `bytes` more. */
static inline void work_give(work_t *work, uint64_t bytes)
{
  uint64_t most = UINT64_MAX - work->left;
  work->left += bytes < most / WORK_A_BYTE ? bytes * WORK_A_BYTE : most;
}

/* For a file of so many bytes. */
static inline void work_start(work_t *work, uint64_t bytes)
{
  work->left = WORK_LEAST;
  work_give(work, bytes);
}

/* False when there are not so many left: then none are taken. */
static inline bool work_take(work_t *work, uint64_t steps)
{
  bool enough = steps <= work->left;
  work->left -= enough ? steps : 0;
  return enough;
}

#endif
