/* From the death of a queue to a core file (core/): what is known is gathered, and written later.
 * Nothing is allocated but pages, no lock is taken, but for a program being started. Internal.
 *
 *     RAWHAL_CORE            a file's name with %p %h %e %t; fd:N, a descriptor that is open
 *                            when the process starts rawhal; |PROGRAM WORD ..., which gets the file
 *                            on its standard input: core/output.h. None is written without
 *     RAWHAL_CORE_BYTES      the most that it may have, "64M" without; 0: no bound
 *     RAWHAL_CORE_CONTENTS   none: no bytes of arguments, memory or stacks of the program's, as
 *                            without; kernargs: those of dispatches in flight; all
 *     RAWHAL_CORE_THREADS    1: with registers of all the host's threads, which are stopped for
 *                            that by a process made for it: threads.h; 0, as without: of the one
 *                            that writes it, the others are listed
 *     RAWHAL_CORE_PER_HOUR   how many files a program may write into a folder in an hour: 1
 *                            without; 0: any number. Descriptors and programs get all
 *
 * Who sets these can have any program run, and any file made, with the rights of the process: it is
 * the environment of its own user. A program that has more rights than who started it (AT_SECURE:
 * setuid, capabilities) does not see them.
 *
 *     if (dump_begin(&dump, settings, -1)) {
 *       lock; dump_gather(&dump, &scene); unlock;
 *       lock; dump_gather_queue(&dump, &other); unlock;
 *       dump_end(&dump, said, sizeof(said));
 *     }
 *
 * What waits for the caller's locks waits for dump_gather(), which copies: code objects, at most
 * 32 MiB of registers a queue, and with CONTENTS=all memory, no more than the budget has room for.
 * It takes 0.6 ms a MiB: 40 ms with the default budget, 0.6 s for 1 GiB without a bound. Checking
 * and writing take ten seconds at most, and only who waits for the queue waits for that. */
#ifndef RAWHAL_DEBUG_DUMP_H
#define RAWHAL_DEBUG_DUMP_H

#include "debug/cause.h"
#include "debug/core/core.h"
#include "debug/core/output.h"
#include "debug/permit.h"
#include "debug/softgpu.h"

typedef struct dump_settings {
  char where[CORE_PATH_BYTES]; /* "": none */
  uint64_t budget;
  uint32_t classes, per_hour;
  bool threads;
  uint64_t device, inode; /* of the descriptor: by the time of a dump the number may be another's */
} dump_settings_t;

/* INVALID_ARGUMENT: it says which variable is not understood. */
RAWHAL_CHECKED rawhal_status_t dump_settings_read(dump_settings_t *settings, rawhal_error_t *error);

/* Code that is loaded on the device. */
typedef struct dump_code {
  uint64_t address, size; /* its image; 0, 0: not known */
  uint64_t delta;         /* from the object's addresses to the device's */
  rawhal_bytes_t object;  /* as it was given to be loaded */
} dump_code_t;

enum { DUMP_AGENTS = 64 }; /* in a file */

/* A queue, and what is known of it. */
typedef struct dump_queue {
  uint32_t agent;        /* index in the scene's */
  const void *hsa_queue; /* hsa_queue_t, the beginning of an amd_queue_t; NULL: not known */
  const debug_softgpu_t *softgpu;     /* NULL: no waves */
  const rawhal_fault_t *fault;        /* what it died of; NULL: it lives */
  const debug_dispatch_t *dispatches; /* as in debug_scene_t */
  size_t dispatch_count;
} dump_queue_t;

typedef struct dump_scene {
  const debug_scene_t *around;
  dump_queue_t queue; /* that has died, of a fault; its dispatches are those around */
  const core_agent_t *agents;
  size_t agent_count;
  rawhal_string_t limits; /* of the device that failed: lines, or empty */
  void *context;
  /* The index-th; false: there are no more. */
  bool (*code)(void *context, size_t index, dump_code_t *code);
} dump_scene_t;

/* A core file in the making. */
typedef struct dump {
  const dump_settings_t *settings;
  core_output_t output;
  permit_t permit;
  bool in_turn;             /* it goes where another thread's may be on its way: one at a time */
  struct dump_store *store; /* what was gathered; NULL: nothing can be */
  rawhal_error_t error;     /* why there will be none; OK: nothing has failed yet */
} dump_t;

/* Looks where it goes, and whether it may: without locks, as it asks the file system or starts a
 * program. To an open descriptor of the caller's, which stays open, whatever the settings say and
 * however many there were this hour; or with -1 as they say. False: none is wanted, and there is
 * nothing to end. */
bool dump_begin(dump_t *dump, const dump_settings_t *settings, int descriptor);
/* Copies all of the scene that is to be in it, by priority; nothing of the scene is looked at
 * later. */
void dump_gather(dump_t *dump, const dump_scene_t *scene);
/* Then each other queue of the process, under what locks it needs: what is in flight on it, and its
 * waves where they have been noted, are copied. */
void dump_gather_queue(dump_t *dump, const dump_queue_t *queue);
/* What a file has for the device's words where nothing has failed. */
#define DUMP_FOR_OBSERVER "no fault: this is what ran when an observer asked"

enum { DUMP_SAID = CORE_PATH_BYTES + 176 }; /* bytes: of what is said of one */
/* Checks and writes what was gathered, and gives the memory back: without locks. True: there is one
 * now, and `said` has where and what is in it; else why there is none, or "" where nothing was
 * gathered. */
bool dump_end(dump_t *dump, char *said, size_t size);

#endif
