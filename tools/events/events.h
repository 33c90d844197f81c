/* rawhal events: what its parts share. */
#ifndef TOOLS_EVENTS_EVENTS_H
#define TOOLS_EVENTS_EVENTS_H

#include <stdio.h>

#include "tools/shared/doors.h"
#include "tools/shared/kernels.h"
#include "tools/shared/labels.h"
#include "tools/shared/tool.h"

/* The command line. */
typedef struct events_request {
  bool json, list;
  uint64_t types;    /* RAWHAL_EVENT_BIT() of those to show; 0: all */
  unsigned of;       /* door_kind_t; 0: both */
  unsigned demangle; /* demangle_when_t */
  const char *save, *read;
} events_request_t;

/* Which door tells an event, and whether it is of what there was when watching began. */
typedef struct events_source {
  unsigned door;   /* door_kind_t; 0: none yet */
  uint64_t opened; /* CLOCK_MONOTONIC, ns */
  bool exists;
} events_source_t;

/* ---- Files of events (saved.c) ---- */

/* Begins with these bytes; then it is a note of debug/core/notes.h: PROCESS, and then WATCH and the
 * events that it is of, again and again. */
#define EVENTS_MAGIC "rhg_evts"

typedef struct events_file {
  FILE *out; /* NULL: nothing is saved */
  const char *path;
  uint32_t records;
  int problem; /* errno of the first write that failed */
  events_source_t source;
} events_file_t;

/* Makes a file, which must not exist. */
bool events_file_open(events_file_t *file, const char *path, pid_t process, rawhal_error_t *error);
/* `event` may be NULL: only that so many were lost. */
void events_file_put(events_file_t *file, const events_source_t *source, uint64_t lost,
                     const rawhal_event_t *event);
/* False, with `error`: it is not whole. */
bool events_file_close(events_file_t *file, rawhal_error_t *error);

/* ---- Where events go (output.c) ---- */

typedef struct events_output {
  const events_request_t *request;
  kernels_t kernels;
  labels_t labels;
  uint64_t begun; /* what times of lines count from */
  unsigned doors; /* bits of those that have told something */
  int exists;     /* of the line before; -1: there is none */
  events_file_t file;
} events_output_t;

/* Shows it, if it is asked for, and saves it. */
void events_put(events_output_t *output, const events_source_t *source,
                const rawhal_event_t *event);
/* So many were lost; or, of what exists, found no place. */
void events_put_lost(events_output_t *output, const events_source_t *source, uint64_t count);
/* All of a file. */
bool events_read(events_output_t *output, rawhal_error_t *error);

/* ---- Watching (watch.c) ---- */

/* Shows what exists, and then what happens until the process ends, the user ends it or standard
 * output is gone; or only the former. `whole`: events from the first on are wanted. False: no
 * memory. */
bool events_watch(events_output_t *output, doors_t *doors, bool whole, rawhal_error_t *error);

/* ---- Programs that are started for it (program.c) ---- */

/* Runs it, and watches it from the beginning. The exit status is the program's. */
int events_run(events_output_t *output, char **argv);

#endif
