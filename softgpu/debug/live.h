/* What a debugger's service and the processors of queues share. Internal to softgpu.
 *
 * All of it is there from the start, and changes by atomic operations alone: between the question
 * to suspend a queue and its answer nobody takes a lock or memory that a stopped thread of the
 * program might hold. A queue's gate is a futex:
 *
 *   RUNNING   its processor runs a dispatch, and may be between any two instructions
 *   WANTED    it is to stand still; a dispatch that has not begun does not begin
 *   SAVING    it is about to: it has come to where its waves are saved
 *   PARKED    it does: its waves are in the save area, and it waits for WANTED to end
 *   ABSENT    it did not get to where they are saved in time, as when it waits for a lock of a
 *             thread that the debugger has stopped: the debugger was told of no waves. It stands
 *             still there without saving them, and loads none.
 *   LOST      that has happened since waves were saved last */
#ifndef SOFTGPU_DEBUG_LIVE_H
#define SOFTGPU_DEBUG_LIVE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "softgpu/debug/kfd.h"

enum {
  LIVE_RUNNING = 1,
  LIVE_WANTED = 2,
  LIVE_PARKED = 4,
  LIVE_SAVING = 8,
  LIVE_ABSENT = 16,
  LIVE_LOST = 32,
  LIVE_QUEUES = 1024,
  LIVE_NODES = 17, /* from 1 on */
};

typedef struct live_queue {
  _Atomic uint64_t id; /* 0: there is none; what follows is its until it is 0 again */
  _Atomic bool taken;  /* by who makes a queue, or by the queue */
  _Atomic bool leaves; /* it is about to be destroyed, and is not suspended any more */
  uint32_t node, ring_bytes;
  uint64_t ring, write_pointer, read_pointer;
  uint8_t *area; /* save.h */
  uint32_t area_bytes;
  _Atomic uint32_t gate;
  _Atomic uint64_t exceptions; /* since they were cleared */
  _Atomic bool delivers;       /* the runtime is to hear of what its waves did */
} live_queue_t;

typedef struct live_watch {
  _Atomic bool is_set;
  _Atomic uint64_t address, mask;
  _Atomic uint32_t mode; /* KFD_WATCH_* */
} live_watch_t;

typedef struct live {
  bool is_on;            /* SOFTGPU_DEBUG; what follows is of no use without */
  uint32_t abi;          /* _amdgpu_r_debug's version */
  _Atomic bool attached; /* a debugger is, and the runtime is there */
  _Atomic uint32_t launch_mode, launch_traps;
  live_queue_t queues[LIVE_QUEUES];
  live_watch_t watches[LIVE_NODES][KFD_WATCHES];
  _Atomic uint32_t watched[LIVE_NODES]; /* of each, how many are set */
} live_t;
extern live_t live;

/* A queue of the device comes, or is gone. It has an area from then on. False: out of memory. */
typedef struct live_setup {
  uint64_t id, ring, write_pointer, read_pointer;
  uint32_t node, ring_bytes;
} live_setup_t;
bool live_queue_add(const live_setup_t *setup);
void live_queue_remove(uint64_t id);
/* It is about to be: what a debugger has suspended it looks at, and at what the program frees next.
 * Waits until the debugger lets it go on or has gone, half a minute at most. */
void live_queue_leave(uint64_t id);
/* By its number, or by where the runtime has it (amd_queue_t). NULL: not known. */
live_queue_t *live_queue_find(uint64_t id);
live_queue_t *live_queue_at(uint64_t amd_queue);

/* Of processors. */
void live_raise(live_queue_t *queue, kfd_code_t code);
/* Waits for the gate to change from `seen`, a moment at most. */
void live_gate_wait(live_queue_t *queue, uint32_t seen);
void live_gate_set(live_queue_t *queue, uint32_t bits);
void live_gate_clear(live_queue_t *queue, uint32_t bits);

/* Of the service. What stands still by then has its waves saved, or is ABSENT. False: it leaves. */
bool live_suspend(live_queue_t *queue, uint64_t deadline_ns);
void live_resume(live_queue_t *queue);

/* In a child of the program: there is nothing yet. */
void live_forget(void);

/* The service is woken by what is written here. */
extern int live_bell;
void live_ring(void);

/* Waits while the word has the value, at most so long; and wakes who does. */
void live_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t ns);
void live_futex_wake(_Atomic uint32_t *word);

#endif
