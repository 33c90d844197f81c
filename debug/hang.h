/* Queues that do not get on: what they wait for, and whether that can happen at all. Internal. */
#ifndef RAWHAL_DEBUG_HANG_H
#define RAWHAL_DEBUG_HANG_H

#include "debug/fault.h"
#include "debug/packets.h"

#include "base/print.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- How long ---- */

/* Of a queue, from look to look. All zeros at first. */
typedef struct hang_progress {
  uint64_t step[2]; /* what had ended, and where the device stood */
  uint64_t since;   /* when that was first seen, by the clock of whoever looks */
  bool busy, told;
} hang_progress_t;

/* Notes how far it is: any change of `step`, or nothing to do, begins anew. */
void hang_note(hang_progress_t *progress, bool busy, uint64_t ended, uint64_t stands_at,
               uint64_t now);
static inline bool hang_stands(const hang_progress_t *progress, uint64_t now, uint64_t limit)
{
  return progress->busy && now - progress->since >= limit;
}

/* ---- What for ---- */

enum { HANG_STANDS = 512 };

/* Where a queue stands. */
typedef struct hang_stand {
  uint64_t id, ring, size; /* of the queue; its packets, a power of two of them */
  uint64_t at;   /* the oldest packet that has not ended; a packet of any kind that is waited at */
  uint64_t read; /* of what has been taken only signals tell whether it has ended */
  uint64_t end;  /* behind the last that has been submitted; `at`: there is nothing */
  bool moves;    /* it gets on, or waits for its turn, and not for the device */
  bool dead;     /* nothing of it will end any more */
} hang_stand_t;

typedef struct hang_scene {
  const hang_stand_t *stands;
  size_t count;
  debug_copy_fn *copy; /* as debug_copy() takes it */
  const void *process; /* for it */
  bool others_wait;    /* what is none of these packets, such as copies, waits for its turn */
  /* Says which packet of a queue it is; NULL: "packet 4 of queue 2". */
  void (*name)(void *context, size_t stand, uint64_t packet, print_t *to);
  /* Says what a signal that no packet sets stands for; false: nothing was said. NULL: never. */
  bool (*name_signal)(void *context, uint64_t signal, print_t *to);
  void *context;
} hang_scene_t;

typedef enum hang_why {
  HANG_MOVES, /* it waits for what gets on, or for its turn, or does not wait any more */
  HANG_RUNS,  /* it stands at no barrier */
  HANG_WAITS, /* it stands at a barrier: `to` says what for */
} hang_why_t;

/* Of a queue that has stood for long. Packets are copied, and nothing of them is trusted. */
hang_why_t hang_why(const hang_scene_t *scene, size_t stand, print_t *to);

/* One line: "queue 1 has not got on for 10 s: ticket 3, kernel k; 4 waves are resident: ...", or
 * with 0 ns "queue 1: ticket 3, ...". `unit`: of `number`. `waits`: what hang_why() has said, or
 * NULL or "". */
void hang_say(const rawhal_fault_t *fault, uint64_t ns, const char *unit, uint64_t number,
              const char *waits, char *text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
