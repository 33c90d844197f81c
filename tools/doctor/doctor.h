/* rawhal doctor: what its checks share. Each runs in a child process with a time limit, so that
 * what hangs or crashes there is a row, too. */
#ifndef TOOLS_DOCTOR_DOCTOR_H
#define TOOLS_DOCTOR_DOCTOR_H

#include <sys/stat.h>

#include <rawhal/hal.h>

typedef enum doctor_state {
  DOCTOR_OK = 0,
  DOCTOR_NOTE = 1,    /* good to know; nothing that is needed is missing */
  DOCTOR_PROBLEM = 2, /* something does not work, and `fix` says what to do */
} doctor_state_t;

/* One line of the answer. Small enough to go through a pipe in one piece. */
typedef struct doctor_row {
  doctor_state_t state;
  char check[24];
  char found[1024];
  char fix[1024]; /* "" where there is nothing to do */
} doctor_row_t;

/* What a check works with: where its rows go, and which device was asked for. */
typedef struct doctor {
  void (*take)(void *context, const doctor_row_t *row);
  void *context;
  const char *check;         /* the name that its rows get */
  rawhal_backend_t backend;  /* that is asked for: by --device, else by RAWHAL_DEVICE */
  rawhal_backend_t expected; /* that programs get: hardware or softgpu */
} doctor_t;

/* A row; `fix` NULL: none. */
__attribute__((format(printf, 4, 5))) void doctor_say(const doctor_t *doctor, doctor_state_t state,
                                                      const char *fix, const char *format, ...);

typedef void doctor_check_fn(const doctor_t *doctor);

/* Runs a check in a process of its own. False: out of memory or processes; the rows are in the
 * array, which the caller frees, in any case, and a last one says so when the check was lost. */
typedef struct doctor_rows {
  doctor_row_t *rows;
  size_t count, room;
} doctor_rows_t;

bool doctor_run(const doctor_t *doctor, doctor_check_fn *check, unsigned seconds,
                doctor_rows_t *rows);

/* Attaches to a child, as a debugger does; allowed unless a container or seccomp forbids it
 * altogether: then errno, else 0. */
int doctor_try_to_attach(void);

/* ---- What others say (ask.c) ---- */

/* The first line of a file, cut to the size. False, with errno. */
bool doctor_read_line(const char *path, char *line, size_t size);
/* What a program says on standard output, its beginning. False: it does not run. */
bool doctor_ask(const char *path, const char *option, char *text, size_t room);

/* ---- The driver (driver.c) ---- */

/* Why a device node with these facts cannot be opened, and the command that changes it. */
void doctor_fix_access(const struct stat *facts, const char *subsystem, const char *name, char *fix,
                       size_t size);
/* The same of a node at any place, for doctor_driver() and for tests. */
void doctor_look_at_driver(const doctor_t *doctor, const char *path);
void doctor_look_at_nodes(const doctor_t *doctor, const char *folder);

doctor_check_fn doctor_driver, doctor_nodes;

/* ---- Libraries and devices (device.c, library.c) ---- */

doctor_check_fn doctor_libraries, doctor_runtime, doctor_softgpu, doctor_front, doctor_disassembler;
doctor_check_fn doctor_devices;

/* ---- Debuggers and core files (debuggers.c, core.c) ---- */

/* `all`: this user may attach to whatever Yama forbids others. */
void doctor_look_at_yama(const doctor_t *doctor, const char *path, bool all);
void doctor_look_at_pattern(const doctor_t *doctor, const char *path);
doctor_check_fn doctor_debuggers, doctor_core;

/* ---- What the system gives (system.c, environment.c) ---- */

void doctor_look_at_memory(const doctor_t *doctor, const char *folder);
doctor_check_fn doctor_memory, doctor_resources, doctor_environment;

#endif
